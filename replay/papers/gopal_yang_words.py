"""Figure 3 of Gopal and Yang 2014 ([GY14]): how the words of one topic change over the years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vmfstream.replay.papers import gopal_yang_printed as printed
from vmfstream.replay.papers.catalogue import Effort, Exhibit
from vmfstream.replay.papers.gopal_yang_data import COLLECTIONS, dated
from vmfstream.replay.papers.gopal_yang_fits import fitted
from vmfstream.replay.papers.gopal_yang_rivals import CTM, DATA, DTM, SWEEPS, rival_topics_once, rivals_given
from vmfstream.replay.papers.shown import Axes, Cell, Series, Shown, Table
from vmfstream.replay.papers.topic_models import WHERE_INSTALLED
from vmfstream.replay.papers.work import Done, Result, Task

FOLLOWED = ("NIPS abstracts", "NIPS papers")

BONDS: tuple[float | str, ...] = ("auto", 0.8)
"""Persistences: what predicts best, and a loose one."""

_RIVALS = (
    f"The paper names dynamic (DTM) and correlated (CTM) topic models and compares with neither: here are tomotopy's, "
    f"{SWEEPS[DTM]} and {SWEEPS[CTM]} sweeps with its defaults, {WHERE_INSTALLED}; CTM knows no years. Their "
    "strongest words are frequent ones, those of ours are weighted by rarity, which NPMI rewards. The topic shown of "
    "each model is the one with most of the printed words."
)

TOP = 6
"""Words of a year, and in a picture."""


def topic_once(
    data: str, k: int, seed: int, persistence: float | str, wanted: Mapping[str, Sequence[str]], top: int
) -> Result:
    """Follow all topics through the years and return the one that gives most weight to the words wanted of each year.

    ``data`` is followed with ``k`` topics from the start of ``seed`` under this ``persistence``, and ``wanted`` are
    words by year. The result holds ``years``, ``words`` (that are among the ``top`` of some year), their ``weights``
    (years, words) in the topic's mean and the ``persistence``.
    """
    from vmfstream.estimators.temporal import TemporalVMFMixture

    documents = dated(data)
    mixture = TemporalVMFMixture(k, persistence=persistence, random_state=seed)
    model = fitted(mixture, documents.x, slices=documents.years)
    matches = sum(
        model.means_[model.slices_ == int(year)][:, :, np.isin(documents.terms, words)].sum(axis=(0, 2))
        for year, words in wanted.items()
    )
    means = model.means_[:, int(np.argmax(matches))]
    best = np.unique(np.argsort(-means, axis=1)[:, :top])
    return {
        "years": model.slices_.tolist(),
        "words": [documents.terms[j] for j in best],
        "weights": means[:, best].astype(float).tolist(),
        "persistence": float(model.persistence_),
    }


def _tasks(effort: Effort) -> list[Task]:
    wanted = {str(year): list(words) for year, words in printed.WORDS.items()}
    common = {"k": printed.CLUSTERS, "seed": effort.seed, "wanted": wanted}
    own = [
        Task(topic_once, common | {"data": data, "persistence": bond, "top": TOP}, COLLECTIONS[data].files)
        for data in FOLLOWED
        for bond in BONDS
    ]
    return own + [Task(rival_topics_once, common | given, COLLECTIONS[DATA].files) for given in rivals_given().values()]


def _show(done: Done) -> Shown:
    panels = tuple(
        _picture(run, f"{data}, persistence {run['persistence']:g}", _drawn(done.where(data=data)))
        for data in FOLLOWED
        for run in done.where(data=data)
    )
    return Shown(
        "figure3",
        "The vocabulary of one topic over the years",
        (*(_table(data, done.where(data=data)) for data in FOLLOWED), *_rivals(done)),
        panels,
        (
            "Ours is the topic that gives most weight to the words printed for each year, fitted once by the smoother: "
            "with the persistence that predicts best, and with a looser one.",
            "The paper does not say how tightly it binds the years. Its words change faster than ours do with the "
            "persistence that predicts best; by 2000 they are no longer those of neurons.",
            _RIVALS,
            *(COLLECTIONS[data].remark for data in FOLLOWED),
        ),
    )


def _rivals(done: Done) -> tuple[Table, Table]:
    """The words of other models in the printed years, and how coherent all their topics are."""
    found = {name: done.where(**given)[0] for name, given in rivals_given().items()}
    words = [
        Cell(str(year), name, None, " ".join(run["words"][run["years"].index(year)][:TOP]))
        for name, run in found.items()
        for year in printed.WORDS
        if year in run["years"]
    ]
    figures = [
        Cell(name, column, None, run[key])
        for name, run in found.items()
        for column, key in (("NPMI of ten words", "npmi"), ("processor time, s", "seconds"))
    ]
    return (
        Table(f"{DATA}, {printed.CLUSTERS} topics: the same by a dynamic topic model", tuple(words), corner="year"),
        Table(
            f"{DATA}, {printed.CLUSTERS} topics: coherence, mean over topics and years",
            tuple(figures),
            2,
            corner="model",
        ),
    )


def _table(data: str, runs: Sequence[Result]) -> Table:
    cells = []
    for year, words in printed.WORDS.items():
        for i, run in enumerate(runs):
            ours = best_words(run, year)
            if ours:
                paper = None if i else " ".join(words)
                cells.append(Cell(str(year), f"persistence {run['persistence']:g}", paper, " ".join(ours)))
    return Table(f"{data}: the {TOP} words of largest weight", tuple(cells), corner="year")


def best_words(run: Result, year: int) -> list[str]:
    """Return the words of largest weight in a year, none if the collection does not reach it."""
    if year not in run["years"]:
        return []
    weights = run["weights"][run["years"].index(year)]
    return [run["words"][j] for j in np.argsort(weights)[::-1][:TOP]]


def _drawn(runs: Sequence[Result]) -> list[str]:
    """Return the words whose weights are largest at any time, in any run."""
    peak: dict[str, float] = {}
    for run in runs:
        for word, weight in zip(run["words"], np.max(run["weights"], axis=0), strict=True):
            peak[word] = max(peak.get(word, 0.0), float(weight))
    return sorted(peak, key=lambda word: -peak[word])[:TOP]


def _picture(run: Result, title: str, words: Sequence[str]) -> Axes:
    years = tuple(float(year) for year in run["years"])
    weights = dict(zip(run["words"], zip(*run["weights"], strict=True), strict=True))
    series = tuple(Series(word, years, weights[word]) for word in words if word in weights)
    return Axes(title, "year", "weight in the topic's mean", series)


VOCABULARY = Exhibit(_tasks, _show)
