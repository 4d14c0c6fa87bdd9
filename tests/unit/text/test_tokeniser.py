from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.text import oracles
from tests.unit.text.corpora import STRANGE, texts
from vmfstream.text.counts import Counts
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.vocabulary import Vocabulary
from vmfstream.text.word_table import WordTable

# characters of all classes, the dangerous ones often
_ALPHABET = "abns tdmlrev'’' 19éßİσΣж\u0301\u200d\xad中文カ한\x00\ud800😀_-"


def dictionaries(counts: Counts, table: WordTable) -> list[dict[str, int]]:
    return [
        {table.word(counts.terms[j]): int(counts.counts[j]) for j in range(counts.indptr[i], counts.indptr[i + 1])}
        for i in range(len(counts))
    ]


@pytest.mark.parametrize("text", STRANGE)
@pytest.mark.parametrize("options", [(2, 40, False), (1, 5, True), (3, 40, True)])
def test_tokens_of_strange_texts(text: str, options: tuple[int, int, bool]) -> None:
    assert Tokeniser(*options).tokens(text) == oracles.tokens(text, *options)


@pytest.mark.parametrize(("first", "last"), [(0, 0x10000), (0x1AFE0, 0x1B180), (0x1FFF0, 0x20010), (0x33400, 0x33500)])
def test_the_class_of_every_character(first: int, last: int) -> None:
    text = " ".join(f"x{chr(code)}y {chr(code)}" for code in range(first, last))
    assert Tokeniser(1).tokens(text) == oracles.tokens(text, 1)


def test_what_a_word_is() -> None:
    words = Tokeniser().tokens("Don't panic: Peter's well-known U-boat, 1943, 42nd; l'été cafe\u0301 可口可乐")
    assert words == ["panic", "peter", "well", "known", "boat", "42nd", "été", "café", "可口", "口可", "可乐"]


@given(st.text(st.one_of(st.sampled_from(_ALPHABET), st.characters()), max_size=60))
@settings(max_examples=400, deadline=None)
def test_tokens_of_any_text(text: str) -> None:
    assert Tokeniser().tokens(text) == oracles.tokens(text)
    assert Tokeniser(1, 4, True).tokens(text) == oracles.tokens(text, 1, 4, True)


@given(st.text(st.sampled_from("abnstdmlrevNTZ'' 19_-\x7f@[`{/:"), max_size=300))
@settings(max_examples=400, deadline=None)
def test_tokens_of_any_ascii_text_of_several_blocks(text: str) -> None:
    assert Tokeniser().tokens(text) == oracles.tokens(text)
    assert Tokeniser(1, 4, True).tokens(text) == oracles.tokens(text, 1, 4, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see https://t.co/AbC12x now", ["see", "now"]),
        ("HTTPS://EXAMPLE.ORG/a?q=word#part, more", ["more"]),
        ("(www.example.org/news) [words](ftp://a.b/c) kept", ["words", "kept"]),
        ("<a href='https://a.b/c'>linked</a>", ["href", "linked"]),
        ('{"url":"https://a.b/c","text":"words"}', ["url", "text", "words"]),
        ("https://de.example.org/wiki/Köln Straße", ["straße"]),
        ("https://a.b/c谢谢大家 “https://a.b/c”more", ["谢谢", "谢大", "大家", "more"]),
        ("awww. cute... and www. or www alone", ["awww", "cute", "and", "www", "or", "www", "alone"]),
        ("see...https://a.b/c, both sides://", ["see", "both"]),
        (":// nothing", ["nothing"]),
    ],
)
def test_web_addresses_are_no_words(text: str, words: list[str]) -> None:
    assert Tokeniser().tokens(text) == words == oracles.tokens(text)


@given(
    st.lists(
        st.sampled_from(["://", "www.", "http", "a", "é", "c\u0327", "中", "Ж", "\ud800", *" .,'\"()?/+-\xad"]),
        max_size=20,
    )
)
@settings(max_examples=400, deadline=None)
def test_tokens_of_any_web_addresses(parts: list[str]) -> None:
    text = "".join(parts)
    assert Tokeniser(1).tokens(text) == oracles.tokens(text, 1)


@pytest.mark.parametrize("before", range(56, 68))
def test_words_across_the_bounds_of_blocks(before: int) -> None:
    text = "." * before + "Boundary12 aren't 123456789 12345678a " + "." * 40 + "x's"
    assert Tokeniser().tokens(text) == ["boundary12", "12345678a"]
    assert Tokeniser(1, 40, True).tokens(text) == ["boundary12", "123456789", "12345678a", "x"]


def test_what_does_not_count_negates_nothing() -> None:
    assert Tokeniser().tokens("boat n't") == ["boat"]


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "count"), [("nyt_frontpage_1996_2006", 2000), ("un_general_debates", 30), ("twenty_newsgroups", 200)]
)
def test_counts_of_real_texts(folder: str, count: int) -> None:
    documents = texts(folder, count)
    table = WordTable(100_000)
    counts = Tokeniser().count(documents, table)
    expected = [oracles.counts(text) for text in documents]
    assert dictionaries(counts, table) == expected
    assert counts.tokens.tolist() == [sum(document.values()) for document in expected]


@given(st.lists(st.text(st.sampled_from(_ALPHABET), max_size=40), max_size=6))
@settings(max_examples=200, deadline=None)
def test_counts_of_any_texts(documents: list[str]) -> None:
    table = WordTable(10_000)
    assert dictionaries(Tokeniser().count(documents, table), table) == [oracles.counts(text) for text in documents]


def test_a_capital_i_with_a_dot_becomes_a_small_one() -> None:
    assert Tokeniser().tokens("İstanbul I\u0307stanbul istanbul, Iğdır") == ["istanbul"] * 3 + ["iğdır"]
    table = Vocabulary(stop_words="turkish")
    assert table.find(["istanbul"]).tolist() == [-1]
    table.count(["İçin için İstanbul"])
    assert table.term_words(range(len(table.stop_words), table.n_terms)) == ["istanbul"]


def test_words_below_skip_are_not_counted() -> None:
    table = WordTable(10)
    table.add(["the", "und"])
    counts = Tokeniser().count(["the cat und the cat"], table, 2)
    assert dictionaries(counts, table) == [{"cat": 2}]
    assert counts.tokens.tolist() == [2]


def test_words_without_room_are_only_counted() -> None:
    table = WordTable(2)
    counts = Tokeniser().count(["one two three", "three two four"], table)
    assert dictionaries(counts, table) == [{"one": 1, "two": 1}, {"two": 1}]
    assert counts.tokens.tolist() == [3, 3]


def test_counts_saturate() -> None:
    table = WordTable(10)
    counts = Tokeniser().count(["word " * 70_000], table)
    assert counts.counts.tolist() == [65_535]
    assert counts.tokens.tolist() == [70_000]


def test_no_texts_and_empty_texts() -> None:
    table = WordTable(10)
    assert len(Tokeniser().count([], table)) == 0
    counts = Tokeniser().count(["", "!", ""], table)
    assert counts.indptr.tolist() == [0, 0, 0, 0]
    assert len(table) == 0


@pytest.mark.parametrize("wrong", [None, b"bytes", 3])
def test_something_that_is_no_text(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"texts\[1\]: expected str, found"):
        Tokeniser().count(["text", wrong], WordTable(10))  # type: ignore[list-item]


@pytest.mark.parametrize("options", [(0, 40), (3, 2)])
def test_impossible_lengths(options: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="min_length <= max_length"):
        Tokeniser(*options)


@pytest.mark.corpus
def test_counts_of_batches_are_counts_of_all() -> None:
    documents = texts("nyt_frontpage_1996_2006", 500)
    one, many = WordTable(100_000), WordTable(100_000)
    whole = Tokeniser().count(documents, one)
    parts = Counts.concat([Tokeniser().count(documents[i : i + 7], many) for i in range(0, 500, 7)])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(parts.arrays()[name], array, err_msg=name)
