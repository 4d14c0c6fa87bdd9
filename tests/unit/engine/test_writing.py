"""Epochs into a store: which are written together, and that none is lost."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.runfile.records import commit
from tests.waiting import PATIENCE
from vmfstream.engine.loop import writing
from vmfstream.engine.loop.writing import Writer, WriteTask
from vmfstream.errors import InputError, StoreLocked
from vmfstream.records import Commit
from vmfstream.runfile.memory import MemoryStore


class Slow(MemoryStore):
    """Writes when it is let to; notes what came together."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[int]] = []
        self.free = threading.Semaphore(0)
        self.error: Exception | None = None

    def commit(self, *commits: Commit) -> None:
        assert self.free.acquire(timeout=PATIENCE)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.groups.append([one.epoch.epoch for one in commits])
        super().commit(*commits)


class Reported(list[int]):
    """Epochs that were reported."""

    def of(self, epoch: int) -> Any:
        return lambda: self.append(epoch)


def never() -> bool:
    return False


def put(writer: Writer, reported: Reported, epochs: range, stop: Any = never, *, urgent: bool = False) -> None:
    for epoch in epochs:
        writer.write(commit(epoch), reported.of(epoch), stop, urgent=urgent)


def test_epochs_that_end_while_others_are_written_are_written_together() -> None:
    store, reported = Slow(), Reported()
    with Writer(store, in_thread=True) as writer:
        put(writer, reported, range(4))
        assert reported == []
        store.free.release(2)
        writer.settle(never)
        assert reported == [0, 1, 2, 3]
    assert store.groups == [[0], [1, 2, 3]]


def test_epochs_wait_a_while_for_others_unless_one_is_urgent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAX_PAUSE", 1e9)
    store, reported = Slow(), Reported()
    store.free.release(9)
    with Writer(store, in_thread=True, pause_factor=1e12) as writer:
        put(writer, reported, range(1))
        while not reported:
            writer.settle(never, wait=False)
        put(writer, reported, range(1, 3))
        writer.settle(never, wait=False)
        assert reported == [0]
        put(writer, reported, range(3, 4), urgent=True)
        while len(reported) < 4:
            writer.settle(never, wait=False)
        put(writer, reported, range(4, 6))
        writer.settle(never)
    assert store.groups == [[0], [1, 2, 3], [4, 5]]
    assert reported == [0, 1, 2, 3, 4, 5]


def test_a_disk_that_stalls_once_makes_no_longer_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(writing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(writing, "MAX_PAUSE", 1e9)

    class Stalling(Slow):
        def commit(self, *commits: Commit) -> None:
            super().commit(*commits)
            now[0] += 100.0 if commits[0].epoch.epoch == 1 else 1.0

    store, reported = Stalling(), Reported()
    store.free.release(9)
    with Writer(store, in_thread=True, pause_factor=3) as writer:
        for epoch, waits in ((0, 2.0), (1, 0.0), (2, 2.0), (3, 2.0)):
            put(writer, reported, range(epoch, epoch + 1))
            while len(reported) <= epoch:
                writer.settle(never, wait=False)
            assert max(writer._due - now[0], 0.0) == waits
            now[0] += waits


@pytest.mark.parametrize("limit", ["MAX_EPOCHS", "MAX_BYTES"])
def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(writing, "MAX_PAUSE", 1e9)
    of_one = {"MAX_EPOCHS": 1, "MAX_BYTES": WriteTask(commit(0), print).bytes}
    monkeypatch.setattr(writing, limit, 3 * of_one[limit])
    store, reported = Slow(), Reported()
    store.free.release(9)
    with Writer(store, in_thread=True, pause_factor=1e12) as writer:
        put(writer, reported, range(9))
        writer.settle(never)
    assert reported == list(range(9))
    assert max(map(len, store.groups)) <= 4
    assert len(store.groups) > 2


def test_without_a_thread_each_epoch_is_written_at_once() -> None:
    store, reported = Slow(), Reported()
    store.free.release(9)
    with Writer(store, in_thread=False) as writer:
        for epoch in range(3):
            put(writer, reported, range(epoch, epoch + 1))
            assert reported[-1] == epoch
    assert store.groups == [[0], [1], [2]]


def test_an_error_elsewhere_loses_no_epoch() -> None:
    store, reported = Slow(), Reported()
    with pytest.raises(KeyError), Writer(store, in_thread=True) as writer:  # noqa: PT012
        put(writer, reported, range(3))
        store.free.release(9)
        raise KeyError
    assert store.groups == [[0], [1, 2]]
    assert reported == []


def test_after_an_error_of_the_store_nothing_more_is_written() -> None:
    store, reported = Slow(), Reported()
    store.error = InputError("the disk is full")
    with pytest.raises(InputError, match="disk"), Writer(store, in_thread=True) as writer:  # noqa: PT012
        put(writer, reported, range(3))
        store.free.release(9)
        writer.settle(never)
    assert store.groups == []


def test_what_a_lock_kept_out_is_tried_again_until_the_run_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    store, reported = Slow(), Reported()
    store.error = StoreLocked("held by somebody")
    with Writer(store, in_thread=True) as writer:
        put(writer, reported, range(2))
        store.free.release(3)
        writer.settle(never)
        assert store.groups == [[0], [1]]
        assert caplog.messages.count("held by somebody; epoch 0 waits") == 1
        store.error = StoreLocked("held by somebody")
        put(writer, reported, range(2, 4))
        store.free.release(1)
        with pytest.raises(StoreLocked):
            writer.settle(lambda: True)
    assert store.groups == [[0], [1]]
    assert reported == [0, 1]
