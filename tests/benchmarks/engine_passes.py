"""One pass of the tracker over batches of documents, for `bench_engine`."""

from __future__ import annotations

import copy
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from vmfstream.arrays import ClusterLabels
from vmfstream.estimators.online import OnlineVMFMixture
from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings, TrackState

BATCH = 5000
"""Documents of a batch."""


FITTED: dict[Any, Any] = {}
"""First fits, and code compiled for this process: every pass begins with them."""


class Pass(NamedTuple):
    """One pass over all batches after the first fit: seconds, of the processor too, and labels given on arrival."""

    seconds: float
    cpu: float
    labels: ClusterLabels | None


class Clock:
    """Begins when made."""

    def __init__(self) -> None:
        self.began = time.perf_counter(), time.process_time()

    def read(self, labels: list[Any] | None) -> Pass:
        """Return the times since then."""
        spent = time.perf_counter() - self.began[0], time.process_time() - self.began[1]
        return Pass(*spent, None if labels is None else np.concatenate(labels).astype(np.int64))


def fitted(first: csr_array, k: int, threads: int) -> tuple[TrackState, TrackerSettings]:
    """Topics of the first documents, fitted once and copied for every pass."""
    settings = TrackerSettings(topics=k, threads=threads)
    key = (settings, first.nnz)
    if key not in FITTED:
        FITTED[key] = tracker.init(settings, [], 0, first)
    return copy.deepcopy(FITTED[key]), settings


def follow(first: csr_array, batches: list[csr_array], k: int, threads: int, slices: int) -> Pass:
    """Run the tracker; slice ends are in the time."""
    state, settings = fitted(first, k, threads)
    ends = {len(batches) * (s + 1) // slices for s in range(slices)} if slices else set()
    labels = []
    clock = Clock()
    for i, batch in enumerate(batches, 1):
        state, info = tracker.step(state, batch, settings, donate=True)
        labels.append(info.label)
        if i in ends:
            state, _ = tracker.end_slice(state, settings)
    return clock.read(labels)


def mixture(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run OnlineVMFMixture.partial_fit over the same batches, without ends of slices.

    The first documents are given twice before: until then a slice ends when there are twice as many documents.
    """
    key = ("mixture", k, threads, first.nnz)
    if key not in FITTED:
        model = OnlineVMFMixture(k, slice_size=10**9, window=first.shape[0], random_state=0, n_jobs=threads)
        FITTED[key] = model.partial_fit(first).partial_fit(first)
    model = copy.deepcopy(FITTED[key])
    labels = []
    clock = Clock()
    for batch in batches:
        labels.append(model.partial_fit(batch).labels_)
    return clock.read(labels)
