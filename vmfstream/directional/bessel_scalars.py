r"""The special functions of the von Mises-Fisher distribution at one dimension and one concentration, compiled.

With ``nu = d/2 - 1`` and ``s = sqrt(nu^2 + kappa^2)`` two methods cover the plane: the power series of 0F1
(DLMF 10.39.9) where ``s`` or ``kappa`` is small, and the uniform asymptotic expansion of I_nu in powers of ``1/s``
elsewhere (DLMF 10.41.3, polynomials 10.41.9). Differences such as ``1 - A`` and ``A'`` are taken between the leading
terms by hand, so that no digit cancels.

Nothing is checked here: :mod:`.bessel` has the functions for arrays, which check their input.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numba import njit

from vmfstream.arrays import Vector
from vmfstream.directional.newton import newton_step

_DEBYE_ORDER = 14
_SMALL_S = 30.0  # the expansion in 1/s, cut after s^-14, is exact to double precision from here on
_SMALL_NU = 8.0  # below, log M_0 would need an expansion in 1/nu that does not converge; use lgamma instead
_TINY = 1e-150  # kappa below which kappa^2 is zero


def _debye_tables(order: int) -> tuple[Vector, Vector, Vector, Vector]:
    """Return the coefficients of U_k(p) = sum_j u[k, j] p^(k + 2j), times (k + 2j)^0, ^1, ^2, and a bound on each row.

    U_{k+1} = p^2 (1 - p^2) U_k' / 2 + (1/8) int_0^p (1 - 5 t^2) U_k dt (DLMF 10.41.9), in exact rationals.
    """
    rows = [[Fraction(1)]]
    for k in range(order):
        following = [Fraction(0)] * (k + 2)
        for j, u in enumerate(rows[k]):
            n = k + 2 * j
            following[j] += u * (Fraction(n, 2) + Fraction(1, 8 * (n + 1)))
            following[j + 1] -= u * (Fraction(n, 2) + Fraction(5, 8 * (n + 3)))
        rows.append(following)
    tables = np.zeros((3, order + 1, order + 1))
    for k, row in enumerate(rows):
        for j, u in enumerate(row):
            for power in range(3):
                tables[power, k, j] = float(u * (k + 2 * j) ** power)
    q = np.linspace(0.0, 1.0, 201)[:, None] ** np.arange(order + 1)
    bound = np.abs(tables @ q.T).max(axis=(0, 2))
    return tables[0], tables[1], tables[2], np.ascontiguousarray(bound)


_U0, _U1, _U2, _U_BOUND = _debye_tables(_DEBYE_ORDER)


@njit(cache=True)
def _series(c: float, y: float) -> float:
    """Return 0F1(; c; y) - 1 = sum_{j >= 1} y^j / (j! (c)_j): all terms are positive (DLMF 16.2.1)."""
    total = 0.0
    term = 1.0
    j = 0.0
    while True:
        term *= y / ((j + 1.0) * (c + j))
        total += term
        if term <= 1e-18 * (1.0 + total):
            return total
        j += 1.0


@njit(cache=True)
def _debye_sum(s: float, q: float) -> float:
    """Return M = sum_k U_k(p) / nu^k with p^2 = q = (nu/s)^2, written in powers of 1/s so that nu = 0 is allowed."""
    total = 1.0
    power = 1.0
    for k in range(1, _DEBYE_ORDER + 1):
        power /= s
        if power * _U_BOUND[k] < 1e-18:
            break
        u = _U0[k, k]
        for j in range(k - 1, -1, -1):
            u = u * q + _U0[k, j]
        total += power * u
    return total


@njit(cache=True)
def _debye_sums(s: float, q: float) -> tuple[float, float, float]:
    """Return the sums of t, e t and e^2 t over the terms t = u[k, j] nu^(2j) / s^e, e = k + 2j, of M.

    d/ds multiplies a term by -e/s, so these three sums are M and its first two derivatives.
    """
    m0 = 1.0
    m1 = 0.0
    m2 = 0.0
    power = 1.0
    for k in range(1, _DEBYE_ORDER + 1):
        power /= s
        if power * _U_BOUND[k] < 1e-18:
            break
        u0 = _U0[k, k]
        u1 = _U1[k, k]
        u2 = _U2[k, k]
        for j in range(k - 1, -1, -1):
            u0 = u0 * q + _U0[k, j]
            u1 = u1 * q + _U1[k, j]
            u2 = u2 * q + _U2[k, j]
        m0 += power * u0
        m1 += power * u1
        m2 += power * u2
    return m0, m1, m2


@njit(cache=True)
def _uniform_ell(nu: float, kappa: float, s: float, m: float) -> float:
    """Return ell from M: exponent and prefactors of DLMF 10.41.3, arranged so that large parts do not cancel."""
    if nu <= _SMALL_NU:
        return (
            math.lgamma(nu + 1.0) + nu * math.log(2.0 / (nu + s)) + s - 0.5 * math.log(2.0 * math.pi * s) + math.log(m)
        )
    lead = kappa * (kappa / (s + nu))  # s - nu
    m_zero = _debye_sum(nu, 1.0)
    return lead - nu * math.log1p(0.5 * lead / nu) - 0.5 * math.log1p(lead / nu) + math.log(m / m_zero)


@njit(cache=True)
def ell(d: float, kappa: float) -> float:
    """Return ell_d(kappa) alone; compiled, unchecked, about half the cost of :func:`terms`.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    kappa : float
        Concentration, >= 0 and finite.
    """
    nu = 0.5 * d - 1.0
    s = math.hypot(nu, kappa)
    if s < _SMALL_S or kappa * kappa <= 2.0 * d:
        return math.log1p(_series(0.5 * d, 0.25 * kappa * kappa))
    ratio = nu / s
    return _uniform_ell(nu, kappa, s, _debye_sum(s, ratio * ratio))


@njit(cache=True)
def ell_gap(d: float, kappa: float) -> float:
    """Return kappa - ell_d(kappa), which is small where kappa is large, to its own digits; arguments as in `ell`."""
    nu = 0.5 * d - 1.0
    s = math.hypot(nu, kappa)
    if s < _SMALL_S or kappa * kappa <= 2.0 * d:
        return kappa - math.log1p(_series(0.5 * d, 0.25 * kappa * kappa))
    ratio = nu / s
    m = _debye_sum(s, ratio * ratio)
    above = nu * (nu / (s + kappa))  # s - kappa
    if nu <= _SMALL_NU:
        scale = nu * math.log(2.0 / (nu + s)) - 0.5 * math.log(2.0 * math.pi * s)
        return -above - math.lgamma(nu + 1.0) - scale - math.log(m)
    lead = kappa * (kappa / (s + nu))  # s - nu
    m_zero = _debye_sum(nu, 1.0)
    return nu - above + nu * math.log1p(0.5 * lead / nu) + 0.5 * math.log1p(lead / nu) - math.log(m / m_zero)


@njit(cache=True)
def terms(d: float, kappa: float) -> tuple[float, float, float, float]:
    """Return (ell, A, A', 1 - A) of one dimension and one concentration; compiled, unchecked.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    kappa : float
        Concentration, >= 0 and finite.

    Notes
    -----
    Relative errors: ell and A 1e-15, 1 - A 4e-14, A' 4e-14 (2e-12 in the series region).
    """
    part, a, a_prime, one_minus_a = _ratios(d, kappa)
    nu = 0.5 * d - 1.0
    s = math.hypot(nu, kappa)
    small = s < _SMALL_S or kappa * kappa <= 2.0 * d
    return math.log1p(part) if small else _uniform_ell(nu, kappa, s, part), a, a_prime, one_minus_a


@njit(cache=True)
def _ratios(d: float, kappa: float) -> tuple[float, float, float, float]:
    """Return what ell is made of, and (A, A', 1 - A) as `terms` does with ell itself, which takes as long as these.

    The first number is that of `_series` in the region of series, else M of `_debye_sums`.
    """
    nu = 0.5 * d - 1.0
    s = math.hypot(nu, kappa)
    if s < _SMALL_S or kappa * kappa <= 2.0 * d:
        if kappa < _TINY:
            a = kappa / d
            return 0.0, a, 1.0 / d, 1.0 - a
        c = 0.5 * d
        y = 0.25 * kappa * kappa
        f0 = _series(c, y)
        f1 = _series(c + 1.0, y)
        f2 = _series(c + 2.0, y)
        a = kappa / d * (1.0 + f1) / (1.0 + f0)
        a_next = kappa / (d + 2.0) * (1.0 + f2) / (1.0 + f1)  # A_{d+2}
        # DLMF 10.29.1 in the form 1/A_d = d/kappa + A_{d+2}; it turns 1 - A^2 - (d-1) A/kappa into this
        return f0, a, a * (1.0 / kappa - (a - a_next)), 1.0 - a
    ratio = nu / s
    m0, m1, m2 = _debye_sums(s, ratio * ratio)
    n0 = m1 + 0.5 * m0
    g = n0 / (s * s * m0)  # A = kappa (1/(s + nu) - g), by differentiating log I_nu
    dg = g / s * (m1 / m0 - 2.0 - (m2 + 0.5 * m1) / n0)  # dg/ds
    a = kappa * (1.0 / (s + nu) - g)
    a_prime = ratio / (s + nu) - (g + kappa * (kappa / s) * dg)
    one_minus_a = nu * (1.0 + nu / (s + kappa)) / (s + nu) + kappa * g
    return m0, a, a_prime, one_minus_a


@njit(cache=True)
def _amos(alpha: float, beta: float, r: float, omr: float) -> float:
    """Return the kappa at which Amos's bound kappa / (alpha + sqrt(kappa^2 + beta^2)) on A_d equals r."""
    return r * (alpha + math.sqrt(beta * beta + r * r * (alpha * alpha - beta * beta))) / (omr * (1.0 + r))


@njit(cache=True)
def inv_ratio(d: float, r: float, omr: float) -> float:
    """Return the kappa with A_d(kappa) = r; compiled, unchecked.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    r : float
        Mean resultant length; 0 or less gives 0.
    omr : float
        1 - r, separately because it carries all the information when r is near 1; 0 or less gives infinity.

    Notes
    -----
    Safeguarded Newton from the closed form of [BDGS05] eq. (4.4), inside Amos's bounds: 1 to 6 iterations.
    """
    if r <= 0.0:
        return 0.0
    if omr <= 0.0:
        return math.inf
    nu = 0.5 * d - 1.0
    low = max(_amos(nu, nu + 2.0, r, omr), _amos(nu + 0.5, math.sqrt((nu + 0.5) * (nu + 1.5)), r, omr))
    high = _amos(nu + 0.5, nu + 1.5, r, omr)
    low *= 1.0 - 1e-12  # the bounds meet at both ends of (0, 1): leave room for rounding
    high *= 1.0 + 1e-12
    kappa = min(max(r * (d - r * r) / (omr * (1.0 + r)), low), high)
    for _ in range(60):
        _, a, a_prime, one_minus_a = _ratios(d, kappa)
        kappa, low, high, done = newton_step(kappa, low, high, a - r if a < 0.5 else omr - one_minus_a, a_prime)
        if done:
            break
    return kappa


@njit(cache=True)
def convolved(d: float, gamma: float, omega: float, omw: float) -> float:
    """Return A^-1(A(gamma) omega), the concentration of a direction after a step of expected cosine omega.

    Parameters
    ----------
    d : float
        Dimension of the space, >= 2.
    gamma : float
        Concentration before the step, >= 0.
    omega, omw : float
        The expected cosine, in [0, 1], and 1 - omega.
    """
    if omw == 0.0:
        return gamma
    _, a, _, oma = _ratios(d, gamma)
    return float(inv_ratio(d, a * omega, oma + omw - oma * omw))
