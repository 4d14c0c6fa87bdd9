"""Read a user's file of documents as an SQL table, and find its time, text, title and id columns."""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Sequence
from pathlib import Path

import duckdb

from vmfstream.errors import InputError

_FORMATS = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def table_of(file: Path, delimiter: str | None) -> tuple[str, list[str]]:
    """Return an SQL table expression over a file, text columns read as they are written, and its column names."""
    if not file.exists():
        raise InputError(f"{file}: no such file")
    if not file.is_file():
        raise InputError(f"{file}: expected a file, found a folder")
    if not file.stat().st_size:
        raise InputError(f"{file}: the file is empty")
    ending = Path(file.stem).suffix if file.suffix.lower() == ".gz" else file.suffix
    format = _FORMATS.get(ending.lower())
    if format is None:
        raise InputError(f"{file}: expected a file ending in {', '.join(_FORMATS)}")
    name = quoted(file)
    if format == "parquet":
        table = f"read_parquet({name})"
        return table, _names(file, table)
    if format == "csv":
        between = delimiter or ("\t" if ending.lower() == ".tsv" else ",")
        names = _header(file, between)
        # one thread: quoted line breaks and rows that are too short cannot be read by several
        table = (
            f"read_csv({name}, columns = {_texts(names)}, auto_detect = false, header = true, "
            f"delim = {literal(between)}, quote = '\"', escape = '\"', null_padding = true, "
            "parallel = false, max_line_size = 16000000)"
        )
        return table, names
    layout = "auto" if ending.lower() == ".json" else "newline_delimited"
    lenient = "" if layout == "auto" else ", ignore_errors = true"
    names = _names(file, f"read_json({name}, format = '{layout}', union_by_name = true{lenient})")
    return f"read_json({name}, format = '{layout}', columns = {_texts(names)}{lenient})", names


def _header(file: Path, delimiter: str) -> list[str]:
    try:
        with (gzip.open if file.suffix.lower() == ".gz" else open)(
            file, "rt", encoding="utf-8-sig", newline=""
        ) as lines:
            names = next(csv.reader(lines, delimiter=delimiter), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: the header cannot be read: {error}") from error
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        raise InputError(f"{file}: expected a header of different names, found {', '.join(twice) or 'an empty line'}")
    return names


def _texts(names: Sequence[str]) -> str:
    """Return the SQL that declares all columns as text, so that values stay as they are written."""
    return "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names) + "}"


def _names(file: Path, table: str) -> list[str]:
    try:
        with duckdb.connect() as connection:
            return [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
    except duckdb.Error as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from error


def optional_column(file: Path, names: list[str], role: str, given: str | None, usual: Sequence[str]) -> str | None:
    """Return the quoted name of a column that was given or has one of the usual names; None if there is none.

    ``file`` and ``role`` are for messages; of its columns ``names`` the ``given`` one must exist, else InputError is
    raised; the first of ``usual`` is taken without one.
    """
    folded = {name.lower(): name for name in reversed(names)}
    if given is not None:
        if given.lower() not in folded:
            raise InputError(f"{file}: expected a {role} column {given!r}, found the columns {', '.join(names)}")
        return _identifier(folded[given.lower()])
    return next((_identifier(folded[name]) for name in usual if name in folded), None)


def column(file: Path, names: list[str], role: str, given: str | None, usual: Sequence[str]) -> str:
    """Return the quoted name of a column; arguments as in `optional_column`. Raises InputError if there is none."""
    found = optional_column(file, names, role, given, usual)
    if found is None:
        raise InputError(
            f"{file}: expected a {role} column named {', '.join(usual)} or as you say, "
            f"found the columns {', '.join(names)}"
        )
    return found


def quoted(file: Path) -> str:
    """Return the name of a file as SQL, no sign of which stands for other files."""
    return literal(glob.escape(str(file)))


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def reason(error: Exception) -> str:
    """Return what DuckDB says before it begins to give advice, on one line."""
    said, _, _ = str(error).partition("\n\n")
    return " ".join(said.partition("Possible")[0].split())[:300]
