"""Variational inference for the Bayesian mixture of von Mises-Fisher distributions.

    pi ~ Dir(alpha);  mu_k ~ vMF with natural vector b_k = C_0 mu_0;  log kappa ~ N(m, s2);  x_i ~ vMF(mu_{z_i}, kappa)
    q = Dir(pi | rho) prod_k vMF(mu_k | f_k / |f_k|, |f_k|) q(kappa) prod_i Cat(z_i | resp_i)

Each factor is renewed given the others; the evidence lower bound never falls. Natural vectors of all topics are columns
of a matrix (D, kp); log-densities are relative to uniform. Rows without direction have zero responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, entr, gammaln

from vmfstream.bayes.concentration import (
    KappaFactor,
    KappaPrior,
    KappaRule,
    point_factor,
    point_kappa,
    quadrature_factor,
)
from vmfstream.directional.bessel import R_MAX, bessel_ratio, ell, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.directional.params import Rows
from vmfstream.directional.vmf import kl
from vmfstream.mixtures.columns import Floats, column_dots, column_norms, directed, softmax_rows
from vmfstream.mixtures.concentration import debiased_resultant, shared_concentration
from vmfstream.mixtures.seeding import one_hot

Vector: TypeAlias = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True, eq=False)
class FlatFit:
    """Posterior of a mixture: natural vectors ``f`` (D, kp) of lengths ``gamma`` (k,), ``kappa``, ``rho`` (k,).

    ``resp`` (N, kp) is the E-step under exactly these parameters; ``nk`` (k,) and ``t`` = S_k'E[mu_k], summed over the
    topics if kappa is shared, are the statistics they were made from. ``trace`` is the lower bound after each sweep, in
    nats relative to uniform.
    """

    f: Floats
    gamma: Vector
    kappa: KappaFactor
    rho: Vector
    resp: Floats
    nk: Vector
    t: Vector
    trace: Vector
    n_iter: int
    converged: bool


def moment_prior(x: Rows, resp: Floats | NDArray[np.int64], k: int, *, alpha: float = 1.0) -> Prior:
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

    Returns
    -------
    Prior with ``b`` of shape (D,) in the precision of ``x``; b = 0 where the documents sum to zero.
    """
    given: Floats = one_hot(np.asarray(resp, np.int64), k, x.dtype) if resp.ndim == 1 else np.asarray(resp, x.dtype)
    resp = _masked(x, given)
    s = accumulate(x, resp)
    within = _debiased(s, resp, k)
    total = s.sum(axis=1, dtype=np.float64)
    norm, nk = float(np.linalg.norm(total)), resp.sum(axis=0, dtype=np.float64)[:k]
    pairs = float(nk.sum() ** 2 - nk @ nk)
    across = max(norm**2 - float((column_norms(s)[:k] ** 2).sum()), 0.0) / pairs if pairs > 0 else within**2
    a0 = np.clip(np.sqrt(across) / within if within > 0 else 1.0, *COSINE_LIMITS)
    c0 = float(inv_bessel_ratio(x.shape[1], a0))
    b = c0 * total / norm if norm > 0 else np.zeros_like(total)
    return Prior(alpha, b.astype(x.dtype))


def moment_kappa_prior(x: Rows, resp: Floats, k: int) -> KappaPrior:
    """Prior of log kappa centred at the pooled, debiased concentration of a partition (0.2 as the cosine if none)."""
    resp = _masked(x, resp)
    within = _debiased(accumulate(x, resp), resp, k)
    return KappaPrior(float(np.log(inv_bessel_ratio(x.shape[1], min(within, R_MAX) or 0.2))), LOG_KAPPA_SD**2)


def fit(
    x: Rows,
    resp0: Floats | None,
    k: int,
    prior: Prior,
    *,
    kappa: KappaRule | float | Vector = "quadrature",
    concentration: Literal["shared", "own"] = "shared",
    kappa_prior: KappaPrior | None = None,
    kappa0: ArrayLike | None = None,
    seen: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
    max_iter: int = 100,
    tol: float = 1e-4,
) -> FlatFit:
    """Fit the Bayesian mixture by coordinate ascent on the evidence lower bound.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    resp0 : (N, kp) initial responsibilities, best from annealed EM; None starts from the E-step under the prior, which
        must then have a direction per topic, and ``kappa0``
    k : int, number of topics
    prior : Prior, see `moment_prior`
    kappa : ``"quadrature"`` (posterior of log kappa), ``"point"`` (A^-1(T / N)), or known values
    concentration : one for all topics or one each
    kappa_prior : for ``"quadrature"``, default `moment_kappa_prior`
    kappa0 : initial concentration, default the ``marginal`` estimate of ``resp0``
    seen : (n, T), statistics of earlier documents about kappa, each a number or (k,)
    max_iter : int, largest number of sweeps
    tol : float, stop when the bound per document changes by less, in nats

    Returns
    -------
    FlatFit

    Raises
    ------
    ValueError
        Shapes that do not fit, an unknown rule, or a start that lacks what it needs.

    References
    ----------
    [GY14] section 3.1; the sign of the entropy in the bound and E[mu] = A(gamma) psi follow from the derivation.
    """
    d, kp = x.shape[1], padded(k)
    if resp0 is not None and resp0.shape != (x.shape[0], kp):
        raise ValueError(f"resp0 must have the shape {(x.shape[0], kp)}; got {resp0.shape}")
    if prior.b.shape not in ((d,), (d, kp)):
        raise ValueError(f"prior.b must have the shape {(d,)} or {(d, kp)}; got {prior.b.shape}")
    alpha = np.broadcast_to(np.asarray(prior.alpha, np.float64), k)
    held = directed(x)
    n_seen, t_seen = (np.broadcast_to(np.asarray(v, np.float64), 1 if concentration == "shared" else k) for v in seen)
    if kappa_prior is None and isinstance(kappa, str) and kappa == "quadrature":
        if resp0 is None:
            raise ValueError("kappa_prior is needed when there are no initial responsibilities")
        kappa_prior = moment_kappa_prior(x, resp0, k)

    def concentration_factor(nk: Vector, t: Vector) -> KappaFactor:
        if not isinstance(kappa, str):
            return point_factor(d, np.broadcast_to(np.asarray(kappa, np.float64), len(n_seen)))
        n_total, t_total = n_seen + _grouped(nk, concentration), t_seen + t
        if kappa == "quadrature" and kappa_prior is not None:
            return quadrature_factor(d, n_total, t_total, kappa_prior)
        if kappa == "point":
            return point_factor(d, point_kappa(d, n_total, t_total))
        raise ValueError(f"kappa must be 'quadrature', 'point' or known values; got {kappa!r}")

    resp = _first_resp(x, prior.b, kappa0, alpha) if resp0 is None else _masked(x, resp0)
    s, nk = _statistics(x, resp, k)
    if not isinstance(kappa, str):
        kappa0 = kappa
    elif kappa0 is None:
        kappa0 = shared_concentration(d, column_norms(s)[:k], nk, float(nk.sum()))
    factor = point_factor(d, kappa0)
    trace: list[float] = []
    while True:
        rho = alpha + nk
        f, gamma = natural_vectors(prior.b, s, factor.mean, k)
        t = _grouped(expected_cosines(f, gamma, s), concentration)
        factor = concentration_factor(nk, t)
        resp, lse = responsibilities(x, f, gamma, factor, expected_log_weights(rho))
        against = float(n_seen @ factor.ell - t_seen @ factor.mean)
        trace.append(float(lse.sum()) - divergence(f, gamma, rho, factor, prior) - against)
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol * max(int(held.sum()), 1)
        if converged or len(trace) >= max_iter:
            break
        s, nk = _statistics(x, resp, k)
    return FlatFit(f, gamma, factor, rho, resp, nk, t, np.array(trace), len(trace), converged)


def responsibilities(
    x: Rows, f: Floats, gamma: Vector, kappa: KappaFactor, log_weights: Vector, beta: float = 1.0
) -> tuple[Floats, Vector]:
    """E-step: softmax_k( beta (E[log pi_k] + E[kappa] x_i'E[mu_k] - E[ell(kappa)]) ), E[mu_k] = A(gamma_k) psi_k.

    Returns
    -------
    resp : (N, kp), zero for rows without direction; lse : (N,) log-sum-exp of the tempered scores, zero for these rows
    """
    scores = dots(x, f)
    lse = softmax_rows(scores, kappa.mean * shrinkage(f.shape[0], gamma), log_weights - kappa.ell, beta)
    blank = ~directed(x)
    scores[blank] = 0
    lse[blank] = 0
    return scores, lse


def natural_vectors(b: Floats, s: Floats, kappa: ArrayLike, k: int) -> tuple[Floats, Vector]:
    """Return f_k = b_k + kappa_k S_k, (D, kp), and the lengths gamma, (k,); padded columns stay zero."""
    f = np.zeros_like(s)
    f[:, :k] = s[:, :k] * np.asarray(kappa, np.float64).astype(s.dtype) + (b[:, None] if b.ndim == 1 else b[:, :k])
    return f, column_norms(f)[:k]


def shrinkage(d: int, gamma: Vector) -> Vector:
    """Return A(gamma) / gamma, the factor from a natural vector to the expected direction; 1 / D at 0."""
    return np.where(gamma > 0, np.asarray(bessel_ratio(d, gamma)) / np.where(gamma > 0, gamma, 1.0), 1.0 / d)


def expected_cosines(f: Floats, gamma: Vector, s: Floats) -> Vector:
    """Return S_k'E[mu_k], (k,)."""
    return column_dots(f, s)[: len(gamma)] * shrinkage(f.shape[0], gamma)


def expected_log_weights(rho: ArrayLike) -> Vector:
    """Return E[log pi_k] = digamma(rho_k) - digamma(sum rho)."""
    rho = np.asarray(rho, np.float64)
    return np.asarray(digamma(rho) - digamma(rho.sum()), np.float64)


def elbo(x: Rows, resp: Floats, f: Floats, rho: Vector, kappa: KappaFactor, prior: Prior) -> float:
    """Evidence lower bound of any state, in nats relative to the uniform density of all documents with a direction.

    sum_ik resp_ik (score_ik - log resp_ik) - KL(Dir) - sum_k KL(vMF_k) - KL(kappa)
    """
    k = len(rho)
    gamma = column_norms(f)[:k]
    scores = dots(x, f)[:, :k] * (kappa.mean * shrinkage(f.shape[0], gamma)) + (expected_log_weights(rho) - kappa.ell)
    r = resp[:, :k].astype(np.float64)
    return float((r * scores).sum() + entr(r).sum()) - divergence(f, gamma, rho, kappa, prior)


def divergence(f: Floats, gamma: Vector, rho: Vector, kappa: KappaFactor, prior: Prior) -> float:
    """Kullback-Leibler divergence of the posterior of weights, directions and concentration from the prior."""
    k = len(gamma)
    b = prior.b if prior.b.ndim == 2 else np.broadcast_to(prior.b[:, None], f.shape)
    c0 = np.broadcast_to(prior.c0, f.shape[1])[:k]
    both = gamma * c0
    cosine = np.divide(column_dots(f, b)[:k], both, out=np.zeros_like(gamma), where=both > 0)
    directions = float(kl(f.shape[0], gamma, c0, cosine).sum())
    return dirichlet_divergence(rho, prior.alpha) + directions + float(kappa.kl.sum())


def dirichlet_divergence(rho: Vector, alpha: ArrayLike) -> float:
    """KL(Dir(rho) || Dir(alpha))."""
    alpha = np.broadcast_to(np.asarray(alpha, np.float64), rho.shape)
    log_b = gammaln(rho.sum()) - gammaln(rho).sum() - gammaln(alpha.sum()) + gammaln(alpha).sum()
    return float(log_b + (rho - alpha) @ expected_log_weights(rho))


def predictive(x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor, log_weights: Vector) -> Vector:
    """Log predictive density of each document relative to uniform, the directions integrated out exactly.

    log sum_k exp( log w_k - ell(kappa) - ell(gamma_k) + ell(|f_k + kappa x|) )

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    f : (D, kp) natural vectors of the beliefs; gamma : (k,) their lengths
    kappa : concentration, or its factor (then its means are used)
    log_weights : (k,) log of the weights, -inf for topics left out

    Returns
    -------
    (N,) float64, zero for rows without direction.
    """
    scores = topic_densities(x, f, gamma, kappa)
    out = softmax_rows(scores, np.ones(len(gamma)), np.asarray(log_weights, np.float64), 1.0)
    out[~directed(x)] = 0
    return out


def topic_densities(x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor) -> NDArray[np.float64]:
    """Log predictive density of each document under each topic, (N, k) float64; see `predictive`."""
    d = f.shape[0]
    factor = kappa if isinstance(kappa, KappaFactor) else point_factor(d, kappa)
    k = len(gamma)
    mean, mean_ell = np.broadcast_to(factor.mean, k).copy(), np.broadcast_to(factor.ell, k).copy()
    return _topic_densities(float(d), dots(x, f), gamma, mean, mean_ell)


@njit(cache=True)
def _topic_densities(d: float, cross: Floats, gamma: Vector, kappa: Vector, mean_ell: Vector) -> NDArray[np.float64]:
    n, k = cross.shape[0], len(gamma)
    out = np.empty((n, k))
    for j in range(k):
        base = mean_ell[j] + ell(d, gamma[j])
        square = gamma[j] ** 2 + kappa[j] ** 2
        for i in range(n):
            out[i, j] = ell(d, np.sqrt(max(square + 2 * kappa[j] * cross[i, j], 0.0))) - base
    return out


def _first_resp(x: Rows, b: Floats, kappa0: ArrayLike | None, alpha: Vector) -> Floats:
    if kappa0 is None or b.ndim == 1:
        raise ValueError("without initial responsibilities, kappa0 and a prior direction per topic are needed")
    k = len(alpha)
    factor = point_factor(x.shape[1], kappa0)
    return responsibilities(x, b, column_norms(b)[:k], factor, expected_log_weights(alpha))[0]


def _masked(x: Rows, resp: Floats) -> Floats:
    """Take the rows without direction out of the responsibilities."""
    return np.where(directed(x)[:, None], resp, resp.dtype.type(0))


def _statistics(x: Rows, resp: Floats, k: int) -> tuple[Floats, Vector]:
    return accumulate(x, resp), resp.sum(axis=0, dtype=np.float64)[:k]


def _grouped(per_topic: Vector, concentration: str) -> Vector:
    return per_topic.sum(keepdims=True) if concentration == "shared" else per_topic


def _debiased(s: Floats, resp: Floats, k: int) -> float:
    nk = resp.sum(axis=0, dtype=np.float64)[:k]
    qk = np.einsum("ik,ik->k", resp, resp, dtype=np.float64)[:k]
    return debiased_resultant(column_norms(s)[:k], nk, qk)
