"""Every message that was counted is sent on with its label, once, whatever breaks."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from operator import le
from pathlib import Path
from shutil import copyfile
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.system.broker.cluster import Broker, free_ports
from tests.system.broker.conftest import Start, Topic, Topics, ended
from tests.system.broker.test_commands import bodies, metrics
from tests.system.broker.trackers import ask, counts, documents, rows_of
from tests.waiting import wait_for
from vmfstream.cli.label_messages import LabelMessages
from vmfstream.cli.observers import _dead
from vmfstream.connectors.kafka.options import ClientOptions, parse_address
from vmfstream.connectors.kafka.publisher import KafkaPublisher, OutgoingMessage, reread
from vmfstream.engine.observers.latency import Latency
from vmfstream.errors import InputError
from vmfstream.runfile.queries.documents import OutboxFrame

pytestmark = pytest.mark.broker

KEPT = ("--slices", 600, "-k", 3, "--epoch-size", 200, "--window", 300, "--linger", 0.3, "--documents", "all")


def grown(before: int, seen: tuple[int, int]) -> bool:
    """Whether there are more documents than before, or all 4000 messages were read."""
    return seen[0] > before or sum(seen) == 4000


def about(message: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in message.headers}


def place(message: Any) -> tuple[str, int]:
    said = about(message)
    return said["vmfstream.part"], int(said["vmfstream.offset"])


def mixed(count: int) -> list[Any]:
    """Documents of which every tenth is none."""
    return [b"bad %d" % i if i % 10 == 7 else row for i, row in enumerate(documents(count))]


def check(topic: Topic, labels: Topic, dead: Topic, run_file: Path) -> None:
    """Every message of the topic is in one of the two others, once; labels are those of the run file."""
    originals = {(f"{one.topic}:{one.partition}", one.offset): one for one in topic.read()}
    sent, letters = labels.read(), dead.read()
    places = [place(message) for message in (*sent, *letters)]
    assert sorted(places) == sorted(originals)
    columns = "id, topic, round(probability::double, 4), story, round(novelty::double, 4)"
    kept = {row[0]: row[1:] for row in ask(run_file, f"select {columns} from document")}
    assert len(sent) == len(kept)
    for message in sent:
        original, said = originals[place(message)], about(message)
        assert (message.key, message.value) == (original.key, original.value)
        assert said["mine"] == "1"
        topic_id, probability, story, novelty = kept[json.loads(message.value)["id"]]
        assert said.get("vmfstream.topic", "-1") == str(topic_id)
        assert ("vmfstream.name" in said) == (topic_id >= 0)
        assert said.get("vmfstream.story", "-1") == str(story)
        if topic_id >= 0:
            assert float(said["vmfstream.probability"]) == pytest.approx(probability, abs=2e-4)
            assert float(said["vmfstream.novelty"]) == pytest.approx(novelty, abs=2e-4)


def test_all_that_a_run_sends_is_sent_once_whatever_is_killed(
    topics: Topics,
    start: Start,
    tmp_path: Path,
) -> None:
    topic, labels, dead, published = topics(2), topics(3), topics(1), topics(2)
    run_file = tmp_path / "run.duckdb"
    topic.fill(mixed(4000), key=b"k", headers=[("mine", b"1")])
    sent = ("--labels", labels.url, "--dead-letters", dead.url, "--publish", published.url)
    way = ("run", topic.url, *KEPT, "--out", run_file, *sent)
    for kill in range(4):
        one = start(*way)
        before = counts(run_file)[0]
        wait_for(lambda: counts(run_file), partial(grown, before), one)
        time.sleep(0.2 * kill)
        one.kill()
        one.communicate()
    one = start(*way)
    wait_for(lambda: (*counts(run_file), len(labels.read()), len(dead.read())), lambda s: s[2:] == (3600, 400), one)
    code, out, err, _ = ended(one, signal.SIGTERM)
    assert code == 0, err
    assert re.search(r"^labels: [\d,]+ sent", out, re.MULTILINE)
    check(topic, labels, dead, run_file)
    assert rows_of(run_file, "outbox") < 4000
    assert sorted(map(place, dead.read())) == sorted(ask(run_file, "select part, source_offset from rejected"))
    letter = dead.read()[0]
    assert (letter.key, letter.value[:3], about(letter)["mine"]) == (b"k", b"bad", "1")
    assert about(letter)["vmfstream.reason"].startswith("not JSON: offset")
    slices = [one["slice"] for one in bodies(published.read()) if one["type"] == "slice"]
    assert sorted(slices) == sorted(label for (label,) in ask(run_file, "select label from slice"))


def test_labels_are_sent_once_though_the_broker_dies(
    broker: Broker,
    topics: Topics,
    start: Start,
    tmp_path: Path,
) -> None:
    topic, labels, dead, run_file = topics(2), topics(1), topics(1), tmp_path / "run.duckdb"
    rows = mixed(4000)
    way = ("run", topic.url, *KEPT, "--out", run_file, "--labels", labels.url, "--dead-letters", dead.url)
    topic.fill(rows[:2000], key=b"k", headers=[("mine", b"1")])
    one = start(*way)
    wait_for(lambda: rows_of(run_file, "epoch"), lambda epochs: epochs >= 2, one)
    broker.kill()
    broker.start()
    topic.fill(rows[2000:], key=b"k", headers=[("mine", b"1")])
    wait_for(lambda: counts(run_file), lambda seen: sum(seen) == 4000, one)
    assert ended(one, signal.SIGTERM)[0] == 0
    one = start(*way)  # it sends what could not be sent yet
    wait_for(lambda: run_file.with_name("run.duckdb.lock").exists(), bool, one)  # before, a signal would end it at once
    wait_for(lambda: (len(labels.read()), len(dead.read())), lambda seen: seen == (3600, 400), one)
    assert ended(one, signal.SIGTERM)[0] == 0
    check(topic, labels, dead, run_file)


def test_an_older_copy_of_a_run_file_sends_labels_for_all_that_it_reads(
    topics: Topics, start: Start, tmp_path: Path
) -> None:
    topic, labels, run_file, copy = topics(1), topics(1), tmp_path / "run.duckdb", tmp_path / "copy.duckdb"
    rows = documents(1400)

    def read(*until: int) -> str:
        one = start("run", topic.url, *KEPT, "--labels", labels.url, "--out", run_file)
        before = len(labels.read())
        for number in until:  # an epoch each
            topic.fill(rows[number - 100 : number])
            wait_for(lambda: len(labels.read()), partial(le, before + 100), one)
            before = len(labels.read())
        return ended(one, signal.SIGTERM)[2]

    topic.fill(rows[:500])
    read(600)
    copyfile(run_file, copy)
    assert "copy" not in read(700, 800, 900, 1000)
    copyfile(copy, run_file)
    topic.fill(rows[1000:1300])
    assert "the run file is a copy: it was at epoch" in read(1400)
    wait_for(lambda: len(labels.read()), lambda sent: sent == 1800)
    assert sorted({place(one) for one in labels.read()}) == [(f"{topic.name}:0", at) for at in range(1400)]
    assert "copy" not in read()


class Broken(Exception):
    """What goes wrong in the middle of a transaction."""


def test_a_transaction_that_breaks_is_as_if_it_had_not_begun(broker: Broker, topics: Topics) -> None:
    one, other = topics(1), topics(1)

    def messages(epoch: int, until: int = 4) -> Iterator[OutgoingMessage]:
        for i in range(4):
            if i == until:
                raise Broken
            yield OutgoingMessage(None, b"%d %d" % (epoch, i), topic=(one.name, other.name)[i % 2])

    def publisher(*names: str) -> KafkaPublisher:
        address = parse_address(f"kafka://{broker.address}/{','.join(names)}")
        return KafkaPublisher(address, ClientOptions(), f"run-{one.name}")

    first = publisher(one.name)  # it has sent more than the other
    first.send(1, [OutgoingMessage(None, b"1 0", topic=one.name), OutgoingMessage(None, b"1 2", topic=one.name)])
    first.close()
    both = publisher(one.name, other.name)
    assert both.delivered() == [0, 1]
    assert both.send(1, messages(1)) == 2
    with pytest.raises(Broken):
        both.send(2, messages(2, until=3))
    both = publisher(one.name, other.name)
    assert both.delivered() == [1]
    assert both.send(2, messages(2)) == 4
    both.close()
    assert publisher(one.name, other.name).delivered() == [2]
    assert [message.value for message in one.read()] == [b"1 0", b"1 2", b"2 0", b"2 2"]
    assert [message.value for message in other.read()] == [b"1 1", b"1 3", b"2 1", b"2 3"]


def test_a_topic_that_was_deleted_is_named(broker: Broker, topics: Topics) -> None:
    one, other = topics(1), topics(1)
    other.delete()
    address = parse_address(f"kafka://{broker.address}/{one.name},{other.name}")
    with pytest.raises(InputError, match=f"there is no topic {other.name} at .*; make it again"):
        KafkaPublisher(address, ClientOptions(), f"run-{one.name}")


def test_messages_go_to_the_partition_they_came_from(topics: Topics, broker: Broker) -> None:
    """So that labels stand in the order of their messages, whatever their keys; those without a place, by key."""
    topic = topics(2)
    publisher = KafkaPublisher(parse_address(topic.url), ClientOptions(), f"run-{topic.name}")
    given = [OutgoingMessage(b"same key", b"%d" % at, partition=at) for at in (0, 1, 2, 5)]
    by_key = [OutgoingMessage(b"%d" % i, b"by key") for i in range(20)]
    assert publisher.send(1, [*given, *by_key]) == 24
    publisher.close()
    found = [(one.partition, one.value) for one in topic.read()]
    assert [one for one in found if one[1] != b"by key"] == [(0, b"0"), (0, b"2"), (1, b"1"), (1, b"5")]
    assert {partition for partition, value in found if value == b"by key"} == {0, 1}


def test_what_the_client_or_the_cluster_would_refuse_is_sent_as_far_as_they_take_it(topics: Topics) -> None:
    """Another client sends headers without a value; other topics allow larger messages."""
    topic = topics(1)
    publisher = KafkaPublisher(parse_address(topic.url), ClientOptions(), f"run-{topic.name}")
    own = ("vmfstream.offset", b"7")
    large, longer = b"k" * 600_000, b"v" * 1_200_000
    given = [
        OutgoingMessage(b"k", b"v", [("empty", None), own]),
        OutgoingMessage(large, longer[:600_000], [own]),
        OutgoingMessage(longer, longer, [("mine", b"1"), own]),
        OutgoingMessage(longer, None, [own]),
    ]
    assert publisher.send(1, given) == 4
    publisher.close()
    cut, left_out = ("vmfstream.bytes", b"600000"), ("vmfstream.left_out", b"true")
    assert [(one.key, one.value, one.headers) for one in topic.read()] == [
        (b"k", b"v", [("empty", b""), own]),
        (large, longer[:100_000], [own, cut]),
        (None, longer[:100_000], [own, ("vmfstream.bytes", b"1200000"), left_out]),
        (None, b"", [own, left_out]),
    ]


def test_messages_that_are_gone_hold_up_nothing(topics: Topics) -> None:
    """The client sends nothing without key and value: such a label, or dead letter, has an empty value."""
    topic, labels = topics(1), topics(1)
    topic.fill([b"one", b"two", b"three"], headers=[("mine", b"1")])
    topic.forget(0, 2)
    columns = {"epoch": [1] * 3, "part": [f"{topic.name}:0"] * 3, "offset": [0, 1, 2], "topic": [1, -1, 1]}
    columns |= {"slice": [0] * 3, "probability": [0.75, 0.0, 1.0], "story": [4, 5, -1], "novelty": [-0.5, 0.0, 0.25]}
    rows = OutboxFrame(**{name: np.array(column) for name, column in columns.items()}, words=np.array(["a b"] * 3))
    answers = {"outbox": lambda after, upto: rows, "topic_names": lambda: {1: "Brexit"}}
    reader: Any = SimpleNamespace(**answers, newest_names=lambda upto: {}, at_once=nullcontext)
    made = LabelMessages(parse_address(topic.url), ClientOptions(), labels.name, "headers", Latency())
    publisher = KafkaPublisher(parse_address(labels.url), ClientOptions(), f"run-{labels.name}")
    for epoch, messages in made(reader, 0, 1):
        assert publisher.send(epoch, messages) == 3
    publisher.close()
    made.close()
    places = {"vmfstream.part": f"{topic.name}:0"}
    named = {"vmfstream.topic": "1", "vmfstream.name": "Brexit"}
    gone = {"vmfstream.gone": "true"}
    assert [(one.value, about(one)) for one in labels.read()] == [
        (
            b"",
            named
            | {"vmfstream.probability": "0.75", "vmfstream.story": "4", "vmfstream.novelty": "-0.5"}
            | places
            | {"vmfstream.offset": "0"}
            | gone,
        ),
        (b"", {"vmfstream.story": "5"} | places | {"vmfstream.offset": "1"} | gone),
        (
            b"three",
            {"mine": "1"}
            | named
            | {"vmfstream.probability": "1.0", "vmfstream.novelty": "0.25"}
            | places
            | {"vmfstream.offset": "2"},
        ),
    ]


def test_messages_of_a_topic_that_was_made_again_are_gone(topics: Topics) -> None:
    """It has fewer messages and partitions than were read; what it has at their offsets are others."""
    topic = topics(1)
    topic.fill([b"another"])
    wanted = {f"{topic.name}:0": [0, 7], f"{topic.name}:3": [0]}
    found = list(reread(parse_address(topic.url), ClientOptions(), wanted))
    assert found == [(f"{topic.name}:0", 0, None), (f"{topic.name}:0", 7, None), (f"{topic.name}:3", 0, None)]


def test_another_message_that_stands_at_an_offset_now_is_not_taken_for_the_one_of_before(topics: Topics) -> None:
    """The topic was made again before all labels and dead letters of what it held were sent."""
    topic, other = topics(1), topics(1)
    topic.fill([b"another"])
    part, epochs, offsets = np.array([f"{topic.name}:0"] * 2, object), np.array([1, 2]), np.array([0, 7])
    ones: Any = {name: np.ones(2) for name in ("probability", "novelty")}
    ones |= {name: np.ones(2, np.int64) for name in ("slice", "topic", "story")}
    rows = OutboxFrame(epoch=epochs, part=part, offset=offsets, words=np.array(["a b"] * 2), **ones)
    rejected = SimpleNamespace(epoch=epochs, part=part, offset=offsets, reason=["empty"] * 2)
    answers = {"outbox": lambda after, upto: rows, "topic_names": dict, "rejected_after": lambda after: rejected}
    reader: Any = SimpleNamespace(**answers, newest_names=lambda upto: {}, at_once=nullcontext)
    source = parse_address(topic.url)
    made = LabelMessages(source, ClientOptions(), other.name, "headers", Latency())
    dead = _dead(source, ClientOptions(), other.name, reader, 0, 2)
    for messages in (made(reader, 0, 2), dead):
        found = [one for _, some in messages for one in some]
        assert [(one.value, about(one)["vmfstream.gone"]) for one in found] == [(None, "true")] * 2
    made.close()


def test_labels_of_workers_as_json(topics: Topics, start: Start, tmp_path: Path) -> None:
    topic, labels, run_file = topics(2), topics(1), tmp_path / "run.duckdb"
    topic.fill(documents(1200), key=b"k", headers=[("mine", b"1")])
    (port,) = free_ports(1)
    way = (*KEPT, "--labels", labels.url, "--label-format", "json", "--workers", 2, "--metrics-port", port)
    one = start("run", topic.url, *way, "--out", run_file)
    wait_for(lambda: len(labels.read()), lambda sent: sent == 1200, one)
    wait_for(lambda: "vmfstream_labels_total 1200.0" in metrics(port), bool, one)
    assert ended(one, signal.SIGTERM)[0] == 0
    bodies = [json.loads(message.value) for message in labels.read()]
    assert {(one["part"], one["offset"]) for one in bodies} == {
        (f"{one.topic}:{one.partition}", one.offset) for one in topic.read()
    }
    kept = sorted((topic, story) for topic, story in ask(run_file, "select topic, story from document"))
    assert sorted((-1 if one["topic"] is None else one["topic"], one["story"]) for one in bodies) == kept
    assert {message.key for message in labels.read()} == {b"k"}
    assert {about(message)["mine"] for message in labels.read()} == {"1"}


def test_new_messages_are_labelled_within_seconds(topics: Topics, start: Start, tmp_path: Path) -> None:
    topic, labels, run_file = topics(1), topics(1), tmp_path / "run.duckdb"
    rows = documents(900)
    topic.fill(rows[:600])
    one = start("run", topic.url, *KEPT, "--labels", labels.url, "--out", run_file)
    wait_for(lambda: len(labels.read()), lambda sent: sent == 600, one)
    topic.fill(rows[600:])
    wait_for(lambda: len(labels.read()), lambda sent: sent == 900, one)
    code, out, _, _ = ended(one, signal.SIGTERM)
    assert code == 0
    assert re.search(
        r"^labels: 900 sent; from a message to its label [\d.]+ s \(median\), [\d.]+ s \(99 %\)$", out, re.M
    )


@pytest.mark.parametrize(
    ("source", "given", "says"),
    [
        ("topic", ("--labels", "topic"), "is read as the source; what is sent needs a topic of its own"),
        ("topic", ("--dead-letters", "topic"), "--dead-letters: kafka"),
        ("topic", ("--publish", "topic"), "--publish: kafka"),
        ("topic", ("--publish", "other name"), "is read as the source"),
        ("topic", ("--labels", "nowhere"), "there is no topic nowhere"),
        ("topic", ("--labels", "labels", "--label-format", "xml"), "--label-format: expected headers or json"),
        ("file", ("--labels", "labels"), "--labels needs a Kafka topic as source"),
    ],
)
def test_what_cannot_be_sent(
    broker: Broker,
    topics: Topics,
    start: Start,
    tmp_path: Path,
    source: str,
    given: tuple[str, ...],
    says: str,
) -> None:
    topic, labels, file = topics(1), topics(1), tmp_path / "rows.jsonl"
    file.write_text(json.dumps(documents(1)[0]) + "\n")
    assert "127.0.0.1" in topic.url
    urls = {
        "topic": topic.url,
        "other name": topic.url.replace("127.0.0.1", "localhost"),
        "labels": labels.url,
        "nowhere": f"kafka://{broker.address}/nowhere",
        "file": file,
    }
    code, _, err, _ = ended(start("run", urls[source], *(urls.get(word, word) for word in given)))
    assert code == 1
    assert says in err


def test_messages_that_come_later_are_labelled_without_learning(topics: Topics, start: Start, tmp_path: Path) -> None:
    """`label --follow` waits for them until it is interrupted."""
    learnt, new, run_file = topics(1), topics(1), tmp_path / "run.duckdb"
    rows = documents(900)
    learnt.fill(rows[:600])
    first = start("run", learnt.url, *KEPT, "--out", run_file)
    wait_for(lambda: counts(run_file)[0], lambda known: known == 600, first)
    assert ended(first, signal.SIGTERM)[0] == 0
    before = run_file.read_bytes()
    new.fill(rows[600:700])
    one = start("label", run_file, new.url, "--follow", "--format", "jsonl")
    assert one.stdout is not None
    lines = [one.stdout.readline() for _ in range(100)]
    new.fill(rows[700:])
    lines += [one.stdout.readline() for _ in range(200)]
    labels = [json.loads(line) for line in lines]
    assert [label["id"] for label in labels] == [row["id"] for row in rows[600:]]
    assert sum(label["topic"] is not None for label in labels) > 250
    one.send_signal(signal.SIGINT)
    _, err = one.communicate(timeout=60)
    assert "labelled: 300 documents, 0 rejected" in err
    assert run_file.read_bytes() == before
