"""Incremental EM: the mixture is estimated anew after every block of rows instead of after all of them.

With responsibilities r, of each row those of its last visit,

    F = sum_i w_i sum_k r_ik (log pi_k vMF(x_i | mu_k, kappa_k) - log r_ik) <= sum_i w_i log p(x_i)

A visit to a block makes its responsibilities exact, which raises F, and the estimate that follows raises it again
([NH98]). Sums over all rows are changed by what a block has changed, so that estimates know every row at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import entr

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.kernels import accumulate
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import column_dots, column_norms
from vmfstream.mixtures.em import DEAD
from vmfstream.mixtures.steps import e_step, line
from vmfstream.mixtures.sums import WeightedSums, weighted
from vmfstream.progress import swept

BLOCKS = 10
"""Blocks that the rows are cut into: the more, the fewer passes, but every one costs an estimate of all topics."""


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """Where passes of incremental EM end; ``trace`` has F per unit of weight before the first pass and after each."""

    mixture: Mixture
    trace: Vector


def incremental(
    x: Rows,
    mixture: Mixture,
    estimated: Callable[[WeightedSums, Mixture], Mixture],
    *,
    max_iter: int,
    tol: float,
    weights: Vector | None = None,
    threads: int = 1,
) -> Passes:
    """Visit the rows block by block until F rests, a component is dead, or ``max_iter`` passes are done.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; neighbours are in one block, which should not tell their topics
    mixture : where it starts
    estimated : the M-step: the mixture that follows from the sums, and whose directions hold where sums vanish
    max_iter : int, largest number of passes
    tol : float, in nats per unit of weight: F rests when a pass changes it by less
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Notes
    -----
    A pass costs O(nnz k + D k blocks), as much as a sweep of EM and ``BLOCKS`` estimates. Beside ``x`` it needs a copy
    of it, in blocks, and O(N k) memory for responsibilities.

    References
    ----------
    [NH98] section 4.
    """
    mass = np.ones(x.shape[0]) if weights is None else weights
    edges = np.linspace(0, x.shape[0], min(BLOCKS, x.shape[0]) + 1).astype(np.int64)
    cuts = [slice(low, high) for low, high in pairwise(edges)]
    blocks = [_Block(x[cut], mass[cut], mixture) for cut in cuts]
    total = _Total(mixture)
    for block in blocks:
        total.change(block, mixture, threads)
    weight = float(total.nk.sum())
    one = min(1.0, float(mass[mass > 0].mean()))
    trace = [total.free_energy(mixture, blocks) / weight]
    while len(trace) <= max_iter:
        for block in blocks:
            total.change(block, mixture, threads)
            mixture = estimated(total.sums(x.dtype), mixture)
        trace.append(total.free_energy(mixture, blocks) / weight)
        swept(len(trace) - 1, "nats a row", trace[-1])
        if abs(trace[-1] - trace[-2]) < tol or total.nk.min() < DEAD * one:
            break
    return Passes(mixture, np.array(trace))


class _Block:
    """Rows with the weights that they have, and their last responsibilities times these."""

    def __init__(self, rows: Rows, mass: Vector, mixture: Mixture) -> None:
        self.rows, self._mass = rows, mass
        self.resp = np.zeros((rows.shape[0], mixture.mu.shape[1]), rows.dtype)
        self.entropy = 0.0

    def visit(self, mixture: Mixture, threads: int) -> Floats:
        """Make the responsibilities exact; return those from before."""
        before, (resp, _) = self.resp, e_step(self.rows, mixture, threads=threads)
        self.entropy = float(entr(resp.astype(np.float64)).sum(axis=1) @ self._mass)
        self.resp = weighted(resp, self._mass)
        return before


class _Total:
    """Sums over all rows in double precision, which many small changes need."""

    def __init__(self, mixture: Mixture) -> None:
        self.s = np.zeros(mixture.mu.shape)
        self.nk, self._qk = np.zeros(mixture.k), np.zeros(mixture.k)

    def change(self, block: _Block, mixture: Mixture, threads: int) -> None:
        """Visit a block, and put what it says now in the place of what it has said."""
        before, k = block.visit(mixture, threads), len(self.nk)
        now, then = (resp[:, :k].astype(np.float64) for resp in (block.resp, before))
        self.s += accumulate(block.rows, block.resp - before, threads=threads)
        self.nk = np.maximum(self.nk + (now - then).sum(axis=0), 0.0)
        self._qk = np.maximum(self._qk + (now**2 - then**2).sum(axis=0), 0.0)

    def sums(self, dtype: np.dtype[np.floating]) -> WeightedSums:
        """Return the sums as an estimate takes them; no resultant is longer than its weight, whatever was rounded."""
        length = column_norms(self.s)[: len(self.nk)]
        self.s[:, : len(self.nk)] *= np.minimum(1.0, self.nk / np.where(length > 0.0, length, 1.0))
        return WeightedSums(self.s.astype(dtype), self.nk, self._qk)

    def free_energy(self, mixture: Mixture, blocks: list[_Block]) -> float:
        """Return F of all rows under a mixture."""
        slope, offset = line(mixture)
        there = self.nk > 0.0
        along = column_dots(mixture.mu.astype(np.float64), self.s)[: len(self.nk)]
        expected = slope[there] @ along[there] + offset[there] @ self.nk[there]
        return float(expected) + sum(block.entropy for block in blocks)
