"""Calibrate topic probabilities on arrival: the temperature that best predicts the topics at the end of the slice."""

from __future__ import annotations

import numpy as np

from vmfstream.bayes.predictive import topic_densities
from vmfstream.bayes.tempering import fitted_inverse_temperature
from vmfstream.mixtures.columns import directed
from vmfstream.online.results import SliceResult

MOST_DOCUMENTS = 500
"""Most documents of a slice that the temperature is fitted to."""

LEAST_DOCUMENTS = 20
"""Fewest documents that the temperature is fitted to."""


def arrival_temperature(result: SliceResult) -> float:
    """Fit the softmax temperature to a slice: its documents' scores under the prediction, and their topics at its end.

    Documents whose topic is new or gone do not count. NaN if nothing was predicted or too few documents are left.
    """
    if result.prediction is None or not len(result.resp):
        return float("nan")
    x, belief, ids = result.prediction.x, result.prediction.belief, result.prediction.ids
    place = np.full(int(max(ids.max(), result.filtered.ids.max())) + 1, -1)
    place[ids] = np.arange(len(ids))
    k = len(result.filtered.ids)
    found = place[result.filtered.ids[result.resp[:, :k].argmax(axis=1)]]
    known = np.flatnonzero((found >= 0) & directed(x) & result.resp.any(axis=1))
    if len(known) < LEAST_DOCUMENTS or len(ids) < 2:
        return float("nan")
    rows = known[:: -(-len(known) // MOST_DOCUMENTS)]
    scores = topic_densities(x[rows], belief.f, belief.gamma, belief.kappa) + belief.log_weights
    return 1.0 / fitted_inverse_temperature(scores, found[rows])
