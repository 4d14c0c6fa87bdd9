"""Tables that a tracker takes and gives: frames, Arrow, data sets, mappings; columns and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import ArrowStream
from vmfstream.errors import InputError
from vmfstream.field_names import ID_NAMES, TEXT_NAMES, TIME_NAMES, TITLE_NAMES, alternatives, named
from vmfstream.topic_tracker.manual_source import in_order


class Columns(dict[str, NDArray[Any]]):
    """Columns of one length by name, which become a table of pandas, polars or Arrow.

    It is a dict of arrays, so that ``pandas.DataFrame(columns)`` and ``polars.DataFrame(columns)`` work, and an Arrow
    stream (``__arrow_c_stream__``), which DuckDB, pyarrow and others read.

    Examples
    --------
    >>> columns = Columns(id=np.array(["a", "b"], object), topic=np.array([3, 1]))
    >>> columns.to_pandas()
      id  topic
    0  a      3
    1  b      1
    """

    def to_pandas(self) -> Any:
        """Return a DataFrame of pandas."""
        import pandas as pd

        return pd.DataFrame(dict(self))

    def to_polars(self) -> Any:
        """Return a DataFrame of polars."""
        import polars

        return polars.DataFrame(ArrowStream(self) if self else None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import duckdb

        if not self:
            raise InputError("there are no rows yet, and so no columns")
        connection = duckdb.connect()
        connection.register("given", dict(self))
        return connection.sql("select * from given").__arrow_c_stream__(requested_schema)


class RowList(list[dict[str, Any]]):
    """Rows as dicts with the same keys, which become a table of pandas, polars or Arrow.

    It is a list of dicts, so that ``pandas.DataFrame(rows)`` works; `columns` has the same column by column, and
    ``pyarrow.table(rows.columns)`` is a table of Arrow. What polars and pyarrow make of a list is something
    else. `to_polars` and `columns` give words without their weights.
    """

    @property
    def columns(self) -> Columns:
        """Columns by name; of pairs of words and weights, and of documents, only the words and the ids."""
        found = Columns()
        for name in self[0] if self else ():
            values = [_plain(row[name]) for row in self]
            numbers = all(isinstance(value, int | float) or value is None for value in values)
            if numbers and any(isinstance(value, float) or value is None for value in values):
                found[name] = np.array([np.nan if value is None else value for value in values], np.float64)
            elif numbers:
                found[name] = np.array(values, np.int64)
            else:
                found[name] = np.empty(len(values), np.object_)
                found[name][:] = values
        return found

    def to_pandas(self) -> Any:
        """Return a DataFrame of pandas."""
        return self.columns.to_pandas()

    def to_polars(self) -> Any:
        """Return a DataFrame of polars."""
        return self.columns.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.columns.__arrow_c_stream__(requested_schema)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [one[0] if isinstance(one, tuple) else one["id"] if isinstance(one, dict) else one for one in value]
    return value


class DocumentColumns(NamedTuple):
    """What a table of documents holds: columns of one length, None for those that it has not."""

    text: Sequence[Any]
    time: Sequence[Any] | None
    id: Sequence[Any] | None
    title: Sequence[Any] | None


def documents_of(table: Any, names: Mapping[str, str | None], *, timed: bool) -> DocumentColumns:
    """Find text, time, id and title in a table.

    Parameters
    ----------
    table : a frame of pandas or polars, whatever has ``__arrow_c_stream__``, a data set of Hugging Face (or what else
        has ``column_names`` and columns by name), a mapping of columns, or an iterable of mappings.
    names : of the columns ``text``, ``time``, ``id`` and ``title``; where one is None the first of the usual names.
    timed : whether a time is needed.

    Raises
    ------
    InputError
        If it is none of these, or has no column for the text or the time; says which columns there are.
    """
    columns = _columns(table, names, timed=timed)
    usual = {"text": TEXT_NAMES, "time": TIME_NAMES, "id": ID_NAMES, "title": TITLE_NAMES}
    found: dict[str, Sequence[Any] | None] = {}
    for kind, others in usual.items():
        wanted, named_by_user = (others, False) if names[kind] is None else ((str(names[kind]),), True)
        name = next(iter(named(columns, wanted)), None)
        needed = named_by_user or kind == "text" or (kind == "time" and timed)
        if name is None and needed:
            there = ", ".join(map(str, columns)) or "none"
            index = next(iter(named(_names_of_index(table), wanted)), None)
            hint = "" if index is None else f"; {index} is an index of the frame: give frame.reset_index()"
            raise InputError(f"{kind}: expected a column {alternatives(wanted)}, found: {there}{hint}")
        found[kind] = None if name is None else _listed(name, columns[name])
    given = DocumentColumns(**found)  # type: ignore[arg-type]
    for kind, column in given._asdict().items():
        if column is not None and len(column) != len(given.text):
            raise InputError(f"{kind}: expected one value per text ({len(given.text)}), got {len(column)}")
    return given


def _columns(table: Any, names: Mapping[str, str | None], *, timed: bool) -> Mapping[str, Any]:
    """Return the columns of a table; arguments as of `documents_of`."""
    if isinstance(table, str | bytes):
        raise InputError("documents: expected a table or texts with times, got one string")
    if isinstance(table, Mapping):
        return {str(name): column for name, column in table.items()}
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):  # a frame of pandas or polars
        names_there = [str(name) for name in table.columns]
        if repeated := next((name for name in names_there if names_there.count(name) > 1), None):
            raise InputError(f"documents: expected columns with different names, got {repeated} more than once")
        return {str(name): table[name].to_list() for name in table.columns}
    if hasattr(table, "__arrow_c_stream__"):
        return _arrow(table)
    if hasattr(table, "column_names") and hasattr(table, "__getitem__"):
        return {str(name): table[name] for name in table.column_names}
    if not isinstance(table, Iterable):
        raise InputError(f"documents: expected a table or an iterable of mappings, got {type(table).__name__}")
    return _turned(list(table), names, timed=timed)


def _names_of_index(table: Any) -> list[str]:
    """Return the names that the index of a frame of pandas has; none for other tables."""
    return [str(name) for name in getattr(getattr(table, "index", None), "names", ()) if name is not None]


def _listed(name: str, column: Any) -> Sequence[Any]:
    """Return the values of the column ``name``."""
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InputError(
            f"{name}: expected a value for each document, got one {type(column).__name__}; "
            "a single document is given as [document]"
        )
    return column.to_list() if hasattr(column, "to_list") else in_order(name, column)


def _arrow(table: Any) -> Mapping[str, Sequence[Any]]:
    """Read an Arrow stream by DuckDB, which needs no other package."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("given", ArrowStream(table))
        try:
            found = connection.execute("select * from given").fetchnumpy()
        except duckdb.Error as error:
            raise InputError(f"documents: this Arrow table cannot be read: {error}") from error
    return {name: _unmasked(column) for name, column in found.items()}


def _unmasked(column: NDArray[Any]) -> Any:
    """Return values as a sequence, None where there is none."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    hidden = np.ma.getmaskarray(column).tolist()
    return [None if gone else value for value, gone in zip(column.data, hidden, strict=True)]


def _turned(rows: list[Any], names: Mapping[str, str | None], *, timed: bool) -> Mapping[str, Sequence[Any]]:
    """Return columns of ``rows``, mappings; the first with text and time names them; arguments as of `documents_of`."""
    usual = {"text": TEXT_NAMES, "time": TIME_NAMES, "id": ID_NAMES, "title": TITLE_NAMES}
    asked = {kind: usual[kind] if (name := names[kind]) is None else (name,) for kind in usual}
    needed = ("text", "time")[: 2 if timed else 1]
    mappings = [row if isinstance(row, Mapping) else {} for row in rows]
    whole = next((row for row in mappings if all(named(row, asked[kind]) for kind in needed)), None)
    for i, row in enumerate(rows):
        if whole is None or not isinstance(row, Mapping):
            there = [next(iter(named(mappings[i], asked[kind])), names[kind] or kind) for kind in needed]
            found = ", ".join(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
            texts = "; texts are given with times=, one for each or one for all" if isinstance(row, str) else ""
            texts += "; with slices=100, or another number of documents, they need none" if texts else ""
            raise InputError(
                f"document {i}: expected a mapping with {' and '.join(there)}, found {found or 'nothing'}{texts}"
            )
    if whole is None:
        return {names[kind] or kind: [] for kind in needed}
    keys = dict.fromkeys(key for row in rows for key in row)
    others = [key for kind in ("id", "title") for key in named(keys, asked[kind])[:1]]
    return {str(key): [row.get(key) for row in rows] for key in dict.fromkeys([*whole, *others])}
