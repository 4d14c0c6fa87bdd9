"""The wheel holds one top-level name, the three mapped folders, and nothing is forgotten."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPPED = ("connectors", "dashboards", "replay")


def declared() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])


def test_links_show_the_mapped_folders() -> None:
    for name in MAPPED:
        assert (ROOT / "vmfstream" / name).resolve() == ROOT / name


def test_every_package_is_declared() -> None:
    found = {"vmfstream"} | {f"vmfstream.{name}" for name in MAPPED}
    for name in ("vmfstream", *MAPPED):  # links are not followed
        for path in (ROOT / name).rglob("*/__init__.py"):
            parts = path.parent.relative_to(ROOT).parts
            found.add(".".join(parts if name == "vmfstream" else ("vmfstream", *parts)))
    assert found == declared()


def test_mapped_folders_are_never_imported_by_their_bare_names() -> None:
    for folder in ("vmfstream", *MAPPED, "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                for name in MAPPED:
                    assert not line.startswith((f"import {name}", f"from {name}")), f"{path}: {line}"


@pytest.mark.thorough
def test_wheel_has_one_top_level_name(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"vmfstream"}
    scripts = [f"vmfstream/dashboards/browser/{path.name}" for path in (ROOT / "dashboards/browser").iterdir()]
    assert "vmfstream/dashboards/browser/main.js" in scripts
    for wanted in ("vmfstream/py.typed", "vmfstream/text/english.txt", "vmfstream/connectors/codecs.py", *scripts):
        assert wanted in names
    assert not [name for name in names if "/tests/" in name]
