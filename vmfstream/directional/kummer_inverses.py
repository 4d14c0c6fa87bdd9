"""Approximations of kappa = g^-1(r) named in [Sra], and the exact inverse.

All are elementwise over dimensions d >= 2 and mean squared cosines r in (0, 1), broadcast, and raise ValueError outside
that domain. None of them is capped: see :func:`~vmfstream.directional.kummer.watson_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from vmfstream.arrays import Vector
from vmfstream.directional.checks import elementwise
from vmfstream.directional.kummer import inv_mean_square, squares
from vmfstream.directional.kummer_scalars import bounds


@njit(cache=True)
def _bounds_each(d: Vector, r: Vector, omr: Vector, out: Vector) -> None:
    for i in range(d.size):
        out[0, i], out[1, i], out[2, i] = bounds(d[i], r[i], omr[i])


def bound_l(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return L(r), below the root everywhere and exact in the limit r -> 1; [Sra] eq. (4.11)."""
    return _bound(d, r, 0)


def bound_b(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return B(r), above the root for r > 1/d, below for r < 1/d, exact in both limits; [Sra] eq. (4.12)."""
    return _bound(d, r, 1)


def bound_u(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return U(r), above the root everywhere and exact in the limit r -> 0; [Sra] eq. (4.13)."""
    return _bound(d, r, 2)


def bbg(d: ArrayLike, r: ArrayLike) -> Vector:
    """Return (c r - a) / (r (1 - r)) + r / (2 c (1 - r)), a = 1/2, c = d/2: a heuristic; [BBG07], [Sra] eq. (4.10)."""
    ds, rs, omrs = squares(d, r)
    result: Vector = np.asarray(0.5 * (ds * rs - 1.0) / (rs * omrs) + rs / (ds * omrs))[()]
    return result


INVERSES: dict[str, Callable[[ArrayLike, ArrayLike], Vector]] = {
    "L": bound_l,
    "B": bound_b,
    "U": bound_u,
    "BBG": bbg,
    "exact": inv_mean_square,
}
"""Every inverse of g by its name."""


def compare_inverses(d: ArrayLike, r: ArrayLike) -> dict[str, Vector]:
    """Return the concentrations that every inverse of :data:`INVERSES` gives, by name.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    r : array_like
        Mean squared cosines in (0, 1).

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    return {name: inverse(d, r) for name, inverse in INVERSES.items()}


def _bound(d: ArrayLike, r: ArrayLike, which: int) -> Vector:
    return elementwise(_bounds_each, 3, *squares(d, r))[which]
