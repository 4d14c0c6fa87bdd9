"""Documents to unit rows: texts by tf-idf over a growing vocabulary, vectors as they come.

Documents are first counted and then encoded. Counts outlive the vocabulary: when it has changed at the end of a slice,
the same counts are encoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.directional.kernels import Rows
from vmfstream.directional.sphere import unit_rows
from vmfstream.errors import InputError
from vmfstream.records import Arrays, Document
from vmfstream.text.counts import Counts
from vmfstream.text.sketch import projection, sketch
from vmfstream.text.tokens import Tokeniser
from vmfstream.text.vocabulary import Growth, Vocabulary

__all__ = ["Counted", "Counts", "Encoder", "Growth", "Place", "TextEncoder", "TopWords", "VectorEncoder", "Vectors"]

TopWords: TypeAlias = list[list[tuple[str, float]]]
"""For each topic its strongest words with their weights, strongest first."""

Place: TypeAlias = tuple[int, NDArray[np.int64]]
"""A slice, and the numbers of topics whose means at its end are the columns of a matrix."""

Counted: TypeAlias = Any
"""What an encoder's ``count`` returns, its own kind: with a length, ``take(rows)``, ``remap(terms)``, ``arrays()``."""


class Encoder(Protocol):
    """Turns documents into unit rows.

    The space is frozen between two calls of ``close_slice``: ``encode`` of equal counts gives equal rows.
    """

    @property
    def dim(self) -> int:
        """Number of columns in force."""
        ...

    @property
    def digest(self) -> str:
        """Identity of the columns and their weights."""
        ...

    def count(self, documents: Sequence[Document]) -> Counted:
        """Take documents into the open slice."""
        ...

    def concat(self, parts: Sequence[Counted]) -> Counted:
        """Put batches under each other, which may be none."""
        ...

    def counts_from(self, arrays: Arrays) -> Counted:
        """Rebuild counts from their ``arrays()``."""
        ...

    def pack(self, counts: Counted) -> list[bytes]:
        """Return the documents one by one, in a form that holds whatever becomes of the columns."""
        ...

    def unpack(self, packed: Sequence[bytes]) -> Counted:
        """Rebuild counts from what ``pack`` returned, now or in an earlier run."""
        ...

    def encode(self, counts: Counted) -> Rows:
        """Return the documents as (N, dim) float32 unit rows; zero rows for those without a direction."""
        ...

    def unknown(self, counts: Counted) -> tuple[int, int]:
        """How much of what was counted has no column, and how much was counted."""
        ...

    def close_slice(self) -> Growth:
        """End the open slice and return how the columns changed."""
        ...

    def told(self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: NDArray[np.float32]) -> None:
        """Be told at the end of a slice which topics (K,) its documents have, by memberships ``resp`` (N, >= K)."""
        ...

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Name the strongest rows of the first ``k`` columns of ``m`` (dim, >= k), or the topics that stand ``at``."""
        ...

    def sketches(self, m: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return the columns of ``m`` (dim, k) as few numbers, (k, 512), that can be compared across vocabularies."""
        ...

    def state(self) -> Arrays:
        """Return all that ``restore`` needs."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Continue from a stored state; what follows is the same to the last bit."""
        ...

    def blank_state(self) -> Arrays:
        """Return what ``restore`` needs for an encoder that helps in the open slice, and has counted nothing of it."""
        ...

    def tally(self, begun: Arrays) -> Arrays:
        """Return what was counted since the ``blank_state`` that was restored."""
        ...

    def absorb(self, tally: Arrays) -> NDArray[np.int32] | None:
        """Take in what a helper has counted; return what its counts are to be remapped with."""
        ...


class TextEncoder:
    """Texts as cosine-normalised tf-idf rows ("ltc").

    A document with term counts tf has the weights (1 + log tf) * idf, divided by their Euclidean norm, with
    idf = log((1 + N) / (0.5 + df)) > 0 over the N documents of all closed slices.

    Parameters
    ----------
    capacity, min_df, max_df_share, fade, stop_words, stem
        See :class:`~vmfstream.text.vocabulary.Vocabulary`.
    extra_stop_words : iterable of str
        Further words that never count.
    min_length, max_length, keep_numbers
        See :class:`~vmfstream.text.tokens.Tokeniser`.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> texts = ["red wine", "red roses", "wine and roses", "blue sky"]
    >>> encoder = TextEncoder()
    >>> counts = encoder.count([Document("", i, str(i), datetime.now(UTC), text) for i, text in enumerate(texts)])
    >>> encoder.dim, encoder.close_slice().new_dim, encoder.vocabulary.words()
    (0, 3, ['red', 'wine', 'roses'])
    >>> encoder.encode(counts).toarray().round(2)
    array([[0.71, 0.71, 0.  ],
           [0.71, 0.  , 0.71],
           [0.  , 0.71, 0.71],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """

    def __init__(
        self,
        *,
        capacity: int = 50_000,
        min_df: int = 3,
        max_df_share: float = 0.5,
        fade: float = 0.98,
        stop_words: str | Iterable[str] | None = "english",
        extra_stop_words: Iterable[str] = (),
        stem: str | None = None,
        min_length: int = 2,
        max_length: int = 40,
        keep_numbers: bool = False,
    ) -> None:
        self.vocabulary = Vocabulary(
            Tokeniser(min_length, max_length, keep_numbers),
            capacity=capacity,
            min_df=min_df,
            max_df_share=max_df_share,
            fade=fade,
            stop_words=stop_words,
            extra_stop_words=extra_stop_words,
            stem=stem,
        )
        self._projection: tuple[str, csr_array] | None = None

    @property
    def dim(self) -> int:
        """Number of columns in force."""
        return len(self.vocabulary)

    @property
    def digest(self) -> str:
        """Identity of the columns, their words and their idf."""
        return self.vocabulary.digest

    def count(self, documents: Sequence[Document]) -> Counts:
        """Count the words of N documents and take them into the open slice; one without a text has no words."""
        return self.vocabulary.count([document.text or "" for document in documents])

    def concat(self, parts: Sequence[Counts]) -> Counts:
        """Put batches under each other, which may be none."""
        return Counts.concat(parts)

    def counts_from(self, arrays: Arrays) -> Counts:
        """Rebuild counts from their ``arrays()``."""
        return Counts.from_arrays(arrays)

    def pack(self, counts: Counts) -> list[bytes]:
        """Return the documents as bags of words, see `vmfstream.text.bags`."""
        return self.vocabulary.pack(counts)

    def unpack(self, packed: Sequence[bytes]) -> Counts:
        """Rebuild counts from bags of words, whatever the vocabulary was when they were packed."""
        return self.vocabulary.unpack(packed)

    def encode(self, counts: Counts) -> csr_array:
        """Return (N, dim) float32 rows of unit length, canonical; zero rows for documents without a known word.

        Notes
        -----
        O(nnz + dim): the entries are sorted by column by counting.
        """
        vocabulary = self.vocabulary
        indptr, indices, data = _encode(
            counts.indptr, counts.terms, counts.counts, vocabulary.column, vocabulary.idf.astype(np.float64)
        )
        x = csr_array((data, indices, indptr), shape=(len(counts), self.dim))
        x.has_canonical_format = True
        return x

    def unknown(self, counts: Counts) -> tuple[int, int]:
        """How many words, stop words aside, have no column, and how many words there are."""
        total = int(counts.tokens.sum(dtype=np.int64))
        return total - int(_known(counts.terms, counts.counts, self.vocabulary.column)), total

    def close_slice(self) -> Growth:
        """End the open slice: document frequencies, columns and idf are brought up to date."""
        return self.vocabulary.close_slice()

    def told(self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: NDArray[np.float32]) -> None:
        """Do nothing: words are read from the means."""

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` words of largest positive weight of each of the first ``k`` columns of ``m`` (dim, >= k).

        Equal weights are ordered by column of the vocabulary; zero weights are left out.
        """
        _check_matrix(m, self.dim, k)
        return strongest_words(m, top, k, self.vocabulary.words)

    def sketches(self, m: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return the columns of ``m`` (dim, k) as few numbers, (k, 512), see `vmfstream.text.sketch`."""
        if self._projection is None or self._projection[0] != self.digest:
            self._projection = self.digest, projection(self.vocabulary.keys())
        return sketch(self._projection[1], m)

    def state(self) -> Arrays:
        """Return the vocabulary with the open slice's counts, as flat arrays."""
        return self.vocabulary.state()

    def restore(self, arrays: Arrays) -> None:
        """Continue from a stored state.

        Raises
        ------
        InputError
            If it was made with other settings; names them.
        """
        self.vocabulary.restore(arrays)

    def blank_state(self) -> Arrays:
        """Return the vocabulary without the open slice's counts."""
        return self.vocabulary.blank_state()

    def tally(self, begun: Arrays) -> Arrays:
        """Return new words and document frequencies since the ``blank_state`` that was restored."""
        return self.vocabulary.tally(begun["form_starts"].size - 1, begun["df"].size)

    def absorb(self, tally: Arrays) -> NDArray[np.int32]:
        """Take in new words and document frequencies of a helper; return the term here of each of its terms."""
        return self.vocabulary.absorb(tally)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """N dense documents: ``values`` (N, dim) float32, finite, not normalised."""

    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Vectors:
        """Return the documents ``rows`` (indices, a mask or a slice), in this order."""
        return Vectors(np.ascontiguousarray(self.values[rows]))

    def remap(self, terms: NDArray[np.integer] | None) -> Vectors:
        """Return the same: dimensions are never renumbered."""
        return self

    def arrays(self) -> Arrays:
        """Return the flat arrays that ``counts_from`` takes."""
        return {"values": self.values}


class VectorEncoder:
    """Vectors as dense unit rows.

    Parameters
    ----------
    dim : int
        Their dimension, >= 2.
    names : sequence of dim str, optional
        What the dimensions are called; "x0", "x1", ... if not given.

    Raises
    ------
    InputError
        If the dimension is smaller, or there is not one name per dimension.
    """

    def __init__(self, dim: int, names: Sequence[str] | None = None) -> None:
        if dim < 2:
            raise InputError(f"dimension: expected at least 2, got {dim}")
        if names is not None and len(names) != dim:
            raise InputError(f"names: expected {dim}, one per dimension, got {len(names)}")
        self._dim = dim
        self._names = [f"x{i}" for i in range(dim)] if names is None else list(names)
        self._projection: csr_array | None = None

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._dim

    @property
    def digest(self) -> str:
        """Identity of the space, which never changes."""
        return f"vectors-{self._dim}"

    def count(self, documents: Sequence[Document]) -> Counted:
        """Check the vectors of N documents and put them under each other.

        Raises
        ------
        InputError
            If a document has no vector, one of another dimension, or one that is not finite in float32; names the
            document, what was expected and what was found.
        """
        values = np.empty((len(documents), self._dim), dtype=np.float32)
        for row, document in enumerate(documents):
            found = None if document.vector is None else np.shape(document.vector)
            if document.vector is None or found != (self._dim,):
                raise InputError(f"document {document.id!r}: expected a vector of {self._dim} numbers, found {found}")
            with np.errstate(over="ignore"):
                values[row] = document.vector
        rows, columns = np.nonzero(~np.isfinite(values))
        if rows.size:
            row, column = int(rows[0]), int(columns[0])
            raise InputError(
                f"document {documents[row].id!r}: expected finite float32 numbers, found {values[row, column]} "
                f"at place {column} of its vector"
            )
        return Vectors(values)

    def concat(self, parts: Sequence[Counted]) -> Counted:
        """Put batches under each other, which may be none."""
        return Vectors(np.concatenate([np.zeros((0, self._dim), dtype=np.float32), *(part.values for part in parts)]))

    def counts_from(self, arrays: Arrays) -> Counted:
        """Rebuild vectors from their ``arrays()``."""
        return Vectors(np.ascontiguousarray(arrays["values"], dtype=np.float32))

    def pack(self, counts: Counted) -> list[bytes]:
        """Return the numbers of each document."""
        return [row.tobytes() for row in counts.values]

    def unpack(self, packed: Sequence[bytes]) -> Counted:
        """Rebuild vectors from their numbers."""
        return Vectors(np.frombuffer(b"".join(packed), np.float32).reshape(-1, self._dim))

    def encode(self, counts: Vectors) -> Rows:
        """Return (N, dim) float32 rows of unit length; zero rows stay zero."""
        return unit_rows(counts.values)[0]

    def unknown(self, counts: Vectors) -> tuple[int, int]:
        """Return (0, numbers): every dimension has its column."""
        return 0, counts.values.size

    def close_slice(self) -> Growth:
        """Return that nothing changed."""
        return Growth.none(self._dim)

    def told(self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: NDArray[np.float32]) -> None:
        """Do nothing: dimensions are read from the means."""

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` dimensions of largest absolute weight of each of the first ``k`` columns of ``m``.

        A negative dimension has a minus before its name. Equal weights are ordered by dimension, zeros are left out.
        """
        _check_matrix(m, self._dim, k)
        rows, weights = _strongest(np.abs(m), top, k)
        return [
            [
                (("-" if m[row, topic] < 0 else "") + self._names[row], weight)
                for row, weight in zip(chosen, values.tolist(), strict=True)
            ]
            for topic, (chosen, values) in enumerate(_filled(rows, weights))
        ]

    def sketches(self, m: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return the columns of ``m`` (dim, k) as few numbers, (k, 512), see `vmfstream.text.sketch`."""
        if self._projection is None:
            self._projection = projection(name.encode() for name in self._names)
        return sketch(self._projection, m)

    def state(self) -> Arrays:
        """Return the dimension."""
        return {"dim": np.array([self._dim], dtype=np.int64)}

    def restore(self, arrays: Arrays) -> None:
        """Check that the stored state is of the same dimension.

        Raises
        ------
        InputError
            If it is not.
        """
        if int(arrays["dim"][0]) != self._dim:
            raise InputError(f"dimension: the stored run has {int(arrays['dim'][0])}, now {self._dim}")

    def blank_state(self) -> Arrays:
        """Return the dimension."""
        return self.state()

    def tally(self, begun: Arrays) -> Arrays:
        """Return nothing: dimensions are not counted."""
        return {}

    def absorb(self, tally: Arrays) -> NDArray[np.int32] | None:
        """Do nothing."""
        return None


def strongest_words(m: NDArray[np.float32], top: int, k: int, named: Callable[[list[int]], list[str]]) -> TopWords:
    """Return the ``top`` rows of largest positive weight of each of the first ``k`` columns of ``m`` by their names."""
    return [
        list(zip(named(chosen), values.tolist(), strict=True)) for chosen, values in _filled(*_strongest(m, top, k))
    ]


def _check_matrix(m: NDArray[np.float32], dim: int, k: int) -> None:
    if m.ndim != 2 or m.shape[0] != dim or m.shape[1] < k:
        raise ValueError(f"expected m of shape ({dim}, {k} or more), got {m.shape}")


def _filled(rows: NDArray[np.int64], weights: NDArray[Any]) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """The used part of each row of :func:`_strongest`'s answer."""
    for chosen, values in zip(rows, weights, strict=True):
        used = int(np.count_nonzero(chosen >= 0))
        yield chosen[:used].tolist(), values[:used]


@njit(cache=True, nogil=True)
def _strongest(m, top, k):  # type: ignore[no-untyped-def]
    """Rows of the ``top`` largest positive entries of the first ``k`` columns, largest first, -1 where fewer."""
    rows = np.full((k, top), -1, dtype=np.int64)
    weights = np.zeros((k, top), dtype=m.dtype)
    if top == 0:
        return rows, weights
    for row in range(m.shape[0]):
        for topic in range(k):
            weight = m[row, topic]
            # strictly larger: of equal weights the first row wins
            if weight > weights[topic, top - 1]:
                place = top - 1
                while place > 0 and weight > weights[topic, place - 1]:
                    rows[topic, place] = rows[topic, place - 1]
                    weights[topic, place] = weights[topic, place - 1]
                    place -= 1
                rows[topic, place] = row
                weights[topic, place] = weight
    return rows, weights


@njit(cache=True, nogil=True)
def _known(terms, counts, column):  # type: ignore[no-untyped-def]
    known = 0
    for i in range(terms.size):
        if terms[i] < column.size and column[terms[i]] >= 0:
            known += counts[i]
    return known


@njit(cache=True, nogil=True)
def _encode(indptr, terms, counts, column, idf):  # type: ignore[no-untyped-def]
    n = indptr.size - 1
    out_indptr = np.zeros(n + 1, dtype=np.int32)
    ends = np.zeros(idf.size + 1, dtype=np.int64)
    scale = np.zeros(n)
    # 1 + log tf of the tf that nearly all terms have
    local = 1 + np.log(np.arange(1, 65).astype(np.float64))
    for i in range(n):
        square = 0.0
        kept = 0
        for j in range(indptr[i], indptr[i + 1]):
            term = terms[j]
            c = column[term] if term < column.size else -1
            if c >= 0:
                tf = counts[j]
                weight = (local[tf - 1] if tf <= 64 else 1 + np.log(np.float64(tf))) * idf[c]
                square += weight * weight
                ends[c + 1] += 1
                kept += 1
        if kept:
            scale[i] = 1 / np.sqrt(square)
        out_indptr[i + 1] = out_indptr[i] + kept
    for c in range(idf.size):
        ends[c + 1] += ends[c]
    # first by column, in the order of documents, then back by document: each row comes out sorted
    rows = np.empty(out_indptr[n], dtype=np.int32)
    weights = np.empty(out_indptr[n], dtype=np.float32)
    for i in range(n):
        for j in range(indptr[i], indptr[i + 1]):
            term = terms[j]
            c = column[term] if term < column.size else -1
            if c >= 0:
                tf = counts[j]
                weight = (local[tf - 1] if tf <= 64 else 1 + np.log(np.float64(tf))) * idf[c]
                rows[ends[c]] = i
                weights[ends[c]] = weight * scale[i]
                ends[c] += 1
    indices = np.empty_like(rows)
    data = np.empty_like(weights)
    place = out_indptr[:-1].copy()
    position = 0
    for c in range(idf.size):
        while position < ends[c]:
            row = rows[position]
            indices[place[row]] = c
            data[place[row]] = weights[position]
            place[row] += 1
            position += 1
    return out_indptr, indices, data
