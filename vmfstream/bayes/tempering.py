"""Calibrate topic probabilities by the temperature of their softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from vmfstream.arrays import Vector


def tempered(scores: Vector, beta: float = 1.0) -> Vector:
    """Probabilities softmax(beta scores) of the topics for each document, (N, k).

    In high dimension a small difference of cosines is worth many nats, so that untempered probabilities are nearly all
    0 or 1 and right less often than they say; ``beta`` < 1 takes that back, without changing which topic is first.

    Parameters
    ----------
    scores : (N, k), log weight plus log-density of each topic
    beta : float > 0, inverse temperature of the output
    """
    if not beta > 0.0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    return np.asarray(softmax(beta * np.asarray(scores, np.float64), axis=1))


def fitted_inverse_temperature(scores: Vector, labels: NDArray[np.integer]) -> float:
    """Inverse temperature under which known topics of documents are likeliest, between 1e-4 and 10.

    Parameters
    ----------
    scores : (N, k), see `tempered`; of documents that the model was not fitted to
    labels : (N,), the topic of each, 0 to k - 1

    Notes
    -----
    The mean of log softmax(beta scores)[label] is concave in beta.
    """
    from scipy.optimize import minimize_scalar

    scores, labels = np.asarray(scores, np.float64), np.asarray(labels)
    if scores.ndim != 2 or labels.shape != scores.shape[:1] or not len(labels):
        raise ValueError(f"labels: expected one for each of {len(scores)} documents, got the shape {labels.shape}")
    if labels.min() < 0 or labels.max() >= scores.shape[1]:
        raise ValueError(
            f"labels: expected numbers from 0 to {scores.shape[1] - 1}, got {labels.min()} to {labels.max()}"
        )
    behind = scores - scores.max(axis=1, keepdims=True)
    own = behind[np.arange(len(labels)), labels]

    def loss(log_beta: float) -> float:
        beta = np.exp(log_beta)
        return float((np.log(np.exp(beta * behind).sum(axis=1)) - beta * own).mean())

    found = minimize_scalar(loss, bounds=(np.log(1e-4), np.log(10.0)), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x))
