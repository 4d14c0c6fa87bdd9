"""Runs of very many slices: several slices a date, which the page says; and few pages are made to be thrown away."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette, with_stories
from tests.unit.dashboards.test_far_slices import moved, of_size
from tests.unit.dashboards.written import write_run_file
from vmfstream.dashboards.export import build_page, first_that_fits
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.page.document_lists import answer
from vmfstream.dashboards.page.drawings import PagePlan
from vmfstream.dashboards.rows.geometry import angles_seen_from, degrees_between, sketch_of, unit
from vmfstream.dashboards.rows.history import LONGEST_GAP, History, read_history
from vmfstream.dashboards.rows.merged import MOST_DATES, MergedRows, rows_of_page
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.runfile.queries import (
    DocumentChoice,
    DocumentCountFrame,
    ListedFrame,
    Reader,
    Reading,
    kept,
)

PER, SLICES, TOPICS = 3, 29, 8
READINGS: tuple[Reading, Reading] = ("filtered", "smoothed")


@pytest.fixture(scope="module")
def rows() -> FakeRows:
    return gazette(slices=SLICES, topics=TOPICS, settling=4)


@pytest.fixture(scope="module")
def merged(rows: FakeRows) -> CachedRows:
    return CachedRows(MergedRows(rows, PER))


def ends() -> list[int]:
    """The last slices of dates, counted back from the newest: the first date has two slices."""
    return list(range((SLICES - 1) % PER, SLICES, PER))


def slices_of(date: int) -> range:
    return range(max(0, ends()[date] - PER + 1), ends()[date] + 1)


def test_few_slices_stay_as_they_are_and_more_become_as_many_dates_as_a_page_has(rows: FakeRows) -> None:
    assert rows_of_page(rows) is rows
    assert rows_of_page(rows, SLICES) is rows
    assert read_history(rows_of_page(rows, SLICES - 1), "filtered").index.size == 15
    assert read_history(rows_of_page(rows, 10), "filtered").index.size == 10
    assert MOST_DATES >= 732, "two years of days"


@pytest.mark.parametrize("reading", READINGS)
def test_a_date_has_the_documents_of_its_slices_and_the_topics_of_its_last(
    rows: FakeRows, merged: CachedRows, reading: Reading
) -> None:
    fine, history = read_history(rows, reading), read_history(merged, reading)
    assert history.per == PER
    assert history.labels == tuple(fine.labels[s] for s in ends())
    assert history.topic.tolist() == fine.topic.tolist()
    last_is_elsewhere = 0
    for date, end in enumerate(ends()):
        own = slices_of(date)
        assert history.n[date] == sum(fine.n[s] for s in own)
        assert history.warm_up[date] == any(fine.warm_up[s] for s in own)
        for t in range(fine.topic.size):
            there = [s for s in own if not np.isnan(fine.documents[s, t])]
            if not there:
                assert np.isnan(history.documents[date, t])
                continue
            s = there[-1]
            last_is_elsewhere += s != end
            assert history.documents[date, t] == pytest.approx(sum(fine.documents[s, t] for s in there))
            share = sum(fine.share[s, t] * fine.n[s] for s in there) / history.n[date]
            assert history.share[date, t] == pytest.approx(share)
            assert history.certainty[date, t] == fine.certainty[s, t]
            assert history.strongest(date, t, 9) == fine.strongest(s, t, 9)
    assert last_is_elsewhere, "a topic that ends within a date"


def column(history: History, rows: Any, topic: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return sketch_of(rows, history, topic), angles_seen_from(rows, history, topic)


@pytest.mark.parametrize("reading", READINGS)
def test_angles_are_those_of_the_last_slice_and_drift_is_since_the_date_before(
    rows: FakeRows, merged: CachedRows, reading: Reading
) -> None:
    fine, history = read_history(rows, reading), read_history(merged, reading)
    for t in (0, 2, 7):
        topic = int(fine.topic[t])
        (means, apart), (own_means, own_apart) = column(fine, rows, topic), column(history, merged, topic)
        there = ~np.isnan(fine.documents[:, t])
        for date, end in enumerate(ends()):
            if not there[end]:
                continue
            np.testing.assert_allclose(own_means[date], means[end])
            alive = ~np.isnan(apart[end])
            np.testing.assert_allclose(own_apart[date][alive], apart[end][alive])
            before = end - PER
            if before >= 0 and there[before]:
                drift = degrees_between(unit(means[end]), unit(means[before]))
                assert history.drift_angle[date, t] == pytest.approx(drift)
    first = ~np.isnan(history.documents[0])
    assert np.isnan(history.drift_angle[0, first]).all()


def test_a_date_whose_last_slice_is_not_smoothed_yet_is_filtered(rows: FakeRows) -> None:
    late = SLICES - 2  # the last of its date is not smoothed, the one before is
    behind = replace(rows, **_without_smoothed_from(rows, late + 1))
    history = read_history(MergedRows(behind, PER), "smoothed")
    filtered, smoothed = (read_history(MergedRows(rows, PER), reading) for reading in READINGS)
    np.testing.assert_array_equal(history.documents[-1], filtered.documents[-1][np.isin(filtered.topic, history.topic)])
    np.testing.assert_array_equal(history.documents[-2], smoothed.documents[-2][np.isin(smoothed.topic, history.topic)])


def _without_smoothed_from(rows: FakeRows, first: int) -> dict[str, Any]:
    return {
        name: (frames := getattr(rows, name)) | {"smoothed": kept(frames["smoothed"], frames["smoothed"].slice < first)}
        for name in ("topic_frames", "word_frames", "sketch_frames")
    }


@pytest.mark.thorough
def test_a_run_file_gives_the_same_as_tables(tmp_path: Path) -> None:
    """Its queries read the slices at which topics are looked at, and no others."""
    rows = gazette(slices=5, topics=3)
    path = write_run_file(tmp_path / "run.duckdb", rows)
    of_file, of_tables = MergedRows(Reader(path), PER), MergedRows(rows, PER)
    for reading in READINGS:
        one, other = read_history(of_file, reading), read_history(of_tables, reading)
        assert one.vocabulary == other.vocabulary
        for name in ("documents", "share", "word"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for name in ("angles", "sketches"):
            left, right = getattr(of_file, name)(reading), getattr(of_tables, name)(reading)
            np.testing.assert_array_equal(left.slice, right.slice)
            assert left.slice.size
        asked = of_file._asked(reading)
        assert set(Reader(path).word_codes(reading, 60, asked).slice.tolist()) == set(asked) < set(range(5))
        assert set(Reader(path).sketches(reading, None, asked).slice.tolist()) == set(asked)
        assert set(Reader(path).angles(reading, None, asked).slice.tolist()) == set(asked)
    assert Reader(path).names((0,)).slice.tolist() == [0] * len(Reader(path).names((0,)).slice)


def test_events_documents_and_stories_stand_at_their_dates(rows: FakeRows) -> None:
    count = rows.event_frame.kind.size
    more: Any = replace(
        rows.event_frame, kind=np.array(["ended"] * count, object), value=np.arange(count, dtype=np.float64)
    )
    told = with_stories(replace(rows, event_frame=_joined(rows.event_frame, more)), (1, 5, 0, 10, "one story"))
    merged = MergedRows(told, PER)
    events, fine = merged.events(), told.events()
    date_of = {s: date for date in range(len(ends())) for s in slices_of(date)}
    assert events.slice.tolist() == [date_of[s] for s in fine.slice.tolist()]
    ended = fine.kind == "ended"
    silent = [max(1, round(value / PER)) if value > 0 else value for value in fine.value[ended]]
    assert events.value[ended].tolist() == pytest.approx(silent)
    np.testing.assert_array_equal(events.value[~ended], fine.value[~ended])
    stories = merged.stories()
    assert (stories.first_slice.tolist(), stories.last_slice.tolist()) == ([0], [date_of[10]])
    assert merged.epochs().slice.tolist() == [date_of[s] for s in range(SLICES)]
    documents, all_of_them = merged.representative(), told.representative()
    most = int(all_of_them.rank.max())
    for date in (0, 4):
        own = (documents.slice == date) & (documents.topic == 2)
        assert documents.rank[own].tolist() == list(range(1, most + 1))
        newest = all_of_them.id[(all_of_them.slice == ends()[date]) & (all_of_them.topic == 2)][0]
        assert documents.id[own][0] == newest


def _joined(one: Any, other: Any) -> Any:
    """Return the events of two frames, in the order of their slices."""
    parts = {f.name: np.concatenate([getattr(one, f.name), getattr(other, f.name)]) for f in fields(one)}
    return kept(type(one)(**parts), np.argsort(parts["slice"], kind="stable"))


class Listed(FakeRows):
    """Rows with documents: of each slice, three of topic 1, of which one of each is of story 5, and one of topic 2."""

    def newest_listed(self, most: int, stories: Any) -> ListedFrame:
        slices = np.repeat(np.arange(SLICES)[::-1], 4)
        count = slices.size
        names = np.array([f"d{k}" for k in range(count)], object)
        return ListedFrame(
            id=names,
            time=np.full(count, np.datetime64("2020-01-01", "us")),
            slice=slices,
            topic=np.tile([1, 1, 1, 2], SLICES),
            probability=np.ones(count),
            story=np.tile([5, -1, -1, -1], SLICES),
            text=names,
        )

    def listed_counts(self) -> DocumentCountFrame:
        return DocumentCountFrame(np.repeat(np.arange(SLICES), 2), np.tile([1, 2], SLICES), np.tile([3, 1], SLICES))


def test_lists_have_the_newest_documents_of_a_date_and_of_a_story(rows: FakeRows) -> None:
    listed = Listed(**{name: getattr(rows, name) for name in FakeRows.__dataclass_fields__})
    merged = MergedRows(listed, PER)
    counts = merged.listed_counts()
    assert dict(
        zip(zip(counts.slice.tolist(), counts.topic.tolist(), strict=True), counts.n.tolist(), strict=True)
    ) == {(date, topic): each * len(slices_of(date)) for date in range(len(ends())) for topic, each in ((1, 3), (2, 1))}
    found = merged.newest_listed(2, (5,))
    assert found.slice[found.topic == 1].tolist() == [9, 9, 9, *(date for date in range(8, -1, -1) for _ in range(2))]
    assert found.id[(found.slice == 9) & (found.topic == 1)].tolist() == ["d0", "d1", "d4"]  # two of the story
    assert found.id[(found.slice == 9) & (found.topic == 2)].tolist() == ["d3", "d7"]
    assert "d4" not in merged.newest_listed(2, ()).id.tolist()


def test_the_server_lists_the_documents_of_all_slices_of_a_date(rows: FakeRows) -> None:
    asked: list[DocumentChoice] = []

    class Answers:
        def listed(self, choice: DocumentChoice, *, limit: int, skip: int) -> ListedFrame:
            asked.append(choice)
            frame = Listed.newest_listed(rows, limit, ())  # type: ignore[arg-type]
            return kept(frame, np.flatnonzero((frame.slice >= 23) & (frame.slice <= 25))[:2])

        def count_documents(self, choice: DocumentChoice) -> int:
            return 12

    reader: Any = Answers()
    for page_rows, date in ((CachedRows(MergedRows(rows, PER)), 8), (CachedRows(rows), 25)):
        history = read_history(page_rows, "filtered")
        found = answer(reader, page_rows, history, {"slice": "8", "topic": "1"})
        assert [row[0] for row in found["rows"]] == [date, date]
    assert (asked[0].part or ())[:2] == (23, 25)
    assert asked[0].slice is None
    assert (asked[1].slice, asked[1].part) == (8, None)


def test_the_page_knows_the_newest_slice_of_the_run_file_so_that_a_live_one_counts_new_slices(rows: FakeRows) -> None:
    for page_rows in (rows, MergedRows(rows, PER)):
        data = page_data(CachedRows(page_rows), PagePlan(listed=0), ArrayTable())
        assert data["last"] == SLICES - 1
        assert data["period"] == ("quarter" if page_rows is rows else "step")


def test_slices_that_lie_far_from_the_others_stay_so() -> None:
    # less than the longest gap once two slices are one date
    rows = moved(of_size(gazette(slices=8, topics=4), {0: 3}), 1, LONGEST_GAP + 9)
    text, report = build_page(MergedRows(rows, 2))
    assert report.per == 2
    assert f"3 documents of {rows.slice_frame.label[0]} not shown" in text
    assert "8 slices are more than a page can show: each of its 4 dates stands for 2 slices" in text


@pytest.mark.parametrize("first", range(8))
def test_of_the_plans_few_are_tried_and_the_first_that_fits_is_taken(first: int) -> None:
    """``first`` is the first plan whose page fits, after the last one none does."""
    plans = [PagePlan(words=k) for k in range(7)]
    tried: list[int] = []

    def page(plan: PagePlan) -> str:
        tried.append(plan.words)
        return "x" * (10 if plan.words >= first else 11)

    plan, text = first_that_fits(plans, page, 10)
    assert plan.words == min(first, 6)
    assert len(text) == (10 if first < 7 else 11)
    assert tried[0] == 0
    assert len(tried) <= 5
    assert len(tried) == len(set(tried))
