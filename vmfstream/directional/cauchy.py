"""The spherical Cauchy distribution on the unit sphere of any dimension, which has heavy tails."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import betaln

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.checks import number
from vmfstream.directional.distribution import Distribution, observed

HIGHEST = 0.999
"""Largest rho of a fit: the likelihood of rows that are all the same has no bound."""

STEPS = 10_000
"""Most steps of a fit."""

_MANY, _TERMS = 100, 60
"""Dimensions from which the series of the entropy has less than so many terms that count, however near rho is to 1."""


class SphericalCauchy(Distribution):
    """The distribution with density C_d(0) ((1 - rho^2) / (1 + rho^2 - 2 rho mu'x))^(d - 1) on the unit sphere.

    Parameters
    ----------
    mu : array_like, shape (d,)
        Mean direction, of unit length, d >= 2.
    rho : float
        In [0, 1); 0 is the uniform distribution. The attribute ``kappa`` is the same number.

    Raises
    ------
    ValueError
        If ``mu`` is not a unit vector, or ``rho`` outside [0, 1).

    References
    ----------
    Kato and McCullagh (2020), "Some properties of a Cauchy family on the sphere derived from the Moebius
    transformations", Bernoulli 26: eq. (1), the density; section 2, draws are Moebius transforms of uniform vectors, so
    that divergences depend on one number, how far apart rho mu are in the hyperbolic ball.

    Examples
    --------
    >>> truth = SphericalCauchy([0.0, 0.0, 1.0], 0.7)
    >>> found = SphericalCauchy.fit(truth.rvs(2_000, rng=0))
    >>> bool(found.mu[2] > 0.99), bool(abs(found.rho - 0.7) < 0.02)
    (True, True)
    """

    __slots__ = ()

    def __init__(self, mu: ArrayLike, rho: float) -> None:
        super().__init__(mu, rho)

    @property
    def rho(self) -> float:
        """The position of the mean direction in the ball, in [0, 1)."""
        return self.kappa

    @classmethod
    def fit(cls, x: Rows | Sequence[Any], weights: ArrayLike | None = None) -> SphericalCauchy:
        """Estimate mean direction and rho from unit vectors by maximum likelihood; at `HIGHEST` it ends and warns.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d)
            Unit vectors.
        weights : array_like, shape (n,), optional
            How often each vector was seen, >= 0; once by default.

        Raises
        ------
        ValueError
            If rows are not unit vectors, or weights do not fit.

        Notes
        -----
        Each step maximises a bound that touches the likelihood, as in `vmfstream.mixtures.cauchy`.
        """
        rows, w = observed(x, weights, "mle", ("mle",))
        mu, rho = np.zeros(rows.shape[1]), 0.0
        for _ in range(STEPS):
            near = w / (1.0 + rho**2 - 2.0 * rho * np.asarray(rows @ mu))
            s = np.asarray(rows.T @ near)
            length = float(np.linalg.norm(s))
            before, rho = rho, float(best_rho(*(np.atleast_1d(v) for v in (w.sum(), near.sum(), length)))[0])
            turned, mu = mu, s / length if length > 0 else np.eye(1, len(s))[0]
            if abs(rho - before) < 1e-12 and float(np.abs(mu - turned).max()) < 1e-12:
                break
        if rho >= HIGHEST * (1.0 - 1e-9):
            warnings.warn(f"x: the vectors are so nearly the same that rho is {HIGHEST} or more", stacklevel=2)
        return cls(mu, rho)

    @staticmethod
    def _checked(name: str, kappa: float) -> float:
        value = number("rho", kappa)
        if not 0.0 <= value < 1.0:
            raise ValueError(f"rho: expected a number in [0, 1), got {value}")
        return value

    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        u = rng.standard_normal((n, self.d))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        shifted = u + self.rho * self.mu
        x = (1.0 - self.rho**2) / np.square(shifted).sum(axis=1, keepdims=True) * shifted + self.rho * self.mu
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def _relative(self, cosine: Vector, gap: Vector) -> Vector:
        below = np.where(cosine > 0, gap, 1.0 - cosine)
        distance = (1.0 - self.rho) ** 2 + 2.0 * self.rho * below
        return np.asarray((self.d - 1) * (math.log1p(-(self.rho**2)) - np.log(distance)))[()]

    def _entropy(self) -> float:
        return -float(log_c_uniform(self.d)) - _from_uniform(self.d, self.rho)

    def _divergence(self, other: SphericalCauchy, cosine: float, gap: float) -> float:
        a, b = self.rho, other.rho
        below = gap if cosine > 0 else 1.0 - cosine
        apart = (a - b) ** 2 + 2.0 * a * b * below
        return _from_uniform(self.d, math.sqrt(apart / (apart + (1.0 - a * a) * (1.0 - b * b))))


def best_rho(mass: Vector, nearness: Vector, length: Vector) -> Vector:
    """Return the rho in [0, 1) that makes W log(1 - rho^2) - a (1 + rho^2) + 2 b rho largest, elementwise.

    Parameters
    ----------
    mass : W >= 0, sums of responsibilities
    nearness : a >= 0, sums of responsibilities over distances
    length : b in [0, a], length of the sum of rows times these

    Notes
    -----
    The root of (b - a rho)(1 - rho^2) = W rho, which is the only one there: the function is concave. By bisection, to
    the last bit.
    """
    low, high = np.zeros_like(mass), np.full_like(mass, HIGHEST)
    for _ in range(60):
        middle = 0.5 * (low + high)
        rises = (length - nearness * middle) * (1.0 - middle**2) > mass * middle
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.asarray(low)


def _from_uniform(d: int, rho: float) -> float:
    """Return (d - 1) (E log(1 + rho^2 + 2 rho t) - log(1 - rho^2)) for a uniform x with cosine t.

    It is KL(uniform || rho), and KL(rho || uniform) too, since a Moebius transformation carries one pair to the other.
    In many dimensions t is nearly 0, which `quad` does not find; there log(1 - x^2 t^2) is summed as a series.
    """
    if d >= _MANY:
        k = np.arange(1, _TERMS)
        x = 2.0 * rho / (1.0 + rho**2)
        moments = np.cumprod(x * x * (2 * k - 1) / (d + 2 * k - 2))  # E (x t)^2k
        return float((d - 1) * (math.log1p(rho**2) - math.log1p(-(rho**2)) - (moments / (2 * k)).sum()))

    def inner(angle: float) -> float:  # measured from the far pole, where the logarithm is sharpest
        return math.log((1.0 - rho) ** 2 + 4.0 * rho * math.sin(0.5 * angle) ** 2) * math.sin(angle) ** (d - 2)

    if rho == 0.0:
        return 0.0
    sharp = min(1.0 - rho, 1.0)
    parts = (
        quad(inner, low, high, epsabs=1e-14, epsrel=1e-12, limit=200)[0]
        for low, high in ((0.0, sharp), (sharp, math.pi))
    )
    expected = float(sum(parts)) / math.exp(betaln(0.5, 0.5 * (d - 1)))
    return (d - 1) * (expected - math.log1p(-(rho**2)))
