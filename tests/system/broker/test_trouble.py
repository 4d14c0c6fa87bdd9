"""A network that drops, a disk that is full, and messages that mean harm."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topics
from tests.system.broker.proxy import Proxy
from tests.system.broker.trackers import ask, counts, documents, stored, times, tracker
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.broker


def test_a_network_that_stalls_cuts_and_delays(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, path, rng = topics(4), tmp_path / "run.duckdb", random.Random(3)
    rows = documents(30_000)
    with closing(Proxy(broker.proxied, broker.behind)) as proxy:
        url = f"kafka://{':'.join(map(str, broker.proxied))}/{topic.name}"
        child = tracker(path, url, None, linger=0.5)
        for start in range(0, len(rows), 3000):
            part = rows[start : start + 3000]
            topic.fill(part, times=times(part))
            if not start:  # a broker that does not answer at the start is an error
                wait_for(lambda: stored(path), bool, child)
            proxy.delay = rng.choice([0.0, 0.02])
            if rng.random() < 0.7:
                proxy.cut()
            proxy.stall = True
            time.sleep(rng.uniform(0.0, 1.0))
            proxy.stall = False
        proxy.delay = 0.0
        wait_for(lambda: stored(path), lambda position: position == topic.ends(), child)
        assert child.is_alive()
        child.kill()
        child.join()
    assert proxy.connections > 5
    assert counts(path) == (len(rows), 0)


class FullDisk:
    """A folder with little room: a file system of its own where we may mount one, else a limit on the size of files."""

    def __init__(self, folder: Path, megabytes: float) -> None:
        self.folder, self._bytes = folder, int(1e6 * megabytes)
        self.mounted = self._mount(f"size={self._bytes}")

    def _mount(self, options: str) -> bool:
        if os.geteuid() != 0:
            return False
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def limit(self) -> None:
        """To be called in the new process before it begins."""
        if not self.mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._bytes, self._bytes))

    def make_room(self) -> None:
        if self.mounted:
            assert self._mount("remount,size=500m")

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[FullDisk]:
    (tmp_path / "small").mkdir()
    with closing(FullDisk(tmp_path / "small", 1.8)) as disk:
        yield disk


def test_a_full_disk_stops_the_run_and_loses_nothing(topics: Topics, full_disk: FullDisk) -> None:
    topic, path = topics(1), full_disk.folder / "run.duckdb"
    rows = documents(6000)
    topic.fill(rows, times=times(rows))
    command = [sys.executable, "-m", "vmfstream", "run", topic.url, "--slices", "1000", "-k", "3", "--out", str(path)]
    command += ["--epoch-size", "250", "--linger", "0.5", "--window", "300"]

    full = subprocess.run(command, preexec_fn=full_disk.limit, capture_output=True, text=True)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    # while rows are written, or before, when what the transaction will change is kept beside the file
    assert "could be written into the run file" in full.stderr or f"cannot write the run file {path}" in full.stderr
    assert "if the disk is full make room, then continue the run" in full.stderr
    full_disk.make_room()
    before = counts(path)[0]
    assert 0 < before < len(rows)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: stored(path), lambda position: position == topic.ends(), child)
    child.terminate()
    assert child.wait(PATIENCE) == 0
    assert counts(path) == (len(rows), 0)


DEEP = 100_000
LETTERS, DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
GOOD = {"id": "odd", "time": 1_600_000_000, "text": "ship sailor"}


def spoilt(**fields: Any) -> bytes:
    return json.dumps(GOOD | {"id": f"odd{random.random()}"} | fields).encode()


# what the reason must match, and messages that give it
HOSTILE: dict[str, list[bytes | None]] = {
    "^empty:": [b""],
    "^no value: a tombstone": [None],
    "^not JSON:": [
        b"{",
        b'{"text": "a b", }',
        b'{"text": "a\x01b"}',
        b"text without braces",
        b'{"text": "a" "time": 3}',
        "\ufeff".encode(),
    ],
    "^not JSON that can be read:": [b"[" * DEEP, b'{"a":' * DEEP, spoilt()[:-1] + b', "n": ' + b"9" * 5000 + b"}"],
    "^not a JSON object:": [b"null", b"7", b'"text"', b"[1, 2]", b"true"],
    "^not UTF-8:": [b"\x1f\x8b\x08gzip", b'{"text": "\xff\xfe"}', '{"text": "a"}'.encode("utf-16"), b"\xc3"],
    "^no text:": [b"{}", b'{"id": 1, "time": 2020}'],
    "^text is null": [spoilt(text=None)],
    "^text is no text:": [spoilt(text=3), spoilt(text=["a"]), spoilt(text={"a": 1}), spoilt(text=True)],
    "^text is empty": [spoilt(text=""), spoilt(text=" \n\t")],
    "^time is no time:": [
        spoilt(time=float("nan")),
        spoilt(time=float("inf")),
        spoilt(time="never"),
        spoilt(time=[1]),
        spoilt(time=True),
        spoilt(time=-1),
    ],
    "slices ahead of": [spoilt(time="9999-01-01"), spoilt(time=33_000_000_000)],
    "read before: id .*$": [json.dumps(GOOD).encode()],
    "^text is too long:": [spoilt(text="long " * 1_100_000)],
    "^too long:": [spoilt(text="huge " * 3_500_000)],
}
BULKY = 1_000_000  # kinds of this size come only twice
ODD = [
    spoilt(time="1700-01-01"),
    spoilt(text="\x00\x07 bell \ud800 half"),
    spoilt(text="bomb " * 200_000),
    spoilt(text=" ".join(map("".join, islice(product(LETTERS, *3 * [LETTERS + DIGITS]), 1_000_000)))),
]
"""Strange, but documents."""


def kind(reason: str) -> str:
    """Which entry of HOSTILE a reason belongs to."""
    (found,) = [name for name in HOSTILE if re.search(name, reason)]
    return found


def peak_kib(process: int) -> int:
    """The most memory that a process ever had."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


def test_ten_thousand_hostile_messages_between_good_ones(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics(1, **{"max.message.bytes": "20000000"})
    dead = topics(1)
    path = tmp_path / "run.duckdb"
    small = [(name, value) for name, values in HOSTILE.items() for value in values if len(value or b"") < BULKY]
    large = [(name, value) for name, values in HOSTILE.items() for value in values if len(value or b"") >= BULKY]
    assert len(small) + len(large) + len(ODD) >= 30
    wrong = [small[i % len(small)] for i in range(10_000 - 2 * len(large))] + 2 * large
    good: list[Any] = [GOOD, *documents(10_000)]
    random.Random(5).shuffle(wrong)
    mixed = [value for pair in zip(good[1:], (value for _, value in wrong), strict=True) for value in pair]
    topic.fill([GOOD, *mixed, *ODD], max_request_size=20_000_000, key=b"k", compression_type="gzip")

    command = [sys.executable, "-m", "vmfstream", "run", topic.url, "--slices", "day", "-k", "3", "--out", str(path)]
    command += ["--dead-letters", dead.url, "--linger", "0.5", "--epoch-size", "2000"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: stored(path), lambda position: position == topic.ends(), child)
    wait_for(lambda: dead.ends()[f"{dead.name}:0"], lambda sent: sent >= 10_000, child)
    peak = peak_kib(child.pid)
    child.terminate()
    assert child.wait(PATIENCE) == 0

    assert counts(path) == (len(good) + len(ODD), 10_000)
    assert peak < 1_500_000  # KiB; the largest messages have 17 MB, and there are 10,000
    reasons = Counter(kind(reason) for (reason,) in ask(path, "select reason from rejected"))
    assert reasons == Counter(name for name, _ in wrong)
    letters = dead.read()
    assert len(letters) == 10_000
    found_reasons = [dict(letter.headers)["vmfstream.reason"].decode() for letter in letters]
    assert Counter(map(kind, found_reasons)) == reasons
