"""A sample of what `power_cuts` and `failing_calls` try in full; see docs/run-file.md for the whole."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.powercut.power_cuts import ROOT, Recorded, after_power_cut, flipped, record
from tests.system.powercut.program import NAME
from tests.system.powercut.recording import KINDS, Disk, Event, cuts

STATES = 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("recorded"), "commits")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_after_a_power_cut(recorded: Recorded, tmp_path: Path, kind: str) -> None:
    states = list(cuts(recorded.calls, kind, STATES, seed=1))
    assert len({state.mark for state in states}) > 5
    assert {after_power_cut(state, recorded, tmp_path / "state") for state in states} == {"goes on"}


@pytest.mark.parametrize("locked", [False, True])
def test_a_damaged_file_is_told_and_left_alone(recorded: Recorded, tmp_path: Path, locked: bool) -> None:
    rng = random.Random(2)
    found = {flipped(recorded, tmp_path / "state", rng, locked=locked) for _ in range(STATES)}
    assert found == {"told", "no matter"}


def test_what_writes_files_goes_on_after_calls_that_fail() -> None:
    """A sample of the exhaustive search."""
    names = ("epoch 3", "undoing", "end", "decision", "frozen model", "page")
    command = [sys.executable, "-m", "tests.system.powercut.failing_calls", "--every", "41"]
    command += [word for name in names for word in ("--scene", name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        assert re.search(rf"^{name}: [1-9]\d* \(", done.stdout, re.MULTILINE), done.stdout


def test_what_is_not_synced_may_be_lost() -> None:
    disk = Disk()
    for event in (
        Event("C", 1, 0, NAME.encode()),
        Event("W", 1, 0, b"a" * 4096),
        Event("S", 1, 0, b""),
        Event("D", 9, 0, b""),
        Event("W", 1, 0, b"b" * 8192),
    ):
        disk.apply(event)
    rng = random.Random(0)
    pages = {disk.after_cut("pages", rng)[NAME] for _ in range(100)}
    a, b, zeros = (letter * 4096 for letter in (b"a", b"b", b"\0"))
    assert pages == {a, b, a + b, b + b}
    for _ in range(100):
        body = disk.after_cut("zeros", rng)[NAME]
        assert body == a or (len(body) == 8192 and (body.rstrip(b"\0") + zeros + zeros)[:8192] == body)
    disk.apply(Event("S", 1, 0, b""))
    disk.apply(Event("U", 0, 0, NAME.encode()))
    assert {len(disk.after_cut("pages", rng)) for _ in range(100)} == {0, 1}
