"""What is remembered of each living story beside its words: times, sizes, its parent topic, its best documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.engine.loop.document_buffer import (
    KeptDocument,
    arrays_of_texts,
    kept_documents,
    texts_of_arrays,
    times_of,
)
from vmfstream.records import Arrays

KEPT = 5
"""Documents kept of a story: those that were most representative when they came."""

YOUNG = 5.0
"""A document counts half as a representative one if its story had so many when it came: its words were hardly known."""

BURST_SCORE, BURST_DOCUMENTS = 4.0, 10
"""Smallest score of the growth from slice to slice, and fewest documents, that make a burst."""

CALM_SCORE = 2.0
"""A story whose score is below this has no burst any more."""


_KEPT = ("documents", "opener")
"""Columns of documents."""


def _ints() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


def _marks() -> NDArray[np.bool_]:
    return np.zeros(0, np.bool_)


@dataclass(slots=True)
class StoryBook:
    """Columns of the living stories, (S,), in the order of their ids.

    Attributes
    ----------
    ids, size : number and documents of each.
    first, last : times of its first and last document, in microseconds since 1970.
    first_slice, last_slice : slices in which they came.
    topic, votes : its parent topic, -1 for none yet, by a majority vote of its documents (Boyer and Moore), and the
        votes by which that leads.
    now, before : its documents in the open slice and in the one before.
    trend : how it grew, see `growth`.
    shown : whether it has rows in the run file.
    listed : whether its first document was reported as a first story.
    bursting : whether its burst goes on.
    changed : whether its rows have to be written anew.
    score : (S, KEPT) scores of its best documents with its mean direction when they came, highest first; -1 for none.
    documents : (S, KEPT) these documents, None where there is none.
    opener : its first document, None before it.
    novelty : how novel that was when it came, in nats; 0 if there were no topics.
    """

    ids: NDArray[np.int64] = field(default_factory=_ints)
    size: NDArray[np.int64] = field(default_factory=_ints)
    first: NDArray[np.int64] = field(default_factory=_ints)
    last: NDArray[np.int64] = field(default_factory=_ints)
    first_slice: NDArray[np.int64] = field(default_factory=_ints)
    last_slice: NDArray[np.int64] = field(default_factory=_ints)
    topic: NDArray[np.int64] = field(default_factory=_ints)
    votes: NDArray[np.int64] = field(default_factory=_ints)
    now: NDArray[np.int64] = field(default_factory=_ints)
    before: NDArray[np.int64] = field(default_factory=_ints)
    trend: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    shown: NDArray[np.bool_] = field(default_factory=_marks)
    listed: NDArray[np.bool_] = field(default_factory=_marks)
    bursting: NDArray[np.bool_] = field(default_factory=_marks)
    changed: NDArray[np.bool_] = field(default_factory=_marks)
    score: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, KEPT), np.float32))
    documents: NDArray[np.object_] = field(default_factory=lambda: np.zeros((0, KEPT), np.object_))
    opener: NDArray[np.object_] = field(default_factory=lambda: np.zeros(0, np.object_))
    novelty: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.ids)

    def open(self, ids: NDArray[np.int64], index: int) -> None:
        """Add stories without documents, whose ``ids`` are above all others, in slice ``index``."""
        new = len(ids)
        start: dict[str, Any] = {
            "ids": ids,
            "first": np.iinfo(np.int64).max,
            "last": np.iinfo(np.int64).min,
            "first_slice": index,
            "topic": -1,
            "score": -1.0,
            "documents": None,
            "opener": None,
        }
        for column in fields(self):
            old = getattr(self, column.name)
            more = np.full((new, *old.shape[1:]), start.get(column.name, 0), old.dtype)
            if column.name == "ids":
                more = ids
            setattr(self, column.name, np.concatenate([old, more]))

    def taken(self, chosen: NDArray[Any]) -> StoryBook:
        """Return the stories that ``chosen`` selects, a mask or places."""
        return StoryBook(**{column.name: getattr(self, column.name)[chosen] for column in fields(self)})

    def drop(self, places: NDArray[np.int64]) -> None:
        """Forget stories."""
        if len(places):
            left = np.ones(len(self), bool)
            left[places] = False
            for column in fields(self):
                setattr(self, column.name, getattr(self, column.name)[left])

    def add(
        self,
        places: NDArray[np.int64],
        topics: NDArray[np.int64],
        scores: NDArray[np.float32],
        novelty: NDArray[np.float64],
        documents: Sequence[KeptDocument],
        index: int,
    ) -> None:
        """Add N documents to their stories.

        Parameters
        ----------
        places : (N,) the story of each as its place here, -1 for none.
        topics : (N,) the topic of each on arrival, -1 for none.
        scores : (N,) how representative each is of its story, >= 0; for stories of few documents it counts less.
        novelty : (N,) in nats, 0 while there are no topics.
        documents : what is remembered of them.
        index : the open slice.
        """
        times = times_of(documents).view(np.int64)
        if len(self) and not self.size.all():
            for place, at in zip(*(part.tolist() for part in np.unique(places, return_index=True)), strict=True):
                if place >= 0 and not self.size[place]:
                    self.opener[place], self.novelty[place] = documents[at], novelty[at]
        source = np.tile(np.arange(KEPT), (len(self), 1))
        _add_documents(
            places, topics, scores, times, index, self.size, self.first, self.last, self.last_slice, self.topic,
            self.votes, self.now, self.changed, self.score, source,
        )  # fmt: skip
        moved = np.flatnonzero((source != np.arange(KEPT)).any(axis=1))
        source = source[moved]
        new = source >= KEPT
        best = np.take_along_axis(self.documents[moved], np.where(new, 0, source), axis=1)
        best[new] = _column([documents[at] for at in (source[new] - KEPT).tolist()])
        self.documents[moved] = best

    def merge(self, place: int, other: int) -> None:
        """Let the story at place ``other`` have the documents of the one at ``place`` too, which stays as it is."""
        pair = [other, place]
        if self.opener[place].time < self.opener[other].time:
            self.opener[other], self.novelty[other] = self.opener[place], self.novelty[place]
        self.listed[other] |= self.listed[place]
        for counts in (self.size, self.now, self.before):
            counts[other] += counts[place]
        for earliest in (self.first, self.first_slice):
            earliest[other] = earliest[pair].min()
        for latest in (self.last, self.last_slice):
            latest[other] = latest[pair].max()
        votes = self.votes[place]
        if self.topic[place] == self.topic[other]:
            self.votes[other] += votes
        elif votes > self.votes[other]:
            self.topic[other], self.votes[other] = self.topic[place], votes - self.votes[other]
        else:
            self.votes[other] -= votes
        best = np.argsort(-self.score[pair].reshape(-1), kind="stable")[:KEPT]
        for kept in (self.score, self.documents):
            kept[other] = kept[pair].reshape(-1)[best]
        self.changed[other] = True

    def arrays(self) -> Arrays:
        """Return the flat arrays that `from_arrays` takes."""
        arrays: Arrays = {c.name: getattr(self, c.name) for c in fields(self) if c.name not in _KEPT}
        best = [one for one in self.documents.reshape(-1).tolist() if one is not None]
        for name, kept in (("document", best), ("opener", self.opener.tolist())):
            arrays |= arrays_of_texts(f"{name}.ids", [one.id for one in kept])
            arrays |= arrays_of_texts(f"{name}.titles", [one.title for one in kept])
            arrays[f"{name}.times"] = times_of(kept)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> StoryBook:
        """Rebuild what `arrays` returned. In older ones the earliest kept document stands for the first."""
        arrays = {"listed": arrays["shown"], "novelty": np.zeros(len(arrays["ids"])), **arrays}
        book = cls(**{c.name: arrays[c.name].copy() for c in fields(cls) if c.name not in _KEPT})
        documents = np.full(book.score.size, None, np.object_)
        documents[book.score.reshape(-1) >= 0.0] = _column(_documents(arrays, "document"))
        book.documents = documents.reshape(book.score.shape)
        if "opener.times" in arrays:
            book.opener = _column(_documents(arrays, "opener"))
        else:
            known = [[one for one in row if one is not None] for row in book.documents.tolist()]
            book.opener = _column([min(row, key=lambda one: one.time) for row in known])
        return book


def _documents(arrays: Arrays, name: str) -> list[KeptDocument]:
    ids, titles = (texts_of_arrays(arrays, f"{name}.{part}") for part in ("ids", "titles"))
    return kept_documents(ids, titles, arrays[f"{name}.times"])


def _column(documents: Sequence[KeptDocument]) -> NDArray[np.object_]:
    column = np.empty(len(documents), np.object_)
    for at, one in enumerate(documents):  # an assignment of all would make a table of them
        column[at] = one
    return column


def growth(
    now: NDArray[np.int64], before: NDArray[np.int64], documents_now: int, documents_before: int
) -> NDArray[np.float64]:
    """Return how sure it is that stories grew from one slice to the next, as scores (S,) in standard deviations.

    If the share of a story had stayed the same, those of its documents that are in the later slice would be binomial.

    Parameters
    ----------
    now, before : (S,) documents of each story in the later and in the earlier slice.
    documents_now, documents_before : documents of all stories in them.

    Examples
    --------
    >>> growth(np.array([30, 10, 0]), np.array([10, 10, 16]), 100, 100).round(1).tolist()
    [3.2, 0.0, -4.0]
    """
    total = documents_now + documents_before
    if not documents_now or not documents_before:
        return np.zeros(len(now))
    share = documents_now / total
    number = (now + before).astype(np.float64)
    spread = np.sqrt(np.maximum(number, 1.0) * share * (1.0 - share))
    return np.asarray((now - number * share) / spread)


@njit(cache=True, nogil=True)
def _add_documents(  # type: ignore[no-untyped-def]
    places, topics, scores, times, index, size, first, last, last_slice, topic, votes, now, changed, score, source
):
    """Add documents to the columns.

    ``source`` (S, KEPT) tells where each best document was before: below KEPT its rank, from KEPT on its place among
    the new ones.
    """
    kept = score.shape[1]
    for i in range(places.size):
        story = places[i]
        if story < 0:
            continue
        own = scores[i] * np.float32(size[story] / (size[story] + YOUNG))
        size[story] += 1
        now[story] += 1
        changed[story] = True
        first[story] = min(first[story], times[i])
        last[story] = max(last[story], times[i])
        last_slice[story] = index
        if topics[i] >= 0:
            if votes[story] == 0:
                topic[story] = topics[i]
            votes[story] += 1 if topic[story] == topics[i] else -1
        if own <= score[story, kept - 1]:
            continue
        rank = kept - 1
        while rank > 0 and own > score[story, rank - 1]:
            score[story, rank] = score[story, rank - 1]
            source[story, rank] = source[story, rank - 1]
            rank -= 1
        score[story, rank] = own
        source[story, rank] = kept + i
