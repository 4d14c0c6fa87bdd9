"""Cutting an epoch into ranges of offsets, in the same way whoever reads them and however many they are.

A range is small and of a fixed size; workers get blocks of neighbouring ranges. Sums over ranges are made along one
binary tree of the ranges, and a block is a whole subtree, so that the result is the same to the last bit for any number
of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from vmfstream.records import Range

T = TypeVar("T")


def apportioned(total: int, sizes: Sequence[int]) -> list[int]:
    """Share ``total`` out in proportion to ``sizes``, to none more than its size (largest remainders, then the first).

    Examples
    --------
    >>> apportioned(10, [100, 50, 50]), apportioned(10, [3, 1])
    ([5, 3, 2], [3, 1])
    """
    whole = sum(sizes)
    if total >= whole:
        return list(sizes)
    shares = [total * size // whole for size in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (-(total * sizes[i] % whole), i))
    for i in order[: total - sum(shares)]:
        shares[i] += 1
    return shares


def planned(extents: Sequence[Range], budget: int, size: int) -> list[Range]:
    """Return the ranges of an epoch of at most ``budget`` messages, part by part, each of at most ``size`` messages.

    Every part gives in proportion to what it holds, so that all are read to their ends at the same time.
    """
    out = []
    for extent, share in zip(extents, apportioned(budget, [len(e) for e in extents]), strict=True):
        end = extent.first + share
        out += [Range(extent.part, low, min(low + size, end)) for low in range(extent.first, end, size)]
    return out


def blocks(ranges: int, workers: int) -> list[slice]:
    """Cut so many ranges into blocks that are whole subtrees, about one per worker and none much larger than others.

    Examples
    --------
    >>> [(b.start, b.stop) for b in blocks(9, 3)]
    [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    """
    size = 1
    while 2 * size * workers <= ranges:
        size *= 2
    return [slice(low, min(low + size, ranges)) for low in range(0, ranges, size)]


def along_the_tree(merge: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Merge neighbours, then neighbours of the results, until one is left.

    Examples
    --------
    >>> along_the_tree("({}{})".format, "abcde")
    '(((ab)(cd))e)'
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [merge(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def joined(ranges: Sequence[Range]) -> Mapping[str, Range]:
    """Return what the ranges of a plan read of each part."""
    out: dict[str, Range] = {}
    for one in ranges:
        out[one.part] = Range(one.part, out[one.part].first if one.part in out else one.first, one.last)
    return out
