"""Nguyen et al.: letters drawn and found, contexts of real sets, tables from finished chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.shared import shared
from vmfstream.replay.papers import nguyen
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.nguyen_data import LETTERS, SENTENCE, Collection, letters, papers, pictures
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


def test_contexts_find_the_four_words() -> None:
    found = nguyen.letters_once(nguyen.WITH, 0)
    alone = nguyen.letters_once(nguyen.WITHOUT, 0)
    assert 4 <= found["clusters"] <= 5
    assert found["nmi"] > 0.8 > alone["nmi"]


def test_papers_have_titles_authors_and_years() -> None:
    shared("data/nips_1987_1999/counts.npz")
    data = papers()
    assert data.counts.shape == (1740, 13649)
    assert data.contexts["authors"].shape == (1740, 2037)
    assert (data.contexts["authors"].sum(axis=1) > 0).all()
    assert data.contexts["titles"].shape == (1740, len(data.items["titles"]))
    assert set(data.contexts["timestamp"]) == set(range(1987, 2000))
    row = data.titles.index("Connectivity Versus Entropy")
    assert [data.items["authors"][i] for i in data.contexts["authors"][[row]].indices] == ["Abu-Mostafa_Y"]


def test_tags_tell_classes_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    shared("data/corel5k/counts.npz")
    data = pictures()
    assert len(np.unique(data.y)) == 13
    assert data.contexts["tags"].shape == (data.counts.shape[0], len(data.items["tags"]))
    monkeypatch.setattr(nguyen, "COREL_CHAIN", {"burn_in": 3, "draws": 2, "thin": 1})
    whole, none = (nguyen.pictures_once(nguyen.WITH, missing, 0) for missing in (0, 100))
    assert whole["NMI"] > none["NMI"] > 0
    assert 100 < whole["perplexity"] < 499
    assert nguyen.pictures_once(nguyen.WITHOUT, 0, 0)["NMI"] < whole["NMI"]


def shown(name: str, results: dict[str, Any]) -> Shown:
    exhibit = nguyen.PAPER.exhibits[name]
    return exhibit.show(Done([(task.given, results) for task in exhibit.plan(Effort(2))]))


def test_tables_show_printed_values_beside_ours() -> None:
    nips = {"perplexity": 2000.0, "unigram": 3000.0, "clusters": 7, "topics": 30, "curves": []}
    table = shown("table1", nips | {"largest": {}}).tables[0]
    assert table.text("MC2, timestamp", "perplexity", "paper") == "984.7"
    assert table.text("MC2, timestamp", "clusters, topics", "ours") == "7, 30"
    assert table.text("words by frequency", "perplexity", "ours") == "3,000.0"
    assert table.text("HDP", "perplexity", "ours") == ""
    scores = {"Purity": 0.4, "NMI": 0.3, "RI": 0.9, "F-score": 0.2, "perplexity": 300.0, "clusters": 9, "topics": 5}
    assert shown("table3", scores).tables[0].text("75 % missing", "RI", "paper") == "0.860"
    assert shown("table3", scores).tables[0].text("75 % missing", "RI", "ours") == "0.900 ± 0.000"
    assert shown("table2", scores).tables[0].text("MC2, with context", "perplexity", "paper") == "152.32"
    drawn = {"clusters": 4, "topics": 5, "nmi": 0.9, "letters": 0, "perplexity": 26.0}
    assert shown("simulation", drawn).tables[0].text("with context", "topics", "paper") == "13.00"


def test_figures_show_a_cluster_and_topics_over_time() -> None:
    largest = {"papers": 3, "items": [["Jordan_M", 0.2]], "titles": ["One", "Two"], "topics": [[5, 0.7, ["a", "b"]]]}
    figure = shown("figure3", {"largest": largest})
    assert figure.tables[0].text("Jordan_M", "probability", "ours") == "0.200"
    assert figure.tables[1].text("a, b", "weight", "ours") == "0.700"
    assert figure.notes[0] == "Titles: One; Two."
    lines = shown("figure4", {"curves": [[["a", "b"], [1987.0, 1988.0], [0.1, 0.2]]]}).panels[0].series
    assert (lines[0].name, lines[0].y) == ("a b", (0.1, 0.2))


def test_a_chain_on_papers_tells_clusters_and_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    shared("data/nips_1987_1999/counts.npz")
    whole, few = papers(), np.arange(0, 1740, 29)
    contexts = {name: values[few] for name, values in whole.contexts.items()}
    titles = [whole.titles[i] for i in few]
    small = Collection(whole.counts[few], contexts, whole.items, whole.words, titles, whole.y[few])
    monkeypatch.setattr(nguyen, "papers", lambda: small)
    monkeypatch.setattr(nguyen, "NIPS_CHAIN", {"burn_in": 1, "draws": 1, "thin": 1})
    found = nguyen.nips_once("timestamp", 0)
    assert found["perplexity"] < 13_649
    words, years, density = found["curves"][0]
    assert len(words) == 4
    assert len(years) == len(density) >= 12
    authors = nguyen.nips_once("authors", 0)
    assert authors["largest"]["papers"] > 1
    assert len(authors["largest"]["items"]) == 8
    assert authors["curves"] == []
