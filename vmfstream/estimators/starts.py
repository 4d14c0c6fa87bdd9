"""Turn the parameters ``init`` and ``weights_init`` into starts of fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Vector
from vmfstream.directional.kernels import dots
from vmfstream.estimators.base import labels_of, means_given
from vmfstream.estimators.distinct import Distinct
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.seeding import one_hot


def own_start(init: Any, rows: Any, k: int, rng: np.random.Generator) -> Any:
    """Return what a callable ``init`` gives for unit ``rows`` (N, D), ``k`` and ``rng``; anything else as it is."""
    return init(rows, k, rng) if callable(init) else init


def own_starts(
    init: Any,
    part: Distinct,
    weight: Vector | None,
    k: int,
    starts: int,
    rng: np.random.Generator,
    threads: int,
    *,
    axial: bool = False,
) -> Iterator[str | Floats]:
    """Yield what each of ``starts`` fits starts from; a callable ``init`` is called for each of them, with ``rng``.

    The other arguments as in `start_given`.
    """
    for _ in range(starts):
        yield start_given(own_start(init, part.rows, k, rng), part, weight, k, threads, axial=axial)


def start_given(
    init: str | ArrayLike, part: Distinct, weight: Vector | None, k: int, threads: int, *, axial: bool = False
) -> str | Floats:
    """Return the start as fits take it: a name, or responsibilities (N, kp) from given labels or means.

    Parameters
    ----------
    init : a name of a start, labels (N,) below ``k``, or means (k, D); ValueError for others
    part : what is fitted of the documents, (M, D)
    weight : (N,) of the documents
    k : number of components
    threads : of the dot products with given means
    axial : count a mean and its opposite as one
    """
    if isinstance(init, str):
        return init
    rows = part.rows
    given = np.asarray(init)
    if given.ndim == 1:
        labels = np.where(part.number >= 0, _labels_given(given, len(part.number), k), -1)
        return part.merged(one_hot(labels, k, rows.dtype), weight)
    cosines = dots(rows, means_given(given, k, rows.shape[1], rows.dtype), threads=threads)[:, :k]
    return one_hot(labels_of(np.abs(cosines) if axial else cosines, ~directed(rows)), k, rows.dtype)


def shares_given(given: ArrayLike | None, k: int) -> Vector | None:
    """Return ``weights_init`` (k,) with the sum 1, or None; raise ValueError unless they are finite and positive."""
    if given is None:
        return None
    shares = np.asarray(given, np.float64)
    if shares.shape != (k,):
        raise ValueError(f"weights_init: expected {k} weights, got the shape {shares.shape}")
    bad = np.flatnonzero(~(np.isfinite(shares) & (shares > 0)))
    if len(bad):
        raise ValueError(f"weights_init: expected finite weights above 0, got {shares[bad[0]]} at {bad[0]}")
    return np.asarray(shares / shares.max() / (shares / shares.max()).sum())


def _labels_given(given: NDArray[Any], n: int, k: int) -> NDArray[Any]:
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer) or not ((given >= 0) & (given < k)).all():
        raise ValueError(f"init: expected {n} labels from 0 to {k - 1}, or means; got {given.dtype} of {given.shape}")
    return given
