"""How a question is asked: the file is opened for a moment, and the answer is a frame of numpy columns."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.runfile.connection import connected, explain
from vmfstream.runfile.schema import check

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.object_]
Times: TypeAlias = NDArray[np.datetime64]

F = TypeVar("F")
Answer = TypeVar("Answer")


def kept(frame: F, chosen: NDArray[Any]) -> F:
    """Return the rows of a frame that are chosen, by a mask or by their places."""
    return type(frame)(**{field.name: getattr(frame, field.name)[chosen] for field in fields(frame)})  # type: ignore[arg-type]


class Asking:
    """A log that another process may be writing."""

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        self.path = Path(path).expanduser().resolve()
        self.timeout = timeout

    def copy(self, target: Path) -> None:
        """Copy the log as it stands between two commits; the writer waits no longer than copying takes."""
        with connected(self.path, read_only=True, timeout=self.timeout):
            shutil.copyfile(self.path, target)
            journal = self.path.with_name(self.path.name + ".wal")
            if journal.exists():
                shutil.copyfile(journal, target.with_name(target.name + ".wal"))

    def _dicts(self, query: str) -> list[dict[str, Any]]:
        names, rows = self._asked(query, (), lambda found: ([c[0] for c in found.description or ()], found.fetchall()))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _rows(self, query: str) -> list[Any]:
        return self._asked(query, (), lambda found: found.fetchall())

    def _columns(self, query: str, parameters: Sequence[object]) -> list[NDArray[Any]]:
        return self._asked(query, parameters, lambda found: list(found.fetchnumpy().values()))

    def _frame(self, kind: type[F], query: str, parameters: Sequence[object] = ()) -> F:
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        columns = ", ".join("source_offset" if name == "offset" else name for name in names)
        found = self._columns(f"select {columns} {query}", parameters)
        return kind(**{name: unmasked(column) for name, column in zip(names, found, strict=True)})

    def _asked(
        self, query: str, parameters: Sequence[object], take: Callable[[duckdb.DuckDBPyConnection], Answer]
    ) -> Answer:
        with connected(self.path, read_only=True, timeout=self.timeout) as connection:
            try:
                check(connection, self.path)
                return take(connection.execute(query, parameters))
            except duckdb.Error as error:
                raise InputError(f"cannot read the log {self.path}: {explain(error)}") from error


def unmasked(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column without mask, in the widest type of its kind: NULL becomes NaN, NaT or -1."""
    kind = column.dtype.kind
    if isinstance(column, np.ma.MaskedArray):
        missing: dict[str, Any] = {"f": np.nan, "M": np.datetime64("NaT"), "i": -1}
        column = column.filled(missing[kind]) if kind in missing and column.mask.any() else column.data
    wide = {"f": "float64", "i": "int64", "M": "datetime64[us]", "b": "bool"}.get(kind, "object")
    return np.asarray(column, dtype=wide)
