"""Neighbours: radii are true angles, directions stay, names touch nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.looks.dotlabels import Box, DotLabel, dated_points, place
from vmfstream.dashboards.rows.geometry import UNKNOWN, as_bytes
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.neighbours import panel as neighbours
from vmfstream.dashboards.views.neighbours.drawing import drawn
from vmfstream.dashboards.views.neighbours.view import NeighboursView
from vmfstream.runfile.queries import AngleFrame, Reading, SketchFrame, kept
from vmfstream.text.sketch import projection, sketch

WIDE = Size(400, 400)


class TrueRows:
    """A gazette whose topics have these means: angles of them are exact, sketches are made as an encoder makes them."""

    def __init__(self, rows: FakeRows, seed: int = 3, words: int = 900) -> None:
        self._rows = rows
        slices, topics = rows.slices().slice.size, int(rows.topics("filtered").topic.max()) + 1
        rng = np.random.default_rng(seed)
        home = rng.gamma(0.05, size=(topics, words))
        way = np.cumsum(rng.gamma(0.05, size=(slices, topics, words)), axis=0) * 0.2
        self.means: NDArray[np.float64] = home + way
        self.means /= np.linalg.norm(self.means, axis=2, keepdims=True)
        self._project = projection(f"word{k}".encode() for k in range(words))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def angle(self, s: int, a: int, other: int, b: int) -> float:
        return float(np.degrees(np.arccos(min(1.0, float(self.means[s, a] @ self.means[other, b])))))

    def angles(self, reading: Reading, topic: int | None = None) -> AngleFrame:
        frame = self._rows.topics(reading)
        rows = []
        for s in np.unique(frame.slice).tolist():
            living = frame.topic[frame.slice == s].tolist()
            rows += [
                (s, a, b, self.angle(s, a, s, b)) for a in living for b in living if a < b and topic in (None, a, b)
            ]
        columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        s, a, b = (column.astype(np.int64) for column in columns[:3])
        return AngleFrame(s, a, b, columns[3])

    def sketches(self, reading: Reading, topic: int | None = None) -> SketchFrame:
        frame = self._rows.topics(reading)
        means = self.means[frame.slice, frame.topic].astype(np.float32)
        return SketchFrame(frame.slice, frame.topic, sketch(self._project, means.T).astype(np.float64))


def snapshot(rows: FakeRows | TrueRows) -> CachedRows:
    return CachedRows(cast(FakeRows, rows))


def traces(rows: CachedRows, selection: Selection, size: Size = WIDE) -> dict[str, dict[str, Any]]:
    view = NeighboursView()
    return {trace["name"]: trace for trace in view.drawing(view.frame(rows, selection), size, "light")["data"]}


@pytest.mark.parametrize("reading", ["filtered", "smoothed"])
def test_radius_is_the_angle_between_the_true_means(reading: Reading) -> None:
    true = TrueRows(gazette(slices=26, topics=24))
    rows = snapshot(true)
    for topic, date in ((2, 25), (20, 15), (7, 10)):
        chosen = Selection(topic=topic, date=date, reading=reading)
        frame = NeighboursView().frame(rows, chosen)
        shown = traces(rows, chosen)["dots"]
        order = np.argsort(np.where(np.isnan(frame.degrees), np.inf, frame.degrees), kind="stable")
        others = frame.others[order][: shown["x"].size]
        assert others.size > 20
        expected = [true.angle(date, topic, date, int(other)) for other in others]
        np.testing.assert_allclose(np.hypot(shown["x"], shown["y"]), expected, atol=0.5)


def test_a_name_without_room_is_its_first_word_alone() -> None:
    frame = NeighboursView().frame(snapshot(TrueRows(gazette(slices=26, topics=24))), Selection(topic=2))
    drawing = NeighboursView().drawing(replace(frame, name="harbour, strikes"), Size(300, 300), "light")
    assert [trace["text"] for trace in drawing["data"] if trace["name"] == "self-name"] == [["harbour"]]


def test_the_own_past_is_as_far_as_the_topic_has_turned() -> None:
    true = TrueRows(gazette(slices=26, topics=6))
    frame = NeighboursView().frame(snapshot(true), Selection(topic=3, date=20, reading="smoothed"))
    at, degrees = frame.past.seen_from(20)
    assert at.tolist() == list(range(20))
    np.testing.assert_allclose(degrees, [true.angle(20, 3, int(s), 3) for s in at], atol=5.0)
    points = traces(snapshot(true), Selection(topic=3, date=20, reading="smoothed"), Size(900, 900))
    path = np.concatenate([np.hypot(points[f"past-{k}"]["x"], points[f"past-{k}"]["y"]) for k in range(4)])
    assert path[0] == pytest.approx(degrees[0], abs=1e-3)
    assert path[-1] == 0.0
    assert 3 <= points["dated"]["x"].size <= 5


def test_small_rings_lie_at_the_angle_at_birth() -> None:
    true = TrueRows(gazette(slices=26, topics=24))
    frame = NeighboursView().frame(snapshot(true), Selection(topic=2, reading="smoothed"))
    k = int(np.flatnonzero(frame.others == 20)[0])  # born in slice 9, gone since slice 20
    j = int(np.flatnonzero(frame.others == 5)[0])
    earlier = NeighboursView().frame(snapshot(true), Selection(topic=2, date=15, reading="smoothed"))
    assert np.isnan(frame.degrees[k])
    assert earlier.first_degrees[k] == pytest.approx(true.angle(9, 2, 9, 20))
    assert frame.first_degrees[j] == pytest.approx(true.angle(0, 2, 0, 5))
    then = NeighboursView().frame(snapshot(true), Selection(topic=2, reading="filtered"))
    assert then.first_degrees[j] == pytest.approx(true.angle(2, 2, 2, 5))  # two slices were settling
    first = NeighboursView().frame(snapshot(true), Selection(topic=2, date=0, reading="smoothed"))
    assert np.isnan(first.first_degrees).all()


def test_rays_stay_when_the_date_or_the_reading_changes() -> None:
    rows = CachedRows(gazette(slices=26, topics=24))
    frames = [
        NeighboursView().frame(rows, Selection(topic=2, date=date, reading=reading))
        for date in (0, 12, 25)
        for reading in ("filtered", "smoothed")
    ]
    for frame in frames[1:]:
        np.testing.assert_array_equal(frame.others, frames[0].others)
        np.testing.assert_array_equal(frame.direction, frames[0].direction)
    assert 2 not in frames[0].others
    assert frames[0].direction.min() > 208
    assert frames[0].direction.max() < 512
    assert np.ptp(np.diff(frames[0].direction)) < 1e-9
    past = frames[0].past_direction(np.arange(26))
    assert (past >= 152).all()
    assert (past <= 208).all()


def test_rays_serve_both_readings() -> None:
    rows = gazette(slices=8, topics=9)

    def fewer(frames: Any) -> Any:
        late = frames["smoothed"]
        return frames | {"smoothed": kept(late, late.topic != 5)}  # a topic that the smoother found to be none

    rows = replace(
        rows, **{name: fewer(getattr(rows, name)) for name in ("topic_frames", "word_frames", "sketch_frames")}
    )
    then, late = (
        NeighboursView().frame(CachedRows(rows), Selection(topic=2, reading=reading))
        for reading in ("filtered", "smoothed")
    )
    np.testing.assert_array_equal(then.others, late.others)
    assert 5 in late.others
    assert np.isnan(late.degrees[late.others == 5])
    assert not np.isnan(then.degrees).any()


def test_names_touch_no_dot_and_no_other_name() -> None:
    rng = np.random.default_rng(0)
    marks = [DotLabel(x, y, 5.0, f"n{k}", 70.0, 14.0) for k, (x, y) in enumerate(rng.uniform(20, 380, (60, 2)))]
    dots = [Box(mark.x - 5, mark.y - 5, mark.x + 5, mark.y + 5) for mark in marks]
    found = place(marks, [*dots], 400)
    assert 10 < len(found) < 60
    for k, (_, box) in enumerate(found):
        assert min(box) >= 0
        assert max(box) <= 400
        assert not any(box.touches(other) for other in dots)
        assert not any(box.touches(other) for _, other in found[:k])
    assert [name for name, _ in place(marks, [*dots], 400, most=3)] == [name for name, _ in found[:3]]


def test_dates_of_a_trail_are_apart_and_begin_with_the_oldest() -> None:
    x, y = np.linspace(-150, 0, 40), 5 * np.sin(np.arange(40.0))
    chosen = dated_points(x, y, 36.0, 5)
    assert chosen == [0, 20, 10]
    points = np.column_stack([x, y])[chosen]
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert gaps[~np.eye(3, dtype=bool)].min() >= 36
    assert np.linalg.norm(points, axis=1).min() >= 36
    assert dated_points(np.empty(0), np.empty(0), 36.0, 5) == []
    assert dated_points(np.zeros(3), np.zeros(3), 36.0, 5) == [0]


def test_of_very_many_topics_the_nearest_and_the_largest_are_drawn() -> None:
    rng = np.random.default_rng(1)
    degrees, shares = rng.uniform(20, 90, 300), rng.uniform(0, 1, 300)
    degrees[:10] = np.nan
    kept = drawn(degrees, shares)
    assert not kept[:10].any()
    assert kept[np.argsort(degrees)[:40]].all()
    living = np.arange(10, 300)
    assert kept[living[np.argsort(-shares[living])[:20]]].all()
    assert kept.sum() <= 60
    assert drawn(degrees[:70], shares[:70]).sum() == 60


def test_bytes_hold_the_angles_to_the_others_at_all_dates() -> None:
    true = TrueRows(gazette(slices=26, topics=24))
    rows = snapshot(true)
    alive = ~np.isnan(history_of(rows, "smoothed").documents)
    meta = neighbours.draw(rows, "neighbours/smoothed/7")["layout"]["meta"]
    angles = meta["angles"]
    assert angles.dtype == np.uint8
    assert angles.shape == (26, meta["others"].size)
    for s in range(26):
        for k, other in enumerate(meta["others"]):
            if alive[s, 7] and alive[s, other]:
                assert angles[s, k] == round(true.angle(s, 7, s, other))
            else:
                assert angles[s, k] == UNKNOWN


def test_angles_are_rounded_once() -> None:
    assert as_bytes(np.array([0.0, 19.4, 84.6, 180.0, np.nan])).tolist() == [0, 19, 85, 180, UNKNOWN]


def test_a_template_holds_the_past_as_seen_from_every_date() -> None:
    rows = snapshot(TrueRows(gazette(slices=26, topics=6)))
    meta = neighbours.draw(rows, "neighbours/filtered/3")["layout"]["meta"]
    frame = NeighboursView().frame(rows, Selection(topic=3, reading="filtered"))
    start = 0
    for date in meta["date"].tolist():
        at, degrees = frame.past.seen_from(date)
        assert meta["at"][: at.size].tolist() == at.tolist()
        assert meta["past"][start : start + at.size].tolist() == np.rint(degrees).tolist()
        start += at.size
    assert start == meta["past"].size
    assert meta["date"].tolist() == list(range(2, 26))
    assert meta["others"].tolist() == frame.others.tolist()


def test_every_chart_is_drawn_to_its_own_rim() -> None:
    rows = CachedRows(gazette(slices=6, topics=5))
    shared = neighbours.columns(rows, history_of(rows, "smoothed"))["layout"]
    assert not {"xaxis", "yaxis", "shapes"} & set(shared)  # topics far from all others have a wider rim
    for topic in range(5):
        layout = neighbours.draw(rows, f"neighbours/smoothed/{topic}")["layout"]
        reach = layout["meta"]["reach"]
        assert layout["xaxis"]["range"] == layout["yaxis"]["range"] == [-reach, reach]
        assert max(shape["x1"] for shape in layout["shapes"]) == layout["meta"]["rim"] < reach


def test_a_long_past_is_thinned_to_few_bytes() -> None:
    rows = CachedRows(gazette(slices=500, topics=2, stored=8))
    meta = neighbours.draw(rows, "neighbours/filtered/1")["layout"]["meta"]
    assert meta["at"][0] == 2
    assert meta["at"][-1] == 499
    assert 12 <= meta["at"].size <= 40
    assert meta["past"].nbytes < 15_000 * 3 / 4


def test_edges() -> None:
    alone = traces(CachedRows(gazette(slices=9, topics=1, settling=0)), Selection(topic=0))
    assert alone["dots"]["x"].size == 0
    assert alone["past-0"]["x"].size > 0
    young = traces(CachedRows(gazette(slices=1, topics=6, settling=0)), Selection(topic=0))
    assert young["dots"]["x"].size == 5
    assert young["past-3"]["x"].size == 0
    unsettled = traces(CachedRows(gazette(slices=5, topics=3, settling=5)), Selection(topic=0, reading="filtered"))
    assert unsettled["past-3"]["x"].size == 0


def test_a_run_file_without_angles_shows_none() -> None:
    rows = CachedRows(replace(gazette(slices=5, topics=4), sketch_frames={}))
    frame = NeighboursView().frame(rows, Selection(topic=1, reading="smoothed"))
    assert np.isnan(frame.degrees).all()
    assert frame.past.at.size == 0
    assert (neighbours.draw(rows, "neighbours/filtered/1")["layout"]["meta"]["angles"] == UNKNOWN).all()


def test_an_unknown_topic_shows_nothing() -> None:
    frame = NeighboursView().frame(CachedRows(gazette(slices=5, topics=4)), Selection(topic=99))
    assert frame.topic == -1
    assert frame.others.size == 0
