"""The lists of documents of topics and stories, in an exported page and from the server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.system.browser.conftest import closed
from tests.system.browser.driving import click, js, opened, until
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.dashboards.app import Server
from vmfstream.dashboards.export import build_page
from vmfstream.engine.run import RunSettings, follow
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.writer import RunFile

pytestmark = pytest.mark.browser

HOSTILE = "harbour crane ship <img src=x onerror=document.title='taken'> & </script><b>"
TEXTS = ("harbour crane ship strike quay", "election vote mayor ballot count")
LISTED = "document.querySelectorAll('#listed li')"


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items: list[Any] = [
        {"id": f"d{year}-{i}", "time": f"{year}-03-0{1 + i % 9}", "text": f"{TEXTS[i % 2]} number{i}"}
        for year in (2001, 2002, 2003)
        for i in range(60)
    ]
    items += [
        {"id": "javascript:alert(1)", "time": "2003-04-01", "text": HOSTILE},
        {"id": "https://example.org/one", "time": "2003-04-02", "text": "harbour ship quay crane linked"},
    ]
    path = tmp_path_factory.mktemp("listed") / "run.duckdb"
    settings = RunSettings(topics=2, documents="all", keep_text=True, threads=1)
    follow(MemorySource(items), FieldCodec(), RunFile(path), settings)
    return path


def topic_of(path: Path, id: str) -> int:
    """The newest label of a document."""
    return int(Reader(path).documents(DocumentChoice(search=id)).smoothed_topic[0])


@pytest.fixture
def exported(chromium: Any, run_file: Path, tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / "page.html"
    path.write_text(build_page(Reader(run_file))[0], encoding="utf-8")
    yield opened(chromium, f"{path.as_uri()}#t={topic_of(run_file, 'linked')}")
    assert chromium.get_log("browser") == []


@pytest.fixture
def served(chromium: Any, run_file: Path) -> Iterator[Any]:
    pytest.importorskip("dash")  # the live page is an extra
    server = Server(run_file, port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    closed(chromium, False)
    yield opened(chromium, f"{server.url}#t={topic_of(run_file, 'linked')}", "document.querySelector('#listed')")
    errors = chromium.get_log("browser")
    chromium.get("about:blank")
    server.stop()
    thread.join()
    closed(chromium, True)
    assert errors == []


def caption(page: Any) -> str:
    return str(js(page, "return document.querySelector('#listed .listed p').textContent"))


def search(page: Any, words: str) -> None:
    code = f"const f = document.querySelector('#listed input'); f.value = {json.dumps(words)};"
    js(page, code + "f.dispatchEvent(new Event('input', {bubbles: true}))")


def test_a_topic_opens_some_of_its_documents(exported: Any) -> None:
    click(exported, "#listed summary")
    assert until(exported, f"{LISTED}.length === 10")
    assert caption(exported) == "10 of 32 are in this file, the newest 10 of each topic, date and story."
    assert js(exported, f"return {LISTED}[0].querySelector('a').href") == "https://example.org/one"
    assert js(exported, f"return {LISTED}[1].querySelector('.title').textContent") == HOSTILE
    assert js(exported, f"return {LISTED}[1].querySelector('a')") is None
    assert js(exported, "return document.title") != "taken"
    click(exported, "#listed-scope button:last-child")
    assert until(exported, f"{LISTED}.length === 20")
    assert caption(exported).startswith("30 of 92 are in this file")
    click(exported, "#listed .listed button")
    assert until(exported, f"{LISTED}.length === 30")
    assert js(exported, "return document.querySelector('#listed .listed button').hidden") is True
    search(exported, "LINKED  ship")
    assert until(exported, f"{LISTED}.length === 1")
    assert caption(exported) == "1 with these words among those that are in this file."


def test_a_story_opens_its_documents(exported: Any) -> None:
    click(exported, "#tab-stories")
    assert until(exported, "document.querySelector('#stories .listed button')")
    click(exported, "#stories > li summary")
    click(exported, "#stories .listed button")
    assert until(exported, "document.querySelectorAll('#stories .listed li').length >= 10")
    assert "are in this file" in js(exported, "return document.querySelector('#stories .listed p').textContent")


def test_documents_of_a_story_that_became_part_of_another_are_listed_there(
    chromium: Any, run_file: Path, tmp_path: Path
) -> None:
    copy, page = tmp_path / "run.duckdb", tmp_path / "page.html"
    shutil.copy(run_file, copy)
    with duckdb.connect(copy) as connection:
        merged = "select slice, epoch, 'merged', story, size, 1 - story, 9.0 from story_event where story = 1 limit 1"
        connection.execute(f"insert into story_event {merged}")
    page.write_text(build_page(Reader(copy))[0], encoding="utf-8")
    shown = opened(chromium, f"{page.as_uri()}#tab=stories", "document.querySelector('#stories .listed button')")
    found = "return [...document.querySelectorAll('#stories > li')].map(l => [l.querySelector('.trend').className, %s])"
    assert dict(js(shown, found % "Boolean(l.querySelector('.listed'))")) == {
        "trend merged": False,
        "trend steady": True,
    }
    assert chromium.get_log("browser") == []


def test_the_server_has_all_by_pages(served: Any) -> None:
    click(served, "#listed summary")
    assert until(served, f"{LISTED}.length === 20")
    assert caption(served) == "20 of 32, the newest first."
    click(served, "#listed .listed button")
    assert until(served, f"{LISTED}.length === 32")
    assert js(served, f"return {LISTED}[1].querySelector('.title').textContent") == HOSTILE
    search(served, "onerror= harbour")
    assert until(served, f"{LISTED}.length === 1")
    assert caption(served) == "1 of 1 with these words, the newest first."
    search(served, "no such words")
    assert until(served, f"{LISTED}.length === 0")
    assert caption(served) == "No document."
    asked = "return fetch('documents.json?topic=1e3').then(async (r) => [r.status, await r.text()])"
    assert js(served, asked) == [400, "topic: expected a whole number, got '1e3'"]
    served.get_log("browser")  # the browser tells of the answer 400


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_lists_fit_their_page(chromium: Any, run_file: Path, tmp_path: Path, width: int, dark: bool) -> None:
    path = tmp_path / "page.html"
    path.write_text(build_page(Reader(run_file))[0], encoding="utf-8")
    page = opened(chromium, f"{path.as_uri()}#t={topic_of(run_file, 'linked')}", width=width, dark=dark)
    click(page, "#listed summary")
    assert until(page, f"{LISTED}.length === 10")
    assert js(page, "return document.documentElement.scrollWidth <= innerWidth")
    assert chromium.get_log("browser") == []
