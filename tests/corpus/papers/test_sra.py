"""Sra's review: axial clusters, Slashdot, the worst of several draws."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data import corpus_file
from vmfstream.replay.papers.algorithms import OURS, SOFT
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.sra import LDA, PAPER, axial_once, slashdot_once
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
def test_the_mixture_agrees_better_with_slashdot_than_lda() -> None:
    corpus_file("slashdot/counts.npz")
    found = {name: slashdot_once(name, 3, 0) for name in (OURS, LDA)}
    assert found[OURS]["nmi"] > found[LDA]["nmi"] > 0
    assert found[OURS]["documents"] == 493 + 448 + 402  # Idle, Science and Games


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
