"""Ask an external namer, such as a language model, for names of topics in the background; the run never waits for it.

A namer gets what is known of a topic and returns a name. It is called in a thread of its own, one topic at a time, and
again only if what tells the topic from others has changed. Until it has answered, and whenever it fails, takes too
long or answers nonsense, the topic keeps its automatic name.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from vmfstream.decisions import one_line
from vmfstream.errors import InputError

Request: TypeAlias = Mapping[str, Any]
"""What is known of a topic: ``topic`` (its number), ``slice`` (a label), ``name`` (the automatic one), ``words`` and
``phrases`` (pairs with weights, the largest first), ``documents`` (titles of representative ones)."""

NamingFunction: TypeAlias = Callable[[Request], str]
"""Returns the name of a topic: one line of at most `LONGEST` characters, without HTML, JSON or code."""

Given: TypeAlias = tuple[int, int, str]
"""The number of a slice, a topic, and its name there."""

LIMIT = 30.0
"""Seconds that one answer may take."""

LONGEST = 80
"""Characters of a name."""

_REMEMBERED = 4096
"""Answers that are remembered."""

_MOST_FAILURES = 3
"""After so many failures in a row a namer rests."""

_REST = 600.0
"""Seconds that it rests; one failure more, and it rests again."""

_MOST_BYTES = 65_536

_LOOK = 0.1  # seconds between two looks whether a program has ended

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    request: Request
    slices: list[int] = field(default_factory=list)


class BackgroundNamer:
    """Asks a namer in a thread, which ends when there is nothing to ask.

    Parameters
    ----------
    function : called with a request, returns a name.
    limit : seconds that one answer may take.

    Notes
    -----
    Of a topic that changes faster than the namer answers only the newest state waits, so that memory is bounded. What
    a function does that was given up goes on in its thread, with no effect.
    """

    def __init__(self, function: NamingFunction, limit: float = LIMIT) -> None:
        self._function, self._limit = function, limit
        self._waiting: dict[int, tuple[Any, _Waiting]] = {}
        self._answers: dict[Any, str | None] = {}
        self._given: list[Given] = []
        self._busy = self._warned = False
        self._failures, self._rests_until = 0, float("-inf")
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def ask(self, key: Any, index: int, request: Request) -> None:
        """Ask for the name of the topic of a ``request`` in slice ``index``; equal ``key``, equal name."""
        topic = int(request["topic"])
        with self._changed:
            if key in self._answers:
                self._give(topic, [index], self._answers[key])
                self._waiting.pop(topic, None)
                return
            if time.monotonic() < self._rests_until:
                return
            known, waiting = self._waiting.get(topic, (None, _Waiting(request)))
            if known != key:
                waiting = _Waiting(request)
            waiting.slices.append(index)
            self._waiting[topic] = key, waiting
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="vmfstream-namer", daemon=True)
                self._thread.start()

    def take(self) -> list[Given]:
        """Return the names that were given since the last call."""
        with self._changed:
            given, self._given = self._given, []
        return given

    def finish(self, seconds: float) -> None:
        """Wait until everything is answered, so many seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._busy), seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None  # the next question begins another one
                    return
                topic = next(iter(self._waiting))
                key, waiting = self._waiting.pop(topic)
                self._busy = True
            name, trouble = self._called(waiting.request)
            with self._changed:
                self._answers[key] = name
                while len(self._answers) > _REMEMBERED:
                    del self._answers[next(iter(self._answers))]
                self._give(topic, waiting.slices, name)
                self._failures = self._failures + 1 if name is None else 0
                if self._failures >= _MOST_FAILURES:
                    self._waiting.clear()
                    self._answers = {known: one for known, one in self._answers.items() if one is not None}
                    self._rests_until = time.monotonic() + _REST
                    trouble += f"; it is asked again in {_REST / 60:g} minutes"
                if name is None and (not self._warned or self._failures == _MOST_FAILURES):
                    self._warned = True
                    log.warning("the namer %s; topics keep their automatic names", trouble)
                self._busy = False
                self._changed.notify_all()

    def _give(self, topic: int, slices: Sequence[int], name: str | None) -> None:
        if name is not None:
            self._given += [(index, topic, name) for index in slices]

    def _called(self, request: Request) -> tuple[str | None, str]:
        """Return the name, or None and what was the trouble."""
        found: list[Any] = []

        def call() -> None:
            try:
                found.append(self._function(request))
            except BaseException as error:  # whatever a stranger's function raises, SystemExit too
                found.append(error)

        thread = threading.Thread(target=call, name="vmfstream-namer-call", daemon=True)
        thread.start()
        thread.join(self._limit)
        if not found:
            return None, f"took longer than {self._limit:g} s"
        if isinstance(found[0], BaseException):
            said = plain(str(found[0]))
            return None, f"failed: {type(found[0]).__name__}{said and f': {said}'}"
        if not isinstance(found[0], str):
            return None, f"answered with a {type(found[0]).__name__} instead of a text"
        trouble = _nonsense(found[0])
        return (None, trouble) if trouble else (plain(found[0]), "")


_MARKUP = re.compile(r"</?[a-zA-Z!][^>]*>|^(\{|\[[\"{]|```)")
"""Tags of HTML, and beginnings of JSON and Markdown code."""


def _nonsense(answer: str) -> str:
    """Say why an answer is no name; nothing if it is one."""
    line = _first_line(answer)
    if "\ufffd" in line or "\0" in line:
        return f"answered with bytes that are no text: {plain(line)!r}"
    if not any(letter.isalnum() for letter in line):
        return "answered with nothing readable"
    if _MARKUP.search(line.strip()):
        return f"answered with HTML, JSON or code instead of a name: {plain(line)!r}"
    if len(" ".join(line.split())) > LONGEST:
        return f"answered with more than {LONGEST} characters: {plain(line)!r}"
    return ""


def _first_line(text: str) -> str:
    """Return the first line that is not blank."""
    return next((line for line in text[:_MOST_BYTES].splitlines() if line.strip()), "")


def plain(text: str) -> str:
    """Return the first line of a text as a name: printable characters, single blanks, at most `LONGEST`.

    Examples
    --------
    >>> plain("  Brexit \\x1b[31m talks\\nmore")
    'Brexit [31m talks'
    """
    return one_line(_first_line(text))[:LONGEST].rstrip()


def command_namer(command: str, limit: float = LIMIT) -> NamingFunction:
    """Return a function that runs a command for each topic: JSON on its standard input, the name on its first line.

    Parameters
    ----------
    command : a program and its arguments, as a shell would read them; no shell is started.
    limit : seconds after which the program and what it started are ended; they are ended too when this process ends.

    Raises
    ------
    InputError
        If it names no program that is there.
    """
    try:
        program = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--namer: expected a program and its arguments, got {command!r}: {error}") from None
    if not program:
        raise InputError("--namer: expected a program and its arguments, got nothing")
    if shutil.which(program[0]) is None:
        raise InputError(f"--namer: there is no program {program[0]!r} that can be run")

    programs = _Programs()

    def ask(request: Request) -> str:
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with programs.started(program) as process:
            late = threading.Event()

            def end() -> None:
                late.set()
                _ended(process)

            timer = threading.Timer(limit, end)
            timer.start()
            try:
                assert process.stdin is not None
                with suppress(BrokenPipeError):  # it need not read what it is told
                    process.stdin.write(body)
                    process.stdin.close()
                answer, errors = _said(process, late)
                if len(answer) >= _MOST_BYTES:
                    _ended(process)
                code = process.wait()
            finally:
                timer.cancel()
        if late.is_set():
            raise TimeoutError(f"{program[0]} took longer than {limit:g} s")
        if code and len(answer) < _MOST_BYTES:
            why = plain((errors.decode("utf-8", "replace").strip().splitlines() or [""])[-1])
            raise RuntimeError(f"{Path(program[0]).name} ended with exit code {code}{why and f': {why}'}")
        return answer.decode("utf-8", "replace")

    return ask


class _Programs:
    """Starts programs, and ends those that still run when this process ends: nobody would end them afterwards."""

    def __init__(self) -> None:
        self._newest: subprocess.Popen[bytes] | None = None
        self._over = False
        self._lock = threading.Lock()
        atexit.register(self._end)

    def started(self, program: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program; those before have been ended."""
        pipe = subprocess.PIPE
        with self._lock:
            if self._over:
                raise RuntimeError("this process ends")
            self._newest = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
            return self._newest

    def _end(self) -> None:
        with self._lock:
            self._over = True
            if self._newest is not None:
                _ended(self._newest)
                self._newest.wait()


def _said(process: subprocess.Popen[bytes], late: threading.Event) -> tuple[bytes, bytes]:
    """Return what a program says until it ends, or is late, and the end of what it says to standard error.

    What it has started may keep both open longer.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = process.stdout.fileno(), process.stderr.fileno()
    said = {output: b"", errors: b""}
    opened = [output, errors]
    while len(said[output]) < _MOST_BYTES and not late.is_set():
        over = process.poll() is not None
        ready = select.select(opened, [], [], 0.0 if over else _LOOK)[0]
        for one in ready:
            piece = os.read(one, _MOST_BYTES)
            said[one] += piece
            if not piece:
                opened.remove(one)
        said[errors] = said[errors][-_MOST_BYTES:]
        if not opened or (over and not ready):
            break
    return said[output], said[errors]


def _ended(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started, if it has not ended yet."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
