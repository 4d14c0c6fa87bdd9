"""Sra's review: axial clusters, Slashdot, the worst of several draws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array

from tests.data import corpus_file
from vmfstream import metrics
from vmfstream.replay.papers import edcm
from vmfstream.replay.papers.algorithms import OURS, SOFT
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.sra import EDCM, LDA, PAPER, axial_once, slashdot_once
from vmfstream.replay.papers.work import Done


def test_axes_are_found_by_diametrical_k_means_alone() -> None:
    found = axial_once(0)
    assert found["diametrical nmi"] > 0.9
    assert found["two nmi"] < 0.1
    assert 0.5 < found["four nmi"] < 0.9
    assert np.array(found["diametrical centres"]).shape == (4, 2)
    shown = PAPER.exhibits["figure1"].show(Done([({"seed": 0}, found)]))
    assert [len(panel.series) for panel in shown.panels] == [3, 3, 5]
    assert all(panel.square for panel in shown.panels)
    assert sum(len(series.x) for series in shown.panels[2].series) == 200 + 4


@pytest.mark.corpus
def test_the_mixture_agrees_better_with_slashdot_than_others() -> None:
    corpus_file("slashdot/counts.npz")
    found = {name: slashdot_once(name, 3, 0) for name in (OURS, LDA, EDCM)}
    assert found[OURS]["nmi"] > found[EDCM]["nmi"] > found[LDA]["nmi"] > 0
    assert found[OURS]["documents"] == 493 + 448 + 402  # Idle, Science and Games


def test_edcm_is_fitted_at_its_largest_likelihood() -> None:
    """Documents of two classes that share no words but one; 30 words of 10 kinds each."""
    rng = np.random.default_rng(0)
    laws = np.zeros((2, 21))
    laws[0, :10] = laws[1, 10:20] = 0.09
    laws[:, 20] = 0.1
    y = np.repeat([0, 1], 40)
    counts = csr_array(np.array([rng.multinomial(30, rng.dirichlet(20.0 * laws[k] + 1e-9)) for k in y], np.float64))
    assert metrics.normalized_mutual_information(edcm.cluster(counts, 2, rng), y) == pytest.approx(1.0)
    present, lengths, m = csr_array((counts > 0).astype(float)), counts.sum(axis=1), np.full((80, 1), 0.5)
    beta, weights = edcm.parameters(present, lengths, m)

    def likelihood(log_beta: NDArray[np.float64]) -> float:
        return float((m * edcm.log_densities(present, lengths, np.exp(log_beta)[None], weights)).sum())

    slope = approx_fprime(np.log(beta[0]), likelihood, 1e-6)
    np.testing.assert_allclose(slope, 0.0, atol=2e-3)
    assert np.abs(approx_fprime(np.log(beta[0]) + 0.2, likelihood, 1e-6)).max() > 0.1


def test_the_worst_draw_is_shown_of_those_that_found_all() -> None:
    exhibit = PAPER.exhibits["table1"]
    plan = exhibit.plan(Effort(3))
    results = [
        {
            "min cosine": 0.9 + 0.01 * i,
            "max κ error": 0.1 * i,
            "max weight error": 0.01 * i,
            "nmi": 0.87 if i % 3 == 2 else 1.0,
        }
        for i in range(len(plan))
    ]
    table = exhibit.show(Done([(t.given, r) for t, r in zip(plan, results, strict=True)])).tables[0]
    assert table.text(SOFT, "draws", "ours") == "2 of 3"
    assert table.text(SOFT, "min cosine", "ours") == "0.9000"
    assert table.text(SOFT, "max κ error", "ours") == "0.1000"
    assert table.text(SOFT, "max κ error", "paper") == "0.0060"
