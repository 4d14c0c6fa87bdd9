"""The benchmarks run: each tells what it measures, and every method that is compared makes its pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.bench_engine import FAST, NEEDED, SLOW, counted, weighted

SCRIPTS = sorted((Path(__file__).resolve().parents[1] / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_tells_what_it_measures(script: Path) -> None:
    told = subprocess.run([sys.executable, script, "--help"], check=True, capture_output=True, text=True).stdout
    assert len(told.splitlines()) > 5


@pytest.mark.parametrize("name", sorted({*FAST, *SLOW} - set(NEEDED)))
def test_methods_that_are_compared_pass_over_the_same_documents(name: str) -> None:
    counts, truth = counted(1400, 300, 2, 20, 0.5)
    x = weighted(counts) if name in FAST else counts
    method = FAST[name] if name in FAST else SLOW[name][0]
    found = method(x[:1000], [x[1000:1200], x[1200:]], 2, 1)
    assert found.seconds > 0.0
    assert found.labels is None or found.labels.shape == truth[1000:].shape
