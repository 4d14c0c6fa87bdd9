"""Stop words of many languages and of files; texts cut by a function of the user."""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stop_words import get_stop_words

from vmfstream.cli.options import StopWords
from vmfstream.engine.run import RunSettings, agree
from vmfstream.errors import InputError, MissingExtra
from vmfstream.records import Document
from vmfstream.text import languages as languages_module
from vmfstream.text.encoders import TextEncoder
from vmfstream.text.filters import NEWS_WORDS, chosen_stop_words, languages, stop_words_of
from vmfstream.text.languages import LanguageTokeniser, language_of
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


def test_words_that_news_are_about_stay() -> None:
    """The lists of the package held *état*, *estado* and *trabajo*."""
    for language in set(NEWS_WORDS) - {"english"}:
        assert NEWS_WORDS[language] <= set(get_stop_words(language))
        assert not NEWS_WORDS[language] & set(stop_words_of(language))


def test_several_at_once_and_own_words() -> None:
    both = list(stop_words_of("english,german"))
    assert len(both) == len(set(both)) == len({*stop_words_of("english"), *stop_words_of("german")})
    assert set(stop_words_of(["german", "brexit"])) == {*stop_words_of("german"), "brexit"}
    assert list(stop_words_of(["brexit"])) == ["brexit"]


def test_case_of_names_does_not_matter() -> None:
    assert stop_words_of("English, GERMAN") == stop_words_of("english,german")
    assert set(stop_words_of(["German", "brexit"])) == {*stop_words_of("german"), "brexit"}
    assert chosen_stop_words("English") == ("english", [])
    assert chosen_stop_words("None") == ("none", [])
    for wanted, language, words in (("English", "english", ""), (["English", "Foo"], "english", "Foo")):
        settings = TopicTracker(stop_words=wanted)._run
        assert (settings.language, settings.stop_words) == (language, words)


def test_every_language_stands_alone() -> None:
    for wanted in ("auto,english", ["auto", "english"]):
        with pytest.raises(InputError, match="auto stands for every language"):
            TopicTracker(stop_words=wanted)


def test_a_run_goes_on_with_the_same_stop_words_only() -> None:
    begun = RunSettings(language="english,german", stop_words="cat dog").as_text()
    assert agree(RunSettings(language="german, English", stop_words="dog cat"), begun).stop_words == "cat dog"
    says = "stop_words = 'english, german, dog' and cannot be continued with 'german, a, b, c, d, e, ...'"
    with pytest.raises(InputError, match=re.escape(says)):
        agree(RunSettings(language="german", stop_words="cat f e d c b a"), begun)


def test_a_file_of_words(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("\ufeffBrexit, cramer\n\nsays  # who\nbrexit Brexit\n", encoding="utf-8")
    assert chosen_stop_words(f"english,{path}, german") == ("english,german", ["Brexit", "cramer", "says", "brexit"])
    assert chosen_stop_words(str(path))[0] == "none"
    assert chosen_stop_words("none") == ("none", [])


def test_help_and_errors_name_the_language_of_each_document() -> None:
    assert "auto" in get_args(StopWords)[1].help
    with pytest.raises(InputError, match=r"vietnamese, auto, a list of words or none, got 'klingon'"):
        stop_words_of("klingon")


def test_what_is_no_list_is_refused(tmp_path: Path) -> None:
    for text in ("klingon", "english,", "", "english;german", "/nowhere/words.txt"):
        with pytest.raises(
            InputError, match=r"stop words: expected arabic, .*, vietnamese, auto, none or a file of words, got"
        ):
            chosen_stop_words(text)
    for text in ("english,none", "none, german"):
        with pytest.raises(InputError, match="none leaves none out, and goes with files of words only"):
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
    with pytest.raises(InputError, match="with stop_words = 'scikit-learn' and cannot be continued with 'german'"):
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
        (lambda text: [text, 3], "the tokeniser returned int as a word, expected str; the text begins 'sea'"),
        (lambda text: None, "the tokeniser failed with TypeError"),
        (str, "the tokeniser returned one str, expected a list of words; the text begins 'sea'"),
        (str.encode, "the tokeniser returned one bytes, expected a list of words; the text begins 'sea'"),
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


def test_an_installed_package_offers_tokenisers_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for package, lines in (("one", "wrap = textwrap:wrap\nlost = nowhere:cut"), ("two", "wrap = textwrap:dedent")):
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[vmfstream.tokenisers]\n{lines}\n")
        if package == "one":
            assert tokeniser_at("wrap") is textwrap.wrap
            with pytest.raises(InputError, match="got 'lost': No module named 'nowhere'"):
                tokeniser_at("lost")
    with pytest.raises(InputError, match="'wrap' is the name of textwrap:dedent and of textwrap:wrap; choose one"):
        tokeniser_at("wrap")
    with pytest.raises(InputError, match="no installed package offers a tokeniser of this name"):
        tokeniser_at("split")


def test_a_tracker_with_an_own_tokeniser_is_saved_and_loaded(tmp_path: Path) -> None:
    tracker = TopicTracker(topics=2, tokeniser=OwnCut.words, stop_words=["the", "french"])
    tracker.learn(["the U-boat les", "the fur"] * 12, 2001).finish()
    words = {word for row in tracker.topics() for word, _ in row["words"]}
    assert words == {"U-boat", "fur"}
    tracker.save(tmp_path / "run.duckdb")
    loaded = TopicTracker.load(tmp_path / "run.duckdb", tokeniser=OwnCut.words)
    assert [row["words"] for row in loaded.topics()] == [row["words"] for row in tracker.topics()]
    assert name_of(OwnCut.words) == "tests.unit.text.test_languages:OwnCut.words"
    assert loaded.get_params()["stop_words"] == ["french", "the"]
    with pytest.raises(InputError, match="tokeniser: expected a function, got str"):
        TopicTracker(tokeniser="split")  # type: ignore[arg-type]


class OwnCut:
    @staticmethod
    def words(text: str) -> list[str]:
        return text.split(" ")


SENTENCES = {
    "english": "The government said on Monday that it would not raise the taxes of the people who live in the city",
    "german": "Die Regierung sagte am Montag, dass sie die Steuern der Menschen in der Stadt nicht erhöhen würde",
    "french": "Le gouvernement a dit lundi qu'il ne voulait pas augmenter les impôts des gens qui vivent dans la ville",
    "spanish": "El gobierno dijo el lunes que no iba a subir los impuestos de la gente que vive en la ciudad",
    "russian": "Правительство заявило в понедельник, что не будет повышать налоги для людей, которые живут в городе",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_the_language_of_each_text_is_told(language: str) -> None:
    pytest.importorskip("py3langid")
    assert language_of(SENTENCES[language]) == language
    assert language_of(SENTENCES[language] + "\ud83d") == language


def test_words_are_left_out_where_they_are_stop_words_of_the_text() -> None:
    pytest.importorskip("py3langid")
    table = WordTable(1000)
    table.add(["own"])
    texts = [*SENTENCES.values(), "", "die " + SENTENCES["english"] + " own"]
    counts = LanguageTokeniser(Tokeniser()).count(texts, table, skip=1)
    found = [
        {table.word(int(term)): int(n) for term, n in zip(counts.terms[a:b], counts.counts[a:b], strict=True)}
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
    names = [*SENTENCES, "english", "english"]
    for text, language, words, tokens in zip(texts, names, found, counts.tokens.tolist(), strict=True):
        stops = {token for stop in stop_words_of(language) for token in Tokeniser().tokens(stop)} | {"own"}
        expected: dict[str, int] = {}
        for word in Tokeniser().tokens(text):
            if word not in stops:
                expected[word] = expected.get(word, 0) + 1
        assert words == expected
        assert tokens == sum(expected.values())
    assert "die" in found[-1]  # no stop word of English
    assert "die" not in found[1]


def test_a_stream_of_two_languages_has_topics_without_stop_words_of_either(tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    tracker = TopicTracker(2, stop_words="auto", phrases=True)
    for year in (2001, 2002, 2003):
        tracker.learn([SENTENCES["english"], SENTENCES["german"]] * 20, year)
    tracker.finish()
    words = {word for row in tracker.topics(words=30) for word, _ in row["words"]}
    assert {"government", "regierung"} <= words
    assert not words & {"the", "that", "die", "dass", "nicht", "who"}
    tracker.save(tmp_path / "tracker.duckdb")
    again = TopicTracker.load(tmp_path / "tracker.duckdb")
    assert again.label(["die Regierung der Stadt"])["topic"].tolist() >= [0]
    assert chosen_stop_words("auto") == ("auto", [])
    with pytest.raises(InputError, match="auto stands for every language"):
        chosen_stop_words("auto,german")


def test_without_the_package_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    languages_module._identifier.cache_clear()
    with pytest.raises(MissingExtra, match=r"telling languages needs py3langid: pip install 'vmfstream\[languages\]'"):
        RunSettings(language="auto").check_encoder()
    languages_module._identifier.cache_clear()
