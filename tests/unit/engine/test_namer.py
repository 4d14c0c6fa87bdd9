"""A namer answers beside the run; whatever it does, the run goes on and topics have names."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.test_topic_names import tracked
from vmfstream.engine.loop.namer import LONGEST, BackgroundNamer, command_namer, plain
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader
from vmfstream.topic_tracker.tracker import TopicTracker


def request(topic: int = 0) -> dict[str, Any]:
    return {"topic": topic, "slice": "2001", "name": "oil", "words": [], "phrases": [], "documents": []}


def asked(function: Callable[[Any], Any], *keys: str, limit: float = 60.0) -> BackgroundNamer:
    namer = BackgroundNamer(function, limit)
    for index, key in enumerate(keys or ("key",)):
        namer.ask(key, index, request())
        namer.finish(60.0)
    return namer


def test_a_topic_is_asked_for_once_as_long_as_it_is_the_same() -> None:
    seen: list[Any] = []
    namer = asked(lambda one: f"name {seen.append(one) or len(seen)}", "a", "a", "b", "a")  # type: ignore[func-returns-value]
    assert namer.take() == [(0, 0, "name 1"), (1, 0, "name 1"), (2, 0, "name 2"), (3, 0, "name 1")]
    assert seen[0] == request()
    assert namer.take() == []


def test_its_thread_ends_when_there_is_nothing_to_ask() -> None:
    """Each tracker with a namer kept one for ever."""
    workers: list[threading.Thread] = []

    def name(one: Any) -> str:
        workers.extend(one for one in threading.enumerate() if one.name == "vmfstream-namer" and one not in workers)
        return "oil"

    namer = asked(name, "a", "b")
    assert namer.take() == [(0, 0, "oil"), (1, 0, "oil")]
    assert workers
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()


def test_nobody_waits_for_it() -> None:
    hold, began = threading.Event(), threading.Event()

    def slow(one: Any) -> str:
        began.set()
        assert hold.wait(60)
        return str(one["topic"])

    namer = BackgroundNamer(slow)
    namer.ask("first", 0, request())
    assert began.wait(60)
    for index in range(100):  # these return at once, and of all but one state nothing is kept
        namer.ask(index, index, request())
    namer.ask(99, 100, request())
    assert namer.take() == []
    hold.set()
    namer.finish(60)
    assert namer.take() == [(0, 0, "0"), (99, 0, "0"), (100, 0, "0")]


def broken(one: Any) -> str:
    raise RuntimeError("no \x1b[31m model")


def leaving(one: Any) -> str:
    sys.exit(3)


def interrupted(one: Any) -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (leaving, "failed: SystemExit: 3;"),
        (interrupted, "failed: KeyboardInterrupt;"),
        (broken, r"failed: RuntimeError: no \[31m model"),
        (lambda one: None, "answered with a NoneType instead of a text"),
        (lambda one: " \n\t --- ", "answered with nothing readable"),
        (lambda one: "", "answered with nothing readable"),
        (lambda one: "PNG\x00\x1a", "answered with bytes that are no text: 'PNG'"),
        (lambda one: b"\x89PNG \xff".decode("utf-8", "replace"), "answered with bytes that are no text"),
        (lambda one: "<p>Brexit</p>", "answered with HTML, JSON or code instead of a name: '<p>Brexit</p>'"),
        (lambda one: "<!DOCTYPE html>", "answered with HTML"),
        (lambda one: '{"name": "Brexit"}', "answered with HTML, JSON or code"),
        (lambda one: "```json\nBrexit", "answered with HTML, JSON or code"),
        (lambda one: "Sure, " + "here is a name " * 9, "answered with more than 80 characters: 'Sure, here is"),
    ],
)
def test_trouble_is_told_once_and_after_the_third_time_it_rests(
    function: Callable[[Any], Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        namer = asked(function, "a", "b")
        namer.finish(60)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("the namer ")
    assert re.search(says, caplog.messages[0])
    with caplog.at_level(logging.WARNING):
        for index in range(5):
            namer.ask(f"more {index}", index, request())
            namer.finish(60)
    assert [message for message in caplog.messages[1:] if "asked again in 10 minutes" in message] == caplog.messages[1:]
    assert len(caplog.messages) == 2
    assert namer.take() == []


def test_one_that_is_well_again_after_its_rest_names_the_same_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.engine.loop.namer._REST", 0.0)
    seen: list[Any] = []

    def ill(one: Any) -> str:
        seen.append(one)
        if len(seen) < 4:
            raise RuntimeError("too many requests")
        return "oil"

    assert asked(ill, "a", "b", "c", "a").take() == [(3, 0, "oil")]


def test_one_that_hangs_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    hold = threading.Event()
    with caplog.at_level(logging.WARNING):
        namer = asked(lambda one: str(hold.wait(60)), "a", limit=0.01)
    hold.set()
    assert "took longer than 0.01 s" in caplog.text
    assert namer.take() == []


@pytest.mark.parametrize(
    "answer", ["Brexit", "AT&T: 5 < 6 > 4", "[31m talks", "x" * LONGEST, "\n  war  \n" + "y" * 500]
)
def test_what_can_be_a_name_is_one(answer: str) -> None:
    assert asked(lambda one: answer).take() == [(0, 0, plain(answer))]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Brexit", "Brexit"),
        ("\n\n  a \t b\r\nsecond line", "a b"),
        ("\x1b]0;title\x07War", "]0;title War"),
        ("x" * 500, "x" * LONGEST),
        ("right\u202eleft", "right left"),
    ],
)
def test_answers_are_one_short_line_of_printable_letters(answer: str, name: str) -> None:
    assert plain(answer) == name


def script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "namer.py"
    path.write_text(f"import json, sys, time\n{body}\n", encoding="utf-8")
    return f"{sys.executable} {path}"


def test_a_command_gets_json_and_prints_a_name(tmp_path: Path) -> None:
    command = script(tmp_path, "one = json.load(sys.stdin)\nprint('The', one['name'], one['topic'])\nprint('more')")
    assert plain(command_namer(command)(request(7))) == "The oil 7"


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        ("sys.exit(3)", RuntimeError, "exit code 3$"),
        ("sys.exit('x' * 999_999 + '\\nno key\\n')", RuntimeError, "exit code 1: no key$"),
        ("time.sleep(600)", TimeoutError, "took longer than 0.5 s"),
    ],
)
def test_a_command_that_fails_or_hangs(body: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=says):
        command_namer(script(tmp_path, body), limit=0.5 if "longer" in says else 60)(request())


def test_nobody_waits_for_what_a_command_has_started(tmp_path: Path) -> None:
    """What is started keeps the output open, such as a server of a model that goes on."""
    child, over = tmp_path / "child", tmp_path / "over"
    started = f"__import__('subprocess').Popen(['sh', '-c', 'sleep 30; echo > {over}']).pid"
    body = f"print({started}, file=open({str(child)!r}, 'w'))\nprint('ports')"
    assert command_namer(script(tmp_path, body))(request()) == "ports\n"
    assert not over.exists()
    os.kill(int(child.read_text()), signal.SIGKILL)


def test_a_command_that_never_stops_talking_is_ended(tmp_path: Path) -> None:
    assert set(command_namer(script(tmp_path, "while True: print('y' * 9999)"))(request())) == {"y", "\n"}


def test_a_command_that_runs_is_ended_when_its_process_ends(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    body = f"import os\nwith open({str(begun)!r}, 'a') as file: print(os.getpid(), file=file)\ntime.sleep(600)"
    lines = [
        "from pathlib import Path",
        "from tests.unit.engine.test_namer import request",
        "from tests.waiting import wait_for",
        "from vmfstream.engine.loop.namer import BackgroundNamer, command_namer",
        f"namer, begun = BackgroundNamer(command_namer({script(tmp_path, body)!r})), Path({str(begun)!r})",
        "for topic in range(3):",
        "    namer.ask(topic, 0, request(topic))",
        "wait_for(lambda: begun.exists() and begun.read_text(), bool)",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, cwd=Path(__file__).parents[3])
    (process,) = begun.read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


@pytest.mark.parametrize("command", ["", "  ", "say 'no"])
def test_what_is_no_command_is_refused(command: str) -> None:
    with pytest.raises(InputError, match="--namer: expected a program and its arguments, got"):
        command_namer(command)


def test_a_tracker_has_the_names_that_were_given(tmp_path: Path) -> None:
    tracker = tracked(range(2001, 2003), TopicTracker(topics=3, stories=False, namer=lambda one: one["name"].upper()))
    tracker.finish()
    plainly = tracked(range(2001, 2003))
    plainly.finish()
    wanted = [row["name"].upper() for row in plainly.topics()]
    assert [row["name"] for row in tracker.topics()] == wanted
    tracker.save(tmp_path / "run.duckdb")
    frame = Reader(tmp_path / "run.duckdb").names()
    assert frame.name.tolist() == wanted
    assert frame.given.all()
    assert [row["name"] for row in TopicTracker.load(tmp_path / "run.duckdb").topics()] == wanted


def test_a_run_is_the_same_whatever_the_namer_does() -> None:
    plainly, troubled = (
        tracked(range(2001, 2003), TopicTracker(topics=3, stories=False, namer=namer)) for namer in (None, broken)
    )
    assert [row["words"] for row in troubled.topics()] == [row["words"] for row in plainly.topics()]
    assert [row["name"] for row in troubled.topics()] == [row["name"] for row in plainly.topics()]


def test_a_namer_is_a_function() -> None:
    with pytest.raises(InputError, match="namer: expected a function, got str"):
        TopicTracker(namer="gpt")  # type: ignore[arg-type]
