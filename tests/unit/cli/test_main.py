"""How the command line ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import duckdb
import pytest

from vmfstream import cli
from vmfstream.cli.console import stopping


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


def test_a_library_that_finds_no_memory_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_llvmlite() -> None:
        try:
            raise OSError("libllvmlite.so: failed to map segment from shared object")
        except OSError:
            raise OSError("Could not find/load shared object file 'libllvmlite.so'") from None

    def of_system() -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    def of_duckdb() -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure\n\nCould not find more")

    for fail in (of_llvmlite, of_system, of_duckdb):
        monkeypatch.setattr(cli, "app", fail)
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 1
        said = capsys.readouterr().err
        assert said.startswith("vmfstream: not enough memory (")
        assert "Could not find" not in said
        assert "ulimit -v" in said


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_for_a_file_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert capsys.readouterr().err == f"vmfstream: cannot write: {os.strerror(number)}\n"


@pytest.fixture
def terminal() -> Iterator[None]:
    """Let the end of the terminal be told, also if the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("first", "others", "code"),
    [
        (signal.SIGTERM, [signal.SIGTERM, signal.SIGHUP], 0),
        (signal.SIGHUP, [signal.SIGHUP, signal.SIGTERM], 0),
        (signal.SIGINT, [signal.SIGTERM, signal.SIGHUP], 130),
    ],
)
def test_only_ctrl_c_interrupts_a_clean_end(first: int, others: list[int], code: int) -> None:
    """Supervisors send a signal to a process and to its group."""
    with stopping() as stop:
        for number in (first, *others):
            signal.raise_signal(number)
            assert stop()
            assert stop.code == code
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("terminal")
def test_under_nohup_the_end_of_the_terminal_is_none() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stopping() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert not stop()
