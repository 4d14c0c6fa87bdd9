"""A batch of documents learnt: counted, encoded, scored, and what the open slice remembers of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.document_buffer import KeptDocuments
from vmfstream.engine.loop.sample import Candidates, MostNovel, Packed, Sampling
from vmfstream.engine.loop.stories import AT_ONCE, StoryDocuments
from vmfstream.online.state import Rows
from vmfstream.protocols import Scores
from vmfstream.records import DocumentRows, Documents, texts_of
from vmfstream.stages import timed
from vmfstream.text.counts import Counts
from vmfstream.text.encoders import Counted, CountStorage, WordCounting, WorkerEncoder

ScoreDocuments: TypeAlias = Callable[[Rows, int], tuple[Scores, Any]]
"""Scores documents, of which so many first ones are kept; returns the sums to be added, None if the model has them."""

Arrived: TypeAlias = Callable[[Counts, NDArray[np.int64], NDArray[np.float32] | None], None]
"""Called with the words of N documents, their times in microseconds since 1970, (N,), and vectors (N, E) or None."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchResult:
    """What a batch adds to the open slice.

    Attributes
    ----------
    kept, counts : the documents to keep, and their counts.
    samples : documents that may join the sample.
    novel : the most novel documents.
    sums : `vmfstream.protocols.Sums` for the model, None if it has learnt the batch or has not begun.
    scored, empty : documents with and without a direction, 0 before the model has begun.
    loglik : sum of the log-densities of the former, before they were learnt.
    words, oov : words counted, and those of them that have no column.
    stories : the documents for the stories, None if there are none.
    rows : what the documents got, stories aside; None if that is not wanted.
    all_counts : the counts of all documents, which are scored again later; None if that is not wanted.
    """

    kept: KeptDocuments
    counts: Counted
    samples: list[Candidates | Packed]
    novel: MostNovel
    sums: Any = None
    scored: int = 0
    empty: int = 0
    loglik: float = 0.0
    words: int = 0
    oov: int = 0
    stories: StoryDocuments | None = None
    rows: DocumentRows | None = None
    all_counts: Counted | None = None

    def remap(self, terms: NDArray[np.int32] | None) -> BatchResult:
        """Follow a renumbering of the terms of its counts."""
        return replace(
            self,
            counts=self.counts.remap(terms),
            stories=None if self.stories is None else self.stories.remap(terms),
            all_counts=None if self.all_counts is None else self.all_counts.remap(terms),
        )

    def merged(self, later: BatchResult, encoder: CountStorage) -> BatchResult:
        """Join with the result of later documents; the counts of both are those of ``encoder``."""
        novel = MostNovel(self.novel.most)
        novel.join(self.novel)
        novel.join(later.novel)
        return BatchResult(
            kept=self.kept + later.kept,
            counts=encoder.concat([self.counts, later.counts]),
            samples=self.samples + later.samples,
            novel=novel,
            sums=None if self.sums is None else self.sums.merged(later.sums),
            scored=self.scored + later.scored,
            empty=self.empty + later.empty,
            loglik=self.loglik + later.loglik,
            words=self.words + later.words,
            oov=self.oov + later.oov,
            stories=None if self.stories is None or later.stories is None else self.stories.merged(later.stories),
            rows=None if self.rows is None or later.rows is None else DocumentRows.joined([self.rows, later.rows]),
            all_counts=None
            if self.all_counts is None or later.all_counts is None
            else encoder.concat([self.all_counts, later.all_counts]),
        )


def learn_batch(
    documents: Documents,
    encoder: WorkerEncoder,
    score: ScoreDocuments | None,
    keep: int,
    sampling: Sampling,
    novel: int,
    stories: bool = False,
    rows: bool = False,
    text: int = 0,
    places: bool = False,
    again: bool = False,
    arrived: Arrived | None = None,
) -> BatchResult:
    """Count, encode and score a batch.

    Parameters
    ----------
    documents, encoder : what is learnt, and what counts and encodes it.
    score : what scores the documents; None while the model has not begun.
    keep : so many of the first documents are kept.
    sampling : which documents may join the sample.
    novel : most documents that are reported as novel.
    stories : whether the documents are wanted for stories.
    rows : whether it is wanted what every document got.
    text : characters of the texts that are wanted with it.
    places : whether it is wanted besides where its message stands in the source.
    again : whether the counts of all documents are wanted, since they will be scored again.
    arrived : told of the words of documents as soon as they are counted, `AT_ONCE` documents at a time.
    """
    with timed("words"):
        counts = _counted(documents, encoder, arrived)
    sample = [Candidates.among(documents, counts, sampling)] if sampling.most and documents else []
    most = MostNovel(novel)
    kept = KeptDocuments.of(documents[:keep])
    of_kept = counts if keep >= len(documents) else counts.take(slice(0, keep))

    def for_stories(topics: NDArray[np.int64], novelty: NDArray[np.float64]) -> StoryDocuments | None:
        if not stories or not isinstance(encoder, WordCounting):
            return None
        known = kept if len(kept) == len(documents) else KeptDocuments.of(documents)
        return StoryDocuments(encoder.word_counts(counts), known, topics, novelty, encoder.vectors_beside(counts))

    if score is None:
        unknown = for_stories(np.full(len(documents), -1), np.zeros(len(documents)))
        return BatchResult(
            kept,
            of_kept,
            [*sample],
            most,
            stories=unknown,
            rows=_rows(documents, None, text, places=places) if rows else None,
        )
    with timed("words"):
        x = encoder.encode(counts)
    with timed("scoring"):
        scores, sums = score(x, keep)
    scored = scores.topic >= 0
    most.add(documents, scores.novelty, scores.topic, scored)
    oov, words = encoder.out_of_vocabulary(counts)
    return BatchResult(
        kept=kept,
        counts=of_kept,
        samples=[*sample],
        novel=most,
        sums=sums,
        scored=int(np.count_nonzero(scored)),
        empty=int(np.count_nonzero(~scored)),
        loglik=float(scores.loglik[scored].sum()),
        words=words,
        oov=oov,
        stories=for_stories(scores.topic, np.where(scored, scores.novelty, 0.0)),
        rows=_rows(documents, scores, text, places=places) if rows else None,
        all_counts=counts if again else None,
    )


def _counted(documents: Documents, encoder: WorkerEncoder, arrived: Arrived | None) -> Counted:
    """Count the words of documents, and tell of them."""
    if arrived is None or not isinstance(encoder, WordCounting):
        return encoder.count(documents)
    parts = []
    for low in range(0, len(documents), AT_ONCE):
        some = documents[low : low + AT_ONCE]
        counts = encoder.count(some)
        arrived(encoder.word_counts(counts), some.time, encoder.vectors_beside(counts))
        parts.append(counts)
    return encoder.concat(parts)


def _rows(documents: Documents, scores: Scores | None, text: int, *, places: bool) -> DocumentRows:
    """Return what documents got, without stories and numbers, with so many characters of their texts.

    ``scores`` are None before the model has begun; with ``places`` rows tell where messages stand in the source.
    """
    n = len(documents)
    none, nothing = np.full(n, -1), np.full(n, np.nan, np.float32)
    texts = [one[:text] for one in texts_of(documents)] if text else None
    rest = none, texts, *((documents.part, documents.offset) if places else (None, None))
    if scores is None:
        return DocumentRows(documents.id, documents.time, none, nothing, none, nothing, none, nothing, *rest)
    scored = scores.topic >= 0
    first, second = (
        np.where(known, np.round(column, 4), np.nan).astype(np.float32)  # fewer digits are compressed well
        for known, column in zip((scored, scores.second >= 0), scores.probability.T, strict=True)
    )
    novelty = np.where(scored, np.round(scores.novelty, 2), np.nan).astype(np.float32)
    return DocumentRows(documents.id, documents.time, scores.topic, first, none, novelty, scores.second, second, *rest)
