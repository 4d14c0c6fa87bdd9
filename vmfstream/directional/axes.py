"""Principal and last axes of weighted scatter matrices, along which documents spread most or least.

The scatter matrix sum_i w_i x_i x_i' of n documents in d dimensions is formed only where it, or the matrix of inner
products of the documents, is small; elsewhere it is a product of two passes over the documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from vmfstream.arrays import Rows

_SMALL = 100  # a symmetric matrix up to this size is diagonalised as a whole, in about a millisecond
_MEDIUM = 2_000  # the same for the least axis, which Lanczos's method finds slowly: seconds, and 32 megabytes
_TOL = 1e-10  # relative accuracy of an eigenvalue; that of the axis is its root
_SAME = 1e-12  # relative difference of mean squares that is rounding, also that of an axis in single precision
_RESTARTS = 300


def principal_axis(
    x: Rows, weights: NDArray[np.float64], start: NDArray[np.floating[Any]] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return the axis v of largest weighted mean of (x_i'v)^2, and that mean.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    weights : ndarray, shape (n,)
        Weights of the documents, >= 0, one of them positive.
    start : ndarray, shape (d,), optional
        An axis near the one sought; the result is never worse.

    Returns
    -------
    axis : ndarray of float64, shape (d,)
        Of unit length, with its entry of largest modulus positive.
    mean : float

    Notes
    -----
    O(nnz) for each of some tens of passes; ``x`` stays sparse.
    """
    rows, total = _weighted(x, weights)
    n, d = rows.shape
    if d <= _SMALL:
        axis = _eigenvector(rows.T @ rows, d - 1)
    elif n <= _SMALL:
        axis = rows.T @ _eigenvector(rows @ rows.T, n - 1)
    else:
        axis = _lanczos(rows, 1.0, 0.0, start)
    return _better(rows, total, axis, start, 1.0)


def least_axis(
    x: Rows, weights: NDArray[np.float64], start: NDArray[np.floating[Any]] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return the axis v of smallest weighted mean of (x_i'v)^2, and that mean; arguments as in `principal_axis`.

    The mean is zero whenever fewer than d directions have a weight. Above 2,000 dimensions the axis may be no better
    than ``start``: the small eigenvalues of large matrices are too close to each other to be told apart.
    """
    rows, trace = _weighted(x, weights)  # the rows are of unit length: no eigenvalue is larger
    whole = rows.shape[1] <= _MEDIUM
    axis = _eigenvector(rows.T @ rows, 0) if whole else _lanczos(rows, -1.0, trace, start)
    return _better(rows, trace, axis, start, -1.0)


def canonical(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one of ``axis`` and its opposite whose entry of largest modulus is positive."""
    return -axis if axis[np.argmax(np.abs(axis))] < 0 else axis


def _weighted(x: Rows, weights: NDArray[np.float64]) -> tuple[Any, float]:
    """Return the documents that have a weight, times its root, in double precision, and the sum of the weights."""
    weighted = np.flatnonzero(weights > 0)
    roots = np.sqrt(weights[weighted])
    rows: Any = x[weighted].astype(np.float64)
    if isinstance(rows, csr_array):
        rows.data *= np.repeat(roots, np.diff(rows.indptr))
    else:
        rows *= roots[:, None]
    return rows, float(weights[weighted].sum())


def _eigenvector(product: Any, index: int) -> NDArray[np.float64]:
    """Return one eigenvector of a symmetric matrix, counted by rising eigenvalue."""
    matrix = product.toarray() if issparse(product) else product
    return np.asarray(eigh(matrix, subset_by_index=[index, index])[1][:, 0])


def _lanczos(rows: Any, sign: float, shift: float, start: NDArray[np.floating[Any]] | None) -> NDArray[np.float64]:
    """Return the eigenvector of the largest eigenvalue of shift I + sign rows' rows, or a start if it is not found."""
    d = rows.shape[1]
    noise = np.random.default_rng(0).standard_normal(d) / np.sqrt(d)  # a start may be an axis of the other end
    begin = noise if start is None else start + 1e-3 * noise
    across = rows.T.tocsr() if isinstance(rows, csr_array) else rows.T

    def times(v: NDArray[np.float64]) -> Any:
        return shift * v + sign * (across @ (rows @ v))

    try:
        operator = LinearOperator((d, d), matvec=times, dtype=np.float64)
        found = eigsh(operator, k=1, which="LA", v0=begin, tol=_TOL, maxiter=_RESTARTS)[1]
    except ArpackNoConvergence as stopped:
        found = stopped.eigenvectors
    return np.asarray(found[:, 0] if found.shape[1] else begin, np.float64)


def _better(
    rows: Any, total: float, axis: NDArray[np.float64], start: NDArray[np.floating[Any]] | None, sign: float
) -> tuple[NDArray[np.float64], float]:
    """Return the axis found, or ``start`` where that is better, with its mean square."""
    found = axis / np.linalg.norm(axis)
    mean = float(np.sum((rows @ found) ** 2)) / total
    if start is not None:
        before = start.astype(np.float64)
        before /= np.linalg.norm(before)
        earlier = float(np.sum((rows @ before) ** 2)) / total
        if sign * earlier >= sign * mean - _SAME * mean:  # an axis that is found again does not move
            found, mean = before, earlier
    return canonical(found), min(mean, 1.0)
