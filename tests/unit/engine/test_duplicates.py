"""Ids are recognised within a stated distance and in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from vmfstream.engine.loop.admission import RecentIds, digests


def seen(recent: RecentIds, id: str) -> bool:
    return recent.seen(*digests([id]))


def test_a_repeated_id_is_recognised() -> None:
    recent = RecentIds(10)
    assert not seen(recent, "a")
    assert not seen(recent, "b")
    assert seen(recent, "a")
    assert not seen(recent, "A")


def test_the_distance_is_exactly_the_capacity() -> None:
    recent = RecentIds(4)
    for name in "abcd":
        assert not seen(recent, name)
    assert seen(recent, "a")
    assert not seen(recent, "e")  # forgets a, the oldest
    assert seen(recent, "b")
    assert not seen(recent, "a")  # forgets b
    assert [seen(recent, name) for name in "cdea"] == [True] * 4


def test_memory_is_bounded() -> None:
    recent = RecentIds(100)
    for i in range(1000):
        seen(recent, str(i))
    assert len(recent.state()) == 100
    assert len(recent._known) == 100


def test_a_recognised_id_is_not_remembered_twice() -> None:
    recent = RecentIds(3)
    for name in ("a", "a", "a", "b", "c"):
        seen(recent, name)
    assert seen(recent, "a")
    assert len(recent.state()) == 3


@pytest.mark.parametrize("capacity", [7, 20, 300])
def test_many_at_once_are_remembered_as_one_by_one(capacity: int) -> None:
    rng = np.random.default_rng(0)
    whole, single, taken = RecentIds(capacity), RecentIds(capacity), 0
    for _ in range(200):
        some = rng.integers(0, 2**62 if rng.random() < 0.5 else 400, rng.integers(0, 9)).astype(np.uint64)
        before = single.state()
        again = [single.seen(digest) for digest in some.tolist()]
        if whole.all_new(some):
            taken += 1
            assert not any(again)
        else:
            assert any(again) or len(some) > capacity or set(some.tolist()) & set(before.tolist())
            for digest in some.tolist():
                whole.seen(digest)
        np.testing.assert_array_equal(whole.state(), single.state())
        assert whole._known == single._known
    assert 50 < taken < 200


@pytest.mark.parametrize("read", [0, 3, 8, 13, 100])
def test_restored_it_goes_on_the_same(read: int) -> None:
    whole, first, second = RecentIds(8), RecentIds(8), RecentIds(8)
    rng = np.random.default_rng(0)
    ids = [str(i) for i in rng.integers(0, 30, 300)]
    for id in ids[:read]:
        assert seen(whole, id) == seen(first, id)
    second.restore(first.state())
    assert [seen(whole, id) for id in ids[read:]] == [seen(second, id) for id in ids[read:]]
    np.testing.assert_array_equal(whole.state(), second.state())


def test_a_smaller_memory_keeps_the_newest() -> None:
    large, small = RecentIds(10), RecentIds(3)
    for i in range(10):
        seen(large, str(i))
    small.restore(large.state())
    assert [seen(small, str(i)) for i in (7, 8, 9)] == [True] * 3
    assert not seen(small, "0")


def test_any_text_is_an_id() -> None:
    recent = RecentIds(5)
    assert not seen(recent, "\ud800 half a pair")
    assert seen(recent, "\ud800 half a pair")
    assert not seen(recent, "")


def test_capacity_has_a_least_value() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RecentIds(0)
