"""The factor of the labels: responsibilities of the topics for each document, in the E-step of a mixture.

``x`` are unit rows (N, D). Beliefs about the topics' means are natural vectors ``f`` (D, kp) of lengths ``gamma`` (k,),
that about the concentration is ``kappa``, and ``log_weights`` (k,) are E[log pi].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numba import njit
from scipy.special import entr

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaFactor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import directed, softmax_rows
from vmfstream.mixtures.seeding import one_hot

SoftOrHard: TypeAlias = Literal["soft", "hard"]


def total(x: Rows, mass: Vector | None) -> float:
    """Return how many rows with a direction were seen, at least 1: what bounds are divided by."""
    known = directed(x)
    return max(float(known.sum() if mass is None else mass[known].sum()), 1.0)


def total_entropy(resps: Sequence[Floats], masses: Sequence[Vector] | None) -> float:
    """Return the entropy, in nats, of responsibilities (N_t, kp) of rows that were seen ``masses`` (N_t,) times each.

    Once if None.
    """
    each = [entr(resp.astype(np.float64)) for resp in resps]
    if masses is None:
        return sum(float(one.sum()) for one in each)
    return sum(float(mass @ one.sum(axis=1)) for one, mass in zip(each, masses, strict=True))


@njit(cache=True, fastmath={"reassoc", "contract"})
def products(weight: Any, likelihood: Any, out: Any) -> float:
    """out = weight likelihood, topic by topic; return the sum.

    ``weight``, ``likelihood`` and ``out`` are (k,). The order of the sum is left to the compiler, so that it runs in
    registers.
    """
    summed = 0.0
    for t in range(len(out)):
        out[t] = weight[t] * likelihood[t]
        summed += out[t]
    return summed


def responsibilities(
    x: Rows,
    f: Floats,
    gamma: Vector,
    kappa: KappaFactor,
    log_weights: Vector,
    beta: float = 1.0,
    *,
    threads: int = 1,
) -> tuple[Floats, Vector]:
    """E-step: softmax_k( beta (E[log pi_k] + E[kappa] x_i'E[mu_k] - E[ell(kappa)]) ), E[mu_k] = A(gamma_k) psi_k.

    ``beta`` > 0 is the inverse temperature; ``threads`` share the rows.

    Returns
    -------
    resp : (N, kp), zero for rows without direction; lse : (N,) log-sum-exp of the tempered scores, zero for these rows
    """
    scores = dots(x, f, threads=threads)
    lse = softmax_rows(scores, kappa.mean * shrinkage(f.shape[0], gamma), log_weights - kappa.ell, beta)
    blank = ~directed(x)
    scores[blank] = 0
    lse[blank] = 0
    return scores, lse


def assigned(
    x: Rows,
    f: Floats,
    gamma: Vector,
    kappa: KappaFactor,
    log_weights: Vector,
    assignment: SoftOrHard = "soft",
    *,
    mass: Vector | None = None,
    threads: int = 1,
) -> tuple[Floats, float]:
    """E-step, soft (see `responsibilities`) or hard (all to the best topic), and what it adds to the bound.

    ``assignment`` is "soft" or "hard"; ``mass`` (N,) says how often each row was seen, once by default; ``threads``
    share the rows.

    Returns
    -------
    resp : (N, kp), zero for rows without direction, one for each row whatever its mass
    gain : float, sum_i log-sum-exp of the scores, or the sum of the largest scores
    """
    if assignment == "soft":
        resp, lse = responsibilities(x, f, gamma, kappa, log_weights, threads=threads)
        return resp, float(lse.sum() if mass is None else lse @ mass)
    k, directed_rows = len(gamma), directed(x)
    cosines = dots(x, f, threads=threads)[:, :k]
    scores = cosines * (kappa.mean * shrinkage(f.shape[0], gamma)) + (log_weights - kappa.ell)
    labels = np.where(directed_rows, scores.argmax(axis=1), -1)
    best = np.where(directed_rows, scores.max(axis=1), 0.0)
    return one_hot(labels, k, x.dtype), float(best.sum() if mass is None else best @ mass)
