"""The choice among a grid of persistences by how well each one predicts the next slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.online import filtering
from vmfstream.online.belief_update import with_prediction
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.state import TrackerSettings, TrackState, rows_of, stack


def judge(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, float]:
    """Score the open slice's documents under the prediction made before it began, for every persistence of the grid.

    The persistence with the largest decayed mean log-density leads from now on. To be called before the vocabulary
    changes.

    Returns
    -------
    state : with new scores and leader.
    predicted : mean log-density per document under the persistence that led so far, in nats relative to the uniform
        density; NaN if nothing was predicted.
    """
    x = stack([rows for rows, _ in state.open.kept], state.dim)
    has_prediction = rows_of(x) and not filtering.first(state)
    predicted = predictive_log_likelihood(state, x, settings) if has_prediction else np.zeros(0)
    if not len(predicted):
        return state, float("nan")
    sample = np.random.default_rng([settings.seed, state.slice, 1]).permutation(rows_of(x))[
        : settings.persistence.judged_documents
    ]
    judged = x[np.sort(sample)]
    stats = filtering.statistics(state, settings)
    bases = (
        filtering.anchored(state, filtering.run(state, stats, j, settings)[2])
        for j in range(len(settings.persistences))
    )
    means = np.array([_mean(predictive_log_likelihood(state, judged, settings, base=base)) for base in bases])
    scores = settings.persistence.score_memory * state.scores + means
    leader = int(np.argmax(scores))
    if leader != state.leader:
        state = with_prediction(replace(state, leader=leader), settings)
    return replace(state, scores=scores), _mean(predicted)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
