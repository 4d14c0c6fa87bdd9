"""The benchmarks run: each tells what it measures, and every method that is compared makes its pass."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.bench_engine import FAST, NEEDED, SLOW, counted, weighted
from tests.benchmarks.bench_run_labels import told
from tests.benchmarks.bench_vectors import Common, classes_apart, purity

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


def test_isotropy_tells_planted_classes_apart_and_the_same_class_not() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2_000, 40))
    classes = np.repeat(np.arange(5), 400)
    assert 0.2 < classes_apart(x + 5.0 * np.eye(40)[0], classes, 0)["auc"] < 0.8
    assert classes_apart(x + 5.0 * np.eye(40)[classes], classes, 0)["auc"] > 0.95


def test_purity_is_the_share_of_the_commonest_class_of_a_cluster() -> None:
    assert purity(np.array([0, 0, 0, 2, 2, -1]), np.array([1, 1, 0, 0, -1, 1])) == pytest.approx([2 / 3, 1.0])


def test_the_mean_and_the_first_directions_are_taken_off() -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((500, 6)) * [9.0, 1.0, 1.0, 1.0, 1.0, 1.0] + [0.0, 20.0, 0.0, 0.0, 0.0, 0.0]).astype("f4")
    left = {}
    for directions in (-1, 0, 1):
        common = Common(6, directions)
        for part in np.split(x, 5):
            common.learn(part)
        left[directions] = np.square(common.taken_off(x)).mean(axis=0)
    assert left[-1][1] > 100.0 > left[0][1]
    assert left[0][0] > 0.5 > 0.01 > left[1][0]


def test_labels_of_a_run_file_are_judged_by_classes_and_by_what_documents_are_called_later() -> None:
    rows = [("a", 0, 0, 0.9, 1, 0.1), ("b", 0, 1, 0.6, 1, 0.4), ("c", 1, 1, 0.8, 0, 0.1), ("d", 1, None, 0.7, 0, 0.2)]
    found = pd.DataFrame(rows, columns=["id", "topic", "smoothed", "probability", "second", "second_probability"])
    lines = told(found.assign(story=[0, 1, 2, -1]), {"a": "x", "b": "y", "c": "y", "d": "y"})
    assert lines["nmi, ari, b3 of smoothed"] == [1.0, 1.0, 1.0]
    assert lines["nmi, ari, b3 of topic"][0] < 1.0
    assert lines["smoothed"] == {"true": 0.667, "probability": 0.767, "error": 0.3}
    assert lines["of_two"] == {"true": 1.0, "probability": 0.967, "error": 0.033}
    assert lines["class"]["true"] == 0.667
