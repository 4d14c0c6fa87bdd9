"""Starts of Bayesian fits: annealed EM from several temperatures, on all documents or on a sample at first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.sphere import unit_rows
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.movmf import MixtureFit, annealed_fit, fit
from vmfstream.mixtures.steps import m_step

HEATS = (1.0, 0.5)
"""Where starts begin to anneal, in turn, as multiples of the inverse temperature at which topics melt.

Long documents want the first, short ones the next.
"""


SWEEPS = 50
"""Most sweeps at full temperature."""

CONTINUED = 0.3
"""Inverse temperature from which on all documents take part where topics were looked for in a sample."""

FREQUENT = 4
"""Rows of a sample that must have a word if it is to help to look for topics."""


def annealed_starts(
    x: Rows, k: int, rng: np.random.Generator, starts: int, *, weights: Vector | None = None, threads: int = 1
) -> Iterator[Floats]:
    """Yield responsibilities (N, kp) of ``starts`` annealed fits of ``k`` topics with a shared concentration.

    ``x`` are unit rows (N, D); ``rng`` draws, ``weights`` (N,) say how often each row was seen, once by
    default, and ``threads`` share the rows.
    """
    for start in range(starts):
        yield _annealed(x, k, rng, start, threads, weights).resp


def sampled_start(
    x: Rows, rows: NDArray[np.int64], k: int, rng: np.random.Generator, starts: int, *, threads: int = 1
) -> Floats:
    """Return responsibilities (N, kp) of a fit of ``k`` topics that were looked for in some ``rows`` of ``x`` only.

    The best of ``starts`` annealed fits to the sample is annealed again on all documents, from a colder start. Hot,
    annealing finds the coarse groups, and documents of a sample are enough to see them.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    rows : (M,) numbers of the rows of the sample, at least k of them with a direction
    k : int, number of topics
    rng : numpy.random.Generator
    starts : int >= 1
    threads : int, threads that share the rows
    """
    sample = x[rows]
    search = _frequent_words(sample)
    if np.count_nonzero(directed(search)) < k:
        search = sample
    found = best_of(_annealed(search, k, rng, start, threads) for start in range(starts))
    begin = m_step(sample, found.resp, k, threads=threads)
    return fit(x, k, rng=rng, init=begin, beta0=CONTINUED, max_iter=SWEEPS, threads=threads).resp


def _annealed(
    x: Rows, k: int, rng: np.random.Generator, start: int, threads: int, weights: Vector | None = None
) -> MixtureFit:
    heat = HEATS[start % len(HEATS)]
    return annealed_fit(x, k, rng, heat=heat, max_iter=SWEEPS, weights=weights, threads=threads)


def _frequent_words(x: Rows) -> Rows:
    """Sparse rows without the words of a single row, which tell nothing about groups."""
    if isinstance(x, np.ndarray):
        return x
    words = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]) >= FREQUENT)
    return unit_rows(x[:, words])[0]
