"""The variational factor of a concentration: its posterior under a log-normal prior.

With u = log kappa ~ N(m, s2), n documents and T = S'E[mu], the coordinate-optimal factor is
q(u) ~ exp( -n ell_D(e^u) + T e^u - (u - m)^2 / (2 s2) ). It is integrated on a grid (``quadrature``), drawn from
(``sampling``), or replaced by the best normal q(u), with the expectation of ell_D exact (``lognormal``) or bounded
(``bounding``). In high dimension its width is a hundredth or less, so a grid has to find it first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.univariate import ConcentrationTarget, grid_quantiles, metropolis
from vmfstream.directional.bessel import R_MAX, R_MIN, inv_bessel_ratio, log_partition, vmf_terms

KappaRule: TypeAlias = Literal["quadrature", "sampling", "bounding", "lognormal", "point"]

RULES: tuple[KappaRule, ...] = get_args(KappaRule)

FARTHEST = 300.0
"""Largest |log kappa| looked at, for priors so wide that exp(u) overflows."""

NEWTON, PROBE = 60, 1e-5
"""Largest number of Newton steps towards the best normal factor, and the step of their second differences."""

DRAWS, BURN_IN = 400, 100
"""Draws that the moments of the sampled factor are taken from, and draws before them."""

_NODES, _MASSES = hermegauss(40)
_MASSES = _MASSES / _MASSES.sum()


@dataclass(frozen=True, slots=True, eq=False)
class KappaFactor:
    """q(kappa) of one or several concentrations, arrays of shape (g,): g = 1 (shared) or k (own).

    ``mean`` = E[kappa], ``ell`` = E[ell_D(kappa)], ``log_mean`` and ``log_var`` the moments of log kappa, ``kl`` =
    KL(q(kappa) || prior), 0 for point estimates.
    """

    mean: Vector
    ell: Vector
    log_mean: Vector
    log_var: Vector
    kl: Vector

    def taken(self, order: NDArray[np.int64]) -> KappaFactor:
        """Return it for topics in another ``order``, (k,); one that they share stays."""
        if len(self.mean) == 1:
            return self
        return KappaFactor(*(getattr(self, one.name)[order] for one in fields(self)))


@dataclass(frozen=True, slots=True)
class KappaPrior:
    """log kappa ~ N(m, s2)."""

    m: float
    s2: float


def point_factor(d: int, kappa: ArrayLike) -> KappaFactor:
    """Wrap concentrations that are known, or estimated as points."""
    mean = np.atleast_1d(np.asarray(kappa, np.float64))
    zero = np.zeros_like(mean)
    return KappaFactor(mean, np.atleast_1d(log_partition(d, mean)), np.log(mean), zero, zero)


def point_kappa(d: int, n: ArrayLike, t: ArrayLike) -> Vector:
    """Maximise T kappa - n ell_D(kappa): kappa = A^-1(T / n), within the limits that every estimate has.

    Parameters
    ----------
    d : int
    n, t : (g,), numbers of documents and T = sum_k S_k'E[mu_k]; the lower limit where n = 0
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    ratio = np.divide(t, n, out=np.zeros_like(n), where=n > 0)
    return np.asarray(inv_bessel_ratio(d, np.clip(ratio, R_MIN, R_MAX)), np.float64)


def kappa_factor(
    d: int,
    n: ArrayLike,
    t: ArrayLike,
    prior: KappaPrior | None,
    rule: KappaRule,
    rng: np.random.Generator | None = None,
) -> KappaFactor:
    """Return q(kappa) of one or several concentrations by the named ``rule``.

    Parameters
    ----------
    d : int, dimension >= 2 (``"bounding"``: >= 3)
    n, t : (g,), numbers of documents and T = sum_k S_k'E[mu_k]
    prior : KappaPrior; None for ``"point"``, which has none
    rule : one of `RULES`
    rng : numpy.random.Generator, for ``"sampling"`` only

    Raises
    ------
    ValueError
        An unknown rule, a missing prior, ``"sampling"`` without ``rng``, ``"bounding"`` on the circle.
    """
    if rule not in RULES:
        raise ValueError(f"kappa must be one of {', '.join(RULES)}, or known values; got {rule!r}")
    if rule == "point":
        return point_factor(d, point_kappa(d, n, t))
    if prior is None:
        raise ValueError(f"kappa {rule!r} needs a prior of log kappa; got None")
    if rule == "quadrature":
        return quadrature_factor(d, n, t, prior)
    if rule == "sampling":
        if rng is None:
            raise ValueError("kappa 'sampling' needs rng, a numpy.random.Generator; got None")
        return sampled_factor(d, n, t, prior, rng)
    if rule == "bounding":
        return bounding_factor(d, n, t, prior)
    return lognormal_factor(d, n, t, prior)


def quadrature_factor(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior) -> KappaFactor:
    """Normalise q(u) ~ exp( -n ell_D(e^u) + T e^u - (u - m)^2 / (2 s2) ) on an adaptive grid.

    Parameters
    ----------
    d : int, dimension >= 2
    n, t : (g,), numbers of documents and T = sum_k S_k'E[mu_k]
    prior : KappaPrior

    Returns
    -------
    KappaFactor of shape (g,); the prior's own moments where n = 0.

    References
    ----------
    [GY14] section 3.1 (the factor of kappa), here integrated instead of sampled.
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    cells = [_integrate(d, float(a), float(b), prior) for a, b in zip(n, t, strict=True)]
    return KappaFactor(*(np.array(column) for column in zip(*cells, strict=True)))


def lognormal_factor(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior) -> KappaFactor:
    """Return the best q(u) = N(a, b), E[ell_D(e^u)] by Gauss-Hermite quadrature: a bound with a parametric factor.

    Parameters and shapes as in `quadrature_factor`; the loss against it is below 1e-3 nats from D = 1000 on.
    """

    def partition(a: float, b: float) -> tuple[float, float, float]:
        kappa = np.exp(a + np.sqrt(b) * _NODES)
        found = vmf_terms(d, kappa)
        slope = _MASSES * found.a * kappa
        return float(_MASSES @ found.ell), float(slope.sum()), float(slope @ _NODES / (2 * np.sqrt(b)))

    return _normal_factor(d, n, t, prior, partition)


def bounding_factor(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior) -> KappaFactor:
    """Return the best q(u) = N(a, b) when ell_D is replaced by a bound, its expectation by the delta method.

    ell_D(kappa) <= b(kappa) = kappa^2 / (s + nu) - nu log1p( kappa^2 / (2 nu (s + nu)) ), s = sqrt(nu^2 + kappa^2), and
    E[b] is taken as b(E[kappa]) + b''(E[kappa]) Var[kappa] / 2, which is what ``ell`` of the result holds.

    Parameters and shapes as in `quadrature_factor`; D >= 3.

    Raises
    ------
    ValueError
        On the circle, where the bound does not exist.

    Notes
    -----
    Good from D = 100 on. After the delta method the lower bound of the evidence is not a strict one.

    References
    ----------
    [GY14] eq. (2), with the sign of its integral and its constant corrected.
    """
    if d < 3:
        raise ValueError(f"kappa 'bounding' needs a dimension of at least 3; got {d}")
    nu = 0.5 * d - 1

    def partition(a: float, b: float) -> tuple[float, float, float]:
        mean = np.exp(a + b / 2)
        var = mean**2 * np.expm1(b)
        s = np.hypot(nu, mean)
        lead = mean**2 / (s + nu)
        first, second = mean / (s + nu), nu / (s * (s + nu))
        third = -nu * mean * (2 * s + nu) / (s**3 * (s + nu) ** 2)
        by_mean = mean * (first + 0.5 * third * var)
        value = lead - nu * np.log1p(lead / (2 * nu)) + 0.5 * second * var
        spread = 0.5 * second * mean**2 * np.exp(b)
        return float(value), float(by_mean + second * var), float(0.5 * (by_mean + second * var) + spread)

    return _normal_factor(d, n, t, prior, partition)


def sampled_factor(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior, rng: np.random.Generator) -> KappaFactor:
    """Estimate the moments of the coordinate-optimal factor from draws, by random-walk Metropolis on u = log kappa.

    Parameters and shapes as in `quadrature_factor`, which this approaches as draws of ``rng`` grow. ``kl`` is that of
    the normal with the moments of the draws: the bound is approximate and noisy, and must not decide when to stop.

    References
    ----------
    [GY14] eq. (1) (sampling scheme); in u the log-normal proposal is symmetric.
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    chains = []
    for a, b in zip(n, t, strict=True):
        start, width = _normal_start(d, float(a), float(b), prior)[0]
        target = _target(d, float(a), float(b), prior)
        chains.append(metropolis(target, start, 2.4 * np.sqrt(width), BURN_IN + DRAWS, rng)[BURN_IN:])
    u = np.array(chains)
    kappa = np.exp(u)
    log_mean, log_var = u.mean(axis=1), u.var(axis=1)
    kl = _normal_divergence(log_mean, log_var, prior)
    return KappaFactor(kappa.mean(axis=1), log_partition(d, kappa).mean(axis=1), log_mean, log_var, kl)


def exact_partition(d: int, factor: KappaFactor) -> KappaFactor:
    """Return a factor with normal q(log kappa) whose ``ell`` is the expectation of ell_D itself, not of a bound."""
    kappa = np.exp(factor.log_mean[:, None] + np.sqrt(factor.log_var)[:, None] * _NODES)
    return replace(factor, ell=log_partition(d, kappa) @ _MASSES)


def mode_kappa(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior) -> Vector:
    """Maximise T kappa - n ell_D(kappa) - (u - m)^2 / (2 s2) over u = log kappa: the mode of the density of u.

    Parameters and shapes as in `quadrature_factor`; returns (g,).
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    return np.array([_mode(d, float(a), float(b), prior) for a, b in zip(n, t, strict=True)])


def kappa_quantiles(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior, levels: ArrayLike) -> Vector:
    """Quantiles of the coordinate-optimal factor, (g, number of ``levels``), at ``levels`` in (0, 1).

    Other arguments as in `quadrature_factor`.
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    cells = [_located(d, float(a), float(b), prior) for a, b in zip(n, t, strict=True)]
    return np.array([np.exp(grid_quantiles(u, f, levels)) for u, f in cells])


def _located(d: int, n: float, t: float, prior: KappaPrior) -> tuple[Vector, Vector]:
    return _target(d, n, t, prior).located(*_reach(n, t, d, prior))


def _target(d: int, n: float, t: float, prior: KappaPrior) -> ConcentrationTarget:
    return ConcentrationTarget(d, n, t, prior.m, prior.s2)


def _reach(n: float, t: float, d: int, prior: KappaPrior) -> tuple[float, float]:
    """Limits of u beyond which neither prior nor likelihood has mass that matters."""
    sd = float(np.sqrt(prior.s2))
    likely = float(np.log(point_kappa(d, n, t)[0])) if n > 0 else prior.m
    return max(min(prior.m - 12 * sd, likely - 1), -FARTHEST), min(max(prior.m + 12 * sd, likely + 1), FARTHEST)


def _integrate(d: int, n: float, t: float, prior: KappaPrior) -> tuple[float, float, float, float, float]:
    u, f = _located(d, n, t, prior)
    kappa, top = np.exp(u), f.max()
    w = np.exp(f - top)
    total = w.sum()
    log_z = top + np.log(total * (u[1] - u[0])) - 0.5 * np.log(2 * np.pi * prior.s2)
    w /= total
    mean, mean_ell, log_mean = float(w @ kappa), float(w @ log_partition(d, kappa)), float(w @ u)
    log_var = float(w @ (u - log_mean) ** 2)
    kl = -(log_z + n * mean_ell - t * mean)
    return mean, mean_ell, log_mean, log_var, float(kl)


def _mode(d: int, n: float, t: float, prior: KappaPrior) -> float:
    from scipy.optimize import minimize_scalar

    u, f = _located(d, n, t, prior)
    top, step = float(u[f.argmax()]), float(u[1] - u[0])

    def fall(x: float) -> float:
        kappa = np.exp(x)
        return float(n * log_partition(d, kappa) - t * kappa + (x - prior.m) ** 2 / (2 * prior.s2))

    found = minimize_scalar(fall, bounds=(top - step, top + step), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(found.x))


def _normal_start(d: int, n: float, t: float, prior: KappaPrior) -> list[tuple[float, float]]:
    """Means and variances of u to start from: likelihood and prior joined, and the prior alone."""
    if n <= 0:
        return [(prior.m, prior.s2)]
    kappa = float(point_kappa(d, n, t)[0])
    information = n * kappa**2 * float(vmf_terms(d, kappa).a_prime)
    b = 1 / (1 / prior.s2 + information)
    return [(b * (information * np.log(kappa) + prior.m / prior.s2), b), (np.log(kappa), b), (prior.m, prior.s2)]


def _normal_divergence(a: Vector, b: Vector, prior: KappaPrior) -> Vector:
    return np.asarray(0.5 * ((b + (a - prior.m) ** 2) / prior.s2 - 1 - np.log(b / prior.s2)))


def _normal_factor(
    d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior, partition: Callable[[float, float], tuple[float, ...]]
) -> KappaFactor:
    """Maximise J(a, b) = T E[kappa] - n E[ell] - KL(N(a, b) || N(m, s2)) cell by cell.

    ``partition`` returns E[ell] under N(a, b) and its derivatives by a and b.
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    best = [_best_normal(d, float(p), float(q), prior, partition) for p, q in zip(n, t, strict=True)]
    a, b = np.array(best).T
    expected = np.array([partition(float(p), float(q))[0] for p, q in best])
    return KappaFactor(np.exp(a + b / 2), expected, a, b, _normal_divergence(a, b, prior))


def _best_normal(
    d: int, n: float, t: float, prior: KappaPrior, partition: Callable[[float, float], tuple[float, ...]]
) -> tuple[float, float]:
    if n <= 0:
        return prior.m, prior.s2

    def rise(y: Vector, start: tuple[float, float]) -> tuple[float, Vector]:
        # in these coordinates the surface is round: a moves by its own deviation, b by factors
        width = np.sqrt(start[1])
        a, b = start[0] + width * y[0], start[1] * np.exp(y[1])
        mean = np.exp(a + b / 2)
        value, by_a, by_b = partition(a, b)
        j = t * mean - n * value - float(_normal_divergence(a, b, prior))
        j_a = t * mean - n * by_a - (a - prior.m) / prior.s2
        j_b = 0.5 * t * mean - n * by_b - 0.5 / prior.s2 + 0.5 / b
        return float(j), np.array([j_a * width, j_b * b])

    starts = _normal_start(d, n, t, prior)
    start = max(starts, key=lambda one: rise(np.zeros(2), one)[0])
    y = _summit(lambda y: rise(y, start))
    return start[0] + float(np.sqrt(start[1]) * y[0]), float(start[1] * np.exp(y[1]))


def _summit(rise: Callable[[Vector], tuple[float, Vector]]) -> Vector:
    """Maximise a function of two variables, given with its gradient, from 0 by damped Newton steps."""
    y = np.zeros(2)
    value, slope = rise(y)
    for _ in range(NEWTON):
        bend = np.array([(rise(y + shift)[1] - slope) / PROBE for shift in PROBE * np.eye(2)])
        bends, axes = np.linalg.eigh(-0.5 * (bend + bend.T))
        step = axes @ ((axes.T @ slope) / np.maximum(np.abs(bends), 1e-6))
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        gain = float(slope @ step)
        if gain <= 1e-14 * (1 + abs(value)):
            break
        ahead, turned = rise(y + step)
        while not ahead > value and np.abs(step).max() > 1e-10:
            step = step / 2
            ahead, turned = rise(y + step)
        if not ahead > value:
            break
        y, value, slope = y + step, ahead, turned
    return y
