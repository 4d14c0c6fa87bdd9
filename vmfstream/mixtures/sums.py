"""One pass over the documents: responsibilities under a mixture, and the sufficient statistics of the next one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.kernels import accumulate, posterior_accumulate
from vmfstream.mixtures.columns import column_norms, dense_rows

_ROUNDING = 8.0
"""What is left of sums that were taken away again, at most, in units of their rounding."""


class WeightedSums(NamedTuple):
    """Sums over documents i of their responsibilities r_ik times their weights w_i."""

    s: Floats
    """(D, kp) resultants S_k = sum_i w_i r_ik x_i, of the dtype of the documents; padded columns are zero."""
    nk: Vector
    """(k,) sum_i w_i r_ik."""
    qk: Vector
    """(k,) sum_i (w_i r_ik)^2."""

    @property
    def norms(self) -> Vector:
        """(k,) resultant lengths |S_k|."""
        return column_norms(self.s)[: len(self.nk)]


class Scored(NamedTuple):
    """What `score` finds."""

    sums: WeightedSums
    loglik: Vector
    """(N,) log sum_k exp(score_ik); 0 for rows without direction."""
    label: NDArray[np.int32]
    """(N,) topic of the largest score; -1 for rows without direction."""


def score(
    x: Rows,
    mu: Floats,
    slope: Vector,
    offset: Vector,
    *,
    hard: bool = False,
    weights: Vector | None = None,
    threads: int = 1,
) -> Scored:
    """Score documents, slope_k x_i'mu_k + offset_k, and sum them by their responsibilities.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns of the dtype of ``x``, padded with zeros
    slope, offset : (k,) float64; an offset of minus infinity switches a topic off
    hard : whether a document belongs wholly to the topic of its largest score, instead of softmax_k(score_ik)
    weights : (N,) float64, what each document weighs in the sums; 1 by default
    threads : int

    Notes
    -----
    O(nnz k) time, O(D k + N) memory: responsibilities are never stored. Scores are in the dtype of ``x``, their softmax
    in double precision.
    """
    k = len(slope)
    line = np.vstack([offset, slope])
    passed = posterior_accumulate(
        x, mu, line, np.zeros(k), np.ones(k), k, threads=threads, threshold=float(hard), mass=weights, sums_only=True
    )
    return Scored(WeightedSums(passed.s, passed.nk[:k], passed.q[:k]), passed.loglik, passed.label)


def weighted(resp: Floats, mass: Vector | None) -> Floats:
    """Return responsibilities (N, kp) times how often each row was seen, ``mass`` (N,); once if None."""
    return resp if mass is None else resp * mass[:, None].astype(resp.dtype)


def weighted_sums(x: Rows, resp: Floats, k: int, threads: int = 1) -> WeightedSums:
    """Sum unit rows ``x`` (N, D) by the weighted responsibilities ``resp`` (N, kp) of ``k`` topics.

    ``threads`` share the rows.
    """
    nk = resp.sum(axis=0, dtype=np.float64)[:k]
    qk = np.einsum("ik,ik->k", resp, resp, dtype=np.float64)[:k]
    return WeightedSums(accumulate(x, resp, threads=threads), nk, qk)


def move(x: Rows, sums: WeightedSums, rows: NDArray[np.int64], resp: Floats, topics: NDArray[np.int64]) -> None:
    """Move a few ``rows`` of ``x`` wholly to ``topics``, one each; ``sums`` are changed in place.

    ``resp`` (rows, kp) are the weighted responsibilities that they have now. Topics that have nothing left but
    rounding, of either sign, have nothing.
    """
    before = sums.nk.copy()
    documents = dense_rows(x, rows)
    weight = resp.sum(axis=1, dtype=np.float64)
    there = np.zeros_like(resp)
    there[np.arange(len(rows)), topics] = weight
    k = len(sums.nk)
    sums.s[:] += documents.T @ (there - resp)
    sums.nk[:] += (there - resp).sum(axis=0, dtype=np.float64)[:k]
    sums.qk[:] += (there.astype(np.float64) ** 2 - resp.astype(np.float64) ** 2).sum(axis=0)[:k]
    emptied = np.flatnonzero(sums.nk <= _ROUNDING * np.finfo(resp.dtype).eps * before)
    sums.s[:, emptied] = sums.nk[emptied] = sums.qk[emptied] = 0.0


def directions(sums: WeightedSums, otherwise: Floats) -> Floats:
    """Mean directions S_k / |S_k| (D, kp); where documents cancel or are missing the column of ``otherwise`` stays."""
    norms = column_norms(sums.s)
    directed_means = np.zeros(len(norms), np.bool_)
    directed_means[: len(sums.nk)] = norms[: len(sums.nk)] > np.finfo(sums.s.dtype).eps * sums.nk
    length = np.where(directed_means, norms, 1.0).astype(sums.s.dtype)
    return _scaled(sums.s, length, directed_means, otherwise)


@njit(cache=True, nogil=True)
def _scaled(s: Floats, length: Floats, known: NDArray[np.bool_], otherwise: Floats) -> Floats:
    """Columns of ``s`` (D, kp) divided by their ``length`` (kp,) where ``known`` (kp,), else those of ``otherwise``."""
    out = np.empty_like(s)
    whole = known.all()
    for i in range(len(s)):
        for j in range(s.shape[1]):
            out[i, j] = s[i, j] / length[j]
        if not whole:
            for j in range(s.shape[1]):
                if not known[j]:
                    out[i, j] = otherwise[i, j]
    return out
