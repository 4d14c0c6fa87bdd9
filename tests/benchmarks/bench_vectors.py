"""What was tried with vectors of texts: heavy tails, isotropy as a warning, no common direction, words beside them.

    python tests/benchmarks/bench_vectors.py --cauchy [--parts 10] [--sets mstream-news-t crisislex ...]
    python tests/benchmarks/bench_vectors.py --isotropy [--seeds 0 1 2]
    python tests/benchmarks/bench_vectors.py --common [--directions -1 0 1 3] [--seeds 0 1 2]
    python tests/benchmarks/bench_vectors.py --joined [--shares 0 0.01 0.05 0.1 0.25 0.5 1] [--seeds 0 1 2]
    python tests/benchmarks/bench_vectors.py --topics [--seeds 0 1 2]

One JSON line each; without an option all five. Documents, words and vectors are those of ``bench_embeddings.py``, and
documents without a class are learnt and not scored.

``--cauchy``: NMI, ARI and B-cubed F1 on arrival of ``StoryMixture`` with von Mises-Fisher and with spherical Cauchy
stories, by words, by vectors and by both. ``--parts N`` adds the mean and standard deviation of the differences (Cauchy
less von Mises-Fisher) over N parts of the stream, each of four fifths of its documents, drawn at random and in order.

``--isotropy``: the chance that 64 documents of one class are more isotropic than 64 of two (AUC, over all classes with
64 documents and all pairs of them), in vectors and in tf-idf weights, and the median of the classes; then the rank
correlation of isotropy with purity, over clusters that ``VMFMixture`` finds in the vectors; all for each seed. The
purity of a cluster is the share of its commonest class.

``--common``: NMI and ARI of ``OnlineVMFMixture``, on arrival and in the end, where the running mean of all vectors so
far is taken off, and so many of the first principal directions of their running covariance; -1 leaves vectors as they
are. Each batch of 1,000 counts in the mean before it is labelled. In the end rows are labelled as they were learnt
(``end``), or without what is common by then (``end_anew``). Mean over seeds, of at most 100 topics.

``--joined``: NMI and ARI of ``VMFMixture`` fitted to rows of words and vectors side by side, which makes the likelihood
of a topic the product of both views'. The share is that of the vector in the squared length of a row. Mean over seeds.

``--topics``: NMI, ARI and B-cubed F1 of ``VMFMixture`` and ``SphericalCauchyMixture``, by words and by vectors, of as
many topics as with ``--joined``. Mean over seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from scipy.stats import mannwhitneyu, spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.bench_embeddings import BATCH, Given, given_of, scores
from vmfstream import OnlineVMFMixture, SphericalCauchyMixture, StoryMixture, VMFMixture
from vmfstream.directional.isotropy import MOST_ROWS, isotropy
from vmfstream.directional.sphere import unit_rows
from vmfstream.metrics import isotropy as isotropy_of_clusters

Labels = NDArray[np.int64]
COMPONENTS = ("vmf", "cauchy")
CAUCHY = ["mstream-news-t", "mstream-news", "crisislex", "reuters"]
ISOTROPY = {"crisislex": (26,), "newsgroups": (20, 8), "mstream-news-t": (), "mstream-news": (150, 40)}
"""Sets whose isotropy is told, and the numbers of clusters that are fitted to them."""

COMMON = ["crisislex", "mstream-news-t", "mstream-news"]

JOINED = {"crisislex": 26, "newsgroups": 20, "mstream-news-t": 40, "reuters": 30}
"""Sets whose topics are fitted by words, by vectors and by both, and the numbers of topics."""


def tell(name: str, **what: Any) -> None:
    print(json.dumps({"set": name} | what), flush=True)


def views(given: Given) -> dict[str, tuple[Any, NDArray[np.float32] | None]]:
    """Rows and second views that stories are found by."""
    return {
        "words": (given.words, None),
        "vectors": (given.vectors, None),
        "both": (given.words, given.vectors),
    }


def story_scores(x: Any, vectors: NDArray[np.float32] | None, classes: Labels, component: str) -> list[float]:
    """NMI, ARI and B-cubed F1 of stories on arrival."""
    return agreement(StoryMixture(component=component).partial_fit(x, vectors=vectors).labels_, classes)


def agreement(labels: Labels, classes: Labels) -> list[float]:
    """NMI, ARI and B-cubed F1."""
    found = scores(labels, classes)
    assert found is not None
    return found


def heavy_tails(name: str, given: Given, parts: int) -> None:
    """Stories with both components, on the whole stream and on parts of it."""
    n = len(given.classes)
    for view, (x, vectors) in views(given).items():
        tell(name, view=view, **{one: story_scores(x, vectors, given.classes, one) for one in COMPONENTS})
        differences = []
        for part in range(parts):
            rows = np.sort(np.random.default_rng(part).permutation(n)[: n * 4 // 5])
            some = (x[rows], None if vectors is None else vectors[rows], given.classes[rows])
            vmf, cauchy = (np.array(story_scores(*some, one)) for one in COMPONENTS)
            differences.append(cauchy - vmf)
        if parts > 1:
            mean, spread = np.mean(differences, axis=0), np.std(differences, axis=0, ddof=1)
            tell(name, view=view, parts=parts, difference=mean.round(3).tolist(), spread=spread.round(3).tolist())


def drawn(rows: Any) -> float:
    """Isotropy of a few rows."""
    return isotropy(unit_rows(rows.toarray() if issparse(rows) else rows)[0])


def classes_apart(x: Any, classes: Labels, seed: int) -> dict[str, float]:
    """How well isotropy tells documents of one class from documents of two."""
    rng, half = np.random.default_rng(seed), MOST_ROWS // 2
    large = np.flatnonzero(np.bincount(classes[classes >= 0]) >= MOST_ROWS)
    own = {c: np.flatnonzero(classes == c) for c in large.tolist()}
    one = [drawn(x[rng.choice(rows, MOST_ROWS, replace=False)]) for rows in own.values()]
    two = [
        drawn(x[np.concatenate([rng.choice(own[a], half, replace=False), rng.choice(own[b], half, replace=False)])])
        for a, b in combinations(own, 2)
    ]
    auc = float(mannwhitneyu(one, two).statistic) / (len(one) * len(two))
    return {"classes": len(one), "auc": round(auc, 2), "median": round(float(np.median(one)), 2)}


def purity(labels: Labels, classes: Labels) -> NDArray[np.float64]:
    """Share of the commonest class in each cluster, in ascending order of labels."""
    known = (classes >= 0) & (labels >= 0)
    counts = np.zeros((int(labels.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (labels[known], classes[known]), 1.0)
    counts = counts[np.unique(labels[labels >= 0])]
    return np.asarray(counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1.0))


def fits(name: str, given: Given, numbers: tuple[int, ...], seeds: list[int]) -> None:
    """Whether isotropy follows what topics should be: documents of one class."""
    for view, x in (("vectors", given.vectors), ("words", given.words)):
        found = [classes_apart(x, given.classes, seed) for seed in seeds]
        tell(name, view=view, seeds=seeds, **{key: [one[key] for one in found] for key in found[0]})
    for k in numbers:
        correlations = []
        for seed in seeds:
            labels = VMFMixture(k, random_state=seed).fit(given.vectors).labels_
            isotropic, pure = isotropy_of_clusters(given.vectors, labels), purity(labels, given.classes)
            known = np.isfinite(isotropic)
            correlations.append(round(float(spearmanr(isotropic[known], pure[known]).statistic), 2))
        tell(name, clusters=k, seeds=seeds, rank_correlation_with_purity=correlations)


class Common:
    """The running mean of vectors of D numbers, and the first principal directions of their running covariance.

    Parameters
    ----------
    dimension : D
    directions : how many are taken off beside the mean; -1 for none, and not the mean either.
    """

    def __init__(self, dimension: int, directions: int) -> None:
        self._n, self._directions = 0, directions
        self._sum, self._products = np.zeros(dimension), np.zeros((dimension, dimension))

    def learn(self, x: NDArray[np.float32]) -> None:
        """Count vectors (N, D)."""
        rows = x.astype(np.float64)
        self._n += len(rows)
        self._sum += rows.sum(axis=0)
        self._products += rows.T @ rows

    def taken_off(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors (N, D) without what is common, of unit length."""
        if self._directions < 0:
            return x
        mean = self._sum / self._n
        rest = x - mean
        if self._directions:
            covariance = self._products / self._n - np.outer(mean, mean)
            first = np.linalg.eigh(covariance)[1][:, -self._directions :]
            rest -= (rest @ first) @ first.T
        return np.asarray(unit_rows(rest)[0], np.float32)


def batches(x: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    return (x[low : low + BATCH] for low in range(0, len(x), BATCH))


def without_common(name: str, given: Given, directions: int, seeds: list[int]) -> None:
    """One pass over vectors without what they have in common."""
    k, arrival, end, end_anew = min(given.k, 100), [], [], []
    for seed in seeds:
        common, model = Common(given.vectors.shape[1], directions), OnlineVMFMixture(k, random_state=seed)
        labels, rows = [], []
        for x in batches(given.vectors):
            common.learn(x)
            rows.append(common.taken_off(x))
            labels.append(model.partial_fit(rows[-1]).labels_)
        arrival.append(agreement(np.concatenate(labels), given.classes))
        end.append(agreement(model.predict(np.concatenate(rows)), given.classes))
        end_anew.append(agreement(model.predict(common.taken_off(given.vectors)), given.classes))
    told = {}
    for when, found in (("arrival", arrival), ("end", end), ("end_anew", end_anew)):
        told[when] = np.mean(found, axis=0).round(3).tolist()[:2]
        told[f"{when}_spread"] = np.std(found, axis=0, ddof=min(1, len(seeds) - 1)).round(3).tolist()[:2]
    tell(name, topics=k, directions=directions, seeds=seeds, **told)


def of_both(name: str, given: Given, k: int, share: float, seeds: list[int]) -> None:
    """Topics of rows that are words and vectors side by side, the ``share`` of vectors in their squared length."""
    words, vectors = unit_rows(given.words)[0].astype(np.float32), csr_array(given.vectors)
    rows = csr_array(hstack([np.float32(np.sqrt(1 - share)) * words, np.float32(np.sqrt(share)) * vectors]))
    labels = (VMFMixture(k, random_state=seed).fit(rows).labels_ for seed in seeds)
    found = np.array([agreement(one, given.classes)[:2] for one in labels])
    tell(
        name,
        topics=k,
        share=share,
        found=found.mean(axis=0).round(3).tolist(),
        spread=found.std(axis=0).round(3).tolist(),
    )


def heavy_topics(name: str, given: Given, k: int, seeds: list[int]) -> None:
    """Topics of both components, by words and by vectors."""
    for view, x in (("words", given.words), ("vectors", given.vectors)):
        found = {
            component: np.array([agreement(kind(k, random_state=seed).fit(x).labels_, given.classes) for seed in seeds])
            for component, kind in zip(COMPONENTS, (VMFMixture, SphericalCauchyMixture), strict=True)
        }
        means = {component: rows.mean(axis=0).round(3).tolist() for component, rows in found.items()}
        spread = {component: rows.std(axis=0).round(3).tolist() for component, rows in found.items()}
        tell(name, view=view, topics=k, **means, spread=spread)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cauchy", action="store_true")
    parser.add_argument("--isotropy", action="store_true")
    parser.add_argument("--common", action="store_true")
    parser.add_argument("--joined", action="store_true")
    parser.add_argument("--topics", action="store_true")
    parser.add_argument("--sets", nargs="+", help="corpora by name; default: those of docs/trials.md")
    parser.add_argument("--parts", type=int, default=0, metavar="N")
    parser.add_argument("--directions", type=int, nargs="+", default=[-1, 0, 1, 3])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--model", default="wordllama")
    asked = parser.parse_args()
    joint = list(JOINED)
    trials = {"cauchy": CAUCHY, "isotropy": list(ISOTROPY), "common": COMMON, "joined": joint, "topics": joint}
    wanted = [trial for trial in trials if getattr(asked, trial)] or list(trials)
    cauchy, isotropic, common, joined, topics = (asked.sets or trials[one] if one in wanted else [] for one in trials)
    for name in dict.fromkeys([*cauchy, *isotropic, *common, *joined, *topics]):
        given = given_of(name, asked.model)
        if name in cauchy:
            heavy_tails(name, given, asked.parts)
        if name in isotropic:
            fits(name, given, ISOTROPY.get(name, (given.k,)), asked.seeds)
        if name in common:
            for directions in asked.directions:
                without_common(name, given, directions, asked.seeds)
        if name in joined:
            for share in asked.shares:
                of_both(name, given, JOINED.get(name, given.k), share, asked.seeds)
        if name in topics:
            heavy_topics(name, given, JOINED.get(name, given.k), asked.seeds)


if __name__ == "__main__":
    main()
