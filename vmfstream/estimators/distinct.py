"""Distinct rows for a fit: each once with its total weight, in an order that depends on the rows alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.sphere import drawing_order, row_keys
from vmfstream.estimators.base import FitInput, row_weights
from vmfstream.mixtures.columns import eligible


class Distinct(NamedTuple):
    """What is fitted, and where the documents are in it."""

    rows: Rows
    """(M, D) unit rows; those in chunks stay as they are, and are drawn from in the order of the others."""
    weight: Vector | None
    """(M,) how often each was seen; None if all were once."""
    number: NDArray[np.int64]
    """(N,) which of the rows each document is, -1 where it takes no part."""
    first: NDArray[np.int64] | None = None
    """(M,) the first copy of each row, where rows stand as often as they were seen."""

    def merged(self, resp: Floats, weight: Vector | None) -> Floats:
        """Return responsibilities (M, kp) of the rows from those of the documents, (N, kp), of some ``weight`` (N,)."""
        if isinstance(self.rows, ChunkedMatrix):
            return resp
        at = np.flatnonzero(self.number >= 0)
        mass = np.ones(len(at)) if weight is None else weight[at]
        sums = csr_array((mass, (self.number[at], at)), shape=(self.rows.shape[0], len(resp)))
        total = np.maximum(sums.sum(axis=1), np.finfo(np.float64).tiny)
        merged = np.asarray((sums @ resp) / total[:, None]).astype(resp.dtype)
        return merged if self.first is None else merged[self.first]

    def sample(self, size: int, rng: np.random.Generator) -> Distinct | None:
        """Draw ``size`` of the documents that take part; None if there are not twice as many different ones."""
        order = drawing_order(self.rows)
        order = order[eligible(self.rows, self.weight)[order]]
        if len(order) < 2 * size:
            return None
        if self.weight is None:
            drawn, weight = order[np.sort(rng.permutation(len(order))[:size])], None
        else:
            share = self.weight[order]
            counts = rng.multinomial(size, share / share.sum())
            drawn, weight = order[counts > 0], counts[counts > 0].astype(np.float64)
        return Distinct(self.rows[drawn], weight, np.arange(len(drawn)))


def as_they_come(documents: FitInput) -> Distinct:
    """Take documents one by one, in their order."""
    return Distinct(documents.rows, documents.weight, _numbered(documents.empty))


def distinct(documents: FitInput, k: int, slices: NDArray[np.int64] | None = None) -> Distinct:
    """Merge equal ``documents``, whose weights are added, and sort them, so that weights are the same as repeated rows.

    Those without direction or weight are left out. Where fewer than ``k`` differ they are sorted only. With
    ``slices`` (N,) these come one after the other, and only documents of the same one are merged.
    """
    rows, empty, weight = documents
    if isinstance(rows, ChunkedMatrix):
        keys = row_keys(rows)
        order = np.argsort(keys, kind="stable") if slices is None else np.lexsort((keys, slices))
        return Distinct(rows.drawn_in(order), weight, _numbered(empty))
    taking_part = np.flatnonzero(eligible(rows, weight))
    keys = row_keys(rows)[taking_part]
    within = np.zeros(len(keys), np.int64) if slices is None else slices[taking_part]
    order = np.lexsort((keys, within))
    taking_part, keys, within = taking_part[order], keys[order], within[order]
    new = np.append(True, (keys[1:] != keys[:-1]) | (within[1:] != within[:-1]))
    if np.count_nonzero(new) < k:
        new[:] = True
    number = np.full(len(empty), -1)
    number[taking_part] = np.cumsum(new) - 1
    mass = np.bincount(number[taking_part], None if weight is None else weight[taking_part]).astype(np.float64)
    return Distinct(rows[taking_part[new]], None if (mass == 1).all() else mass, number)


def check_one_by_one(rows: Rows) -> None:
    """Raise ValueError unless a label can be drawn for one of the ``rows`` (N, D) after the other."""
    if isinstance(rows, ChunkedMatrix):
        raise ValueError("inference: expected another one for rows in parts, got 'gibbs', which visits row by row")


MOST_COPIES = 1_000_000_000
"""Most rows that are taken one by one, each for itself, because of weights."""


class Copies(NamedTuple):
    """Rows that are taken as often as their weights say, copies of one right after the other."""

    rows: NDArray[np.int64]
    """(M,) which row each copy is of."""
    first: NDArray[np.int64]
    """(N,) the first copy of each row, -1 for rows of weight 0."""

    @classmethod
    def of(cls, weight: Vector, reason: str) -> Copies:
        """Copy rows of some ``weight`` (N,); ValueError, which gives the ``reason``, unless these are whole numbers."""
        bad = np.flatnonzero(weight != np.floor(weight))
        if len(bad):
            raise ValueError(f"sample_weight: expected whole numbers where {reason}, got {weight[bad[0]]:g}")
        if weight.sum() > MOST_COPIES:
            raise ValueError(
                f"sample_weight: expected at most {MOST_COPIES:,} in all where {reason}, got {weight.sum():.3g}"
            )
        counts = weight.astype(np.int64)
        first = np.where(counts > 0, np.cumsum(counts) - counts, -1)
        return cls(np.repeat(np.arange(len(counts)), counts), first)

    def of_rows(self, values: NDArray[Any], absent: ArrayLike) -> NDArray[Any]:
        """Return for each row what ``values`` (M,) say of its first copy, or ``absent`` for rows of weight 0."""
        return np.where(self.first < 0, absent, values[self.first])


def copies_of_documents(sample_weight: ArrayLike, n: int) -> Copies:
    """Copy the ``n`` documents of a stream; ValueError as from `row_weights`, and for fractions."""
    return Copies.of(row_weights(sample_weight, n), "documents are learnt one after the other")


def repeated(part: Distinct) -> Distinct:
    """Return the rows of a ``part`` as often as their weights say, and as many numbers: the first copy of each.

    Raises ValueError for rows in parts, and unless weights are whole numbers.
    """
    check_one_by_one(part.rows)
    if part.weight is None:
        return part
    copies = Copies.of(part.weight, "every row draws a label of its own")
    number = np.where(part.number >= 0, copies.first[part.number], -1)
    return Distinct(part.rows[copies.rows], None, number, copies.first[copies.rows])


def _numbered(empty: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(empty, -1, np.arange(len(empty)))
