"""Phrases are pairs that stand together more often than chance; they are learnt in one pass and in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.text import phrases as module
from vmfstream.text.phrases import Phrases, Spans
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.topic_names import PARTS, shortened, topic_names
from vmfstream.text.word_table import WordTable

STOPS = ["the", "of", "and"]


def found(spans: Spans) -> list[tuple[int, str]]:
    rows = zip(spans.document.tolist(), spans.phrase.tolist(), strict=True)
    return sorted((document, spans.names[phrase]) for document, phrase in rows)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("North Korea", True),
        ("North-Korea", True),
        ("north\nkorea", True),
        ("north, korea", False),
        ("north  korea", False),
        ("north/korea", False),
        ("North's Korea", False),
        ("north a korea", False),
        ("nörd koréa", True),
        ("nörd. koréa", False),
    ],
)
def test_words_are_joined_by_a_blank_or_a_hyphen(text: str, joined: bool) -> None:
    runs = Tokeniser().runs(["of", text, ""], WordTable(100))
    assert runs.document.tolist() == [0, 1, 1]
    assert runs.joined.tolist() == [False, False, joined]


@given(st.lists(st.text("ab é'-\n漢字", max_size=30), max_size=8))
def test_runs_are_the_words_of_each_text(texts: list[str]) -> None:
    tokeniser, table = Tokeniser(min_length=1), WordTable(1000)
    runs = tokeniser.runs(texts, table)
    for i, text in enumerate(texts):
        assert [table.word(w) for w in runs.words[runs.document == i]] == tokeniser.tokens(text)


TEXTS = [
    "north korea tests missile",
    "missile north korea",
    "the north wind",
    "korea fund",
    "of north korea",
    "sea",
] * 3
TEXTS += ["north and korea", "wind fund sea", "tests of fund", "sea wind missile"]


def test_no_phrase_has_a_word_twice() -> None:
    phrases = Phrases(Tokeniser())
    phrases.learn(["mask vaccine", "vaccine mask", "sea", "wind fund tests missile"] * 5)
    assert found(phrases.learn(["mask vaccine mask"])) == [(0, "mask vaccine"), (0, "vaccine mask")]


def test_phrases_are_those_of_the_definition() -> None:
    spans = Phrases(Tokeniser(), STOPS).learn(TEXTS)
    words = [text.split() for text in TEXTS]
    alone = Counter(w for text in words for w in text if w not in STOPS)
    pairs = Counter(p for text in words for p in pairwise(text) if not set(p) & set(STOPS))
    total = sum(alone.values())
    expected = set()
    for (a, b), often in pairs.items():
        together = often / total
        npmi = math.log(together * total**2 / (alone[a] * alone[b])) / -math.log(together)
        if often >= 3 and npmi >= module.LEAST_NPMI:
            expected.add((a, b))
    assert ("north", "korea") in expected
    assert {pair for name in spans.names for pair in pairwise(name.split())} == expected


def test_longer_runs_are_one_phrase_and_very_long_ones_pairs() -> None:
    texts = ["new york city hall", "new york city", "new york"] * 3 + [f"other{i} words{i}" for i in range(20)]
    spans = Phrases(Tokeniser(), STOPS).learn(texts)
    names = {name for document, name in found(spans) if document == 1}
    assert names == {"new york city"}
    assert {name for document, name in found(spans) if document == 0} == {"new york", "york city", "city hall"}
    assert found(spans)[-1][1] == "new york"


def test_it_makes_no_difference_where_a_stream_is_stopped() -> None:
    whole, part, later = (Phrases(Tokeniser(), STOPS) for _ in range(3))
    for texts in (TEXTS[:9], TEXTS[9:]):
        last = whole.learn(texts)
    part.learn(TEXTS[:9])
    later.restore(part.arrays())
    assert found(later.learn(TEXTS[9:])) == found(last)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(later.arrays()[name], array)


def test_old_phrases_fade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HALF_LIFE", 50)
    phrases = Phrases(Tokeniser(), STOPS)
    assert "north korea" in phrases.learn(TEXTS).names
    for i in range(10):
        phrases.learn([f"word{i} wine{j}" for j in range(50)])
    assert phrases.learn(["north korea"]).names == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 20)
    monkeypatch.setattr(module, "_MOST_WORDS", 40)
    phrases = Phrases(Tokeniser(), STOPS)
    for i in range(30):
        spans = phrases.learn([f"north korea {i}w{j} x{i}y{j} of sea{i}{j}" for j in range(9)])
        assert len(phrases) <= 20
        assert phrases.arrays()["starts"].size - 1 <= 40 + len(STOPS) + 9 * 3
    assert "north korea" in {name[:11] for name in spans.names}


def test_nothing_gives_nothing() -> None:
    phrases = Phrases(Tokeniser(), STOPS)
    for texts in ([], ["", "the of"], ["one"]):
        assert phrases.learn(texts).names == []


def test_no_part_of_a_name_repeats_another() -> None:
    words = [[("korea", 0.6), ("korean", 0.55), ("north", 0.5), ("missile", 0.3), ("test", 0.2)], [("sea", 1.0)]]
    (name, other) = topic_names(words, [[("north korea", 0.5), ("missile test", 0.2), ("strange pair", 0.9)], []])
    assert name == ["north korea", "missile test"]
    assert other == ["sea"]


def test_words_of_a_name_that_are_a_phrase_of_the_stream_stand_together() -> None:
    words = [[("court", 0.6), ("justices", 0.5), ("supreme", 0.4), ("alito", 0.3), ("ruling", 0.2), ("seat", 0.1)]]
    pairs = {"supreme court": 9.0, "court supreme": 3.0, "supreme ruling": 4.0, "court seat": 5.0}
    assert topic_names(words, [[]], pairs) == [["supreme court", "justices", "alito", "ruling"]]
    assert topic_names(words, [[("justices alito", 0.5)]], pairs)[0][:2] == ["justices alito", "supreme court"]


def test_phrases_made_of_some_words() -> None:
    phrases = Phrases(Tokeniser(), STOPS)
    phrases.learn(TEXTS)
    assert phrases.among(["korea", "north", "sea", "never"]) == {"north korea": 9.0}
    assert phrases.among(["korea", "sea"]) == phrases.among([]) == {}


def test_a_word_that_all_topics_have_tells_little() -> None:
    words = [[("says", 0.5), (own, 0.4)] for own in ("oil", "court", "storm")]
    assert [name[0] for name in topic_names(words, [[]] * 3)] == ["oil", "court", "storm"]


@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdefg"), st.floats(0, 1)), max_size=8), max_size=4))
def test_names_are_short_and_of_the_topics_words(words: list[list[tuple[str, float]]]) -> None:
    names = topic_names(words, [[("a b", 0.5)]] * len(words))
    for own, name in zip(words, names, strict=True):
        assert len(name) <= PARTS
        assert {word for part in name for word in part.split()} <= {word for word, _ in own} | {"a", "b"}
        assert len(shortened(name, 2).replace(",", "").split()) <= 3
