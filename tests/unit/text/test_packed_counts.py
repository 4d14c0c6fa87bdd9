"""Bags of words: they come back as they were, whatever became of the vocabulary meanwhile."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import numpy as np
import pytest

from vmfstream.errors import InputError
from vmfstream.records import Document
from vmfstream.text import packed_counts
from vmfstream.text.counts import Counts
from vmfstream.text.encoders import TextEncoder, VectorEncoder
from vmfstream.text.packed_counts import pack_bags, unpack_bags
from vmfstream.text.vocabulary import Vocabulary
from vmfstream.text.word_table import WordTable

TEXTS = ["the ship in the harbour, a ship!", "", "straße und straße und schön", "comet 海の日本"]


def test_words_and_counts_come_back() -> None:
    first, second = Vocabulary(stop_words=None, min_df=1), Vocabulary(stop_words=None, min_df=1)
    second.count(["other words come first here, harbour too"])
    counts = first.count(TEXTS)
    found = second.unpack(first.pack(counts))
    assert found.tokens.tolist() == counts.tokens.tolist()
    again = second.count(TEXTS)
    for name in ("indptr", "terms", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


def test_stems_come_back() -> None:
    pytest.importorskip("Stemmer")
    first, second = (Vocabulary(stem="english", min_df=1) for _ in range(2))
    counts = first.count(["generations of ponies", "universities"])
    np.testing.assert_array_equal(
        second.unpack(first.pack(counts)).terms, second.count(["generations of ponies", "universities"]).terms
    )


def test_no_documents() -> None:
    table = WordTable(10)
    assert pack_bags(Counts.concat([]), table) == []
    assert len(unpack_bags([], table)) == 0


def test_words_without_room_are_only_counted() -> None:
    vocabulary, small = Vocabulary(stop_words=None), WordTable(2)
    packed = vocabulary.pack(vocabulary.count(["red wine red rose", "wine", "rose rose"]))
    found = unpack_bags(packed, small)
    assert found.indptr.tolist() == [0, 2, 3, 3]
    assert found.counts.tolist() == [2, 1, 1]
    assert found.tokens.tolist() == [4, 1, 2]


def test_the_most_frequent_words_of_a_long_document_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_counts, "MOST_WORDS", 2)
    vocabulary = Vocabulary(stop_words=None)
    packed = vocabulary.pack(vocabulary.count(["red wine wine rose rose", "blue"]))
    table = WordTable(10)
    found = unpack_bags(packed, table)
    assert [table.word(int(term)) for term in found.terms] == ["wine", "rose", "blue"]
    assert found.tokens.tolist() == [5, 1]


def test_an_encoder_encodes_them_like_the_documents() -> None:
    documents = [Document("a", i, str(i), datetime.now(UTC), text) for i, text in enumerate(TEXTS * 3)]
    encoder, other = TextEncoder(min_df=1, max_df_share=1.0), TextEncoder(min_df=1, max_df_share=1.0)
    packed = other.pack(other.count(documents))
    counts = encoder.count(documents)
    encoder.close_slice()
    found = encoder.encode(encoder.unpack(packed))
    np.testing.assert_array_equal(found.toarray(), encoder.encode(counts).toarray())


def test_vectors_come_back() -> None:
    values = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    encoder = VectorEncoder(4)
    counts = encoder.count([Document("a", i, "x", datetime.now(UTC), vector=v) for i, v in enumerate(values)])
    np.testing.assert_array_equal(encoder.unpack(encoder.pack(counts)).values, values)


def altered_bags(bag: bytes) -> list[bytes]:
    """Bags with one byte changed, cut off, or with more behind them."""
    flipped = [bag[:at] + bytes([bag[at] ^ 1 << bit]) + bag[at + 1 :] for at in range(len(bag)) for bit in range(8)]
    return [*flipped, *(bag[:length] for length in range(len(bag))), bag + b"x"]


def test_damaged_bags_are_refused_or_are_bags() -> None:
    table = WordTable(100)
    words = ["schön", "ship", "shop", "日本"]
    starts = np.concatenate(([0], np.cumsum([len(word.encode()) for word in words])))
    terms = table.extend(starts, np.frombuffer("".join(words).encode(), np.uint8))
    counts = Counts(np.array([0, 4]), terms.astype(np.int32), np.ones(4, np.uint16), np.array([4], np.int32))
    (bag,) = pack_bags(counts, table)
    refused = 0
    for one in altered_bags(bag):
        fresh = WordTable(100)
        try:
            found = unpack_bags([bag, one], fresh)
        except InputError:
            refused += 1
            continue
        assert len(found) == 2
        assert found.terms.max() < 100
        assert found.counts.min() > 0
    assert refused > len(altered_bags(bag)) / 3


@pytest.mark.parametrize(
    ("bag", "why"),
    [
        (b"", "too short"),
        (struct.pack("<II", 3000, 3000), "too many words"),
        (struct.pack("<II", 1, 1), "too short"),
        (struct.pack("<IIHH", 1, 1, 1, 5) + b"four", "lengths of its words"),
        (struct.pack("<IIHH", 1, 1, 0, 4) + b"four", "has no count"),
        (struct.pack("<IIHH", 1, 1, 1, 2) + b"\xff\xff", "not in UTF-8"),
        (struct.pack("<IIHHHH", 2, 2, 1, 1, 1, 1) + "é".encode(), "not in UTF-8"),
        (struct.pack("<IIHHHH", 2, 2, 1, 1, 1, 1) + b"aa", "a word twice"),
    ],
)
def test_what_is_no_bag_is_refused(bag: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        unpack_bags([bag], WordTable(100))


@pytest.mark.parametrize("packed", [b"abc", np.full(3, np.nan, np.float32).tobytes(), bytes(16)])
def test_what_is_no_vector_is_refused(packed: bytes) -> None:
    encoder = VectorEncoder(3)
    assert len(encoder.unpack([bytes(12), bytes(12)])) == 2
    with pytest.raises(InputError, match="expected 3 finite numbers"):
        encoder.unpack([bytes(12), packed])
