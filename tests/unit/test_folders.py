"""Where data is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmfstream import folders


def test_data_is_in_the_named_folder_then_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folders.data_folders() == (tmp_path / "named", tmp_path / "vmfstream")


def test_without_a_name_nothing_near_the_program_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VMFSTREAM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    near = tmp_path / "shared" / "data"
    near.mkdir(parents=True)
    (near / "rows.csv").touch()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert folders.data_folders() == (folders.cache_folder(),)
    assert folders.find_data("rows.csv") is None
