"""Whatever comes, and wherever a run is cut off, it ends as the run that nothing has disturbed.

Hypothesis makes the schedules: documents in time, late, repeated, hostile or with wrong times; parts that are there
from the beginning or come later, fall behind the others, or lack offsets; cuts before a transaction, after it, and
where the stream dries up; other numbers of workers afterwards. They come in batches with numbers, from which all
follows.

python -m tests.unit.engine.test_schedules 100000 [first]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.cores import on_all_cores
from tests.unit.engine.documents import committed, document, engine
from tests.unit.engine.parts import Parts, ranged
from tests.unit.engine.test_executor import Many
from vmfstream.connectors.memory import Aborted
from vmfstream.records import Commit, Message, Position, Range
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.encoders import TextEncoder

CUT: dict[str, Any] = {
    "epoch_documents": 12,
    "batch_documents": 5,
    "window": 30,
    "topics": 2,
    "cold_starts": 1,
    "documents": True,
    "sample": 9,
}
LIGHT: dict[str, Any] = CUT | {
    "rules": {"refit": False, "persistences": (0.9,)},
    "empty_slices": 4,
    "epoch_words": 3,
    "slice_words": 6,
    "representative_documents": 2,
}
"""The same without refits, choice of the persistence and stop words, which take most of the time."""

BATCH = 200

HOSTILE = [b"no json", b"[1,2]", b"\xff", b"{}", b'{"time": 2001, "text": ""}', b'{"time": "never", "text": "word"}']

_light_encoder = partial(TextEncoder, stop_words=None, capacity=200)


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


class Polled:
    """Messages of several parts in the order in which they arrive; where they end, the stream ends or dries up."""

    name = "polled"
    total = None

    def __init__(self, arrived: list[Message], ends: bool) -> None:
        self._arrived, self._left, self._ends = arrived, arrived, ends

    @property
    def exhausted(self) -> bool:
        return self._ends and not self._left

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        if not self._left and not self._ends:
            raise Aborted("the stream dries up")
        found, self._left = self._left[:limit], self._left[limit:]
        return found

    def seek(self, position: Position) -> None:
        self._left = [one for one in self._arrived if one.offset >= position.get(one.part, 0)]

    def close(self) -> None:
        pass


class WithGaps(Parts):
    """Parts that lack offsets, as topics do of which messages were removed."""

    def __init__(self, arrived: list[Message], ends: Mapping[str, int]) -> None:
        super().__init__({})
        self._arrived, self._ends = arrived, dict(ends)

    def extents(self, position: Position) -> Sequence[Range]:
        return [Range(name, position.get(name, 0), end) for name, end in self._ends.items()]

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        found = [one for one in self._arrived if one.part == wanted.part and wanted.first <= one.offset < wanted.last]
        most = max(limit // 100, 1)
        return found[:most], found[most].offset if len(found) > most else wanted.last


class Schedules(RuleBasedStateMachine):
    """One stream and its runs."""

    light = False

    @initialize(parts=st.integers(1, 3), workers=st.booleans(), many=st.integers(0, 24))
    def begin(self, parts: int, workers: bool, many: int) -> None:
        """Choose how many parts there are at first, with how much, and whether one process or workers read them."""
        self.ends = {f"p{number}": 0 for number in range(parts)}
        self.arrived: list[Message] = []
        self.behind: dict[str, list[Message]] = {}
        self.workers, self.store, self.year, self.count = workers, Store(), 2001, 0
        self.begun = False  # what workers read is whole from the beginning
        for at in range(many):
            self._say(document(at, self.year), at)

    def changes(self) -> bool:
        """Return whether the stream may still become another."""
        return not (self.workers and self.begun)

    @precondition(changes)
    @rule(
        many=st.integers(1, 20),
        part=st.integers(0, 2),
        later=st.sampled_from([0, 0, 0, 1, 1, 2, 40]),
        gap=st.sampled_from([0, 0, 1, 6]),
    )
    def documents(self, many: int, part: int, later: int, gap: int) -> None:
        """Documents of the newest year, or of a later one, perhaps after offsets without a message."""
        self.year += later
        self.ends[self._name(part)] += gap
        for _ in range(many):
            self._say(document(self.count, self.year), part)

    @precondition(changes)
    @rule(new=st.booleans(), part=st.integers(0, 2))
    def other_part(self, new: bool, part: int) -> None:
        """A part that was not there; or one that falls behind, or that no longer does."""
        name = self._name(part)
        if new:
            self.ends[f"p{len(self.ends)}"] = 0
        elif name in self.behind:
            self.arrived += self.behind.pop(name)
        else:
            self.behind[name] = []

    @precondition(changes)
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
            self._engine(self.store, 0, ends=False).run()

    @rule(commits=st.integers(1, 6), keeps=st.booleans(), workers=st.integers(1, 3))
    def cut_off(self, commits: int, keeps: bool, workers: int) -> None:
        """The process is gone before or after one of the next commits; with the stream as it is by now."""
        self.begun = True
        if self.workers:
            self._catch_up()
        self.store.left, self.store.keeps = commits, keeps
        with pytest.raises((Cut, Aborted)) if not self.workers else _maybe():
            self._engine(self.store, workers, ends=False).run()
        self.store.left = 0

    def teardown(self) -> None:
        """Let the run end, and compare it with one that nothing has disturbed."""
        if not hasattr(self, "store"):
            return
        self.store.left = 0
        self._catch_up()
        self._engine(self.store, 2).run()
        wanted = MemoryStore()
        self._engine(wanted, 1).run()
        assert committed(self.store) == committed(wanted)
        assert sum(one.epoch.n + one.epoch.rejected for one in wanted.commits) == len(self.arrived)
        rejected = [(one.part, one.offset) for commit in wanted.commits for one in commit.rejected]
        assert len(set(rejected)) == len(rejected) == sum(one.epoch.rejected for one in wanted.commits)

    def _engine(self, store: MemoryStore, workers: int, ends: bool = True) -> Any:
        given, encoder = (LIGHT, _light_encoder) if self.light else (CUT, TextEncoder)
        if not self.workers:
            return engine(Polled(self.arrived, ends), store, encoder=encoder(), **given)
        source = WithGaps(self.arrived, self.ends)
        return ranged(source, store, Many(workers), encoder=encoder, range_messages=4, **given)

    def _say(self, item: Any, part: int) -> None:
        name = self._name(part)
        self.behind.get(name, self.arrived).append(Message(name, self.ends[name], item))
        self.ends[name] += 1
        self.count += 1

    def _catch_up(self) -> None:
        for name in list(self.behind):
            self.arrived += self.behind.pop(name)

    def _name(self, part: int) -> str:
        return f"p{part % len(self.ends)}"


class _maybe:
    """Takes a cut, if there is one."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return isinstance(error, Cut)


def tried(schedules: int, number: int = 0, light: bool = False) -> None:
    """Try so many schedules; those of another ``number`` are others."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    wanted = settings(max_examples=schedules, stateful_step_count=8, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(seed(number)(type("Schedules", (Schedules,), {"light": light})), settings=wanted)


def test_disturbed_runs_equal_undisturbed_ones() -> None:
    tried(20)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(1, 4))
def test_disturbed_runs_equal_undisturbed_ones_in_hundreds_of_schedules(number: int) -> None:
    tried(BATCH, number, light=number > 1)


if __name__ == "__main__":
    schedules, first = (int(argument) for argument in [*sys.argv[1:], "4"][:2])
    numbers = range(first, first + math.ceil(schedules / BATCH))
    on_all_cores(tried, [(BATCH, number, number % 10 != 0) for number in numbers])
