"""The time of the machine's clock, which does not go back while a process runs."""

from __future__ import annotations

import time
from collections.abc import Callable


class SteadyClock:
    """Seconds since 1970, read by calling it; they never decrease, whatever the machine's clock is set to.

    A clock that is set ahead is followed. After it was set back, the time goes on from where it stood, until the
    process ends.

    Parameters
    ----------
    wall : callable
        Returns the machine's time in seconds since 1970.
    passed : callable
        Returns seconds since any moment; they do not depend on how the clock is set.

    Examples
    --------
    >>> clock = SteadyClock(wall=iter([1000.0, 1010.0, 400.0]).__next__, passed=iter([0.0, 10.0, 11.0]).__next__)
    >>> clock(), clock(), clock()
    (1000.0, 1010.0, 1011.0)
    """

    def __init__(self, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._passed = wall, passed
        self._apart = float("-inf")

    def __call__(self) -> float:
        """Return the time now."""
        wall, passed = self._wall(), self._passed()
        self._apart = max(self._apart, wall - passed)
        return passed + self._apart


now = SteadyClock()
"""The clock of this process."""
