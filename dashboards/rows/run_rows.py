"""The queries that views make of a run file, and a cache that makes each of them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from vmfstream.runfile.queries import (
    AngleFrame,
    DocumentCountFrame,
    EpochFrame,
    EventFrame,
    Ints,
    ListedFrame,
    NameFrame,
    QualityFrame,
    Reading,
    Rejections,
    RepresentativeFrame,
    SketchFrame,
    SliceFrame,
    SnapshotFrame,
    SnapshotTopicFrame,
    SnapshotWordFrame,
    StoryDocumentFrame,
    StoryFrame,
    StorySliceFrame,
    StoryWordFrame,
    TopicFrame,
    WordCodes,
)

if TYPE_CHECKING:
    from vmfstream.dashboards.rows.stable_layout import StableLayout

P = ParamSpec("P")
R = TypeVar("R")


class RunRows(Protocol):
    """The part of ``vmfstream.runfile.queries.Reader`` that views use."""

    def meta(self) -> dict[str, str]:
        """Return the settings of the run."""
        ...

    def slices(self) -> SliceFrame:
        """Return the closed slices."""
        ...

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all closed slices."""
        ...

    def word_codes(self, reading: Reading, top: int = 60, slices: Sequence[int] | None = None) -> WordCodes:
        """Return the ``top`` words of topics in all closed slices as numbers, or in those that are given."""
        ...

    def representative(self, topic: int | None = None) -> RepresentativeFrame:
        """Return the most representative documents."""
        ...

    def events(self) -> EventFrame:
        """Return the events of topics."""
        ...

    def topic_names(self) -> dict[int, str]:
        """Return the names that people gave to topics."""
        ...

    def pinned_topics(self) -> Ints:
        """Return the ids of the topics that are pinned."""
        ...

    def has_smoothed(self) -> bool:
        """Tell whether there are smoothed topics."""
        ...

    def angles(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> AngleFrame:
        """Return the angles between the means of topics, of one ``topic`` and some ``slices`` if they are given."""
        ...

    def sketches(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> SketchFrame:
        """Return sketches of the means of topics, of one ``topic`` and some ``slices`` if they are given."""
        ...

    def quality(self) -> QualityFrame:
        """Return the coherence and the diversity of topics."""
        ...

    def names(self, slices: Sequence[int] | None = None) -> NameFrame:
        """Return the names of topics."""
        ...

    def epochs(self) -> EpochFrame:
        """Return the engine updates."""
        ...

    def rejections(self) -> Rejections:
        """Return how many messages were rejected, by reason."""
        ...

    def stories(self) -> StoryFrame:
        """Return the stories, those of the newest slices first."""
        ...

    def story_words(self, top: int = 10) -> StoryWordFrame:
        """Return the words of stories."""
        ...

    def story_documents(self, top: int = 5) -> StoryDocumentFrame:
        """Return the representative documents of stories."""
        ...

    def story_slices(self) -> StorySliceFrame:
        """Return what stories were at the ends of slices, by story and slice."""
        ...

    def newest_listed(self, most: int, stories: Sequence[int]) -> ListedFrame:
        """Return the newest documents of each topic and slice, and of some stories."""
        ...

    def listed_counts(self) -> DocumentCountFrame:
        """Return how many documents there are of each topic and slice."""
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


def _once(question: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[CachedRows, P], R]:
    """Return a method that makes the query once and keeps the answer."""

    @wraps(question)
    def asked(self: CachedRows, /, *args: P.args, **named: P.kwargs) -> R:
        key = (question.__name__, args, tuple(sorted(named.items())))
        answer: R = self.once(key, lambda: getattr(self.rows, question.__name__)(*args, **named))
        return answer

    return asked


class CachedRows:
    """Rows of a run file with every query made once, so that all views of a page agree.

    ``layout`` is the layout of earlier pages of a growing run file; ``read`` says whether what a page needs is here.
    """

    def __init__(self, rows: RunRows, layout: StableLayout | None = None) -> None:
        self.rows = rows
        self.layout = layout
        self.read = False
        self._known: dict[Hashable, Any] = {}

    meta = _once(RunRows.meta)
    slices = _once(RunRows.slices)
    topics = _once(RunRows.topics)
    word_codes = _once(RunRows.word_codes)
    representative = _once(RunRows.representative)
    events = _once(RunRows.events)
    topic_names = _once(RunRows.topic_names)
    pinned_topics = _once(RunRows.pinned_topics)
    has_smoothed = _once(RunRows.has_smoothed)
    angles = _once(RunRows.angles)
    sketches = _once(RunRows.sketches)
    quality = _once(RunRows.quality)
    names = _once(RunRows.names)
    epochs = _once(RunRows.epochs)
    rejections = _once(RunRows.rejections)
    stories = _once(RunRows.stories)
    story_words = _once(RunRows.story_words)
    story_documents = _once(RunRows.story_documents)
    story_slices = _once(RunRows.story_slices)
    newest_listed = _once(RunRows.newest_listed)
    listed_counts = _once(RunRows.listed_counts)
    snapshots = _once(RunRows.snapshots)
    snapshot_topics = _once(RunRows.snapshot_topics)
    snapshot_words = _once(RunRows.snapshot_words)

    def read_ahead(self) -> None:
        """Make the queries of a page from one moment of the run file, which is opened once for all of them."""
        with at_once(self):
            for question in (
                *(self.meta, self.slices, self.events, self.topic_names, self.pinned_topics, self.names),
                *(self.epochs, self.rejections, self.quality, self.representative, self.listed_counts),
                *(self.stories, self.story_words, self.story_documents, self.story_slices, self.snapshots),
            ):
                question()
            for reading in readings_of(self):
                for question_of_reading in (self.topics, self.word_codes, self.angles, self.sketches):
                    question_of_reading(reading)
        self.read = True

    def once(self, key: Hashable, compute: Callable[[], R]) -> R:
        """Compute a value the first time and return the kept one afterwards."""
        if key not in self._known:
            self._known[key] = compute()
        kept: R = self._known[key]
        return kept


def at_once(rows: RunRows) -> AbstractContextManager[None]:
    """Answer the queries made inside from one moment of the run file, if the rows come from one."""
    if isinstance(rows, CachedRows) and rows.read:
        return nullcontext()
    inner = rows.rows if isinstance(rows, CachedRows) else rows
    together: Callable[[], AbstractContextManager[None]] = getattr(inner, "at_once", nullcontext)
    return together()


def once(rows: RunRows, key: Hashable, compute: Callable[[], R]) -> R:
    """Return ``compute()`` from ``rows``, computed only once for a ``key`` if the rows are cached."""
    return rows.once(key, compute) if isinstance(rows, CachedRows) else compute()


def slices_per_date(rows: RunRows) -> int:
    """Return how many slices of the run file a slice of ``rows`` holds, see `vmfstream.dashboards.rows.merged`."""
    return int(getattr(rows.rows if isinstance(rows, CachedRows) else rows, "per", 1))


def readings_of(rows: RunRows) -> tuple[Reading, ...]:
    """Return the readings that a run file holds, the initial one of a page first."""
    return ("smoothed", "filtered") if rows.has_smoothed() else ("filtered",)


def reading_called(name: str) -> Reading:
    """Return the reading that a key of a figure names."""
    return "smoothed" if name == "smoothed" else "filtered"
