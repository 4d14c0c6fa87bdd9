"""The von Mises-Fisher distribution on the unit sphere of any dimension."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.bessel import (
    R_MAX,
    R_MIN,
    bessel_ratio,
    conv_concentration,
    inv_bessel_ratio,
    kappa_bounds,
    log_c_uniform,
    log_partition,
    partition_gap,
    vmf_terms,
)
from vmfstream.directional.checks import number, unit_vector
from vmfstream.directional.distribution import CLOSE, Distribution, angles, observed
from vmfstream.directional.inverses import INVERSES
from vmfstream.directional.sphere import place_around

Estimator: TypeAlias = Literal[
    "mle",
    "marginal",
    "debiased",
    "banerjee",
    "mardia_jupp_small",
    "mardia_jupp_large",
    "tanabe_lower",
    "tanabe_upper",
    "tanabe",
    "tanabe_fixed_point",
    "newton2",
]


def entropy(d: ArrayLike, gamma: ArrayLike) -> Vector:
    """Return the entropy -log C_d(0) + ell(gamma) - gamma A(gamma), in nats.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    gamma : array_like
        Concentrations, >= 0.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    t = vmf_terms(d, gamma)
    gammas = np.asarray(gamma, np.float64)
    sharp = gammas * t.one_minus_a - partition_gap(d, gamma)  # the same, but keeps its digits for large gamma
    result: Vector = np.where(t.a > 0.5, sharp, t.ell - gammas * t.a)[()] - log_c_uniform(d)
    return result


def kl(
    d: ArrayLike, gamma: ArrayLike, c0: ArrayLike, cosine: ArrayLike, one_minus_cosine: ArrayLike | None = None
) -> Vector:
    """Return KL(vMF(psi, gamma) || vMF(mu0, c0)) = ell(c0) - ell(gamma) + A(gamma) (gamma - c0 psi'mu0), in nats.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    gamma, c0 : array_like
        Concentrations of the first and of the second distribution, >= 0.
    cosine : array_like
        Cosine psi'mu0 of the two mean directions, in [-1, 1].
    one_minus_cosine : array_like, optional
        1 - cosine where it is known better than by subtraction.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    cosine = np.asarray(cosine, np.float64)
    if not np.all(np.abs(cosine) <= 1 + 1e-6):
        raise ValueError(f"cosine: expected values in [-1, 1], got {cosine.flat[np.argmax(np.abs(cosine))]}")
    t = vmf_terms(d, gamma)
    gammas, c0s = np.asarray(gamma, np.float64), np.asarray(c0, np.float64)
    apart = 1 - cosine if one_minus_cosine is None else np.asarray(one_minus_cosine, np.float64)
    broad = log_partition(d, c0) - t.ell + t.a * (gammas - c0s * cosine)
    sharp = partition_gap(d, gamma) - partition_gap(d, c0) - (gammas - c0s) * t.one_minus_a + c0s * t.a * apart
    result: Vector = np.maximum(np.where(t.a > 0.5, sharp, broad), 0.0)[()]  # rounding of a difference of large numbers
    return result


def sample(mu: ArrayLike, kappa: float, n: int, rng: np.random.Generator) -> Vector:
    """Draw ``n`` unit vectors from vMF(mu, kappa).

    Parameters
    ----------
    mu : array_like, shape (d,)
        Mean direction, of unit length, d >= 2.
    kappa : float
        Concentration, >= 0.
    n : int
        Number of vectors.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (n, d)

    Raises
    ------
    ValueError
        If ``mu`` is not a unit vector, ``kappa`` negative or not finite, or ``n`` negative.

    Notes
    -----
    The cosine with ``mu`` is drawn by rejection, accepted with a probability between 0.66 and 1 in every dimension, and
    kept as its distance from 1, so that a large concentration costs no digits.

    References
    ----------
    [U84] Ulrich 1984 and [W94] Wood 1994, rearranged for large d.
    """
    mu = unit_vector("mu", mu)
    kappa = _concentration("kappa", kappa)
    if n < 0:
        raise ValueError(f"n: expected the number of vectors, at least 0, got {n}")
    below, sine = _polar(len(mu), kappa, n, rng)
    return place_around(mu, 1.0 - below, sine, rng)


def _polar(d: int, kappa: float, n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Draw n cosines W with the mean direction; return 1 - W and sqrt(1 - W^2)."""
    free = d - 1.0
    root = math.hypot(2.0 * kappa, free)
    b = free / (2.0 * kappa + root)
    rest = 4.0 * kappa / (free + 2.0 * kappa + root)  # 1 - b
    below0 = 2.0 * b / (1.0 + b)  # 1 - x0, x0 = (1 - b) / (1 + b)
    log_peak = math.log(4.0 * b) - 2.0 * math.log1p(b)  # log(1 - x0^2)
    below, sine = np.empty(n), np.empty(n)
    missing = n
    while missing:
        z = rng.beta(0.5 * free, 0.5 * free, missing)
        denominator = 1.0 - rest * z
        w = 2.0 * b * z / denominator  # 1 - W
        log_gap = np.log(below0 + (1.0 - below0) * w)  # log(1 - x0 W)
        log_ratio = kappa * (below0 - w) + free * (log_gap - log_peak)
        accepted = np.flatnonzero(log_ratio >= np.log1p(-rng.random(missing)))
        done = n - missing
        below[done : done + len(accepted)] = w[accepted]
        sine[done : done + len(accepted)] = (2.0 * np.sqrt(b * z * (1.0 - z)) / denominator)[accepted]
        missing -= len(accepted)
    return below, sine


class VonMisesFisher(Distribution):
    """The distribution with density C_d(kappa) exp(kappa mu'x) on the unit sphere.

    Parameters
    ----------
    mu : array_like, shape (d,)
        Mean direction, of unit length, d >= 2.
    kappa : float
        Concentration, >= 0; 0 is the uniform distribution.

    Raises
    ------
    ValueError
        If ``mu`` is not a unit vector, or ``kappa`` negative or not finite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = VonMisesFisher([0.0, 0.0, 1.0], 50.0)
    >>> found = VonMisesFisher.fit(truth.rvs(2_000, rng))
    >>> bool(found.mu[2] > 0.99), bool(abs(found.kappa / 50.0 - 1) < 0.1)
    (True, True)
    """

    __slots__ = ()

    @property
    def mean_cosine(self) -> float:
        """The expected cosine with the mean direction, A_d(kappa)."""
        return float(bessel_ratio(self.d, self.kappa))

    def convolve(self, tau: float) -> VonMisesFisher:
        """Return the distribution after a random step of concentration ``tau``, matched in its mean.

        Raises
        ------
        ValueError
            If ``tau`` is negative or not finite.
        """
        step = vmf_terms(self.d, _concentration("tau", tau))
        return VonMisesFisher(self.mu, float(conv_concentration(self.d, self.kappa, step.a, step.one_minus_a)))

    @classmethod
    def fit(
        cls, x: Rows | Sequence[Any], estimator: Estimator = "mle", weights: ArrayLike | None = None
    ) -> VonMisesFisher:
        """Estimate mean direction and concentration from unit vectors.

        With S = sum_i w_i x_i, n = sum_i w_i and q = sum_i w_i^2 the mean direction is S / |S|, and kappa is

        * ``mle``: A^-1(|S| / n);
        * ``banerjee``, ``newton2`` and the other names of :mod:`~vmfstream.directional.inverses`: approximations of it;
        * ``marginal``: the root of n A(kappa) = |S| A(kappa |S|), the direction integrated out under a uniform prior;
        * ``debiased``: A^-1(a) with a^2 = (|S|^2 - q) / (n^2 - q), the mean cosine between different vectors.

        In high dimension |S| / n is far too large for few vectors; the last two correct that.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d)
            Unit vectors.
        estimator : str
            How the concentration is estimated; ``mle`` by default.
        weights : array_like, shape (n,), optional
            How often each vector was seen, >= 0; once by default.

        Raises
        ------
        ValueError
            If rows are not unit vectors, weights do not fit, the vectors cancel, or the estimator is unknown.

        Notes
        -----
        Where rows are close to the mean direction ``mle`` finds 1 - |S| / n from their distances, without cancellation.
        Vectors that are the same to rounding tell no concentration: the smallest that they allow is returned, with a
        warning. The other estimators are kept within :func:`~vmfstream.directional.bessel.kappa_bounds`.
        """
        rows, w = observed(x, weights, estimator, get_args(Estimator))
        s = np.asarray(rows.T @ w)
        length, n = float(np.linalg.norm(s)), float(w.sum())
        if length <= 1e-12 * n:
            raise ValueError("x: the vectors cancel, they have no mean direction")
        mu = s / length
        if estimator == "mle" and length > (1 - CLOSE) * n:
            cosine, gap = angles(rows, mu)
            return cls(mu, _close(len(s), float(np.where(cosine > 0, gap, 1 - cosine) @ w) / n))
        return cls(mu, _estimate(len(s), length, n, float(w @ w), estimator))

    @staticmethod
    def _checked(name: str, kappa: float) -> float:
        return _concentration(name, kappa)

    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        return sample(self.mu, self.kappa, n, rng)

    def _entropy(self) -> float:
        return float(entropy(self.d, self.kappa))

    def _divergence(self, other: VonMisesFisher, cosine: float, gap: float) -> float:
        return float(kl(self.d, self.kappa, other.kappa, cosine, gap if cosine > 0 else 1 - cosine))

    def _relative(self, cosine: Vector, gap: Vector) -> Vector:
        if self.mean_cosine < 0.5:
            return np.asarray(self.kappa * cosine - log_partition(self.d, self.kappa))[()]
        below = np.where(cosine > 0, gap, 1 - cosine)
        return np.asarray(partition_gap(self.d, self.kappa) - self.kappa * below)[()]


def _close(d: int, gap: float) -> float:
    """Return the concentration of rows whose mean resultant length is 1 - ``gap``; warn where that is 1 to rounding."""
    least = float(np.finfo(np.float64).eps)
    kappa = float(inv_bessel_ratio(d, 1.0 - max(gap, least), max(gap, least)))
    if gap < least:
        warnings.warn(
            f"x: the vectors are the same to rounding: their concentration is only known to be {kappa:.3g} or more",
            stacklevel=3,
        )
    return kappa


def _estimate(d: int, length: float, n: float, q: float, estimator: Estimator) -> float:
    low, high = kappa_bounds(d)
    r = min(max(length / n, R_MIN), R_MAX)
    if estimator == "mle":
        return float(inv_bessel_ratio(d, r))
    if estimator in INVERSES:
        return min(max(float(INVERSES[estimator](d, r)), low), high)
    if estimator == "debiased":
        pairs = n * n - q
        squared = (length * length - q) / pairs if pairs > 1e-12 * n * n else 0.0
        return float(inv_bessel_ratio(d, min(max(math.sqrt(max(squared, 0.0)), R_MIN), R_MAX)))
    if length * length <= n:
        return low

    from scipy.optimize import brentq

    def gap(log_kappa: float) -> float:
        kappa = math.exp(log_kappa)
        return float(n * bessel_ratio(d, kappa) - length * bessel_ratio(d, kappa * length))

    ends = math.log(low), math.log(float(inv_bessel_ratio(d, r)))
    if gap(ends[0]) >= 0.0 or gap(ends[1]) <= 0.0:  # the root is beyond a bound
        return low if gap(ends[0]) >= 0.0 else math.exp(ends[1])
    return math.exp(brentq(gap, *ends, xtol=1e-14))


def _concentration(name: str, given: float) -> float:
    value = number(name, given)
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name}: expected a finite concentration of at least 0, got {value}")
    return value
