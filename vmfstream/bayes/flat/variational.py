"""Variational inference for the Bayesian mixture of von Mises-Fisher distributions.

    pi ~ Dir(alpha);  mu_k ~ vMF with natural vector b_k = C_0 mu_0;  log kappa ~ N(m, s2);  x_i ~ vMF(mu_{z_i}, kappa)
    q = Dir(pi | rho) prod_k vMF(mu_k | f_k / |f_k|, |f_k|) q(kappa) prod_i Cat(z_i | resp_i)

Each factor is renewed given the others; the evidence lower bound never falls. Natural vectors of all topics are columns
of a matrix (D, kp); log-densities are relative to uniform. Rows without direction have zero responsibilities. Other
priors of the weights than Dir(alpha) fit in: see `vmfstream.bayes.factors.weights`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.convergence import ConvergenceMonitor
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, point_factor
from vmfstream.bayes.factors.directions import directions_divergence, expected_cosines, natural_vectors, shrinkage
from vmfstream.bayes.factors.empirical_bayes import (
    Hyperparameter,
    check_hyperparameters,
    learned_alpha,
    learned_c0,
    learned_mean,
)
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior, masked, moment_kappa_prior
from vmfstream.bayes.factors.responsibilities import SoftOrHard, assigned, responsibilities, total
from vmfstream.bayes.factors.weights import (
    Dirichlet,
    DirichletWeights,
    Weights,
    WeightsPrior,
    dirichlet_divergence,
    expected_log_weights,
)
from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.mixtures.columns import column_dots, column_norms
from vmfstream.mixtures.concentration import shared_concentration
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import weighted

AT_REST = 1e-5
"""Largest 1 - cosine by which directions turn in the last sweep when the bound is too noisy to tell."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatFit:
    """Posterior of a mixture: natural vectors ``f`` (D, kp) of lengths ``gamma`` (k,), ``kappa`` and ``weights``.

    ``resp`` (N, kp) is the E-step under exactly these parameters; ``nk`` (k,) and ``t`` = S_k'E[mu_k], summed over the
    topics if kappa is shared, are the statistics they were made from. ``prior`` and ``law``, the prior of kappa, are
    those at the end. ``trace`` is the lower bound after each sweep, in nats relative to uniform.
    """

    f: Floats
    gamma: Vector
    kappa: KappaFactor
    weights: Weights
    resp: Floats
    nk: Vector
    t: Vector
    prior: Prior
    law: KappaPrior | None
    trace: Vector
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.trace)

    @property
    def rho(self) -> Vector:
        """Posterior Dir(rho) of the weights, (k,), if their prior is a Dirichlet distribution."""
        if not isinstance(self.weights, DirichletWeights):
            raise TypeError(f"these weights have no Dirichlet posterior; they are {type(self.weights).__name__}")
        return self.weights.rho


def fit(
    x: Rows,
    resp0: Floats | None,
    k: int,
    prior: Prior,
    *,
    kappa: KappaRule | float | Vector = "quadrature",
    concentration: Concentration = "shared",
    kappa_prior: KappaPrior | None = None,
    kappa0: ArrayLike | None = None,
    seen: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
    assignment: SoftOrHard = "soft",
    learn: Collection[Hyperparameter] = (),
    weights: WeightsPrior | None = None,
    mass: Vector | None = None,
    rng: np.random.Generator | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
    threads: int = 1,
) -> FlatFit:
    """Fit the Bayesian mixture by coordinate ascent on the evidence lower bound.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    resp0 : (N, kp) initial responsibilities, best from annealed EM; None starts from the E-step under the prior, which
        must then have a direction per topic, and ``kappa0``
    k : int, number of topics
    prior : Prior, see `vmfstream.bayes.factors.priors.moment_prior`
    kappa : how the posterior of log kappa is found, see `vmfstream.bayes.factors.concentration.kappa_factor`:
        ``"quadrature"``, ``"sampling"``, ``"bounding"``, ``"lognormal"`` or ``"point"`` (A^-1(T / N), no prior); or
        known values
    concentration : one for all topics or one each
    kappa_prior : prior of log kappa, default `vmfstream.bayes.factors.priors.moment_kappa_prior`
    kappa0 : initial concentration, default the ``marginal`` estimate of ``resp0``
    seen : (n, T), statistics of earlier documents about kappa, each a number or (k,)
    assignment : ``"hard"`` gives each document to one topic; the bound is then that of such assignments
    learn : hyperparameters fitted to the data, see `vmfstream.bayes.factors.empirical_bayes`, after 5 sweeps and then
        every 5
    weights : prior of the weights instead of Dir(prior.alpha)
    mass : (N,) float64, how often each row was seen, >= 0: what its responsibilities are multiplied by; once by default
    rng : numpy.random.Generator, for ``"sampling"`` only
    max_iter : int, largest number of sweeps
    tol : float, stop when the bound per document changes by less, in nats (``"sampling"``, whose bound is noisy: when
        all directions rest)
    threads : int, threads that share the rows

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
    _check(x, resp0, k, prior, concentration, assignment, learn, weights)
    d = x.shape[1]
    shares: WeightsPrior = Dirichlet(_per_topic(prior.alpha, k)) if weights is None else weights
    n_seen, t_seen = (_per_topic(v, 1 if concentration == "shared" else k) for v in seen)
    if kappa_prior is None and isinstance(kappa, str) and kappa != "point":
        if resp0 is None:
            raise ValueError("kappa_prior is needed when there are no initial responsibilities")
        kappa_prior = moment_kappa_prior(x, weighted(resp0, mass), k)
    model = KappaModel(kappa, kappa_prior, concentration, n_seen, t_seen, rng)
    resp = _first_resp(x, prior.b, kappa0, _per_topic(prior.alpha, k)) if resp0 is None else masked(x, resp0)
    s, nk = _statistics(x, weighted(resp, mass), k, threads)
    kappa0 = kappa0 if model.known is None else model.known
    factor = point_factor(d, shared_concentration(d, column_norms(s)[:k], nk, nk.sum()) if kappa0 is None else kappa0)
    f = np.zeros_like(s)
    sweeps = ConvergenceMonitor(learn, tol * total(x, mass), max_iter)
    while True:
        before = f
        posterior = shares.posterior(nk)
        f, gamma = natural_vectors(prior.b, s, factor.mean, k)
        t = expected_cosines(f, gamma, s)
        factor = model.factor(d, nk, t)
        if sweeps.learning():
            prior = _learned_prior(learn, f, gamma, posterior, prior)
            if isinstance(posterior, DirichletWeights):
                shares = Dirichlet(_per_topic(prior.alpha, k))
                posterior = replace(posterior, alpha=shares.alpha)
            if "kappa" in learn:
                model, factor = model.learned(d, nk, t, factor)
        resp, gain = assigned(x, f, gamma, factor, posterior.expected_log, assignment, mass=mass, threads=threads)
        bound = gain - posterior.kl - directions_divergence(f, gamma, prior) - model.cost(factor)
        if sweeps.ended(bound, _turned(f, before, gamma) < AT_REST if model.noisy else None):
            break
        s, nk = _statistics(x, weighted(resp, mass), k, threads)
    t = model.grouped(t)
    return FlatFit(f, gamma, factor, posterior, resp, nk, t, prior, model.prior, sweeps.trace, sweeps.converged)


def elbo(x: Rows, resp: Floats, f: Floats, rho: Vector, kappa: KappaFactor, prior: Prior) -> float:
    """Evidence lower bound of any state, in nats relative to the uniform density of all documents with a direction.

    sum_ik resp_ik (score_ik - log resp_ik) - KL(Dir) - sum_k KL(vMF_k) - KL(kappa)

    ``x`` are unit rows (N, D) with responsibilities ``resp`` (N, kp); ``f`` (D, kp), ``rho`` (k,) and ``kappa`` are the
    factors of directions, weights and concentration; ``prior`` is theirs.
    """
    k = len(rho)
    gamma = column_norms(f)[:k]
    scores = dots(x, f)[:, :k] * (kappa.mean * shrinkage(f.shape[0], gamma)) + (expected_log_weights(rho) - kappa.ell)
    r = resp[:, :k].astype(np.float64)
    return float((r * scores).sum() + entr(r).sum()) - divergence(f, gamma, rho, kappa, prior)


def divergence(f: Floats, gamma: Vector, rho: Vector, kappa: KappaFactor, prior: Prior) -> float:
    """Kullback-Leibler divergence, in nats, of the posterior of weights, directions and concentration from the prior.

    ``f`` (D, kp) of lengths ``gamma`` (k,), ``rho`` (k,) and ``kappa`` as in `elbo`.
    """
    return dirichlet_divergence(rho, prior.alpha) + directions_divergence(f, gamma, prior) + float(kappa.kl.sum())


def _first_resp(x: Rows, b: Floats, kappa0: ArrayLike | None, alpha: Vector) -> Floats:
    if kappa0 is None or b.ndim == 1:
        raise ValueError("without initial responsibilities, kappa0 and a prior direction per topic are needed")
    k = len(alpha)
    factor = point_factor(x.shape[1], kappa0)
    return responsibilities(x, b, column_norms(b)[:k], factor, expected_log_weights(alpha))[0]


def _statistics(x: Rows, resp: Floats, k: int, threads: int) -> tuple[Floats, Vector]:
    return accumulate(x, resp, threads=threads), resp.sum(axis=0, dtype=np.float64)[:k]


def _turned(f: Floats, before: Floats, gamma: Vector) -> float:
    """Return the largest 1 - cosine between old and new directions."""
    both = gamma * column_norms(before)[: len(gamma)]
    cosine = np.divide(column_dots(f, before)[: len(gamma)], both, out=np.zeros_like(gamma), where=both > 0)
    return float(1 - cosine.min())


def _learned_prior(
    learn: Collection[Hyperparameter], f: Floats, gamma: Vector, posterior: Weights, prior: Prior
) -> Prior:
    d, k = f.shape[0], len(gamma)
    alpha, b = prior.alpha, prior.b.astype(np.float64)
    expected = f[:, :k].astype(np.float64) @ shrinkage(d, gamma)
    if "mu0" in learn:
        b = learned_mean(expected, b)
    if "c0" in learn:
        b = learned_c0(d, expected, b, k)
    if "alpha" in learn and isinstance(posterior, DirichletWeights):
        alpha = learned_alpha(posterior.rho, float(posterior.alpha[0]))
    return Prior(alpha, b.astype(prior.b.dtype))


def _per_topic(value: ArrayLike, k: int) -> Vector:
    return np.broadcast_to(np.asarray(value, np.float64), k)


def _check(
    x: Rows,
    resp0: Floats | None,
    k: int,
    prior: Prior,
    concentration: str,
    assignment: str,
    learn: Collection[str],
    weights: WeightsPrior | None,
) -> None:
    d, kp = x.shape[1], padded(k)
    if resp0 is not None and resp0.shape != (x.shape[0], kp):
        raise ValueError(f"resp0 must have the shape {(x.shape[0], kp)}; got {resp0.shape}")
    if prior.b.shape not in ((d,), (d, kp)):
        raise ValueError(f"prior.b must have the shape {(d,)} or {(d, kp)}; got {prior.b.shape}")
    for name, value, domain in (
        ("concentration", concentration, get_args(Concentration)),
        ("assignment", assignment, get_args(SoftOrHard)),
    ):
        if value not in domain:
            raise ValueError(f"{name} must be one of {', '.join(domain)}; got {value!r}")
    check_hyperparameters(learn)
    if {"mu0", "c0"} & set(learn) and prior.b.ndim == 2:
        raise ValueError(f"mu0 and c0 are learnt for a common prior, b of shape {(d,)}; got {prior.b.shape}")
    if "alpha" in learn and (weights is not None or np.ndim(prior.alpha) > 0):
        raise ValueError("alpha is learnt for weights with the prior Dir(alpha), alpha a number; got another prior")
