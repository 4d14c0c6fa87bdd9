"""The report of what is new, what grew and what ended since a date."""

from __future__ import annotations

import html.parser
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.engine.documents import years
from vmfstream.cli import main
from vmfstream.cli.report import Report, ReportedStory, as_html, as_markdown, report, report_of
from vmfstream.cli.topic_table import newest_stories
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import Item, MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

HOSTILE = "[x](javascript:alert(1)) <img src=x onerror=alert(2)> **loud** \x1b[31m"
COUNTS = {
    "steady": {2001: 60, 2002: 60, 2003: 60},
    "past": {2001: 40},
    "growing": {2002: 6, 2003: 50},
    "fresh": {2003: 30},
    "small": {2003: 2},
}


def followed(path: Path, counts: dict[str, dict[int, int]] = COUNTS, fillers: int = 1400, slices: str = "year") -> Path:
    """Follow kinds of documents with so many each year, and documents that share nothing with any other."""
    items: list[Item] = []
    for year in (2001, 2002, 2003):
        kinds = [kind for kind, sizes in counts.items() for _ in range(sizes.get(year, 0))] + [""] * fillers
        for i in np.random.default_rng(year).permutation(len(kinds)).tolist():
            text = (
                f"{kinds[i]}one {kinds[i]}two {kinds[i]}three" if kinds[i] else f"y{year}a{i} y{year}b{i} y{year}c{i}"
            )
            title = HOSTILE if kinds[i] == "fresh" else f"About {kinds[i]}"
            items.append({"id": f"https://example.org/{year}/{i}", "time": year, "title": title, "text": text})
    follow(
        MemorySource(items), FieldCodec(), RunFile(path), RunSettings(title="News", topics=3, threads=1, slices=slices)
    )
    return path


OBEYED = "\x1b]0;title\x07\x9b31m\u202e"
"""What terminals obey: a title, a colour, text from right to left."""


@pytest.fixture
def disturbed(run_file: Path, tmp_path: Path) -> Path:
    """Return a run file of a stranger, all of whose texts begin with what terminals obey."""
    path = Path(shutil.copy(run_file, tmp_path / "run.duckdb"))
    with duckdb.connect(path) as connection:
        columns = connection.execute(
            "select table_name, column_name from duckdb_columns() where data_type = 'VARCHAR' and not internal "
            "and table_name in ('slice', 'event', 'story_word', 'story_document', 'filtered_word', 'word', 'rejected')"
        ).fetchall()
        for table, column in columns:
            connection.execute(f"update {table} set {column} = ? || {column}", [OBEYED])
        connection.execute("update meta set value = ? || value where key in ('title', 'version', 'source')", [OBEYED])
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["report", "report --since 2001", "doctor", "show", "show --at 1999"])
def test_terminals_obey_no_text_of_a_stranger(
    disturbed: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *options = command.split()
    monkeypatch.setattr("sys.argv", ["vmfstream", name, str(disturbed), *options])
    with pytest.raises(SystemExit):
        main()
    printed = "".join(capsys.readouterr())
    assert "title" in printed
    assert not set("\x1b\x07\x9b\u202e") & set(printed)


@pytest.mark.parametrize("form", [as_markdown, as_html])
def test_reports_hold_no_marks_of_terminals(disturbed: Path, form: Callable[[Report], str]) -> None:
    written = form(report_of(disturbed, "2001"))
    assert not set("\x1b\x07\x9b\u202e") & set(written)


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return followed(tmp_path_factory.mktemp("report") / "run.duckdb")


def titles(run_file: Path, since: str | None, top: int = 20) -> dict[str, list[str]]:
    return {
        heading: [s.title.split()[-1] for s in stories] for heading, stories, _ in report_of(run_file, since, top).parts
    }


@pytest.mark.thorough
def test_stories_are_new_grew_or_ended(run_file: Path) -> None:
    loud = "[31m"
    for since in (None, "2003", "2003-01", "2003-06-30"):
        assert titles(run_file, since) == {"New": [loud], "Grew": ["growing"], "Ended": ["past"]}, since
    assert titles(run_file, "2002") == {"New": ["growing", loud], "Grew": [], "Ended": ["past"]}
    assert titles(run_file, "2004") == {"New": [], "Grew": [], "Ended": []}
    assert report_of(run_file, "2004-05").title == "News since 2004-05: nothing, the newest closed slice is 2003"
    made = report_of(run_file, "2001", top=1)
    assert [(heading, len(stories), left) for heading, stories, left in made.parts] == [
        ("New", 1, 2),
        ("Grew", 0, 0),
        ("Ended", 1, 0),
    ]
    assert made.parts[0][1][0].about.startswith("180 documents, steady, 2001 – 2003")
    assert made.title == "News since 2001"


def test_stories_that_were_merged_are_told_of_by_the_other(run_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "merged.duckdb"
    shutil.copy(run_file, path)
    with duckdb.connect(path) as connection:
        connection.execute(
            "insert into story_event select last_slice, 3, 'merged', story, size, 0, 5.0 from story "
            "where title not like '%steady' and title not like '%past'"
        )
    assert titles(path, "2003") == {"New": [], "Grew": [], "Ended": ["past"]}
    into = {
        row["title"].split()[-1]: (row["trend"], row["merged_into"])
        for row in newest_stories(Reader(path), words=1, top=9)
    }
    assert into["past"] == ("ended", None)
    assert into["growing"] == ("merged", 0)


def test_what_strangers_wrote_stays_text(run_file: Path) -> None:
    made = report_of(run_file, "2003")
    text = as_markdown(made)
    assert "\x1b" not in text
    assert "\\[x\\](javascript:alert(1)) \\<img src=x onerror=alert(2)\\> \\*\\*loud\\*\\*" in text
    assert "[About growing](<https://example.org/" in text

    class Parser(html.parser.HTMLParser):
        tags: set[str]
        links: list[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.add(tag)
            self.links += [str(value) for name, value in attrs if name == "href"]

    parser = Parser()
    parser.tags, parser.links = set(), []
    parser.feed(as_html(made))
    assert "img" not in parser.tags
    assert parser.links
    assert all(link.startswith("https://example.org/") for link in parser.links)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# a", "\\# a"),
        ("1. a", "1\\. a"),
        ("12) a", "12\\) a"),
        ("- a", "\\- a"),
        ("a - 1. b", "a - 1. b"),
        ("a_b", "a\\_b"),
        ("2013-11: a", "2013-11: a"),
        ("3=3", "3=3"),
    ],
)
def test_a_title_is_no_heading_and_no_list(text: str, escaped: str) -> None:
    made = Report("News", [("New", [ReportedStory(text, "", [], [(text, "1")])], 0)], [], 0)
    assert f"- **{escaped}** ()" in as_markdown(made)
    assert f"\n  - {escaped}\n" in as_markdown(made)


def test_thousands_have_commas() -> None:
    made = Report("News", [("New", [ReportedStory("a", "", [], [])], 1_500)], ["topic 1 ended"], 2_000)
    for written in as_markdown(made), as_html(made):
        assert all(number in written for number in ("New: 1,501 stories", "1,500 more.", "2,000 more."))


def test_topics_are_told_of_as_well(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    rows = years({2001: 60, 2002: 60})
    follow(MemorySource(rows), FieldCodec(), RunFile(path), RunSettings(topics=3, threads=1))
    assert report_of(path, "2001").topics
    assert not report_of(path, "2002").topics
    made = report_of(path, "2001")
    assert all(sentence.startswith("2001: topic ") for sentence in made.topics)
    few = report_of(path, "2001", top=1)
    assert (list(few.topics), few.more_topics) == ([made.topics[0]], len(made.topics) - 1)
    assert as_markdown(few).endswith(f"\n{few.more_topics} more.\n")


def test_a_file_is_written_by_its_ending(run_file: Path, tmp_path: Path) -> None:
    report(run_file, since="2003", out=tmp_path / "week.html", top=5)
    assert (tmp_path / "week.html").read_text().startswith("<!DOCTYPE html>")
    report(run_file, since="2003", out=tmp_path / "WEEK.HTML", top=5)
    assert (tmp_path / "WEEK.HTML").read_text() == (tmp_path / "week.html").read_text()
    report(run_file, since="2003", out=tmp_path / "week.md", top=5)
    assert (tmp_path / "week.md").read_text().startswith("# News since 2003\n")
    with pytest.raises(InputError, match=r"ends in \.md or \.html, got .*week\.pdf"):
        report(run_file, since="2003", out=tmp_path / "week.pdf", top=5)
    with pytest.raises(InputError, match="none does not exist; create it"):
        report(run_file, since="2003", out=tmp_path / "none" / "week.md", top=5)


def test_wrong_dates_say_what_was_expected(run_file: Path, tmp_path: Path) -> None:
    for wrong in ("yesterday", "20x", "now", "20030101"):
        with pytest.raises(
            InputError, match="expected a date, such as 2013-11-04, or the label of a slice, such as '2003'"
        ):
            report_of(run_file, wrong)
    counted = followed(tmp_path / "counted.duckdb", {"steady": {2001: 9}}, fillers=10, slices="10")
    with pytest.raises(InputError, match="no dates; give the label of a slice, such as '31 to 40'"):
        report_of(counted, "2003")
    assert report_of(counted, "11 to 20").title == "News since 11 to 20"
    RunFile(tmp_path / "empty.duckdb")
    with pytest.raises(InputError, match="no slice is closed yet"):
        report_of(tmp_path / "empty.duckdb", None)
