"""What commands say of files that are no good for topics."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.system.cli.given import Run

WORDS = ["apple", "pear", "plum", "fig", "quince", "lime", "grape", "melon"]


def table(path: Path, rows: list[tuple[str, str]]) -> Path:
    """Write a CSV file of dates and texts."""
    path.write_text("date,text\n" + "".join(f"{date},{text}\n" for date, text in rows))
    return path


def fruit(at: int) -> str:
    """Return a text of three words."""
    return " ".join(WORDS[(at * step + step) % len(WORDS)] for step in (1, 3, 5))


def test_lines_of_text_have_no_times(run: Run, tmp_path: Path) -> None:
    given, run_file = tmp_path / "plain.txt", tmp_path / "run.duckdb"
    given.write_text("".join(f"{fruit(at)}\n" for at in range(60)))
    assert run("replay", given, "--out", run_file, "--topics", "2")[0] == 0
    _, out, _ = run("documents", run_file, "--format", "csv")
    assert out.splitlines()[1].startswith("plain.txt:0,,1 to 20,")
    assert "1970" not in out
    for command in ("run", "replay"):
        code, _, err = run(command, given, "--slices", "day", "--out", tmp_path / "days.duckdb")
        assert (code, "cut slices by a number of documents, such as --slices 100" in err) == (1, True)


@pytest.mark.parametrize("text", ["the cabinet met again", "12 : 30"])
def test_a_run_without_topics_says_why(run: Run, tmp_path: Path, text: str) -> None:
    given = table(tmp_path / "same.csv", [(f"2020-{month:02d}-01", text) for month in range(1, 13) for _ in range(5)])
    code, out, _ = run("replay", given, "--slices", "month", "--out", tmp_path / "run.duckdb")
    assert (code, "no topics: no word is in at least two documents" in out) == (0, True)
    assert run("show", tmp_path / "run.duckdb")[1] == "there are no topics\n"
    code, out, _ = run("export", tmp_path / "run.duckdb", tmp_path / "page.html")
    assert (code, "page:" in out) == (0, True)


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (None, "1 slice (year): too few to see topics change; try --slices month, or a number of documents"),
        ("200", "1 slice (200): too few to see topics change; try a number of documents"),
        ("20", None),
    ],
)
def test_a_run_of_one_slice_says_what_to_try(run: Run, tmp_path: Path, length: str | None, told: str | None) -> None:
    given = table(tmp_path / "day.csv", [("2020-05-05", fruit(at)) for at in range(200)])
    slices = ["--slices", length] if length else []
    code, out, _ = run("replay", given, *slices, "--out", tmp_path / "run.duckdb", "--topics", "4")
    assert code == 0
    assert (told or "too few to see") in out or told is None
    assert ("too few to see" in out) == (told is not None)
    assert "far away" not in out


def test_a_page_is_not_written_under_the_name_of_a_picture(run: Run, run_file: Path, tmp_path: Path) -> None:
    code, _, err = run("export", run_file, tmp_path / "river.svg")
    assert (code, "expected a name that ends in .html or .pdf" in err, "--still river" in err) == (1, True, True)
    assert not (tmp_path / "river.svg").exists()
    assert run("export", run_file, tmp_path / "page", "--format", "html")[0] == 0


def test_a_page_is_named_after_its_run_file(
    run: Run, run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    code, out, _ = run("export", run_file)
    assert (code, f"page: {here / run_file.stem}.html" in out) == (0, True)
    assert [one.name for one in here.iterdir()] == [f"{run_file.stem}.html"]


def test_a_page_shows_a_run_whose_first_document_has_a_wrong_time(run: Run, tmp_path: Path) -> None:
    dates = [f"2020-{1 + at // 30:02d}-{1 + at % 28:02d}" for at in range(120)]
    given = table(tmp_path / "far.csv", [(date, fruit(at)) for at, date in enumerate(["0001-01-01", *dates])])
    code, out, _ = run("replay", given, "--slices", "month", "--topics", "4", "--out", tmp_path / "run.duckdb")
    assert code == 0
    assert "far away: 1 document of 0001-01, 24,227 empty slices before all others; are the times right?" in out
    assert run("export", tmp_path / "run.duckdb", tmp_path / "page.html")[0] == 0
    assert "1 document of 0001-01 not shown" in (tmp_path / "page.html").read_text()


def test_doctor_compares_a_run_file_with_its_documents(run: Run, good: Path, run_file: Path) -> None:
    code, out, _ = run("doctor", run_file, "--input", good)
    (whole,) = [line for line in out.splitlines() if line.startswith("ok   compared: ")]
    times = float(whole.split(" times the ")[0].split()[-1])
    packed = len(gzip.compress(good.read_bytes()))
    assert code == 0
    assert times == pytest.approx(run_file.stat().st_size / packed, rel=0.2)
    assert "compared, checkpoint_slice: " in out
    assert "--input needs a run file" in run("doctor", "--input", good)[2]
