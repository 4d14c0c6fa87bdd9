"""The clock of the broker and of a run is set back by hours and on by days while they work: labels are sent once."""

from __future__ import annotations

import os
import signal
import struct
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.preloaded import library
from tests.system.broker.cluster import MISSING, Broker
from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.test_labels import KEPT, check, mixed
from tests.system.broker.test_labels_under_faults import reached
from tests.system.broker.trackers import counts
from tests.waiting import wait_for

PART = 600
OFFSETS = (0, -3, 50, -1)  # hours, one for each part

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif("VMFSTREAM_SOAK_CLOCK" not in os.environ, reason="half a minute: make soak"),
]


def beyond(least: float, seen: tuple[object, int]) -> bool:
    """Whether readers can read further than that."""
    return seen[1] > least


def test_labels_are_sent_once_though_the_clock_is_set(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if MISSING:
        pytest.fail(f"the broker tests need {', '.join(MISSING)} on the path")
    clock = tmp_path / "clock"
    clock.write_bytes(bytes(8))
    preload = str(library(Path(__file__).with_name("clock.c"), tmp_path))
    environment = {"LD_PRELOAD": preload, "CLOCK_OFFSET": str(clock)}
    with monkeypatch.context() as own:
        for name, value in environment.items():
            own.setenv(name, value)
        broker = Broker(tmp_path / "kafka")
        broker.begin()
    try:
        broker.wait()
        with closing(Topics(broker)) as topics:
            source, labels, dead = topics(2), topics(2), topics(1)
            run_file = tmp_path / "run.duckdb"
            rows = mixed(4 * PART)
            outputs = ("--labels", labels.url, "--dead-letters", dead.url)
            one = start("run", source.url, *KEPT, *outputs, "--out", run_file, **environment)
            for part, hours in enumerate(OFFSETS):
                with clock.open("r+b") as shared:  # in place: the programs have it in their memory
                    shared.write(struct.pack("q", 3600 * hours))
                sent = [int(1000 * (time.time() + 3600 * hours))] * PART
                source.fill(rows[PART * part : PART * (part + 1)], key=b"k", headers=[("mine", b"1")], times=sent)
                wait_for(lambda: (counts(run_file), reached(labels)), partial(beyond, PART * (part + 0.5)), one)
            whole = (4 * PART * 9 // 10, 4 * PART // 10)
            wait_for(lambda: (len(labels.read()), len(dead.read())), lambda seen: seen >= whole, one)
            code, _, err, _ = ended(one, signal.SIGTERM)
            assert code == 0, err
            check(source, labels, dead, run_file)
    finally:
        broker.stop()
