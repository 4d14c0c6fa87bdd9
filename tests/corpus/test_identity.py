"""A topic's number stands for one thing: what numbers come to mean in streams of news."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.data import corpus_file
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.metrics import takeover_rate
from vmfstream.records import Document
from vmfstream.replay.corpora import get
from vmfstream.replay.sorted_source import CorpusSource


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "slices"), [("nyt", "quarter"), ("reuters", "week")])
def test_numbers_do_not_pass_to_something_else(name: str, slices: str) -> None:
    corpus = get(name)
    corpus_file(corpus.file)
    codec, documents = FieldCodec(), list[Document]()
    with closing(CorpusSource(corpus)) as source:
        while not source.exhausted:
            decoded = [codec.decode(message) for message in source.poll(10_000, 0.0)]
            documents += [document for document in decoded if isinstance(document, Document)]
    tracker = TopicTracker(slices=slices)
    tracker.learn([d.text or "" for d in documents], [d.time for d in documents if d.time]).finish()
    assert takeover_rate(tracker.topics(), tracker.events()) <= 0.01
