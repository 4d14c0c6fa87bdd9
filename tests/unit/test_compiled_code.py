"""Where compiled code is kept if a user may not write beside the modules."""

from __future__ import annotations

import os
import re
import warnings
from functools import partial
from pathlib import Path

import pytest

from vmfstream.folders import keep_compiled_code


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder that nobody may write; what was told to numba is told again afterwards."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    folder, access = tmp_path / "package", os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and access(path, mode))
    return folder


def test_the_cache_of_the_user_is_enough(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    keep_compiled_code(package)
    assert (tmp_path / "cache" / "numba").is_dir()
    assert not os.environ["NUMBA_CACHE_DIR"]


@pytest.mark.parametrize("home", ["file", "nobody"])
def test_without_any_place_it_has_a_folder_for_the_time_of_the_process(
    package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file") if home == "file" else "")
    monkeypatch.setattr(Path, "home", partial(Path.expanduser, Path("~no-such-user")))
    left: list[tuple[object, ...]] = []
    monkeypatch.setattr("atexit.register", lambda *call, **named: left.append(call))
    with pytest.warns(RuntimeWarning, match=r"neither .*package nor .* can be written; .* let NUMBA_CACHE_DIR name"):
        keep_compiled_code(package)
    made = Path(os.environ["NUMBA_CACHE_DIR"])
    assert made.stat().st_mode & 0o777 == 0o700
    ((remove, gone),) = left
    assert callable(remove)
    remove(gone)
    assert not made.exists()


@pytest.mark.parametrize("beneath", ["package", "file"])
def test_a_folder_that_is_named_but_cannot_be_written_is_none(
    package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, beneath: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    named = package if beneath == "package" else tmp_path / "file" / "compiled"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(named))
    with pytest.warns(RuntimeWarning, match=rf"neither {re.escape(str(named))}, .*package nor .* can be written"):
        keep_compiled_code(package)
    made = Path(os.environ["NUMBA_CACHE_DIR"])
    assert made != named
    assert made.is_dir()


def test_a_folder_that_is_named_is_left_alone(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep_compiled_code(package)
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "named")
    assert not (tmp_path / "cache").exists()
