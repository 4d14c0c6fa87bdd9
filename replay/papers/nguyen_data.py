"""Data sets of [MC2]: images of letters, papers with contexts, pictures with tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from vmfstream.datasets import count_words
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.folders import need_data

SENTENCE = ("INTERNATIONAL", "CONFERENCE", "MACHINE", "LEARNING")

LETTERS: Mapping[str, str] = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "C": "01110 10001 10000 10000 10000 10001 01110",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01110 10001 10000 10111 10001 10001 01110",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "01110 00100 00100 00100 00100 00100 01110",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 11001 10101 10011 10001 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "R": "11110 10001 10001 11110 10100 10010 10001",
    "T": "11111 00100 00100 00100 00100 00100 00100",
}
"""Seven rows of five pixels; the paper shows its letters as pictures only, so these are ours."""

CENTRES, DEVIATIONS = (2.0, 4.0, 6.0, 8.0), (0.3, 0.5, 0.4, 0.6)
"""Contexts of the four clusters; the paper gives the means, and says that variances differ."""

CLEARNESS = 200.0
"""Concentration of the images of a letter."""

NIPS_FILES = ("nips_1987_1999/counts.npz", "nips_1987_1999/meta.parquet", "nips_1987_1999/vocab.txt")
COREL_FILES = ("corel5k/counts.npz", "corel5k/meta.parquet")

CLASSES = 13
"""Classes of pictures, as many as in the paper."""

HELD_OUT = 0.1
"""Share of the papers that are held out."""


@dataclass(frozen=True, slots=True, eq=False)
class CountsInContext:
    """Counts of words (J, V), contexts by name, names of the items of bags, and further facts about the documents."""

    counts: csr_array
    contexts: dict[str, Any]
    items: dict[str, list[str]]
    words: list[str]
    titles: list[str]
    y: NDArray[np.int64]


def letters(seed: int, documents: int = 100, tokens: int = 50) -> CountsInContext:
    """Draw ``documents`` bags of ``tokens`` pixels from each word of the sentence, and a number that tells which.

    Equal values of ``seed`` give equal documents.
    """
    rng = np.random.default_rng(seed)
    images, mixing, y = _letter_laws(documents)
    counts = rng.multinomial(tokens, (mixing @ images)[y])
    numbers = rng.normal(np.array(CENTRES)[y], np.array(DEVIATIONS)[y])
    return CountsInContext(csr_array(counts), {"number": numbers}, {}, [str(i) for i in range(35)], [], y)


def letter_images(seed: int, documents: int = 100, tokens: int = 50) -> tuple[list[Any], Any, Any]:
    """Draw the same ``documents``, every word an image: a direction about that of its letter, of `CLEARNESS`.

    Arguments as in `letters`. Returns contents, numbers and the word of the sentence, (J,) each.
    """
    rng = np.random.default_rng(seed)
    images, mixing, y = _letter_laws(documents)
    letter = _drawn_by_row(mixing[np.repeat(y, tokens)], rng)
    rows = np.empty((len(letter), images.shape[1]))
    for i, image in enumerate(images):
        law = VonMisesFisher(image / np.linalg.norm(image), CLEARNESS)
        rows[letter == i] = law.rvs(int((letter == i).sum()), rng)
    numbers = rng.normal(np.array(CENTRES)[y], np.array(DEVIATIONS)[y])
    return np.split(rows, len(y)), numbers, y


def labelled_letters(seed: int) -> tuple[csr_array, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw the documents token by token; return counts, numbers, words of the sentence, letters of tokens."""
    rng = np.random.default_rng(seed)
    images, mixing, y = _letter_laws(100)
    document = np.repeat(np.arange(len(y)), 50)
    letter = _drawn_by_row(mixing[y[document]], rng)
    pixel = _drawn_by_row(images[letter], rng)
    order = np.lexsort((pixel, document))
    counts = csr_array((np.ones(len(document)), (document, pixel)), shape=(len(y), images.shape[1]))
    counts.sum_duplicates()
    return counts, rng.normal(np.array(CENTRES)[y], np.array(DEVIATIONS)[y]), y, letter[order]


def _letter_laws(documents: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Pixels of every letter, letters of every word of the sentence, and the words of so many documents each."""
    images = np.array([[float(pixel) for pixel in LETTERS[letter].replace(" ", "")] for letter in LETTERS])
    used = np.array([[letter in word for letter in LETTERS] for word in SENTENCE], float)
    y = np.repeat(np.arange(len(SENTENCE)), documents)
    return images / images.sum(axis=1, keepdims=True), used / used.sum(axis=1, keepdims=True), y


def _drawn_by_row(laws: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray((rng.random((len(laws), 1)) > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1), np.int64)


def drawn(counts: csr_array, words: int, seed: int) -> csr_array:
    """Draw so many ``words`` of every document of ``counts`` (N, V) without putting them back, all of shorter ones.

    ``seed`` decides which.
    """
    return _kept(counts, np.full(counts.shape[0], words), seed)


def halved(counts: csr_array, seed: int) -> tuple[csr_array, csr_array]:
    """Cut the tokens of every document into two halves at random."""
    first = _kept(counts, np.asarray(counts.sum(axis=1)) // 2, seed)
    rest = csr_array(counts - first)
    rest.eliminate_zeros()
    return first, rest


def _kept(counts: csr_array, words: NDArray[Any], seed: int) -> csr_array:
    """The first ``words`` (J,) tokens of every document in a random order."""
    row = np.repeat(np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)), counts.data.astype(np.int64))
    column = np.repeat(counts.indices, counts.data.astype(np.int64))
    column = column[np.lexsort((np.random.default_rng(seed).random(len(row)), row))]
    kept = np.arange(len(row)) - np.searchsorted(row, row) < words[row]
    found = csr_array((np.ones(kept.sum()), (row[kept], column[kept])), shape=counts.shape)
    found.sum_duplicates()
    return found


@lru_cache(maxsize=1)
def papers() -> CountsInContext:
    """The papers of NIPS 1987-1999 with titles, authors and years."""
    counts = csr_array(load_npz(need_data(NIPS_FILES[0]))).astype(np.float64)
    meta = _table(NIPS_FILES[1])
    words = need_data(NIPS_FILES[2]).read_text(encoding="utf-8").split()
    titles = [str(title) for title in meta["title"]]
    in_titles, terms = count_words(titles)
    authors, names = _bag(meta["authors"])
    contexts = {
        "titles": in_titles.astype(np.float64),
        "authors": authors,
        "timestamp": np.asarray(meta["timestamp"], np.float64),
    }
    return CountsInContext(
        counts, contexts, {"titles": list(terms), "authors": names}, words, titles, np.full(len(titles), -1)
    )


@lru_cache(maxsize=1)
def pictures() -> CountsInContext:
    """Pictures of Corel with one of the 13 most frequent first tags, which is the class; the others are context."""
    counts = csr_array(load_npz(need_data(COREL_FILES[0]))).astype(np.float64)
    tags = [list(given) for given in _table(COREL_FILES[1])["tags"]]
    first = np.array([given[0] if given else "" for given in tags])
    names, sizes = np.unique(first[first != ""], return_counts=True)
    chosen = np.sort(names[np.argsort(-sizes, kind="stable")[:CLASSES]])
    rows = np.flatnonzero(np.isin(first, chosen) & (np.diff(counts.indptr) > 0))
    others, items = _bag([tags[row][1:] for row in rows])
    y = np.searchsorted(chosen, first[rows]).astype(np.int64)
    return CountsInContext(counts[rows], {"tags": others}, {"tags": items}, [], [], y)


def _table(file: str) -> Any:
    import duckdb

    return duckdb.read_parquet(str(need_data(file))).fetchnumpy()


def _bag(lists: Any) -> tuple[csr_array, list[str]]:
    """Count the items of lists of names."""
    names = sorted({name for given in lists for name in given})
    place = {name: i for i, name in enumerate(names)}
    columns = [place[name] for given in lists for name in given]
    indptr = np.concatenate([[0], np.cumsum([len(given) for given in lists])])
    rows = csr_array((np.ones(len(columns)), columns, indptr), shape=(len(lists), len(names)))
    rows.sum_duplicates()
    return rows, names
