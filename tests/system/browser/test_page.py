"""The exported page in a real browser, from disk, with all network closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.driving import click, click_band, date, js, opened, press, topic, until
from tests.unit.dashboards.fakes import FakeRows, gazette
from tests.unit.dashboards.test_lineage import Event, with_events
from tests.unit.dashboards.test_word_order import called
from tests.waiting import wait_for
from vmfstream.dashboards.export import build_page

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


@pytest.fixture
def visit(chromium: Any, pages: dict[str, Path]) -> Iterator[Open]:
    """Open a page at a size and colour scheme; afterwards the console must be empty."""

    def visited(
        name: str = "quarters",
        hash: str = "",
        width: int = 1280,
        dark: bool = False,
        still: bool = True,
        address: str = "",
    ) -> Any:
        opened(chromium, (address or pages[name].as_uri()) + hash, width=width, dark=dark, still=still)
        chromium.execute_script("try { localStorage.clear() } catch {}")
        return chromium

    yield visited
    assert chromium.get_log("browser") == []


def address(page: Any) -> str:
    return str(js(page, "return location.hash"))


def test_opens_complete_without_network(visit: Open) -> None:
    page = visit()
    assert date(page) == "2003 Q2"
    assert js(page, "return document.querySelectorAll('#river .scatterlayer .trace').length") > 25
    assert js(page, "return document.querySelectorAll('#river .textpoint').length") > 20
    assert js(page, "return document.querySelectorAll('#words image').length") >= 2
    assert js(page, "return document.querySelectorAll('#documents li').length") == 5
    assert (
        js(page, "return performance.getEntriesByType('resource').filter(r => !r.name.startsWith('data:')).length") == 0
    )
    assert address(page) == ""


def test_a_wide_screen_is_used_and_no_column_is_empty(visit: Open) -> None:
    page = visit(width=1920)
    assert js(page, "return document.querySelector('#river').clientWidth") > 1700
    boxes = (
        "['words', 'neighbours', 'documents']"
        ".map(view => document.querySelector(`[data-view=${view}]`).getBoundingClientRect())"
    )
    lefts, tops = js(page, f"const all = {boxes}; return [all.map(b => b.left), all.map(b => b.top)]")
    assert lefts == sorted(lefts)
    assert max(tops) - min(tops) < 1
    page = visit(width=1280)
    words, _, documents = js(page, f"return {boxes}.map(b => [b.left, b.width])")
    assert documents[0] == words[0]
    assert documents[1] > 1200
    inside = "[...document.querySelectorAll('#river .textpoint text')].every(t => t.getBoundingClientRect()"
    assert js(page, f"return {inside}.right <= document.querySelector('#river').getBoundingClientRect().right)")


def test_no_notable_change_is_one_line(visit: Open) -> None:
    page = visit()
    press(page, "Home")
    item = "document.querySelector('#changes li')"
    assert until(page, f"{item}.textContent === 'No notable change.'")
    assert js(page, f"return {item}.offsetHeight") < 40


def test_single_letter_keys_can_be_switched_off(visit: Open) -> None:
    page = visit()
    theme = "return document.documentElement.dataset.theme"
    press(page, "t")
    assert js(page, theme) == "dark"
    press(page, "?")
    click(page, "#letters")
    click(page, "#reader button")
    press(page, "t", "?", "/")
    assert js(page, theme) == "dark"
    assert not js(page, "return document.querySelector('#reader').open")
    assert not js(page, "return document.activeElement.id === 'find'")
    press(page, "Home")
    assert date(page) == "1996 Q1"
    assert js(page, "return localStorage.getItem('keys')") == "off"
    js(page, "localStorage.clear()")


def test_everything_lies_in_a_landmark(visit: Open) -> None:
    outside = (
        "[...document.body.querySelectorAll('p, button, input, h1, h2, h3, figure')]"
        ".filter(e => e.offsetParent && e.innerText !== '' && !e.matches('.only-read')"
        " && !e.closest('header, main, footer, dialog, [role=region]')).map(e => e.outerHTML.slice(0, 60))"
    )
    assert js(visit(), f"return {outside}") == []


def test_the_page_names_topics_as_its_figures_do(visit: Open, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(build_page(called("york", "new"))[0], encoding="utf-8")
    page = visit(address=(tmp_path / "page.html").as_uri())
    assert js(page, "return document.querySelector('#topic-name').textContent") == "new york"


def test_a_number_stands_behind_a_name_that_is_read_from_right_to_left(visit: Open, tmp_path: Path) -> None:
    class Hebrew(FakeRows):
        def topic_names(self) -> dict[int, str]:
            return dict.fromkeys(range(4), "שער שחקן")

    events: list[Event] = [(7, "born", topic, -1, 12.0) for topic in range(1, 4)]
    rows = with_events(Hebrew(**vars(gazette(slices=8, topics=4, settling=0))), events)
    path = tmp_path / "hebrew.html"
    path.write_text(build_page(rows)[0], encoding="utf-8")
    page = visit(address=path.as_uri())
    code = """
        const [, name, after] = document.querySelector("#changes .born a").children;
        const number = document.createRange();
        number.setStart(after.firstChild, after.textContent.indexOf("12"));
        number.setEnd(after.firstChild, after.textContent.indexOf("12") + 2);
        return [name.getBoundingClientRect().right, number.getBoundingClientRect().left];"""
    name, number = js(page, code)
    assert number >= name


def test_play_moves_time_and_stops_at_the_end(visit: Open) -> None:
    page = visit("years", "#d=1997")
    js(
        page,
        "window.dates = new Set(); const note = () => dates.add(document.querySelector('#time output').textContent);"
        "const all = {subtree: true, childList: true, characterData: true};"
        "new MutationObserver(note).observe(document.querySelector('#time'), all); note()",
    )
    click(page, "#play")
    assert js(page, "return document.querySelector('#play .label').textContent") == "Pause"
    assert until(page, "document.querySelector('#play .label').textContent === 'Play'")
    assert js(page, "return [...dates]") == ["1997", "1998", "1999"]
    assert date(page) == "1999"
    assert js(page, "return document.querySelector('#play .label').textContent") == "Play"


def test_play_stops_on_any_click(visit: Open) -> None:
    page = visit("years", "#d=1987")
    press(page, " ")
    assert js(page, "return document.querySelector('#play .label').textContent") == "Pause"
    click(page, "h1")
    assert js(page, "return document.querySelector('#play .label').textContent") == "Play"


def test_click_on_a_band_selects_topic_and_date(visit: Open) -> None:
    page = visit()
    before = topic(page)
    seen = set()
    for y in (0.25, 0.4, 0.5, 0.6, 0.75):
        click_band(page, 0.5, y)
        seen.add(topic(page))
    assert len(seen - {before}) >= 3
    assert date(page).startswith("1999")
    assert "t=" in address(page)
    assert js(page, "return document.querySelector('#river .chosen').getAttribute('d').length") > 500
    assert js(page, "return document.querySelector('#river .veil').getAttribute('d').length") > 500
    assert js(page, "return document.querySelector('#notice').hidden")


def test_the_band_under_the_pointer_is_the_band_that_is_drawn(visit: Open) -> None:
    """Compare the look-up with the fills that the browser itself hits."""
    page = visit()
    wrong = js(
        page,
        """
        const river = document.querySelector('#river'), box = river.getBoundingClientRect(), wrong = [];
        const fills = [...river.querySelectorAll('.scatterlayer .trace .js-fill')];
        const hover = river.querySelector('.outline.hover');
        const covers = (f, x, y) => { const p = f.ownerSVGElement.createSVGPoint(); p.x = x; p.y = y;
          return f.isPointInFill(p.matrixTransform(f.getScreenCTM().inverse())); };
        let hits = 0;
        for (let x = 0.03; x < 0.98; x += 0.047) for (let y = 0.1; y < 0.9; y += 0.031) {
          const cx = box.left + x * box.width, cy = box.top + y * box.height, at = {clientX: cx, clientY: cy};
          const inside = fills.some((f) => covers(f, cx, cy));
          river.dispatchEvent(new PointerEvent('pointermove', {...at, bubbles: true, pointerType: 'mouse'}));
          if (inside !== (Boolean(hover.getAttribute('d')) && covers(hover, cx, cy))) wrong.push([x, y]);
          hits += inside;
        }
        return [wrong.length, hits];
        """,
    )
    assert wrong[1] > 200
    assert wrong[0] <= 8  # points on an edge


def test_arrow_keys_move_date_and_topic(visit: Open) -> None:
    page = visit()
    press(page, "ArrowLeft")
    assert date(page) == "2003 Q1"
    press(page, "ArrowLeft", shift=True)
    assert date(page) == "2000 Q3"
    press(page, "Home")
    assert date(page) == "1996 Q1"
    press(page, "ArrowRight", "ArrowRight")
    assert date(page) == "1996 Q3"
    press(page, "End")
    assert date(page) == "2003 Q2"
    first = topic(page)
    press(page, "ArrowDown")
    second = topic(page)
    assert second != first
    press(page, "ArrowUp")
    assert topic(page) == first


def test_dragging_along_the_river_moves_the_date_only(visit: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    page = visit()
    before = topic(page)
    js(page, "document.querySelector('#river').scrollIntoView({block: 'center'})")
    river = page.find_element(By.ID, "river")
    ActionChains(page).move_to_element_with_offset(river, 100, 0).click_and_hold().move_by_offset(
        -200, 0
    ).move_by_offset(-200, 0).release().perform()
    assert date(page) == "1997 Q4"
    assert topic(page) == before


def test_theme_toggles_and_follows_the_system(visit: Open) -> None:
    page = visit(dark=True)
    assert js(page, "return getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 22, 26)"
    assert (
        js(page, "return document.querySelector('#river .bglayer .bg, #river .main-svg').style.background")
        == "rgb(20, 22, 26)"
    )
    press(page, "t")
    assert js(page, "return getComputedStyle(document.documentElement).backgroundColor") == "rgb(251, 250, 247)"
    assert js(page, "return document.querySelector('#river .main-svg').style.background") == "rgb(251, 250, 247)"
    assert "th=light" in address(page)


def test_address_restores_everything(visit: Open) -> None:
    page = visit("quarters", "#d=1999-Q3&t=4&r=filtered&m=share&v=ranks&th=dark")
    assert date(page) == "1999 Q3"
    assert topic(page) == "topic 4"
    switches = "#reading,#measure,#form"
    pressed = js(
        page,
        f"return [...document.querySelectorAll('{switches}')].map("
        "s => s.querySelector('[aria-pressed=true]').dataset.value)",
    )
    assert pressed == ["filtered", "share", "ranks"]
    assert js(page, "return document.documentElement.dataset.theme") == "dark"
    press(page, "ArrowRight")
    assert address(page) == "#d=1999-Q4&t=4&r=filtered&m=share&v=ranks&th=dark"


def test_unknown_addresses_fall_back_and_say_so(visit: Open) -> None:
    page = visit("quarters", "#d=1899-Q3&t=214&r=later")
    assert date(page) == "2003 Q2"
    said = js(page, "return document.querySelector('#notice').innerText")
    assert "no topic 214" in said
    assert "no date 1899-Q3" in said


def test_back_undoes_a_change_of_topic(visit: Open) -> None:
    page = visit("quarters", "#t=4")
    press(page, "ArrowDown")
    assert topic(page) != "topic 4"
    js(page, "history.back()")
    assert until(page, "document.querySelector('#facts div:last-child dt').textContent === 'topic 4'")
    assert topic(page) == "topic 4"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_flag_of_the_date_covers_no_note(visit: Open, width: int) -> None:
    page = visit("years", "#t=4&d=1989&r=filtered", width=width)
    note = "[...document.querySelectorAll('#river .annotation-text')].find(t => t.textContent.includes('warm-up'))"
    flag = "document.querySelector('#river .cursor b')"
    assert js(page, f"return {flag}.getBoundingClientRect().bottom <= {note}.getBoundingClientRect().top")


def test_a_topic_of_two_dates_has_turned_by_one_angle(visit: Open) -> None:
    notes = "return [...document.querySelectorAll('#facts dd')].map(note => note.textContent)"
    assert js(visit("years", "#t=4&d=1988"), notes).count("drift since 1987") == 1
    later = js(visit("years", "#t=4&d=1989"), notes)
    assert [note for note in later if note.startswith("drift")] == ["drift since 1987", "drift since 1988"]


def test_readings_and_measures_switch(visit: Open) -> None:
    page = visit("years", "#t=4&d=1988")
    facts = js(page, "return document.querySelector('#facts').innerText")
    assert "°" in facts
    press(page, "h")
    assert "°" not in js(page, "return document.querySelector('#facts').innerText")  # no absolute degrees as known then
    assert "still in its warm-up" in js(page, "return document.querySelector('#state').innerText")
    assert not js(page, "return document.querySelector('#warm-up').hidden")
    labels = js(page, "return [...document.querySelectorAll('#river .textpoint')].map(t => t.textContent).join()")
    press(page, "s")
    assert labels != js(
        page, "return [...document.querySelectorAll('#river .textpoint')].map(t => t.textContent).join()"
    )
    click(page, "#form [data-value=both]")
    assert "v=both" in address(page)


def test_without_smoothed_nothing_can_be_switched_to_it(visit: Open) -> None:
    page = visit("filtered", "#r=smoothed")
    press(page, "h")
    assert js(page, "return document.querySelector('#reading [aria-pressed=true]').dataset.value") == "filtered"
    assert js(page, "return document.querySelector('#reading [data-value=smoothed]').disabled")


@pytest.mark.parametrize("name", ["quarters", "years"])
@pytest.mark.parametrize("width", [390, 320, 700])
def test_narrow_screens_do_not_scroll_sideways(visit: Open, name: str, width: int) -> None:
    page = visit(name, width=width)
    assert js(page, "return document.documentElement.scrollWidth") <= width
    click(page, "#words-table")
    if width <= 480:
        click(page, "#more")
        assert js(page, "return document.querySelector('#theme').offsetHeight") >= 44
        assert js(page, "return document.querySelector('#time').getBoundingClientRect().width") <= width
    assert js(page, "return document.documentElement.scrollWidth") <= width


def test_charts_have_names_and_are_hidden_where_they_cannot_be_read(visit: Open) -> None:
    page = visit()
    figures = js(
        page,
        "return [...document.querySelectorAll('figure')].filter(f => f.offsetParent).map(f => ["
        "document.getElementById(f.getAttribute('aria-labelledby'))?.textContent, "
        "document.getElementById(f.getAttribute('aria-describedby'))?.textContent, "
        "f.querySelector('.plot').getAttribute('aria-hidden')])",
    )
    assert len(figures) >= 4
    for heading, sentence, hidden in figures:
        assert hidden == "true"
        assert heading
        assert len(sentence) > 30
    unnamed = js(
        page,
        "return [...document.querySelectorAll('button, a, input')]"
        ".filter(b => !b.hidden && !(b.textContent.trim() || b.getAttribute('aria-label') || b.labels?.length)).length",
    )
    assert unnamed == 0
    assert js(page, "return document.querySelectorAll('.modebar').length") == 0
    small = js(
        page,
        "return [...document.querySelectorAll('button, a.quiet')]"
        ".filter(b => b.offsetHeight && b.offsetHeight < 28).length",
    )
    assert small == 0


def test_the_date_and_words_are_spoken(visit: Open) -> None:
    page = visit("years", "#t=4")
    press(page, "ArrowLeft")
    assert until(page, "document.querySelector('#speak').textContent.startsWith('1998. ')")
    said = js(page, "return document.querySelector('#speak').textContent")
    assert said.startswith("1998. ")
    assert said.endswith(" documents.")


def test_words_as_a_table(visit: Open) -> None:
    page = visit("years", "#t=4")
    click(page, "#words-table")
    cells = js(page, "return [...document.querySelectorAll('#words-rows tr')].map(r => r.cells.length)")
    assert cells == [14] * 9


def test_hovering_a_word_tells_its_story(visit: Open) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    page = visit("years", "#t=4")
    js(page, "document.querySelector('#words').scrollIntoView({block: 'center'})")
    chart = page.find_element(By.ID, "words")
    ActionChains(page).move_to_element_with_offset(chart, 0, -60).perform()
    said = wait_for(lambda: js(page, "return document.querySelector('#tip').innerText"), bool)
    assert "strongest word, weight 0." in said
    assert "among the twenty strongest in" in said
    assert "{" not in said


@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11.0)], ids=["A4", "Letter"])
def test_everything_is_redrawn_for_paper(visit: Open, paper: tuple[float, float]) -> None:
    page = visit(width=1920, dark=True)
    before = js(page, "return document.querySelector('#river .main-svg').getBoundingClientRect().width")
    js(
        page,
        "matchMedia('print').addEventListener('change', (event) => { if (event.matches) window.widths = "
        "[...document.querySelectorAll('.plot .main-svg')].map(e => e.getBoundingClientRect().width)"
        ".filter(Boolean); })",
    )
    printed = page.execute_cdp_cmd("Page.printToPDF", {"paperWidth": paper[0], "paperHeight": paper[1]})
    assert printed["data"]
    widths = wait_for(lambda: js(page, "return window.widths"), bool)
    assert len(widths) > 5
    assert max(widths) <= 680
    width = "return document.querySelector('#river .main-svg').getBoundingClientRect().width"
    wait_for(lambda: js(page, width), lambda now: now == before)
    wait_for(lambda: js(page, "return document.documentElement.dataset.theme"), lambda theme: theme == "dark")


def test_printing_is_light(visit: Open) -> None:
    page = visit(dark=True)
    js(page, "dispatchEvent(new Event('beforeprint'))")
    assert js(page, "return document.documentElement.dataset.theme") == "light"
    js(page, "dispatchEvent(new Event('afterprint'))")
    assert js(page, "return document.documentElement.dataset.theme") == "dark"


def test_heads_of_tables_have_no_boxes_of_buttons_on_paper(visit: Open) -> None:
    """With one in it Chromium prints a table's head on the first of its sheets only."""
    page = visit("years", "#tab=table")
    boxes = "return [...document.querySelectorAll('#topics th button')].map(e => e.getClientRects().length)"
    assert any(js(page, boxes))
    js(page, "dispatchEvent(new Event('beforeprint'))")
    assert not any(js(page, boxes))
    js(page, "dispatchEvent(new Event('afterprint'))")


def test_a_long_lineage_is_printed_on_one_sheet(chromium: Any, tmp_path: Path) -> None:
    many = tmp_path / "many.html"
    many.write_text(build_page(gazette(slices=4, topics=36, settling=1))[0], encoding="utf-8")
    page = opened(chromium, many.as_uri() + "#tab=lineage")
    click(page, "#lineage-scope [data-value=all]")
    height = "document.querySelector('#lineage .main-svg').getBoundingClientRect().height"
    assert until(page, f"{height} > 900")
    lanes = "[...document.querySelectorAll('#lineage .lane, #lineage .main-svg')].map(e => e.getBoundingClientRect())"
    js(page, "dispatchEvent(new Event('beforeprint'))")
    assert until(page, f"{height} === 800")
    lane, chart = js(page, f"return {lanes}.sort((a, b) => a.height - b.height).slice(0, 2)")
    assert chart["top"] < lane["top"] < lane["bottom"] < chart["bottom"]
    js(page, "dispatchEvent(new Event('afterprint'))")
    assert until(page, f"{height} > 900")


def test_a_topic_that_was_smoothed_away_gives_way(visit: Open) -> None:
    page = visit("replaced", "#r=filtered&t=90&d=1996-Q2")
    assert topic(page) == "topic 90"
    assert "1 more in the warm-up" in js(page, "return document.querySelector('#subtitle').textContent")
    press(page, "h")
    assert topic(page) != "topic 90"
    assert js(page, "return document.querySelector('#subtitle').textContent").endswith("6 topics")
    said = js(page, "return document.querySelector('#notice').textContent")
    assert "no topic 90 in hindsight" in said
    assert "showing topic" in said.lower()
