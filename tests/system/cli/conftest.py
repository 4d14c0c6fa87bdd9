"""The program in this process, the documents of a run, and its log."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer

from tests.system.cli.given import COMMAND, Run, lines, write
from vmfstream import cli

_made_once = cache(typer.main.get_command)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(typer.main, "get_command", _made_once)

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vmfstream", *map(str, args)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write(tmp_path / "good.jsonl", lines())


@pytest.fixture(scope="session")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of a finished run, which nobody may change."""
    folder = tmp_path_factory.mktemp("followed")
    file, run_file = write(folder / "good.jsonl", lines()), folder / "run.duckdb"
    command = [sys.executable, "-m", "vmfstream", "run", file, *COMMAND, "--out", run_file]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return run_file


@pytest.fixture
def run_file(followed: Path, tmp_path: Path) -> Path:
    """Return a copy of that log."""
    return Path(shutil.copy(followed, tmp_path / "run.duckdb"))
