from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.text.corpora import texts
from vmfstream.errors import InputError
from vmfstream.records import Document
from vmfstream.text import text_encoder
from vmfstream.text.counts import Counts
from vmfstream.text.encoders import Encoder, TextEncoder, VectorEncoder, Vectors
from vmfstream.text.sketch import Projection, projection

_NOW = datetime(2001, 1, 1, tzinfo=UTC)


def documents(found: list[str]) -> list[Document]:
    return [Document("part", i, str(i), _NOW, text) for i, text in enumerate(found)]


def vectors(rows: list[list[float]] | NDArray[np.floating]) -> list[Document]:
    return [Document("part", i, f"d{i}", _NOW, vector=np.asarray(row, np.float32)) for i, row in enumerate(rows)]


def ltc(counts: Counts, encoder: TextEncoder) -> NDArray[np.float64]:
    """The weights by their formula, dense."""
    column, idf = encoder.vocabulary.column, encoder.vocabulary.idf.astype(np.float64)
    dense = np.zeros((len(counts), encoder.dim))
    for i in range(len(counts)):
        for j in range(counts.indptr[i], counts.indptr[i + 1]):
            if counts.terms[j] < column.size and column[counts.terms[j]] >= 0:
                dense[i, column[counts.terms[j]]] = (1 + np.log(counts.counts[j])) * idf[column[counts.terms[j]]]
        norm = np.linalg.norm(dense[i])
        dense[i] /= norm if norm else 1
    return dense


def same(a: csr_array, b: csr_array) -> None:
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.corpus
def test_rows_are_ltc() -> None:
    encoder = TextEncoder(capacity=2000)
    encoder.count(documents(texts("twenty_newsgroups", 300)))
    encoder.close_slice()
    counts = encoder.count(documents([*texts("twenty_newsgroups", 340)[300:], "word " * 100, "unheardof", ""]))
    x = encoder.encode(counts)
    assert (x.dtype, x.indices.dtype, x.indptr.dtype) == (np.float32, np.int32, np.int32)
    np.testing.assert_allclose(x.toarray(), ltc(counts, encoder), atol=1e-7)
    check = csr_array((x.data, x.indices, x.indptr), shape=x.shape)
    assert check.has_canonical_format
    assert x.has_canonical_format
    assert np.diff(x.indptr)[-2:].tolist() == [0, 0]


@pytest.mark.corpus
def test_rows_are_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    found = [text.replace("'", " ").replace("_", " ") for text in texts("nyt_frontpage_1996_2006", 400)]
    encoder = TextEncoder(keep_numbers=True, max_df_share=1.0, min_df=1)
    encoder.count(documents(found))
    counts = encoder.count(documents(found))
    encoder.close_slice()
    vectorizer = CountVectorizer(vocabulary=encoder.vocabulary.words())
    tf = csr_array(vectorizer.transform(found), dtype=np.float64)
    df = 2 * np.bincount(tf.indices, minlength=encoder.dim)
    tf.data = 1 + np.log(tf.data)
    expected = normalize(tf * np.log((1 + 800) / (0.5 + df)))
    np.testing.assert_allclose(encoder.encode(counts).toarray(), expected.toarray(), atol=2e-6)


@pytest.mark.corpus
def test_rows_are_frozen_inside_a_slice() -> None:
    encoder = TextEncoder()
    found = documents(texts("nyt_frontpage_1996_2006", 300))
    encoder.count(found[:100])
    encoder.close_slice()
    first = encoder.encode(encoder.count(found[:100]))
    encoder.count(found[100:])
    counts = encoder.count(found[:100])
    same(encoder.encode(counts), first)
    encoder.close_slice()
    assert encoder.encode(counts).shape[1] > first.shape[1]


@given(st.lists(st.text("ab ", max_size=30), max_size=8), st.lists(st.text("abc ", max_size=30), max_size=8))
@settings(deadline=None)
def test_rows_have_length_one_or_zero(known: list[str], new: list[str]) -> None:
    encoder = TextEncoder(min_length=1, stop_words=None, max_df_share=1.0)
    encoder.count(documents(known))
    encoder.close_slice()
    counts = encoder.count(documents(new))
    x = encoder.encode(counts)
    dense = x.toarray()
    np.testing.assert_allclose(dense, ltc(counts, encoder).reshape(dense.shape), atol=1e-6)
    norms = np.linalg.norm(dense, axis=1)
    assert np.all((np.abs(norms - 1) < 1e-6) | (norms == 0))
    unknown, words = encoder.out_of_vocabulary(counts)
    assert 0 <= unknown <= words == counts.tokens.sum()


def test_before_the_first_slice_ends_there_are_no_columns() -> None:
    encoder = TextEncoder()
    counts = encoder.count(documents(["some text", "more text"]))
    assert encoder.encode(counts).shape == (2, 0)
    assert encoder.out_of_vocabulary(counts) == (2, 2)


def test_an_empty_batch() -> None:
    encoder = TextEncoder()
    encoder.count(documents(["some text", "more text"]))
    encoder.close_slice()
    assert encoder.encode(encoder.count([])).shape == (0, 1)
    assert encoder.out_of_vocabulary(encoder.concat([])) == (0, 0)


def test_a_document_without_text_has_no_words() -> None:
    assert TextEncoder().count(vectors([[1.0, 2.0]])).tokens.tolist() == [0]


def test_unknown_counts_words_and_not_stop_words() -> None:
    encoder = TextEncoder()
    encoder.count(documents(["apple pear", "apple pear", "plum", "fig"]))
    encoder.close_slice()
    assert encoder.out_of_vocabulary(encoder.count(documents(["the apple and the kiwi", "pear pear plum"]))) == (2, 5)


def test_strongest_words_with_ties() -> None:
    encoder = TextEncoder(max_df_share=1.0)
    encoder.count(documents(["apple pear plum fig"] * 2))
    encoder.close_slice()
    m = np.zeros((4, 16), np.float32)
    m[:, 0] = [0.5, 0.25, 0.5, 0.75]
    m[:, 1] = [0, -1, 1, 0]
    assert encoder.words(m, 3, 3) == [[("fig", 0.75), ("apple", 0.5), ("plum", 0.5)], [("plum", 1.0)], []]
    assert encoder.words(m, 9, 1) == [[("fig", 0.75), ("apple", 0.5), ("plum", 0.5), ("pear", 0.25)]]
    assert encoder.words(m, 0, 1) == [[]]
    with pytest.raises(ValueError, match=r"shape \(4, 17 or more\), got \(4, 16\)"):
        encoder.words(m, 3, 17)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(deadline=None, max_examples=50)
def test_strongest_dimensions_are_those_of_a_sort(seed: int, top: int) -> None:
    m = np.random.default_rng(seed).integers(-4, 5, (20, 3)).astype(np.float32)
    for topic, found in enumerate(VectorEncoder(20).words(m, top, 3)):
        order = [i for i in np.argsort(-np.abs(m[:, topic]), kind="stable") if m[i, topic] != 0][:top]
        sign = ["-" if m[i, topic] < 0 else "" for i in order]
        assert found == [(f"{s}x{i}", abs(float(m[i, topic]))) for s, i in zip(sign, order, strict=True)]


@pytest.mark.corpus
def test_a_restored_encoder_goes_on_as_if_nothing_happened() -> None:
    found = documents(texts("nyt_frontpage_1996_2006", 600))
    one, other = TextEncoder(capacity=300), TextEncoder(capacity=300)
    one.count(found[:300])
    one.close_slice()
    counted = one.count(found[300:450])
    other.restore(one.state())
    taken = other.counts_from({name: array.copy() for name, array in counted.arrays().items()})
    for encoder, counts in ((one, counted), (other, taken)):
        encoder.count(found[450:])
        counts = encoder.concat([counts, encoder.count(found[:5])]).remap(encoder.close_slice().terms)
        if encoder is one:
            expected = encoder.encode(counts)
    same(other.encode(counts), expected)
    assert one.digest == other.digest


@pytest.mark.corpus
def test_taking_and_joining_counts() -> None:
    encoder = TextEncoder()
    counts = encoder.count(documents([*texts("nyt_frontpage_1996_2006", 40), ""]))
    encoder.count(documents(texts("nyt_frontpage_1996_2006", 80)))
    encoder.close_slice()
    x = encoder.encode(counts).toarray()
    rows = np.array([40, 7, 3, 7])
    taken = counts.take(rows)
    np.testing.assert_array_equal(encoder.encode(taken).toarray(), x[rows])
    np.testing.assert_array_equal(taken.tokens, counts.tokens[rows])
    halves = [counts.take(np.arange(41) < 20), counts.take(slice(20, 99)), counts.take(slice(9, 5))]
    np.testing.assert_array_equal(encoder.encode(Counts.concat(halves)).toarray(), x)
    assert counts.remap(None) is counts


def test_vectors_become_unit_rows() -> None:
    encoder = VectorEncoder(3)
    counts = encoder.count(vectors([[3, 0, 4], [0, 0, 0], [1e30, 1e30, 0]]))
    x = encoder.encode(counts)
    assert isinstance(x, np.ndarray)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, np.array([[0.6, 0, 0.8], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0]]), rtol=1e-6)
    assert encoder.out_of_vocabulary(counts) == (0, 9)
    assert encoder.close_slice().columns.tolist() == [0, 1, 2]
    assert len(encoder.concat([])) == 0
    assert encoder.encode(encoder.count([])).shape == (0, 3)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, 2.0], r"document 'd1': expected a vector of 3 numbers, found \(2,\)"),
        ([1.0, np.nan, 2.0], "document 'd1': expected finite float32 numbers, found nan at place 1"),
        ([1.0, 2.0, np.inf], "document 'd1': expected finite float32 numbers, found inf at place 2"),
    ],
)
def test_vectors_that_are_refused(bad: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        VectorEncoder(3).count([*vectors([[1.0, 2.0, 3.0]]), vectors([[0.0], bad])[1]])


def test_a_document_without_vector_is_refused() -> None:
    with pytest.raises(InputError, match="expected a vector of 3 numbers, found None"):
        VectorEncoder(3).count(documents(["text"]))


def test_vectors_keep_their_names_and_dimension() -> None:
    encoder = VectorEncoder(2, ["left", "right"])
    assert encoder.words(np.array([[1.0], [-2.0]], np.float32), 2, 1) == [[("-right", 2.0), ("left", 1.0)]]
    encoder.restore(encoder.state())
    with pytest.raises(InputError, match="the stored run has 2, now 3"):
        VectorEncoder(3).restore(encoder.state())
    with pytest.raises(InputError, match="expected 2, one per dimension, got 1"):
        VectorEncoder(2, ["left"])
    with pytest.raises(InputError, match="at least 2"):
        VectorEncoder(1)


def test_taking_and_joining_vectors() -> None:
    encoder = VectorEncoder(2)
    counts = encoder.count(vectors([[1, 2], [3, 4], [5, 6]]))
    assert counts.take(np.array([2, 0])).values.tolist() == [[5, 6], [1, 2]]
    joined = encoder.concat([counts.take(slice(0, 1)), counts.remap(None).take(slice(1, 3))])
    np.testing.assert_array_equal(encoder.counts_from(joined.arrays()).values, counts.values)
    assert isinstance(joined, Vectors)


def test_both_are_encoders() -> None:
    encoders: list[Encoder] = [TextEncoder(), VectorEncoder(2)]
    assert [encoder.dim for encoder in encoders] == [0, 2]


def test_projections_are_made_when_words_come_or_go(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(names: Iterable[bytes]) -> Projection:
        known = list(names)
        made.append(len(known))
        return projection(known)

    monkeypatch.setattr(text_encoder, "projection", counted)
    encoder = TextEncoder(min_df=1, max_df_share=1.0)
    for slice, text in enumerate(["ship sea", "ship ship sea", "ship sea", "ship crane"]):
        encoder.count(documents([text] * 2))
        encoder.close_slice(slice)
        encoder.sketches(np.ones((encoder.dim, 1), np.float32))
    assert made == [2, 3]
