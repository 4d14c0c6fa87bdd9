"""A message with a wrong time moves no stream: it is rejected with its reason, and the others are as without it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from tests.tiers import first_of
from tests.unit.engine.documents import SUBJECTS, OneByOne, closed, engine, plain, run
from tests.unit.engine.parts import Parts
from tests.unit.engine.parts import run as run_ranged
from vmfstream.connectors.memory import PAUSE
from vmfstream.records import Rejected
from vmfstream.runfile.memory import MemoryStore

BEGIN = datetime(2021, 3, 1, tzinfo=UTC)


def document(i: int, moment: datetime | str) -> dict[str, Any]:
    """A document of a subject at a moment."""
    told = moment if isinstance(moment, str) else moment.isoformat()
    return {"id": str(i), "time": told, "text": " ".join(SUBJECTS[i % 3][: 4 + i % 3])}


def hours(count: int, many: int = 30) -> list[dict[str, Any]]:
    """Documents of so many hours one after the other."""
    return [document(i, BEGIN + timedelta(hours=i // many, minutes=i % many)) for i in range(count * many)]


def rejected(store: MemoryStore) -> list[Rejected]:
    return [one for commit in store.commits for one in commit.rejected]


def late(store: MemoryStore) -> int:
    return sum(commit.epoch.late for commit in store.commits)


CLEAN = hours(6)


@cache
def wanted_reports() -> list[Any]:
    return [plain(report) for report in closed(run(CLEAN, slices="hour"))]


@pytest.mark.parametrize(
    ("place", "moment"),
    [
        *((place, BEGIN + timedelta(hours=900)) for place in (0, 1, 45, 89, 90, 179)),
        *((place, moment) for place in (0, 1, 90, 180) for moment in ("9999-12-31", "2101-01-01")),
    ],
)
def test_a_message_far_ahead_is_as_if_it_had_not_come(place: int, moment: datetime | str) -> None:
    items = [*CLEAN[:place], document(1000, moment), *CLEAN[place:]]
    store = run(items, slices="hour")
    (told,) = rejected(store)
    assert told.offset == place
    assert told.reason.endswith("and the next documents do not agree")
    assert late(store) == 0
    assert [plain(report) for report in closed(store)] == wanted_reports()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", first_of([{"epoch_documents": 7, "batch_documents": 3}, {"epoch_documents": 37}, {}])
)
def test_what_is_rejected_does_not_depend_on_cuts(settings: dict[str, Any]) -> None:
    items: list[Any] = list(CLEAN)
    for at, ahead in ((0, 900), (31, 9000), (32, 8000), (60, 900), (95, 100), (178, 50)):
        items.insert(at, document(1000 + at, BEGIN + timedelta(hours=ahead)))
    items[50] = b"no json"
    wanted = [(one.offset, one.reason) for one in rejected(run(items, slices="hour"))]
    assert [offset for offset, _ in wanted] == [0, 31, 32, 50, 60, 95, 178]
    for source in (items, OneByOne(items)):
        store = run(source, slices="hour", **settings)
        assert [(one.offset, one.reason) for one in rejected(store)] == wanted
        assert late(store) == 0
    resumed = MemoryStore()
    for stop_at in range(20, 200, 20):
        part = engine(items, resumed, slices="hour", **settings)
        part.run(stop=lambda part=part, stop_at=stop_at: part.documents >= stop_at)  # type: ignore[misc]
    engine(items, resumed, slices="hour", **settings).run()
    assert [(one.offset, one.reason) for one in rejected(resumed)] == wanted


def test_workers_reject_the_same() -> None:
    items = [document(2000, "9999-01-01"), *CLEAN[:100], document(2001, BEGIN + timedelta(hours=900)), *CLEAN[100:]]
    for size in (200, 37):
        store = run_ranged(Parts({"a": items}), slices="hour", epoch_documents=size)
        assert [one.offset for one in rejected(store)] == [0, 101]
        assert late(store) == 0


def test_a_stream_that_begins_with_the_year_one_goes_on() -> None:
    store = run([document(1000, "0001-01-01"), *CLEAN], slices="day")
    assert rejected(store) == []
    assert [report.n for report in closed(store)][-1] == 180


@pytest.mark.parametrize("silence", [17, 900, 100_000])
def test_a_silence_is_no_error(silence: int) -> None:
    before, after = hours(2), hours(2)
    for i, one in enumerate(after):
        one |= document(500 + i, BEGIN + timedelta(hours=2 + silence + i // 30))
    began = time.process_time()
    store = run([*before, *after], slices="hour")
    assert time.process_time() - began < 5.0
    assert rejected(store) == []
    assert late(store) == 0
    assert [report.n for report in closed(store) if report.n] == [30] * 4


@pytest.mark.parametrize("place", [0, 90])
def test_some_messages_after_the_clock_are_as_if_they_had_not_come(place: int) -> None:
    """Half of their next ones agree with them, but others do not."""
    wrong = [document(1000 + i, "9999-12-31") for i in range(7)]
    store = run([*CLEAN[:place], *wrong, *CLEAN[place:]], slices="hour")
    assert [one.offset for one in rejected(store)] == list(range(place, place + 7))
    assert late(store) == 0
    assert [plain(report) for report in closed(store)] == wanted_reports()


def test_a_stream_may_lie_after_the_clock() -> None:
    ahead = [one | {"time": one["time"].replace("2021", "2921")} for one in CLEAN]
    store = run(ahead, slices="hour")
    assert not rejected(store)
    assert sum(commit.epoch.n for commit in store.commits) == len(CLEAN)


def test_a_document_alone_is_believed_up_to_now() -> None:
    now = datetime.now(UTC)
    quiet = [PAUSE] * 60
    for moment, believed in ((now, True), (now + timedelta(days=2), False)):
        items: list[Any] = [*CLEAN, *quiet, document(1000, moment), *quiet, document(1001, now)]
        store = run(items, slices="hour")
        assert [one.offset for one in rejected(store)] == ([] if believed else [180])
        assert late(store) == 0
