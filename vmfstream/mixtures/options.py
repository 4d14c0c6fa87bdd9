"""The options of EM, and checks of the documents and options that a mixture is fitted with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Rows
from vmfstream.directional.checks import checked_weights
from vmfstream.directional.params import ChunkedMatrix, Mixture
from vmfstream.mixtures.columns import eligible

Assignment: TypeAlias = Literal["soft", "hard", "hybrid"]

EMVariant: TypeAlias = Literal["em", "incremental"]

Concentration: TypeAlias = Literal["shared", "own"]


@dataclass(frozen=True, slots=True, eq=False)
class EMOptions:
    """What every fit by EM is given, whatever its components are; see `vmfstream.mixtures.movmf.fit`."""

    max_iter: int
    tol: float
    weights: NDArray[np.float64] | None
    threads: int
    pi: NDArray[np.float64] | None = None
    """Weights of the components in the first E-step, (k,); None leaves those of the start."""

    def begun(self, mixture: Mixture) -> Mixture:
        """Return the ``mixture`` of a start with the weights that the first E-step is to have."""
        return mixture if self.pi is None else replace(mixture, pi=self.pi)


UNIT = 1e-4
"""How far the square of a length may be from 1: rows of single precision with many words are off by 2e-5."""


def checked(x: Rows, k: int, options: EMOptions, n_init: int) -> EMOptions:
    """Return the options with weights of float64.

    Raises
    ------
    ValueError
        If ``x`` is no matrix of unit rows (N, D), ``k`` is not between 1 and its rows with direction and weight,
        ``options`` have wrong weights, or ``n_init`` is below 1.
    """
    if n_init < 1:
        raise ValueError(f"n_init must be at least 1; got {n_init}")
    check_rows(x)
    weights = None if options.weights is None else checked_weights(options.weights, x.shape[0])
    rows = int(eligible(x, weights).sum())
    if not 1 <= k <= rows:
        weighing = "" if weights is None else " and a weight"
        raise ValueError(f"k must be between 1 and the {rows} rows with a direction{weighing}; got {k}")
    return replace(options, weights=weights)


def check_rows(x: Rows) -> None:
    """Raise ValueError unless ``x`` is a matrix of floats whose rows are unit or zero."""
    if x.ndim != 2 or x.dtype not in (np.float32, np.float64):
        raise ValueError(f"x must be a matrix of float32 or float64; got {x.ndim} dimensions of {x.dtype}")
    if x.shape[1] < 2:
        raise ValueError(f"x must have at least 2 columns; got {x.shape[1]}")
    if isinstance(x, ChunkedMatrix):
        return
    squares = np.einsum("ij,ij->i", x, x) if isinstance(x, np.ndarray) else (x**2).sum(axis=1)
    squared = np.asarray(squares, np.float64)
    bad = ~((squared == 0) | (np.abs(squared - 1) < UNIT))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"rows of x must have length 1 or 0; row {row} has length {np.sqrt(squared[row]):.6g}")


def check_one_of(name: str, given: Any, names: tuple[str, ...]) -> None:
    """Raise ValueError, which calls the argument ``name``, unless ``given`` is one of ``names``."""
    if given not in names:
        raise ValueError(f"{name} must be one of {', '.join(repr(n) for n in names)}; got {given!r}")
