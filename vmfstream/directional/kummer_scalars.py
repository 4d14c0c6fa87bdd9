r"""The special functions of the Watson distribution at one dimension and one concentration, compiled.

With kappa > 0 the power series of M has positive terms, which are weights: t is a mixture of Beta(a + j, c - a), and
all moments are weighted means of moments of these. Kummer's transformation M(a, c, kappa) = e^kappa M(c - a, c, -kappa)
brings kappa < 0 to the same form with 1 - t in place of t (DLMF 13.2.39). The series is summed outwards from its
largest term; for large kappa the expansion in 1/kappa takes its place (DLMF 13.7.1), wherever its terms become
negligible before they grow.

Nothing is checked here: :mod:`.kummer` has the functions for arrays, which check their input.
"""

from __future__ import annotations

import math

from numba import njit

from vmfstream.directional.newton import newton_step

_LARGE = 50.0  # |kappa| from which e^-|kappa|, which the expansion in 1/kappa leaves out, is nothing
_STIRLING = 20.0  # z from which log Gamma(z + 1/2) - log Gamma(z) comes from its expansion, exact to 3e-15


@njit(cache=True)
def largest_term(a: float, c: float, x: float) -> float:
    """Return the index of the largest term of M(a, c, x), x > 0, or 0 where terms fall from the first."""
    slope = c + 1.0 - x  # t_{j+1} >= t_j where j^2 + slope j + c - a x <= 0
    discriminant = slope * slope - 4.0 * (c - a * x)
    if discriminant < 0.0:
        return 0.0
    root = math.sqrt(discriminant)
    larger = 0.5 * (root - slope) if slope <= 0.0 else 2.0 * (a * x - c) / (slope + root)
    return max(math.floor(larger), 0.0)


@njit(cache=True)
def _log_term(a: float, c: float, x: float, j: float) -> float:
    """Return the log of (a)_j x^j / ((c)_j j!)."""
    if j == 0.0:
        return 0.0
    rising = (math.lgamma(a + j) - math.lgamma(a)) - (math.lgamma(c + j) - math.lgamma(c))
    return rising + j * math.log(x) - math.lgamma(j + 1.0)


@njit(cache=True)
def _series(a: float, c: float, x: float) -> tuple[float, float, float, float]:
    """Return log M(a, c, x) and the mean of t, of 1 - t and the variance under the weights of its series, x >= 0."""
    start = largest_term(a, c, x)
    rest = 0.0  # the sum of all terms but the first, which is scaled to 1
    j = start
    mean, mean_away = (a + j) / (c + j), (c - a) / (c + j)
    within = mean * mean_away / (c + j + 1.0)  # the variance of Beta(a + j, c - a)
    first, second = 0.0, 0.0  # moments of the difference of the means of that and of the first Beta
    unit = mean_away
    for direction in (1.0, -1.0):
        j = start
        term = 1.0
        while True:
            if direction > 0.0:
                term *= (a + j) * x / ((c + j) * (j + 1.0))
                j += 1.0
            else:
                if j == 0.0:
                    break
                j -= 1.0
                term *= (c + j) * (j + 1.0) / ((a + j) * x)
            t = (a + j) / (c + j)
            away = (c - a) / (c + j)
            shift = unit * (j - start) / (c + j)
            rest += term
            mean += term * t
            mean_away += term * away
            within += term * t * away / (c + j + 1.0)
            first += term * shift
            second += term * shift * shift
            if term <= 1e-18 * (1.0 + rest):
                break
    total = 1.0 + rest
    variance = (within + second) / total - (first / total) ** 2
    return math.log1p(rest) + _log_term(a, c, x, start), mean / total, mean_away / total, variance


@njit(cache=True)
def _log_gamma_ratio(c: float, a: float) -> float:
    """Return log Gamma(c) - log Gamma(a), by their expansion if a = c - 1/2 is large (DLMF 5.11.8)."""
    if a != c - 0.5 or a < _STIRLING:
        return math.lgamma(c) - math.lgamma(a)
    w = 1.0 / (a * a)
    series = -1.0 / 8.0 + w * (1.0 / 192.0 + w * (-1.0 / 640.0 + w * (17.0 / 14336.0)))
    return 0.5 * math.log(a) + series / a


@njit(cache=True)
def _expansion(a: float, c: float, x: float) -> tuple[bool, float, float, float]:
    """Return log(e^-x M(a, c, x)), the mean of 1 - t and the variance by the expansion in 1/x (DLMF 13.7.1).

    The first value tells whether it holds, for x large, not below c, and with terms that become negligible before they
    grow; the others mean nothing if not.
    """
    if x < c or x < _LARGE:
        return False, 0.0, 0.0, 0.0
    term = 1.0
    total, first, second = 1.0, 0.0, 0.0
    s = 0.0
    while True:
        ratio = (1.0 - a + s) * (c - a + s) / ((s + 1.0) * x)
        if abs(ratio) >= 1.0:
            return False, 0.0, 0.0, 0.0
        term *= ratio
        s += 1.0
        total += term
        first += term * s
        second += term * s * s
        if abs(term) * s * s <= 1e-17 * abs(total):
            break
    mean = first / total
    away = (c - a + mean) / x  # by differentiating the logarithm, once and twice
    variance = (c - a + mean + (second / total - mean * mean)) / (x * x)
    return True, _log_gamma_ratio(c, a) + (a - c) * math.log(x) + math.log(total), away, variance


@njit(cache=True)
def _alternating(a: float, c: float, x: float) -> float:
    """Return log M(a, c, -x) for 0 <= x <= c from the series itself: no term exceeds 1."""
    total = 0.0
    term = 1.0
    j = 0.0
    while True:
        term *= -(a + j) * x / ((c + j) * (j + 1.0))
        total += term
        j += 1.0
        if abs(term) <= 1e-18 * abs(total):
            return math.log1p(total)


@njit(cache=True)
def log_rest(d: float, kappa: float) -> float:
    """Return log M - max(kappa, 0), to its own digits where kappa is large; arguments as in `terms`."""
    if kappa > 0.0:
        found, rest, _, _ = _expansion(0.5, 0.5 * d, kappa)
        if found:
            return rest
    return terms(d, kappa)[0] - max(kappa, 0.0)


@njit(cache=True)
def terms(d: float, kappa: float) -> tuple[float, float, float, float]:
    """Return (log M, g, 1 - g, g') of one dimension and one concentration; compiled, unchecked.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    kappa : float
        Concentration, finite, of any sign.

    Notes
    -----
    Relative errors, beside values in 40 digits for d up to 10^6: 1e-13; of g' just above -kappa = d/2 as d grows up to
    3e-10, where the terms of the expansion alternate and hardly fall.
    """
    c = 0.5 * d
    if kappa >= 0.0:
        found, log_m, away, variance = _expansion(0.5, c, kappa)
        if found:
            return kappa + log_m, 1.0 - away, away, variance
        return _series(0.5, c, kappa)
    x = -kappa
    found, log_m, mean, variance = _expansion(c - 0.5, c, x)
    if found:
        return log_m, mean, 1.0 - mean, variance
    log_m, away, mean, variance = _series(c - 0.5, c, x)
    return (_alternating(0.5, c, x) if x <= c else log_m - x), mean, away, variance


@njit(cache=True)
def bounds(d: float, r: float, omr: float) -> tuple[float, float, float]:
    """Return the bounds L, B and U of [Sra] eqs. (4.11)-(4.13) at a = 1/2, c = d/2; compiled, unchecked.

    ``d`` >= 2 is the dimension, ``r`` in (0, 1) the mean squared cosine, ``omr`` 1 - r to all its digits.
    """
    c = 0.5 * d
    lead = (r * c - 0.5) / (r * omr)
    middle = 0.5 * lead * (1.0 + math.sqrt(1.0 + 4.0 * (c + 1.0) * r * omr / (0.5 * (c - 0.5))))
    return lead * (1.0 + omr / (c - 0.5)), middle, lead * (1.0 + 2.0 * r)


@njit(cache=True)
def inv_g(d: float, r: float, omr: float) -> float:
    """Return the kappa with g(kappa) = r; compiled, unchecked.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    r : float
        Mean squared cosine; 1/d gives 0, 0 or less minus infinity.
    omr : float
        1 - r, separately because it carries all the information when r is near 1; 0 or less gives infinity.

    Notes
    -----
    Safeguarded Newton from the bound B of [Sra] eq. (4.12), inside its bounds L and U: 1 to 6 iterations.
    """
    if r <= 0.0:
        return -math.inf
    if omr <= 0.0:
        return math.inf
    low, kappa, high = bounds(d, r, omr)
    if kappa == 0.0:
        return 0.0
    low -= 1e-12 * abs(low)  # the bounds meet at both ends of (0, 1): leave room for rounding
    high += 1e-12 * abs(high)
    for _ in range(60):
        _, g, one_minus_g, g_prime = terms(d, kappa)
        kappa, low, high, done = newton_step(kappa, low, high, g - r if g < 0.5 else omr - one_minus_g, g_prime)
        if done:
            break
    return kappa
