"""Half an hour at full speed: is memory flat, is no epoch slower than the first, does the file grow with slices only?

    python -m tests.system.broker.soak [--minutes 30] [--slice 5000]

A producer keeps a topic of four partitions ahead of one tracker (30 topics, documents of 1.3 KB); old messages are
deleted behind it. Prints one JSON line per minute and one at the end; ends with code 1 if something grows.
``waiting`` are messages that the tracker had not committed: while there are some, it is never idle.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topic
from tests.system.broker.trackers import ask, long_documents, stored, tracker

AHEAD = 60_000  # messages
TEXTS = 20_000  # that differ


def resident(process: int) -> float:
    """Memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Feeder:
    """Keeps a topic ahead of a tracker; its documents have ids of their own, their texts come again after a while."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._texts = [json.dumps(row["text"]).encode() for row in long_documents(TEXTS)]
        self._producer = KafkaProducer(bootstrap_servers=topic.broker.address, linger_ms=20, batch_size=200_000)
        self.sent = 0

    def feed(self, position: dict[str, int]) -> None:
        """Send until enough messages lie behind a position, and forget those that were read long ago."""
        while self.sent - sum(position.values()) < AHEAD:
            numbers = range(self.sent, self.sent + 5000)
            for future in [self._producer.send(self._topic.name, self._body(n), partition=n % 4) for n in numbers]:
                future.get(timeout=30)
            self.sent = numbers.stop
        for part, offset in position.items():
            if offset > AHEAD:
                self._topic.forget(int(part.rpartition(":")[2]), offset - AHEAD // 2)

    def _body(self, n: int) -> bytes:
        return b'{"id": "d%d", "time": %d, "text": %b}' % (n, 1_600_000_000 + n, self._texts[n % TEXTS])

    def close(self) -> None:
        self._producer.close()


def soak(minutes: float, size: int) -> bool:
    """Run, print what is seen, and tell whether nothing grew."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        broker = Broker(Path(folder) / "kafka")
        path = Path(folder) / "run.duckdb"
        child: Any = None
        seen: list[dict[str, float]] = []
        try:
            broker.start()
            topic = Topic(broker, "soak", 4, **{"segment.bytes": str(32 * 2**20)})
            feeder = opened.enter_context(closing(Feeder(topic)))
            feeder.feed({})
            wish: dict[str, Any] = {"topics": 30, "slices": str(size), "window": 0, "epoch_documents": 5000}
            child = tracker(path, topic.url, None, **wish)
            began = last_report = time.monotonic()
            while time.monotonic() - began < 60 * minutes:
                assert child.is_alive(), "the tracker ended"
                feeder.feed(stored(path) if path.exists() else {})
                time.sleep(0.2)
                if time.monotonic() - last_report >= min(60.0, 10 * minutes):
                    last_report = time.monotonic()
                    ((slices, documents),) = ask(path, "select count(*), sum(n)::bigint from slice")
                    seen.append(
                        {
                            "minutes": round((last_report - began) / 60, 1),
                            "documents": documents or 0,
                            "slices": slices,
                            "waiting": feeder.sent - sum(stored(path).values()),
                            "resident_mib": round(resident(child.pid), 1),
                            "file_mib": round(path.stat().st_size / 2**20, 1),
                        }
                    )
                    print(json.dumps(seen[-1]), flush=True)
            child.terminate()
            child.join()
            seconds = [s for (s,) in ask(path, "select seconds from epoch order by epoch offset 5")]
        finally:
            if child is not None and child.is_alive():
                child.kill()
            broker.stop()
    return judged(seen, seconds)


def judged(seen: list[dict[str, float]], seconds: list[float]) -> bool:
    """Compare the last quarter with the second one, after what starting up takes, and print what was found.

    Parameters
    ----------
    seen : what was looked at from minute to minute.
    seconds : what each epoch took.
    """
    quarter = max(len(seen) // 4, 1)
    early, late = seen[quarter : 2 * quarter] or seen, seen[-quarter:]
    # the least is the level between commits, the most that of a commit
    memory = [[extreme(one["resident_mib"] for one in part) for part in (early, late)] for extreme in (min, max)]
    tenth = max(len(seconds) // 10, 1)
    pace = [statistics.median(part) for part in (seconds[:tenth], seconds[-tenth:])]
    slowest = [max(part) for part in (seconds[:tenth], seconds[-tenth:])]
    growth = [
        (b["file_mib"] - a["file_mib"]) / max(b["slices"] - a["slices"], 1)
        for a, b in ((seen[0], seen[len(seen) // 2]), (seen[len(seen) // 2], seen[-1]))
    ]
    good = all(after < 1.1 * before for before, after in memory)
    good = good and pace[1] < 1.3 * pace[0] and growth[1] < 1.2 * growth[0]
    reported = {
        "documents_per_minute": round(seen[-1]["documents"] / seen[-1]["minutes"]),
        "least_resident_mib": memory[0],
        "most_resident_mib": memory[1],
        "median_epoch_seconds": [round(value, 3) for value in pace],
        "slowest_epoch_seconds": [round(value, 3) for value in slowest],
        "mib_per_slice": [round(value, 4) for value in growth],
        "flat": good,
    }
    print(json.dumps(reported), flush=True)
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--slice", type=int, default=5000, help="documents per slice")
    given = parser.parse_args()
    sys.exit(0 if soak(given.minutes, given.slice) else 1)
