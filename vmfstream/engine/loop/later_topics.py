"""Smoothed topics in slices that are too large for the window: told when some later documents are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.protocols import Model
from vmfstream.records import Arrays, SmoothedDocuments
from vmfstream.text.encoders import CountStorage, Encoder

STEP = 1_000
"""Documents that are told at once, at least, but at the end of a slice."""


class LaterTopics:
    """The newest documents of a large slice, each of which is scored again when enough later ones are known.

    Memory does not grow with the slice. There are none in a slice whose documents all fit into the window.
    """

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._first = 0

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def begin(self, parts: Sequence[Any], first: int) -> None:
        """Take the counts of the documents so far, the first of which has the place ``first``."""
        self._parts, self._first = list(parts), first

    def add(self, counts: Any) -> None:
        """Take the counts of the next documents."""
        self._parts.append(counts)

    def told(self, encoder: Encoder, model: Model, index: int, *, wait: int) -> list[SmoothedDocuments]:
        """Return the topics that the documents have now which ``wait`` others followed; they are then forgotten.

        Parameters
        ----------
        encoder, model : the run's, in the slice of the documents.
        index : number of that slice.
        wait : later documents; with 0 all are told, else some at a time.
        """
        due = len(self) - wait
        if due < (STEP if wait else 1):
            return []
        whole, n = encoder.concat(self._parts), len(self)
        topics = model.topics_of(encoder.encode(whole.take(slice(0, due))))
        found = SmoothedDocuments(index, self._first, topics)
        self.begin([whole.take(slice(due, n))] if due < n else [], self._first + due)
        return [found]

    def arrays(self, encoder: CountStorage) -> Arrays:
        """Return all that `restore` needs, as flat arrays; nothing without documents."""
        if not self._parts:
            return {}
        arrays = {f"later.{name}": array for name, array in encoder.concat(self._parts).arrays().items()}
        return arrays | {"later.first": np.array([self._first], np.int64)}

    def restore(self, arrays: Arrays, encoder: CountStorage) -> None:
        """Continue from what `arrays` returned; ``encoder`` is one like that which counted the documents."""
        if "later.first" in arrays:
            stored = {name.removeprefix("later."): a for name, a in arrays.items() if name.startswith("later.")}
            self.begin([encoder.counts_from(stored)], int(arrays["later.first"][0]))
