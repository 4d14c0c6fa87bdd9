"""Starts of Bayesian fits: annealed EM from several temperatures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vmfstream.arrays import Floats, Rows
from vmfstream.mixtures.movmf import annealed_start

HEATS = (1.0, 0.5)
"""Where starts begin to anneal, in turn, as multiples of the inverse temperature at which topics melt.

Long documents want the first, short ones the next.
"""


def annealed_starts(x: Rows, k: int, rng: np.random.Generator, starts: int) -> Iterator[Floats]:
    """Yield responsibilities (N, kp) of ``starts`` annealed fits of ``k`` topics with a shared concentration.

    ``x`` are unit rows (N, D); ``rng`` draws.
    """
    for start in range(starts):
        yield annealed_start(x, k, rng, heat=HEATS[start % len(HEATS)])
