"""What makes unit rows of documents: the seam that all encoders share.

Documents are first counted and then encoded. Counts outlive the vocabulary: when it has changed at the end of a slice,
the same counts are encoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import Rows
from vmfstream.records import Arrays, Document
from vmfstream.text.vocabulary import Growth

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
