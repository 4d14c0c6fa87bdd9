"""Read and check the named contexts of the multilevel estimator, at fit and for new groups."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from vmfstream.arrays import Vector
from vmfstream.bayes.multilevel import contexts as kernels
from vmfstream.bayes.multilevel.contexts import Context
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.multilevel_input import check_finite, counts, numbers

KERNELS = ("gaussian", "multinomial", "vmf")

LARGEST = 1e100
"""Largest number of a context: sums of its squares have to be finite."""


class NamedContext(NamedTuple):
    """A context by name: what its kernel reads, and what was taken off its numbers."""

    context: Context
    offset: Vector | None


class Named:
    """Contexts of J groups by name.

    Parameters
    ----------
    contexts : mapping from names to arrays with J rows, one such array, or None
    groups : int, J
    asked : kernel of every context, or mapping from names to kernels
    powers : of their factors by name, 1 if not named
    item : Dirichlet parameter of the items of bags

    Raises
    ------
    ValueError
        Unknown names or kernels, or contexts of another length or type.
    """

    def __init__(
        self, contexts: Any, groups: int, asked: str | Mapping[str, str], powers: Mapping[str, float], item: float
    ) -> None:
        given = by_name(contexts)
        of = dict(asked) if isinstance(asked, Mapping) else dict.fromkeys(given, asked)
        check_names("kernels", of, given)
        self.kernels = {name: kernel_of(name, of.get(name, "auto"), given[name]) for name in given}
        self.given = {
            name: read_context(name, kernel, given[name], groups, item=item, power=powers.get(name, 1.0))
            for name, kernel in self.kernels.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the contexts."""
        return tuple(self.given)

    @property
    def contexts(self) -> tuple[Context, ...]:
        """What the sampler takes."""
        return tuple(part.context for part in self.given.values())

    def fresh(self, contexts: Any, groups: int) -> list[Context | None]:
        """Read the contexts of new groups, None for those that are not given."""
        given = by_name(contexts)
        check_names("contexts", given, self.names)
        return [self._alike(name, given[name], groups) if name in given else None for name in self.names]

    def places(self, name: str, at: ArrayLike | None) -> Vector | None:
        """Read places at which the density of a context is wanted; ValueError if they have other columns than it."""
        if at is None:
            return None
        places, offset, columns = numbers("at", at), self.given[name].offset, self._columns(name)
        if self.kernels[name] != "multinomial" and places.shape[1] != columns:
            raise ValueError(f"at: expected {columns} columns, as {name!r} has, got {places.shape[1]}")
        return np.asarray(unit_rows(places)[0]) if offset is None else places - offset

    def _alike(self, name: str, values: Any, groups: int) -> Context:
        like = self._columns(name), self.given[name].offset
        return read_context(name, self.kernels[name], values, groups, like=like).context

    def _columns(self, name: str) -> int:
        return int(self.given[name].context.sums.shape[1]) // (2 if self.kernels[name] == "gaussian" else 1)


def by_name(contexts: Any) -> Mapping[str, Any]:
    """Return contexts by name; one alone is called "context"."""
    if contexts is None:
        return {}
    return contexts if isinstance(contexts, Mapping) else {"context": contexts}


def check_names(what: str, asked: Mapping[str, Any], known: Any) -> None:
    """Raise ValueError, which calls the parameter ``what``, if ``asked`` names contexts that are not ``known``."""
    if unknown := set(asked) - set(known):
        raise ValueError(f"{what}: expected names of contexts, {sorted(known)}, got {sorted(unknown)}")


def powers_of(
    contexts: Any, temperatures: Mapping[str, float] | None, tempers: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the powers of the factors of ``contexts``, by name.

    They are the inverses of ``temperatures`` > 0, or former ``tempers`` >= 0 as given; 1 for contexts not named.

    Raises
    ------
    ValueError
        For names that are no contexts, temperatures that are not above 0, or powers that are negative or infinite.
    """
    what, given = ("temperatures", temperatures or {}) if tempers is None else ("tempers", tempers)
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}: expected a mapping from names of contexts to numbers, got {given!r}")
    check_names(what, given, by_name(contexts))
    for name, value in given.items():
        if tempers is None and not (isinstance(value, Real) and value > 0):
            raise ValueError(f"temperatures: expected a number above 0 for {name!r}, got {value!r}")
        if tempers is not None and not (isinstance(value, Real) and 0 <= value < np.inf):
            raise ValueError(f"tempers: expected a number of at least 0 for {name!r}, got {value!r}")
    return {name: 1.0 / value if tempers is None else float(value) for name, value in given.items()}


def kernel_of(name: str, kernel: str, values: Any) -> str:
    """Return which kernel reads the context ``name``: "multinomial", "gaussian" or "vmf".

    ``kernel`` "auto" takes counts for sparse ``values`` (J, D) and numbers otherwise. Raises ValueError for unknown
    kernels.
    """
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
    power: float = 1.0,
    like: tuple[int, Vector | None] | None = None,
) -> NamedContext:
    """Read a context of so many groups, one row each; numbers are kept less their mean.

    Parameters
    ----------
    name, kernel : of the context, as in `kernel_of` but for "auto"
    values : (J, D) counts or numbers; a row of zeros (counts, directions) or with NaN (numbers) is missing
    groups : J, the rows expected
    item : > 0, prior weight of every column of counts
    power : >= 0, the power to which the context's likelihood is raised
    like : columns and offset of the context of this name that a model was fitted to

    Raises
    ------
    ValueError
        If ``power`` is negative, there are other numbers of rows or columns than expected, directions have one column
        or are not finite, or a number is infinite or above `LARGEST`.
    """
    rows = counts(name, values) if kernel == "multinomial" else numbers(name, values)
    if rows.shape[0] != groups:
        raise ValueError(f"{name}: expected a row for each of {groups} groups, got {rows.shape[0]}")
    if like is not None and rows.shape[1] != like[0]:
        raise ValueError(f"{name}: expected {like[0]} columns, got {rows.shape[1]}")
    if kernel == "multinomial":
        return NamedContext(kernels.bag(rows, item=item, power=power), None)
    if kernel == "vmf":
        if rows.shape[1] < 2:
            raise ValueError(f"{name}: expected directions of at least 2 dimensions, got {rows.shape[1]}")
        check_finite(name, rows)
        return NamedContext(kernels.direction(unit_rows(rows)[0], power=power), None)
    if (large := (np.abs(rows) > LARGEST).any(axis=1)).any():
        raise ValueError(
            f"{name}: expected numbers up to {LARGEST:.0e}, NaN where one is missing, got more in row {large.argmax()}"
        )
    offset = like[1] if like is not None else None
    if offset is None:
        complete = np.isfinite(rows).all(axis=1)
        offset = rows[complete].mean(axis=0) if complete.any() else np.zeros(rows.shape[1])
    return NamedContext(kernels.gaussian(rows - offset, power=power), offset)
