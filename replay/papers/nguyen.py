"""Nguyen, Phung, Nguyen, Venkatesh and Bui 2014, multilevel clustering with group-level contexts ([MC2])."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream import metrics
from vmfstream.estimators.multilevel import MultilevelClustering
from vmfstream.replay.papers.catalogue import Effort, Exhibit, Paper
from vmfstream.replay.papers.nguyen_data import (
    COREL_FILES,
    HELD_OUT,
    LETTERS,
    NIPS_FILES,
    SENTENCE,
    Collection,
    letters,
    papers,
    pictures,
)
from vmfstream.replay.papers.shown import Cell, Panel, Series, Shown, Table, mean_and_spread
from vmfstream.replay.papers.work import Done, Result, Task

__all__ = ["PAPER"]

WITHOUT, WITH = "without context", "with context"

PERPLEXITY = {WITHOUT: (1583.2, "19, 61"), "titles": (1393.4, "32, 80"), "authors": (1246.3, "8, 55")}
PERPLEXITY["timestamp"] = (984.7, "15, 95")
"""Table 1, NIPS: perplexity, clusters and topics by context."""

PICTURES = {WITHOUT: 162.74, WITH: 152.32}
"""Table 2: perplexity on NUS-WIDE."""

SCORES = ("Purity", "NMI", "RI", "F-score")

MISSING = {
    0: (0.407, 0.298, 0.901, 0.157),
    25: (0.338, 0.245, 0.892, 0.149),
    50: (0.320, 0.236, 0.883, 0.137),
    75: (0.313, 0.187, 0.860, 0.112),
    100: (0.306, 0.188, 0.867, 0.119),
}
"""Table 3: `SCORES` by percentage of missing contexts."""

PAPER_CHAIN = "The paper's chains have 100 sweeps before 500 that count"

LETTER_CHAIN: dict[str, Any] = {"burn_in": 100, "draws": 10, "thin": 5}
NIPS_CHAIN: dict[str, Any] = {"burn_in": 20, "draws": 4, "thin": 5, "start_topics": 100}
COREL_CHAIN: dict[str, Any] = {"burn_in": 100, "draws": 10, "thin": 5}

SHOWN_TOPICS = 4
"""Lines of the figure of topics over time."""


def letters_once(context: str, seed: int) -> Result:
    """Cluster letters drawn with ``seed``, and compare with what they were drawn from."""
    data = letters(seed)
    model = MultilevelClustering(random_state=seed, **LETTER_CHAIN)
    model.fit(data.counts, data.contexts["number"] if context == WITH else None)
    images = np.array([[float(pixel) for pixel in image.replace(" ", "")] for image in LETTERS.values()])
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    topics = model.topics_ / np.linalg.norm(model.topics_, axis=1, keepdims=True)
    fresh = letters(seed + 10_000).counts
    return {
        "clusters": model.n_clusters_,
        "topics": model.n_topics_,
        "nmi": metrics.normalized_mutual_information(model.labels_, data.y),
        "letters": int(((images @ topics.T).max(axis=1) > 0.95).sum()),
        "perplexity": model.perplexity(fresh),
    }


def nips_once(context: str, seed: int) -> Result:
    """Fit nine tenths of the papers with one kind of context; return the perplexity of the others and findings."""
    data = papers()
    test = np.zeros(len(data.titles), bool)
    held_out = np.random.default_rng(seed).permutation(len(test))[: round(HELD_OUT * len(test))]
    test[held_out] = True
    train = np.flatnonzero(~test)
    given = {} if context == WITHOUT else {context: data.contexts[context][train]}
    model = MultilevelClustering(random_state=seed, **NIPS_CHAIN).fit(data.counts[train], given)
    words = data.counts[train].sum(axis=0) + model.word_prior
    unigram = data.counts[held_out] @ np.log(words / words.sum())
    return {
        "perplexity": model.perplexity(data.counts[held_out]),
        "unigram": metrics.perplexity(unigram, data.counts[held_out].sum(axis=1)),
        "clusters": model.n_clusters_,
        "topics": model.n_topics_,
        "largest": _largest(model, data, train, context),
        "curves": _curves(model, data, context),
    }


def _largest(model: MultilevelClustering, data: Collection, train: NDArray[np.int64], context: str) -> Result:
    """The largest cluster: its strongest items, titles of papers, and topics."""
    items = {name: names for name, names in data.items.items() if name == context}
    row = model.table(data.words, items, top=8)[0]
    return {
        "papers": len(row["groups"]),
        "items": row["contexts"].get(context, []),
        "titles": [data.titles[train[j]] for j in row["groups"][:6]],
        "topics": row["topics"][:4],
    }


def _curves(model: MultilevelClustering, data: Collection, context: str) -> list[Any]:
    """Words and density over the years of the topics that are most their own time's."""
    if context != "timestamp":
        return []
    years = np.arange(data.contexts[context].min(), data.contexts[context].max() + 1)
    density = model.topic_contexts(context, years)
    common = np.flatnonzero(model.weights_ @ model.mixing_ > 0.005)
    order = common[np.argsort(-density[common].max(axis=1), kind="stable")][:SHOWN_TOPICS]
    names = np.asarray(data.words, object)
    return [[names[np.argsort(-model.topics_[m])[:4]].tolist(), years.tolist(), density[m].tolist()] for m in order]


def pictures_once(context: str, missing: int, seed: int) -> Result:
    """Cluster three fifths of the pictures, tags of ``missing`` per cent left out; score clusters and the others."""
    data = pictures()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    train, test = np.sort(order[len(order) * 2 // 5 :]), np.sort(order[: len(order) * 2 // 5])
    tags = data.contexts["tags"][train].toarray()
    tags[rng.permutation(len(train))[: round(missing / 100 * len(train))]] = 0.0
    model = MultilevelClustering(kernels="multinomial", random_state=seed, **COREL_CHAIN)
    model = model.set_params(kernels="auto") if context == WITHOUT else model
    model.fit(data.counts[train], tags if context == WITH else None)
    labels, y = model.labels_, data.y[train]
    scores = (
        metrics.purity(labels, y),
        metrics.normalized_mutual_information(labels, y),
        metrics.rand_index(labels, y),
        metrics.pairwise_f(labels, y),
    )
    found = {"perplexity": model.perplexity(data.counts[test]), "clusters": model.n_clusters_}
    return found | {"topics": model.n_topics_} | dict(zip(SCORES, scores, strict=True))


def _letter_tasks(effort: Effort) -> list[Task]:
    return [Task(letters_once, {"context": name, "seed": seed}) for name in (WITH, WITHOUT) for seed in effort.seeds()]


def _show_letters(done: Done) -> Shown:
    printed = {"clusters": len(SENTENCE), "topics": len(LETTERS)}
    cells = []
    for row in (WITH, WITHOUT):
        for column in ("clusters", "topics", "nmi", "letters", "perplexity"):
            paper = printed.get(column) if row == WITH else None
            cells.append(Cell(row, column, paper, *mean_and_spread(done.values(column, context=row))))
    return Shown(
        "simulation",
        "Letters of INTERNATIONAL CONFERENCE MACHINE LEARNING (Fig. 2)",
        (Table("Mean over draws of the data; letters: topics within a cosine of .95 of one", tuple(cells), 2),),
        notes=(
            "Documents of a cluster have the same weights of topics, so that words depend on topics only through one "
            "distribution for each cluster: four topics explain them as well as thirteen, and the prior wants fewer.",
            f"Chains of {_sweeps(LETTER_CHAIN)} sweeps; the paper's of 100. Letters and variances are ours.",
        ),
    )


def _nips_tasks(contexts: tuple[str, ...]) -> Any:
    def plan(effort: Effort) -> list[Task]:
        return [Task(nips_once, {"context": name, "seed": effort.seed}, NIPS_FILES) for name in contexts]

    return plan


def _show_table1(done: Done) -> Shown:
    cells = [Cell("HDP", "perplexity", 1922.1, None), Cell("npTOT", "perplexity", 1855.33, None)]
    for row, (perplexity, numbers) in PERPLEXITY.items():
        found = done.where(context=row)[0]
        cells.append(Cell(f"MC2, {row}", "perplexity", perplexity, found["perplexity"]))
        cells.append(Cell(f"MC2, {row}", "clusters, topics", numbers, f"{found['clusters']}, {found['topics']}"))
    cells.append(Cell("words by frequency", "perplexity", None, done.where()[0]["unigram"]))
    return Shown(
        "table1",
        "Perplexity of words of held-out papers, NIPS 1987-1999",
        (Table("One chain for each context, the same tenth held out", tuple(cells), 1),),
        notes=(
            _chain_note(NIPS_CHAIN),
            PERPLEXITY_NOTE,
            "A paper has 1,323 words on average, but 5 words of title or 2 authors, so that words decide the clusters; "
            "chains start from 100 topics.",
            "PNAS is not at hand; HDP and npTOT are not computed.",
        ),
    )


PERPLEXITY_NOTE = (
    "Ours is p(w) = sum_k p(k) prod_i sum_m p(m|k) p(w_i|m), averaged over draws inside the logarithm: a held-out "
    "paper has the weights of its cluster, none of its own. How the supplement of [MC2] computes it is not known here."
)


def _chain_note(chain: dict[str, Any]) -> str:
    return f"Short chains of {_sweeps(chain)} sweeps, {chain['draws']} states kept. {PAPER_CHAIN}."


def _sweeps(chain: dict[str, Any]) -> int:
    return int(chain["burn_in"] + chain["draws"] * chain["thin"])


def _show_figure3(done: Done) -> Shown:
    found = done.where(context="authors")[0]["largest"]
    cells = [Cell(name, "probability", None, p) for name, p in found["items"]]
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
            _chain_note(NIPS_CHAIN),
        ),
    )


def _show_figure4(done: Done) -> Shown:
    curves = done.where(context="timestamp")[0]["curves"]
    lines = tuple(Series(" ".join(words), tuple(years), tuple(density)) for words, years, density in curves)
    panel = Panel("Topics over time", "year", "density", lines)
    notes = (
        "NIPS in place of PNAS, whose topic Albinism the paper shows; the topics that are most of their time.",
        _chain_note(NIPS_CHAIN),
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
        "table1": Exhibit(_nips_tasks(tuple(PERPLEXITY)), _show_table1),
        "table2": Exhibit(_table2_tasks, _show_table2),
        "table3": Exhibit(_table3_tasks, _show_table3),
        "figure3": Exhibit(_nips_tasks(("authors",)), _show_figure3),
        "figure4": Exhibit(_nips_tasks(("timestamp",)), _show_figure4),
    },
)
