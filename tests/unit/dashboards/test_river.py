"""The river: geometry, labels, paleness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette
from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.rows.history import read_history, ticks
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size, SizeMeasure
from vmfstream.dashboards.views.river import panel
from vmfstream.dashboards.views.river.bands import REST, RiverFrame, least_wiggle, stack
from vmfstream.dashboards.views.river.labels import LINE, OVERHANG, BandLabel, place_labels
from vmfstream.dashboards.views.river.view import BOTTOM, TOP, RiverView, labels, paleness

WIDE, PHONE = Size(1240, 486), Size(362, 400)


def frame(measure: SizeMeasure = "documents", slices: int = 30, topics: int = 30, **more: object) -> RiverFrame:
    rows = CachedRows(gazette(slices=slices, topics=topics, **more))  # type: ignore[arg-type]
    return RiverView().frame(rows, Selection(reading="smoothed", measure=measure))


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("measure", ["documents", "share"])
def test_labels_lie_inside_their_bands(size: Size, measure: SizeMeasure) -> None:
    river = frame(measure)
    bands = stack(river, size)
    low, high = bands.edges.min(), bands.edges.max()
    scale = (size.height - TOP - BOTTOM) / (high - low)
    x = 18 + bands.x * (size.width - 36) / 29
    found = [label for label in labels(river, bands, size) if not label.beside]
    assert len(found) >= 10
    for label in found:
        over = OVERHANG / 2 * label.height if label.lines == 1 else 0.0
        inside = (x >= label.x - label.width / 2) & (x <= label.x + label.width / 2)
        assert inside.any()
        assert bands.edges[label.band, inside].max() * scale <= label.y - label.height / 2 + over + 1e-6
        assert bands.edges[label.band + 1, inside].min() * scale >= label.y + label.height / 2 - over - 1e-6
        assert label.x - label.width / 2 >= 18
        assert label.x + label.width / 2 <= size.width - 18
        assert label.height == pytest.approx(LINE * label.size * label.lines)


@pytest.mark.parametrize("size", [WIDE, PHONE, Size(760, 486)])
def test_no_two_labels_overlap_and_labels_of_a_band_keep_apart(size: Size) -> None:
    river = frame()
    found = labels(river, stack(river, size), size)
    for k, one in enumerate(found):
        for other in found[k + 1 :]:
            assert not _touch(one, other)
            if one.band == other.band:
                assert abs(one.x - other.x) >= (120 if size.width <= 480 else 170)


def test_words_of_one_label_do_not_begin_alike() -> None:
    river = frame()
    for label in labels(river, stack(river, WIDE), WIDE):
        words = label.text.replace("<br>", " ").split()
        assert len({word[:4] for word in words}) == len(words)


@pytest.mark.parametrize(
    ("slices", "empty", "told"),
    [
        (30, (5, 6, 20), [5.5, 20.0]),
        (240, tuple(i for i in range(240) if i % 3), []),  # no room for a line of text
        (240, (10, 100, 101, 102, 103), [101.5]),
        (100, tuple(i for i in range(100) if i % 4 or 80 <= i < 90), [*(i + 2.0 for i in range(0, 44, 4)), 84.0]),
    ],
)
def test_silences_are_told_where_there_is_room(slices: int, empty: tuple[int, ...], told: list[float]) -> None:
    drawn = RiverView().drawing(frame(slices=slices, topics=4, empty=empty), WIDE, "light")
    notes = [note["x"] for note in drawn["layout"]["annotations"] if note["text"] == texts.NO_DOCUMENTS]
    assert sorted(notes) == told


def bands_of(*thick: float) -> dict[str, Any]:
    """Return straight bands of the given heights over 1000 pixels, as the placement wants them."""
    edges = np.concatenate([[0.0], np.cumsum(thick)])[:, None].repeat(101, axis=1)
    columns = np.linspace(18, 982, 5)
    return {
        "x": np.linspace(18, 982, 101),
        "edges": edges,
        "columns": columns,
        "thickness": np.array(thick)[None, :].repeat(5, axis=0),
        "fixed": {},
        "width": 1000.0,
        "inset": 18.0,
        "apart": 170.0,
    }


def bursts(*heights: float, cover: float = 0.0) -> dict[str, Any]:
    """Return one band of bursts of 30 pixels around a line, with a band above them that is ``cover`` as high."""
    x = np.linspace(18, 982, 401)
    columns = np.linspace(150, 850, len(heights))
    high = np.maximum.reduce(
        [height * np.maximum(1 - np.abs(x - at) / 15, 0) for height, at in zip(heights, columns, strict=True)]
    )
    middle = 150.0
    edges = np.array([middle - high * (0.5 + cover), middle - high * 0.5, middle + high * 0.5])
    shape = {
        "x": x,
        "edges": edges,
        "columns": columns,
        "thickness": np.array([np.multiply(heights, cover), heights]).T,
    }
    return bands_of(1.0) | shape


def test_bulges_too_narrow_for_words_are_labelled_beside() -> None:
    given = bursts(300.0, 120.0, 60.0, 40.0, 10.0)
    found = place_labels(words=[[[]] * 5, [[f"storm{i}", "flood", "rain"] for i in range(5)]], **given)
    assert all(label.beside for label in found)
    assert [round(label.x) for label in found] == [
        325,
        500,
        675,
    ]
    for label in found:
        here = np.abs(given["x"] - label.x) <= label.width / 2
        above = label.y + label.height / 2 <= given["edges"][0, here].min() + 1e-6
        assert above or label.y - label.height / 2 >= given["edges"][-1, here].max() - 1e-6
        assert given["edges"].min() <= label.y - label.height / 2
        assert label.y + label.height / 2 <= given["edges"].max()


def test_labels_beside_leave_room_for_what_is_written_there() -> None:
    words: list[list[list[str]]] = [[[]] * 3, [["storm", "flood"]] * 3]
    given = bursts(100.0, 300.0, 80.0)
    first = place_labels(words=words, **given)[0]
    assert round(first.x) == 150
    taken = [BandLabel(-1, 165.0, first.y, 14.0, 90.0, 1, 11.0, 400, "no documents")]
    assert {round(label.x) for label in place_labels(words=words, **given, taken=taken)} == {850}


def test_a_bulge_behind_another_band_has_no_label_beside() -> None:
    words: list[list[list[str]]] = [[[]] * 3, [["storm", "flood"]] * 3]
    shown = place_labels(words=words, **bursts(100.0, 300.0, 80.0, cover=0.1))
    assert {round(label.x) for label in shown} == {150, 850}
    hidden = bursts(100.0, 300.0, 80.0, cover=0.6)
    hidden["edges"] = np.vstack([hidden["edges"], hidden["edges"][-1] * 2 - hidden["edges"][-2]])  # one below too
    hidden["thickness"] = np.column_stack([hidden["thickness"], np.zeros(3)])
    assert place_labels(words=[*words, [[]] * 3], **hidden) == []


def test_overhanging_labels_of_neighbours_do_not_touch() -> None:
    words = [[["gypsy", "query"]] * 5] * 3
    found = place_labels(words=words, **bands_of(11.0, 11.0, 11.0))
    assert {label.band for label in found} >= {0, 2}
    assert not any(_touch(one, other) for k, one in enumerate(found) for other in found[k + 1 :])


def test_a_label_never_says_a_word_twice_in_two_forms() -> None:
    words = [[["election", "elections", "elected", "vote"]] * 5]
    texts = {label.text for label in place_labels(words=words, **bands_of(30.0))}
    assert texts
    assert all("elections" not in text.split() for text in texts if "election" in text.split())
    assert "election vote" in texts


def test_later_labels_of_a_band_say_something_new() -> None:
    words = [[["alpha", "bravo", "charlie", "delta"]] * 5]
    first, second = [label.text for label in place_labels(words=words, **bands_of(30.0))][:2]
    assert set(first.split()) != set(second.split())


def test_half_of_the_river_is_labelled() -> None:
    river = frame()
    bands = stack(river, WIDE)
    labelled = {label.band for label in labels(river, bands, WIDE)}
    assert bands.thickness[:, sorted(labelled)].sum() > 0.5 * bands.thickness.sum()


def test_thickness_is_the_number_of_documents_at_every_slice() -> None:
    river = frame(empty=(7,))
    bands = stack(river, WIDE)
    at = np.searchsorted(bands.x, np.arange(30) - 1e-9)
    found = np.diff(bands.edges, axis=0)[:, at]
    expected = np.nan_to_num(river.history.documents[:, bands.topics]).T
    expected[:, 7] = 0.0
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_curves_between_slices_invent_nothing() -> None:
    river = frame()
    bands = stack(river, WIDE)
    thick = np.diff(bands.edges, axis=0)
    for s in range(29):
        inside = (bands.x >= s) & (bands.x <= s + 1)
        ends = thick[:, [np.argmin(abs(bands.x - s)), np.argmin(abs(bands.x - s - 1))]]
        assert (thick[:, inside] <= ends.max(axis=1, keepdims=True) + 1e-6).all()
        assert (thick[:, inside] >= ends.min(axis=1, keepdims=True) - 1e-6).all()


def test_shares_fill_the_height_and_vanish_with_the_documents() -> None:
    bands = stack(frame("share", empty=(7,)), WIDE)
    total = bands.edges[-1] - bands.edges[0]
    full = (bands.x < 6) | (bands.x > 8)
    np.testing.assert_allclose(total[full], 1.0, atol=1e-9)
    assert total[np.argmin(abs(bands.x - 7))] == pytest.approx(0.0)


def test_least_wiggle_beats_flat_and_silhouette() -> None:
    rng = np.random.default_rng(1)
    thickness = np.abs(np.cumsum(rng.normal(size=(40, 12)), axis=0)) + 0.1
    total = thickness.sum(axis=1)

    def wiggle(base: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        middle = base[:, None] + np.cumsum(thickness, axis=1) - 0.5 * thickness
        weight = 0.5 * (thickness[1:] + thickness[:-1])
        return float((weight * np.diff(middle, axis=0) ** 2).sum())

    ours = wiggle(_level(thickness))
    assert ours < wiggle(np.zeros(40))
    assert ours < wiggle(-0.5 * total)


def test_one_constant_band_has_a_level_baseline() -> None:
    np.testing.assert_allclose(np.ptp(_level(np.full((9, 3), 2.0))), 0.0, atol=1e-12)


def test_order_is_the_same_in_both_readings_and_measures() -> None:
    rows = CachedRows(gazette(slices=12, topics=14))
    view = RiverView()
    orders = [
        tuple(view.frame(rows, Selection(reading=r, measure=m)).order)
        for r in ("filtered", "smoothed")
        for m in ("documents", "share")
    ]
    assert len(set(orders)) == 1
    assert sorted(orders[0]) == list(range(14))


def test_alike_topics_are_neighbours() -> None:
    one, two = ["apple", "pear", "plum", "fig", "kiwi"], ["truck", "wheel", "engine", "road", "brake"]
    rows = gazette(slices=6, topics=6, words=[one, two], settling=0)
    order = RiverView().frame(rows, Selection(reading="smoothed")).order
    kinds = [int(t) % 2 for t in order]
    assert kinds in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


def test_many_topics_become_forty_and_one_grey_band() -> None:
    river = frame(slices=10, topics=70)
    bands = stack(river, WIDE)
    assert bands.topics.size == 41
    assert bands.smaller == 30
    assert list(bands.topics).count(REST) == 1
    total = np.nan_to_num(river.history.documents).sum(axis=1)
    np.testing.assert_allclose(bands.thickness.sum(axis=1), total)
    assert stack(river, PHONE).topics.size == 21


def test_selected_topic_is_always_drawn() -> None:
    rows = CachedRows(gazette(slices=10, topics=70))
    view = RiverView()
    small = int(np.argmin(np.nansum(read_history(rows, "filtered").documents, axis=0)))
    assert small not in stack(view.frame(rows, Selection(topic=None)), PHONE).topics
    assert small in stack(view.frame(rows, Selection(topic=small)), PHONE).topics
    assert stack(view.frame(rows, Selection(all_topics=True)), WIDE).topics.size == 70


def test_more_columns_than_pixels_are_binned_without_losing_documents() -> None:
    river = frame(slices=200, topics=4)
    bands = stack(river, PHONE)
    assert bands.per_column == 3
    assert bands.thickness.sum() == pytest.approx(np.nansum(river.history.documents))
    assert stack(river, WIDE).per_column == 1


def test_smoothed_paleness_compares_all_topics() -> None:
    history = read_history(gazette(slices=12, topics=8), "smoothed")
    tone = paleness(history)
    speed = history.drift_angle[3:-1]
    assert tone.min() == 0
    assert tone.max() == 5
    fast, slow = speed > np.nanquantile(speed, 0.9), speed < np.nanquantile(speed, 0.1)
    assert tone[3:-1][fast].mean() < tone[3:-1][slow].mean() - 2


def test_filtered_paleness_judges_a_topic_by_itself() -> None:
    rows = gazette(slices=12, topics=2, settling=2)
    then = rows.topic_frames["filtered"]
    then.drift_angle[:] = np.where(then.topic == 0, 10.0, 30.0)  # one topic always turns three times as much
    tone = paleness(read_history(rows, "filtered"))
    assert (tone[:2] == 5).all()  # settling slices are pale
    assert (tone[5:, 0] == tone[5:, 1]).all()


def test_the_warm_up_is_marked_in_the_filtered_reading_only() -> None:
    rows = CachedRows(gazette(slices=9, topics=4, settling=3))
    view = RiverView()
    for reading, expected in (("filtered", 1), ("smoothed", 0)):
        figure = view.figure(view.frame(rows, Selection(reading=reading)), WIDE, "light")  # type: ignore[arg-type]
        assert sum(texts.WARM_UP in note.text for note in figure.layout.annotations) == expected


def test_every_width_has_dates_that_fit() -> None:
    made = panel.draw(CachedRows(gazette(slices=60, topics=4)), "river/smoothed/documents/wide")
    assert made["dates"].keys() == made["labels"].keys()
    for width, axis in made["dates"].items():
        step = (int(width) - 36) / 59
        assert np.diff(axis["tickvals"]).min() * step >= 0.8 * 74
        assert len(axis["tickvals"]) == len(axis["ticktext"]) >= 3
    assert len({len(axis["tickvals"]) for axis in made["dates"].values()}) > 1


def test_ticks_keep_their_distance() -> None:
    for count in (1, 2, 5, 30, 44, 77, 240, 1000):
        names = tuple(f"{1950 + s // 4} Q{s % 4 + 1}" for s in range(count))
        for width in (300.0, 1204.0):
            marked = ticks(names, width, 46.0)
            assert marked
            places = [i * width / max(count - 1, 1) for i, _ in marked]
            assert min(np.diff(places), default=99.0) >= 36
    for count in (4, 8, 24, 100):
        counted = tuple(f"{500 * s + 1:,} to {500 * (s + 1):,}" for s in range(count))
        for width in (300.0, 600.0, 1204.0):
            marked = ticks(counted, width, 46.0)
            room = np.diff([i * width / (count - 1) for i, _ in marked])
            assert min(room, default=999.0) >= 6 * max(map(len, counted)), (count, width)
    assert ticks(("1987", "1988", "1989"), 1200.0, 74.0) == [(0, "1987"), (1, "1988"), (2, "1989")]


def _level(thickness: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    base, line = least_wiggle(thickness)
    return np.asarray(base - np.polyval(line, np.arange(base.size)))


def _touch(one: BandLabel, other: BandLabel) -> bool:
    wide, high = 0.5 * (one.width + other.width), 0.5 * (one.height + other.height)
    return abs(one.x - other.x) < wide - 1e-9 and abs(one.y - other.y) < high - 1e-9
