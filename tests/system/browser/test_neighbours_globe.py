"""Neighbours and the globe in a real browser: what the page moves stands where Python says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.system.browser.driving import js, opened, press, topic, until
from tests.unit.dashboards.fakes import gazette
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection
from vmfstream.dashboards.views.globe.frame import globe_frame
from vmfstream.dashboards.views.neighbours.frame import neighbours_frame

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def rows() -> CachedRows:
    return CachedRows(gazette())


@pytest.fixture
def visit(chromium: Any, pages: dict[str, Path]) -> Iterator[Open]:
    def visited(hash: str, name: str = "quarters", width: int = 1280, still: bool = True) -> Any:
        ready = "document.querySelector('#neighbours .plot').data"
        return opened(chromium, pages[name].as_uri() + hash, ready, width=width, still=still)

    yield visited
    assert chromium.get_log("browser") == []


def trace(page: Any, view: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = js(
        page,
        f"const t = document.querySelector('#{view} .plot').data.find((t) => t.name === {name!r});"
        "return {x: t.x, y: t.y, lon: t.lon, lat: t.lat, ids: t.ids, text: t.text}",
    )
    return found


def centre(page: Any, view: str, k: int) -> tuple[int, int]:
    """Return where a dot is on the screen, counted among the large ones."""
    js(page, f"document.querySelector('#{view}').scrollIntoView({{block: 'center'}})")
    time.sleep(0.1)
    x, y = js(
        page,
        f"const found = [...document.querySelectorAll('#{view} .point')].map((n) => n.getBoundingClientRect())"
        f".filter((b) => b.width > 9)[{k}]; return [found.x + found.width / 2, found.y + found.height / 2]",
    )
    return round(x), round(y)


def point_at(page: Any, place: tuple[int, int], click: bool = False) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    chain = ActionChains(page)
    pointer: Any = chain.w3c_actions.pointer_action
    pointer.move_to_location(*place)
    if click:
        pointer.click()
    chain.perform()


@pytest.mark.parametrize("state", ["#t=2", "#t=5&d=2000-Q1&r=filtered", "#t=20&d=2003-Q2"])
def test_radii_on_the_page_are_the_angles_of_the_run_file(visit: Open, rows: CachedRows, state: str) -> None:
    page = visit(state)
    said = dict(part.split("=") for part in state[1:].split("&"))
    date = history_of(rows, "filtered").labels.index(said.get("d", "2003-Q2").replace("-", " "))
    chosen = Selection(topic=int(said["t"]), date=date, reading="filtered" if said.get("r") else "smoothed")
    frame = neighbours_frame(rows, chosen)
    dots = trace(page, "neighbours", "dots")
    known = ~np.isnan(frame.degrees)
    assert sorted(dots["ids"]) == sorted(f"t{t}" for t in frame.others[known])
    order = [frame.others.tolist().index(int(one[1:])) for one in dots["ids"]]
    np.testing.assert_allclose(np.hypot(dots["x"], dots["y"]), frame.degrees[order], atol=0.5)
    way = np.degrees(np.arctan2(dots["y"], dots["x"]))
    np.testing.assert_allclose((way - frame.direction[order] + 180) % 360 - 180, 0, atol=0.1)
    at, turns = frame.past.seen_from(frame.date)
    path = [trace(page, "neighbours", f"past-{k}") for k in range(4)]
    radii = np.concatenate([np.hypot(part["x"], part["y"])[k > 0 :] for k, part in enumerate(path)])
    assert radii.size == at.size + 1
    np.testing.assert_allclose(radii[:-1], turns, atol=0.5)


def test_names_do_not_touch(visit: Open) -> None:
    for width in (1280, 390):
        page = visit("#t=4", width=width)
        boxes = js(
            page,
            "const from = document.querySelector('#neighbours').getBoundingClientRect();"
            "return [...document.querySelectorAll('#neighbours .textpoint text')].map((n) => n.getBoundingClientRect())"
            ".map((b) => [b.left - from.left, b.top - from.top, b.right - from.left, b.bottom - from.top, from.width])",
        )
        assert len(boxes) > 8
        for k, a in enumerate(boxes):
            assert min(a[:2]) > -3
            assert max(a[2:4]) < a[4] + 3
            for b in boxes[:k]:
                assert a[0] > b[2] - 3 or b[0] > a[2] - 3 or a[1] > b[3] - 4 or b[1] > a[3] - 4


def test_dots_glide_along_their_rays(visit: Open) -> None:
    page = visit("#t=2", still=False)
    before = js(page, "return document.querySelector('#neighbours .point').getAttribute('transform')")
    press(page, *["ArrowLeft"] * 6)
    time.sleep(0.6)
    dots = trace(page, "neighbours", "dots")
    drawn = js(
        page,
        "return [...document.querySelectorAll('#neighbours .trace')].flatMap((t) => [...t.querySelectorAll('.point')])"
        ".map((n) => n.getAttribute('transform').match(/[-\\d.]+/g).slice(0, 2).map(Number))",
    )
    reach = js(page, "return document.querySelector('#neighbours .plot').layout.meta.reach")
    wide = js(page, "return document.querySelector('#neighbours').clientWidth")
    expected = [
        (wide / 2 * (1 + x / reach), wide / 2 * (1 - y / reach)) for x, y in zip(dots["x"], dots["y"], strict=True)
    ]
    for place in expected:
        assert min(abs(x - place[0]) + abs(y - place[1]) for x, y in drawn) < 0.5
    assert js(page, "return document.querySelector('#neighbours .point').getAttribute('transform')") != before


@pytest.mark.parametrize("view", ["neighbours", "globe"])
def test_hover_tells_and_a_click_selects(visit: Open, view: str) -> None:
    page = visit("#t=2&tab=globe")
    assert until(page, "document.querySelector('#globe .plot').data")
    place = centre(page, view, 1)
    point_at(page, place)
    assert until(page, "!document.querySelector('#tip').hidden")
    said = js(page, "return document.querySelector('#tip').textContent")
    assert ("apart" if view == "neighbours" else "drift of") in said
    assert topic(page) == "topic 2"
    point_at(page, place, click=True)
    assert until(page, "!document.querySelector('#facts').textContent.includes('topic 2t')")
    assert topic(page) in said
    assert f"t={topic(page).split()[1]}" in js(page, "return location.hash")


def sphere(found: dict[str, Any]) -> NDArray[np.float64]:
    lon, lat = (np.radians(np.array(found[key], dtype=np.float64)) for key in ("lon", "lat"))
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def test_dots_and_rings_of_the_globe_stand_where_the_run_file_says(visit: Open, rows: CachedRows) -> None:
    page = visit("#t=2&tab=globe&d=2001-Q3")
    assert until(page, "document.querySelector('#globe .plot').data")
    frame = globe_frame(rows, Selection(date=history_of(rows, "filtered").labels.index("2001 Q3"), reading="smoothed"))
    columns = np.flatnonzero(~np.isnan(frame.place[frame.date, :, 0]))
    paths = [frame.trail(int(t)) for t in columns]
    for name, expected in (("dots", [path[-1] for path in paths]), ("rings", [p[0] for p in paths if len(p) > 1])):
        drawn = sphere(trace(page, "globe", name))
        assert len(drawn) == len(expected)
        gaps = np.degrees(np.arccos(np.clip(drawn @ np.array(expected).T, -1, 1)))
        assert gaps.min(axis=0).max() < 0.3
    assert 5 < len(trace(page, "globe", "names")["text"]) <= 16


def test_the_globe_turns_and_asks_nobody_for_coasts(visit: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    page = visit("#t=2&tab=globe")
    assert until(page, "document.querySelector('#globe .plot').data")
    turned = "return document.querySelector('#globe .plot').layout.geo.projection.rotation.lon"
    js(page, "document.querySelector('#globe').scrollIntoView({block: 'center'})")
    start = js(page, turned)
    globe = page.find_element(By.ID, "globe")
    ActionChains(page).move_to_element_with_offset(globe, 40, 90).click_and_hold().move_by_offset(
        -120, 0
    ).release().perform()
    assert until(page, f"({turned.removeprefix('return ')}) !== {start}")
    dragged = js(page, turned)
    js(page, "document.querySelector('[data-turn=\"40\"]').click()")
    assert until(page, f"({turned.removeprefix('return ')}) !== {dragged}")
    assert (js(page, turned) - dragged) % 360 == pytest.approx(40)
    asked = "return performance.getEntriesByType('resource').filter((r) => !r.name.startsWith('data:')).length"
    assert js(page, asked) == 0


def test_a_topic_behind_the_globe_is_turned_to_the_front_and_no_farther(visit: Open) -> None:
    page = visit("#t=2&tab=globe")
    assert until(page, "document.querySelector('#globe .plot').data")
    facing, turned = "return document.querySelector('#globe .plot').layout.geo.projection.rotation", 0
    for _ in range(30):
        before = js(page, facing)
        press(page, "ArrowDown")
        time.sleep(0.3)
        chosen = int(topic(page).split()[1])
        assert js(page, "return document.querySelector('#globe .plot').data.at(-1).text.length") > 3
        wide = "const p = document.querySelector('#globe .plot').data.at(-2); return p.marker.line.width"
        k = int(np.argmax(js(page, wide)))
        dots = sphere(trace(page, "globe", "dots"))
        rotation = js(page, facing)
        away = sphere({"lon": [rotation["lon"]], "lat": [rotation["lat"]]})[0]
        assert dots[k] @ away > 0.25, chosen
        if rotation != before:
            turned += 1
            assert dots[k] @ away < np.cos(np.radians(44)), chosen
    assert turned


def test_settling_and_lonely_topics_say_what_is_missing(visit: Open) -> None:
    page = visit("#t=2&d=1996-Q1&r=filtered&tab=globe")
    assert until(page, "document.querySelector('#globe-note').textContent")
    assert "no position yet" in js(page, "return document.querySelector('#globe-note').textContent")
    assert "in its warm-up" in js(page, "return document.querySelector('#neighbours-note').textContent")
