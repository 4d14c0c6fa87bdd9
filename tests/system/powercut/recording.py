"""Record all writes of a program below a folder, and make the states of the disk that a power cut could leave.

Writes reach the disk when their file is synced, names when their folder is. What was not synced at the moment of the
cut may be there or not, in any mixture of pages. ``pages`` keeps each page with one half; ``zeros`` keeps what was
written up to some point, and zeros from there to the end of the file; ``lost`` keeps nothing that was not synced.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.preloaded import library

PAGE = 4096
KINDS = ("pages", "zeros")


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a program: see ``recorder.c``."""

    kind: str
    inode: int
    offset: int
    body: bytes


def recorder(folder: Path) -> Path:
    """Compile the library that records; return where it is."""
    return library(Path(__file__).with_name("recorder.c"), folder)


def environment(preloaded: Path, folder: Path, record: Path | None = None) -> dict[str, str]:
    """Return the environment in which a program is recorded, or can be (``powercut_arm``)."""
    told = {"LD_PRELOAD": str(preloaded), "POWERCUT_FOLDER": str(folder)}
    return os.environ | told | ({} if record is None else {"POWERCUT_RECORD": str(record)})


def events(record: Path) -> list[Event]:
    """Read what was recorded."""
    body, at, found = record.read_bytes(), 0, []
    while at < len(body):
        kind, inode, offset, length = struct.unpack_from("<cQQQ", body, at)
        at += 25
        found.append(Event(kind.decode(), inode, offset, body[at : at + length]))
        at += length
    return found


@dataclass
class _File:
    """What is on disk of a file, and the changes since: writes, or a new length."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)


class Disk:
    """Files of one folder: what is on disk, and what would be lost by a power cut now."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self._names = {name: _File(bytearray(body)) for name, body in (files or {}).items()}
        self._durable = dict(self._names)
        self._pending: list[dict[str, _File | None]] = []
        self._inodes: dict[int, _File] = {}

    def apply(self, event: Event, inodes: Mapping[int, str] | None = None) -> None:
        """Let a call happen; ``inodes`` has the names of files that were there before."""
        if event.kind in "WTS" and event.inode not in self._inodes:
            self._inodes[event.inode] = self._names[(inodes or {})[event.inode]]
        match event.kind:
            case "C":
                file = self._inodes[event.inode] = _File()
                self._rename({event.body.decode(): file})
            case "W":
                self._inodes[event.inode].pending.append((event.offset, event.body))
            case "T":
                self._inodes[event.inode].pending.append((event.offset, None))
            case "S":
                file = self._inodes[event.inode]
                for change in file.pending:
                    _change(file.durable, *change)
                file.pending.clear()
            case "D":
                for renamed in self._pending:
                    _set(self._durable, renamed)
                self._pending.clear()
            case "R":
                old, new = event.body.decode().split("\0")
                self._rename({new: self._names[old], old: None})
            case "U":
                self._rename({event.body.decode(): None})

    def files(self) -> dict[str, bytes]:
        """Return the files as the program sees them, and as they are when only the program was killed."""
        found = {name: (bytearray(file.durable), file.pending) for name, file in self._names.items()}
        for body, pending in found.values():
            for change in pending:
                _change(body, *change)
        return {name: bytes(body) for name, (body, _) in found.items()}

    def _rename(self, renamed: dict[str, _File | None]) -> None:
        _set(self._names, renamed)
        self._pending.append(renamed)

    def after_cut(self, kind: str, rng: random.Random) -> dict[str, bytes]:
        """Return the files that a power cut at this moment may leave."""
        names = dict(self._durable)
        if kind == "lost":
            return {name: bytes(file.durable) for name, file in names.items()}
        for renamed in self._pending[: rng.randint(0, len(self._pending))]:
            _set(names, renamed)
        return {name: (_lost_pages if kind == "pages" else _zeroed)(file, rng) for name, file in names.items()}


def _set(names: dict[str, _File], renamed: Mapping[str, _File | None]) -> None:
    for name, file in renamed.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def _change(body: bytearray, offset: int, written: bytes | None) -> None:
    if written is None:
        del body[offset:]
        offset, written = offset, b""
    if len(body) < offset:
        body.extend(bytes(offset - len(body)))
    body[offset : offset + len(written)] = written


def _lost_pages(file: _File, rng: random.Random) -> bytes:
    body = bytearray(file.durable)
    for offset, written in file.pending:
        if written is None:
            if rng.random() < 0.5:
                _change(body, offset, None)
            continue
        start = offset
        while start < offset + len(written):
            end = min((start // PAGE + 1) * PAGE, offset + len(written))
            if rng.random() < 0.5:
                _change(body, start, written[start - offset : end - offset])
            start = end
    return bytes(body)


def _zeroed(file: _File, rng: random.Random) -> bytes:
    body, before = bytearray(file.durable), len(file.durable)
    some = file.pending[: rng.randint(0, len(file.pending))]
    for change in some:
        _change(body, *change)
    if some and len(body) > before:
        cut = rng.randint(before, len(body))
        body[cut:] = bytes(len(body) - cut)
    elif some and (written := some[-1][1]):  # of the last write only a part
        place, torn = some[-1][0], rng.randrange(0, len(written), 512)
        old = bytes(file.durable[place + torn : place + len(written)])
        body[place + torn : place + len(written)] = old.ljust(len(written) - torn, b"\0")
    return bytes(body)


@dataclass(frozen=True, slots=True)
class State:
    """Files after a power cut, and the last mark that the program had made before it."""

    kind: str
    at: int
    files: Mapping[str, bytes]
    mark: str


def cuts(recorded: Sequence[Event], kind: str, count: int, seed: int) -> Iterator[State]:
    """Cut the power ``count`` times, at moments spread evenly over the calls of a program."""
    rng = random.Random(f"{kind}{seed}")
    moments = sorted(rng.choices(range(1, len(recorded) + 1), k=count))
    disk, mark, done = Disk(), "", 0
    for moment in moments:
        for event in recorded[done:moment]:
            disk.apply(event)
            if event.kind == "M" and event.body.startswith(b"mark-"):
                mark = event.body.decode()
        done = moment
        yield State(kind, moment, disk.after_cut(kind, rng), mark)
