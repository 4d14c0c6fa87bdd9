"""Cutting an epoch: everything once, in a fixed order, and sums that do not know how many workers there were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.directional.chunked import blocks, tree_reduce
from vmfstream.engine.scale.ranged_batches import apportioned, planned
from vmfstream.records import Range

SIZES = st.lists(st.integers(0, 50), max_size=8)


@given(st.integers(0, 200), SIZES)
def test_shares_are_whole_and_in_proportion(total: int, sizes: list[int]) -> None:
    shares = apportioned(total, sizes)
    assert sum(shares) == min(total, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    if total < sum(sizes):
        assert all(abs(share - total * size / sum(sizes)) < 1 for share, size in zip(shares, sizes, strict=True))


@given(SIZES, st.integers(1, 100), st.integers(1, 20))
def test_a_plan_reads_every_part_from_where_it_stands_without_gaps(sizes: list[int], budget: int, size: int) -> None:
    extents = [Range(f"p{i}", 7 * i, 7 * i + size) for i, size in enumerate(sizes)]
    plan = planned(extents, budget, size)
    assert sum(map(len, plan)) == min(budget, sum(sizes))
    assert all(0 < len(one) <= size for one in plan)
    for extent in extents:
        mine = [one for one in plan if one.part == extent.part]
        ends = [extent.first, *(one.last for one in mine)]
        assert [one.first for one in mine] == ends[:-1]
    assert [one.part for one in plan] == sorted(one.part for one in plan)


@given(st.integers(1, 70), st.integers(1, 12))
def test_blocks_are_subtrees(ranges: int, workers: int) -> None:
    names = [f"{i}" for i in range(ranges)]
    cut = blocks(ranges, workers)
    assert [name for block in cut for name in names[block]] == names
    assert len(cut) >= min(workers, ranges)
    merge = "({} {})".format
    assert tree_reduce(merge, [tree_reduce(merge, names[block]) for block in cut]) == tree_reduce(merge, names)


@pytest.mark.parametrize(("ranges", "workers", "count"), [(1, 8, 1), (8, 8, 8), (8, 2, 2), (64, 4, 4), (12, 4, 6)])
def test_there_is_about_a_block_per_worker(ranges: int, workers: int, count: int) -> None:
    assert len(blocks(ranges, workers)) == count
