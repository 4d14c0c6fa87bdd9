"""How a mixture is fitted, and what is required of documents and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.checks import checked_weights
from vmfstream.directional.params import Parted, Rows
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.concentration import TREATMENTS, Treatment

Assignment: TypeAlias = Literal["soft", "hard", "hybrid"]

Concentration: TypeAlias = Literal["shared", "own"]


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The options of `vmfstream.mixtures.movmf.fit` that every start shares; ``heat`` is (beta0, factor) or None."""

    assignment: Assignment
    concentration: Concentration
    estimator: Treatment
    kappa: float | None
    heat: tuple[float | None, float] | None
    soft_iter: int
    max_iter: int
    tol: float
    weights: NDArray[np.float64] | None
    threads: int


def check(x: Rows, k: int, options: Options, n_init: int) -> None:
    """Raise ValueError for rows, a number of topics, weights or options that no mixture can be fitted with."""
    _one_of("assignment", options.assignment, get_args(Assignment))
    _one_of("concentration", options.concentration, get_args(Concentration))
    _one_of("estimator", options.estimator, TREATMENTS)
    kappa = options.kappa
    if (options.estimator == "fixed") != (kappa is not None):
        raise ValueError(
            f"kappa belongs to estimator 'fixed' and to no other; got estimator {options.estimator!r}, kappa {kappa}"
        )
    if kappa is not None and not (np.isfinite(kappa) and kappa > 0):
        raise ValueError(f"kappa must be positive and finite; got {kappa}")
    if options.heat is not None:
        beta0, factor = options.heat
        if not (beta0 is None or 0 < beta0 <= 1) or not factor > 1:
            raise ValueError(f"beta0 must lie in (0, 1] and factor above 1; got beta0 {beta0}, factor {factor}")
    if n_init < 1:
        raise ValueError(f"n_init must be at least 1; got {n_init}")
    check_rows(x)
    held = directed(x)
    if options.weights is not None:
        held &= checked_weights(options.weights, x.shape[0]) > 0
    rows = int(held.sum())
    if not 1 <= k <= rows:
        weighing = "" if options.weights is None else " and a weight"
        raise ValueError(f"k must be between 1 and the {rows} rows with a direction{weighing}; got {k}")


def check_rows(x: Rows) -> None:
    """Raise ValueError unless ``x`` is a matrix of floats whose rows are unit or zero."""
    if x.ndim != 2 or x.dtype not in (np.float32, np.float64):
        raise ValueError(f"x must be a matrix of float32 or float64; got {x.ndim} dimensions of {x.dtype}")
    if x.shape[1] < 2:
        raise ValueError(f"x must have at least 2 columns; got {x.shape[1]}")
    if isinstance(x, Parted):
        return
    squared = np.asarray((x**2).sum(axis=1), np.float64)
    bad = ~((squared == 0) | (np.abs(squared - 1) < 1e-3))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"rows of x must have length 1 or 0; row {row} has length {np.sqrt(squared[row]):.6g}")


def _one_of(name: str, given: Any, names: tuple[str, ...]) -> None:
    if given not in names:
        raise ValueError(f"{name} must be one of {', '.join(repr(n) for n in names)}; got {given!r}")
