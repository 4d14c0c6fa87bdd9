"""Smoothed topics hold no word before the first document that does."""

from __future__ import annotations

from tests.unit.engine.documents import SUBJECTS, document, run
from vmfstream.connectors.memory import Item
from vmfstream.runfile.memory import MemoryStore

LATER = [[*SUBJECTS[0][:5], "tsunami", "flood", "rescue"], *SUBJECTS[1:]]


def stream() -> list[Item]:
    """The words of the first subject change in 1999."""
    return [document(i, 1990 + i // 60, LATER if i >= 540 else SUBJECTS) for i in range(720)]


def first_slices(items: list[Item]) -> dict[str, int]:
    first: dict[str, int] = {}
    for item in items:
        assert isinstance(item, dict)
        for word in item["text"].split():
            first.setdefault(word, item["time"])
    return first


def shown(store: MemoryStore) -> list[tuple[int, str]]:
    """Slice and word of everything smoothed."""
    return [
        (one.slice, word)
        for commit in store.commits
        for one in commit.smoothed
        for words in one.topics.words
        for word, _ in words
    ]


def test_no_word_is_shown_before_the_first_document_with_it() -> None:
    items = stream()
    first = first_slices(items)
    words = shown(run(items, window=2000, slice_words=20))
    assert {index for index, word in words if word == "tsunami"} == {1999, 2000, 2001}
    assert [(index, word) for index, word in words if index < first[word]] == []
