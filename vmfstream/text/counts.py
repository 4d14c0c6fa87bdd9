"""Word counts of documents, in compressed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import Arrays


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Word counts of N documents; document ``i`` has the terms ``terms[indptr[i] : indptr[i + 1]]``, each once.

    Attributes
    ----------
    indptr : (N + 1,) int64
    terms : (nnz,) int32
        Term ids, in the order of their first appearance in the document; candidates that have no column yet included.
    counts : (nnz,) uint16
        How often, >= 1; 65,535 stands for that or more.
    tokens : (N,) int32
        Words of each document altogether, stop words aside; at least the sum of its counts: words that found no room in
        the term table, or lost their place in it, are only counted here.
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.uint16]
    tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return self.tokens.size

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Counts:
        """Return the documents ``rows`` (indices, a mask or a slice), in this order."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            last = max(first, last)
            low, high = self.indptr[first], self.indptr[last]
            terms, counts, tokens = self.terms[low:high], self.counts[low:high], self.tokens[first:last]
            return Counts(self.indptr[first : last + 1] - low, terms.copy(), counts.copy(), tokens.copy())
        chosen = np.arange(len(self), dtype=np.int64)[rows]
        lengths = np.diff(self.indptr)[chosen]
        indptr = _pointers(lengths)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        return Counts(indptr, self.terms[entries], self.counts[entries], self.tokens[chosen])

    def remap(self, terms: NDArray[np.integer] | None) -> Counts:
        """Follow a renumbering of the terms (``Growth.terms``): old id to new id, -1 for terms that are gone.

        Terms that are gone stay in ``tokens`` and so are unknown words from now on.
        """
        if terms is None:
            return self
        new = terms[self.terms].astype(np.int32)
        kept = new >= 0
        before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
        return Counts(before[self.indptr], new[kept], self.counts[kept], self.tokens)

    def arrays(self) -> Arrays:
        """Return the flat arrays that :meth:`from_arrays` takes."""
        return {"indptr": self.indptr, "terms": self.terms, "counts": self.counts, "tokens": self.tokens}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Counts:
        """Rebuild what :meth:`arrays` returned."""
        return cls(
            np.asarray(arrays["indptr"], dtype=np.int64),
            np.asarray(arrays["terms"], dtype=np.int32),
            np.asarray(arrays["counts"], dtype=np.uint16),
            np.asarray(arrays["tokens"], dtype=np.int32),
        )

    @classmethod
    def concat(cls, parts: Sequence[Counts]) -> Counts:
        """Return all documents of ``parts``, one part after the other; none for no parts."""
        return cls(
            _pointers(np.concatenate([np.diff(part.indptr) for part in parts] or [np.zeros(0, dtype=np.int64)])),
            np.concatenate([part.terms for part in parts] or [np.zeros(0, dtype=np.int32)]),
            np.concatenate([part.counts for part in parts] or [np.zeros(0, dtype=np.uint16)]),
            np.concatenate([part.tokens for part in parts] or [np.zeros(0, dtype=np.int32)]),
        )


def _pointers(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    indptr = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr
