"""The exported file and the live page of real logs: the same views, the same behaviour, no request to anybody else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.conftest import closed
from tests.system.browser.driving import click, click_band, date, js, opened, press, topic, until
from vmfstream.dashboards import TABS
from vmfstream.dashboards.app import Server
from vmfstream.dashboards.export import export_page

pytestmark = [pytest.mark.browser, pytest.mark.corpus]

FACES = [(corpus, face) for corpus in ("nips-papers", "nyt") for face in ("file", "live")]


@pytest.fixture(scope="module", params=FACES, ids="-".join)
def face(
    request: pytest.FixtureRequest, real: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Return the address of a page and the sign before its state."""
    corpus, kind = request.param
    if kind == "file":
        path = tmp_path_factory.mktemp("file") / "page.html"
        export_page(real[corpus], path)
        yield path.as_uri(), "#"
        return
    pytest.importorskip("dash")  # the live page is an extra
    server = Server(real[corpus], port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.url, "?"
    server.stop()
    thread.join()


@pytest.fixture
def visit(chromium: Any, face: tuple[str, str]) -> Iterator[Callable[[str], Any]]:
    """Open the page in some state; afterwards the console is empty and nobody else was asked."""
    url, sign = face
    closed(chromium, sign == "#")

    def visited(state: str = "") -> Any:
        ready = "document.querySelectorAll('#river .textpoint').length > 5"
        return opened(chromium, url + (sign + state if state else ""), ready)

    yield visited
    asked = js(chromium, "return performance.getEntriesByType('resource').map(r => r.name)")
    assert [name for name in asked if not name.startswith((url, "data:", "blob:"))] == []
    assert chromium.get_log("browser") == []
    chromium.get("about:blank")
    closed(chromium, True)


def test_every_view_renders(visit: Callable[[str], Any]) -> None:
    page = visit("")
    assert until(page, "document.querySelector('#words .main-svg')")
    assert until(page, "document.querySelector('#neighbours .main-svg')")
    assert js(page, "return document.querySelectorAll('[data-view=changes] a').length") >= 3
    assert js(page, "return document.querySelectorAll('#documents li').length") >= 1
    for tab in TABS:
        click(page, f"#tab-{tab}")
        assert until(page, f"document.querySelector('#panel-{tab}').innerText.length > 20"), tab
        if tab in ("lineage", "globe", "health"):
            assert until(page, f"document.querySelector('#panel-{tab} .main-svg')"), tab
    assert js(page, "return document.querySelectorAll('.failed').length") == 0


def test_play_moves_time(visit: Callable[[str], Any]) -> None:
    page = visit("")
    last = date(page)
    press(page, "Home", " ")
    first = date(page)
    assert first != last
    assert until(page, f"document.querySelector('#time output').textContent !== {first!r}")
    press(page, " ")


def test_a_click_selects_topic_and_date(visit: Callable[[str], Any]) -> None:
    page = visit("")
    last, names = date(page), set()
    for y in (0.3, 0.45, 0.6):
        click_band(page, 0.5, y)
        names.add(topic(page))
    assert len(names) >= 2
    assert date(page) != last


def test_search_finds_a_word(visit: Callable[[str], Any]) -> None:
    page = visit("")
    word = js(page, "return document.querySelector('#topic-name').textContent.split(/[ ,]+/)[0]")
    press(page, "/")
    assert js(page, "return document.activeElement.id") == "find"
    field = page.switch_to.active_element
    field.send_keys(word, "\n")
    assert until(page, "document.querySelector('#tab-search').getAttribute('aria-selected') === 'true'")
    assert until(page, "document.querySelector('#panel-search .main-svg')")
    assert word in js(page, "return document.querySelector('#panel-search').innerText + location.href")


def test_the_address_restores_the_state(visit: Callable[[str], Any]) -> None:
    page = visit("d=1996&t=3&r=filtered&m=share&v=heatmap&tab=table&th=dark")
    assert (date(page), topic(page)) == ("1996", "topic 3")
    assert js(page, "return document.documentElement.dataset.theme") == "dark"
    assert js(page, "return document.querySelector('#panel-table').hidden") is False
    pressed = js(
        page,
        "return [...document.querySelectorAll('#reading,#measure,#form')].map("
        "s => s.querySelector('[aria-pressed=true]')?.dataset.value)",
    )
    assert pressed == ["filtered", "share", "heatmap"]
    press(page, "ArrowRight")
    assert "d=1997&t=3&r=filtered&m=share&v=heatmap&tab=table&th=dark" in js(page, "return location.href")
    press(page, "ArrowDown")
    assert topic(page) != "topic 3"
    js(page, "history.back()")
    assert until(page, "document.querySelector('#facts div:last-child dt').textContent === 'topic 3'")


def test_former_names_in_addresses_still_lead_to_their_views(visit: Callable[[str], Any]) -> None:
    page = visit("v=strips&tab=lines&t=3&r=then")
    assert js(page, "return document.querySelector('#panel-lineage').hidden") is False
    assert js(page, "return document.querySelector('#form [aria-pressed=true]').dataset.value") == "heatmap"
    assert js(page, "return document.querySelector('#reading [aria-pressed=true]').dataset.value") == "filtered"
