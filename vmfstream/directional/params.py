"""Containers that the numeric modules share, and the symbols of their arguments.

==========  =========================  ==========================================================================
symbol      in the code                meaning
==========  =========================  ==========================================================================
N, D, K     ``n``, ``d``, ``k``        documents, words (the dimension), topics
kp          ``kp``                     columns that k topics are stored in, ``kernels.padded(k)``
x           ``x``                      (n, d) documents, rows of unit length
lambda_ik   ``resp``                   (n, kp) responsibilities, rows sum to 1
pi_k        ``pi``                     (k,) proportions, sum to 1
mu_k        ``mu``                     (d, kp) mean directions, unit columns
kappa_k     ``kappa``                  (k,) concentrations
n_k, q_k    ``nk``, ``q``              (k,) sums of responsibilities and of their squares
S_k         ``s``                      (d, kp) sums of documents weighted by responsibilities
rbar_k      ``rbar``                   (k,) |S_k| / n_k, mean resultant length
nu          ``nu``                     d/2 - 1, the order of the Bessel function
==========  =========================  ==========================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ChunkedMatrix(ABC):
    """Rows in chunks, held elsewhere: stands for `Rows`, and does the passes over documents where the chunks are.

    ``x @ vector`` and ``x.T @ vector`` are products, ``x[low:high]`` are neighbouring rows where they lie, ``x[rows]``
    are a few rows, brought here, and ``x[row]`` is one, dense. The other methods are the functions of
    `vmfstream.directional.kernels`.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    T: Any
    order: NDArray[np.int64] | None = None
    """Row numbers in the order in which random draws go through them; None as they are."""

    def drawn_in(self, order: NDArray[np.int64]) -> ChunkedMatrix:
        """Return the same rows, which random draws go through in another ``order``, (N,) row numbers."""
        same = copy(self)
        same.order = order
        return same

    @abstractmethod
    def __getitem__(self, rows: Any) -> Any: ...

    @abstractmethod
    def __matmul__(self, vector: NDArray[Any]) -> NDArray[Any]: ...

    @abstractmethod
    def directed(self) -> NDArray[np.bool_]:
        """Mark the rows that have a direction, (N,)."""

    @abstractmethod
    def dots(self, *given: Any) -> Any:
        """Return the dot products with topics."""

    @abstractmethod
    def posterior(self, *given: Any) -> Any:
        """Return what `kernels.posterior` does."""

    @abstractmethod
    def posterior_accumulate(self, *given: Any, mass: NDArray[np.float64] | None) -> Any:
        """Return what `kernels.posterior_accumulate` does."""

    @abstractmethod
    def accumulate(self, resp: NDArray[Any], threads: int) -> Any:
        """Return sums weighted by ``resp`` (N, kp)."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Parameters of a mixture of von Mises-Fisher distributions.

    Parameters
    ----------
    pi : ndarray, shape (k,)
        Proportions.
    mu : ndarray, shape (d, kp)
        Mean directions in columns; the columns from k on are zero.
    kappa : ndarray, shape (k,)
        Concentrations.
    """

    pi: NDArray[np.float64]
    mu: NDArray[Any]
    kappa: NDArray[np.float64]

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.mu.shape[0])

    @property
    def k(self) -> int:
        """The number of topics."""
        return len(self.pi)
