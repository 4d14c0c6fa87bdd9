"""Read and check the documents of the admixture, in one of four forms, as one matrix of vectors and bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from vmfstream.directional.checks import check_sparse


def gathered(X: Any, offsets: ArrayLike | None, counts: Any) -> tuple[Any, csr_array]:
    """Return all vectors in one matrix (V, D), and how often each document holds each of them, (N, V).

    ``X`` is either a list or column of N documents, each an array (n_i, D), or one matrix of vectors. Of the
    matrix, document i has the rows ``offsets[i]`` to ``offsets[i + 1]`` (N + 1,), or ``counts[i, v]`` times row v; with
    neither, every row is a document. Raises ValueError if more than one form is given, or offsets or counts do not fit
    the rows.
    """
    if getattr(X, "ndim", 0) == 1:  # a column, such as a Series
        X = list(X)
    ragged = _is_ragged(X)
    if not (ragged or hasattr(X, "shape")):
        X = np.asarray(X)
    shape = (len(X),) if ragged else X.shape
    if shape[:1] in ((), (0,)):
        raise ValueError(f"X: expected vectors in rows, at least one, or a list of documents, got the shape {shape}")
    if (offsets is not None) + (counts is not None) + ragged > 1:
        raise ValueError("expected X as a list of documents, or offsets, or counts; got more than one of them")
    if ragged:
        X, offsets = _stacked(X)
    rows = X.shape[0]
    if counts is not None:
        return X, _counted(counts, rows)
    return X, _cut(np.arange(rows + 1) if offsets is None else np.asarray(offsets), rows)


def _is_ragged(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return any(np.ndim(document) == 2 or np.size(document) == 0 for document in X)
    return isinstance(X, np.ndarray) and X.ndim == 3


def _stacked(documents: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Put documents of (J_i, D) vectors under each other; return where each begins."""
    if (sparse := next((i for i, document in enumerate(documents) if issparse(document)), None)) is not None:
        raise ValueError(f"X: expected dense vectors, got a sparse matrix in document {sparse}")
    arrays = [np.asarray(document) for document in documents]
    d = next((array.shape[1] for array in arrays if array.ndim == 2), 0)
    arrays = [array.reshape(0, d) if array.shape == (0,) else array for array in arrays]
    for i, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != d:
            raise ValueError(f"X: expected vectors of {d} dimensions, got the shape {array.shape} in document {i}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"X: expected finite values, got {array[~np.isfinite(array)][0]} in document {i}")
    return np.concatenate(arrays), np.cumsum([0, *map(len, arrays)])


def _cut(offsets: NDArray[Any], rows: int) -> csr_array:
    """Return the documents that ``offsets`` cut ``rows`` vectors into."""
    whole = offsets.ndim == 1 and len(offsets) > 1 and np.issubdtype(offsets.dtype, np.integer)
    if not whole or offsets[0] != 0 or offsets[-1] != rows or (offsets[1:] < offsets[:-1]).any():
        given = f"{offsets.dtype} of shape {offsets.shape}" if not whole else f"{offsets[0]} ... {offsets[-1]}"
        raise ValueError(f"offsets: expected integers that never fall, from 0 to {rows}, got {given}")
    return csr_array((np.ones(rows), np.arange(rows), offsets), shape=(len(offsets) - 1, rows))


def _counted(counts: Any, rows: int) -> csr_array:
    check_sparse("counts", counts)
    bags = csr_array(counts if issparse(counts) else np.asarray(counts), dtype=np.float64, copy=True)
    if bags.ndim != 2 or bags.shape[1] != rows:
        raise ValueError(f"counts: expected a column for each of {rows} vectors, got the shape {bags.shape}")
    bad = np.flatnonzero(~(np.isfinite(bags.data) & (bags.data >= 0)))
    if bad.size:
        document = int(np.searchsorted(bags.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"counts: expected finite counts of at least 0, got {bags.data[bad[0]]} in document {document}"
        )
    bags.eliminate_zeros()
    return bags
