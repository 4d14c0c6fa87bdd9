"""What comes from others is bounded where it is leaned on privately, and inlined as it was published."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from plotly.offline import get_plotlyjs

ROOT = Path(__file__).resolve().parents[2]
CODE = [path for name in ("vmfstream", "connectors", "dashboards", "replay") for path in (ROOT / name).rglob("*.py")]
PRIVATE = {
    "numba": (r"\bnumba\.(core|np|cpython|typed)\b", {"vmfstream/directional/simd.py"}),
    "llvmlite": (r"^from llvmlite", {f"vmfstream/{name}.py" for name in
                                     ("directional/simd", "directional/intrinsics", "text/ascii_scan")}),
    "kafka-python": (r"\b_producer\._|\b_consumer\._", {"connectors/kafka/publisher.py"}),
    "duckdb": (r"_HEADERS = 3|b\"DUCK\"", {"vmfstream/runfile/rollback.py", "vmfstream/runfile/connection.py"}),
    "waitress": (r"HTTPChannel|wasyncore|task_dispatcher", {"dashboards/app.py", "dashboards/page/connection.py"}),
    "dash": (r"_dash-update-component", {"dashboards/app.py"}),
}  # fmt: skip
"""Where libraries are used below their documented functions: a pattern, and the files that may hold it."""

PUBLISHED = {
    "3.0.1": "a32e817bb121e9e89016ce4cee85ee3f1c66f6a6c95c4b53a5f488f77756d7a4",
    "4.1.1": "3b6e15d45dbb7fca5bd2094291e961ddc5472cd887009e6009a56dab668d721f",
}
"""SHA-256 of plotly.min.js in the package plotly.js-dist-min, by version: those of the lowest and the newest plotly."""


def requirements() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["optional-dependencies"]["dash"], *project["dependencies"]]
    return {one.name: one for one in map(Requirement, named)}


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_leaned_on_privately_has_an_upper_bound_and_few_places(name: str) -> None:
    pattern, places = PRIVATE[name]
    found = {
        str(path.relative_to(ROOT))
        for path in CODE
        if not any(part.is_symlink() for part in path.parents)
        and re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found == places
    wanted = requirements()[name].specifier
    assert {">=", "<"} <= {one.operator for one in wanted}
    assert version(name) in wanted


@pytest.mark.thorough
def test_tests_of_a_group_stay_in_one_process(tmp_path: Path) -> None:
    """Without it every process starts a broker and a browser of its own, and nothing fails."""
    tests = tmp_path / "test_groups.py"
    tests.write_text(
        "import os, pathlib, pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('number', range(6))\n"
        "def test_nothing(number):\n"
        "    (pathlib.Path(__file__).parent / os.environ['PYTEST_XDIST_WORKER']).touch()\n"
    )
    options = ["-q", "-pxdist", "-n2", "--dist=loadgroup", "-pno:cacheprovider", f"--rootdir={tmp_path}", str(tests)]
    unset = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run([sys.executable, "-m", "pytest", *options], check=True, capture_output=True, cwd=tmp_path, env=unset)
    assert len(list(tmp_path.glob("gw*"))) == 1


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    everything = [
        *project["dependencies"],
        *(one for some in project["optional-dependencies"].values() for one in some),
    ]
    for one in map(Requirement, everything):
        assert one.name == "vmfstream" or ">=" in {bound.operator for bound in one.specifier}, one


def test_every_extra_is_in_the_table_of_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = [line for line in (ROOT / "docs" / "install.md").read_text().splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])} == set(extras)
    (everything,) = extras["all"]
    assert set(extras) - {"all", "test", "docs"} - set(re.findall(r"[\w-]+", everything)) == {
        "sentence-transformers",
        "onnx",
    }


def test_the_library_in_the_page_is_as_published() -> None:
    library = get_plotlyjs().encode()
    digest = hashlib.sha256(library)
    (number,) = re.findall(rb"plotly\.js v([\d.]+)", library[:200])
    assert PUBLISHED.get(number.decode(), digest.hexdigest()) == digest.hexdigest()
    # of versions that are not listed: as in the package whose own hash pip has compared
    (file,) = [one for one in distribution("plotly").files or () if one.name == "plotly.min.js"]
    assert file.hash is not None
    assert file.hash.mode == "sha256"
    assert file.hash.value == base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
