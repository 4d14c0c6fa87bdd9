"""Data sets with known classes as unit rows, and simulated ones with known parameters.

Word counts become weights and rows of unit length; words that no document of the set holds are left out. The files lie
in one folder per set below one of `vmfstream.folders.data_folders`: ``counts.npz`` (CSR), ``meta.parquet`` (label) and
perhaps ``vocab.txt``, or ``docs.parquet`` (title, text, label).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, load_npz

from vmfstream.arrays import Rows
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Mixture
from vmfstream.directional.sphere import unit_rows
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.folders import find_data, need_data
from vmfstream.mixtures.columns import directed

__all__ = [
    "CLUTO",
    "Dataset",
    "Simulated",
    "Weighting",
    "big_mix",
    "classic3",
    "classic4",
    "classic300",
    "classic400",
    "cluto",
    "cnae9",
    "corel5k",
    "count_words",
    "newsgroups_subset",
    "reuters21578",
    "slashdot",
    "small_mix",
    "small_newsgroups",
    "twenty_newsgroups",
    "weigh",
    "yeast_expression",
]

Weighting: TypeAlias = Literal["ltc", "tfidf", "tf", "presence"]
"""Weight of a word that a document holds tf times: (1 + log tf) idf, tf idf, tf, or 1; idf = log(N / df)."""

Likeness: TypeAlias = Literal["same", "similar", "different"]

CLUTO = ("fbis", "hitech", "la1", "re0", "tr11", "tr23", "tr31", "tr41", "tr45")
"""The sets that `cluto` knows."""

GROUPS: Mapping[Likeness, tuple[str, str, str]] = {
    "same": ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"),
    "similar": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "different": ("alt.atheism", "rec.sport.baseball", "sci.space"),
}
"""Three newsgroups each that are hard, less hard and easy to tell apart ([BDGS05] section 6.1)."""

RARE = 0.0003
"""Share of documents below which a word of raw text is left out, as are words of a single document."""

_WORD = r"(?u)\b[a-z][a-z]+\b"


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Documents as unit rows with their classes.

    Parameters
    ----------
    name : str
    x : csr_array or ndarray, shape (N, D)
        Unit rows; a document without words is a row of zeros.
    y : ndarray of int64, shape (N,)
        Place of each document's class in ``classes``, -1 for documents without one.
    classes : tuple of str
        Names of the classes, sorted.
    terms : tuple of str
        The D words or measurements; empty if the source does not tell them.
    counts : csr_array, shape (N, D), optional
        The word counts that ``x`` was made of.
    """

    name: str
    x: Rows
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    terms: tuple[str, ...] = ()
    counts: csr_array | None = None

    def labelled(self) -> Dataset:
        """Return the documents that have a class and a word."""
        rows = np.flatnonzero((self.y >= 0) & directed(self.x))
        counts = None if self.counts is None else self.counts[rows]
        return Dataset(self.name, self.x[rows], self.y[rows], self.classes, self.terms, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated(Dataset):
    """Unit rows drawn from a known mixture; the class of a row is the component that it was drawn from.

    Parameters
    ----------
    truth : Mixture
    """

    truth: Mixture = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """A set before weighting: word counts or raw texts, and a label for each document, "" for none."""

    name: str
    documents: csr_array | NDArray[np.object_]
    labels: NDArray[np.str_]
    terms: tuple[str, ...] = ()

    def drawn(self, name: str, sizes: Mapping[str, int], seed: int) -> _Source:
        """Draw documents of some classes without replacement, all of a class that has fewer."""
        rng = np.random.default_rng(seed)
        of_class = {label: np.flatnonzero(self.labels == label) for label in sizes}
        rows = [
            rng.choice(members, min(sizes[label], len(members)), replace=False) for label, members in of_class.items()
        ]
        chosen = np.sort(np.concatenate(rows))
        return _Source(name, self.documents[chosen], self.labels[chosen], self.terms)

    def weighted(self, weighting: Weighting) -> Dataset:
        """Return the unit rows over the words that these documents hold."""
        counts, terms = (
            (self.documents, self.terms) if isinstance(self.documents, csr_array) else count_words(self.documents)
        )
        used = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
        counts = csr_array(counts[:, used])
        classes = tuple(np.unique(self.labels[self.labels != ""]).tolist())
        y = np.where(self.labels == "", -1, np.searchsorted(np.array(classes, dtype=str), self.labels))
        return Dataset(self.name, weigh(counts, weighting), y, classes, tuple(compress(terms, used)), counts)


def weigh(counts: csr_array, weighting: Weighting = "ltc") -> csr_array:
    """Turn word counts (N, D) into unit rows; see `Weighting`.

    Raises
    ------
    ValueError
        If a count is negative or the weighting is unknown.
    """
    if weighting not in get_args(Weighting):
        raise ValueError(f"weighting: expected one of {', '.join(get_args(Weighting))}, got {weighting!r}")
    rows = csr_array(counts, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    if rows.nnz and rows.data.min() < 0:
        raise ValueError(f"counts: expected counts of at least 0, got {rows.data.min():g}")
    if weighting == "ltc":
        rows.data = 1.0 + np.log(rows.data)
    elif weighting == "presence":
        rows.data[:] = 1.0
    if weighting in ("ltc", "tfidf"):
        df = np.bincount(rows.indices, minlength=rows.shape[1])
        rows = csr_array(rows @ diags_array(np.log(rows.shape[0] / np.maximum(df, 1))))
        rows.eliminate_zeros()  # words of all documents
    unit, _ = unit_rows(rows)
    return csr_array(unit)


def classic3(weighting: Weighting = "ltc") -> Dataset:
    """Return 3,891 abstracts of medicine, information science and aeronautics; 4,303 words."""
    return _counts("classic3").weighted(weighting)


def classic300(seed: int = 0, weighting: Weighting = "ltc") -> Dataset:
    """Return 100 abstracts of each class of Classic3, drawn with ``seed``."""
    sizes = {"medline": 100, "cisi": 100, "cranfield": 100}
    return _counts("classic3").drawn("Classic300", sizes, seed).weighted(weighting)


def classic400(seed: int = 0, weighting: Weighting = "ltc") -> Dataset:
    """Return 100 medical, 100 information science and 200 aeronautics abstracts of Classic3, drawn with ``seed``."""
    sizes = {"medline": 100, "cisi": 100, "cranfield": 200}
    return _counts("classic3").drawn("Classic400", sizes, seed).weighted(weighting)


def classic4(weighting: Weighting = "ltc") -> Dataset:
    """Return 7,094 abstracts, those of Classic3 and of computing; 5,896 stems."""
    return _counts("classic4").weighted(weighting)


def cnae9(weighting: Weighting = "ltc") -> Dataset:
    """Return 1,080 descriptions of Brazilian companies in 9 lines of business; 856 words, unnamed."""
    return _counts("cnae9").weighted(weighting)


def slashdot(weighting: Weighting = "ltc") -> Dataset:
    """Return 3,782 Slashdot articles, only the presence of 1,079 words; 639 have no single section as class."""
    return _counts("slashdot").weighted(weighting)


def corel5k(weighting: Weighting = "presence") -> Dataset:
    """Return 5,000 photographs as the presence of 499 visual words; without classes."""
    return _counts("corel5k").weighted(weighting)


def cluto(name: str, weighting: Weighting = "ltc") -> Dataset:
    """Return one of the sets distributed with CLUTO, such as ``"re0"``; see `CLUTO`.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if name not in CLUTO:
        raise ValueError(f"name: expected one of {', '.join(CLUTO)}, got {name!r}")
    return _counts(f"cluto/{name}").weighted(weighting)


def twenty_newsgroups(weighting: Weighting = "ltc") -> Dataset:
    """Return the bodies of 18,846 posts of 20 newsgroups; headers and subject lines are left out."""
    return _texts("twenty_newsgroups", "text").weighted(weighting)


def small_newsgroups(seed: int = 0, weighting: Weighting = "ltc") -> Dataset:
    """Return 100 posts of each of the 20 newsgroups, drawn with ``seed``."""
    posts = _texts("twenty_newsgroups", "text")
    groups = np.unique(posts.labels).tolist()
    return posts.drawn("Small-News20", dict.fromkeys(groups, 100), seed).weighted(weighting)


def newsgroups_subset(kind: Likeness, size: int, seed: int = 0, weighting: Weighting = "ltc") -> Dataset:
    """Return ``size`` posts of each of three newsgroups, drawn with ``seed``; all of a group that has fewer.

    Parameters
    ----------
    kind : {"same", "similar", "different"}
        How alike the groups are; see `GROUPS`.
    size : int
        Posts of each group, 100 and 1000 in the paper.
    seed : int
    weighting : see `Weighting`

    Raises
    ------
    ValueError
        If the kind is unknown or the size not positive.
    """
    if kind not in GROUPS:
        raise ValueError(f"kind: expected one of {', '.join(GROUPS)}, got {kind!r}")
    if size < 1:
        raise ValueError(f"size: expected at least one post of each group, got {size}")
    posts = _texts("twenty_newsgroups", "text")
    sizes = dict.fromkeys(GROUPS[kind], size)
    return posts.drawn(f"{kind.capitalize()}-{size}", sizes, seed).weighted(weighting)


def reuters21578(weighting: Weighting = "ltc") -> Dataset:
    """Return 21,578 newswire stories, title and text; 9,494 of them have a single topic as class."""
    return _texts("reuters21578", "concat_ws('. ', title, text)").weighted(weighting)


def yeast_expression() -> Dataset:
    """Return 2,467 yeast genes in 79 experiments, rows centred and scaled: cosines are correlations. No classes."""
    import duckdb

    columns = duckdb.read_parquet(str(need_data("yeast_expression/expression.parquet"))).fetchnumpy()
    experiments = tuple(name for name in columns if name != "orf")
    values = np.column_stack([np.asarray(columns[name], np.float64) for name in experiments])
    rows, _ = unit_rows(values - values.mean(axis=1, keepdims=True))
    return Dataset("yeast_expression", rows, np.full(len(values), -1), (), experiments)


def small_mix(seed: int = 0) -> Simulated:
    """Draw 50 points on the circle from two components of concentration 4 ([BDGS05] Table 2 and section 6.1)."""
    return _simulated("small-mix", [[-0.251, -0.968], [0.399, 0.917]], [4.0, 4.0], [24, 26], seed)


def big_mix(seed: int = 0, n: int = 5000, d: int = 1000) -> Simulated:
    """Draw ``n`` points in ``d`` dimensions from four components around random directions ([BDGS05] section 6.1).

    ``seed`` fixes the directions as well as the points.
    """
    mu = np.random.default_rng([seed, 1]).standard_normal((4, d))
    sizes = np.diff(np.round(n * np.cumsum([0.0, 0.251, 0.238, 0.252, 0.259])).astype(int))
    return _simulated("big-mix", mu, [650.98, 266.83, 267.83, 612.88], sizes, seed)


def _simulated(name: str, mu: ArrayLike, kappa: ArrayLike, sizes: ArrayLike, seed: int) -> Simulated:
    """Draw exactly ``sizes`` points from each component."""
    rng = np.random.default_rng(seed)
    means, _ = unit_rows(mu)
    kappas, counts = np.asarray(kappa, np.float64), np.asarray(sizes)
    x = np.concatenate([VonMisesFisher(m, c).rvs(int(n), rng) for m, c, n in zip(means, kappas, counts, strict=True)])
    k = len(counts)
    columns = np.zeros((x.shape[1], padded(k)))
    columns[:, :k] = means.T
    truth = Mixture(pi=counts / counts.sum(), mu=columns, kappa=kappas)
    y = np.repeat(np.arange(k), counts)
    return Simulated(name, x, y, tuple(str(j + 1) for j in range(k)), truth=truth)


def _counts(name: str) -> _Source:
    words = find_data(f"{name}/vocab.txt")
    terms = tuple(words.read_text(encoding="utf-8").split()) if words else ()
    counts = csr_array(load_npz(need_data(f"{name}/counts.npz")))
    meta = need_data(f"{name}/meta.parquet")
    return _Source(name, counts, _labels(meta, len(counts.indptr) - 1), terms)


def _texts(name: str, text: str) -> _Source:
    import duckdb

    file = need_data(f"{name}/docs.parquet")
    documents = duckdb.read_parquet(str(file)).project(f"{text} AS text").fetchnumpy()["text"]
    return _Source(name, np.asarray(documents, object), _labels(file, len(documents)))


def _labels(file: Path, n: int) -> NDArray[np.str_]:
    import duckdb

    table = duckdb.read_parquet(str(file))
    if "label" not in table.columns:
        return np.full(n, "")
    return np.asarray(table.project("coalesce(label, '') AS label").fetchnumpy()["label"], dtype=str)


def count_words(texts: Iterable[str], leave_out: Iterable[str] = ()) -> tuple[csr_array, tuple[str, ...]]:
    """Count the words of texts: runs of letters, without English stop words, those to leave out, and rare words.

    Parameters
    ----------
    texts : iterable of str
    leave_out : iterable of str
        Words in lower case that say nothing in this collection.

    Returns
    -------
    counts : csr_array, shape (N, D)
    terms : tuple of D str, sorted
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    documents = list(texts)
    rarest = max(2, math.ceil(RARE * len(documents)))
    ignored = sorted({*ENGLISH_STOP_WORDS, *leave_out})
    vectoriser = CountVectorizer(stop_words=ignored, token_pattern=_WORD, min_df=rarest)
    counts = csr_array(vectoriser.fit_transform(documents))
    return counts, tuple(vectoriser.get_feature_names_out().tolist())
