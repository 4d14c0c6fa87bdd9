"""What the multilevel estimator is given, read and checked: contents as tokens, and contexts by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from vmfstream.bayes import multilevel_contexts as kernels
from vmfstream.bayes.multilevel_contexts import Context
from vmfstream.directional.sphere import unit_rows

Vector: TypeAlias = NDArray[np.float64]

KERNELS = ("gaussian", "multinomial", "vmf")


class Vectors(NamedTuple):
    """Unit vectors of all groups one after the other, (T, D), those of group j from ``indptr[j]`` on."""

    rows: Vector
    indptr: NDArray[np.int64]


class Given(NamedTuple):
    """A context by name: what its kernel reads, and what was taken off its numbers."""

    context: Context
    offset: Vector | None


def law(name: str, given: Any) -> tuple[float, float]:
    """Read shape and rate of a gamma prior."""
    if np.shape(given) != (2,) or not (np.isfinite(given).all() and min(given) > 0):
        raise ValueError(f"{name}: expected a positive shape and rate, got {given!r}")
    return float(given[0]), float(given[1])


def counts(name: str, given: Any) -> csr_array:
    """Read whole numbers of at least 0, dense or sparse."""
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
    given = given.toarray() if issparse(given) else given
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {type(given).__name__} that does not hold them") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"{name}: expected one or two dimensions, got the shape {values.shape}")
    return values[:, None] if values.ndim == 1 else values


def vectors(name: str, given: Any) -> Vectors:
    """Read a sequence of arrays (N_j, D)."""
    parts = [numbers(f"{name}[{j}]", part) for j, part in enumerate(given)]
    widths = {part.shape[1] for part in parts if len(part)}
    if len(widths) > 1:
        raise ValueError(f"{name}: expected vectors of one dimension, got {sorted(widths)}")
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    rows, empty = unit_rows(np.concatenate([part for part in parts if len(part)] or [np.zeros((0, 2))]))
    if empty.any():
        raise ValueError(f"{name}: expected vectors with a direction, got zeros at place {np.flatnonzero(empty)[0]}")
    return Vectors(np.asarray(rows, np.float64), indptr)


def check_groups(groups: int, sizes: NDArray[Any], width: int) -> None:
    """Refuse what nothing can be learnt from: one group, an empty one, one word type."""
    if groups < 2:
        raise ValueError(f"contents: expected at least 2 groups, got {groups}")
    if (sizes == 0).any():
        raise ValueError(
            f"contents: expected something in every group, got none in row {np.flatnonzero(sizes == 0)[0]}"
        )
    if width < 2:
        raise ValueError(f"contents: expected at least 2 words or dimensions, got {width}")


def named(contexts: Any) -> Mapping[str, Any]:
    """Read contexts by name; one alone is called "context"."""
    if contexts is None:
        return {}
    return contexts if isinstance(contexts, Mapping) else {"context": contexts}


def check_names(what: str, asked: Mapping[str, Any], known: Any) -> None:
    """Refuse names that are no contexts."""
    if unknown := set(asked) - set(known):
        raise ValueError(f"{what}: expected names of contexts, {sorted(known)}, got {sorted(unknown)}")


def kernel_of(name: str, kernel: str, values: Any) -> str:
    """Return which kernel reads a context."""
    if kernel == "auto":
        return "multinomial" if issparse(values) else "gaussian"
    if kernel not in KERNELS:
        raise ValueError(f"kernels: expected one of {', '.join(KERNELS)} for {name!r}, got {kernel!r}")
    return kernel


def read_context(
    name: str,
    kernel: str,
    values: Any,
    groups: int,
    *,
    item: float = kernels.ITEM,
    temper: float = 1.0,
    like: tuple[int, Vector | None] | None = None,
) -> Given:
    """Read a context of so many groups, one row each; numbers are kept less their mean.

    ``like``: columns and offset of the context of this name that a model was fitted to.
    """
    if not 0 <= temper < np.inf:
        raise ValueError(f"tempers: expected a number of at least 0 for {name!r}, got {temper}")
    rows = counts(name, values) if kernel == "multinomial" else numbers(name, values)
    if rows.shape[0] != groups:
        raise ValueError(f"{name}: expected a row for each of {groups} groups, got {rows.shape[0]}")
    if like is not None and rows.shape[1] != like[0]:
        raise ValueError(f"{name}: expected {like[0]} columns, got {rows.shape[1]}")
    if kernel == "multinomial":
        return Given(kernels.bag(rows, item=item, temper=temper), None)
    if kernel == "vmf":
        return Given(kernels.direction(unit_rows(rows)[0], temper=temper), None)
    offset = like[1] if like is not None else None
    if offset is None:
        held = np.isfinite(rows).all(axis=1)
        offset = rows[held].mean(axis=0) if held.any() else np.zeros(rows.shape[1])
    return Given(kernels.gaussian(rows - offset, temper=temper), offset)
