"""Reading ahead and writing beside: the log is the same, errors come where they belong, and nothing is left running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import all_but
from tests.unit.engine.documents import OneByOne, closed, committed, document, engine, run, sizes, years
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import ABORT, PAUSE, Aborted, Item, MemorySource
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.loop.reading import ReadAhead
from vmfstream.engine.loop.settings import EngineSettings, Epoch, Progress
from vmfstream.engine.loop.state import EngineState
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError, StoreLocked
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Commit, Message, Position
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.writer import RunFile
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import TextEncoder

FOUR_YEARS = years({2001: 40, 2002: 40, 2003: 40, 2004: 40})
CUTS: dict[str, Any] = {"epoch_documents": 25, "batch_documents": 10, "window": 60}
MUCH = 2**20


def threads() -> list[str]:
    """Those of ours that live."""
    return [one.name for one in threading.enumerate() if one.name.startswith(("vmfstream-reader", "vmfstream-writer"))]


@pytest.mark.parametrize("ahead", [1, 5000, MUCH])
@pytest.mark.parametrize("source", [MemorySource, OneByOne])
def test_the_run_file_is_the_same(source: type[MemorySource], ahead: int) -> None:
    items = [*FOUR_YEARS[:60], b"{nonsense", FOUR_YEARS[3], document(500, 1999), PAUSE, *FOUR_YEARS[60:]]
    whole = run(source(items), sample=50, **CUTS)
    assert committed(run(source(items), ahead=ahead, sample=50, **CUTS)) == committed(whole)


@pytest.mark.parametrize("at", all_but([0, 10, 25, 40, 41, 130, 160], 10, 25, 40, 130))
def test_a_source_that_fails_is_met_after_what_came_before(at: int) -> None:
    store, plain = MemoryStore(), MemoryStore()
    for each, ahead in ((store, MUCH), (plain, 0)):
        with pytest.raises(Aborted):
            engine([*FOUR_YEARS[:at], ABORT, *FOUR_YEARS[at:]], each, ahead=ahead, **CUTS).run()
    assert committed(store) == committed(plain)
    assert not threads()
    engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run()
    assert committed(store) == committed(run(FOUR_YEARS, **CUTS))


def test_an_engine_whose_source_failed_goes_on() -> None:
    store = MemoryStore()
    again = engine([*FOUR_YEARS[:90], ABORT, *FOUR_YEARS[90:]], store, ahead=MUCH, epoch_documents=25)
    with pytest.raises(Aborted):
        again.run()
    again.run()
    assert again.finished
    assert [r.n for r in closed(store)] == [40, 40, 40, 40]


def test_a_stop_leaves_what_was_read_ahead_to_the_next_run() -> None:
    store, seen = MemoryStore(), list[Progress]()
    source = OneByOne(FOUR_YEARS)
    first = engine(source, store, ahead=MUCH, **CUTS)
    first.run(seen.append, stop=lambda: bool(seen) and seen[-1].documents >= 70)
    assert first.documents == store.commits[-1].position["memory"] == sum(sizes(store))
    assert 70 <= first.documents < 80
    assert source.handed > first.documents
    assert not threads()
    engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run()
    assert [(r.slice.label, r.n) for r in closed(store)] == [(str(year), 40) for year in (2001, 2002, 2003, 2004)]


class Slow(MemorySource):
    """Takes its time, and knows whether somebody waits for it."""

    polling = False

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        self.polling = True
        threading.Event().wait(0.1)
        messages = super().poll(10, timeout)
        self.polling = False
        return messages


def test_nobody_polls_once_a_run_is_over() -> None:
    source, seen = Slow(FOUR_YEARS), list[Progress]()
    engine(source, ahead=MUCH, batch_documents=10).run(seen.append, stop=lambda: seen[-1].documents > 0)
    assert not source.polling
    assert not source.exhausted


def test_a_stopped_engine_continues_itself() -> None:
    store, seen = MemoryStore(), list[Progress]()
    one = engine(FOUR_YEARS, store, ahead=MUCH, **CUTS)
    one.run(seen.append, stop=lambda: bool(seen) and seen[-1].documents >= 70)
    one.run()
    assert one.finished
    assert [r.n for r in closed(store)] == [40, 40, 40, 40]


class Watched(MemorySource):
    """Notes how much was polled, by whom, and what it was given."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__(items)
        self.bytes = 0
        self.polled: list[int] = []
        self.pollers: set[int] = set()
        self.positions: list[Position] = []

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        self.pollers.add(threading.get_ident())
        self.polled.append(self.bytes)
        messages = super().poll(limit, timeout)
        self.bytes += sum(message.size for message in messages)
        return messages

    def lag(self, position: Position) -> int:
        return len(FOUR_YEARS) - position.get(self.part, 0)

    def committed(self, position: Position) -> None:
        self.pollers.add(threading.get_ident())
        self.positions.append(position)


def test_what_is_read_ahead_is_bounded() -> None:
    size = Message("memory", 0, b"x" * 900).size
    source = Watched([b"x" * 900] * 1000)
    taken = 0
    with ReadAhead(source, FieldCodec(), Slicing.parse("year"), 10, 100 * size) as ahead:
        while not ahead.exhausted:
            # the thread has polled as far as it may once its last poll no longer moves
            for before in source.polled[-1:]:
                assert before - taken <= 100 * size
            taken += size * len(ahead.read())
    assert taken == 1000 * size
    assert not threads()


def test_a_full_reader_waits_until_something_is_taken() -> None:
    source = Watched([b"x" * 900] * 1000)
    size = Message("memory", 0, b"x" * 900).size
    with ReadAhead(source, FieldCodec(), Slicing.parse("year"), 10, 100 * size) as ahead:
        while source.bytes < 100 * size:
            threading.Event().wait(0.001)
        threading.Event().wait(0.05)
        assert source.bytes == 100 * size
        assert len(ahead.read()) == 10
        while source.bytes < 110 * size:
            threading.Event().wait(0.001)
    assert source.bytes == 110 * size


def test_one_thread_polls_and_hears_what_was_committed() -> None:
    source = Watched(FOUR_YEARS)
    store = run(source, ahead=MUCH, **CUTS)
    assert source.positions[-1] == {"memory": 160}
    assert threading.get_ident() not in source.pollers or len(source.pollers) == 2
    assert len({*source.pollers} - {threading.get_ident()}) == 1
    assert [c.epoch.lag for c in store.commits][-1] == 0


class Interrupts:
    """An observer that is interrupted."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self, now: Progress) -> None:
        if now.documents >= self.at:
            raise KeyboardInterrupt


def test_an_interrupt_leaves_no_thread_and_nothing_half() -> None:
    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run(Interrupts(70))
    assert not threads()
    engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run()
    assert committed(store) == committed(run(FOUR_YEARS, **CUTS))


class Refusing(MemoryStore):
    """Refuses one epoch, so many times or for ever."""

    def __init__(self, error: Callable[[], Exception], times: int = 10**9) -> None:
        super().__init__()
        self.error, self.times = error, times

    def commit(self, *commits: Commit) -> None:
        if self.times and 3 in [one.epoch.epoch for one in commits]:
            self.times -= 1
            raise self.error()
        super().commit(*commits)


def test_an_epoch_that_cannot_be_written_ends_the_run() -> None:
    store = Refusing(lambda: InputError("the disk is full"))
    with pytest.raises(InputError, match="the disk is full"):
        engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run()
    assert len(store.commits) <= 2
    assert not threads()


def test_the_last_epoch_that_cannot_be_written_is_reported_too() -> None:
    store = Refusing(lambda: InputError("the disk is full"))
    with pytest.raises(InputError, match="the disk is full"):
        engine(FOUR_YEARS[:65], store, ahead=MUCH, **CUTS).run()


def test_an_epoch_waits_for_a_locked_store(caplog: pytest.LogCaptureFixture) -> None:
    store = Refusing(lambda: StoreLocked("the run file is held by somebody"), times=2)
    engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run()
    assert committed(store) == committed(run(FOUR_YEARS, **CUTS))
    assert caplog.text.count("epoch 3 waits") == 2


def test_a_locked_store_does_not_outlive_a_stop() -> None:
    store = Refusing(lambda: StoreLocked("the run file is held by somebody"))
    with pytest.raises(StoreLocked):
        engine(FOUR_YEARS, store, ahead=MUCH, **CUTS).run(stop=lambda: store.times < 10**9)
    assert len(store.commits) <= 2


def test_an_epoch_is_reported_once_it_is_in_the_run_file() -> None:
    store, seen = MemoryStore(), list[Progress]()

    def observe(now: Progress) -> None:
        assert len(store.commits) >= now.epoch - 1
        if now.epoch and now.epoch not in {one.epoch for one in seen}:
            seen.append(now)

    engine(FOUR_YEARS, store, ahead=MUCH, epoch_documents=25).run(observe)
    assert [one.epoch for one in seen] == [commit.epoch.epoch for commit in store.commits]
    assert seen[-1].finished


class Waiting(MemorySource):
    """Gives nothing more, and does not end, before somebody says so."""

    over = False
    polls = 0

    @property
    def exhausted(self) -> bool:
        return self.over

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        self.polls += 1
        assert self.polls < 1000, "the epoch was not reported"
        if self._next == len(self._values):
            threading.Event().wait(0.01)
            return []
        return super().poll(len(self._values) - self._next, timeout)


def test_an_epoch_is_reported_while_the_source_is_quiet() -> None:
    source, store = Waiting(FOUR_YEARS[:30]), MemoryStore()

    def observe(now: Progress) -> None:
        source.over |= now.epoch == 2

    engine(source, store, ahead=MUCH, epoch_documents=15, linger=3600.0).run(observe)
    assert sizes(store)[:2] == [15, 15]


@pytest.mark.thorough
def test_a_whole_run_writes_the_same_file(tmp_path: Path) -> None:
    settings = RunSettings(topics=3, threads=1, window=60, epoch_documents=25, sample=50)
    logs = []
    for ahead in (0, MUCH):
        store = RunFile(tmp_path / f"{ahead}.duckdb")
        follow(MemorySource(FOUR_YEARS), FieldCodec(), store, settings, ahead=ahead)
        checkpoint = store.resume()
        assert checkpoint is not None
        assert checkpoint.slice_state is not None
        states = {**checkpoint.open_state, **checkpoint.slice_state}
        logs.append((checkpoint.epoch, checkpoint.position, {name: a.tobytes() for name, a in states.items()}))
    assert logs[0] == logs[1]


def test_a_document_of_a_slice_that_is_closed_is_late() -> None:
    settings = EngineSettings(Slicing.parse("year"), batch_documents=1)
    state = EngineState(TextEncoder(), TrackerModel(TrackerSettings()), settings)
    batches = LocalBatches(MemorySource(years({2001: 2})), FieldCodec(), settings)
    first, second = Epoch(), Epoch()
    assert len(batches.batch(state, first, lambda: False)) == 1
    state.position.slice = 2002
    assert len(batches.batch(state, second, lambda: False)) == 1
    assert (first.late, second.late, state.position.late) == (0, 1, 1)
