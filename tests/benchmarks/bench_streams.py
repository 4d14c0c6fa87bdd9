"""Agreement with known classes of one-pass clusterings of real streams, beside batch fits with as many clusters.

Streams: 20 Newsgroups in random order, cut in twenty; the single-topic stories of Reuters-21578, day by day. All
methods see the same unit rows (TextClust the same counts), whose vocabulary and idf are those of the whole set. Prints
one JSON line per stream, method and seed: NMI and ARI of the labels given before a document was learnt
(``prequential``; the first batch after it), of all documents under the final model (``final``), and processor seconds.

    python tests/benchmarks/bench_streams.py [--topics 30] [--seeds 0 1 2] [--streams newsgroups reuters]
        [--first DOCUMENTS] [--slow METHOD...]

``--slow METHOD...`` includes the soft mixture fitted anew to all documents so far before every batch, which shows what
batch fits can tell on arrival, or river's TextClust, whose cost grows faster than its documents: 2,000 take more than a
minute, the whole streams hours. ``--first 2000`` lets all methods see the same first documents only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river.cluster import TextClust
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream import datasets
from vmfstream.arrays import ClusterLabels
from vmfstream.estimators.bayesian import BayesianVMFMixture
from vmfstream.estimators.mixtures import VMFMixture
from vmfstream.estimators.online import OnlineVMFMixture
from vmfstream.folders import need_data
from vmfstream.metrics import adjusted_rand_index, normalized_mutual_information
from vmfstream.online import tracker
from vmfstream.online.reading import memberships
from vmfstream.online.state import TrackerSettings


class Stream(NamedTuple):
    """Unit rows and counts (N, D) in order of arrival, their classes (N,), and the batches they come in."""

    x: csr_array
    counts: csr_array
    y: ClusterLabels
    batches: list[NDArray[np.intp]]


class Found(NamedTuple):
    """Labels (N,) given on arrival, None for batch fits, and under the final model."""

    arrival: ClusterLabels | None
    final: ClusterLabels


def newsgroups(seed: int) -> Stream:
    """Posts in random order, in twenty batches."""
    data = datasets.twenty_newsgroups()
    order = np.random.default_rng(seed).permutation(data.x.shape[0])
    return _stream(data, order, np.array_split(np.arange(len(order)), 20))


def reuters(seed: int) -> Stream:
    """Stories with a single topic in order of time, a day a batch; the seed changes nothing."""
    import duckdb

    table = duckdb.read_parquet(str(need_data("reuters21578/docs.parquet")))
    columns = table.project("timestamp::varchar AS time, label IS NOT NULL AS single").fetchnumpy()
    time, single = columns["time"].astype(str), np.flatnonzero(columns["single"])
    order = single[np.argsort(time[single], kind="stable")]
    days = np.array([text[:10] for text in time[order]])
    return _stream(
        datasets.reuters21578(), order, np.split(np.arange(len(order)), np.flatnonzero(days[1:] != days[:-1]) + 1)
    )


def _stream(data: Any, order: NDArray[np.intp], batches: Sequence[NDArray[np.intp]]) -> Stream:
    return Stream(data.x[order].astype(np.float32), data.counts[order], np.asarray(data.y)[order], list(batches))


def first(stream: Stream, documents: int) -> Stream:
    """The beginning of a stream."""
    batches = [batch[batch < documents] for batch in stream.batches]
    n = min(documents, len(stream.y))
    return Stream(stream.x[:n], stream.counts[:n], stream.y[:n], [batch for batch in batches if len(batch)])


def online(stream: Stream, k: int, seed: int) -> Found:
    """The tracker for vectors without times."""
    return _partial(OnlineVMFMixture(k, random_state=seed), stream, lambda model, rows: None)


def kmeans(stream: Stream, k: int, seed: int) -> Found:
    """scikit-learn, one pass."""
    return _partial(MiniBatchKMeans(k, random_state=seed, n_init=3), stream, lambda model, rows: model.predict(rows))


def _partial(model: Any, stream: Stream, before: Callable[[Any, csr_array], ClusterLabels | None]) -> Found:
    """One pass of ``partial_fit``; a model that labels before it learns answers None to ``before``."""
    arrival = []
    for n, batch in enumerate(stream.batches):
        rows = stream.x[batch]
        labels = before(model, rows) if n else None
        model.partial_fit(rows)
        arrival.append(model.labels_ if labels is None else labels)
    return Found(np.concatenate(arrival), model.predict(stream.x))


def living(stream: Stream, k: int, seed: int) -> Found:
    """The tracker with a slice per batch and topics that may come and go."""
    settings = TrackerSettings(topics=k, seed=seed, threads=1, living_topics=True)
    first, rest = stream.x[stream.batches[0]], stream.batches[1:]
    state = tracker.init(settings, [], 0, first)
    arrival = [state.ids[memberships(state, first, settings)[0].argmax(axis=1)]]
    for batch in rest:
        state, _ = tracker.end_slice(state, settings)
        state, info = tracker.step(state, stream.x[batch], settings)
        arrival.append(np.where(info.label < 0, -1, state.ids[info.label]))
    return Found(np.concatenate(arrival), state.ids[memberships(state, stream.x, settings)[0].argmax(axis=1)])


def batch_vmf(stream: Stream, k: int, seed: int) -> Found:
    """Soft mixture by annealed EM on all rows."""
    return Found(None, VMFMixture(k, random_state=seed).fit(stream.x).labels_)


def batch_bayesian(stream: Stream, k: int, seed: int) -> Found:
    """Variational mixture on all rows."""
    return Found(None, BayesianVMFMixture(k, random_state=seed).fit(stream.x).labels_)


def refitted(stream: Stream, k: int, seed: int) -> Found:
    """The soft mixture fitted anew to all rows so far before every batch, its clusters matched with those of before."""
    arrival: list[ClusterLabels] = []
    now = np.zeros(0, np.int64)
    for batch in stream.batches:
        past = stream.x[: max(batch[0], len(stream.batches[0]))]  # the first batch itself: nothing came before
        model = VMFMixture(min(k, past.shape[0]), random_state=seed).fit(past)
        names = _matched(model.labels_[: len(now)], now, k)
        arrival.append(names[model.predict(stream.x[batch])])
        now = np.concatenate([names[model.labels_], arrival[-1]]) if batch[0] else names[model.labels_]
    return Found(np.concatenate(arrival), now)


def _matched(labels: ClusterLabels, before: ClusterLabels, k: int) -> ClusterLabels:
    """New names of labels such that most rows keep theirs; -1, of a row without words, stays."""
    shared = np.zeros((k, k))
    named = (labels >= 0) & (before >= 0)
    np.add.at(shared, (labels[named], before[named]), 1.0)
    return np.append(linear_sum_assignment(-shared)[1], -1)


def textclust(stream: Stream, k: int, seed: int) -> Found:
    """river, one pass over counts; it has no random choices."""
    del seed
    model: Any = TextClust(num_macro=k, real_time_fading=False)  # type: ignore[no-untyped-call]
    counts = stream.counts
    documents = [
        dict(zip(counts.indices[a:b].tolist(), counts.data[a:b].astype(int).tolist(), strict=True))
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
    arrival: list[Any] = []
    for document in documents:
        arrival.append(model.predict_one(document) if arrival else 0)
        model.learn_one(document)
    final = [model.predict_one(document) for document in documents]
    return Found(np.array([label or 0 for label in arrival]), np.array([label or 0 for label in final]))


STREAMS = {"newsgroups": newsgroups, "reuters": reuters}
METHODS = {
    "OnlineVMFMixture": online,
    "tracker, living topics": living,
    "MiniBatchKMeans": kmeans,
    "VMFMixture, batch": batch_vmf,
    "BayesianVMFMixture, batch": batch_bayesian,
}
SLOW = {"TextClust": textclust, "VMFMixture, refitted": refitted}


def agreement(y: ClusterLabels, found: ClusterLabels | None) -> list[float] | None:
    """NMI and ARI."""
    if found is None:
        return None
    return [round(score(found, y), 3) for score in (normalized_mutual_information, adjusted_rand_index)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--topics", type=int, default=30)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    arguments.add_argument("--first", type=int, default=None)
    arguments.add_argument("--slow", nargs="+", choices=SLOW, default=[])
    asked = arguments.parse_args()
    for name in asked.streams:
        for seed in asked.seeds:
            stream = STREAMS[name](seed) if asked.first is None else first(STREAMS[name](seed), asked.first)
            for method, run in (METHODS | {name: SLOW[name] for name in asked.slow}).items():
                began = time.process_time()
                with threadpool_limits(1):
                    found = run(stream, asked.topics, seed)
                seconds = round(time.process_time() - began, 1)
                line = {"stream": name, "method": method, "topics": asked.topics, "seed": seed, "n": len(stream.y)}
                scores = {"prequential": agreement(stream.y, found.arrival), "final": agreement(stream.y, found.final)}
                print(json.dumps(line | scores | {"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
