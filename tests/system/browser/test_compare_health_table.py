"""Sentences, comparison, documents, health and the table in a real browser, from disk, with all network closed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.browser.conftest import closed
from tests.system.browser.driving import click, date, js, opened, press, topic, until
from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.written import write_run_file
from vmfstream.dashboards.app import Server
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.changes.sentences import what_changed
from vmfstream.dashboards.views.compare.view import CompareView
from vmfstream.dashboards.views.health.view import HealthView

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOSTILE = [
    ["=cmd|' /C calc'!A0", "<img src=x onerror=alert(1)>", "+49", "@sum", "$x$", "-1", "&amp;", "b\u202ee"],
    ["plain", "words", "of", "a", "harmless", "second", "topic", "here"],
]


@pytest.fixture(scope="module")
def logs() -> dict[str, CachedRows]:
    return {
        "gazette": CachedRows(gazette(topics=12, stored=24)),
        "hostile": CachedRows(gazette(slices=12, topics=2, words=HOSTILE, settling=0)),
    }


@pytest.fixture(scope="module")
def files(logs: dict[str, CachedRows], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, rows in logs.items():
        (folder / f"{name}.html").write_text(build_page(rows)[0], encoding="utf-8")
    return {name: folder / f"{name}.html" for name in logs}


@pytest.fixture
def visit(chromium: Any, files: dict[str, Path]) -> Iterator[Open]:
    def visited(hash: str = "", name: str = "gazette", width: int = 1280) -> Any:
        return opened(chromium, files[name].as_uri() + hash, "document.querySelector('#changes li')", width=width)

    yield visited
    assert chromium.get_log("browser") == []


def texts(page: Any, selector: str) -> list[str]:
    code = f"return [...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)"
    return [str(text) for text in js(page, code)]


def rows_saved(page: Any, name: str) -> list[str]:
    """Return the lines of a file that a button saves."""
    js(
        page,
        "window.saved = null; const make = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((t) => "
        "{ window.saved = t; }); return make.call(URL, b); };",
    )
    click(page, f'[data-csv="{name}"]')
    assert until(page, "window.saved !== null")
    return str(js(page, "return window.saved")).lstrip("\ufeff").rstrip("\r\n").split("\r\n")


@pytest.mark.parametrize("reading", ["filtered", "smoothed"])
def test_the_sentences_of_the_reading_are_shown(visit: Open, logs: dict[str, CachedRows], reading: Any) -> None:
    page = visit(f"#r={reading}")
    reported = what_changed(logs["gazette"], reading)
    shown = [line.replace("\u00a0", " ") for line in texts(page, "#changes li")]
    assert shown == [str(change) for change in reported.changes]
    assert 3 <= len(shown) <= 6


def test_the_sentences_follow_the_date(visit: Open, logs: dict[str, CachedRows]) -> None:
    history = history_of(logs["gazette"], "filtered")
    at = history.index.size // 2
    page = visit(f"#r=filtered&d={history.labels[at].replace(' ', '-')}")
    reported = what_changed(logs["gazette"], "filtered", until=at)
    assert [line.replace("\u00a0", " ") for line in texts(page, "#changes li")] == list(map(str, reported.changes))
    press(page, "ArrowRight")
    reported = what_changed(logs["gazette"], "filtered", until=at + 1)
    assert [line.replace("\u00a0", " ") for line in texts(page, "#changes li")] == list(map(str, reported.changes))


def test_a_sentence_leads_to_its_topic_and_date(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#r=filtered")
    change = what_changed(logs["gazette"], "filtered").changes[1]
    click(page, "#changes li:nth-child(2) a")
    assert until(page, f"document.querySelector('#facts div:last-child dt').textContent === 'topic {change.topic}'")
    assert date(page) == history_of(logs["gazette"], "filtered").labels[change.at]


def test_a_served_page_tells_what_changed_since_the_last_visit(chromium: Any, tmp_path: Path) -> None:
    rows = CachedRows(gazette(slices=30, topics=8, stored=12))
    server = Server(write_run_file(tmp_path / "run.duckdb", gazette(slices=30, topics=8, stored=12)), port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    closed(chromium, False)
    try:
        chromium.get(server.url)
        assert until(chromium, "document.querySelector('#changes li')")
        assert texts(chromium, "#changes-title")[0].startswith("What changed, ")
        chromium.get(server.url.rstrip("/") + "/_dash-layout")  # leaving the page has stored a visit
        assert js(chromium, "return localStorage.getItem('seen:Harbour Gazette')") == "2003 Q2"
        js(chromium, "localStorage.setItem('seen:Harbour Gazette', '2002 Q3')")
        chromium.get(server.url)
        assert until(chromium, "document.querySelector('#changes li')")
        assert texts(chromium, "#changes-title") == ["What changed since your last visit, 2002 Q4–2003 Q2"]
        reported = what_changed(rows, "smoothed", since=history_of(rows, "smoothed").labels.index("2002 Q4"))
        shown = [line.replace("\u00a0", " ") for line in texts(chromium, "#changes li")]
        assert shown == [str(change) for change in reported.changes]
        assert shown
        js(chromium, "localStorage.clear()")
        chromium.get("about:blank")
    finally:
        closed(chromium, True)
        server.stop()
        thread.join()


def test_comparing_dates_draws_what_the_view_draws(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#t=4&d=2002-Q1&o=1997-Q3&r=filtered")
    history = history_of(logs["gazette"], "filtered")
    late, early = (history.labels.index(label) for label in ("2002 Q1", "1997 Q3"))
    frame = CompareView().frame(logs["gazette"], Selection(topic=4, reading="filtered", date=late, other=early))
    assert_same(page, frame)
    caption = texts(page, "#compare-caption")[0]
    said = re.match(r"Its strongest words in 1997 Q3 and in 2002 Q1, drift of (\d+)°\. Lines", caption)
    assert said is not None
    assert frame.degrees is not None
    assert said[1] == f"{frame.degrees:.0f}"
    gone = [word for word in frame.left.words if word not in frame.right.words]
    assert texts(page, "#compare-words")[0].startswith(f"No longer since 1997 Q3: {', '.join(gone)}.")


def test_comparing_topics_draws_what_the_view_draws(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#t=4&p=9&d=2002-Q1")
    at = history_of(logs["gazette"], "smoothed").labels.index("2002 Q1")
    frame = CompareView().frame(logs["gazette"], Selection(topic=4, other_topic=9, date=at, reading="smoothed"))
    assert_same(page, frame)
    said = re.match(r"The strongest words of two topics, (\d+)° apart\. Lines", texts(page, "#compare-caption")[0])
    assert said is not None
    assert frame.degrees is not None
    assert said[1] == f"{frame.degrees:.0f}"


def assert_same(page: Any, frame: Any) -> None:
    """Compare the page's figure with the view's: words, places, colours, and lengths as coarse as stored weights."""
    assert until(page, "document.querySelector('#compare .plot')?.data?.[2].text.length")
    drawing = CompareView().drawing(frame, Size(800, 0), "light")
    keys = "{ x: t.x, y: t.y, base: t.base, text: t.text, line: t.line?.color, bar: t.marker?.color, font: t.textfont }"
    shown = js(page, f"return document.querySelector('#compare .plot').data.map((t) => ({keys}))")
    kept, bars, words = drawing["data"]
    assert shown[2]["text"] == words["text"]
    assert (shown[2]["x"], shown[2]["y"]) == (words["x"], words["y"])
    assert shown[2]["font"]["color"] == words["textfont"]["color"]
    assert shown[2]["font"]["weight"] == words["textfont"]["weight"]
    assert (shown[1]["base"], shown[1]["y"], shown[1]["bar"]) == (bars["base"], bars["y"], bars["marker"]["color"])
    assert shown[1]["x"] == pytest.approx(bars["x"], abs=1.5)
    assert shown[0]["line"] == kept["line"]["color"]
    assert shown[0]["y"] == pytest.approx(kept["y"], abs=0.001)
    assert shown[0]["x"] == pytest.approx(kept["x"], abs=0.06)


def test_what_to_compare_with_is_chosen_from_a_list_or_by_key(visit: Open) -> None:
    page = visit("#t=4")
    assert js(page, "return document.querySelector('#compare-box').hidden")
    js(page, "document.querySelector('#compare-with').dispatchEvent(new Event('focus'))")
    groups = js(page, "return [...document.querySelectorAll('#compare-with optgroup')].map((g) => g.children.length)")
    assert groups[0] == 29
    assert groups[1] > 9
    js(
        page,
        "const e = document.querySelector('#compare-with'); e.value = 'd3'; e.dispatchEvent(new Event('change'))",
    )
    assert until(page, "!document.querySelector('#compare-box').hidden")
    assert "o=1996-Q4" in js(page, "return location.hash")
    press(page, "Escape")
    assert js(page, "return document.querySelector('#compare-box').hidden")
    press(page, "c")
    assert until(page, "!document.querySelector('#compare-box').hidden")
    assert js(page, "return document.querySelector('#compare-with').value") == "d28"
    press(page, "ArrowLeft", "ArrowLeft")
    assert until(page, "document.querySelector('#compare-caption').textContent.includes('2003 Q1')")


def test_documents_say_how_many_were_kept(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#t=4&d=2002-Q1&r=filtered")
    history = history_of(logs["gazette"], "filtered")
    n = history.documents[history.labels.index("2002 Q1"), 4]
    shown = texts(page, "#documents li")
    assert texts(page, "#documents > p") == [f"{len(shown)} of {n:.0f} stored: the most representative."]
    links = js(page, "return [...document.querySelectorAll('#documents a')].map((a) => [a.protocol, a.rel])")
    assert all(protocol in ("http:", "https:") and rel == "noopener noreferrer" for protocol, rel in links)


@pytest.mark.parametrize("width", [1280, 390])
def test_health_shows_verdict_rows_and_what_is_missing(visit: Open, logs: dict[str, CachedRows], width: int) -> None:
    page = visit("#tab=health", width=width)
    frame = HealthView().frame(logs["gazette"], Selection())
    assert until(page, "document.querySelector('#health .plot')?.data?.length")
    assert texts(page, "#health-verdict li") == list(frame.verdict)
    assert texts(page, "#health-missing") == [f"Not recorded in this run file: {', '.join(frame.missing)}."]
    assert {row.name for row in frame.rows} <= set(texts(page, "#health .plot text"))
    assert js(page, "return document.documentElement.scrollWidth <= innerWidth")
    before = js(page, "return document.querySelector('#health .cursor').style.transform")
    press(page, "ArrowLeft")
    assert until(page, f"document.querySelector('#health .cursor').style.transform !== {json.dumps(before)}")


def test_the_rows_of_health_are_saved_with_marks(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#tab=health")
    lines = rows_saved(page, "health")
    frame = HealthView().frame(logs["gazette"], Selection())
    assert len(lines) == 31
    assert lines[0].startswith('"date","Documents"')
    for s in (0, 29):
        cells = [row.shown[s] + (" !" if row.unusual[s] else "") for row in frame.rows]
        guarded = [f"'{cell}" if cell[:1] in ("+", "-", "=", "@") else cell for cell in cells]
        assert lines[s + 1] == ",".join(f'"{cell}"' for cell in (frame.labels[s], *guarded))


def test_the_table_sorts_by_keyboard_and_selects(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#tab=table&r=filtered")
    history = history_of(logs["gazette"], "filtered")
    assert len(texts(page, "#topics tbody tr")) == history.topic.size
    button = page.find_element("css selector", '[data-sort="documents"]')
    button.send_keys("\ue007")
    shown = [int(text) for text in texts(page, "#topics td:nth-child(4)")]
    assert shown == sorted(shown, reverse=True)
    assert js(page, "return document.querySelector('[data-sort=documents]').parentNode.ariaSort") == "descending"
    button.send_keys("\ue007")
    shown = [int(text) for text in texts(page, "#topics td:nth-child(4)")]
    assert shown == sorted(shown)
    click(page, '[data-sort="now"]')
    words = texts(page, "#topics td:nth-child(2)")
    assert words == sorted(words)
    click(page, "#topics tbody tr:nth-child(3) a")
    assert until(page, "document.querySelector('#topics tr[aria-current]')")
    chosen = texts(page, "#topics tr[aria-current] td:first-child")
    assert [topic(page)] == [f"topic {text}" for text in chosen]


def test_the_table_is_that_of_the_date(visit: Open, logs: dict[str, CachedRows]) -> None:
    page = visit("#tab=table&d=1999-Q1&r=smoothed")
    history = history_of(logs["gazette"], "smoothed")
    s = history.labels.index("1999 Q1")
    cells = "[...r.cells].map((c) => c.textContent)"
    lines = js(page, f"return [...document.querySelectorAll('#topics tbody tr')].map((r) => {cells})")
    found = {line[0]: line for line in lines}
    assert found["3"][1] == " ".join(history.strongest(s, history.position(3) or 0, 5))
    assert found["3"][3] == f"{history.documents[s, 3]:.0f}"
    assert found["7"][9] == "2001 Q2"  # ended later
    assert js(page, "return [...document.querySelectorAll('#topics tr.muted')].length") == int(
        (~history.alive()[s]).sum()
    )
    press(page, "ArrowRight")
    assert until(
        page,
        f"document.querySelector('#topics tbody tr:nth-child(4) td:nth-child(4)').textContent === "
        f"'{history.documents[s + 1, 3]:.0f}'",
    )


def test_cells_that_look_like_formulas_are_quoted(visit: Open) -> None:
    page = visit("#tab=table&t=0", name="hostile")
    lines = rows_saved(page, "table")
    first = lines[1]
    assert first.startswith("0,\"'") or not any(first.split('"')[1].startswith(c) for c in "=+-@")
    for line in rows_saved(page, "words")[1:]:
        word = line.split(",", 3)[3]
        assert not word.startswith(('"=', '"+', '"-', '"@'))
    assert any("\"'=cmd" in line for line in rows_saved(page, "words"))


def test_strange_words_stay_text(visit: Open) -> None:
    page = visit("#tab=table&t=0&o=1996-Q1&d=1998-Q4", name="hostile")
    assert until(page, "document.querySelector('#compare .plot')?.data?.[2].text.length")
    assert js(page, "return document.querySelectorAll('#compare img, #topics img, #changes img').length") == 0
    assert any(text.lstrip("+ ").startswith("<img src=x") for text in texts(page, "#compare .plot text"))
