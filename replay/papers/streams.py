"""Streams of stories: labels on arrival beside a single pass and the published figures of other methods."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.folders import need_data
from vmfstream.replay.papers.catalogue import Effort, Exhibit, Paper
from vmfstream.replay.papers.shown import Cell, Shown, Table, mean_and_spread
from vmfstream.replay.papers.work import Done, Result, Task

__all__ = ["PAPER", "LabelledStream", "fit_stories", "label_scores", "read_stream", "single_pass"]

LabelArray = NDArray[np.int64]

STORIES, SINGLE_PASS = "StoryMixture", "single pass"

MEASURES = {"NMI": "nmi", "ARI": "ari", "B-cubed F1": "b3", "AMI": "ami", "C_det": "c_det"}


class _Origin(NamedTuple):
    """Where a stream comes from: its folder, and SQL for texts, their order, and which are scored and chosen."""

    title: str
    folder: str
    text: str
    order: str
    scored: str
    chosen: str = "TRUE"
    shuffled: bool = False
    hashtags: bool = True
    published: tuple[tuple[str, float], ...] = ()

    @property
    def file(self) -> str:
        return f"{self.folder}/docs.parquet"


_POSTS = _Origin("posts about 26 crises", "crisislex_t26", "text", "timestamp, id", "related")

STREAMS = {
    "news_t": _Origin(
        "news titles in bursts",
        "mstream_news_t",
        "text",
        '"order"',
        "TRUE",
        published=(("MStreamF", 0.873), ("MStream", 0.850), ("DTM", 0.806)),
    ),
    "news": _Origin(
        "news titles",
        "mstream_news",
        "text",
        '"order"',
        "TRUE",
        shuffled=True,
        published=(("MStream", 0.834), ("DTM", 0.793)),
    ),
    "crisislex": _POSTS,
    "crisislex_hard": _POSTS._replace(title="the same without words that begin with #", hashtags=False),
    "reuters": _Origin(
        "Reuters by day, single topics",
        "reuters21578",
        "concat_ws(' ', title, text)",
        "timestamp, id",
        scored="label IS NOT NULL",
        chosen="label IS NOT NULL",
    ),
}
"""Streams by the name that they have in the tables."""


class LabelledStream(NamedTuple):
    """Unit rows (N, D) in order of arrival, their classes (N,), and which are scored (N,)."""

    x: csr_array
    y: LabelArray
    scored: NDArray[np.bool_]


def read_stream(name: str, order: int = 0, stop_words: str | None = None) -> LabelledStream:
    """Read a stream: tf-idf rows under the document frequencies so far.

    Parameters
    ----------
    name : a name of `STREAMS`
    order : 0 for the order of the stream, else the seed of a permutation.
    stop_words : those that are left out, as a run names them.

    Raises
    ------
    InputError
        If the data is missing.
    """
    import duckdb

    origin = STREAMS[name]
    selected: Any = duckdb.sql(
        f"SELECT {origin.text}, label, {origin.scored} FROM '{need_data(origin.file)}' "
        f"WHERE {origin.chosen} ORDER BY {origin.order}"
    )
    rows = selected.fetchall()
    if order:
        rows = [rows[i] for i in np.random.default_rng(order).permutation(len(rows))]
    texts = [row[0] if origin.hashtags else re.sub(r"#\S+", " ", row[0]) for row in rows]
    y = np.unique([row[1] for row in rows], return_inverse=True)[1]
    return LabelledStream(rows_of(texts, stop_words), y, np.array([bool(row[2]) for row in rows]))


def rows_of(texts: Sequence[str], stop_words: str | None = None) -> csr_array:
    """Return tf-idf rows of texts under the document frequencies so far, without ``stop_words``, named as in a run."""
    from vmfstream.stories.weights import RunningTfidf
    from vmfstream.text.filters import stop_words_of
    from vmfstream.text.tokeniser import Tokeniser
    from vmfstream.text.word_table import WordTable

    tokeniser, table = Tokeniser(), WordTable(1 << 20)
    tokeniser.runs(list(stop_words_of(stop_words)), table)  # the first words of the table are left out
    counts = tokeniser.count(texts, table, len(table))
    shape = (len(texts), len(table))
    return RunningTfidf().weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape))


def fit_stories(stream: LabelledStream, **parameters: Any) -> tuple[LabelArray, dict[str, Any]]:
    """Label a stream by `StoryMixture`, with ``parameters`` other than its defaults."""
    from vmfstream.estimators.stories import StoryMixture

    return StoryMixture(**parameters).fit(stream.x).labels_, {"parameters": parameters}


def single_pass(stream: LabelledStream) -> tuple[LabelArray, dict[str, Any]]:
    """Label a stream by one pass: join the mean of the largest cosine if it reaches a threshold, else open a cluster.

    The threshold is the best of 19 on the first tenth of the stream by NMI, that is, chosen with labels.
    """
    from vmfstream.clustering_metrics import v_measure

    first = slice(0, len(stream.y) // 10)
    y, scored = stream.y[first], stream.scored[first]
    thresholds = np.linspace(0.05, 0.95, 19)
    tried = [v_measure(_threshold_labels(stream.x[first], each)[scored], y[scored]).v for each in thresholds]
    threshold = float(thresholds[int(np.argmax(tried))])
    return _threshold_labels(stream.x, threshold), {"threshold": round(threshold, 2)}


def _threshold_labels(x: csr_array, threshold: float) -> LabelArray:
    return np.asarray(_single_pass(x.indptr, x.indices, x.data, x.shape[1], threshold))


@njit(cache=True)
def _single_pass(bounds, columns, values, width, threshold):  # type: ignore[no-untyped-def]
    sums = np.zeros((64, width), np.float32)
    squares = np.zeros(64)
    labels = np.full(bounds.size - 1, -1)
    number = 0
    for i in range(bounds.size - 1):
        row = slice(bounds[i], bounds[i + 1])
        if bounds[i] == bounds[i + 1]:
            continue
        best, winner, dot = threshold, number, 0.0
        for c in range(number):
            product = 0.0
            for j in range(bounds[i], bounds[i + 1]):
                product += sums[c, columns[j]] * values[j]
            if product / np.sqrt(squares[c]) >= best:
                best, winner, dot = product / np.sqrt(squares[c]), c, product
        if winner == number:
            number += 1
            if number > squares.size:
                sums = np.concatenate((sums, np.zeros_like(sums)))
                squares = np.concatenate((squares, np.zeros_like(squares)))
        for j in range(bounds[i], bounds[i + 1]):
            sums[winner, columns[j]] += values[j]
        squares[winner] += 2.0 * dot + (values[row] ** 2).sum()
        labels[i] = winner
    return labels


def label_scores(found: LabelArray, stream: LabelledStream) -> dict[str, float]:
    """Return the agreement of labels (N,) with the classes; documents without words are clusters of their own."""
    from vmfstream.clustering_metrics import adjusted_mutual_information, b_cubed, detection_cost, v_measure
    from vmfstream.metrics import adjusted_rand_index

    z = np.where(found < 0, -1 - np.arange(len(found)), found)[stream.scored]
    y = stream.y[stream.scored]
    return {
        "nmi": v_measure(z, y).v,
        "ari": adjusted_rand_index(z, y),
        "b3": b_cubed(z, y).f1,
        "ami": adjusted_mutual_information(z, y),
        "c_det": detection_cost(z, y),
    }


_METHODS: dict[str, Callable[[LabelledStream], tuple[LabelArray, dict[str, Any]]]] = {
    STORIES: fit_stories,
    SINGLE_PASS: single_pass,
}


def label_once(stream: str, method: str, order: int) -> Result:
    """Label a stream, and return the agreement with its classes.

    Parameters
    ----------
    stream, order : see `read_stream`
    method : a name of `_METHODS`
    """
    read = read_stream(stream, order)
    began = time.process_time()
    found, how = _METHODS[method](read)
    seconds = time.process_time() - began
    counts = {
        "documents": int(read.scored.sum()),
        "learnt": len(found),
        "clusters": len(set(found.tolist()) - {-1}),
        "seconds": seconds,
    }
    return {**label_scores(found, read), **counts, **how}


def _plan(effort: Effort) -> list[Task]:
    return [
        Task(label_once, {"stream": name, "method": method, "order": order}, (origin.file,))
        for name, origin in STREAMS.items()
        for method in _METHODS
        for order in (effort.seeds() if origin.shuffled else (0,))
    ]


def _show(done: Done) -> Shown:
    return Shown(
        "arrival",
        "Stories: labels on arrival, never changed afterwards",
        tuple(_table(done, name, origin) for name, origin in STREAMS.items()),
        notes=(
            f"{STORIES} with its defaults, which were chosen with all of these streams in sight. Rows are tf-idf "
            "weights under the document frequencies so far.",
            f"{SINGLE_PASS.capitalize()}: joins the cluster whose mean has the largest cosine if that reaches a "
            "threshold, the best of 19 on the labels of the first tenth.",
            "Published: Yin et al., KDD 2018; MStreamF forgets old batches; batches with 10 sweeps each. The printed "
            "figures are of the same titles.",
            "Titles without time are read in their own order (seed 0) and in random ones; mean and standard deviation.",
        ),
    )


def _table(done: Done, name: str, origin: _Origin) -> Table:
    cells = []
    for method in _METHODS:
        given = {"stream": name, "method": method}
        for column, measure in MEASURES.items():
            cells.append(Cell(method, column, None, *mean_and_spread(done.values(measure, **given))))
        clusters = mean_and_spread(done.values("clusters", **given))[0]
        cells.append(Cell(method, "clusters", None, f"{clusters:,.0f}"))
        rate = sum(done.values("learnt", **given)) / sum(done.values("seconds", **given))
        cells.append(Cell(method, "documents/s", None, f"{rate:,.0f}"))
    cells += [Cell(method, "NMI", value, None) for method, value in origin.published]
    documents = done.where(stream=name)[0]["documents"]
    return Table(f"{name}: {origin.title}, {documents:,} documents with a class", tuple(cells), corner="method")


PAPER = Paper(
    "streams",
    "Streams of stories: StoryMixture, a single pass, and Yin et al. 2018 (MStream)",
    {"arrival": Exhibit(_plan, _show)},
)
