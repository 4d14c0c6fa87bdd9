"""Workers that may not join, clusters that are not there, and what is said about it."""

from __future__ import annotations

import builtins
import itertools
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import distributed
import numpy as np
import pytest

from tests.system.broker.cluster import free_ports
from tests.system.broker.dask_processes import Grid
from tests.unit.engine.documents import committed
from tests.unit.engine.parts import Parts, news, run, spread
from tests.waiting import PATIENCE, wait_until
from vmfstream.engine.scale.cluster import DaskCluster, check_versions, versions
from vmfstream.engine.scale.executor import InProcess, executor_of
from vmfstream.errors import InputError, MissingExtra, WorkersLost


@pytest.fixture
def grid() -> Iterator[Grid]:
    one = Grid()
    yield one
    one.stop()


@pytest.mark.thorough
def test_processes_of_this_machine_write_the_same_run_file() -> None:
    parts = Parts(spread(news(900, 3), 3))
    with executor_of(None, 2) as cluster:
        assert cluster is not None
        assert cluster.workers == 2
        assert committed(run(parts, cluster, epoch_documents=400)) == committed(run(parts, epoch_documents=400))


@pytest.mark.thorough
def test_a_worker_of_another_version_is_refused_when_the_driver_comes(grid: Grid) -> None:
    grid.start(1)
    grid.add(version="0.0.7")
    while True:
        try:
            DaskCluster(grid.address).close()
        except InputError as error:
            assert "vmfstream 0.0.7 there" in str(error)  # noqa: PT017
            break


@pytest.mark.thorough
def test_a_worker_of_another_version_that_comes_later_is_refused(grid: Grid) -> None:
    grid.start(1)
    cluster = DaskCluster(grid.address)
    grid.add(version="0.0.7")
    while cluster.workers < 2:
        pass
    grid.kill_worker()
    with pytest.raises(InputError, match=r"vmfstream 0\.0\.7 there"):
        cluster.map(abs, [(-1,), (-2,)])
    cluster.close()


def test_all_differing_libraries_are_named() -> None:
    ours = versions()
    check_versions(ours, dict(ours), "a worker")
    theirs = ours | {"numpy": "1.0", "python": "3.8"}
    with pytest.raises(
        InputError, match=r"worker 7 .* python 3\.8 there.*; numpy 1\.0 there, .* here; install the same"
    ):
        check_versions(ours, theirs, "the worker 7")


@pytest.mark.thorough
def test_values_are_shared_while_a_worker_dies(grid: Grid) -> None:
    """A worker stops answering, and is killed while values are under way to it."""
    grid.start(3)
    cluster = DaskCluster(grid.address)
    wait_until(lambda: cluster.workers == 3)
    os.kill(grid.workers[0].pid, signal.SIGSTOP)
    ended: list[Exception | None] = []

    def share() -> None:
        try:
            for _ in range(3):
                cluster.share(np.zeros(1_000_000))
        except WorkersLost as error:
            ended.append(error)
        else:
            ended.append(None)

    sharing = threading.Thread(target=share, daemon=True)
    sharing.start()
    sharing.join(1.0)  # so that a value is under way
    grid.kill_worker()
    sharing.join(PATIENCE)
    assert len(ended) == 1
    cluster.close()


@pytest.mark.thorough
def test_errors_of_the_work_come_back_as_they_are(grid: Grid) -> None:
    grid.start(1)
    cluster = DaskCluster(grid.address)
    with pytest.raises(ZeroDivisionError):
        cluster.map(divmod, [(1, 1), (1, 0)])
    assert cluster.map(divmod, [(7, 2)]) == [(3, 1)]
    cluster.close()


@pytest.mark.thorough
def test_a_scheduler_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.engine.scale.cluster.FIRST_PATIENCE", 0.0)
    with pytest.raises(InputError, match="there is no Dask scheduler at tcp://127"):
        DaskCluster(f"dask://127.0.0.1:{free_ports(1)[0]}")


@pytest.mark.thorough  # the client tries for a minute
@pytest.mark.parametrize("times", [1, 10**9])
def test_a_scheduler_that_goes_away_while_it_is_asked_is_waited_for(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    failures, asked = itertools.count(), distributed.Client.run

    def run(self: Any, *given: Any) -> Any:
        if next(failures) < times:
            raise OSError("Timed out trying to connect")
        return asked(self, *given)

    grid.start(1)
    monkeypatch.setattr(distributed.Client, "run", run)
    if times == 1:
        cluster = DaskCluster(grid.address)
        assert cluster.workers == 1
        cluster.close()
        return
    monkeypatch.setattr("vmfstream.engine.scale.cluster.FIRST_PATIENCE", 0.0)
    with pytest.raises(InputError, match=r"there is no Dask scheduler at tcp.*Timed out"):
        DaskCluster(grid.address)


def test_without_dask_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refused(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("distributed", "dask"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refused)
    with pytest.raises(MissingExtra, match=r"pip install 'vmfstream\[dask\]'"), executor_of(None, 2):
        pass


def test_options_exclude_each_other_or_ask_for_nothing() -> None:
    with pytest.raises(InputError, match="leave --workers out"), executor_of("dask://host:8786", 2):
        pass
    with executor_of(None, 0) as nothing:
        assert nothing is None
    with executor_of("here", 0) as here:
        assert isinstance(here, InProcess)
