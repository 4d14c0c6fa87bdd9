"""Base classes of distributions on the sphere, and of those whose density depends on the cosine with one direction."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.checks import checked_weights, generator, unit_documents, unit_vector

Name = TypeVar("Name", bound=str)

CLOSE = 0.01
"""1 - abs(cosine) below which it is found from distances."""

_ENTRIES = 2**20  # of the rows whose distances are found at once


class SphereDistribution(ABC):
    """A distribution on the unit sphere of ``d`` dimensions."""

    __slots__ = ()

    @property
    @abstractmethod
    def d(self) -> int:
        """The dimension of the space."""

    def logpdf(self, x: Rows | Sequence[Any], *, relative_to_uniform: bool = False) -> Vector:
        """Return the log density of every row of ``x``.

        Parameters
        ----------
        x : csr_array or array_like, shape (..., d)
            Unit vectors; lengths that differ from 1 by less than a thousandth are scaled.
        relative_to_uniform : bool
            Leave out log C_d(0), which is of the order of d log d and the same for all distributions.

        Returns
        -------
        ndarray of the shape of ``x`` without its last axis; a scalar for a single vector

        Raises
        ------
        ValueError
            If ``x`` does not have d columns or a row is not of unit length.
        """
        shape = () if issparse(x) else np.shape(x)
        if len(shape) > 2 and shape[-1] == self.d:
            return self.logpdf(np.reshape(x, (-1, self.d)), relative_to_uniform=relative_to_uniform).reshape(shape[:-1])
        density = self._log_relative(unit_documents(x, self.d))
        return density if relative_to_uniform else density + log_c_uniform(self.d)

    def pdf(self, x: Rows | Sequence[Any]) -> Vector:
        """Return the density of every row of ``x``, infinite above 1e308.

        Parameters, shapes and errors as in `logpdf`.
        """
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(x))

    def rvs(
        self,
        size: int | tuple[int, ...] = 1,
        rng: np.random.Generator | np.random.RandomState | int | None = None,
        *,
        random_state: np.random.Generator | np.random.RandomState | int | None = None,
        n: int | None = None,
    ) -> Vector:
        """Draw unit vectors, shape (size, d).

        Parameters
        ----------
        size : int >= 0, or a tuple of them: then the shape is (*size, d), and (d,) for an empty one
        rng : Generator, RandomState, or the seed of a new Generator; None for another one every time
        random_state : SciPy's older name of ``rng``; not both
        n : former name of ``size``, with a DeprecationWarning

        Raises
        ------
        ValueError
            If ``size`` is no integer of at least 0, or ``rng`` none of these.
        """
        if n is not None:
            warnings.warn("rvs(n=...) is now rvs(size=...)", DeprecationWarning, stacklevel=2)
            size = n
        if isinstance(size, tuple) and all(isinstance(m, Integral) and m >= 0 for m in size):
            return self.rvs(math.prod(size), rng, random_state=random_state).reshape(*size, self.d)
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 0:
            raise ValueError(f"size: expected the number of vectors, an integer of at least 0, got {size!r}")
        if random_state is not None and rng is not None:
            raise ValueError("random_state: expected None beside rng, of which it is another name")
        return self._drawn(int(size), generator("rng", random_state if rng is None else rng))

    def entropy(self) -> float:
        """Return the entropy in nats."""
        return self._entropy()

    def kl(self, other: Self) -> float:
        """Return the Kullback-Leibler divergence KL(self || other) in nats.

        Raises
        ------
        ValueError
            If ``other`` is another kind of distribution, or the dimensions differ.
        """
        if not isinstance(other, type(self)):
            raise ValueError(f"other: expected a {type(self).__name__}, got {other!r:.60}")
        if other.d != self.d:
            raise ValueError(f"other: expected a distribution in dimension {self.d}, got dimension {other.d}")
        return self._kl(other)

    @abstractmethod
    def _log_relative(self, rows: Any) -> Vector:
        """Return the log density relative to uniform of unit ``rows``, (N, d), dense or sparse, or (d,)."""

    @abstractmethod
    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` unit vectors."""

    @abstractmethod
    def _entropy(self) -> float:
        """Return the entropy."""

    @abstractmethod
    def _kl(self, other: Self) -> float:
        """Return KL(self || other) of one dimension."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Distribution(SphereDistribution):
    """A distribution on the unit sphere that is symmetric about ``mu``; ``kappa`` says how narrow it is."""

    mu: Vector
    kappa: float

    def __init__(self, mu: ArrayLike, kappa: float) -> None:
        direction = unit_vector("mu", mu)
        direction.setflags(write=False)
        object.__setattr__(self, "mu", direction)
        object.__setattr__(self, "kappa", self._checked("kappa", kappa))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, kappa={self.kappa:g})"

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return len(self.mu)

    def _log_relative(self, rows: Any) -> Vector:
        return self._relative(*angles(rows, self.mu))

    def _kl(self, other: Self) -> float:
        cosine, gap = angles(self.mu, other.mu)
        return self._divergence(other, float(np.clip(cosine, -1.0, 1.0)), float(gap))

    @staticmethod
    @abstractmethod
    def _checked(name: str, kappa: float) -> float:
        """Return the concentration, or raise ValueError with its name if it has none of the allowed values."""

    @abstractmethod
    def _relative(self, cosine: Vector, gap: Vector) -> Vector:
        """Return the log density relative to uniform at the given cosines with ``mu``, ``gap`` = 1 - abs(cosine)."""

    @abstractmethod
    def _divergence(self, other: Self, cosine: float, gap: float) -> float:
        """Return KL(self || other) of one dimension, given the cosine of their directions and 1 - abs(cosine)."""


def angles(rows: Any, mu: Vector) -> tuple[Vector, Vector]:
    """Return cosines with the unit vector ``mu`` (D,) of unit ``rows`` (N, D) or (D,), and 1 - abs(cosine).

    The second is found from distances where it is small: a difference has no digits left there.
    """
    cosine = np.asarray(rows @ mu)
    gap = np.atleast_1d(1.0 - np.abs(cosine))
    some: Any = rows if rows.ndim == 2 else np.atleast_2d(rows)
    signs = np.sign(np.atleast_1d(cosine))
    close = np.flatnonzero(gap < CLOSE)
    block = max(1, _ENTRIES // len(mu))
    for low in range(0, len(close), block):
        at = close[low : low + block]
        near = some[at].toarray() if issparse(some) else some[at]
        gap[at] = 0.5 * np.square(near * signs[at, None] - mu).sum(axis=1)
    return cosine, gap.reshape(cosine.shape)


def observed(
    x: Rows | Sequence[Any], weights: ArrayLike | None, estimator: Name, estimators: Sequence[Name]
) -> tuple[Any, Vector]:
    """Return the rows (N, D) and weights (N,) that a distribution is fitted to.

    Parameters
    ----------
    x : unit rows, dense or sparse
    weights : (N,), finite and >= 0; None for ones
    estimator, estimators : the name asked for, and those that there are

    Raises
    ------
    ValueError
        If rows are not of unit length, a weight or the shape is wrong, or the estimator is unknown.
    """
    if estimator not in estimators:
        raise ValueError(f"estimator: expected one of {', '.join(estimators)}, got {estimator!r}")
    rows = unit_documents(x, None)
    if rows.ndim != 2:
        raise ValueError(f"x: expected one unit vector a row, got the shape {rows.shape}")
    if rows.shape[1] < 2 or not rows.shape[0]:
        raise ValueError(f"x: expected at least one row, of at least 2 numbers, got the shape {rows.shape}")
    return rows, checked_weights(weights, rows.shape[0])
