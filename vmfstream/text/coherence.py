"""Topic coherence and diversity: how well the strongest words of topics belong together, and how few they share.

Coherence is computed from how many documents of a reference hold each word, and how many hold both words of a pair
[Röder, Both, Hinneburg 2015]. Only pairs among the words of topics are counted.

- ``npmi``: the mean over pairs of words of their normalised pointwise mutual information, log(p_ij / (p_i p_j)) /
  -log p_ij, from -1 (never together) to 1 (always together); 0 is independence.
- ``c_v``: the mean over the words of a topic of the cosine between the word's NPMI with all of them and the sum of
  these vectors, from about 0 to 1. As published its reference are windows of 110 words instead of documents.
- Diversity: the mean over the words of a topic of one divided by the number of topics that have the word; its mean
  over topics is the share of different words among all [Dieng, Ruiz, Blei 2020].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Vector
from vmfstream.text.counts import Counts

TOP_WORDS = 10
"""Strongest words of a topic that are judged."""

_EPSILON = 1e-12
"""Added to the probability of a pair, so that words that are never together have an NPMI [as Palmetto, gensim]."""


class Cooccurrence(NamedTuple):
    """How many of ``documents`` hold both words of each pair, (W, W); on the diagonal how many hold the word."""

    documents: int
    together: NDArray[np.int64]


def cooccurrence(parts: Iterable[Counts], words: NDArray[np.integer], terms: int) -> Cooccurrence:
    """Count in how many documents words are, and are together.

    Parameters
    ----------
    parts : documents, batch by batch.
    words : ids of W different terms; -1 stands for words that are in no document.
    terms : all terms have ids below it.
    """
    place = np.full(max(terms, 1), -1, np.int32)
    known = words >= 0
    place[words[known]] = np.flatnonzero(known)
    together = np.zeros((words.size, words.size), np.int64)
    documents = 0
    for counts in parts:
        _count_pairs(counts.indptr, counts.terms, place, together)
        documents += len(counts)
    both = together + together.T
    np.fill_diagonal(both, np.diag(together))
    return Cooccurrence(documents, both)


def coherence(topics: Sequence[NDArray[np.integer]], found: Cooccurrence) -> tuple[Vector, Vector]:
    """Return NPMI and C_v of each of K topics, (K,) both; ``topics`` are places of their words in ``found``.

    Words that are in no document are left out; NaN where fewer than two are left.
    """
    present = np.diag(found.together) > 0
    chosen = [topic[present[topic]] for topic in topics]
    lengths = np.array([len(words) for words in chosen])
    scores = np.full((2, len(topics)), np.nan)
    for length in np.unique(lengths[lengths > 1]).tolist():
        own = np.flatnonzero(lengths == length)
        among = _npmi(found, np.array([chosen[k] for k in own.tolist()]))
        whole = among.sum(axis=1)
        scale = np.linalg.norm(among, axis=2) * np.linalg.norm(whole, axis=1)[:, None]
        along = np.einsum("kij,kj->ki", among, whole)
        first, second = np.triu_indices(length, 1)
        scores[0, own] = among[:, first, second].mean(axis=1)
        scores[1, own] = np.divide(along, scale, out=np.zeros_like(along), where=scale > 0.0).mean(axis=1)
    return scores[0], scores[1]


def diversity(topics: Sequence[Sequence[Hashable]]) -> Vector:
    """Return of each of K topics the mean over its words of 1 / (topics that have the word), (K,); NaN without words.

    Examples
    --------
    >>> diversity([["ship", "sea"], ["cat", "sea"], ["dog", "paw"]])
    array([0.75, 0.75, 1.  ])
    """
    owners = Counter(word for topic in topics for word in set(topic))
    return np.array([np.mean([1.0 / owners[word] for word in topic]) if topic else np.nan for topic in topics])


def _npmi(found: Cooccurrence, words: NDArray[np.integer]) -> Vector:
    """Normalised pointwise mutual information of the pairs of n ``words`` of each of K topics, (K, n) to (K, n, n)."""
    documents = max(found.documents, 1)
    joint = found.together[words[:, :, None], words[:, None, :]] / documents
    single = np.diag(found.together)[words] / documents
    expected = single[:, :, None] * single[:, None, :]
    padded = joint + _EPSILON
    information = np.log(padded / expected)  # all words are in documents
    scale = -np.log(padded)
    # words that are in every document say nothing: 0 / 0
    return np.asarray(np.divide(information, scale, out=np.zeros_like(joint), where=scale > 1e-9))


@njit(cache=True, nogil=True)
def _count_pairs(indptr, terms, place, together):  # type: ignore[no-untyped-def]
    """Add the pairs of wanted words of each document, in whichever order they stand, to ``together``."""
    here = np.empty(together.shape[0], dtype=np.int32)
    for document in range(indptr.size - 1):
        found = 0
        for j in range(indptr[document], indptr[document + 1]):
            term = terms[j]
            if 0 <= term < place.size and place[term] >= 0:
                here[found] = place[term]
                found += 1
        for a in range(found):
            for b in range(a, found):
                low, high = min(here[a], here[b]), max(here[a], here[b])
                together[low, high] += 1
