"""What is sent after a commit: everything once, in order, whatever fails in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from tests.unit.engine.documents import years
from tests.unit.runfile import records
from tests.waiting import PATIENCE, wait_until
from vmfstream.cli.label_messages import outbox_of
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.observers.delivery import Delivery, InThread, closed_slices, rejected_messages, together
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError, StoreLocked
from vmfstream.records import Commit, Rejected
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.queries.documents import OutboxFrame
from vmfstream.runfile.writer import RunFile


class Box:
    """Keeps messages by epoch; fails on demand."""

    def __init__(self, run: str, kept: dict[int, list[Any]]) -> None:
        self.run, self.kept = run, kept
        self.fails = 0
        self.forgotten: dict[int, list[Any]] = {}
        self.under_way: list[Any] = []
        self.closed = False

    def delivered(self) -> Sequence[int]:
        return [max(self.kept, default=0)]

    def forget_after(self, epoch: int) -> int:
        last = max(epoch, *self.kept)
        for later in [one for one in self.kept if one > epoch]:
            self.forgotten[later] = self.kept.pop(later)
        return last

    def send(self, epoch: int, messages: Iterable[Any], rest: Callable[[], Iterable[Any]] = tuple) -> int:
        if self.fails:
            self.fails -= 1
            raise InputError("nobody answers")
        assert epoch not in self.kept
        self.under_way = list(messages)
        self.kept[epoch] = [*self.under_way, *rest()]
        return len(self.kept[epoch])

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two years in epochs of 20, with two messages that are no documents."""
    path = tmp_path_factory.mktemp("log") / "run.duckdb"
    rows = [*years({2001: 40, 2002: 40}), b"{", b""]
    follow(
        MemorySource(rows),
        FieldCodec(),
        RunFile(path),
        RunSettings(topics=3, slices="year", threads=1, window=60, epoch_documents=20),
    )
    return path


def delivery(
    run_file: Path,
    kept: dict[int, list[Any]],
    boxes: list[Box],
    messages: Any = closed_slices,
    rest: float = 0.0,
    **more: Any,
) -> Delivery:
    def opened(run: str) -> Box:
        boxes.append(Box(run, kept))
        return boxes[-1]

    return Delivery(run_file, messages, opened, rest, **more)


def test_slices_and_events_as_json(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    boxes: list[Box] = []
    send = delivery(run_file, kept, boxes)
    last = Reader(run_file).newest().epoch
    assert send(0)
    assert not boxes  # before the first epoch there is no run to name
    assert send(last)
    messages = [json.loads(value) for messages in kept.values() for _, value in messages]
    slices = [one for one in messages if one["type"] == "slice"]
    assert [(one["slice"], one["documents"], len(one["topics"])) for one in slices] == [
        ("2001", 40, 3),
        ("2002", 40, 3),
    ]
    assert slices[0]["begins"] == "2001-01-01T00:00:00"
    assert slices[0]["predicted"] is None  # nothing was predicted of the first; JSON has no NaN
    first = slices[1]["topics"][0]
    assert {"topic", "share", "n", "words"} <= set(first)
    assert first["drift_angle"] > 0
    assert [first["speed"], first["speed_error"]] == [first["drift_angle"], first["drift_angle_error"]]
    assert [one["settling"] for one in slices] == [one["warm_up"] for one in slices] != [None, None]
    assert [one["kind"] for one in messages if one["type"] == "event"][:3] == ["started"] * 3
    assert {key for messages in kept.values() for key, _ in messages} >= {"slice 2001", "started 2001 0"}
    send.close()
    assert boxes[0].closed
    assert boxes[0].run


def test_what_was_sent_is_not_sent_again(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    last = Reader(run_file).newest().epoch
    first = min(epoch for epoch, _ in closed_slices(Reader(run_file), 0, last))
    delivery(run_file, kept, [])(first)
    assert list(kept) == [first]
    before = kept[first]
    assert delivery(run_file, kept, [])(last)
    assert kept[first] is before
    assert list(kept) == [epoch for epoch, _ in closed_slices(Reader(run_file), 0, last)]


def test_what_an_older_copy_does_not_know_is_sent_again(run_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    boxes: list[Box] = []
    kept: dict[int, list[Any]] = {epoch: ["of before"] for epoch in (1, 2, 9)}
    send = delivery(run_file, kept, boxes)
    send.begin(1)
    last = Reader(run_file).newest().epoch
    assert send(last)
    assert list(boxes[0].forgotten) == [2, 9]
    assert "the run file is a copy: it was at epoch 1, and epochs up to 9 were sent; what follows" in caplog.text
    assert list(kept)[1:] == [epoch for epoch, _ in closed_slices(Reader(run_file), 1, last)]
    caplog.clear()
    again = delivery(run_file, kept, boxes)
    again.begin(last)
    assert again(last)
    assert not caplog.text


def test_a_failure_is_reported_and_made_good(run_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept: dict[int, list[Any]] = {}
    boxes: list[Box] = []
    last = Reader(run_file).newest().epoch
    send = delivery(run_file, kept, boxes)
    assert send(1)
    boxes[0].fails = 1
    assert not send(last)
    assert "nobody answers; epochs after 1 are sent later" in caplog.text
    assert send(last)
    assert len(boxes) == 2  # a new one, which knows what arrived
    assert list(kept) == [epoch for epoch, _ in closed_slices(Reader(run_file), 0, last)]
    assert delivery(Path(f"{run_file}.none"), {}, [])(1) is False


def test_after_a_failure_it_rests(run_file: Path) -> None:
    boxes: list[Box] = []
    last = Reader(run_file).newest().epoch
    send = delivery(run_file, {}, boxes, rest=60.0)
    assert send(1)
    boxes[0].fails = 1
    assert not send(last)
    assert not send(last)
    assert boxes[0].fails == 0
    assert len(boxes) == 1


def test_rejected_messages(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    assert delivery(run_file, kept, [], rejected_messages)(Reader(run_file).newest().epoch)
    rows = [row for messages in kept.values() for row in messages]
    assert [(part, offset) for part, offset, _ in rows] == [("memory", 80), ("memory", 81)]
    assert rows[0][2].startswith("not JSON")


@pytest.mark.thorough
def test_births_bursts_and_ends_of_stories_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    kinds = [("early", 2001, 40), ("late", 2002, 30), ("late", 2003, 1)]
    items = [
        {"id": f"{kind}{year}{i}", "time": year, "title": f"About {kind}", "text": f"{kind}one {kind}two"}
        for kind, year, count in kinds
        for i in range(count)
    ]
    follow(MemorySource(items), FieldCodec(), RunFile(path), RunSettings(topics=3, threads=1))
    kept: dict[int, list[Any]] = {}
    send = delivery(path, kept, [])
    assert send(1)
    assert list(kept) == [1]
    assert send(Reader(path).newest().epoch)
    found = [(key, json.loads(value)) for epoch in sorted(kept) for key, value in kept[epoch]]
    stories = [(key, one) for key, one in found if one["type"] == "story"]
    assert [key for key, _ in stories] == ["story 0 opened 2001", "story 1 opened 2002", "story 1 burst 2002"]
    assert [(one["kind"], one["size"], one["documents"], one["title"]) for _, one in stories[1:]] == [
        ("opened", 30, 31, "About late"),
        ("burst", 30, 31, "About late"),
    ]
    assert [stories[0][1]["topic"], stories[1][1]["topic"] in range(3)] == [None, True]
    assert sorted(stories[0][1]["words"]) == ["earlyone", "earlytwo"]
    assert stories[0][1]["documents"] == 40


def test_outputs_are_sent_together_in_the_order_of_epochs(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(name: str, *epochs: int) -> Any:
        def messages(reader: Reader, after: int, upto: int) -> Any:
            return ((epoch, [f"{name}{epoch}"] * 2) for epoch in epochs if after < epoch <= upto)

        return messages

    kept: dict[int, list[Any]] = {}
    assert delivery(run_file, kept, [], together([of("a", 1, 3), of("b", 1, 2, 4)]))(3)
    assert kept == {3: ["a1", "a1", "b1", "b1", "b2", "b2", "a3", "a3"]}
    monkeypatch.setattr("vmfstream.engine.observers.delivery.TOGETHER", 3)
    kept.clear()
    delivery(run_file, kept, [], together([of("a", 1, 3), of("b", 1, 2, 4)]))(4)
    assert kept == {1: ["a1", "a1", "b1", "b1"], 3: ["b2", "b2", "a3", "a3"], 4: ["b4", "b4"]}


def test_epochs_that_a_topic_has_got_already_are_not_put_together_with_later_ones(run_file: Path) -> None:
    """Else it would get them again; another topic was added, or made again, and begins before it."""

    def messages(reader: Reader, after: int, upto: int) -> Any:
        return ((epoch, [f"a{epoch}"]) for epoch in range(after + 1, upto + 1))

    box = Box("run", {})
    box.delivered = lambda: [0, 2]  # type: ignore[method-assign]
    assert Delivery(run_file, together([messages]), lambda run: box)(4)
    assert box.kept == {2: ["a1", "a2"], 4: ["a3", "a4"]}


def test_a_thread_delivers_what_is_left_before_it_ends(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    boxes: list[Box] = []
    released: list[bool] = []
    last = Reader(run_file).newest().epoch
    send = InThread(delivery(run_file, kept, boxes), released=lambda: released.append(True))
    for epoch in range(1, last + 1):
        send(epoch)
    send.close()
    assert [epoch for epoch, _ in closed_slices(Reader(run_file), 0, last)] == list(kept)
    assert (boxes[0].closed, released) == (True, [True])


def test_what_goes_wrong_in_the_thread_ends_the_run(run_file: Path) -> None:
    def messages(reader: Reader, after: int, upto: int) -> Any:
        raise RuntimeError("a fault of the program")

    send = InThread(delivery(run_file, {}, [], messages))
    send(1)
    with pytest.raises(RuntimeError, match="a fault of the program"):
        send.close()
    with pytest.raises(RuntimeError, match="a fault of the program"):
        send(2)


def commit(epoch: int, rejected: Sequence[Rejected] = ()) -> Commit:
    """An epoch that has nothing to tell but, perhaps, of messages that it rejected."""
    return records.commit(epoch, small=True, rejected=rejected)


def stored(name: str) -> Any:
    """A message of each epoch of a run file."""

    def messages(reader: Reader, after: int, upto: int) -> Any:
        return ((epoch, [f"{name}{epoch}"]) for epoch in range(after + 1, upto + 1))

    return messages


def under_way(commits: Sequence[Commit]) -> list[str] | None:
    """What can be told of commits before they are written; nothing if one is the sixth."""
    numbers = [one.epoch.epoch for one in commits]
    return None if 6 in numbers else [f"early{number}" for number in numbers]


def test_messages_are_on_their_way_while_epochs_are_written_and_count_afterwards(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    boxes: list[Box] = []
    send = InThread(delivery(run_file, kept, boxes, stored("late"), others=stored("other")), under_way)
    with send.writing([commit(1)]):
        pass  # nobody knows yet what was sent before
    wait_until(lambda: kept == {1: ["late1"]})
    with send.writing([commit(2), commit(3)]):
        wait_until(lambda: boxes[0].under_way == ["early2", "early3"])
        assert list(kept) == [1]
    wait_until(lambda: kept == {1: ["late1"], 3: ["early2", "early3"]})
    with send.writing([commit(4, [Rejected("memory", 1, "not JSON")])]):
        wait_until(lambda: boxes[0].under_way == ["early4"])
    wait_until(lambda: kept.get(4) == ["early4", "other4"])
    with send.writing([commit(5)]), send.writing([commit(6)]):
        pass
    with send.writing([commit(7)]):
        pass
    send.close()
    assert len(boxes) == 1
    assert [one.removeprefix("early").removeprefix("late") for some in kept.values() for one in some] == [
        *["1", "2", "3", "4", "other4", "5", "6", "7"]
    ]
    assert "late6" in [one for some in kept.values() for one in some]


def test_messages_of_epochs_that_could_not_be_written_do_not_count(run_file: Path) -> None:
    kept: dict[int, list[Any]] = {}
    boxes: list[Box] = []
    send = InThread(delivery(run_file, kept, boxes, stored("late")), under_way)
    with send.writing([commit(1)]):
        pass
    wait_until(lambda: kept == {1: ["late1"]})
    with pytest.raises(StoreLocked), send.writing([commit(2)]):  # noqa: PT012
        wait_until(lambda: boxes[0].under_way == ["early2"])
        raise StoreLocked("another program has it")
    with send.writing([commit(2)]):
        pass
    send.close()
    assert kept == {1: ["late1"], 2: ["late2"]}
    assert len(boxes) == 2


def test_what_waits_to_be_sent_is_bounded(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.engine.observers.delivery._MOST_AHEAD", 2)
    kept: dict[int, list[Any]] = {}
    sending = Event()

    class Slow(Box):
        def send(self, epoch: int, messages: Iterable[Any], rest: Callable[[], Iterable[Any]] = tuple) -> int:
            assert sending.wait(PATIENCE) or epoch == 1
            return super().send(epoch, messages, rest)

    send = InThread(Delivery(run_file, stored("late"), lambda run: Slow(run, kept)), under_way)
    for epoch in range(1, 21):
        with send.writing([commit(epoch)]):
            pass
    assert len(send._begun) <= 3
    sending.set()
    send.close()
    assert [one.removeprefix("early").removeprefix("late") for some in kept.values() for one in some] == [
        str(epoch) for epoch in range(1, 21)
    ]


def test_labels_before_they_are_written_are_those_of_the_run_file(tmp_path: Path) -> None:
    seen: list[Commit] = []

    @contextmanager
    def writing(commits: Sequence[Commit]) -> Iterator[None]:
        seen.extend(commits)
        yield

    path = tmp_path / "run.duckdb"
    settings = RunSettings(topics=3, slices="year", threads=1, window=60, epoch_documents=20)
    rows = [*years({2001: 40, 2002: 40}), b"{", {"id": "empty", "time": 2002, "text": "of the"}]
    source = MemorySource(rows, part="news:0")
    follow(source, FieldCodec(), RunFile(path, writing=writing), settings, labels=True)
    reader = Reader(path)
    of_file, before = reader.outbox(0, reader.newest().epoch), outbox_of(seen)
    assert len(of_file.epoch) == 81
    for one in fields(OutboxFrame):
        ours, theirs = getattr(before, one.name), getattr(of_file, one.name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, err_msg=one.name)


def test_labels_wait_in_the_run_file_until_they_were_sent(tmp_path: Path) -> None:
    sent = 0
    path = tmp_path / "run.duckdb"
    store = RunFile(path, sent=lambda: sent)
    settings = RunSettings(topics=3, slices="year", threads=1, window=60, epoch_documents=20, documents="all")
    rows = [*years({2001: 40, 2002: 40}), b"{"]
    follow(MemorySource(rows, part="news:0"), FieldCodec(), store, settings, labels=True)
    reader = Reader(path)
    last = reader.newest().epoch
    outbox = reader.outbox(0, last)
    documents = reader.documents(DocumentChoice(reading="filtered"))
    assert outbox.offset.tolist() == list(range(80))
    assert set(outbox.part.tolist()) == {"news:0"}
    for name in ("topic", "story"):
        assert getattr(outbox, name).tolist() == getattr(documents, name).tolist()
    named = outbox.topic >= 0
    assert [bool(words) for words in outbox.words.tolist()] == named.tolist()
    assert reader.outbox(1, 2).offset.tolist() == list(range(20, 40))
    sent = last
    more = [{"id": f"n{i}", "time": 2003, "text": "ship crane"} for i in range(5)]
    source = MemorySource([*rows, *more], part="news:0")
    store.close()
    again = RunFile(path, sent=lambda: sent)
    follow(source, FieldCodec(), again, settings, labels=True)
    assert reader.outbox(0, 99).offset.tolist() == list(range(81, 86))


def test_without_labels_the_outbox_stays_empty(run_file: Path) -> None:
    assert not len(Reader(run_file).outbox(0, 99).epoch)
