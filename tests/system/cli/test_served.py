"""The page that a run serves: it stays until Ctrl-C, with the last slice; scripts leave with the stream."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import duckdb
import pytest

from tests.system.cli.given import COMMAND

pytest.importorskip("dash")  # the live page is an extra


def started(good: Path, run_file: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vmfstream", "run", good, *COMMAND, "--out", run_file]
    command += ["--dashboard", "--dashboard-port", "0", *more]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def line_with(stream: IO[str], text: str) -> str:
    return next(line for line in stream if text in line)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_page_of_a_finished_run_stays_until_it_is_told_to_end(good: Path, tmp_path: Path, number: int) -> None:
    run_file = tmp_path / "run.duckdb"
    with started(good, run_file) as process:
        assert process.stderr is not None
        said = line_with(process.stderr, "stays at")
        assert f"vmfstream dashboard {run_file}" in said
        address = re.search(r"http://\S+", said)
        assert address is not None
        with urlopen(address.group()) as answer:
            page = answer.read().decode()
        with duckdb.connect(run_file, read_only=True) as connection:
            (last,) = connection.execute("select arg_max(label, slice) from slice").fetchall()[0]
        assert f"<output>{last}</output>" in page
        process.send_signal(number)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        assert "finished: 120 documents" in out


def test_a_script_goes_on_when_the_stream_ends(good: Path, tmp_path: Path) -> None:
    with started(good, tmp_path / "run.duckdb", "--exit") as process:
        out, err = process.communicate()
    assert process.returncode == 0
    assert "finished: 120 documents" in out
    assert "dashboard: http://" in err
    assert "stays" not in err
