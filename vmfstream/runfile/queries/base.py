"""What all queries share: open the file for a moment, check its format, return a frame of numpy columns."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.runfile.connection import connected, explain
from vmfstream.runfile.schema import check

Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.object_]
Times: TypeAlias = NDArray[np.datetime64]

F = TypeVar("F")
Answer = TypeVar("Answer")


def kept(frame: F, chosen: NDArray[Any]) -> F:
    """Return the rows of a frame that ``chosen`` selects, a mask or an array of positions."""
    return type(frame)(**{field.name: getattr(frame, field.name)[chosen] for field in fields(frame)})  # type: ignore[arg-type]


class RunFileQueries:
    """Base of the groups of queries of `Reader`."""

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        self.path = Path(path).expanduser().resolve()
        self.timeout = timeout
        self._open = threading.local()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Answer the queries of this thread that are made inside from one moment of the run file, opened once.

        A writer waits as long: what takes long belongs behind it. It may stand inside another one.

        Raises
        ------
        InputError, FormatVersion, StoreLocked
            As every query.
        """
        if getattr(self._open, "connection", None) is not None:
            yield
            return
        with connected(self.path, read_only=True, timeout=self.timeout) as connection:
            try:
                check(connection, self.path)
                self._open.connection = connection
                yield
            except duckdb.Error as error:
                raise InputError(f"cannot read the run file {self.path}: {explain(error)}") from error
            finally:
                self._open.connection = None

    def copy(self, target: Path) -> None:
        """Copy the run file between two commits; the writer waits for as long as copying takes."""
        with connected(self.path, read_only=True, timeout=self.timeout):
            shutil.copyfile(self.path, target)
            journal = self.path.with_name(self.path.name + ".wal")
            if journal.exists():
                shutil.copyfile(journal, target.with_name(target.name + ".wal"))

    def _dicts(self, query: str) -> list[dict[str, Any]]:
        names, rows = self._query(query, (), lambda found: _checked_rows(found, query))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _rows(self, query: str) -> list[Any]:
        return self._query(query, (), lambda found: _checked_rows(found, query)[1])

    def _columns(self, query: str, parameters: Sequence[object]) -> list[NDArray[Any]]:
        return self._query(query, parameters, lambda found: list(numbers_checked(found.fetchnumpy(), query).values()))

    def _frame(self, kind: type[F], query: str, parameters: Sequence[object] = ()) -> F:
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        columns = ", ".join("source_offset" if name == "offset" else name for name in names)
        found = self._columns(f"select {columns} {query}", parameters)
        return kind(**{name: unmasked(column) for name, column in zip(names, found, strict=True)})

    def _query(
        self, query: str, parameters: Sequence[object], take: Callable[[duckdb.DuckDBPyConnection], Answer]
    ) -> Answer:
        return self._connected(lambda connection: take(connection.execute(query, parameters)))

    def _connected(self, work: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Do something with the open file."""
        with self.at_once():
            return work(self._open.connection)


_LEAST = {"n": -1e-3, "share": -1e-3, "weight": -1e6, "degrees": 0.0, "rank": 1.0}
"""Smallest value of columns that are numbers in each of their rows, in all tables that have them."""

_MOST = 1e15
_UNBOUNDED = ("kappa", "gamma", "evidence")
"""Columns that may be infinite; all others are below this, or unknown."""

_TIMES = np.array(["0001-01-01", "10000-01-01"], "datetime64[us]")
"""All times are from the first of these on, and before the second."""


def numbers_checked(columns: dict[str, NDArray[Any]], query: str) -> dict[str, NDArray[Any]]:
    """Return the columns that a query found: a run file may be a stranger's.

    Raises
    ------
    InputError
        If there are numbers that no run writes; names the table and the column.
    """
    for name, given in columns.items():
        if given.dtype.kind == "M":
            times = unmasked(given)
            if not (np.isnat(times) | ((times >= _TIMES[0]) & (times < _TIMES[1]))).all():
                raise _damaged(query, name, "times of the years 1 to 9999", "others")
            continue
        least = _LEAST.get(name)
        if name in _UNBOUNDED or given.dtype.kind not in ("f" if least is None else "fi"):
            continue
        column = unmasked(given)
        good = np.isnan(column) | (np.abs(column) < _MOST) if least is None else (column >= least) & (column < _MOST)
        if not good.all():
            expected = "a number or none" if least is None else f"a number from {least:g} on"
            raise _damaged(query, name, expected, f"{column[~good][0]:g}")
    return columns


def _checked_rows(found: duckdb.DuckDBPyConnection, query: str) -> tuple[list[str], list[Any]]:
    """Return the names of the columns and the rows that a ``query`` found, if a run can have written them.

    Raises
    ------
    InputError
        As `numbers_checked`.
    """
    described, rows = found.description or [], found.fetchall()
    for place, (name, kind, *_) in enumerate(described):
        values = [row[place] for row in rows]
        if str(kind) in ("FLOAT", "DOUBLE"):
            numbers_checked({name: np.array([np.nan if one is None else one for one in values], np.float64)}, query)
        elif str(kind) == "TIMESTAMP" and not all(one is None or isinstance(one, datetime) for one in values):
            raise _damaged(query, name, "times of the years 1 to 9999", "others")
    return [name for name, *_ in described], rows


def _damaged(query: str, name: str, expected: str, got: str) -> InputError:
    table = re.search(r"\bfrom (?!meta\b)(\w+)", query)
    where = f"{table[1]}.{name}" if table else name
    return InputError(f"the run file is damaged: {where}: expected {expected}, got {got}")


class SliceLabels(dict[int, str]):
    """The labels of slices by their numbers; rows of a stranger may name slices that there are not."""

    def __missing__(self, index: int) -> str:
        raise InputError(f"the run file is damaged: rows name the slice {index}, which no epoch has")


def unmasked(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column without its mask, in the widest type of its kind; NULL becomes NaN, NaT or -1."""
    kind = column.dtype.kind
    if isinstance(column, np.ma.MaskedArray):
        missing: dict[str, Any] = {"f": np.nan, "M": np.datetime64("NaT", "us"), "i": -1}
        column = column.filled(missing[kind]) if kind in missing and column.mask.any() else column.data
    wide = {"f": "float64", "i": "int64", "M": "datetime64[us]", "b": "bool"}.get(kind, "object")
    return np.asarray(column, dtype=wide)
