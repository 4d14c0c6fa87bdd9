"""Documents per second of the tracker from ready CSR batches, beside scikit-learn's MiniBatchKMeans in the same run.

The methods take turns in every round, and the medians over rounds are compared: ``times_kmeans`` is the median of the
rounds' ratios to MiniBatchKMeans with as many threads. Agreement with the known topics (NMI) of the labels given on
arrival stands beside, so that speed bought with quality is seen. ``memory_mib`` is what a process of its own that has
already loaded the data and the code needs besides. Prints one JSON line per measurement.

Idle threads of OpenMP wait without spinning: on a machine with other work, scikit-learn's two threads are else several
times slower than its single one.

    python tests/benchmarks/bench_engine.py [--documents 100000] [--rounds 5] [--topics 30 100] [--threads 1 2]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings

BATCH = 5000

Pass = tuple[float, NDArray[np.int64]]
"""Seconds of one pass over all batches after the first fit, and the labels given on arrival."""


def planted(n: int, d: int, k: int, words: int, topical: float, seed: int = 0) -> tuple[csr_array, NDArray[np.int64]]:
    """Tf-idf documents of about ``words`` distinct words: some from their topic's 300 words, most from a Zipf law.

    The share of their topic's words varies among documents around ``topical``, so that some can hardly be told.
    """
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, d + 1) ** 0.9
    common = np.cumsum(zipf / zipf.sum())
    vocabulary = rng.integers(0, d, (k, 300))
    label = rng.integers(0, k, n)
    draw = int(words * 1.2)
    background = np.searchsorted(common, rng.random((n, draw)))
    own = vocabulary[label[:, None], (rng.random((n, draw)) ** 2 * 300).astype(int)]
    share = rng.beta(2.0, 2.0 / topical - 2.0, (n, 1))
    columns = np.minimum(np.where(rng.random((n, draw)) < share, own, background), d - 1)
    rows = np.repeat(np.arange(n), draw)
    x = csr_array((np.ones(columns.size, np.float32), (rows, columns.ravel())), shape=(n, d))
    x.sum_duplicates()
    df = np.bincount(x.indices, minlength=d)
    x.data = (1.0 + np.log(x.data)) * np.log((1.0 + n) / (0.5 + df)).astype(np.float32)[x.indices]
    norms = np.sqrt(np.add.reduceat(x.data.astype(np.float64) ** 2, x.indptr[:-1]))
    x.data /= np.repeat(norms, np.diff(x.indptr)).astype(np.float32)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, label


def split(x: csr_array, k: int) -> tuple[csr_array, list[csr_array]]:
    """Return the documents of the first fit, and the batches."""
    first = TrackerSettings(topics=k).slice_limit
    return x[:first], [x[i : i + BATCH] for i in range(first, x.shape[0], BATCH)]


def follow(first: csr_array, batches: list[csr_array], k: int, threads: int, slices: int) -> Pass:
    """Run the tracker; slice ends are in the time."""
    settings = TrackerSettings(topics=k, threads=threads)
    state = tracker.start(settings, [], 0, first)
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


def kmeans(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run MiniBatchKMeans.partial_fit over the same batches."""
    model = MiniBatchKMeans(k, random_state=0, n_init=1, batch_size=BATCH)
    labels = []
    with threadpool_limits(threads):
        model.partial_fit(first)
        began = time.perf_counter()
        for batch in batches:
            model.partial_fit(batch)
            labels.append(model.labels_)
        seconds = time.perf_counter() - began
    return seconds, np.concatenate(labels)


METHODS: dict[str, Callable[[csr_array, list[csr_array], int, int], Pass]] = {
    "MiniBatchKMeans": kmeans,
    "tracker, one slice": lambda first, batches, k, threads: follow(first, batches, k, threads, 0),
    "tracker, 4 slices": lambda first, batches, k, threads: follow(first, batches, k, threads, 4),
}


def warm(x: csr_array, threads: int) -> None:
    """Compile and load all code on a few documents."""
    first, batches = x[:1000], [x[i : i + 500] for i in range(1000, 5000, 500)]
    for method in METHODS.values():
        method(first, batches, 2, threads)


def added_memory(path: str, name: str, k: int, threads: int) -> int:
    """MiB that one pass adds to the peak of this process."""
    x = csr_array(load_npz(path))
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    warm(x, threads)
    first, batches = split(x, k)
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak that loading had
    before = resident("VmRSS")
    METHODS[name](first, batches, k, threads)
    return (resident("VmHWM") - before) // 1024


def resident(field: str) -> int:
    """Resident memory of this process in KiB, now or at its peak (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def main() -> None:
    """Run all methods in turn, as often as there are rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=30_000)
    parser.add_argument("--topical", type=float, default=0.2, help="mean share of words from the topic")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--topics", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory-of", nargs=2, metavar=("FILE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory_of:
        path, method = given.memory_of
        print(added_memory(path, method, given.topics[0], given.threads[0]))
        return
    for k in given.topics:
        x, truth = planted(given.documents, given.dimension, k, 100, given.topical)
        for threads in given.threads:
            measure(x, truth, k, threads, given.rounds)


def measure(x: csr_array, truth: NDArray[np.int64], k: int, threads: int, rounds: int) -> None:
    """Print the lines of one number of topics and threads."""
    warm(x, threads)
    first, batches = split(x, k)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    agreement = {}
    for _ in range(rounds):
        for name, method in METHODS.items():
            spent, labels = method(first, batches, k, threads)
            seconds[name].append(spent)
            agreement[name] = normalized_mutual_info_score(truth[-len(labels) :], labels)
    n = sum(batch.shape[0] for batch in batches)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.npz")
        save_npz(path, x, compressed=False)
        for name, taken in seconds.items():
            call = [sys.executable, __file__, "--memory-of", path, name, "--topics", str(k), "--threads", str(threads)]
            memory = int(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
            line = {
                "method": name,
                "topics": k,
                "threads": threads,
                "documents_per_second": round(n / float(np.median(taken))),
                "best": round(n / min(taken)),
                "times_kmeans": round(float(np.median(np.divide(seconds["MiniBatchKMeans"], taken))), 2),
                "nmi": round(agreement[name], 3),
                "memory_mib": memory,
                "documents": n,
                "dimension": x.shape[1],
                "non_zeros": round(x.nnz / x.shape[0], 1),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
