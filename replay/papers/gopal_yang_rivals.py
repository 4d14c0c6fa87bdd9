"""The temporal mixture of [GY14] beside dynamic and correlated topic models: their strongest words on the NIPS papers.

The paper names these models and compares with none of them. Both are tomotopy's, where it is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream import datasets, metrics
from vmfstream.replay.papers.gopal_yang_data import COLLECTIONS
from vmfstream.replay.papers.topic_models import installed, tokens
from vmfstream.replay.papers.work import Result

DATA = "NIPS papers"

MIXTURE, MIXTURE_AT_ONCE, DTM, CTM = "T-vMFmix, vmfstream", "the same, all years in one slice", "DTM", "CTM"

SWEEPS: Mapping[str, int] = {DTM: 500, CTM: 100}
"""Of tomotopy's models, which have the defaults of the library otherwise."""

TOP = 10
"""Words by which a topic is judged."""

StrongestWords: TypeAlias = NDArray[np.int64]
"""(T, K, 10) columns of the strongest words, strongest first, of topics in each of T years or in all (T = 1)."""


def mixture_words(counts: csr_array, years: NDArray[np.int64], k: int, seed: int) -> StrongestWords:
    """Fit the temporal mixture with its defaults.

    Parameters
    ----------
    counts : (N, D) words of documents.
    years : (N,)
    k, seed : topics, and what decides the start.
    """
    from vmfstream.estimators.temporal import TemporalVMFMixture

    x = datasets.weigh(counts).astype(np.float32)
    model = TemporalVMFMixture(k, random_state=seed).fit(x, slices=years)
    means = model.means_[np.isin(model.slices_, years)]  # a year without documents has means too
    return np.argsort(-means, axis=2)[:, :, :TOP]


def _at_once(counts: csr_array, years: NDArray[np.int64], k: int, seed: int) -> StrongestWords:
    return mixture_words(counts, np.zeros_like(years), k, seed)


def dynamic_words(counts: csr_array, years: NDArray[np.int64], k: int, seed: int) -> StrongestWords:
    """Sample tomotopy's dynamic topic model; arguments as in `mixture_words`."""
    import tomotopy

    known, time_of = np.unique(years, return_inverse=True)
    model = tomotopy.DTModel(k=k, t=len(known), seed=seed)
    for words, at in zip(tokens(counts), time_of.tolist(), strict=True):
        model.add_doc(words, timepoint=at)
    model.train(SWEEPS[DTM], workers=1)
    return np.array(
        [[[int(w) for w, _ in model.get_topic_words(z, t, TOP)] for z in range(k)] for t in range(len(known))]
    )


def correlated_words(counts: csr_array, years: NDArray[np.int64], k: int, seed: int) -> StrongestWords:
    """Sample tomotopy's correlated topic model, which knows no years; arguments as in `mixture_words`."""
    import tomotopy

    model = tomotopy.CTModel(k=k, seed=seed)
    for words in tokens(counts):
        model.add_doc(words)
    model.train(SWEEPS[CTM], workers=1)
    return np.array([[[int(w) for w, _ in model.get_topic_words(z, TOP)] for z in range(k)]])


MODELS: Mapping[str, Callable[[csr_array, NDArray[np.int64], int, int], StrongestWords]] = {
    MIXTURE: mixture_words,
    DTM: dynamic_words,
    MIXTURE_AT_ONCE: _at_once,
    CTM: correlated_words,
}


def rival_topics_once(model: str, k: int, seed: int, wanted: Mapping[str, Sequence[str]], version: str = "") -> Result:
    """Fit a ``model`` of `MODELS` to the NIPS papers: how coherent its topics are, and the words of one of them.

    ``wanted`` are words by year: of the ``k`` topics the one with most of them among its ten strongest words is kept.
    ``seed`` decides the start. ``version`` is that of tomotopy, for its models; where it is empty they give nothing.
    The result holds ``npmi`` (mean over topics and years), ``seconds`` of the fit, ``years`` and ``words`` of each.
    """
    if model in SWEEPS and not version:
        return {"npmi": None, "seconds": None, "years": [], "words": []}
    counts, terms, years = COLLECTIONS[DATA].load()
    began = time.process_time()
    found = MODELS[model](counts, years, k, seed)
    seconds = time.process_time() - began
    named = np.array(terms)[found]
    coherence = metrics.topic_coherence(named.reshape(-1, TOP).tolist(), counts, terms, measure="npmi")
    result: Result = {"npmi": float(np.nanmean(coherence)), "seconds": seconds, "years": [], "words": []}
    if len(found) == 1:
        return result
    known = np.unique(years).tolist()
    held = sum(
        np.isin(named[known.index(int(year))], list(words)).sum(axis=1)
        for year, words in wanted.items()
        if int(year) in known
    )
    return result | {"years": known, "words": named[:, int(np.argmax(held))].tolist()}


def rivals_given() -> dict[str, dict[str, str]]:
    """Return by name what tells the tasks of `MODELS` apart."""
    return {name: {"model": name} | ({"version": installed()} if name in SWEEPS else {}) for name in MODELS}
