"""Read and check the content of the multilevel estimator: counts of words, or vectors, as tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from vmfstream.arrays import Rows, Vector
from vmfstream.bayes.multilevel.content import Content, vector_content, word_content
from vmfstream.bayes.multilevel.prediction import Bags
from vmfstream.directional.checks import check_sparse
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.distinct import MOST_COPIES


class GroupedVectors(NamedTuple):
    """Unit vectors of all groups one after the other, (T, D), those of group j from ``indptr[j]`` on."""

    rows: Vector
    indptr: NDArray[np.int64]


def law(name: str, given: Any) -> tuple[float, float]:
    """Read shape and rate of a gamma prior."""
    if np.shape(given) != (2,) or not (np.isfinite(given).all() and min(given) > 0):
        raise ValueError(f"{name}: expected a positive shape and rate, got {given!r}")
    return float(given[0]), float(given[1])


def counts(name: str, given: Any) -> csr_array:
    """Read whole numbers of at least 0, dense or sparse."""
    check_sparse(name, given)
    if not issparse(given):
        given = numbers(name, given)
    rows = csr_array(given, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    wrong = np.flatnonzero(~((rows.data > 0) & (rows.data == np.floor(rows.data)) & np.isfinite(rows.data)))
    if wrong.size:
        row = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise ValueError(f"{name}: expected whole numbers of at least 0, got {rows.data[wrong[0]]} in row {row}")
    return rows


def numbers(name: str, given: Any) -> Vector:
    """Read a vector or matrix of numbers as a matrix."""
    check_sparse(name, given)
    given = given.toarray() if issparse(given) else given
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {type(given).__name__} that does not hold them") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"{name}: expected one or two dimensions, got the shape {values.shape}")
    return values[:, None] if values.ndim == 1 else values


def words(name: str, given: Any) -> csr_array:
    """Read counts of words, each of which will be a token."""
    rows = counts(name, given)
    if rows.sum() > MOST_COPIES:
        raise ValueError(f"{name}: expected at most {MOST_COPIES:,} words in all, got {rows.sum():.3g}")
    return rows


def vectors(name: str, given: Any, width: int = 2) -> GroupedVectors:
    """Read a sequence ``given`` of arrays (N_j, D), called ``name`` in errors; ``width`` is D if all are empty."""
    if not isinstance(given, Iterable):
        raise ValueError(f"{name}: expected a sequence of arrays (N_j, D), got {type(given).__name__}")
    parts = [_directions(f"{name}[{j}]", part) for j, part in enumerate(given)]
    widths = {part.shape[1] for part in parts if len(part)}
    if len(widths) > 1:
        raise ValueError(f"{name}: expected vectors of one dimension, got {sorted(widths)}")
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    rows, _ = unit_rows(np.concatenate([part for part in parts if len(part)] or [np.zeros((0, width))]))
    return GroupedVectors(np.asarray(rows, np.float64), indptr)


def _directions(name: str, given: Any) -> Vector:
    """Read the vectors of a group (N_j, D), none of which may be without a direction."""
    rows = numbers(name, given)
    if np.ndim(given) == 1 and len(rows):
        raise ValueError(f"{name}: expected the vectors of a group, (N_j, D), got the shape {np.shape(given)}")
    check_finite(name, rows)
    if not rows.any(axis=1).all():
        raise ValueError(f"{name}: expected vectors with a direction, got zeros in row {rows.any(axis=1).argmin()}")
    return rows


def check_finite(name: str, rows: Vector) -> None:
    """Raise ValueError, which calls them ``name``, unless all numbers in ``rows`` (N, D) are finite."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name}: expected finite numbers, got others in row {finite.argmin()}")


def check_groups(groups: int, sizes: NDArray[Any], width: int) -> None:
    """Raise ValueError for what nothing can be learnt from: one of ``groups``, an empty one, one word type.

    ``sizes`` (groups,) are their words or vectors, ``width`` is the number of word types or dimensions.
    """
    if groups < 2:
        raise ValueError(f"contents: expected at least 2 groups, got {groups}")
    if (sizes == 0).any():
        raise ValueError(
            f"contents: expected something in every group, got none in row {np.flatnonzero(sizes == 0)[0]}"
        )
    if width < 2:
        raise ValueError(f"contents: expected at least 2 words or dimensions, got {width}")


def contents(kind: str, given: Any, word_prior: float) -> tuple[Content, Rows]:
    """Read the J groups to be fitted; return their tokens, and a unit row for every group.

    ``kind`` "multinomial" takes ``given`` counts (J, V), for which ``word_prior`` > 0 is the prior weight of every
    word; else ``given`` are J arrays (N_j, D). Raises ValueError for fewer than two groups, an empty one, or one word
    type.
    """
    if kind == "multinomial":
        rows = words("contents", given)
        check_groups(rows.shape[0], np.asarray(rows.sum(axis=1)), rows.shape[1])
        return word_content(rows, word_prior), unit_rows(rows)[0]
    tokens = vectors("contents", given)
    check_groups(len(tokens.indptr) - 1, np.diff(tokens.indptr), tokens.rows.shape[1])
    sums = np.add.reduceat(tokens.rows, tokens.indptr[:-1], axis=0)
    return vector_content(tokens.rows, tokens.indptr), unit_rows(sums)[0]


def fresh_tokens(kind: str, name: str, given: Any, width: int) -> tuple[Bags, Vector]:
    """Read new groups, which may be empty; return their tokens, and their vectors (N, width) if they are such.

    ``kind`` and ``given`` as in `contents`. Raises ValueError, which calls them ``name``, unless they have ``width``
    words or dimensions.
    """
    if kind == "multinomial":
        rows = words(name, given)
        content = word_content(rows)
        found, bags, vectors_of = rows.shape[1], Bags(content.indptr, content.words), np.zeros((0, width))
    else:
        vectors_of, indptr = vectors(name, given, width)
        found, bags = vectors_of.shape[1], Bags(indptr, np.arange(len(vectors_of)))
    if found != width:
        raise ValueError(f"{name}: expected {width} {'words' if kind == 'multinomial' else 'dimensions'}, got {found}")
    return bags, vectors_of
