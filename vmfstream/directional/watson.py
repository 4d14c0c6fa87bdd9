"""The Watson distribution of axes and girdles on the unit sphere of any dimension."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.axes import least_axis, principal_axis
from vmfstream.directional.bessel import R_MAX, log_c_uniform
from vmfstream.directional.checks import number, unit_vector
from vmfstream.directional.distribution import CLOSE, Distribution, angles, observed
from vmfstream.directional.kummer import (
    inv_mean_square,
    log_kummer_rest,
    mean_square,
    watson_bounds,
    watson_terms,
)
from vmfstream.directional.kummer_inverses import INVERSES
from vmfstream.directional.kummer_scalars import largest_term
from vmfstream.directional.sphere import place_around

WatsonEstimator: TypeAlias = Literal["mle", "L", "B", "U", "BBG"]

ESTIMATORS: tuple[WatsonEstimator, ...] = get_args(WatsonEstimator)

_LEAST = float(np.finfo(np.float64).eps)  # 1 - mean square that vectors can tell

_SHARP = 1e6  # |kappa| from which on squares are drawn by rejection

_FLAT = 1e-9  # mean square along an axis, as a multiple of that of the uniform distribution, that is nothing
_ROUNDING = 1e-24  # the same where it is nothing but rounding


class Axis(NamedTuple):
    """What :func:`estimate` returns."""

    mu: NDArray[np.float64]
    """(d,) unit vector, its entry of largest modulus positive."""
    kappa: float
    """Concentration: positive for an axis, negative for a girdle."""
    gain: float
    """Log-likelihood relative to uniform, a unit of weight."""


def entropy(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return the entropy -log C_d(0) + log M - kappa g(kappa), in nats.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    kappa : array_like
        Concentrations, finite.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    t = watson_terms(d, kappa)
    kappas = np.asarray(kappa, np.float64)
    spread = np.where(kappas > 0, kappas * t.one_minus_g, -kappas * t.g)
    result: Vector = log_kummer_rest(d, kappa) + spread - log_c_uniform(d)
    return result


def kl(d: int, kappa: float, other: float, cosine: float, sine_square: float | None = None) -> float:
    """Return KL(W(mu, kappa) || W(mu0, other)) in nats, with the cosine mu'mu0 in [-1, 1].

    kappa g - other (g cosine^2 + (1 - g)(1 - cosine^2) / (d - 1)) - log M(kappa) + log M(other): across its axis the
    distribution spreads evenly over d - 1 dimensions. ``d`` is the dimension, ``kappa`` and ``other`` are the
    concentrations; ``sine_square`` is 1 - ``cosine``^2 where it is known better than by subtraction.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    if not abs(cosine) <= 1 + 1e-6:
        raise ValueError(f"cosine: expected a value in [-1, 1], got {cosine}")
    t = watson_terms(d, kappa)
    along = min(cosine * cosine, 1.0)
    across = 1.0 - along if sine_square is None else sine_square
    g, away = float(t.g), float(t.one_minus_g)
    own = -kappa * away if kappa > 0 else kappa * g
    seen = g * along + away * across / (d - 1)
    unseen = away * along + (1.0 - away / (d - 1)) * across
    others = other * unseen if other > 0 else -other * seen
    return max(own + others - float(log_kummer_rest(d, kappa)) + float(log_kummer_rest(d, other)), 0.0)


def sample(mu: ArrayLike, kappa: float, n: int, rng: np.random.Generator) -> Vector:
    """Draw ``n`` unit vectors from W(mu, kappa).

    Parameters
    ----------
    mu : array_like, shape (d,)
        Axis, of unit length, d >= 2.
    kappa : float
        Concentration, finite, of any sign.
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
        If ``mu`` is not a unit vector, ``kappa`` not finite, or ``n`` negative.

    Notes
    -----
    Nothing is rejected: by the power series of the normaliser the squared cosine is a mixture of Beta(1/2 + j,
    (d - 1)/2) with weights ((1/2)_j / (d/2)_j) kappa^j / j!; for kappa < 0 the squared sine is one of Beta((d - 1)/2 +
    j, 1/2). Cosine and sine come from two Gamma variables, so that neither loses digits near 0. The table of weights
    has O(sqrt(d + |kappa|)) entries. From |kappa| = 10^6 on, if that is a hundred times d, the smaller of both squares
    is drawn by rejection from a Gamma variable instead, accepted with a probability of .7 or more.
    """
    axis = unit_vector("mu", mu)
    kappa = _finite("kappa", kappa)
    if n < 0:
        raise ValueError(f"n: expected the number of vectors, at least 0, got {n}")
    c = 0.5 * len(axis)
    if abs(kappa) > max(_SHARP, 100.0 * len(axis)):
        shape, power = (c - 0.5, -0.5) if kappa > 0.0 else (0.5, c - 1.5)
        little = _draw_little(shape, power, abs(kappa), n, rng)
        cosine, sine = (np.sqrt(1.0 - little), np.sqrt(little))[:: 1 if kappa > 0.0 else -1]
        return place_around(axis, rng.choice(np.array([-1.0, 1.0]), n) * cosine, sine, rng)
    along, across = np.full(n, 0.5), np.full(n, c - 0.5)
    if kappa > 0.0:
        along += _draw_terms(0.5, c, kappa, n, rng)
    elif kappa < 0.0:
        across += _draw_terms(c - 0.5, c, -kappa, n, rng)
    along, across = rng.gamma(along), rng.gamma(across)
    length = along + across
    side = rng.choice([-1.0, 1.0], n)
    return place_around(axis, side * np.sqrt(along / length), np.sqrt(across / length), rng)


def _draw_little(shape: float, power: float, rate: float, n: int, rng: np.random.Generator) -> Vector:
    """Draw y in (0, 1) with density proportional to y^(shape - 1) (1 - y)^power e^(-rate y), power >= -1/2.

    ``rate`` is so large beside ``shape`` that y above 1/2 has no probability in double precision.
    """
    y = np.empty(n)
    missing = np.arange(n)
    while len(missing):
        drawn = rng.gamma(shape, 1.0 / rate, len(missing))
        below = np.minimum(drawn, 0.5)
        log_ratio = power * np.log1p(-below) - max(-power, 0.0) * math.log(2.0)
        accepted = (drawn < 0.5) & (log_ratio >= np.log1p(-rng.random(len(missing))))
        y[missing[accepted]] = drawn[accepted]
        missing = missing[~accepted]
    return y


def _draw_terms(a: float, c: float, x: float, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw indices j with probability proportional to the terms of the series of M(a, c, x), x > 0."""
    centre, reach = largest_term(a, c, x), 60.0 + 14.0 * math.sqrt(x + c)  # 14 standard deviations and more
    j = np.arange(max(0.0, math.floor(centre - reach)), centre + reach)
    log_weight = np.concatenate([[0.0], np.cumsum(np.log((a + j) * x / ((c + j) * (j + 1.0))))])[:-1]
    weight = np.exp(log_weight - log_weight.max())
    drawn: NDArray[np.int64] = rng.choice(j.astype(np.int64), n, p=weight / weight.sum())
    return drawn


def estimate(
    x: Rows,
    weights: NDArray[np.float64],
    estimator: WatsonEstimator = "mle",
    *,
    negative: bool = True,
    start: NDArray[np.floating[Any]] | None = None,
    capped: bool = True,
) -> Axis:
    """Estimate axis and concentration from weighted unit vectors; unchecked.

    The axis is the one of largest mean square r, with kappa = g^-1(r) > 0, or the one of smallest, with kappa < 0,
    whichever has the larger likelihood kappa r - log M(kappa).

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Unit vectors.
    weights : ndarray, shape (n,)
        Weights >= 0, one of them positive; zero for rows without direction.
    estimator : {"mle", "L", "B", "U", "BBG"}
        The exact inverse of g or one of its approximations in :mod:`.kummer_inverses`.
    negative : bool
        Consider kappa < 0.
    start : ndarray, shape (d,), optional
        An axis known to be near; the result is not worse.
    capped : bool
        Keep kappa within :func:`~vmfstream.directional.kummer.watson_bounds`.

    Notes
    -----
    1 - r is found from distances where r is close to 1. Without a cap vectors that are the same to rounding give the
    smallest kappa that they allow, with a warning.

    kappa < 0 is left out where its likelihood would be without bound: if no more than d effective vectors,
    (sum w)^2 / sum w^2, have a weight, or if all lie across an axis, to a mean square of 1e-9 / d (1e-24 / d without a
    cap).

    References
    ----------
    [Sra] eqs. (4.6)-(4.8); (4.11)-(4.13) for the approximations.
    """
    d = x.shape[1]
    mu, r = principal_axis(x, weights, start)
    away = 1.0 - r
    if away < CLOSE:
        gap = angles(x.astype(np.float64), mu)[1]
        away = float(weights @ (gap * (2.0 - gap))) / float(weights.sum())
        if away < _LEAST and not capped:
            warnings.warn(
                "x: the vectors are the same to rounding: their concentration has no upper limit", stacklevel=3
            )
    r = max(r, 1.0 / d)
    best = Axis(mu, *_concentration(d, r, min(max(away, _LEAST), 1.0 - 1.0 / d), estimator, capped))
    effective = float(weights.sum()) ** 2 / float(weights @ weights)
    if not negative or effective <= d or d == 2:  # on the circle a girdle is the axis across it
        return best
    mu, r = least_axis(x, weights, start)
    if r <= (_FLAT if capped else _ROUNDING) / d:
        return best
    r = min(r, 1.0 / d)
    girdle = Axis(mu, *_concentration(d, r, min(1.0 - r, 1.0 - _LEAST), estimator, capped))
    return max(best, girdle, key=lambda axis: axis.gain)


def _concentration(d: int, r: float, away: float, estimator: WatsonEstimator, capped: bool) -> tuple[float, float]:
    """Return kappa, and kappa r - log M(kappa), of the mean square ``r`` = 1 - ``away``."""
    exact = estimator == "mle"
    kappa = float(inv_mean_square(d, r, away) if exact else INVERSES[estimator](d, min(r, R_MAX)))
    if capped or not exact:
        low, high = watson_bounds(d)
        kappa = min(max(kappa, low), high)
    return kappa, (-kappa * away if kappa > 0 else kappa * r) - float(log_kummer_rest(d, kappa))


class Watson(Distribution):
    """The distribution with density C_d(0) exp(kappa (mu'x)^2) / M(1/2, d/2, kappa) on the unit sphere.

    It is the same for x and -x, and for mu and -mu. For kappa > 0 vectors gather at both ends of the axis mu, for
    kappa < 0 in the girdle across it.

    Parameters
    ----------
    mu : array_like, shape (d,)
        Axis, of unit length, d >= 2. Its sign is kept, and does not matter.
    kappa : float
        Concentration, finite; 0 is the uniform distribution.

    Raises
    ------
    ValueError
        If ``mu`` is not a unit vector, or ``kappa`` not finite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = Watson([0.0, 0.0, 1.0], -30.0)
    >>> found = Watson.fit(truth.rvs(2_000, rng))
    >>> bool(found.mu[2] > 0.99), bool(abs(found.kappa / -30.0 - 1) < 0.1)
    (True, True)
    """

    __slots__ = ()

    @property
    def mean_square(self) -> float:
        """The expected squared cosine with the axis, g(kappa)."""
        return float(mean_square(self.d, self.kappa))

    @classmethod
    def fit(
        cls, x: Rows | Sequence[Any], estimator: WatsonEstimator = "mle", weights: ArrayLike | None = None
    ) -> Watson:
        """Estimate axis and concentration from unit vectors by maximum likelihood.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d)
            Unit vectors; a sparse ``x`` stays sparse.
        estimator : {"mle", "L", "B", "U", "BBG"}
            How the concentration is found: exactly, or by the bound or the heuristic of this name, [Sra] (4.10)-(4.13).
        weights : array_like, shape (n,), optional
            How often each vector was seen, >= 0; once by default.

        Raises
        ------
        ValueError
            If rows are not unit vectors, weights do not fit, or the estimator is unknown.

        Notes
        -----
        The sign of kappa is the likelier one, positive where a negative one would have no bound: see :func:`estimate`.
        Approximations are kept within :func:`~vmfstream.directional.kummer.watson_bounds`, ``mle`` is exact; vectors
        that are the same to rounding give the smallest concentration that they allow, with a warning.
        """
        found = estimate(*observed(x, weights, estimator, ESTIMATORS), estimator, capped=False)
        return cls(found.mu, found.kappa)

    @staticmethod
    def _checked(name: str, kappa: float) -> float:
        return _finite(name, kappa)

    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        return sample(self.mu, self.kappa, n, rng)

    def _entropy(self) -> float:
        return float(entropy(self.d, self.kappa))

    def _divergence(self, other: Watson, cosine: float, gap: float) -> float:
        return kl(self.d, self.kappa, other.kappa, cosine, gap * (2.0 - gap))

    def _relative(self, cosine: Vector, gap: Vector) -> Vector:
        power = -gap * (2.0 - gap) if self.kappa > 0 else np.square(cosine)
        return np.asarray(self.kappa * power - log_kummer_rest(self.d, self.kappa))[()]


def _finite(name: str, given: float) -> float:
    value = number(name, given)
    if not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite concentration, got {value}")
    return value
