"""Life lines, word search and tree in a real browser, from disk, with all network closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.system.browser.driving import opened
from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.trees import STRANGER, with_trees
from tests.waiting import wait_for
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.search.view import SearchView
from vmfstream.dashboards.views.tree.view import TreeView

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    groups = {12: [[4, 6, 8], [2, 12, STRANGER]], 24: [[4, 6], [8, 2], [12, STRANGER]]}
    path.write_text(build_page(with_trees(gazette(topics=40, stored=24), groups))[0], encoding="utf-8")
    return path


@pytest.fixture
def visit(chromium: Any, page_file: Path) -> Iterator[Open]:
    """Open the page at a place, a size and a colour scheme; afterwards the console must be empty."""

    def visited(hash: str, width: int = 1280, dark: bool = False) -> Any:
        return opened(chromium, page_file.as_uri() + hash, width=width, dark=dark)

    yield visited
    assert chromium.get_log("browser") == []


def js(page: Any, code: str) -> Any:
    return page.execute_script(code)


def soon(page: Any, code: str) -> Any:
    """Return what a piece of script gives as soon as it gives something."""
    return wait_for(lambda: js(page, code), bool)


def over(page: Any, selector: str, x: float, y: float, click: bool = False) -> None:
    """Point at pixels of an element, from its top left corner."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    js(page, f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    element = page.find_element(By.CSS_SELECTOR, selector)
    box = element.size
    action = ActionChains(page).move_to_element_with_offset(
        element, int(x - box["width"] / 2), int(y - box["height"] / 2)
    )
    (action.click() if click else action).perform()


TEXTS = "return [...document.querySelectorAll('#{} .plot text')].map((t) => t.textContent)"
PLACE = """
const m = document.querySelector('#lineage .plot').layout, [a, b] = m.meta.range;
return [m.meta, m.margin.l, m.margin.t, (m.width - m.margin.l - m.margin.r) / (b - a), m.yaxis.range[1]]
"""


def test_life_lines_draw_at_both_widths(visit: Open) -> None:
    for width, dark in ((1280, False), (390, True)):
        page = visit("#tab=lines", width=width, dark=dark)
        assert soon(page, "return document.querySelectorAll('#lineage .plot .scatterlayer .trace').length") > 20
        words = js(page, TEXTS.format("lineage"))
        assert len(words) > 40
        assert js(page, "return document.documentElement.scrollWidth") <= width


def test_a_mark_tells_what_happened_and_a_click_goes_there(visit: Open) -> None:
    page = visit("#tab=lines")
    meta, left, top, wide, high = soon(page, PLACE)
    x, y, _ = next(m for m in meta["marks"] if m[0] == 21.5)  # topic 7 flowed into topic 2
    place = left + x * wide, top + (y - high) * meta["lane"]
    over(page, "#lineage .plot", *place)
    tip = soon(page, "return document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent")
    assert tip.startswith("2001 Q3: ")
    assert "(topic 7) merged into" in tip
    assert tip.endswith(", 41° apart")
    over(page, "#lineage .plot", *place, click=True)
    assert "t=7" in soon(page, "return location.hash")
    assert "d=2001-Q3" in js(page, "return location.hash")


def test_only_the_cursor_moves_with_the_date(visit: Open) -> None:
    page = visit("#tab=lines")
    soon(page, "return document.querySelectorAll('#lineage .plot text').length > 0")
    js(page, "document.querySelector('#lineage .plot').on('plotly_afterplot', () => { window.redrawn = true; })")
    cursor = "return document.querySelector('#lineage .cursor').style.transform"
    before = js(page, cursor)
    js(page, "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}))")
    assert js(page, cursor) != before
    assert js(page, "return window.redrawn") is None


def test_all_lives_scroll_under_their_dates(visit: Open) -> None:
    page = visit("#tab=lines")
    soon(page, "return document.querySelector('#lineage-scope button')")
    js(page, "document.querySelector('#lineage-scope [data-value=all]').click()")
    assert soon(page, "return document.querySelector('#lineage').classList.contains('tall')")
    dates = js(page, "return [...document.querySelectorAll('#lineage .axis span')].map((s) => s.textContent)")
    assert dates == js(page, "return document.querySelector('#lineage .plot').layout.xaxis.ticktext")


@pytest.mark.parametrize("reading", ["filtered", "smoothed"])
def test_the_search_of_the_page_draws_what_the_view_draws(visit: Open, reading: Any) -> None:
    page = visit(f"#tab=search&w=bubble&r={reading}")
    drawn = soon(
        page, "return document.querySelector('#search .plot').data?.map((t) => [t.name, [...t.x], [...t.y], t.text])"
    )
    view = SearchView()
    frame = view.frame(gazette(topics=40, stored=24), Selection(word="bubble", reading=reading))
    wanted = view.drawing(frame, Size(1240, 0), "light")["data"]
    assert [name for name, *_ in drawn] == [trace["name"] for trace in wanted]
    for (_, x, y, text), trace in zip(drawn, wanted, strict=True):
        np.testing.assert_allclose(np.array(x, np.float64), np.array(trace["x"], np.float64), atol=1e-9)
        np.testing.assert_allclose(np.array(y, np.float64), np.array(trace["y"], np.float64), atol=0.01)
        assert text == trace.get("text")


def test_an_unknown_word_offers_its_neighbours_and_one_click_finds(visit: Open) -> None:
    page = visit("#tab=search&w=bubbel")
    offered = soon(page, "return [...document.querySelectorAll('#search-near button')].map((b) => b.textContent)")
    assert offered[0] == "bubble"
    assert len(offered) == 5
    caption = js(page, "return document.querySelector('#search-caption').textContent")
    assert "“bubbel” is among the strongest words of no topic" in caption
    js(page, "document.querySelector('#search-near button').click()")
    assert "w=bubble" in soon(page, "return location.hash")
    assert soon(page, "return document.querySelectorAll('#search .plot text').length") > 3


def test_completion_begins_with_words_of_the_topic_and_typing_finds(visit: Open) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page = visit("#tab=search&t=6")
    field = page.find_element(By.ID, "search-word")
    field.send_keys("f")
    options = js(page, "return [...document.querySelectorAll('#search-words option')].map((o) => o.value)")
    words = gazette(topics=40, stored=24).words("smoothed", topic=6)
    assert options[0] == next(w for w in words.word[words.slice == 29] if w.startswith("f"))
    assert all(option.startswith("f") for option in options)
    field.send_keys("ootball", Keys.ENTER)
    assert "w=football" in soon(page, "return location.hash")
    assert "football" in soon(page, "return document.querySelector('#search-caption').textContent")


@pytest.mark.parametrize("word", ["<img src=x onerror=alert(1)>", "$x$", "(", ".*", "constructor", "__proto__"])
def test_a_term_is_only_matched(visit: Open, word: str) -> None:
    from urllib.parse import quote

    page = visit(f"#tab=search&w={quote(word)}")
    assert word in soon(page, "return document.querySelector('#search-caption').textContent")
    assert js(page, "return document.querySelectorAll('#panel-search img').length") == 0


CELLS = "return document.querySelectorAll('#tree .plot .treemaplayer .slice').length"
LABELS = "const t = document.querySelector('#tree .plot').data?.[0]; return t && t.labels"


def test_the_tree_follows_the_date(visit: Open) -> None:
    page = visit("#tab=tree&d=2003-Q1&r=filtered")
    assert soon(page, CELLS) == 10
    title = "return document.querySelector('#tree-title').textContent"
    assert js(page, title).endswith("computed from documents up to 2002 Q1")
    values = js(page, "return [...document.querySelector('#tree .plot').data[0].values]")
    frame = TreeView().frame(
        with_trees(gazette(topics=40, stored=24), {24: [[4, 6], [8, 2], [12, STRANGER]]}), Selection(date=28)
    )
    np.testing.assert_allclose(values, [0, *frame.area], atol=1e-5)
    labels = js(page, LABELS)
    js(page, "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true}))")
    assert soon(page, CELLS) == 9
    assert js(page, LABELS) != labels
    assert "computed after the selected date" in js(page, "return document.querySelector('#tree-caption').textContent")


def test_a_click_enters_a_group_and_the_path_leads_back(visit: Open) -> None:
    page = visit("#tab=tree&d=2003-Q1")
    assert soon(page, CELLS) == 10
    x, y = js(
        page,
        """
const plot = document.querySelector('#tree .plot'), box = plot.getBoundingClientRect();
const strip = [...plot.querySelectorAll('.slice')].find((s) => /group/.test(s.textContent)).getBoundingClientRect();
return [strip.left - box.left + 30, strip.top - box.top + 12]""",
    )
    over(page, "#tree .plot", x, y)
    tip = soon(page, "return document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent")
    assert "2 topics" in tip
    assert tip.endswith("click to zoom in")
    over(page, "#tree .plot", x, y, click=True)
    assert soon(page, f"{CELLS} === 3 && document.querySelector('#tree-path b')")
    js(page, "document.querySelector('#tree-path button').click()")
    assert soon(page, f"{CELLS} === 10")


def test_a_click_on_a_cell_selects_its_topic(visit: Open) -> None:
    page = visit("#tab=tree&d=2003-Q1&t=2")
    soon(page, CELLS)
    x, y = js(
        page,
        """
const plot = document.querySelector('#tree .plot'), box = plot.getBoundingClientRect();
const id = String(plot.layout.meta.topic.indexOf(8)), slices = [...plot.querySelectorAll('.slice')];
const cell = slices.find((s) => s.__data__.data.data.id === id).getBoundingClientRect();
return [cell.left - box.left + cell.width / 2, cell.top - box.top + cell.height / 2]""",
    )
    over(page, "#tree .plot", x, y, click=True)
    assert soon(page, "return /t=8/.test(location.hash)")
