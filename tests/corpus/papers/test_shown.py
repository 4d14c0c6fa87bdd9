"""What is shown: entries, a terminal's table, the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from vmfstream.replay.papers.console import print_shown
from vmfstream.replay.papers.page import build_page, write_page
from vmfstream.replay.papers.shown import Axes, Cell, Image, Images, Series, Shown, Table, mean_and_spread, tables_of

TABLE = Table(
    "Scores",
    (
        Cell("first", "soft & hard", 0.5, 0.25, 0.125),
        Cell("first", "another one", None, 2.0),
        Cell("second", "soft & hard", "3 < 4", None),
    ),
    digits=2,
    corner="set",
    notes=("A note below.",),
)
PANEL = Axes(
    "(a) curves",
    "clusters",
    "nats",
    (
        Series("soft", (2, 3), (0.5, 0.75), spread=(0.1, 0.2)),
        Series("soft", (3,), (0.8,), "printed"),
        Series("dots", (0.0,), (1.0,), "points"),
        Series("means", (0.0,), (1.0,), "marks"),
    ),
    (("the largest possible", 1.0),),
)
SHOWN = Shown("figure9", "Curves <and> scores", (TABLE,), (PANEL,), ("A last note.",))


def printed(width: int) -> str:
    console = Console(width=width, record=True, force_terminal=False)
    print_shown(SHOWN, console)
    return console.export_text()


def test_values_stay_whole_where_names_are_long() -> None:
    console = Console(width=60, record=True, force_terminal=False)
    names = ("a row of a name that is long", "a method above another method of a longer name")
    print_shown(Shown("t", "t", (Table("t", (Cell(*names, 0.125, "123.45 ± 67.89 †"),)),)), console)
    lines = console.export_text().splitlines()
    assert sum("0.125" in line and "123.45 ± 67.89 †" in line for line in lines) == 1
    joined = " ".join(line for line in lines if "…" not in line)
    assert all(word in joined for name in names for word in name.split())


def test_words_wrap_and_are_not_cut() -> None:
    words = ["excitatory", "inhibitory", "dissimilarity", "quantitative", "orientation", "oscillations"]
    cells = tuple(Cell(str(year), f"persistence .{year}", " ".join(words), " ".join(words[::-1])) for year in (87, 91))
    console = Console(width=80, record=True, force_terminal=False)
    print_shown(Shown("t", "t", (Table("t", cells, corner="year"),)), console)
    text = console.export_text()
    assert "…" not in text
    assert all(text.count(word) == 4 for word in words)
    assert all(text.count(f"persistence .{year}") == 1 for year in (87, 91))


def test_images_are_drawn_on_both() -> None:
    ell = Image("L & l", ((1.0, 0.0, 0.0), (1.0, 0.5, 0.25)))
    shown = Shown("t", "t", images=(Images("Letters", (ell, ell)),))
    console = Console(width=80, record=True, force_terminal=False)
    print_shown(shown, console)
    lines = [line.split() for line in console.export_text().splitlines() if line.strip()]
    assert lines[1:] == [["Letters"], ["L", "&", "l"] * 2, ["██", "██"], ["██▒▒░░", "██▒▒░░"]]
    page = build_page("t", "t", [shown])
    assert page.count("L &amp; l") == page.count('viewBox="0 0 3 2"') == 2
    assert page.count('d="M1 1h1v1h-1z" fill-opacity="0.50"') == 2


def test_mean_and_spread() -> None:
    mean, spread = mean_and_spread([1.0, 3.0])
    assert mean == 2.0
    assert spread == pytest.approx(2**0.5)
    assert mean_and_spread([4.0]) == (4.0, None)


def test_entries_are_written_with_their_digits() -> None:
    assert TABLE.text("first", "soft & hard", "paper") == "0.50"
    assert TABLE.text("first", "soft & hard", "ours") == "0.25 ± 0.12"
    assert TABLE.text("second", "soft & hard", "paper") == "3 < 4"
    assert TABLE.text("second", "soft & hard", "ours") == TABLE.text("second", "another one", "ours") == ""
    exact = Table("", (Cell("a", "b", 9.369212, 800.130004),), digits=6, exact=True)
    assert (exact.text("a", "b", "paper"), exact.text("a", "b", "ours")) == ("9.36921", "800.13")


def test_the_paper_has_no_column_where_it_prints_nothing() -> None:
    assert tables_of(PANEL).sources("2") == TABLE.sources("another one") == ("ours",)
    assert TABLE.sources("soft & hard") == ("paper", "ours")


def test_curves_are_numbers_on_a_terminal() -> None:
    table = tables_of(PANEL)
    assert (table.rows(), table.columns()) == (["soft"], ["2", "3"])
    assert table.text("soft", "3", "ours") == "0.750 ± 0.200"


def test_a_wide_terminal_shows_columns_and_a_narrow_one_lines() -> None:
    wide, narrow = printed(100), printed(46)
    assert re.search(r"first +0\.50 +0\.25 ± 0\.12 +2\.00", wide)
    assert re.search(r"first +soft & hard +0\.50 +0\.25 ± 0\.12 *\n +another one +2\.00", narrow)
    for text in (wide, narrow):
        assert "…" not in text
        for said in ("figure9: Curves <and> scores", "A note below.", "A last note.", "0.750 ± 0.200"):
            assert said in text


def test_the_page_holds_everything_and_asks_for_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_page(page, "A paper", "10 restarts.", [SHOWN])
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert text.count("plotly.js v") == 1
    for said in ("A paper", "10 restarts.", "Curves &lt;and&gt; scores", "soft &amp; hard", "3 &lt; 4", "0.25 ± 0.12"):
        assert said in text
    assert "soft, printed" in text
    assert "hollow: the printed value" in text
    assert "the largest possible" in text
    assert not list(tmp_path.glob("*.part"))


def test_a_page_without_figures_is_small() -> None:
    assert len(build_page("A paper", "", [Shown("table1", "Scores", (TABLE,))])) < 10_000
