"""Records that are passed from the source through the engine to the run file, in this order.

No record is changed after it is made. On their way from the source to the encoder messages and documents are columns,
`Messages` and `Documents`; a `Message` or a `Document` of its own is made where a single one is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from vmfstream.html_references import plain_text

Position: TypeAlias = Mapping[str, int]
"""The next offset to read of each part of the source (a file, a Kafka partition)."""

Arrays: TypeAlias = dict[str, NDArray[Any]]
"""A state as flat named arrays, the form in which states are stored (never pickled)."""


def arrays_under(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


SKETCH_SIZE = 512
"""Numbers of a sketch of a mean direction, see `vmfstream.text.sketch`."""


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of one part, from the offset ``first`` up to before ``last``."""

    part: str
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(slots=True, eq=False)
class Message:
    """One raw record of a source: the bytes of a line or a mapping of columns, with its part and offset.

    ``time`` is the time that the source gives, used if the record itself has none. ``oversized`` is the size in bytes
    of a record above the source's limit, of which ``value`` is the beginning. ``attached`` holds what the source was
    asked to pass besides: the key of a Kafka message as ``@key``, headers as ``@header.NAME``.
    """

    part: str
    offset: int
    value: bytes | Mapping[str, Any]
    time: datetime | None = None
    oversized: int | None = None
    attached: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """About how many bytes of memory the message takes, with 100 bytes of overhead."""
        if isinstance(self.value, bytes):
            return len(self.value) + MESSAGE_OVERHEAD
        return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in self.value.values()) + MESSAGE_OVERHEAD


MESSAGE_OVERHEAD = 100
"""Bytes of memory that a message takes besides its value, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Messages(Sequence[Message]):
    """N messages as columns.

    ``part``, ``offset``, ``value``, ``time`` and ``attached`` are those of `Message`, the last two None if no message
    has one. ``oversized`` has the sizes of those above the source's limit by their places.
    """

    part: Sequence[str]
    offset: Sequence[int]
    value: Sequence[Any]
    time: Sequence[datetime | None] | None = None
    oversized: Mapping[int, int] = field(default_factory=dict)
    attached: Sequence[Mapping[str, Any] | None] | None = None

    def __len__(self) -> int:
        return len(self.value)

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> Messages: ...

    def __getitem__(self, at: int | slice) -> Message | Messages:
        if isinstance(at, slice):
            kept = range(len(self))[at]
            oversized = {kept.index(place): size for place, size in self.oversized.items() if place in kept}
            times = None if self.time is None else self.time[at]
            attached = None if self.attached is None else self.attached[at]
            return Messages(self.part[at], self.offset[at], self.value[at], times, oversized, attached)
        time = None if self.time is None else self.time[at]
        oversized_by = self.oversized.get(range(len(self))[at])
        besides = None if self.attached is None else self.attached[at]
        return Message(self.part[at], int(self.offset[at]), self.value[at], time, oversized_by, besides)


def messages_of(messages: Sequence[Message]) -> Messages:
    """Make columns of messages."""
    return Messages(
        [one.part for one in messages],
        [one.offset for one in messages],
        [one.value for one in messages],
        [one.time for one in messages],
        {at: one.oversized for at, one in enumerate(messages) if one.oversized is not None},
        [one.attached for one in messages] if any(one.attached for one in messages) else None,
    )


def size_of(messages: Sequence[Message]) -> int:
    """Return about how many bytes of memory messages take."""
    if isinstance(messages, Messages) and all(type(value) is bytes for value in messages.value):
        return sum(map(len, messages.value)) + MESSAGE_OVERHEAD * len(messages)
    return sum(message.size for message in messages)


_TITLE, _BEGINNING = 120, 400
"""Characters of a title that is made of a text, and those that are looked at first."""


@dataclass(slots=True, eq=False)
class Document:
    """A decoded document; ``text`` or ``vector`` (D,) is set, ``time`` is an aware datetime in UTC, or None for none.

    ``part`` and ``offset`` are where its message stands in the source. Of documents with the same ``id`` only the first
    of the recent ones counts. ``meta`` holds other fields that were asked for.
    """

    part: str
    offset: int
    id: str
    time: datetime | None
    text: str | None = None
    vector: NDArray[np.float32] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the document, else the first 120 characters of its text."""
        return _title(self.id, self.text, self.meta)


def _title(id: str, text: str | None, meta: Mapping[str, Any]) -> str:
    title = meta.get("title")
    if isinstance(title, str) and (title := plain_text(title).strip()):
        return title
    text = text or id
    beginning = text[:_BEGINNING].strip()  # a whole text need not be copied
    return (beginning if len(beginning) >= _TITLE else text.strip())[:_TITLE]


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """A message that is no document: its part and offset, the reason, and its first characters."""

    part: str
    offset: int
    reason: str
    excerpt: str = ""


NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for the time of a document that has none among microseconds since 1970; numpy shows it as NaT."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_META: Mapping[str, Any] = {}


def microseconds(time: datetime | None) -> int:
    """Return an aware time in microseconds since 1970, `NO_TIME` for None."""
    return NO_TIME if time is None else (time - _EPOCH) // _MICROSECOND


def moment_of(time: int) -> datetime:
    """Return the aware time that is so many microseconds after 1970 began."""
    return _EPOCH + timedelta(microseconds=time)


@dataclass(frozen=True, slots=True, eq=False)
class Documents(Sequence[Document]):
    """N decoded messages as columns.

    Attributes
    ----------
    part, offset : where their messages stand in the source, (N,) int64 the latter.
    id : their ids.
    time : (N,) int64, in microseconds since 1970, `NO_TIME` for those without one.
    text : their texts, None for those that have only a vector.
    meta : other fields, None if no document has any.
    vector : their vectors (D,), None if no document has one.
    rejected : the messages that are no documents, by their places, where the other columns hold nothing.
    """

    part: Sequence[str]
    offset: NDArray[np.int64]
    id: Sequence[str]
    time: NDArray[np.int64]
    text: Sequence[str | None]
    meta: Sequence[Mapping[str, Any]] | None = None
    vector: Sequence[NDArray[np.float32] | None] | None = None
    rejected: Mapping[int, Rejected] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Document | Rejected]) -> Documents:
        """Make columns of documents and rejected messages."""
        records = list(records)
        known = [_NOTHING if isinstance(one, Rejected) else one for one in records]
        return cls(
            [one.part for one in records],
            np.array([one.offset for one in records], np.int64),
            [one.id for one in known],
            np.array([microseconds(one.time) for one in known], np.int64),
            [one.text for one in known],
            [one.meta for one in known] if any(one.meta for one in known) else None,
            None if all(one.vector is None for one in known) else [one.vector for one in known],
            {at: one for at, one in enumerate(records) if isinstance(one, Rejected)},
        )

    def __len__(self) -> int:
        return len(self.id)

    @overload
    def __getitem__(self, at: int) -> Document: ...

    @overload
    def __getitem__(self, at: slice) -> Documents: ...

    def __getitem__(self, at: int | slice) -> Document | Documents:
        if isinstance(at, slice):
            return self.take(range(len(self))[at])
        return Document(
            self.part[at],
            int(self.offset[at]),
            self.id[at],
            None if self.time[at] == NO_TIME else moment_of(int(self.time[at])),
            self.text[at],
            None if self.vector is None else self.vector[at],
            _NO_META if self.meta is None else self.meta[at],
        )

    def __iter__(self) -> Iterator[Document]:
        return map(self.__getitem__, range(len(self)))

    def take(self, places: Sequence[int]) -> Documents:
        """Return those at ``places``, which ascend; a range of neighbours costs least."""
        if isinstance(places, range) and places.step == 1:
            if len(places) == len(self):
                return self
            cut = slice(places.start, places.stop)

            def chosen(column: Any) -> Any:
                return column[cut]

        else:

            def chosen(column: Any) -> Any:
                return column[places] if isinstance(column, np.ndarray) else [column[i] for i in places]

        rejected = {}
        if self.rejected:
            rejected = {new: self.rejected[old] for new, old in enumerate(places) if old in self.rejected}
        return Documents(
            chosen(self.part),
            chosen(self.offset),
            chosen(self.id),
            chosen(self.time),
            chosen(self.text),
            None if self.meta is None else chosen(self.meta),
            None if self.vector is None else chosen(self.vector),
            rejected,
        )

    @classmethod
    def concat(cls, parts: Sequence[Documents]) -> Documents:
        """Return all of ``parts``, one behind the other; none for no parts."""
        parts = [part for part in parts if len(part)]
        if len(parts) == 1:
            return parts[0]
        firsts = [0, *accumulate(len(part) for part in parts)]

        def joined(name: str, nothing: Any = None) -> Any:
            columns = [(getattr(part, name), len(part)) for part in parts]
            return list(chain.from_iterable([nothing] * n if column is None else column for column, n in columns))

        return cls(
            joined("part"),
            np.concatenate([part.offset for part in parts] or [np.zeros(0, np.int64)]),
            joined("id"),
            np.concatenate([part.time for part in parts] or [np.zeros(0, np.int64)]),
            joined("text"),
            None if all(part.meta is None for part in parts) else joined("meta", _NO_META),
            None if all(part.vector is None for part in parts) else joined("vector"),
            {first + at: one for first, part in zip(firsts, parts, strict=False) for at, one in part.rejected.items()},
        )

    @property
    def titles(self) -> list[str]:
        """The title of each, see `Document.title`."""
        meta = [_NO_META] * len(self) if self.meta is None else self.meta
        return list(map(_title, self.id, self.text, meta))


_NOTHING = Document("", 0, "", _EPOCH)


def texts_of(documents: Sequence[Document]) -> list[str]:
    """Return the texts of documents, empty for those without one."""
    texts = documents.text if isinstance(documents, Documents) else [document.text for document in documents]
    return [text or "" for text in texts]


@dataclass(frozen=True, slots=True)
class Slice:
    """An interval of calendar time, ``[begins, ends)``, or N documents in a row (then both times are None).

    ``index`` is its number, one more than that of the interval before; ``label`` is what users read, such as "2024-05".
    """

    index: int
    label: str
    begins: datetime | None = None
    ends: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """Active topics at one moment, parallel arrays of length K in order of id.

    ``share`` sums to one over the topics; ``kappa`` is the concentration of documents around the mean and ``gamma`` of
    the belief about the mean. Both are comparable at one dimension only, so ``tightness`` = A_D(kappa) and
    ``certainty`` = A_D(gamma), both in [0, 1], are given too. ``drift_angle`` is the angle in degrees to the same
    topic's mean at the previous slice end and ``drift_angle_error`` its standard deviation (NaN where there is none).

    At the end of a slice ``share_low`` and ``share_high`` are the ends of the interval that holds the share of each
    topic with a probability of 95 %, and ``radius`` the degrees about its mean within which the true one lies with as
    much. ``angles`` (K, K) holds the degrees between the means, and ``sketches`` (K, 512) int8 each mean as few numbers
    whose cosines are nearly those of the means, whatever the vocabulary was when they were made.

    ``n`` are documents, of which a topic may have a part; ``words`` are the strongest of each topic with their weights.

    ``npmi`` and ``c_v`` are the coherence of the ten strongest words of each topic in the documents of the window, and
    ``diversity`` tells how few of them it shares with other topics, see `vmfstream.text.coherence`. ``isotropy`` tells
    how evenly recent vectors spread around each topic, see `vmfstream.directional.isotropy`. ``part_of`` is for topics
    that were found the one named beforehand whose words they are about, -1 for none.
    """

    topic: NDArray[np.int64]
    n: NDArray[np.float64]
    share: NDArray[np.float64]
    kappa: NDArray[np.float64]
    gamma: NDArray[np.float64]
    tightness: NDArray[np.float64]
    certainty: NDArray[np.float64]
    drift_angle: NDArray[np.float64]
    drift_angle_error: NDArray[np.float64]
    words: Sequence[Sequence[tuple[str, float]]]
    share_low: NDArray[np.float64] | None = None
    share_high: NDArray[np.float64] | None = None
    radius: NDArray[np.float64] | None = None
    angles: NDArray[np.float64] | None = None
    sketches: NDArray[np.int8] | None = None
    npmi: NDArray[np.float64] | None = None
    c_v: NDArray[np.float64] | None = None
    diversity: NDArray[np.float64] | None = None
    isotropy: NDArray[np.float64] | None = None
    part_of: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Representative:
    """Documents most representative of a topic in a slice, parallel lists, best first within a topic.

    ``topic`` is the id of a topic and ``rank`` counts its documents from 1; ``score`` is the cosine with its mean.
    """

    topic: NDArray[np.int64]
    rank: NDArray[np.int64]
    id: Sequence[str]
    title: Sequence[str]
    time: Sequence[datetime | None]
    score: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TopicNames:
    """Names of the topics of a slice, parallel columns of length K in order of id.

    ``topic`` (K,) are ids. ``name`` has up to four parts of each, phrases or words, the most telling first; ``title``
    is that of its most representative document lately, empty if there was none. ``phrases`` are those of its documents
    with weights, which are shares of its recent documents, the largest first.
    """

    topic: NDArray[np.int64]
    name: Sequence[Sequence[str]]
    title: Sequence[str]
    phrases: Sequence[Sequence[tuple[str, float]]]


@dataclass(frozen=True, slots=True, eq=False)
class Novel:
    """The first stories of a slice and then its most novel other documents, parallel lists.

    A first story is the first document of a story that got its third document in this slice; that of the largest story
    comes first, the other documents by ``novelty``. That is the number of nats by which a new topic explains a document
    better on arrival than all known topics, 0 while there are none. ``topic`` is the number of the topic that it was
    assigned to, of first stories that of their story; -1 for none. ``story`` is the story that a document is the first
    of, -1 for the other documents; None in records of earlier versions.
    """

    rank: NDArray[np.int64]
    id: Sequence[str]
    title: Sequence[str]
    time: Sequence[datetime | None]
    novelty: NDArray[np.float64]
    topic: NDArray[np.int64]
    story: NDArray[np.int64] | None = None

    @property
    def stories(self) -> NDArray[np.int64]:
        """As ``story``, -1 where it is not known."""
        return np.full(len(self.rank), -1) if self.story is None else self.story


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Something that happened to a topic, or to the stream as a whole (then ``topic`` is -1).

    ========  =============================================  ==========  =============================================
    kind      what                                           other       value
    ========  =============================================  ==========  =============================================
    started   first fitted
    born      a group of documents that is new                           documents
    split     finer structure of a topic found               new topic   documents of the new topic
    merged    became one with another, or it under a new id  survivor    angle between the two in degrees
    dormant   got too few documents                                      documents in the last slices
    woken     active again, under its old id                             documents in the last slices
    ended     dormant longest when its topic slot was needed             slices dormant
              its newest documents became a topic                        0
              too many topics, and it came last (its trial)              None
    drift     drifted faster than it usually does                        angle in degrees
    surprise  documents fit worse or better than they did                change of the mean log-density in nats
    ========  =============================================  ==========  =============================================

    ``evidence`` is the support for the event in nats, ``chance`` the probability of as much without a change.
    ``decision`` is the number of the `Decision` that made it, None for what the tracker found itself.
    """

    kind: str
    topic: int
    other: int | None = None
    value: float | None = None
    evidence: float | None = None
    chance: float | None = None
    decision: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person has decided about a topic or a word; applied at the end of a slice, once and in order.

    ======  ===================================================  ======  ==================  =================
    kind    what                                                 topic   other               text
    ======  ===================================================  ======  ==================  =================
    name    the topic gets a name; with an empty one it loses it  yes                         name
    pin     it never ends and keeps its direction                yes
    unpin   it is like other topics again                        yes
    merge   its documents and past go to another topic           yes     the other topic
    split   half of it becomes a topic of its own                yes     the new topic
    end     it ends                                              yes
    forbid  a word counts no more                                                            word
    allow   it counts again                                                                  word
    ======  ===================================================  ======  ==================  =================

    ``key`` is like no other decision's and ``made`` the aware time when it was made; topics that are none are -1. What
    follows is known once it was applied: its ``number``, counted from 1, the ``slice`` at whose end, the reason why it
    was ``refused`` (else empty), and the number of a later decision that it was ``undone_by``.
    """

    key: str
    made: datetime
    kind: str
    topic: int = -1
    other: int = -1
    text: str = ""
    number: int = 0
    slice: int = -1
    refused: str = ""
    undone_by: int | None = None


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """Something that happened to a story in a slice, when it had ``size`` documents.

    ======  ===========================================================================================
    kind    what
    ======  ===========================================================================================
    opened  it has so many documents that it is written into the run file
    burst   its share of the documents is significantly larger than in the slice before
    merged  it proved to be the same as the story ``other``, which goes on with the documents of both
    ended   nobody joined it for long
    ======  ===========================================================================================

    ``evidence`` of a merger is the log Bayes factor for one story instead of two, less the log prior odds of two.
    """

    kind: str
    story: int
    slice: int
    size: int
    other: int | None = None
    evidence: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StoryRows:
    """Stories as they are known now, parallel columns; they replace what was known of the same ones before.

    ``size`` are documents, the first and the last of which came at ``first`` and ``last`` (datetime64[us], UTC), in the
    slices ``first_slice`` and ``last_slice``. ``topic`` is the parent topic, -1 if none of the documents had one.
    ``trend`` tells in standard deviations how the share of a story among all documents changed from the slice before:
    from 2 on it is rising, from -2 on falling. ``ended`` stories get no more documents: nobody joined them for long, or
    they were merged into another, which counts their documents too. ``words`` are the strongest
    ones with their weights, ``documents`` the representative documents, best first: id, title, time in microseconds
    since 1970, and a score: the cosine with the mean direction of the story when it came, smaller for few words and for
    young stories.
    """

    story: NDArray[np.int64]
    first_slice: NDArray[np.int64]
    last_slice: NDArray[np.int64]
    first: NDArray[np.datetime64]
    last: NDArray[np.datetime64]
    size: NDArray[np.int64]
    topic: NDArray[np.int64]
    trend: NDArray[np.float64]
    ended: NDArray[np.bool_]
    words: Sequence[Sequence[tuple[str, float]]]
    documents: Sequence[Sequence[tuple[str, str, int, float]]]

    def titles(self) -> list[str]:
        """Return the title of each, which is that of its most representative document; empty without one."""
        return [some[0][1] if some else "" for some in self.documents]

    def taken(self, rows: NDArray[np.integer]) -> StoryRows:
        """Return some of the rows."""
        columns: dict[str, Any] = {}
        for f in fields(self):
            column = getattr(self, f.name)
            columns[f.name] = [column[i] for i in rows.tolist()] if isinstance(column, list) else column[rows]
        return StoryRows(**columns)

    @classmethod
    def joined(cls, parts: Sequence[StoryRows]) -> StoryRows:
        """Put the rows of one or more parts behind each other."""
        columns: dict[str, Any] = {}
        for f in fields(cls):
            found = [getattr(part, f.name) for part in parts]
            lists = isinstance(found[0], list)
            columns[f.name] = [row for part in found for row in part] if lists else np.concatenate(found)
        return cls(**columns)


@dataclass(frozen=True, slots=True, eq=False)
class StorySlices:
    """Stories as they were at the end of slices in which they had documents, parallel columns, (N,).

    ``size`` are the documents of ``story`` until the end of ``slice``; ``topic``, ``trend``, ``title`` and ``words``,
    the strongest first, are what `StoryRows` told of it then.
    """

    slice: NDArray[np.int64]
    story: NDArray[np.int64]
    size: NDArray[np.int64]
    topic: NDArray[np.int64]
    trend: NDArray[np.float64]
    title: Sequence[str]
    words: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class DocumentRows:
    """What N documents got on arrival, parallel columns, in the order in which they were learnt.

    ``time`` (N,) is in microseconds since 1970. ``topic`` (N,) are ids, -1 for documents without a direction and those
    that came before the first topics; ``probability`` (N,) is the calibrated probability of the topic and ``novelty``
    (N,) the nats by which a topic without documents explains the document better than all known ones, both NaN
    without a topic. ``story`` (N,) are ids of stories, -1 for none. ``second`` (N,) and ``second_probability`` (N,) are
    the same of the second topic, -1 and NaN where there is none. ``place`` (N,) is their
    place in the slice, from 0. ``text`` are beginnings of the texts, ``part`` and ``offset`` (N,) where their messages
    stand in the source; each None where it is not wanted.
    """

    id: Sequence[str]
    time: NDArray[np.int64]
    topic: NDArray[np.int64]
    probability: NDArray[np.float32]
    story: NDArray[np.int64]
    novelty: NDArray[np.float32]
    second: NDArray[np.int64]
    second_probability: NDArray[np.float32]
    place: NDArray[np.int64]
    text: Sequence[str] | None = None
    part: Sequence[str] | None = None
    offset: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.id)

    @classmethod
    def joined(cls, parts: Sequence[DocumentRows]) -> DocumentRows:
        """Put the rows of one or more parts behind each other, with what all of them have."""
        if len(parts) == 1:
            return parts[0]

        def column(name: str) -> Any:
            columns = [getattr(part, name) for part in parts]
            if any(one is None for one in columns):
                return None
            return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else list(chain.from_iterable(columns))

        return cls(**{f.name: column(f.name) for f in fields(cls)})

    def newest_per_topic(self, most: int) -> DocumentRows:
        """Return the last ``most`` rows of each topic, in their order."""
        order = np.argsort(self.topic[::-1], kind="stable")
        own = self.topic[::-1][order]
        place = np.arange(len(own)) - np.searchsorted(own, own)
        rows = np.sort(len(own) - 1 - order[place < most])

        def column(name: str) -> Any:
            values = getattr(self, name)
            if values is None or isinstance(values, np.ndarray):
                return None if values is None else values[rows]
            return [values[i] for i in rows.tolist()]

        return DocumentRows(**{f.name: column(f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedDocuments:
    """What documents were labelled later, given documents that came after them.

    ``first`` is the place of the first one in the ``slice``; ``topic`` (N,) are the ids of the topics of this and the
    next ones, -1 for none. Later labels of the same documents replace them.
    """

    slice: int
    first: int
    topic: NDArray[np.int64]

    def besides(self, others: Sequence[SmoothedDocuments]) -> list[SmoothedDocuments]:
        """Return what is left without the documents of ``others``."""
        left = np.ones(len(self.topic), bool)
        for one in others:
            if one.slice == self.slice:
                left[max(one.first - self.first, 0) : max(one.first + len(one.topic) - self.first, 0)] = False
        bounds = np.flatnonzero(np.diff(left, prepend=False, append=False)).reshape(-1, 2).tolist()
        return [SmoothedDocuments(self.slice, self.first + low, self.topic[low:high]) for low, high in bounds]


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedStories:
    """Documents whose story is another one after later documents: ``slice``, ``place`` in it and ``story``, (N,)."""

    slice: NDArray[np.int64]
    place: NDArray[np.int64]
    story: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EpochReport:
    """One epoch: what was read and how well it was predicted.

    ``prequential`` is the prequential log-likelihood: the mean log-density per document before the update, in nats
    relative to the uniform density (NaN while there is no model). ``oov_rate`` is the out-of-vocabulary rate, the share
    of words without a column. ``lag`` counts the messages that waited in the source, None if it cannot say.

    ``n`` documents were learnt, of which ``late`` belong to earlier slices and ``empty`` have no direction;
    ``rejected`` counts messages, ``seconds`` is what learning took.
    """

    epoch: int
    slice: Slice
    n: int
    rejected: int
    late: int
    empty: int
    oov_rate: float
    prequential: float
    seconds: float
    topics: TopicRows | None
    lag: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SliceReport:
    """A closed slice: its filtered topics, their representative documents and its events.

    ``predicted`` is the predictive log-likelihood: the mean log-density per document under the prediction made before
    the slice began (nats relative to uniform). ``warm_up`` marks slices of the warm-up, whose window is still refitted
    as a whole, so that topic ids may yet change their meaning. ``temperature`` is the softmax temperature that makes
    the topic probabilities on arrival fit best to the topics found at the end of the slice (NaN where nothing was
    predicted).
    """

    slice: Slice
    n: int
    predicted: float
    persistence: float
    warm_up: bool
    dimension: int
    topics: TopicRows | None
    representative: Representative | None
    events: Sequence[Event] = ()
    novel: Novel | None = None
    temperature: float = float("nan")
    names: TopicNames | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedSlice:
    """The smoothed topics of one slice: estimated from documents of later slices too."""

    slice: int
    topics: TopicRows


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Documents of one slice to add to the stored sample, and limits for those that stay.

    Parallel columns, in the order of reading: ``key`` decides which documents are sampled, ``part`` and ``offset`` give
    their place in the source, ``packed`` their encoded counts. ``cut`` maps slices to the largest key that stays.
    """

    slice: int
    key: NDArray[np.uint64]
    part: Sequence[str]
    offset: NDArray[np.int64]
    packed: Sequence[bytes]
    cut: Mapping[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """Everything that an epoch writes; all of it becomes visible at once or nothing does.

    ``open_state`` belongs to every epoch, ``slice_state`` to those that closed a slice; both are needed to resume, as
    is ``position``, the next offset of every part. ``closed`` are slices that ended, ``smoothed`` those that have their
    smoothed topics now, ``rejected`` messages that are no documents, ``sampled`` what changed in the sample;
    ``finished`` tells that the source has ended. ``seconds`` went since the commit before, by stage, see
    `vmfstream.stages`. ``stories`` are those that changed, ``story_slices`` what they were at the ends of its slices,
    ``story_events`` what happened to stories. ``documents`` are those of the epoch, None where they are not kept; of
    each topic and slice only the newest ``documents_per_topic`` stay, all if it is 0. ``relabelled`` are documents that
    have their smoothed topics now, ``in_other_stories`` those whose smoothed story is another one. ``given_names`` are
    names that a namer gave: slice, topic, name. ``labels`` are all documents of the epoch, with the places of their
    messages, where they are sent to others afterwards. ``decisions`` were applied, or refused, at the ends of its
    slices; ``undone`` has for numbers of earlier ones that of the decision by which each is undone.
    """

    epoch: EpochReport
    closed: Sequence[SliceReport]
    rejected: Sequence[Rejected]
    position: Position
    open_state: Arrays
    slice_state: Arrays | None
    smoothed: Sequence[SmoothedSlice] = ()
    finished: bool = False
    sampled: Sampled | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    stories: StoryRows | None = None
    story_slices: Sequence[StorySlices] = ()
    story_events: Sequence[StoryEvent] = ()
    documents: DocumentRows | None = None
    decisions: Sequence[Decision] = ()
    undone: Mapping[int, int] = field(default_factory=dict)
    documents_per_topic: int = 0
    relabelled: Sequence[SmoothedDocuments] = ()
    in_other_stories: Sequence[SmoothedStories] = ()
    given_names: Sequence[tuple[int, int, str]] = ()
    labels: DocumentRows | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """What a run needs to continue: the last committed epoch, the position, both states and all decisions so far."""

    epoch: int
    position: Position
    open_state: Arrays
    slice_state: Arrays | None
    finished: bool
    decisions: Sequence[Decision] = ()
