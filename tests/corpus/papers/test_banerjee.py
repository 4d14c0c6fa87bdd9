"""Banerjee et al. 2005: Table 1 to the last digit, what was typed, small runs of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data import corpus_file
from vmfstream import metrics
from vmfstream.replay.papers import banerjee_printed as printed
from vmfstream.replay.papers.algorithms import ALGORITHMS, HARD, OURS, PRINTED, SOFT, SPKMEANS, TIED, cluster
from vmfstream.replay.papers.banerjee import PAPER
from vmfstream.replay.papers.banerjee_figures import entropies_once
from vmfstream.replay.papers.banerjee_inverses import DIMENSION, EQUAL, KAPPAS, approximations, errors, estimates
from vmfstream.replay.papers.banerjee_simulated import _expected, big_mix_once, small_mix_once
from vmfstream.replay.papers.banerjee_tables import labels_of, leave_classes
from vmfstream.replay.papers.catalogue import Effort, recompute
from vmfstream.replay.papers.clustering import ORIGINS, cluster_once, documents
from vmfstream.replay.papers.shown import Shown
from vmfstream.replay.papers.work import Done, Workers


def test_table_1_is_met_in_all_printed_digits() -> None:
    table = approximations()
    assert len(table.cells) == 12
    for cell in table.cells:
        assert table.text(cell.row, cell.column, "ours") == f"{cell.paper:.6g}", cell


def test_closed_forms_are_off_as_printed() -> None:
    found = estimates((DIMENSION,) * len(KAPPAS), KAPPAS)
    assert (np.array(found["Eq. (4.1)"]) > KAPPAS).all()
    assert (np.array(found["Eq. (4.2)"]) < KAPPAS).all()
    np.testing.assert_allclose(found["Eq. (4.4)"], KAPPAS, rtol=2e-4)
    for length, smaller in ((EQUAL - 0.01, "Eq. (4.2)"), (EQUAL, "Eq. (4.4)")):
        assert min(errors(length), key=errors(length).__getitem__) == smaller
    shown = {name: PAPER.exhibits[name].show(Done([])) for name in ("figure7", "figure8", "figure9")}
    assert [len(one.panels[0].series) for one in shown.values()] == [4, 3, 3]
    assert shown["figure8"].panels[0].levels == (("true κ", 500.0),)


def test_small_mix_is_drawn_with_its_clusters() -> None:
    exhibit = PAPER.exhibits["figure1"]
    (task,) = exhibit.plan(Effort(3))
    drawn, found = exhibit.show(Done([(task.given, task.run())])).panels
    for panel in (drawn, found):
        assert sum(len(series.x) for series in panel.series) == 50 + 2
        for series in panel.series:
            np.testing.assert_allclose(np.hypot(series.x, series.y), 1.0, atol=2e-3)
    assert [len(series.x) for series in drawn.series] == [24, 26, 2]


@pytest.mark.parametrize(
    ("tables", "sizes"),
    [
        (printed.CLASSIC3, (1033, 1460, 1398)),
        (printed.CLASSIC3_FIVE, (1033, 1460, 1398)),
        (printed.CLASSIC300, (100, 100, 100)),
        (printed.CLASSIC400, (101, 100, 199)),
    ],
)
def test_printed_matrices_add_up_to_the_classes(tables: Any, sizes: tuple[int, ...]) -> None:
    assert tuple(tables) == PRINTED
    for algorithm, table in tables.items():
        short = np.array(sizes) - np.array(table).sum(axis=0)
        assert (short >= 0).all(), algorithm
        assert short.sum() <= 1, algorithm  # one matrix lacks a document in the paper


def test_labels_of_a_matrix() -> None:
    clusters, classes = labels_of(((2, 0), (1, 3)))
    assert metrics.contingency(clusters, classes).tolist() == [[2, 0], [1, 3]]


@pytest.mark.corpus
def test_the_printed_algorithms_have_one_start() -> None:
    corpus_file("classic3/counts.npz")
    data = documents("Classic300", 0)
    for name in ALGORITHMS:
        one, again = (cluster(data.x, 3, name, 1) for _ in range(2))
        assert (one.labels == again.labels).all(), name
        assert one.mu.shape == (data.x.shape[1], 3)
        assert np.linalg.norm(one.mu, axis=0) == pytest.approx(1)
        assert one.weights.sum() == pytest.approx(1)


@pytest.mark.corpus
def test_classic3_is_found() -> None:
    corpus_file("classic3/counts.npz")
    found = {name: cluster_once("Classic3", name, 3, 0, 0) for name in (SPKMEANS, TIED, OURS, SOFT)}
    assert min(found[name]["nmi"] for name in (SPKMEANS, TIED, OURS)) > 0.95
    assert np.sum(found[OURS]["table"]) == 3891
    # the matrix that the paper prints for soft-moVMF: columns of ours are cisi, cranfield, medline
    assert sorted(found[TIED]["table"]) == sorted([c, r, m] for m, c, r in printed.CLASSIC3[SOFT])


@pytest.mark.corpus
def test_em_leaves_the_classes_with_a_concentration_for_each() -> None:
    corpus_file("classic3/counts.npz")
    own, one = leave_classes("own"), leave_classes("shared")
    assert own["nats at the classes"] == one["nats at the classes"] < one["nats after EM"] < own["nats after EM"]
    assert own["NMI after EM"] < 0.93 < 0.95 < one["NMI after EM"]
    # the weights that the paper does not name: with them the classes have its concentrations to 2 %
    scale = printed.CLASSIC3_WORDS / documents("Classic3", 0).x.shape[1]
    assert np.array(own["kappa"]) * scale == pytest.approx(printed.CONCENTRATIONS[SOFT], rel=0.02)


@pytest.mark.corpus
@pytest.mark.parametrize("data", ["Classic300", "Classic400"])
def test_soft_assignments_are_ahead_on_few_documents(data: str) -> None:
    corpus_file("classic3/counts.npz")
    nmi = {name: [cluster_once(data, name, 3, s, 0)["nmi"] for s in range(10)] for name in (SPKMEANS, HARD, SOFT, OURS)}
    mean = {name: float(np.mean(values)) for name, values in nmi.items()}
    assert mean[OURS] > mean[SOFT] > max(mean[SPKMEANS], mean[HARD])


def test_big_mix_is_met_better_without_the_bias() -> None:
    soft, better = (big_mix_once(name, 0) for name in (SOFT, "κ debiased"))
    assert min(soft["min cosine"], better["min cosine"]) >= 0.993
    assert better["mean κ error"] < printed.BIG_MIX["mean κ error"] < printed.BIG_MIX["max κ error"]
    assert better["mean κ error"] < soft["mean κ error"]
    assert soft["mi"] == pytest.approx(np.log(4), abs=1e-3)


def test_the_bias_of_big_mix_is_known() -> None:
    expected = _expected()
    assert expected["max κ error"] == pytest.approx(0.0071, abs=2e-4)
    assert expected["min cosine"] == pytest.approx(0.994, abs=5e-4)


def test_small_mix_is_as_good_as_printed() -> None:
    runs = [small_mix_once(SOFT, seed) for seed in range(4)]
    assert np.median([run["misplaced"] for run in runs]) <= printed.SMALL_MIX_MISPLACED
    for run in runs:
        assert np.array(run["mu"]) @ [0.399, 0.917] == pytest.approx([-1, 1], abs=0.1)


@pytest.mark.corpus
def test_entropy_falls_from_the_largest_possible_to_nothing() -> None:
    corpus_file("classic3/counts.npz")
    bits = entropies_once("Classic300", 3, 0, 0)["bits"]
    assert bits[0] == pytest.approx(np.log2(3), abs=1e-3)
    assert bits[-1] < 0.02
    assert len(bits) > 5


@pytest.mark.corpus
def test_genes_have_no_classes() -> None:
    corpus_file("yeast_expression/expression.parquet")
    found = cluster_once("Yeast", SPKMEANS, 4, 0, 0)
    assert 0 < found["within"] < 1
    assert found["worst"] < found["within"]
    assert "nmi" not in found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.corpus] if name == "table4" else []) for name in PAPER.exhibits]
)
def test_every_exhibit_shows_what_it_planned(name: str) -> None:
    """Results that only look like those of the tasks are enough to draw with."""
    exhibit = PAPER.exhibits[name]
    plan = exhibit.plan(Effort(restarts=2))
    fake = {
        **dict.fromkeys(("seconds", "sweeps", "mi", "nmi", "within", "worst", "between", "nearest"), 1.0),
        **dict.fromkeys((*printed.BIG_MIX, "misplaced", "unavoidable"), 0.5),
        "mu": [[0.0, 1.0], [1.0, 0.0]],
        "weight": [0.5, 0.5],
        "kappa": [1.0, 2.0, 3.0],
        "table": [[1, 2, 30], [3, 20, 1]],
        "bits": [1.5, 0.1],
        "x": [[0.0, 1.0], [1.0, 0.0]],
        "drawn": [0, 1],
        "found": [1, 1],
        **{key: [[0.0, 1.0], [1.0, 0.0]] for key in ("drawn means", "found means")},
        **dict.fromkeys(("nats at the classes", "nats after EM", "NMI after EM"), 1.0),
    }
    shown = exhibit.show(Done([(task.given, fake) for task in plan]))
    assert shown.name == name
    assert shown.tables or shown.panels
    for panel in shown.panels:
        assert panel.title
        assert panel.x_title
        assert panel.y_title


@pytest.mark.corpus
def test_matrices_are_shown_by_class() -> None:
    exhibit = PAPER.exhibits["table4"]
    # columns of ours are cisi, cranfield, medline; the rows are to follow medline, cisi, cranfield
    fake = {"nmi": 1.0, "mi": 1.0, "kappa": [1.0, 2.0, 3.0], "table": [[1, 30, 2], [20, 3, 0], [0, 0, 10]]}
    fake |= dict.fromkeys(("nats at the classes", "nats after EM", "NMI after EM"), 1.0)
    shown = exhibit.show(Done([(task.given, fake) for task in exhibit.plan(Effort(1))]))
    table = shown.tables[0]
    assert [table.text(f"cluster {j}", SOFT, "ours").split() for j in (1, 2, 3)] == [
        ["10", "0", "0"],
        ["0", "20", "3"],
        ["2", "1", "30"],
    ]
    assert table.text("cluster 1", SOFT, "paper").split() == ["1019", "0", "1"]


@pytest.mark.corpus
def test_how_data_differ_is_said() -> None:
    (shown,) = _shown("table5")
    assert any("5,471 words" in note for note in shown.notes)
    for name, origin in ORIGINS.items():
        assert origin.paper, name
        assert origin.ours, name


def _shown(name: str) -> list[Shown]:
    corpus_file("classic3/counts.npz")
    return [
        PAPER.exhibits[name].show(
            Done([(t.given, cluster_once(**t.given)) for t in PAPER.exhibits[name].plan(Effort(1))])
        )
    ]


def test_missing_data_is_a_note_among_all_and_an_error_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmfstream import folders
    from vmfstream.errors import InputError

    monkeypatch.setattr(folders, "data_folders", lambda: (tmp_path,))
    few = {name: PAPER.exhibits[name] for name in ("table1", "table5")}
    paper = type(PAPER)("banerjee", "", few)
    with Workers(tmp_path) as workers:
        one, two = recompute(paper, (), Effort(1), workers)
        assert one.tables
        assert "classic3/counts.npz is not on this machine" in two.notes[0]
        with pytest.raises(InputError, match="classic3"):
            list(recompute(paper, ("table5",), Effort(1), workers))
