"""No smoothed topic shows a word in a slice before the first document that holds it, in every corpus."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.data import corpus_file
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.records import Document, Message
from vmfstream.replay.corpora import corpora
from vmfstream.replay.corpus import Corpus
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.tokeniser import Tokeniser

DOCUMENTS = 1_500
SLICES = 15


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", corpora(), ids=lambda corpus: corpus.name)
def test_no_word_before_the_first_document_with_it(corpus: Corpus) -> None:
    corpus_file(corpus.file)
    codec = FieldCodec()
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
    smoothed = [(one.slice, one.topics) for commit in store.commits for one in commit.smoothed]
    assert len({index for index, _ in smoothed}) >= SLICES - 1
    early = [
        (index, word, first[word])
        for index, topics in smoothed
        for words in topics.words
        for word, _ in words
        if index < first[word]
    ]
    assert early == []
