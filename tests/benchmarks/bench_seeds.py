"""F1 of ten classes of Reuters-21578 whose topics were given names and five words each, beside the same without.

The 9,494 stories of a single topic are followed day by day. With seeds a story belongs to a class if it got the topic
of that name, or one of its parts. Without, each class gets the topic that fits it best, one to one, with the classes
known: more than a user can do. ``cosine`` labels a story by the seed that it is most like, under the tf-idf of all
stories, and learns nothing. ``named`` labels by the seeds too, under the vocabulary of the run without seeds
(`vmfstream.FrozenModel.with_topics`). Prints one JSON line per way and seed of random choices: F1 of every class, on
arrival and at the end, and their mean.

    python tests/benchmarks/bench_seeds.py [--topics 30] [--seeds 0 1 2] [--ways cosine seeds none]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream import TopicTracker
from vmfstream.engine.loop.seeding import Seeding
from vmfstream.folders import need_data
from vmfstream.records import Documents
from vmfstream.seeds import seeds_of
from vmfstream.text.encoders import TextEncoder

SEEDS = {
    "earn": "profit net loss quarter dividend",
    "acq": "acquisition merger stake acquire bid",
    "crude": "oil crude barrels opec petroleum",
    "trade": "trade tariffs exports imports deficit",
    "money-fx": "currency dollar yen intervention exchange",
    "interest": "rate rates prime discount lending",
    "money-supply": "money supply fed reserves m1",
    "ship": "ship vessels port shipping seamen",
    "sugar": "sugar cane beet intervention tonnes",
    "coffee": "coffee beans quota ico producers",
}


def stories() -> tuple[list[str], list[Any], NDArray[np.object_]]:
    """Return texts, times and classes of the stories with a single topic, in order of time."""
    path = need_data("reuters21578/docs.parquet")
    rows = duckdb.execute(
        f"select concat_ws('. ', title, text), timestamp, label from '{path}' where label is not null order by 2, id"
    ).fetchall()
    return [row[0] for row in rows], [row[1] for row in rows], np.array([row[2] for row in rows], np.object_)


def f1(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2.0 * float((found & true).sum()) / max(int(found.sum() + true.sum()), 1)


def scores(topic: NDArray[np.int64], label: NDArray[np.object_], topics: dict[str, int]) -> dict[str, float]:
    """Return F1 of every class whose topic is known."""
    return {name: f1(topic == topics[name], label == name) if name in topics else 0.0 for name in SEEDS}


def best_topics(topic: NDArray[np.int64], label: NDArray[np.object_]) -> dict[str, int]:
    """Give each class a topic of its own so that the sum of F1 is largest."""
    ids = np.unique(topic[topic >= 0])
    table = np.array([[f1(topic == one, label == name) for one in ids] for name in SEEDS])
    return {list(SEEDS)[row]: int(ids[column]) for row, column in zip(*linear_sum_assignment(-table), strict=True)}


def labelled(texts: list[str], times: list[Any], seed: int, topics: int, given: Any) -> tuple[TopicTracker, float]:
    """Follow all stories; return the tracker and processor seconds."""
    began = time.process_time()
    tracker = TopicTracker(topics=topics, slices="day", seed=seed, stories=False, documents=True, topics_from=given)
    tracker.learn(texts, times)
    tracker.finish()
    return tracker, time.process_time() - began


def by_cosine(texts: list[str], label: NDArray[np.object_], given: Any) -> dict[str, float]:
    """Label stories by the seed that they are most like."""
    encoder = TextEncoder()
    n = len(texts)
    counts = encoder.count(Documents([""] * n, np.arange(n), [""] * n, np.zeros(n, np.int64), texts))
    encoder.close_slice()
    directions = Seeding(seeds_of(given), TextEncoder).directions(encoder)
    assert directions is not None
    cosine = encoder.encode(counts) @ directions
    found = np.where(cosine.max(axis=1) > 0.0, cosine.argmax(axis=1), -1)
    return scores(found, label, {name: at for at, name in enumerate(given)})


def printed(way: str, seed: int, when: dict[str, dict[str, float]], seconds: float) -> None:
    """Print one line."""
    line: dict[str, Any] = {"way": way, "seed": seed, "seconds": round(seconds, 1)}
    for name, found in when.items():
        line[name] = {"mean": round(float(np.mean(list(found.values()))), 3)}
        line[name] |= {key: round(value, 3) for key, value in found.items()}
    print(json.dumps(line), flush=True)


def main() -> None:
    """Measure every way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--ways", nargs="+", choices=("cosine", "seeds", "none"), default=["cosine", "seeds", "none"])
    options = parser.parse_args()
    texts, times, label = stories()
    given = {name: words.split() for name, words in SEEDS.items()}
    if "cosine" in options.ways:
        printed("cosine", 0, {"end": by_cosine(texts, label, given)}, 0.0)
    for seed in options.seeds:
        for way, seeds in (("seeds", given), ("none", None)):
            if way not in options.ways:
                continue
            tracker, seconds = labelled(texts, times, seed, options.topics, seeds)
            arrival = tracker.documents()["topic"]
            probability = tracker.transform(texts)
            end = np.where(probability.any(axis=1), tracker.topic_ids[probability.argmax(axis=1)], -1)
            named = {name: topic for topic, name in tracker.names().items()}
            parts = tracker.parts()
            arrival, end = (np.array([parts.get(one, one) for one in column.tolist()]) for column in (arrival, end))
            when = {
                name: scores(topic, label, named if seeds else best_topics(topic, label))
                for name, topic in (("arrival", arrival), ("end", end))
            }
            printed(way, seed, when, seconds)
            if not seeds:
                found = tracker.freeze().with_topics(given).label(texts)["name"]
                printed("named", seed, {"end": {name: f1(found == name, label == name) for name in SEEDS}}, 0.0)


if __name__ == "__main__":
    main()
