"""The exported page: complete, small, safe, the same every time."""

from __future__ import annotations

import base64
import html.parser
import json
import re
import zlib
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import all_but, first_of
from tests.unit.dashboards.fakes import gazette, with_stories
from tests.unit.dashboards.test_views import HOSTILE, LOGS
from tests.unit.dashboards.written import write_run_file
from vmfstream.dashboards import export
from vmfstream.dashboards.export import ExportReport, build_page, export_page
from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean, for_json, for_plotly
from vmfstream.dashboards.page.compression import compressed_script
from vmfstream.dashboards.page.drawings import Drawings
from vmfstream.dashboards.page.script import asset, modules, script
from vmfstream.dashboards.rows.history import read_history
from vmfstream.dashboards.rows.initial_selection import initial_measure, initial_topic
from vmfstream.dashboards.rows.merged import rows_of_page
from vmfstream.errors import InputError
from vmfstream.runfile import connection
from vmfstream.runfile.queries import kept

_PYTHON = re.compile(r'PAGE\["(\w+)"\]')


@pytest.fixture(scope="module")
def exported() -> tuple[str, ExportReport]:
    return build_page(gazette())


@pytest.fixture(scope="module")
def page(exported: tuple[str, ExportReport]) -> str:
    return exported[0]


@pytest.mark.thorough
@pytest.mark.parametrize("most", [100, 3], ids=["as they are", "merged"])
def test_a_page_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """The run file is opened once to look at its format and once to be read; it is free when drawing begins."""
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=7, topics=3)).resolve()
    steps: list[str] = []
    opened = connection._open

    def opening(path: Path, *given: Any) -> Any:
        steps.append("opened")
        return opened(path, *given)

    def drawings(rows: Any) -> Drawings:
        steps.append(f"drawn while {connection._open_here[run_file]} have it open")
        return Drawings(rows)

    monkeypatch.setattr(connection, "_open", opening)
    monkeypatch.setattr(export, "Drawings", drawings)
    monkeypatch.setattr(export, "rows_of_page", lambda rows: rows_of_page(rows, most))
    report = export_page(run_file, tmp_path / "page.html")
    assert steps == ["opened", "opened", "drawn while 0 have it open"]
    assert report.per == (1 if most == 100 else 3)


@pytest.mark.thorough
def test_thirty_by_thirty_stays_small(exported: tuple[str, ExportReport]) -> None:
    text, report = exported
    assert report.bytes == len(text.encode("utf-8")) < 3.5e6
    assert report.dropped == ()


@pytest.mark.thorough
def test_the_same_run_file_gives_the_same_bytes(tmp_path: Path) -> None:
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=4, topics=3))
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    export_page(run_file, one)
    report = export_page(str(run_file), two)
    assert one.read_bytes() == two.read_bytes()
    assert report.bytes == two.stat().st_size
    assert sorted(path.name for path in tmp_path.glob("*.html*")) == ["one.html", "two.html"]
    assert "Harbour Gazette" in two.read_text(encoding="utf-8")


def test_a_run_file_gives_the_page_of_its_rows(tmp_path: Path) -> None:
    rows = gazette(slices=5, topics=4)
    run_file = write_run_file(tmp_path / "run.duckdb", rows)
    export_page(run_file, tmp_path / "page.html")
    from_file, from_rows = data_of((tmp_path / "page.html").read_text(encoding="utf-8")), data_of(build_page(rows)[0])
    for key in ("labels", "counts", "order", "topics", "warm_up", "open", "vocabulary", "events"):
        assert from_file[key] == from_rows[key]


def test_nothing_is_asked_of_the_network(page: str) -> None:
    own = _own(page)
    assert "default-src 'none'" in own
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", own)
    assert "@import" not in own
    assert "url(" not in own


@pytest.mark.parametrize("name", all_but(LOGS, "300 topics", "240 slices"))
def test_every_run_file_gives_a_page(name: str) -> None:
    rows = LOGS[name]()
    parser = _Parser()
    parser.feed(unpacked(build_page(rows)[0]))
    assert parser.open == []
    assert parser.scripts == 6


def test_strangers_cannot_leave_their_place() -> None:
    rows = gazette(slices=5, topics=3, words=HOSTILE, settling=0)
    title = "</script><script>alert(2)</script>"
    rows.settings["title"] = title
    rows.settings["licence"] = '"><img src=x onerror=alert(3)>'
    rows.typical_frame.title[:] = title
    rows.typical_frame.id[:] = "javascript:alert(4)"
    rows = with_stories(rows, (1, 5, 0, 2, title + '"><img src=x onerror=alert(5)>'))
    text = unpacked(build_page(rows)[0])
    parser = _Parser()
    parser.feed(text)
    assert parser.scripts == 6
    assert parser.images == 0
    assert "javascript:" not in re.sub(
        r'<script type="text/javascript" id="library">.*?</script>', "", text, flags=re.S
    )
    assert all(row[5] == "" for row in data_of(text)["documents"])


def test_links_are_http_only() -> None:
    rows = gazette(slices=3, topics=2)
    rows.typical_frame.id[:] = "https://example.org/a?b=1&c=2"
    assert {row[5] for row in data_of(build_page(rows)[0])["documents"]} == {"https://example.org/a?b=1&c=2"}


@pytest.mark.parametrize("why", [texts.NO_SCRIPT, texts.OLD_BROWSER])
def test_why_nothing_is_drawn_stands_above_the_empty_places(page: str, why: str) -> None:
    assert 0 < page.find(why) < page.find('data-view="river"')


def test_buttons_that_save_are_told_apart_by_the_heading_that_describes_them(page: str) -> None:
    buttons = re.findall(r'<button class="quiet" data-(?:save|csv)="\w+"[^>]*>', page)
    headings = [re.search(r' aria-describedby="([\w-]+)"', button) for button in buttons]
    assert len(buttons) >= 10
    assert [button for button, found in zip(buttons, headings, strict=True) if not found] == []
    assert [found[1] for found in headings if found and page.count(f'id="{found[1]}"') != 1] == []


def test_banned_words_stay_out(page: str) -> None:
    own = re.sub(r"<script[^>]*>.*?</script>|<style>.*?</style>", "", page, flags=re.S).lower()
    said = own + " " + " ".join(_strings(data_of(page)["wording"])).lower()
    for word in texts.BANNED:
        assert word not in said
    assert "!" not in re.sub(r"<!doctype html>", "", re.sub(r"<[^>]+>", "", own))


def test_scripts_stay_small() -> None:
    assert max(len(asset(name).encode()) for name in modules()) < 20_000
    assert len(compressed_script("script", "text/javascript", script())) < 55_000


def test_the_script_holds_all_modules_once_each_after_what_it_imports() -> None:
    folder = resources.files("vmfstream.dashboards") / "browser"
    files = {entry.name for entry in folder.iterdir() if entry.name.endswith(".js")}
    assert set(modules()) == files - {"unpack.js"}
    assert not re.search(r"^(import|export)\b|^ *//", script(), flags=re.M)
    declared: list[str] = []
    for place, name in enumerate(modules()):
        text = asset(name)
        for names, other in re.findall(r'^import \{([^}]*)\} from "\./(\w+\.js)";$', text, flags=re.M):
            assert modules().index(other) < place
            for imported in filter(None, (n.strip() for n in names.split(","))):
                pattern = rf"^export (async )?(const|let|function) {re.escape(imported)}(?![\w$])"
                assert re.search(pattern, asset(other), flags=re.M), (name, imported)
        declared += re.findall(r"^(?:export )?(?:async )?(?:const|let|function) ([\w$]+)", text, flags=re.M)
    assert len(declared) == len(set(declared))


def test_every_sentence_of_the_script_exists_and_is_used() -> None:
    folder = resources.files("vmfstream.dashboards")
    code = "".join(asset(name) for name in modules())
    code += "".join(
        f"messages.{name} " for path in Path(str(folder)).rglob("*.py") for name in _PYTHON.findall(path.read_text())
    )
    used = set(re.findall(r"\bmessages\.(\w+)", code)) | {"filtered", "smoothed"}  # messages[state.reading]
    used |= {
        f"{kind}At" for kind in ("born", "ended", "replaced", "notKept", "split", "merged", "dormant", "woken", "drift")
    }  # messages[kind + "At"]
    used |= {f"{kind}ByHandAt" for kind in ("ended", "split", "merged")}
    assert used == set(texts.PAGE)


@pytest.mark.thorough
@pytest.mark.parametrize("opening", first_of(["documents", "share"]))
def test_large_run_files_lose_parts_in_the_stated_order_and_say_so(opening: str) -> None:
    rows = gazette(slices=12, topics=8)
    if opening == "share":
        rows.slice_frame.n[-4:] *= 40
    full, report = build_page(rows)
    limit = report.bytes / 1e6
    small, lost = build_page(rows, max_mb=limit - 0.001)
    other = {"documents": "shares", "share": "documents"}[opening]
    assert lost.dropped == (f"the river of {other}",)
    assert phrases.dropped_sentence(lost.dropped) in small
    assert data_of(small)["open"]["measure"] == opening
    assert data_of(small)["measures"] == [opening]
    assert {key.split("/")[2] for key in data_of(small, "figures") if key.startswith("river/")} == {opening}
    assert "Left out" not in full
    _, least = build_page(rows, max_mb=0.1)
    assert [what.split()[-1] for what in least.dropped] == [other, "two", "%", "strongest", "topics"]


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_mb"):
        build_page(gazette(slices=2, topics=2), max_mb=0)
    with pytest.raises(InputError):
        export_page(tmp_path / "none.duckdb", tmp_path / "page.html")


def test_opening_topic_turned_lately() -> None:
    rows = gazette(slices=20, topics=6)
    late = rows.topic_frames["smoothed"]
    late.drift_angle[:] = 1.0
    late.n[:] = 50.0
    late.drift_angle[(late.topic == 3) & (late.slice >= 18)] = 20.0
    late.drift_angle[(late.topic == 1) & (late.slice < 10)] = 40.0
    assert initial_topic(read_history(rows, "smoothed")) == 3
    late.n[(late.topic == 3) & (late.slice == 19)] = 0.0
    assert initial_topic(read_history(rows, "smoothed")) not in (None, 3), "the page opens at a slice without it"


@pytest.mark.parametrize(("recent", "newest"), [(2.0, 2.0), (50.0, 2.0), (1.0, 1.0)])
def test_a_topic_of_few_documents_does_not_open_a_page(recent: float, newest: float) -> None:
    rows = gazette(slices=20, topics=6)
    late = rows.topic_frames["smoothed"]
    late.drift_angle[:] = 1.0
    late.n[:] = 50.0
    few = late.topic == 3
    late.drift_angle[few] = 80.0
    late.n[few & (late.slice >= 18)] = recent
    late.n[few & (late.slice == 19)] = newest
    assert initial_topic(read_history(rows, "smoothed")) not in (None, 3)


def test_a_mixture_is_no_opening_topic() -> None:
    """Of topics that drift alike the one opens whose mean lies in few words of its own."""
    rows = gazette(slices=20, topics=6)
    late, words = rows.topic_frames["smoothed"], rows.word_frames["smoothed"]
    late.drift_angle[:] = 10.0
    late.n[:] = 50.0
    words.weight[:] = 0.1
    words.weight[(words.topic == 2) & (words.rank <= 2)] = 0.6
    assert initial_topic(read_history(rows, "smoothed")) == 2


def test_streams_that_grew_open_with_shares() -> None:
    rows = gazette(slices=8, topics=4)
    assert initial_measure(read_history(rows, "filtered")) == "documents"
    rows.slice_frame.n[-1] *= 5
    assert initial_measure(read_history(rows, "filtered")) == "documents", "a burst is shown as one"
    rows.slice_frame.n[-3:-1] *= 5
    assert initial_measure(read_history(rows, "filtered")) == "share"


def test_streams_that_grew_late_but_steadily_open_with_shares() -> None:
    rows = gazette(slices=12, topics=4)
    rows.slice_frame.n[:] = [90, 100, 140, 150, 150, 200, 210, 260, 300, 400, 570, 1000]  # conference papers by years
    rows.slice_frame.n[-4:-1] = [270, 290, 310]
    assert initial_measure(read_history(rows, "filtered")) == "share"
    rows.slice_frame.n[:-1] = rows.slice_frame.n[-2::-1]
    assert initial_measure(read_history(rows, "filtered")) == "documents"


def test_dates_are_shown_as_far_as_they_are_known() -> None:
    rows = gazette(slices=3, topics=2)
    for unit, length in (("D", 10), ("M", 7), ("Y", 0)):
        rows.typical_frame.time[:] = rows.typical_frame.time.astype(f"datetime64[{unit}]")
        assert {len(row[3]) for row in data_of(build_page(rows)[0])["documents"]} == {length}


def test_without_smoothed_the_switch_is_off_and_says_why() -> None:
    text, _ = build_page(gazette(slices=4, topics=3).without_smoothed())
    assert re.search(r'<button data-value="smoothed" disabled title="Not computed[^"]+"', text)
    assert data_of(text)["open"]["reading"] == "filtered"


def test_slices_not_yet_smoothed_are_shown_as_known_then() -> None:
    rows = gazette(slices=6, topics=3)
    late = rows.topic_frames["smoothed"]
    late = kept(late, late.slice < 5)
    cut = replace(rows, topic_frames={"filtered": rows.topic_frames["filtered"], "smoothed": late})
    then, mixed = read_history(cut, "filtered"), read_history(cut, "smoothed")
    assert mixed.reading == "smoothed"
    assert (mixed.certainty[5] == then.certainty[5]).all()
    assert (mixed.certainty[4] != then.certainty[4]).any()
    assert mixed.strongest(5, 0, 5) == then.strongest(5, 0, 5)


def test_escaping() -> None:
    assert clean("  a\tb\x00\u202ec  ") == "a bc"
    assert clean("x" * 200) == "x" * 79 + "…"
    assert for_plotly("<b>$") == "&lt;b&gt;$"
    assert for_plotly("$x$") == "\u200b$x$"
    assert for_json({"b": "</script>&\u2028", "a": 1}) == '{"a":1,"b":"\\u003c/script\\u003e\\u0026\\u2028"}'


def test_numbers_in_words() -> None:
    assert [phrases.percent(v) for v in (0.1234, 0.0999, 0.04, 0.0001, 0.0)] == [
        "12 %",
        "10 %",
        "4.0 %",
        "under 0.1 %",
        "0.0 %",
    ]
    assert phrases.period(("1987", "1988")) == "year"
    assert phrases.period(("999", "1000")) == "year"
    assert phrases.period(("2004 Q1",)) == phrases.period(("850 Q1", "1050 Q2")) == "quarter"
    assert phrases.period(("2024-01-04 17h", "2024-01-04 18h")) == "hour"
    assert phrases.period(("2024-01-04 17:00", "2024-01-04 17:15")) == "step"
    assert phrases.period(("documents 1-500",)) == "step"
    assert phrases.count(1, "topic", "topics") == "1 topic"
    assert phrases.settings_in_words({"topics": "1", "seed": "0"}) == ["topics requested: 1", "random seed 0"]


class _Parser(html.parser.HTMLParser):
    """Counts what a browser would run or load, and checks that elements close."""

    _VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts = 0
        self.images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.images += tag == "img"
        if tag not in self._VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def data_of(text: str, id: str = "data") -> Any:
    match = re.search(rf'<script type="application/json" id="{id}">(.*?)</script>', unpacked(text), re.S)
    assert match
    return json.loads(match[1])


def _own(text: str) -> str:
    """Return an unpacked page without plotly, which names its public servers; see the policy."""
    return re.sub(r'<script type="text/javascript" id="library">.*?</script>', "", unpacked(text), flags=re.S)


def unpacked(text: str) -> str:
    """Return a page with its compressed parts in their places, as a browser has it once they are unpacked."""

    def whole(part: re.Match[str]) -> str:
        body = zlib.decompress(base64.b64decode(part[3])).decode("utf-8")
        return f'<script type="{part[1]}" id="{part[2]}">{body}</script>'

    return re.sub(r'<script type="text/plain" data-type="([^"]+)" id="(\w+)">([^<]*)</script>', whole, text)


def _strings(value: object) -> list[str]:
    return list(value.values()) if isinstance(value, dict) else []
