"""Cutting an epoch into ranges of offsets, in the same way whoever reads them and however many they are.

A range is small and of a fixed size. Workers get blocks of neighbouring ranges (`vmfstream.directional.chunked.blocks`)
that are whole subtrees of the one binary tree along which all sums are made, so that the result is the same to the last
bit for any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence

from vmfstream.records import Range


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
