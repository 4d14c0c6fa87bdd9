"""The names of topics at the ends of slices, from their words and from the phrases in the titles of their documents.

Titles are those of the documents that the open slice keeps; the beginning of a text stands for a missing title. So
phrases are learnt once per slice, at no cost per document, and are the same for any number of workers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from vmfstream.engine.loop.document_buffer import KeptDocuments
from vmfstream.engine.loop.namer import BackgroundNamer
from vmfstream.protocols import SliceSummary
from vmfstream.records import Arrays, Representative, Slice, TopicNames, TopicRows, arrays_under
from vmfstream.text.topic_names import JOINT, topic_names

if TYPE_CHECKING:
    from vmfstream.text.phrases import Phrases
    from vmfstream.text.vocabulary import Vocabulary

FADE = 0.5
"""What is left of a topic's phrases after a slice in which it has as many documents as before, together."""

MOST_PHRASES = 20
"""Phrases of a topic that are kept, the most frequent ones."""

_LEAST = 1.5
"""How often a topic must have a phrase, faded."""

_ASKED = 10
"""Words and phrases that a namer gets."""

_PHRASES = "phrases."


class NameLevel:
    """Names topics, and remembers what phrases their documents had.

    Parameters
    ----------
    vocabulary : Vocabulary
        The encoder's, whose tokeniser and stop words are used.
    namer : BackgroundNamer, optional
        Asked for better names.
    """

    def __init__(self, vocabulary: Vocabulary, namer: BackgroundNamer | None = None) -> None:
        self._vocabulary, self.namer = vocabulary, namer
        self._made: Phrases | None = None
        self._documents: dict[int, float] = {}
        self._counts: dict[int, dict[str, float]] = {}
        self._titles: dict[int, str] = {}

    def phrases(self) -> list[str]:
        """Return the phrases of two words that the stream has now, the most frequent first."""
        return [] if self._made is None else [one for one in self._made.pairs() if not self._vocabulary.forbids(one)]

    def learn(self, kept: KeptDocuments, summary: SliceSummary | None) -> None:
        """Learn the phrases of the ``kept`` documents of a slice; once there is a ``summary`` count them by topic."""
        if not kept:
            return
        spans = self._phrases().learn(kept.titles)
        if summary is None:
            return
        ids = summary.topics.ids
        label = np.where(summary.resp.max(axis=1) > 0.0, summary.resp.argmax(axis=1), -1)
        sizes = np.bincount(label[label >= 0], minlength=len(ids))
        row = label[spans.document]
        own = row >= 0
        pairs, counts = np.unique(np.stack([row[own], spans.phrase[own]]), axis=1, return_counts=True)
        there = np.flatnonzero(sizes)
        for k in there.tolist():
            topic = int(ids[k])
            self._documents[topic] = FADE * self._documents.get(topic, 0.0) + float(sizes[k])
            self._counts[topic] = {name: FADE * often for name, often in self._counts.get(topic, {}).items()}
        for k, phrase, often in zip(*pairs.tolist(), counts.tolist(), strict=True):
            of_topic = self._counts[int(ids[k])]
            name = spans.names[phrase]
            of_topic[name] = of_topic.get(name, 0.0) + often
        for k in there.tolist():
            of_topic = self._counts[int(ids[k])]
            best = sorted(of_topic, key=lambda name: (-of_topic[name], name))[: 2 * MOST_PHRASES]
            self._counts[int(ids[k])] = {name: of_topic[name] for name in best}

    def names(self, closed: Slice, topics: TopicRows, best: Representative | None) -> TopicNames:
        """Name the ``topics`` of a ``closed`` slice, whose representative documents are ``best``; ask the namer."""
        ids = topics.topic.tolist()
        if best is not None:
            first = np.flatnonzero(best.rank == 1).tolist()
            self._titles |= {int(best.topic[i]): best.title[i] for i in first}
        for known in (self._documents, self._counts, self._titles):
            for gone in known.keys() - set(ids):
                del known[gone]
        phrases = [
            [
                (name, often / self._documents[topic])
                for name, often in sorted(self._counts.get(topic, {}).items(), key=lambda one: (-one[1], one[0]))
                if often >= _LEAST and not self._vocabulary.forbids(name)
            ][:MOST_PHRASES]
            for topic in ids
        ]
        titles = [self._titles.get(topic, "") for topic in ids]
        named = TopicNames(topics.topic, topic_names(topics.words, phrases, self._pairs(topics)), titles, phrases)
        if self.namer is not None:
            self._ask(self.namer, closed, topics, named, best)
        return named

    def _pairs(self, topics: TopicRows) -> dict[str, float]:
        """Return the phrases of the stream that consist of words of the ``topics``, with their counts."""
        if self._made is None:
            return {}
        words = {word for pairs in topics.words for word, _ in pairs}
        made = self._made.among(words)
        return {name: often for name, often in made.items() if not self._vocabulary.forbids(name)}

    def _ask(
        self,
        namer: BackgroundNamer,
        closed: Slice,
        topics: TopicRows,
        named: TopicNames,
        best: Representative | None,
    ) -> None:
        """Ask for names of topics; what tells a topic from others decides whether it was asked for before."""
        documents: dict[int, list[str]] = {}
        if best is not None:
            for topic, title in zip(best.topic.tolist(), best.title, strict=True):
                documents.setdefault(topic, []).append(title)
        for topic, words, parts, phrases in zip(
            topics.topic.tolist(), topics.words, named.name, named.phrases, strict=True
        ):
            request = {
                "topic": topic,
                "slice": closed.label,
                "name": JOINT.join(parts),
                "words": [(word, float(weight)) for word, weight in words[:_ASKED]],
                "phrases": phrases[:_ASKED],
                "documents": documents.get(topic, []),
            }
            if parts:
                namer.ask((topic, frozenset(parts)), closed.index, request)

    def arrays(self) -> Arrays:
        """Return all that `restore` needs; nothing before the first document."""
        if self._made is None:
            return {}
        of_topics: list[Any] = [list(known.items()) for known in (self._documents, self._titles)] + [
            [[topic, list(counts.items())] for topic, counts in self._counts.items()]
        ]
        body = np.frombuffer(json.dumps(of_topics).encode(), np.uint8)
        return {"topics": body} | {f"{_PHRASES}{name}": array for name, array in self._made.arrays().items()}

    def restore(self, arrays: Arrays) -> None:
        """Continue from what `arrays` returned; what follows is the same to the last bit.

        A run file of before there were names begins to learn phrases now.
        """
        if not arrays:
            return
        documents, titles, counts = json.loads(np.asarray(arrays["topics"]).tobytes())
        self._documents, self._titles = dict(documents), dict(titles)
        self._counts = {topic: dict(of_topic) for topic, of_topic in counts}
        phrases = arrays_under(arrays, _PHRASES)
        self._phrases().restore(phrases)

    def _phrases(self) -> Phrases:
        if self._made is None:
            from vmfstream.text.phrases import Phrases

            cuts = self._vocabulary.tokeniser
            self._made = Phrases(cuts, [*self._vocabulary.stop_words, *cuts.stop_words()])
        return self._made
