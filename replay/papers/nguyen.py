"""Nguyen, Phung, Nguyen, Venkatesh and Bui 2014, multilevel clustering with group-level contexts ([MC2])."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.replay.papers.catalogue import Effort, Exhibit, Paper
from vmfstream.replay.papers.nguyen_data import COREL_FILES, LETTERS, NIPS_FILES, SENTENCE
from vmfstream.replay.papers.nguyen_fits import (
    IMAGES,
    LETTER_CHAIN,
    PAPER_CHAIN,
    PART_CHAIN,
    RANDOM,
    TRUTH,
    WANDERING,
    WITH,
    WITHOUT,
    letters_once,
    nips_once,
    wander_once,
)
from vmfstream.replay.papers.nguyen_hdp import SWEEPS as HDP_SWEEPS
from vmfstream.replay.papers.nguyen_hdp import hdp_once
from vmfstream.replay.papers.nguyen_pictures import (
    AFFINITY,
    COREL_CHAIN,
    FACTORS,
    HDP_AFFINITY,
    K_MEANS,
    NUMBERS,
    SCORES,
    TAGS,
    hdp_pictures_once,
    mapped_once,
    pictures_once,
    rival_once,
)
from vmfstream.replay.papers.nguyen_rivals import HDP, HDP_START, LDA, hdp_letters_once, lda_letters_once
from vmfstream.replay.papers.shown import (
    Axes,
    Cell,
    Image,
    Images,
    Series,
    Shown,
    Table,
    Value,
    mean_and_spread,
    placed,
)
from vmfstream.replay.papers.topic_models import WHERE_INSTALLED, installed
from vmfstream.replay.papers.work import Done, Task

__all__ = ["PAPER"]

PERPLEXITY = {WITHOUT: (1583.2, "19, 61"), "titles": (1393.4, "32, 80"), "authors": (1246.3, "8, 55")}
PERPLEXITY["timestamp"] = (984.7, "15, 95")
"""Table 1, NIPS: perplexity, clusters and topics by context."""

HDP_PERPLEXITY = (1922.1, "-, 108")

PICTURES = {WITHOUT: 162.74, WITH: 152.32}
"""Table 2: perplexity on NUS-WIDE."""

MISSING = {
    0: (0.407, 0.298, 0.901, 0.157),
    25: (0.338, 0.245, 0.892, 0.149),
    50: (0.320, 0.236, 0.883, 0.137),
    75: (0.313, 0.187, 0.860, 0.112),
    100: (0.306, 0.188, 0.867, 0.119),
}
"""Table 3: `SCORES` by percentage of missing contexts."""

PRINTED_CHAIN = "The paper's chains have 100 sweeps before 500 that count"

WHOLE, PART = 0, 50
"""Words of every paper: all, or so many drawn from each."""


def _letter_tasks(effort: Effort) -> list[Task]:
    rows = (WITH, WITHOUT, IMAGES)
    tasks = [Task(letters_once, {"context": name, "seed": seed}) for name in rows for seed in effort.seeds()]
    tasks += [Task(lda_letters_once, {"topics": len(LETTERS), "seed": seed}) for seed in effort.seeds()]
    tasks += [Task(hdp_letters_once, {"version": installed(), "seed": seed}) for seed in effort.seeds()]
    return tasks + [Task(wander_once, {"start": name, "seed": effort.seed}) for name in (TRUTH, RANDOM)]


def _show_letters(done: Done) -> Shown:
    printed = {"clusters": len(SENTENCE), "topics": len(LETTERS)}
    papers = {WITH: printed, IMAGES: printed, LDA: {"topics": len(LETTERS)}}
    rows: dict[str, dict[str, Any]] = {name: {"context": name} for name in (WITH, WITHOUT, IMAGES)}
    rows |= {LDA: {"topics": len(LETTERS)}, HDP: {"version": installed()}}
    cells = [
        _averaged(row, column, papers.get(row, {}).get(column), [found.get(column) for found in done.where(**given)])
        for row, given in rows.items()
        for column in ("clusters", "topics", "different topics", "letters", "nmi", "perplexity")
    ]
    drawn = {row: done.where(**rows[row])[0]["pictures"] for row in (IMAGES, WITH, LDA, HDP)}
    return Shown(
        "simulation",
        "Letters of INTERNATIONAL CONFERENCE MACHINE LEARNING (Fig. 2)",
        (
            Table("Mean over draws of the data; letters: those within a cosine of .95 of a topic", tuple(cells), 2),
            Table(f"With context, {WANDERING} sweeps; the second half", _wandering(done), 0, corner="chain from"),
        ),
        notes=(
            "Documents of a cluster have the same weights of topics, so that single pixels depend on topics only "
            "through one distribution for each cluster, and thirteen letters cannot be told from four such topics: a "
            "chain from the true letters leaves them, and keeps no number of topics. On its way the joint density "
            "rises, while that of a chain from random clusters falls: the density of one state does not tell how many "
            "states are like it, so that it decides nothing here.",
            "Where every word is an image of its letter, with noise in all pixels, the letters are in the data and all "
            "are found. Chains join topics that are the same and part those that are two, so that they keep 13 from "
            "whatever number they start; 'different topics' counts those within a cosine of .95 once. Images of 35 "
            "drawn pixels are not von Mises-Fisher, and a chain parts letters of those on and on, to densities far "
            "above that of the true letters.",
            f"Chains of {_sweeps(LETTER_CHAIN)} sweeps; the paper's of 100. Letters and variances are ours.",
            f"LDA: scikit-learn's with its defaults, told the number of topics as in the paper. HDP: {sum(HDP_SWEEPS)} "
            f"sweeps of tomotopy's HDPModel from {HDP_START} topics, {WHERE_INSTALLED}. Both see the pixels alone and "
            "make no clusters of documents; their perplexity is estimated as that of MC2 is. The paper shows their "
            "topics as pictures only, and reports that they confuse letters that overlap.",
        ),
        images=tuple(_drawn(row, pictures) for row, pictures in drawn.items() if pictures),
    )


def _drawn(row: str, pictures: list[Any]) -> Images:
    """Draw the topics of the first fit as pictures."""
    title = f"{row}: topics of the first fit, named after the letters that they are most like"
    return Images(title, tuple(Image(name, tuple(map(tuple, pixels))) for name, pixels in pictures))


def _wandering(done: Done) -> tuple[Cell, ...]:
    found = {start: done.where(start=start)[0] for start in (TRUTH, RANDOM)}
    return tuple(Cell(start, name, None, value) for start, values in found.items() for name, value in values.items())


def _nips_task(words: int, context: str, effort: Effort) -> Task:
    return Task(nips_once, {"context": context, "words": words, "seed": effort.seed}, NIPS_FILES)


def _figure_tasks(context: str) -> Any:
    return lambda effort: [_nips_task(PART, context, effort)]


def _table1_tasks(effort: Effort) -> list[Task]:
    tasks = []
    for words in (WHOLE, PART):
        given = {"words": words, "seed": effort.seed, "version": installed()}
        tasks += [Task(hdp_once, given, NIPS_FILES), *(_nips_task(words, name, effort) for name in PERPLEXITY)]
    return tasks


def _show_table1(done: Done) -> Shown:
    tables = (
        Table("Whole papers, a tenth held out; one chain each", _perplexities(done, WHOLE), 1),
        Table(f"{PART} words drawn from each paper", _perplexities(done, PART, printed=False), 1),
    )
    return Shown("table1", "Perplexity of words of held-out papers, NIPS 1987-1999", tables, notes=NIPS_NOTES)


def _perplexities(done: Done, words: int, *, printed: bool = True) -> tuple[Cell, ...]:
    hdp = done.where(words=words, version=installed())[0]
    without = done.where(words=words, context=WITHOUT)[0]
    rows = {HDP: HDP_PERPLEXITY} | {f"MC2, {name}": numbers for name, numbers in PERPLEXITY.items()}
    cells = []
    for row, (perplexity, numbers) in rows.items():
        context = row.removeprefix("MC2, ")
        found = hdp if row == HDP else done.where(words=words, context=context)[0]
        counts: Value = None
        if found["topics"] is not None:
            counts = f"{found.get('clusters', '-')}, {found['topics']}"
        cells.append(Cell(row, "all words", perplexity if printed else None, found["unseen"]))
        cells.append(Cell(row, "context known", None, found.get("own context")))
        cells.append(Cell(row, "second half", None, found["half"]))
        cells.append(Cell(row, "cluster mean", None, found.get("mean")))
        cells.append(Cell(row, "clusters, topics", numbers if printed else None, counts))
        if context in without["most"]:
            gain = _gain(perplexity, PERPLEXITY[WITHOUT][0]) if printed else None
            cells.append(Cell(row, "gain, %", gain, _gain(found["own context"], without["unseen"])))
            cells.append(Cell(row, "at most, %", None, without["most"][context]))
    if printed:
        cells.append(Cell("npTOT", "all words", 1855.33, None))
    return (*cells, Cell("words by frequency", "all words", None, without["unigram"]))


def _gain(perplexity: float, without: float) -> float:
    """Per cent by which a perplexity is smaller."""
    return 100.0 * (1.0 - perplexity / without)


def _sweeps(chain: dict[str, Any]) -> int:
    return int(chain["burn_in"] + chain["draws"] * chain["thin"])


NIPS_NOTES = (
    "All words: p(w), the cluster and the topics of all tokens summed out, a new cluster among those possible; an "
    "estimate that errs towards larger perplexities. Context known: the same given the held-out paper's own. "
    "Second half: given that context and half of the words. Cluster mean: the weights of topics at their "
    "mean in each cluster, not updated by the paper itself. The paper's is in a supplement not at hand.",
    "Gain: of papers whose context is known, against none without contexts. At most: log p(w | x) - log p(w) = "
    "log p(x | w) - log p(x) is no more than the surprise at the contexts x of all papers, given the clusters found "
    "without them. What is printed for authors and for years is more: no chain that has mixed can gain as much.",
    f"MC2: {_sweeps(PAPER_CHAIN)} sweeps after {PAPER_CHAIN['settle']} over topics alone (parts: "
    f"{_sweeps(PART_CHAIN)} after {PART_CHAIN['settle']}), every paper first a cluster by itself. {PRINTED_CHAIN}. "
    f"HDP: {sum(HDP_SWEEPS)} sweeps of tomotopy's HDPModel, {WHERE_INSTALLED}, judged by the same functions.",
    "Papers of a thousand words hardly share weights of topics, so that nearly every one becomes a cluster by itself: "
    "MC2 is an HDP then, and a context, of which each cluster has one, says nothing about words. A chain that starts "
    "from 20 clusters and settled topics breaks up within scores of sweeps, ever denser: a small number of clusters, "
    "as printed, is a chain that has not mixed.",
    "Of 50 words papers do form clusters; titles and authors help a little, years do not. Tried there without finding "
    "the printed order: contexts of 5 and of 20 times the weight, years that spread by half of one in a cluster, and "
    "at most 20 clusters.",
    "PNAS is not at hand; npTOT is not computed.",
)


def _chain_note(chain: dict[str, Any]) -> str:
    return f"Short chains of {_sweeps(chain)} sweeps, {chain['draws']} states kept. {PRINTED_CHAIN}."


def _show_figure3(done: Done) -> Shown:
    found = done.where(context="authors")[0]["largest"]
    cells = [Cell(name.replace("_", " "), "probability", None, p) for name, p in found["items"]]
    topics = [Cell(", ".join(words), "weight", None, weight) for _, weight, words in found["topics"]]
    return Shown(
        "figure3",
        "A cluster of papers: authors, titles, topics",
        (
            Table(f"Authors of the largest cluster, {found['papers']} papers", tuple(cells), corner="author"),
            Table("Its topics", tuple(topics), corner="words"),
        ),
        notes=(
            "Titles: " + "; ".join(found["titles"]) + ".",
            "The paper's example: Jordan, Ghahramani, Jaakkola, Cohn, Wolpert, Meila.",
            _chain_note(PART_CHAIN),
        ),
    )


def _show_figure4(done: Done) -> Shown:
    curves = done.where(context="timestamp")[0]["curves"]
    lines = tuple(Series(" ".join(words), tuple(years), tuple(density)) for words, years, density in curves)
    panel = Axes("Topics over time", "year", "density", lines)
    notes = (
        "NIPS in place of PNAS, whose topic Albinism the paper shows; the topics that are most of their time.",
        _chain_note(PART_CHAIN),
    )
    return Shown("figure4", "When topics rise and fall", panels=(panel,), notes=notes)


def _picture_tasks(context: str, missing: int, effort: Effort) -> list[Task]:
    given = {"context": context, "missing": missing}
    return [Task(pictures_once, given | {"seed": seed}, COREL_FILES) for seed in effort.seeds()]


def _hdp_tasks(effort: Effort) -> list[Task]:
    return [Task(hdp_pictures_once, {"seed": seed, "version": installed()}, COREL_FILES) for seed in effort.seeds()]


def _table2_tasks(effort: Effort) -> list[Task]:
    return _hdp_tasks(effort) + _picture_tasks(WITHOUT, 0, effort) + _picture_tasks(WITH, 0, effort)


def _averaged(row: str, column: str, paper: Value, values: Sequence[float | None]) -> Cell:
    """A cell of what was found, without a value where nothing was computed."""
    found = [value for value in values if value is not None]
    return Cell(row, column, paper, *mean_and_spread(found)) if found else Cell(row, column, paper, None)


def _show_table2(done: Done) -> Shown:
    given = {"HDP": {"version": installed()}} | {f"MC2, {name}": {"context": name} for name in PICTURES}
    printed = {"HDP": 175.62} | {f"MC2, {name}": value for name, value in PICTURES.items()}
    cells = [
        _averaged(row, column, printed[row] if column == "perplexity" else None, done.values(column, **which))
        for row, which in given.items()
        for column in ("perplexity", "clusters", "topics")
        if (row, column) != ("HDP", "clusters")
    ]
    title = "Mean over splits and chains; printed and ours are of different sets"
    return Shown(
        "table2", "Perplexity of visual words", (Table(title, tuple(cells), 2),), notes=(*PICTURE_NOTES, HDP_NOTE)
    )


def _figure5_tasks(effort: Effort) -> list[Task]:
    kinds = [(method, number) for method in (K_MEANS, FACTORS) for number in NUMBERS] + [(AFFINITY, 0)]
    rivals = [
        Task(rival_once, {"method": method, "clusters": number, "seed": seed}, COREL_FILES)
        for method, number in kinds
        for seed in effort.seeds()
    ]
    own = [task for context in (TAGS, WITHOUT, WITH) for task in _picture_tasks(context, 0, effort)]
    return rivals + _hdp_tasks(effort) + own


def _show_figure5(done: Done) -> Shown:
    cells, columns = list[Cell](), (*SCORES, "clusters")
    for method in (K_MEANS, FACTORS):
        for column in columns:
            values = done.values(column, method=method)
            cells.append(Cell(method, column, None, *mean_and_spread(values)))
            cells += [Cell(f"{method}, {which.__name__}", column, None, which(values)) for which in (min, max)]
    given: dict[str, dict[str, Any]] = {AFFINITY: {"method": AFFINITY}, HDP_AFFINITY: {"version": installed()}}
    given |= {f"MC2, {context}": {"context": context} for context in (TAGS, WITHOUT, WITH)}
    cells += [
        _averaged(row, column, None, done.values(column, **which)) for row, which in given.items() for column in columns
    ]
    title = "Mean and spread over splits, starts and, for K-means and NMF, 10 to 40 clusters"
    notes = (
        "K-means and NMF take rows of unit length, and a picture belongs to its strongest factor; affinity propagation "
        "takes squared distances of these rows with the preference that scikit-learn gives it. Contexts alone: MC2 on "
        "pictures whose content is one and the same word, which leaves a Dirichlet-process mixture of tags. The paper "
        "shows its values as bars, without numbers.",
    )
    table = Table(title, tuple(cells), corner="method")
    return Shown("figure5", "Clusters of pictures by method", (table,), notes=(*PICTURE_NOTES, *notes, HDP_NOTE))


def _figure6_tasks(effort: Effort) -> list[Task]:
    return [Task(mapped_once, {"seed": effort.seed}, COREL_FILES)]


def _show_figure6(done: Done) -> Shown:
    (found,) = done.where()
    points = tuple(placed(one["name"], np.array(one["places"])) for one in found["shown"])
    cells = tuple(Cell(one["name"], "pictures", None, one["pictures"]) for one in found["shown"])
    return Shown(
        "figure6",
        "Clusters of pictures in the plane",
        (Table(f"The largest of {found['clusters']} clusters, by their tags", cells, 0, corner="tags"),),
        (Axes("t-SNE of content and context", "first place", "second place", points, square=True),),
        notes=(*PICTURE_NOTES, "The paper shows 7 of its 28 clusters, drawn at random; these are the largest."),
    )


def _table3_tasks(effort: Effort) -> list[Task]:
    return [task for missing in MISSING for task in _picture_tasks(WITH, missing, effort)]


def _show_table3(done: Done) -> Shown:
    cells = [
        Cell(f"{missing} % missing", score, printed, *mean_and_spread(done.values(score, missing=missing)))
        for missing, row in MISSING.items()
        for score, printed in zip(SCORES, row, strict=True)
    ]
    title = "Mean over splits and chains; printed and ours are of different sets"
    return Shown("table3", "Clusters of pictures, tags missing", (Table(title, tuple(cells)),), notes=PICTURE_NOTES)


PICTURE_NOTES = (
    "Corel5k in place of the NUS-WIDE animals: presence of 499 visual words. It has no classes: the first tag stands "
    "for one, the 13 most frequent are used, and the tags after the first are the context.",
    _chain_note(COREL_CHAIN),
)

HDP_NOTE = (
    f"HDP: {sum(HDP_SWEEPS)} sweeps of tomotopy's HDPModel, {WHERE_INSTALLED}; HDP + AP: affinity "
    "propagation by the symmetric divergence between shares of its topics."
)

PAPER = Paper(
    "nguyen",
    "Nguyen et al. 2014: Bayesian Nonparametric Multilevel Clustering with Group-Level Contexts",
    {
        "simulation": Exhibit(_letter_tasks, _show_letters),
        "table1": Exhibit(_table1_tasks, _show_table1),
        "table2": Exhibit(_table2_tasks, _show_table2),
        "table3": Exhibit(_table3_tasks, _show_table3),
        "figure3": Exhibit(_figure_tasks("authors"), _show_figure3),
        "figure4": Exhibit(_figure_tasks("timestamp"), _show_figure4),
        "figure5": Exhibit(_figure5_tasks, _show_figure5),
        "figure6": Exhibit(_figure6_tasks, _show_figure6),
    },
)
