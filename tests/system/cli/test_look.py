"""Commands that look at what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.system.cli.given import COMMAND, Run, count, write
from vmfstream.cli.console import write_page


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
    assert (code, "leave --topic and --smoothed out" in err) == (1, True)
    plain = tmp_path / "plain.duckdb"
    assert run("run", good, *COMMAND, "--no-stories", "--out", plain)[0] == 0
    assert "there are no stories" in run("show", plain, "--stories")[1]
    assert count(plain, "story") == 0


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
    assert all("90 documents" in line and "3 of 3 topics are live ones" in line for line in out.splitlines())
    assert count(run_file, "snapshot") == 2


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
