"""The compiled loops behind `vmfstream.directional.kernels`: one document, a chunk of rows, a range of words.

Arguments are called the same everywhere. The rows of a sparse matrix x (N, D) are ``indptr``, ``indices`` and ``data``;
a chunk has the rows from ``low`` to ``high``. ``m`` (D, kp) are the topics' vectors in columns; ``dots`` (N, kp) their
finished products with the rows, of which ``empty`` (N,) tells those without direction. Scores are polynomials in (dot -
``centre``) ``slope``, both (kp,), with the coefficients ``coef`` (order + 1, kp); the k-th row belongs to the power k.
``resp`` (N, kp) are responsibilities, of which those below ``threshold`` are dropped; ``mass`` (N,) are weights of
rows. Written are ``loglik`` (N,) in nats, ``label`` (N,), the sums ``nk`` and ``q`` (kp,) of responsibilities and of
their squares, the `TOP` largest responsibilities of every row: ``top`` and ``weight`` (N, TOP), the topic ``second``
(N,) of its second score, and the probabilities ``sure`` (N, 2) of label and second under the inverse temperature
``beta``. The last four are left out where ``top`` has no rows.

Responsibilities that are not zero are also listed, as topics ``topic`` and values ``share``: those of row i stand from
``begin[i, 0]`` to ``begin[i, 1]``, where ``begin`` is (N, 2). ``cuts`` (P - 1,) divide the words into P ranges; the
words of row i that belong to range p are numbers ``split[i, p]`` to ``split[i, p + 1]`` of the row, and -1 stands first
if they are not sorted. ``split`` is (N, P + 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from vmfstream.directional.intrinsics import bits_set, lowest_bit
from vmfstream.directional.simd import (
    NARROW,
    WIDEST,
    add_entry,
    add_rows,
    dot_block,
    exp_lanes,
    keep_lanes,
    largest,
    reaching,
    score_lanes,
    tally_lanes,
)

TOP = 4
"""How many topics the compact form of the responsibilities keeps."""

_NEGLIGIBLE = -50.0  # a difference of log scores whose exponential does not change a double-precision sum
_LEAST = math.exp(_NEGLIGIBLE)
_TOGETHER = 32  # documents whose dot products are taken before they are scored: the rows of words then come steadily
_FEW = 8  # times as many topics as are active, from which on a row is added to their sums faster than by a product
_MANY = 5  # active topics in 16 columns from which adding the whole row is faster than adding single entries


# --- documents, one by one or a few together -------------------------------------------------------------------------


@njit(cache=True)
def _is_empty(data: Any, start: int, stop: int) -> bool:
    for j in range(start, stop):  # noqa: SIM110
        if data[j] != 0:
            return False
    return True


@njit(cache=True)
def _dot_rows(low: int, high: int, indptr: Any, indices: Any, data: Any, m: Any, out: Any) -> None:
    """out[i - low] = x_i m for a few documents, in blocks of topics that fit the registers."""
    for column in range(0, m.shape[1], WIDEST):
        width = min(WIDEST, m.shape[1] - column)
        for i in range(low, high):
            dot_block(indices, data, indptr[i], indptr[i + 1], m, column, width, out[i - low])


@njit(cache=True)
def _scratch(kp: int) -> tuple[Any, Any, Any]:
    """Room for one document: scores, responsibilities and active topics."""
    return np.empty(kp), np.empty(kp), np.empty(kp, np.int64)


@njit(cache=True)
def _score(c: Any, coef: Any, centre: Any, slope: Any, score: Any) -> float:
    """Fill score with Horner's scheme in u = (c - centre) slope and return the largest."""
    best = -math.inf
    for column in range(0, len(score), NARROW):
        largest = score_lanes(c, column, coef, centre, slope, score)
        best = largest if largest > best else best
    return best


@njit(cache=True)
def _exponentials(score: Any, best: float, r: Any) -> float:
    """Fill r with exp(score - best), 0 where that is negligible; return the sum."""
    total = 0.0
    for column in range(0, len(score), NARROW):
        if reaching(score, column, best + _NEGLIGIBLE):
            total += exp_lanes(score, column, best, 1.0, r)
        else:
            for t in range(column, column + NARROW):
                r[t] = 0.0
    return total


@njit(cache=True)
def _first(score: Any, best: float) -> int:
    """Return the first topic whose score is ``best``."""
    column = 0
    while not reaching(score, column, best):
        column += NARROW
    found: int = column + lowest_bit(reaching(score, column, best))
    return found


@njit(cache=True)
def _keep(r: Any, label: int, level: float) -> float:
    """Set to 0 what is below ``level`` in r, but for its largest number, 1 at ``label``; return the sum."""
    if level > 1.0:
        r[:] = 0.0
        r[label] = 1.0
        return 1.0
    kept = 0.0
    for column in range(0, len(r), NARROW):
        kept += keep_lanes(r, column, level)
    return kept


@njit(cache=True)
def _count(r: Any) -> int:
    """Return how many topics of r are kept."""
    count = 0
    for column in range(0, len(r), NARROW):
        count += bits_set(reaching(r, column, _LEAST))
    return count


@njit(cache=True)
def _list(r: Any, active: Any) -> int:
    """List the topics of r that are kept in ``active``; return how many they are."""
    count = 0
    for column in range(0, len(r), NARROW):
        listed = reaching(r, column, _LEAST)
        while listed:
            active[count] = column + lowest_bit(listed)
            count += 1
            listed &= listed - 1
    return count


@njit(cache=True)
def _softmax(score: Any, best: float, threshold: float, r: Any, active: Any) -> tuple[int, int, float]:
    """Fill r with the responsibilities that reach the threshold, scaled to sum to one, and list them in ``active``.

    The largest one always does. Returns how many they are, the topic of the largest score and log sum exp; (0, -1, 0)
    if the scores are not finite.
    """
    if not -math.inf < best < math.inf:
        return 0, -1, 0.0
    total, label = _exponentials(score, best, r), _first(score, best)
    kept = _keep(r, label, max(threshold * total, _LEAST))
    count = _list(r, active)
    for a in range(count):
        r[active[a]] /= kept
    return count, label, best + math.log(total)


@njit(cache=True)
def _two(score: Any, best: float, beta: float, label: int, spare: Any, sure: Any) -> int:
    """Write the two largest probabilities under softmax(beta score) to ``sure`` (2,); return the topic of the second.

    -1 where there is none. ``spare`` (kp,) is overwritten.
    """
    if label < 0:
        return -1
    score[label] = -math.inf
    runner, total, second = -math.inf, 1.0, -1
    for column in range(0, len(score), NARROW):
        runner = max(runner, largest(score, column))
        if reaching(score, column, best + _NEGLIGIBLE / beta):
            total += exp_lanes(score, column, best, beta, spare)
    if runner > -math.inf:
        second = 0
        while score[second] != runner:
            second += 1
    score[label] = best
    sure[0] = 1.0 / total
    sure[1] = math.exp(beta * (runner - best)) / total
    return second


@njit(cache=True)
def _tally(r: Any, active: Any, count: int, mass: float, nk: Any, q: Any) -> None:
    """Add a document to nk and q."""
    for a in range(count):
        value = mass * r[active[a]]
        nk[active[a]] += value
        q[active[a]] += value**2


@njit(cache=True)
def _keep_largest(r: Any, active: Any, count: int, scale: float, i: int, top: Any, weight: Any) -> None:
    """Write the largest responsibilities of document i, r times ``scale``, by insertion."""
    for a in range(count):
        t = active[a]
        value = scale * r[t]
        place = min(a, TOP)
        while place > 0 and weight[i, place - 1] < np.float32(value):
            if place < TOP:
                weight[i, place] = weight[i, place - 1]
                top[i, place] = top[i, place - 1]
            place -= 1
        if place < TOP:
            weight[i, place] = value
            top[i, place] = t


@njit(cache=True)
def _scatter_row(
    indices: Any,
    data: Any,
    start: int,
    stop: int,
    weights: Any,
    topic: Any,
    low: int,
    high: int,
    s: Any,
    then: int,
    end: int,
    beside: int,
) -> None:
    """s[w] += x_iw weights for the topics listed from ``low`` to ``high``, in increasing order.

    Meanwhile the rows of the words from ``then`` to ``end`` are asked for at the column ``beside``: they are next.
    """
    first = low
    while first < high:
        column = topic[first] // NARROW * NARROW
        last = first + 1
        while last < high and topic[last] < column + NARROW:
            last += 1
        after = (start, stop, topic[last]) if last < high else (then, end, beside)
        if last - first >= _MANY:
            add_rows(indices, data, start, stop, s, column, weights, *after)
        else:
            for a in range(first, last):
                add_entry(indices, data, start, stop, s, topic[a], weights[topic[a]], *after)
        first = last


# --- a chunk of documents -------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def dots_chunk(low: int, high: int, indptr: Any, indices: Any, data: Any, m: Any, out: Any) -> None:
    """Fill ``out`` (N, kp) with the rows of x m."""
    for first in range(low, high, _TOGETHER):
        _dot_rows(first, min(first + _TOGETHER, high), indptr, indices, data, m, out[first:])


@njit(cache=True, nogil=True)
def posterior_chunk(
    low: int,
    high: int,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    loglik: Any,
    label: Any,
    resp: Any,
) -> None:
    """Score documents and write all their responsibilities."""
    dots = np.empty((_TOGETHER, m.shape[1]), m.dtype)
    score, r, active = _scratch(coef.shape[1])
    for first in range(low, high, _TOGETHER):
        last = min(first + _TOGETHER, high)
        _dot_rows(first, last, indptr, indices, data, m, dots)
        for i in range(first, last):
            if _is_empty(data, indptr[i], indptr[i + 1]):
                continue
            best = _score(dots[i - first], coef, centre, slope, score)
            count, label[i], loglik[i] = _softmax(score, best, 0.0, r, active)
            for a in range(count):
                resp[i, active[a]] = r[active[a]]


@njit(cache=True, nogil=True)
def label_chunk(
    low: int,
    high: int,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    beta: float,
    loglik: Any,
    label: Any,
    sure: Any,
) -> None:
    """Score documents; responsibilities are not written."""
    dots = np.empty((_TOGETHER, m.shape[1]), m.dtype)
    score, r, active = _scratch(coef.shape[1])
    two = np.empty(2, np.float32)
    for first in range(low, high, _TOGETHER):
        last = min(first + _TOGETHER, high)
        _dot_rows(first, last, indptr, indices, data, m, dots)
        for i in range(first, last):
            if _is_empty(data, indptr[i], indptr[i + 1]):
                continue
            best = _score(dots[i - first], coef, centre, slope, score)
            _, label[i], loglik[i] = _softmax(score, best, 1.0, r, active)
            _two(score, best, beta, label[i], r, two)
            sure[i] = two[0]


@njit(cache=True)
def label_of_dots(
    dots: Any, empty: Any, coef: Any, centre: Any, slope: Any, beta: float, loglik: Any, label: Any, sure: Any
) -> None:
    """Do as `label_chunk` from finished dot products."""
    score, r, active = _scratch(coef.shape[1])
    two = np.empty(2, np.float32)
    for i in range(dots.shape[0]):
        if empty[i]:
            continue
        best = _score(dots[i], coef, centre, slope, score)
        _, label[i], loglik[i] = _softmax(score, best, 1.0, r, active)
        _two(score, best, beta, label[i], r, two)
        sure[i] = two[0]


@njit(cache=True)
def posterior_of_dots(
    dots: Any, empty: Any, coef: Any, centre: Any, slope: Any, loglik: Any, label: Any, resp: Any
) -> None:
    """Do as `posterior_chunk` from finished dot products."""
    score, r, active = _scratch(coef.shape[1])
    for i in range(dots.shape[0]):
        if empty[i]:
            continue
        best = _score(dots[i], coef, centre, slope, score)
        count, label[i], loglik[i] = _softmax(score, best, 0.0, r, active)
        for a in range(count):
            resp[i, active[a]] = r[active[a]]


@njit(cache=True, nogil=True)
def pass_chunk(
    low: int,
    high: int,
    nk: Any,
    q: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    threshold: float,
    beta: float,
    begin: Any,
    topic: Any,
    share: Any,
    cuts: Any,
    split: Any,
    mass: Any,
    loglik: Any,
    label: Any,
    top: Any,
    weight: Any,
    second: Any,
    sure: Any,
) -> None:
    """Score documents and list their responsibilities: those of i from ``begin[i, 0]`` to ``begin[i, 1]``.

    For `scatter_words` the words of i, if they are sorted, are also split at ``cuts``, see `_split_row`.
    """
    kp = m.shape[1]
    dots = np.empty((_TOGETHER, kp), m.dtype)
    score, r, active = _scratch(kp)
    spare = np.empty(kp)
    at = low * kp
    for first in range(low, high, _TOGETHER):
        last = min(first + _TOGETHER, high)
        _dot_rows(first, last, indptr, indices, data, m, dots)
        for i in range(first, last):
            begin[i, 0] = begin[i, 1] = at
            start, stop = indptr[i], indptr[i + 1]
            if _is_empty(data, start, stop):
                continue
            best = _score(dots[i - first], coef, centre, slope, score)
            count, label[i], loglik[i] = _softmax(score, best, threshold, r, active)
            _tally(r, active, count, mass[i], nk, q)
            if len(top):
                second[i] = _two(score, best, beta, label[i], spare, sure[i])
                _keep_largest(r, active, count, 1.0, i, top, weight)
            for a in range(count):
                topic[at] = active[a]
                share[at] = mass[i] * r[active[a]]
                at += 1
            begin[i, 1] = at
            _split_row(indices, start, stop, cuts, i, split)


@njit(cache=True)
def pass_of_dots(
    x: Any,
    dots: Any,
    coef: Any,
    centre: Any,
    slope: Any,
    threshold: float,
    beta: float,
    s: Any,
    resp: Any,
    nk: Any,
    q: Any,
    mass: Any,
    loglik: Any,
    label: Any,
    top: Any,
    weight: Any,
    second: Any,
    sure: Any,
) -> int:
    """Do as `pass_chunk` from finished dot products with dense rows ``x``, and sum the rows that have few topics.

    These are added to ``s`` (kp, d). Of the others the responsibilities are written to ``resp``; returns how many.
    """
    score, r, active = _scratch(coef.shape[1])
    kp, spare, share, left = len(r), np.empty(len(r)), np.zeros(1, s.dtype), 0
    for i in range(dots.shape[0]):
        if _is_empty(x[i], 0, x.shape[1]):
            continue
        best = _score(dots[i], coef, centre, slope, score)
        if not -math.inf < best < math.inf:
            continue
        total = _exponentials(score, best, r)
        label[i], loglik[i] = _first(score, best), best + math.log(total)
        kept = _keep(r, label[i], max(threshold * total, _LEAST))
        few = _count(r) * _FEW < kp
        count = _list(r, active) if few or len(top) else 0
        if len(top):
            second[i] = _two(score, best, beta, label[i], spare, sure[i])
            _keep_largest(r, active, count, 1.0 / kept, i, top, weight)
        for column in range(0, kp, NARROW):
            tally_lanes(r, column, mass[i] / kept, nk, q)
        if few:
            for a in range(count):
                share[0] = r[active[a]]
                value = share[0]  # of the type of s
                for j in range(x.shape[1]):
                    s[active[a], j] += value * x[i, j]
        else:
            left += 1
            for t in range(kp):
                resp[i, t] = r[t]
    return left


@njit(cache=True, nogil=True)
def list_chunk(
    low: int, high: int, indptr: Any, indices: Any, resp: Any, begin: Any, topic: Any, share: Any, cuts: Any, split: Any
) -> None:
    """List the responsibilities that are not zero, in the form of `pass_chunk`."""
    kp = resp.shape[1]
    at = low * kp
    for i in range(low, high):
        begin[i, 0] = at
        for t in range(kp):
            if resp[i, t] != 0:
                topic[at] = t
                share[at] = resp[i, t]
                at += 1
        begin[i, 1] = at
        _split_row(indices, indptr[i], indptr[i + 1], cuts, i, split)


@njit(cache=True, nogil=True)
def scatter_words(
    part: int,
    _: int,
    indptr: Any,
    indices: Any,
    data: Any,
    begin: Any,
    topic: Any,
    share: Any,
    cuts: Any,
    split: Any,
    s: Any,
) -> None:
    """s[w] += sum_i r_i x_iw for the words of a part, those from ``cuts[part - 1]`` to ``cuts[part]``.

    ``part`` counts the ranges of words; the argument after it, where other chunks end, is not used (``_``). ``s`` (D,
    kp) are the sums.
    """
    weights = np.zeros(s.shape[1], s.dtype)
    first = cuts[part - 1] if part > 0 else 0
    last = cuts[part] if part < len(cuts) else s.shape[0]
    n = begin.shape[0]
    for i in range(n):
        low, high = begin[i, 0], begin[i, 1]
        if low == high:
            continue
        for a in range(low, high):
            weights[topic[a]] = share[a]
        following = min(i + 1, n - 1)
        then, end = _words_of(following, part, indptr, begin, split)
        after = (then, end, topic[begin[following, 0]]) if then < end else (0, 0, topic[low])
        if split[i, 0] >= 0:
            start, stop = _words_of(i, part, indptr, begin, split)
            _scatter_row(indices, data, start, stop, weights, topic, low, high, s, *after)
        else:
            for j in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):  # of the type that `start` has
                if first <= indices[j] < last:
                    _scatter_row(indices, data, j, j + 1, weights, topic, low, high, s, *after)
        for a in range(low, high):
            weights[topic[a]] = 0.0


@njit(cache=True)
def _words_of(i: int, part: int, indptr: Any, begin: Any, split: Any) -> tuple[int, int]:
    """Bounds of a document's words in a part; none if it enters no sum or its words are not sorted."""
    if begin[i, 0] == begin[i, 1] or split[i, 0] < 0:
        return 0, 0
    return indptr[i] + split[i, part], indptr[i] + split[i, part + 1]


@njit(cache=True)
def _split_row(words: Any, start: int, stop: int, cuts: Any, i: int, split: Any) -> None:
    """Bounds of the parts of a document's words, by counts without a branch; unsorted words are marked by -1."""
    split[i, 0], split[i, len(cuts) + 1] = 0, stop - start
    if len(cuts) == 0:
        return
    for c in range(len(cuts)):
        before = 0
        for j in range(start, stop):
            before += words[j] < cuts[c]
        split[i, c + 1] = before
    falls = 0
    for j in range(start, stop - 1):
        falls += words[j] > words[j + 1]
    if falls > 0:
        split[i, 0] = -1
