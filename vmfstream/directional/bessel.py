r"""The special functions of the von Mises-Fisher distribution, in every dimension from 2 to 10^6 and beyond.

The density on the unit sphere of dimension ``d`` is ``C_d(kappa) exp(kappa mu'x)``. Everything else follows from

* ``ell_d(kappa) = log C_d(0) - log C_d(kappa)``, the log partition function relative to the uniform density, and
* ``A_d(kappa) = I_{d/2}(kappa) / I_{d/2-1}(kappa) = ell_d'(kappa)``, the expected cosine with the mean direction.

The functions here take arrays and check them; :mod:`.bessel_scalars` computes one value.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.special import gammaln

from vmfstream.arrays import Vector
from vmfstream.directional.bessel_scalars import convolved, ell_gap, inv_ratio, terms
from vmfstream.directional.bessel_scalars import ell as ell
from vmfstream.directional.checks import dimensions, elementwise, first_bad, in_one_dimension, not_negative, resultants

R_MAX = 0.9999
"""Largest mean resultant length that is turned into a concentration, where nothing else is said."""

LARGE_KAPPA = 1e6
"""Concentration up to which mixtures estimate in every dimension: float32 scores are known to a tenth of a nat."""

R_MIN = 1e-6
"""Smallest mean resultant length that differs from zero."""


class VmfTerms(NamedTuple):
    """What :func:`vmf_terms` returns, each of the broadcast shape of its arguments."""

    ell: Vector
    """log C_d(0) - log C_d(kappa) >= 0."""
    a: Vector
    """Expected cosine A_d(kappa) in [0, 1)."""
    a_prime: Vector
    """Variance of the cosine, the derivative of A_d, in (0, 1/d]."""
    one_minus_a: Vector
    """1 - A_d(kappa) to full relative precision."""


@njit(cache=True)
def _terms_each(d: Vector, kappa: Vector, out: Vector) -> bool:
    for i in range(kappa.size):
        if not 0.0 <= kappa[i] < np.inf:
            return False
        out[0, i], out[1, i], out[2, i], out[3, i] = terms(d[i % d.size], kappa[i])
    return True


@njit(cache=True)
def _ell_each(d: Vector, kappa: Vector, out: Vector) -> bool:
    for i in range(kappa.size):
        if not 0.0 <= kappa[i] < np.inf:
            return False
        out[0, i] = ell(d[i % d.size], kappa[i])
    return True


@njit(cache=True)
def _gap_each(d: Vector, kappa: Vector, out: Vector) -> None:
    for i in range(d.size):
        out[0, i] = ell_gap(d[i], kappa[i])


@njit(cache=True)
def _inv_ratio_each(d: Vector, r: Vector, omr: Vector, out: Vector) -> bool:
    for i in range(r.size):
        if not (0.0 <= r[i] <= 1.0 and 0.0 < omr[i] <= 1.0):
            return False
        out[0, i] = inv_ratio(d[i % d.size], r[i], omr[i])
    return True


@njit(cache=True)
def _conv_each(d: Vector, gamma: Vector, omega: Vector, omw: Vector, out: Vector) -> bool:
    for i in range(gamma.size):
        step, rest = omega[i % omega.size], omw[i % omw.size]
        if not (0.0 <= gamma[i] < np.inf and 0.0 <= step <= 1.0 and 0.0 <= rest <= 1.0):
            return False
        out[0, i] = convolved(d[i % d.size], gamma[i], step, rest)
    return True


def vmf_terms(d: ArrayLike, kappa: ArrayLike) -> VmfTerms:
    """Return ell, A, A' and 1 - A, broadcast over dimensions and concentrations.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    kappa : array_like
        Concentrations, >= 0.

    Returns
    -------
    VmfTerms
        Four float64 arrays (or scalars) of the broadcast shape.

    Raises
    ------
    ValueError
        If a dimension is below 2, or a concentration negative or not finite.

    Notes
    -----
    About a microsecond a value, whatever the dimension. Relative errors: ell and A 1e-15, 1 - A 4e-14, A' 2e-12.

    Examples
    --------
    >>> t = vmf_terms(3, 2.0)
    >>> round(float(t.a), 6), round(float(t.one_minus_a), 6)
    (0.537315, 0.462685)
    """
    found = in_one_dimension(_terms_each, 4, d, kappa)
    if found is None:
        found = elementwise(_terms_each, 4, dimensions(d), not_negative("kappa", kappa))
    return VmfTerms(*found)


def partition_gap(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return kappa - ell_d(kappa), to digits that a difference loses where kappa is large.

    Parameters and errors as in :func:`vmf_terms`.
    """
    return elementwise(_gap_each, 1, dimensions(d), not_negative("kappa", kappa))[0]


def log_partition(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return ell_d(kappa) = log C_d(0) - log C_d(kappa), the log normaliser relative to the uniform density.

    Parameters and errors as in :func:`vmf_terms`.

    Examples
    --------
    >>> bool(np.isclose(log_partition(3, 2.0), np.log(np.sinh(2.0) / 2.0)))
    True
    """
    found = in_one_dimension(_ell_each, 1, d, kappa)
    if found is None:
        found = elementwise(_ell_each, 1, dimensions(d), not_negative("kappa", kappa))
    return found[0]


def bessel_ratio(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return A_d(kappa) = I_{d/2}(kappa) / I_{d/2-1}(kappa), the expected cosine with the mean direction.

    Parameters and errors as in :func:`vmf_terms`, which also gives 1 - A where A is near 1.
    """
    return vmf_terms(d, kappa).a


def inv_bessel_ratio(d: ArrayLike, r: ArrayLike, one_minus_r: ArrayLike | None = None) -> Vector:
    """Return the concentration at which the expected cosine is ``r``.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    r : array_like
        Mean resultant lengths in [0, 1).
    one_minus_r : array_like, optional
        1 - r where it is known better than by subtraction. In double precision ``r`` alone fixes kappa to a relative
        1e-16 / (1 - r) only.

    Raises
    ------
    ValueError
        If ``r`` is outside [0, 1) or ``one_minus_r`` outside (0, 1].

    Notes
    -----
    No cap is applied here: see :data:`R_MAX` and :func:`kappa_bounds`.

    References
    ----------
    [BDGS05] eq. (4.4) for the starting point.

    Examples
    --------
    >>> bool(np.isclose(inv_bessel_ratio(50_000, bessel_ratio(50_000, 4_000.0)), 4_000.0))
    True
    """
    found = None
    if one_minus_r is None and isinstance(r, np.ndarray):
        found = in_one_dimension(_inv_ratio_each, 1, d, r, 1.0 - r)
    if found is None:
        found = elementwise(_inv_ratio_each, 1, dimensions(d), *resultants(r, one_minus_r))
    return found[0]


def log_c_uniform(d: ArrayLike) -> Vector:
    """Return log C_d(0) = lgamma(d/2) - log 2 - (d/2) log pi, minus the log area of the sphere.

    Raises
    ------
    ValueError
        If a dimension is below 2.
    """
    dims = dimensions(d)
    result: Vector = gammaln(0.5 * dims) - math.log(2.0) - 0.5 * dims * math.log(math.pi)
    return result


def log_c(d: ArrayLike, kappa: ArrayLike) -> Vector:
    """Return log C_d(kappa), the log normaliser of the density with respect to the surface measure.

    It is of the order of ``d log d`` and the same for all topics up to ``-log_partition``: use that one to compare.
    Parameters and errors as in :func:`vmf_terms`.
    """
    return log_c_uniform(d) - log_partition(d, kappa)


def conv_concentration(
    d: ArrayLike, gamma: ArrayLike, omega: ArrayLike, one_minus_omega: ArrayLike | None = None
) -> Vector:
    """Return A^-1(A(gamma) omega): the concentration of a direction after a random step of expected cosine ``omega``.

    If mu ~ vMF(psi, gamma) and mu' | mu ~ vMF(mu, tau) with A(tau) = omega, then mu' has the mean A(gamma) omega psi;
    the vMF of the same mean has this concentration.

    Parameters
    ----------
    d : array_like
        Dimensions of the space, >= 2.
    gamma : array_like
        Concentrations before the step, >= 0.
    omega : array_like
        Persistence A(tau) in [0, 1]; 1 leaves gamma as it is.
    one_minus_omega : array_like, optional
        1 - omega where it is known better than by subtraction.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    omegas = np.asarray(omega, dtype=np.float64)
    omws = 1.0 - omegas if one_minus_omega is None else np.asarray(one_minus_omega, dtype=np.float64)
    found = in_one_dimension(_conv_each, 1, d, gamma, omegas, omws)
    if found is not None:
        return found[0]
    dims = dimensions(d)
    gammas = not_negative("gamma", gamma)
    for name, values in (("omega", omegas), ("one_minus_omega", omws)):
        good = (values >= 0) & (values <= 1)
        if not np.all(good):
            raise ValueError(f"{name}: expected values in [0, 1], got {first_bad(values, good)}")
    return elementwise(_conv_each, 1, dims, gammas, omegas, omws)[0]


@lru_cache(maxsize=256)
def largest_resultant(d: int) -> float:
    """Return the mean resultant length that mixtures are capped at: `R_MAX`, or A_d(`LARGE_KAPPA`) if that is larger.

    Examples
    --------
    >>> largest_resultant(3), largest_resultant(10_000)
    (0.999999, 0.9999)
    """
    return max(R_MAX, float(bessel_ratio(d, LARGE_KAPPA)))


@lru_cache(maxsize=256)
def largest_concentration(d: int) -> float:
    """Return the concentration that mixtures are capped at: A_d^-1 of `largest_resultant`.

    Examples
    --------
    >>> round(largest_concentration(3)), round(largest_concentration(1_000))
    (1000000, 4994751)
    """
    return float(inv_bessel_ratio(d, largest_resultant(d)))


@lru_cache(maxsize=256)
def kappa_bounds(d: int) -> tuple[float, float]:
    """Return (A^-1(R_MIN), A^-1(R_MAX)): the concentrations that estimates are clipped to in dimension ``d``.

    Raises
    ------
    ValueError
        If ``d`` is below 2.

    Examples
    --------
    >>> low, high = kappa_bounds(1_000)
    >>> round(low, 4), round(high)
    (0.001, 4994751)
    """
    return float(inv_bessel_ratio(d, R_MIN)), float(inv_bessel_ratio(d, R_MAX))
