"""Interface of a view: from rows to a frame of plain columns to a plotly figure of a given size and theme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.runfile.queries import Reading

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from vmfstream.dashboards.looks.theme import ThemeName

__all__ = ["INSET", "PHONE", "Form", "RunRows", "Selection", "Size", "SizeMeasure", "View"]

INSET = 18
"""Pixels beside the first and the last slice."""

PHONE = 480
"""Width in pixels up to which a drawing is made for a phone."""

SizeMeasure = Literal["documents", "share"]
Form = Literal["auto", "ranks", "heatmap", "both"]

F = TypeVar("F")


class Size(NamedTuple):
    """Width and height of a drawing in CSS pixels; labels are fitted to it."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The one selection that drives every view; None is the page's own choice (newest date, strongest recent turn)."""

    date: int | None = None
    topic: int | None = None
    word: str | None = None
    other: int | None = None
    other_topic: int | None = None
    reading: Reading = "filtered"
    measure: SizeMeasure = "documents"
    form: Form = "auto"
    all_topics: bool = False


class View(ABC, Generic[F]):
    """One question, one picture. Views never see a model; they read rows and leave them unchanged.

    ``name`` stands in the registry and in addresses, ``title`` is the heading on the page.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def frame(self, rows: RunRows, selection: Selection) -> F:
        """Turn rows into the columns that the figure needs."""

    @abstractmethod
    def drawing(self, frame: F, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout of the figure as plain dicts of numbers, texts and arrays.

        ``frame`` is what `frame` returned, ``size`` in CSS pixels; ``theme`` is "light" or "dark".
        """

    def figure(self, frame: F, size: Size, theme: ThemeName) -> Figure:
        """Draw ``frame`` at a ``size`` in CSS pixels in the colours of a ``theme``."""
        import plotly.graph_objects as go

        return go.Figure(self.drawing(frame, size, theme))
