"""Data sets of [GY14] and others like them: labelled ones, halves for training and testing, collections by year."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from vmfstream import datasets
from vmfstream.arrays import Rows
from vmfstream.datasets import Dataset
from vmfstream.folders import need_data
from vmfstream.mixtures.columns import directed
from vmfstream.replay.corpora import nips, nyt
from vmfstream.replay.corpus import Corpus
from vmfstream.replay.papers.clustering import Origin

TRAINING_POSTS = 11_314
"""Posts of the 20 newsgroups that come before the date at which the collection is usually cut."""

_NIPS_COUNTS = tuple(f"nips_1987_1999/{file}" for file in ("counts.npz", "meta.parquet", "vocab.txt"))


def _counted(name: str) -> tuple[str, str]:
    return f"{name}/counts.npz", f"{name}/meta.parquet"


def _nips(draw: int) -> Dataset:
    papers = dated("NIPS papers")
    return Dataset("NIPS", papers.x, np.full(len(papers.years), -1), (), papers.terms)


def _cluto(name: str) -> Origin:
    return Origin(lambda draw: datasets.cluto(name), _counted(f"cluto/{name}"))


SETS: Mapping[str, Origin] = {
    "CNAE": Origin(
        lambda draw: datasets.cnae9(),
        _counted("cnae9"),
        "1,079 documents and, by its Table 1, as many words",
        "the public CNAE-9: 1,079 documents with words, 856 words",
    ),
    "NEWS20": Origin(
        lambda draw: datasets.twenty_newsgroups(),
        ("twenty_newsgroups/docs.parquet",),
        "18,744 posts, 53,975 words",
        "18,807 posts with words, 25,270 words: those of at least 6 posts, without headers and stop words",
    ),
    "NIPS": Origin(
        _nips,
        _NIPS_COUNTS,
        "2,483 papers of 17 years, 14,036 words",
        "1,740 papers of the first 13 years, 13,649 words",
    ),
    "Classic3": Origin(lambda draw: datasets.classic3(), _counted("classic3")),
    "Reuters-21578": Origin(lambda draw: datasets.reuters21578(), ("reuters21578/docs.parquet",)),
    **{name: _cluto(name) for name in datasets.CLUTO},
}
"""The first three are the paper's, the others are further ones."""

MISSING = "TDT4, TDT5 and K9 are not at hand: for them only what the paper prints is shown."


@lru_cache(maxsize=2)
def whole(name: str) -> Dataset:
    """Return a data set by name, words weighted by (1 + log tf) idf with idf of all its documents."""
    return SETS[name].load(0)


@lru_cache(maxsize=2)
def labelled(name: str) -> Dataset:
    """Return the documents of a data set that have a class and words."""
    return whole(name).labelled()


def halves(name: str, draw: int) -> tuple[Rows, Rows]:
    """Return documents to fit and documents held out: the newsgroups by date, others by lot in equal parts."""
    x = whole(name).x
    rows = np.flatnonzero(directed(x))
    if name == "NEWS20":
        return x[rows[rows < TRAINING_POSTS]], x[rows[rows >= TRAINING_POSTS]]
    rows = np.random.default_rng(draw).permutation(rows)
    half = len(rows) // 2
    return x[np.sort(rows[:half])], x[np.sort(rows[half:])]


@dataclass(frozen=True, slots=True, eq=False)
class Dated:
    """Documents with their years: unit rows ``x`` (N, D), ``years`` (N,), the D ``terms``."""

    x: csr_array
    years: NDArray[np.int64]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatedCollection:
    """Dated documents: those of a corpus that meet an SQL condition, or the counts that come with it."""

    corpus: Corpus
    files: tuple[str, ...]
    where: str = "true"
    remark: str = ""

    def load(self) -> tuple[csr_array, tuple[str, ...], NDArray[np.int64]]:
        """Return word counts, words and years."""
        import duckdb

        file = str(need_data(self.files[0] if len(self.files) == 1 else self.files[1]))
        table = duckdb.read_parquet(file).filter(self.where)
        years = table.project("CAST(timestamp AS BIGINT) AS year").fetchnumpy()["year"]
        if len(self.files) > 1:
            terms = tuple(need_data(self.files[2]).read_text(encoding="utf-8").split())
            return csr_array(load_npz(need_data(self.files[0]))), terms, np.asarray(years)
        texts = table.project(f"coalesce({self.corpus.columns.text}, '') AS text").fetchnumpy()["text"]
        counts, terms = datasets.count_words(texts, self.corpus.stop_words)
        return counts, terms, np.asarray(years)


COLLECTIONS: Mapping[str, DatedCollection] = {
    "NIPS abstracts": DatedCollection(
        nips.ABSTRACTS,
        (nips.ABSTRACTS.file,),
        "timestamp <= '2003'",
        "NIPS abstracts: the paper has 2,483 full papers of 1987 to 2003; ours are 2,354 abstracts with titles.",
    ),
    "NIPS papers": DatedCollection(
        nips.PAPERS,
        _NIPS_COUNTS,
        remark="NIPS papers: full texts, but of 1987 to 1999 alone: 13 of the paper's 17 years.",
    ),
    "NYT front pages": DatedCollection(
        nyt.FRONT_PAGE,
        (nyt.FRONT_PAGE.file,),
        remark="NYT front pages: headlines with a summary of one line, 1996 to 2006; the paper's are whole articles.",
    ),
    "NYT elections": DatedCollection(
        nyt.FRONT_PAGE,
        (nyt.FRONT_PAGE.file,),
        "subtopic_code = 2012",
        "NYT elections: of these the stories coded as campaigns and elections; the paper's articles are tagged "
        "'elections', of 1996 to 2007.",
    ),
}


@lru_cache(maxsize=2)
def dated(name: str) -> Dated:
    """Return a dated collection by name, without documents that have no words; idf of all its years."""
    counts, terms, years = COLLECTIONS[name].load()
    x = datasets.weigh(counts)
    rows = np.flatnonzero(directed(x))
    return Dated(x[rows], years[rows], terms)
