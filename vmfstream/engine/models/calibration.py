"""Calibrate topic probabilities on arrival: the temper that best predicts the topics at the end of the slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmfstream.bayes.tempering import fitted_temper
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.online import chain, tracker
from vmfstream.online.state import TrackerSettings, TrackState, rows_of, stack

MOST_DOCUMENTS = 500
"""Most documents of a slice that the temper is fitted to."""

LEAST_DOCUMENTS = 20
"""Fewest documents that the temper is fitted to."""


def arrival_temper(before: TrackState, closed: tracker.Closed, settings: TrackerSettings) -> float:
    """Fit the temper to a slice: the scores of its documents under the prediction, and their topics after its end.

    Documents whose topic is new or gone do not count. NaN if nothing was predicted or too few documents are left.

    Parameters
    ----------
    before : the state at the end of the slice, before it was closed
    closed : what closing it showed; its memberships are of the documents that ``before`` keeps
    """
    x = stack([rows for rows, _ in before.open.kept], before.dim)
    if chain.first(before) or rows_of(x) != len(closed.resp) or not rows_of(x):
        return float("nan")
    place = np.full(int(max(before.ids.max(), closed.filtered.ids.max())) + 1, -1)
    place[before.ids] = np.arange(before.k)
    k = len(closed.filtered.ids)
    found = place[closed.filtered.ids[closed.resp[:, :k].argmax(axis=1)]]
    known = np.flatnonzero((found >= 0) & directed(x) & closed.resp.any(axis=1))
    if len(known) < LEAST_DOCUMENTS or before.k < 2:
        return float("nan")
    rows = known[:: -(-len(known) // MOST_DOCUMENTS)]
    predicted = replace(before, f=before.base, gamma=column_norms(before.base))
    return fitted_temper(tracker.scores(predicted, x[rows], settings), found[rows])
