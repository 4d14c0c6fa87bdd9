"""A run file of an earlier format serves every command, and the run that wrote it is continued."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb

from tests.system.cli.given import Run, lines
from tests.unit.runfile.test_upgrade import unpacked

COMMAND = ("--slices", "year", "-k", 3, "--sample", 40, "--vocabulary", 200)
"""How the interrupted run was begun."""


def test_an_older_file_is_shown_exported_and_examined(run: Run, tmp_path: Path) -> None:
    code, out, err = run("show", unpacked("run", tmp_path), "--json")
    assert (code, len(out.splitlines())) == (0, 3), err
    code, _, err = run("export", unpacked("run", tmp_path), tmp_path / "page.html")
    assert code == 0, err
    code, out, _ = run("doctor", unpacked("run", tmp_path))
    assert code == 0
    assert "newest closed slice 2002" in out
    code, out, err = run("snapshot", unpacked("run", tmp_path), "--kind", "flat")
    assert code == 0, err
    assert "documents" in out


def test_an_older_run_is_continued(tmp_path: Path) -> None:
    path = unpacked("run", tmp_path)
    text = "".join(json.dumps(row) + "\n" for row in lines())
    command = [sys.executable, "-m", "vmfstream", "run", "-", *COMMAND, "--out", path]
    done = subprocess.run([str(part) for part in command], input=text, text=True, capture_output=True, check=True)
    assert "finished: 120 documents, 0 rejected" in done.stdout
    with duckdb.connect(path, read_only=True) as connection:
        slices = connection.execute("select label, n, temperature from slice order by slice").fetchall()
    assert [(label, n) for label, n, _ in slices] == [("2001", 30), ("2002", 30), ("2003", 30), ("2004", 30)]
    assert all(temperature > 0.1 for _, _, temperature in slices[1:])
