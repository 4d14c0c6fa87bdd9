"""Phrases as features: counted as they stand, bounded, kept with the vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.engine.documents import OneByOne
from vmfstream import FrozenModel, TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.text.phrase_tokeniser import PhraseTokeniser
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.vocabulary import Vocabulary
from vmfstream.text.word_table import WordTable

TEXTS = [
    "North Korea tests; the north-korea talks, north of korea",
    "korea north",
    "",
    "climate change, climate\nchange: climate. Change",
    "nothing known",
    "the korea",
]


def plain(texts: list[str], phrases: set[str], stops: set[str]) -> list[dict[str, int]]:
    """Count words and phrases one by one."""
    found = []
    for text in texts:
        counts: dict[str, int] = {}
        table = WordTable(1000)
        runs = Tokeniser().runs([text], table)
        words = [table.word(i) for i in runs.words.tolist()]
        for i, word in enumerate(words):
            names = [word] if word not in stops else []
            if i and runs.joined[i] and f"{words[i - 1]} {word}" in phrases and not {words[i - 1], word} & stops:
                names.append(f"{words[i - 1]} {word}")
            for name in names:
                counts[name] = counts.get(name, 0) + 1
        found.append(counts)
    return found


def test_phrases_count_besides_their_words() -> None:
    phrases = {"north korea", "climate change", "the korea", "of korea"}
    table = WordTable(1000)
    table.add(["the", "of", *sorted(phrases)])
    counts = PhraseTokeniser(Tokeniser()).count(TEXTS, table, skip=2)
    found = [
        {table.word(int(term)): int(n) for term, n in zip(counts.terms[a:b], counts.counts[a:b], strict=True)}
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
    assert found == plain(TEXTS, phrases, {"the", "of"})
    assert found[0]["north korea"] == 2
    assert counts.tokens.tolist() == [sum(one.values()) for one in found]
    assert all(len(set(counts.terms[a:b])) == b - a for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True))


def test_texts_without_words_have_none() -> None:
    counts = PhraseTokeniser(Tokeniser()).count(["", "..."], WordTable(10))
    assert (counts.indptr.tolist(), counts.tokens.tolist()) == ([0, 0, 0], [0, 0])


def test_the_vocabulary_takes_as_many_as_it_has_room_for() -> None:
    vocabulary = Vocabulary(PhraseTokeniser(Tokeniser()), capacity=5, stop_words=None)
    vocabulary.add_phrases([f"new word{i}" for i in range(100)])
    assert vocabulary.terms == 20
    vocabulary.add_phrases(["one more"])
    assert vocabulary.terms == 20


def items(years: int = 4) -> list[Any]:
    """Two subjects that share their words, which stand in another order."""
    rng = np.random.default_rng(4)
    others = [f"filler{i}" for i in range(40)]
    found = []
    for i in range(years * 80):
        phrase = ("white house", "summer court") if i % 2 else ("white court", "summer house")
        fill = rng.choice(others, 8).tolist()
        text = f"{phrase[0]}; {fill[0]}; {phrase[1]}; " + "; ".join(fill[1:])
        found.append({"id": f"d{i}", "time": 2001 + i // 80, "text": text})
    return found


@pytest.mark.thorough
def test_phrases_tell_topics_that_their_words_do_not(tmp_path: Path) -> None:
    found = {}
    for phrases in (False, True):
        path = tmp_path / f"{phrases}.duckdb"
        follow(MemorySource(items()), FieldCodec(), RunFile(path), RunSettings(topics=2, phrases=phrases, threads=1))
        found[phrases] = {word for word in Reader(path).words("filtered").word.tolist() if " " in word}
    assert found == {False: set(), True: {"white house", "white court", "summer house", "summer court"}}
    labels = FrozenModel.load(tmp_path / "True.duckdb").label(
        ["white house; summer court", "white court; summer house"]
    )
    assert (labels["topic"] >= 0).all()


@pytest.mark.thorough
def test_a_continued_run_has_the_same_phrases(tmp_path: Path) -> None:
    settings = RunSettings(topics=2, phrases=True, threads=1, epoch_documents=30)
    whole, halves = tmp_path / "whole.duckdb", tmp_path / "halves.duckdb"
    follow(MemorySource(items()), FieldCodec(), RunFile(whole), settings)
    source = OneByOne(items())
    follow(source, FieldCodec(), RunFile(halves), settings, stop=lambda: source.handed > 200)
    assert not Reader(halves).newest().finished
    follow(MemorySource(items()), FieldCodec(), RunFile(halves), settings)
    one, other = (Reader(path).words("filtered") for path in (whole, halves))
    assert one.word.tolist() == other.word.tolist()
    np.testing.assert_array_equal(one.weight, other.weight)


def test_trackers_save_it_and_vectors_refuse_it(tmp_path: Path) -> None:
    tracker = TopicTracker(2, phrases=True)
    given = items()
    tracker.learn([one["text"] for one in given], [one["time"] for one in given])
    tracker.save(tmp_path / "tracker.duckdb")
    again = TopicTracker.load(tmp_path / "tracker.duckdb")
    assert "white house" in {word for row in again.topics(words=60) for word, _ in row["words"]}
    with pytest.raises(InputError, match="phrases: they are features of texts"):
        RunSettings(dimension=5, phrases=True)
