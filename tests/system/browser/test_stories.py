"""The list of stories in a real browser, from disk, with all network closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.driving import click, js, opened, press, until
from tests.unit.dashboards.fakes import gazette, with_past, with_stories
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.views.stories import panel

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=document.title='taken'> & </b>"


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    few = [(k, 100 - k, k // 3, 5, HOSTILE if k == 0 else f"Title {k}") for k in range(18)]
    past = [(k, 200 - k, 0, 2, f"Past {k}") for k in range(50, 75)]
    path = tmp_path / "page.html"
    path.write_text(build_page(with_stories(gazette(slices=6, topics=3), *few, *past))[0], encoding="utf-8")
    yield opened(chromium, path.as_uri() + "#tab=stories", "document.querySelector('#stories li')")
    assert chromium.get_log("browser") == []


def count(page: Any) -> int:
    return int(js(page, "return document.querySelectorAll('#stories > li').length"))


def test_stories_follow_the_date(page: Any) -> None:
    assert count(page) == 18
    assert ": 18, the largest first" in js(page, "return document.querySelector('#stories-caption').textContent")
    press(page, "Home")
    assert until(page, "document.querySelectorAll('#stories > li').length === 20")  # 28, of which 20 are shown
    assert js(page, "return document.querySelector('#stories .title').textContent") == "Past 50"
    click(page, "#stories-more")
    assert count(page) == 28
    assert js(page, "return document.querySelector('#stories-more').hidden") is True


def test_stories_that_the_page_leaves_out_are_counted(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel, "MOST", 12)
    monkeypatch.setattr(panel, "NEWEST", 6)
    path = tmp_path / "few.html"
    stories = [(k, 100 - k, 0, 5, f"Title {k}") for k in range(15)]
    path.write_text(build_page(with_stories(gazette(slices=6, topics=3), *stories))[0], encoding="utf-8")
    page = opened(chromium, path.as_uri() + "#t=1&tab=stories", "document.querySelector('#stories li')")
    assert ": 12 of 15, the largest first" in js(page, "return document.querySelector('#stories-caption').textContent")
    assert "8 of 15, the largest," in js(page, "return document.querySelector('#topic-stories p').textContent")


def test_stories_are_shown_as_they_were_at_the_date(chromium: Any, tmp_path: Path) -> None:
    known = with_stories(gazette(slices=6, topics=3), (1, 90, 1, 5, "Later title"), (2, 50, 1, 5, "Other"))
    path = tmp_path / "past.html"
    past = with_past(known, (1, 2, 8, "Larger then"), (3, 1, 5, HOSTILE), (3, 2, 9, "Larger then"))
    path.write_text(build_page(past)[0], encoding="utf-8")
    page = opened(chromium, path.as_uri() + "#tab=stories", "document.querySelector('#stories li')")

    def shown() -> tuple[list[str], str]:
        titles = js(page, "return [...document.querySelectorAll('#stories .title')].map(at => at.textContent)")
        return titles, js(page, "return document.querySelector('#stories-caption').textContent")

    assert shown()[0] == ["Later title", "Other"]
    assert "as they are now" in shown()[1]
    press(page, "Home")  # before anything is known of the past, a run file of before shows the present
    press(page, "ArrowRight")
    assert until(page, "document.querySelectorAll('#stories > li').length === 1")
    assert shown()[0] == ["Larger then"]
    assert "as they were then" in shown()[1]
    for _ in range(2):
        press(page, "ArrowRight")
    assert until(page, "document.querySelectorAll('#stories > li').length === 2")
    assert shown()[0] == ["Larger then", HOSTILE]
    about = js(page, "return document.querySelector('#stories > li:nth-child(2)').innerText")
    assert "early1 a1" in about
    assert "5 documents" in about
    assert "rising" in about


def test_all_stories_can_be_shown(page: Any) -> None:
    click(page, "#stories-scope button:last-child")
    assert count(page) == 20
    assert "43 of 43 stories" in js(page, "return document.querySelector('#stories-caption').textContent")
    assert js(page, "return document.querySelector('#stories .trend').textContent") == "ended"


def test_a_story_opens_and_leads_to_its_topic(page: Any) -> None:
    click(page, "#stories > li:nth-child(2) summary")
    assert js(page, "return document.querySelector('#stories > li:nth-child(2) details').open") is True
    link = "document.querySelector('#stories > li:nth-child(2) details a')"
    assert js(page, f"return {link}.href") == "https://example.org/1"
    click(page, "#stories > li:nth-child(2) .parent")
    assert until(page, "document.querySelector('#facts div:last-child dt').textContent === 'topic 1'")


def test_the_stories_of_the_topic_are_listed_and_drawn_in_its_band(page: Any) -> None:
    click(page, "#stories > li .parent")  # topic 1 is chosen, which has all stories
    assert until(page, "document.querySelectorAll('#topic-stories li').length === 8")
    titles = js(page, "return [...document.querySelectorAll('#topic-stories .title')].map(a => a.textContent)")
    assert sorted(titles) == [f"Past {k}" for k in range(50, 58)]  # the largest
    lines = "[...document.querySelectorAll('#river .stories path')]"
    assert 1 <= js(page, f"return {lines}.length") <= 8
    inside = (
        "const box = document.querySelector('#river .outline.chosen').getBBox();"
        f"return {lines}.every(p => p.getBBox().y >= box.y && p.getBBox().y + p.getBBox().height <= box.y + box.height)"
    )
    assert js(page, inside)
    press(page, "Escape")  # none is chosen
    assert js(page, f"return {lines}.length") == 0
    press(page, "ArrowDown")  # another topic
    assert js(page, "return document.querySelector('#topic-stories').hidden") is True


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_stories_of_the_topic_leave_no_column_empty(page: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    click(page, "#stories > li .parent")
    assert until(page, "document.querySelectorAll('#topic-stories li').length === 8")
    box = "document.querySelector('{}').getBoundingClientRect()"
    stories, words, neighbours = (
        js(page, f"const b = {box.format(one)}; return [b.left, b.width, b.top, b.bottom]")
        for one in ("#topic-stories", "[data-view=words]", "[data-view=neighbours]")
    )
    assert stories[0] == words[0]
    assert stories[1] > 0.9 * width  # across all columns
    assert stories[2] >= max(words[3], neighbours[3])
    lefts = js(
        page, "return [...document.querySelectorAll('#topic-stories li')].map(one => one.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == (3 if width > 1500 else 2)


def test_zoomed_in_the_stories_of_the_topic_are_strips_with_titles_inside_its_band(page: Any) -> None:
    click(page, "#stories > li .parent")  # topic 1, which has all stories
    height = "document.querySelector('#river .outline.chosen').getBBox().height"
    before = js(page, f"return {height}")
    press(page, "Home", "+")
    strips = "[...document.querySelectorAll('#river .stories .strip')]"
    assert until(page, f"{strips}.length > 0")
    assert js(page, f"return {height}") > 2 * before  # the band fills the height
    told = "[...document.querySelectorAll('#river .stories text')]"
    titles = js(page, f"return {told}.map(t => t.textContent)")
    assert "\u2068Past 50\u2069 \u00b7 150" in titles  # a name is read in its own direction
    inside = (
        "const band = document.querySelector('#river .outline.chosen').getBBox();"
        f"return [...{strips}, ...{told}].every(one => {{ const box = one.getBBox();"
        "return box.y >= band.y - 1 && box.y + box.height <= band.y + band.height + 1; })"
    )
    assert js(page, inside)
    apart = (
        f"const boxes = {told}.map(t => t.getBBox());"
        "return boxes.every((a, i) => boxes.every((b, k) => i === k || a.x + a.width <= b.x || b.x + b.width <= a.x"
        " || a.y + a.height <= b.y + 3 || b.y + b.height <= a.y + 3))"  # boxes are higher than letters
    )
    assert js(page, apart)
    press(page, "Escape")  # back to all dates, with the topic
    assert until(page, f"{strips}.length === 0")
    assert js(page, f"return {height}") == before


def test_zoom_by_buttons_keys_and_wheel_follows_date_and_address(page: Any) -> None:
    dates = "return document.querySelector('#river .plot').layout.xaxis.range"
    everything = js(page, dates)
    disabled = "return [...document.querySelectorAll('#zoom button')].map(button => button.disabled)"
    assert js(page, disabled) == [True, False, True]
    press(page, "Home")
    js(page, "document.querySelector('#zoom [data-value=in]').focus()")
    click(page, "#zoom [data-value=in]")
    assert until(page, "document.querySelector('#river .plot').layout.xaxis.range[1] < 4")
    assert js(page, disabled) == [False, True, False]
    focus = "return document.activeElement.dataset.value"
    assert js(page, focus) == "out"  # a button that is switched off while it has the focus hands it on
    assert "Zoomed in: 1996 Q1 \u2013 1996 Q3" in js(
        page, "return document.querySelector('#river-caption').textContent"
    )
    assert "z=2" in js(page, "return location.hash")
    press(page, "End")  # the dates that are shown follow
    assert until(page, "document.querySelector('#river .plot').layout.xaxis.range[0] > 2")
    press(page, "0")
    assert until(page, "!location.hash.includes('z=')")
    assert js(page, dates) == everything
    assert js(page, focus) == "in"
    for delta, zoomed in ((-50, "true"), (50, "false")):
        wheel = f"new WheelEvent('wheel', {{deltaY: {delta}, ctrlKey: true, bubbles: true, cancelable: true}})"
        js(page, f"document.querySelector('#river').dispatchEvent({wheel})")
        assert until(page, f"location.hash.includes('z=2') === {zoomed}")
    scroll = "new WheelEvent('wheel', {deltaY: -50, bubbles: true, cancelable: true})"
    assert js(page, f"return document.querySelector('#river').dispatchEvent({scroll})")  # the page scrolls as always
    assert "z=" not in js(page, "return location.hash")


def test_titles_stay_text(page: Any) -> None:
    assert js(page, "return document.querySelector('#stories .title').textContent") == HOSTILE
    assert js(page, "return document.querySelectorAll('img').length") == 0
    assert js(page, "return document.title") != "taken"
