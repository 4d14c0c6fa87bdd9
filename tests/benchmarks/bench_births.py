"""How soon a class planted into a stream of real text gets a topic of its own.

Single-topic stories of Reuters-21578, or posts of 20 Newsgroups, come in random order, so many per slice; those of one
class are held back, and from slice ``--start`` on some come with every slice. A topic was born for the class if at
least half of the documents that it gets on arrival in later slices are of the class. Prints one JSON line per class,
number and seed: slices after the first planted one until that birth (null: none in six slices), the share of its later
documents that is of the class, births of anything else since the start, and births in all (``--planted 0``: a quiet
stream, where every birth is false).

    python tests/benchmarks/bench_births.py [--data reuters] [--classes crude trade] [--planted 20 10] [--seeds 0 1 2]
        [--others 150] [--start 20] [--topics 30]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream import datasets
from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings

DATA = {"reuters": datasets.reuters21578, "newsgroups": datasets.twenty_newsgroups}
CLASSES = {
    "reuters": ["crude", "trade", "money-fx", "sugar"],
    "newsgroups": ["rec.autos", "sci.space", "talk.politics.guns", "comp.graphics"],
}
AFTER = 6
"""Slices with planted documents."""


class Birth(NamedTuple):
    """The slice at whose end a topic was born, its id, and how pure its later documents are (NaN if it has none)."""

    slice: int
    topic: int
    purity: float


def batches(of_class: NDArray[np.bool_], planted: int, others: int, start: int, seed: int) -> list[NDArray[np.intp]]:
    """Rows of every slice: ``others`` of all classes but one, and from ``start`` on so many of that one."""
    rng = np.random.default_rng(seed)
    rest, own = (rng.permutation(np.flatnonzero(which)) for which in (~of_class, of_class))
    slices = start + AFTER
    if len(rest) < slices * others or len(own) < AFTER * planted:
        raise SystemExit(f"{len(own)} documents of the class, {len(rest)} others: too few for {slices} slices")
    parts = []
    for s in range(slices):
        more = own[(s - start) * planted : (s - start + 1) * planted] if s >= start else own[:0]
        parts.append(rng.permutation(np.concatenate([rest[s * others : (s + 1) * others], more])))
    return parts


def births(x: Any, own: NDArray[np.bool_], parts: Sequence[NDArray[np.intp]], k: int, seed: int) -> Iterator[Birth]:
    """Follow the slices and yield the births in them."""
    settings = TrackerSettings(topics=k, seed=seed, threads=1, living_topics=True)
    state, born, arrived = tracker.init(settings, [], 0, x[parts[0]]), [], []
    for s, rows in enumerate(parts[1:], start=1):
        state, closed = tracker.end_slice(state, settings)
        born += [(s - 1, e.topic) for e in closed.events if e.kind == "born"]
        state, info = tracker.step(state, x[rows], settings)
        arrived.append((s, rows, state.ids[info.label]))
    for s, topic in born:
        later = [own[rows[ids == topic]] for at, rows, ids in arrived if at > s]
        members = np.concatenate([np.zeros(0, np.bool_), *later])
        yield Birth(s, topic, float(members.mean()) if len(members) else float("nan"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--data", choices=list(DATA), default="reuters")
    arguments.add_argument("--classes", nargs="+")
    arguments.add_argument("--planted", nargs="+", type=int, default=[20, 10], help="documents per slice")
    arguments.add_argument("--others", type=int, default=150)
    arguments.add_argument("--start", type=int, default=20)
    arguments.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments.add_argument("--topics", type=int, default=30)
    asked = arguments.parse_args()
    data = DATA[asked.data]().labelled()
    x, classes = data.x.astype(np.float32), list(data.classes)
    for name in asked.classes or CLASSES[asked.data]:
        own = data.y == classes.index(name)
        for planted in asked.planted:
            for seed in asked.seeds:
                began = time.process_time()
                parts = batches(own, planted, asked.others, asked.start, seed)
                all_births = list(births(x, own, parts, asked.topics, seed))
                since = [b for b in all_births if b.slice >= asked.start]
                right = [b for b in since if b.purity >= 0.5]
                line = {
                    "class": name,
                    "planted": planted,
                    "others": asked.others,
                    "seed": seed,
                    "delay": right[0].slice - asked.start if right else None,
                    "purity": round(right[0].purity, 2) if right else None,
                    "other_births": len(since) - len(right),
                    "births": len(all_births),
                    "seconds": round(time.process_time() - began, 1),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
