"""Seconds from a message to its label while a topic gets thousands of messages a second: `run --labels` on defaults.

A process sends texts at a steady rate to a topic of four partitions; `vmfstream run --labels` reads it and sends every
message with its label to another topic, which this process reads as a consumer of committed messages does. The clock
begins with the time of the message, which its producer gives it, and ends when the committed label is in the consumer's
hands: the producer's batching, reading, learning, the transactions of the run file and of the broker and the
consumer's polls are inside. What is sent during the warm-up, in which the first topics are fitted, is not counted.
``told`` is what the run itself says at its end, for all its labels, to the commit of the broker.

Processor time is that of the run, the broker and the producer in the counted time; ``ran`` is the share of the time
that the run's threads ran of the time that they wanted to, which other programs of the machine take away from it.
Prints one JSON line per round.

    python tests/benchmarks/bench_labels.py [--rate 10000] [--words 100] [--seconds 60] [-- OPTIONS of run]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.system.broker.cluster import Broker  # noqa: E402
from tests.system.broker.conftest import Topic  # noqa: E402
from tests.system.broker.trackers import children  # noqa: E402

PARTITIONS = 4
PATIENCE = 60.0  # seconds for labels that come late
TICK = 1 / os.sysconf("SC_CLK_TCK")


def texts(count: int, words: int) -> list[bytes]:
    """Messages of 30 subjects: a third of their words are the subject's, the others are shared, as in a language."""
    rng = random.Random(7)
    shared = [f"common{i}" for i in range(2000)]
    often = [1 / (rank + 1) for rank in range(len(shared))]
    out = []
    for i in range(count):
        own = [f"subject{i % 30}word{j}" for j in range(40)]
        text = rng.choices(own, k=max(words // 3, 1)) + rng.choices(shared, often, k=words - max(words // 3, 1))
        out.append(json.dumps({"text": " ".join(text)}).encode())
    return out


def feed(address: str, topic: str, rate: float, words: int, seconds: float) -> None:
    """Send at a steady rate, and print how many were sent by when they should have been."""
    from kafka import KafkaProducer

    bodies = texts(20_000, words)
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=5, batch_size=2**18)
    began, sent, slowest = time.monotonic(), 0, 0.0
    while (passed := time.monotonic() - began) < seconds:
        due = int(passed * rate)
        slowest = max(slowest, (due - sent) / rate)
        for number in range(sent, due):
            producer.send(topic, bodies[number % len(bodies)], partition=number % PARTITIONS)
        sent = due
        time.sleep(0.005)
    producer.flush()
    print(json.dumps({"sent": sent, "slowest": slowest}))


def used(process: int) -> dict[str, float]:
    """Seconds that a process and those that it has started ran, and in which their threads waited for a core."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    waited = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            waited += int((task / "schedstat").read_text().split()[1])
    own = {"ran": (int(fields[11]) + int(fields[12])) * TICK, "waited": waited / 1e9}
    return {name: sum(one[name] for one in (own, *map(used, children(process)))) for name in own}


def consumer_of(broker: Broker, topic: Topic) -> Any:
    """Return a consumer of the committed messages of a topic of one partition."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=broker.address, isolation_level="read_committed", auto_offset_reset="none"
    )
    consumer.assign([TopicPartition(topic.name, 0)])
    consumer.seek(TopicPartition(topic.name, 0), 0)
    return consumer


def labelled(at: float, records: Sequence[Any]) -> NDArray[np.float64]:
    """Return a row for each label that came ``at`` a time: that time, partition and offset of its message."""
    said = [dict(one.headers) for one in records]
    places = [(int(one["vmfstream.part"].rpartition(b":")[2]), int(one["vmfstream.offset"])) for one in said]
    return np.array([(at, *place) for place in places])


def sent_at(broker: Broker, topic: Topic) -> NDArray[np.float64]:
    """Return the times of all messages of a topic, by partition and offset, NaN after the last."""
    from kafka import KafkaConsumer, TopicPartition

    ends = topic.ends()
    found = np.full((len(ends), max(ends.values())), np.nan)
    for part, end in ends.items():
        consumer = KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="none")
        tp = TopicPartition(topic.name, int(part.rpartition(":")[2]))
        consumer.assign([tp])
        consumer.seek(tp, 0)
        while consumer.position(tp) < end:
            for record in consumer.poll(timeout_ms=500).get(tp, ()):
                found[tp.partition, record.offset] = record.timestamp / 1000
        consumer.close()
    return found


def measured(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run once."""
    broker = Broker(folder / "kafka")
    run = feeder = None
    try:
        broker.start()
        source, labels = Topic(broker, "posts", PARTITIONS), Topic(broker, "labelled", 1)
        command = ["run", source.url, "--time", "@message", "--labels", labels.url, "--out", str(folder / "run.duckdb")]
        with (folder / "err").open("w") as err:
            run = subprocess.Popen(
                [sys.executable, "-m", "vmfstream", *command, *given.options], stdout=subprocess.PIPE, stderr=err
            )
        consumer = consumer_of(broker, labels)
        whole = given.warm_up + given.seconds
        words = [str(part) for part in ("--feed", broker.address, source.name, given.rate, given.words, whole)]
        feeder = subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE)
        processes = {"run": run.pid, "broker": broker.pid, "producer": feeder.pid}
        arrived: list[NDArray[np.float64]] = []  # few objects: the garbage collector passes over all that are kept
        before: dict[str, dict[str, float]] = {}
        after: dict[str, dict[str, float]] = {}
        counted = idle = 0.0
        began = time.monotonic()
        while time.monotonic() - began < whole + PATIENCE and not (feeder.poll() is not None and idle > PATIENCE / 2):
            polled = time.monotonic()
            records = [one for some in consumer.poll(timeout_ms=100).values() for one in some]
            now = time.time()
            arrived += [labelled(now, records)] if records else []
            idle = 0.0 if records else idle + time.monotonic() - polled
            if not before and time.monotonic() - began > given.warm_up + 1:
                before, counted = {name: used(pid) for name, pid in processes.items()}, now
            if not after and feeder.poll() is None and time.monotonic() - began > whole - 1:
                after, ended = {name: used(pid) for name, pid in processes.items()}, now
            if run.poll() is not None:
                raise RuntimeError((folder / "err").read_text())
        consumer.close()
        run.send_signal(signal.SIGTERM)
        told = re.search(r"labels: .*", run.communicate()[0].decode())
        fed = json.loads(feeder.communicate()[0])
        times = sent_at(broker, source)
    finally:
        for process in (run, feeder):
            if process is not None and process.poll() is None:
                process.kill()
        broker.stop()
    at, partition, offset = np.concatenate([np.zeros((0, 3)), *arrived]).T
    sent = times[partition.astype(np.int64), offset.astype(np.int64)]
    latency = (at - sent)[(counted <= sent) & (sent <= ended)]
    if not len(latency):
        raise RuntimeError(f"no label of the counted time came; the run says: {told.group() if told else 'nothing'}")
    spent = {name: after[name]["ran"] - before[name]["ran"] for name in processes}
    waited = after["run"]["waited"] - before["run"]["waited"]
    p50, p90, p99, most = np.quantile(latency, [0.5, 0.9, 0.99, 1.0])
    return {
        "words": given.words,
        "messages_per_second": round(fed["sent"] / whole),
        "latency_p50": round(p50, 3),
        "latency_p90": round(p90, 3),
        "latency_p99": round(p99, 3),
        "latency_most": round(most, 3),
        "labels_timed": len(latency),
        "cores": {name: round(seconds / (ended - counted), 2) for name, seconds in spent.items()},
        "us_per_label": round(1e6 * spent["run"] / max(int(((counted <= at) & (at <= ended)).sum()), 1)),
        "ran": round(spent["run"] / (spent["run"] + waited), 2),
        "producer_late": round(fed["slowest"], 2),
        "load": os.getloadavg()[0],
        "told": told.group() if told else None,
    }


def main() -> None:
    """Measure some rounds."""
    if sys.argv[1:2] == ["--feed"]:
        address, topic, rate, words, seconds = sys.argv[2:]
        feed(address, topic, float(rate), int(words), float(seconds))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=10_000, help="messages per second")
    parser.add_argument("--words", type=int, default=100, help="of a message")
    parser.add_argument("--seconds", type=float, default=60, help="that are counted")
    parser.add_argument("--warm-up", type=float, default=60, help="seconds before")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("options", nargs="*", help="further options of vmfstream run, after --")
    given = parser.parse_args()
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measured(given, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
