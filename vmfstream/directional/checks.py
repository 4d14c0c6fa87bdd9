"""Checks of the arguments of this folder's functions, and broadcasting of arrays."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from vmfstream.arrays import Rows, Vector

_UNIT = 1e-3  # how far a norm may be from 1: single-precision documents with many words are off by 1e-5


def dimensions(d: ArrayLike) -> Vector:
    """Return the dimensions ``d``, all finite and at least 2, or raise ValueError."""
    values = np.asarray(d, dtype=np.float64)
    good = (values >= 2) & np.isfinite(values)
    if not good.all():
        raise ValueError(f"d: expected dimensions of at least 2, got {first_bad(values, good)}")
    return values


def not_negative(name: str, given: ArrayLike) -> Vector:
    """Return the values ``given``, all finite and at least 0, or raise ValueError."""
    values = np.asarray(given, dtype=np.float64)
    good = (values >= 0) & np.isfinite(values)
    if not good.all():
        raise ValueError(f"{name}: expected finite values of at least 0, got {first_bad(values, good)}")
    return values


def resultants(r: ArrayLike, one_minus_r: ArrayLike | None = None) -> tuple[Vector, Vector]:
    """Return the mean resultant lengths ``r`` in [0, 1) and 1 - r, or raise ValueError."""
    rs = np.asarray(r, dtype=np.float64)
    good = (rs >= 0) & (rs < 1) if one_minus_r is None else (rs >= 0) & (rs <= 1)
    if not good.all():
        raise ValueError(f"r: expected mean resultant lengths in [0, 1), got {first_bad(rs, good)}")
    omrs = 1.0 - rs if one_minus_r is None else np.asarray(one_minus_r, dtype=np.float64)
    good = (omrs > 0) & (omrs <= 1)
    if not good.all():
        raise ValueError(f"one_minus_r: expected values in (0, 1], got {first_bad(omrs, good)}")
    return rs, omrs


def first_bad(values: Vector, good: NDArray[np.bool_]) -> str:
    """Name the first value that is not good, with its position if there is more than one value."""
    where = tuple(int(i) for i in np.argwhere(~good)[0])
    place = f" at position {where if len(where) > 1 else where[0]}" if where else ""
    return f"{values[where]}{place}"


def in_one_dimension(
    loop: Callable[..., bool], rows: int, d: ArrayLike, given: Any, *others: Vector
) -> Sequence[Vector] | None:
    """Return what `elementwise` finds for a vector ``given`` in one dimension, without its cost: what fits ask for.

    Parameters
    ----------
    loop : compiled function, called with the dimension (1,), the arrays and an array (rows, n) that it fills; says
        whether all numbers were in its domain.
    rows : results for each number.
    d : dimension.
    given : vector (n,).
    others : arrays of the shape of ``given``, or of one number.

    Returns
    -------
    (rows, n), or None if the arguments are of other kinds or outside the domain.
    """
    if not (isinstance(d, int) and d >= 2 and isinstance(given, np.ndarray) and given.dtype == np.float64):
        return None
    if given.ndim != 1 or any(other.ndim and other.shape != given.shape for other in others):
        return None
    out: Any = np.empty((rows, given.size))
    return out if loop(np.array([float(d)]), given, *(other.reshape(-1) for other in others), out) else None


def elementwise(loop: Callable[..., Any], rows: int, *arrays: Vector) -> list[Vector]:
    """Return what a compiled ``loop`` over flat arrays finds, ``rows`` results of the common shape of ``arrays``.

    The loop is called with the arrays, broadcast, and an array of shape (rows, size) that it fills.
    """
    shape = np.broadcast(*arrays).shape
    flat = [_spread(a, shape).reshape(-1) for a in arrays]
    out = np.empty((rows, flat[0].size))
    loop(*flat, out)
    return [shaped(row, shape) for row in out]


def _spread(a: Vector, shape: tuple[int, ...]) -> Vector:
    """Return a copy of ``a`` in the given shape; one number, the usual case, without the cost of general rules."""
    if a.shape == shape:
        return np.array(a, order="C")
    return np.full(shape, a) if a.ndim == 0 else np.array(np.broadcast_to(a, shape), order="C")


def shaped(out: Vector, shape: tuple[int, ...]) -> Any:
    """Give ``out`` its shape; a scalar comes back as np.float64."""
    return out.reshape(shape)[()]


def unit_vector(name: str, given: ArrayLike) -> Vector:
    """Return a copy of the vector ``given`` of exactly unit length, or raise ValueError if it is not nearly so."""
    vector = numbers(name, given)
    if vector.ndim != 1 or vector.size < 2:
        raise ValueError(f"{name}: expected a vector of at least two numbers, got the shape {vector.shape}")
    norm = float(np.linalg.norm(vector))
    if not abs(norm - 1.0) <= _UNIT:
        raise ValueError(f"{name}: expected a vector of unit length, got length {norm:g}")
    return vector / norm


def unit_documents(x: Rows | Sequence[Any], d: int | None) -> Any:
    """Return ``x`` as csr_array or array of rows of unit length, which they may miss by a thousandth.

    Raises ValueError unless the rows are unit vectors of dimension ``d``.
    """
    check_sparse("x", x)
    rows: Any = csr_array(x) if issparse(x) else np.asarray(x, dtype=np.float64)
    if rows.ndim not in (1, 2) or (d is not None and rows.shape[-1] != d):
        wanted = "d" if d is None else d
        raise ValueError(f"x: expected unit vectors in rows, shape (n, {wanted}), got the shape {rows.shape}")
    squares = rows.multiply(rows) if issparse(rows) else np.square(rows)
    norms = np.sqrt(np.atleast_1d(np.asarray(squares.sum(axis=-1), dtype=np.float64)))
    bad = np.flatnonzero(~(np.abs(norms - 1.0) <= _UNIT))
    if bad.size:
        raise ValueError(f"x: expected rows of unit length, got length {norms[bad[0]]:g} in row {bad[0]}")
    if issparse(rows):
        return csr_array(rows.multiply(1.0 / norms[:, None]))
    return rows / (norms if rows.ndim == 1 else norms[:, None])


def number(name: str, given: object) -> float:
    """Return a number as a float. Raises ValueError with its ``name`` for anything else."""
    try:
        return float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {given!r}") from None


def generator(name: str, given: Any) -> np.random.Generator:
    """Return the generator that ``given`` is or stands for; ValueError, which calls it ``name``, for anything else."""
    if isinstance(given, np.random.RandomState):
        return np.random.default_rng(given.randint(2**31 - 1))
    try:
        return np.random.default_rng(given)
    except (TypeError, ValueError):
        wanted = "a numpy.random.Generator, a RandomState, a seed of at least 0 or None"
        raise ValueError(f"{name}: expected {wanted}, got {given!r}") from None


def numbers(name: str, given: ArrayLike) -> Vector:
    """Return a copy of ``given`` as an array of numbers. Raises ValueError, which calls it ``name``, if it is none."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected an array of numbers, got {reprlib.repr(given)}") from None


def checked_weights(given: ArrayLike | None, n: int, name: str = "weights") -> Vector:
    """Return one finite weight >= 0 for each of ``n`` vectors, (n,) float64; ones if None is ``given``.

    Raises ValueError, which calls the argument ``name``, for another shape, a bad weight, or only zeros.
    """
    weights = np.ones(n) if given is None else numbers(name, given)
    if weights.shape != (n,):
        raise ValueError(f"{name}: expected one weight for each of {n} vectors, got the shape {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(f"{name}: expected finite weights of at least 0, got {weights[bad[0]]} in row {bad[0]}")
    if not weights.any():
        raise ValueError(f"{name}: expected a positive weight, got only zeros")
    return weights


def check_sparse(name: str, x: Any) -> None:
    """Refuse a sparse matrix whose indices lie outside of it: compiled code, SciPy's too, would read foreign memory.

    Parameters
    ----------
    name : what the matrix is called in the message.
    x : any matrix; only sparse ones are looked at.

    Raises
    ------
    ValueError
        If an index is negative or too large, or bounds of rows decrease or lie beyond the values.

    Examples
    --------
    >>> x = csr_array(np.eye(3))
    >>> x.indices[1] = 7
    >>> check_sparse("X", x)
    Traceback (most recent call last):
        ...
    ValueError: X: expected indices from 0 to 2, got 7 at entry 1 of the sparse matrix
    """
    if not issparse(x):
        return
    if x.format == "coo":
        for axis, places in enumerate(x.coords):
            _check_indices(name, places, x.shape[axis])
    elif x.format in ("lil", "dok"):  # in objects of Python
        pairs = ((at, one) for at, row in enumerate(x.rows) for one in row) if x.format == "lil" else x.keys()
        for axis, places in enumerate(zip(*pairs, strict=True)):
            _check_indices(name, np.array(places), x.shape[axis])
    elif x.format in ("csr", "csc", "bsr"):
        rows, columns = x.shape[-2] if x.ndim > 1 else 1, x.shape[-1]
        if x.format == "bsr":
            rows, columns = rows // x.blocksize[0], columns // x.blocksize[1]
        size, limit = (columns, rows) if x.format == "csc" else (rows, columns)
        _check_bounds(name, x.indptr, size, min(len(x.indices), len(x.data)))
        _check_indices(name, x.indices[: x.indptr[-1]], limit)


def _check_bounds(name: str, bounds: NDArray[Any], size: int, entries: int) -> None:
    falls = np.flatnonzero(bounds[1:] < bounds[:-1])  # differences could be too large for their type
    if falls.size:
        at = int(falls[0])
        raise ValueError(
            f"{name}: expected bounds of a sparse matrix that never fall, got {bounds[at + 1]} after {bounds[at]} "
            f"at place {at + 1}"
        )
    if len(bounds) != size + 1 or bounds[0] != 0 or bounds[-1] > entries:
        raise ValueError(
            f"{name}: expected {size + 1} bounds of a sparse matrix, from 0 to at most {entries}, "
            f"got {len(bounds)} from {bounds[0]} to {bounds[-1]}"
        )


def _check_indices(name: str, indices: NDArray[Any], limit: int) -> None:
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected whole numbers as indices of a sparse matrix, got {indices.dtype}")
    wrong = _outside(indices, limit)
    if wrong < len(indices):
        raise ValueError(
            f"{name}: expected indices from 0 to {limit - 1}, got {indices[wrong]} at entry {wrong} of the sparse "
            "matrix"
        )


@njit(cache=True)
def _outside(indices: NDArray[Any], limit: int) -> int:
    """Return the place of the first index that is not from 0 to ``limit`` - 1, or how many indices there are."""
    wrong = 0
    for j in range(indices.size):  # without a branch: far faster
        wrong += (indices[j] < 0) | (indices[j] >= limit)
    if wrong:
        for j in range(indices.size):
            if indices[j] < 0 or indices[j] >= limit:
                return j
    return int(indices.size)
