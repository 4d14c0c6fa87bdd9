"""What a view is: rows in, a frame of plain columns, and a plotly figure of a given size and theme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from vmfstream.log.queries import (
    AngleFrame,
    EpochFrame,
    EventFrame,
    Reading,
    Rejections,
    SketchFrame,
    SliceFrame,
    SnapshotFrame,
    SnapshotTopicFrame,
    SnapshotWordFrame,
    TopicFrame,
    TypicalFrame,
    WordFrame,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from vmfstream.dashboards.theme import ThemeName

Measure = Literal["documents", "share"]
Form = Literal["auto", "ladder", "strips", "both"]

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
    reading: Reading = "then"
    measure: Measure = "documents"
    form: Form = "auto"
    all_topics: bool = False


class LogRows(Protocol):
    """The part of ``vmfstream.log.queries.Reader`` that views use."""

    def meta(self) -> dict[str, str]:
        """Return the settings of the run."""
        ...

    def slices(self) -> SliceFrame:
        """Return the closed slices."""
        ...

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all closed slices."""
        ...

    def words(self, reading: Reading, topic: int | None = None, top: int = 60) -> WordFrame:
        """Return the words of topics in all closed slices."""
        ...

    def typical(self, topic: int | None = None) -> TypicalFrame:
        """Return the most typical documents."""
        ...

    def events(self) -> EventFrame:
        """Return what happened to topics."""
        ...

    def has_hindsight(self) -> bool:
        """Tell whether the reading in hindsight exists."""
        ...

    def angles(self, reading: Reading, topic: int | None = None) -> AngleFrame:
        """Return the angles between the means of topics."""
        ...

    def sketches(self, reading: Reading, topic: int | None = None) -> SketchFrame:
        """Return sketches of the means of topics."""
        ...

    def epochs(self) -> EpochFrame:
        """Return the engine updates."""
        ...

    def rejections(self) -> Rejections:
        """Return how many messages were rejected, by reason."""
        ...

    def snapshots(self) -> SnapshotFrame:
        """Return the batch fits of samples."""
        ...

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        """Return the topics of batch fits."""
        ...

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        """Return the words of the topics of batch fits."""
        ...


class View(Protocol[F]):
    """One question, one picture. Views never see a model; they read rows and leave them unchanged."""

    @property
    def name(self) -> str:
        """Short name in the registry and in addresses."""
        ...

    @property
    def title(self) -> str:
        """Heading on the page."""
        ...

    def frame(self, rows: LogRows, selection: Selection) -> F:
        """Turn rows into the columns that the figure needs."""
        ...

    def drawing(self, frame: F, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout of the figure as plain dicts of numbers, texts and arrays."""
        ...

    def figure(self, frame: F, size: Size, theme: ThemeName) -> Figure:
        """Draw the frame at a size in CSS pixels."""
        ...
