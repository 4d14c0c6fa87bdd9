"""Read rows of binary files: Parquet, Feather and Excel."""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmfstream.errors import InputError, MissingExtra
from vmfstream.folders import printable

if TYPE_CHECKING:
    import duckdb

log = logging.getLogger(__name__)

_ROWS = 1024  # rows read at once
_NAMES = {"parquet": "Parquet", "feather": "Feather"}


def read_rows(path: Path, format: str, start: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file from one row on; times with a zone come in UTC and without a zone.

    Parameters
    ----------
    path : Path
    format : {"parquet", "feather"}
    start : int
        First row, counted from 0.

    Raises
    ------
    InputError
        If the file cannot be read, at the row where that shows.
    MissingExtra
        For Feather without pyarrow.
    """
    with _opened(path, format) as connection:
        columns = connection.execute("describe select * from rows").fetchall()
        # times with a zone would need another library on their way into Python; without one they mean UTC anyway
        zoned = [_quoted(name) for name, kind, *_ in columns if kind == "TIMESTAMP WITH TIME ZONE"]
        selected = f"* replace ({', '.join(f'make_timestamp(epoch_us({z})) as {z}' for z in zoned)})" if zoned else "*"
        connection.execute(f"select {selected} from rows offset ?", [start])
        names = [name for name, *_ in columns]
        while rows := connection.fetchmany(_ROWS):
            for row in rows:
                yield dict(zip(names, row, strict=True))


def count_rows(path: Path, format: str) -> int:
    """Return the number of rows of a Parquet or Feather file at ``path``; see `read_rows` for errors."""
    with _opened(path, format) as connection:
        return int(connection.execute("select count(*) from rows").fetchall()[0][0])


def sheet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the first sheet of an Excel file after its header, an empty one for a blank row.

    Cells are numbers, texts and times, formulas their last value. Columns without a name are left out; that is told if
    they hold anything.

    Raises
    ------
    InputError
        If it is no Excel file, or two columns have one name.
    MissingExtra
        Without openpyxl.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise MissingExtra("Excel files need openpyxl: pip install 'vmfstream[tables]'") from None
    from zipfile import BadZipFile

    with path.open("rb") as file:
        try:
            book = load_workbook(file, read_only=True, data_only=True)
        except (InvalidFileException, BadZipFile, KeyError, ValueError) as error:
            raise InputError(f"{path} cannot be read as Excel: {error}") from error
        first, *others = book.worksheets
        if others:
            _tell_unread(path, first.title, tuple(sheet.title for sheet in others))
        rows = first.iter_rows(values_only=True)
        header = [None if name is None else str(name).strip() for name in next(rows, ())]
        twice = sorted({name for name in header if name is not None and header.count(name) > 1})
        if twice:
            raise InputError(f"{path}: expected a header of different names, found {', '.join(twice)} twice")
        unnamed = [at for at, name in enumerate(header) if not name]
        for row in rows:
            if any(row[at] is not None for at in unnamed if at < len(row)):
                _tell_unnamed(path)
                unnamed = []
            yield {name: cell for name, cell in zip(header, row, strict=False) if name and cell is not None}


@cache  # a file is opened to look at its first rows, too
def _tell_unread(path: Path, sheet: str, others: tuple[str, ...]) -> None:
    unread = ", ".join(map(printable, others))
    log.warning("%s: only its first sheet, %s, is read, not %s", printable(path.name), printable(sheet), unread)


@cache
def _tell_unnamed(path: Path) -> None:
    log.warning("%s: columns without a name in the first row are left out", printable(path.name))


@contextmanager
def _opened(path: Path, format: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file as the view ``rows`` of a database in memory."""
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            if format == "feather":
                connection.register("rows", _feather(path))
            else:  # DuckDB reads the name as a pattern
                connection.read_parquet(glob.escape(str(path)), hive_partitioning=False).create_view("rows")
            yield connection
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be read as {_NAMES[format]}: {str(error).splitlines()[0]}") from error


def _feather(path: Path) -> Any:
    try:
        from pyarrow import ArrowException, dataset
    except ImportError:
        raise MissingExtra("Feather files need pyarrow: pip install 'vmfstream[tables]'") from None
    try:
        return dataset.dataset(path, format="feather")
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Feather: {str(error).splitlines()[0]}") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
