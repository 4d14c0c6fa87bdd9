"""The parts of a recomputed table or figure, independent of how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = float | str | None

ResultSource: TypeAlias = Literal["paper", "ours"]

Style: TypeAlias = Literal["line", "printed", "points", "marks"]
"""A line of ours, printed values (hollow marks), single points, or marks that stand out among points."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table: the printed value and ours, with its standard deviation over restarts."""

    row: str
    column: str
    paper: Value
    ours: Value
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Entries with a title; numbers are shown with ``digits`` decimals, or with as many significant ones if ``exact``.

    ``corner`` names the rows; ``notes`` are sentences below the table.
    """

    title: str
    cells: tuple[Cell, ...]
    digits: int = 3
    exact: bool = False
    corner: str = ""
    notes: tuple[str, ...] = ()

    def rows(self) -> list[str]:
        """Return the names of the rows in order of appearance."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    def columns(self) -> list[str]:
        """Return the names of the columns in order of appearance."""
        return list(dict.fromkeys(cell.column for cell in self.cells))

    def sources(self, column: str) -> tuple[ResultSource, ...]:
        """Return whose values a column shows: ours alone where the paper prints none."""
        printed = any(cell.paper is not None for cell in self.cells if cell.column == column)
        return ("paper", "ours") if printed else ("ours",)

    def places(self) -> list[tuple[str, ResultSource]]:
        """Return every column with every source that it shows."""
        return [(column, source) for column in self.columns() for source in self.sources(column)]

    def text(self, row: str, column: str, source: ResultSource) -> str:
        """Return the entry at ``row`` and ``column`` as shown, empty if there is none.

        ``source`` is "paper" or "ours".
        """
        cell = next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)
        if cell is None:
            return ""
        return self._write(cell.paper) if source == "paper" else self._write(cell.ours, cell.spread)

    def _write(self, value: Value, spread: float | None = None) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        text = f"{value:.{self.digits}g}" if self.exact else f"{value:,.{self.digits}f}"
        return text if spread is None else f"{text} ± {spread:.{self.digits}f}"


@dataclass(frozen=True, slots=True)
class Series:
    """Values over x, by name; ``spread`` is their standard deviation over restarts."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style = "line"
    spread: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Axes:
    """One pair of axes: what is drawn on them, and dashed levels with their names. ``square`` makes units equal."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    levels: tuple[tuple[str, float], ...] = ()
    square: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A small picture with a name: rows of pixels, from 0 (paper) to 1 (ink)."""

    name: str
    pixels: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Images:
    """Small pictures in a row, with a title."""

    title: str
    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """One table or figure of a paper, recomputed."""

    name: str
    title: str
    tables: tuple[Table, ...] = ()
    panels: tuple[Axes, ...] = ()
    notes: tuple[str, ...] = ()
    images: tuple[Images, ...] = ()


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return mean and standard deviation, None of a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def placed(name: str, places: NDArray[np.float64], style: Style = "points") -> Series:
    """Return points of the plane as a series.

    Parameters
    ----------
    name : of the series.
    places : (N, 2) where they are.
    style : how they are drawn.
    """
    across, up = places.T.tolist()
    return Series(name, tuple(across), tuple(up), style)


def tables_of(panel: Axes) -> Table:
    """Return the numbers of a panel as a table, for where there is no picture: a row per line, a column per x."""
    cells = [
        Cell(series.name, f"{x:g}", None, y, series.spread[i] if series.spread else None)
        for series in panel.series
        if series.style == "line"
        for i, (x, y) in enumerate(zip(series.x, series.y, strict=True))
    ]
    return Table(panel.title, tuple(cells), corner=f"{panel.y_title} at {panel.x_title}")
