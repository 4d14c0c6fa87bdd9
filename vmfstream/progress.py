"""Progress of a fit: one line for each sweep, to whoever listens.

Estimators with ``verbose`` listen by `telling`; loops call `swept` after each sweep, on any floor. Where nobody listens
it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_told: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)


@contextmanager
def telling(tell: Callable[[str], None] | None) -> Iterator[None]:
    """Hand the lines of all sweeps in the body to ``tell``; to nobody if it is None."""
    before = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(before)


def swept(number: int, what: str, value: float) -> None:
    """Tell that sweep ``number`` is over, counted from 1 in each start, and the ``value`` of its objective ``what``."""
    tell = _told.get()
    if tell is not None:
        tell(f"sweep {number}: {what} {value:.6g}")
