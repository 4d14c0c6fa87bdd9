"""A folder of files as a source: its tables one after the other, or its plain texts as documents."""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from vmfstream.connectors.codecs import refused
from vmfstream.connectors.file_text import WESTERN, checked_encoding, encoding_of, opened
from vmfstream.connectors.files import ENDINGS, FileSource
from vmfstream.connectors.lines import MAX_LINE_BYTES
from vmfstream.errors import InputError
from vmfstream.folders import printable
from vmfstream.records import Message, Position

log = logging.getLogger(__name__)

_HEAD = 1 << 16  # bytes of a text that tell its encoding
_TOLD = 3  # names that a message lists
_DATE = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?:[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?)?(?!\d)")

_UNDATED = "no time: the file's name has no date, most names of the folder have one"


class FolderSource:
    """The files of a folder and of the folders in it, in the order of their names.

    Rows of tables and JSON are documents, as in `vmfstream.connectors.files.FileSource`; every file has a part of its
    own, named by its path in the folder. In a folder of plain text each file is one document instead: its name is the
    id, and its time the date in its name, such as 2021-03-31. Where more than half of the names have a date, files
    without one are rejected; otherwise the time of all is when they were changed last.

    Hidden files are left out. So are files with other endings, those that cannot be read and those in folders behind
    links, which is told in a warning.

    Parameters
    ----------
    path : str or Path
    max_line_bytes : int
        Longer texts, and longer lines of other files, are rejected with their size.
    **options
        Further options of the files, see `vmfstream.connectors.files.FileSource`.

    Raises
    ------
    InputError
        If the folder is missing, holds nothing that can be read, or plain text beside other files.
    """

    def __init__(self, path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES, **options: Any) -> None:
        self.path = Path(path).expanduser()
        if not self.path.is_dir():
            raise InputError(f"there is no folder {self.path}")
        shown = [file for file in sorted(self.path.rglob("*")) if not _is_hidden(self.path, file)]
        whys = [(file, _why_left_out(file)) for file in shown if file.is_symlink() or not file.is_dir()]
        files = [file for file, why in whys if why is None]
        if not files:
            raise InputError(f"{self.path}: expected files ending in {', '.join(ENDINGS)}, found none")
        for reason in dict.fromkeys(why for _, why in whys if why):
            names = [printable(file.relative_to(self.path).as_posix()) for file, why in whys if why == reason]
            more = f" (and {len(names) - _TOLD:,} more)" if len(names) > _TOLD else ""
            _tell(self.path, f"{reason} are left out: {', '.join(names[:_TOLD])}{more}")
        plain = [_ending(file) == ".txt" for file in files]
        if any(plain) and not all(plain):
            raise InputError(
                f"{self.path}: expected either plain text or tables, found {files[plain.index(True)].name} "
                f"and {files[plain.index(False)].name}"
            )
        if plain[0] and options.get("delimiter") is not None:
            raise InputError(f"delimiter: only tables of text such as .csv have one, {self.path} holds plain text")
        encoding = options.get("encoding")
        self._encoding = None if encoding is None else checked_encoding(encoding)
        self._max_bytes = max_line_bytes
        self._texts = files if plain[0] else []
        self._dated = 2 * sum(_date_of(file.name) is not None for file in self._texts) > len(self._texts)
        self._part, self._next = self.name, 0
        self._files = [] if plain[0] else [FileSource(file, max_line_bytes=max_line_bytes, **options) for file in files]
        for source in self._files:
            source.part = printable(source.path.relative_to(self.path).as_posix())

    @property
    def name(self) -> str:
        """The folder's name."""
        return printable(self.path.resolve().name)

    @property
    def total(self) -> int | None:
        """Number of plain texts; None for other files, which would have to be read."""
        return len(self._texts) or None

    @property
    def exhausted(self) -> bool:
        """True once the last row of the last file was returned."""
        return self._next >= len(self._texts) and all(source.exhausted for source in self._files)

    def first(self, stop: Callable[[], bool]) -> Message | None:
        """Return the name of the first text; None for tables, whose files are counted each by itself."""
        names = [printable(file.relative_to(self.path).as_posix()) for file in self._texts[:1]]
        return Message(self._part, 0, {"id": names[0]}) if names else None

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return the next rows, at most ``limit``, of one file or several; never waits."""
        messages = [self._text(at) for at in range(self._next, min(self._next + max(limit, 0), len(self._texts)))]
        self._next += len(messages)
        for source in self._files:
            if len(messages) >= limit:
                break
            messages += source.poll(limit - len(messages), timeout)
        return messages

    def seek(self, position: Position) -> None:
        """Continue every file with the row that ``position`` names, the first if it names none."""
        self._next = max(position.get(self._part, 0), 0)
        for source in self._files:
            source.seek(position)

    def close(self) -> None:
        """Close the files; ``poll`` returns nothing afterwards."""
        self._next = len(self._texts)
        for source in self._files:
            source.close()

    def _text(self, at: int) -> Message:
        file = self._texts[at]
        name = printable(file.relative_to(self.path).as_posix())
        time = _date_of(file.name) if self._dated else datetime.fromtimestamp(file.stat().st_mtime, UTC)
        if time is None:
            return Message(self._part, at, refused(_UNDATED, name.encode()))
        try:
            text, size = _read(file, self._max_bytes)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        if size > self._max_bytes:
            return Message(self._part, at, {"id": name, "text": text}, time, size)
        encoding = self._encoding or encoding_of(text[:_HEAD])
        if encoding == WESTERN and self._encoding is None:
            _tell(self.path, "texts that are not UTF-8 are read as Windows-1252; give --encoding if they are another")
        if encoding != "utf-8":
            try:
                text = text.decode(encoding, "strict" if self._encoding else "replace").encode()
            except UnicodeDecodeError as error:
                raise InputError(f"{file} cannot be read as {encoding}: {error.reason}") from error
        return Message(self._part, at, {"id": name, "text": text}, time)


def _read(file: Path, most: int) -> tuple[bytes, int]:
    """Return the first bytes of a text, unpacked, at most so many, and how many it has."""
    with opened(file) as source:
        text = source.read(most)
        return text, len(text) + sum(map(len, iter(lambda: source.read(1 << 20), b"")))


@cache  # a folder is opened to look at its first rows, too
def _tell(folder: Path, what: str) -> None:
    log.warning("%s: %s", printable(folder.resolve().name), what)


def _why_left_out(file: Path) -> str | None:
    """Return what a file, or what stands behind a link, is that is not read; None if it is."""
    if file.is_dir():
        return "folders behind links"
    if not file.is_file() or not os.access(file, os.R_OK):
        return "files that cannot be read"
    return None if _ending(file) in ENDINGS else "files with endings that are not read"


def _is_hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _date_of(name: str) -> datetime | None:
    found = _DATE.search(name)
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:  # the 31st of a month that has none
        return datetime(year, month, 1, tzinfo=UTC)
