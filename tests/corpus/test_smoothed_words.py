"""Smoothed slices of every corpus: no word before its first document, no topic before its birth, no document lost."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.data import corpus_file
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.records import Document, Message, TopicRows
from vmfstream.replay.corpora import corpora
from vmfstream.replay.corpus import Corpus
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.tokeniser import Tokeniser

DOCUMENTS = 600
SLICES = 6

LARGE = 100_000
"""Documents beyond which only the first rows of a corpus are put into order."""


class Followed(NamedTuple):
    """What a run over the first documents of a corpus wrote, with the slice of each word's first document."""

    store: MemoryStore
    first: dict[str, int]

    def smoothed(self) -> list[tuple[int, TopicRows]]:
        return [(one.slice, one.topics) for commit in self.store.commits for one in commit.smoothed]


@pytest.fixture(scope="module", params=corpora(), ids=lambda corpus: corpus.name)
def followed(request: pytest.FixtureRequest) -> Followed:
    corpus: Corpus = request.param
    corpus_file(corpus.file)
    codec = FieldCodec()
    if corpus.documents > LARGE:
        few = f"(SELECT * FROM {{file}} LIMIT {DOCUMENTS})"
        corpus = replace(corpus, table=corpus.table.replace("{file}", few))
    with closing(CorpusSource(corpus)) as source:
        messages: list[Message] = []
        while len(messages) < DOCUMENTS and not source.exhausted:
            messages += source.poll(DOCUMENTS, 60.0)
    decoded = [codec.decode(message) for message in messages[:DOCUMENTS]]
    documents = [document for document in decoded if isinstance(document, Document)]
    per_slice = len(documents) // SLICES
    store = MemoryStore()
    settings = RunSettings(topics=20, slices=str(per_slice), stop_words=" ".join(corpus.stop_words), seed=1)
    follow(MemorySource([message.value for message in messages[:DOCUMENTS]]), codec, store, settings)
    tokeniser, first = Tokeniser(), dict[str, int]()
    for rank, document in enumerate(documents):
        for word in tokeniser.tokens(document.text or ""):
            first.setdefault(word, rank // per_slice)
    return Followed(store, first)


@pytest.mark.corpus
def test_no_word_before_the_first_document_with_it(followed: Followed) -> None:
    smoothed = followed.smoothed()
    assert len({index for index, _ in smoothed}) >= SLICES - 1
    early = [
        (index, word, followed.first[word])
        for index, topics in smoothed
        for words in topics.words
        for word, _ in words
        if index < followed.first[word]
    ]
    assert early == []


@pytest.mark.corpus
def test_no_topic_before_its_birth_and_no_document_lost(followed: Followed) -> None:
    reports = [one for commit in followed.store.commits for one in commit.closed]
    born = {
        event.topic if event.kind == "born" else event.other: one.slice.index
        for one in reports
        for event in one.events
        if event.kind in ("born", "split")
    }
    known = {one.slice.index: one for one in reports}
    for index, topics in followed.smoothed():
        assert [topic for topic in topics.topic.tolist() if born.get(topic, index) > index] == []
        filtered = known[index].topics
        least = 0.0 if filtered is None else 0.98 * filtered.n.sum()
        assert least <= topics.n.sum() <= known[index].n + 1e-3
