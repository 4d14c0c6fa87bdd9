"""Stories on arrival: labels of real streams, and documents per second.

Streams: the news titles of MStream in bursts (``news_t``) and without (``news``); the posts of CrisisLexT26 about 26
crises (``crisislex``; those that have nothing to do with a crisis are learnt, but not scored) and the same without
words that begin with # (``crisislex_hard``); the stories of Reuters-21578 that have a single topic (``reuters``).
Documents come one after the other; rows are tf-idf weights under the document frequencies so far.

Methods: ``StoryMixture`` with its defaults, and a single pass that joins the cluster whose mean has the largest cosine
if that is at least a threshold, else opens a new one; the threshold is the best of 19 on the first tenth of the stream
by NMI, that is, with labels. Labels are those on arrival. Prints one JSON line per stream, order and method: NMI
(arithmetic mean), ARI, B-cubed F1, AMI, normalised C_det, stories, and documents per processor second, from rows.

Orders: 0 is the order of the stream; for ``news``, which has no time, others are permutations.

    python tests/benchmarks/bench_stories.py [--streams news_t news ...] [--orders 0 1 2]
        [--set NAME=VALUE ...] [--speed]

``--speed`` measures documents per processor second on planted streams instead, for 100 to 100,000 living stories.
``--set`` gives parameters of ``StoryMixture`` other than the defaults.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream.clustering_metrics import adjusted_mutual_information, b_cubed, detection_cost, v_measure
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.stories import StoryMixture
from vmfstream.folders import need_data
from vmfstream.metrics import adjusted_rand_index
from vmfstream.stories.weights import RunningTfidf
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.word_table import WordTable

Labels = NDArray[np.int64]
STREAMS = ("news_t", "news", "crisislex", "crisislex_hard", "reuters")
LIVING = (100, 1_000, 10_000, 100_000)


class Stream(NamedTuple):
    """Unit rows (N, D) in order of arrival, their classes (N,), and which are scored (N,)."""

    x: csr_array
    y: Labels
    scored: NDArray[np.bool_]


def stream_of(name: str, order: int) -> Stream:
    """Read a stream."""
    import duckdb

    folder, text, time_column, scored = {
        "news_t": ("mstream_news_t", "text", '"order"', "TRUE"),
        "news": ("mstream_news", "text", '"order"', "TRUE"),
        "crisislex": ("crisislex_t26", "text", "timestamp, id", "related"),
        "crisislex_hard": ("crisislex_t26", "text", "timestamp, id", "related"),
        "reuters": ("reuters21578", "concat_ws(' ', title, text)", "timestamp, id", "label IS NOT NULL"),
    }[name]
    kept = "label IS NOT NULL" if name == "reuters" else "TRUE"
    selected: Any = duckdb.sql(
        f"SELECT {text}, label, {scored} FROM '{need_data(folder + '/docs.parquet')}' WHERE {kept} "
        f"ORDER BY {time_column}"
    )
    rows = selected.fetchall()
    if order:
        rows = [rows[i] for i in np.random.default_rng(order).permutation(len(rows))]
    texts = [re.sub(r"#\S+", " ", row[0]) if name == "crisislex_hard" else row[0] for row in rows]
    counts = Tokeniser().count(texts, table := WordTable(1 << 20))
    shape = (len(texts), len(table))
    x = RunningTfidf().weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape))
    y = np.unique([row[1] for row in rows], return_inverse=True)[1]
    return Stream(x, y, np.array([bool(row[2]) for row in rows]))


def stories(stream: Stream, parameters: dict[str, float]) -> tuple[Labels, dict[str, Any]]:
    """The mixture of stories."""
    return StoryMixture(**parameters).fit(stream.x).labels_, {"parameters": parameters}  # type: ignore[arg-type]


def single_pass(stream: Stream) -> tuple[Labels, dict[str, Any]]:
    """Join the mean of the largest cosine if it reaches a threshold, the best on the first tenth."""
    first = slice(0, len(stream.y) // 10)
    y, scored = stream.y[first], stream.scored[first]
    thresholds = np.linspace(0.05, 0.95, 19)
    tried = [v_measure(_threshold_labels(stream.x[first], each)[scored], y[scored]).v for each in thresholds]
    threshold = float(thresholds[int(np.argmax(tried))])
    return _threshold_labels(stream.x, threshold), {"threshold": round(threshold, 2)}


def _threshold_labels(x: csr_array, threshold: float) -> Labels:
    return np.asarray(_single_pass(x.indptr, x.indices, x.data, x.shape[1], threshold))


@njit(cache=True)
def _single_pass(bounds, columns, values, width, threshold):  # type: ignore[no-untyped-def]
    sums = np.zeros((64, width), np.float32)
    squares = np.zeros(64)
    labels = np.full(bounds.size - 1, -1)
    number = 0
    for i in range(bounds.size - 1):
        row = slice(bounds[i], bounds[i + 1])
        if bounds[i] == bounds[i + 1]:
            continue
        best, winner, dot = threshold, number, 0.0
        for c in range(number):
            product = 0.0
            for j in range(bounds[i], bounds[i + 1]):
                product += sums[c, columns[j]] * values[j]
            if product / np.sqrt(squares[c]) >= best:
                best, winner, dot = product / np.sqrt(squares[c]), c, product
        if winner == number:
            number += 1
            if number > squares.size:
                sums = np.concatenate((sums, np.zeros_like(sums)))
                squares = np.concatenate((squares, np.zeros_like(squares)))
        for j in range(bounds[i], bounds[i + 1]):
            sums[winner, columns[j]] += values[j]
        squares[winner] += 2.0 * dot + (values[row] ** 2).sum()
        labels[i] = winner
    return labels


def scores(found: Labels, stream: Stream) -> dict[str, float]:
    """Agreement with the classes; documents without words are clusters of their own."""
    z = np.where(found < 0, -1 - np.arange(len(found)), found)[stream.scored]
    y = stream.y[stream.scored]
    told = {
        "nmi": v_measure(z, y).v,
        "ari": adjusted_rand_index(z, y),
        "b3": b_cubed(z, y).f1,
        "ami": adjusted_mutual_information(z, y),
        "c_det": detection_cost(z, y),
    }
    return {name: round(value, 3) for name, value in told.items()}


def planted(documents: int, words: int, living: int, columns: int = 50_000, seed: int = 0) -> csr_array:
    """Unit rows of ``words`` words: of 12 or twice as many of their story's own, and a few by Zipf's law."""
    rng = np.random.default_rng(seed)
    size = max(12, 2 * words)
    own = rng.integers(columns, size=(living, size))
    common = words // 4
    which = rng.permutation(np.arange(documents) % living)
    chosen = rng.random((documents, size)).argpartition(words - common - 1, axis=1)[:, : words - common]
    zipf = np.minimum(rng.zipf(1.3, (documents, common)) - 1, columns - 1)
    terms = np.concatenate([own[which[:, None], chosen], zipf], axis=1)
    frequency = np.bincount(terms.reshape(-1), minlength=columns)
    weights = np.log(1.0 + documents / np.maximum(frequency[terms], 1))
    bounds = np.arange(documents + 1) * words
    return unit_rows(csr_array((weights.reshape(-1), terms.reshape(-1), bounds), shape=(documents, columns)))[0]


def speed(sizes: Sequence[int]) -> None:
    """Documents per second of ``partial_fit`` from the first document on, and once all stories live."""
    StoryMixture().fit(planted(100, 6, 10))  # compiles
    for words in (6, 100):
        for living in sizes:
            n = max(20_000, 2 * living)
            x = planted(n, words, living).astype(np.float32)
            model = StoryMixture(half_life=float(n))
            seconds = []
            for part in (slice(0, n // 2), slice(n // 2, n)):
                began = time.process_time()
                model.partial_fit(x[part])
                seconds.append(time.process_time() - began)
            rates = {"per_second": round(n / sum(seconds)), "per_second_later": round((n - n // 2) / seconds[1])}
            line = {"words": words, "planted": living, "living": model.n_stories_, "documents": n}
            print(json.dumps(line | rates), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    arguments.add_argument("--orders", type=int, nargs="+", default=[0, 1, 2])
    arguments.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--speed", action="store_true")
    arguments.add_argument("--living", type=int, nargs="+", default=list(LIVING))
    asked = arguments.parse_args()
    if asked.speed:
        speed(asked.living)
        return
    parameters = {name: float(value) for name, value in (each.split("=") for each in asked.set)}
    StoryMixture().fit(planted(100, 6, 10))  # compiles
    for name in asked.streams:
        for order in asked.orders:
            if order and name != "news":
                continue  # its order is its time
            stream = stream_of(name, order)
            for method, run in (("StoryMixture", lambda s: stories(s, parameters)), ("single pass", single_pass)):
                began = time.process_time()
                found, how = run(stream)
                rate = round(len(found) / (time.process_time() - began))
                line = {"stream": name, "order": order, "method": method, "n": int(stream.scored.sum()), **how}
                counts = {"stories": len(set(found.tolist()) - {-1}), "per_second": rate}
                print(json.dumps(line | scores(found, stream) | counts), flush=True)


if __name__ == "__main__":
    main()
