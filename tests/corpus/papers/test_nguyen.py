"""Nguyen et al.: letters drawn and found, contexts of real sets, tables from finished chains."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import entropy

from tests.data import corpus_file
from vmfstream.replay.papers import nguyen
from vmfstream.replay.papers import nguyen_fits as fits
from vmfstream.replay.papers import nguyen_pictures as sets
from vmfstream.replay.papers import nguyen_rivals as rivals
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.nguyen_data import (
    LETTERS,
    SENTENCE,
    CountsInContext,
    drawn,
    halved,
    labelled_letters,
    letter_images,
    letters,
    papers,
    pictures,
)
from vmfstream.replay.papers.nguyen_hdp import SWEEPS, unseen
from vmfstream.replay.papers.shown import Shown
from vmfstream.replay.papers.work import Done


def test_letters_are_the_thirteen_of_the_sentence() -> None:
    assert set(LETTERS) == set("".join(SENTENCE))
    assert len(LETTERS) == 13
    assert len(set(LETTERS.values())) == 13
    data = letters(0)
    assert data.counts.shape == (400, 35)
    assert (data.counts.sum(axis=1) == 50).all()
    dark = np.array([any(LETTERS[letter].replace(" ", "")[i] == "1" for letter in SENTENCE[2]) for i in range(35)])
    assert ((data.counts[data.y == 2].sum(axis=0) > 0) == dark).all()
    means = [data.contexts["number"][data.y == k].mean() for k in range(4)]
    assert means == pytest.approx([2, 4, 6, 8], abs=0.2)


def test_contexts_find_the_four_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits, "LETTER_CHAIN", {"burn_in": 60, "draws": 4, "thin": 5})
    found = fits.letters_once(fits.WITH, 0)
    alone = fits.letters_once(fits.WITHOUT, 0)
    assert 4 <= found["clusters"] <= 5
    assert found["nmi"] > 0.8 > alone["nmi"]


def test_letters_differ_from_images_of_them() -> None:
    contents, numbers, y = letter_images(0, documents=20, tokens=20)
    assert len(contents) == len(numbers) == len(y) == 80
    assert np.square(contents[0]).sum(axis=1) == pytest.approx(1.0)
    counts, _, y, letter = labelled_letters(0)
    used = [{sorted(LETTERS).index(name) for name in word} for word in SENTENCE]
    assert list(LETTERS) == sorted(LETTERS)
    assert all(set(letter[50 * j : 50 * j + 50]) <= used[y[j]] for j in range(400))
    of = np.repeat(counts.indices, counts.data.astype(int))
    images = np.array([[pixel == "1" for pixel in LETTERS[name].replace(" ", "")] for name in LETTERS])
    assert images[letter, of].all()


def test_all_letters_are_found_in_images_of_them() -> None:
    found = fits.images_once(1)
    assert (found["clusters"], found["topics"], found["letters"]) == (4, 13, 13)
    assert found["nmi"] == pytest.approx(1.0)
    assert [name for name, _ in found["pictures"]] == list(LETTERS)
    drawn_ = np.array([pixels for _, pixels in found["pictures"]])
    assert ((drawn_ > 0.5) == [[[c == "1" for c in row] for row in LETTERS[name].split()] for name in LETTERS]).all()


def test_a_chain_from_the_truth_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits, "WANDERING", 60)
    truth, chance = (fits.wander_once(start, 0) for start in (fits.TRUTH, fits.RANDOM))
    assert truth["in the end"] > truth["log joint density at first"] + 4000
    assert chance["in the end"] > truth["in the end"] + 4000
    assert chance["most topics"] < truth["fewest topics"]


def test_allocation_without_contexts_misses_the_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "letters", lambda seed: letters(seed, documents=25))
    found = rivals.lda_letters_once(13, 0)
    assert found.keys() == {"topics", "different topics", "letters", "pictures", "perplexity"}
    assert (found["topics"], len(found["pictures"])) == (13, 13)
    assert found["letters"] < 4
    assert 25 < found["perplexity"] < 33
    assert fits.recovered(fits._shapes())["letters"] == 13


def test_documents_of_one_word_have_the_mean_of_the_topics() -> None:
    topics = np.random.default_rng(0).dirichlet(np.ones(6), 3)
    expected = np.exp(-np.log(topics.mean(axis=0)).mean())
    assert unseen([rivals._state(topics, 0.5)], csr_array(np.eye(6))) == pytest.approx(expected)


def test_a_process_is_fed_the_letters_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose topics are the upper rows of pixels and the lower ones."""
    fed: list[Any] = []

    class Model:
        alpha = gamma = 1.0

        def __init__(self, **given: Any) -> None:
            self.docs, self.used_vocabs = list[Any](), list[str]()
            fed.append(given)

        def add_doc(self, words: list[str]) -> None:
            self.used_vocabs += sorted(set(words) - set(self.used_vocabs))
            columns = [self.used_vocabs.index(word) for word in words]
            self.docs.append(SimpleNamespace(words=columns, topics=[int(word) // 20 for word in words]))

        def train(self, sweeps: int, workers: int) -> None:
            fed.append(sweeps)

    monkeypatch.setitem(sys.modules, "tomotopy", SimpleNamespace(HDPModel=Model))
    monkeypatch.setattr(rivals, "letters", lambda seed: letters(seed, documents=5))
    found = rivals.hdp_letters_once(7, "1.0")
    assert (fed[0]["initial_k"], fed[0]["seed"], *fed[1:]) == (rivals.HDP_START, 7, *SWEEPS)
    assert (found["topics"], found["different topics"], found["letters"]) == (2, 2, 0)
    parts = np.array([pixels for _, pixels in found["pictures"]]).reshape(2, 35) > 0.3
    assert sorted((part[:20].any(), part[20:].any()) for part in parts) == [(False, True), (True, False)]
    assert 20 < found["perplexity"] < 35
    nothing = rivals.hdp_letters_once(7, "")
    assert nothing.pop("pictures") == []
    assert set(nothing.values()) == {None}


def test_halves_and_parts_are_drawn_from_documents() -> None:
    counts = csr_array(np.array([[3, 0, 2], [1, 1, 0], [0, 0, 9]]))
    first, rest = halved(counts, 0)
    assert (first + rest != counts).nnz == 0
    assert first.sum(axis=1).tolist() == [2, 1, 4]
    assert drawn(counts, 4, 0).sum(axis=1).tolist() == [4, 2, 4]
    assert (drawn(counts, 4, 0) > counts).nnz == 0


@pytest.mark.corpus
def test_papers_have_titles_authors_and_years() -> None:
    corpus_file("nips_1987_1999/counts.npz")
    data = papers()
    assert data.counts.shape == (1740, 13649)
    assert data.contexts["authors"].shape == (1740, 2037)
    assert (data.contexts["authors"].sum(axis=1) > 0).all()
    assert data.contexts["titles"].shape == (1740, len(data.items["titles"]))
    assert set(data.contexts["timestamp"]) == set(range(1987, 2000))
    row = data.titles.index("Connectivity Versus Entropy")
    assert [data.items["authors"][i] for i in data.contexts["authors"][[row]].indices] == ["Abu-Mostafa_Y"]


@pytest.mark.corpus
def test_tags_tell_classes_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_file("corel5k/counts.npz")
    data = pictures()
    assert len(np.unique(data.y)) == 13
    assert data.contexts["tags"].shape == (data.counts.shape[0], len(data.items["tags"]))
    monkeypatch.setattr(sets, "COREL_CHAIN", {"burn_in": 3, "draws": 2, "thin": 1})
    whole, none = (sets.pictures_once(fits.WITH, missing, 0) for missing in (0, 100))
    assert whole["NMI"] > none["NMI"] > 0
    assert 100 < whole["perplexity"] < 499
    assert sets.pictures_once(fits.WITHOUT, 0, 0)["NMI"] < whole["NMI"]
    assert sets.pictures_once(sets.TAGS, 0, 0)["NMI"] > none["NMI"]


@pytest.mark.corpus
def test_pictures_are_clustered_by_rivals_and_shown_in_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_file("corel5k/counts.npz")
    whole, few = pictures(), np.arange(0, 3866, 12)
    tags = {"tags": whole.contexts["tags"][few]}
    small = CountsInContext(whole.counts[few], tags, whole.items, [], [], whole.y[few])
    monkeypatch.setattr(sets, "pictures", lambda: small)
    monkeypatch.setattr(sets, "COREL_CHAIN", {"burn_in": 3, "draws": 2, "thin": 1})
    for method in (sets.K_MEANS, sets.FACTORS):
        found = sets.rival_once(method, 12, 0)
        assert found["clusters"] == 12
        assert 0.0 < found["NMI"] < 0.6
    assert 12 < sets.rival_once(sets.AFFINITY, 0, 0)["clusters"] < 100
    shown_ = sets.mapped_once(0)["shown"]
    assert [(one["pictures"], 2) for one in shown_] == [np.shape(one["places"]) for one in shown_]
    assert len({one["name"] for one in shown_}) == len(shown_) <= 7


def test_divergences_are_those_of_scipy() -> None:
    p = np.random.default_rng(0).dirichlet([1.0, 2.0, 0.5], 4)
    expected = [[entropy(a, b) + entropy(b, a) for b in p] for a in p]
    np.testing.assert_allclose(sets._symmetric_divergence(p), expected, atol=1e-12)


def shown(name: str, results: dict[str, Any]) -> Shown:
    exhibit = nguyen.PAPER.exhibits[name]
    return exhibit.show(Done([(task.given, results) for task in exhibit.plan(Effort(2))]))


def test_tables_show_printed_values_beside_ours() -> None:
    nips: dict[str, Any] = {"unseen": 2000.0, "own context": 1990.0, "half": 1800.0, "mean": 2500.0, "unigram": 3000.0}
    nips["most"] = {"timestamp": 2.5}
    whole, part = shown("table1", nips | {"clusters": 7, "topics": 30}).tables
    assert whole.text("MC2, timestamp", "all words", "paper") == "984.7"
    assert whole.text("MC2, timestamp", "context known", "ours") == "1,990.0"
    assert whole.text("MC2, timestamp", "clusters, topics", "ours") == "7, 30"
    assert whole.text("MC2, timestamp", "gain, %", "paper") == "37.8"
    assert whole.text("MC2, timestamp", "gain, %", "ours") == "0.5"
    assert whole.text("MC2, timestamp", "at most, %", "ours") == "2.5"
    assert whole.text("words by frequency", "all words", "ours") == "3,000.0"
    assert whole.text("HDP", "second half", "ours") == "1,800.0"
    assert whole.text("npTOT", "all words", "ours") == ""
    assert part.sources("all words") == ("ours",)
    none = shown("table1", nips | {"unseen": None, "half": None, "clusters": 7, "topics": None, "most": {}}).tables[0]
    assert none.text("HDP", "all words", "ours") == none.text("HDP", "clusters, topics", "ours") == ""
    scores = {"Purity": 0.4, "NMI": 0.3, "RI": 0.9, "F-score": 0.2, "perplexity": 300.0, "clusters": 9, "topics": 5}
    assert shown("table3", scores).tables[0].text("75 % missing", "RI", "paper") == "0.860"
    assert shown("table3", scores).tables[0].text("75 % missing", "RI", "ours") == "0.900 ± 0.000"
    perplexities = shown("table2", scores).tables[0]
    assert perplexities.text("MC2, with context", "perplexity", "paper") == "152.32"
    assert perplexities.text("HDP", "perplexity", "ours") == "300.00 ± 0.00"
    assert shown("table2", dict.fromkeys(scores)).tables[0].text("HDP", "perplexity", "ours") == ""
    methods = shown("figure5", scores).tables[0]
    assert methods.rows()[:3] == ["K-means", "K-means, min", "K-means, max"]
    assert methods.text("NMF, max", "RI", "ours") == "0.900"
    assert methods.text("MC2, contexts alone", "NMI", "ours") == "0.300 ± 0.000"
    counted = {"clusters": 4, "topics": 5, "different topics": 5, "nmi": 0.9, "letters": 0, "perplexity": None}
    letters_ = shown("simulation", counted | {"pictures": [["A", [[0.0, 1.0]]]]})
    assert [one.title.split(":")[0] for one in letters_.images] == [fits.IMAGES, fits.WITH, rivals.LDA, rivals.HDP]
    assert [one.images[0].name for one in letters_.images] == ["A"] * 4
    assert letters_.images[0].images[0].pixels == ((0.0, 1.0),)
    simulation = letters_.tables[0]
    assert simulation.text("with context", "topics", "paper") == "13.00"
    assert simulation.text("with context", "perplexity", "ours") == ""
    assert simulation.text("LDA", "topics", "paper") == "13.00"
    assert simulation.text("HDP", "topics", "paper") == ""
    assert simulation.text("HDP", "topics", "ours") == "5.00 ± 0.00"


def test_the_simulation_says_where_to_get_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nguyen, "installed", str)
    exhibit, none = nguyen.PAPER.exhibits["simulation"], rivals.hdp_letters_once(0, "")
    some = dict.fromkeys(none, 5) | {"clusters": 4, "nmi": 0.9, "pictures": [["A", [[0.0, 1.0]]]]}
    tasks = [task.given for task in exhibit.plan(Effort(2))]
    simulation = exhibit.show(Done([(given, none if "version" in given else some) for given in tasks]))
    assert {simulation.tables[0].text("HDP", column, "ours") for column in simulation.tables[0].columns()} == {""}
    assert simulation.tables[0].text("LDA", "letters", "ours") == "5.00 ± 0.00"
    assert len(simulation.images) == 3
    assert "pip install tomotopy" in simulation.notes[-1]


def test_figures_show_a_cluster_and_topics_over_time() -> None:
    largest = {"papers": 3, "items": [["Jordan_M", 0.2]], "titles": ["One", "Two"], "topics": [[5, 0.7, ["a", "b"]]]}
    figure = shown("figure3", {"largest": largest})
    assert figure.tables[0].text("Jordan M", "probability", "ours") == "0.200"
    assert figure.tables[1].text("a, b", "weight", "ours") == "0.700"
    assert figure.notes[0] == "Titles: One; Two."
    lines = shown("figure4", {"curves": [[["a", "b"], [1987.0, 1988.0], [0.1, 0.2]]]}).panels[0].series
    assert (lines[0].name, lines[0].y) == ("a b", (0.1, 0.2))


def test_clusters_lie_in_the_plane() -> None:
    one = {"name": "bear, snow", "pictures": 2, "places": [[0.0, 2.0], [1.0, 3.0]]}
    figure = shown("figure6", {"clusters": 28, "shown": [one]})
    assert figure.tables[0].title == "The largest of 28 clusters, by their tags"
    assert figure.tables[0].text("bear, snow", "pictures", "ours") == "2"
    assert (figure.panels[0].series[0].y, figure.panels[0].series[0].style) == ((2.0, 3.0), "points")


@pytest.mark.corpus
def test_a_chain_on_papers_tells_clusters_and_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_file("nips_1987_1999/counts.npz")
    whole, few = papers(), np.arange(0, 1740, 29)
    contexts = {name: values[few] for name, values in whole.contexts.items()}
    titles = [whole.titles[i] for i in few]
    small = CountsInContext(whole.counts[few], contexts, whole.items, whole.words, titles, whole.y[few])
    monkeypatch.setattr(fits, "papers", lambda: small)
    monkeypatch.setattr(fits, "PAPER_CHAIN", {"burn_in": 1, "draws": 1, "thin": 1})
    found = fits.nips_once("timestamp", 0, 0)
    assert max(found[name] for name in ("unseen", "own context", "half", "mean")) < 13_649
    words, years, density = found["curves"][0]
    assert len(words) == 4
    assert len(years) == len(density) >= 12
    authors = fits.nips_once("authors", 0, 0)
    assert authors["largest"]["papers"] > 1
    assert len(authors["largest"]["items"]) == 8
    assert authors["curves"] == []
    alone = fits.nips_once(fits.WITHOUT, 0, 0)
    assert alone["own context"] == alone["unseen"]
    assert 0 < alone["most"]["timestamp"] < alone["most"]["authors"] < alone["most"]["titles"] < 100


def test_no_gain_is_larger_than_what_contexts_hold() -> None:
    """Four papers in two clusters, two authors; two of the papers are held out."""
    authors = csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 2.0]]))
    data = CountsInContext(
        csr_array(np.ones((4, 1))), {"authors": authors}, {"authors": ["a", "b"]}, [], [], np.zeros(4, np.int64)
    )
    most = fits._most_gained(np.array([0, 0]), data, np.array([0, 1]), np.array([2, 3]), words=10.0)
    first = 0.1 * 1.1 * 0.1 / (0.2 * 1.2 * 2.2)
    expected = first * 0.5 * (0.1 * 1.1) / (0.2 * 1.2) * 2
    assert most == {"authors": pytest.approx(100 * (1 - expected ** (1 / 10.0)))}
