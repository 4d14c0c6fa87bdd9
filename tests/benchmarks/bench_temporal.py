"""Seconds per sweep of the hierarchical and the temporal mixture on rows like the papers of a conference.

Prints one JSON line per model: random sparse rows, as many per slice and as long as the full texts of thirteen years of
NIPS papers (D = 23,000, about 750 different words each). Processor time of one thread: the difference between a fit of
many sweeps and one of a single sweep, divided by the sweeps between; median of three.

    python tests/benchmarks/bench_temporal.py [--documents 1740] [--words 23000] [--topics 30] [--slices 13]
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream.bayes.factors.beliefs import anchored
from vmfstream.bayes.factors.concentration import point_factor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.hierarchical.prior import moment_tree_prior
from vmfstream.bayes.hierarchical.trees import regular_tree
from vmfstream.bayes.hierarchical.variational import fit_tree
from vmfstream.bayes.temporal.filtering import filter_fit
from vmfstream.bayes.temporal.meanfield import Links, fit_chain, started
from vmfstream.bayes.temporal.proportions import ProportionRule, proportions
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.mixtures.seeding import one_hot


def papers(documents: int, words: int, topics: int, length: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Unit rows (N, D), float32, of words that topics prefer, and their topics."""
    common = rng.dirichlet(np.full(words, 0.2))
    labels = rng.integers(topics, size=documents)
    favourite = [rng.dirichlet(np.maximum(common * words * 0.05, 1e-4)) for _ in range(topics)]
    columns, values, ends = [], [], [0]
    for z in labels:
        found, counts = np.unique(
            rng.choice(words, 2 * length, p=0.5 * common + 0.5 * favourite[z]), return_counts=True
        )
        weight = 1 + np.log(counts)
        columns.append(found)
        values.append(weight / np.linalg.norm(weight))
        ends.append(ends[-1] + len(found))
    data = (
        np.concatenate(values).astype(np.float32),
        np.concatenate(columns).astype(np.int32),
        np.array(ends, np.int32),
    )
    return csr_array(data, shape=(documents, words)), labels


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, value in (("documents", 1740), ("words", 23000), ("topics", 30), ("slices", 13), ("sweeps", 8)):
        arguments.add_argument(f"--{name}", type=int, default=value)
    asked = arguments.parse_args()
    k, rng = asked.topics, np.random.default_rng(0)
    x, labels = papers(asked.documents, asked.words, k, 450, rng)
    resp = one_hot(np.where(rng.random(len(labels)) < 0.7, labels, rng.integers(k, size=len(labels))), k, np.float32)
    spans = list(itertools.pairwise(np.linspace(0, len(labels), asked.slices + 1).astype(int)))
    xs, resps = [x[a:b] for a, b in spans], [resp[a:b] for a, b in spans]
    prior = moment_prior(x, resp, k)
    nothing = np.zeros((asked.words, resp.shape[1]), np.float32)
    kappa = point_factor(asked.words, float(inv_bessel_ratio(asked.words, 0.3)))
    first = anchored(prior.b, nothing, k)
    links = Links(first, float(inv_bessel_ratio(asked.words, 0.95)))
    tree = regular_tree(2, (max(k // 6, 1), min(k, 6)))
    tree_prior = moment_tree_prior(x, resp, tree)

    def smoother(sweeps: int, lag: int | None = None) -> None:
        given = (resps, kappa, np.zeros(k), nothing, prior.b, 0.98, 1.0)
        fit_smoother(xs, *given, lag=lag, max_iter=sweeps, tol=0.0)

    def meanfield(sweeps: int, rule: ProportionRule = "static") -> None:
        state = started(xs, resps, [first] * asked.slices, kappa, proportions(rule, k, asked.slices))
        fit_chain(xs, state, links, KappaModel(), max_iter=sweeps, tol=0.0)

    methods: dict[str, Callable[[int], object]] = {
        "flat mixture": lambda n: fit(x, resp, k, Prior(1.0, prior.b), kappa="point", max_iter=n, tol=0.0),
        "temporal, smoother": smoother,
        "temporal, smoother, lag 3": lambda n: smoother(n, 3),
        "temporal, filter": lambda n: filter_fit(xs, resps, k, omega=0.98, anchor=prior.b, max_iter=n, tol=0.0),
        "temporal, mean field": meanfield,
        "temporal, mean field, logistic-normal weights": lambda n: meanfield(n, "logistic-normal"),
        "hierarchical, messages": lambda n: fit_tree(x, resp, tree, tree_prior, "messages", max_iter=n, tol=0.0),
        "hierarchical, mean field": lambda n: fit_tree(x, resp, tree, tree_prior, "meanfield", max_iter=n, tol=0.0),
    }
    for name, method in methods.items():
        method(1)  # compiles
        found = [(seconds(method, 1 + asked.sweeps) - seconds(method, 1)) / asked.sweeps for _ in range(3)]
        line = {
            "bench": "temporal",
            "model": name,
            "seconds_per_sweep": round(statistics.median(found), 4),
            "nonzeros": int(x.nnz),
            "topics": k,
            "slices": asked.slices,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(json.dumps(line), flush=True)


def seconds(method: Callable[[int], object], sweeps: int) -> float:
    begun = time.process_time()
    method(sweeps)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
