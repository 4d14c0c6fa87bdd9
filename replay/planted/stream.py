"""A readable news stream with a known truth: the default of ``replay``, and what tests compare trackers with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Message, Position
from vmfstream.replay.planted.topics import PLANTED_TOPICS, PlantedTopic
from vmfstream.replay.planted.truth import PhaseTruth, TopicTruth, Truth, TruthEvent
from vmfstream.replay.planted.writing import DrawTable, choose_frames, leading_words, tables_of, written

_BLOCK = 1_000  # documents drawn at once; a block is the smallest thing that can be drawn alone
_WRITTEN_FOR = 24  # slices the topics' times are written in


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """One document of the stream; ``truth`` is the number of its topic."""

    number: int
    time: datetime
    title: str
    text: str
    truth: int

    @property
    def id(self) -> str:
        """Name of the document within the stream."""
        return f"planted-{self.number:07d}"


@dataclass(frozen=True)
class PlantedStream:
    """Short news about sixteen topics that are born, die, merge, split, drift, burst and return with the seasons.

    Equal arguments give equal documents in every process. A block of documents can be drawn without those before it, so
    that memory does not grow and any document can be reached at once.

    Parameters
    ----------
    seed : int, >= 0
        Chooses the documents; the truth about topics does not depend on it.
    slices : int, >= 12
        Length of the stream in months. The topics' times are stretched to it, the seasons are not.
    documents_per_slice : int, >= 1
        Mean number of documents in a month; months with a burst have more.
    begins : str
        First month, such as ``"2021-01"``.
    asides : float in [0, 1]
        Share of documents with a sentence about another topic. More asides make topics harder to tell apart.

    Raises
    ------
    InputError
        If an argument is outside its domain.

    Examples
    --------
    >>> stream = PlantedStream(documents_per_slice=50)
    >>> stream.total == len(stream.topics())
    True
    >>> stream.truth.topics[0].name
    'harbour strike'
    """

    seed: int = 0
    slices: int = 24
    documents_per_slice: int = 400
    begins: str = "2021-01"
    asides: float = 0.5

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"planted stream: seed must be at least 0, got {self.seed}")
        if self.slices < 12:
            raise InputError(f"planted stream: slices must be at least 12 for its topics to unfold, got {self.slices}")
        if self.documents_per_slice < 1:
            raise InputError(f"planted stream: documents_per_slice must be at least 1, got {self.documents_per_slice}")
        if not 0 <= self.asides <= 1:
            raise InputError(f"planted stream: asides must lie in [0, 1], got {self.asides}")
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", self.begins):
            raise InputError(f'planted stream: begins must be a month such as "2021-01", got {self.begins!r}')

    @property
    def total(self) -> int:
        """Number of documents in the stream."""
        return int(self._bounds[-1])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the slices, such as ``"2021-01"``."""
        return tuple(str(month) for month in self._months[:-1])

    @cached_property
    def truth(self) -> Truth:
        """What was planted."""
        numbers = {topic.name: number for number, topic in enumerate(PLANTED_TOPICS)}
        partners = {name for topic in PLANTED_TOPICS for name in (topic.merges_into, topic.splits_from)}
        topics: list[TopicTruth] = []
        events: list[TruthEvent] = []
        for number, topic in enumerate(PLANTED_TOPICS):
            birth, death = self._life(topic)
            phases = self._phases(topic)
            topics.append(TopicTruth(number, topic.name, birth, death, phases, self._expected[:, number].copy()))
            if topic.splits_from is not None:
                events.append(TruthEvent("split", birth, numbers[topic.splits_from], number))
            else:
                events.append(TruthEvent("born" if birth else "started", birth, number))
            if death is not None and topic.merges_into is not None:
                events.append(TruthEvent("merged", death, number, numbers[topic.merges_into]))
            elif death is not None:
                events.append(TruthEvent("dormant", death, number))
            turns = {event.slice for event in events if event.topic == number or event.other == number}
            if topic.name not in partners:
                events.extend(
                    TruthEvent("drift", phase.begins, number) for phase in phases[1:] if phase.begins not in turns
                )
            events.extend(TruthEvent("burst", self._stretch(at), number) for at in topic.bursts)
        events.sort(key=lambda event: (event.slice, event.topic))
        return Truth(self.labels, tuple(topics), tuple(events))

    def documents(self, start: int = 0) -> Iterator[PlantedDocument]:
        """Yield the documents in order of time, from number ``start`` on."""
        for slice, block in self._blocks(start):
            first = int(self._bounds[slice]) + block * _BLOCK
            drawn = self._draw(slice, block)
            yield from islice(drawn, max(start - first, 0), None)

    def slice(self, index: int) -> Iterator[PlantedDocument]:
        """Yield the documents of one slice."""
        begin, end = (int(bound) for bound in self._bounds[index : index + 2])
        return islice(self.documents(begin), end - begin)

    def topics(self) -> NDArray[np.int64]:
        """Return the planted topic of every document, shape (total,), without writing the documents."""
        drawn = [self._cast(slice, block)[1] for slice, block in self._blocks(0)]
        return np.concatenate(drawn).astype(np.int64)

    @cached_property
    def _months(self) -> NDArray[np.datetime64]:
        return np.datetime64(self.begins, "M") + np.arange(self.slices + 1)

    @cached_property
    def _expected(self) -> NDArray[np.float64]:
        """Expected documents per slice and topic, shape (T, topics)."""
        share = np.column_stack([self._course(topic) for topic in PLANTED_TOPICS])
        expected: NDArray[np.float64] = share * (self.documents_per_slice / share.sum(axis=1).mean())
        return expected

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """Number of the first document of each slice, and of the first after the stream."""
        sizes = np.maximum(np.rint(self._expected.sum(axis=1)).astype(np.int64), 1)
        return np.concatenate([[0], np.cumsum(sizes)])

    def _stretch(self, at: float) -> int:
        return int(at * self.slices / _WRITTEN_FOR)

    def _life(self, topic: PlantedTopic) -> tuple[int, int | None]:
        return self._stretch(topic.begins), None if topic.ends is None else self._stretch(topic.ends)

    def _course(self, topic: PlantedTopic) -> NDArray[np.float64]:
        """Return the share of a topic before normalisation in every slice, shape (T,)."""
        t = np.arange(self.slices)
        birth, death = self._life(topic)
        course = np.full(self.slices, topic.share)
        # what a merged topic leaves, or a split one takes, belongs to another topic before or after
        for other in PLANTED_TOPICS:
            if other.merges_into == topic.name:
                course[t >= (self._life(other)[1] or 0)] += 0.8 * other.share
            if other.splits_from == topic.name:
                course[t < self._life(other)[0]] += 0.8 * other.share
        if topic.season is not None:
            month = self._months[:-1].astype(np.int64) % 12 + 1
            apart = np.abs(month - topic.season)
            course *= 0.2 + 2.2 * np.exp(-((np.minimum(apart, 12 - apart) / 2.0) ** 2))
        if topic.bursts:
            since = t[:, None] - np.array([self._stretch(at) for at in topic.bursts])
            course *= 0.15 + 4.0 * np.where(since >= 0, np.exp(-np.maximum(since, 0) / 1.3), 0.0).max(axis=1)
        if birth > 0 and topic.splits_from is None:
            course[birth] *= 0.6
        if death is not None and topic.merges_into is None:
            course[death - 1] *= 0.6
        course[t < birth] = 0.0
        if death is not None:
            course[t >= death] = 0.0
        return course

    def _mix(self, topic: PlantedTopic, slice: int) -> NDArray[np.float64]:
        """Return the weights of a topic's phases in a slice, shape (phases,)."""
        knots = [self._stretch(phase.at) for phase in topic.phases]
        weights = np.zeros(len(knots))
        after = bisect_right(knots, slice)
        if after == 0 or after == len(knots):
            weights[max(after - 1, 0)] = 1.0
        else:
            weights[after] = (slice - knots[after - 1]) / (knots[after] - knots[after - 1])
            weights[after - 1] = 1.0 - weights[after]
        return weights

    def _phases(self, topic: PlantedTopic) -> tuple[PhaseTruth, ...]:
        birth, death = self._life(topic)
        leads = [int(np.argmax(self._mix(topic, slice))) for slice in range(birth, death or self.slices)]
        found = []
        for number, phase in enumerate(topic.phases):
            if number in leads:
                begins = birth + leads.index(number)
                found.append(PhaseTruth(phase.name, begins, begins + leads.count(number), leading_words(topic, number)))
        return tuple(found)

    def _blocks(self, start: int) -> Iterator[tuple[int, int]]:
        if start >= self.total:
            return
        first = int(np.searchsorted(self._bounds, start, side="right")) - 1
        for slice in range(first, self.slices):
            size = int(self._bounds[slice + 1] - self._bounds[slice])
            skipped = (start - int(self._bounds[slice])) // _BLOCK if slice == first else 0
            for block in range(skipped, -(-size // _BLOCK)):
                yield slice, block

    def _cast(self, slice: int, block: int) -> tuple[np.random.Generator, NDArray[np.intp], NDArray[np.intp]]:
        """Draw the topics of a block and, per document, another living topic for its aside."""
        size = int(self._bounds[slice + 1] - self._bounds[slice])
        n = min(_BLOCK, size - block * _BLOCK)
        rng = np.random.default_rng([self.seed, slice, block])
        cumulative = np.cumsum(self._expected[slice])
        cumulative /= cumulative[-1]
        topic = np.searchsorted(cumulative, rng.random(n), side="right")
        other = np.searchsorted(cumulative, rng.random(n), side="right")
        return rng, topic, other

    def _draw(self, slice: int, block: int) -> Iterator[PlantedDocument]:
        """Write the documents of one block."""
        rng, topic, other = self._cast(slice, block)
        n = topic.size
        frames = choose_frames(rng, n, self.asides)
        texts = written(rng, frames, topic, other, self._tables(slice))
        first = int(self._bounds[slice]) + block * _BLOCK
        times = self._times(rng, slice, block, n)
        for row, ((title, text), when, truth) in enumerate(zip(texts, times, topic.tolist(), strict=True)):
            yield PlantedDocument(first + row, when.replace(tzinfo=UTC), title, text, truth)

    def _times(self, rng: np.random.Generator, slice: int, block: int, n: int) -> list[datetime]:
        size = int(self._bounds[slice + 1] - self._bounds[slice])
        begins, ends = self._months[slice : slice + 2].astype("datetime64[s]")
        fraction = (block * _BLOCK + np.arange(n) + rng.random(n)) / size
        seconds = (fraction * (ends - begins).astype(np.int64)).astype(np.int64)
        times: list[datetime] = (begins + seconds).tolist()
        return times

    def _tables(self, slice: int) -> list[DrawTable]:
        """Return the tables of words of a slice."""
        tables = self.__dict__.setdefault("_table_cache", {})
        if slice not in tables:
            tables.clear()  # documents come in order of time, so one slice is enough
            tables[slice] = tables_of([self._mix(topic, slice) for topic in PLANTED_TOPICS])
        found: list[DrawTable] = tables[slice]
        return found


class PlantedSource:
    """A planted stream as a source: one part, ``planted``, whose offsets are the documents' numbers."""

    part = "planted"

    def __init__(self, stream: PlantedStream | None = None) -> None:
        self.stream = stream or PlantedStream()
        self._next = 0
        self._documents = self.stream.documents()

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return "Planted news"

    @property
    def total(self) -> int:
        """Number of documents in the stream."""
        return self.stream.total

    @property
    def exhausted(self) -> bool:
        """True once the last document was handed out."""
        return self._next >= self.total

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return the next ``limit`` documents; never waits."""
        messages = [
            Message(self.part, document.number, _value(document), document.time)
            for document in islice(self._documents, limit)
        ]
        self._next += len(messages)
        return messages

    def seek(self, position: Position) -> None:
        """Continue with document number ``position["planted"]``, the first if not named."""
        self._next = min(max(position.get(self.part, 0), 0), self.total)
        self._documents = self.stream.documents(self._next)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _value(document: PlantedDocument) -> Mapping[str, Any]:
    return {
        "id": document.id,
        "time": document.time.isoformat(),
        "title": document.title,
        "text": document.text,
        "truth": document.truth,
    }
