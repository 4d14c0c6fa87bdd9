"""A scheduler, workers and drivers of Dask in processes of their own, to be killed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.processes import SERVER
from tests.system.broker.cluster import free_ports
from tests.system.broker.trackers import rows_of
from tests.waiting import PATIENCE, has_ended, wait_for
from vmfstream.records import Position


def serve(port: int) -> None:
    """Be a scheduler."""
    from distributed import Scheduler

    async def main() -> None:
        async with Scheduler(host="127.0.0.1", port=port, dashboard=False) as scheduler:
            await scheduler.finished()

    _quietly(main)


def work(port: int, version: str) -> None:
    """Be a worker, of another version of the library if one is named."""
    from distributed import Worker

    from vmfstream.engine.scale import cluster

    if version:
        vars(cluster)["__version__"] = version

    async def main() -> None:
        worker = Worker(
            f"tcp://127.0.0.1:{port}", nthreads=1, host="127.0.0.1", dashboard=False, death_timeout=PATIENCE
        )
        async with worker:
            await worker.finished()

    _quietly(main)


def _quietly(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run one of Dask's servers; whatever it says when others are killed is not of interest.

    It is as patient as the tests are: a worker that gave up on a busy machine would never come back.
    """
    import dask

    logging.disable(logging.CRITICAL)
    dask.config.set(
        {"distributed.scheduler.allowed-failures": 1000, "distributed.comm.timeouts.connect": f"{PATIENCE}s"}
    )
    asyncio.run(main())


class Grid:
    """A scheduler at a fixed address and some workers."""

    def __init__(self) -> None:
        self.port = free_ports(1)[0]
        self.address = f"dask://127.0.0.1:{self.port}"
        self.scheduler: Any = None
        self.workers: list[Any] = []

    def start(self, workers: int) -> None:
        """Start the scheduler and so many workers."""
        self.scheduler = _started(serve, self.port)
        for _ in range(workers):
            self.add()

    def add(self, version: str = "") -> None:
        """Start one more worker."""
        self.workers.append(_started(work, self.port, version))

    def kill_worker(self) -> None:
        """Kill the oldest worker."""
        _killed(self.workers.pop(0))

    def kill_scheduler(self) -> None:
        """Kill the scheduler; its workers are ended too, as they end without it."""
        _killed(self.scheduler)
        while self.workers:
            self.kill_worker()

    def stop(self) -> None:
        """End everything."""
        if self.scheduler is not None:
            self.kill_scheduler()


def _started(target: Callable[..., None], *arguments: Any) -> Any:
    child = SERVER.Process(target=target, args=arguments)
    child.start()
    return child


def _killed(child: Any) -> None:
    child.kill()
    child.join()


def follow_by_workers(path: str, url: str, until: Position, address: str | None, settings: dict[str, Any]) -> None:
    """Run (or continue) a topic into a log by workers until these offsets are read."""
    from vmfstream.connectors import open_source
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.engine.run import RunSettings, follow
    from vmfstream.engine.scale.executor import executor_of
    from vmfstream.runfile.writer import RunFile

    given: dict[str, Any] = {
        "topics": 3,
        "slices": "5000",
        "threads": 1,
        "window": 300,
        "epoch_documents": 2000,
        "documents": "all",
    } | settings
    store = RunFile(path)
    with executor_of(address, 0) as executor:
        source = open_source(url)
        reached: dict[str, int] = dict((store.resume() or Empty).position)
        commit = store.commit

        def noted(one: Any) -> None:
            commit(one)
            reached.update(one.position)

        store.commit = noted  # type: ignore[assignment]
        try:
            follow(
                source,
                FieldCodec(unit="offset"),
                store,
                RunSettings(**given),
                linger=0.0,
                stop=lambda: reached == until,
                executor=executor,
            )
        finally:
            source.close()


class Empty:
    """A log without commits."""

    position: Position = {}  # noqa: RUF012


def driver(path: Path, url: str, until: Position, address: str, **settings: Any) -> Any:
    """Start a driver."""
    return _started(follow_by_workers, str(path), url, until, address, settings)


def epochs(path: Path) -> int:
    """How many epochs a log holds, 0 while there is none."""
    return rows_of(path, "epoch")


def wait_for_epochs(path: Path, count: int, child: Any) -> bool:
    """Wait until a log holds so many epochs; False if its driver has ended before."""
    wait_for(lambda: (epochs(path), has_ended(child)), lambda seen: seen[0] >= count or seen[1])
    return epochs(path) >= count
