"""What models of tomotopy are given, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

WHERE_INSTALLED = "where it is installed (pip install tomotopy; empty otherwise)"
"""For notes below tables."""


def installed() -> str:
    """Return the version of tomotopy that is installed, empty if none is."""
    try:
        return version("tomotopy")
    except PackageNotFoundError:
        return ""


def tokens(counts: csr_array) -> Iterator[list[str]]:
    """Yield the columns of the words of each document, as often as they occur; ``counts`` are (N, V)."""
    for low, high in pairwise(counts.indptr):
        yield np.repeat(counts.indices[low:high], counts.data[low:high].astype(int)).astype(str).tolist()
