"""Observers of a run that commands add: published slices, dead letters, metrics. And checks of Kafka topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmfstream.cli.diagnosis import Check
from vmfstream.engine.loop.settings import Observer, Progress
from vmfstream.errors import InputError, VmfstreamError
from vmfstream.records import Commit, Rejected

if TYPE_CHECKING:
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
    from vmfstream.connectors.kafka.recent import RecentRecords
    from vmfstream.engine.observers.delivery import Delivery, InThread, Sender
    from vmfstream.engine.observers.latency import Latency
    from vmfstream.runfile.queries import Reader

LINGER = 5.0
"""Default of --linger for Kafka: seconds after which an epoch is written although more documents could come."""

LINGER_OF_LABELS = 0.2
"""The same with --labels, which are sent when an epoch is written."""


@contextmanager
def observers(
    run_file: Path,
    observe: Observer,
    *,
    source: TopicAddress | None = None,
    options: ClientOptions | None = None,
    publish: str | None = None,
    dead_letters: str | None = None,
    labels: str | None = None,
    label_format: str = "headers",
    latency: Latency | None = None,
    recent: RecentRecords | None = None,
    metrics_port: int | None = None,
    metrics_address: str = "127.0.0.1",
    silence: Callable[[], float] = lambda: 0.0,
) -> Iterator[Observers]:
    """Yield one observer of an engine that calls all observers asked for; deliver what is left at the end.

    What goes to one cluster is one transaction for each commit. ``latency`` counts labels, and ``recent`` has messages
    that were just read; ``silence`` tells the seconds since the loop's last step.

    Raises
    ------
    InputError
        If a URL is wrong, a port is taken, dead letters or labels are asked for although the source is no Kafka topic,
        or what is sent would be read again as documents.
    """
    with ExitStack() as stack:
        deliveries = list(
            _deliveries(run_file, source, options, publish, dead_letters, labels, label_format, latency, recent)
        )
        watching: list[Callable[[Progress], Any]] = [observe]
        if metrics_port is not None:
            from vmfstream.engine.observers.prometheus import Exposition

            exposition = Exposition(metrics_port, metrics_address, latency if labels else None, silence)
            stack.callback(exposition.close)
            watching.append(exposition)
        for delivery in deliveries:
            stack.callback(delivery.close)
        yield Observers(watching, deliveries)


class Observers:
    """Calls ``watching`` with the progress of a run, and lets ``deliveries`` send what its epochs have to send."""

    def __init__(
        self, watching: Sequence[Callable[[Progress], Any]], deliveries: Sequence[Delivery | InThread]
    ) -> None:
        self._watching, self._deliveries = watching, deliveries
        self._last: int | None = None

    def __call__(self, now: Progress) -> None:
        """Tell the progress to all; have sent what was committed since the last call."""
        for one in self._watching:
            one(now)
        if self._last is None:
            for delivery in self._deliveries:
                delivery.begin(now.epoch)
        if now.epoch != self._last:
            self._last = now.epoch
            for delivery in self._deliveries:
                delivery(self._last)

    @contextmanager
    def writing(self, commits: Sequence[Commit]) -> Iterator[None]:
        """Have sent what can be sent of ``commits`` while they are written inside."""
        from vmfstream.engine.observers.delivery import InThread

        with ExitStack() as stack:
            for one in self._deliveries:
                if isinstance(one, InThread):
                    stack.enter_context(one.writing(commits))
            yield


def _deliveries(
    run_file: Path,
    source: TopicAddress | None,
    options: ClientOptions | None,
    publish: str | None,
    dead_letters: str | None,
    labels: str | None,
    label_format: str,
    latency: Latency | None,
    recent: RecentRecords | None,
) -> Iterator[Delivery | InThread]:
    """Yield what delivers to each cluster; labels are sent by a thread and a process."""
    if publish is None and dead_letters is None and labels is None:
        return
    from vmfstream.cli.label_messages import FORMATS, LabelMessages
    from vmfstream.connectors.kafka.options import TopicAddress, read_options
    from vmfstream.connectors.kafka.publisher import KafkaPublisher
    from vmfstream.connectors.kafka.sending_process import PublishingProcess
    from vmfstream.engine.observers.delivery import Delivery, InThread, together
    from vmfstream.engine.observers.latency import Latency

    known = options or read_options()
    outputs: dict[tuple[str, ...], list[tuple[str, Any]]] = {}
    if publish is not None:
        address = _topic_of_its_own("--publish", publish, known, source)
        outputs.setdefault(address.servers, []).append((address.topics[0], partial(_published, address.topics[0])))
    if dead_letters is not None:
        if source is None:
            raise InputError("--dead-letters needs a Kafka topic as source: it sends that topic's rejected messages")
        address = _topic_of_its_own("--dead-letters", dead_letters, known, source)
        topic = address.topics[0]
        outputs.setdefault(address.servers, []).append((topic, partial(_dead, source, known, topic)))
    made: LabelMessages | None = None
    if labels is not None:
        if source is None:
            raise InputError("--labels needs a Kafka topic as source: it sends that topic's messages with their labels")
        if label_format not in FORMATS:
            raise InputError(f"--label-format: expected {' or '.join(FORMATS)}, got {label_format!r}")
        address = _topic_of_its_own("--labels", labels, known, source)
        made = LabelMessages(source, known, address.topics[0], label_format, latency or Latency(), recent)
        outputs.setdefault(address.servers, []).append((address.topics[0], made))
    for servers, some in outputs.items():
        address = TopicAddress(servers, tuple(dict.fromkeys(topic for topic, _ in some)))
        labelled = any(of_output is made for _, of_output in some)

        def opened(run: str, address: TopicAddress = address, labelled: bool = labelled) -> Sender:
            return (PublishingProcess if labelled else KafkaPublisher)(address, known, f"vmfstream-{run}")

        messages = together([of_output for _, of_output in some])
        if made is not None and labelled:
            others = together([of_output for _, of_output in some if of_output is not made])
            delivery = Delivery(run_file, messages, opened, sent=made.sent, others=others)
            yield InThread(delivery, made.ahead, made.close)
        else:
            yield Delivery(run_file, messages, opened)


def _topic_of_its_own(option: str, url: str, options: ClientOptions, source: TopicAddress | None) -> TopicAddress:
    """Return the address of a topic to write to, which exists and is not read as the source."""
    from vmfstream.connectors.kafka.client import known_topics, same_cluster
    from vmfstream.connectors.kafka.options import parse_address

    address = parse_address(url)
    if len(address.topics) != 1:
        raise InputError(f"expected one topic to write to, got {url}")
    if source is not None and address.topics[0] in source.topics and same_cluster(source, address, options):
        raise InputError(f"{option}: {url} is read as the source; what is sent needs a topic of its own")
    if address.topics[0] not in known_topics(address, options):
        raise InputError(f"there is no topic {address.topics[0]} at {address.url} to write to; make it first")
    return address


def _published(topic: str, reader: Reader, after: int, upto: int) -> Iterator[tuple[int, Iterable[Any]]]:
    from vmfstream.connectors.kafka.publisher import OutgoingMessage
    from vmfstream.engine.observers.delivery import closed_slices

    for epoch, messages in closed_slices(reader, after, upto):
        headers = (("vmfstream.epoch", b"%d" % epoch),)
        yield epoch, [OutgoingMessage(key.encode(), value, headers, topic) for key, value in messages]


def _dead(
    source: TopicAddress, options: ClientOptions, topic: str, reader: Reader, after: int, upto: int
) -> Iterator[tuple[int, Iterable[Any]]]:
    import numpy as np

    from vmfstream.connectors.kafka.publisher import read_up_to
    from vmfstream.engine.observers.delivery import rejected_messages

    epochs = list(rejected_messages(reader, after, upto))
    part, offset = ([row[column] for _, rows in epochs for row in rows] for column in (0, 1))
    up_to = iter(read_up_to(np.array(part, np.object_), np.array(offset, np.int64)).tolist())
    for epoch, rows in epochs:
        last = {row[0]: at for row, at in zip(rows, islice(up_to, len(rows)), strict=True)}
        yield epoch, _dead_of_epoch(source, options, topic, epoch, rows, last)


def _dead_of_epoch(
    source: TopicAddress,
    options: ClientOptions,
    topic: str,
    epoch: int,
    rows: Iterable[tuple[str, int, str]],
    last: Mapping[str, int],
) -> Iterator[Any]:
    from vmfstream.connectors.kafka.publisher import OutgoingMessage, reread

    reasons = {(part, offset): reason for part, offset, reason in rows}
    wanted: dict[str, list[int]] = {}
    for part, offset in reasons:
        wanted.setdefault(part, []).append(offset)
    for part, offset, record in reread(source, options, wanted, last):
        about = {
            "vmfstream.reason": reasons[part, offset],
            "vmfstream.part": part,
            "vmfstream.offset": str(offset),
            "vmfstream.epoch": str(epoch),
        }
        if record is None:
            about["vmfstream.gone"] = "true"
        yield OutgoingMessage(
            None if record is None else record.key,
            None if record is None else record.value,
            [*([] if record is None else record.headers), *((name, value.encode()) for name, value in about.items())],
            topic,
        )


def examine_topics(
    url: str,
    options: ClientOptions,
    codec: FieldCodec,
    run_file: Path | None = None,
    schema_registry: str | None = None,
) -> Iterator[Check]:
    """Check topics: that the cluster answers, that they exist, how far the run file is behind, and one message."""
    from vmfstream.connectors.kafka.client import known_topics
    from vmfstream.connectors.kafka.inspection import lag, newest_message, offset_ranges
    from vmfstream.connectors.kafka.options import parse_address
    from vmfstream.runfile.queries import Reader

    address = parse_address(url)
    try:
        topics = known_topics(address, options)
        yield Check(f"kafka://{','.join(address.servers)}", "answers")
        for missing in sorted(set(address.topics) - set(topics)):
            yield Check(f"topic {missing}", "does not exist, or reading it is not permitted", False)
        if not topics:
            return
        ranges = offset_ranges(address, options, topics)
        for topic, count in topics.items():
            messages = sum(one.next - one.oldest for part, one in ranges.items() if part.startswith(f"{topic}:"))
            yield Check(f"topic {topic}", f"{count} partitions, {messages:,} messages")
        if run_file is not None:
            behind = lag(ranges, Reader(run_file).position())
            lost = f"; {behind.gone:,} earlier ones were deleted unread, see --on-gap" if behind.gone else ""
            for topic in behind.made_again:
                lost += f"; {topic} ends before the position of the run file: it was made again, see --on-gap"
            yield Check("lag", f"{behind.waiting:,} messages that {run_file} has not read{lost}", not lost)
        found = newest_message(address, options, codec, ranges, schema_registry)
        if found is None:
            yield Check("sample", "there is no message yet")
        elif isinstance(found, Rejected):
            yield Check("sample", f"{found.part} at {found.offset} is no document: {found.reason}", False)
        else:
            yield Check("sample", f"{found.part} at {found.offset}, {found.time:%Y-%m-%d %H:%M}: {found.title[:60]}")
    except VmfstreamError as error:
        yield Check(address.url, str(error), False)
