"""Starts and searches of batch fits: what agrees with classes, what the objective is, what it takes.

Fits of one start each (``n_init=1``) by the public classes, ``--seeds`` times, on sets of texts with known classes and
as many clusters as classes; mean and standard deviation of NMI over the seeds, means of the last lower bound, sweeps
and seconds of processor time. All of ``fit`` is inside the clock, the data are in memory and the code is compiled.
Needs $VMFSTREAM_DATA. Prints one JSON line per set and method.

    python tests/benchmarks/bench_starts.py [--sets classic300 twenty_newsgroups] [--seeds 10]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vmfstream import SphericalKMeans, VMFMixture, datasets
from vmfstream.metrics import normalized_mutual_information

SETS = ("classic300", "classic400", "cnae9", "slashdot", "twenty_newsgroups")

METHODS: dict[str, Callable[..., Any]] = {
    "SphericalKMeans": SphericalKMeans,
    "SphericalKMeans, local search": lambda k, **given: SphericalKMeans(k, local_search=30, **given),
    "VMFMixture": VMFMixture,
    "VMFMixture, not annealed": lambda k, **given: VMFMixture(k, anneal=False, **given),
    "VMFMixture, incremental": lambda k, **given: VMFMixture(k, algorithm="incremental", **given),
}

STARTS = ("k-means++", "agglomerative", "random")


def measure(name: str, seeds: int) -> None:
    """Print the lines of one set."""
    data = getattr(datasets, name)()
    k = len(np.unique(data.y))
    for method, make in METHODS.items():
        for init in STARTS:
            make(2, init=init, n_init=1, random_state=0).fit(data.x[:200])
            rows = []
            for seed in range(seeds):
                began = time.process_time()
                found = make(k, init=init, n_init=1, random_state=seed).fit(data.x)
                seconds = time.process_time() - began
                known = found.labels_ >= 0
                nmi = normalized_mutual_information(data.y[known], found.labels_[known])
                rows.append((nmi, found.lower_bound_, len(found.lower_bounds_), seconds))
            nmi, bound, sweeps, seconds = np.mean(rows, axis=0)
            spread = np.std(rows, axis=0)[0]
            line = {"nmi": round(nmi, 3), "spread": round(spread, 3), "bound": round(bound, 4)}
            line |= {"sweeps": round(sweeps, 1), "seconds": round(seconds, 3)}
            print(json.dumps({"set": name, "method": method, "init": init} | line), flush=True)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in given.sets:
        measure(name, given.seeds)


if __name__ == "__main__":
    main()
