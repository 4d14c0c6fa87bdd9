"""The labels of documents as messages for Kafka, one for each document that was counted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vmfstream.engine.observers.latency import Latency
from vmfstream.text.top_words import topic_name

if TYPE_CHECKING:
    from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
    from vmfstream.connectors.kafka.publisher import MessageReader
    from vmfstream.runfile.queries import Reader

FORMATS = ("headers", "json")
"""Where a label stands: in headers beside the original value, or as a JSON object instead of it."""

Label = dict[str, Any]


class LabelMessages:
    """Makes messages of the labels that a run file has not sent; see `vmfstream.engine.observers.delivery`.

    The messages themselves are read again from where they came: a label holds their places only.

    Parameters
    ----------
    source, options : where the messages came from.
    topic : name of the topic that labels are sent to.
    format : one of `FORMATS`.
    latency : counts the seconds from messages, of after this was made, to their labels.
    """

    def __init__(self, source: TopicAddress, options: ClientOptions, topic: str, format: str, latency: Latency) -> None:
        self._source, self._options, self._topic, self._format = source, options, topic, format
        self._latency, self._began = latency, time.time()
        self._reader: MessageReader | None = None
        self._written: dict[int, list[int]] = {}

    def __call__(self, reader: Reader, after: int, upto: int) -> Iterator[tuple[int, Iterable[Any]]]:
        """Yield the messages of every epoch after the first number, up to the second, by epoch."""
        found = reader.outbox(after, upto)
        if not len(found.epoch):
            return
        words = reader.words_of_epochs(after, upto)
        for epoch in np.unique(found.epoch).tolist():
            rows = np.flatnonzero(found.epoch == epoch)
            names = {topic: topic_name(of) for topic, of in words.get(epoch, {}).items()}
            labels: dict[str, dict[int, Label]] = {}
            columns = (found.part, found.offset, found.topic, found.probability, found.story, found.novelty)
            for part, offset, topic, probability, story, novelty in zip(
                *(column[rows].tolist() for column in columns), strict=True
            ):
                labels.setdefault(part, {})[offset] = {
                    "topic": topic if topic >= 0 else None,
                    "name": names.get(topic),
                    "probability": round(probability, 4) if topic >= 0 else None,
                    "story": story if story >= 0 else None,
                    "novelty": round(novelty, 4) if topic >= 0 else None,
                }
            yield epoch, self._of_epoch(epoch, labels)

    def sent(self, epoch: int) -> None:
        """Note that the messages of an epoch were sent and committed."""
        written = np.array(self._written.pop(epoch, ()), np.float64) / 1e3
        self._latency.sent += len(written)
        self._latency.add(np.maximum(time.time() - written[written >= self._began], 0.0))
        self._latency.epoch = max(self._latency.epoch, epoch)

    def close(self) -> None:
        """Close the connection to the source, which the next messages open again."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _of_epoch(self, epoch: int, labels: dict[str, dict[int, Label]]) -> Iterator[Any]:
        from vmfstream.connectors.kafka.publisher import MessageReader, OutgoingMessage

        written: list[int] = []
        self._written = {epoch: written}
        if self._reader is None:
            self._reader = MessageReader(self._source, self._options)
        try:
            for part, offset, record in self._reader.read_all({part: list(of) for part, of in labels.items()}):
                about = labels[part][offset]
                headers = [] if record is None else list(record.headers)
                if self._format == "json":
                    place = {"part": part, "offset": offset}
                    value = json.dumps(about | place | ({"gone": True} if record is None else {}), ensure_ascii=False)
                    body: bytes | None = value.encode()
                else:
                    body = None if record is None else record.value
                    headers += _headers(about, part, offset, gone=record is None)
                written.append(-1 if record is None else record.timestamp)
                yield OutgoingMessage(None if record is None else record.key, body, headers, self._topic)
        except BaseException:
            self.close()
            raise


def _headers(about: Label, part: str, offset: int, *, gone: bool) -> list[tuple[str, bytes]]:
    """Return what a label says as headers; what a document has not got has none."""
    given = [(f"vmfstream.{name}", str(value).encode()) for name, value in about.items() if value is not None]
    given += [("vmfstream.part", part.encode()), ("vmfstream.offset", b"%d" % offset)]
    return [*given, ("vmfstream.gone", b"true")] if gone else given
