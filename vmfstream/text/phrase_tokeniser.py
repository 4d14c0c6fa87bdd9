"""Phrases as features: a pair of words that is a known phrase is counted in addition to its words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vmfstream.text.counts import Counts
from vmfstream.text.tokeniser import Tokeniser, WordRuns
from vmfstream.text.word_table import WordTable

_SHIFT, _LOW = np.int64(32), np.int64(2**32 - 1)


class PhraseTokeniser(Tokeniser):
    """Counts what another tokeniser counts, and pairs of words that stand in the table as ``one other``.

    A pair has a blank, a hyphen or a line break between its words. It is never added to the table here:
    `vmfstream.text.vocabulary.Vocabulary.add_phrases` does that, so that memory is bounded.

    Parameters
    ----------
    words : Tokeniser
        Cuts texts into words.

    Examples
    --------
    >>> table = WordTable(100)
    >>> table.add(["north", "korea", "north korea"]).tolist()
    [0, 1, 2]
    >>> counts = PhraseTokeniser(Tokeniser()).count(["North Korea, north; korea"], table)
    >>> counts.terms.tolist(), counts.counts.tolist(), counts.tokens.tolist()
    ([0, 1, 2], [2, 2, 1], [5])
    """

    def __init__(self, words: Tokeniser) -> None:
        super().__init__(*words.options)
        self._words = words

    def stop_words(self) -> Sequence[str]:
        """Return those of the other tokeniser."""
        return self._words.stop_words()

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text in their order, without phrases."""
        return self._words.tokens(text)

    def runs(self, texts: Sequence[str], table: WordTable) -> WordRuns:
        """Return the words of ``texts`` one after the other, without phrases."""
        return self._words.runs(texts, table)

    def count(self, texts: Sequence[str], table: WordTable, skip: int = 0) -> Counts:
        """Count the words and phrases of ``texts``; arguments and errors as of `Tokeniser.count`."""
        alone = self._words.count(texts, table, skip)
        runs = self._words.runs(texts, table)
        good = runs.words >= skip
        at = 1 + np.flatnonzero(runs.joined[1:] & good[1:] & good[:-1])
        keys, place = np.unique((runs.words[at - 1] << _SHIFT) | runs.words[at], return_inverse=True)
        terms = table.places(*_joined(table, keys >> _SHIFT, keys & _LOW))[place.reshape(-1)]
        known = terms >= 0
        if not known.any():
            return alone
        row = runs.document[at][known]
        pairs, often = np.unique((row << _SHIFT) | terms[known], return_counts=True)
        document, term = pairs >> _SHIFT, pairs & _LOW
        rows = np.concatenate([np.repeat(np.arange(len(texts)), np.diff(alone.indptr)), document])
        order = np.argsort(rows, kind="stable")  # of a document first its words, then its phrases
        often = np.minimum(often, np.iinfo(np.uint16).max).astype(np.uint16)
        return Counts(
            np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(texts))))).astype(np.int64),
            np.concatenate([alone.terms, term.astype(np.int32)])[order],
            np.concatenate([alone.counts, often])[order],
            alone.tokens + np.bincount(row, minlength=len(texts)).astype(np.int32),
        )


def _joined(
    table: WordTable, one: NDArray[np.int64], other: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return pairs of words with a blank between them, as starts and bytes."""
    parts = [table.take(ids) for ids in (one, other)]
    lengths = [np.diff(starts) for starts, _ in parts]
    starts = np.concatenate(([0], np.cumsum(lengths[0] + lengths[1] + 1)))
    letters = np.full(int(starts[-1]), ord(" "), np.uint8)
    for begins, (bounds, pool), length in zip((starts[:-1], starts[:-1] + lengths[0] + 1), parts, lengths, strict=True):
        letters[np.arange(pool.size) + np.repeat(begins - bounds[:-1], length)] = pool
    return starts.astype(np.int64), letters
