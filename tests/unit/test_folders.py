"""Where data is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmfstream import folders


def test_a_checkout_looks_beside_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VMFSTREAM_DATA", raising=False)
    beside, cache = folders.data_folders()
    assert beside == Path(__file__).resolve().parents[3] / "shared" / "data"
    assert cache == folders.cache_folder()


def test_an_installed_program_looks_beside_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "__file__", str(tmp_path / "site-packages" / "vmfstream" / "folders.py"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path / "named"))
    assert folders.data_folders() == (tmp_path / "named", tmp_path / "shared" / "data", folders.cache_folder())
