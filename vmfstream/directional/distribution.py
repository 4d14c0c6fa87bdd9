"""Base class of distributions on the sphere whose density depends on the cosine with one direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.checks import checked_weights, unit_documents, unit_vector

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Distribution(ABC):
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

    def logpdf(self, x: Rows | Sequence[Any], *, relative_to_uniform: bool = False) -> Vector:
        """Return the log density of every row of ``x``.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d) or (d,)
            Unit vectors.
        relative_to_uniform : bool
            Leave out log C_d(0), which is of the order of d log d and the same for all distributions.

        Returns
        -------
        ndarray, shape (n,), or a scalar for a single vector

        Raises
        ------
        ValueError
            If ``x`` does not have d columns or a row is not of unit length.
        """
        density = self._relative(np.asarray(unit_documents(x, self.d) @ self.mu))
        return density if relative_to_uniform else density + log_c_uniform(self.d)

    def rvs(self, n: int = 1, rng: np.random.Generator | int | None = None) -> Vector:
        """Draw ``n`` unit vectors, shape (n, d).

        Parameters
        ----------
        n : int >= 0
        rng : Generator, or the seed of a new one; None for another one every time.

        Raises
        ------
        ValueError
            If ``n`` is no integer of at least 0, or ``rng`` neither a Generator nor a seed.
        """
        if not isinstance(n, Integral) or n < 0:
            raise ValueError(f"n: expected the number of vectors, an integer of at least 0, got {n!r}")
        if not isinstance(rng, np.random.Generator):
            if not (rng is None or (isinstance(rng, Integral) and rng >= 0)):
                raise ValueError(f"rng: expected a numpy.random.Generator, a seed or None, got {rng!r}")
            rng = np.random.default_rng(rng)
        return self._drawn(int(n), rng)

    def entropy(self) -> float:
        """Return the entropy in nats."""
        return self._entropy()

    def kl(self, other: Self) -> float:
        """Return the Kullback-Leibler divergence KL(self || other) in nats.

        Raises
        ------
        ValueError
            If the dimensions differ.
        """
        if other.d != self.d:
            raise ValueError(f"other: expected a distribution in dimension {self.d}, got dimension {other.d}")
        return self._divergence(other, float(np.clip(self.mu @ other.mu, -1.0, 1.0)))

    @staticmethod
    @abstractmethod
    def _checked(name: str, kappa: float) -> float:
        """Return the concentration, or raise ValueError with its name if it has none of the allowed values."""

    @abstractmethod
    def _relative(self, cosine: Vector) -> Vector:
        """Return the log density relative to uniform at the given cosines with ``mu``."""

    @abstractmethod
    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` unit vectors."""

    @abstractmethod
    def _entropy(self) -> float:
        """Return the entropy."""

    @abstractmethod
    def _divergence(self, other: Self, cosine: float) -> float:
        """Return KL(self || other) of distributions of one dimension whose directions have this cosine."""


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
    return rows, checked_weights(weights, rows.shape[0])
