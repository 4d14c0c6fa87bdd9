"""Encode documents that come with vectors as unit rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Rows
from vmfstream.directional.sphere import unit_rows
from vmfstream.errors import InputError
from vmfstream.records import Arrays, Document, Documents
from vmfstream.text.protocol import Counted, Place, TopWords
from vmfstream.text.sketch import Projection, projection, sketch
from vmfstream.text.top_words import check_matrix, filled, strongest
from vmfstream.text.vocabulary import Growth


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
        self._projection: Projection | None = None

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
        vectors = documents.vector if isinstance(documents, Documents) else [one.vector for one in documents]
        for row, vector in enumerate(vectors or [None] * len(documents)):
            found = None if vector is None else np.shape(vector)
            if vector is None or found != (self._dim,):
                document = documents[row]
                raise InputError(f"document {document.id!r}: expected a vector of {self._dim} numbers, found {found}")
            with np.errstate(over="ignore"):
                values[row] = vector
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
        """Rebuild vectors from their numbers.

        Raises
        ------
        InputError
            If there are more or fewer numbers than dimensions, or some are not finite.
        """
        size = self._dim * np.dtype(np.float32).itemsize
        values = np.frombuffer(b"".join(packed), np.uint8)
        if any(len(one) != size for one in packed) or not np.isfinite(values.view(np.float32)).all():
            raise InputError(f"stored documents of the sample are damaged: expected {self._dim} finite numbers each")
        return Vectors(values.view(np.float32).reshape(-1, self._dim))

    def encode(self, counts: Vectors) -> Rows:
        """Return (N, dim) float32 rows of unit length; zero rows stay zero."""
        return unit_rows(counts.values)[0]

    def out_of_vocabulary(self, counts: Vectors) -> tuple[int, int]:
        """Return (0, numbers): every dimension has its column."""
        return 0, counts.values.size

    def close_slice(self, index: int = 0) -> Growth:
        """Return that nothing changed."""
        return Growth.none(self._dim)

    def known_by(self, index: int) -> NDArray[np.bool_]:
        """Tell that every column was always there, (dim,)."""
        return np.ones(self._dim, np.bool_)

    def observe_slice(
        self, index: int, ids: NDArray[np.int64], parts: Sequence[Counted], resp: NDArray[np.float32]
    ) -> None:
        """Do nothing: dimensions are read from the means."""

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` dimensions of largest absolute weight of each of the first ``k`` columns of ``m``.

        A negative dimension has a minus before its name. Equal weights are ordered by dimension, zeros are left out.
        """
        check_matrix(m, self._dim, k)
        rows, weights = strongest(np.abs(m), top, k)
        return [
            [
                (("-" if m[row, topic] < 0 else "") + self._names[row], weight)
                for row, weight in zip(chosen, values.tolist(), strict=True)
            ]
            for topic, (chosen, values) in enumerate(filled(rows, weights))
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
