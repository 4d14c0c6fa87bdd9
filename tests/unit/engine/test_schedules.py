"""Whatever comes, and wherever a run is cut off, it ends as the run that nothing has disturbed.

Hypothesis makes the schedules: documents in time, late, repeated, hostile or with wrong times, in a number of parts;
cuts before a transaction, after it, and where the stream dries up; other numbers of workers afterwards.

python -m tests.unit.engine.test_schedules 100000
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.unit.engine.documents import committed, document, engine
from tests.unit.engine.parts import Parts, ranged
from tests.unit.engine.test_executor import Many
from vmfstream.connectors.memory import ABORT, Aborted
from vmfstream.records import Commit
from vmfstream.runfile.memory import MemoryStore

CUT: dict[str, Any] = {
    "epoch_documents": 12,
    "batch_documents": 5,
    "window": 30,
    "topics": 2,
    "documents": True,
    "sample": 9,
}
HOSTILE = [b"no json", b"[1,2]", b"\xff", b"{}", b'{"time": 2001, "text": ""}', b'{"time": "never", "text": "word"}']


class Cut(Exception):
    """The process is gone."""


class Store(MemoryStore):
    """Cuts the run off at one commit, counted from now: before it is kept or after."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.keeps = 0, False

    def commit(self, *commits: Commit) -> None:
        self.left -= 1
        if self.left == 0 and not self.keeps:
            raise Cut
        super().commit(*commits)
        if self.left == 0:
            raise Cut


class Schedules(RuleBasedStateMachine):
    """One stream and its runs."""

    @initialize(parts=st.integers(0, 3))
    def begin(self, parts: int) -> None:
        """Choose one process (0 parts), or parts that workers read."""
        self.parts: dict[str, list[Any]] = {f"p{number}": [] for number in range(max(parts, 1))}
        self.workers, self.cuts = parts > 0, 0
        self.store, self.year, self.count = Store(), 2001, 0
        self.begun = False  # what workers read is whole from the beginning

    @precondition(lambda self: not (self.workers and self.begun))
    @rule(many=st.integers(1, 30), part=st.integers(0, 2), later=st.sampled_from([0, 0, 0, 1, 1, 2, 40]))
    def documents(self, many: int, part: int, later: int) -> None:
        """Documents of the newest year, or of a later one."""
        self.year += later
        for _ in range(many):
            self._say(document(self.count, self.year), part)

    @precondition(lambda self: not (self.workers and self.begun))
    @rule(
        part=st.integers(0, 2),
        kind=st.sampled_from(["late", *["repeated"] * 3, "far", *HOSTILE]),
        ago=st.integers(1, 40),
    )
    def odd(self, part: int, kind: str | bytes, ago: int) -> None:
        """A message that is late, a repetition of one some ``ago``, dated far ahead, or no document."""
        if isinstance(kind, bytes):
            self._say(kind, part)
        else:
            time = {"late": self.year - 3, "repeated": self.year, "far": 9999}[kind]
            self._say(document(max(self.count - ago, 0) if kind == "repeated" else self.count, time), part)

    @precondition(lambda self: not self.workers)
    @rule()
    def dries_up(self) -> None:
        """The stream gives nothing more, and the process is gone."""
        self.begun = True
        with pytest.raises(Aborted):
            engine([*self.parts["p0"], ABORT], self.store, **CUT).run()

    @rule(commits=st.integers(1, 6), keeps=st.booleans(), workers=st.integers(1, 3))
    def cut_off(self, commits: int, keeps: bool, workers: int) -> None:
        """The process is gone before or after one of the next commits; with the stream as it is by now."""
        self.begun = True
        self.store.left, self.store.keeps = commits, keeps
        items = self.parts["p0"] if self.workers else [*self.parts["p0"], ABORT]
        with pytest.raises((Cut, Aborted)) if not self.workers else _maybe():
            self._engine(self.store, items, workers).run()
        self.store.left = 0

    def teardown(self) -> None:
        """Let the run end, and compare it with one that nothing has disturbed."""
        if not hasattr(self, "store"):
            return
        self.store.left = 0
        self._engine(self.store, self.parts["p0"], 2).run()
        wanted = MemoryStore()
        self._engine(wanted, self.parts["p0"], 1).run()
        assert committed(self.store) == committed(wanted)
        known = sum(one.epoch.n + one.epoch.rejected for one in wanted.commits)
        assert known == sum(map(len, self.parts.values()))
        rejected = [(one.part, one.offset) for commit in wanted.commits for one in commit.rejected]
        assert len(set(rejected)) == len(rejected) == sum(one.epoch.rejected for one in wanted.commits)

    def _engine(self, store: MemoryStore, items: list[Any], workers: int) -> Any:
        if not self.workers:
            return engine(items, store, **CUT)
        return ranged(Parts(self.parts), store, Many(workers), **CUT, range_messages=4)

    def _say(self, item: Any, part: int) -> None:
        self.parts[f"p{part % len(self.parts)}"].append(item)
        self.count += 1


class _maybe:
    """Takes a cut, if there is one."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return isinstance(error, Cut)


def tried(schedules: int, number: int = 0) -> None:
    """Try so many schedules; those of another ``number`` are others."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    wanted = settings(max_examples=schedules, stateful_step_count=8, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(seed(number)(type("Schedules", (Schedules,), {})), settings=wanted)


def test_disturbed_runs_equal_undisturbed_ones() -> None:
    tried(20)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(1, 11))
def test_disturbed_runs_equal_undisturbed_ones_in_two_thousand_schedules(number: int) -> None:
    tried(200, number)


if __name__ == "__main__":
    tried(int(sys.argv[1]))
