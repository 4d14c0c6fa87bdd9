r"""The special functions of the Watson distribution, in every dimension from 2 to 10^6 and for both signs of kappa.

The density on the unit sphere of dimension ``d``, relative to the uniform one, is ``exp(kappa (mu'x)^2) / M`` with
Kummer's function ``M = M(a, c, kappa)``, a = 1/2, c = d/2. The squared cosine t = (mu'x)^2 has the mean
``g = M'/M`` and the variance ``g'``.

The functions here take arrays and check them; :mod:`.kummer_scalars` computes one value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from vmfstream.arrays import Vector
from vmfstream.directional.bessel import LARGE_KAPPA, R_MAX
from vmfstream.directional.checks import dimensions, elementwise, first_bad
from vmfstream.directional.kummer_scalars import inv_g, log_rest, terms


class WatsonTerms(NamedTuple):
    """What :func:`watson_terms` returns, each of the broadcast shape of its arguments."""

    log_m: Vector
    """log M(1/2, d/2, kappa): the log normaliser relative to the uniform density, of the sign of kappa."""
    g: Vector
    """Expected squared cosine M'/M in (0, 1); 1/d at kappa = 0."""
    one_minus_g: Vector
    """1 - g to full relative precision."""
    g_prime: Vector
    """Variance of the squared cosine, the derivative of g."""


@njit(cache=True)
def _terms_each(d: Vector, kappa: Vector, out: Vector) -> None:
    for i in range(d.size):
        out[0, i], out[1, i], out[2, i], out[3, i] = terms(d[i], kappa[i])


@njit(cache=True)
def _rest_each(d: Vector, kappa: Vector, out: Vector) -> None:
    for i in range(d.size):
        out[0, i] = log_rest(d[i], kappa[i])


@njit(cache=True)
def _inv_g_each(d: Vector, r: Vector, omr: Vector, out: Vector) -> None:
    for i in range(d.size):
        out[0, i] = inv_g(d[i], r[i], omr[i])


def watson_terms(d: ArrayLike, kappa: ArrayLike) -> WatsonTerms:
    """Return log M, g, 1 - g and g', broadcast over dimensions and concentrations.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    kappa : array_like
        Concentrations, finite: positive for axes, negative for girdles.

    Returns
    -------
    WatsonTerms
        Four float64 arrays (or scalars) of the broadcast shape.

    Raises
    ------
    ValueError
        If a dimension is below 2, or a concentration not finite.

    Notes
    -----
    A few microseconds a value; a tenth of a millisecond where |kappa| is close to d/2 and both are near 10^6.

    Examples
    --------
    >>> t = watson_terms(3, [2.0, 0.0])
    >>> np.round(t.g, 6).tolist(), np.round(t.log_m, 6).tolist()
    ([0.531265, 0.333333], [0.860547, 0.0])
    """
    return WatsonTerms(*elementwise(_terms_each, 4, dimensions(d), _finite(kappa)))


def _finite(kappa: ArrayLike) -> Vector:
    kappas = np.asarray(kappa, dtype=np.float64)
    if not np.all(np.isfinite(kappas)):
        raise ValueError(f"kappa: expected finite values, got {first_bad(kappas, np.isfinite(kappas))}")
    return kappas


def log_kummer(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return log M(1/2, d/2, kappa), the log normaliser relative to the uniform density.

    Parameters and errors as in :func:`watson_terms`.
    """
    return watson_terms(d, kappa).log_m


def log_kummer_rest(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return log M(1/2, d/2, kappa) - max(kappa, 0), to digits that a difference loses where kappa is large.

    Parameters and errors as in :func:`watson_terms`.
    """
    return elementwise(_rest_each, 1, dimensions(d), _finite(kappa))[0]


def mean_square(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return g = M'/M, the expected squared cosine with the axis.

    Parameters and errors as in :func:`watson_terms`, which also gives 1 - g where g is near 1.
    """
    return watson_terms(d, kappa).g


def inv_mean_square(d: ArrayLike, r: ArrayLike, one_minus_r: ArrayLike | None = None) -> Vector:
    """Return the concentration at which the expected squared cosine is ``r``.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    r : array_like
        Mean squared cosines in (0, 1): 1/d gives 0, less a negative concentration.
    one_minus_r : array_like, optional
        1 - r where it is known better than by subtraction.

    Raises
    ------
    ValueError
        If ``r`` is outside (0, 1) or ``one_minus_r`` outside (0, 1).

    Notes
    -----
    No cap is applied here: see :func:`watson_bounds`. Near r = 1/d the root is as certain as r d - 1 is.

    References
    ----------
    [Sra] eqs. (4.11)-(4.13) for the bounds and the starting point.

    Examples
    --------
    >>> bool(np.isclose(inv_mean_square(500, mean_square(500, -40.0)), -40.0))
    True
    """
    return elementwise(_inv_g_each, 1, *squares(d, r, one_minus_r))[0]


@lru_cache(maxsize=256)
def watson_bounds(d: int) -> tuple[float, float]:
    """Return the concentrations that estimates of mixtures are clipped to.

    (g^-1((1 - R_MAX) / d), g^-1(R_MAX)), or minus and plus `LARGE_KAPPA` where that is wider.

    Raises
    ------
    ValueError
        If ``d`` is below 2.

    Examples
    --------
    >>> low, high = watson_bounds(1_000)
    >>> round(low), round(high)
    (-4999501, 4995001)
    """
    low, high = float(inv_mean_square(d, (1.0 - R_MAX) / d)), float(inv_mean_square(d, R_MAX))
    return min(low, -LARGE_KAPPA), max(high, LARGE_KAPPA)


def squares(d: ArrayLike, r: ArrayLike, one_minus_r: ArrayLike | None = None) -> tuple[Vector, Vector, Vector]:
    """Return dimensions, mean squared cosines in (0, 1) and 1 - r, broadcastable arrays of float64.

    ``d`` are dimensions, ``r`` mean squared cosines; ``one_minus_r`` gives 1 - r where r is so near 1 that the
    difference would lose digits. Raises ValueError outside the domain.
    """
    rs = np.asarray(r, dtype=np.float64)
    omrs = 1.0 - rs if one_minus_r is None else np.asarray(one_minus_r, dtype=np.float64)
    for name, values in (("r", rs), ("one_minus_r", omrs)):
        good = (values > 0) & ((values < 1) | (one_minus_r is not None and name == "r"))
        if not np.all(good):
            raise ValueError(f"{name}: expected mean squared cosines in (0, 1), got {first_bad(values, good)}")
    return dimensions(d), rs, omrs
