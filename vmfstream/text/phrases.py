"""Phrases of a stream: pairs of words that are adjacent far more often than by chance.

Words are counted alone and in pairs, document by document. A pair is a phrase if it came often enough and its
normalised pointwise mutual information is high [Bouma 2009]. Old counts fade, and only the most frequent pairs stay, so
that memory is bounded and phrases follow the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import Arrays
from vmfstream.text.tokeniser import Tokeniser, WordRuns
from vmfstream.text.word_table import WordTable

HALF_LIFE = 50_000
"""Documents after which counts have lost half their weight."""

MOST_PAIRS = 32_768
"""Pairs that are kept from one call to the next, those with the largest counts."""

LEAST_COUNT = 3.0
LEAST_NPMI = 0.35
"""What a pair needs to be a phrase: how often it came lately, and its NPMI."""

LONGEST = 3
"""Words of the longest phrase."""

_LEAST_COUPLING = 0.08
"""Share of the occurrences of its less frequent word that a pair needs: *ceo says* is what many other ceos do."""

_MOST_WORDS = 2 * MOST_PAIRS
_SHIFT = np.int64(32)
_LOW = np.int64(2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Phrases as they stand in N documents.

    ``document`` (P,) are rows, ``phrase`` (P,) places in ``names``; a document may hold a phrase twice.
    """

    document: NDArray[np.int64]
    phrase: NDArray[np.int64]
    names: Sequence[str]


class Phrases:
    """Learns phrases from texts in one pass.

    Parameters
    ----------
    tokeniser : Tokeniser
        Cuts texts into words.
    stop_words : iterable of str
        Words that are part of no phrase; nothing is joined across them.

    Notes
    -----
    Memory is bounded by `MOST_PAIRS` and twice as many words from call to call, whatever the stream's length. A pair
    stands in the text with one blank, hyphen or line break between its words.

    Examples
    --------
    >>> phrases = Phrases(Tokeniser(), ["the", "of"])
    >>> texts = [f"north korea {word}" for word in ("tests", "talks", "fires", "waits")]
    >>> spans = phrases.learn([*texts, "peace talks", "korea of old", "the north wind"])
    >>> spans.names, spans.document.tolist()
    (['north korea'], [0, 1, 2, 3])
    """

    def __init__(self, tokeniser: Tokeniser, stop_words: Iterable[str] = ()) -> None:
        self._tokeniser = tokeniser
        stops = sorted(set(stop_words))
        self._stops = len(stops)
        self._words = WordTable(4 * _MOST_WORDS + self._stops)
        self._words.add(stops)
        self._alone = np.zeros(self._stops)
        self._pairs = np.zeros(0, np.int64)
        self._often = np.zeros(0)
        self._total = 0.0

    def __len__(self) -> int:
        """Pairs that are counted now."""
        return self._pairs.size

    def learn(self, texts: Sequence[str]) -> Spans:
        """Count the pairs of N texts, and return the phrases that stand in them, as far as they are known now."""
        runs = self._tokeniser.runs(texts, self._words)
        fade = 0.5 ** (len(texts) / HALF_LIFE)
        alone = np.bincount(runs.words[runs.words >= 0], minlength=len(self._words)).astype(np.float64)
        alone[: self._alone.size] += fade * self._alone
        self._alone = alone
        self._total = fade * self._total + float(np.count_nonzero(runs.words >= self._stops))
        self._often = fade * self._often
        first = self._joined(runs)
        keys, counts = np.unique(_keys(runs.words[first - 1], runs.words[first]), return_counts=True)
        at = np.searchsorted(self._pairs, keys)
        known = np.append(self._pairs, -1)[at] == keys
        self._often[at[known]] += counts[known]
        self._pairs = np.insert(self._pairs, at[~known], keys[~known])
        self._often = np.insert(self._often, at[~known], counts[~known])
        spans = self._spans(runs)
        self._prune()
        return spans

    def pairs(self) -> list[str]:
        """Return the phrases of two words that are known now, the most frequent first."""
        at = self._phrases()
        at = at[np.argsort(-self._often[at], kind="stable")]
        return self._texts(at)

    def among(self, words: Iterable[str]) -> dict[str, float]:
        """Return the phrases of two words that are known now and made of ``words``, with their counts."""
        ids = self._words.find(words)
        at = self._phrases()
        both = np.isin(self._pairs[at] >> _SHIFT, ids) & np.isin(self._pairs[at] & _LOW, ids)
        return dict(zip(self._texts(at[both]), self._often[at[both]].tolist(), strict=True))

    def _texts(self, at: NDArray[np.int64]) -> list[str]:
        both = zip((self._pairs[at] >> _SHIFT).tolist(), (self._pairs[at] & _LOW).tolist(), strict=True)
        return [f"{self._words.word(one)} {self._words.word(other)}" for one, other in both]

    def _joined(self, runs: WordRuns) -> NDArray[np.int64]:
        """Return where words stand that make a pair with the word before."""
        good = runs.words >= self._stops
        joined = runs.joined & good
        joined[1:] &= good[:-1]
        joined[:1] = False
        return np.flatnonzero(joined)

    def _phrases(self) -> NDArray[np.int64]:
        """Return which pairs are phrases, in their order."""
        at = np.flatnonzero(self._often >= LEAST_COUNT)
        often, a, b = self._often[at], self._pairs[at] >> _SHIFT, self._pairs[at] & _LOW
        together = often / self._total
        chance = self._alone[a] * self._alone[b] / self._total**2
        npmi = np.log(together / chance) / np.maximum(-np.log(together), 1e-12)
        coupling = often / np.maximum(self._alone[a], self._alone[b])
        good = (npmi >= LEAST_NPMI) & (coupling >= _LEAST_COUPLING) & (a != b)
        return np.asarray(at[good], np.int64)

    def _spans(self, runs: WordRuns) -> Spans:
        """Find phrases in texts: pairs, and runs of pairs of up to `LONGEST` different words as wholes."""
        known = self._pairs[self._phrases()]
        at = self._joined(runs)
        at = at[np.isin(_keys(runs.words[at - 1], runs.words[at]), known)]
        if not at.size:
            return Spans(np.zeros(0, np.int64), np.zeros(0, np.int64), [])
        # words at-1 and at belong together; one after the other they are a longer run
        begins = np.flatnonzero(np.diff(at, prepend=-2) > 1)
        ends = np.append(begins[1:], at.size)
        lengths = ends - begins + 1
        short = (lengths <= LONGEST) & (runs.words[at[begins] - 1] != runs.words[at[ends - 1]])  # none stands twice
        whole = np.flatnonzero(short)
        words = np.full((whole.size, LONGEST), -1, np.int64)
        first = at[begins[whole]] - 1
        for place in range(LONGEST):
            there = lengths[whole] > place
            words[there, place] = runs.words[first[there] + place]
        # of the others every pair
        long = np.repeat(~short, ends - begins)
        pairs = np.full((np.count_nonzero(long), LONGEST), -1, np.int64)
        pairs[:, 0], pairs[:, 1] = runs.words[at[long] - 1], runs.words[at[long]]
        distinct, phrase = np.unique(np.concatenate([words, pairs]), axis=0, return_inverse=True)
        names = [" ".join(self._words.word(w) for w in row if w >= 0) for row in distinct.tolist()]
        document = runs.document[np.concatenate([first, at[long]])]
        return Spans(document, phrase.reshape(-1).astype(np.int64), names)

    def _prune(self) -> None:
        """Forget the rarest pairs, and words that are in no pair if there are too many."""
        if self._pairs.size > MOST_PAIRS:
            least = np.partition(self._often, self._pairs.size - MOST_PAIRS)[self._pairs.size - MOST_PAIRS]
            stay = np.flatnonzero(self._often > least)
            equal = np.flatnonzero(self._often == least)[: MOST_PAIRS - stay.size]
            stay = np.sort(np.concatenate([stay, equal]))
            self._pairs, self._often = self._pairs[stay], self._often[stay]
        if len(self._words) - self._stops > _MOST_WORDS:
            used = np.unique(np.concatenate([np.arange(self._stops), self._pairs >> _SHIFT, self._pairs & _LOW]))
            place = np.full(len(self._words), -1, np.int64)
            place[used] = np.arange(used.size)
            self._words.keep(used)
            self._alone = self._alone[used]
            self._pairs = _keys(place[self._pairs >> _SHIFT], place[self._pairs & _LOW])  # in the same order

    def arrays(self) -> Arrays:
        """Return all that `restore` needs."""
        starts, pool = self._words.content()
        return {
            "starts": starts,
            "pool": pool,
            "alone": self._alone.copy(),
            "pairs": self._pairs,
            "often": self._often.copy(),
            "total": np.array([self._total]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from what `arrays` returned, with the same stop words; what follows is the same to the last bit."""
        self._words.refill(np.asarray(arrays["starts"], np.int64), np.asarray(arrays["pool"], np.uint8))
        self._alone, self._often = np.array(arrays["alone"], np.float64), np.array(arrays["often"], np.float64)
        self._pairs = np.array(arrays["pairs"], np.int64)
        self._total = float(arrays["total"][0])
        parts = self._pairs >> _SHIFT, self._pairs & _LOW
        if any((part >= len(self._alone)).any() for part in parts):
            raise ValueError(f"expected pairs of {len(self._alone)} words, got others")


def _keys(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
    return (one.astype(np.int64) << _SHIFT) | other.astype(np.int64)
