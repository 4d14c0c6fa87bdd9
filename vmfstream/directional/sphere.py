"""Normalise rows to unit length, and choose seeds among them that are far apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from vmfstream.arrays import Rows
from vmfstream.directional.checks import check_sparse
from vmfstream.directional.params import ChunkedMatrix

SAME = {"float32": 1e-6, "float64": 1e-12}
"""Directions whose cosine differs from 1 by less count as one, by the precision of their rows."""

KEY = 0x5EED_0F_A11_A8E5
"""Seed of the direction that rows are sorted along, one that no data are drawn with."""

_ROUNDINGS = 4.0  # units of rounding by which the length of a row that was scaled to 1 before may differ from it


def unit_rows(x: Any, *, copy: bool = True) -> tuple[Rows, NDArray[np.bool_]]:
    """Scale every row to unit length.

    Parameters
    ----------
    x : sparse array or array_like, shape (n, d)
        Documents. float32 and float64 are kept, everything else becomes float64. It is not changed.
    copy : bool
        If false, rows that have unit length up to rounding are left as they are, and if all are (and ``x`` is
        canonical) then ``rows`` shares the memory of ``x``.

    Returns
    -------
    rows : csr_array or ndarray, shape (n, d)
        Canonical (sorted, no duplicates) if sparse, else C-contiguous.
    empty : ndarray of bool, shape (n,)
        Rows without any word: they stay zero, for they have no direction.

    Raises
    ------
    ValueError
        If a value is not finite, ``x`` does not have two dimensions, or its indices lie outside of it.

    Notes
    -----
    Rows of double precision are scaled by a power of two first, so that squares neither overflow nor vanish.

    Examples
    --------
    >>> rows, empty = unit_rows([[3.0, 4.0], [0.0, 0.0]])
    >>> rows.tolist(), empty.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [False, True])
    """
    if isinstance(x, ChunkedMatrix):
        return x, ~x.directed()
    if not issparse(x):
        x = np.asarray(x)
    if x.ndim != 2:
        raise ValueError(f"x: expected documents by words, two dimensions, got the shape {x.shape}")
    if copy:  # else the caller knows where the rows come from
        check_sparse("x", x)
    dtype = x.dtype if x.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    rows: Any = csr_array(x, dtype=dtype) if issparse(x) else np.asarray(x, dtype=dtype, order="C")
    empty = np.zeros(rows.shape[0], np.bool_)
    rounding = -1.0 if copy else _ROUNDINGS * float(np.finfo(dtype).eps)
    done = 0
    if not copy and (not issparse(x) or _increasing(rows.indices, rows.indptr)):
        done = _unit_up_to(*_values(rows), rounding, empty)
    if copy or done < len(empty):
        rows = rows.copy()
        if issparse(x):
            rows.sum_duplicates()
        done = _normalise(*_values(rows), done, rounding, empty)
    if done < len(empty):
        values, bounds = _values(rows)
        at = int(bounds[done] + np.argmin(np.isfinite(values[bounds[done] : bounds[done + 1]])))
        column = rows.indices[at] if issparse(x) else at - bounds[done]
        raise ValueError(
            f"x: expected finite values, neither NaN nor inf, got {values[at]} in row {done}, column {column}"
        )
    return rows, empty


def _values(rows: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values, row after row, and where each row begins."""
    if isinstance(rows, csr_array):
        return rows.data, rows.indptr
    return rows.reshape(-1), np.arange(rows.shape[0] + 1) * rows.shape[1]


@njit(cache=True)
def _increasing(columns: Any, bounds: Any) -> bool:
    """Whether columns increase within every row; without a branch, far faster than a search for one that does not."""
    falls = 0
    for i in range(bounds.size - 1):
        row = columns[bounds[i] : bounds[i + 1]]
        for j in range(row.size - 1):
            falls += row[j + 1] <= row[j]
    return falls == 0


@njit(cache=True)
def _unit_up_to(values: Any, bounds: Any, rounding: float, empty: Any) -> int:
    """Return how many of the first rows have unit length up to ``rounding``, or none, which is marked."""
    for i in range(empty.size):
        norm, scale = _length(values[bounds[i] : bounds[i + 1]])
        if not abs(norm / scale - 1.0) <= rounding and norm != 0.0:
            return i
        empty[i] = norm == 0.0
    return int(empty.size)


@njit(cache=True)
def _normalise(values: Any, bounds: Any, first: int, rounding: float, empty: Any) -> int:
    """Scale the rows from ``first`` on to unit length, but for those that have it up to ``rounding``, and mark those
    without any; return how many rows are done, fewer than there are if the next holds a value that is not finite.
    """
    for i in range(first, empty.size):
        row = values[bounds[i] : bounds[i + 1]]
        norm, scale = _length(row)
        if not norm < math.inf:
            return i
        empty[i] = norm == 0.0
        if empty[i] or abs(norm / scale - 1.0) <= rounding:
            continue
        if row.itemsize > 4:
            for j in range(row.size):
                row[j] = row[j] * scale / norm
        else:
            inverse = 1.0 / norm
            for j in range(row.size):
                row[j] = np.float64(row[j]) * inverse
    return int(empty.size)


@njit(cache=True)
def _length(row: Any) -> tuple[float, float]:
    """Return the length of scale * row, and a scale by which its squares neither overflow nor vanish."""
    scale = 1.0
    if row.itemsize > 4:  # those of single precision do neither in double
        largest = 0.0
        for value in row:
            largest = max(largest, abs(float(value)))
        scale = math.ldexp(1.0, min(1000, -math.frexp(largest)[1]))
    return math.sqrt(_squares(row, scale)), scale


@njit(cache=True, fastmath={"reassoc"})
def _squares(row: Any, scale: float) -> float:
    """Sum of the squares of scale * row, in any order: a single sum would wait for itself."""
    total = 0.0
    for j in range(row.size):
        value = np.float64(row[j]) * scale
        total += value * value
    return total


def row_keys(x: Rows) -> NDArray[np.float64]:
    """Return a number for each row of ``x`` (N, D), (N,) float64, that depends on nothing but the row.

    It is the projection on one pseudo-random direction: equal rows have the same, different rows in general not, and
    sparse rows that of dense ones.
    """
    axis = np.random.default_rng(KEY).standard_normal(x.shape[1])
    if isinstance(x, ChunkedMatrix):
        return np.asarray(x @ axis)
    if isinstance(x, csr_array):
        return np.asarray(_sparse_keys(x.indptr, x.indices, x.data, axis))
    return np.asarray(_dense_keys(x, axis))


@njit(cache=True)
def _dense_keys(x: Any, axis: Any) -> Any:
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        key = 0.0
        for j in range(x.shape[1]):
            key += x[i, j] * axis[j]
        out[i] = key
    return out


@njit(cache=True)
def _sparse_keys(indptr: Any, indices: Any, data: Any, axis: Any) -> Any:
    out = np.zeros(indptr.size - 1)
    for i in range(out.size):
        for j in range(indptr[i], indptr[i + 1]):
            out[i] += data[j] * axis[indices[j]]
    return out


def place_around(
    mu: NDArray[np.float64], cosine: NDArray[np.float64], sine: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw unit vectors at the given cosines with ``mu``, uniform in the directions across it.

    Parameters
    ----------
    mu : ndarray, shape (d,)
        Unit vector.
    cosine, sine : ndarray, shape (n,)
        Of the angle with ``mu``, both to full precision.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (n, d)
    """
    rows = rng.standard_normal((len(cosine), len(mu)))
    rows -= np.outer(rows @ mu, mu)
    rows *= (sine / np.linalg.norm(rows, axis=1))[:, None]
    rows += np.outer(cosine, mu)
    return rows


def cosine_plus_plus(
    x: Rows,
    k: int,
    rng: np.random.Generator,
    weights: NDArray[np.float64] | None = None,
    *,
    axial: bool = False,
) -> NDArray[np.int64]:
    """Choose up to ``k`` rows that are far apart: k-means++ with the distance 1 - cosine.

    The first row is drawn uniformly, each further one with P(i) proportional to 1 - max_j x_i . x_j over the rows j
    chosen so far. It is not squared: between unit vectors 1 - cosine is half the squared distance already. Between axes
    the distance is 1 - cosine^2, half the squared distance of their projections.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents of unit length; rows without words are never chosen.
    k : int
        Number of rows wanted, at least 1.
    rng : numpy.random.Generator
        Source of randomness.
    weights : ndarray, shape (n,), optional
        How often each row was seen, >= 0, a factor of its probability; once by default.
    axial : bool
        Count a row and its opposite as one.

    Returns
    -------
    ndarray of int64, shape (at most k,)
        Row numbers in the order of choice, all of different direction. There are fewer than ``k`` if ``x`` holds
        fewer than ``k`` different directions, none at all if it holds no words.

    Raises
    ------
    ValueError
        If ``k`` is less than 1.

    Notes
    -----
    O(k nnz); ``x`` stays sparse. Directions count as equal from a cosine of 1 - `SAME` on.

    References
    ----------
    [AV07] Arthur & Vassilvitskii 2007, k-means++.
    """
    if k < 1:
        raise ValueError(f"k: expected at least one row, got {k}")
    present = _present(x)
    same = SAME[x.dtype.name]
    distance = np.full(x.shape[0], np.inf)
    mass = present if weights is None else present * weights
    chance = mass.astype(np.float64)
    chosen: list[int] = []
    order = drawing_order(x)
    while len(chosen) < k and chance.any():
        cumulated = np.cumsum(chance[order])
        drawn = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        drawn = min(drawn, int(np.flatnonzero(chance[order])[-1]))  # the product may be rounded up to the whole sum
        drawn = int(order[drawn])
        chosen.append(drawn)
        seed = x[[drawn]].toarray()[0] if isinstance(x, csr_array) else x[drawn]
        likeness = x @ seed
        np.minimum(distance, 1.0 - (likeness**2 if axial else likeness), out=distance)
        distance[drawn] = 0.0
        chance = np.where(present & (distance >= same), mass * distance, 0.0)
    return np.array(chosen, dtype=np.int64)


def drawing_order(x: Rows) -> NDArray[np.int64]:
    """Return the row numbers of ``x`` in the order in which random draws go through them, (N,)."""
    given = x.order if isinstance(x, ChunkedMatrix) else None
    return np.arange(x.shape[0]) if given is None else given


def _present(x: Rows) -> NDArray[np.bool_]:
    """Tell which rows hold a word."""
    if isinstance(x, ChunkedMatrix):
        return x.directed()
    if not isinstance(x, csr_array):
        there: NDArray[np.bool_] = np.any(x, axis=1)
        return there
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    counts = np.bincount(rows[x.data != 0], minlength=x.shape[0])
    return counts > 0
