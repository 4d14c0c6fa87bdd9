"""One run per log: who comes second is told, and a run that was killed is no obstacle."""

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
    log = tmp_path / "run.duckdb"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(log)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with (
        pytest.raises(StoreLocked, match=rf"process {first.pid} is writing the run file {re.escape(str(log))}"),
        lease(log),
    ):
        pass
    with pytest.raises(StoreLocked, match="choose another --out"):
        follow(MemorySource([]), FieldCodec(), RunFile(log), RunSettings())
    first.kill()
    first.communicate()
    assert Path(f"{log}.lock").exists()
    with lease(log):  # what a killed run leaves behind
        assert Path(f"{log}.lock").read_text() == f"{os.getpid()}\n"
    assert not Path(f"{log}.lock").exists()


def test_others_may_read_meanwhile_and_a_failure_releases(tmp_path: Path) -> None:
    log = RunFile(tmp_path / "run.duckdb")
    with lease(log.path):
        log.commit(commit(0))
        assert Reader(log.path).newest().epoch == 0
    with pytest.raises(KeyError), lease(log.path):
        raise KeyError
    with lease(log.path):
        pass
