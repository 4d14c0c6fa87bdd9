"""The only reading of the log: each method opens the file for a moment and answers with a frame of numpy columns."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.log.connection import connected, explain
from vmfstream.log.lease import holder
from vmfstream.log.schema import check

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.object_]
Times: TypeAlias = NDArray[np.datetime64]

Reading: TypeAlias = Literal["then", "hindsight"]
"""``then``: as known when the slice closed; ``hindsight``: using the documents of later slices too."""

SKETCH_SIZE = 512
"""Numbers of a sketch."""

_TABLE = {"then": "filtered", "hindsight": "smoothed"}


@dataclass(frozen=True, slots=True)
class Newest:
    """How far the run is: last epoch (-1 before the first), last closed slice, and whether the source is done."""

    epoch: int
    slice: int | None
    finished: bool


@dataclass(frozen=True, slots=True)
class Pulse:
    """How far a run is, for whoever watches it.

    ``epoch`` is the newest update (-1 before the first), ``written`` when it was written (UTC), ``usual`` the usual
    seconds between updates (NaN before the third), ``slice`` the newest closed slice, ``closed`` the update that closed
    it, ``snapshot`` the newest batch fit (-1 without any).
    """

    epoch: int
    finished: bool
    written: datetime | None
    usual: float
    slice: int | None
    closed: int
    snapshot: int


@dataclass(frozen=True, slots=True, eq=False)
class OpenSlice:
    """The slice that is not closed yet: its documents so far, in all and by topic."""

    slice: int
    label: str
    n: int
    topic: Ints
    documents: Floats


@dataclass(frozen=True, slots=True)
class Rejections:
    """How many messages were no documents, in all and by kind of reason (up to its colon), most frequent first."""

    total: int
    reasons: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class SliceFrame:
    """Closed slices by index; ``begins`` and ``ends`` are datetime64[us] in UTC, NaT for slices of N documents."""

    slice: Ints
    label: Texts
    begins: Times
    ends: Times
    n: Ints
    predicted: Floats
    settling: Bools


@dataclass(frozen=True, slots=True, eq=False)
class TopicFrame:
    """Topics at the end of each closed slice, by slice and topic; NaN where a number was not known."""

    slice: Ints
    topic: Ints
    n: Floats
    share: Floats
    kappa: Floats
    gamma: Floats
    tightness: Floats
    certainty: Floats
    speed: Floats
    speed_error: Floats


@dataclass(frozen=True, slots=True, eq=False)
class AngleFrame:
    """Degrees between the means of topics at the end of a slice; each pair once, the smaller number first."""

    slice: Ints
    topic: Ints
    other: Ints
    degrees: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SketchFrame:
    """Means of topics by slice and topic as ``numbers`` (rows, 512), whose cosines are nearly those of the means."""

    slice: Ints
    topic: Ints
    numbers: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotFrame:
    """Batch fits of a sample of the stream, see `vmfstream.engine.snapshots`.

    ``kind`` is ``flat``, ``tree`` or ``smoothed``; ``slice`` the last one that the sample holds, ``documents`` its
    size; ``bound`` in nats per document; ``predicted`` and ``live`` the mean log-density that the fit and the tracker
    gave to the documents of the next slice.
    """

    snapshot: Ints
    kind: Texts
    slice: Ints
    made: Times
    documents: Ints
    bound: Floats
    predicted: Floats
    live: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotTopicFrame:
    """Topics of snapshots; ``parent`` is -1 at a root, ``topic`` the live topic it answers to or -1 for none."""

    snapshot: Ints
    node: Ints
    parent: Ints
    level: Ints
    topic: Ints
    n: Floats
    share: Floats
    tightness: Floats
    certainty: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotWordFrame:
    """Words of the topics of snapshots by rank (from 1)."""

    snapshot: Ints
    node: Ints
    rank: Ints
    word: Texts
    weight: Floats


@dataclass(frozen=True, slots=True, eq=False)
class WordFrame:
    """Words of topics by slice, topic and rank (from 1)."""

    slice: Ints
    topic: Ints
    rank: Ints
    word: Texts
    weight: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TypicalFrame:
    """Documents most typical of a topic, by slice, topic and rank (from 1)."""

    slice: Ints
    topic: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    score: Floats


@dataclass(frozen=True, slots=True, eq=False)
class NovelFrame:
    """The most novel documents of each closed slice by rank (from 1), see `vmfstream.records.Novel`."""

    slice: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    novelty: Floats
    topic: Ints


@dataclass(frozen=True, slots=True, eq=False)
class UncertaintyFrame:
    """How sure topics are at the end of each closed slice, at 95 %, by slice and topic; NaN where it was not logged.

    The share lies between ``share_low`` and ``share_high``, the mean within ``radius`` degrees of the one that is told.
    """

    slice: Ints
    topic: Ints
    share_low: Floats
    share_high: Floats
    radius: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TemperFrame:
    """Inverse temperatures of memberships, see `vmfstream.records.SliceReport`; NaN where there is none."""

    slice: Ints
    temper: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EventFrame:
    """What happened, in order, see `vmfstream.records.Event`; ``other`` is -1, a number NaN where there is none."""

    slice: Ints
    epoch: Ints
    kind: Texts
    topic: Ints
    other: Ints
    value: Floats
    evidence: Floats
    chance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EpochFrame:
    """Engine updates by number; ``unknown`` and ``heldout`` are NaN, ``lag`` is -1 where they were not known."""

    epoch: Ints
    slice: Ints
    label: Texts
    n: Ints
    rejected: Ints
    late: Ints
    empty: Ints
    unknown: Floats
    heldout: Floats
    seconds: Floats
    lag: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RejectedFrame:
    """Messages that were no documents, the newest first."""

    part: Texts
    offset: Ints
    epoch: Ints
    reason: Texts
    excerpt: Texts


@dataclass(frozen=True, slots=True, eq=False)
class ClosedSlice:
    """A closed slice with its topics, each with its words, and its events, as rows by name; None where unknown."""

    epoch: int
    slice: int
    label: str
    begins: datetime | None
    ends: datetime | None
    n: int
    predicted: float | None
    settling: bool
    topics: list[dict[str, Any]]
    events: list[dict[str, Any]]


_F = TypeVar("_F")


class Reader:
    """Answers questions about a log while another process may be writing it.

    Parameters
    ----------
    path : str or Path
        A log made by ``vmfstream.log.writer.Log``.
    timeout : float
        Seconds to wait for a file that is being written; a commit takes about a tenth of one.

    Raises
    ------
    InputError
        If there is no file, or it is no log. Every method raises it too if the file goes away later.
    FormatVersion
        If the log has a format that this program does not read.
    StoreLocked
        If the writer does not release the file in time; any method.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        self.path = Path(path).expanduser().resolve()
        self.timeout = timeout
        self.newest()

    def meta(self) -> dict[str, str]:
        """Return the settings of the run and the ``format`` of the log."""
        return dict(self._rows("select key, value from meta order by key"))

    def newest(self) -> Newest:
        """Return how far the run is; cheap enough to ask every second."""
        query = """
            select coalesce(max(epoch), -1), (select max(slice) from slice), coalesce(arg_max(finished, epoch), false)
            from epoch"""
        ((epoch, last, finished),) = self._rows(query)
        return Newest(epoch, last, finished)

    def pulse(self) -> Pulse:
        """Return what tells a watcher whether to read again; as cheap as ``newest``."""
        query = """
            with late as (select epoch, finished, begun, seconds from epoch order by epoch desc limit 20),
            gaps as (select date_diff('millisecond', lag(begun) over (order by epoch), begun) / 1e3 as gap from late)
            select coalesce(max(epoch), -1), coalesce(arg_max(finished, epoch), false),
                arg_max(begun + to_milliseconds((1e3 * seconds)::bigint), epoch),
                coalesce((select median(gap) from gaps), 'nan'::double), (select max(slice) from slice),
                (select coalesce(max(epoch), -1) from slice), (select coalesce(max(snapshot), -1) from snapshot)
            from late"""
        return Pulse(*self._rows(query)[0])

    def open_slice(self) -> OpenSlice | None:
        """Return the slice that the newest update left open, or None."""
        query = """
            with late as (select max(epoch) as epoch, arg_max(slice, epoch) as slice from epoch)
            select slice, label, (select sum(n) from epoch where epoch.slice = late.slice)::bigint as n,
                topic, topic.n as documents
            from late join epoch using (epoch, slice) left join topic using (epoch)
            where slice > coalesce((select max(slice) from slice), -1) order by topic"""
        rows = self._rows(query)
        if not rows:
            return None
        index, label, n, *_ = rows[0]
        known = [(topic, documents or 0.0) for *_, topic, documents in rows if topic is not None]
        topics, documents = zip(*known, strict=True) if known else ((), ())
        return OpenSlice(index, label, n, np.array(topics, np.int64), np.array(documents, np.float64))

    def slices(self) -> SliceFrame:
        """Return the closed slices."""
        return self._frame(SliceFrame, "from slice order by slice")

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all closed slices.

        Parameters
        ----------
        reading : {"then", "hindsight"}
            As known when the slice closed, or using later documents too (empty without ``has_hindsight``).
        """
        return self._frame(TopicFrame, f"from {_table(reading)} order by slice, topic")

    def words(self, reading: Reading, topic: int | None = None, top: int = 60) -> WordFrame:
        """Return the words of topics in all closed slices.

        Parameters
        ----------
        reading : {"then", "hindsight"}
        topic : int, optional
            One topic only.
        top : int
            At most so many words per slice and topic.
        """
        query = (
            f"from {_table(reading)}_word where rank <= $1 and ($2 is null or topic = $2) order by slice, topic, rank"
        )
        return self._frame(WordFrame, query, [top, topic])

    def angles(self, reading: Reading, topic: int | None = None) -> AngleFrame:
        """Return the angles between the means of the topics of each closed slice, of all pairs or of one topic's."""
        query = (
            f"from {_table(reading)}_angle where $1 is null or topic = $1 or other = $1 order by slice, topic, other"
        )
        return self._frame(AngleFrame, query, [topic])

    def sketches(self, reading: Reading, topic: int | None = None) -> SketchFrame:
        """Return the sketches of the means in all closed slices, of all topics or of one."""
        query = f"""
            select slice, topic, numbers from {_table(reading)}_sketch where $1 is null or topic = $1
            order by slice, topic"""
        index, topics, numbers = self._columns(query, [topic])
        return SketchFrame(
            slice=_plain(index),
            topic=_plain(topics),
            numbers=np.frombuffer(b"".join(numbers), np.int8).reshape(len(numbers), -1).astype(np.float64)
            if len(numbers)
            else np.empty((0, SKETCH_SIZE)),
        )

    def snapshots(self) -> SnapshotFrame:
        """Return the batch fits of samples of the stream."""
        return self._frame(SnapshotFrame, "from snapshot order by snapshot")

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        """Return the topics of all snapshots or of one."""
        query = "from snapshot_topic where $1 is null or snapshot = $1 order by snapshot, node"
        return self._frame(SnapshotTopicFrame, query, [snapshot])

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        """Return at most ``top`` words per topic of all snapshots or of one."""
        query = """
            from snapshot_word where rank <= $1 and ($2 is null or snapshot = $2) order by snapshot, node, rank"""
        return self._frame(SnapshotWordFrame, query, [top, snapshot])

    def typical(self, topic: int | None = None) -> TypicalFrame:
        """Return the most typical documents, of all topics or of one."""
        return self._frame(
            TypicalFrame, "from typical where $1 is null or topic = $1 order by slice, topic, rank", [topic]
        )

    def novel(self) -> NovelFrame:
        """Return the most novel documents of each slice."""
        return self._frame(NovelFrame, "from novel order by slice, rank")

    def uncertainty(self, reading: Reading) -> UncertaintyFrame:
        """Return how sure the topics of all closed slices are."""
        return self._frame(UncertaintyFrame, f"from {_table(reading)} order by slice, topic")

    def tempers(self) -> TemperFrame:
        """Return how far memberships on arrival are to be believed, slice by slice."""
        return self._frame(TemperFrame, "from slice order by slice")

    def events(self) -> EventFrame:
        """Return births, mergers and the other events in the order in which they were written."""
        return self._frame(EventFrame, "from event order by slice, epoch, rowid")

    def epochs(self) -> EpochFrame:
        """Return the engine updates."""
        return self._frame(EpochFrame, "from epoch order by epoch")

    def rejected(self, limit: int = 100) -> RejectedFrame:
        """Return the newest rejected messages, at most ``limit``."""
        query = "from rejected order by epoch desc, part, source_offset desc limit $1"
        return self._frame(RejectedFrame, query, [limit])

    def rejections(self) -> Rejections:
        """Return how many messages were rejected, in all and by kind of reason."""
        query = "select split_part(reason, ':', 1) as kind, count(*) as times from rejected group by kind"
        rows = self._rows(f"{query} order by times desc, kind")
        return Rejections(total=sum(count for _, count in rows), reasons=dict(rows))

    def rejected_after(self, epoch: int) -> RejectedFrame:
        """Return the messages that were rejected in later epochs, in their order."""
        return self._frame(RejectedFrame, "from rejected where epoch > $1 order by epoch, part, source_offset", [epoch])

    def closed_after(self, epoch: int) -> list[ClosedSlice]:
        """Return what later epochs closed, in order, as it was known then."""
        where = f"slice in (select slice from slice where epoch > {int(epoch)})"
        topics: dict[int, list[dict[str, Any]]] = {}
        by_topic: dict[tuple[int, int], list[tuple[str, float]]] = {}
        for index, topic, word, weight in self._rows(
            f"select slice, topic, word, weight from filtered_word where {where} order by slice, topic, rank"
        ):
            by_topic.setdefault((index, topic), []).append((word, weight))
        for row in self._dicts(f"select * from filtered where {where} order by slice, topic"):
            index = row.pop("slice")
            topics.setdefault(index, []).append(row | {"words": by_topic.get((index, row["topic"]), [])})
        events: dict[int, list[dict[str, Any]]] = {}
        for row in self._dicts(f"select * exclude epoch from event where {where} order by slice, rowid"):
            events.setdefault(row.pop("slice"), []).append(row)
        slices = self._rows(
            "select epoch, slice, label, begins, ends, n, predicted, settling from slice "
            f"where epoch > {int(epoch)} order by slice"
        )
        return [ClosedSlice(*(*row, topics.get(row[1], []), events.get(row[1], []))) for row in slices]

    def position(self) -> dict[str, int]:
        """Return the next offset to read, by part of the source."""
        return dict(self._rows("select part, next_offset from position order by part"))

    def run_name(self) -> str:
        """Return a name that no other run has: when its first epoch began; empty before."""
        rows = self._rows("select strftime(begun, '%Y%m%d%H%M%S%f') from epoch order by epoch limit 1")
        return str(rows[0][0]) if rows else ""

    def has_hindsight(self) -> bool:
        """Tell whether a smoother has written anything."""
        return bool(self._rows("select exists(select 1 from smoothed)")[0][0])

    def writer(self) -> int | None:
        """Return the process that is writing the log, None if there is none; the log is not opened."""
        return holder(self.path)

    def copy(self, target: Path) -> None:
        """Copy the log as it stands between two commits; the writer waits no longer than copying takes."""
        with connected(self.path, read_only=True, timeout=self.timeout):
            shutil.copyfile(self.path, target)
            journal = self.path.with_name(self.path.name + ".wal")
            if journal.exists():
                shutil.copyfile(journal, target.with_name(target.name + ".wal"))

    def _dicts(self, query: str) -> list[dict[str, Any]]:
        names, rows = self._answer(query)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _rows(self, query: str) -> list[Any]:
        return self._answer(query)[1]

    def _answer(self, query: str) -> tuple[list[str], list[Any]]:
        with connected(self.path, read_only=True, timeout=self.timeout) as connection:
            try:
                check(connection, self.path)
                found = connection.execute(query)
                return [column[0] for column in found.description or ()], found.fetchall()
            except duckdb.Error as error:
                raise InputError(f"cannot read the log {self.path}: {explain(error)}") from error

    def _frame(self, kind: type[_F], query: str, parameters: Sequence[object] = ()) -> _F:
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        columns = ", ".join("source_offset" if name == "offset" else name for name in names)
        found = self._columns(f"select {columns} {query}", parameters)
        return kind(**{name: _plain(column) for name, column in zip(names, found, strict=True)})

    def _columns(self, query: str, parameters: Sequence[object]) -> list[NDArray[Any]]:
        with connected(self.path, read_only=True, timeout=self.timeout) as connection:
            try:
                check(connection, self.path)
                return list(connection.execute(query, parameters).fetchnumpy().values())
            except duckdb.Error as error:
                raise InputError(f"cannot read the log {self.path}: {explain(error)}") from error


def _table(reading: str) -> str:
    if reading not in _TABLE:
        raise ValueError(f"reading must be one of {', '.join(map(repr, _TABLE))}, got {reading!r}")
    return _TABLE[reading]


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column without mask, in the widest type of its kind: NULL becomes NaN, NaT or -1."""
    kind = column.dtype.kind
    if isinstance(column, np.ma.MaskedArray):
        missing: dict[str, Any] = {"f": np.nan, "M": np.datetime64("NaT"), "i": -1}
        column = column.filled(missing[kind]) if kind in missing and column.mask.any() else column.data
    wide = {"f": "float64", "i": "int64", "M": "datetime64[us]", "b": "bool"}.get(kind, "object")
    return np.asarray(column, dtype=wide)
