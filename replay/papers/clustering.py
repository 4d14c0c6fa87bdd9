"""Data sets of the papers by name, and the task that clusters one of them once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vmfstream import datasets, metrics
from vmfstream.datasets import Dataset
from vmfstream.replay.papers.algorithms import cluster
from vmfstream.replay.papers.work import Result, Task

WEIGHTING: datasets.Weighting = "tfidf"
"""The papers' weights: with them the printed concentrations of the classes of Classic3 are met, with others not."""

_CLASSIC3 = ("classic3/counts.npz", "classic3/meta.parquet")
_POSTS = ("twenty_newsgroups/docs.parquet",)


@dataclass(frozen=True, slots=True)
class Origin:
    """How a data set is loaded (from the seed of its drawing), from which files, and how it differs from the paper's.

    ``paper`` and ``ours`` are documents and dimensions.
    """

    load: Callable[[int], Dataset]
    files: tuple[str, ...]
    paper: str = ""
    ours: str = ""

    def remark(self, name: str) -> str:
        """Return how our copy differs, as a sentence."""
        return f"{name}: the paper's has {self.paper}; ours {self.ours}."


def _subset(kind: datasets.Likeness, size: int, ours: str) -> Origin:
    paper = f"{size:,} posts of each of 3 groups"
    return Origin(lambda seed: datasets.newsgroups_subset(kind, size, seed, WEIGHTING), _POSTS, paper, ours)


ORIGINS: Mapping[str, Origin] = {
    "Classic3": Origin(
        lambda seed: datasets.classic3(WEIGHTING),
        _CLASSIC3,
        "3,893 documents, 4,666 words",
        "3,891 (two empty ones are missing), 4,303 words, each in 0.2 % to 15 % of the documents",
    ),
    "Classic300": Origin(
        lambda seed: datasets.classic300(seed, WEIGHTING),
        _CLASSIC3,
        "300 documents, 5,471 words",
        "another draw with about 3,350 words, for those rare in Classic3 are not in our copy",
    ),
    "Classic400": Origin(
        lambda seed: datasets.classic400(seed, WEIGHTING),
        _CLASSIC3,
        "400 documents, 6,205 words",
        "another draw with about 3,600 words, for those rare in Classic3 are not in our copy",
    ),
    "News20": Origin(
        lambda seed: datasets.twenty_newsgroups(WEIGHTING),
        _POSTS,
        "19,997 posts, 25,924 words",
        "the later 'bydate' version without duplicates: 18,807 posts with words, 25,270 words",
    ),
    "Small-News20": Origin(
        lambda seed: datasets.small_newsgroups(seed, WEIGHTING),
        _POSTS,
        "2,000 posts, 13,406 words",
        "another draw of 100 posts a group, about 15,000 words",
    ),
    "Different-100": _subset("different", 100, "another draw"),
    "Different-1000": _subset("different", 1000, "799, 994 and 987, all there are without duplicates"),
    "Similar-100": _subset("similar", 100, "another draw"),
    "Similar-1000": _subset("similar", 1000, "910, 940 and 775, all there are without duplicates"),
    "Same-100": _subset("same", 100, "another draw"),
    "Same-1000": _subset("same", 1000, "973, 985 and 988, all there are without duplicates"),
    "Yeast": Origin(
        lambda seed: datasets.yeast_expression(),
        ("yeast_expression/expression.parquet",),
        "996 genes chosen from the Rosetta compendium, 300 experiments",
        "all 2,467 genes of Eisen et al. 1998, 79 experiments, for the other set is not at hand; rows are centred",
    ),
    "Slashdot": Origin(
        lambda seed: datasets.slashdot(),
        ("slashdot/counts.npz", "slashdot/meta.parquet"),
        "6,714 articles in 7 and 5,182 in 6 hand-made categories",
        "3,110 articles with one section of the site and a word, only the presence of 1,079 words",
    ),
}


@lru_cache(maxsize=4)
def documents(name: str, draw: int) -> Dataset:
    """Return a data set by name, drawn with the seed ``draw``; documents that cannot be scored are left out."""
    data = ORIGINS[name].load(draw)
    return data.labelled() if data.classes else data


def cluster_once(data: str, algorithm: str, k: int, seed: int, draw: int) -> Result:
    """Cluster a data set and score the result: against the classes if there are any, else by cosines.

    ``data`` is its name and ``draw`` the seed of its drawing; ``algorithm`` finds ``k`` clusters from the start of
    ``seed``.
    """
    chosen = documents(data, draw)
    begun = time.perf_counter()
    found = cluster(chosen.x, k, algorithm, seed)
    result: Result = {
        "seconds": time.perf_counter() - begun,
        "sweeps": found.sweeps,
        "kappa": np.sort(found.kappa).tolist(),
    }
    if not chosen.classes:
        return result | metrics.cohesion(chosen.x, found.labels)._asdict()
    return result | {
        "mi": metrics.mutual_information(found.labels, chosen.y),
        "nmi": metrics.normalized_mutual_information(found.labels, chosen.y),
        "table": metrics.contingency(found.labels, chosen.y).tolist(),
    }


def clusterings(
    data: str, algorithms: Sequence[str], counts: Sequence[int], seeds: Sequence[int], draw: int
) -> list[Task]:
    """Return the tasks that cluster ``data`` with every one of ``algorithms``, ``counts`` of clusters and ``seeds``.

    ``draw`` is the seed with which the data set is drawn.
    """
    return [
        Task(cluster_once, {"data": data, "algorithm": name, "k": k, "seed": seed, "draw": draw}, ORIGINS[data].files)
        for k in counts
        for name in algorithms
        for seed in seeds
    ]


def remarks(names: Sequence[str]) -> tuple[str, ...]:
    """Return how our copies of these data sets differ from those of the paper."""
    return tuple(ORIGINS[name].remark(name) for name in names)
