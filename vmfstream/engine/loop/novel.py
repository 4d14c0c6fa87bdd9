"""The most novel documents of a slice: those that a topic without documents explains better than all known ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.document_buffer import (
    KeptDocument,
    arrays_of_texts,
    kept_documents,
    texts_of_arrays,
    times_of,
)
from vmfstream.records import Arrays, Document, Novel


class MostNovel:
    """Keeps the documents of the open slice that were most novel on arrival; of equally novel ones the first.

    Parameters
    ----------
    most : int
        Documents per slice; 0 keeps none.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._clear()

    def _clear(self) -> None:
        self._novelty = np.zeros(0)
        self._topic = np.zeros(0, np.int64)
        self._kept: list[KeptDocument] = []

    def add(
        self,
        documents: Sequence[Document],
        novelty: NDArray[np.float64],
        topic: NDArray[np.int64],
        scored: NDArray[np.bool_],
    ) -> None:
        """Add ``documents`` with their ``novelty`` (N,) in nats and the ids of their topics, ``topic`` (N,).

        Only those that are ``scored`` (N,) count.
        """
        rows = np.flatnonzero(scored)
        rows = rows[np.argsort(-novelty[rows], kind="stable")[: self.most]]
        self._take(novelty[rows], topic[rows], [KeptDocument.of(documents[i]) for i in rows.tolist()])

    def join(self, later: MostNovel) -> None:
        """Add what another one has kept of later documents."""
        self._take(later._novelty, later._topic, later._kept)

    def _take(self, novelty: NDArray[np.float64], topic: NDArray[np.int64], documents: list[KeptDocument]) -> None:
        novelties = np.concatenate([self._novelty, novelty])
        topics = np.concatenate([self._topic, topic])
        kept = [*self._kept, *documents]
        best = np.argsort(-novelties, kind="stable")[: self.most]
        self._novelty, self._topic, self._kept = novelties[best], topics[best], [kept[i] for i in best.tolist()]

    def close(self) -> Novel | None:
        """End the slice; return its most novel documents, or None if nothing was scored."""
        if not self._kept:
            return None
        found = Novel(
            rank=np.arange(1, len(self._kept) + 1),
            id=[one.id for one in self._kept],
            title=[one.title for one in self._kept],
            time=times_of(self._kept).tolist(),
            novelty=self._novelty,
            topic=self._topic,
        )
        self._clear()
        return found

    def arrays(self) -> Arrays:
        """Return what changes with every epoch."""
        return {
            "novel.novelty": self._novelty,
            "novel.topic": self._topic,
            "novel.times": times_of(self._kept),
            **arrays_of_texts("novel.ids", [one.id for one in self._kept]),
            **arrays_of_texts("novel.titles", [one.title for one in self._kept]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from stored arrays; older run files have none."""
        self._clear()
        if "novel.topic" in arrays:
            self._novelty, self._topic = arrays["novel.novelty"], arrays["novel.topic"]
            ids, titles = (texts_of_arrays(arrays, f"novel.{name}") for name in ("ids", "titles"))
            self._kept = kept_documents(ids, titles, arrays["novel.times"])
