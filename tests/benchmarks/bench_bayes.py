"""Seconds per sweep of the Bayesian mixture and sweeps per second of its Gibbs samplers, on 20 Newsgroups as CSR.

One thread; processor time, which a busy machine disturbs least. A sweep's time is the difference of fits of a few and
of many sweeps from the same annealed start, the least of several rounds, so that neither the start nor the first
statistics are in it. Gibbs sampling draws the concentration too. Prints one JSON line per measurement.

    python tests/benchmarks/bench_bayes.py [--components 30] [--rounds 3] [--documents 18846]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from vmfstream.bayes.factors.concentration import RULES
from vmfstream.bayes.factors.priors import moment_kappa_prior, moment_prior
from vmfstream.bayes.flat import gibbs, variational
from vmfstream.bayes.flat.dirichlet_process import fit_process
from vmfstream.datasets import twenty_newsgroups
from vmfstream.mixtures.movmf import annealed_fit

FEW, MANY = 2, 7


def seconds(run: Callable[[int], Any]) -> float:
    """Return the time of ``run``, which is given a number of sweeps, per sweep."""
    taken = []
    for sweeps in (FEW, MANY):
        begun = time.process_time()
        run(sweeps)
        taken.append(time.process_time() - begun)
    return (taken[1] - taken[0]) / (MANY - FEW)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--components", type=int, default=30)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--documents", type=int, default=18846)
    asked = arguments.parse_args()
    k = asked.components
    x = twenty_newsgroups().x[: asked.documents].astype(np.float32)
    resp = annealed_fit(x, k, np.random.default_rng(0)).resp
    prior, law = moment_prior(x, resp, k), moment_kappa_prior(x, resp, k)
    labels = resp[:, :k].argmax(axis=1)

    def ascend(sweeps: int, **options: Any) -> None:
        rng = np.random.default_rng(0)
        variational.fit(x, resp, k, prior, kappa_prior=law, rng=rng, max_iter=sweeps, tol=0.0, **options)

    def process(sweeps: int) -> None:
        fit_process(x, resp, k, prior, kappa_prior=law, max_iter=sweeps, tol=0.0)

    def draw(sweeps: int, **options: Any) -> None:
        rng = np.random.default_rng(0)
        gibbs.fit(x, labels, k, prior, kappa_prior=law, rng=rng, draws=1, burn_in=sweeps - 1, **options)

    methods: dict[str, Callable[[int], None]] = {
        f"variational, {rule}, {size}": partial(ascend, kappa=rule, concentration=size)
        for rule in RULES
        for size in ("shared", "own")
    }
    methods["variational, quadrature, shared, hard"] = partial(ascend, assignment="hard")
    methods["variational, Dirichlet process"] = process
    methods["Gibbs, collapsed"] = draw
    methods["Gibbs, collapsed, own"] = partial(draw, concentration="own")
    methods["Gibbs, uncollapsed"] = partial(draw, collapsed=False)
    for name, method in methods.items():
        method(FEW)  # compiles
        least = min(seconds(method) for _ in range(asked.rounds))
        line = {
            "bench": "bayes",
            "method": name,
            "components": k,
            "documents": x.shape[0],
            "words": x.shape[1],
            "nonzeros": int((x != 0).sum()),
            "seconds_per_sweep": round(least, 4),
            "sweeps_per_second": round(1 / least, 2),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
