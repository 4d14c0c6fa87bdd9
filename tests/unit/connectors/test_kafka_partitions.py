"""Records of Kafka as columns, as messages, and in the order of their times."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from vmfstream.connectors.codecs import FieldCodec, Refusal
from vmfstream.connectors.kafka.partitions import Partition, RecordColumns, take_earliest
from vmfstream.records import Message, Rejected


def test_columns_hold_what_a_consumer_returns() -> None:
    records = [
        SimpleNamespace(offset=offset, timestamp=time, value=value, key=b"k%d" % offset, headers=[("by", b"Ann")])
        for offset, time, value in [(4, 10, b"abc"), (5, -1, None), (9, 7, b"")]
    ]
    columns = RecordColumns.of(records)
    assert columns.attached is None
    assert columns.offset.tolist() == [4, 5, 9]
    assert columns.time.tolist() == [10, -1, 7]
    assert columns.value == [b"abc", Refusal("no value: a tombstone of key b'k5'"), b""]
    assert columns.length.tolist() == [3, 0, 0]
    some = columns.between(5, 9)
    assert (some.offset.tolist(), some.value) == ([5], columns.value[1:2])
    with_keys = RecordColumns.of(records, ("@key", "@header.by", "@header.at")).between(9, 10)
    assert with_keys.attached == [{"@key": b"k9", "@header.by": b"Ann", "@header.at": None}]
    (message,) = with_keys.messages("t:0", True, 100)
    assert (message.value, message.attached) == ({"text": b""}, with_keys.attached[0])
    tombstone = columns.messages("t:0", True, 100)[1]
    rejected = FieldCodec().decode(tombstone)
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "no value: a tombstone of key b'k5'"
    assert columns.between(0, 100) is columns
    assert len(RecordColumns.of([])) == len(columns.between(6, 9)) == 0


def records(times: list[int], first: int = 0, size: int = 3) -> RecordColumns:
    n = len(times)
    return RecordColumns(np.arange(first, first + n), np.array(times), [b"x" * size] * n, np.full(n, size, np.int64))


def test_messages_have_their_time_and_too_long_ones_a_beginning() -> None:
    made = records([0, -1, 1_700_000_000_123, 10**15], size=2000).messages("t:0", False, 2000)
    assert [one.time for one in made] == [datetime(1970, 1, 1), None, datetime(2023, 11, 14, 22, 13, 20, 123000), None]
    assert {len(one.value) for one in made} == {2000}
    assert {one.oversized for one in made} == {None}
    long = records([5], size=2001).messages("t:0", True, 2000)
    assert (long[0].value, long[0].oversized) == ({"text": b"x" * 1024}, 2001)
    for text in (True, False):
        both = RecordColumns(np.arange(2), np.zeros(2, np.int64), [b"x" * 10, b"x" * 2500], np.array([10, 2500]))
        made = both.messages("t:0", text, 2000)
        assert both.sizes(2000).tolist() == [one.size for one in made]


def taken(parts: list[Partition], most: int) -> list[tuple[str, int]]:
    return [(one.part, one.offset) for one in take_earliest(parts, most)]


def filled(name: str, *some: RecordColumns, end: int = 0, now: int = 10**13) -> Partition:
    part = Partition(name)
    part.start_at(int(some[0].offset[0]), end)
    for one in some:
        part.add(one, now, False, 100)
    return part


def test_messages_of_partitions_come_by_time_then_by_partition() -> None:
    parts = [filled("a", records([1, 5, 5]), records([9], 3)), filled("b", records([2, 5, 7]))]
    assert taken(parts, 4) == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]
    assert taken(parts, 10) == [("b", 1), ("b", 2), ("a", 3)]
    assert taken(parts, 10) == []
    assert [part.bytes for part in parts] == [0, 0]


def test_nothing_later_than_what_may_still_come_is_given() -> None:
    parts = [filled("a", records([1, 5, 9])), filled("b", records([2, 6]), end=100)]
    assert taken(parts, 10) == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert taken(parts, 10) == []  # "b" may have messages of the time 7


def test_times_never_run_back_nor_ahead_of_now() -> None:
    parts = [filled("a", records([50, 10, 999, 60]), now=100), filled("b", records([40, 55, 100]), now=100)]
    assert taken(parts, 10) == [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]


def test_the_middle_of_a_batch_is_no_beginning() -> None:
    part = Partition("a")
    part.start_at(2, 0)
    part.add(records([1, 2, 3, 4]), 100, False, 100)
    assert taken([part], 10) == [("a", 2), ("a", 3)]
    assert part.next == 4


def test_what_waits_is_forgotten() -> None:
    part = filled("a", records([1, 2]))
    assert part.bytes == sum(Message("a", i, b"xxx").size for i in range(2))
    part.clear()
    assert (part.bytes, taken([part], 5)) == (0, [])


def test_nobody_waits_for_ends_of_transactions() -> None:
    """They stand behind the messages and are not given to readers."""
    ended, later = filled("a", records([1, 5]), end=3), filled("b", records([9]))
    assert taken([ended, later], 10) == [("a", 0), ("a", 1)]
    assert (ended.lag(2), later.lag(0)) == (1, 0)
    ended.skip(3)
    assert taken([ended, later], 10) == [("b", 0)]
    assert [ended.lag(position) for position in (0, 1, 2, 3, 4)] == [3, 2, 0, 0, 0]


def test_times_of_messages_are_taken_for_utc() -> None:
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.records import Document

    (made,) = records([1_700_000_000_000]).messages("t:0", True, 100)
    document = FieldCodec().decode(made)
    assert isinstance(document, Document)
    assert document.time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_of_a_thousand_partitions_only_those_with_messages_are_asked() -> None:
    class Counted(Partition):
        asked = 0

        def times_until(self, horizon: int | None, most: int) -> NDArray[np.int64]:
            Counted.asked += 1
            return super().times_until(horizon, most)

    parts: list[Partition] = [Counted(str(number)) for number in range(1000)]
    assert (taken(parts, 10), Counted.asked) == ([], 0)
    parts[500].add(records([5, 6]), 100, False, 100)
    parts[7].add(records([6]), 100, False, 100)
    assert taken(parts, 10) == [("500", 0), ("7", 0), ("500", 1)]
    assert Counted.asked == 2
