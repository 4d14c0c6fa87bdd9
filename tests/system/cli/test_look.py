"""Commands that look at what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, Run, count, lines, write
from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.written import write_run_file
from vmfstream.cli.console import progress, write_page
from vmfstream.cli.report import _topic_names
from vmfstream.dashboards.looks import texts
from vmfstream.engine.loop.settings import Progress
from vmfstream.runfile.queries import Reader


def test_help_teaches(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("demo", "replay", "run", "export", "show", "corpora", "doctor"):
        assert command in out
        code, text, _ = run(command, "--help")
        assert code == 0
        assert len(text) > 200


def test_version(run: Run) -> None:
    import vmfstream

    assert run("--version")[1].strip() == f"vmfstream {vmfstream.__version__}"


def test_doctor(run: Run, good: Path, run_file: Path) -> None:
    code, out, _ = run("doctor", run_file)
    assert code == 0
    assert "numba" in out
    assert "rejected" in out
    code, out, _ = run("doctor", good)
    assert code == 1
    assert "FAIL" in out


def test_doctor_says_where_the_time_went(run: Run, run_file: Path) -> None:
    code, out, _ = run("doctor", "--profile", run_file)
    assert code == 0
    assert {"reading", "words", "scoring", "slice", "refits", "writing"} <= {
        line.split()[0] for line in out.splitlines()
    }
    code, _, err = run("doctor", "--profile")
    assert (code, "needs a run file" in err) == (1, True)


def test_corpora_are_listed(run: Run) -> None:
    code, out, _ = run("corpora")
    assert code == 0
    for name in ("planted", "nips", "nyt"):
        assert name in out


def test_stories_are_shown(run: Run, good: Path, run_file: Path, tmp_path: Path) -> None:
    code, out, _ = run("show", run_file, "--stories", "--json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert {"story", "title", "size", "first", "last", "trend", "merged_into", "topic", "words"} == set(rows[0])
    assert rows[0]["title"].startswith("Report ")
    assert len(run("show", run_file, "--stories", "--top", 1, "--json")[1].splitlines()) == 1
    code, _, err = run("show", run_file, "--stories", "--topic", 1)
    assert (code, "leave --topic, --at and --reading out" in err) == (1, True)
    plain = tmp_path / "plain.duckdb"
    assert run("run", good, *COMMAND, "--no-stories", "--out", plain)[0] == 0
    assert "there are no stories" in run("show", plain, "--stories")[1]
    assert count(plain, "story") == 0


def test_the_topics_of_an_earlier_slice_are_shown(run: Run, run_file: Path) -> None:
    newest = [json.loads(line) for line in run("show", run_file, "--json")[1].splitlines()]
    earlier = [json.loads(line) for line in run("show", run_file, "--at", "2001", "--json")[1].splitlines()]
    assert {row["slice"] for row in earlier} == {"2001"} != {row["slice"] for row in newest}
    code, _, err = run("show", run_file, "--at", "1066")
    assert (code, "no closed slice '1066' with topics" in err) == (1, True)
    code, _, err = run("show", run_file, "--at", "2001", "--topic", 0)
    assert (code, "leave one of them out" in err) == (1, True)


def test_a_report_tells_what_happened_since(run: Run, run_file: Path, tmp_path: Path) -> None:
    code, out, _ = run("report", run_file, "--since", "2001")
    assert code == 0
    assert "## New: " in out
    page = tmp_path / "report.html"
    code, out, _ = run("report", run_file, "--out", page)
    assert (code, out.startswith(f"report: {page}")) == (0, True)
    assert page.read_text().startswith("<!DOCTYPE html>")
    code, _, err = run("report", run_file, "--since", "lately")
    assert (code, "expected a date" in err) == (1, True)


@pytest.mark.parametrize("given", [("--no-stories",), ("--vector", "v", "--dimension", 3)])
def test_a_report_of_a_run_without_stories_says_so(run: Run, tmp_path: Path, given: tuple[object, ...]) -> None:
    rows = [row | {"v": [float(i % 3 == j) + 0.01 * (i % 7) for j in range(3)]} for i, row in enumerate(lines())]
    path = tmp_path / "run.duckdb"
    assert run("run", write(tmp_path / "in.jsonl", rows), *COMMAND, *given, "--out", path)[0] == 0
    code, out, _ = run("report", path, "--since", "2001")
    assert (code, "New: 0 stories" in out, "This run file holds no stories." in out) == (0, False, True)
    assert run("report", path, "--out", tmp_path / "report.html")[0] == 0
    assert "<p>This run file holds no stories.</p>" in (tmp_path / "report.html").read_text()


def test_no_title_reaches_the_terminal_as_a_command(run: Run, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": f"d{i}", "time": "2001", "title": "\x1b[31mred\x07", "text": "harbour strike docker"} for i in range(9)
    ]
    path = tmp_path / "run.duckdb"
    assert run("run", write(tmp_path / "in.jsonl", rows), *COMMAND, "--out", path)[0] == 0
    for command in (("show", path, "--stories"), ("report", path)):
        code, out, _ = run(*command)
        assert code == 0
        assert "[31mred" in out.replace("\\[", "[")
        assert "\x1b" not in out
        assert "\x07" not in out


def test_snapshots_of_a_run_file(run: Run, run_file: Path) -> None:
    code, out, _ = run("snapshot", run_file, "--kind", "tree", "--kind", "flat")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["flat", "tree"]
    assert all("90 documents" in line and "3 of 3 topics match the run's" in line for line in out.splitlines())
    assert count(run_file, "snapshot") == 2


def test_a_snapshot_without_a_slice_to_compare_by_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    assert run("run", write(tmp_path / "in.jsonl", lines(30)), "--slices", "year", "-k", 90, "--out", path)[0] == 0
    code, out, _ = run("snapshot", path, "--kind", "flat")
    assert (code, "newest slice not scored, because there are no topics before it" in out) == (0, True)
    assert "nan" not in out


def test_one_option_chooses_the_reading(run: Run, run_file: Path, tmp_path: Path) -> None:
    shown = {name: run("show", run_file, "--topic", 0, "--reading", name)[1] for name in ("filtered", "smoothed")}
    code, out, err = run("show", run_file, "--topic", 0)
    assert (code, out, "as known then: --reading filtered" in err) == (0, shown["smoothed"], True)
    assert shown["filtered"] != shown["smoothed"]
    for former in ("--smoothed", "--hindsight"):
        assert run("show", run_file, "--topic", 0, former)[1] == shown["smoothed"]
    code, _, err = run("show", run_file, "--reading", "later")
    assert (code, "'filtered', 'smoothed'" in err) == (2, True)
    for options in ((), ("--reading", "smoothed"), ("--reading", "filtered"), ("--filtered",), ("--then",)):
        picture, wanted = (
            tmp_path / "words.svg",
            "smoothed" if options in ((), ("--reading", "smoothed")) else "filtered",
        )
        assert run("export", run_file, picture, "--still", "words", "--topic", 0, *options)[0] == 0
        assert [name for name in shown if texts.PAGE[name] in picture.read_text()] == [wanted]


def test_tables_are_as_wide_as_the_terminal_and_unwrapped_elsewhere(
    run: Run, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = run("show", run_file, "--words", 8)[1].splitlines()
    assert len(rows) == 4
    assert max(map(len, rows)) > 60
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    rows = run("show", run_file, "--words", 8)[1].splitlines()
    assert len(rows) > 4


def test_a_run_tells_how_many_topics_there_are(run: Run, good: Path, tmp_path: Path) -> None:
    out = run("run", good, *COMMAND, "--out", tmp_path / "a.duckdb")[1]
    assert "topics: 3 of at most 3\n" in out
    out = run("run", good, "--slices", "year", "-k", 1000, "--out", tmp_path / "b.duckdb")[1]
    assert re.search(r"topics: \d+; 120 documents are too few for 1,000, each of which needs at least two", out)


def test_former_names_of_options_are_understood(run: Run, good: Path, tmp_path: Path) -> None:
    for names in (("--page-title", "--title-column"), ("--title", "--title-field")):
        path = tmp_path / f"{names[0]}.duckdb"
        assert run("run", good, *COMMAND, "--out", path, names[0], "Reports", names[1], "id")[0] == 0
        assert "Reports" in run("doctor", path)[1]
        rows = [json.loads(line) for line in run("show", path, "--stories", "--json")[1].splitlines()]
        assert all(row["title"].startswith("d") for row in rows)
    for command in ("run", "replay"):
        said = run(command, "--help")[1].split()
        assert {"--page-title", "--title-column"} <= set(said)
        assert not {"--title", "--title-field"} & set(said)


@pytest.mark.parametrize("total", [600, None])
def test_the_time_left_is_estimated_where_the_total_is_known(
    total: int | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "150")
    with progress("reports", total) as (observe, _):
        observe(Progress(1, "2001", 300, 0, 0.0, False))
    said = capsys.readouterr().err
    assert "300/" in said
    assert (" left" in said) == (total is not None)


def test_snapshots_beside_a_run(run: Run, good: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    args = ("run", good, *COMMAND, "--out", run_file, "--snapshot-every", 2, "--kind", "flat")
    assert run(*args)[0] == 0
    assert count(run_file, "snapshot") >= 1
    assert run(*args)[0] == 0  # nothing new, no further snapshot
    assert count(run_file, "snapshot") <= 2


@pytest.mark.parametrize(("limit", "said"), [(0.1, "left out and still over 0.1 MB: "), (25, "")])
def test_what_did_not_fit_into_a_page_is_said_as_it_is(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: float, said: str
) -> None:
    page = tmp_path / "page.html"
    write_page(run_file, page, limit)
    first, *left_out = capsys.readouterr().out.splitlines()
    assert first == f"page: {page} ({page.stat().st_size / 1e6:.1f} MB)"
    assert len(left_out) == (5 if said else 0)
    assert all(line.startswith(said) for line in left_out)
    least = page.stat().st_size / 1e6
    if said:  # the same parts, and now they are enough
        write_page(run_file, page, least)
        _, *left_out = capsys.readouterr().out.splitlines()
        assert left_out
        assert all(line.startswith(f"left out to stay under {least:g} MB: ") for line in left_out)


def test_a_slice_without_documents_is_shown(run: Run, tmp_path: Path) -> None:
    """Its topics have numbers, since smoothing goes on, and a label; they were a KeyError."""
    rows = [row | {"time": str(int(str(row["time"])) + (str(row["time"]) > "2002"))} for row in lines()]
    target = tmp_path / "gap.duckdb"
    assert run("replay", write(tmp_path / "gap.jsonl", rows), *COMMAND, "--out", target)[0] == 0
    for reading in ("filtered", "smoothed"):
        code, out, _ = run("show", target, "--reading", reading, "--topic", 0, "--json")
        assert code == 0
        shown = [json.loads(line) for line in out.splitlines()]
        assert [row["slice"] for row in shown] == ["2001", "2002", "2003", "2004", "2005"]
        assert shown[2]["documents"] == 0
        code, out, _ = run("show", target, "--reading", reading, "--at", "2003", "--json")
        assert (code, {json.loads(line)["slice"] for line in out.splitlines()}) == (0, {"2003"})
        assert run("show", target, "--reading", reading)[0] == 0
    assert run("documents", target, "--slice", "2003") == (0, "there are no such documents\n", "")
    assert run("report", target, "--since", "2003")[0] == 0


def test_a_report_calls_topics_as_they_were_called_then(tmp_path: Path) -> None:
    """Later names may have words that no document held yet."""
    run_file = write_run_file(tmp_path / "run.duckdb", gazette(slices=5, topics=3))
    with duckdb.connect(str(run_file)) as connection:
        connection.execute("insert into topic_name values (2, 1, 'a name of then', 'a title')")
    reader = Reader(run_file)
    names = _topic_names(reader)
    assert names(1, 4) == names(1, 2) == "topic 1 (a name of then)"
    earlier = reader.words("filtered", 1, 3)
    assert names(1, 1) == f"topic 1 ({' '.join(earlier.word[earlier.slice == 1].tolist())})"
    assert names(99, 4) == "topic 99"


def test_options_of_a_picture_are_not_passed_over(run: Run, run_file: Path, tmp_path: Path) -> None:
    for option, value in (("--reading", "filtered"), ("--topic", 1), ("--date", "2002"), ("--word", "crane")):
        code, _, err = run("export", run_file, tmp_path / "page.html", option, value)
        assert (code, f"{option}: expected --still with it" in err) == (1, True)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("command", [("documents", "--format", "csv", "--out"), ("report", "--out"), ("export",)])
def test_a_folder_that_is_missing_is_told_before_any_work(
    run: Run, run_file: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, _, err = run(command[0], run_file, *command[1:], tmp_path / "missing" / "page.html")
    assert (code, "missing does not exist; create it, or choose another path" in err) == (1, True)


def test_a_page_of_another_kind_of_file_is_not_served(run: Run, good: Path) -> None:
    code, _, err = run("dashboard", good)
    assert (code, "is not a DuckDB file, so it is no run file" in err) == (1, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_behind_standard_output_is_told_in_one_sentence(run_file: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "vmfstream", "show", str(run_file)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "vmfstream: cannot write: No space left on device\n")


def test_letters_that_an_output_does_not_have_are_written_as_numbers(run_file: Path) -> None:
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-m", "vmfstream", "show", str(run_file), "--topic", "0"]
    done = subprocess.run(command, capture_output=True, text=True, env=ascii_only)
    assert done.returncode == 0, done.stderr
    assert "\\xb0" in done.stdout  # degrees
