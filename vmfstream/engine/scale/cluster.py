"""Pure functions applied by the workers of a Dask cluster, one of many machines or one of this machine's processes."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vmfstream import __version__
from vmfstream.errors import InputError, MissingExtra, WorkersLost
from vmfstream.machine import leave_stopping_to_others

log = logging.getLogger(__name__)

PATIENCE = 300.0
"""Seconds for which a scheduler that went away is waited for."""

FIRST_PATIENCE = 30.0
"""Seconds for which a scheduler is waited for at the start."""

_LOST = (OSError, CancelledError, RuntimeError)  # what is raised where a scheduler goes away
_LOOK = 10.0  # seconds between two looks whether there are workers


def versions() -> dict[str, str]:
    """Return what has to be the same in all processes for results to be the same."""
    ours = {"vmfstream": __version__, "python": ".".join(map(str, sys.version_info[:2]))}
    return ours | {name: _installed(name) for name in ("numpy", "numba", "scipy")}


@cache  # every call in a worker asks, and reading it takes milliseconds
def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def check_versions(wanted: Mapping[str, str], found: Mapping[str, str], who: str) -> None:
    """Refuse the process ``who`` if its versions of libraries, ``found``, are not those ``wanted``.

    Raises
    ------
    InputError
        Naming the process, and of each library that differs both versions.
    """
    differing = [
        f"{name} {found.get(name)} there, {wanted[name]} here" for name in wanted if found.get(name) != wanted[name]
    ]
    if differing:
        raise InputError(f"{who} runs other libraries than this process: {'; '.join(differing)}; install the same")


class DaskCluster:
    """Applies functions on the workers of a Dask cluster; see `vmfstream.protocols.Executor`.

    Parameters
    ----------
    address : str, optional
        Of a scheduler, ``dask://host:8786`` or what Dask takes (``tls://host:8786``).
    workers : int, optional
        Instead: start so many processes of one thread each on this machine; those that die are started again.

    Raises
    ------
    MissingExtra
        If Dask is not installed.
    InputError
        If the scheduler does not answer, or a worker's libraries differ from ours.
    """

    def __init__(self, address: str | None = None, *, workers: int = 0) -> None:
        _distributed()
        self._versions = versions()
        self._cluster: Any = None
        self._client: Any = None
        if address is None:
            self._cluster = _local_cluster(workers)
            self._address: Any = self._cluster
        else:
            self._address = address.replace("dask://", "tcp://", 1)
        try:
            self._connect(FIRST_PATIENCE)
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Threads of all workers together, as the scheduler knows them now, at least one."""
        with self._explained():
            threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def share(self, value: Any) -> Any:
        """Send a value to one worker, from which the others get it when they need it.

        Not to all at once: Dask tries for ever to reach one that dies meanwhile.
        """
        with self._explained():
            self._wait_for_workers()
            return self._client.scatter(value, hash=False)

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Begin to call the function with each of the arguments; results stay with the workers."""
        import dask

        with self._explained(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
            return [self._client.submit(_call, function, self._versions, *call, pure=False) for call in calls]

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the function with each of the arguments and fetch the results."""
        from distributed import wait

        futures = self.hold(function, calls)
        with self._explained(), self._client.as_current():
            while True:
                try:
                    wait(futures, timeout=_LOOK)
                    break
                except TimeoutError:
                    if not self._client.nthreads():
                        log.warning("there are no workers; waiting")
            results: list[Any] = self._client.gather(futures)
        return results

    def close(self) -> None:
        """Leave the cluster; end the processes that were started here."""
        client, cluster, self._client, self._cluster = self._client, self._cluster, None, None
        for one in (client, cluster):
            if one is not None:
                one.close(timeout=10)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what Dask says of lost processes into WorkersLost, after a new connection if that was lost."""
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except (FutureCancelledError, CancelledError, KilledWorker, CommClosedError, OSError, TimeoutError) as error:
            self._reconnect()
            raise WorkersLost(f"workers were lost ({type(error).__name__})") from error

    def _reconnect(self) -> None:
        try:
            self._client.nthreads()
            return
        except (*_LOST, ValueError):
            log.warning("the scheduler %s does not answer; waiting", self._address)
        self._disconnect()
        self._connect(PATIENCE)

    def _connect(self, patience: float) -> None:
        from distributed import Client

        deadline = time.monotonic() + patience
        while True:
            try:
                self._client = Client(self._address, timeout=5, set_as_default=False)
                self._wait_for_workers()
                found = self._client.run(versions)
                break
            except _LOST as error:
                if time.monotonic() > deadline:
                    raise InputError(f"there is no Dask scheduler at {self._address}: {error}") from error
                self._disconnect()
                time.sleep(0.5)
        for name, theirs in found.items():
            check_versions(self._versions, theirs, f"the worker {name}")

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=1)

    def _wait_for_workers(self) -> None:
        if not self._client.nthreads():
            log.warning("the scheduler %s has no workers yet; waiting", self._address)
            self._client.wait_for_workers(1)


def _call(function: Callable[..., Any], wanted: Mapping[str, str], *arguments: Any) -> Any:
    """Apply a function in a worker, which may have come after the driver looked at their versions."""
    check_versions(wanted, versions(), "a worker")
    return function(*arguments)


def _local_cluster(workers: int) -> Any:
    if workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}")
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        preload=[__name__],
    )


def dask_setup(worker: object) -> None:
    """Leave what a terminal sends to all processes to the driver; Dask calls this in each new worker."""
    leave_stopping_to_others()


def _distributed() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtra("workers need Dask: pip install 'vmfstream[dask]'") from None
