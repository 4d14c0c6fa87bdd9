"""Topics of Kafka as a source: every partition is read, and where to go on is for the caller to remember.

The reader belongs to no consumer group: a log holds one state, which cannot be shared among several readers, and keeps
the position in the same transaction. Partitions are merged by the time of their messages, so that documents of several
partitions come in one order as far as the topics hold them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from kafka import TopicPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata

from vmfstream.connectors.kafka.client import Complaints, explained, open_consumer
from vmfstream.connectors.kafka.columns import Columns
from vmfstream.connectors.kafka.options import ClientOptions, Place, parse_place, read_options
from vmfstream.connectors.kafka.order import Partition, in_order
from vmfstream.connectors.kafka.ranges import KafkaRanges
from vmfstream.connectors.lines import MAX_LINE_BYTES
from vmfstream.errors import InputError
from vmfstream.records import Message, Position, Range

log = logging.getLogger(__name__)

OnGap: TypeAlias = Literal["fail", "earliest", "latest"]
"""What to do where messages after the stored offset are gone: stop, or go on with the oldest or the newest."""

_ALL = 10**9
_LOOK = 5.0  # seconds between two looks for new partitions
_GONE = 15.0  # seconds after which a missing topic is taken for deleted and not for a cluster that begins
_COMPLAIN = 30.0  # seconds between two warnings of the same trouble


class KafkaSource:
    """Messages of all partitions of some topics; a part is called ``topic:partition``.

    Parameters
    ----------
    url : str
        ``kafka://host:9092[,host...]/topic[,topic...]``.
    options : ClientOptions, optional
        Of the client library; by default those of the environment.
    format : {"json", "text"}
        A JSON object per message, or its text as it is.
    on_gap : {"fail", "earliest", "latest"}
        What to do where messages after the stored offset are gone.
    group : str, optional
        Consumer group under whose name the broker is told how far the log is, for monitoring only.
    max_message_bytes : int
        Longer messages are not kept but reported as rejected with their size.
    buffer_bytes : int
        Messages held back for their order; fuller partitions are paused.

    Raises
    ------
    InputError
        If the URL or an option is wrong, the cluster does not answer or accept us, or a topic does not exist.
    """

    def __init__(
        self,
        url: str,
        *,
        options: ClientOptions | None = None,
        format: Literal["json", "text"] = "json",
        on_gap: OnGap = "fail",
        group: str | None = None,
        max_message_bytes: int = MAX_LINE_BYTES,
        buffer_bytes: int = 32 * 2**20,
    ) -> None:
        if format not in ("json", "text"):
            raise InputError(f"format of Kafka messages must be json or text, got {format!r}")
        if on_gap not in get_args(OnGap):
            raise InputError(f"on_gap must be one of {', '.join(get_args(OnGap))}, got {on_gap!r}")
        self.place: Place = parse_place(url)
        self._options = read_options() if options is None else options
        self._text, self._on_gap, self._group = format == "text", on_gap, group
        self._max_message_bytes, self._buffer_bytes = max_message_bytes, buffer_bytes
        self._parts: dict[TopicPartition, Partition] = {}
        self._order: list[Partition] = []
        self._begun = self._closed = False
        self._looked = self._complained = 0.0
        self._missing: dict[str, float] = {}
        self._complaints = Complaints()
        with explained(self.place, self._options):
            self._consumer = open_consumer(self.place, self._options, group_id=group)
        try:
            self._discover()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return ", ".join(self.place.topics)

    @property
    def exhausted(self) -> bool:
        """False until the source is closed: a topic has no end."""
        return self._closed

    @property
    def total(self) -> int | None:
        """Unknown."""
        return None

    def lag(self, position: Position) -> int:
        """Return how many messages lie behind these offsets, as far as the cluster has told."""
        return sum(max(part.end - position.get(part.name, part.start), 0) for part in self._order)

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` messages in the order of their times; wait at most ``timeout`` seconds for some.

        Raises
        ------
        InputError
            If messages are gone and ``on_gap`` is "fail", a topic was deleted, or the cluster refuses to go on. A
            cluster that does not answer is waited for.
        """
        if self._closed or limit < 1:
            return []
        if not self._begun:
            self.seek({})
        deadline = time.monotonic() + timeout
        while not (messages := in_order(self._order, limit)):
            left = deadline - time.monotonic()
            self._fill(max(left, 0.0))
            if left <= 0:
                return in_order(self._order, limit)
        return messages

    def seek(self, position: Position) -> None:
        """Continue with these offsets; partitions not named start with their oldest message.

        Raises
        ------
        InputError
            If the messages of an offset are gone and ``on_gap`` is "fail".
        """
        self._begun = True
        for part in self._order:
            part.forget()
        self._place_all(self._parts, position)

    def extents(self, position: Position) -> Sequence[Range]:
        """Return what every partition holds from these offsets on; not for a source that is polled.

        Raises
        ------
        InputError
            As `seek`, or if a topic was deleted.
        """
        if time.monotonic() - self._looked > _LOOK:
            self._discover()
        self._complain()
        self._place_all(self._parts, position)
        return [Range(part.name, part.next, part.end) for part in self._order]

    def reader(self) -> KafkaRanges:
        """Return what reads ranges of these topics elsewhere."""
        return KafkaRanges(self.place, self._options, self._text, self._max_message_bytes)

    def committed(self, position: Position) -> None:
        """Tell the cluster how far the log is, under the name of the group; nothing depends on its answer."""
        if self._group is None or self._closed:
            return
        offsets = {
            tp: OffsetAndMetadata(position[part.name], "", -1)
            for tp, part in self._parts.items()
            if part.name in position
        }
        try:
            self._consumer.commit_async(offsets)
        except KafkaError as error:
            log.debug("the group %s was not told: %s", self._group, error)

    def close(self) -> None:
        """Leave the cluster; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._complaints.close()
        self._consumer.close(autocommit=False, timeout_ms=1000)

    def _fill(self, timeout: float) -> None:
        """Take what the cluster has sent into the ordered buffer."""
        if time.monotonic() - self._looked > _LOOK:
            self._discover()
        self._complain()
        self._balance()
        with explained(self.place, self._options):
            try:
                # all that was fetched at once: a partition that is paused while the client still holds some of its
                # records may never be resumed (kafka-python 3.0)
                found = self._consumer.poll(timeout_ms=int(timeout * 1000), max_records=_ALL)
            except OffsetOutOfRangeError as error:
                lost = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
                self._place_all({tp: self._parts[tp] for tp in lost or self._parts}, self._reached())
                return
        now = int(time.time() * 1000)
        for tp, records in found.items():
            self._parts[tp].add(Columns.of(records), now, self._text, self._max_message_bytes)
        for tp, part in self._parts.items():
            part.end = max(part.end, self._consumer.highwater(tp) or 0)

    def _balance(self) -> None:
        """Pause partitions that hold more than their share: memory is bounded however far they are apart."""
        share = self._buffer_bytes // max(len(self._parts), 1)
        for tp, part in self._parts.items():
            full = part.bytes > share
            if full != part.paused:
                (self._consumer.pause if full else self._consumer.resume)(tp)
                part.paused = full

    def _discover(self) -> None:
        """Assign partitions that are new; an unknown topic is an error once it is certain."""
        self._looked = time.monotonic()
        fresh: dict[TopicPartition, Partition] = {}
        with explained(self.place, self._options):
            for topic in self.place.topics:
                numbers = self._consumer.partitions_for_topic(topic)
                self._note_missing(topic, bool(numbers))
                for number in sorted(numbers):
                    tp = TopicPartition(topic, number)
                    if tp not in self._parts:
                        fresh[tp] = Partition(f"{topic}:{number}")
        if not fresh:
            return
        self._parts |= fresh
        self._order = list(self._parts.values())
        self._consumer.assign(list(self._parts))
        if self._begun:
            log.info("%s: %d new partitions", self.place.url, len(fresh))
            self._place_all(fresh, {})

    def _note_missing(self, topic: str, there: bool) -> None:
        if there:
            self._missing.pop(topic, None)
            return
        since = self._missing.setdefault(topic, time.monotonic())
        known = any(tp.topic == topic for tp in self._parts)
        if not known:
            raise InputError(f"there is no topic {topic} at {self.place.url}, or no right to see it")
        if time.monotonic() - since > _GONE:
            raise InputError(f"the topic {topic} at {self.place.url} was deleted")

    def _place_all(self, parts: Mapping[TopicPartition, Partition], position: Position) -> None:
        """Set where to read on, after a look whether it is still there."""
        with explained(self.place, self._options):
            oldest = self._consumer.beginning_offsets(list(parts))
            newest = self._consumer.end_offsets(list(parts))
            for tp, part in parts.items():
                offset = position.get(part.name, oldest[tp])
                if not oldest[tp] <= offset <= newest[tp]:
                    offset = self._bridged(part.name, offset, oldest[tp], newest[tp])
                self._consumer.seek(tp, offset)
                part.place(offset, newest[tp])

    def _bridged(self, name: str, offset: int, oldest: int, newest: int) -> int:
        """Say that messages are gone, and return where to go on if that is allowed."""
        what = (
            f"{oldest - offset:,} messages of {name} are gone: the log is at offset {offset:,}, "
            f"the oldest message there is {oldest:,}"
            if offset < oldest
            else f"{name} ends at offset {newest:,}, before the log's {offset:,}: the topic was deleted and made again"
        )
        if self._on_gap == "fail":
            raise InputError(f"{what}; --on-gap earliest or latest goes on with the oldest or newest there are")
        log.warning("%s; going on with the %s", what, "oldest" if self._on_gap == "earliest" else "newest")
        return oldest if self._on_gap == "earliest" else newest

    def _reached(self) -> dict[str, int]:
        return {part.name: part.next for part in self._parts.values()}

    def _complain(self) -> None:
        """Pass on what the library complains of, but not at every attempt."""
        if self._complaints.last and time.monotonic() - self._complained > _COMPLAIN:
            self._complained = time.monotonic()
            log.warning("%s: %s; waiting", self.place.url, self._options.cleaned(self._complaints.take()))
