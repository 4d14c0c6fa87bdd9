"""Vectors of words from a file, and texts as bags of them.

A file is word2vec text (a first line "V D", then a word and its D numbers a line), GloVe text (the same without the
first line), either also as ``.gz``, or ``.npz`` with the arrays ``words`` and ``vectors``.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from vmfstream.errors import InputError
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.word_table import WordTable

__all__ = ["Coverage", "WordBags", "WordVectors", "read_word_vectors"]

_MOST_WORDS = 5_000_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of some texts has vectors: tokens (words as they stand in the texts) and different words.

    ``missing`` are the commonest words without a vector, with their tokens, commonest first.
    """

    tokens: int
    known_tokens: int
    words: int
    known_words: int
    missing: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """Share of the tokens that have a vector, 1 of no tokens."""
        return self.known_tokens / self.tokens if self.tokens else 1.0

    def __str__(self) -> str:
        words = f"{self.known_words:,} of {self.words:,} different words"
        return f"{self.share:.0%} of {self.tokens:,} tokens have a vector, {words}"


@dataclass(frozen=True, slots=True, eq=False)
class WordBags:
    """Texts as bags: ``counts`` (N, V) says how often each of N texts holds each of V words with a vector."""

    counts: csr_array
    coverage: Coverage


class WordVectors:
    """Words and their vectors.

    Parameters
    ----------
    words : sequence of V str
        A word that comes again is left out: files begin with the commonest.
    vectors : array, shape (V, D)
        Finite; float32 and float64 are kept.

    Raises
    ------
    ValueError
        If shapes do not fit, or a value is not finite; names the word.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "Oslo"], [[1.0, 0.0], [0.0, 1.0]])
    >>> bags = vectors.bags(["The cat saw a cat", "oslo"], leave_out=["the", "a"])
    >>> bags.counts.toarray().tolist(), str(bags.coverage)
    ([[2.0, 0.0], [0.0, 1.0]], '75% of 4 tokens have a vector, 2 of 3 different words')
    """

    def __init__(self, words: Sequence[str], vectors: ArrayLike) -> None:
        given = np.asarray(vectors)
        if given.dtype not in (np.float32, np.float64):
            given = given.astype(np.float32)
        if given.ndim != 2 or given.shape[0] != len(words):
            raise ValueError(f"vectors: expected a row for each of {len(words)} words, got the shape {given.shape}")
        bad = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if bad.size:
            raise ValueError(f"vectors: expected finite values, got others for {words[bad[0]]!r} in row {bad[0]}")
        first: dict[str, int] = {}
        for row, word in enumerate(words):
            first.setdefault(word, row)
        self.words = tuple(first)
        self.vectors = np.ascontiguousarray(given[list(first.values())])
        self._rows = {word: row for row, word in enumerate(self.words)}
        for row, word in enumerate(self.words):
            self._rows.setdefault(word.lower(), row)

    def __len__(self) -> int:
        return len(self.words)

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of every word, -1 without a vector; a word in lower case may also stand in capitals."""
        return np.array([self._rows.get(word, -1) for word in words], np.int64)

    def bags(self, texts: Sequence[str], *, leave_out: Collection[str] = (), missing: int = 20) -> WordBags:
        """Cut texts into words, and count those that have a vector.

        Parameters
        ----------
        texts : sequence of N str
        leave_out : words in lower case that are not counted at all, such as stop words
        missing : int, how many of the words without a vector to name
        """
        table = WordTable(_MOST_WORDS)
        table.add(sorted(leave_out))
        skip = len(table)
        counted = Tokeniser().count(texts, table, skip)
        counts = csr_array((counted.counts, counted.terms, counted.indptr), shape=(len(counted), len(table)))
        return self.rebag(
            csr_array(counts[:, skip:]), [table.word(i) for i in range(skip, len(table))], missing=missing
        )

    def rebag(self, counts: csr_array, terms: Sequence[str], *, missing: int = 20) -> WordBags:
        """Turn ``counts`` of ``terms`` (N, number of terms) into counts of the words that have a vector.

        ``missing`` is how many of the commonest words without a vector are named.

        Raises
        ------
        ValueError
            If there is not one term a column.
        """
        if counts.shape[1] != len(terms):
            raise ValueError(f"terms: expected one for each of {counts.shape[1]} columns, got {len(terms)}")
        rows = self.find(terms)
        known = np.flatnonzero(rows >= 0)
        tokens = np.asarray(counts.sum(axis=0), np.int64)
        shape = (len(terms), len(self))
        chosen = csr_array((np.ones(len(known)), (known, rows[known])), shape=shape) if len(known) else csr_array(shape)
        unknown = np.where((rows < 0) & (tokens > 0), tokens, 0)
        commonest = [i for i in np.argsort(-unknown, kind="stable")[:missing] if unknown[i]]
        coverage = Coverage(
            int(tokens.sum()),
            int(tokens[known].sum()),
            int((tokens > 0).sum()),
            int((tokens[known] > 0).sum()),
            tuple((terms[i], int(tokens[i])) for i in commonest),
        )
        return WordBags(csr_array(counts.astype(np.float64) @ chosen), coverage)


def read_word_vectors(path: str | Path, *, only: Collection[str] | None = None, most: int | None = None) -> WordVectors:
    """Read vectors of words from a file.

    Parameters
    ----------
    path : file in one of the forms above
    only : words to read, in any case; all by default. Files of millions of words are read much faster so
    most : int, how many words to read, those that come first; all by default

    Raises
    ------
    InputError
        If there is no such file, or it is none of these forms; names the line.
    """
    file = Path(path)
    wanted = None if only is None else {word.lower() for word in only}
    try:
        words, vectors = _from_npz(file) if file.suffix == ".npz" else _from_text(file, wanted, most)
        kept = [i for i, word in enumerate(words) if wanted is None or word.lower() in wanted][:most]
        if not kept:
            raise InputError(
                f"{file}: no words with vectors" + (" among those asked for" if wanted is not None else "")
            )
        return WordVectors([words[i] for i in kept], vectors[kept])
    except FileNotFoundError:
        raise InputError(f"{file}: no such file") from None
    except (ValueError, OSError, BadZipFile) as error:
        raise InputError(f"{file}: {error}") from error


def _from_npz(file: Path) -> tuple[list[str], NDArray[np.floating]]:
    with np.load(file, allow_pickle=False) as arrays:
        if not {"words", "vectors"} <= set(arrays):
            raise InputError(f"{file}: expected the arrays words and vectors, got {', '.join(arrays) or 'none'}")
        words, vectors = arrays["words"], arrays["vectors"]
    if vectors.ndim != 2 or words.shape != vectors.shape[:1]:
        raise InputError(f"{file}: expected a row of vectors for each word, got {words.shape} and {vectors.shape}")
    return [str(word) for word in words], vectors


def _from_text(file: Path, wanted: set[str] | None, most: int | None) -> tuple[list[str], NDArray[np.floating]]:
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    d: int | None = None
    for number, line in _lines(file):
        word, *values = line.split(" ")
        if number == 1 and _is_header(line):
            d = int(values[0])
            continue
        d = len(values) if d is None else d
        if len(values) > d:  # a few words of some files hold spaces
            word, values = " ".join([word, *values[:-d]]), values[-d:]
        if len(values) != d or not d:
            raise InputError(f"{file}, line {number}: expected a word and {d or 'some'} numbers, got {line[:40]!r}")
        if wanted is not None and word.lower() not in wanted:
            continue
        try:
            rows.append(np.array(values, np.float32))
        except ValueError:
            raise InputError(f"{file}, line {number}: expected numbers behind the word, got {line[:40]!r}") from None
        words.append(word)
        if len(words) == most:
            break
    return words, np.stack(rows) if rows else np.zeros((0, 0))


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                yield number, text


def _is_header(line: str) -> bool:
    fields = line.split(" ")
    return len(fields) == 2 and all(field.isdecimal() for field in fields)
