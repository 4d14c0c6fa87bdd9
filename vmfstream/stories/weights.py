"""Counts of words to unit rows of tf-idf weights, under the document frequencies seen so far."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array


class RunningTfidf:
    """Weights words as documents come: each is counted first, then weighted under the frequencies so far.

    The weight of a word that occurs f times in a document, and in df of the n documents up to and with this one, is
    (1 + log f) log(1 + n / df); rows are scaled to unit length. Weights do not depend on later documents, nor on how
    documents are cut into batches.

    Examples
    --------
    >>> RunningTfidf().weigh(csr_array([[2, 1], [0, 1]])).toarray().round(2).astype(str).tolist()
    [['0.86', '0.51'], ['0.0', '1.0']]
    """

    def __init__(self) -> None:
        self.document_frequency = np.zeros(0, np.int64)
        self.n_documents = 0

    def weigh(self, counts: csr_array) -> csr_array:
        """Return unit rows, (N, D) float32; documents without words stay zero.

        Parameters
        ----------
        counts : (N, D) csr_array
            Counts of words, each column at most once per row; D may grow from one call to the next.

        Raises
        ------
        ValueError
            If there are fewer columns than before, or a count is negative or not finite.
        """
        known = len(self.document_frequency)
        if counts.shape[1] < known:
            raise ValueError(f"counts: expected at least {known} columns, as before, got {counts.shape[1]}")
        if not (np.isfinite(counts.data) & (counts.data >= 0)).all():
            raise ValueError("counts: expected finite numbers of at least 0")
        if not (counts.has_canonical_format and counts.data.all()):
            counts = counts.copy()
            counts.sum_duplicates()
            counts.eliminate_zeros()
        frequency = np.concatenate([self.document_frequency, np.zeros(counts.shape[1] - known, np.int64)])
        weights = np.empty(counts.nnz, np.float32)
        _weigh(
            counts.indptr.astype(np.int64), counts.indices, counts.data.astype(np.float64), frequency,
            self.n_documents, weights,
        )  # fmt: skip
        self.document_frequency = frequency
        self.n_documents += counts.shape[0]
        return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)

    def weigh_next(self, counts: csr_array) -> csr_array:
        """Return for each document the row that `weigh` would if it came next, but for rounding; nothing is counted.

        ``counts`` as in `weigh`, each at least 1, in any order within a row; there may be more columns than before.

        Examples
        --------
        >>> weights, next_one = RunningTfidf(), csr_array([[1, 3]])
        >>> _ = weights.weigh(csr_array([[2, 1], [0, 1]]))
        >>> bool(np.allclose(weights.weigh_next(next_one).toarray(), weights.weigh(next_one).toarray()))
        True
        """
        known, columns = len(self.document_frequency), counts.shape[1]
        if columns < known:
            raise ValueError(f"counts: expected at least {known} columns, as before, got {columns}")
        frequency = np.zeros(columns)
        frequency[:known] = self.document_frequency
        weights = np.empty(counts.nnz, np.float32)
        idf = np.log(1.0 + (self.n_documents + 1.0) / (frequency + 1.0))
        _weigh_next(counts.indptr.astype(np.int64), counts.indices, counts.data, idf, weights)
        return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays, for `from_arrays`."""
        return {"df": self.document_frequency, "documents": np.array([self.n_documents], np.int64)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> RunningTfidf:
        """Return the weights whose state was stored."""
        weights = cls()
        weights.document_frequency = arrays["df"].astype(np.int64)
        weights.n_documents = int(arrays["documents"][0])
        return weights


@njit(cache=True, nogil=True)
def _weigh(bounds, columns, counts, frequency, before, weights):  # type: ignore[no-untyped-def]
    for i in range(bounds.size - 1):
        total = 0.0
        for j in range(bounds[i], bounds[i + 1]):
            frequency[columns[j]] += 1
        for j in range(bounds[i], bounds[i + 1]):
            idf = math.log(1.0 + (before + i + 1.0) / frequency[columns[j]])
            weight = idf if counts[j] == 1.0 else (1.0 + math.log(counts[j])) * idf
            weights[j] = weight
            total += weight * weight
        length = math.sqrt(total)
        for j in range(bounds[i], bounds[i + 1]):
            weights[j] /= length


@njit(cache=True, nogil=True)
def _weigh_next(bounds, columns, counts, idf, weights):  # type: ignore[no-untyped-def]
    for i in range(bounds.size - 1):
        total = 0.0
        for j in range(bounds[i], bounds[i + 1]):
            of_word = idf[columns[j]]
            weight = of_word if counts[j] == 1 else (1.0 + math.log(counts[j])) * of_word
            weights[j] = weight
            total += weight * weight
        length = math.sqrt(total)
        for j in range(bounds[i], bounds[i + 1]):
            weights[j] /= length
