"""Pictures for print: sizes, colours, the line below, and files that Chromium makes."""

from __future__ import annotations

import asyncio
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tiers import first_of
from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.trees import with_trees
from tests.unit.dashboards.written import write_run_file
from vmfstream.dashboards import VIEWS
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.printed import PaperSize, print_page
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.stills import format_of, parse_width, printed, still, write_still
from vmfstream.dashboards.view import Selection
from vmfstream.errors import InputError, MissingExtra
from vmfstream.runfile.queries import kept


def rows() -> CachedRows:
    return CachedRows(gazette(slices=13, topics=6, settling=0))


@pytest.mark.parametrize(
    ("text", "width"), [("170mm", 170.0), ("17cm", 170.0), (" 8.5 cm ", 85.0), ("6.5in", 165.1), ("60mm", 60.0)]
)
def test_widths_are_lengths(text: str, width: float) -> None:
    assert parse_width(text) == pytest.approx(width)


@pytest.mark.parametrize("text", ["170", "170px", "mm", "-17cm", "1e2mm", "59mm", "13m", "2000mm", ""])
def test_other_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--width: expected"):
        parse_width(text)


def test_the_format_is_given_or_the_file_s() -> None:
    assert format_of(Path("a.PDF")) == "pdf"
    assert format_of(Path("a.txt"), "svg") == "svg"
    for path in ("a.gif", "a"):
        with pytest.raises(InputError, match="--format: expected svg, pdf, png"):
            format_of(Path(path))


def test_former_names_of_views_work_and_warn() -> None:
    chosen = Selection(topic=1, reading="smoothed")
    for former, name in (("rays", "neighbours"), ("lines", "lineage")):
        with pytest.warns(DeprecationWarning, match=f"'{former}' is now called '{name}'"):
            drawing = printed(rows(), former, chosen)
        assert repr(drawing) == repr(printed(rows(), name, chosen))


@pytest.mark.parametrize("what", VIEWS)
def test_every_view_is_a_still_on_white_with_one_line_below(what: str) -> None:
    grown = CachedRows(with_trees(gazette(slices=13, topics=6, settling=0), {6: [[0, 1], [2, 3]]}))
    drawing = printed(grown, what, Selection(topic=1, word="harbour", reading="smoothed"))
    layout = drawing["layout"]
    assert "title" not in layout
    assert layout["template"]["layout"]["paper_bgcolor"] == "#ffffff"
    assert theme("light").page not in set(_strings(drawing))
    line = layout["annotations"][-1]
    assert line["text"].endswith("vmfstream 0.1.0")
    assert ("in hindsight" if what != "health" else "as known then") in line["text"]
    assert (line["y"], line["yanchor"]) == (0, "top")
    assert -line["yshift"] < layout["margin"]["b"]


def test_the_line_names_corpus_topic_time_and_reading() -> None:
    text = printed(rows(), "words", Selection(topic=1, reading="filtered"))["layout"]["annotations"][-1]["text"]
    assert text == "Harbour Gazette, topic 1, 1987–1999, as known then, vmfstream 0.1.0"
    text = printed(rows(), "river", Selection(topic=1, reading="smoothed"))["layout"]["annotations"][-1]["text"]
    assert text == "Harbour Gazette, 1987–1999, in hindsight, vmfstream 0.1.0"


def test_a_narrow_still_breaks_its_line_between_parts() -> None:
    drawing = printed(rows(), "words", Selection(topic=1, reading="filtered"), 60.0)
    note = drawing["layout"]["annotations"][-1]
    assert note["text"] == "Harbour Gazette, topic 1, 1987–1999,<br>as known then, vmfstream 0.1.0"
    wide = printed(rows(), "words", Selection(topic=1, reading="filtered"), 170.0)
    assert drawing["layout"]["margin"]["b"] == wide["layout"]["margin"]["b"] + 16


def test_axis_text_is_eight_points_high() -> None:
    drawing = printed(rows(), "river", Selection(reading="smoothed"), 170.0)
    size = drawing["layout"]["template"]["layout"]["xaxis"]["tickfont"]["size"]
    points = size * 170.0 / drawing["layout"]["width"] / 25.4 * 72.0
    assert points == pytest.approx(8.0, abs=0.01)


def test_bands_are_told_apart_without_colour() -> None:
    drawing = printed(rows(), "river", Selection(reading="smoothed"))
    bands = [t for t in drawing["data"] if t.get("fill") == "toself"]
    assert len(bands) == 6
    assert {t["line"]["color"] for t in bands} == {"#ffffff"}
    labels = [t for t in drawing["data"] if t.get("mode") == "text"]
    assert sum(len(t["text"]) for t in labels) >= 6


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match="--still: expected one of river, words"):
        printed(rows(), "cloud", Selection())
    with pytest.raises(InputError, match="no topic 99"):
        printed(rows(), "words", Selection(topic=99))


def test_a_picture_without_anything_in_it_is_refused() -> None:
    full = gazette(slices=13, topics=6, settling=0)
    none: dict[str, Any] = {
        name: {reading: kept(frame, np.zeros(len(frame.slice), np.bool_)) for reading, frame in frames.items()}
        for name, frames in (("topic_frames", full.topic_frames), ("word_frames", full.word_frames))
    }
    bare = CachedRows(replace(full, **none))
    for what in VIEWS:
        if what == "health":
            assert printed(bare, what, Selection())["data"]
        else:
            with pytest.raises(InputError, match="has no topics: there is nothing to draw but its health"):
                printed(bare, what, Selection())
    with pytest.raises(InputError, match=r"has no tree: vmfstream snapshot run\.duckdb --kind tree makes one"):
        printed(rows(), "tree", Selection())
    with pytest.raises(InputError, match="--other: expected another date of topic 1 than 1987"):
        printed(rows(), "compare", Selection(topic=1, date=0))


@pytest.mark.parametrize(
    ("word", "got"), [(None, "none"), ("harbuor", "'harbuor', which .* of no topic; similar ones are harbour")]
)
def test_a_search_needs_a_word_that_is_there(word: str | None, got: str) -> None:
    with pytest.raises(InputError, match=f"^--word: expected the word of the picture of a search, got {got}"):
        printed(rows(), "search", Selection(word=word, reading="smoothed"))


def test_dates_are_names_of_slices(tmp_path: Path) -> None:
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=4, topics=3))
    with pytest.raises(InputError, match="no date '1850' in this run file; dates are 1996 Q1 to 1996 Q4"):
        write_still(run_file, tmp_path / "a.svg", "compare", date="1850")


def test_without_kaleido_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(MissingExtra, match=re.escape("stills need kaleido: pip install 'vmfstream[stills]'")):
        still(rows(), "words", Selection(topic=1), "svg")


def test_without_chromium_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    with pytest.raises(InputError, match="stills need Chromium or Chrome"):
        still(rows(), "words", Selection(topic=1), "svg")


def test_without_chromium_no_pdf_and_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=3, topics=2))
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    with pytest.raises(InputError, match="a PDF needs Chromium or Chrome"):
        print_page(run_file, tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


@pytest.mark.browser
def test_the_page_is_printed_whole_on_the_paper_asked_for(tmp_path: Path) -> None:
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=6, topics=3))
    path = tmp_path / "page.pdf"
    papers: tuple[tuple[PaperSize, tuple[float, float]], ...] = (("a4", (595.0, 842.0)), ("letter", (612.0, 792.0)))
    for paper, points in papers:
        assert print_page(run_file, path, paper=paper).bytes == path.stat().st_size
        made = path.read_bytes()
        box = re.search(rb"MediaBox\s*\[\s*0 0 ([0-9.]+) ([0-9.]+)", made)
        assert box is not None
        assert (float(box[1]), float(box[2])) == pytest.approx(points, abs=1.0)
        assert len(re.findall(rb"/Type /Page\b", made)) > 3, "a page that is not drawn yet has three sheets"


def test_a_browser_that_refuses_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choreographer = pytest.importorskip("choreographer")
    answers = {
        "Runtime.evaluate": {"result": {"result": {"value": True}}},
        "Page.printToPDF": {"error": {"code": -32000, "message": "Printing failed"}},
    }

    class Refusing:
        def __init__(self, headless: bool) -> None:
            pass

        async def done(self, *_: str) -> None:
            pass

        open = close = done

        async def create_tab(self, address: str) -> Refusing:
            return self

        async def send_command(self, command: str, given: object) -> object:
            return answers[command]

    monkeypatch.setattr(choreographer, "Browser", Refusing)
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=3, topics=2))
    with pytest.raises(InputError, match=r"^the browser did not print the page: Printing failed$"):
        print_page(run_file, tmp_path / "page.pdf")


# where closing is silent, so was a step before
@pytest.mark.thorough
@pytest.mark.parametrize("silent", first_of(["close", "open", "create_tab"]))
def test_a_browser_that_never_answers_is_tried_again_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    choreographer = pytest.importorskip("choreographer")
    begun, killed = [], []

    class Silent:
        def __init__(self, headless: bool) -> None:
            begun.append(self)
            self.subprocess = SimpleNamespace(kill=lambda: killed.append(self))

        def __getattr__(self, name: str) -> Any:
            async def called(*_: str) -> None:
                if name == silent or (name, silent) == ("create_tab", "close"):
                    await asyncio.Event().wait()

            return called

    monkeypatch.setattr(choreographer, "Browser", Silent)
    monkeypatch.setattr("vmfstream.dashboards.printed._WAIT", 0.05)
    monkeypatch.setattr("vmfstream.dashboards.printed._CLOSING", 0.05)
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=6, topics=3))
    with pytest.raises(InputError, match=r"did not print the page, at 2 tries: no answer within 0\.05 seconds"):
        print_page(run_file, tmp_path / "page.pdf")
    assert len(begun) == 2
    assert killed == (begun if silent == "close" else [])
    assert not (tmp_path / "page.pdf").exists()


@pytest.mark.browser
def test_files_have_the_size_that_was_asked_for(tmp_path: Path) -> None:
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=6, topics=3))
    made = {kind: tmp_path / f"words.{kind}" for kind in ("svg", "pdf", "png")}
    for path in made.values():
        assert write_still(run_file, path, "words", width="85mm", topic=2, reading="filtered") == path.stat().st_size
    svg = made["svg"].read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert 'width="85.00mm"' in svg[:300]
    assert "topic 2, 1996 Q1–1997 Q2" in svg
    assert "as known then, vmfstream 0.1.0" in svg
    box = re.search(rb"MediaBox\s*\[\s*0 0 ([0-9.]+)", made["pdf"].read_bytes())
    assert box is not None
    assert float(box[1]) * 25.4 / 72.0 == pytest.approx(85.0, abs=0.5)
    pixels = struct.unpack(">I", made["png"].read_bytes()[16:20])[0]
    assert pixels == pytest.approx(85.0 / 25.4 * 300.0, abs=2)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for item in value.values() for s in _strings(item)]
    if isinstance(value, list | tuple):
        return [s for item in value for s in _strings(item)]
    return [str(s) for s in value] if isinstance(value, np.ndarray) and value.dtype.kind in "OU" else []
