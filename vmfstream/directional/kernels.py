"""The compiled passes over documents: cosines, responsibilities and weighted sums.

Matrices of topics are stored words by topics, ``(d, kp)`` with ``kp = padded(k)``: one word's row is one or two vector
registers wide, and the padded columns are zero. Documents are a ``csr_array`` or a dense array, of the matrix's dtype
(float32 or float64); a sparse ``x`` is never made dense.

The score of a topic is a polynomial of the dot product of document and topic,

    L_ik = sum_p coef[p, k] u^p,   u = (x_i . m_k - centre[k]) / scale[k],

which for the mixture of von Mises-Fisher distributions is of degree one: ``coef = [log pi_k - ell(kappa_k), kappa_k]``.

A document without any word carries no direction: its label is -1, its log-likelihood 0, its responsibilities are zero,
and it enters no sum. The same holds for a document whose scores are not finite.

Many sparse documents are scored in ``threads`` chunks of rows, one thread each; their sums over words are then made in
as many ranges of words, so that no thread needs a matrix of its own and every sum runs in the order of documents.
Results do not depend on timing, and on ``threads`` only by the rounding of ``nk`` and ``q``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Rows
from vmfstream.directional.loops import (
    TOP,
    dots_chunk,
    label_chunk,
    label_of_dots,
    list_chunk,
    pass_chunk,
    pass_of_dots,
    posterior_chunk,
    posterior_of_dots,
    scatter_words,
)
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.simd import NARROW

_BLOCK = 8192  # documents whose responsibilities are held in lists before they are summed
_NEAR = 2**21  # bytes of dense rows, dot products and responsibilities that are worked on together
_LEAST_ROWS = 256  # that are worked on together, however many numbers they have
_PAGE = 2**21  # bytes of a large page of memory

WORTH_SHARING = 2_000_000
"""Products of coordinates and topics, about a millisecond's work, from which on threads share documents: to hand fewer
over takes longer than to score them."""


class Responsibilities(NamedTuple):
    """What :func:`posterior` returns."""

    loglik: NDArray[np.float64]
    """(n,) log sum_k exp(L_ik); 0 for a document without words."""
    label: NDArray[np.int32]
    """(n,) the topic of the largest score; -1 for a document without words."""
    resp: NDArray[np.float32]
    """(n, kp) responsibilities; rows sum to 1, padded columns are 0."""


class Labelled(NamedTuple):
    """What :func:`labels` returns."""

    loglik: NDArray[np.float64]
    """(n,) log sum_k exp(L_ik); 0 for a document without words."""
    label: NDArray[np.int32]
    """(n,) the topic of the largest score; -1 for a document without words."""
    sure: NDArray[np.float32]
    """(n,) probability of the label under softmax(beta L); 0 for a document without words."""


class Pass(NamedTuple):
    """What :func:`posterior_accumulate` returns; r are the truncated responsibilities."""

    s: NDArray[Any]
    """(d, kp) sum_i r_ik x_i, of the dtype of x."""
    nk: NDArray[np.float64]
    """(kp,) sum_i r_ik."""
    q: NDArray[np.float64]
    """(kp,) sum_i r_ik^2."""
    loglik: NDArray[np.float64]
    """(n,) log sum_k exp(L_ik), before truncation; 0 for a document without words."""
    label: NDArray[np.int32]
    """(n,) the topic of the largest score; -1 for a document without words."""
    top: NDArray[np.int16]
    """(n, TOP) the topics of the largest r, in falling order; -1 where there is none."""
    weight: NDArray[np.float32]
    """(n, TOP) their r. A row sums to 1 unless more than TOP topics are active."""
    second: NDArray[np.int32]
    """(n,) the topic of the second score; -1 for a document without words, or where there is one topic."""
    sure: NDArray[np.float32]
    """(n, 2) probabilities of label and second under softmax(beta L); 0 for a document without words."""


def padded(k: int) -> int:
    """Return the number of columns that ``k`` topics are stored in: the next multiple of 16.

    Raises
    ------
    ValueError
        If ``k`` is less than 1.

    Examples
    --------
    >>> padded(1), padded(16), padded(30)
    (16, 16, 32)
    """
    if k < 1:
        raise ValueError(f"k: expected at least one topic, got {k}")
    return -(-k // NARROW) * NARROW


def copied(m: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of a matrix (d, kp) that lies like one of `zeros`."""
    d, kp = m.shape
    out = empty(d, kp, m.dtype)
    np.copyto(out, m)
    return out


def zeros(d: int, kp: int, dtype: type[np.floating[Any]] | np.dtype[Any] = np.float32) -> NDArray[Any]:
    """Return a matrix of zeros (d, kp) of ``dtype`` that the passes read and write at the best speed.

    It lies in large pages of memory where the system has them: the rows of a document's words are far apart, and with
    small pages, each of which must be found, dot products take half as long again.
    """
    return _in_large_pages(np.zeros, d, kp, np.dtype(dtype))


def empty(d: int, kp: int, dtype: type[np.floating[Any]] | np.dtype[Any] = np.float32) -> NDArray[Any]:
    """Return a matrix (d, kp) of ``dtype`` that lies like one of `zeros`, to be written as a whole."""
    return _in_large_pages(np.empty, d, kp, np.dtype(dtype))


def _in_large_pages(make: Callable[..., NDArray[Any]], d: int, kp: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    itemsize = dtype.itemsize
    if d * kp * itemsize < _PAGE // 2:
        return make((d, kp), dtype)
    room = make(max(d * kp * itemsize + _PAGE, 2 * _PAGE) // itemsize, dtype)  # numpy asks for them from 4 MiB on
    first = -room.ctypes.data % _PAGE // itemsize
    return room[first : first + d * kp].reshape(d, kp)


def dots(x: Rows, m: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """Return the dot products ``x m``.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    m : ndarray, shape (d, kp)
        Topics in columns, C-contiguous, of the dtype of ``x``.
    threads : int
        Most threads, and chunks, for a sparse ``x``.

    Returns
    -------
    ndarray, shape (n, kp)
        Of the same dtype.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match.
    """
    _check_rows(x, threads)
    _check_topics("m", m, x)
    if isinstance(x, ChunkedMatrix):
        return x.dots(m, threads)  # type: ignore[no-any-return]
    if not isinstance(x, csr_array):
        product: NDArray[Any] = x @ m
        return product
    out = np.zeros((x.shape[0], m.shape[1]), m.dtype)
    threads = _shared_by(threads, x, m.shape[1])
    _run(dots_chunk, _parts(x.shape[0], threads), x.indptr, x.indices, x.data, m, out)
    return out


def posterior(
    x: Rows,
    m: NDArray[Any],
    coef: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    k: int,
    *,
    threads: int = 1,
) -> Responsibilities:
    """Return log-likelihood, label and all responsibilities of every document: the E-step.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents; rows of unit length.
    m : ndarray, shape (d, kp)
        Topics in columns, C-contiguous, of the dtype of ``x``.
    coef : ndarray, shape (degree + 1, >= k)
        Coefficients of the score, constant first. A constant of minus infinity switches a topic off.
    centre, scale : ndarray, shape (>= k,)
        Origin and unit of the dot product in the polynomial; 0 and 1 for the plain mixture.
    k : int
        Number of topics; columns of ``m`` from ``k`` on are not looked at.
    threads : int
        Most threads, and chunks, for a sparse ``x``.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match.

    Notes
    -----
    O(nnz kp). Dot products are in the dtype of ``x``, scores in double precision. A responsibility below 2e-22 times
    the largest is zero.
    """
    _check_rows(x, threads)
    _check_topics("m", m, x)
    polynomial = _polynomial(m, coef, centre, scale, k)
    if isinstance(x, ChunkedMatrix):
        return x.posterior(m, coef, centre, scale, k, threads)  # type: ignore[no-any-return]
    if not isinstance(x, csr_array):
        return _posterior_of(_dense_dots(x, m, k), _empty(x), polynomial)
    out = _no_responsibilities(x.shape[0], m.shape[1])
    threads = _shared_by(threads, x, m.shape[1])
    _run(posterior_chunk, _parts(x.shape[0], threads), x.indptr, x.indices, x.data, m, *polynomial, *out)
    return out


def posterior_from_dots(
    dots: NDArray[Any],
    empty: NDArray[np.bool_],
    coef: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    k: int,
) -> Responsibilities:
    """Return what :func:`posterior` does, from finished dot products.

    Parameters
    ----------
    dots : ndarray, shape (n, kp)
        Those of documents and topics, C-contiguous, see :func:`dots`.
    empty : ndarray of bool, shape (n,)
        Which documents have no direction.
    coef, centre, scale, k
        As in :func:`posterior`.

    Raises
    ------
    ValueError
        If shapes do not match.
    """
    if dots.ndim != 2 or empty.shape != dots.shape[:1]:
        raise ValueError(f"empty: expected one value for each of {len(dots)} documents, got the shape {empty.shape}")
    return _posterior_of(np.ascontiguousarray(dots), empty, _polynomial(dots, coef, centre, scale, k))


def _no_responsibilities(n: int, kp: int) -> Responsibilities:
    return Responsibilities(np.zeros(n), np.full(n, -1, np.int32), np.zeros((n, kp), np.float32))


def _posterior_of(dots: NDArray[Any], empty: NDArray[np.bool_], polynomial: tuple[Any, Any, Any]) -> Responsibilities:
    out = _no_responsibilities(*dots.shape)
    posterior_of_dots(dots, empty, *polynomial, *out)
    return out


def labels(
    x: Rows,
    m: NDArray[Any],
    coef: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    k: int,
    *,
    threads: int = 1,
    beta: float = 1.0,
) -> Labelled:
    """Return log-likelihood, label and its probability of every document, without its responsibilities.

    Parameters
    ----------
    x, m, coef, centre, scale, k, threads
        As in :func:`posterior`, but for ``x``, which may not be in chunks.
    beta : float
        Inverse temperature of ``sure``, above 0.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match, or beta is not above 0.
    """
    _check_rows(x, threads)
    _check_topics("m", m, x)
    if not beta > 0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    polynomial = _polynomial(m, coef, centre, scale, k)
    n = x.shape[0]
    out = Labelled(np.zeros(n), np.full(n, -1, np.int32), np.zeros(n, np.float32))
    if isinstance(x, csr_array):
        threads = _shared_by(threads, x, m.shape[1])
        _run(label_chunk, _parts(n, threads), x.indptr, x.indices, x.data, m, *polynomial, float(beta), *out)
    else:
        label_of_dots(_dense_dots(x, m, k), _empty(x), *polynomial, float(beta), *out)
    return out


def posterior_accumulate(
    x: Rows,
    m: NDArray[Any],
    coef: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    k: int,
    *,
    threads: int = 1,
    threshold: float = 1e-3,
    mass: NDArray[np.float64] | None = None,
    beta: float = 1.0,
    into: NDArray[Any] | None = None,
    sums_only: bool = False,
) -> Pass:
    """Return every document's posterior and the sums it contributes to: E-step and M-step's sums in one pass.

    Parameters
    ----------
    x, m, coef, centre, scale, k, threads
        As in :func:`posterior`.
    threshold : float
        Responsibilities below it are set to zero and the rest of the row is scaled to sum to one; the largest always
        stays. In [0, 1]: 0 keeps all, 1 assigns each document to its label.
    mass : ndarray, shape (n,), optional
        What each document weighs in ``s``, ``nk`` and ``q``, where its responsibilities are multiplied by it; 1 by
        default.
    beta : float
        Inverse temperature of ``sure``, above 0; all else is that of 1.
    into : ndarray, shape (d, kp), optional
        C-contiguous, of the dtype of ``x``: what ``s`` is added to, and returned as ``s``. A new matrix by default.
    sums_only : bool
        Whether ``top``, ``weight``, ``second`` and ``sure`` are left out, and have no rows.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match, the threshold is outside [0, 1], beta is not above 0, or there are more than
        32767 topics.

    Notes
    -----
    O(nnz kp) for the scores and O(nnz) for every topic that stays active.
    """
    _check_rows(x, threads)
    _check_topics("m", m, x)
    polynomial = _polynomial(m, coef, centre, scale, k)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold: expected a responsibility in [0, 1], got {threshold}")
    if not beta > 0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    if k > np.iinfo(np.int16).max:
        raise ValueError(f"k: expected at most {np.iinfo(np.int16).max} topics, got {k}")
    if into is not None and into.shape != m.shape:
        raise ValueError(f"into: expected the shape of m, {m.shape}, got {into.shape}")
    if into is not None:
        _check_topics("into", into, x)
    if isinstance(x, ChunkedMatrix):
        found: Pass = x.posterior_accumulate(m, coef, centre, scale, k, threads, threshold, beta, sums_only, mass=mass)
        return found._replace(s=_added(found.s, into))
    n, kp = x.shape[0], m.shape[1]
    mass = np.ones(n) if mass is None else np.asarray(mass, np.float64)
    if mass.shape != (n,):
        raise ValueError(f"mass: expected one value for each of {n} documents, got the shape {mass.shape}")
    told = 0 if sums_only else n
    top = (np.full((told, TOP), -1, np.int16), np.zeros((told, TOP), np.float32))
    row = (np.zeros(n), np.full(n, -1, np.int32), *top, np.full(told, -1, np.int32), np.zeros((told, 2), np.float32))
    if isinstance(x, csr_array):
        threads = _shared_by(threads, x, kp)
        nk, q = np.zeros((threads, kp)), np.zeros((threads, kp))

        def score(block: slice, lists: _Lists) -> None:
            rows = x.indptr[block.start : block.stop + 1], x.indices, x.data
            outputs = tuple(values[block] for values in (mass, *row))
            _run(
                pass_chunk,
                _parts(block.stop - block.start, threads),
                *(*rows, m, *polynomial, threshold, float(beta), *lists, *outputs),
                own=list(zip(nk, q, strict=True)),
            )

        s = zeros(x.shape[1], kp, x.dtype) if into is None else into
        return Pass(_summed(x, s, threads, score), nk.sum(axis=0), q.sum(axis=0), *row)
    s, total, squares = _dense_sums(x, m, polynomial, (threshold, float(beta)), (mass, *row), k)
    return Pass(_added(s, into), total, squares, *row)


def _dense_dots(x: NDArray[Any], m: NDArray[Any], k: int, into: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return dot products (n, kp) of dense rows with ``k`` topics, zero beyond, written to ``into`` if there is one."""
    out = np.zeros((len(x), m.shape[1]), m.dtype) if into is None else into[: len(x)]
    np.matmul(x, m[:, :k], out=out[:, :k])
    return out


def _dense_sums(
    x: NDArray[Any],
    m: NDArray[Any],
    polynomial: tuple[Any, Any, Any],
    options: tuple[float, float],
    per_row: tuple[NDArray[Any], ...],
    k: int,
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    """Fill ``per_row`` and return the sums of `posterior_accumulate`, a block of dense rows after the other.

    A block is small enough to be at hand when its rows are summed.
    """
    (n, d), kp = x.shape, m.shape[1]
    size = max(_LEAST_ROWS, _NEAR // ((d + 2 * kp) * x.itemsize))
    dots, resp = np.zeros((2, min(size, n), kp), m.dtype)
    s, nk, q = np.zeros((kp, d), x.dtype), np.zeros(kp), np.zeros(kp)
    for low in range(0, n, size):
        rows = np.ascontiguousarray(x[low : low + size])
        products, own = _dense_dots(rows, m, k, dots), resp[: len(rows)]
        mass, *told = (values[low : low + size] for values in per_row)
        if pass_of_dots(rows, products, *polynomial, *options, s, own, nk, q, mass, *told):
            s[:k] += own[:, :k].T @ rows
            own[:] = 0.0
    return np.ascontiguousarray(s.T), nk, q


def _empty(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the dense rows without direction, (N,); those that begin with a number are seen by it."""
    empty: NDArray[np.bool_] = x[:, 0] == 0
    doubtful = np.flatnonzero(empty)
    empty[doubtful] = ~np.any(x[doubtful], axis=1)
    return empty


def _added(s: NDArray[Any], into: NDArray[Any] | None) -> NDArray[Any]:
    return s if into is None else np.add(into, s, out=into)


def accumulate(x: Rows, resp: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """Return ``x' resp``, the weighted sums of documents; zero weights cost nothing.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    resp : ndarray, shape (n, kp)
        Weights, float32 or float64.
    threads : int
        Most threads, and chunks, for a sparse ``x``.

    Returns
    -------
    ndarray, shape (d, kp)
        Of the dtype of ``x``.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match.
    """
    _check_rows(x, threads)
    _check_per_row("resp", resp, x)
    if resp.shape[1] % NARROW:
        raise ValueError(f"resp: expected a multiple of {NARROW} columns, got {resp.shape[1]}")
    if isinstance(x, ChunkedMatrix):
        return x.accumulate(resp, threads)  # type: ignore[no-any-return]
    if not isinstance(x, csr_array):
        product: NDArray[Any] = np.ascontiguousarray(x.T @ resp.astype(x.dtype, copy=False))
        return product
    resp = np.ascontiguousarray(resp)
    threads = _shared_by(threads, x, resp.shape[1])

    def share(block: slice, lists: _Lists) -> None:
        rows = x.indptr[block.start : block.stop + 1], x.indices
        _run(list_chunk, _parts(block.stop - block.start, threads), *rows, resp[block], *lists)

    return _summed(x, zeros(x.shape[1], resp.shape[1], x.dtype), threads, share)


_Lists: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.int32], NDArray[np.int32]]
"""Bounds (n, 2) of every document's part of a list of topics and their responsibilities; cuts of the words, and the
bounds (n, cuts + 2) of every document's words between them."""


def _summed(x: Any, s: NDArray[Any], threads: int, fill: Callable[[slice, _Lists], None]) -> NDArray[Any]:
    """Add documents to ``s`` by their responsibilities, which ``fill(block, lists)`` lists block after block."""
    n, kp = x.shape[0], s.shape[1]
    size = min(n, _BLOCK)
    cuts = _cuts(x.indices, threads)
    bounds, split = np.empty((size, 2), np.int64), np.empty((size, len(cuts) + 2), np.int32)
    lists = bounds, np.empty(size * kp, np.int32), np.empty(size * kp, x.dtype), cuts, split
    for low in range(0, n, _BLOCK):
        block = slice(low, min(low + _BLOCK, n))
        rows = block.stop - low
        fill(block, lists)
        of_rows = bounds[:rows], *lists[1:], s
        _run(scatter_words, range(len(cuts) + 2), x.indptr[low : block.stop + 1], x.indices, x.data, *of_rows)
    return s


def _cuts(indices: NDArray[Any], threads: int) -> NDArray[np.int32]:
    """Where to part the words so that each thread has about as much to do, by a sample of the coordinates.

    A rare word's row has left the cache before it is needed again: it costs about as much as two of frequent ones.
    """
    if threads == 1 or not len(indices):
        return np.empty(0, np.int32)
    sample = np.sort(indices[:: max(1, len(indices) // 1024)])
    again = sample[1:] == sample[:-1]
    frequent = np.append(again, False) | np.append(False, again)
    cost = np.cumsum(np.where(frequent, 1.0, 2.0))
    chosen = sample[np.searchsorted(cost, cost[-1] * np.arange(1, threads) / threads)]
    return np.unique(chosen[chosen > 0]).astype(np.int32)


def in_parts(chunk: Callable[..., None], n: int, threads: int, *shared: Any, own: NDArray[Any]) -> None:
    """Call ``chunk(low, high, own[c], *shared)`` for every part of n rows at once, with one of ``threads`` each.

    Few rows, of as many columns as ``own``, are one part: a number that is moved takes as long as ten products.
    """
    threads = threads if 10 * n * own.shape[1] > WORTH_SHARING else 1
    _run(chunk, _parts(n, threads), *shared, own=[(row,) for row in own])


def _shared_by(threads: int, x: csr_array, columns: int) -> int:
    """Return how many of the ``threads`` share the rows of ``x``: one if they are few."""
    return threads if x.nnz * columns > WORTH_SHARING else 1


def _parts(n: int, parts: int) -> list[int]:
    """Bounds of contiguous parts of n rows."""
    parts = min(parts, max(n, 1))
    return [n * c // parts for c in range(parts + 1)]


def _run(chunk: Callable[..., None], bounds: Sequence[int], *shared: Any, own: Sequence[tuple[Any, ...]] = ()) -> None:
    """Call ``chunk(bounds[c], bounds[c + 1], *own[c], *shared)`` for all c at once, one thread each.

    Plain threads, not numba's: its portable threading layer ends the process when two threads of a program enter it.
    """
    last = len(bounds) - 2
    if last == 0:
        chunk(*bounds, *(own[0] if own else ()), *shared)
        return
    calls = [(bounds[c], bounds[c + 1], *(own[c] if own else ()), *shared) for c in range(last + 1)]
    running = [_pool(last).submit(chunk, *call) for call in calls[:last]]
    chunk(*calls[last])
    for future in running:
        future.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that wait for chunks: starting new ones takes as long as scoring hundreds of documents."""
    return ThreadPoolExecutor(threads, thread_name_prefix="vmfstream")


os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads


def _check_rows(x: Rows, threads: int) -> None:
    if not isinstance(x, csr_array | ChunkedMatrix) and not (isinstance(x, np.ndarray) and x.ndim == 2):
        raise ValueError(f"x: expected a csr_array or an array of two dimensions, got {type(x).__name__}")
    if x.dtype not in (np.float32, np.float64):
        raise ValueError(f"x: expected float32 or float64, got {x.dtype}")
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")


def _check_topics(name: str, m: NDArray[Any], x: Rows) -> None:
    if m.ndim != 2 or m.shape[0] != x.shape[1] or m.shape[1] % NARROW or m.shape[1] == 0:
        raise ValueError(
            f"{name}: expected the shape ({x.shape[1]}, a multiple of {NARROW}): one row a word of x, got {m.shape}"
        )
    if m.dtype != x.dtype:
        raise ValueError(f"{name}: expected the dtype of x, {x.dtype}, got {m.dtype}")
    if not m.flags.c_contiguous:
        raise ValueError(f"{name}: expected words by topics in C order, got another memory layout")


def _check_per_row(name: str, given: NDArray[Any], x: Rows) -> None:
    if given.ndim != 2 or given.shape[0] != x.shape[0]:
        raise ValueError(f"{name}: expected {x.shape[0]} rows, one a document, got the shape {given.shape}")


def _polynomial(
    m: NDArray[Any], coef: NDArray[np.float64], centre: NDArray[np.float64], scale: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the checked coefficients, origin and inverse unit, one column each for every column of m."""
    if not 1 <= k <= m.shape[1]:
        raise ValueError(f"k: expected 1 to {m.shape[1]}, the columns of m, got {k}")
    coef, centre, scale = (np.asarray(given, np.float64) for given in (coef, centre, scale))
    if coef.ndim != 2 or coef.shape[0] < 1 or coef.shape[1] < k:
        raise ValueError(f"coef: expected the shape (degree + 1, at least {k}), got {coef.shape}")
    for name, values in (("centre", centre), ("scale", scale)):
        if values.ndim != 1 or values.size < k:
            raise ValueError(f"{name}: expected at least {k} values, got the shape {values.shape}")
    if not np.all(scale[:k] > 0):
        raise ValueError(f"scale: expected positive values, got {scale[:k].min()}")
    powers, origin, slope = np.zeros((len(coef), m.shape[1])), np.zeros(m.shape[1]), np.zeros(m.shape[1])
    powers[0, k:] = -np.inf  # padded columns are no topics
    powers[:, :k], origin[:k], slope[:k] = coef[:, :k], centre[:k], 1.0 / scale[:k]
    return powers, origin, slope
