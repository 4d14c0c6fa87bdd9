"""The compiled passes over documents: cosines, responsibilities and weighted sums.

Matrices of topics are stored words by topics, ``(d, kp)`` with ``kp = padded(k)``: one word's row is one or two vector
registers wide, and the padded columns are zero. Documents are a ``csr_array`` or a dense array, of the matrix's dtype
(float32 or float64); a sparse ``x`` is never made dense.

The score of a topic is a polynomial of the dot product of document and topic,

    L_ik = sum_p coef[p, k] u^p,   u = (x_i . m_k - centre[k]) / scale[k],

which for the mixture of von Mises-Fisher distributions is of degree one: ``coef = [log pi_k - ell(kappa_k), kappa_k]``.

A document without any word carries no direction: its label is -1, its log-likelihood 0, its responsibilities are zero,
and it enters no sum. The same holds for a document whose scores are not finite.

Sparse rows are split into exactly ``threads`` contiguous chunks, one thread each, and the chunks' sums are added in
order: a result depends on ``threads`` but not on timing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.directional.lanes import NARROW, WIDE, dot_narrow, dot_wide, scatter_narrow
from vmfstream.directional.params import Rows as Rows

TOP = 4
"""How many topics the compact form of the responsibilities keeps."""

_NEGLIGIBLE = -50.0  # a difference of log scores whose exponential does not change a double-precision sum
_MANY = 5  # active topics in 16 columns from which adding the whole row is faster than adding single entries


class Responsibilities(NamedTuple):
    """What :func:`posterior` returns."""

    loglik: NDArray[np.float64]
    """(n,) log sum_k exp(L_ik); 0 for a document without words."""
    label: NDArray[np.int32]
    """(n,) the topic of the largest score; -1 for a document without words."""
    resp: NDArray[np.float32]
    """(n, kp) responsibilities; rows sum to 1, padded columns are 0."""


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


# --- one document ---------------------------------------------------------------------------------------------------


@njit(cache=True)
def _is_empty(values: NDArray[Any]) -> bool:
    for value in values:  # noqa: SIM110
        if value != 0:
            return False
    return True


@njit(cache=True)
def _dot_row(indices: Any, data: Any, start: int, stop: int, m: Any, out: Any) -> None:
    """out = x_i m, in blocks of topics that fit the registers."""
    column = 0
    while column + WIDE <= m.shape[1]:
        dot_wide(indices, data, start, stop, m, column, out)
        column += WIDE
    if column < m.shape[1]:
        dot_narrow(indices, data, start, stop, m, column, out)


@njit(cache=True)
def _score(c: Any, coef: Any, centre: Any, slope: Any, k: int, score: Any) -> None:
    """score[t] = Horner's scheme in u = (c[t] - centre[t]) slope[t], with the topics innermost."""
    degree = coef.shape[0] - 1
    for t in range(k):
        score[t] = coef[degree, t]
    for p in range(degree - 1, -1, -1):
        for t in range(k):
            score[t] = score[t] * ((c[t] - centre[t]) * slope[t]) + coef[p, t]


@njit(cache=True)
def _softmax(score: Any, k: int, r: Any) -> tuple[int, float]:
    """Fill r with the responsibilities and return (argmax, log sum exp); (-1, 0) if the scores are not finite."""
    label = 0
    best = score[0]
    for t in range(1, k):
        if score[t] > best:
            best = score[t]
            label = t
    if not -math.inf < best < math.inf:
        r[:k] = 0.0
        return -1, 0.0
    total = 0.0
    for t in range(k):
        difference = score[t] - best
        e = math.exp(difference) if difference > _NEGLIGIBLE else 0.0
        r[t] = e
        total += e
    for t in range(k):
        r[t] /= total
    return label, best + math.log(total)


@njit(cache=True)
def _truncate(r: Any, k: int, label: int, threshold: float, active: Any) -> int:
    """Set r below the threshold to zero, let the rest sum to one, list it in ``active``; the largest always stays."""
    count = 0
    kept = 0.0
    for t in range(k):
        if t == label or (r[t] >= threshold and r[t] > 0.0):
            active[count] = t
            count += 1
            kept += r[t]
        else:
            r[t] = 0.0
    for a in range(count):
        r[active[a]] /= kept
    return count


@njit(cache=True)
def _tally(r: Any, active: Any, count: int, nk: Any, q: Any, top: Any, weight: Any) -> None:
    """Add one document to nk and q, and write its largest responsibilities, by insertion."""
    for a in range(count):
        t = active[a]
        value = r[t]
        nk[t] += value
        q[t] += value * value
        place = min(a, TOP)
        while place > 0 and weight[place - 1] < np.float32(value):
            if place < TOP:
                weight[place] = weight[place - 1]
                top[place] = top[place - 1]
            place -= 1
        if place < TOP:
            weight[place] = value
            top[place] = t


@njit(cache=True)
def _scatter_row(indices: Any, data: Any, start: int, stop: int, weights: Any, active: Any, count: int, s: Any) -> None:
    """s[w] += x_iw weights for the active topics, which are listed in increasing order."""
    first = 0
    while first < count:
        column = active[first] // NARROW * NARROW
        last = first + 1
        while last < count and active[last] < column + NARROW:
            last += 1
        if last - first >= _MANY:
            scatter_narrow(indices, data, start, stop, s, column, weights)
        else:
            for a in range(first, last):
                t = active[a]
                weight = weights[t]
                for j in range(start, stop):
                    s[indices[j], t] += weight * data[j]
        first = last


# --- a chunk of documents -------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _dots_chunk(low: int, high: int, indptr: Any, indices: Any, data: Any, m: Any, out: Any) -> None:
    for i in range(low, high):
        _dot_row(indices, data, indptr[i], indptr[i + 1], m, out[i])


@njit(cache=True, nogil=True)
def _posterior_chunk(
    low: int,
    high: int,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    k: int,
    loglik: Any,
    label: Any,
    resp: Any,
) -> None:
    c = np.empty(m.shape[1], m.dtype)
    score = np.empty(k)
    r = np.empty(k)
    for i in range(low, high):
        start, stop = indptr[i], indptr[i + 1]
        if _is_empty(data[start:stop]):
            continue
        _dot_row(indices, data, start, stop, m, c)
        _score(c, coef, centre, slope, k, score)
        label[i], loglik[i] = _softmax(score, k, r)
        for t in range(k):
            resp[i, t] = r[t]


@njit(cache=True)
def _posterior_of_dots(
    dots: Any, empty: Any, coef: Any, centre: Any, slope: Any, k: int, loglik: Any, label: Any, resp: Any
) -> None:
    score = np.empty(k)
    r = np.empty(k)
    for i in range(dots.shape[0]):
        if empty[i]:
            continue
        _score(dots[i], coef, centre, slope, k, score)
        label[i], loglik[i] = _softmax(score, k, r)
        for t in range(k):
            resp[i, t] = r[t]


@njit(cache=True, nogil=True)
def _pass_chunk(
    low: int,
    high: int,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    k: int,
    threshold: float,
    s: Any,
    nk: Any,
    q: Any,
    loglik: Any,
    label: Any,
    top: Any,
    weight: Any,
) -> None:
    c = np.empty(m.shape[1], m.dtype)
    weights = np.zeros(m.shape[1], m.dtype)
    score = np.empty(k)
    r = np.empty(k)
    active = np.empty(k, np.int64)
    for i in range(low, high):
        start, stop = indptr[i], indptr[i + 1]
        if _is_empty(data[start:stop]):
            continue
        _dot_row(indices, data, start, stop, m, c)
        _score(c, coef, centre, slope, k, score)
        label[i], loglik[i] = _softmax(score, k, r)
        if label[i] < 0:
            continue
        count = _truncate(r, k, label[i], threshold, active)
        _tally(r, active, count, nk, q, top[i], weight[i])
        for t in range(k):
            weights[t] = r[t]
        _scatter_row(indices, data, start, stop, weights, active, count, s)


@njit(cache=True)
def _pass_of_dots(
    dots: Any,
    empty: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    k: int,
    threshold: float,
    resp: Any,
    nk: Any,
    q: Any,
    loglik: Any,
    label: Any,
    top: Any,
    weight: Any,
) -> None:
    score = np.empty(k)
    r = np.empty(k)
    active = np.empty(k, np.int64)
    for i in range(dots.shape[0]):
        if empty[i]:
            continue
        _score(dots[i], coef, centre, slope, k, score)
        label[i], loglik[i] = _softmax(score, k, r)
        if label[i] < 0:
            continue
        count = _truncate(r, k, label[i], threshold, active)
        _tally(r, active, count, nk, q, top[i], weight[i])
        for t in range(k):
            resp[i, t] = r[t]


@njit(cache=True, nogil=True)
def _accumulate_chunk(low: int, high: int, indptr: Any, indices: Any, data: Any, resp: Any, s: Any) -> None:
    kp = s.shape[1]
    weights = np.empty(kp, s.dtype)
    active = np.empty(kp, np.int64)
    for i in range(low, high):
        count = 0
        for t in range(kp):
            weights[t] = resp[i, t]
            if weights[t] != 0:
                active[count] = t
                count += 1
        _scatter_row(indices, data, indptr[i], indptr[i + 1], weights, active, count, s)


@njit(cache=True, nogil=True)
def _accumulate_top_chunk(
    low: int, high: int, indptr: Any, indices: Any, data: Any, top: Any, weight: Any, s: Any
) -> None:
    for i in range(low, high):
        for place in range(top.shape[1]):
            t = top[i, place]
            if t < 0:
                break
            value = s.dtype.type(weight[i, place])
            for j in range(indptr[i], indptr[i + 1]):
                s[indices[j], t] += value * data[j]


# --- the public face ------------------------------------------------------------------------------------------------


def dots(x: Rows, m: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """Return the dot products ``x m``.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    m : ndarray, shape (d, kp)
        Topics in columns, C-contiguous, of the dtype of ``x``.
    threads : int
        Chunks, and threads, for a sparse ``x``.

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
    if not isinstance(x, csr_array):
        product: NDArray[Any] = x @ m
        return product
    out = np.zeros((x.shape[0], m.shape[1]), m.dtype)
    _run(_dots_chunk, x.shape[0], threads, lambda _: (x.indptr, x.indices, x.data, m, out))
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
        Chunks, and threads, for a sparse ``x``.

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
    n = x.shape[0]
    out = Responsibilities(np.zeros(n), np.full(n, -1, np.int32), np.zeros((n, m.shape[1]), np.float32))
    if isinstance(x, csr_array):
        _run(_posterior_chunk, n, threads, lambda _: (x.indptr, x.indices, x.data, m, *polynomial, *out))
    else:
        _posterior_of_dots(x @ m, ~np.any(x, axis=1), *polynomial, *out)
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
) -> Pass:
    """Return every document's posterior and the sums it contributes to: E-step and M-step's sums in one pass.

    Parameters
    ----------
    x, m, coef, centre, scale, k, threads
        As in :func:`posterior`.
    threshold : float
        Responsibilities below it are set to zero and the rest of the row is scaled to sum to one; the largest always
        stays. In [0, 1]: 0 keeps all, 1 assigns each document to its label.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match, the threshold is outside [0, 1], or there are more than 32767 topics.

    Notes
    -----
    O(nnz kp) for the scores and O(nnz) for every topic that stays active. Each thread needs its own ``(d, kp)`` sum.
    """
    _check_rows(x, threads)
    _check_topics("m", m, x)
    polynomial = _polynomial(m, coef, centre, scale, k)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold: expected a responsibility in [0, 1], got {threshold}")
    if k > np.iinfo(np.int16).max:
        raise ValueError(f"k: expected at most {np.iinfo(np.int16).max} topics, got {k}")
    n, kp = x.shape[0], m.shape[1]
    row = (np.zeros(n), np.full(n, -1, np.int32), np.full((n, TOP), -1, np.int16), np.zeros((n, TOP), np.float32))
    if isinstance(x, csr_array):
        chunks = min(threads, max(n, 1))
        s = [np.zeros(m.shape, m.dtype) for _ in range(chunks)]
        nk, q = np.zeros((chunks, kp)), np.zeros((chunks, kp))
        _run(
            _pass_chunk,
            n,
            threads,
            lambda c: (x.indptr, x.indices, x.data, m, *polynomial, threshold, s[c], nk[c], q[c], *row),
        )
        return Pass(_sum(s), nk.sum(axis=0), q.sum(axis=0), *row)
    resp = np.zeros((n, kp), m.dtype)
    nk, q = np.zeros(kp), np.zeros(kp)
    _pass_of_dots(x @ m, ~np.any(x, axis=1), *polynomial, threshold, resp, nk, q, *row)
    return Pass(np.ascontiguousarray(x.T @ resp), nk, q, *row)


def accumulate(x: Rows, resp: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """Return ``x' resp``, the weighted sums of documents; zero weights cost nothing.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    resp : ndarray, shape (n, kp)
        Weights, float32 or float64.
    threads : int
        Chunks, and threads, for a sparse ``x``.

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
    if not isinstance(x, csr_array):
        product: NDArray[Any] = np.ascontiguousarray(x.T @ resp.astype(x.dtype, copy=False))
        return product
    resp = np.ascontiguousarray(resp)
    return _accumulated(_accumulate_chunk, x, resp.shape[1], threads, resp)


def accumulate_top(
    x: Rows, top: NDArray[np.int16], weight: NDArray[np.float32], kp: int, *, threads: int = 1
) -> NDArray[Any]:
    """Return the weighted sums of documents from the compact form of their responsibilities.

    Parameters
    ----------
    x : csr_array or ndarray, shape (n, d)
        Documents.
    top, weight : ndarray, shape (n, TOP)
        As in :class:`Pass`.
    kp : int
        Columns of the result, a multiple of 16 above the largest topic.
    threads : int
        Chunks, and threads, for a sparse ``x``.

    Returns
    -------
    ndarray, shape (d, kp)
        Of the dtype of ``x``.

    Raises
    ------
    ValueError
        If shapes or dtypes do not match, or a topic is ``kp`` or more.
    """
    _check_rows(x, threads)
    _check_per_row("top", top, x)
    _check_per_row("weight", weight, x)
    if top.shape != weight.shape:
        raise ValueError(f"weight: expected the shape of top, {top.shape}, got {weight.shape}")
    if top.size and top.max() >= kp:
        raise ValueError(f"top: expected topics below kp = {kp}, got {top.max()}")
    if not isinstance(x, csr_array):
        resp = np.zeros((x.shape[0], kp), x.dtype)
        row, place = np.nonzero(top >= 0)
        resp[row, top[row, place]] = weight[row, place]
        return accumulate(x, resp)
    return _accumulated(_accumulate_top_chunk, x, kp, threads, top, weight)


def _accumulated(chunk: Callable[..., None], x: Any, kp: int, threads: int, *weights: Any) -> NDArray[Any]:
    s = [np.zeros((x.shape[1], kp), x.dtype) for _ in range(min(threads, max(x.shape[0], 1)))]
    _run(chunk, x.shape[0], threads, lambda c: (x.indptr, x.indices, x.data, *weights, s[c]))
    return _sum(s)


def _run(chunk: Callable[..., None], n: int, threads: int, arguments: Callable[[int], tuple[Any, ...]]) -> None:
    """Call ``chunk(low, high, *arguments(c))`` for the chunks c of n rows, one thread each.

    Plain threads, not numba's: its portable threading layer ends the process when two threads of a program enter it.
    """
    chunks = min(threads, max(n, 1))
    bounds = [n * c // chunks for c in range(chunks + 1)]
    if chunks == 1:
        chunk(0, n, *arguments(0))
        return
    with ThreadPoolExecutor(chunks) as pool:
        running = [pool.submit(chunk, bounds[c], bounds[c + 1], *arguments(c)) for c in range(chunks)]
    for future in running:
        future.result()


def _sum(parts: list[NDArray[Any]]) -> NDArray[Any]:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _check_rows(x: Rows, threads: int) -> None:
    if not isinstance(x, csr_array) and not (isinstance(x, np.ndarray) and x.ndim == 2):
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
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return the checked coefficients, origin, inverse unit, and number of topics."""
    if not 1 <= k <= m.shape[1]:
        raise ValueError(f"k: expected 1 to {m.shape[1]}, the columns of m, got {k}")
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    centre = np.ascontiguousarray(centre, dtype=np.float64)
    scale = np.ascontiguousarray(scale, dtype=np.float64)
    if coef.ndim != 2 or coef.shape[0] < 1 or coef.shape[1] < k:
        raise ValueError(f"coef: expected the shape (degree + 1, at least {k}), got {coef.shape}")
    for name, values in (("centre", centre), ("scale", scale)):
        if values.ndim != 1 or values.size < k:
            raise ValueError(f"{name}: expected at least {k} values, got the shape {values.shape}")
    if not np.all(scale[:k] > 0):
        raise ValueError(f"scale: expected positive values, got {scale[:k].min()}")
    return coef, centre, 1.0 / scale[:k], k
