"""Ids are recognised within a stated distance and in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from vmfstream.engine.duplicates import RecentIds


def test_a_repeated_id_is_recognised() -> None:
    recent = RecentIds(10)
    assert not recent.seen("a")
    assert not recent.seen("b")
    assert recent.seen("a")
    assert not recent.seen("A")


def test_the_distance_is_exactly_the_capacity() -> None:
    recent = RecentIds(4)
    for name in "abcd":
        assert not recent.seen(name)
    assert recent.seen("a")
    assert not recent.seen("e")  # forgets a, the oldest
    assert recent.seen("b")
    assert not recent.seen("a")  # forgets b
    assert [recent.seen(name) for name in "cdea"] == [True] * 4


def test_memory_is_bounded() -> None:
    recent = RecentIds(100)
    for i in range(1000):
        recent.seen(str(i))
    assert len(recent.state()) == 100
    assert len(recent._known) == 100


def test_a_recognised_id_is_not_remembered_twice() -> None:
    recent = RecentIds(3)
    for name in ("a", "a", "a", "b", "c"):
        recent.seen(name)
    assert recent.seen("a")
    assert len(recent.state()) == 3


@pytest.mark.parametrize("read", [0, 3, 8, 13, 100])
def test_restored_it_goes_on_the_same(read: int) -> None:
    whole, first, second = RecentIds(8), RecentIds(8), RecentIds(8)
    rng = np.random.default_rng(0)
    ids = [str(i) for i in rng.integers(0, 30, 300)]
    for id in ids[:read]:
        assert whole.seen(id) == first.seen(id)
    second.restore(first.state())
    assert [whole.seen(id) for id in ids[read:]] == [second.seen(id) for id in ids[read:]]
    np.testing.assert_array_equal(whole.state(), second.state())


def test_a_smaller_memory_keeps_the_newest() -> None:
    large, small = RecentIds(10), RecentIds(3)
    for i in range(10):
        large.seen(str(i))
    small.restore(large.state())
    assert [small.seen(str(i)) for i in (7, 8, 9)] == [True] * 3
    assert not small.seen("0")


def test_any_text_is_an_id() -> None:
    recent = RecentIds(5)
    assert not recent.seen("\ud800 half a pair")
    assert recent.seen("\ud800 half a pair")
    assert not recent.seen("")


def test_capacity_has_a_least_value() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RecentIds(0)
