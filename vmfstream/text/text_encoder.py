"""Encode texts as unit tf-idf rows over a growing vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.directional.intrinsics import lowest_bit
from vmfstream.records import Arrays, Document, texts_of
from vmfstream.text.counts import Counts
from vmfstream.text.protocol import Counted, Place, TopWords
from vmfstream.text.sketch import Projection, projection, sketch
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.top_words import check_matrix, strongest_words
from vmfstream.text.vocabulary import Growth, Vocabulary


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
        See :class:`~vmfstream.text.tokeniser.Tokeniser`.

    tokeniser : Tokeniser, optional
        Cuts texts instead of one with these three settings.

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
        tokeniser: Tokeniser | None = None,
    ) -> None:
        self.vocabulary = Vocabulary(
            tokeniser or Tokeniser(min_length, max_length, keep_numbers),
            capacity=capacity,
            min_df=min_df,
            max_df_share=max_df_share,
            fade=fade,
            stop_words=stop_words,
            extra_stop_words=extra_stop_words,
            stem=stem,
        )
        self._projection: tuple[str, Projection] | None = None

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
        return self.vocabulary.count(texts_of(documents))

    def word_counts(self, counts: Counts) -> Counts:
        """Return the counts as they are."""
        return counts

    def vectors_beside(self, counts: Counts) -> None:
        """Return that there are none."""

    def concat(self, parts: Sequence[Counts]) -> Counts:
        """Put batches under each other, which may be none."""
        return Counts.concat(parts)

    def counts_from(self, arrays: Arrays) -> Counts:
        """Rebuild counts from their ``arrays()``."""
        return Counts.from_arrays(arrays)

    def pack(self, counts: Counts) -> list[bytes]:
        """Return the documents as bags of words, see `vmfstream.text.packed_counts`."""
        return self.vocabulary.pack(counts)

    def unpack(self, packed: Sequence[bytes]) -> Counts:
        """Rebuild counts from bags of words, whatever the vocabulary was when they were packed."""
        return self.vocabulary.unpack(packed)

    def encode(self, counts: Counts) -> csr_array:
        """Return (N, dim) float32 rows of unit length, canonical; zero rows for documents without a known word.

        Notes
        -----
        O(nnz + N dim / 4096).
        """
        vocabulary = self.vocabulary
        indptr, indices, data = _encode(
            counts.indptr, counts.terms, counts.counts, vocabulary.column, vocabulary.idf.astype(np.float64)
        )
        x = csr_array((data, indices, indptr), shape=(len(counts), self.dim))
        x.has_canonical_format = True
        return x

    def out_of_vocabulary(self, counts: Counts) -> tuple[int, int]:
        """How many words, stop words aside, have no column, and how many words there are."""
        total = int(counts.tokens.sum(dtype=np.int64))
        return total - int(_known(counts.terms, counts.counts, self.vocabulary.column)), total

    def close_slice(self, index: int = 0) -> Growth:
        """End the open slice, number ``index``: document frequencies, columns and idf are brought up to date."""
        return self.vocabulary.close_slice(index)

    def known_by(self, index: int) -> NDArray[np.bool_]:
        """Tell which columns a document of slice ``index``, or of one before, may hold, (dim,)."""
        return self.vocabulary.known_by(index)

    def observe_slice(
        self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: NDArray[np.float32]
    ) -> None:
        """Do nothing: words are read from the means."""

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` words of largest positive weight of each of the first ``k`` columns of ``m`` (dim, >= k).

        Equal weights are ordered by column of the vocabulary; zero weights are left out.
        """
        check_matrix(m, self.dim, k)
        return strongest_words(m, top, k, self.vocabulary.words)

    def sketches(self, m: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return the columns of ``m`` (dim, k) as few numbers, (k, 512), see `vmfstream.text.sketch`."""
        names = self.vocabulary.names_digest
        if self._projection is None or self._projection[0] != names:
            self._projection = names, projection(self.vocabulary.keys())
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
    indices = np.empty(terms.size, dtype=np.int32)
    data = np.empty(terms.size, dtype=np.float32)
    # 1 + log tf of the tf that nearly all terms have
    local = 1 + np.log(np.arange(1, 65).astype(np.float64))
    # the columns of a document as bits, and the groups of 64 columns as bits: read in their order they are sorted
    columns = np.zeros((idf.size >> 6) + 1, dtype=np.int64)
    groups = np.zeros((columns.size >> 6) + 1, dtype=np.int64)
    weights = np.empty(_longest(indptr))
    place = np.empty(idf.size, dtype=np.int32)
    position = 0
    for i in range(n):
        square = 0.0
        kept = 0
        for j in range(indptr[i], indptr[i + 1]):
            term = terms[j]
            c = np.int64(column[term]) if term < column.size else np.int64(-1)
            if c >= 0:
                tf = counts[j]
                weight = (local[tf - 1] if tf <= 64 else 1 + np.log(np.float64(tf))) * idf[c]
                square += weight * weight
                weights[kept] = weight
                place[c] = kept
                columns[c >> 6] |= np.int64(1) << (c & 63)
                groups[c >> 12] |= np.int64(1) << (c >> 6 & 63)
                kept += 1
        scale = 1 / np.sqrt(square) if kept else 0.0
        for g in range(groups.size):
            marked = groups[g]
            groups[g] = 0
            while marked != 0:
                group = g << 6 | lowest_bit(marked)
                marked &= marked - 1
                bits = columns[group]
                columns[group] = 0
                while bits != 0:
                    c = group << 6 | lowest_bit(bits)
                    bits &= bits - 1
                    indices[position] = c
                    data[position] = weights[place[c]] * scale
                    position += 1
        out_indptr[i + 1] = position
    return out_indptr, indices[:position].copy(), data[:position].copy()


@njit(cache=True, nogil=True)
def _longest(indptr):  # type: ignore[no-untyped-def]
    """Return the number of terms of the longest document."""
    longest = 0
    for i in range(indptr.size - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest
