"""The containers that the numeric modules hand to each other, and the symbols they share.

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

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Rows: TypeAlias = csr_array | NDArray[Any]
"""Documents by words: a csr_array with canonical rows, or a C-contiguous array; float32 or float64."""


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
