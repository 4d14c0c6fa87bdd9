"""Documents per second of the tracker from ready CSR batches, beside scikit-learn's MiniBatchKMeans in the same run.

Prints one JSON line per measurement: method, topics, threads, documents per second (median and best of the rounds) and
agreement with the known topics (NMI), so that speed bought with quality is seen.

    python tests/benchmarks/bench_engine.py [--documents 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings

BATCH = 5000


def planted(n: int, d: int, k: int, words: int, seed: int = 0) -> tuple[csr_array, NDArray[np.int64]]:
    """Documents of about ``words`` distinct words: half from their topic's 300 words, half from a common Zipf law."""
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, d + 1) ** 0.9
    common = np.cumsum(zipf / zipf.sum())
    topical = rng.integers(0, d, (k, 300))
    label = rng.integers(0, k, n)
    draw = int(words * 0.62)
    background = np.searchsorted(common, rng.random((n, draw)))
    own = topical[label[:, None], (rng.random((n, draw)) ** 2 * 300).astype(int)]
    columns = np.minimum(np.concatenate([background, own], axis=1), d - 1)
    rows = np.repeat(np.arange(n), columns.shape[1])
    x = csr_array((np.ones(columns.size, np.float32), (rows, columns.ravel())), shape=(n, d))
    x.sum_duplicates()
    df = np.bincount(x.indices, minlength=d)
    x.data = (1.0 + np.log(x.data)) * np.log((1.0 + n) / (0.5 + df)).astype(np.float32)[x.indices]
    norms = np.sqrt(np.add.reduceat(x.data.astype(np.float64) ** 2, x.indptr[:-1]))
    x.data /= np.repeat(norms, np.diff(x.indptr)).astype(np.float32)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, label


def follow(x: csr_array, k: int, threads: int, slices: int) -> tuple[float, NDArray[np.int64]]:
    """Seconds of one pass after the first fit, slice ends included, and the labels given on arrival."""
    settings = TrackerSettings(topics=k, threads=threads)
    first = settings.slice_limit
    state = tracker.start(settings, [], 0, x[:first])
    batches = [x[i : i + BATCH] for i in range(first, x.shape[0], BATCH)]
    ends = {len(batches) * (s + 1) // slices for s in range(slices)} if slices else set()
    labels = []
    began = time.perf_counter()
    for i, batch in enumerate(batches, 1):
        state, info = tracker.step(state, batch, settings)
        labels.append(info.label)
        if i in ends:
            state, predicted = tracker.judge(state, settings)
            state, _ = tracker.close(state, predicted, settings)
    seconds = time.perf_counter() - began
    return seconds, np.concatenate(labels)


def kmeans(x: csr_array, k: int, threads: int) -> tuple[float, NDArray[np.int64]]:
    """Seconds of MiniBatchKMeans.partial_fit over the same batches, and the labels given on arrival."""
    model = MiniBatchKMeans(k, random_state=0, n_init=1, batch_size=BATCH)
    first = TrackerSettings(topics=k).slice_limit
    with threadpool_limits(threads):
        model.partial_fit(x[:first])
        batches = [x[i : i + BATCH] for i in range(first, x.shape[0], BATCH)]
        labels = []
        began = time.perf_counter()
        for batch in batches:
            model.partial_fit(batch)
            labels.append(model.labels_)
        seconds = time.perf_counter() - began
    return seconds, np.concatenate(labels)


def main() -> None:
    """Run all methods in turn, as often as there are rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--topics", type=int, nargs="+", default=[30, 100])
    given = parser.parse_args()
    for k in given.topics:
        x, truth = planted(given.documents, given.dimension, k, 100)
        methods: dict[tuple[str, int], Callable[[], tuple[float, NDArray[np.int64]]]] = {}
        for threads in (1, 2):
            methods["tracker, one slice", threads] = lambda t=threads: follow(x, k, t, 0)  # type: ignore[misc]
            methods["tracker, 4 slices", threads] = lambda t=threads: follow(x, k, t, 4)  # type: ignore[misc]
            methods["MiniBatchKMeans", threads] = lambda t=threads: kmeans(x, k, t)  # type: ignore[misc]
        follow(x[:6000], k, 1, 0)  # compile
        follow(x[:6000], k, 2, 0)
        seconds: dict[tuple[str, int], list[float]] = {m: [] for m in methods}
        scores: dict[tuple[str, int], float] = {}
        for _ in range(given.rounds):
            for name, method in methods.items():
                numba.set_num_threads(name[1])
                spent, labels = method()
                seconds[name].append(spent)
                scores[name] = normalized_mutual_info_score(truth[-len(labels) :], labels)
        n = len(truth) - TrackerSettings(topics=k).slice_limit
        for (method_name, threads), taken in seconds.items():
            print(
                json.dumps(
                    {
                        "method": method_name,
                        "topics": k,
                        "threads": threads,
                        "documents_per_second": round(n / float(np.median(taken))),
                        "best": round(n / min(taken)),
                        "nmi": round(scores[method_name, threads], 3),
                        "documents": n,
                        "dimension": given.dimension,
                        "non_zeros": round(x.nnz / x.shape[0], 1),
                        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
