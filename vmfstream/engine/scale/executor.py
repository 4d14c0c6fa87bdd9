"""Where pure functions are applied: in this process, or on Dask (`vmfstream.engine.scale.cluster`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from vmfstream.errors import InputError
from vmfstream.protocols import Executor


@contextmanager
def executor_of(address: str | None, workers: int) -> Iterator[Executor | None]:
    """Yield what the options of a command ask for, and release it; None where nothing is asked for.

    Parameters
    ----------
    address : ``dask://host:8786`` of a scheduler, ``tls://host:8786``, or ``here`` for this process alone
    workers : processes to start on this machine; 0 starts none

    Raises
    ------
    InputError, MissingExtra
        If both are asked for, or what was asked for cannot be had.
    """
    if address is not None and workers:
        raise InputError("--executor names a cluster that has its own workers: leave --workers out")
    if address is None and not workers:
        yield None
        return
    if address == "here":
        yield InProcess()
        return
    from vmfstream.engine.scale.cluster import DaskCluster

    with closing(DaskCluster(address, workers=workers)) as cluster:
        yield cluster


class InProcess:
    """Applies functions one after the other in this process; a value is its own handle."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Return the results."""
        return self.map(function, calls)

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results."""
        return [function(*arguments) for arguments in calls]

    def close(self) -> None:
        """Do nothing."""
