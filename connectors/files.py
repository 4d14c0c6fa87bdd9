"""Files as sources: JSON and JSON lines, CSV, TSV and plain text (gzip too), Parquet, Feather and Excel, row by row."""

from __future__ import annotations

import csv
import json
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from vmfstream.connectors.codecs import SURPLUS, refused
from vmfstream.connectors.column_files import count_rows, read_rows, sheet_rows
from vmfstream.connectors.file_text import checked_encoding, delimiter_of, utf8_chunks
from vmfstream.connectors.lines import MAX_LINE_BYTES, Line, LineSplitter
from vmfstream.errors import InputError
from vmfstream.folders import printable
from vmfstream.records import Message, Position

_RECORD_LINES = 1_000_000  # of a table: they are held until the record ends

MessageStream: TypeAlias = Generator[Message, None, None]

RowReader: TypeAlias = Callable[["FileSource", int], MessageStream]
"""A function that yields the messages of a file from a row on."""


class FileSource:
    """The rows of one file in their order.

    The part is the file's name without its folder, so that a moved file can be continued; the offset is the row from 0
    (lines of JSON and text, records of CSV and of an Excel sheet after the header, rows of Parquet and Feather). Blank
    lines count and are passed over.

    Parameters
    ----------
    path : str or Path
    format : str, optional
        One of ``FORMATS``; by default taken from the file's ending. ``.gz`` may follow the ending of a text format.
    max_line_bytes : int
        Longer lines are rejected with their size, and never held in memory.
    delimiter : str, optional
        Separator of CSV cells; by default the one that a first line ``sep=;`` names, or the one of comma, semicolon,
        tab and bar that makes the most cells of the header, for TSV a tab.
    encoding : str, optional
        Encoding of text formats, such as ``cp1252`` or ``utf-16``. By default UTF-8, or what a mark at the beginning
        says; tables and plain text most of whose letters are no UTF-8 are read as Windows-1252.
    time : datetime, optional
        Time of all lines of a plain text file, which have none by default.

    Raises
    ------
    InputError
        If the file is missing, a folder, unreadable, or of an unknown format, or if ``delimiter`` or ``encoding`` is
        given for a format that has none. ``poll`` raises it for a damaged file, after the rows before the damage.
    MissingExtra
        For Feather without pyarrow, for Excel without openpyxl.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        delimiter: str | None = None,
        encoding: str | None = None,
        time: datetime | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        _check_readable(self.path)
        self.format = _format(self.path) if format is None else format
        if self.format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
        if delimiter is not None and self.format not in ("csv", "tsv"):
            raise InputError(f"delimiter: only tables of text such as .csv have one, {self.path.name} is {self.format}")
        if encoding is not None and self.format in BINARY:
            raise InputError(f"encoding: only files of text have one, {self.path.name} is {self.format}")
        if max_line_bytes < 1:
            raise InputError(f"max_line_bytes must be at least 1, got {max_line_bytes}")
        self.part = printable(self.path.name)
        self.max_line_bytes = max_line_bytes
        self.delimiter = delimiter or ("\t" if self.format == "tsv" else None)
        self.encoding = None if encoding is None else checked_encoding(encoding)
        self.time = time if time is None or time.tzinfo else time.replace(tzinfo=UTC)
        self._total = count_rows(self.path, self.format) if self.format in ("parquet", "feather") else None
        self._ahead: list[Message] = []
        self._error: InputError | None = None
        # a generator opens the file when it is first asked, so that a pipe is opened only once
        self._rows = _guarded(self, 0)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.part

    @property
    def total(self) -> int | None:
        """Number of rows of a Parquet or Feather file; None for the others, which would have to be read."""
        return self._total

    @property
    def exhausted(self) -> bool:
        """True once the last row was returned; reads one row ahead."""
        if not self._ahead and self._error is None:
            self._ahead = self._take(1)
        return not self._ahead and self._error is None

    def first(self, stop: Callable[[], bool]) -> Message | None:
        """Return the first row; None if there is none, or the file is a pipe."""
        return None if self.path.is_fifo() or self.exhausted or not self._ahead else self._ahead[0]

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return the next rows, at most ``limit``; never waits."""
        if limit < 1:
            return []
        messages, self._ahead = self._ahead, []
        messages += self._take(limit - len(messages))
        if not messages and self._error is not None:
            raise self._error
        return messages

    def seek(self, position: Position) -> None:
        """Continue with row ``position[part]``, the first if not named."""
        self.close()
        self._rows = _guarded(self, max(position.get(self.part, 0), 0))

    def close(self) -> None:
        """Close the file; ``poll`` returns nothing afterwards."""
        self._rows.close()
        self._ahead, self._error = [], None

    def _take(self, count: int) -> list[Message]:
        messages: list[Message] = []
        try:
            messages.extend(islice(self._rows, count))
        except InputError as error:
            self._error = error
        return messages


def _guarded(source: FileSource, start: int) -> MessageStream:
    """Yield the rows; turn errors of reading into one that names the row before the damage."""
    reached = start
    try:
        with closing(FORMATS[source.format](source, start)) as rows:
            for message in rows:
                yield message
                reached = message.offset + 1
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{source.path} cannot be read any further after row {reached}: {what}") from error


def _json_lines(source: FileSource, start: int) -> MessageStream:
    for offset, line in _numbered(source, start):
        if line.value.strip():
            yield Message(source.part, offset, line.value, oversized=line.oversized)


def _json(source: FileSource, start: int) -> MessageStream:
    """Yield the objects of an array, or of lines if the file holds no array. An array is read as a whole."""
    chunks = _chunks(source)
    first = next(chunks, b"")
    if not first.lstrip().startswith(b"["):
        yield from _json_lines(source, start)
        return
    try:
        values = json.loads(b"".join([first, *chunks]))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source.path} cannot be read as JSON: {error}") from error
    for offset, value in enumerate(values[start:], start):
        body = value if isinstance(value, dict) else json.dumps(value).encode()
        yield Message(source.part, offset, body)


def _text_lines(source: FileSource, start: int) -> MessageStream:
    for offset, line in _numbered(source, start):
        if line.value.strip():
            value = {"text": line.value} if line.oversized is None else line.value
            yield Message(source.part, offset, value, source.time, line.oversized)


def _table(source: FileSource, start: int) -> MessageStream:
    # the limit belongs to the whole csv module: raised, never lowered, since other readers may rely on theirs
    csv.field_size_limit(max(csv.field_size_limit(), source.max_line_bytes))
    cells = _Cells(source)
    lines = iter(cells)
    filled = (line for line in lines if line.strip())
    first = next(filled, "")
    named = _SEPARATOR.fullmatch(first)
    if named is not None:
        first = next(filled, "")
    delimiter = source.delimiter or (delimiter_of(first) if named is None else named[1])
    header = next(csv.reader(chain([first], lines), delimiter=delimiter), [])
    if cells.unclosed is not None:
        raise InputError(f"{source.path}: expected a header, but {cells.unclosed}")
    cells.record_ends()
    twice = sorted({name for name in header if name.strip() and header.count(name) > 1})
    if twice:
        raise InputError(f"{source.path}: expected a header of different names, found {', '.join(twice)} twice")
    # the second reader gets the lines behind a quoted field that is never closed, else none
    records = chain(csv.reader(lines, delimiter=delimiter), csv.reader(cells, delimiter=delimiter))
    for offset, record in enumerate(records):
        unclosed, begin, line = cells.unclosed, cells.begin, cells.record_ends()
        if offset < start:
            continue
        if unclosed is not None:
            yield Message(source.part, offset, refused(unclosed, begin))
        elif line is not None:
            yield Message(source.part, offset, line.value, oversized=line.oversized)
        elif record:
            row: dict[str, Any] = dict(zip(header, record, strict=False))
            if len(record) > len(header):
                row[SURPLUS] = record[len(header) :]
            yield Message(source.part, offset, row)


_SEPARATOR = re.compile(r'"?sep=([^\w\s"]|\t)"?\s*', re.IGNORECASE)
"""A first line that names the delimiter, as Excel reads and others write it."""


def _columns(source: FileSource, start: int) -> MessageStream:
    for offset, row in enumerate(read_rows(source.path, source.format, start), start):
        yield Message(source.part, offset, row)


def _sheet(source: FileSource, start: int) -> MessageStream:
    for offset, row in enumerate(sheet_rows(source.path)):
        if offset >= start and row:
            yield Message(source.part, offset, row)


FORMATS: dict[str, RowReader] = {
    "jsonl": _json_lines,
    "json": _json,
    "csv": _table,
    "tsv": _table,
    "txt": _text_lines,
    "parquet": _columns,
    "feather": _columns,
    "xlsx": _sheet,
}
"""Readers of rows, by format."""

BINARY = ("parquet", "feather", "xlsx")
"""Formats that are no text: they have neither a delimiter nor an encoding, and are not packed again."""

ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "txt",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "xlsx",
}
"""Format by ending of the file's name."""


def is_text(path: Path) -> bool:
    """Tell whether a file is named as plain text, whose lines have no times."""
    return not path.is_dir() and _named_format(path) == "txt"


def _named_format(path: Path) -> str | None:
    return ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def _format(path: Path) -> str:
    packed = path.name.lower().endswith(".gz")
    format = _named_format(path)
    if format is None or (packed and format in BINARY):
        raise InputError(
            f"cannot tell what {path} holds: its name should end in {', '.join(ENDINGS)} (.gz may follow text)"
        )
    return format


def _check_readable(path: Path) -> None:
    try:
        if path.is_dir():
            raise InputError(f"expected a file, {path} is a folder")
        if not path.exists():
            raise InputError(f"there is no file {path}")
    except OSError as error:
        raise InputError(f"cannot look at {path}: {error.strerror}") from error
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise InputError(f"no permission to read {path}")


def _chunks(source: FileSource) -> Iterator[bytes]:
    return utf8_chunks(source.path, source.encoding, western=source.format not in ("json", "jsonl"))  # JSON is UTF-8


def _lines(source: FileSource) -> Iterator[Line]:
    splitter = LineSplitter(source.max_line_bytes)
    for chunk in _chunks(source):
        yield from splitter.feed(chunk)
    yield from splitter.flush()


def _numbered(source: FileSource, start: int) -> Iterator[tuple[int, Line]]:
    return islice(enumerate(_lines(source)), start, None)


class _Cells:
    """Lines for the csv module, which joins quoted lines to one record; bounds the size of a record.

    Attributes
    ----------
    unclosed : what is wrong with the record, if a quoted field of it is never closed. The lines behind the one in which
        the field begins can be iterated once more then.
    """

    def __init__(self, source: FileSource) -> None:
        self._path = source.path
        self._lines = _lines(source)
        self._limit = source.max_line_bytes
        self._number = 0
        self._size = 0
        self._record: list[Line] = []
        self.unclosed: str | None = None

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._number += 1
            self._record.append(line)
            if line.oversized is not None:
                yield "\n"
                continue
            self._size += len(line.value)
            for size, limit, unit in (self._size, self._limit, "bytes"), (len(self._record), _RECORD_LINES, "lines"):
                if size > limit:
                    raise csv.Error(f"a record has more than {limit:,} {unit}; is a quotation mark never closed?")
            # bytes that are not UTF-8 stay recognisable: the codec rejects the row that holds them
            text = line.value.decode("utf-8", "surrogateescape")
            if self._number == 1 and "\r" in text and text.partition("\r")[0].count('"') % 2 == 0:
                raise InputError(
                    f"{self._path}: expected lines that end in a line feed, found carriage returns alone, as of old "
                    "programs: save it with other line ends"
                )
            yield text.replace("\r", " ") + "\n"  # the csv module ends at a carriage return within a line
        if self._record:
            self._leave_open()

    def _leave_open(self) -> None:
        # behind the mark that opens the field, marks stand in pairs only
        odd = [b'"' in line.value.replace(b'""', b"") and line.oversized is None for line in self._record]
        behind = len(odd) - odd[::-1].index(True)
        self._number -= len(odd) - behind
        self._lines = iter(self._record[behind:])
        self.unclosed = f"the quoted field that begins in line {self._number} is never closed"

    @property
    def begin(self) -> bytes:
        """First line of the record."""
        return self._record[0].value

    def record_ends(self) -> Line | None:
        """Begin a new record; return the too long line of the record that ends, if it had one."""
        refused = next((line for line in reversed(self._record) if line.oversized is not None), None)
        self._record, self._size, self.unclosed = [], 0, None
        return refused
