"""What each part of the tracker costs, and what is lost without it: one pass with it and one without, on four streams.

Streams: 20 Newsgroups in random order in twenty slices, single-topic stories of Reuters by weeks, 11,109 titles in
sixteen slices, abstracts of NIPS by years. Rows are tf-idf under the vocabulary of the whole set (words of two
documents at least, none in more than half of them). Prints one JSON line per stream and part: processor seconds from
the first document to the last, NMI and ARI of the labels on arrival from the second slice on, and the mean
log-density of a slice's documents under the prediction made before it (nats above the uniform density).

    python tests/benchmarks/bench_parts.py [--streams newsgroups ...] [--parts births ...] [--seeds 0]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.bench_streams import agreement, newsgroups, reuters
from vmfstream.folders import need_data
from vmfstream.online import tracker
from vmfstream.online.settings import TrackerSettings


class Slices(NamedTuple):
    """Unit rows (N, D) in order, their classes (N,) or None, and the slices they come in."""

    x: csr_array
    y: NDArray[Any] | None
    slices: list[NDArray[np.intp]]


def of_newsgroups(seed: int) -> Slices:
    """Posts in random order."""
    stream = newsgroups(seed)
    return Slices(stream.x, stream.y, stream.batches)


def of_reuters(seed: int) -> Slices:
    """Stories by weeks: seven of the stream's days each."""
    stream = reuters(seed)
    weeks = [np.concatenate(stream.batches[low : low + 7]) for low in range(0, len(stream.batches), 7)]
    return Slices(stream.x, stream.y, weeks)


def of_titles(seed: int) -> Slices:
    """Titles in the order of their file."""
    del seed
    texts, labels = _columns("mstream_news_t", "label")
    return Slices(_weighted(texts), labels, np.array_split(np.arange(len(texts)), 16))


def of_abstracts(seed: int) -> Slices:
    """Abstracts of NIPS by years."""
    del seed
    texts, moments = _columns("nips_abstracts_1987_2018", "timestamp")
    years = np.array([str(moment)[:4] for moment in moments])
    order = np.argsort(years, kind="stable")
    cuts = np.flatnonzero(years[order][1:] != years[order][:-1]) + 1
    return Slices(_weighted(texts[order]), None, np.split(np.arange(len(texts)), cuts))


def _columns(name: str, other: str) -> tuple[NDArray[Any], NDArray[Any]]:
    import duckdb

    columns = duckdb.read_parquet(str(need_data(f"{name}/docs.parquet"))).fetchnumpy()
    return columns["text"], columns[other]


def _weighted(texts: NDArray[Any]) -> csr_array:
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2, max_df=0.5, sublinear_tf=True, dtype=np.float32)
    return csr_array(vectorizer.fit_transform(texts.tolist()))


STREAMS = {"newsgroups": of_newsgroups, "reuters": of_reuters, "titles": of_titles, "abstracts": of_abstracts}


def without(part: str, whole: TrackerSettings) -> TrackerSettings:
    """Switch one part off."""
    changed: dict[str, Any] = {
        "nothing": {},
        "refits": {"refit": False},
        "restarted annealing": {"fitting": replace(whole.fitting, cooling=1e9)},
        "fits from nothing": {"fitting": replace(whole.fitting, early_documents=0, growth=inf)},
        "choice of persistence": {"persistences": (0.95,)},
        "births": {"births": replace(whole.births, most_births=0)},
        "mergers": {"mergers": replace(whole.mergers, least_cosine=2.0)},
        "dormancy": {"dormancy": replace(whole.dormancy, chance=0.0)},
        "takeovers": {"takeovers": replace(whole.takeovers, least_gain=inf)},
        "alarms": {"drift": replace(whole.drift, least_documents=10**9)},
    }
    return replace(whole, **changed[part])


PARTS = [
    "nothing",
    "refits",
    "restarted annealing",
    "fits from nothing",
    "choice of persistence",
    "births",
    "mergers",
    "dormancy",
    "takeovers",
    "alarms",
]


def run(stream: Slices, settings: TrackerSettings) -> dict[str, Any]:
    """One pass, a batch a slice; the first slice is what the topics begin with."""
    began = time.process_time()
    first, rest = stream.x[stream.slices[0]], stream.slices[1:]
    state = tracker.init(settings, [], 0, first)
    labels, predicted = [], []
    for rows in rest:
        state, ended = tracker.end_slice(state, settings)
        predicted.append(ended.predicted)
        state, info = tracker.step(state, stream.x[rows], settings, donate=True)
        labels.append(np.where(info.label < 0, -1, state.ids[info.label]))
    state, ended = tracker.end_slice(state, settings)
    seconds = time.process_time() - began
    sizes = [len(rows) for rows in rest]
    density = float(np.average([*predicted[1:], ended.predicted], weights=sizes))
    found: dict[str, Any] = {"seconds": round(seconds, 1), "density": round(density, 2), "topics": state.k}
    if stream.y is not None:
        found["nmi, ari"] = agreement(stream.y[np.concatenate(rest)], np.concatenate(labels))
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    arguments.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = arguments.parse_args()
    for name in given.streams:
        for seed in given.seeds:
            stream = STREAMS[name](seed)
            whole = TrackerSettings(seed=seed, threads=1, living_topics=True)
            run(Slices(stream.x, None, stream.slices[:3]), whole)  # load compiled code
            for part in given.parts:
                found = run(stream, without(part, whole))
                print(json.dumps({"stream": name, "seed": seed, "without": part} | found), flush=True)


if __name__ == "__main__":
    main()
