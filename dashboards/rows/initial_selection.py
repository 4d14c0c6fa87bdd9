"""What a page opens with: which topic, and what thickness means."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.view import Measure


def initial_topic(history: History) -> int | None:
    """Return the topic of the first visit: the largest turn over the last tenth of time among topics that matter.

    A turn is counted with the root of the documents behind it, because the words of a handful of documents always turn.
    """
    slices = history.index.size
    if not slices or not history.topic.size:
        return None
    recent = slice(-max(2, -(-slices // 10)), None)
    alive = history.alive()
    drift = history.drift_angle if history.reading == "hindsight" else history.drift_angle / history.usual_drift_angle()
    turn = np.nan_to_num(np.where(alive, drift, 0.0))[recent].sum(axis=0)
    documents = np.nan_to_num(np.where(alive, history.documents, 0.0))[recent].sum(axis=0)
    score = np.where(alive[-1] | ~alive[-1].any(), turn * np.sqrt(documents), -1.0)
    if score.max() <= 0:
        score = documents
    return int(history.topic[int(np.argmax(score))])


def initial_measure(history: History) -> Measure:
    """Return what thickness means at first: shares if the fullest slice has over three times the usual documents.

    A stream that grew a lot is a trumpet in documents: its beginning is too thin to be seen, let alone labelled.
    """
    full = history.n[history.n > 0]
    return "share" if full.size > 1 and full.max() > 3 * np.median(full) else "documents"
