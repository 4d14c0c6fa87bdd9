"""The public face: names, laziness, no side effects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vmfstream

HEAVY = ("numba", "sklearn", "duckdb", "plotly", "river", "kafka", "scipy", "pyarrow", "pandas")
NOT_FOR_READING = {*HEAVY, "rich", "dask", "distributed", "scipy.stats", "scipy.optimize"} - {"duckdb"}


def test_public_names_are_there() -> None:
    for name in vmfstream.__all__:
        assert getattr(vmfstream, name) is not None
    assert dir(vmfstream) == sorted(vmfstream.__all__)


@pytest.mark.parametrize("name", ["datasets", "metrics", "plot"])
def test_completion_offers_what_is_public(name: str) -> None:
    module = getattr(vmfstream, name)
    assert dir(module) == sorted(module.__all__)
    for public in dir(module):
        getattr(module, public)


def test_unknown_names_say_so() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        vmfstream.nothing  # noqa: B018


def loaded_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return set(out.stdout.split())


def test_importing_is_light() -> None:
    assert not loaded_after("import vmfstream") & set(HEAVY)


def test_help_is_light() -> None:
    assert not loaded_after("import vmfstream.cli") & set(HEAVY)


def test_run_files_are_read_without_compiled_code() -> None:
    code = "from vmfstream.cli import topic_table, document_table, diagnosis, report, decide"
    assert not loaded_after(code) & NOT_FOR_READING


@pytest.mark.parametrize("command", ["replay", "run"])
def test_the_first_document_is_read_before_heavy_imports(command: str, tmp_path: Path) -> None:
    documents, run_file = tmp_path / "few.jsonl", tmp_path / "few.duckdb"
    documents.write_text(json.dumps({"id": "a", "time": 1990, "text": "red wine"}) + "\n", encoding="utf-8")
    code = f"""
from os import _exit
from vmfstream.cli import app
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.loop import reading

def first(codec, messages):
    print(*sys.modules, flush=True)
    _exit(0)

class AtOnce(reading.Thread):
    def start(self):
        self.run()

FieldCodec.decode_all = first
reading.Thread = AtOnce
app([{command!r}, {str(documents)!r}, "--out", {str(run_file)!r}])
"""
    loaded = loaded_after(code)
    assert "vmfstream.engine.loop.reading" in loaded
    assert not loaded & NOT_FOR_READING


@pytest.mark.thorough
def test_runs_need_no_machine_learning_packages(tmp_path: Path) -> None:
    documents, run_file = tmp_path / "few.jsonl", tmp_path / "few.duckdb"
    lines = [{"id": str(i), "time": f"199{i // 60}-01-01", "text": ("red wine", "ship sea")[i % 2]} for i in range(300)]
    documents.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    call = ["replay", str(documents), "--slices", "year", "--topics", "2", "--out", str(run_file)]
    code = f"from vmfstream.cli import app\napp({call!r}, standalone_mode=False)"
    assert not loaded_after(code) & {"sklearn", "pandas", "river", "scipy.interpolate", "scipy.stats"}
    assert run_file.exists()
