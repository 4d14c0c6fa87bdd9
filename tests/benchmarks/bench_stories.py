"""Stories on arrival: labels of real streams, and documents per second.

Streams: the news titles of MStream in bursts (``news_t``) and without (``news``); the posts of CrisisLexT26 about 26
crises (``crisislex``; those that have nothing to do with a crisis are learnt, but not scored) and the same without
words that begin with # (``crisislex_hard``); the stories of Reuters-21578 that have a single topic (``reuters``). Only
if asked for, and not tuned on: 9,000 front pages of the New York Times from the middle of the set with their subtopics
(``nyt``; looked at once before the defaults were chosen); speeches of the UN General Debates with their countries, of
sessions 1 to 24, 25 to 49 and 50 to 72 (``speeches_1`` and so on); planted stories that come and go, in documents of
very different lengths whose median is in the name (``planted_8`` to ``planted_200``).

Documents come one after the other; rows are tf-idf weights under the document frequencies so far.

Methods: ``StoryMixture`` with its defaults, and a single pass that joins the cluster whose mean has the largest cosine
if that is at least a threshold, else opens a new one; the threshold is the best of 19 on the first tenth of the stream
by NMI, that is, with labels. Labels are those on arrival. Prints one JSON line per stream, order and method: NMI
(arithmetic mean), ARI, B-cubed F1, AMI, normalised C_det, stories, and documents per processor second, from rows.

Orders: 0 is the order of the stream; for ``news``, which has no time, others are permutations.

    python tests/benchmarks/bench_stories.py [--streams news_t news ...] [--orders 0 1 2]
        [--set NAME=VALUE ...] [--stop-words english] [--speed] [--memory 5000000]

``--speed`` measures documents per processor second on planted streams instead, for 100 to 100,000 living stories.
``--memory`` measures the memory after each million of so many planted documents, whose stories come and go.
``--set`` gives parameters of ``StoryMixture`` other than the defaults; ``--stop-words`` leaves words out as a run does.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.stories import StoryMixture
from vmfstream.folders import need_data
from vmfstream.replay.papers.streams import (
    STREAMS,
    LabelledStream,
    fit_stories,
    label_scores,
    read_stream,
    rows_of,
    single_pass,
)
from vmfstream.stories.weights import RunningTfidf

Labels = NDArray[np.int64]
LIVING = (100, 1_000, 10_000, 100_000)

PLANTED = {
    "planted_8": (8, 0.4, 0.6, 40, 1.0, 101),
    "planted_15": (15, 0.5, 0.5, 60, 1.0, 102),
    "planted_40": (40, 0.8, 0.35, 100, 1.0, 103),
    "planted_80": (80, 1.0, 0.3, 150, 1.0, 104),
    "planted_200": (200, 0.7, 0.25, 200, 1.0, 105),
    "planted_40_steep": (40, 0.8, 0.35, 100, 1.3, 106),
}
"""Planted streams: median and spread of the lengths, share of a story's own words, number of these, the exponent of
the law of all other words, seed."""

SPEECHES = {"speeches_1": (1, 24), "speeches_25": (25, 49), "speeches_50": (50, 72)}
"""First and last session."""

HELD_OUT = ("nyt", *SPEECHES, *PLANTED)


def held_out(name: str, stop_words: str | None = None) -> LabelledStream:
    """Read front pages or speeches, or plant stories: streams that hardly any default was chosen on."""
    if name in PLANTED:
        return planted_stories(*PLANTED[name])
    import duckdb

    if name in SPEECHES:
        path, wanted = need_data("un_general_debates/docs.parquet"), "text, country"
        chosen = "session BETWEEN {} AND {} ORDER BY timestamp, id".format(*SPEECHES[name])
    else:
        path, wanted = need_data("nyt_frontpage_1996_2006/docs.parquet"), "text, subtopic_code"
        chosen = "subtopic_code IS NOT NULL ORDER BY date_approx, id LIMIT 9000 OFFSET 18000"
    rows = duckdb.execute(f"SELECT {wanted} FROM '{path}' WHERE {chosen}").fetchall()
    x = rows_of([row[0] for row in rows], stop_words)
    return LabelledStream(x, np.unique([row[1] for row in rows], return_inverse=True)[1], np.ones(len(rows), bool))


def planted_stories(
    length: float, spread: float, share: float, own_words: int, exponent: float, seed: int, n: int = 5_000
) -> LabelledStream:
    """Plant 80 stories that begin and end, of very different sizes.

    Parameters
    ----------
    length, spread : median of the numbers of words of documents, and the standard deviation of their logarithms.
    share, own_words : share of words that are of the document's story, and number of words of each.
    exponent : all other words follow a power law with it.
    seed, n : of the random numbers, and how many documents.
    """
    words, number = 30_000, 80
    rng = np.random.default_rng(seed)
    law = np.arange(8, words + 8.0) ** -exponent
    own = [rng.choice(words, own_words, replace=False) for _ in range(number)]
    weights = [rng.dirichlet(np.full(own_words, 0.5)) for _ in range(number)]
    start, span = np.sort(rng.integers(-300, n, number)), rng.integers(200, 3000, number)
    size = rng.pareto(1.2, number) + 0.2
    y, terms, counts, bounds = [], [], [], [0]
    for i in range(n):
        alive = np.flatnonzero((start <= i) & (i < start + span))
        alive = alive if alive.size else np.array([0])
        story = int(alive[rng.choice(alive.size, p=size[alive] / size[alive].sum())])
        drawn = int(np.clip(rng.lognormal(np.log(length), spread), 3, 800))
        of_story = max(1, int(rng.binomial(drawn, share)))
        chosen = [rng.choice(own[story], of_story, p=weights[story])]
        chosen += [rng.choice(words, drawn - of_story, p=law / law.sum())]
        found, often = np.unique(np.concatenate(chosen), return_counts=True)
        y.append(story)
        terms.append(found)
        counts.append(often)
        bounds.append(bounds[-1] + found.size)
    matrix = csr_array((np.concatenate(counts), np.concatenate(terms), np.array(bounds)), shape=(n, words))
    return LabelledStream(RunningTfidf().weigh(matrix), np.unique(y, return_inverse=True)[1], np.ones(n, bool))


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


def memory(documents: int) -> None:
    """Megabytes of the mixture and of the process, after every million of documents; stories change all the time."""
    model, part = StoryMixture(window=300), 100_000
    for number in range(1, documents // part + 1):
        model.partial_fit(planted(part, 8, 1_000, seed=number).astype(np.float32))
        if number * part % min(1_000_000, documents) == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            megabytes = {
                "mixture": round(model._mixture.nbytes / 1e6, 1),
                "resident": round(pages * resource.getpagesize() / 1e6),
            }
            stories = {"living": model.n_stories_, "opened": model.next_id_}
            print(json.dumps({"documents": number * part, **stories, "MB": megabytes}), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--streams", nargs="+", choices=[*STREAMS, *HELD_OUT], default=list(STREAMS))
    arguments.add_argument("--orders", type=int, nargs="+", default=[0, 1, 2])
    arguments.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--stop-words", metavar="LANGUAGE", help="of the words that are left out; none by default")
    arguments.add_argument("--speed", action="store_true")
    arguments.add_argument("--memory", type=int, metavar="DOCUMENTS")
    arguments.add_argument("--living", type=int, nargs="+", default=list(LIVING))
    asked = arguments.parse_args()
    if asked.memory:
        memory(asked.memory)
        return
    if asked.speed:
        speed(asked.living)
        return
    parameters = {name: float(value) for name, value in (each.split("=") for each in asked.set)}
    StoryMixture().fit(planted(100, 6, 10))  # compiles
    for name in asked.streams:
        for order in asked.orders:
            if order and name != "news":
                continue  # its order is its time
            words = asked.stop_words
            stream = held_out(name, words) if name in HELD_OUT else read_stream(name, order, words)
            for method, run in (("StoryMixture", lambda s: fit_stories(s, **parameters)), ("single pass", single_pass)):
                began = time.process_time()
                found, how = run(stream)
                rate = round(len(found) / (time.process_time() - began))
                line = {"stream": name, "order": order, "method": method, "n": int(stream.scored.sum()), **how}
                counts = {"stories": len(set(found.tolist()) - {-1}), "per_second": rate}
                scores = {name: round(value, 3) for name, value in label_scores(found, stream).items()}
                print(json.dumps(line | scores | counts), flush=True)


if __name__ == "__main__":
    main()
