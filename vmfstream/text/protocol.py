"""The protocols of encoders, which turn documents into unit rows.

Documents are first counted and then encoded. Counts do not depend on the vocabulary: when it has changed at the end of
a slice, the same counts are encoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Matrix, Rows
from vmfstream.records import Arrays, Document
from vmfstream.text.counts import Counts
from vmfstream.text.vocabulary import Growth, Vocabulary

TopWords: TypeAlias = list[list[tuple[str, float]]]
"""For each topic its strongest words with their weights, strongest first."""

Place: TypeAlias = tuple[int, NDArray[np.int64]]
"""A slice, and the numbers of topics whose means at its end are the columns of a matrix."""

Counted: TypeAlias = Any
"""What an encoder's ``count`` returns, its own kind: with a length, ``take(rows)``, ``remap(terms)``, ``arrays()``."""


class DocumentEncoder(Protocol):
    """Turns documents into unit rows.

    The columns change at the end of a slice only: until then ``encode`` of equal counts gives equal rows.
    """

    @property
    def dim(self) -> int:
        """Number of columns in force."""
        ...

    def count(self, documents: Sequence[Document]) -> Counted:
        """Count N documents into the open slice."""
        ...

    def encode(self, counts: Counted) -> Rows:
        """Return the documents as (N, dim) float32 unit rows; zero rows for those without a direction."""
        ...

    def out_of_vocabulary(self, counts: Counted) -> tuple[int, int]:
        """Return the number of words without a column, and the number of all words: the out-of-vocabulary rate."""
        ...


class CountStorage(Protocol):
    """Joins, stores and reads back counted documents, those of the window and the sample of snapshots."""

    def concat(self, parts: Sequence[Counted]) -> Counted:
        """Stack batches, of which there may be none."""
        ...

    def counts_from(self, arrays: Arrays) -> Counted:
        """Rebuild counts from their ``arrays()``."""
        ...

    def pack(self, counts: Counted) -> list[bytes]:
        """Return the documents one by one, in a form that does not depend on the columns."""
        ...

    def unpack(self, packed: Sequence[bytes]) -> Counted:
        """Rebuild counts from what ``pack`` returned, now or in an earlier run."""
        ...


class TopicNaming(Protocol):
    """Describes topics and documents by words."""

    def observe_slice(self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: Matrix) -> None:
        """Take the documents of slice ``index``, which ends, to name its topics by them.

        ``parts`` are their counts, batch by batch, with memberships ``resp`` (N, >= K) in the topics ``ids`` (K,).
        """
        ...

    def words(self, m: Matrix, top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` strongest words of the first ``k`` topics.

        Parameters
        ----------
        m : (dim, >= k) float32, mean directions in columns
        top : int, number of words, at least 0
        k : int, number of topics
        at : the slice and the topics that the columns are, for encoders that name topics by their documents
        """
        ...

    def sketches(self, m: Matrix) -> NDArray[np.int8]:
        """Return the columns of ``m`` (dim, k) as sketches (k, 512) that can be compared across vocabularies."""
        ...

    def known_by(self, index: int) -> NDArray[np.bool_]:
        """Tell which columns a document of slice ``index``, or of one before, may hold, (dim,)."""
        ...


@runtime_checkable
class WordCounting(Protocol):
    """What an encoder can do besides that knows the words of documents: stories are made of them."""

    vocabulary: Vocabulary

    def word_counts(self, counts: Counted) -> Counts:
        """Return the counts of words in what ``count`` returned."""
        ...

    def vectors_beside(self, counts: Counted) -> NDArray[np.float32] | None:
        """Return the vectors of what ``count`` returned, unit rows (N, E) or rows of zeros; None if there are none."""
        ...


class WorkerEncoder(DocumentEncoder, CountStorage, Protocol):
    """Counts documents of the open slice in a worker, as a copy of the run's encoder."""

    def restore(self, arrays: Arrays) -> None:
        """Continue from what ``state`` or ``blank_state`` returned; what follows is the same to the last bit."""
        ...

    def tally(self, begun: Arrays) -> Arrays:
        """Return what this copy has counted since it restored the ``blank_state`` ``begun``."""
        ...


class Encoder(WorkerEncoder, TopicNaming, Protocol):
    """The encoder of a run, for those who own one. A function that uses a part of it names that part's protocol."""

    @property
    def digest(self) -> str:
        """Identity of the columns and their weights."""
        ...

    def close_slice(self, index: int = 0) -> Growth:
        """End the open slice, number ``index``, and return how the columns changed."""
        ...

    def state(self) -> Arrays:
        """Return all that ``restore`` needs."""
        ...

    def blank_state(self) -> Arrays:
        """Return what ``restore`` needs for a copy that has counted nothing of the open slice."""
        ...

    def absorb(self, tally: Arrays) -> NDArray[np.int32] | None:
        """Add what a copy has counted; return the terms here of its terms, for ``remap`` of its counts."""
        ...
