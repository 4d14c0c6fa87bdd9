"""Initial selection of a page: its topic, and the measure of the river."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards.rows.history import NO_WORD, Doubles, History
from vmfstream.dashboards.view import SizeMeasure

_STRONG = 8


LEAST_SIZE = 0.25
"""Part of the documents of the largest topic that the initial one has at least."""


def initial_topic(history: History) -> int | None:
    """Return the initial topic: large, distinct, and with much drift over the last tenth of the slices.

    It has documents in the newest slice, where the page opens, if any topic has, and at least `LEAST_SIZE` of the
    largest topic's there and over these slices: a topic of two documents drifts most, and shows nothing.
    Drift is weighted with the root of the number of documents, because few documents always drift, and with how
    distinct the topic is, because a mixture of many things drifts, too.
    """
    slices = history.index.size
    if not slices or not history.topic.size:
        return None
    recent = slice(-max(2, -(-slices // 10)), None)
    alive = history.alive()
    drift = history.drift_angle if history.reading == "smoothed" else history.drift_angle / history.usual_drift_angle()
    turn = np.nan_to_num(np.where(alive, drift, 0.0))[recent].sum(axis=0)
    documents = np.nan_to_num(np.where(alive, history.documents, 0.0))[recent].sum(axis=0)
    newest = np.nan_to_num(np.where(alive[-1], history.documents[-1], 0.0))
    large = documents >= LEAST_SIZE * documents.max()
    there = large & (newest >= max(0.5, LEAST_SIZE * newest[large].max()))
    score = np.where(there if there.any() else large, turn * np.sqrt(documents) * distinctness(history), -1.0)
    if score.max() <= 0:
        score = documents
    return int(history.topic[int(np.argmax(score))])


def distinctness(history: History) -> Doubles:
    """Return how much of each topic's mean in the newest slice lies in few strong words of its own, 0 to 1, shape (T,).

    Squares of weights sum to 1 over all words; of those of the eight strongest, the part counts that other topics do
    not have.
    """
    word, square = history.word[-1, :, :_STRONG], history.weight[-1, :, :_STRONG] ** 2
    stored = word != NO_WORD
    everywhere = np.bincount(word[stored], square[stored], minlength=len(history.vocabulary))
    own = square / np.where(stored, everywhere[np.where(stored, word, 0)], np.inf)
    return np.asarray(np.sqrt(np.sum(square * own, axis=1)))


def initial_measure(history: History) -> SizeMeasure:
    """Return the initial measure: shares if the stream grew a lot, for counts make its beginning too thin to be seen.

    It did if the last third of slices has over three times the documents of the first, by their medians, so that
    bursts are shown as what they are; or if it grew nearly all the time, to over five times what the first third had.
    """
    full = history.n[history.n > 0]
    third = -(-full.size // 3)
    if full.size < 2:
        return "documents"
    early = np.median(full[:third])
    grown = np.median(full[-third:]) > 3 * early
    ranks = np.argsort(np.argsort(full, kind="stable"), kind="stable")
    steadily = full.size >= _TREND and np.corrcoef(ranks, np.arange(full.size))[0, 1] > _STEADY
    return "share" if grown or (steadily and full[-1] > 5 * early) else "documents"


_TREND = 8
"""Least number of slices whose growth may be called steady."""

_STEADY = 0.8
"""Rank correlation of documents and time above which a stream grew nearly all the time."""
