"""Approximations of kappa = A_d^-1(r) named in the papers, and the exact inverse.

All are elementwise over dimensions d >= 2 and mean resultant lengths r in [0, 1), broadcast, and raise ValueError
outside that domain. None of them is capped: see :func:`~vmfstream.directional.bessel.kappa_bounds`.

==================  ==================  ===================================================  ==========================
name                formula             where it is good                                     source
==================  ==================  ===================================================  ==========================
banerjee            closed              everywhere; error 6.5 % at d = 2, 1.7e-4 at 1000     [BDGS05] (4.4)
mardia_jupp_small   series to r^5       small r; relative error O(r^6)                       [BDGS05] (4.2), [MJ00]
mardia_jupp_large   closed              kappa much larger than d; relative error O(1 - r)    [BDGS05] (4.1), [MJ00]
tanabe_lower        bound               everywhere below kappa; the root of d - 2            [T07]
tanabe_upper        bound               everywhere above kappa; (4.3) of [BDGS05] cut off    [T07]
tanabe              one Bessel ratio    everywhere; the bounds joined by the iteration       [T07], [S12]
                    at either bound
tanabe_fixed_point  iterated            everywhere, but slow: error falls by 1 - kappa A'/A  [T07]
                                        a step, about r
newton2             two Newton steps    everywhere; 3e-5 at d = 2, 4e-12 at d = 100          [Sra] (4.5)
exact               safeguarded Newton  everywhere, to rounding                              :mod:`.bessel`
==================  ==================  ===================================================  ==========================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Vector
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, vmf_terms
from vmfstream.directional.checks import dimensions, resultants, shaped


def banerjee(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return the closed form r (d - r^2) / (1 - r^2), [BDGS05] eq. (4.4)."""
    ds, rs, omr = _domain(d, r)
    return _result(rs * (ds - rs**2) / (omr * (1.0 + rs)))


def mardia_jupp_small(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return the series of the inverse at r = 0 up to r^5, [BDGS05] eq. (4.2) after [MJ00] (10.3.10)."""
    ds, rs, _ = _domain(d, r)
    square = rs**2
    cubic = ds / (ds + 2.0)
    quintic = cubic**2 * (ds + 8.0) / (ds + 4.0)
    return _result(ds * rs * (1.0 + square * (cubic + square * quintic)))


def mardia_jupp_large(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return (d - 1) / (2 (1 - r)), the limit for r near 1, [BDGS05] eq. (4.1) after [MJ00] (10.3.7)."""
    ds, rs, omr = _domain(d, r)
    return _result(np.broadcast_to((ds - 1.0) / (2.0 * omr), np.broadcast_shapes(ds.shape, rs.shape)))


def tanabe_lower(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return the lower bound r (d - 2) / (1 - r^2) of [T07]."""
    ds, rs, omr = _domain(d, r)
    return _result(rs * (ds - 2.0) / (omr * (1.0 + rs)))


def tanabe_upper(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return the upper bound r d / (1 - r^2) of [T07]."""
    ds, rs, omr = _domain(d, r)
    return _result(rs * ds / (omr * (1.0 + rs)))


def tanabe(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return the fixed point of the line through the iteration's values at both bounds, [T07] as given in [S12].

    With Phi(kappa) = r kappa / A_d(kappa) and bounds l < u it is (l Phi(u) - u Phi(l)) / (Phi(u) - Phi(l) - (u - l)).
    """
    ds, rs, _ = _domain(d, r)
    low, high = tanabe_lower(ds, rs), tanabe_upper(ds, rs)
    above, below = _step(ds, rs, low) - low, high - _step(ds, rs, high)
    total = above + below
    return _result(low + (high - low) * np.divide(above, total, out=np.zeros_like(total), where=total > 0))


def tanabe_fixed_point(d: ArrayLike, r: ArrayLike, steps: int = 10) -> Vector:
    """Return :func:`tanabe` after ``steps`` steps of the fixed-point iteration kappa <- r kappa / A_d(kappa), [T07].

    ``d`` >= 2 are dimensions and ``r`` in [0, 1) mean resultant lengths, which are broadcast.

    Raises
    ------
    ValueError
        If an argument is outside its domain, or ``steps`` negative.
    """
    if steps < 0:
        raise ValueError(f"steps: expected a number of iterations, at least 0, got {steps}")
    ds, rs, _ = _domain(d, r)
    kappa = tanabe(ds, rs)
    for _ in range(steps):
        kappa = _step(ds, rs, kappa)
    return _result(kappa)


def newton2(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return :func:`banerjee` after two Newton steps towards A_d(kappa) = r, [Sra] eq. (4.5)."""
    ds, rs, omr = _domain(d, r)
    kappa = banerjee(ds, rs)
    for _ in range(2):
        t = vmf_terms(ds, kappa)
        excess = np.where(t.a < 0.5, t.a - rs, omr - t.one_minus_a)
        kappa = kappa - excess / t.a_prime
    return _result(kappa)


INVERSES: dict[str, Callable[[ArrayLike, ArrayLike], Vector]] = {
    "banerjee": banerjee,
    "mardia_jupp_small": mardia_jupp_small,
    "mardia_jupp_large": mardia_jupp_large,
    "tanabe_lower": tanabe_lower,
    "tanabe_upper": tanabe_upper,
    "tanabe": tanabe,
    "tanabe_fixed_point": tanabe_fixed_point,
    "newton2": newton2,
    "exact": inv_bessel_ratio,
}
"""Every inverse by its name."""


def compare_inverses(d: ArrayLike, r: ArrayLike) -> dict[str, Vector]:
    """Return the concentrations that every inverse of :data:`INVERSES` gives, by name.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    r : array_like
        Mean resultant lengths in [0, 1).

    Returns
    -------
    dict of str to ndarray
        Arrays (or scalars) of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    Examples
    --------
    >>> found = compare_inverses(10, 0.633668)
    >>> round(float(found["exact"]), 3), round(float(found["banerjee"]), 4)
    (10.0, 10.1631)
    """
    return {name: inverse(d, r) for name, inverse in INVERSES.items()}


def _domain(d: ArrayLike, r: ArrayLike) -> tuple[Vector, Vector, Vector]:
    """Return d, r and 1 - r after checking them."""
    return dimensions(d), *resultants(r)


def _result(kappa: ArrayLike) -> Vector:
    values = np.array(kappa, dtype=np.float64)
    result: Vector = shaped(values, values.shape)
    return result


def _step(d: Vector, r: Vector, kappa: Vector) -> Vector:
    """Return r kappa / A_d(kappa) = r (d + kappa A_{d+2}(kappa)) (DLMF 10.29.1), which needs no limit at 0."""
    return r * (d + kappa * bessel_ratio(d + 2.0, kappa))
