"""The command: what it prints, writes, refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from vmfstream import cli
from vmfstream.cli.console import INTERRUPTED


def run(monkeypatch: pytest.MonkeyPatch, *args: object) -> int:
    monkeypatch.setattr(sys, "argv", ["vmfstream", "reproduce", *map(str, args)])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_table_1_on_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "banerjee", "Table1") == 0
    out = capsys.readouterr().out
    for number in ("12.2839", "9.36921", "800.13"):
        assert out.count(number) == 2, number


def test_a_page_and_kept_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, cache = tmp_path / "b.html", tmp_path / "fits"
    arguments = ("banerjee", "table1", "table2", "--restarts", 2, "--jobs", 1, "--cache", cache, "--html", page)
    assert run(monkeypatch, *arguments) == 0
    kept = sorted(cache.glob("*.json"))
    assert len(kept) == 6
    first = capsys.readouterr().out
    times = [file.stat().st_mtime_ns for file in kept]
    assert run(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out == first
    assert [file.stat().st_mtime_ns for file in kept] == times
    assert "Banerjee" in page.read_text(encoding="utf-8")
    assert "Restarts: 2, seed: 0" in page.read_text(encoding="utf-8")


def test_ctrl_c_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vmfstream.replay.papers import algorithms

    calls = 0

    def third(x: Any, k: int, seed: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return before(x, k, seed)

    before = algorithms.ALGORITHMS[algorithms.SOFT]
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**algorithms.ALGORITHMS, algorithms.SOFT: third})
    page = tmp_path / "b.html"
    arguments = ("banerjee", "table1", "table2", "--jobs", 1, "--cache", tmp_path, "--html", page)
    assert run(monkeypatch, *arguments) == INTERRUPTED
    said = capsys.readouterr()
    assert f"finished fits are kept in {tmp_path}" in said.err.replace("\n", "")
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert "12.2839" in page.read_text(encoding="utf-8")
    assert "table2" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("banerjee", "table9"), "banerjee has no 'table9' here: known are table1, table2"),
        (("bishop",), "unknown paper 'bishop': known are banerjee"),
    ],
)
def test_unknown_names_list_the_known_ones(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 1
    assert said in capsys.readouterr().err


def test_missing_data_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vmfstream import folders

    monkeypatch.setattr(folders, "data_folders", lambda: (tmp_path,))
    assert run(monkeypatch, "banerjee", "table4", "--cache", tmp_path) == 1
    assert f"classic3/counts.npz is not on this machine: put it into {tmp_path}" in capsys.readouterr().err
