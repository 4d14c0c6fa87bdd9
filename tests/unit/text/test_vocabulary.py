from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from tests.unit.text import oracles
from tests.unit.text.corpora import texts
from vmfstream.errors import InputError, MissingExtra
from vmfstream.records import Arrays
from vmfstream.text.filters import NEWS_WORDS, stop_words_of
from vmfstream.text.vocabulary import Growth, Vocabulary


def plain(**settings: Any) -> Vocabulary:
    return Vocabulary(**{"stop_words": None, "max_df_share": 1.0, **settings})


def slice_of(vocabulary: Vocabulary, documents: list[str]) -> Growth:
    vocabulary.count(documents)
    return vocabulary.close_slice()


def random_words(rng: np.random.Generator, n: int) -> list[str]:
    return ["w" + "".join(chr(97 + c) for c in rng.integers(0, 26, 8)) for _ in range(n)]


def assert_equal_states(a: Arrays, b: Arrays) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def cut_endings(words: list[str]) -> list[str]:
    return [word.removesuffix("s").removesuffix("ing") for word in words]


@pytest.fixture
def stemmer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stemmer that cuts -s and -ing, in the place of PyStemmer; the list remembers what it was asked."""
    asked: list[str] = []

    class Stemmer:
        def __init__(self, algorithm: str) -> None:
            self.algorithm = algorithm

        def stemWords(self, words: list[str]) -> list[str]:
            asked.extend(words)
            return cut_endings(words)

    module = types.ModuleType("Stemmer")
    module.__dict__.update(Stemmer=Stemmer, algorithms=lambda: ["english", "german"])
    monkeypatch.setitem(sys.modules, "Stemmer", module)
    return asked


def test_english_stop_words_are_those_of_scikit_learn_but_news_words() -> None:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert sorted(stop_words_of("scikit-learn")) == sorted(ENGLISH_STOP_WORDS)
    news = NEWS_WORDS["english"]
    assert sorted(stop_words_of("english")) == sorted(ENGLISH_STOP_WORDS - news)
    assert {"fire", "bill", "interest"} < news < ENGLISH_STOP_WORDS


@pytest.mark.corpus
def test_columns_hold_words_of_enough_documents() -> None:
    documents = texts("nyt_frontpage_1996_2006", 1500)
    vocabulary = Vocabulary(max_df_share=0.05, stop_words="scikit-learn")
    slice_of(vocabulary, documents)
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    df: dict[str, int] = {}
    for text in documents:
        for word in oracles.counts(text, ENGLISH_STOP_WORDS):
            df[word] = df.get(word, 0) + 1
    expected = {word: n for word, n in df.items() if 3 <= n <= 75}
    assert vocabulary.words() == list(expected)
    np.testing.assert_array_equal(
        vocabulary.idf, np.log(1501 / (0.5 + np.array(list(expected.values())))).astype(np.float32)
    )
    assert vocabulary.terms == len(df)


def test_a_forbidden_word_has_no_column_until_it_is_allowed() -> None:
    vocabulary = plain(stop_words=["the"])
    slice_of(vocabulary, ["ab cd ef the"] * 3)
    vocabulary.forbid("CD")
    vocabulary.forbid("never")
    vocabulary.forbid("the")
    assert vocabulary.words() == ["ab", "cd", "ef"]
    growth = slice_of(vocabulary, ["ab cd ef never gh"] * 3)
    assert vocabulary.words() == ["ab", "ef", "gh"]
    assert growth.columns.tolist() == [0, 2, -1]
    again = plain(stop_words=["the"])
    again.restore(vocabulary.state())
    for one in (vocabulary, again):
        slice_of(one, ["cd never"] * 3)
        one.allow("cd")
        slice_of(one, ["ab"])
        assert one.words() == ["ab", "ef", "gh", "cd"]
    assert_equal_states(vocabulary.state(), again.state())


def test_words_of_one_stem_are_forbidden_together(stemmer: list[str]) -> None:
    vocabulary = plain(stem="english")
    slice_of(vocabulary, ["runs walk talk", "runing walk talk"])
    vocabulary.forbid("runing")
    slice_of(vocabulary, ["runs"])
    assert vocabulary.words() == ["walk", "talk"]


def test_a_forbidden_word_stays_forbidden_when_it_was_forgotten() -> None:
    vocabulary = plain(capacity=10)
    vocabulary.forbid("zz")
    rng = np.random.default_rng(0)
    for _ in range(6):
        slice_of(vocabulary, [" ".join(random_words(rng, 15)) for _ in range(3)])
    slice_of(vocabulary, ["zz ab"] * 5)
    assert vocabulary.words() == ["ab"]


@pytest.mark.parametrize(
    ("call", "word", "told"),
    [
        ("forbid", "!", "expected a word, got '!'"),
        ("allow", "ab", "the word 'ab' is not forbidden"),
        ("forbid", "cd", "the word 'cd' is forbidden already"),
        ("forbid", "ab", "one of the last 3 of the vocabulary"),
    ],
)
def test_words_that_cannot_be_forbidden_or_allowed(call: str, word: str, told: str) -> None:
    vocabulary = plain()
    slice_of(vocabulary, ["ab cd ef"] * 3)
    vocabulary.forbid("cd")
    with pytest.raises(InputError, match=told):
        getattr(vocabulary, call)(word)


def test_two_documents_are_enough_in_a_young_stream() -> None:
    vocabulary = plain()
    slice_of(vocabulary, ["ab cd", "ab ef"])
    assert vocabulary.words() == ["ab"]
    slice_of(vocabulary, ["gh"] * 2 + ["ij"] * 3 + ["kl"] * 1000)
    assert vocabulary.words() == ["ab", "ij", "kl"]


def test_a_word_of_too_many_documents_is_not_admitted_but_stays() -> None:
    vocabulary = plain(max_df_share=0.5)
    slice_of(vocabulary, ["ab"] * 5 + ["cd"] * 3 + ["ef"] * 2)
    assert vocabulary.words() == ["ab", "cd", "ef"]
    slice_of(vocabulary, ["ab gh"] * 30)
    assert vocabulary.words() == ["ab", "cd", "ef"]


def test_old_columns_come_first_and_new_ones_in_order_of_terms() -> None:
    vocabulary = plain()
    slice_of(vocabulary, ["cd once ab", "cd ab"])
    growth = slice_of(vocabulary, ["zz once", "aa zz", "aa"])
    assert vocabulary.words() == ["cd", "ab", "once", "zz", "aa"]
    assert growth.columns.tolist() == [0, 1, -1, -1, -1]
    assert (growth.old_dim, growth.new_dim, growth.terms) == (2, 5, None)


def test_beyond_the_capacity_the_rarest_columns_go() -> None:
    vocabulary = plain(capacity=2)
    slice_of(vocabulary, ["aa"] * 4 + ["bb"] * 3 + ["cc"] * 3)
    assert vocabulary.words() == ["aa", "bb"]
    growth = slice_of(vocabulary, ["dd"] * 5)
    assert vocabulary.words() == ["aa", "dd"]
    assert growth.columns.tolist() == [0, -1]


def test_old_fame_fades() -> None:
    vocabulary = plain(capacity=1, fade=0.5)
    slice_of(vocabulary, ["aa"] * 8)
    slice_of(vocabulary, ["bb"] * 3)
    assert vocabulary.words() == ["aa"]
    slice_of(vocabulary, ["bb"] * 3)
    assert vocabulary.words() == ["bb"]


def test_nothing_changes_inside_a_slice() -> None:
    vocabulary = plain()
    slice_of(vocabulary, ["aa bb", "aa bb"])
    before = (vocabulary.digest, vocabulary.words(), vocabulary.idf.copy(), vocabulary.documents)
    vocabulary.count(["aa cc dd"] * 9)
    assert (vocabulary.digest, vocabulary.words(), vocabulary.documents) == (before[0], before[1], before[3])
    np.testing.assert_array_equal(vocabulary.idf, before[2])
    vocabulary.close_slice()
    assert vocabulary.digest != before[0]
    assert vocabulary.words() == ["aa", "bb", "cc", "dd"]


def test_the_digest_depends_on_words_and_weights_only() -> None:
    def digest(*slices: list[str]) -> str:
        vocabulary = plain()
        for documents in slices:
            slice_of(vocabulary, documents)
        return vocabulary.digest

    assert digest(["aa bb", "aa bb"]) == digest(["aa bb"], ["bb aa"])
    assert digest(["aa bb", "aa bb"]) != digest(["aa bc", "aa bc"])
    assert digest(["aa bb", "aa bb"]) != digest(["aa bb", "aa bb", "cc"])
    assert digest(["aab b1", "aab b1"]) != digest(["aa bb1", "aa bb1"])


def test_a_slice_without_documents() -> None:
    vocabulary = plain()
    assert vocabulary.close_slice().new_dim == 0
    slice_of(vocabulary, ["aa bb", "aa bb"])
    digest = vocabulary.digest
    growth = slice_of(vocabulary, [])
    assert growth.columns.tolist() == [0, 1]
    assert vocabulary.digest == digest


def test_the_table_is_pruned_and_counts_follow() -> None:
    vocabulary = plain(capacity=10)
    kept = vocabulary.count(["aa bb rare"] * 3 + ["once upon"])
    growth = slice_of(vocabulary, random_words(np.random.default_rng(0), 60))
    assert growth.terms is not None
    assert vocabulary.terms == 20
    # among the words of one document the oldest are kept
    assert growth.terms[:5].tolist() == [0, 1, 2, 3, 4]
    assert (growth.terms >= 0).sum() == 20
    second = vocabulary.count(["upon aa"])
    moved = kept.remap(growth.terms)
    assert set(second.terms.tolist()) == {growth.terms[4], growth.terms[0]}
    np.testing.assert_array_equal(moved.terms, kept.terms)


def test_pruning_keeps_columns_and_what_was_often() -> None:
    rng = np.random.default_rng(1)
    vocabulary = plain(capacity=4, fade=1.0)
    slice_of(vocabulary, random_words(rng, 14) + ["aa bb"] * 2)
    kept = vocabulary.count(["bb junk", "aa", "bb aa bb"])
    vocabulary.count([f"{word} cc" for word in random_words(rng, 12)])
    growth = vocabulary.close_slice()
    assert growth.terms is not None
    assert vocabulary.words() == ["aa", "bb", "cc"]
    moved = kept.remap(growth.terms)
    columns = vocabulary.column[moved.terms]
    assert columns.tolist() == [1, 0, 1, 0]
    assert moved.indptr.tolist() == [0, 1, 2, 4]
    assert moved.tokens.tolist() == [2, 1, 3]


def test_pruning_spares_columns_that_have_faded() -> None:
    vocabulary = plain(capacity=2, fade=0.1)
    slice_of(vocabulary, ["aa", "aa"])
    growth = slice_of(vocabulary, random_words(np.random.default_rng(4), 10))
    assert growth.terms is not None
    assert vocabulary.words() == ["aa"]


def test_memory_is_bounded() -> None:
    rng = np.random.default_rng(2)
    vocabulary = plain(capacity=50)
    most, sizes = 0, []
    for _ in range(30):
        for _ in range(4):
            words = random_words(rng, 300)
            vocabulary.count([" ".join(words[:150]), " ".join(words[150:]), "steady words"])
            most = max(most, vocabulary.terms)
        vocabulary.close_slice()
        sizes.append(vocabulary.nbytes)
        assert vocabulary.terms <= 4 * 50
    assert most == 8 * 50
    assert max(sizes[2:]) == min(sizes[2:])
    assert vocabulary.words() == ["steady", "words"]


@pytest.mark.thorough
def test_a_huge_document_takes_no_more_room_than_the_limit() -> None:
    vocabulary = plain(capacity=50)
    vocabulary.count([" ".join(random_words(np.random.default_rng(5), 100_000))])
    assert vocabulary.terms == 8 * 50
    assert vocabulary.nbytes < 200_000


@pytest.mark.corpus
@pytest.mark.parametrize("stem", [None, "english"])
def test_a_restored_vocabulary_goes_on_as_if_nothing_happened(stem: str | None, stemmer: list[str]) -> None:
    documents = texts("nyt_frontpage_1996_2006", 900)
    settings: dict[str, Any] = {"capacity": 150, "stem": stem}
    one = Vocabulary(**settings)
    slice_of(one, documents[:300])
    one.count(documents[300:400])
    stored = one.state()
    frozen = {name: array.copy() for name, array in stored.items()}
    other = Vocabulary(**settings)
    other.count(["words that are forgotten"])
    other.restore(stored)
    for batch in (documents[400:600], documents[600:900]):
        assert_equal_states(one.count(batch).arrays(), other.count(batch).arrays())
        a, b = one.close_slice(), other.close_slice()
        np.testing.assert_array_equal(a.columns, b.columns)
        np.testing.assert_array_equal(a.terms, b.terms)
        assert one.digest == other.digest
        assert one.words() == other.words()
        assert_equal_states(one.state(), other.state())
    assert_equal_states(stored, frozen)


def test_a_state_is_a_copy() -> None:
    vocabulary = plain()
    slice_of(vocabulary, ["aa bb"] * 2)
    vocabulary.count(["aa"])
    stored = vocabulary.state()
    frozen = {name: array.copy() for name, array in stored.items()}
    vocabulary.count(["bb"])
    vocabulary.close_slice()
    assert_equal_states(stored, frozen)


def test_a_state_of_other_settings_is_refused() -> None:
    with pytest.raises(InputError, match=r"other settings: capacity 7, now 8"):
        plain(capacity=8).restore(plain(capacity=7).state())
    with pytest.raises(InputError, match="stop_words"):
        plain().restore(Vocabulary(stop_words=["aa"]).state())


def test_stop_words() -> None:
    vocabulary = Vocabulary(stop_words=["The", "l'été"], extra_stop_words=["bb"], max_df_share=1.0)
    counts = vocabulary.count(["the aa bb", "THE aa été"])
    assert counts.tokens.tolist() == [1, 1]
    vocabulary.close_slice()
    assert vocabulary.words() == ["aa"]
    with pytest.raises(InputError, match="stop words: expected arabic, bulgarian"):
        Vocabulary(stop_words="klingon")


def test_forms_of_one_stem_are_one_term(stemmer: list[str]) -> None:
    vocabulary = Vocabulary(stop_words=["being"], stem="english", max_df_share=1.0)
    counts = vocabulary.count(["vote votes being", "votes voting vot", "votes"])
    assert counts.terms.tolist() == [0, 0, 1, 0]
    assert counts.counts.tolist() == [2, 1, 2, 1]
    assert counts.tokens.tolist() == [2, 3, 1]
    growth = vocabulary.close_slice()
    assert growth.new_dim == 1
    assert vocabulary.words() == ["votes"]
    vocabulary.count(["vote votes voting"])
    assert sorted(stemmer) == ["vot", "vote", "votes", "voting"]


def test_stemmed_tables_are_bounded_and_keep_the_words_of_columns(stemmer: list[str]) -> None:
    rng = np.random.default_rng(3)
    vocabulary = Vocabulary(stop_words=["the"], stem="english", max_df_share=1.0, capacity=20)
    slice_of(vocabulary, ["rains"] * 9)
    for _ in range(20):
        words = random_words(rng, 90)
        vocabulary.count(["the weather", "weather", "the " + " ".join(words), " ".join(w + "ing" for w in words)])
        vocabulary.close_slice()
        assert vocabulary.terms <= 4 * 20
    assert {"rains", "weather"} <= set(vocabulary.words())
    assert vocabulary.count(["the raining weather"]).tokens.tolist() == [2]
    assert vocabulary.count(["rain"]).terms.tolist() == vocabulary.count(["rains"]).terms.tolist()


def test_a_column_does_not_lose_its_word(stemmer: list[str]) -> None:
    vocabulary = Vocabulary(stop_words=None, stem="english", max_df_share=0.01, capacity=1)
    slice_of(vocabulary, ["rains"] * 2 + ["aa aas aaing cc ccs ccing"] * 3)
    assert vocabulary.words() == ["rains"]
    slice_of(vocabulary, [])
    assert vocabulary.words() == ["rains"]


def test_an_unknown_or_missing_stemmer(stemmer: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="stemmer: expected one of english, german, got 'klingon'"):
        Vocabulary(stem="klingon")
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingExtra, match=r"vmfstream\[stemming\]"):
        Vocabulary(stem="english")


@pytest.mark.parametrize("settings", [{"capacity": 0}, {"min_df": 0}, {"max_df_share": 0.0}, {"fade": 1.5}])
def test_settings_out_of_range(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Vocabulary(**settings)


def test_a_column_tells_since_when_documents_hold_its_word() -> None:
    vocabulary = plain(min_df=1, capacity=100)
    for index, documents in ((-3, ["aa bb"] * 2), (4, ["aa cc"] * 2), (5, [])):
        vocabulary.count(documents)
        vocabulary.close_slice(index)
    assert vocabulary.words() == ["aa", "bb", "cc"]
    assert [vocabulary.known_by(index).tolist() for index in (-4, -3, 3, 4)] == [
        [False, False, False],
        [True, True, False],
        [True, True, False],
        [True, True, True],
    ]
    other = plain(min_df=1, capacity=100)
    other.restore(vocabulary.state())
    assert other.known_by(3).tolist() == [True, True, False]
    old = {name: array for name, array in vocabulary.state().items() if name != "first_slice"}
    other.restore(old)
    assert other.known_by(-4).all()


def test_a_word_that_was_forgotten_is_new_again() -> None:
    vocabulary = plain(capacity=10)
    rng = np.random.default_rng(0)
    for index in range(6):
        vocabulary.count([" ".join(["weather", "sky", *random_words(rng, 60)])] * 2)
        vocabulary.close_slice(index)
    known = dict(zip(vocabulary.words(), vocabulary.known_by(0).tolist(), strict=True))
    assert known["weather"]
    assert known["sky"]
    assert vocabulary.known_by(5).all()
