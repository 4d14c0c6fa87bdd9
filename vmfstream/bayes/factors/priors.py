"""Priors of the Bayesian mixture, and their estimate from an initial partition of the documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.directional.bessel import R_MAX, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.mixtures.concentration import debiased_resultant
from vmfstream.mixtures.seeding import one_hot

COSINE_LIMITS = (0.1, 0.95)
"""Limits of the cosine between topics and their common mean: without them the prior could vanish or pin all topics."""

LOG_KAPPA_SD = 0.3
"""Standard deviation of log kappa when its prior is taken from the initial partition."""


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Prior of the weights, ``alpha`` (a number or (k,)), and of the directions: ``b`` (D,) or (D, kp)."""

    alpha: float | Vector
    b: Floats

    @property
    def c0(self) -> Vector:
        """Concentration of the prior of the directions: of shape () if common, (kp,) if each topic has its own."""
        return np.asarray(np.linalg.norm(self.b.astype(np.float64), axis=0))


def moment_prior(
    x: Rows, resp: Floats | NDArray[np.int64], k: int, *, alpha: float = 1.0, cosine: float | None = None
) -> Prior:
    """Estimate the common prior of the directions from a partition.

    mu_0 is the normalised corpus mean and C_0 = A^-1( clip(a_0, 0.1, 0.95) ). Documents of different topics have the
    expected cosine A^2 a_0^2, of the same topic A^2, where a_0 is the cosine of a topic to mu_0; so a_0^2 is the mean
    cosine of pairs across topics, (|sum_k S_k|^2 - sum_k |S_k|^2) / (n^2 - sum_k n_k^2), over that of pairs within.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, kp) responsibilities, or (N,) labels with -1 for rows left out
    k : int, number of topics
    alpha : float > 0, concentration of the weights
    cosine : float in [0, 1), a_0 if it is not to be estimated

    Returns
    -------
    Prior with ``b`` of shape (D,) in the precision of ``x``; b = 0 where the documents sum to zero.
    """
    given: Floats = one_hot(np.asarray(resp, np.int64), k, x.dtype) if resp.ndim == 1 else np.asarray(resp, x.dtype)
    resp = masked(x, given)
    s = accumulate(x, resp)
    within = _debiased(s, resp, k)
    total = s.sum(axis=1, dtype=np.float64)
    norm, nk = float(np.linalg.norm(total)), resp.sum(axis=0, dtype=np.float64)[:k]
    pairs = float(nk.sum() ** 2 - nk @ nk)
    across = max(norm**2 - float((column_norms(s)[:k] ** 2).sum()), 0.0) / pairs if pairs > 0 else within**2
    moment = np.clip(np.sqrt(across) / within if within > 0 else 1.0, *COSINE_LIMITS)
    a0 = moment if cosine is None else cosine
    c0 = float(inv_bessel_ratio(x.shape[1], a0))
    b = c0 * total / norm if norm > 0 else np.zeros_like(total)
    return Prior(alpha, b.astype(x.dtype))


def moment_kappa_prior(x: Rows, resp: Floats, k: int) -> KappaPrior:
    """Prior of log kappa centred at the pooled, debiased concentration of a partition (0.2 as the cosine if none).

    ``x`` are unit rows (N, D) and ``resp`` (N, kp) their responsibilities in ``k`` topics.
    """
    resp = masked(x, resp)
    within = _debiased(accumulate(x, resp), resp, k)
    return KappaPrior(float(np.log(inv_bessel_ratio(x.shape[1], min(within, R_MAX) or 0.2))), LOG_KAPPA_SD**2)


def masked(x: Rows, resp: Floats) -> Floats:
    """Take the rows without direction out of the responsibilities."""
    return np.where(directed(x)[:, None], resp, resp.dtype.type(0))


def _debiased(s: Floats, resp: Floats, k: int) -> float:
    nk = resp.sum(axis=0, dtype=np.float64)[:k]
    qk = np.einsum("ik,ik->k", resp, resp, dtype=np.float64)[:k]
    return debiased_resultant(column_norms(s)[:k], nk, qk)
