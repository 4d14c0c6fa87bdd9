"""Sweeps of the multilevel sampler (MC2) over NIPS beside tomotopy's HDPModel, and documents of the admixture.

Prints one JSON line each, on one thread: processor and wall seconds of a sweep, tokens per second, largest resident
memory. The admixture visits the posts of 20 Newsgroups as words with vectors. ``tomotopy`` is not a dependency: without
it its line is left out.

    python tests/benchmarks/bench_multilevel.py [--sweeps 20] [--topics 100 300]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vmfstream.bayes.admixture.topics import point_topics
from vmfstream.bayes.admixture.variational import directed_bags, visited
from vmfstream.bayes.multilevel.content import WORD_PRIOR, word_content
from vmfstream.bayes.multilevel.sampler import Chain
from vmfstream.directional.sphere import unit_rows
from vmfstream.mixtures.seeding import start_from
from vmfstream.replay.papers.li_features import VECTORS, bags, vectors
from vmfstream.replay.papers.nguyen_data import papers


def main() -> None:
    """Measure everything once."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sweeps", type=int, default=20)
    options.add_argument("--topics", type=int, nargs="+", default=[100, 300])
    given = options.parse_args()
    counts, rng = papers().counts, np.random.default_rng(0)
    tokens = int(counts.sum())
    content = word_content(counts, WORD_PRIOR)
    labels = rng.integers(0, 100, tokens)
    chain = Chain(content._replace(l=labels), (), np.arange(counts.shape[0]), rng, levels=(1.0, 10.0, 10.0))
    chain.settle(1)
    say("MC2, topics of tokens", tokens, timed(lambda: chain.settle(given.sweeps), given.sweeps))
    chain.sweep()
    few = max(1, given.sweeps // 4)
    say("MC2, whole sweeps", tokens, timed(lambda: [chain.sweep() for _ in range(few)], few), clusters=chain.k)
    if importlib.util.find_spec("tomotopy"):
        say("tomotopy HDPModel", tokens, hdp(counts, given.sweeps))
    for k in given.topics:
        say(f"admixture, {k} topics", 0, *admixture(k, rng))


def timed(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Processor and wall seconds of one of so many."""
    used, clock = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - used) / times, (time.perf_counter() - clock) / times


def hdp(counts: Any, sweeps: int) -> tuple[float, float]:
    """Sample tomotopy's model, started from as many topics, after as many sweeps."""
    import tomotopy

    model = tomotopy.HDPModel(eta=WORD_PRIOR, initial_k=100, alpha=1.0, gamma=1.0, seed=0)
    for i in range(counts.shape[0]):
        row = counts[[i]]
        model.add_doc(np.repeat(row.indices, row.data.astype(int)).astype(str).tolist())
    model.train(2, workers=1)
    return timed(lambda: model.train(sweeps, workers=1), sweeps)


def admixture(k: int, rng: np.random.Generator) -> tuple[tuple[float, float], int]:
    """Infer the proportions of all posts under topics that are clusters of word vectors."""
    source = next(iter(VECTORS))
    rows, _ = unit_rows(vectors(source).vectors)
    kept = directed_bags(rows, bags("20News", source)[0])
    resp: Any = start_from(rows, k, "k-means++", rng, np.asarray(kept.sum(axis=0)))
    means = rows.T @ resp
    topics = point_topics(means / np.maximum(np.linalg.norm(means, axis=0), 1e-12), np.full(k, 200.0))
    visited(rows, kept[:10], topics, 0.1)
    return timed(lambda: visited(rows, kept, topics, 0.1), 1), kept.shape[0]


def say(what: str, tokens: int, seconds: tuple[float, float], documents: int = 0, **more: Any) -> None:
    """Print one line."""
    rate = {"tokens per second": round(tokens / seconds[0])} if tokens else {}
    rate |= {"documents per second": round(documents / seconds[0])} if documents else {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    line = {"what": what, "processor s": round(seconds[0], 3), "wall s": round(seconds[1], 3)} | rate | more
    print(json.dumps(line | {"peak MiB": peak}), flush=True)


if __name__ == "__main__":
    main()
