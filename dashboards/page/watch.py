"""A log that another process may be writing, looked at for all open pages together.

The tracker waits while anybody reads the log. So nothing is opened while the file has not changed; a look asks two
small questions; and the rows for the views are read from a copy, which is made in the time of copying a file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from vmfstream.dashboards.looks import wording
from vmfstream.dashboards.looks.escape import clean, for_json
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.page.drawings import Drawings, Plan
from vmfstream.dashboards.page.packing import Arrays
from vmfstream.dashboards.rows.log import Moment
from vmfstream.dashboards.rows.stable_layout import Steady
from vmfstream.errors import FormatVersion, StoreLocked, VmfstreamError
from vmfstream.runfile.queries import OpenSlice, Reader, RunStatus

_PATIENCE = 0.2  # seconds a look waits for a file that is being written; the next look is not far
_COPY_PATIENCE = 5.0
_APART = 2.0  # seconds between two copies, or so many times as long as the last one took
_APART_TIMES = 4.0
_MANY_WORDS = 400_000  # stored words above which a page gets twenty per topic and date
_SMALLER = Plan(words=20, documents=2, dropped=("typical documents beyond two", "words beyond the twenty strongest"))


class State:
    """One state of a log, in a copy of its own that lasts as long as the object; figures are drawn when asked for."""

    def __init__(self, log: Path, steady: Steady | None = None) -> None:
        folder = tempfile.mkdtemp(prefix="vmfstream-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._lock = threading.RLock()
        copy = Path(folder) / "log.duckdb"
        Reader(log, timeout=_COPY_PATIENCE).copy(copy)
        reader = Reader(copy)
        self.stamp = stamp_of(reader.status())
        self.rows = Moment(reader, steady)
        self.drawings = Drawings(self.rows)
        self._texts: dict[str, str] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._opening: tuple[str, str] | None = None

    def plan(self) -> Plan:
        """Return what a page gets of this log: everything, of large ones fewer words and documents."""
        rows = self.rows.word_codes("then").rank.size
        return Plan() if rows <= _MANY_WORDS else _SMALLER

    def opening(self) -> tuple[str, str]:
        """Return the page's data as JSON, and with it the figures that every page shows at first."""
        with self._lock:
            if self._opening is None:
                table = Arrays()
                data = page_data(self.rows, self.plan(), table) | {"stamp": self.stamp}
                first = {key: table.packed(self.drawings.figure(key)) for key in self._first(data["open"])}
                self._opening = for_json(data | {"arrays": table.entries}), for_json(first)
            return self._opening

    def _first(self, opens: dict[str, Any]) -> list[str]:
        reading, topic = opens["reading"], opens["topic"]
        rivers = [f"river/{reading}/{opens['measure']}/{width}" for width in ("wide", "phone")]
        return rivers + ([] if topic is None else [f"words/{reading}/{topic}/{form}" for form in ("ladder", "strips")])

    def figure(self, key: str) -> str | None:
        """Return one figure with its arrays as JSON; None if no view has a figure of this key.

        A figure that takes long lets others pass.
        """
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            if key not in self._texts:
                try:
                    table = Arrays()
                    packed = table.packed(self.drawings.figure(key))
                    self._texts[key] = for_json({"arrays": table.entries, "figure": packed})
                except KeyError:
                    return None
            return self._texts[key]


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the log found: how far it is, its open slice, and in words why it could not be read."""

    pulse: RunStatus | None = None
    open: OpenSlice | None = None
    problem: str = ""
    busy: float | None = None


class Watch:
    """The newest state of a log.

    Parameters
    ----------
    log : path
        It need not exist yet.
    """

    def __init__(self, log: str | os.PathLike[str]) -> None:
        self.log = Path(log).expanduser().resolve()
        self.looks = 0  # how often the file was opened, for those who measure
        self._lock = threading.RLock()
        self._seen: tuple[object, ...] | None = None
        self._look = Look()
        self._reader: Reader | None = None
        self._steady = Steady()
        self._states: list[State] = []
        self._next = 0.0

    def poll(self) -> dict[str, Any]:
        """Return what a page wants to know every two seconds; the file is opened only if it has changed."""
        with self._lock:
            self._refresh()
            look = self._look
        pulse, part = look.pulse, look.open
        written = pulse.written.replace(tzinfo=UTC).timestamp() if pulse and pulse.written else None
        return {
            "age": None if written is None else max(0.0, time.time() - written),
            "at": time.time(),
            "busy": look.busy,
            "epoch": -1 if pulse is None else pulse.epoch,
            "finished": pulse is not None and pulse.finished,
            "open": _open(part),
            "problem": look.problem,
            "said": look.problem or wording.nothing_closed(0 if part is None else part.n),
            "slice": None if pulse is None else pulse.slice,
            "stamp": "" if pulse is None else stamp_of(pulse),
            "usual": None if pulse is None or pulse.usual != pulse.usual else pulse.usual,
            "writing": self._reader is not None and self._reader.writer() is not None,
        }

    def newest(self) -> State | None:
        """Return the newest state that may be shown now: a copy is made at most every two seconds."""
        with self._lock:
            self._refresh()
            pulse = self._look.pulse
            wanted = "" if pulse is None or pulse.slice is None else stamp_of(pulse)
            held = self._states[-1] if self._states else None
            if wanted and (held is None or held.stamp != wanted) and time.monotonic() >= self._next:
                began = time.monotonic()
                try:
                    held = State(self.log, self._steady)
                except VmfstreamError as error:
                    self._look = _failed(self._look, error)
                else:
                    self._states = [*self._states[-1:], held]
                now = time.monotonic()
                self._next = now + max(_APART, _APART_TIMES * (now - began))
            return held

    def state(self, stamp: str) -> State | None:
        """Return the state that a page shows, or the newest if that one is gone."""
        with self._lock:
            found = next((state for state in self._states if state.stamp == stamp), None)
        return found or self.newest()

    def _refresh(self) -> None:
        seen = _signature(self.log)
        if seen is not None and seen == self._seen:
            return
        if seen is None:
            self._look, self._seen = Look(problem=wording.no_log(self.log.name)), None
            return
        self.looks += 1
        try:
            self._reader = self._reader or Reader(self.log, timeout=_PATIENCE)
            self._look = Look(self._reader.status(), self._reader.open_slice())
            self._seen = seen
        except VmfstreamError as error:
            self._look = _failed(self._look, error)


def stamp_of(pulse: RunStatus) -> str:
    """Return what changes when closed slices, their hindsight or batch fits do, and at nothing else."""
    return f"{pulse.closed}-{pulse.snapshot}{'-end' if pulse.finished else ''}"


def _failed(look: Look, error: VmfstreamError) -> Look:
    """Keep what was known; a held file is busy, one between two formats is being brought up to date."""
    if isinstance(error, StoreLocked):
        return Look(look.pulse, look.open, "", look.busy or time.time())
    problem = wording.migrating() if isinstance(error, FormatVersion) else clean(str(error), 300)
    return Look(look.pulse, look.open, problem, None)


def _signature(log: Path) -> tuple[object, ...] | None:
    """Return what differs after every commit: sizes and times of the file and its journal."""
    found: list[object] = []
    for path in (log, log.with_name(log.name + ".wal")):
        try:
            at = path.stat()
            found += [at.st_mtime_ns, at.st_size, at.st_ino]
        except OSError:
            if path == log:
                return None
    return tuple(found)


def _open(part: OpenSlice | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {
        "documents": [round(float(n), 1) for n in part.documents],
        "label": clean(part.label, 24),
        "n": part.n,
        "topics": part.topic.tolist(),
    }
