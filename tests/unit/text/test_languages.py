"""Stop words of many languages and of files; texts cut by a function of the user."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.engine.run import RunSettings, agree
from vmfstream.errors import InputError
from vmfstream.records import Document
from vmfstream.text.encoders import TextEncoder
from vmfstream.text.filters import chosen_stop_words, languages, stop_words_of
from vmfstream.text.own_tokeniser import OwnTokeniser, name_of, tokeniser_at
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.vocabulary import Vocabulary
from vmfstream.text.word_table import WordTable
from vmfstream.topic_tracker.tracker import TopicTracker

USUAL = {
    "german": "und", "french": "les", "spanish": "los", "russian": "это", "turkish": "ve",
    "arabic": "من", "polish": "jest", "swedish": "och", "italian": "della", "portuguese": "não", "dutch": "het",
}  # fmt: skip


def test_there_are_thirty_languages_and_more() -> None:
    assert len(set(languages()) - {"scikit-learn"}) == 32
    assert "greek" not in languages()  # the package's list is of ancient Greek
    for language in languages():
        words = list(stop_words_of(language))
        assert len(words) > 20
        Vocabulary(stop_words=language)


@pytest.mark.parametrize(("language", "word"), USUAL.items())
def test_words_of_languages(language: str, word: str) -> None:
    assert word in stop_words_of(language)
    assert word in stop_words_of(f"english, {language}")
    assert word not in stop_words_of("english")


def test_several_at_once_and_own_words() -> None:
    both = list(stop_words_of("english,german"))
    assert len(both) == len(set(both)) == len({*stop_words_of("english"), *stop_words_of("german")})
    assert set(stop_words_of(["german", "brexit"])) == {*stop_words_of("german"), "brexit"}
    assert list(stop_words_of(["brexit"])) == ["brexit"]


def test_a_file_of_words(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("\ufeffBrexit, cramer\n\nsays  # who\nbrexit Brexit\n", encoding="utf-8")
    assert chosen_stop_words(f"english,{path}, german") == ("english,german", ["Brexit", "cramer", "says", "brexit"])
    assert chosen_stop_words(str(path))[0] == "none"
    assert chosen_stop_words("none") == ("none", [])


def test_what_is_no_list_is_refused(tmp_path: Path) -> None:
    for text in ("klingon", "english,", "", "english;german", "/nowhere/words.txt"):
        with pytest.raises(
            InputError, match=r"stop words: expected arabic, .*, vietnamese, none or a file of words, got"
        ):
            chosen_stop_words(text)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as UTF-8 text"):
        chosen_stop_words(str(tmp_path / "bytes"))
    (tmp_path / "large").write_text("x" * (2**20 + 1))
    with pytest.raises(InputError, match="expected at most 1,048,576 bytes"):
        chosen_stop_words(str(tmp_path / "large"))
    with pytest.raises(InputError, match="expected arabic"):
        stop_words_of("english,klingon")


def test_run_files_of_before_keep_their_list() -> None:
    stored = {name: text for name, text in RunSettings().as_text().items() if name != "tokeniser"}
    assert RunSettings.from_text(stored).language == "scikit-learn"
    assert agree(RunSettings(), stored).language == "scikit-learn"
    assert RunSettings.from_text(RunSettings().as_text()).language == "english"
    with pytest.raises(InputError, match="begun with language = 'scikit-learn' and cannot be continued with 'german'"):
        agree(RunSettings(language="german"), stored)


@given(st.lists(st.text("ab é-\n漢", max_size=30), max_size=6))
def test_an_own_tokeniser_counts_as_the_built_in_one(texts: list[str]) -> None:
    built_in, own = Tokeniser(min_length=1), OwnTokeniser(Tokeniser(min_length=1).tokens)
    tables = [WordTable(1000), WordTable(1000)]
    for table in tables:
        table.add(["a", "b"])
    first, second = (one.count(texts, table, 1) for one, table in zip((built_in, own), tables, strict=True))
    np.testing.assert_array_equal(first.indptr, second.indptr)
    np.testing.assert_array_equal(first.tokens, second.tokens)
    np.testing.assert_array_equal(first.terms, second.terms)
    np.testing.assert_array_equal(first.counts, second.counts)


def test_words_are_counted_as_they_are_returned() -> None:
    encoder = TextEncoder(tokeniser=OwnTokeniser(str.split), stop_words=["THE"], min_df=1, max_df_share=1.0)
    texts = ["U-boat U-boat THE 1943", "", "x" * 101]
    counts = encoder.count([Document("", i, str(i), datetime.now(UTC), text) for i, text in enumerate(texts)])
    encoder.close_slice()
    assert Counter(encoder.vocabulary.words()) == Counter(["U-boat", "1943"])
    assert counts.counts.tolist() == [2, 1]
    assert counts.tokens.tolist() == [3, 0, 0]


def test_words_without_a_place_are_only_counted() -> None:
    table = WordTable(2)
    counts = OwnTokeniser(str.split).count(["a b c d a"], table)
    assert (counts.terms.tolist(), counts.counts.tolist(), counts.tokens.tolist()) == ([0, 1], [2, 1], [5])


def broken(text: str) -> list[str]:
    return [text[100]]


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        (broken, "the tokeniser failed with IndexError: .*; the text begins 'sea'"),
        (lambda text: [text, 3], "the tokeniser returned a int, expected words; the text begins 'sea'"),
        (lambda text: None, "the tokeniser failed with TypeError"),
    ],
)
def test_a_tokeniser_that_fails_says_where(cut: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        OwnTokeniser(cut).count(["sea"], WordTable(10))


@pytest.mark.parametrize("address", ["", "split", ":split", "nowhere:split", "string:nothing", "string:digits"])
def test_what_is_no_function_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="tokeniser: expected a function as module:name"):
        tokeniser_at(address)
    assert name_of(tokeniser_at("textwrap:TextWrapper.wrap")) == "textwrap:TextWrapper.wrap"


def test_a_tracker_with_an_own_tokeniser_is_saved_and_loaded(tmp_path: Path) -> None:
    tracker = TopicTracker(topics=2, tokeniser=OwnCut.words, stop_words=["the", "french"])
    tracker.learn(["the U-boat les", "the fur"] * 12, 2001).finish()
    words = {word for row in tracker.topics() for word, _ in row["words"]}
    assert words == {"U-boat", "fur"}
    tracker.save(tmp_path / "run.duckdb")
    loaded = TopicTracker.load(tmp_path / "run.duckdb")
    assert [row["words"] for row in loaded.topics()] == [row["words"] for row in tracker.topics()]
    assert name_of(OwnCut.words) == "tests.unit.text.test_languages:OwnCut.words"
    assert loaded.get_params()["stop_words"] == ["french", "the"]
    with pytest.raises(InputError, match="tokeniser: expected a function, got str"):
        TopicTracker(tokeniser="split")  # type: ignore[arg-type]


class OwnCut:
    @staticmethod
    def words(text: str) -> list[str]:
        return text.split(" ")
