"""Initial selection of a page: its topic, and the measure of the river."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.view import Measure


def initial_topic(history: History) -> int | None:
    """Return the initial topic: the one with the largest drift, weighted by size, over the last tenth of the slices.

    Drift is weighted with the root of the number of documents, because few documents always drift.
    """
    slices = history.index.size
    if not slices or not history.topic.size:
        return None
    recent = slice(-max(2, -(-slices // 10)), None)
    alive = history.alive()
    drift = history.drift_angle if history.reading == "smoothed" else history.drift_angle / history.usual_drift_angle()
    turn = np.nan_to_num(np.where(alive, drift, 0.0))[recent].sum(axis=0)
    documents = np.nan_to_num(np.where(alive, history.documents, 0.0))[recent].sum(axis=0)
    score = np.where(alive[-1] | ~alive[-1].any(), turn * np.sqrt(documents), -1.0)
    if score.max() <= 0:
        score = documents
    return int(history.topic[int(np.argmax(score))])


def initial_measure(history: History) -> Measure:
    """Return the initial measure: shares if the fullest slice has over three times the median number of documents.

    Counts of a stream that grew a lot make its beginning too thin to be seen or labelled.
    """
    full = history.n[history.n > 0]
    return "share" if full.size > 1 and full.max() > 3 * np.median(full) else "documents"
