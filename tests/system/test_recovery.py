"""A run that is killed at any moment and continued leaves the same log as an undisturbed one, times aside."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.processes import SERVER
from vmfstream.decisions import decision
from vmfstream.engine.loop import writing
from vmfstream.records import Commit
from vmfstream.runfile import writer
from vmfstream.runfile.decide import decide
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.seeds import seeds_as_text, seeds_of

CLOCK = {"epoch": {"begun", "seconds"}, "migration": {"applied_at"}, "decision": {"made"}}
EPOCH_DOCUMENTS = 70
RANDOM_KILLS = 10
MOMENTS = ("before", "inside", "after")
"""At which a process dies at a commit."""


def kills_of(epochs: Iterable[int]) -> list[tuple[int, str]]:
    """Two kills of every commit: one that loses it, before or inside it in turn, and one right after it."""
    return [(epoch, moment) for epoch in epochs for moment in (MOMENTS[epoch % 2], "after")]


class Killed(RunFile):
    """A log whose process dies at one commit: before it, in the middle of it, or right after it.

    Epochs that come together are written one by one, unless ``together``.
    """

    def __init__(self, path: Path, epoch: int, moment: str, *, together: bool = False) -> None:
        super().__init__(path)
        self._fatal, self._moment, self._together = epoch, moment, together

    def commit(self, *commits: Commit) -> None:
        for some in [commits] if self._together else [(one,) for one in commits]:
            self._commit(*some)

    def _commit(self, *commits: Commit) -> None:
        fatal = self._fatal in [one.epoch.epoch for one in commits]
        if fatal and self._moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if fatal and self._moment == "inside":
            self._die_before_the_end()
        super().commit(*commits)
        if fatal and self._moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    def _die_before_the_end(self) -> None:
        """Let the transaction run up to its very end, then die instead of committing."""

        class Dying:
            def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
                self._connection = connection

            def __getattr__(self, name: str) -> Any:
                return getattr(self._connection, name)

            def commit(self) -> None:
                os.kill(os.getpid(), signal.SIGKILL)

        original = vars(writer)["connected"]

        @contextmanager
        def connected(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with original(*args, **kwargs) as connection:
                yield Dying(connection)

        vars(writer)["connected"] = connected


def follow_planted(
    path: str, epoch: int = 0, moment: str = "", together: bool = False, documents: str = "all", seeds: str = ""
) -> None:
    """Run (or continue) a small planted stream into a log, in a process of its own; with ``together`` epochs wait."""
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.engine.run import RunSettings, follow
    from vmfstream.replay.planted import PlantedSource, PlantedStream

    if together:
        vars(writing)["SHARE"] = 10**9
    store = Killed(Path(path), epoch, moment, together=together) if moment else RunFile(path)
    settings = RunSettings(
        topics=6,
        slices="month",
        threads=1,
        window=400,
        epoch_documents=EPOCH_DOCUMENTS,
        living_topics=True,
        documents=documents,
        keep_text=documents != "all",
        topics_from=seeds,
    )
    follow(PlantedSource(PlantedStream(slices=12, documents_per_slice=90)), FieldCodec(), store, settings)


def process(path: Path, *args: object) -> Any:
    child = SERVER.Process(target=follow_planted, args=(str(path), *args))
    child.start()
    return child


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table but those of `stage`, without columns that hold times of the run; states by contents.

    Which stages there are depends on the processes: with workers, words are counted elsewhere.
    """
    out = {}
    with duckdb.connect(str(path), read_only=True) as connection:
        for (table,) in connection.execute("select table_name from information_schema.tables").fetchall():
            if table == "stage":
                continue
            columns = [c[0] for c in connection.execute(f"describe {table}").fetchall()]
            kept = [f'"{c}"' for c in columns if c not in CLOCK.get(table, set())]
            out[table] = connection.execute(f"select {', '.join(kept)} from {table} order by all").fetchall()
    return out


def equal(a: Path, b: Path) -> None:
    left, right = rows(a), rows(b)
    assert left.keys() == right.keys()
    for table in left:
        assert repr(left[table]) == repr(right[table]), f"table {table} differs"  # repr: NaN equals NaN


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, float]:
    path = tmp_path_factory.mktemp("undisturbed") / "run.duckdb"
    began = time.monotonic()
    child = process(path)
    child.join()
    assert child.exitcode == 0
    with duckdb.connect(str(path), read_only=True) as connection:
        epochs = connection.execute("select max(epoch) from epoch").fetchall()[0][0]
    return path, int(epochs), time.monotonic() - began


def test_two_runs_are_equal(undisturbed: tuple[Path, int, float], tmp_path: Path) -> None:
    child = process(tmp_path / "again.duckdb")
    child.join()
    equal(undisturbed[0], tmp_path / "again.duckdb")


def test_killed_at_every_commit(undisturbed: tuple[Path, int, float], tmp_path: Path) -> None:
    """Before or in the middle of it, and after it; a process that went on from one kill meets the next."""
    whole, epochs, _ = undisturbed
    assert epochs >= 14
    assert len(rows(whole)["document"]) == sum(n for _, _, _, n, *_ in rows(whole)["epoch"]) > 1000
    labelled = [place for *place, _ in rows(whole)["document_smoothed"]]
    assert len(labelled) == len(rows(whole)["document"])
    assert len({*map(tuple, labelled)}) == len(labelled)
    path = tmp_path / "run.duckdb"
    for epoch, moment in kills_of(range(1, epochs + 1)):
        child = process(path, epoch, moment)
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"epoch {epoch} was not reached"
    child = process(path)
    child.join()
    assert child.exitcode == 0
    equal(whole, path)


def test_killed_while_several_epochs_are_written(undisturbed: tuple[Path, int, float], tmp_path: Path) -> None:
    whole, epochs, _ = undisturbed
    path = tmp_path / "run.duckdb"
    for epoch, moment in zip(range(3, epochs + 1, 2), cycle(MOMENTS), strict=False):
        child = process(path, epoch, moment, True)
        child.join()
        assert child.exitcode in (-signal.SIGKILL, 0)  # 0: it was among those that came after the last kill
    child = process(path, 0, "", True)
    child.join()
    assert child.exitcode == 0
    equal(whole, path)


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    """A folder with a run that was killed when it had topics, and decisions of people that wait."""
    folder = tmp_path / "decided"
    folder.mkdir()
    path = folder / "run.duckdb"
    child = process(path, 3, "after")
    child.join()
    assert child.exitcode == -signal.SIGKILL
    wanted = [decision("pin", 1), decision("merge", 2, 3), decision("split", 5), decision("name", 6, text="<b>six")]
    wanted += [decision("forbid", text=word) for word in ("of", "the")]
    wanted += [decision("end", 7), decision("merge", 7, 6), decision("name", 6, text="six")]
    assert not decide(path, wanted)
    return folder


def test_decisions_are_applied_once_whatever_is_killed(decided: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(decided, tmp_path / "whole")) / "run.duckdb"
    child = process(whole)
    child.join()
    assert child.exitcode == 0
    found = Reader(whole).decisions()
    assert found.number.tolist() == list(range(1, 10))
    assert found.kind.tolist()[:4] == ["name", "name", "pin", "merge"]  # names are given where no run is writing
    assert [bool(why) for why in found.refused] == [False] * 8 + [True]
    assert set(found.slice[2:].tolist()) == {found.slice[1] + 1}
    assert not Inbox(whole).folder.exists()
    events = Reader(whole).events()
    assert sorted(events.kind[events.decision >= 0]) == ["ended", "merged", "split"]
    path = decided / "run.duckdb"
    for epoch, moment in kills_of(range(4, 9)):
        child = process(path, epoch, moment)
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"epoch {epoch} was not reached"
    child = process(path)
    child.join()
    assert child.exitcode == 0
    equal(whole, path)
    assert not Inbox(path).folder.exists()


SEEDS = seeds_as_text(seeds_of({"Docks": ["dockers", "containers"], "Sun": ["solar", "rooftops"]}))


def test_topics_named_beforehand_and_decisions_survive_kills(tmp_path: Path) -> None:
    """Killed at every commit, with decisions of every kind made twice, a run is as if nothing had happened."""
    first = [decision("unpin", 1), decision("merge", 2, 4), decision("split", 0), decision("pin", 5)]
    first += [decision("forbid", text="the"), decision("name", 1, text="<b>Sun</b>\x1b[31m"), decision("end", 2)]
    then = [decision("allow", text="the"), decision("forbid", text="of"), decision("unpin", 0), decision("end", 0)]
    then += [decision("pin", 0), decision("name", 1, text="Light")]
    whole, path = tmp_path / "whole.duckdb", tmp_path / "run.duckdb"

    def ran(file: Path, epoch: int = 0, moment: str = "") -> None:
        child = process(file, epoch, moment, False, "all", SEEDS)
        child.join()
        assert child.exitcode == (-signal.SIGKILL if epoch else 0), f"epoch {epoch}"

    for file, killed in ((whole, False), (path, True)):
        for low, high, made in ((1, 3, first), (4, 8, then)):
            for kill in kills_of(range(low, high + 1)) if killed else [(high, "after")]:
                ran(file, *kill)
            assert not decide(file, made)
        for kill in kills_of((9, 12)) if killed else []:
            ran(file, *kill)
        ran(file)
    found = Reader(whole).decisions()
    assert len(found.number) == 2 * 2 + len(first) + len(then)  # a seed names and pins its topic
    refused = {kind for kind, why in zip(found.kind, found.refused, strict=True) if why}
    assert refused == {"end", "pin"}  # of topics that were merged or ended by then
    assert {"split", "merged", "ended"} <= set(Reader(whole).events().kind.tolist())
    equal(whole, path)


def test_killed_while_the_newest_documents_of_topics_are_kept(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.duckdb", tmp_path / "run.duckdb"
    undisturbed = process(whole, 0, "", False, "5")
    undisturbed.join()
    for epoch, moment, together in ((3, "before", False), (6, "inside", True), (9, "after", False)):
        child = process(path, epoch, moment, together, "5")
        child.join()
        assert child.exitcode in (-signal.SIGKILL, 0)
    child = process(path, 0, "", False, "5")
    child.join()
    assert (undisturbed.exitcode, child.exitcode) == (0, 0)
    assert 0 < len(rows(whole)["document"]) <= 5 * 12 * 40
    assert len(rows(whole)["document"]) == len(rows(whole)["document_smoothed"])
    equal(whole, path)


def test_killed_at_random_moments(undisturbed: tuple[Path, int, float], tmp_path: Path) -> None:
    whole, _, seconds = undisturbed
    rng = np.random.default_rng(7)
    kills = 0
    run = 0
    while kills < RANDOM_KILLS:
        path, first = tmp_path / f"run{run}.duckdb", True
        while kills < RANDOM_KILLS:
            child, began = process(path), time.monotonic()
            child.join(float(rng.uniform(0.0, 0.7 * seconds)))
            if child.exitcode is not None:
                assert child.exitcode == 0
                if first:  # the machine was slower when the undisturbed run was timed
                    seconds = time.monotonic() - began
                break
            first = False
            child.kill()
            child.join()
            kills += 1
        child = process(path)
        child.join()
        assert child.exitcode == 0
        equal(whole, path)
        run += 1
    assert kills == RANDOM_KILLS
