"""Tables of columns, such as pandas DataFrames, as rows for the views in place of a run file."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.runfile.queries import (
    OLD_READINGS,
    SKETCH_SIZE,
    AngleFrame,
    DocumentCountFrame,
    EpochFrame,
    EventFrame,
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
    WordFrame,
    kept,
)

TABLES: Mapping[str, type] = {
    "slices": SliceFrame,
    "topics": TopicFrame,
    "words": WordFrame,
    "representative": RepresentativeFrame,
    "events": EventFrame,
    "epochs": EpochFrame,
    "angles": AngleFrame,
    "sketches": SketchFrame,
    "snapshots": SnapshotFrame,
    "snapshot_topics": SnapshotTopicFrame,
    "snapshot_words": SnapshotWordFrame,
    "stories": StoryFrame,
    "story_words": StoryWordFrame,
    "story_documents": StoryDocumentFrame,
    "story_slices": StorySliceFrame,
}
"""Names of the tables, each with the frame of ``vmfstream.runfile.queries`` whose columns it has."""

_NAMES = {kind: name for name, kind in TABLES.items()}
_ORDER: Mapping[str, tuple[str, ...]] = {
    "slices": ("slice",),
    "topics": ("slice", "topic"),
    "words": ("slice", "topic", "rank"),
    "representative": ("slice", "topic", "rank"),
    "events": ("slice",),
    "epochs": ("epoch",),
    "angles": ("slice", "topic", "other"),
    "sketches": ("slice", "topic"),
    "snapshots": ("snapshot",),
    "snapshot_topics": ("snapshot", "node"),
    "snapshot_words": ("snapshot", "node", "rank"),
    "stories": ("story",),
    "story_words": ("story", "rank"),
    "story_documents": ("story", "rank"),
    "story_slices": ("story", "slice"),
}
_OLD_TABLES = {"typical": "representative"}
_OLD_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "slices": {"settling": "warm_up"},
    "topics": {"speed": "drift_angle", "speed_error": "drift_angle_error"},
    "epochs": {"unknown": "oov_rate", "heldout": "prequential"},
}
# names that were in use before, each with today's; still accepted in this version
_NEEDED = ("slices", "topics", "words")
# what a missing column holds, by the kind of its frame's field; others must be there
_KINDS: Mapping[str, tuple[str, Any]] = {
    "Ints": ("int64", None),
    "Vector": ("float64", np.nan),
    "Bools": ("bool", False),
    "Texts": ("object", ""),
    "Times": ("datetime64[us]", np.datetime64("NaT", "us")),
}
_ZERO = frozenset({"rejected", "late", "empty"})
_NONE = frozenset({"other", "lag", "epoch", "parent", "decision"})

F = TypeVar("F")


class RowsInMemory(ABC):
    """Rows whose tables are in memory: a query for some of the rows leaves out the others."""

    @abstractmethod
    def whole(self, kind: type[F], reading: Reading | None = None) -> F:
        """Return the table that has the columns of a frame, in the order of its keys, without rows if there is none."""

    def meta(self) -> dict[str, str]:
        """Return the settings of the run."""
        return {}

    def slices(self) -> SliceFrame:
        """Return the closed slices."""
        return self.whole(SliceFrame)

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all closed slices."""
        return self.whole(TopicFrame, reading)

    def words(self, reading: Reading, topic: int | None = None, top: int = 60) -> WordFrame:
        """Return the words of topics in all closed slices."""
        frame = self.whole(WordFrame, reading)
        return kept(frame, (frame.rank <= top) & _of(frame.topic, topic))

    def word_codes(self, reading: Reading, top: int = 60, slices: Sequence[int] | None = None) -> WordCodes:
        """Return the ``top`` words of topics in all closed slices as numbers, or in those that are given."""
        frame = self.words(reading, top=top)
        frame = kept(frame, _among(frame.slice, slices))
        vocabulary = sorted({str(word) for word in frame.word})
        place = {word: k for k, word in enumerate(vocabulary)}
        code = np.array([place[str(word)] for word in frame.word], np.int64)
        names = np.array(vocabulary, np.object_)
        return WordCodes(frame.slice, frame.topic, frame.rank, code, frame.weight, names)

    def angles(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> AngleFrame:
        """Return the angles between topics, of one ``topic`` and some ``slices`` if they are given."""
        frame = self.whole(AngleFrame, reading)
        return kept(frame, (_of(frame.topic, topic) | _of(frame.other, topic)) & _among(frame.slice, slices))

    def sketches(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> SketchFrame:
        """Return the sketches of means, of one ``topic`` and some ``slices`` if they are given."""
        frame = self.whole(SketchFrame, reading)
        return kept(frame, _of(frame.topic, topic) & _among(frame.slice, slices))

    def representative(self, topic: int | None = None) -> RepresentativeFrame:
        """Return the most representative documents."""
        frame = self.whole(RepresentativeFrame)
        return kept(frame, _of(frame.topic, topic))

    def events(self) -> EventFrame:
        """Return the events of topics."""
        return self.whole(EventFrame)

    def topic_names(self) -> dict[int, str]:
        """Return the names that people gave to topics: none."""
        return {}

    def pinned_topics(self) -> NDArray[np.int64]:
        """Return the ids of the topics that are pinned: none."""
        return np.zeros(0, np.int64)

    def quality(self) -> QualityFrame:
        """Return that nothing is known of coherence and diversity."""
        return empty(QualityFrame)

    def names(self, slices: Sequence[int] | None = None) -> NameFrame:
        """Return that topics have no names but their words."""
        return empty(NameFrame)

    def epochs(self) -> EpochFrame:
        """Return the engine updates."""
        return self.whole(EpochFrame)

    def rejections(self) -> Rejections:
        """Return that nothing is known of rejected messages."""
        return Rejections(0, {}, {})

    def snapshots(self) -> SnapshotFrame:
        """Return the batch fits of samples."""
        return self.whole(SnapshotFrame)

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        """Return the topics of all snapshots or of one."""
        frame = self.whole(SnapshotTopicFrame)
        return kept(frame, _of(frame.snapshot, snapshot))

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        """Return the words of all snapshots or of one."""
        frame = self.whole(SnapshotWordFrame)
        return kept(frame, (frame.rank <= top) & _of(frame.snapshot, snapshot))

    def stories(self) -> StoryFrame:
        """Return the stories: by the slice of their last document, newest first, and by size."""
        frame = self.whole(StoryFrame)
        return kept(frame, np.lexsort((frame.story, -frame.size, -frame.last_slice)))

    def story_words(self, top: int = 10) -> StoryWordFrame:
        """Return the words of stories."""
        frame = self.whole(StoryWordFrame)
        return kept(frame, frame.rank <= top)

    def story_documents(self, top: int = 5) -> StoryDocumentFrame:
        """Return the representative documents of stories."""
        frame = self.whole(StoryDocumentFrame)
        return kept(frame, frame.rank <= top)

    def story_slices(self) -> StorySliceFrame:
        """Return what stories were at the ends of slices."""
        frame = self.whole(StorySliceFrame)
        return kept(frame, np.lexsort((frame.slice, frame.story)))

    def newest_listed(self, most: int, stories: Sequence[int]) -> ListedFrame:
        """Return no documents: tables have only representative ones."""
        return empty(ListedFrame)

    def listed_counts(self) -> DocumentCountFrame:
        """Return that there are no documents."""
        return empty(DocumentCountFrame)

    def has_smoothed(self) -> bool:
        """Tell whether there are smoothed topics."""
        return bool(self.topics("smoothed").slice.size)


def empty(kind: type[F]) -> F:
    """Return a frame without rows."""
    return kind(**{f.name: _column(None, "", f.name, str(f.type), 0) for f in fields(kind)})  # type: ignore[arg-type]


class TableRows(RowsInMemory):
    """A run as tables.

    Parameters
    ----------
    tables : mapping of str to table
        By the names in ``TABLES``; ``slices``, ``topics`` and ``words`` are needed. A table is anything that gives a
        column for its name: a DataFrame, a dict of sequences. ``topics``, ``words``, ``angles`` and ``sketches`` may
        have a column ``reading`` with ``filtered`` or ``smoothed``; without it all rows are filtered. Numbers that a
        table does not have are unknown.
    settings : mapping of str to str, optional
        Of the run, such as ``title``.

    Raises
    ------
    InputError
        If a table or a column is missing, or has the wrong kind of values; tables are looked at when they are asked
        for.
    """

    def __init__(self, tables: Mapping[str, Any], settings: Mapping[str, str] | None = None) -> None:
        tables = {_today(name, _OLD_TABLES, "tables"): table for name, table in tables.items()}
        for name in tables:
            if name not in TABLES:
                raise InputError(f"tables: expected some of {', '.join(TABLES)}, got {name!r}")
        for name in _NEEDED:
            if name not in tables:
                raise InputError(f"tables: {name!r} is missing")
        self._tables = tables
        self._settings = dict(settings or {})

    def meta(self) -> dict[str, str]:
        """Return the settings of the run."""
        return dict(self._settings)

    def whole(self, kind: type[F], reading: Reading | None = None) -> F:
        """Return a table as a frame, of one reading only."""
        name = _NAMES[kind]
        given, order = self._tables.get(name, {}), _ORDER[name]
        table = {_today(column, _OLD_COLUMNS.get(name, {}), name): given[column] for column in _names(given)}
        names = set(table)
        if name in self._tables and order[0] not in names:
            raise InputError(f"{name}: there is no column {order[0]!r}")
        rows = len(np.asarray(table[order[0]])) if names else 0
        columns = {
            field.name: _column(table if field.name in names else None, name, field.name, str(field.type), rows)
            for field in fields(kind)  # type: ignore[arg-type]
        }
        frame = kind(**columns)
        if reading is not None:
            readings = _readings(table["reading"]) if "reading" in names else np.full(rows, "filtered")
            frame = kept(frame, readings == reading)
        return kept(frame, np.lexsort(tuple(getattr(frame, key) for key in reversed(order))))


def _names(table: Any) -> list[str]:
    return [str(name) for name in (table.columns if hasattr(table, "columns") else table)]


def _readings(column: Any) -> NDArray[np.object_]:
    """Return the readings of rows; former names become those in use today."""
    readings = np.array(column, np.object_)
    for old in OLD_READINGS:
        if (readings == old).any():
            readings[readings == old] = _today(old, OLD_READINGS, "reading")
    return readings


def _today(name: str, old: Mapping[str, str], where: str) -> str:
    """Return the name in use today for one that may be an old one."""
    if name not in old:
        return name
    warnings.warn(f"{where}: {name!r} is now called {old[name]!r}", DeprecationWarning, stacklevel=4)
    return old[name]


def _column(table: Any, name: str, column: str, kind: str, rows: int) -> NDArray[Any]:
    dtype, missing = _KINDS[kind]
    if table is None:
        if column in _ZERO | _NONE:
            missing = 0 if column in _ZERO else -1
        if missing is None and rows:
            raise InputError(f"{name}: there is no column {column!r}")
        shape = (rows, SKETCH_SIZE) if column == "numbers" else (rows,)
        return np.full(shape, 0 if missing is None else missing, dtype=dtype)
    values = np.asarray(table[column])
    try:
        if column == "numbers":
            return np.stack([np.asarray(row, np.float64) for row in values]) if rows else np.empty((0, SKETCH_SIZE))
        if kind == "Times" and values.dtype.kind == "O":
            values = np.array([_moment(v) for v in values], dtype=dtype)
        return np.array(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: column {column!r} should hold {dtype}: {error}") from error


def _moment(value: Any) -> Any:
    """Return a time without its zone, in UTC; None and the missing time of pandas are no time."""
    if value is None or value != value:
        return np.datetime64("NaT", "us")
    aware = getattr(value, "tzinfo", None) is not None
    return np.datetime64(value.astimezone(UTC).replace(tzinfo=None) if aware else value)


def _of(column: NDArray[np.int64], wanted: int | None) -> NDArray[np.bool_]:
    return np.ones(column.size, np.bool_) if wanted is None else np.asarray(column == wanted)


def _among(column: NDArray[np.int64], slices: Sequence[int] | None) -> NDArray[np.bool_]:
    return np.ones(column.size, np.bool_) if slices is None else np.isin(column, slices)
