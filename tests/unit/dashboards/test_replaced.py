"""Topics that were replaced in the warm-up: the smoothed reading does not know them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette, replacing
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.page.drawings import Drawings, PagePlan
from vmfstream.dashboards.rows.history import history_of, topics_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.stable_layout import river_order
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.changes.sentences import what_changed
from vmfstream.dashboards.views.lineage.frame import topic_events
from vmfstream.dashboards.views.river.bands import REST, stack
from vmfstream.dashboards.views.river.view import RiverView

OLD = 90


def run_file() -> FakeRows:
    return replacing(gazette(slices=10, topics=6, settling=5), topic=3, before=4, old=OLD)


@pytest.fixture(scope="module")
def rows() -> CachedRows:
    return CachedRows(run_file())


@pytest.fixture(scope="module")
def data(rows: CachedRows) -> dict[str, Any]:
    return page_data(rows, PagePlan(), ArrayTable())


def test_each_reading_has_the_topics_that_it_has_rows_of(rows: CachedRows) -> None:
    assert history_of(rows, "smoothed").topic.tolist() == [0, 1, 2, 3, 4, 5]
    then = history_of(rows, "filtered")
    assert then.topic.tolist() == [0, 1, 2, 3, 4, 5, OLD]
    assert then.topic[then.provisional()].tolist() == [OLD]
    assert not history_of(rows, "smoothed").provisional().any()
    assert topics_of(rows).tolist() == [*range(6), OLD]


def test_while_all_slices_settle_the_topics_of_the_newest_count() -> None:
    young = CachedRows(replacing(gazette(slices=6, topics=4, settling=6), 3, 4, OLD).without_smoothed())
    history = history_of(young, "filtered")
    assert history.topic[history.provisional()].tolist() == [OLD]


def test_title_and_sentence_count_the_topics_of_the_reading(data: dict[str, Any]) -> None:
    assert data["subtitle"]["smoothed"].endswith(", 6 topics")
    assert data["subtitle"]["filtered"].endswith(", 6 topics (1 more in the warm-up)")
    assert "6 topics" in data["lineage"]["smoothed"]["summary"]
    assert "merged" not in data["lineage"]["smoothed"]["summary"] + data["lineage"]["filtered"]["summary"]
    assert "(1 more in the warm-up)" in data["lineage"]["filtered"]["summary"]


def test_the_page_has_columns_for_the_topics_of_both_readings(rows: CachedRows, data: dict[str, Any]) -> None:
    assert data["topics"] == [*range(6), OLD]
    assert sorted(data["order"]) == data["topics"]
    assert data["order"] == river_order(rows)
    place = data["order"].index(OLD)
    assert 3 in data["order"][max(place - 1, 0) : place + 2]  # beside the one that has its words


def test_pictures_are_drawn_where_a_reading_knows_the_topic(rows: CachedRows) -> None:
    keys = Drawings(rows).keys(PagePlan())
    own = [key for key in keys if key.split("/")[2:3] == [str(OLD)]]
    assert own == [f"words/filtered/{OLD}/{kind}" for kind in ("ranks", "heatmap", "heatmap-phone")] + [
        f"{view}/filtered/{OLD}" for view in ("compare", "neighbours")
    ]
    assert "words/both/3/both" in keys


def test_what_happened_to_unknown_topics_is_not_told(rows: CachedRows) -> None:
    assert OLD not in {what.topic for what in topic_events(rows, history_of(rows, "smoothed"))}
    assert OLD in {what.topic for what in topic_events(rows, history_of(rows, "filtered"))}
    said = [str(change) for change in what_changed(rows, "smoothed", since=1).changes]
    assert not any("topic 90" in sentence for sentence in said)


def test_replaced_topics_take_no_band_from_those_that_stayed() -> None:
    many = gazette(slices=10, topics=41, stored=8, settling=5)
    for topic in range(6):
        many = replacing(many, topic, 4, OLD + topic)
    frame = RiverView().frame(CachedRows(many), Selection(reading="filtered"))
    bands = stack(frame, Size(1240, 486))
    ids = {int(frame.history.topic[t]) for t in bands.topics if t != REST}
    assert bands.smaller == 1
    assert {OLD + topic for topic in range(6)} < ids
    assert np.sum(np.array(sorted(ids)) < OLD) == 40
