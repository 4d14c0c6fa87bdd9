"""Documents per second from ready CSR batches: the tracker, beside its bare kernel and what people use instead.

The fast methods take turns in every round, and the medians over rounds are compared: ``times_kmeans``, ``of_bare`` and
``of_plain`` are the medians of the rounds' ratios to MiniBatchKMeans, to the bare kernel and to the plain one, with as
many threads. Both kernels are what no pass can do without: scores under fixed topics, softmax, and sums of the
documents; with two threads each half of the documents has sums of its own, which are not put together. The plain one is
what numba makes of Python: sums over words in written-out scalars, which it keeps in registers, and one document after
another. The bare one uses the loops of the tracker, which fetch rows ahead. The slow methods,
fed with counts instead of weights, run once over the first documents only. Agreement with the known topics (NMI) of
the labels given on arrival stands beside, so that speed bought with quality is seen (tomotopy makes one sweep, and
tells no labels on arrival). ``memory_mib`` is what a process of its own that has already loaded the data and the code
needs besides; ``cpu`` are documents per second of processor time, which other work disturbs less than the clock.

With ``--curve``: one line for every number of topics, of words and of words in a document, each from a process of its
own; ``ns`` is the processor time per non-zero and topic. With ``--starts``: seconds of a first and a second start, with
code and topics.

Idle threads of OpenMP wait without spinning: on a machine with other work, scikit-learn's two threads are else several
times slower than its single one.

    python tests/benchmarks/bench_engine.py [--documents 100000] [--rounds 5] [--topics 30 100] [--threads 1 2]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import ctypes
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.metrics import normalized_mutual_info_score

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks import engine_peers as peers
from tests.benchmarks.engine_kernels import bare, plain
from tests.benchmarks.engine_passes import BATCH, Clock, Pass, follow, mixture
from vmfstream.arrays import ClusterLabels
from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings

CURVE = [
    *((k, 30_000, 100) for k in (10, 30, 100, 300, 1000)),
    *((30, d, 100) for d in (10_000, 100_000, 500_000)),
    *((30, 30_000, words) for words in (30, 300, 1000)),
]
"""Topics, words of the vocabulary, words of a document."""


Method = Callable[[csr_array, list[csr_array], int, int], Pass]


def counted(n: int, d: int, k: int, words: int, topical: float, seed: int = 0) -> tuple[csr_array, ClusterLabels]:
    """Counts of about ``words`` distinct words a document: some from their topic's 300 words, most from a Zipf law.

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
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, label


def weighted(counts: csr_array) -> csr_array:
    """Tf-idf rows of unit length."""
    x = counts.copy()
    n, d = x.shape
    df = np.bincount(x.indices, minlength=d)
    x.data = (1.0 + np.log(x.data)) * np.log((1.0 + n) / (0.5 + df)).astype(np.float32)[x.indices]
    norms = np.sqrt(np.add.reduceat(x.data.astype(np.float64) ** 2, x.indptr[:-1]))
    x.data /= np.repeat(norms, np.diff(x.indptr)).astype(np.float32)
    return x


def split(x: csr_array, k: int) -> tuple[csr_array, list[csr_array]]:
    """Return the documents of the first fit, and the batches."""
    first = TrackerSettings(topics=k).slice_limit
    return x[:first], [x[i : i + BATCH] for i in range(first, x.shape[0], BATCH)]


FAST: dict[str, Method] = {
    "MiniBatchKMeans": peers.kmeans,
    "bare kernel": bare,
    "plain kernel": plain,
    "tracker, one slice": lambda first, batches, k, threads: follow(first, batches, k, threads, 0),
    "OnlineVMFMixture": mixture,
    "tracker, 4 slices": lambda first, batches, k, threads: follow(first, batches, k, threads, 4),
}

SLOW: dict[str, tuple[Method, int, int]] = {
    "online LDA": (peers.online_lda, 5000, 1),
    "gensim LdaModel": (peers.gensim_lda, 5000, 1),
    "tomotopy LDA, one sweep": (peers.tomotopy_lda, 5000, 2),
    "TextClust": (peers.textclust, 300, 1),
}
"""Methods on counts, the documents that they get, and the most threads they can use."""

NEEDED = {"gensim LdaModel": "gensim", "tomotopy LDA, one sweep": "tomotopy"}


def warm(x: csr_array, threads: int, names: list[str]) -> None:
    """Compile and load all code on a few documents."""
    first, batches = x[:1000], [x[i : i + 500] for i in range(1000, 3000, 500)]
    for name in names:
        FAST[name](first, batches, 2, threads)


# --- measuring ------------------------------------------------------------------------------------------------------


def run(name: str, x: csr_array, k: int, threads: int) -> Pass:
    """Run one method over the documents after those of the first fit; a slow one over the first of them only."""
    if name in FAST:
        return FAST[name](*split(x, k), k, threads)
    method, n, _ = SLOW[name]
    return method(x[:1000], [x[1000 + i : 1000 + min(i + BATCH, n)] for i in range(0, n, BATCH)], k, threads)


def added_memory(path: str, name: str, k: int, threads: int) -> int:
    """MiB that one pass adds to the peak of this process."""
    x = csr_array(load_npz(path))
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    warm(x, threads, [name] if name in FAST else [])
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak that loading had
    before = resident("VmRSS")
    run(name, x, k, threads)
    return (resident("VmHWM") - before) // 1024


def resident(field: str) -> int:
    """Resident memory of this process in KiB, now or at its peak (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def measure(
    counts: csr_array, truth: ClusterLabels, k: int, threads: int, rounds: int, slow: list[str], memory: bool
) -> None:
    """Print the lines of one number of topics and threads."""
    x = weighted(counts)
    warm(x, threads, list(FAST))
    passes: dict[str, list[Pass]] = {name: [] for name in FAST} | {
        name: [run(name, counts, k, threads)] for name in slow
    }
    for _ in range(rounds):
        for name in FAST:
            passes[name].append(run(name, x, k, threads))
    rates = {name: [_documents(name, x, k) / one.seconds for one in found] for name, found in passes.items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = {False: str(Path(folder) / "x.npz"), True: str(Path(folder) / "counts.npz")}
        save_npz(paths[False], x, compressed=False)
        save_npz(paths[True], counts, compressed=False)
        for name, found in passes.items():
            n = _documents(name, x, k)
            first = 1000 if name in SLOW else len(truth) - n
            labels = found[-1].labels
            line = {
                "method": name,
                "topics": k,
                "threads": threads,
                "documents_per_second": round(float(np.median(rates[name]))),
                "best": round(max(rates[name])),
                "cpu": round(n / min(one.cpu for one in found)),
                **_ratios(rates, name),
                "nmi": None if labels is None else _agreement(truth[first : first + n], labels),
                "memory_mib": _memory(paths[name in SLOW], name, k, threads) if memory else None,
                "documents": n,
                "dimension": x.shape[1],
                "non_zeros": round(x.nnz / x.shape[0], 1),
            }
            print(json.dumps(line), flush=True)


def _documents(name: str, x: csr_array, k: int) -> int:
    return SLOW[name][1] if name in SLOW else x.shape[0] - TrackerSettings(topics=k).slice_limit


def _ratios(rates: dict[str, list[float]], name: str) -> dict[str, float]:
    """Medians of the rounds' ratios; a method that ran once is compared with the medians."""
    own = rates[name] if name in FAST else rates[name][0]
    return {
        key: _rounded(float(np.median(np.divide(own, rates[other]))), 4 if name in SLOW else 2)
        for key, other in (
            ("times_kmeans", "MiniBatchKMeans"),
            ("of_bare", "bare kernel"),
            ("of_plain", "plain kernel"),
        )
    }


def _agreement(truth: ClusterLabels, labels: ClusterLabels) -> float:
    return _rounded(normalized_mutual_info_score(truth, labels))


def _rounded(value: float, digits: int = 3) -> float:
    return round(float(value), digits)


def _memory(path: str, name: str, k: int, threads: int) -> int:
    return int(_self("--memory-of", path, name, "--topics", str(k), "--threads", str(threads)))


def _self(*arguments: str, **environment: str) -> str:
    call = [sys.executable, __file__, *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True, env=os.environ | environment).stdout


def point(k: int, d: int, words: int, threads: int) -> None:
    """Print one point of the curve: 20,000 documents in batches, fewer long ones, after a first fit on 4,000."""
    counts, _ = counted(4000 + 2_000_000 // max(words, 100), d, k, words, 0.2)
    x = weighted(counts)
    settings = TrackerSettings(topics=k, window=4000, cold_starts=1, threads=threads)
    state = tracker.init(settings, [], 0, x[:4000])
    batches = [x[i : i + BATCH] for i in range(4000, x.shape[0], BATCH)]
    for batch in batches[:1] * 2:  # compiled, and with matrices of its own
        state, _ = tracker.step(state, batch, settings, donate=True)
    best = Pass(np.inf, np.inf, None)
    for _ in range(3):
        clock = Clock()
        for batch in batches:
            state, _ = tracker.step(state, batch, settings, donate=True)
        spent = clock.read(None)
        best = Pass(min(best.seconds, spent.seconds), min(best.cpu, spent.cpu), None)
    n, nnz = sum(batch.shape[0] for batch in batches), sum(batch.nnz for batch in batches)
    line = {
        "method": "tracker, one slice",
        "topics": k,
        "dimension": d,
        "non_zeros": round(nnz / n, 1),
        "threads": threads,
        "documents_per_second": round(n / best.seconds),
        "cpu": round(n / best.cpu),
        "ns": _rounded(1e9 * best.cpu / nnz / k),
        "peak_mib": resident("VmHWM") // 1024,
        "data_mib": (x.data.nbytes + x.indices.nbytes) >> 20,
    }
    print(json.dumps(line), flush=True)


def starts() -> None:
    """Print how long a first start takes, when everything is compiled, and a second."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first start", "second start"):
            began = time.perf_counter()
            _self("--start", NUMBA_CACHE_DIR=folder)
            print(json.dumps({"method": name, "seconds": _rounded(time.perf_counter() - began, 1)}), flush=True)


def main() -> None:
    """Run all methods in turn, as often as there are rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=30_000)
    parser.add_argument("--topical", type=float, default=0.2, help="mean share of words from the topic")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--topics", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--fast", action="store_true", help="without the slow methods and without memory")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--memory-of", nargs=2, metavar=("FILE", "METHOD"), help=argparse.SUPPRESS)
    parser.add_argument("--point", type=int, nargs=3, metavar=("TOPICS", "DIMENSION", "WORDS"), help=argparse.SUPPRESS)
    parser.add_argument("--start", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory_of:
        path, method = given.memory_of
        print(added_memory(path, method, given.topics[0], given.threads[0]))
    elif given.point:
        k, d, words = given.point
        point(k, d, words, given.threads[0])
    elif given.start:
        x = weighted(counted(3000, 2000, 2, 30, 0.2)[0])
        FAST["tracker, one slice"](x[:1000], [x[1000:2000], x[2000:]], 2, 1)
    elif given.starts:
        starts()
    elif given.curve:
        for place in CURVE:
            print(_self("--point", *map(str, place)), end="", flush=True)
    else:
        compare(given)


def compare(given: argparse.Namespace) -> None:
    """Measure all methods that are there."""
    absent = [name for name, module in NEEDED.items() if importlib.util.find_spec(module) is None]
    if absent and not given.fast:
        print(f"left out, for they are not installed: {', '.join(absent)}", file=sys.stderr)
    for k in given.topics:
        counts, truth = counted(given.documents, given.dimension, k, 100, given.topical)
        for threads in given.threads:
            slow = [name for name in SLOW if name not in absent and threads <= SLOW[name][2] and not given.fast]
            measure(counts, truth, k, threads, given.rounds, slow, not given.fast)


if __name__ == "__main__":
    main()
