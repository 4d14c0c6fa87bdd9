"""Names of array types, each for one thing in all modules.

Types say the precision; docstrings say the shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # readers of run files need no sparse matrices
    from scipy.sparse import csr_array

Vector: TypeAlias = NDArray[np.float64]
"""Numbers in double precision: one per topic or document, or one per document and topic."""

Matrix: TypeAlias = NDArray[np.float32]
"""Numbers in single precision: topics in columns (D, kp), or responsibilities (N, kp)."""

Floats: TypeAlias = NDArray[np.floating[Any]]
"""Numbers in the precision of the documents, float32 or float64."""

ClusterLabels: TypeAlias = NDArray[np.int64]
"""The cluster of each row; -1 for none."""

Indices: TypeAlias = NDArray[np.int64]
"""Positions in another array."""

Mask: TypeAlias = NDArray[np.bool_]
"""Which entries of another array are meant."""

Rows: TypeAlias = "csr_array | NDArray[Any]"
"""Documents by words: a csr_array with canonical rows, or a C-contiguous array; float32 or float64."""


class ArrowStream:
    """Only the Arrow stream of a table: DuckDB would read tables of its own in another way."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)
