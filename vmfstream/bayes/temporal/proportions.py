"""Topic weights over slices: constant, or a random walk of their logarithms.

    static            pi ~ Dir(alpha), the same in all slices
    logistic-normal   eta_t ~ N(eta_{t-1}, step I),  pi_t = softmax(eta_t)
    Dirichlet         eta_t ~ N(eta_{t-1}, step I),  pi_t ~ Dir(strength softmax(eta_t))

Each is a value that holds a posterior. ``renewed(counts)`` maximises the evidence lower bound given the expected
numbers of documents (T, k), ``expected_log`` (T, k) is what the E-step needs, and ``gain`` is what the bound has beside
sum_tk counts_tk expected_log_tk. ``ahead()`` is the same kind of value for the one slice after the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln, polygamma, softmax

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.weights import dirichlet_divergence, expected_log_weights

ProportionRule: TypeAlias = Literal["static", "logistic-normal", "dirichlet"]

STEP = 0.1
"""Variance of a step of the log-weights between slices: shares change by a third."""

FIRST_STEP = 4.0
"""Variance of the log-weights of the first slice about equal weights."""

PASSES = 20
"""Quadratic bounds of the log-sum-exp in a row; each is tight where the last one had its maximum."""


class Proportions(Protocol):
    """Posterior of the weights of k topics in T slices."""

    @property
    def expected_log(self) -> Vector:
        """E[log pi_t], (T, k), or a lower bound of it."""
        ...

    @property
    def gain(self) -> float:
        """What the bound has beside sum_tk counts_tk expected_log_tk."""
        ...

    @property
    def weights(self) -> Vector:
        """Expected weights (T, k)."""
        ...

    def renewed(self, counts: Vector) -> Self:
        """Maximise the bound given expected numbers of documents (T, k)."""
        ...

    def ahead(self) -> Self:
        """Prior of the slice after the last, given all slices."""
        ...


def proportions(
    rule: ProportionRule,
    k: int,
    slices: int,
    *,
    alpha: ArrayLike = 1.0,
    step: float = STEP,
    strength: float | None = None,
) -> Proportions:
    """Prior of the weights, to be renewed.

    Parameters
    ----------
    rule : ``"static"``, ``"logistic-normal"`` or ``"dirichlet"``
    k, slices : int >= 1
    alpha : float > 0 or (k,), of the static weights
    step : float > 0, variance of a step of the log-weights
    strength : float > 0, total concentration of the Dirichlet weights about their walk, default k

    Raises
    ------
    ValueError
        An unknown rule, or a number out of its range.

    References
    ----------
    [GY14] section 3.3. The paper's Dirichlet has strength 1, whose draws put nearly all weight on one topic.
    """
    if rule not in get_args(ProportionRule):
        raise ValueError(f"proportions must be one of {', '.join(get_args(ProportionRule))}; got {rule!r}")
    strength = float(k) if strength is None else strength
    for name, value in (("alpha", float(np.asarray(alpha).min())), ("step", step), ("strength", strength)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite; got {value}")
    if rule == "static":
        prior = np.broadcast_to(np.asarray(alpha, np.float64), k)
        return StaticWeights(prior, prior, slices)
    zero = np.zeros((slices, k))
    if rule == "logistic-normal":
        return LogisticNormal(zero[0], FIRST_STEP, step, zero, np.full(slices, FIRST_STEP), 0.0, np.zeros(slices))
    return DirichletWalk(zero[0], FIRST_STEP, step, strength, zero, np.full((slices, k), strength / k))


@dataclass(frozen=True, slots=True, eq=False)
class StaticWeights:
    """One draw of weights for all slices: q(pi) = Dir(rho), prior Dir(alpha); both (k,)."""

    alpha: Vector
    rho: Vector
    slices: int

    @property
    def expected_log(self) -> Vector:
        """E[log pi], the same row for every slice, (T, k)."""
        return np.tile(expected_log_weights(self.rho), (self.slices, 1))

    @property
    def gain(self) -> float:
        """-KL(Dir(rho) || Dir(alpha))."""
        return -dirichlet_divergence(self.rho, self.alpha)

    @property
    def weights(self) -> Vector:
        """Expected weights, the same row for every slice, (T, k)."""
        return np.tile(self.rho / self.rho.sum(), (self.slices, 1))

    def renewed(self, counts: Vector) -> Self:
        """Set rho = alpha + sum_t n_t."""
        return replace(self, rho=self.alpha + counts.sum(axis=0))

    def ahead(self) -> Self:
        """The posterior is the prior of what comes."""
        return replace(self, alpha=self.rho, slices=1)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticNormal:
    """A Gaussian walk of log-weights, observed through the quadratic bound of the log-sum-exp about ``eta``.

    LSE(eta) <= LSE(xi) + (eta - xi)'softmax(xi) + |eta - xi|^2 / 4 for eta - xi of sum zero, so every slice is a
    Gaussian observation of precision N_t / 2 in each of the k - 1 directions, and all share one scalar Kalman gain.

    ``start`` (k,) and ``first`` are mean and variance before the first slice, ``step`` the variance of a step, ``eta``
    (T, k) and ``var`` (T,) the smoothed means and variances, ``walk`` the terms of the walk in the bound, ``seen`` (T,)
    the documents.
    """

    start: Vector
    first: float
    step: float
    eta: Vector
    var: Vector
    walk: float
    seen: Vector

    @property
    def expected_log(self) -> Vector:
        """Lower bound of E[log softmax(eta_t)] at its tightest, (T, k)."""
        spare = 0.25 * (self.eta.shape[1] - 1) * self.var
        return np.asarray(self.eta - (np.logaddexp.reduce(self.eta, axis=1) + spare)[:, None])

    @property
    def gain(self) -> float:
        """Expected log-density of the walk and its entropy."""
        return self.walk

    @property
    def weights(self) -> Vector:
        """Expected weights (T, k)."""
        return expected_softmax(self.eta, self.var[:, None])

    def renewed(self, counts: Vector) -> Self:
        """Kalman filter and smoother on the pseudo-observations, about the last means, several times."""
        n = counts.sum(axis=1)
        eta = self.eta
        for _ in range(PASSES):
            target = eta + 2 * (counts / np.maximum(n, 1e-300)[:, None] - softmax(eta, axis=1))
            new, var, walk = _smoothed_walk(target, n / 2, self.start, self.first, self.step)
            moved = np.abs(new - eta).max()
            eta = new
            if moved < 1e-10:
                break
        return replace(self, eta=eta, var=var, walk=walk, seen=n)

    def ahead(self) -> Self:
        """Mean of the last slice; the variance is that of the posterior's own curvature, which is less than N / 2."""
        before = self.first if len(self.eta) == 1 else self.var[-2] + self.step
        pi = softmax(self.eta[-1])
        var = 1.0 / (1.0 / before + self.seen[-1] * float(np.mean(pi * (1 - pi)))) + self.step
        return replace(self, start=self.eta[-1], first=var, eta=self.eta[-1:], var=np.array([var]), seen=np.zeros(1))


@dataclass(frozen=True, slots=True, eq=False)
class DirichletWalk:
    """Dirichlet weights about a walk of log-weights: q(pi_t) = Dir(rho_t), ``eta`` (T, k) at its best value.

    ``start`` (k,) and ``first`` are mean and variance before the first slice, ``step`` the variance of a step,
    ``strength`` the total concentration; ``rho`` (T, k) = strength softmax(eta_t) + n_t.
    """

    start: Vector
    first: float
    step: float
    strength: float
    eta: Vector
    rho: Vector

    @property
    def expected_log(self) -> Vector:
        """E[log pi_t], (T, k)."""
        return np.asarray(digamma(self.rho) - digamma(self.rho.sum(axis=1, keepdims=True)))

    @property
    def gain(self) -> float:
        """-sum_t KL(Dir(rho_t) || Dir(strength softmax(eta_t))) and the log-density of the walk."""
        prior = self._prior(self.eta)
        divergence = sum(dirichlet_divergence(r, a) for r, a in zip(self.rho, prior, strict=True))
        return -divergence - self._walk(self.eta)[0]

    @property
    def weights(self) -> Vector:
        """Expected weights (T, k)."""
        return np.asarray(self.rho / self.rho.sum(axis=1, keepdims=True))

    def renewed(self, counts: Vector) -> Self:
        """Maximise over eta with q(pi_t) at its best, the likelihood of Dirichlet-multinomial counts; then set rho."""
        from scipy.optimize import minimize

        def cost(flat: Vector) -> tuple[float, Vector]:
            eta = flat.reshape(counts.shape)
            a = softmax(eta, axis=1)
            prior = self._prior(eta)
            walk, slope = self._walk(eta)
            fit = float((gammaln(prior + counts) - gammaln(prior)).sum())
            g = digamma(prior + counts) - digamma(prior)
            uphill = self.strength * a * (g - (a * g).sum(axis=1, keepdims=True))
            return walk - fit, (slope - uphill).ravel()

        before = cost(self.eta.ravel())[0]
        found = minimize(cost, self.eta.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 100})
        eta = np.asarray(found.x).reshape(counts.shape) if found.fun < before else self.eta
        return replace(self, eta=eta, rho=self._prior(eta) + counts)

    def ahead(self) -> Self:
        """The last value of the walk is where the next step starts, as uncertain as the slices leave it.

        The variance is that of the curvature at the best values.
        """
        last = self.eta[-1:]
        var = self.first
        for eta, rho in zip(self.eta, self.rho, strict=True):
            var = 1.0 / (1.0 / var + self._information(eta, rho)) + self.step
        return replace(self, start=last[0], first=var, eta=last, rho=self._floored(expected_softmax(last, var)))

    def _information(self, eta: Vector, rho: Vector) -> float:
        """Curvature of the log-likelihood of a slice's counts in ``eta``, its mean over the k - 1 directions."""
        k = len(eta)
        if k == 1:
            return 0.0
        prior, a = self._prior(eta), softmax(eta)
        slope = self.strength * (digamma(rho) - digamma(prior))
        bend = self.strength**2 * (polygamma(1, rho) - polygamma(1, prior))
        turned = np.diag(a) - np.outer(a, a)
        curved = a * ((np.eye(k) - a) ** 2 - a * (1 - a)).sum(axis=1)
        return max(0.0, -float(bend @ (turned**2).sum(axis=1) + slope @ curved) / (k - 1))

    def _prior(self, eta: Vector) -> Vector:
        return self._floored(softmax(eta, axis=-1))

    def _floored(self, a: Vector) -> Vector:
        return np.asarray(np.maximum(self.strength * a, 1e-10))

    def _walk(self, eta: Vector) -> tuple[float, Vector]:
        """Minus log-density of the walk, without constants, and its gradient."""
        steps = np.diff(eta, axis=0, prepend=self.start[None])
        pull = steps / np.r_[self.first, np.full(len(eta) - 1, self.step)][:, None]
        slope = pull.copy()
        slope[:-1] -= pull[1:]
        return 0.5 * float((steps * pull).sum()), slope


def expected_softmax(eta: Vector, var: ArrayLike) -> Vector:
    """Return about E[softmax], (..., k), for log-weights of means ``eta`` (..., k) and variances ``var``.

    softmax(eta / sqrt(1 + pi var / 4)): a logistic function is nearly a probit, whose expectation is known.

    References
    ----------
    [Mac92] MacKay 1992, The evidence framework applied to classification networks, eq. (10).
    """
    return np.asarray(softmax(eta / np.sqrt(1 + 0.25 * np.pi * np.asarray(var)), axis=-1))


def _smoothed_walk(
    target: Vector, precision: Vector, start: Vector, first: float, step: float
) -> tuple[Vector, Vector, float]:
    """Means (T, k) and variances (T,) of a Gaussian walk given noisy targets, and its expected log-density and entropy.

    All in the k - 1 directions of sum zero, each with the same scalar gains.
    """
    slices, k = target.shape
    mean, ahead = np.empty_like(target), np.empty_like(target)
    var, wide = np.empty(slices), np.empty(slices)
    last, spread = start, first
    for t in range(slices):
        gain = spread * precision[t] / (1 + spread * precision[t])
        ahead[t], wide[t] = last, spread
        mean[t], var[t] = last + gain * (target[t] - last), spread / (1 + spread * precision[t])
        last, spread = mean[t], var[t] + step
    filtered = var.copy()
    covered = filtered[-1:].tolist()
    cross = np.zeros(slices)
    for t in range(slices - 2, -1, -1):
        back = filtered[t] / wide[t + 1]
        mean[t] += back * (mean[t + 1] - ahead[t + 1])
        var[t] += back**2 * (var[t + 1] - wide[t + 1])
        cross[t + 1] = back * var[t + 1]
        covered.append(filtered[t] - filtered[t] ** 2 / wide[t + 1])
    steps = np.diff(mean, axis=0, prepend=start[None])
    rate = np.r_[first, np.full(slices - 1, step)]
    moved = (steps**2).sum(axis=1) + (k - 1) * (var + np.r_[0.0, var[:-1]] - 2 * cross)
    density = -0.5 * ((k - 1) * np.log(2 * np.pi * rate) + moved / rate).sum()
    entropy = 0.5 * (k - 1) * np.log(2 * np.pi * np.e * np.array(covered)).sum()
    return mean, var, float(density + entropy)
