"""Rows in chunks: held by workers, or read again in every pass because they do not fit into memory.

Every pass over the documents is a map over the chunks and a sum along one binary tree of them. Workers get blocks of
neighbouring chunks that are whole subtrees and send back one sum, so that results do not depend on their number; they
differ from those of one matrix by the order in which float32 numbers are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from vmfstream.arrays import Rows
from vmfstream.directional import kernels
from vmfstream.directional.kernels import Pass, Responsibilities
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.sphere import unit_rows
from vmfstream.errors import WorkersLost
from vmfstream.protocols import Executor

T = TypeVar("T")

ATTEMPTS = 3
"""How often a pass is made before lost workers end the fit."""


def blocks(parts: int, workers: int) -> list[slice]:
    """Cut so many parts into blocks that are whole subtrees, about one per worker and none much larger than others.

    Examples
    --------
    >>> [(b.start, b.stop) for b in blocks(9, 3)]
    [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    """
    size = 1
    while 2 * size * workers <= parts:
        size *= 2
    return [slice(low, min(low + size, parts)) for low in range(0, parts, size)]


def tree_reduce(merge: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Merge neighbours, then neighbours of the results, until one is left.

    Examples
    --------
    >>> tree_reduce("({}{})".format, "abcde")
    '(((ab)(cd))e)'
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [merge(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


class RowRange(NamedTuple):
    """Rows ``low`` to ``high`` of ``part``: a matrix of unit rows, a worker's reference to one, or a callable."""

    part: Any
    low: int
    high: int


class ChunkSummary(NamedTuple):
    """Shape, precision and empty rows of a chunk."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    directed: NDArray[np.bool_]


class ChunkedRows(ChunkedMatrix):
    """A matrix (N, D) of unit rows in chunks.

    Parameters
    ----------
    executor : Executor
        Where passes are made.
    ranges : sequence of RowRange
        The rows, one chunk after the other.
    d : int
        Number of columns.
    dtype : float32 or float64
    directed : ndarray of bool, shape (N,)
        Which rows have a direction.
    """

    def __init__(
        self, executor: Executor, ranges: Sequence[RowRange], d: int, dtype: np.dtype[Any], directed: NDArray[np.bool_]
    ) -> None:
        self._executor, self._ranges, self._directed = executor, list(ranges), directed
        self.shape, self.dtype = (len(directed), d), dtype

    @classmethod
    def of(cls, parts: Sequence[Any], executor: Executor) -> ChunkedRows:
        """Take matrices, which the workers hold from now on, and callables that read one, which are called every time.

        Raises
        ------
        ValueError
            If there are none, they differ in columns or precision, or one is no matrix of finite numbers.
        """
        chunks = [
            part if callable(part) else executor.hold(_held, [(part, number)])[0] for number, part in enumerate(parts)
        ]
        found = executor.map(_summary, [(part, number) for number, part in enumerate(chunks)])
        if not found:
            raise ValueError("parts: expected at least one, got none")
        first = found[0]
        for number, one in enumerate(found):
            if (one.shape[1], one.dtype) != (first.shape[1], first.dtype):
                raise ValueError(
                    f"parts: expected {first.shape[1]} columns of {first.dtype} as in the first, got {one.shape[1]} of "
                    f"{one.dtype} in part {number}"
                )
        ranges = [RowRange(part, 0, one.shape[0]) for part, one in zip(chunks, found, strict=True) if one.shape[0]]
        return cls(executor, ranges, first.shape[1], first.dtype, np.concatenate([one.directed for one in found]))

    @property
    def T(self) -> _Transposed:
        """Its transpose, for products with a vector."""
        return _Transposed(self)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            low, high, step = rows.indices(self.shape[0])
            if step != 1:
                raise ValueError(f"rows in parts: expected neighbouring rows, got {rows}")
            part, order = self._between(low, max(high, low)), self.order
            return part if order is None else part.drawn_in(order[(order >= low) & (order < high)] - low)
        few = self._few(np.atleast_1d(np.asarray(rows, np.int64)))
        if np.ndim(rows):
            return few
        return (few if isinstance(few, np.ndarray) else few.toarray())[0]

    def __matmul__(self, vector: NDArray[Any]) -> NDArray[Any]:
        found = self._each(_product, vector, [])
        return np.concatenate([np.zeros(0, self.dtype), *found])

    def directed(self) -> NDArray[np.bool_]:
        """Mark the rows that have a direction, (N,)."""
        return self._directed

    def dots(self, *given: Any) -> NDArray[Any]:
        """Return dot products (N, kp), all of them here."""
        m, _ = given
        found = self._each(_dots, given, [])
        return np.concatenate([np.zeros((0, m.shape[1]), m.dtype), *found])

    def posterior(self, *given: Any) -> Responsibilities:
        """Return what `kernels.posterior` does, all of it here."""
        found = self._each(_posterior, given, [])
        if not found:
            return kernels.posterior(self._none(), *given[:-1], threads=given[-1])
        return Responsibilities(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def posterior_accumulate(self, *given: Any, mass: NDArray[np.float64] | None) -> Pass:
        """Return what `kernels.posterior_accumulate` does; the documents stay where they are."""
        found = self._each(_passed, given, [] if mass is None else [np.asarray(mass, np.float64)])
        if not found:
            return _passed(self._none(), given)
        total: Pass = tree_reduce(_joined, found)
        return total

    def accumulate(self, resp: NDArray[Any], threads: int) -> NDArray[Any]:
        """Return sums (D, kp) weighted by ``resp`` (N, kp), which is sent to the workers."""
        found = self._each(_accumulated, threads, [resp])
        return tree_reduce(np.add, found) if found else np.zeros((self.shape[1], resp.shape[1]), self.dtype)

    def _each(self, function: Callable[..., Any], given: Any, per_row: Sequence[NDArray[Any]]) -> list[Any]:
        """Apply a function of rows, ``given`` and per-row values to blocks of parts; join the results of each block."""
        if not self._ranges:
            return []
        ends = np.cumsum([0, *(view.high - view.low for view in self._ranges)]).tolist()

        def attempt() -> list[Any]:
            shared = self._executor.share(given)
            calls = []
            for block in blocks(len(self._ranges), self._executor.workers):
                ranges = [tuple(view) for view in self._ranges[block]]
                rows = [[values[a:b] for values in per_row] for a, b in pairwise(ends[block.start : block.stop + 1])]
                calls.append((function, ranges, shared, rows))
            return self._executor.map(_in_block, calls)

        return _attempted(attempt)

    def _between(self, low: int, high: int) -> ChunkedRows:
        ranges, begin = [], 0
        for view in self._ranges:
            end = begin + view.high - view.low
            if begin < high and low < end:
                shift = view.low - begin
                ranges.append(RowRange(view.part, max(low, begin) + shift, min(high, end) + shift))
            begin = end
        return ChunkedRows(self._executor, ranges, self.shape[1], self.dtype, self._directed[low:high])

    def _few(self, wanted: NDArray[np.int64]) -> Any:
        """Bring rows here, in the order asked for."""
        ends = np.cumsum([view.high - view.low for view in self._ranges])
        places = np.searchsorted(ends, wanted, side="right")
        used, at = np.unique(places, return_inverse=True)
        calls = []
        for number in used.tolist():
            view = self._ranges[number]
            begin = int(ends[number]) - (view.high - view.low)
            calls.append((tuple(view), wanted[places == number] - begin))
        found = _attempted(lambda: self._executor.map(_picked, calls))
        if not found:
            return self._none()
        stacked = np.concatenate(found) if isinstance(found[0], np.ndarray) else csr_array(vstack(found, format="csr"))
        back = np.empty(len(wanted), np.int64)
        back[np.argsort(at, kind="stable")] = np.arange(len(wanted))
        return stacked[back]

    def _none(self) -> Rows:
        return csr_array((0, self.shape[1]), dtype=self.dtype)


class _Transposed:
    def __init__(self, x: ChunkedRows) -> None:
        self._x = x

    def __matmul__(self, vector: NDArray[Any]) -> NDArray[Any]:
        return tree_reduce(np.add, self._x._each(_weighted, None, [vector]))


def _attempted(attempt: Callable[[], list[Any]]) -> list[Any]:
    """Return what ``attempt`` does, again where workers were lost, but not for ever."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except WorkersLost:
            continue
    return attempt()


def _unit(matrix: Any) -> Rows:
    return unit_rows(matrix)[0]


def _rows(part: Any) -> Rows:
    """Read a part, unless it is at hand."""
    return _unit(part()) if callable(part) else part


def _checked(matrix: Any, number: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Return what `unit_rows` does of the part of a ``number``, which a ValueError names."""
    try:
        return unit_rows(matrix)
    except ValueError as error:
        raise ValueError(f"part {number}: {error}") from None


def _held(matrix: Any, number: int) -> Rows:
    return _checked(matrix, number)[0]


def _summary(part: Any, number: int) -> ChunkSummary:
    rows, empty = _checked(part() if callable(part) else part, number)
    return ChunkSummary(rows.shape, rows.dtype, ~empty)


def _in_block(function: Callable[..., Any], ranges: Sequence[tuple[Any, int, int]], given: Any, per_row: Any) -> Any:
    """Apply a function to neighbouring ranges, one at a time in memory, and join what it gives."""
    found = []
    for (part, low, high), values in zip(ranges, per_row, strict=True):
        rows = _rows(part)
        found.append(function(rows if (low, high) == (0, rows.shape[0]) else rows[low:high], given, *values))
        del rows
    first = found[0]
    if isinstance(first, Pass):
        return tree_reduce(_joined, found)
    if isinstance(first, Responsibilities):
        return Responsibilities(*(np.concatenate(column) for column in zip(*found, strict=True)))
    return tree_reduce(np.add, found) if function in (_accumulated, _weighted) else np.concatenate(found)


def _picked(view: tuple[Any, int, int], rows: NDArray[np.int64]) -> Rows:
    part, low, _ = view
    return _rows(part)[low + rows]


def _product(x: Rows, vector: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(x @ vector)


def _weighted(x: Rows, _: None, vector: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(x.T @ vector)


def _dots(x: Rows, given: Any) -> NDArray[Any]:
    m, threads = given
    return kernels.dots(x, m, threads=threads)


def _posterior(x: Rows, given: Any) -> Responsibilities:
    *rest, threads = given
    return kernels.posterior(x, *rest, threads=threads)


def _passed(x: Rows, given: Any, mass: NDArray[np.float64] | None = None) -> Pass:
    *rest, threads, threshold, beta, sums_only = given
    return kernels.posterior_accumulate(
        x, *rest, threads=threads, threshold=threshold, mass=mass, beta=beta, sums_only=sums_only
    )


def _accumulated(x: Rows, threads: int, resp: NDArray[Any]) -> NDArray[Any]:
    return kernels.accumulate(x, resp, threads=threads)


def _joined(a: Pass, b: Pass) -> Pass:
    """Add sums and put what belongs to rows behind each other."""
    rows = (np.concatenate([one, other]) for one, other in zip(a[3:], b[3:], strict=True))
    return Pass(a.s + b.s, a.nk + b.nk, a.q + b.q, *rows)
