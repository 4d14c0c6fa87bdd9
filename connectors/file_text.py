"""Find out how a text file is written: its encoding, and the delimiter of a table."""

from __future__ import annotations

import codecs
import csv
import gzip
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

from vmfstream.errors import InputError

_logger = logging.getLogger(__name__)

_CHUNK = 1 << 20  # bytes read at once
_HEAD = 1 << 16  # bytes that tell the encoding
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_PACKED = b"\x1f\x8b"  # the first bytes of what gzip writes
_DELIMITERS = ",;\t|"

WESTERN = "cp1252"
"""The encoding of files that are no UTF-8, that of older programs in Western Europe and America."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes, unpacked if its name ends in .gz, or it begins as a packed one."""
    with path.open("rb") as file:
        if path.name.lower().endswith(".gz") or file.peek(len(_PACKED)).startswith(_PACKED):
            with gzip.open(file) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield file


def checked_encoding(name: str) -> str:
    """Return the name of an encoding that Python knows. Raises InputError for another."""
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise InputError(f"encoding: expected one such as utf-8, cp1252 or utf-16, got {name!r}") from error


def encoding_of(head: bytes) -> str:
    """Tell the encoding of a file by its first bytes: by its mark, else UTF-8 if most of what is not ASCII is that.

    UTF-16 without a mark is known by the zeros beside its ASCII characters, where these are more than half of all. A
    few broken bytes in UTF-8 do not make a file another one: they are rejected with their rows.
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    for first, name in enumerate(("utf-16-be", "utf-16-le")):
        if 4 * head[first::2].count(0) > len(head):
            return name
    if head.isascii():
        return "utf-8"
    text = head.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= letter <= "\udcff" for letter in text)
    return WESTERN if broken > sum(letter > "\x7f" for letter in text) - broken else "utf-8"


def utf8_chunks(path: Path, encoding: str | None, *, western: bool = True) -> Iterator[bytes]:
    """Yield the bytes of the file at ``path``, unpacked and in UTF-8, without a mark.

    ``encoding`` None tells it by the file, which is not taken for Windows-1252 without ``western``. Raises
    UnicodeDecodeError at bytes that the encoding does not have, except in UTF-8, which is left as it is.
    """
    with opened(path) as file:
        chunk = file.read(_CHUNK)
        found = encoding_of(chunk[:_HEAD]) if encoding is None else encoding
        if encoding is None and found == WESTERN:
            if western:
                _tell_western(path)
            else:
                found = "utf-8"
        chunk = chunk.removeprefix(codecs.BOM_UTF8)
        decoder = None
        if codecs.lookup(found).name not in ("utf-8", "utf-8-sig"):
            decoder = codecs.getincrementaldecoder(found)("replace" if encoding is None else "strict")
        while chunk:
            yield chunk if decoder is None else decoder.decode(chunk).encode()
            chunk = file.read(_CHUNK)
        if decoder is not None:
            yield decoder.decode(b"", final=True).encode()


@cache
def _tell_western(path: Path) -> None:
    _logger.warning("%s is not UTF-8: it is read as Windows-1252; give --encoding if it is another", path.name)


def delimiter_of(header: str) -> str:
    """Tell what stands between the cells of a table by its first line: what makes the most cells of it."""
    return max(_DELIMITERS, key=lambda each: len(next(csv.reader([header], delimiter=each), [])))
