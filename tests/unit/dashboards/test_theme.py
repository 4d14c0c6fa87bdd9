"""The colour table: closed, fixed, readable."""

from __future__ import annotations

import re

import pytest

from vmfstream.dashboards.looks.theme import SLOTS, Theme, ThemeName, contrast, mix, repaint, repaint_table, theme


def test_a_topic_keeps_its_colour_for_ever() -> None:
    light = theme("light")
    assert light.slot(0).fill == "#72acec"
    assert light.slot(2).ink == "#6b1c2d"
    assert theme("dark").slot(23).fill == "#6a5468"
    for topic in range(100):
        assert light.slot(topic) is light.slots[topic % SLOTS]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_contrast_limits(name: ThemeName) -> None:
    colours: Theme = theme(name)
    ink, on_fill = (5.6, 5.1) if name == "light" else (6.6, 4.6)
    assert contrast(colours.text, colours.page) > 15
    assert contrast(colours.muted, colours.page) > 5.5
    assert contrast(colours.alarm, colours.page) > 6
    assert contrast(colours.live, colours.page) > 6
    for slot in colours.slots:
        assert contrast(slot.ink, colours.page) >= ink
        for tone in (slot.fill, *slot.river, slot.faded):
            assert contrast(tone, colours.text) >= on_fill
        for one, two in zip(slot.strip, slot.strip[1:], strict=False):
            assert contrast(one, colours.page) < contrast(two, colours.page)


def test_no_light_colour_stands_for_two_dark_ones() -> None:
    light, dark = theme("light").tones(), theme("dark").tones()
    assert all(re.fullmatch("#[0-9a-f]{6}", tone) for tone in (*light, *dark))
    assert [repaint_table()[tone] for tone in light] == list(dark)


def test_repaint_leaves_everything_that_is_no_colour() -> None:
    page = theme("light").page
    figure = {"a": [page, "text", 1.5, None], "b": {"c": True}}
    assert repaint(figure) == {"a": [theme("dark").page, "text", 1.5, None], "b": {"c": True}}
    assert figure["a"] == [page, "text", 1.5, None]


def test_mixing() -> None:
    assert mix("#102030", "#ffffff", 0.0) == "#102030"
    assert mix("#102030", "#ffffff", 1.0) == "#ffffff"
    # half way between black and white in perceived lightness is darker than half of the light
    assert mix("#000000", "#ffffff", 0.5) == "#636363"


def test_unknown_theme() -> None:
    with pytest.raises(ValueError, match="light"):
        theme("sepia")
