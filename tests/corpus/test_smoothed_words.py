"""Smoothed slices of every corpus: no word before its first document, no topic before its birth, no document lost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.data import corpus_file
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.document_buffer import KeptDocument
from vmfstream.engine.run import RunSettings, follow
from vmfstream.records import Document, Message, SliceReport, TopicRows
from vmfstream.replay.corpora import corpora, get
from vmfstream.replay.corpus import Corpus
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.tokeniser import Tokeniser

DOCUMENTS = 360
SLICES = 6

LARGE = 100_000
"""Documents beyond which only the first rows of a corpus are put into order."""


CALENDAR = {"nyt": "quarter", "nips": "year", "crisislex": "week"}
"""Corpora of which documents of all times are followed by the calendar too, with a time without documents."""


class Followed(NamedTuple):
    """What a run over documents of a corpus wrote, with the slice of the first document of each word and each title."""

    store: MemoryStore
    first: dict[str, int]
    titles: dict[str, int]

    def smoothed(self) -> list[tuple[int, TopicRows]]:
        return [(one.slice, one.topics) for commit in self.store.commits for one in commit.smoothed]

    def closed(self) -> list[SliceReport]:
        return [one for commit in self.store.commits for one in commit.closed]

    def early(self, words: Iterable[tuple[int, str]]) -> list[tuple[int, str, int]]:
        """Return those of the words at slices that no document held yet."""
        return [(index, word, self.first[word]) for index, word in words if index < self.first[word]]


@pytest.fixture(
    scope="module",
    params=[*((corpus, "") for corpus in corpora()), *CALENDAR.items()],
    ids=lambda one: "-".join(one) if one[1] else one[0].name,
)
def followed(request: pytest.FixtureRequest) -> Followed:
    given, calendar = request.param
    corpus: Corpus = get(given) if calendar else given
    corpus_file(corpus.file)
    if calendar:
        table = f"(SELECT * FROM {corpus.table} USING SAMPLE reservoir({2 * DOCUMENTS} ROWS) REPEATABLE (1))"
        corpus = replace(corpus, table=table)
    elif corpus.documents > LARGE:
        few = f"(SELECT * FROM {{file}} LIMIT {DOCUMENTS})"
        corpus = replace(corpus, table=corpus.table.replace("{file}", few))
    with closing(CorpusSource(corpus)) as source:
        messages: list[Message] = []
        while len(messages) < 2 * DOCUMENTS and not source.exhausted:
            messages += source.poll(2 * DOCUMENTS, 60.0)
    half = DOCUMENTS // 2  # by the calendar the time between has no documents
    messages = messages[:half] + messages[-half:] if calendar else messages[:DOCUMENTS]
    codec, store = FieldCodec(), MemoryStore()
    documents = [one for one in map(codec.decode, messages) if isinstance(one, Document)]
    per_slice = len(documents) // SLICES
    slices = calendar or str(per_slice)
    settings = RunSettings(topics=20, slices=slices, stop_words=" ".join(corpus.stop_words), seed=1)
    follow(MemorySource([message.value for message in messages]), codec, store, settings)
    known = [one.slice for commit in store.commits for one in commit.closed]
    ends = [one.ends for one in known if one.ends is not None]
    tokeniser, first, titles = Tokeniser(), dict[str, int](), dict[str, int]()
    for rank, document in enumerate(documents):
        assert document.time is not None
        index = known[bisect_right(ends, document.time)].index if calendar else rank // per_slice
        titles.setdefault(KeptDocument.of(document).title, index)
        for word in tokeniser.tokens(document.text or ""):
            first.setdefault(word, index)
    return Followed(store, first, titles)


@pytest.mark.corpus
def test_no_word_before_the_first_document_with_it(followed: Followed) -> None:
    smoothed = followed.smoothed()
    assert len({index for index, _ in smoothed}) >= SLICES - 1
    filtered = [(one.slice.index, one.topics) for one in followed.closed() if one.topics is not None]
    said = [(index, word) for index, of in smoothed + filtered for words in of.words for word, _ in words]
    assert said
    assert followed.early(said) == []


@pytest.mark.corpus
def test_no_name_and_no_title_before_the_first_document_with_it(followed: Followed) -> None:
    names = [(one.slice.index, one.names) for one in followed.closed() if one.names is not None]
    said = [(index, word) for index, of in names for parts in of.name for part in parts for word in part.split()]
    assert said
    assert followed.early(said) == []
    titles = [(index, title) for index, of in names for title in of.title if title]
    assert [(index, title) for index, title in titles if index < followed.titles[title]] == []


@pytest.mark.corpus
def test_no_word_and_no_title_of_a_story_before_the_first_document_with_it(followed: Followed) -> None:
    past = [one for commit in followed.store.commits for one in commit.story_slices]
    said = [
        (index, word)
        for one in past
        for index, words in zip(one.slice.tolist(), one.words, strict=True)
        for word in words
    ]
    assert followed.early(said) == []
    titles = [row for one in past for row in zip(one.slice.tolist(), one.title, strict=True)]
    assert [(index, title) for index, title in titles if index < followed.titles[title]] == []


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
