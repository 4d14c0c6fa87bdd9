"""`KafkaSource`: all partitions of some topics, merged by time; the caller stores the position.

The consumer joins no group: a run file holds one state, which cannot be shared among several readers, and stores the
position in the same transaction. Partitions are merged by the times of their messages, so that documents come in one
order as far as the topics hold them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from kafka import TopicPartition
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError, UnknownTopicOrPartitionError
from kafka.structs import OffsetAndMetadata

from vmfstream.clock import now
from vmfstream.connectors.kafka.client import LastWarning, explain_errors, open_consumer
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress, parse_address, read_options
from vmfstream.connectors.kafka.partitions import Partition, RecordColumns, take_earliest
from vmfstream.connectors.kafka.ranges import KafkaRanges
from vmfstream.connectors.kafka.recent import RecentRecords
from vmfstream.connectors.lines import MAX_LINE_BYTES
from vmfstream.errors import InputError
from vmfstream.records import Message, Position, Range

log = logging.getLogger(__name__)

OnGap: TypeAlias = Literal["fail", "earliest", "latest"]
"""What to do if messages after the stored offset were deleted: fail, or go on with the oldest or the newest."""

_ALL = 10**9
_DISCOVERY_INTERVAL = 5.0  # seconds between two searches for new partitions
_DELETED_AFTER = 15.0  # seconds after which a missing topic counts as deleted; a starting cluster may not know it yet
_GATHERED = {"fetch_min_bytes": 2**18, "fetch_max_wait_ms": 50}  # else each message may be an answer of its own
_ANSWER_MS = 5_000  # milliseconds for an answer about what the topics hold
_WARNING_INTERVAL = 30.0  # seconds between two warnings


class KafkaSource:
    """The messages of all partitions of some topics; a part is named ``topic:partition``.

    Parameters
    ----------
    url : str
        ``kafka://host:9092[,host...]/topic[,topic...]``.
    options : ClientOptions, optional
        Options of the client library; by default those of the environment.
    format : {"json", "text"}
        A JSON object per message, or its text as it is.
    on_gap : {"fail", "earliest", "latest"}
        What to do if messages after the stored offset were deleted.
    group : str, optional
        Consumer group under which offsets are committed to the broker, for monitoring only.
    max_message_bytes : int
        Longer messages are rejected with their size.
    buffer_bytes : int
        Size of the buffer in which partitions are merged; a partition with more than its part is paused.
    recent : RecentRecords, optional
        Where the newest records are kept for others.
    attach : sequence of str
        Which of ``@key`` and ``@header.NAME`` to pass with messages.

    Raises
    ------
    InputError
        If the URL or an option is wrong, the cluster does not answer or refuses access, or a topic does not exist.
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
        recent: RecentRecords | None = None,
        attach: Sequence[str] = (),
    ) -> None:
        if format not in ("json", "text"):
            raise InputError(f"format of Kafka messages must be json or text, got {format!r}")
        if on_gap not in get_args(OnGap):
            raise InputError(f"on_gap must be one of {', '.join(get_args(OnGap))}, got {on_gap!r}")
        self.address: TopicAddress = parse_address(url)
        self._options = read_options() if options is None else options
        self._text, self._on_gap, self._group = format == "text", on_gap, group
        self._max_message_bytes, self._buffer_bytes = max_message_bytes, buffer_bytes
        self._recent, self._attach = recent, attach
        self._parts: dict[TopicPartition, Partition] = {}
        self._order: list[Partition] = []
        self._begun = self._closed = False
        self._discovered = self._warned = 0.0
        self._missing: dict[str, float] = {}
        self._last_warning = LastWarning()
        with explain_errors(self.address, self._options):
            age = int(_DISCOVERY_INTERVAL * 1000)  # the client would ask for new partitions every five minutes
            reading = {**_GATHERED, **self._options.reading, "metadata_max_age_ms": age}
            self._consumer = open_consumer(self.address, self._options, group_id=group, **reading)
        try:
            self._discover()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return ", ".join(self.address.topics)

    @property
    def exhausted(self) -> bool:
        """False until the source is closed, since a topic has no end."""
        return self._closed

    @property
    def total(self) -> int | None:
        """None: a topic has no end."""
        return None

    def lag(self, position: Position) -> int:
        """Return how many messages are to be read after these offsets, as far as is known."""
        return sum(part.lag(position.get(part.name, part.start)) for part in self._order)

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` messages in the order of their times; wait at most ``timeout`` seconds for some.

        Raises
        ------
        InputError
            If messages were deleted and ``on_gap`` is "fail", a topic was deleted, or the cluster refuses access.
            While the cluster does not answer, nothing is raised.
        """
        if self._closed or limit < 1:
            return []
        if not self._begun:
            self.seek({})
        deadline = time.monotonic() + timeout
        while not (messages := take_earliest(self._order, limit)):
            left = deadline - time.monotonic()
            self._fill(max(left, 0.0))
            if left <= 0:
                return take_earliest(self._order, limit)
        return messages

    def seek(self, position: Position) -> None:
        """Continue with these offsets; partitions not named start with their oldest message.

        Raises
        ------
        InputError
            If messages after an offset were deleted and ``on_gap`` is "fail".
        """
        self._begun = True
        for part in self._order:
            part.clear()
        if self._recent is not None:
            self._recent.clear()
        self._seek_all(self._parts, position)

    def extents(self, position: Position) -> Sequence[Range]:
        """Return the range of every partition from these offsets on; not for a source that is polled.

        Raises
        ------
        SourceAway
            If the cluster does not answer within 5 seconds.
        InputError
            As for `seek`, or if a topic was deleted.
        """
        if time.monotonic() - self._discovered > _DISCOVERY_INTERVAL:
            self._discover()
        self._log_warning()
        self._seek_all(self._parts, position, _ANSWER_MS)
        return [Range(part.name, part.next, part.end) for part in self._order]

    def reader(self) -> KafkaRanges:
        """Return a reader of ranges of these topics, for other processes."""
        return KafkaRanges(*self._reading())

    def committed(self, position: Position) -> None:
        """Commit offsets to the broker under the group's name, for monitoring; errors are only logged."""
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
            log.debug("offsets of group %s were not committed: %s", self._group, error)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._last_warning.close()
        self._consumer.close(autocommit=False, timeout_ms=1000)

    def _reading(self) -> tuple[TopicAddress, ClientOptions, bool, int, Sequence[str]]:
        """Return the arguments of a reader of ranges."""
        return self.address, self._options, self._text, self._max_message_bytes, self._attach

    def _fill(self, timeout: float) -> None:
        """Add fetched records to the buffers of their partitions."""
        if time.monotonic() - self._discovered > _DISCOVERY_INTERVAL:
            self._discover()
        self._log_warning()
        self._balance()
        with explain_errors(self.address, self._options):
            try:
                # all that was fetched at once: a partition that is paused while the client still holds some of its
                # records may never be resumed (kafka-python 3.0)
                found = self._consumer.poll(timeout_ms=int(timeout * 1000), max_records=_ALL)
                for tp, part in self._parts.items():
                    if part.next < part.end and tp not in found:  # nothing to wait for behind ends of transactions
                        part.skip(self._consumer.position(tp, timeout_ms=0) or 0)
            except OffsetOutOfRangeError as error:
                lost = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
                self._seek_all({tp: self._parts[tp] for tp in lost or self._parts}, self._reached())
                return
            except LogTruncationError as error:
                ends = {tp: 0 if at is None else at.offset for tp, at in error.divergent_offsets.items()}
                self._seek_all({tp: self._parts[tp] for tp in ends}, self._reached(), ends=ends)
                return
            except UnknownTopicOrPartitionError:
                return  # `_discover` tells whether that is certain
        latest = int(now() * 1000)
        for tp, records in found.items():
            if self._recent is not None:
                self._recent.add(self._parts[tp].name, records)
            self._parts[tp].add(RecordColumns.of(records, self._attach), latest, self._text, self._max_message_bytes)
        for tp, part in self._parts.items():
            part.end = max(part.end, self._consumer.highwater(tp) or 0)

    def _balance(self) -> None:
        """Pause partitions whose buffer exceeds its part, so that memory stays bounded."""
        share = self._buffer_bytes // max(len(self._parts), 1)
        for tp, part in self._parts.items():
            full = part.bytes > share
            if full != part.paused:
                (self._consumer.pause if full else self._consumer.resume)(tp)
                part.paused = full

    def _discover(self) -> None:
        """Assign new partitions; a missing topic is an error once it is certain."""
        self._discovered = time.monotonic()
        fresh: dict[TopicPartition, Partition] = {}
        with explain_errors(self.address, self._options):
            for topic in self.address.topics:
                try:
                    numbers = self._consumer.partitions_for_topic(topic)
                except UnknownTopicOrPartitionError:  # a topic that is just deleted
                    numbers = set()
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
            log.info("%s: %d new partitions", self.address.url, len(fresh))
            self._seek_all(fresh, {})

    def _note_missing(self, topic: str, there: bool) -> None:
        if there:
            self._missing.pop(topic, None)
            return
        since = self._missing.setdefault(topic, time.monotonic())
        known = any(tp.topic == topic for tp in self._parts)
        if not known:
            raise InputError(f"there is no topic {topic} at {self.address.url}, or no right to see it")
        if time.monotonic() - since > _DELETED_AFTER:
            raise InputError(f"the topic {topic} at {self.address.url} was deleted")

    def _seek_all(
        self,
        parts: Mapping[TopicPartition, Partition],
        position: Position,
        patience_ms: int | None = None,
        ends: Mapping[TopicPartition, int] = MappingProxyType({}),
    ) -> None:
        """Seek to a position, after checking that its messages still exist.

        ``ends`` are offsets from which on, as the cluster told, other messages stand than those that were read.
        """
        with explain_errors(self.address, self._options):
            oldest = self._consumer.beginning_offsets(list(parts), patience_ms)
            newest = self._consumer.end_offsets(list(parts), patience_ms)
            newest |= {tp: min(end, newest[tp]) for tp, end in ends.items()}
            for tp, part in parts.items():
                offset = position.get(part.name, oldest[tp])
                if not oldest[tp] <= offset <= newest[tp]:
                    offset = self._offset_after_gap(part.name, offset, oldest[tp], newest[tp])
                self._consumer.seek(tp, offset)
                part.start_at(offset, newest[tp])

    def _offset_after_gap(self, name: str, offset: int, oldest: int, newest: int) -> int:
        """Return the offset to go on with after deleted messages; InputError if ``on_gap`` is "fail"."""
        what = (
            f"{oldest - offset:,} messages of {name} are gone: the run file is at offset {offset:,}, "
            f"the oldest message there is {oldest:,}"
            if offset < oldest
            else f"{name} ends at offset {newest:,}, the run file is at {offset:,}: the topic was made again"
        )
        if self._on_gap == "fail":
            raise InputError(f"{what}; --on-gap earliest or latest goes on with the oldest or newest there are")
        log.warning("%s; going on with the %s", what, "oldest" if self._on_gap == "earliest" else "newest")
        return oldest if self._on_gap == "earliest" else newest

    def _reached(self) -> dict[str, int]:
        return {part.name: part.next for part in self._parts.values()}

    def _log_warning(self) -> None:
        """Log the library's last warning, at most every 30 s."""
        if self._last_warning.last and time.monotonic() - self._warned > _WARNING_INTERVAL:
            self._warned = time.monotonic()
            log.warning("%s: %s; waiting", self.address.url, self._options.cleaned(self._last_warning.take()))
