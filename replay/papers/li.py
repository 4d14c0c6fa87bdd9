"""Li 2018, Dirichlet-vMF Mixture Model ([Li]): Table 1 computed again."""

from __future__ import annotations

from vmfstream.replay.papers import li_printed as printed
from vmfstream.replay.papers.catalogue import Effort, Exhibit, Paper
from vmfstream.replay.papers.li_features import (
    FILES,
    LARGEST,
    LDA_PASSES,
    LDA_PRIORS,
    LDA_TOPICS,
    METHODS,
    OF_VECTORS,
    VECTORS,
    classify_once,
)
from vmfstream.replay.papers.shown import Cell, Shown, Table, mean_and_spread
from vmfstream.replay.papers.work import Done, Task

__all__ = ["PAPER"]

MAIN = next(iter(VECTORS))

COMPARED = ("MeanWV", "VMFMix")
"""Features that are computed from every set of vectors."""

ONCE = ("BOW", "BOW, words weighted by idf", "BOW, words with vectors", "MeanWV")
"""Features without chance: restarts would repeat them."""

_COLLECTIONS = (
    "20News: posts without headers and subject lines but with signatures and quotations, which tell groups apart by "
    "their writers; training posts come before test posts. Reuters: the paper does not say which categories; these are "
    f"the {LARGEST} largest topics of stories that have a single one, in the ModApte split. Stop words and words of "
    "less than 0.03 % of the documents are left out."
)

_VECTORS = (
    "Our vectors are smaller than the paper's, whose size it does not print: sets of {words}, cut to frequent words. "
    "What share of the words of the texts (stop words aside) has a vector is in the last tables; what the others tell "
    "of the classes is the difference between BOW and BOW of the words with vectors. VMFMix is to be held against "
    "MeanWV of the same vectors."
)

_METHODS = (
    "The weight of errors of the support vector machine is chosen on a fifth of the training documents. LDA has "
    f"{LDA_TOPICS} topics here, learnt in {LDA_PASSES} passes with priors {LDA_PRIORS[0]} and {LDA_PRIORS[1]}. sLDA, "
    "LFTM, Doc2Vec, TWE and TopicVec are the paper's alone. VMFMix: topics of each class are learnt by themselves and "
    "put together, as in the paper, with exact concentrations and alpha learnt; 'without the classes' learns as many "
    "topics from all training documents at once."
)


def _plan(effort: Effort) -> list[Task]:
    asked = [(method, MAIN if method in OF_VECTORS else "") for method in METHODS]
    asked += [(method, source) for source in VECTORS if source != MAIN for method in COMPARED]
    return [
        Task(
            classify_once,
            {"data": data, "method": method, "source": source, "seed": seed},
            (FILES[data], *([VECTORS[source]] if source else [])),
        )
        for data in printed.SETS
        for method, source in asked
        for seed in (effort.seeds()[:1] if method in ONCE else effort.seeds())
    ]


def _show(done: Done) -> Shown:
    words = ", ".join(f"{name} ({share})" for name, share in _sizes(done).items())
    notes = (_COLLECTIONS, _VECTORS.format(words=words), _METHODS)
    tables = (*(_scores(done, data) for data in printed.SETS), *(_others(done, data) for data in printed.SETS))
    return Shown("table1", "Classes of documents by linear support vector machines", tables, (), notes)


def _scores(done: Done, data: str) -> Table:
    cells = []
    for method in dict.fromkeys((*printed.CLASSIFICATION, *METHODS)):
        for measure in printed.MEASURES:
            paper = printed.CLASSIFICATION[method][data][measure] if method in printed.CLASSIFICATION else None
            ours: tuple[float | None, float | None] = (None, None)
            if method in METHODS:
                source = MAIN if method in OF_VECTORS else ""
                ours = mean_and_spread(done.values(measure, data=data, method=method, source=source))
            cells.append(Cell(method, measure, paper, *ours))
    return Table(f"{data}: macro averages, in percent; vectors of {MAIN}", tuple(cells), digits=1, corner="features")


def _others(done: Done, data: str) -> Table:
    cells = []
    for source in VECTORS:
        for method in COMPARED:
            found = mean_and_spread(done.values("F1", data=data, method=method, source=source))
            cells.append(Cell(source, method, None, *found))
        share = done.values("share", data=data, method=COMPARED[0], source=source)[0]
        cells.append(Cell(source, "words covered, %", None, 100 * share))
    return Table(f"{data}, other vectors: F1, and words that have a vector", tuple(cells), digits=1, corner="vectors")


def _sizes(done: Done) -> dict[str, str]:
    """Return how many different words of the texts each set of vectors knows."""
    found = {}
    for source in VECTORS:
        results = [done.where(data=data, method=COMPARED[0], source=source)[0] for data in printed.SETS]
        found[source] = " and ".join(f"{result['words']:,} of {result['of']:,}" for result in results)
    return found


PAPER = Paper("li", "Li 2018: Dirichlet-vMF Mixture Model", {"table1": Exhibit(_plan, _show)})
