"""Encoders of vectors whose topics are named by the words of the documents' texts.

Directions of embeddings have no words. So the words of documents are counted by topic, and a topic is named by those
that are more frequent in it than in others (class-based tf-idf). Counts of past slices fade, so that names follow the
stream, and are bounded by topics times vocabulary.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.errors import InputError
from vmfstream.records import Arrays, Document, Documents, arrays_under, texts_of
from vmfstream.text.counts import Counts
from vmfstream.text.encoders import Place, TopWords, VectorEncoder, Vectors, strongest_words
from vmfstream.text.sentence_models import SentenceModel
from vmfstream.text.vocabulary import Growth, Vocabulary

log = logging.getLogger(__name__)

FADE = 0.5
"""What is left of a topic's counts after one more slice."""

_LEAST = 0.05  # a faded count below this is forgotten
_NAMED_SLICES = 64
_NAMES = 60
_WORDS = "words."


@dataclass(frozen=True, slots=True, eq=False)
class NamedVectors:
    """N dense documents with the counts of their words."""

    vectors: Vectors
    counts: Counts

    @property
    def values(self) -> NDArray[np.float32]:
        """The vectors, (N, dim)."""
        return self.vectors.values

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> NamedVectors:
        """Return the documents ``rows`` (indices, a mask or a slice), in this order."""
        return NamedVectors(self.vectors.take(rows), self.counts.take(rows))

    def remap(self, terms: NDArray[np.integer] | None) -> NamedVectors:
        """Follow a renumbering of the terms."""
        return NamedVectors(self.vectors, self.counts.remap(terms))

    def arrays(self) -> Arrays:
        """Return the flat arrays that ``counts_from`` takes."""
        return self.vectors.arrays() | {f"{_WORDS}{name}": a for name, a in self.counts.arrays().items()}


class NamedVectorEncoder(VectorEncoder):
    """Vectors as dense unit rows, with words for topics from the documents' texts.

    Parameters
    ----------
    dim : int
        Dimension of the vectors, >= 2.
    vocabulary : Vocabulary
        Of the texts; documents without one have no words.
    """

    def __init__(self, dim: int, vocabulary: Vocabulary) -> None:
        super().__init__(dim)
        self.vocabulary = vocabulary
        self._ids = np.zeros(0, np.int64)
        self._by_topic = csr_array((0, 0), dtype=np.float32)
        self._named: dict[int, dict[int, list[tuple[str, float]]]] = {}

    def count(self, documents: Sequence[Document]) -> NamedVectors:
        """Check the vectors of N documents and count the words of their texts."""
        vectors = super().count(documents)
        return NamedVectors(vectors, self.vocabulary.count(texts_of(documents)))

    def word_counts(self, counts: NamedVectors) -> Counts:
        """Return the counts of the words of the texts."""
        return counts.counts

    def vectors_beside(self, counts: NamedVectors) -> NDArray[np.float32]:
        """Return the vectors as unit rows, (N, dim)."""
        return np.asarray(self.encode(counts.vectors), np.float32)

    def concat(self, parts: Sequence[Any]) -> NamedVectors:
        """Put batches under each other, which may be none."""
        return NamedVectors(super().concat(parts), Counts.concat([part.counts for part in parts]))

    def counts_from(self, arrays: Arrays) -> NamedVectors:
        """Rebuild documents from their ``arrays()``."""
        words = arrays_under(arrays, _WORDS)
        return NamedVectors(super().counts_from(arrays), Counts.from_arrays(words))

    def pack(self, counts: Any) -> list[bytes]:
        """Return the numbers of each document, and its bag of words behind them."""
        bags = self.vocabulary.pack(counts.counts)
        return [numbers + bag for numbers, bag in zip(super().pack(counts.vectors), bags, strict=True)]

    def unpack(self, packed: Sequence[bytes]) -> NamedVectors:
        """Rebuild documents from what ``pack`` returned."""
        size = self.dim * np.dtype(np.float32).itemsize
        vectors = super().unpack([one[:size] for one in packed])
        return NamedVectors(vectors, self.vocabulary.unpack([one[size:] for one in packed]))

    def close_slice(self, index: int = 0) -> Growth:
        """Bring the words up to date; the dimensions stay as they are."""
        growth = self.vocabulary.close_slice(index)
        self._by_topic = _moved(self._by_topic, growth.columns)
        return replace(Growth.none(self.dim), terms=growth.terms)

    def observe_slice(
        self, index: int, ids: NDArray[np.int64], parts: Sequence[Any], resp: NDArray[np.float32]
    ) -> None:
        """Count the words of a slice by the topics of its documents, and name the topics."""
        fresh = self.by_topic(self.concat(parts), resp[:, : len(ids)])
        before = np.zeros_like(fresh)
        place = {int(topic): row for row, topic in enumerate(self._ids)}
        for row, topic in enumerate(ids.tolist()):
            if topic in place:
                before[row] = self._by_topic[[place[topic]]].toarray()[0]
        total = fresh + np.float32(FADE) * before
        total[total < _LEAST] = 0.0
        self._ids, self._by_topic = ids.copy(), csr_array(total)
        words = self.class_words(total, _NAMES)
        if not (self._named or any(words)):
            log.warning("topics have no names: the documents so far share no words; name another field by --text")
        self._named[index] = dict(zip(ids.tolist(), words, strict=True))
        for old in sorted(self._named)[:-_NAMED_SLICES]:
            del self._named[old]

    def by_topic(self, documents: NamedVectors, resp: NDArray[np.float32]) -> NDArray[np.float32]:
        """How often each word of the vocabulary is in the documents of each topic, (K, V), by memberships (N, K)."""
        counts, column = documents.counts, self.vocabulary.column
        known = np.where(counts.terms < column.size, column[np.minimum(counts.terms, max(column.size - 1, 0))], -1)
        present = known >= 0
        row = np.repeat(np.arange(len(counts)), np.diff(counts.indptr))[present]
        shape = (len(counts), len(self.vocabulary))
        x = csr_array((counts.counts[present].astype(np.float32), (row, known[present])), shape=shape)
        return np.asarray((x.T @ resp).T, np.float32)

    def class_words(self, counts: NDArray[np.float32], top: int) -> TopWords:
        """Return the ``top`` words of each topic from its counts (K, V), see `class_tf_idf`."""
        return strongest_words(np.ascontiguousarray(class_tf_idf(counts).T), top, len(counts), self.vocabulary.words)

    def words(self, m: NDArray[np.float32], top: int, k: int, at: Place | None = None) -> TopWords:
        """Return the ``top`` words that the topics were named by at the end of a slice, or of the newest one before.

        Before the first that was named: of those words, the ones that there were. Topics that had no documents with
        words have none.
        """
        if at is None or not self._named:
            return [[] for _ in range(k)]
        index, ids = at
        past = [named for named in self._named if named <= index]
        names = self._named[max(past) if past else min(self._named)]
        chosen = [names.get(topic, []) for topic in ids[:k].tolist()]
        if not past:
            known = set(self.vocabulary.words(np.flatnonzero(self.vocabulary.known_by(index)).tolist()))
            chosen = [[named for named in words if named[0] in known] for words in chosen]
        return [words[:top] for words in chosen]

    def state(self) -> Arrays:
        """Return the vocabulary, the topics' words and the names given lately."""
        return self._state(self.vocabulary.state())

    def _state(self, vocabulary: Arrays) -> Arrays:
        names = json.dumps([[index, list(topics.items())] for index, topics in self._named.items()])
        parts = {f"topics.{name}": getattr(self._by_topic, name) for name in ("data", "indices", "indptr")}
        return {
            **super().state(),
            **{f"{_WORDS}{name}": array for name, array in vocabulary.items()},
            **parts,
            "topics.ids": self._ids,
            "names": np.frombuffer(names.encode(), np.uint8),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from a stored state; InputError if it was made with other settings."""
        super().restore(arrays)
        words = arrays_under(arrays, _WORDS)
        self.vocabulary.restore(words)
        self._ids = np.array(arrays["topics.ids"], np.int64)
        parts = tuple(np.array(arrays[f"topics.{name}"]) for name in ("data", "indices", "indptr"))
        self._by_topic = csr_array(parts, shape=(len(self._ids), len(self.vocabulary)))
        self._named = {
            index: {topic: [(word, weight) for word, weight in words] for topic, words in topics}
            for index, topics in json.loads(arrays["names"].tobytes())
        }

    def blank_state(self) -> Arrays:
        """Return the state without the open slice's counts."""
        return self._state(self.vocabulary.blank_state())

    def tally(self, begun: Arrays) -> Arrays:
        """Return new words and document frequencies since the ``blank_state`` that was restored."""
        return self.vocabulary.tally(begun[f"{_WORDS}form_starts"].size - 1, begun[f"{_WORDS}df"].size)

    def absorb(self, tally: Arrays) -> NDArray[np.int32]:
        """Take in new words and document frequencies of a helper; return the term here of each of its terms."""
        return self.vocabulary.absorb(tally)


class SentenceEncoder(NamedVectorEncoder):
    """Texts as vectors of a sentence model, with words for topics.

    Parameters
    ----------
    model : SentenceModel
        Makes the vectors of documents that come without one.
    vocabulary : Vocabulary
    """

    def __init__(self, model: SentenceModel, vocabulary: Vocabulary) -> None:
        self._model = model
        super().__init__(model.dimension, vocabulary)

    def count(self, documents: Sequence[Document]) -> NamedVectors:
        """Embed the texts of N documents, those that have no vector yet, and count their words.

        Raises
        ------
        InputError
            If the model makes numbers of a text that are not finite.
        """
        columns = documents if isinstance(documents, Documents) else Documents.of(documents)
        return super().count(embedded(columns, self._model))


def embedded(documents: Documents, model: SentenceModel) -> Documents:
    """Return documents with the vectors of their texts by ``model``; those that they have stay."""
    known = documents.vector or [None] * len(documents)
    lacking = [at for at, vector in enumerate(known) if vector is None]
    if not lacking:
        return documents
    texts = [documents.text[at] or "" for at in lacking]
    found = model.embed(texts)
    if not np.isfinite(found).all():
        wrong = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise InputError(f"the sentence model made numbers of a text that are not finite: {texts[wrong]!r:.80}")
    vectors = list(known)
    for at, vector in zip(lacking, found, strict=True):
        vectors[at] = vector
    return replace(documents, vector=vectors)


def class_tf_idf(counts: NDArray[np.floating]) -> NDArray[np.float32]:
    """Weights of words in classes from their counts (K, V), rows of unit length: tf log(1 + A / f).

    tf is the share of a word in its class, f how often it is in all classes, A the words of an average class
    [Grootendorst 2022, BERTopic].

    Examples
    --------
    >>> class_tf_idf(np.array([[4.0, 4.0, 0.0], [4.0, 0.0, 4.0]])).round(2)
    array([[0.62, 0.79, 0.  ],
           [0.62, 0.  , 0.79]], dtype=float32)
    """
    counts = np.asarray(counts, np.float64)
    sizes, often = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    known = sizes[sizes > 0.0]
    rarity = np.log1p(
        np.divide(known.mean() if known.size else 0.0, often, out=np.zeros_like(often), where=often > 0.0)
    )
    weights = np.divide(counts, sizes, out=np.zeros_like(counts), where=sizes > 0.0) * rarity
    norms = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.asarray(np.divide(weights, norms, out=weights, where=norms > 0.0), np.float32)


def _moved(by_topic: csr_array, columns: NDArray[np.int32]) -> csr_array:
    """Follow a renumbering of the columns: ``columns[j]`` is the old one of new column j, or -1."""
    known = np.flatnonzero(columns >= 0)
    shape = (by_topic.shape[1], len(columns))
    chosen = csr_array((np.ones(len(known), np.float32), (columns[known], known)), shape=shape)
    return csr_array(by_topic @ chosen)
