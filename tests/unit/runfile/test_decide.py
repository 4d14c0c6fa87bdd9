"""Decisions beside a run file and in it: whole or not there, in order, once."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tests.threads import at_once
from tests.unit.runfile.records import commit
from vmfstream.cli.logs import for_terminal
from vmfstream.dashboards.looks.escape import clean
from vmfstream.decisions import applied, check_words, decision, names_of, told, undone_by
from vmfstream.engine.loop.namer import plain
from vmfstream.errors import InputError
from vmfstream.records import Commit, Decision
from vmfstream.runfile.decide import decide, give_waiting_names
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.lease import lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.seeds import seeds_of
from vmfstream.text.tokeniser import Tokeniser


@pytest.fixture
def run_file(tmp_path: Path) -> RunFile:
    """Return a run file with two epochs, whose topics are 3 and 7."""
    run_file = RunFile(tmp_path / "run.duckdb")
    for epoch in range(2):
        run_file.commit(quiet(epoch))
    return run_file


def quiet(epoch: int) -> Commit:
    """Return a commit without events: both topics go on."""
    one = commit(epoch)
    return replace(one, closed=[replace(report, events=()) for report in one.closed])


def left(run_file: RunFile, *wanted: Decision) -> bool:
    return decide(run_file.path, wanted)


def test_decisions_wait_in_their_order_and_go_with_the_commit_that_applies_them(run_file: RunFile) -> None:
    wanted = [decision("merge", 3, 7), decision("pin", 7), decision("forbid", text="ship")]
    assert not left(run_file, *wanted)
    pending = run_file.pending()
    assert [one.key for one in pending] == [one.key for one in wanted]
    assert [replace(one, made=two.made) for one, two in zip(pending, wanted, strict=True)] == wanted
    assert [one.made for one in pending] == sorted({one.made for one in pending})
    done = [replace(applied(one, n, 2), refused="too late" if n == 2 else "") for n, one in enumerate(pending[:2], 1)]
    run_file.commit(replace(quiet(2), decisions=done))
    assert [one.key for one in run_file.pending()] == [wanted[2].key]
    checkpoint = run_file.resume()
    assert checkpoint is not None
    assert checkpoint.decisions == done
    frame = Reader(run_file.path).decisions()
    assert frame.number.tolist() == [1, 2]
    assert frame.topic.tolist() == [3, 7]
    assert frame.other.tolist() == [7, -1]
    assert frame.epoch.tolist() == [2, 2]
    assert frame.refused.tolist() == ["", "too late"]
    run_file.commit(replace(quiet(3), decisions=[applied(pending[2], 3, 3)], undone={1: 3}))
    assert not Inbox(run_file.path).folder.exists()
    assert Reader(run_file.path).decisions().undone_by.tolist() == [3, -1, -1]


def test_decisions_keep_their_order_though_the_clock_goes_back(run_file: RunFile) -> None:
    inbox = Inbox(run_file.path)
    inbox.put(decision("pin", 3), "run")
    (file,) = inbox.folder.iterdir()
    made, _, rest = file.name.partition("-")
    file.rename(file.with_name(f"{int(made) + 10**12:020d}-{rest}"))  # by a clock that was days ahead
    inbox.put(decision("unpin", 3), "run")
    assert [one.kind for one in inbox.read("run")] == ["pin", "unpin"]


def test_a_decision_that_is_in_the_run_file_goes_when_the_run_goes_on(run_file: RunFile) -> None:
    """It was killed between the commit and the removal."""
    left(run_file, decision("pin", 3))
    (one,) = run_file.pending()
    (file,) = Inbox(run_file.path).folder.iterdir()
    body = file.read_bytes()
    run_file.commit(replace(quiet(2), decisions=[applied(one, 1, 2)]))
    file.parent.mkdir()
    file.write_bytes(body)
    assert Reader(run_file.path).waiting_decisions() == []
    again = RunFile(run_file.path)
    assert again.resume() is not None
    assert again.pending() == []
    assert not file.parent.exists()


@pytest.mark.parametrize("where", ["run file", "inbox"])
def test_a_decision_that_ends_with_an_error_is_not_left(
    run_file: RunFile, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("no permission")

    if where == "run file":
        monkeypatch.setattr("vmfstream.runfile.decide._give_names", refuse)
    else:
        put = Inbox.put
        monkeypatch.setattr(Inbox, "put", lambda box, one, run: put(box, one, run) if one.topic == 3 else refuse())
    with pytest.raises(InputError, match="no permission"):
        left(run_file, decision("pin", 3), decision("pin", 7))
    assert run_file.pending() == []
    assert not Inbox(run_file.path).folder.exists()


def test_names_are_given_at_once_where_no_run_is_writing(run_file: RunFile) -> None:
    assert left(run_file, decision("name", 3, text="<b>three"), decision("name", 7, text="seven"))
    assert left(run_file, decision("name", 3, text="three"), decision("name", 7))
    reader = Reader(run_file.path)
    assert reader.topic_names() == {3: "three"}
    assert reader.decisions().undone_by.tolist() == [3, 4, -1, -1]
    assert reader.decisions().slice.tolist() == [1] * 4
    with lease(run_file.path):
        assert not left(run_file, decision("name", 3, text="third"))
        assert reader.topic_names() == {3: "three"}
        assert [one.text for one in reader.waiting_decisions()] == ["third"]
    assert left(run_file, decision("name", 7, text="7"))
    assert reader.topic_names() == {3: "third", 7: "7"}
    assert not Inbox(run_file.path).folder.exists()


def test_a_name_waits_for_another_that_is_being_given(run_file: RunFile) -> None:
    begun = Event()

    def give_another() -> None:
        with lease(run_file.path):
            begun.set()
            while not Inbox(run_file.path).keys():
                time.sleep(0.01)
            time.sleep(0.1)

    at_once([give_another, lambda: begun.wait() and left(run_file, decision("name", 3, text="three"))])
    assert Reader(run_file.path).topic_names() == {3: "three"}


def test_names_that_came_too_late_for_a_run_are_given_at_its_end(run_file: RunFile) -> None:
    assert give_waiting_names(run_file.path) == 0
    with lease(run_file.path):  # of a run that ends no slice any more
        assert not left(run_file, decision("name", 3, text="Brexit"), decision("pin", 7))
        assert give_waiting_names(run_file.path) == 2
    assert Reader(run_file.path).topic_names() == {}
    assert give_waiting_names(run_file.path) == 1
    assert Reader(run_file.path).topic_names() == {3: "Brexit"}
    assert [one.kind for one in run_file.pending()] == ["pin"]


def test_what_waits_for_another_run_and_what_cannot_be_read_is_told_once_and_left_alone(
    run_file: RunFile, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox(run_file.path)
    left(run_file, decision("pin", 7))
    inbox.put(decision("pin", 3), "another run")
    for number, body in enumerate(["{", "[]", '{"run": "", "kind": "explode", "text": ""}']):
        (inbox.folder / f"{number:020d}-key{number}.json").write_text(body)
    (inbox.folder / ".half.part").write_text("{")
    with caplog.at_level(logging.WARNING):
        assert [one.topic for one in run_file.pending()] == [7]
        assert [one.topic for one in run_file.pending()] == [7]
    assert len(caplog.records) == 4
    assert "made for another run" in caplog.text
    assert "explode" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [
        {"topic": 99999999999999999999},
        {"topic": 2**31},
        {"topic": -1},
        {"topic": 3.0},
        {"topic": "3"},
        {"topic": True},
        {"topic": None},
        {"other": 99999999999999999999},
        {"other": -2},
        {"other": 1.5},
        {"kind": "merge", "other": -1},
        {"kind": "forbid", "topic": 2**31, "text": "ship"},
        {"kind": ["pin"]},
        {"text": None},
        {"kind": "name", "text": "x" * 101},
        {"made": 10**30},
        {"made": float("inf")},
    ],
)
def test_a_damaged_decision_is_left_out_and_the_run_goes_on(
    run_file: RunFile, caplog: pytest.LogCaptureFixture, damage: dict[str, object]
) -> None:
    left(run_file, decision("pin", 7), decision("pin", 3))
    _, second = sorted(Inbox(run_file.path).folder.iterdir())
    second.write_text(json.dumps(json.loads(second.read_text()) | damage))
    with caplog.at_level(logging.WARNING):
        pending = run_file.pending()
    assert [one.topic for one in pending] == [7]
    assert "cannot be read" in caplog.text
    run_file.commit(replace(quiet(2), decisions=[applied(one, n, 2) for n, one in enumerate(pending, 1)]))
    assert second.exists()


def test_a_name_that_holds_half_a_letter_is_cleaned(run_file: RunFile) -> None:
    left(run_file, decision("pin", 7))
    (file,) = Inbox(run_file.path).folder.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"kind": "name", "text": "a\ud800b"}))
    assert left(run_file, decision("name", 3, text="three"))
    assert Reader(run_file.path).topic_names() == {3: "three", 7: "a b"}


def test_only_a_name_that_was_given_can_be_taken_away(run_file: RunFile) -> None:
    with pytest.raises(InputError, match="topic 3 has no name that was given to it"):
        left(run_file, decision("name", 7, text="seven"), decision("name", 3))
    assert run_file.pending() == []
    assert left(run_file, decision("name", 3, text="three"), decision("name", 3))
    with pytest.raises(InputError, match="topic 3 has no name that was given to it"):
        left(run_file, decision("name", 3))
    with lease(run_file.path):
        assert not left(run_file, decision("name", 7, text="seven"))
        assert not left(run_file, decision("name", 7))
        with pytest.raises(InputError, match="topic 7 has no name that was given to it"):
            left(run_file, decision("name", 7))
    assert len(run_file.pending()) == 2


def test_a_name_that_is_gone_when_it_is_to_be_taken_away_is_refused(run_file: RunFile) -> None:
    Inbox(run_file.path).put(decision("name", 3), Reader(run_file.path).run_name())
    give_waiting_names(run_file.path)
    (one,) = Reader(run_file.path).applied_decisions()
    assert one.refused == "topic 3 has no name that was given to it"


def test_a_file_without_an_epoch_takes_no_decisions(tmp_path: Path) -> None:
    empty = RunFile(tmp_path / "empty.duckdb")
    assert empty.pending() == []
    with pytest.raises(InputError, match="has not written anything yet"):
        left(empty, decision("forbid", text="ship"))
    with pytest.raises(InputError, match="no run file"):
        decide(tmp_path / "none.duckdb", [decision("pin", 3)])


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (decision("merge", 3, 4), "there is no topic 4; topics: 3, 7"),
        (decision("pin", 0), "there is no topic 0"),
        (decision("name", 5, text="five"), "there is no topic 5"),
    ],
)
def test_a_topic_that_is_not_there_is_told_at_once(run_file: RunFile, wanted: Decision, told: str) -> None:
    with pytest.raises(InputError, match=told):
        left(run_file, decision("pin", 3), wanted)
    assert run_file.pending() == []


def test_a_topic_that_ended_in_the_newest_slice_can_only_be_named(run_file: RunFile) -> None:
    run_file.commit(commit(2))  # topic 3 flows into 7
    with pytest.raises(InputError, match="topic 3 has ended; topics: 7"):
        left(run_file, decision("pin", 3))
    left(run_file, decision("name", 3, text="three"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("explode", 3), "expected one of name, pin"),
        (("pin",), "expected the id of a topic"),
        (("pin", True), "expected the id of a topic"),
        (("end", "3"), "expected the id of a topic"),
        (("merge", 3), "expected the id of a topic"),
        (("merge", 3, 3), "cannot be merged with itself"),
        (("name", 3, -1, "x" * 101), "at most 100 characters, got 101"),
        (("name", 3, -1, 5), "expected a text, got int"),
        (("forbid", -1, -1, " \x00"), "expected a word"),
    ],
)
def test_a_decision_that_says_too_little_is_none(given: tuple[object, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        decision(*given)  # type: ignore[arg-type]


def test_what_a_stranger_wrote_is_one_line_of_printed_signs() -> None:
    one = decision("name", 3, text="  a\n\x1b[31m\u202eb\tc ")
    assert one.text == "a [31m b c"
    assert told(one) == "name topic 3 'a [31m b c'"
    assert told(decision("name", 3)) == "take away the name of topic 3"


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d⚖️"])
def test_joiners_stay_inside_of_words(text: str) -> None:
    assert decision("forbid", text=f"\u200d {text}\u200c\u202e").text == text
    check_words([decision("forbid", text="می\u200cخواهم")], Tokeniser().tokens)
    (seed,) = seeds_of([{"name": text, "words": ["ship"]}])
    assert seed.name == plain(text) == clean(text) == for_terminal(text) == text
    with pytest.raises(InputError, match="expected a name of 1 to 100 characters"):
        seeds_of([{"name": "\u200d\u202e", "words": ["ship"]}])


def test_opposites_undo_each_other() -> None:
    def numbered(*some: Decision) -> list[Decision]:
        return [applied(one, number, 0) for number, one in enumerate(some, 1)]

    earlier = numbered(
        decision("pin", 1),
        decision("merge", 2, 3),
        decision("forbid", text="ship"),
        decision("name", 4, text="four"),
        replace(decision("split", 5), other=6),
        replace(decision("pin", 9), refused="no"),
        replace(decision("name", 7, text="seven"), refused="there was never a topic 7"),
    )
    for undoing, number in (
        (decision("unpin", 1), [1]),
        (decision("split", 3), [2]),
        (decision("allow", text="ship"), [3]),
        (decision("name", 4), [4]),
        (decision("merge", 6, 5), [5]),
        (decision("unpin", 9), []),
        (decision("end", 1), []),
        (decision("split", 2), []),
    ):
        assert undone_by(undoing, earlier) == number
    assert names_of(earlier, {8: "eight"}) == {4: "four", 8: "eight"}


def test_decisions_are_readable_files(run_file: RunFile) -> None:
    left(run_file, decision("forbid", text="straße"))
    (file,) = Inbox(run_file.path).folder.iterdir()
    assert json.loads(file.read_text())["text"] == "straße"
