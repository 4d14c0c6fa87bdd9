"""Describe a corpus of dated documents: its file, where it is looked for, and how it is downloaded."""

from __future__ import annotations

import contextlib
import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TypeAlias

from vmfstream.errors import InputError
from vmfstream.folders import cache_folder, data_folders, find_data

__all__ = ["ColumnExpressions", "Corpus", "Home", "ReadProgress", "word_list"]

ReadProgress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes fetched so far and the bytes expected, None if the server does not tell."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ColumnExpressions:
    """Which columns of a file make a document, as SQL expressions over it.

    ``order`` are further expressions that sort documents of equal time; without it they keep the order of the file.
    """

    id: str
    time: str
    text: str
    title: str = "NULL"
    label: str = "NULL"
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Home:
    """A public address, the SHA-256 of what it serves, and how that becomes the corpus's file."""

    url: str
    sha256: str
    prepare: Callable[[Path, Path], None] | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """A collection of dated documents that can be replayed as a stream.

    ``file`` is its place below a data folder, ``table`` an SQL table over it (``{file}`` stands for the file),
    ``slices`` the interval that suits it and ``stop_words`` are words that carry no topic in this corpus. ``home`` is
    None if the prepared file cannot be fetched from anywhere and has to be put in place by hand.
    """

    name: str
    title: str
    description: str
    licence: str
    file: str
    columns: ColumnExpressions
    documents: int
    slices: str = "year"
    stop_words: tuple[str, ...] = ()
    table: str = "{file}"
    home: Home | None = None

    def find(self) -> Path | None:
        """Return the file of the corpus if it is on this machine: the first of ``data_folders()`` that has it."""
        return find_data(self.file)

    def path(self, *, progress: ReadProgress | None = None) -> Path:
        """Return the file of the corpus, fetching it first if it is missing and has a public home.

        Raises
        ------
        InputError
            If the file is missing and has no home, or cannot be fetched.
        """
        return self.find() or self.fetch(progress=progress)

    def fetch(self, *, progress: ReadProgress | None = None) -> Path:
        """Download the corpus into the cache folder and return its file there.

        Raises
        ------
        InputError
            If the corpus has no public home, the download fails, or its checksum is wrong. Nothing stays behind then.
        """
        if self.home is None:
            folders = " or ".join(str(folder) for folder in data_folders())
            raise InputError(
                f"corpus {self.name!r} is not on this machine and its prepared file has no public home: put it as "
                f"{self.file} (Parquet with {self._asked()}) into {folders}, or name another folder in $VMFSTREAM_DATA"
            )
        target = cache_folder() / self.file
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        if self.home.prepare is None:
            _download(self.home, part, progress)
            part.replace(target)
            return target
        archive = target.with_name(target.name + ".archive.part")
        try:
            _download(self.home, archive, progress)
            self.home.prepare(archive, part)
            part.replace(target)
        finally:
            archive.unlink(missing_ok=True)
            part.unlink(missing_ok=True)
        return target

    def _asked(self) -> str:
        columns = self.columns
        return f"id = {columns.id}, time = {columns.time}, title = {columns.title}, text = {columns.text}"


def word_list(lines: str) -> tuple[str, ...]:
    """Return the words of a text, for lists of stop words."""
    return tuple(lines.split())


def _download(home: Home, target: Path, progress: ReadProgress | None) -> None:
    """Stream ``home.url`` into ``target`` and check it; on any failure ``target`` is removed."""
    digest = hashlib.sha256()
    done = 0
    try:
        with urllib.request.urlopen(home.url, timeout=30) as answer, target.open("wb") as file:
            length = answer.headers.get("Content-Length")
            expected = int(length) if length and length.isdigit() else None
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, expected)
        if expected is not None and done < expected:
            raise InputError(f"download of {home.url} ended after {done} of {expected} bytes; try again")
        if digest.hexdigest() != home.sha256:
            raise InputError(
                f"download of {home.url} has the wrong checksum: expected SHA-256 {home.sha256}, "
                f"got {digest.hexdigest()}"
            )
    except BaseException as error:
        with contextlib.suppress(OSError):
            target.unlink(missing_ok=True)
        if isinstance(error, (urllib.error.URLError, HTTPException, OSError)):
            raise InputError(f"download of {home.url} failed after {done} bytes: {error}") from error
        raise
