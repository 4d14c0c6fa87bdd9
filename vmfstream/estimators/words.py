"""The words of mean directions: names of their largest features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def words_of_means(means: NDArray[Any], feature_names: Sequence[str], top: int) -> list[list[str]]:
    """Return the ``feature_names`` (D,) of the ``top`` largest entries of each of the ``means`` (K, D), above 0 only.

    Raises ValueError unless there is one name a column and ``top`` is an integer of at least 1.
    """
    names = np.asarray(feature_names, dtype=object)
    if names.shape != means.shape[1:]:
        raise ValueError(f"feature_names: expected {means.shape[1]} names, got the shape {names.shape}")
    if not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top: expected an integer of at least 1, got {top!r}")
    order = np.argsort(-means, axis=1, kind="stable")[:, :top]
    return [[str(names[j]) for j in row if mean[j] > 0] for row, mean in zip(order, means, strict=True)]
