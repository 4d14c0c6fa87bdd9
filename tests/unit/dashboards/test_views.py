"""What every view must withstand, whatever the run file holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from tests.tiers import all_but
from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards import VIEWS
from vmfstream.dashboards.dataframes import empty
from vmfstream.dashboards.looks.theme import repaint, theme
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.runfile.queries import EventFrame, RepresentativeFrame, SliceFrame

SIZES = (Size(1240, 486), Size(362, 400))
HOSTILE = [
    ["<script>alert(1)</script>", "$x$", "مرحبا", "世界新聞", "a" * 200, "=cmd", "&amp;", "</b>"],
    ["<b>bold</b>", "$$", "\u202eevil", "שלום", "中文", "x\x00y", "'quote\"", "%s{topic}"],
    ["plain", "words", "of", "a", "harmless", "third", "topic", "here"],
]


def nothing() -> FakeRows:
    return FakeRows(empty(SliceFrame), {}, {}, {}, empty(RepresentativeFrame), empty(EventFrame), {})


def gap() -> FakeRows:
    """Return a log in which the rows of one slice are missing altogether."""
    return gazette(slices=8, topics=5).only(lambda frame: frame.slice != 3)


LOGS: dict[str, Callable[[], FakeRows]] = {
    "no slice": nothing,
    "one slice": lambda: gazette(slices=1, topics=6, settling=0),
    "one topic": lambda: gazette(slices=9, topics=1),
    "one topic in one slice": lambda: gazette(slices=1, topics=1, settling=1),
    "not smoothed": lambda: gazette(slices=6, topics=5).without_smoothed(),
    "empty slices": lambda: gazette(slices=10, topics=5, empty=(0, 4, 5, 9)),
    "all slices empty": lambda: gazette(slices=4, topics=3, empty=(0, 1, 2, 3)),
    "a slice missing": gap,
    "300 topics": lambda: gazette(slices=4, topics=300, stored=12),
    "240 slices": lambda: gazette(slices=240, topics=5, stored=12),
    "all settling": lambda: gazette(slices=5, topics=4, settling=5),
    "strangers' words": lambda: gazette(slices=12, topics=3, words=HOSTILE, settling=0),
}


@pytest.fixture(scope="module", params=all_but(LOGS, "300 topics", "240 slices"))
def rows(request: pytest.FixtureRequest) -> CachedRows:
    return CachedRows(LOGS[request.param]())


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_draws_every_run_file(name: str, rows: CachedRows) -> None:
    view = VIEWS[name]()
    for reading in ("filtered", "smoothed"):
        for form in ("auto", "ranks", "both") if name == "words" else ("auto",):
            selection = Selection(topic=0, reading=reading, form=form)
            frame = view.frame(rows, selection)
            for size in SIZES:
                figure = view.figure(frame, size, "light")
                assert figure.layout.width == size.width
                for trace in figure.data:
                    assert trace.name
                    assert trace.hoverinfo == "skip"


@pytest.mark.parametrize("name", VIEWS)
def test_views_leave_rows_unchanged(name: str) -> None:
    rows = gazette(slices=6, topics=4)
    before = [column.copy() for column in _columns(rows)]
    view = VIEWS[name]()
    view.figure(view.frame(rows, Selection(topic=1, reading="smoothed")), SIZES[0], "light")
    for old, new in zip(before, _columns(rows), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.thorough
@pytest.mark.parametrize("name", VIEWS)
def test_every_colour_is_in_the_table(name: str, rows: CachedRows) -> None:
    known = {shade: set(theme(shade).tones()) for shade in ("light", "dark")}
    view = VIEWS[name]()
    for topic, size in ((0, SIZES[0]), (1, SIZES[1]), (2, SIZES[0])):
        frame = view.frame(rows, Selection(topic=topic, reading="filtered", form="both"))
        light = view.figure(frame, size, "light").to_plotly_json()
        dark = view.figure(frame, size, "dark").to_plotly_json()
        assert set(_colours(light)) <= known["light"]
        assert set(_colours(dark)) <= known["dark"]


@pytest.mark.parametrize("name", VIEWS)
def test_repainting_a_light_figure_gives_the_dark_one(name: str) -> None:
    rows = CachedRows(gazette(slices=20, topics=26))
    view = VIEWS[name]()
    frame = view.frame(rows, Selection(topic=25, reading="smoothed"))
    light, dark = (json.loads(view.figure(frame, SIZES[0], shade).to_json()) for shade in ("light", "dark"))
    assert repaint(light) == dark
    assert light != dark


@pytest.mark.parametrize("name", VIEWS)
def test_words_of_strangers_bring_no_tags_and_no_formulas(name: str) -> None:
    rows = CachedRows(LOGS["strangers' words"]())
    view = VIEWS[name]()
    for topic in (0, 1):
        for form in ("ranks", "heatmap", "both"):
            frame = view.frame(rows, Selection(topic=topic, reading="filtered", form=form))
            for text in _texts(view.figure(frame, Size(1240, 486), "light").to_plotly_json()):
                bare = text.replace("<br>", "").replace("<i>", "").replace("</i>", "")
                assert "<" not in bare
                assert not (bare.startswith("$") and bare.endswith("$"))
                assert "\u202e" not in bare
                assert "\x00" not in bare
                assert len(bare) < 200


def test_the_same_selection_gives_the_same_figure() -> None:
    for make in VIEWS.values():
        view = make()
        one, two = (
            view.figure(view.frame(gazette(slices=7, topics=6), Selection(topic=2)), SIZES[0], "light").to_json()
            for _ in range(2)
        )
        assert one == two


def _columns(rows: FakeRows) -> list[np.ndarray[Any, Any]]:
    frames: list[Any] = [rows.slice_frame, *rows.topic_frames.values(), *rows.word_frames.values(), rows.typical_frame]
    return [getattr(frame, field.name) for frame in frames for field in fields(frame)]


def _colours(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if (value.startswith(("#", "rgb")) and len(value) in (4, 7)) or value.startswith("rgb") else []
    if isinstance(value, dict):
        return [c for key, item in value.items() if key != "text" for c in _colours(item)]
    if isinstance(value, list | tuple):
        return [c for item in value for c in _colours(item)]
    return []


def _texts(figure: dict[str, Any]) -> list[str]:
    found = [t for trace in figure["data"] for t in (trace.get("text") if trace.get("text") is not None else ())]
    layout = figure["layout"]
    found += [note["text"] for note in layout.get("annotations", ())]
    for axis in ("xaxis", "yaxis"):
        found += list(layout.get(axis, {}).get("ticktext", ()))
    return [str(text) for text in found]
