"""Seconds and quality of public classes with their defaults, from the first document to the last, beside peers.

Inside the clock: everything from the first document given to the last one learnt, code that is loaded from the cache of
compiled functions included. Not inside: the start of Python, imports and the making of the data. Every run has a
process of its own; methods take turns in every round; medians over rounds. Labels are those given on arrival, in the
same run.

- ``rows``: ready tf-idf rows of 100 words in batches of 5,000, one thread or ``--threads``: `OnlineVMFMixture` and
  scikit-learn's MiniBatchKMeans. The planted topics are those of `bench_engine`.
- ``vectors``: 60,000 planted vectors of 256 numbers in batches of 5,000, the same classes with as many threads as they
  take by themselves: the environment says nothing.
- ``streams``: `TopicTracker` on short texts in many slices: titles in 16 slices, posts week by week.
- ``text``: `TopicTracker` on raw posts in 6 and 24 slices, without a run file, beside json.loads, HashingVectorizer,
  TfidfTransformer and MiniBatchKMeans.

Prints one JSON line per case and method. ``seconds`` are those of the clock, ``processor`` those of all threads, user
and system, with ``least`` and ``most``: on a busy machine these say more. ``times`` is how often it is as fast as the
first method of its case, in processor time. ``peak`` is the largest memory of the process since the data was there, in
MiB, and ``beside`` what came to it since then.

    python tests/benchmarks/bench_defaults.py [--only rows vectors streams text] [--rounds 5]
        [--documents 120000 1000000] [--threads 1]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.bench_engine import counted, weighted
from tests.benchmarks.bench_raw_text import hashing, lines
from vmfstream.folders import need_data

BATCH = 5000
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
WORDS = 30_000
TEXTS = 120_000
VECTORS = 60_000
METHODS = ("MiniBatchKMeans", "OnlineVMFMixture")


class Meter:
    """Seconds, processor seconds and memory from here on."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak of making the data
        self._resident = _memory("VmRSS")
        self._began = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return the columns of the table."""
        seconds, processor = time.perf_counter() - self._began[0], time.process_time() - self._began[1]
        peak = _memory("VmHWM")
        return {"seconds": seconds, "processor": processor, "peak": peak, "beside": peak - self._resident}


def _memory(field: str) -> float:
    """MiB by a field of the status of this process; ``ru_maxrss`` begins with the peak of what started it."""
    lines_of_status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines_of_status if line.startswith(f"{field}:")) / 1024


def of_rows(method: str, path: str, k: int, threads: int) -> dict[str, Any]:
    """Learn the rows of a file batch by batch."""
    x = csr_array(load_npz(path))
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    truth = np.load(f"{path}.npy")
    return _learnt(method, x, truth, k, threads)


def of_vectors(method: str, k: int) -> dict[str, Any]:
    """Learn planted vectors batch by batch."""
    rng = np.random.default_rng(0)
    centres, truth = rng.standard_normal((k, 256)), rng.integers(k, size=VECTORS)
    x = (centres[truth] + 1.5 * rng.standard_normal((VECTORS, 256))).astype(np.float32)
    return _learnt(method, x, truth, k, None)


def _learnt(method: str, x: Any, truth: Any, k: int, threads: int | None) -> dict[str, Any]:
    batches = [x[low : low + BATCH] for low in range(0, x.shape[0], BATCH)]
    model: Any
    if method == "OnlineVMFMixture":
        from vmfstream import OnlineVMFMixture

        model = OnlineVMFMixture(k, random_state=0, n_jobs=threads)
    else:
        from sklearn.cluster import MiniBatchKMeans

        model = MiniBatchKMeans(k, random_state=0)
    labels = []
    meter = Meter()
    for batch in batches:
        labels.append(model.partial_fit(batch).labels_)
    used = meter.read()
    found = np.concatenate(labels)
    return used | {
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "ari": float(adjusted_rand_score(truth, found)),
    }


def of_stream(name: str) -> dict[str, Any]:
    """Follow titles in 16 slices, or posts by weeks."""
    import duckdb

    from vmfstream import TopicTracker

    columns = duckdb.read_parquet(str(need_data(f"{name}/docs.parquet"))).fetchnumpy()
    texts = columns["text"].tolist()
    if "timestamp" in columns:
        order = np.argsort(columns["timestamp"], kind="stable")
        texts = [texts[i] for i in order]
        times: Any = [datetime.fromisoformat(columns["timestamp"][i]) for i in order]
        slices: str | int = "week"
    else:
        times, slices = 2013, -(-len(texts) // 16)
    meter = Meter()
    tracker = TopicTracker(slices=slices)
    tracker.learn(texts, times).finish()
    return meter.read() | {"documents": len(texts)}


def of_text(method: str, slices: int) -> dict[str, Any]:
    """Learn lines of JSON with raw text."""
    given = lines(TEXTS)
    if method == "hashing":
        meter = Meter()
        hashing(given, BATCH)
        return meter.read()
    from vmfstream import TopicTracker

    meter = Meter()
    tracker = TopicTracker(slices=TEXTS // slices)
    for low in range(0, TEXTS, BATCH):
        tracker.learn([json.loads(line)["text"] for line in given[low : low + BATCH]], 1993)
    tracker.finish()
    return meter.read()


CASES: dict[str, Callable[..., dict[str, Any]]] = {
    "rows": of_rows,
    "vectors": of_vectors,
    "streams": of_stream,
    "text": of_text,
}


def alone(kind: str, *arguments: Any) -> dict[str, Any]:
    """Run one method in a process of its own; the last argument of ``rows`` are its threads."""
    call = [sys.executable, __file__, "--alone", json.dumps([kind, *arguments])]
    threads = str(arguments[-1]) if kind == "rows" else "1"
    given = os.environ | (dict.fromkeys(THREADS, threads) if kind in ("rows", "text") else {})
    out = subprocess.run(call, check=True, capture_output=True, text=True, env=given).stdout
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def compare(case: str, rounds: int, documents: int | None, methods: dict[str, tuple[Any, ...]]) -> None:
    """Run methods in turn and print the medians of each; the first is what the others are compared with."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, call in methods.items():
            runs[name].append(alone(*call))
    first = np.array([run["processor"] for run in next(iter(runs.values()))])
    for name, found in runs.items():
        processor = np.array([run["processor"] for run in found])
        n = documents or found[0]["documents"]
        line = {
            "case": case,
            "method": name,
            "processor": round(float(np.median(processor)), 2),
            "least": round(float(processor.min()), 2),
            "most": round(float(processor.max()), 2),
            "seconds": round(float(np.median([run["seconds"] for run in found])), 2),
            "documents_per_second": round(n / float(np.median(processor))),
            "times": round(float(np.median(first / processor)), 2),
            "peak": round(max(run["peak"] for run in found)),
            "beside": round(max(run["beside"] for run in found)),
        }
        quality = {key: round(found[0][key], 3) for key in ("nmi", "ari") if key in found[0]}
        print(json.dumps(line | quality), flush=True)


def main() -> None:
    """Run the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--documents", type=int, nargs="+", default=[120_000, 1_000_000])
    parser.add_argument("--topics", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--threads", type=int, default=1, help="of both methods on rows")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        kind, *arguments = json.loads(given.alone)
        print(json.dumps(CASES[kind](*arguments)))
        return
    print("clock: first document to last, defaults, second start of the program; imports are left out", flush=True)
    if "rows" in given.only:
        for k in given.topics:
            for n in given.documents:
                with tempfile.TemporaryDirectory() as folder:
                    path = str(Path(folder) / "x.npz")
                    counts, truth = counted(n, WORDS, k, 100, 0.2)
                    save_npz(path, weighted(counts), compressed=False)
                    np.save(f"{path}.npy", truth)
                    del counts
                    methods = {name: ("rows", name, path, k, given.threads) for name in METHODS}
                    compare(f"{n:,} rows, K = {k}", given.rounds, n, methods)
    if "vectors" in given.only:
        for k in given.topics:
            of_each = {name: ("vectors", name, k) for name in METHODS}
            compare(f"{VECTORS:,} vectors, K = {k}", given.rounds, VECTORS, of_each)
    if "streams" in given.only:
        for name, case in (("mstream_news_t", "titles in 16 slices"), ("crisislex_t26", "posts by weeks")):
            compare(case, given.rounds, None, {"TopicTracker": ("streams", name)})
    if "text" in given.only:
        texts = {"hashing": ("text", "hashing", 0)}
        compare(
            f"{TEXTS:,} raw posts",
            given.rounds,
            TEXTS,
            texts | {f"TopicTracker, {slices} slices": ("text", "TopicTracker", slices) for slices in (6, 24)},
        )


if __name__ == "__main__":
    main()
