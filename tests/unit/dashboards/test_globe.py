"""The globe: near topics are near, no position moves, trails are as long as the drift."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, check_grad
from scipy.stats import rankdata
from threadpoolctl import threadpool_info, threadpool_limits

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.rows.geometry import all_sketches, degrees_between
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.globe import panel as globe
from vmfstream.dashboards.views.globe.frame import BACK, SCALE, globe_frame, moved, seen_from_point, stretched
from vmfstream.dashboards.views.globe.positions import (
    _stress,
    _weights,
    lay_out,
    mean_degrees,
    put_among,
    targets,
    topic_positions,
    turned_back,
)
from vmfstream.dashboards.views.globe.view import GlobeView, shown_topics, sight
from vmfstream.runfile.queries import SketchFrame


def until(rows: FakeRows, last: int) -> FakeRows:
    """Return the log as it was when a slice was the last one."""
    return rows.only(lambda frame: frame.slice <= last)


def sphere(count: int, seed: int) -> NDArray[np.float64]:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    out: NDArray[np.float64] = points / np.linalg.norm(points, axis=1, keepdims=True)
    return out


def angles(points: NDArray[np.float64]) -> NDArray[np.float64]:
    cosines: NDArray[np.float64] = np.clip(points @ points.T, -1, 1)
    return np.degrees(np.arccos(cosines))


def test_points_of_a_sphere_are_found_again() -> None:
    true = sphere(25, 4)
    found = lay_out(targets(angles(true)))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    upper = np.triu_indices(25, 1)
    assert np.corrcoef(angles(found)[upper], angles(true)[upper])[0, 1] > 0.97
    np.testing.assert_allclose(turned_back(true @ np.diag([1, -1, 1])[[2, 0, 1]], true), true, atol=1e-9)


def test_targets_of_equal_angles_are_equal() -> None:
    degrees = np.random.default_rng(3).integers(20, 30, (9, 9)).astype(float)
    upper = np.triu_indices(9, 1)
    shares = (rankdata(degrees[upper]) - 0.5) / upper[0].size
    np.testing.assert_allclose(targets(degrees)[upper], np.arccos(1.0 - 2.0 * shares))


def test_one_thread_lays_points_out(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def noted(fun: Any, start: Any, *_: Any, **__: Any) -> OptimizeResult:
        threads.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return OptimizeResult(x=start, fun=0.0)

    monkeypatch.setattr("scipy.optimize.minimize", noted)
    with threadpool_limits(2, "blas"):
        lay_out(targets(angles(sphere(6, 2))))
    assert threads == {1}


def test_targets_keep_the_order_of_angles_and_fill_the_sphere() -> None:
    degrees = angles(sphere(30, 1)) * 0.1 + 80
    target = targets(degrees)
    upper = np.triu_indices(30, 1)
    assert (np.argsort(target[upper]) == np.argsort(degrees[upper])).all()
    np.testing.assert_allclose(np.median(target[upper]), np.pi / 2, atol=0.01)
    np.testing.assert_allclose(target, target.T)


def test_the_gradient_of_the_misfit() -> None:
    target = targets(angles(sphere(6, 2)))
    weight = _weights(target)
    start = np.random.default_rng(0).normal(size=18)
    assert check_grad(lambda x: _stress(x, target, weight)[0], lambda x: _stress(x, target, weight)[1], start) < 1e-4


def test_a_newcomer_is_put_where_it_belongs() -> None:
    points = sphere(30, 5)
    found = put_among(points[1:], np.radians(angles(points)[0, 1:]))
    assert float(degrees_between(found, points[0])) < 8


def test_homes_show_who_is_near_whom_better_than_chance() -> None:
    rng = np.random.default_rng(0)
    rows = gazette(slices=12, topics=24, settling=0)
    group = rng.normal(size=(6, 512))[np.arange(24) % 6]
    frame = rows.sketch_frames["smoothed"]
    numbers = (group + 0.8 * rng.normal(size=(24, 512)))[frame.topic]
    rows = replace(rows, sketch_frames={r: replace(f, numbers=numbers) for r, f in rows.sketch_frames.items()})
    found = topic_positions(rows)
    gaps = angles(np.array([found[t] for t in range(24)]))
    same = (np.arange(24)[:, None] % 6 == np.arange(24) % 6) & ~np.eye(24, dtype=bool)
    # the nearest eighth of all pairs belongs within arccos(1 - 2 / 8) = 41 degrees, its median within 30
    assert np.median(gaps[same]) < 30
    assert np.median(gaps[~same]) > 60


def test_pairs_that_never_met_are_told_apart_by_their_sketches() -> None:
    rows = gazette(slices=26, topics=24)
    topics = np.array([3, 7, 21])  # 7 ended before 21 was born, both met 3
    degrees = mean_degrees(rows.angles("smoothed"), rows.sketches("smoothed"), topics)
    exact = rows.angles("smoothed")
    met = (exact.topic == 3) & (exact.other == 21)
    assert degrees[0, 2] == pytest.approx(exact.degrees[met].mean())
    sketches = all_sketches(rows, history_of(CachedRows(rows), "smoothed"))
    lives = np.nansum(sketches[:, [7, 21]], axis=0).astype(np.float64)
    lives /= np.linalg.norm(lives, axis=1, keepdims=True)
    together = (rows.angles("smoothed").topic == 7) & (rows.angles("smoothed").other == 21)
    expected = rows.angles("smoothed").degrees[together].mean() if together.any() else degrees_between(*lives)
    assert degrees[1, 2] == pytest.approx(expected, abs=1e-3)


def test_near_pairs_fit_better_than_far_ones() -> None:
    points = np.random.default_rng(3).normal(size=(30, 12))
    target = targets(angles(points / np.linalg.norm(points, axis=1, keepdims=True)))
    found = np.radians(angles(lay_out(target)))
    upper = np.triu_indices(30, 1)
    misfit, wanted = np.abs(found - target)[upper], target[upper]
    assert misfit[wanted < np.quantile(wanted, 0.1)].mean() < 0.8 * misfit[wanted > np.median(wanted)].mean()


def test_homes_do_not_depend_on_slices_that_were_settling() -> None:
    rows = gazette(slices=8, topics=7, settling=3).without_smoothed()
    frame = rows.sketch_frames["filtered"]
    noise = np.random.default_rng(0).normal(size=frame.numbers.shape)
    other = replace(frame, numbers=np.where((frame.slice < 3)[:, None], noise, frame.numbers))
    known, changed = topic_positions(rows), topic_positions(replace(rows, sketch_frames={"filtered": other}))
    assert len(known) == 7
    for topic, place in known.items():
        np.testing.assert_array_equal(place, changed[topic])


def test_no_home_moves_when_slices_are_added() -> None:
    rows = gazette(slices=26, topics=24).without_smoothed()
    frame = rows.sketch_frames["filtered"]
    stay = ~(np.isin(frame.topic, np.arange(2, 13)) & (frame.slice >= 8))  # gone before others are born
    noise = np.random.default_rng(0).normal(size=frame.numbers.shape)
    numbers = np.where(((frame.topic == 21) & (frame.slice > 20))[:, None], noise, frame.numbers)
    rows = replace(rows, sketch_frames={"filtered": SketchFrame(frame.slice[stay], frame.topic[stay], numbers[stay])})
    early, middle, later, last = (topic_positions(until(rows, s)) for s in (6, 12, 20, 25))
    assert len(early) < len(middle) < len(later) == len(last)
    for known, more in ((early, middle), (middle, later), (later, last)):
        for topic, place in known.items():
            np.testing.assert_array_equal(place, more[topic])


def test_a_new_slice_moves_no_smoothed_position_computed_before() -> None:
    rows = gazette(slices=26, topics=24)
    before = until(rows, 18)
    after = replace(rows, topic_frames=rows.topic_frames | {"smoothed": before.topic_frames["smoothed"]})
    after = replace(after, word_frames=rows.word_frames | {"smoothed": before.word_frames["smoothed"]})
    after = replace(after, sketch_frames=rows.sketch_frames | {"smoothed": before.sketch_frames["smoothed"]})
    old, new = topic_positions(before), topic_positions(after)
    assert len(old) < len(new)
    for topic, place in old.items():
        np.testing.assert_array_equal(place, new[topic])


def test_going_and_looking_back_are_inverse() -> None:
    start, points = sphere(1, 7)[0], sphere(40, 8)
    east, north = seen_from_point(start, points)
    np.testing.assert_allclose(moved(np.tile(start, (40, 1)), east, north), points, atol=1e-9)
    np.testing.assert_allclose(np.hypot(east, north), degrees_between(np.tile(start, (40, 1)), points), atol=1e-6)
    pole = np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(moved(pole, np.array(90.0), np.array(0.0)), [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("least", [0.5, 20.0])
def test_a_stretched_path_keeps_its_end_and_begins_where_it_must(least: float) -> None:
    path = moved(np.tile(sphere(1, 3), (9, 1)), np.linspace(0, 8, 9), np.sin(np.arange(9.0)))
    longer = stretched(path, least)
    np.testing.assert_allclose(longer[-1], path[-1], atol=1e-12)
    assert float(degrees_between(longer[0], longer[-1])) == pytest.approx(least)
    assert degrees_between(longer, np.tile(longer[-1], (9, 1))).max() < least + 9
    still = stretched(np.tile(path[:1], (4, 1)), least)
    assert float(degrees_between(still[0], still[-1])) == pytest.approx(least)


@pytest.mark.parametrize("reading", ["filtered", "smoothed"])
def test_trails_are_as_long_as_the_words_turned(reading: Any) -> None:
    rows = CachedRows(gazette(slices=26, topics=24))
    frame = globe_frame(rows, Selection(date=22, reading=reading))
    sketches = all_sketches(rows, history_of(rows, reading)).astype(np.float64)
    seen = 0
    for t, topic in enumerate(frame.topics):
        path = frame.trail(t)
        if not len(path) or np.isnan(frame.place[22, t, 0]):
            continue
        column = history_of(rows, reading).position(int(topic))
        known = [s for s in range(22 - BACK + 1, 23) if not np.isnan(sketches[s, column, 0])]
        true = float(degrees_between(sketches[known[0], column], sketches[22, column]))
        assert len(path) == len(known)
        np.testing.assert_allclose(path[-1], frame.place[22, t], atol=1e-12)
        if len(path) > 1:
            assert float(degrees_between(path[0], path[-1])) == pytest.approx(SCALE * true, abs=0.01)
            seen += 1
    assert seen > 18


def test_topics_stay_near_their_homes_and_move_towards_what_they_approach() -> None:
    rows = gazette(slices=12, topics=4, settling=0)
    frame = rows.sketch_frames["smoothed"]
    axes = np.eye(512)[:4]
    part = np.linspace(0.0, 0.6, 12)[frame.slice]
    numbers = axes[frame.topic] + 0.05 * np.eye(512)[5]
    numbers[frame.topic == 0] = (1 - part[frame.topic == 0, None]) * axes[0] + part[frame.topic == 0, None] * axes[2]
    rows = replace(rows, sketch_frames={r: replace(f, numbers=numbers) for r, f in rows.sketch_frames.items()})
    found = globe_frame(CachedRows(rows), Selection(reading="smoothed"))
    goal = topic_positions(rows)[2]
    assert degrees_between(found.place[-1, 0], goal) < degrees_between(found.place[0, 0], goal) - 5
    np.testing.assert_allclose(found.place[:, 3], np.tile(topic_positions(rows)[3], (12, 1)), atol=1e-6)


def test_settling_slices_have_no_place_as_known_then() -> None:
    rows = CachedRows(gazette(slices=10, topics=5, settling=4))
    then, late = (globe_frame(rows, Selection(reading=reading)) for reading in ("filtered", "smoothed"))
    assert np.isnan(then.place[:4]).all()
    assert not np.isnan(then.place[4:]).any()
    assert not np.isnan(late.place).any()


def test_the_page_gets_places_in_hundredths_of_degrees() -> None:
    rows = CachedRows(gazette(slices=26, topics=24))
    drawing = globe.draw(rows, "globe/filtered")
    meta = drawing["layout"]["meta"]
    frame = globe_frame(rows, Selection(reading="filtered"))
    nowhere = np.isnan(frame.place[..., 0])
    np.testing.assert_array_equal(meta["lat"] == -32768, nowhere)
    lon, lat = np.radians(meta["lon"] / 100.0), np.radians(meta["lat"] / 100.0)
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)
    assert degrees_between(points, frame.place)[~nowhere].max() < 0.02
    np.testing.assert_array_equal(meta["drift"][~nowhere], np.rint(frame.drift[~nowhere]))
    assert [trace["name"] for trace in drawing["data"]] == ["trail", "rings", "dots", "names"]


def test_of_many_topics_the_sixty_largest_are_drawn() -> None:
    rows = CachedRows(gazette(slices=3, topics=90, settling=0, stored=8))
    frame = globe_frame(rows, Selection(reading="smoothed"))
    shown = shown_topics(frame)
    assert shown.size == 60
    assert frame.share[shown].min() >= np.delete(frame.share, shown).max()
    drawing = GlobeView().drawing(frame, Size(640, 640), "light")
    named = next(trace for trace in drawing["data"] if trace["name"] == "names")
    assert 5 < len(named["text"]) <= 16


def test_a_run_file_without_sketches_has_no_globe() -> None:
    rows = CachedRows(replace(gazette(slices=5, topics=4), sketch_frames={}))
    frame = globe_frame(rows, Selection(reading="smoothed"))
    assert frame.topics.size == 0
    GlobeView().figure(frame, Size(640, 640), "light")


def test_the_side_in_sight_is_where_most_documents_are() -> None:
    frame = globe_frame(CachedRows(gazette(slices=6, topics=5, settling=0)), Selection(reading="smoothed"))
    place = np.full_like(frame.place, np.nan)
    place[-1] = [0.0, -1.0, 0.0]
    place[-1, 0] = [0.0, 1.0, 0.0]
    heavy = replace(frame, place=place, share=np.array([0.9, 0.02, 0.02, 0.03, 0.03]))
    np.testing.assert_allclose(sight(heavy), [0, 1, 0], atol=1e-9)
    place[-1] = [0.0, 0.6, 0.8]
    assert float(np.degrees(np.arcsin(sight(replace(heavy, place=place))[2]))) == pytest.approx(50)
    place[-1, :, 2] = 0.0
    rotation = GlobeView().drawing(replace(heavy, place=place), Size(640, 640), "light")["layout"]["geo"]["projection"]
    assert rotation["rotation"]["lon"] == pytest.approx(90)
