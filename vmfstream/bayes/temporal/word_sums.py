"""Documents and sums over the words that they hold, and beliefs to which slices of few words are added cheaply.

A slice of a hundred short documents holds a few hundred of ten thousand words. These functions cost as much as
the words that a slice holds, not as the vocabulary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.bessel_scalars import convolved
from vmfstream.directional.kernels import accumulate, empty, zeros
from vmfstream.mixtures.columns import column_dots, column_products, square_of


class Narrow(NamedTuple):
    """Documents over the ``words`` (W,) that they hold: rows ``x`` (N, W)."""

    words: NDArray[np.intp]
    x: Rows


def narrowed(x: Rows) -> Narrow:
    """Leave out the columns of sparse documents that none of them has."""
    if not isinstance(x, csr_array):
        return Narrow(np.arange(x.shape[1]), x)
    words = words_of(x)
    place = np.zeros(x.shape[1], x.indices.dtype)
    place[words] = np.arange(len(words))
    return Narrow(words, csr_array((x.data, place[x.indices], x.indptr), shape=(x.shape[0], len(words))))


def words_of(x: csr_array) -> NDArray[np.intp]:
    """Return the columns that sparse documents have, increasing."""
    present = np.zeros(x.shape[1], np.bool_)
    present[x.indices] = True
    return np.flatnonzero(present)


class SliceSums(NamedTuple):
    """Sums of a slice's documents by their memberships: ``s`` (W, kp) for the ``words`` (W,) that they hold."""

    words: NDArray[np.intp]
    s: Floats

    def dense(self, dim: int) -> Any:
        """Return the sums for all ``dim`` words, (D, kp)."""
        if len(self.words) == dim:
            return self.s
        out = zeros(dim, self.s.shape[1], self.s.dtype)
        out[self.words] = self.s
        return out

    def add(self, x: Rows, rows: NDArray[np.intp], topics: NDArray[np.intp], share: Floats) -> None:
        """Add some ``rows`` (M,) of ``x`` to ``topics`` (M,), each times its ``share`` (M,)."""
        if isinstance(x, csr_array):
            _add_rows(x.indptr, x.indices, x.data, rows, self.words, topics, share, self.s)
        else:
            np.add.at(self.s.T, topics, share[:, None] * x[np.ix_(rows, self.words)])

    @classmethod
    def of(cls, x: Rows, resp: Floats) -> SliceSums:
        """Sum rows (N, D) by their memberships (N, kp)."""
        if not isinstance(x, csr_array) or x.nnz > x.shape[1]:
            return cls.whole(accumulate(x, resp))
        narrow = narrowed(x)
        return cls(narrow.words, accumulate(narrow.x, resp))

    @classmethod
    def whole(cls, s: Floats) -> SliceSums:
        """Take sums (D, kp) over all words."""
        return cls(np.arange(len(s)), s)


class ColumnProducts(NamedTuple):
    """Products of columns (kp,) while a slice is added: of its sums with themselves, the belief before and the anchor.

    They are sum_w S_w^2, sum_w p_w S_w and sum_w B_w S_w.
    """

    own: Vector
    before: Vector
    anchor: Vector


class Pins(NamedTuple):
    """What some topics have besides the anchor: ``vectors`` (D, n) are added to it for the topics ``columns`` (n,)."""

    columns: NDArray[np.intp]
    vectors: Floats


def pins_of(prior: Floats) -> Pins:
    """Return the columns of ``prior`` (D, kp) that are not zero."""
    columns = np.flatnonzero(prior.any(axis=0))
    return Pins(columns, prior[:, columns])


class RunningBelief:
    """Natural vectors (D, kp) that slices are added to and that are shortened between them.

    They are the columns of a matrix in double precision times a factor each, so that neither costs more than the words
    concerned. Their lengths and their products with the anchor come along.

    Parameters
    ----------
    m : (D, kp), where they begin; copied.
    anchor : (D,) natural vector B whose products are wanted, default none.
    pins : what belongs to the anchor of some columns besides, default nothing.
    """

    def __init__(self, m: Floats, anchor: Floats | None = None, pins: Pins | None = None) -> None:
        self._m, kp = m.astype(np.float64), m.shape[1]
        self._anchor = np.zeros(len(m)) if anchor is None else np.asarray(anchor, np.float64)
        self._factor, self._least, self._pins = np.ones(kp), 1.0, pins
        self.squares = column_dots(self._m, self._m)
        self.anchor_products, self._anchor_square = np.zeros(kp), np.zeros(kp)
        if anchor is not None:
            self.anchor_products += self._along(self._m)
            self._anchor_square += square_of(self._anchor)
        if pins is not None:
            own = column_dots(pins.vectors, pins.vectors)
            self._anchor_square[pins.columns] += 2.0 * self._along(pins.vectors) + own
            self.anchor_products[pins.columns] += column_dots(pins.vectors, self._m[:, pins.columns])

    def begun_anew(self) -> RunningBelief:
        """Return zero columns with the same anchor and pins; only what is added to them costs memory."""
        new = self._like(np.zeros(self._m.shape))
        kp = len(self._factor)
        new._factor, new._least, new.squares, new.anchor_products = np.ones(kp), 1.0, np.zeros(kp), np.zeros(kp)
        return new

    def _along(self, m: Floats) -> Vector:
        """Products of the anchor with the columns of ``m`` (D, kp)."""
        return np.asarray(column_products(self._anchor[:, None], m)[0])

    def copy(self) -> RunningBelief:
        """Return a belief of its own that begins where this one is."""
        return self._like(self._m.copy())

    def _like(self, m: Vector) -> RunningBelief:
        new: RunningBelief = object.__new__(RunningBelief)
        vars(new).update(vars(self))
        new._m = m
        return new

    @property
    def anchored_squares(self) -> Vector:
        """Squares of the norms of the vectors plus the anchor, (kp,)."""
        return np.asarray(np.maximum(self._anchor_square + 2.0 * self.anchor_products + self.squares, 0.0))

    def rows(self, words: NDArray[np.intp], dtype: Any = np.float32) -> Any:
        """Return the coordinates of ``words`` (W,) in the precision ``dtype``, (W, kp)."""
        return _rows(words, self._m, self._factor, np.empty((len(words), len(self._factor)), dtype))

    def smoothed(self, sums: SliceSums, before: Floats, weight: Vector, k: int) -> tuple[Any, Vector]:
        """Put a slice between the past and what this belief tells of its future.

        Parameters
        ----------
        sums : S of the slice, over its words (W,).
        before : (W, kp) what the past predicts of these words, p.
        weight : (kp,) factors of the sums.
        k : topics, the columns to which the anchor B is added.

        Returns
        -------
        rows : (W, kp) coordinates of B + p + weight S + b, in the precision of the sums.
        cross : (kp,) products of b with S.
        """
        out = np.empty_like(sums.s)
        cross = _smoothed(*sums, before, weight, self._anchor, k, self._m, self._factor, out)
        if self._pins is not None:
            out[:, self._pins.columns] += self._pins.vectors[sums.words]
        return out, cross

    def learn(self, sums: SliceSums, weight: Vector, topics: NDArray[np.intp] | None = None) -> ColumnProducts:
        """Add the ``sums`` of a slice, each column times its ``weight`` (kp,).

        With ``topics`` the columns of this belief are those of the sums, (kp,).
        """
        if self._least < LEAST_FACTOR:
            self._m, self._factor, self._least = self._m * self._factor, np.ones(len(self._factor)), 1.0
        to = weight, self._factor, self._anchor, self._m, self.squares, self.anchor_products
        learnt, now = _add_words(*sums, *to) if topics is None else _add_columns(*sums, topics, *to)
        self.squares, self.anchor_products = now
        if self._pins is not None:
            columns, vectors = self._pins
            along = column_dots(vectors[sums.words], sums.s[:, columns])
            learnt[2][columns] += along
            self.anchor_products[columns] += weight[columns] * along
        return ColumnProducts(*learnt)

    def convolve(self, omega: float) -> Vector:
        """Shorten the vectors as a step of the means does, A^-1(A(|h|) omega); return the factors (kp,)."""
        now = self.squares, self._factor, self.anchor_products
        factor, self._least, self.squares, self._factor, self.anchor_products = _shortened(len(self._m), omega, *now)
        return factor

    def matrix(self, dtype: Any = np.float32) -> Any:
        """Return the vectors, (D, kp), as an array of their own."""
        return _scaled_to(self._m, self._factor, empty(len(self._m), self._m.shape[1], dtype))


LEAST_FACTOR = 1e-100
"""Factor of a column below which the matrix is made anew, before numbers become too large."""


@njit(cache=True, nogil=True)
def _add_rows(
    indptr: Any,
    indices: Any,
    data: Any,
    rows: NDArray[np.intp],
    words: NDArray[np.intp],
    topics: NDArray[np.intp],
    share: Floats,
    s: Floats,
) -> None:
    """Add ``rows``, times their ``share``, to columns of sums over increasing ``words``, among which all theirs are."""
    for m in range(len(rows)):
        for i in range(indptr[rows[m]], indptr[rows[m] + 1]):
            place = np.searchsorted(words, indices[i])
            s[place, topics[m]] += share[m] * data[i]


@njit(cache=True, nogil=True)
def _add_words(
    words: NDArray[np.intp],
    s: Floats,
    weight: Vector,
    factor: Vector,
    anchor: Vector,
    m: Vector,
    squares: Vector,
    anchor_products: Vector,
) -> tuple[tuple[Vector, Vector, Vector], tuple[Vector, Vector]]:
    """Add S, its columns times ``weight``, to the columns of ``m`` times ``factor``.

    Returns a `ColumnProducts`, and the ``squares`` and ``anchor_products`` of a belief afterwards.
    """
    kp = m.shape[1]
    own, before, along, scale = np.zeros(kp), np.zeros(kp), np.zeros(kp), weight / factor
    for place in range(len(words)):
        row, new, b = m[words[place]], s[place], anchor[words[place]]
        for j in range(kp):
            v = np.float64(new[j])
            own[j] += v * v
            before[j] += v * row[j]
            along[j] += v * b
            row[j] += scale[j] * v
    return _learnt(own, before * factor, along, weight, squares, anchor_products)


@njit(cache=True, nogil=True)
def _add_columns(
    words: NDArray[np.intp],
    s: Floats,
    topics: NDArray[np.intp],
    weight: Vector,
    factor: Vector,
    anchor: Vector,
    m: Vector,
    squares: Vector,
    anchor_products: Vector,
) -> tuple[tuple[Vector, Vector, Vector], tuple[Vector, Vector]]:
    """Do as `_add_words` with some columns of S, the ``topics`` (kp,)."""
    kp = len(topics)
    own, before, along, scale = np.zeros(kp), np.zeros(kp), np.zeros(kp), weight / factor
    for place in range(len(words)):
        row, new, b = m[words[place]], s[place], anchor[words[place]]
        for j in range(kp):
            v = np.float64(new[topics[j]])
            if v == 0.0:
                continue
            own[j] += v * v
            before[j] += v * row[j]
            along[j] += v * b
            row[j] += scale[j] * v
    return _learnt(own, before * factor, along, weight, squares, anchor_products)


@njit(cache=True, nogil=True)
def _learnt(
    own: Vector, before: Vector, along: Vector, weight: Vector, squares: Vector, anchor_products: Vector
) -> tuple[tuple[Vector, Vector, Vector], tuple[Vector, Vector]]:
    """Return the products ``own``, ``before`` and ``along`` of columns of S, added times ``weight``, as `_add_words`.

    ``squares`` and ``anchor_products`` (kp,) are those of the belief that they were added to.
    """
    now = squares + weight * (2.0 * before + weight * own), anchor_products + weight * along
    return (own, before, along), now


@njit(cache=True, nogil=True)
def _shortened(
    dim: int, omega: float, squares: Vector, factor: Vector, anchor_products: Vector
) -> tuple[Vector, float, Vector, Vector, Vector]:
    """Return by what `RunningBelief.convolve` shortens columns, (kp,), and what it has of each afterwards.

    Between them stands the least factor. ``dim`` is D, ``omega`` the persistence; the others belong to the belief.
    """
    kp, d = len(squares), float(dim)
    shorter, after, scale, along = np.ones(kp), np.empty(kp), np.empty(kp), np.empty(kp)
    for j in range(kp):
        length = np.sqrt(max(squares[j], 0.0))
        if not length < np.inf:
            raise ValueError("expected beliefs of finite length")
        new = convolved(d, length, omega, 1.0 - omega)
        if length > 0.0:
            shorter[j] = new / length
        after[j], scale[j], along[j] = new * new, factor[j] * shorter[j], anchor_products[j] * shorter[j]
    return shorter, scale.min(), after, scale, along


@njit(cache=True, nogil=True)
def _rows(words: NDArray[np.intp], m: Vector, factor: Vector, out: Floats) -> Floats:
    for place in range(len(words)):
        row, written = m[words[place]], out[place]
        for j in range(len(factor)):
            written[j] = row[j] * factor[j]
    return out


@njit(cache=True, nogil=True)
def _smoothed(
    words: NDArray[np.intp],
    s: Floats,
    before: Floats,
    weight: Vector,
    anchor: Vector,
    k: int,
    m: Vector,
    factor: Vector,
    out: Floats,
) -> Vector:
    """Write the rows of `RunningBelief.smoothed`; return the products.

    Loops over few arrays each: those over many are not vectorised, since any two of these might overlap.
    """
    kp = m.shape[1]
    cross, part, later = np.zeros(kp), np.zeros(kp), np.zeros(kp)
    part[:k] = 1.0
    for place in range(len(words)):
        b, row, own, past, written = anchor[words[place]], m[words[place]], s[place], before[place], out[place]
        for j in range(kp):
            later[j] = row[j] * factor[j]
        for j in range(kp):
            cross[j] += later[j] * np.float64(own[j])
        for j in range(kp):
            written[j] = b * part[j] + past[j] + weight[j] * np.float64(own[j]) + later[j]
    return cross


@njit(cache=True, nogil=True)
def _scaled_to(m: Vector, factor: Vector, out: Floats) -> Floats:
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] * factor[j]
    return out
