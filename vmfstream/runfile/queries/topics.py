"""Queries of topics over closed slices, filtered or smoothed: sizes, words, angles, events."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from duckdb import DuckDBPyConnection

from vmfstream.arrays import Vector
from vmfstream.records import SKETCH_SIZE
from vmfstream.runfile.queries.base import Bools, Ints, RunFileQueries, Texts, Times, numbers_checked, unmasked
from vmfstream.text.topic_names import JOINT

Reading: TypeAlias = Literal["filtered", "smoothed"]
"""``filtered``: as known when the slice closed; ``smoothed``: using documents of later slices too."""

OLD_READINGS: Mapping[str, Reading] = {"then": "filtered", "hindsight": "smoothed"}
"""Former names of the readings, accepted with a warning for one version."""


@dataclass(frozen=True, slots=True, eq=False)
class SliceFrame:
    """Closed slices by index; ``begins`` and ``ends`` are datetime64[us] in UTC, NaT for slices of N documents."""

    slice: Ints
    label: Texts
    begins: Times
    ends: Times
    n: Ints
    predicted: Vector
    warm_up: Bools


@dataclass(frozen=True, slots=True, eq=False)
class TopicFrame:
    """Topics at the end of each closed slice, by slice and topic; NaN where unknown."""

    slice: Ints
    topic: Ints
    n: Vector
    share: Vector
    kappa: Vector
    gamma: Vector
    tightness: Vector
    certainty: Vector
    drift_angle: Vector
    drift_angle_error: Vector


@dataclass(frozen=True, slots=True, eq=False)
class AngleFrame:
    """Degrees between the means of topics at the end of a slice; each pair once, the smaller number first."""

    slice: Ints
    topic: Ints
    other: Ints
    degrees: Vector


@dataclass(frozen=True, slots=True, eq=False)
class SketchFrame:
    """Means of topics by slice and topic as ``numbers`` (rows, 512), whose cosines are nearly those of the means."""

    slice: Ints
    topic: Ints
    numbers: Vector


@dataclass(frozen=True, slots=True, eq=False)
class WordFrame:
    """Words of topics by slice, topic and rank (from 1)."""

    slice: Ints
    topic: Ints
    rank: Ints
    word: Texts
    weight: Vector


@dataclass(frozen=True, slots=True, eq=False)
class PhraseFrame:
    """Phrases of topics by slice, topic and rank (from 1); ``weight`` is the share of recent documents that have it."""

    slice: Ints
    topic: Ints
    rank: Ints
    phrase: Texts
    weight: Vector


@dataclass(frozen=True, slots=True, eq=False)
class WordCodes:
    """Words of topics in any order, ``rank`` from 1; ``word`` is an index into ``vocabulary``, which is sorted."""

    slice: Ints
    topic: Ints
    rank: Ints
    word: Ints
    weight: Vector
    vocabulary: Texts


@dataclass(frozen=True, slots=True, eq=False)
class UncertaintyFrame:
    """Uncertainty of topics at the end of each closed slice, at 95 %, by slice and topic; NaN where unknown.

    The share lies between ``share_low`` and ``share_high``, the mean within ``radius`` degrees of its estimate.
    """

    slice: Ints
    topic: Ints
    share_low: Vector
    share_high: Vector
    radius: Vector


@dataclass(frozen=True, slots=True, eq=False)
class QualityFrame:
    """Coherence and diversity of the words of topics, and isotropy of their vectors, by slice; NaN where unknown.

    As known at the end of each closed slice. See `vmfstream.text.coherence` and `vmfstream.directional.isotropy`.
    """

    slice: Ints
    topic: Ints
    share: Vector
    npmi: Vector
    c_v: Vector
    diversity: Vector
    isotropy: Vector


@dataclass(frozen=True, slots=True, eq=False)
class NameFrame:
    """Names of topics at the end of each closed slice, by slice and topic.

    ``name`` are phrases and words between commas, or what a namer gave (``given``); ``title`` is that of the most
    representative document.
    """

    slice: Ints
    topic: Ints
    name: Texts
    title: Texts
    given: Bools

    def parts(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """Return the parts of each name by slice and topic; topics without a name are left out."""
        rows = zip(*(column.tolist() for column in (self.slice, self.topic, self.name, self.given)), strict=True)
        return {(s, t): (name,) if given else tuple(name.split(JOINT)) for s, t, name, given in rows if name}


@dataclass(frozen=True, slots=True, eq=False)
class TemperatureFrame:
    """Softmax temperatures of topic probabilities, see `vmfstream.records.SliceReport`; NaN where there is none."""

    slice: Ints
    temperature: Vector


@dataclass(frozen=True, slots=True, eq=False)
class EventFrame:
    """Events in order, see `vmfstream.records.Event`; a missing ``other`` or ``decision`` is -1, other numbers NaN."""

    slice: Ints
    epoch: Ints
    kind: Texts
    topic: Ints
    other: Ints
    value: Vector
    evidence: Vector
    chance: Vector
    decision: Ints


@dataclass(frozen=True, slots=True, eq=False)
class ClosedSlice:
    """A closed slice with its filtered topics, their words, and its events, as dicts; None for missing values."""

    epoch: int
    slice: int
    label: str
    begins: datetime | None
    ends: datetime | None
    n: int
    predicted: float | None
    warm_up: bool
    topics: list[dict[str, Any]]
    events: list[dict[str, Any]]


class TopicQueries(RunFileQueries):
    """Queries of topics over slices."""

    def slices(self) -> SliceFrame:
        """Return the closed slices."""
        return self._frame(SliceFrame, "from slice order by slice")

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all closed slices.

        Parameters
        ----------
        reading : {"filtered", "smoothed"}
            Filtered or smoothed topics; smoothed ones are empty without ``has_smoothed``.
        """
        return self._frame(TopicFrame, f"from {_table(reading)} order by slice, topic")

    def words(self, reading: Reading, topic: int | None = None, top: int = 60) -> WordFrame:
        """Return the words of topics in all closed slices.

        Parameters
        ----------
        reading : {"filtered", "smoothed"}
        topic : int, optional
            One topic only.
        top : int
            At most so many words per slice and topic.
        """
        query = (
            f"from {_table(reading)}_word where rank <= $1 and ($2 is null or topic = $2) order by slice, topic, rank"
        )
        return self._frame(WordFrame, query, [top, topic])

    def words_of_slice(self, reading: Reading, index: int) -> WordFrame:
        """Return the words of the topics of one closed slice, ``index``, in a ``reading``."""
        query = f"from {_table(reading)}_word where slice = $1 order by topic, rank"
        return self._frame(WordFrame, query, [index])

    def word_codes(self, reading: Reading, top: int = 60, slices: Sequence[int] | None = None) -> WordCodes:
        """Return the words of the topics of all closed slices as codes, which is faster than as texts.

        Parameters
        ----------
        reading : {"filtered", "smoothed"}
        top : int
            At most so many words per slice and topic.
        slices : sequence of int, optional
            These slices only.
        """
        table = f"(from {_table(reading)}_word where rank <= $1 and {_among(2)})"
        names = f"select distinct word from {table} order by word"
        query = f"""
            with named as (select word, row_number() over (order by word) - 1 as code from ({names}))
            select slice, topic, rank, code as word, weight from {table} join named using (word)"""
        given = [top, _listed(slices)]

        def take(found: DuckDBPyConnection) -> WordCodes:
            columns = {name: unmasked(column) for name, column in numbers_checked(found.fetchnumpy(), query).items()}
            vocabulary = unmasked(found.execute(names, given).fetchnumpy()["word"])
            return WordCodes(**columns, vocabulary=vocabulary)

        return self._query(query, given, take)

    def angles(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> AngleFrame:
        """Return the angles between the means of the topics of each closed slice.

        Parameters
        ----------
        reading : {"filtered", "smoothed"}
        topic : int, optional
            Pairs of this topic only.
        slices : sequence of int, optional
            These slices only.
        """
        query = f"""
            from {_table(reading)}_angle where ($1 is null or topic = $1 or other = $1) and {_among(2)}
            order by slice, topic, other"""
        return self._frame(AngleFrame, query, [topic, _listed(slices)])

    def sketches(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> SketchFrame:
        """Return the sketches of the means in all closed slices, of all topics or of one; arguments as in `angles`."""
        query = f"""
            select slice, topic, numbers from {_table(reading)}_sketch where ($1 is null or topic = $1) and {_among(2)}
            order by slice, topic"""
        index, topics, numbers = self._columns(query, [topic, _listed(slices)])
        return SketchFrame(
            slice=unmasked(index),
            topic=unmasked(topics),
            numbers=np.frombuffer(b"".join(numbers), np.int8).reshape(len(numbers), -1).astype(np.float64)
            if len(numbers)
            else np.empty((0, SKETCH_SIZE)),
        )

    def uncertainty(self, reading: Reading) -> UncertaintyFrame:
        """Return the uncertainty of the topics of all closed slices."""
        return self._frame(UncertaintyFrame, f"from {_table(reading)} order by slice, topic")

    def quality(self) -> QualityFrame:
        """Return coherence, diversity and isotropy of the topics of all closed slices, as known when they closed."""
        return self._frame(QualityFrame, "from filtered order by slice, topic")

    def names(self, slices: Sequence[int] | None = None) -> NameFrame:
        """Return the names of the topics of all closed slices, or of some ``slices``."""
        query = f"from ({_NAMED}) where {_among(1)} order by slice, topic"
        return self._frame(NameFrame, query, [_listed(slices)])

    def newest_names(self, upto: int | None = None) -> dict[int, str]:
        """Return the automatic name of each topic at its newest slice end, of which none is after slice ``upto``."""
        where = "" if upto is None else f"and slice <= {int(upto)}"
        found = f"select topic, arg_max(name, slice) from ({_NAMED}) where name <> '' {where} group by topic"
        return dict(self._rows(found))

    def phrases(self) -> PhraseFrame:
        """Return phrases of the topics of all closed slices."""
        return self._frame(PhraseFrame, "from topic_phrase order by slice, topic, rank")

    def temperatures(self) -> TemperatureFrame:
        """Return the softmax temperature of each closed slice, which calibrates topic probabilities on arrival."""
        return self._frame(TemperatureFrame, "from slice order by slice")

    def events(self) -> EventFrame:
        """Return births, mergers and the other events in the order in which they were written."""
        return self._frame(EventFrame, "from event order by slice, epoch, rowid")

    def closed_after(self, epoch: int) -> list[ClosedSlice]:
        """Return the slices that epochs after ``epoch`` closed, in order, with filtered topics."""
        where = f"slice in (select slice from slice where epoch > {int(epoch)})"
        topics: dict[int, list[dict[str, Any]]] = {}
        query = f"select slice, topic, name from topic_name where {where}"
        names = {(index, topic): name for index, topic, name in self._rows(query)}
        by_topic: dict[tuple[int, int], list[tuple[str, float]]] = {}
        for index, topic, word, weight in self._rows(
            f"select slice, topic, word, weight from filtered_word where {where} order by slice, topic, rank"
        ):
            by_topic.setdefault((index, topic), []).append((word, weight))
        for row in self._dicts(f"select * from filtered where {where} order by slice, topic"):
            index = row.pop("slice")
            key = (index, row["topic"])
            named = {"name": names.get(key, ""), "words": by_topic.get(key, [])}
            topics.setdefault(index, []).append(row | named)
        events: dict[int, list[dict[str, Any]]] = {}
        for row in self._dicts(f"select * exclude epoch from event where {where} order by slice, rowid"):
            events.setdefault(row.pop("slice"), []).append(row)
        slices = self._rows(
            "select epoch, slice, label, begins, ends, n, predicted, warm_up from slice "
            f"where epoch > {int(epoch)} order by slice"
        )
        return [ClosedSlice(*(*row, topics.get(row[1], []), events.get(row[1], []))) for row in slices]

    def has_smoothed(self) -> bool:
        """Return whether there are smoothed slices."""
        return bool(self._rows("select exists(select 1 from smoothed)")[0][0])

    def has_hindsight(self) -> bool:
        """Deprecated: the former name of `has_smoothed`."""
        warnings.warn("Reader.has_hindsight is now called has_smoothed", DeprecationWarning, stacklevel=2)
        return self.has_smoothed()


_NAMED = """
    select named.slice, named.topic, coalesce(own.name, named.name) as name, title, own.name is not null as given
    from topic_name named left join (select slice, topic, max(name) as name from given_name group by all) own
        on named.slice = own.slice and named.topic = own.topic"""
"""Names of topics by slice, those of a namer if there is one."""


def _among(parameter: int) -> str:
    """Return the condition that a row is of the slices of a parameter, by its number, if that is not NULL."""
    return f"(${parameter}::bigint[] is null or slice in (select unnest(${parameter}::bigint[])))"


def label_of(at: object) -> str | None:
    """Return the label of a slice that is given by it or as a year, None for none."""
    if isinstance(at, int | np.integer):
        return f"{at:04}"
    return None if at is None else str(at)


def _listed(slices: Sequence[int] | None) -> list[int] | None:
    return None if slices is None else [int(index) for index in slices]


def _table(reading: str) -> str:
    """Return the table of a reading, with a DeprecationWarning for a former name."""
    if reading in OLD_READINGS:
        warnings.warn(f"{reading!r} is now called {OLD_READINGS[reading]!r}", DeprecationWarning, stacklevel=3)
        return OLD_READINGS[reading]
    if reading not in get_args(Reading):
        raise ValueError(f"reading must be one of {', '.join(map(repr, get_args(Reading)))}, got {reading!r}")
    return reading
