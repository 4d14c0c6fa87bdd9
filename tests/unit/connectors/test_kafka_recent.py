"""The newest records, kept for those who send on what was found out about them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from vmfstream.connectors.kafka.recent import RecentRecords


def records(first: int, last: int, size: int = 10) -> list[Any]:
    return [SimpleNamespace(offset=offset, value=b"x" * size) for offset in range(first, last)]


def test_records_are_taken_once_by_part_and_offset() -> None:
    kept = RecentRecords()
    kept.add("a:0", records(0, 5))
    kept.add("a:1", records(0, 5))
    kept.add("a:0", records(5, 9))
    assert list(kept.take("a:0", [1, 3, 6])) == [1, 3, 6]
    assert list(kept.take("a:0", [2, 7, 8])) == [7, 8]  # what came before the last that was taken is gone
    assert list(kept.take("a:1", [0, 4])) == [0, 4]
    assert kept.take("a:0", [8]) == kept.take("b:0", [1]) == kept.take("a:1", []) == {}


def test_memory_is_bounded_by_forgetting_the_oldest() -> None:
    kept = RecentRecords(most=5000)
    for first in range(0, 100, 2):
        kept.add(f"a:{first % 4 // 2}", records(first, first + 2, size=1000))
    assert kept.take("a:0", [0, 4]) == {}
    assert list(kept.take("a:1", [98, 99])) == [98, 99]
    kept.add("a:0", records(100, 101))
    kept.clear()
    assert kept.take("a:0", [100]) == {}


def test_what_was_taken_needs_no_room() -> None:
    kept = RecentRecords(most=3000)
    for first in range(0, 50, 2):
        kept.add("a:0", records(first, first + 2))
        assert list(kept.take("a:0", [first, first + 1])) == [first, first + 1]
    assert kept._bytes == 0
