"""Golden numbers, and the formulas of the compiled passes, written to be read: one document and topic at a time."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tests.data import golden_file


def golden(name: str) -> dict[str, NDArray[np.float64]]:
    """The columns of a table of golden numbers."""
    with golden_file(name).open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}


class Expected(NamedTuple):
    loglik: NDArray[np.float64]
    label: NDArray[np.int64]
    resp: NDArray[np.float64]


def posterior(x: Any, m: Any, coef: Any, centre: Any, scale: Any, k: int) -> Expected:
    rows = x.toarray() if hasattr(x, "toarray") else x
    n = rows.shape[0]
    loglik, label, resp = np.zeros(n), np.full(n, -1), np.zeros((n, m.shape[1]))
    for i in range(n):
        if not rows[i].any():
            continue
        score = np.zeros(k)
        for t in range(k):
            u = (rows[i].astype(float) @ m[:, t].astype(float) - centre[t]) / scale[t]
            score[t] = sum(coef[p, t] * u**p for p in range(coef.shape[0]))
        loglik[i] = logsumexp(score)
        label[i] = int(np.argmax(score))
        resp[i, :k] = np.exp(score - loglik[i])
    return Expected(loglik, label, resp)


def truncated(resp: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    kept = np.where((resp >= threshold) | (resp == resp.max(axis=1, keepdims=True)), resp, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.asarray(kept / np.where(total > 0, total, 1.0))


def accumulate(x: Any, resp: NDArray[Any]) -> NDArray[np.float64]:
    rows = (x.toarray() if hasattr(x, "toarray") else x).astype(float)
    s = np.zeros((rows.shape[1], resp.shape[1]))
    for i in range(rows.shape[0]):
        s += np.outer(rows[i], resp[i])
    return s
