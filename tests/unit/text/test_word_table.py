from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vmfstream.text import word_table
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.word_table import WordTable


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), max_size=60))
def test_ids_are_those_of_a_dictionary(words: list[str]) -> None:
    numbers: dict[str, int] = {}
    expected = [numbers.setdefault(word, len(numbers)) for word in words]
    table = WordTable(1000)
    assert table.add(words).tolist() == expected
    assert [table.word(i) for i in range(len(table))] == list(numbers)
    assert table.texts(np.arange(len(table))[::-1]) == list(numbers)[::-1]


def test_words_with_one_key_are_not_confused() -> None:
    # the key of up to eight bytes is the word itself, which says nothing about leading zeros
    assert WordTable(10).add(["\x00a", "a", "\x00\x00a", "a"]).tolist() == [0, 1, 2, 1]


def test_growth_keeps_the_ids() -> None:
    table = WordTable(100_000)
    words = [f"{'long' * (i % 3)}word{i}" for i in range(20_000)]
    for first in range(0, 20_000, 777):
        table.add(words[first : first + 777])
    assert table.add(words).tolist() == list(range(20_000))


def test_the_limit_holds() -> None:
    table = WordTable(3)
    assert table.add(["a", "b", "c", "d", "a", "e"]).tolist() == [0, 1, 2, -1, 0, -1]
    assert len(table) == 3


def test_keeping_some_words() -> None:
    table = WordTable(100)
    table.add(["a", "b", "c", "d"])
    table.keep(np.array([0, 2, 3]))
    assert table.add(["d", "b", "c", "a"]).tolist() == [2, 3, 1, 0]


def test_content_refills_another_table() -> None:
    table, copy = WordTable(100), WordTable(100)
    table.add(["one", "two", "drei" * 9])
    copy.refill(*table.content())
    assert copy.add(["drei" * 9, "two", "new"]).tolist() == [2, 1, 3]
    assert len(table) == 3


def test_long_words_of_one_hash_are_told_apart() -> None:
    secret, bits = int(word_table._KEY[0]), 2**64

    def mixed(block: bytes) -> int:
        key = (secret ^ int.from_bytes(block, "big")) * int(word_table._PRIME) % bits
        return (key ^ key >> 32) * secret % bits

    one = b"sixteen letters."
    end = int.from_bytes(one[8:], "big") ^ mixed(one[:8]) ^ mixed(b"SIXTEEN ")
    words = [one, b"SIXTEEN " + end.to_bytes(8, "big")]
    starts, pool = np.array([0, 16, 32]), np.frombuffer(b"".join(words), np.uint8)
    assert WordTable(10).extend(starts, pool).tolist() == [0, 1]


_PLACES = """
import numpy as np
from vmfstream.text.word_table import WordTable
table = WordTable(5000)
words = ["irdlpjmzaaaaaaaa", "jxfszdnzjnswhzfw", *(f"word{i}" for i in range(500))]
assert table.add(words).tolist() == list(range(502))
order = np.flatnonzero(table.words.slots[1::2])
print((table.words.slots[2 * order + 1] & np.uint64(0xFFFFFFFF)).tolist())
"""


@pytest.mark.thorough
def test_places_are_others_in_every_process_and_ids_the_same() -> None:
    run = [subprocess.run([sys.executable, "-c", _PLACES], capture_output=True, text=True, check=True) for _ in "12"]
    assert run[0].stdout != run[1].stdout


def test_words_that_collided_under_a_key_do_not_under_another() -> None:
    """Words of letters whose places under a known key are all in one sixteenth of the table."""
    known, other = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x9E3779B97F4A7C15)
    rng = np.random.default_rng(0)
    letters = (rng.integers(0, 26, (100_000, 8)) + 97).astype(np.uint64)
    keys = (letters << np.arange(56, -8, -8).astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    found = keys[slot_numbers(keys, known) < 4]
    assert len(found) > 200
    assert len(np.unique(slot_numbers(found, known))) <= 4
    most = np.bincount(slot_numbers(found, other), minlength=1024).max()
    assert most < 12


def slot_numbers(keys: NDArray[np.uint64], secret: np.uint64) -> NDArray[np.int64]:
    """Places in a table of 1,024."""
    return np.array([word_table.slot_of(1023, key, secret) for key in keys])


def test_words_of_one_hash_in_a_text_are_told_apart() -> None:
    table = WordTable(100)
    counts = Tokeniser().count(["irdlpjmzaaaaaaaa jxfszdnzjnswhzfw irdlpjmzaaaaaaaa", "jxfszdnzjnswhzfw"], table)
    assert [table.word(i) for i in range(len(table))] == ["irdlpjmzaaaaaaaa", "jxfszdnzjnswhzfw"]
    assert counts.terms.tolist() == [0, 1, 1]
    assert counts.counts.tolist() == [2, 1, 1]
