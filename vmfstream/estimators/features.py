"""Mappings from named features to numbers, as river gives them, to unit rows."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


class NamedFeatures:
    """Gives features columns as they come; when columns run out, those that a model gave up are used again.

    Parameters
    ----------
    most : int
        Most columns, >= 2; features that find none are left out.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._columns: dict[Any, int] = {}
        self._free: list[int] = []
        self._width = 0

    @property
    def width(self) -> int:
        """Columns used so far, at least 2."""
        return max(2, self._width)

    def number(self, document: Mapping[Any, float], in_use: Callable[[], NDArray[np.bool_]] | None = None) -> None:
        """Give new features columns, in an order that does not depend on that of the document.

        Parameters
        ----------
        document : mapping
        in_use : callable, optional
            Tells which columns are held, (width,); asked when there is no column left. By default all stay held.
        """
        new = sorted((name for name in document if name not in self._columns), key=repr)
        if in_use and self._width + len(new) > self.most and len(self._free) < len(new) and self._columns:
            self._release(in_use(), document)
        for name in new:
            if self._free:
                self._columns[name] = self._free.pop()
            elif self._width < self.most:
                self._columns[name] = self._width
                self._width += 1

    def _release(self, in_use: NDArray[np.bool_], document: Mapping[Any, float]) -> None:
        gone = [
            name
            for name, column in self._columns.items()
            if name not in document and not (column < len(in_use) and in_use[column])
        ]
        self._free += [self._columns.pop(name) for name in gone]

    def names(self) -> list[str]:
        """Return the features by column, (width,); columns without one are called ""."""
        names = [""] * self.width
        for name, column in self._columns.items():
            names[column] = str(name)
        return names

    def column(self, name: Any) -> int:
        """Return the column of a feature, -1 if it has none."""
        return self._columns.get(name, -1)

    def all_new(self, document: Mapping[Any, float]) -> bool:
        """Tell whether no feature of a document has a column."""
        return not any(name in self._columns for name in document)

    def row(self, document: Mapping[Any, float]) -> csr_array:
        """Return a document of finite numbers as a row, (1, width) float32.

        It is scaled by the length of the whole document, features without a column included, which are then left out.
        """
        given = sorted((self.column(name), value) for name, value in document.items())
        columns = np.array([column for column, _ in given], np.int32)
        values = np.array([value for _, value in given])
        if len(given):
            values /= np.abs(values).max()  # so that squares neither overflow nor vanish
            values /= math.sqrt(values @ values)
        known = columns >= 0
        bounds = np.array([0, known.sum()], np.int32)
        return csr_array((values[known].astype(np.float32), columns[known], bounds), shape=(1, self.width))


def refuse_plain_rows(method: str, learnt: bool) -> None:
    """Raise ValueError for a ``method`` of named features if rows without names were ``learnt``."""
    if learnt:
        raise ValueError(f"{method}: expected rows without names, for fit or partial_fit was called before")


def frame_documents(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a pandas.DataFrame as mappings from columns to values.

    Raises
    ------
    ValueError
        If ``X`` is something else, or two columns have the same name.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        kind = type(X)
        raise ValueError(f"X: expected a pandas DataFrame, got {kind.__module__}.{kind.__qualname__}")
    if not X.columns.is_unique:
        raise ValueError(f"X: expected different column names, got {X.columns[X.columns.duplicated()][0]!r} repeatedly")
    return list(X.to_dict("records"))


def finite_numbers(x: Mapping[Any, float]) -> dict[Any, float]:
    """Return a copy of a document with its numbers other than 0.

    Raises
    ------
    ValueError
        If ``x`` is no mapping, or a value is not a finite number; names the feature.
    """
    if not isinstance(x, Mapping):
        raise ValueError(f"x: expected a mapping from features to numbers, got {x!r:.60}")
    for name, value in x.items():
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"feature {name!r}: expected a finite number, got {value!r}")
    return {name: float(value) for name, value in x.items() if value}
