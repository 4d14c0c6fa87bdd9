"""Let every single call of a program to the file layer fail, or all from there on, or cut the power; then go on.

What is tried are scenes: the begin of a run, each of its transactions, its end, the undoing of one that was cut off,
names, a decision, an older file, a saved tracker, a frozen model, a page. A scene is played in a process of its own,
forked from one that has all modules loaded, in which one call fails. If it did not say that it failed, all must be
there; in any case another process then goes on to the same end.

python -m tests.system.powercut.failing_calls [--every N] [--scene NAME]...
"""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from tests.system.powercut.power_cuts import ROOT, lay_out
from tests.system.powercut.program import NAME, digest_over
from tests.system.powercut.recording import Disk, Event, environment, events, recorder
from tests.unit.runfile.test_upgrade import unpacked
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.decisions import decision
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import VmfstreamError
from vmfstream.folders import write_file
from vmfstream.records import Commit
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.runfile.connection import connected
from vmfstream.runfile.decide import decide
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.lease import lease
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.rollback import journal_of
from vmfstream.runfile.stored_decisions import run_name
from vmfstream.runfile.upgrade import upgrade
from vmfstream.runfile.writer import RunFile

FAILURES = ("one error", "no room from there on", "all fails from there on", "half a write")
"""In the order of `recorder.c`."""

CUTS = ("kill", "pages", "zeros", "lost")
EPOCHS = 20
_KEPT = (".duckdb", ".lock", ".html", ".zip")  # what may lie in the folder when all is over


@dataclass(frozen=True, slots=True)
class Scene:
    """What a process does to the files of a folder.

    Given the path of the run file, ``act`` does it; ``again`` does it after it was disturbed, if it was not done;
    ``look`` says what is there then.
    """

    name: str
    files: Mapping[str, bytes]
    act: Callable[[Path], object]
    again: Callable[[Path], object]
    look: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Played:
    """How the process of a scene ended, and what it did: its calls, counted and recorded."""

    said: str
    calls: int
    recorded: Sequence[Event]
    scene: Scene
    inodes: Mapping[int, str]

    def disk(self, calls: int) -> Disk:
        """Return the disk after so many of the recorded calls."""
        disk = Disk(self.scene.files)
        for event in self.recorded[:calls]:
            disk.apply(event, self.inodes)
        return disk


class Stage:
    """A folder in which scenes are played."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run" / NAME
        self._record, self._result = folder / "record", folder / "result"
        self._arm = ctypes.CDLL(None).powercut_arm

    def undisturbed(self, scene: Scene) -> str:
        """Return what is there after a scene."""
        lay_out(self.path.parent, scene.files)
        scene.act(self.path)
        return scene.look(self.path)

    def files(self) -> dict[str, bytes]:
        """Return all files as they are."""
        below = self.path.parent
        return {str(one.relative_to(below)): one.read_bytes() for one in below.rglob("*") if one.is_file()}

    def _left(self) -> list[str]:
        return sorted(name for name in self.files() if not (name.endswith(_KEPT) or ".part" in name))

    def play(self, scene: Scene, call: int = 0, how: int = 0) -> Played:
        """Play a scene in a process of its own, in which a call fails unless it is 0."""
        lay_out(self.path.parent, scene.files)
        inodes = {(self.path.parent / name).stat().st_ino: name for name in scene.files}
        child = os.fork()
        if not child:
            signal.alarm(100)
            self._arm(os.fsencode(self._record), call, how)
            try:
                scene.act(self.path)
                said = "done"
            except VmfstreamError as error:
                said = f"told: {error}"
            except BaseException as error:
                said = f"raised {error!r}"
            self._result.write_bytes(pickle.dumps((said, self._arm(None, 0, 0))))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        said, calls = (f"ended by {status}", 0) if status else pickle.loads(self._result.read_bytes())
        return Played(said, calls, events(self._record), scene, inodes)

    def outcome(self, scene: Scene, said: str, wanted: str) -> str:
        """Go on after a scene was disturbed, and look at what is there; say "right", or what is wrong."""
        if said.startswith(("raised", "ended")):
            return said
        try:
            if said != "done":
                scene.again(self.path)
            if scene.look(self.path) != wanted:
                return f"{said}, and something else is there in the end"
            if self._left():  # the next process removes it
                scene.again(self.path)
                if self.path.exists():
                    RunFile(self.path)
        except Exception as error:
            return f"{said}, and then {error!r}"
        left = self._left()
        return f"{said}, and leaves {left}" if left else "right"


def tried(stage: Stage, scene: Scene, chosen: Callable[[], bool]) -> Iterator[tuple[str, int, str]]:
    """Yield for each call what was done to it, its number, and what came of it."""
    wanted = stage.undisturbed(scene)
    whole = stage.play(scene)
    assert whole.said == "done", (scene.name, whole.said)
    assert whole.calls > 1, (scene.name, whole.calls)
    rng = random.Random(scene.name)
    for how, kind in enumerate(FAILURES):
        for call in range(1, whole.calls + 1):
            if chosen():
                played = stage.play(scene, call, how)
                yield kind, call, stage.outcome(scene, played.said, wanted)
                if (call + how) % len(FAILURES) == 0:
                    at = rng.randint(min(call, len(played.recorded)), len(played.recorded))
                    lay_out(stage.path.parent, played.disk(at).after_cut(rng.choice(CUTS[1:]), rng))
                    said = played.said if at == len(played.recorded) else "cut"
                    yield f"{kind}, then a power cut", call, stage.outcome(scene, said, wanted)
    disk = Disk(scene.files)
    for number, event in enumerate(whole.recorded, 1):
        disk.apply(event, whole.inodes)
        for kind in CUTS:
            if chosen():
                lay_out(stage.path.parent, disk.files() if kind == "kill" else disk.after_cut(kind, rng))
                said = "done" if number == len(whole.recorded) else "cut"
                yield f"cut: {kind}", number, stage.outcome(scene, said, wanted)


def scenes(stage: Stage) -> Iterator[Scene]:
    """Yield a run's scenes in their order, then others."""
    settings, commits = recorded_run()
    folder, files = stage.path.parent, dict[str, bytes]()

    def begin(path: Path) -> None:
        store = RunFile(path)
        with lease(path):
            store.settings(settings)
            store.resume()

    yield Scene("begin", {}, begin, begin, rows)
    lay_out(folder, {})
    begin(stage.path)
    files = stage.files()
    store = RunFile(stage.path)
    for one in commits:

        def commit(_: Path, one: Commit = one) -> None:
            store.commit(one)

        def again(path: Path, one: Commit = one) -> None:
            if asked(path, "select count(*) from epoch where epoch = " + str(one.epoch.epoch)) == [(0,)]:
                store.commit(one)

        scene = Scene(f"epoch {one.epoch.epoch}", files, commit, again, rows)
        yield scene
        if one.epoch.epoch == EPOCHS // 2:
            yield Scene("undoing", last_before_it_counts(stage, scene), RunFile, RunFile, rows)
        lay_out(folder, files)
        store.commit(one)
        files = stage.files()

    def end(path: Path) -> None:
        store = RunFile(path)
        with lease(path):
            store.compact()

    yield Scene("end", files, end, end, rows)

    def name(_: Path) -> None:
        store.name_topics([(0, 0, "harbour")])

    def name_again(path: Path) -> None:
        if not asked(path, "from given_name"):
            name(path)

    yield Scene("name", files, name, name_again, rows)

    def decide_name(path: Path) -> None:
        decide(path, [decision("name", 0, text="harbour")])

    yield Scene("decision", files, decide_name, decide_name, decided)

    older = {NAME: unpacked("run", lay_out(folder, {}).parent).read_bytes()}
    up_to_date = partial(upgrade, timeout=10.0)
    yield Scene("older file", older, up_to_date, up_to_date, rows)

    tracker = TopicTracker(3, slices="year").learn(["cat fur paw", "ship sea harbour", "moon comet orbit"] * 9, 2001)
    tracker.learn(["sea ship"], 2002)
    frozen = tracker.freeze()
    yield written("saved tracker", folder / "saved.duckdb", tracker.save, TopicTracker.load)
    yield written("frozen model", folder / "model.zip", frozen.save, type(frozen).load)
    page = partial(write_file, content=os.urandom(300_000))
    yield written("page", folder / "page.html", page, Path.read_bytes, before=b"old")


def written(
    name: str, path: Path, write: Callable[[Path], object], read: Callable[[Path], object], before: bytes | None = None
) -> Scene:
    """Return the scene in which a file is written in place of another, or of none."""

    def again(_: Path) -> None:
        if (path.read_bytes() if path.exists() else None) == before:
            write(path)

    def look(_: Path) -> str:
        found = read(path)
        return repr(found) if isinstance(found, bytes) else type(found).__name__

    files = {} if before is None else {path.name: before}
    return Scene(name, files, lambda _: write(path), again, look)


def recorded_run() -> tuple[Mapping[str, str], Sequence[Commit]]:
    """Follow a small stream; return the settings that its run file gets, and its transactions."""

    class Kept(MemoryStore):
        """Keeps the states too."""

        def __init__(self) -> None:
            super().__init__()
            self.whole: list[Commit] = []

        def commit(self, *commits: Commit) -> None:
            self.whole += commits
            super().commit(*commits)

    store = Kept()
    settings = RunSettings(
        topics=4, slices="month", threads=1, window=160, epoch_documents=30, documents="all", keep_text=True
    )
    follow(PlantedSource(PlantedStream(slices=12, documents_per_slice=36)), FieldCodec(), store, settings, ahead=0)
    assert len(store.whole) >= EPOCHS, len(store.whole)
    return store.settings({}), store.whole[:EPOCHS]


def last_before_it_counts(stage: Stage, scene: Scene) -> Mapping[str, bytes]:
    """Return the files of the last moment of a transaction at which a kill undoes it."""
    lay_out(stage.path.parent, scene.files)
    before = scene.look(stage.path)
    played = stage.play(scene)
    disk, found = Disk(scene.files), dict[str, bytes]()
    for event in played.recorded:
        disk.apply(event, played.inodes)
        files = disk.files()
        if journal_of(stage.path).name in files:
            lay_out(stage.path.parent, files)
            if scene.look(stage.path) == before:
                found = files
    assert found
    return found


def rows(path: Path) -> str:
    """Say what a run file holds."""
    with connected(path, read_only=True, timeout=10.0) as connection:
        return digest_over(connection)


def asked(path: Path, query: str) -> list[tuple[object, ...]]:
    """Ask a run file."""
    with connected(path, read_only=True, timeout=10.0) as connection:
        return connection.execute(query).fetchall()


def decided(path: Path) -> str:
    """Say what names people gave, whether they are in the run file or wait beside it."""
    given = set(asked(path, "select kind, topic, text from decision"))
    with connected(path, read_only=True, timeout=10.0) as connection:
        waiting = Inbox(path).read(run_name(connection))
    return repr(sorted(given | {(one.kind, one.topic, one.text) for one in waiting}))


def main() -> None:
    """Try every call, or every N-th of all that is tried, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--scene", action="append")
    parser.add_argument("--below", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.below is None:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
            environ = environment(recorder(Path(name)), Path(name) / "run")
            command = [sys.executable, "-m", "tests.system.powercut.failing_calls", *sys.argv[1:], "--below", name]
            sys.exit(subprocess.run(command, env=environ, cwd=ROOT).returncode)
    logging.disable(logging.WARNING)
    stage, numbers = Stage(chosen.below), count()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for scene in scenes(stage):
        if chosen.scene and scene.name not in chosen.scene:
            continue
        began, tries = time.process_time(), 0
        for kind, call, what in tried(stage, scene, lambda: next(numbers) % chosen.every == 0):
            found[kind][what] += 1
            tries += 1
            if what != "right":
                print(f"{scene.name}, {kind} at call {call}: {what[:300]}", flush=True)
        print(f"{scene.name}: {tries} ({time.process_time() - began:.1f} s)", flush=True)
    for kind, outcomes in found.items():
        print(f"{kind}: {outcomes['right']} of {outcomes.total()} right")
    bad = sum(outcomes.total() - outcomes["right"] for outcomes in found.values())
    whole = sum(outcomes.total() for outcomes in found.values())
    print(f"{whole} tried, {bad} wrong")
    sys.exit(0 if whole and not bad else 1)


if __name__ == "__main__":
    main()
