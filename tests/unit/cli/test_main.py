"""How the command line ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vmfstream import cli


def test_unused_objects_are_not_looked_for_when_the_process_ends() -> None:
    # what is registered first is called last: then everything is left as it is
    code = """
import atexit, gc, sys
atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count(), file=sys.stderr))
sys.argv = ["vmfstream", "--version"]
from vmfstream.cli import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    left, frozen = map(int, ended.stderr.split())
    assert left < frozen / 100


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError("Unable to allocate 954. MiB")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    said = (
        "vmfstream: not enough memory (Unable to allocate 954. MiB); a run takes less with fewer --topics or a smaller"
    )
    assert capsys.readouterr().err.startswith(said)
