"""Take snapshots while a run goes on: in a process of their own, one at a time, so that the stream does not wait."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from vmfstream.engine.loop.settings import Observer, Progress

log = logging.getLogger(__name__)


class BackgroundSnapshots:
    """An observer of an engine that takes a snapshot of its run file every so many slices.

    A snapshot that is due while another one is taken follows it.

    Parameters
    ----------
    path : Path
        The run file.
    every : int
        Slices with documents between two snapshots, >= 1.
    kinds : sequence of str
        See `vmfstream.engine.snapshots.batch.KINDS`; all if empty.
    named : mapping
        Options of the run that name functions or models, without dashes, and their values.
    """

    def __init__(
        self, path: Path, every: int, kinds: Sequence[str] = (), named: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        options = [part for kind in kinds for part in ("--kind", kind)]
        options += [f"--{option}={value}" for option, value in named.items() if value]
        self._command = [sys.executable, "-m", "vmfstream", "snapshot", str(path), "--quiet", *options]
        self._every = every
        self._slice: str | None = None
        self._epoch = 0
        self._closed = 0
        self._due = False
        self._running: subprocess.Popen[bytes] | None = None

    def __call__(self, now: Progress) -> None:
        """Take a snapshot if one is due."""
        if now.epoch != self._epoch and now.topics:
            self._closed += now.slice != self._slice
            self._epoch, self._slice = now.epoch, now.slice
            if self._closed > self._every:
                self._closed, self._due = 1, True
            elif now.finished and self._closed == self._every:
                self._closed, self._due = 0, True
        if self._due and not self._busy():
            self._begin()

    def finish(self) -> None:
        """Wait for the snapshot that is being taken, and for the last one if it is due."""
        if self._running is not None:
            self._running.wait()
        if self._due:
            self._begin()
            self.finish()

    def close(self) -> None:
        """Stop the snapshot that is being taken; nothing of it is written then."""
        if self._running is not None and self._running.poll() is None:
            self._running.terminate()
            self._running.wait()

    def _busy(self) -> bool:
        if self._running is None:
            return False
        code = self._running.poll()
        if code:
            log.warning("a snapshot failed with code %d; the next one is tried again", code)
        if code is not None:
            self._running = None
        return code is None

    def _begin(self) -> None:
        self._due = False
        # a session of its own: Ctrl-C is meant for the run, which then stops the snapshot itself
        self._running = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, start_new_session=True)


@contextmanager
def background_snapshots(
    observe: Observer,
    path: Path,
    every: int,
    kinds: Sequence[str] = (),
    named: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Observer]:
    """Yield an observer that calls ``observe`` and takes snapshots of the run file ``path``, none if ``every`` is 0.

    One is taken every ``every`` slices, of these ``kinds``, all if none is named; ``named`` as in
    `BackgroundSnapshots`. At the end of the run it waits for
    the last snapshot. If the run ends by an error the snapshot that is being taken is stopped.
    """
    if not every:
        yield observe
        return
    snapshots, ended = BackgroundSnapshots(path, every, kinds, named), False

    def report(now: Progress) -> None:
        nonlocal ended
        ended = now.finished
        observe(now)
        snapshots(now)

    try:
        yield report
        if ended:
            snapshots.finish()
    finally:
        snapshots.close()
