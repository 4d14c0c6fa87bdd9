"""How sure memberships may be: the temper under which those on arrival foretold what the documents were found to be."""

from __future__ import annotations

import numpy as np

from vmfstream.bayes.predictive import topic_densities
from vmfstream.bayes.tempering import fitted_temper
from vmfstream.mixtures.columns import directed
from vmfstream.online.results import SliceResult

MOST_DOCUMENTS = 500
"""Documents of a slice that the temper is fitted to."""

LEAST_DOCUMENTS = 20


def arrival_temper(result: SliceResult) -> float:
    """Fit the temper to a slice: its documents' scores under the prediction, and their topics after its end.

    Documents whose topic is new or gone do not count. NaN where nothing was predicted or too few documents are left.
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
    return fitted_temper(scores, found[rows])
