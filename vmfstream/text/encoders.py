"""From documents to unit vectors: words weighed by ltc tf-idf, or dense vectors as they come.

Documents are first counted and then encoded. Counts outlive the vocabulary: when it has changed at the end of a slice,
the same counts are encoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from vmfstream.text.vocabulary import Growth, Vocabulary

Counts: TypeAlias = Any
"""What an encoder's ``count`` returns, its own kind: it has a length, ``remap(terms)`` and ``arrays()``."""


class Encoder(Protocol):
    """Turns documents into unit rows; what it knows changes only at the ends of slices."""

    @property
    def dim(self) -> int:
        """Dimension of the rows."""
        ...

    @property
    def digest(self) -> str:
        """Identity of the dimensions and their weights."""
        ...

    def count(self, documents: Sequence[Document]) -> Counts:
        """Read documents of the open slice."""
        ...

    def concat(self, parts: Sequence[Counts]) -> Counts:
        """Put batches under each other."""
        ...

    def counts_from(self, arrays: Arrays) -> Counts:
        """Rebuild counts from their arrays."""
        ...

    def encode(self, counts: Counts) -> Rows:
        """Return (N, D) float32 unit rows under the weights in force; zero rows for documents without known words."""
        ...

    def unknown_share(self, counts: Counts) -> float:
        """Share of words that have no dimension."""
        ...

    def close_slice(self) -> Growth:
        """Let the dimensions follow what the open slice held."""
        ...

    def words(self, m: NDArray[np.float32], top: int, k: int) -> list[list[tuple[str, float]]]:
        """Strongest words of the first k columns of m (D, kp) with their weights, at most ``top``, strongest first."""
        ...

    def state(self) -> Arrays:
        """Return everything that `restore` needs."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Continue from `state`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """Terms per document: document i has ``terms[indptr[i] : indptr[i + 1]]``, each ``counts`` times.

    ``tokens`` (N,) are the words of each document, those that found no room in the table included.
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.uint16]
    tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.tokens)

    def remap(self, terms: NDArray[np.int32]) -> TermCounts:
        """Follow a renumbering of the terms; forgotten ones (-1) are left out."""
        new = terms[self.terms]
        held = new >= 0
        ends = np.concatenate([[0], np.cumsum(held)])[self.indptr].astype(np.int64)
        return TermCounts(ends, new[held], self.counts[held], self.tokens)

    def arrays(self) -> Arrays:
        """Return flat arrays."""
        return {"indptr": self.indptr, "terms": self.terms, "counts": self.counts, "tokens": self.tokens}


class TextEncoder:
    """Texts as ltc tf-idf rows: (1 + log tf) log((1 + N) / (1/2 + df)), of length one.

    Parameters
    ----------
    capacity : int
        Most words of the vocabulary.
    stop_words : str or None
        ``english``, or None to keep all words.
    extra_stop_words : sequence of str
        Further words that never count.
    stem : str or None
        Language of the stemmer (extra ``stemming``).
    """

    def __init__(
        self,
        capacity: int = 50_000,
        stop_words: str | None = "english",
        extra_stop_words: Sequence[str] = (),
        stem: str | None = None,
    ) -> None:
        self._vocabulary = Vocabulary(capacity, [*_stop_words(stop_words), *extra_stop_words], stem)

    @property
    def dim(self) -> int:
        """Number of words with a column."""
        return self._vocabulary.dim

    @property
    def digest(self) -> str:
        """Identity of the vocabulary and its weights."""
        return self._vocabulary.digest

    def count(self, documents: Sequence[Document]) -> TermCounts:
        """Count the words of documents of the open slice."""
        tally = self._vocabulary.count([document.text or "" for document in documents])
        return TermCounts(tally.indptr, tally.words, tally.counts, tally.tokens)

    def concat(self, parts: Sequence[TermCounts]) -> TermCounts:
        """Put batches under each other."""
        starts = np.cumsum([0, *[len(part.terms) for part in parts]])
        return TermCounts(
            np.concatenate(
                [[0], *[part.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]]
            ).astype(np.int64),
            np.concatenate([np.zeros(0, np.int32), *[part.terms for part in parts]]),
            np.concatenate([np.zeros(0, np.uint16), *[part.counts for part in parts]]),
            np.concatenate([np.zeros(0, np.int32), *[part.tokens for part in parts]]),
        )

    def counts_from(self, arrays: Arrays) -> TermCounts:
        """Rebuild counts from their arrays."""
        return TermCounts(arrays["indptr"], arrays["terms"], arrays["counts"], arrays["tokens"])

    def encode(self, counts: TermCounts) -> csr_array:
        """Return (N, D) unit rows, canonical CSR in float32; zero rows for documents without known words."""
        indptr, indices, data = _weigh(
            counts.indptr, counts.terms, counts.counts, self._vocabulary.column, self._vocabulary.idf
        )
        x = csr_array((data, indices, indptr), shape=(len(counts), self.dim))
        x.sort_indices()
        return x

    def unknown_share(self, counts: TermCounts) -> float:
        """Share of words without a column, NaN without words."""
        known = counts.counts[self._vocabulary.column[counts.terms] >= 0].sum(dtype=np.int64)
        total = counts.tokens.sum(dtype=np.int64)
        return 1.0 - float(known) / float(total) if total else float("nan")

    def close_slice(self) -> Growth:
        """Let the vocabulary grow and be pruned; weights follow the document frequencies so far."""
        return self._vocabulary.close_slice()

    def words(self, m: NDArray[np.float32], top: int, k: int) -> list[list[tuple[str, float]]]:
        """Strongest words of each topic with their weights."""
        return [
            [(self._vocabulary.word(j), float(column[j])) for j in strongest(column, top)]
            for column in np.ascontiguousarray(m[:, :k].T)
        ]

    def state(self) -> Arrays:
        """Return everything that `restore` needs."""
        return self._vocabulary.state()

    def restore(self, arrays: Arrays) -> None:
        """Continue from `state`."""
        self._vocabulary.restore(arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Dense documents (N, D) as they came."""

    x: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.x)

    def remap(self, terms: NDArray[np.int32]) -> Vectors:
        """Dimensions never change."""
        return self

    def arrays(self) -> Arrays:
        """Return flat arrays."""
        return {"x": self.x}


class VectorEncoder:
    """Dense vectors as documents; their direction is what counts.

    Parameters
    ----------
    dim : int >= 2
        Dimension of all vectors.
    """

    def __init__(self, dim: int) -> None:
        if dim < 2:
            raise InputError(f"dimension: expected at least 2, got {dim}")
        self.dim = dim
        self.digest = f"vectors-{dim}"

    def count(self, documents: Sequence[Document]) -> Vectors:
        """Take the vectors of documents."""
        x = np.zeros((len(documents), self.dim), np.float32)
        for i, document in enumerate(documents):
            found = None if document.vector is None else document.vector.shape
            if document.vector is None or found != (self.dim,):
                raise InputError(f"document {document.id!r}: expected a vector of {self.dim} numbers, found {found}")
            x[i] = document.vector
        return Vectors(x)

    def concat(self, parts: Sequence[Vectors]) -> Vectors:
        """Put batches under each other."""
        return Vectors(np.concatenate([np.zeros((0, self.dim), np.float32), *[part.x for part in parts]]))

    def counts_from(self, arrays: Arrays) -> Vectors:
        """Rebuild from arrays."""
        return Vectors(arrays["x"])

    def encode(self, counts: Vectors) -> Rows:
        """Return (N, D) unit rows."""
        return unit_rows(counts.x)[0]

    def unknown_share(self, counts: Vectors) -> float:
        """Nothing is unknown."""
        return 0.0

    def close_slice(self) -> Growth:
        """Change nothing."""
        return Growth(np.arange(self.dim, dtype=np.int32), None)

    def words(self, m: NDArray[np.float32], top: int, k: int) -> list[list[tuple[str, float]]]:
        """Strongest coordinates, named x0, x1, ... or -x0, -x1, ... where they are negative."""
        named = []
        for column in m[:, :k].T:
            chosen = strongest(np.abs(column), top)
            named.append([(f"{'-' if column[j] < 0 else ''}x{j}", float(abs(column[j]))) for j in chosen])
        return named

    def state(self) -> Arrays:
        """Nothing changes."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Nothing to restore."""


def strongest(weights: NDArray[np.float32], top: int) -> NDArray[np.int64]:
    """Places of the largest positive weights, largest first, equal ones in their order."""
    most = min(top, len(weights))
    if not most:
        return np.zeros(0, np.int64)
    edge = np.partition(weights, len(weights) - most)[len(weights) - most]
    chosen = np.flatnonzero((weights >= edge) & (weights > 0.0))
    return chosen[np.argsort(-weights[chosen], kind="stable")][:most]


def _stop_words(language: str | None) -> frozenset[str]:
    if language is None:
        return frozenset()
    if language != "english":
        raise InputError(f"stop words: expected 'english' or none, got {language!r}")
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@njit(cache=True)
def _weigh(
    indptr: Any, terms: Any, counts: Any, column: Any, idf: Any
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Rows (1 + log tf) idf of length one, from the terms that have a column."""
    n = len(indptr) - 1
    log_tf = np.empty(256)
    log_tf[0] = 0.0
    for c in range(1, 256):
        log_tf[c] = 1.0 + np.log(c)
    starts = np.zeros(n + 1, np.int32)
    indices = np.empty(len(terms), np.int32)
    data = np.empty(len(terms), np.float32)
    at = 0
    for i in range(n):
        first = at
        square = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            col = column[terms[j]]
            if col >= 0:
                c = counts[j]
                weight = (log_tf[c] if c < 256 else 1.0 + np.log(c)) * idf[col]
                indices[at] = col
                data[at] = weight
                square += weight * weight
                at += 1
        if square > 0.0:
            norm = np.sqrt(square)
            for j in range(first, at):
                data[j] /= norm
        starts[i + 1] = at
    return starts, indices[:at].copy(), data[:at].copy()
