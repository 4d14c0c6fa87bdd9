"""Seconds per iteration of the mixture and of spherical k-means, beside scikit-learn's KMeans (Lloyd's, Elkan's).

The methods take turns in every round and their medians are compared: ``times_kmeans`` is the median of the rounds'
ratios to KMeans with as many threads. An iteration's time is the difference of fits of a few and of many sweeps, so
that neither seeding nor validation is in it; those of Elkan's algorithm become cheaper as clusters come to rest.
``soft EM, hot`` has every document in every component, as while it is annealed; ``soft EM`` runs from labels, un-
annealed, as Lloyd's does. Agreement with the newsgroups (NMI) is that of a whole default fit from one start, whose
seconds and iterations stand beside it. ``memory_mib`` is what such a fit adds to the peak of a process of its own
that holds the data and the code already. Prints one JSON line per measurement.

``--dense``: processor seconds of whole fits, with all defaults and random states 0 to 9, in turn, to the posts in 100
dense columns (truncated SVD, unit rows), and their agreement with the newsgroups.

    python tests/benchmarks/bench_mixtures.py [--rounds 5] [--components 30 100] [--threads 1 2] [--dtype float32]
    python tests/benchmarks/bench_mixtures.py --dense [--dtype float32]
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
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz, save_npz
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from vmfstream import SphericalKMeans, VMFMixture
from vmfstream.datasets import twenty_newsgroups
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.seeding import one_hot
from vmfstream.mixtures.steps import estimate, m_step, sweep

FEW, MANY = 2, 8
HOT = 1e-3

Method = Callable[[csr_array, NDArray[Any], int, int], int]


def k_means(algorithm: str) -> Method:
    """Run KMeans by an algorithm from given means; return the iterations it made."""

    def run(x: csr_array, means: NDArray[Any], threads: int, sweeps: int) -> int:
        with threadpool_limits(threads):
            model = KMeans(len(means), init=means, n_init=1, max_iter=sweeps, tol=0.0, algorithm=algorithm).fit(x)
        return int(model.n_iter_)

    return run


def spherical(x: csr_array, means: NDArray[Any], threads: int, sweeps: int) -> int:
    """Run SphericalKMeans from given means."""
    return int(SphericalKMeans(len(means), init=means, max_iter=sweeps, n_jobs=threads).fit(x).n_iter_)


def soft(x: csr_array, means: NDArray[Any], threads: int, sweeps: int) -> int:
    """Run EM from given means, without annealing."""
    model = VMFMixture(len(means), init=means, anneal=False, max_iter=sweeps, tol=0.0, n_jobs=threads)
    return model.fit(x).n_iter_


def hot(x: csr_array, means: NDArray[Any], threads: int, sweeps: int) -> int:
    """Run sweeps and estimates at a temperature at which every document is in every component."""
    k = len(means)
    labels = np.arange(x.shape[0]) % k
    mixture: Mixture = m_step(x, one_hot(labels, k, x.dtype), k)
    for _ in range(sweeps):
        mixture = estimate(sweep(x, mixture, HOT, threads=threads).sums, mixture.mu, kappa=mixture.kappa)
    return sweeps


METHODS: dict[str, Method] = {
    "KMeans": k_means("lloyd"),
    "KMeans, Elkan": k_means("elkan"),
    "SphericalKMeans": spherical,
    "soft EM": soft,
    "soft EM, hot": hot,
}


def whole(name: str, x: csr_array, k: int, threads: int) -> Any:
    """Run a default fit from one start."""
    with threadpool_limits(threads):
        if name.startswith("KMeans"):
            algorithm = "elkan" if name.endswith("Elkan") else "lloyd"
            return KMeans(k, n_init=1, random_state=0, algorithm=algorithm).fit(x)
        if name == "SphericalKMeans":
            return SphericalKMeans(k, random_state=0, n_jobs=threads).fit(x)
        return VMFMixture(k, n_init=1, random_state=0, n_jobs=threads).fit(x)


def added_memory(path: str, name: str, k: int, threads: int) -> int:
    """MiB that a default fit adds to the peak of this process."""
    x = csr_array(load_npz(path))
    whole(name, x[:500], 5, threads)
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak that loading had
    before = resident("VmRSS")
    whole(name, x, k, threads)
    return (resident("VmHWM") - before) // 1024


def resident(field: str) -> int:
    """Resident memory of this process in KiB, now or at its peak (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def iteration(method: Method, x: csr_array, means: NDArray[Any], threads: int) -> float:
    """Seconds of one iteration."""
    seconds, sweeps = [], []
    for wanted in (FEW, MANY):
        began = time.perf_counter()
        sweeps.append(method(x, means, threads, wanted))
        seconds.append(time.perf_counter() - began)
    return (seconds[1] - seconds[0]) / (sweeps[1] - sweeps[0])


def measure(x: csr_array, truth: NDArray[np.int64], path: str, k: int, threads: int, rounds: int) -> None:
    """Print the lines of one number of components and threads."""
    means = x[np.random.default_rng(0).choice(x.shape[0], k, replace=False)].toarray()
    for method in METHODS.values():
        method(x[:1000], means[:5], threads, FEW)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(rounds):
        for name, method in METHODS.items():
            seconds[name].append(iteration(method, x, means, threads))
    for name, taken in seconds.items():
        line = {
            "method": name,
            "components": k,
            "threads": threads,
            "seconds_per_iteration": round(float(np.median(taken)), 4),
            "times_kmeans": round(float(np.median(np.divide(seconds["KMeans"], taken))), 2),
            "documents": x.shape[0],
            "dimension": x.shape[1],
            "non_zeros": round(x.nnz / x.shape[0], 1),
            "dtype": str(x.dtype),
        }
        if name != "soft EM, hot":  # which is a part of a whole fit
            line |= quality(name, x, truth, path, k, threads)
        print(json.dumps(line), flush=True)


def quality(
    name: str, x: csr_array, truth: NDArray[np.int64], path: str, k: int, threads: int
) -> dict[str, float | int]:
    """Seconds, iterations, agreement and memory of a default fit."""
    began = time.perf_counter()
    model = whole(name, x, k, threads)
    spent = time.perf_counter() - began
    call = [sys.executable, __file__, "--memory-of", path, name, "--components", str(k), "--threads", str(threads)]
    memory = int(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    return {
        "whole_fit_seconds": round(spent, 2),
        "iterations": int(model.n_iter_),
        "nmi": round(float(normalized_mutual_info_score(truth, model.labels_)), 3),
        "memory_mib": memory,
    }


def dense(sparse: csr_array, truth: NDArray[np.int64], k: int = 20, columns: int = 100) -> None:
    """Print the line of each method for dense rows."""
    x = TruncatedSVD(columns, random_state=0).fit_transform(sparse)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    kinds: dict[str, Any] = {"KMeans": KMeans, "SphericalKMeans": SphericalKMeans, "VMFMixture": VMFMixture}
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    found: dict[str, list[float]] = {name: [] for name in kinds}
    with threadpool_limits(1):
        for kind in kinds.values():
            kind(k, random_state=0).fit(x[:5000])
        for seed in range(10):
            for name, kind in kinds.items():
                began = time.process_time()
                labels = kind(k, random_state=seed).fit(x).labels_
                spent[name].append(time.process_time() - began)
                found[name].append(float(normalized_mutual_info_score(truth, labels)))
    for name in kinds:
        line = {
            "method": name,
            "processor_seconds": [round(float(q), 2) for q in np.quantile(spent[name], [0.0, 0.5, 1.0])],
            "times_kmeans": round(float(np.sum(spent[name]) / np.sum(spent["KMeans"])), 2),
            "nmi": round(float(np.mean(found[name])), 3),
            "nmi_sd": round(float(np.std(found[name])), 3),
            "shape": x.shape,
            "dtype": str(x.dtype),
        }
        print(json.dumps(line), flush=True)


def main() -> None:
    """Measure every number of components and threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--components", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--memory-of", nargs=2, metavar=("FILE", "METHOD"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if given.memory_of:
        path, method = given.memory_of
        print(added_memory(path, method, given.components[0], given.threads[0]))
        return
    documents = twenty_newsgroups().labelled()
    x = csr_array(documents.x, dtype=given.dtype)
    if given.dense:
        dense(x, documents.y)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.npz")
        save_npz(path, x, compressed=False)
        for k in given.components:
            for threads in given.threads:
                measure(x, documents.y, path, k, threads, given.rounds)


if __name__ == "__main__":
    main()
