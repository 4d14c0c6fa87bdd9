"""Watch the bound of a coordinate ascent: when to learn hyperparameters, and when to stop."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from vmfstream.progress import swept

SETTLE = 5
"""Sweeps before the hyperparameters are learnt, and between two times."""


class ConvergenceMonitor:
    """Record the bound of every sweep, and decide when to learn hyperparameters and when to stop.

    Hyperparameters are learnt every few sweeps, and once more when the bound has stopped growing: an ascent has
    converged only if the bound does not grow after hyperparameters were learnt.

    Parameters
    ----------
    learn : names of hyperparameters, none if they are given
    enough : float, growth of the bound below which it rests
    most : int, sweeps after which it is over in any case

    Attributes
    ----------
    bounds : list of float
    rests : bool, whether the last sweep changed nothing that matters
    """

    def __init__(self, learn: Collection[str], enough: float, most: int) -> None:
        self._learn, self._enough, self._most = bool(learn), enough, most
        self.bounds: list[float] = []
        self.rests = False
        self._learning = False

    def learning(self) -> bool:
        """Return whether the sweep that has begun is to learn hyperparameters."""
        count = len(self.bounds)
        self._learning = self._learn and (self.rests or (count >= SETTLE and count % SETTLE == 0))
        return self._learning

    def ended(self, bound: float, rests: bool | None = None) -> bool:
        """Record the bound of a finished sweep, and ``rests`` where the caller knows it; return whether to stop."""
        self.bounds.append(bound)
        swept(len(self.bounds), "bound in nats", bound)
        grown = len(self.bounds) > 1 and abs(self.bounds[-1] - self.bounds[-2]) < self._enough
        self.rests = grown if rests is None else rests
        return self.converged or len(self.bounds) >= self._most

    @property
    def converged(self) -> bool:
        """Whether the bound stopped growing after hyperparameters were learnt, if any are."""
        return self.rests and (self._learning or not self._learn)

    @property
    def trace(self) -> NDArray[np.float64]:
        """The bounds as an array."""
        return np.array(self.bounds)
