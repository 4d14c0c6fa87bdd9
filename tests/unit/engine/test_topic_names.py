"""Topics get names from the phrases of their documents; they survive crashes and stand in run files and on pages."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.unit.dashboards.fakes import gazette
from tests.unit.runfile.records import of_format
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.runfile.queries import NameFrame, Reader
from vmfstream.topic_tracker.tracker import TopicTracker

KOREA = [
    "north korea fires missile",
    "missile of north korea",
    "north korea talks end",
    "missile talks with north korea",
]
COURT = [
    "supreme court hears appeal",
    "judge of supreme court",
    "a supreme court and its judge",
    "appeal at supreme court",
]
WEATHER = ["storm hits coast", "rain and storm", "coast rain warning", "storm warning"]


def tracked(years: range, tracker: TopicTracker | None = None) -> TopicTracker:
    tracker = tracker or TopicTracker(topics=3, stories=False)
    for year in years:
        tracker.learn((KOREA + COURT + WEATHER) * 6, year)
    return tracker


def names(tracker: TopicTracker) -> list[tuple[str, str, str]]:
    return [(row["slice"], row["name"], row["title"]) for row in tracker.topics()]


def test_topics_are_named_by_phrases_and_titled_by_a_document() -> None:
    tracker = tracked(range(2001, 2004))
    tracker.finish()
    first = {name.split(", ")[0]: title for year, name, title in names(tracker) if year == "2003"}
    assert {"north korea", "supreme court"} < set(first)
    assert first["north korea"] in KOREA
    assert all(
        "korea" not in name.partition(", ")[2] for _, name, _ in names(tracker) if name.startswith("north korea")
    )


@pytest.mark.thorough
def test_a_tracker_that_was_saved_goes_on_with_the_same_names(tmp_path: Path) -> None:
    whole, part = tracked(range(2001, 2005)), tracked(range(2001, 2003))
    part.save(tmp_path / "part.duckdb")
    later = tracked(range(2003, 2005), TopicTracker.load(tmp_path / "part.duckdb"))
    assert names(later) == names(whole)
    whole.save(tmp_path / "whole.duckdb")
    frame = Reader(tmp_path / "whole.duckdb").names()
    assert list(zip(frame.name.tolist(), frame.title.tolist(), strict=True)) == [row[1:] for row in names(whole)]
    phrases = Reader(tmp_path / "whole.duckdb").phrases()
    assert {"north korea", "supreme court"} <= set(phrases.phrase.tolist())
    assert (phrases.weight > 0).all()


def test_a_run_file_of_before_has_no_names(tmp_path: Path) -> None:
    path = of_format(tmp_path / "run.duckdb", 14)
    assert Reader(path).names().parts() == {}


def test_a_given_name_stands_for_the_automatic_one(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    tracked(range(2001, 2003)).save(path)
    with duckdb.connect(path) as connection:
        connection.execute("insert into given_name values (2001, 0, 'War, peace')")
    assert Reader(path).names().parts()[2001, 0] == ("War, peace",)


def test_the_page_has_them() -> None:
    rows = gazette(slices=4, topics=3, settling=0)
    frame = rows.slice_frame
    text = ["north korea, missile, <b>talks</b>", "", "oil\x1b, prices"]

    class Named(type(rows)):  # type: ignore[misc]
        def names(self) -> NameFrame:
            import numpy as np

            slices, given = np.repeat(frame.slice, 3), np.zeros(12, np.bool_)
            column = np.array(text * 4, object)
            return NameFrame(slices, np.tile([0, 1, 2], 4), column, column, given)

    named = CachedRows(Named(**vars(rows)))
    history = history_of(named, "filtered")
    assert topic_name(history, 1, 0) == "north korea"
    assert topic_name(history, 1, 0, 3) == "north korea, missile"
    assert topic_name(history, 1, 1) == " ".join(history.strongest(1, 1, 2))  # no name
    assert "\x1b" not in topic_name(history, 1, 2)

    from vmfstream.dashboards.page.compression import ArrayTable
    from vmfstream.dashboards.page.drawings import PagePlan

    data = page_data(named, PagePlan(), ArrayTable())
    assert data["names"]["list"][:2] == [[], ["north korea", "missile", "<b>talks</b>"]]
