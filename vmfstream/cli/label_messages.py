"""The labels of documents as messages for Kafka, one for each document that was counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from vmfstream.clock import now
from vmfstream.engine.observers.latency import Latency
from vmfstream.records import Commit, DocumentRows
from vmfstream.runfile.queries.base import kept
from vmfstream.runfile.queries.documents import OutboxFrame
from vmfstream.text.top_words import topic_name

if TYPE_CHECKING:
    from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
    from vmfstream.connectors.kafka.publisher import MessageReader
    from vmfstream.connectors.kafka.recent import RecentRecords
    from vmfstream.runfile.queries import Reader

FORMATS = ("headers", "json")
"""Where a label stands: in headers beside the original value, or as a JSON object instead of it."""


class Label(NamedTuple):
    """What a document got; None for what it has not got."""

    topic: int | None
    name: str | None
    probability: float | None
    story: int | None
    novelty: float | None


class LabelMessages:
    """Makes messages of the labels that a run file has not sent; see `vmfstream.engine.observers.delivery`.

    The run file has the places of messages only. The messages themselves are taken from those that were just read, or
    read again from where they came.

    Parameters
    ----------
    source, options : where the messages came from.
    topic : name of the topic that labels are sent to.
    format : one of `FORMATS`.
    latency : counts the seconds from messages, of after this was made, to their labels.
    recent : messages that were just read, None if others read them.
    """

    def __init__(
        self,
        source: TopicAddress,
        options: ClientOptions,
        topic: str,
        format: str,
        latency: Latency,
        recent: RecentRecords | None = None,
    ) -> None:
        self._source, self._options, self._topic, self._format = source, options, topic, format
        self._latency, self._recent, self._began = latency, recent, now()
        self._reader: MessageReader | None = None
        self._written: list[int] = []
        self._names = _SliceNames(-1, 0, {})
        self._renamed = 0  # the last epoch that may have changed names

    def __call__(self, reader: Reader, after: int, upto: int) -> Iterator[tuple[int, Iterable[Any]]]:
        """Yield the messages of every epoch after the first number, up to the second, by epoch."""
        self._written = []  # of what could not be sent
        with reader.at_once():
            found, given = reader.outbox(after, upto), reader.topic_names()
            # topics are called as they were when the slice of their documents began
            names = {index: reader.newest_names(index - 1) | given for index in set(found.slice.tolist())}
        if not len(found.epoch):
            return
        from vmfstream.connectors.kafka.publisher import read_up_to

        newest = int(found.slice[-1])
        self._names = _SliceNames(newest, upto, names[newest])
        epochs, firsts = np.unique(found.epoch, return_index=True)
        last = read_up_to(found.part, found.offset)
        for epoch, low, high in zip(epochs.tolist(), firsts, [*firsts[1:], len(found.epoch)], strict=True):
            of_parts = dict(zip(found.part[low:high].tolist(), last[low:high].tolist(), strict=True))
            yield epoch, _Labelled(self, kept(found, np.arange(low, high)), names, of_parts)

    def ahead(self, commits: Sequence[Commit]) -> _Labelled | None:
        """Return the messages of epochs that are being written; None if the names of their topics have to be read.

        Names change at the ends of slices, by decisions, and when a namer answers.
        """
        if any(one.decisions or one.undone or one.given_names for one in commits):
            self._renamed = commits[-1].epoch.epoch
            return None
        names = self._names
        others = any(one.epoch.slice.index != names.slice for one in commits)
        if names.read < self._renamed or others or all(one.labels is None for one in commits):
            return None
        return _Labelled(self, outbox_of(commits), {names.slice: names.names})

    def sent(self, epoch: int) -> None:
        """Note that the messages up to an epoch were sent and committed."""
        written = np.array(self._written, np.float64) / 1e3
        self._written = []
        self._latency.sent += len(written)
        self._latency.add(np.maximum(now() - written[written >= self._began], 0.0))
        self._latency.epoch = max(self._latency.epoch, epoch)

    def close(self) -> None:
        """Close the connection to the source, which the next messages open again."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def made(self, labels: dict[str, dict[int, Label]], last: Mapping[str, int]) -> Iterator[Any]:
        """Yield the messages of some ``labels``, by part and offset; ``last`` as in `reread`."""
        from vmfstream.connectors.kafka.publisher import OutgoingMessage

        for part, offset, record in self._records(labels, last):
            label = labels[part][offset]
            headers = [] if record is None else list(record.headers)
            if self._format == "json":
                about = label._asdict() | {"part": part, "offset": offset} | ({"gone": True} if record is None else {})
                body: bytes | None = orjson.dumps(about)
            else:
                body = None if record is None else record.value
                headers += _headers(label, part, offset, gone=record is None)
            self._written.append(-1 if record is None else record.timestamp)
            key, partition = None if record is None else record.key, int(part.rpartition(":")[2])
            yield OutgoingMessage(key, body, headers, self._topic, partition)

    def _records(
        self, labels: dict[str, dict[int, Label]], last: Mapping[str, int]
    ) -> Iterator[tuple[str, int, Any | None]]:
        from vmfstream.connectors.kafka.publisher import MessageReader

        missing: dict[str, list[int]] = {}
        for part, of_part in labels.items():
            offsets = sorted(of_part)
            known = {} if self._recent is None else self._recent.take(part, offsets)
            yield from ((part, offset, record) for offset, record in known.items())
            if len(known) < len(offsets):
                missing[part] = [offset for offset in offsets if offset not in known]
        if missing:
            if self._reader is None:
                self._reader = MessageReader(self._source, self._options)
            yield from self._reader.read_all(missing, last)


class _SliceNames(NamedTuple):
    """The names of topics in a slice, as they were read when an epoch was the last one."""

    slice: int
    read: int
    names: Mapping[int, str]


class _Labelled:
    """Messages of documents, made when they are asked for.

    ``names`` are those of topics, by slice; ``last`` as in `reread`.
    """

    def __init__(
        self,
        maker: LabelMessages,
        found: OutboxFrame,
        names: Mapping[int, Mapping[int, str]],
        last: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._maker, self._found, self._names, self._last = maker, found, names, last

    def __length_hint__(self) -> int:
        return len(self._found.epoch)

    def __iter__(self) -> Iterator[Any]:
        return self._maker.made(_labels(self._found, self._names), self._last)


def outbox_of(commits: Sequence[Commit]) -> OutboxFrame:
    """Return what `Reader.outbox` finds of these commits, which have labels, once they are written."""
    rows = DocumentRows.joined([one.labels for one in commits if one.labels is not None])
    sizes = [0 if one.labels is None else len(one.labels) for one in commits]
    words: list[str | None] = []
    for one in commits:
        topics = one.epoch.topics
        known: dict[int, str] = {}
        if topics is not None:
            texts = (" ".join(word for word, _ in some) for some in topics.words)
            known = dict(zip(topics.topic.tolist(), texts, strict=True))
        words += [] if one.labels is None else map(known.get, one.labels.topic.tolist())
    return OutboxFrame(
        epoch=np.repeat([one.epoch.epoch for one in commits], sizes),
        slice=np.repeat([one.epoch.slice.index for one in commits], sizes),
        part=np.array(rows.part, np.object_),
        offset=np.asarray(rows.offset),
        topic=rows.topic,
        probability=rows.probability.astype(np.float64),
        story=rows.story,
        novelty=rows.novelty.astype(np.float64),
        words=np.array(words, np.object_),
    )


def _labels(found: OutboxFrame, names: Mapping[int, Mapping[int, str]]) -> dict[str, dict[int, Label]]:
    """Return labels by part and offset; ``names`` are those of topics, by slice."""
    by_words = {words: topic_name(words.split()) for words in set(found.words.tolist()) if words}
    probability, novelty = (np.round(one.astype(np.float64), 4) for one in (found.probability, found.novelty))
    columns = (found.slice, found.part, found.offset, found.topic, found.words, probability, found.story, novelty)
    labels: dict[str, dict[int, Label]] = {part: {} for part in set(found.part.tolist())}
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for index, part, offset, topic, words, sure, story, new in rows:
        in_story = story if story >= 0 else None
        if topic >= 0:
            label = Label(topic, names[index].get(topic) or by_words.get(words), sure, in_story, new)
        else:
            label = Label(None, None, None, in_story, None)
        labels[part][offset] = label
    return labels


def _headers(label: Label, part: str, offset: int, *, gone: bool) -> list[tuple[str, bytes]]:
    """Return what a label says as headers; what a document has not got has none."""
    headers = [*_topic_headers(label.topic, label.name)]
    if label.probability is not None:
        headers.append(("vmfstream.probability", b"%r" % label.probability))
    if label.story is not None:
        headers.append(("vmfstream.story", b"%d" % label.story))
    if label.novelty is not None:
        headers.append(("vmfstream.novelty", b"%r" % label.novelty))
    headers += [("vmfstream.part", part.encode()), ("vmfstream.offset", b"%d" % offset)]
    return [*headers, ("vmfstream.gone", b"true")] if gone else headers


@lru_cache(4096)
def _topic_headers(topic: int | None, name: str | None) -> Sequence[tuple[str, bytes]]:
    both = (("vmfstream.topic", topic), ("vmfstream.name", name))
    return [(key, str(value).encode()) for key, value in both if value is not None]
