"""Coherence and diversity of the words of topics, judged by the documents of the window when a slice ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vmfstream.records import TopicRows
from vmfstream.text.coherence import TOP_WORDS, coherence, cooccurrence, diversity
from vmfstream.text.encoders import Counted, WordCounting


def with_quality(topics: TopicRows, encoder: WordCounting, window: Sequence[Counted]) -> TopicRows:
    """Return topics with the coherence and diversity of their strongest words.

    Parameters
    ----------
    topics : TopicRows
    encoder : the one that counted the documents.
    window : counts of the documents that words are looked for in, slice by slice.

    Notes
    -----
    O(words of the window) and a pass over the pairs that each document holds, of 10 words per topic.
    """
    lists = [[word for word, _ in words[:TOP_WORDS]] for words in topics.words]
    words = list(dict.fromkeys(word for some in lists for word in some))
    vocabulary = encoder.vocabulary
    found = cooccurrence(map(encoder.word_counts, window), vocabulary.find(words), vocabulary.n_terms)
    place = {word: at for at, word in enumerate(words)}
    npmi, c_v = coherence([np.array([place[word] for word in some], np.int64) for some in lists], found)
    return replace(topics, npmi=npmi, c_v=c_v, diversity=diversity(lists))
