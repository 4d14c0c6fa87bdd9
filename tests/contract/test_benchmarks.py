"""The benchmarks run: each tells what it measures, and every method that is compared makes its pass."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.benchmarks.bench_engine import FAST, NEEDED, SLOW, counted, weighted

SCRIPTS = sorted((Path(__file__).resolve().parents[1] / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_tells_what_it_measures(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    monkeypatch.setattr(sys, "path", [*sys.path])  # scripts add the folder of the package
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")  # as some do for themselves
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 5


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted({*FAST, *SLOW} - set(NEEDED)))
def test_methods_that_are_compared_pass_over_the_same_documents(name: str) -> None:
    counts, truth = counted(1400, 300, 2, 20, 0.5)
    x = weighted(counts) if name in FAST else counts
    method = FAST[name] if name in FAST else SLOW[name][0]
    found = method(x[:1000], [x[1000:1200], x[1200:]], 2, 1)
    assert found.seconds > 0.0
    assert found.labels is None or found.labels.shape == truth[1000:].shape
