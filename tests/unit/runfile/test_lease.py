"""One run per run file: who comes second gets an error, and a run that was killed is no obstacle."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.runfile.records import commit
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import StoreLocked
from vmfstream.runfile.lease import lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

HOLD = """
import sys, time
from pathlib import Path
from vmfstream.runfile.lease import lease
with lease(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(3600)
"""


def test_the_second_names_the_first(tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(run_file)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with (
        pytest.raises(StoreLocked, match=rf"process {first.pid} is writing the run file {re.escape(str(run_file))}"),
        lease(run_file),
    ):
        pass
    with pytest.raises(StoreLocked, match="choose another --out"):
        follow(MemorySource([]), FieldCodec(), RunFile(run_file), RunSettings())
    first.kill()
    first.communicate()
    assert Path(f"{run_file}.lock").exists()
    with lease(run_file):  # what a killed run leaves behind
        assert Path(f"{run_file}.lock").read_text() == f"{os.getpid()}\n"
    assert not Path(f"{run_file}.lock").exists()


def test_others_may_read_meanwhile_and_a_failure_releases(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    with lease(run_file.path):
        run_file.commit(commit(0))
        assert Reader(run_file.path).newest().epoch == 0
    with pytest.raises(KeyError), lease(run_file.path):
        raise KeyError
    with lease(run_file.path):
        pass
