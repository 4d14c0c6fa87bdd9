"""Nguyen, Phung, Nguyen, Venkatesh and Bui 2014, multilevel clustering with group-level contexts ([MC2])."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vmfstream.replay.papers.catalogue import Effort, Exhibit, Paper
from vmfstream.replay.papers.nguyen_data import COREL_FILES, LETTERS, NIPS_FILES, SENTENCE
from vmfstream.replay.papers.nguyen_fits import (
    COREL_CHAIN,
    HDP_SWEEPS,
    IMAGES,
    LETTER_CHAIN,
    PAPER_CHAIN,
    PART_CHAIN,
    RANDOM,
    SCORES,
    TRUTH,
    WANDERING,
    WITH,
    WITHOUT,
    hdp_once,
    letters_once,
    nips_once,
    pictures_once,
    wander_once,
)
from vmfstream.replay.papers.shown import Cell, Image, Images, Panel, Series, Shown, Table, Value, mean_and_spread
from vmfstream.replay.papers.work import Done, Task

__all__ = ["PAPER"]

PERPLEXITY = {WITHOUT: (1583.2, "19, 61"), "titles": (1393.4, "32, 80"), "authors": (1246.3, "8, 55")}
PERPLEXITY["timestamp"] = (984.7, "15, 95")
"""Table 1, NIPS: perplexity, clusters and topics by context."""

HDP = (1922.1, "-, 108")

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
    return tasks + [Task(wander_once, {"start": name, "seed": effort.seed}) for name in (TRUTH, RANDOM)]


def _show_letters(done: Done) -> Shown:
    printed = {"clusters": len(SENTENCE), "topics": len(LETTERS)}
    cells = []
    for row in (WITH, WITHOUT, IMAGES):
        for column in ("clusters", "topics", "different topics", "letters", "nmi", "perplexity"):
            paper = printed.get(column) if row != WITHOUT else None
            if (values := done.values(column, context=row))[0] is not None:
                cells.append(Cell(row, column, paper, *mean_and_spread(values)))
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
        ),
        images=tuple(_drawn(row, done) for row in (IMAGES, WITH)),
    )


def _drawn(row: str, done: Done) -> Images:
    """Draw the topics of the first chain as pictures."""
    pictures = done.where(context=row)[0]["pictures"]
    title = f"{row}: topics of the first chain, named after the letters that they are most like"
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
        given = {"words": words, "seed": effort.seed, "version": _tomotopy()}
        tasks += [Task(hdp_once, given, NIPS_FILES), *(_nips_task(words, name, effort) for name in PERPLEXITY)]
    return tasks


def _tomotopy() -> str:
    """The version of tomotopy that is installed, empty if none is."""
    try:
        return version("tomotopy")
    except PackageNotFoundError:
        return ""


def _show_table1(done: Done) -> Shown:
    tables = (
        Table("Whole papers, a tenth held out; one chain each", _perplexities(done, WHOLE), 1),
        Table(f"{PART} words drawn from each paper", _perplexities(done, PART, printed=False), 1),
    )
    return Shown("table1", "Perplexity of words of held-out papers, NIPS 1987-1999", tables, notes=NIPS_NOTES)


def _perplexities(done: Done, words: int, *, printed: bool = True) -> tuple[Cell, ...]:
    hdp = done.where(words=words, version=_tomotopy())[0]
    without = done.where(words=words, context=WITHOUT)[0]
    rows = {"HDP": HDP} | {f"MC2, {name}": numbers for name, numbers in PERPLEXITY.items()}
    cells = []
    for row, (perplexity, numbers) in rows.items():
        context = row.removeprefix("MC2, ")
        found = hdp if row == "HDP" else done.where(words=words, context=context)[0]
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
    f"HDP: {sum(HDP_SWEEPS)} sweeps of tomotopy's HDPModel, where it is installed, judged by the same functions.",
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
    panel = Panel("Topics over time", "year", "density", lines)
    notes = (
        "NIPS in place of PNAS, whose topic Albinism the paper shows; the topics that are most of their time.",
        _chain_note(PART_CHAIN),
    )
    return Shown("figure4", "When topics rise and fall", panels=(panel,), notes=notes)


def _picture_tasks(context: str, missing: int, effort: Effort) -> list[Task]:
    given = {"context": context, "missing": missing}
    return [Task(pictures_once, given | {"seed": seed}, COREL_FILES) for seed in effort.seeds()]


def _table2_tasks(effort: Effort) -> list[Task]:
    return _picture_tasks(WITHOUT, 0, effort) + _picture_tasks(WITH, 0, effort)


def _show_table2(done: Done) -> Shown:
    cells = [Cell("HDP", "perplexity", 175.62, None)]
    for row, printed in PICTURES.items():
        cells.append(
            Cell(f"MC2, {row}", "perplexity", printed, *mean_and_spread(done.values("perplexity", context=row)))
        )
        for column in ("clusters", "topics"):
            cells.append(Cell(f"MC2, {row}", column, None, *mean_and_spread(done.values(column, context=row))))
    title = "Mean over splits and chains; printed and ours are of different sets"
    return Shown("table2", "Perplexity of visual words", (Table(title, tuple(cells), 2),), notes=PICTURE_NOTES)


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
    },
)
