"""Messages per second from a real broker to a log, beside a bare poll loop that only decodes JSON, in the same run.

One topic of four partitions holds documents of 1.3 KB; one process reads it from its beginning. ``bare`` polls with
kafka-python, decodes with ``json.loads`` and drops what it gets; ``bare with orjson`` decodes with the parser that is
used here too; ``vmfstream`` reads, decodes, tokenises, weighs, follows 30 topics and commits.
``steady`` leaves out the first slice, whose annealed fits take as long however long the stream is; ``steady_cpu_us`` is
what a message costs of one core, which others on the machine disturb less than the clock. Also: how long a transaction
takes and how many epochs it holds, and, with the last of the sizes of slices, how long after a kill the first new epoch
is in the log, and how long a lone message takes from its being sent to its row. Rounds are interleaved, every run has a
process of its own; prints one JSON line per measure.

    python tests/benchmarks/bench_kafka.py [--messages 240000] [--slices 20000 5000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import operator
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.system.broker.cluster import Broker  # noqa: E402
from tests.system.broker.conftest import Topic  # noqa: E402
from tests.system.broker.trackers import ask, counts, long_documents, stored  # noqa: E402
from tests.waiting import wait_for  # noqa: E402

BARE: dict[str, Callable[[Any], Any]] = {"bare": json.loads, "bare with orjson": orjson.loads}


def bare(url: str, messages: int, loads: Callable[[Any], Any]) -> dict[str, float]:
    """Poll and decode, nothing else."""
    from kafka import KafkaConsumer, TopicPartition

    address, _, topic = url.removeprefix("kafka://").partition("/")
    consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="none", max_poll_records=5000)
    parts = [TopicPartition(topic, number) for number in range(4)]
    consumer.assign(parts)
    for part in parts:
        consumer.seek(part, 0)
    began, used, found = time.perf_counter(), time.process_time(), 0
    while found < messages:
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                loads(record.value)
            found += len(records)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    consumer.close()
    return {"seconds": seconds, "steady_per_second": messages / seconds, "steady_cpu_us": 1e6 * used / messages}


def vmfstream(url: str, messages: int, size: int) -> dict[str, float]:
    """Follow into a log."""
    from vmfstream.connectors import open_source
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.engine.run import RunSettings, follow
    from vmfstream.runfile.writer import RunFile

    marks: list[tuple[int, float, float]] = []
    commits: list[tuple[float, int]] = []

    class Timed(RunFile):
        """Notes how long commits take."""

        def commit(self, *written: Any) -> None:
            began = time.perf_counter()
            super().commit(*written)
            commits.append((time.perf_counter() - began, len(written)))

    with tempfile.TemporaryDirectory() as folder:
        store = Timed(Path(folder) / "run.duckdb")
        source = open_source(url)
        began = time.perf_counter()
        follow(
            source,
            FieldCodec(unit="offset"),
            store,
            RunSettings(topics=30, slices=str(size), threads=1),
            observe=lambda now: marks.append((now.documents, time.perf_counter(), time.process_time())),
            stop=lambda: bool(marks) and marks[-1][0] >= messages,
        )
        source.close()
    ready, end = next(mark for mark in marks if mark[0] > size), marks[-1]
    return {
        "seconds": end[1] - began,
        "steady_per_second": (end[0] - ready[0]) / (end[1] - ready[1]),
        "steady_cpu_us": 1e6 * (end[2] - ready[2]) / (end[0] - ready[0]),
        "commit_seconds": statistics.median(seconds for seconds, _ in commits),
        "epochs_per_commit": sum(epochs for _, epochs in commits) / len(commits),
    }


def command(url: str, run_file: Path, size: int) -> list[str]:
    """A run as a user starts it."""
    words = ["run", url, "--slices", str(size), "-k", "30", "--threads", "1", "--out", str(run_file)]
    return [sys.executable, "-m", "vmfstream", *words, "--linger", "0.5", "--epoch-size", "5000"]


def recovery(url: str, size: int, kills: int = 5) -> dict[str, float]:
    """Seconds from a start after a kill to the next epoch in the log."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder) / "run.duckdb"
        for _ in range(kills + 1):
            began = time.perf_counter()
            before = counts(run_file)[0]
            child = subprocess.Popen(command(url, run_file, size), stdout=subprocess.DEVNULL)
            wait_for(lambda: counts(run_file)[0], partial(operator.lt, before), child)
            took.append(time.perf_counter() - began)
            child.kill()
            child.wait()
    return {"seconds": statistics.median(took[1:])}


def arrival(topic: Topic, size: int, messages: int = 10) -> dict[str, float]:
    """Seconds from a message's sending to its row, the linger of half a second included."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder) / "run.duckdb"
        child = subprocess.Popen(command(topic.url, run_file, size), stdout=subprocess.DEVNULL)
        wait_for(lambda: stored(run_file), lambda position: position == topic.ends(), child)
        for number in range(messages):
            before = counts(run_file)[0]
            topic.fill(long_documents(1, 10**9 + number))
            began = time.perf_counter()
            while ask(run_file, "select sum(n) from epoch")[0][0] == before:
                time.sleep(0.005)
            took.append(time.perf_counter() - began)
        child.kill()
        child.wait()
    return {"seconds": statistics.median(took), "slowest": max(took)}


def one(measure: str, url: str, messages: int, size: int) -> None:
    """Warm up, measure once, print."""
    if measure in BARE:
        found = bare(url, messages, BARE[measure])
    else:
        vmfstream(url, 2000, 500)
        found = vmfstream(url, messages, size)
    print(json.dumps(found))


def main() -> None:
    """Fill a topic, then measure all in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=240_000)
    parser.add_argument("--slices", type=int, nargs="+", default=[20_000, 5000], help="documents per slice")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure, url = given.one
        one(measure, url, given.messages, given.slices[0])
        return
    runs = [*((measure, 0) for measure in BARE), *(("vmfstream", size) for size in given.slices)]
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "kafka")
        try:
            broker.start()
            topic = Topic(broker, "bench", 4)
            rows = long_documents(given.messages)
            topic.fill(rows, times=[row["time"] * 1000 for row in rows])
            by_run: dict[tuple[str, int], list[dict[str, float]]] = {run: [] for run in runs}
            for _ in range(given.rounds):
                for measure, size in runs:
                    by_run[measure, size].append(apart(measure, topic.url, given.messages, size))
            middle = {
                run: {name: statistics.median(one[name] for one in found) for name in found[0]}
                for run, found in by_run.items()
            }
            for (measure, size), figures in middle.items():
                rate, pace = round(given.messages / figures["seconds"]), figures["steady_per_second"]
                shares = {f"share of {loop}": pace / middle[loop, 0]["steady_per_second"] for loop in BARE}
                line = {"measure": measure} | ({"slice": size} if size else {}) | {"messages_per_second": rate}
                print(json.dumps(line | _rounded(figures | shares)), flush=True)
            size = given.slices[-1]
            print(json.dumps({"measure": "recovery after a kill", **_rounded(recovery(topic.url, size))}), flush=True)
            print(json.dumps({"measure": "from message to row", **_rounded(arrival(topic, size))}))
        finally:
            broker.stop()


def apart(measure: str, url: str, messages: int, size: int) -> dict[str, float]:
    """Measure once in a process of its own."""
    words = ["--one", measure, url, "--messages", str(messages), "--slices", str(size)]
    out = subprocess.run([sys.executable, __file__, *words], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return found


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


if __name__ == "__main__":
    main()
