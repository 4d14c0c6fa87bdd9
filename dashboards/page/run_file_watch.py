"""Polling of a run file that another process may be writing, once for all open pages.

The tracker cannot write while another process reads the run file. So the file is opened only after it changed; a poll
makes two small queries; and the views read a copy, which takes no longer than copying the file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any

from vmfstream.clock import now
from vmfstream.dashboards.looks import phrases
from vmfstream.dashboards.looks.escape import clean, for_json
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.page.document_lists import answer
from vmfstream.dashboards.page.drawings import Drawings, PagePlan
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.merged import rows_of_page
from vmfstream.dashboards.rows.run_rows import CachedRows, at_once, readings_of
from vmfstream.dashboards.rows.stable_layout import StableLayout
from vmfstream.errors import FormatVersion, InputError, StoreLocked, VmfstreamError
from vmfstream.runfile.queries import OpenSliceCounts, Reader, RunStatus
from vmfstream.runfile.verification import rows_checked_on_failure

_PATIENCE = 0.2  # seconds a poll waits for a file that is being written; the next poll follows soon
_COPY_PATIENCE = 5.0
_APART = 2.0  # seconds between two copies, or so many times as long as the last one took
_APART_TIMES = 4.0
_MANY_WORDS = 400_000  # stored words above which a page gets twenty per topic and date
_SMALLER = PagePlan(
    words=20, documents=2, dropped=("representative documents beyond two", "words beyond the twenty strongest")
)


class RunFileCopy:
    """Copy of a run file at one time, removed with the object; figures are drawn on first use."""

    def __init__(self, run_file: Path, layout: StableLayout | None = None) -> None:
        folder = tempfile.mkdtemp(prefix="vmfstream-")
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._lock = threading.RLock()
        copy = Path(folder) / "run.duckdb"
        Reader(run_file, timeout=_COPY_PATIENCE).copy(copy)
        self._checked_on_failure = partial(rows_checked_on_failure, copy, run_file.name)
        self.reader = reader = Reader(copy)
        self.stamp = stamp_of(reader.status())
        self.rows = CachedRows(rows_of_page(reader), layout)
        self.drawings = Drawings(self.rows)
        self._texts: dict[str, str] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._opening: tuple[str, str] | None = None

    def plan(self) -> PagePlan:
        """Return what a page gets of this run file: everything, for large run files fewer words and documents."""
        rows = self.rows.word_codes("filtered").rank.size
        return PagePlan() if rows <= _MANY_WORDS else _SMALLER

    def opening(self) -> tuple[str, str]:
        """Return the page's data as JSON, and with it the figures that every page shows at first.

        Like `documents` and `figure` it raises InputError if it fails because rows contradict each other.
        """
        with self._lock, self._checked_on_failure():
            if self._opening is None:
                table = ArrayTable()
                with at_once(self.rows):
                    data = page_data(self.rows, replace(self.plan(), listed=0), table) | {"stamp": self.stamp}
                    first = {key: table.with_references(self.drawings.figure(key)) for key in self._first(data["open"])}
                self._opening = for_json(data | {"arrays": table.entries}), for_json(first)
            return self._opening

    def _first(self, opens: dict[str, Any]) -> list[str]:
        reading, topic = opens["reading"], opens["topic"]
        rivers = [f"river/{reading}/{opens['measure']}/{width}" for width in ("wide", "phone")]
        return rivers + ([] if topic is None else [f"words/{reading}/{topic}/{form}" for form in ("ranks", "heatmap")])

    def documents(self, asked: dict[str, str]) -> str:
        """Return one page of a list of documents as JSON; raises what `document_lists.answer` raises."""
        with self._checked_on_failure():
            with self._lock:
                history = history_of(self.rows, readings_of(self.rows)[0])
            return for_json(answer(self.reader, self.rows, history, asked))

    def figure(self, key: str) -> str | None:
        """Return one figure with its arrays as JSON; None if no view has a figure of this key.

        A figure that takes long does not block others.
        """
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn, self._checked_on_failure():
            if key not in self._texts:
                try:
                    table = ArrayTable()
                    packed = table.with_references(self.drawings.figure(key))
                    self._texts[key] = for_json({"arrays": table.entries, "figure": packed})
                except KeyError:
                    self._turns.pop(key, None)  # what is no figure is not kept, however often it is asked for
                    return None
            return self._texts[key]


@dataclass(frozen=True, slots=True)
class PollResult:
    """Result of a poll: progress of the run, its open slice, and why the run file could not be read, if so."""

    pulse: RunStatus | None = None
    open: OpenSliceCounts | None = None
    problem: str = ""
    busy: float | None = None


class RunFileWatch:
    """The newest state of a run file.

    Parameters
    ----------
    run_file : path of the run file
        It need not exist yet.
    """

    def __init__(self, run_file: str | os.PathLike[str]) -> None:
        self.run_file = Path(run_file).expanduser().resolve()
        self.looks = 0  # how often the file was opened, for measurements
        self._lock = threading.RLock()
        self._seen: tuple[object, ...] | None = None
        self._found = PollResult()
        self._reader: Reader | None = None
        self._layout = StableLayout()
        self._states: list[RunFileCopy] = []
        self._next = self._since = 0.0

    def poll(self) -> dict[str, Any]:
        """Return the state that pages ask for every two seconds; the file is opened only if it has changed."""
        with self._lock:
            self._refresh()
            look = self._found
        pulse, part = look.pulse, look.open
        written = pulse.written.replace(tzinfo=UTC).timestamp() if pulse and pulse.written else None
        # by the clock, which may have been set back since, and by what this process saw
        ages = None if written is None else (now() - written, time.monotonic() - self._since)
        return {
            "age": None if ages is None else max(ages),
            "at": now(),
            "busy": look.busy,
            "epoch": -1 if pulse is None else pulse.epoch,
            "finished": pulse is not None and pulse.finished,
            "open": _open(part),
            "problem": look.problem,
            "said": look.problem or phrases.nothing_closed(0 if part is None else part.n),
            "slice": None if pulse is None else pulse.slice,
            "stamp": "" if pulse is None else stamp_of(pulse),
            "usual": None if pulse is None or pulse.usual != pulse.usual else pulse.usual,
            "writing": self._reader is not None and self._reader.writer() is not None,
        }

    def newest(self) -> RunFileCopy | None:
        """Return the newest state that may be shown now: a copy is made at most every two seconds."""
        with self._lock:
            self._refresh()
            pulse = self._found.pulse
            wanted = "" if pulse is None or pulse.slice is None else stamp_of(pulse)
            state = self._states[-1] if self._states else None
            if wanted and (state is None or state.stamp != wanted) and time.monotonic() >= self._next:
                began = time.monotonic()
                try:
                    state = RunFileCopy(self.run_file, self._layout)
                except VmfstreamError as error:
                    self.say(error)
                except OSError as error:
                    why = f"cannot copy the run file to {error.filename2 or tempfile.gettempdir()}: {error.strerror}"
                    self.say(InputError(f"{why}; make room, or let TMPDIR name another folder"))
                else:
                    self._states = [*self._states[-1:], state]
                    if self._found.problem:
                        self._seen = None  # it is over
                ended = time.monotonic()
                self._next = ended + max(_APART, _APART_TIMES * (ended - began))
            return state

    def opening(self) -> tuple[RunFileCopy, tuple[str, str]] | None:
        """Return the newest state and what a page opens with; None if there is none, and `poll` says why."""
        state = self.newest()
        try:
            return None if state is None else (state, state.opening())
        except InputError as error:
            self.say(error)
            return None

    def say(self, error: VmfstreamError) -> None:
        """Let `poll` say an error from now on, until the run file changes."""
        with self._lock:
            self._found = _failed(self._found, error)

    def state(self, stamp: str) -> RunFileCopy | None:
        """Return the state that a page shows, or the newest if that one is gone."""
        with self._lock:
            found = next((state for state in self._states if state.stamp == stamp), None)
        return found or self.newest()

    def close(self) -> None:
        """Remove the copies, unless one is being made."""
        if self._lock.acquire(timeout=1.0):
            for state in self._states:
                state.remove()
            self._states = []
            self._lock.release()

    def _refresh(self) -> None:
        seen = _signature(self.run_file)
        if seen is not None and seen == self._seen:
            return
        if seen is None:
            self._found, self._seen = PollResult(problem=phrases.no_run_file(self.run_file.name)), None
            return
        self.looks += 1
        try:
            self._reader = self._reader or Reader(self.run_file, timeout=_PATIENCE)
            status = self._reader.status()
            found = PollResult(status, self._reader.open_slice())
            before = self._found.pulse
            if before is None or status.written != before.written:
                self._since = time.monotonic()
            self._found = found
            self._seen = seen
        except VmfstreamError as error:
            self.say(error)


def stamp_of(pulse: RunStatus) -> str:
    """Return a key that changes only with closed slices, smoothed topics, batch fits or decisions of people.

    Another run in a file of the same name has another key, and so has an older copy that went on.
    """
    decided = f"-decided{pulse.decisions}" if pulse.decisions else ""
    return f"{pulse.closed}-{pulse.closed_at}-{pulse.snapshot}{decided}{'-end' if pulse.finished else ''}"


def _failed(look: PollResult, error: VmfstreamError) -> PollResult:
    """Keep what was known; a locked file is busy, one in an older format is being migrated."""
    if isinstance(error, StoreLocked):
        return PollResult(look.pulse, look.open, "", look.busy or now())
    problem = phrases.migrating() if isinstance(error, FormatVersion) else clean(str(error), 300)
    return PollResult(look.pulse, look.open, problem, None)


def _signature(run_file: Path) -> tuple[object, ...] | None:
    """Return what differs after every commit: sizes and times of the file and its journal."""
    found: list[object] = []
    for path in (run_file, run_file.with_name(run_file.name + ".wal")):
        try:
            at = path.stat()
            found += [at.st_mtime_ns, at.st_size, at.st_ino]
        except OSError:
            if path == run_file:
                return None
    return tuple(found)


def _open(part: OpenSliceCounts | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {
        "documents": [round(float(n), 1) for n in part.documents],
        "label": clean(part.label, 24),
        "n": part.n,
        "topics": part.topic.tolist(),
    }
