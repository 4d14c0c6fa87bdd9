"""Admission on columns decides as it would message by message, whatever limits end it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from vmfstream.clock import SteadyClock
from vmfstream.engine.loop.admission import (
    NEIGHBOURS,
    NO_DOCUMENT,
    NOT_BEGUN,
    Admission,
    Doubt,
    MessageColumns,
    RecentIds,
    Verdict,
    admit,
    message_columns,
    separated,
)
from vmfstream.records import Document, Documents, Rejected
from vmfstream.slicing import Slicing

NOTHING = np.zeros(0, np.int64)
YEAR, COUNTED = Slicing.parse("year"), Slicing("documents", 10)


def one_by_one(
    columns: MessageColumns,
    open_slice: int,
    slicing: Slicing,
    doubt: Doubt,
    after: list[int],
    recent: RecentIds,
    most: int,
    room: int,
    lengths: list[int],
) -> Admission:
    """The rules as sentences."""
    decision = [Verdict.DEFER] * len(columns.slice)
    learnt = late = size = 0
    for i, (index, digest) in enumerate(zip(columns.slice.tolist(), columns.digest.tolist(), strict=True)):
        ahead = 0 if slicing.documents or index == NO_DOCUMENT else index - open_slice
        following = [one for one in [*columns.slice[i + 1 :].tolist(), *after] if one != NO_DOCUMENT][:NEIGHBOURS]
        agree = sum(one >= index - doubt.max_gap for one in following)
        enough = len(following) if index > doubt.today else len(following) / 2
        believed = agree >= enough if following else index <= doubt.today
        if ahead > 0 and (ahead <= doubt.max_gap or believed):
            return Admission(np.array(decision), i, learnt, late, index)
        if index == NO_DOCUMENT:
            decision[i] = Verdict.UNDECODED
        elif ahead > 0:
            decision[i] = Verdict.TOO_FAR_AHEAD
        elif recent.seen(digest):
            decision[i] = Verdict.REPEATED
        else:
            decision[i] = Verdict.LEARN
            learnt, late, size = learnt + 1, late + (ahead < 0), size + lengths[i]
            if learnt == most or size >= room:
                return Admission(np.array(decision), i + 1, learnt, late, None)
    return Admission(np.array(decision), len(decision), learnt, late, None)


@pytest.mark.parametrize("slicing", [YEAR, COUNTED])
@pytest.mark.parametrize("seed", range(40))
def test_columns_decide_as_message_by_message(slicing: Slicing, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40))
    index = rng.choice([1999, 2000, 2000, 2000, 2000, (2000, 2001, 2005, 2006)[seed % 4], 2900, NO_DOCUMENT], n)
    columns = MessageColumns(index.astype(np.int64), rng.integers(0, 30, n).astype(np.uint64))
    lengths = rng.integers(0, 5, n).tolist()
    most, room = int(rng.integers(1, 30)), int(rng.integers(1, 60))
    ours, theirs = RecentIds(8), RecentIds(8)
    doubt, after = Doubt(5, (2026, 3000)[seed % 2]), rng.choice([2000, 2900, NO_DOCUMENT], int(rng.integers(0, 12)))
    limits: dict[str, Any] = {"documents": most, "characters": room, "lengths": np.array(lengths)}
    found = admit(columns, 2000, slicing, doubt, ours, after=after, **limits)
    wanted = one_by_one(columns, 2000, slicing, doubt, after.tolist(), theirs, most, room, lengths)
    np.testing.assert_array_equal(found.decision, wanted.decision)
    assert (found.taken, found.learnt, found.late) == (wanted.taken, wanted.learnt, wanted.late)
    assert found.next_slice == wanted.next_slice
    np.testing.assert_array_equal(ours.state(), theirs.state())


def record(offset: int, year: int, id: str = "") -> Document:
    return Document("a", offset, id or str(offset), datetime(year, 6, 1, tzinfo=UTC), "text")


def test_messages_are_separated_with_the_reasons_of_their_rejection() -> None:
    records: list[Document | Rejected] = [
        record(0, 2000),
        Rejected("a", 1, "not JSON"),
        record(2, 2900),
        record(3, 2000, "0"),
        record(4, 1999),
    ]
    columns = message_columns(Documents.of([*records, record(5, 2001), record(6, 2000)]), YEAR)
    assert columns.slice.tolist() == [2000, NO_DOCUMENT, 2900, 2000, 1999, 2001, 2000]
    admission = admit(columns, 2000, YEAR, Doubt(5, 2026), RecentIds(9), after=NOTHING)
    assert (admission.taken, admission.learnt, admission.late, admission.next_slice) == (5, 2, 1, 2001)
    documents, rejected = separated(Documents.of(records), admission.decision[:5], YEAR, 2000)
    assert [one.offset for one in documents] == [0, 4]
    assert [(one.offset, one.reason) for one in rejected] == [
        (1, "not JSON"),
        (
            2,
            "too far ahead: 2900-06-01T00:00:00+00:00 lies 900 slices ahead of the open one, "
            "and the next documents do not agree",
        ),
        (3, "read before: id '0'"),
    ]


def test_slices_of_documents_have_no_number_by_time() -> None:
    documents = Documents.of([record(0, 1990), Rejected("a", 1, "?"), record(2, 2010)])
    assert message_columns(documents, COUNTED).slice.tolist() == [0, NO_DOCUMENT, 0]


@pytest.mark.parametrize(
    ("slices", "first"),
    [
        ([NO_DOCUMENT, 1990, 1980], 1990),
        ([NO_DOCUMENT], None),
        ([9999, 1990, 1990], 1990),  # far after the others
        ([9999, 9998, *[1990] * 5], 1990),
        ([1990] * 4 + [1970] * 3, 1990),  # most of the first documents agree
        ([9999] * 7 + [1990] * 3, 1990),  # after the clock all must
        ([9999] * 9, 9999),
        ([1, 1990, 1990], 1),  # an early time makes nobody late
        ([9999], None),
        ([2026], 2026),
    ],
)
def test_a_stream_begins_with_the_first_time_that_is_believed(slices: list[int], first: int | None) -> None:
    assert Doubt(16, 2026).first(np.array(slices), NOTHING) == first


@pytest.mark.parametrize("seed", range(60))
def test_more_messages_change_nothing_that_is_not_open(seed: int) -> None:
    rng = np.random.default_rng(seed)
    doubt, start = Doubt(5, 2026), (2000, NOT_BEGUN)[seed % 2]
    slices = rng.choice(
        [2000, 2000, 2000, 2001, 2300, 2301, 2900, NO_DOCUMENT], 60, p=[0.3, 0.2, 0.2, 0.01, *[0.07] * 3, 0.08]
    )
    waited = 0
    for n in range(1, 40):
        if doubt.open(slices[:n], start):
            waited += 1
            continue
        found = []
        for m in (n, 60):
            columns = MessageColumns(slices[:n], np.arange(n).astype(np.uint64))
            found.append(admit(columns, start, YEAR, doubt, RecentIds(99), after=slices[n:m]))
        np.testing.assert_array_equal(found[0].decision, found[1].decision)
        assert found[0].next_slice == found[1].next_slice
    assert waited > 0


def test_a_clock_that_is_set_back_makes_no_time_unbelievable(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter([1.75e9, 0.0])  # the clock of 2025 is set to 1970
    monkeypatch.setattr("vmfstream.engine.loop.admission.now", SteadyClock(lambda: next(wall), lambda: 5.0))
    before, after = Doubt.now(YEAR, 16), Doubt.now(YEAR, 16)
    assert before == after == Doubt(16, 2026)
