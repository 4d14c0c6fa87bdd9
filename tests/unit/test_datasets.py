"""Data sets: weights by their formulas, subsets by their sizes, simulated sets by their truth, clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse, save_npz

import vmfstream
from tests.data import corpus_file
from vmfstream import datasets, folders
from vmfstream.errors import InputError

COUNTS = np.array([[2, 1, 0, 1], [0, 1, 0, 3], [0, 1, 0, 0], [0, 0, 0, 0]])


def unit(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows, dtype=float), where=norms > 0))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that holds a tiny stand-in for CNAE-9 and for the newsgroups."""
    import duckdb

    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path))
    for name in ("cnae9", "twenty_newsgroups"):
        (tmp_path / name).mkdir()
    save_npz(tmp_path / "cnae9" / "counts.npz", csr_array(COUNTS))
    with duckdb.connect() as connection:
        connection.sql("FROM (VALUES ('b'), ('a'), (NULL), ('a')) t(label)").write_parquet(
            str(tmp_path / "cnae9" / "meta.parquet")
        )
        posts = ", ".join(
            f"('{group}', '{word} common {word}{'xy'[i % 2]} Space of 1993')"
            for group, word in zip(datasets.GROUPS["different"], ("god", "ball", "moon"), strict=True)
            for i in range(6)
        )
        connection.sql(f"FROM (VALUES {posts}) t(label, text)").write_parquet(
            str(tmp_path / "twenty_newsgroups" / "docs.parquet")
        )
    return tmp_path


def test_weights_follow_their_formulas() -> None:
    idf = np.log(4 / np.array([1, 3, 1, 2]))  # the third word occurs nowhere
    logs = np.where(COUNTS > 0, 1 + np.log(np.maximum(COUNTS, 1)), 0)
    for weighting, expected in (
        ("ltc", logs * idf),
        ("tfidf", COUNTS * idf),
        ("tf", COUNTS),
        ("presence", COUNTS > 0),
    ):
        found = datasets.weigh(csr_array(COUNTS), cast(Any, weighting))
        assert found.toarray() == pytest.approx(unit(np.asarray(expected, float)))


def test_a_word_of_all_documents_weighs_nothing() -> None:
    found = datasets.weigh(csr_array([[1, 1], [1, 0]]), "ltc")
    assert found.toarray().tolist() == [[0, 1], [0, 0]]


def test_counts_are_not_changed() -> None:
    counts = csr_array(COUNTS)
    datasets.weigh(counts)
    assert (counts.toarray() == COUNTS).all()


def test_words_of_texts_are_counted_but_those_left_out() -> None:
    counts, terms = datasets.count_words(["The cat, the CAT and a dog", "cat dog paper", "paper of x1"], ["paper"])
    assert terms == ("cat", "dog")
    assert counts.toarray().tolist() == [[2, 1], [1, 1], [0, 0]]


@pytest.mark.corpus
def test_counts_stay_beside_their_documents() -> None:
    corpus_file("classic3/counts.npz")
    data = datasets.classic300().labelled()
    assert data.counts is not None
    assert abs(data.x - datasets.weigh(data.counts)).max() < 1e-12
    assert datasets.small_mix().counts is None


@pytest.mark.usefixtures("folder")
def test_labels_words_and_documents_of_a_counted_set() -> None:
    data = datasets.cnae9("tf")
    assert data.x.shape == (4, 3)
    assert (data.classes, data.y.tolist(), data.terms) == (("a", "b"), [1, 0, -1, 0], ())
    labelled = data.labelled()
    assert labelled.y.tolist() == [1, 0]
    assert labelled.x @ np.eye(3) == pytest.approx(unit(COUNTS[:2, [0, 1, 3]].astype(float)))


@pytest.mark.usefixtures("folder")
def test_posts_are_drawn_by_group_and_counted_in_lower_case_words() -> None:
    data = datasets.newsgroups_subset("different", 4, seed=1)
    assert np.bincount(data.y).tolist() == [4, 4, 4]
    assert set(data.classes) == set(datasets.GROUPS["different"])
    every, whole = datasets.newsgroups_subset("different", 1000), datasets.twenty_newsgroups()
    assert (every.x != whole.x).nnz == 0
    assert {"god", "godx", "moony", "space"} <= set(every.terms)
    assert not {"of", "1993", "Space"} & set(every.terms)
    again = datasets.newsgroups_subset("different", 4, seed=1)
    assert (data.x != again.x).nnz == 0


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("classic3", (3891, 4303), [1460, 1398, 1033]),
        ("classic4", (7094, 5896), [3203, 1460, 1398, 1033]),
        ("cnae9", (1080, 856), [120] * 9),
        ("classic300", (300, None), [100, 100, 100]),
        ("classic400", (400, None), [100, 200, 100]),
    ],
)
def test_counted_sets_have_their_documents(name: str, shape: tuple[int, int | None], sizes: list[int]) -> None:
    corpus_file("classic4/counts.npz")
    data = getattr(datasets, name)()
    assert data.x.shape == (shape[0], shape[1] or data.x.shape[1])
    assert np.bincount(data.y).tolist() == sizes
    lengths = np.sqrt((data.x**2).sum(axis=1))
    assert ((abs(lengths - 1) < 1e-12) | (lengths == 0)).all()
    assert data.x.data.all()
    assert len(data.terms) in (0, data.x.shape[1])


@pytest.mark.corpus
def test_sets_without_a_class_for_every_document() -> None:
    corpus_file("slashdot/counts.npz")
    data = datasets.slashdot()
    assert (data.y == -1).sum() == 639
    assert (datasets.corel5k().y == -1).all()
    assert datasets.cluto("tr23").x.shape == (204, 5832)


@pytest.mark.corpus
def test_genes_are_centred() -> None:
    corpus_file("yeast_expression/expression.parquet")
    data = datasets.yeast_expression()
    assert data.x.shape == (2467, 79)
    assert not issparse(data.x)
    assert np.asarray(data.x.sum(axis=1)) == pytest.approx(0, abs=1e-12)
    assert (data.x**2).sum(axis=1) == pytest.approx(1)


@pytest.mark.corpus
def test_subsets_depend_on_the_seed_alone() -> None:
    corpus_file("classic3/counts.npz")
    one, other = datasets.classic300(3), datasets.classic300(4)
    assert one.terms == datasets.classic300(3).terms
    assert one.terms != other.terms


def test_simulated_sets_have_the_parameters_of_the_paper() -> None:
    small, big = datasets.small_mix(5), datasets.big_mix(5, n=1000, d=200)
    assert np.bincount(small.y).tolist() == [24, 26]
    assert small.truth.pi == pytest.approx([0.48, 0.52])
    assert big.truth.pi == pytest.approx([0.251, 0.238, 0.252, 0.259])
    assert big.truth.mu[:, 4:].any() == np.False_
    assert np.linalg.norm(big.truth.mu[:, :4], axis=0) == pytest.approx(1)
    for j in range(4):
        inside = big.x[big.y == j]
        cosines = inside @ big.truth.mu[:, j]
        assert cosines.mean() == pytest.approx(
            vmfstream.VonMisesFisher(inside[0], big.truth.kappa[j]).mean_cosine, abs=0.01
        )
    assert (datasets.big_mix(6, n=100, d=20).x[0] != datasets.big_mix(5, n=100, d=20).x[0]).all()


def test_a_missing_set_is_reported_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "data_folders", lambda: (tmp_path,))
    for load, file in ((datasets.classic3, "classic3/counts.npz"), (datasets.twenty_newsgroups, "docs.parquet")):
        with pytest.raises(InputError) as caught:
            load()
        for said in (file, str(tmp_path), "$VMFSTREAM_DATA"):
            assert said in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: datasets.weigh(csr_array(COUNTS), cast(Any, "idf")), "ltc, tfidf, tf, presence, got 'idf'"),
        (lambda: datasets.weigh(csr_array(-COUNTS)), "at least 0, got -3"),
        (lambda: datasets.cluto("re9"), "re0, tr11.*got 're9'"),
        (lambda: datasets.newsgroups_subset(cast(Any, "equal"), 3), "same, similar, different, got 'equal'"),
        (lambda: datasets.newsgroups_subset("same", 0), "at least one post of each group, got 0"),
    ],
)
def test_bad_input_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_the_module_is_reached_from_the_package() -> None:
    assert vmfstream.datasets is datasets
