"""Simulated documents with known topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def vmf_rows(
    rng: np.random.Generator, mu: NDArray[np.float64], labels: NDArray[np.int64], a: float
) -> NDArray[np.float64]:
    """Unit rows at the constant cosine ``a`` to the row of ``mu`` that their label names: a vMF in high dimension."""
    noise = rng.standard_normal((len(labels), mu.shape[1]))
    noise -= (noise * mu[labels]).sum(axis=1, keepdims=True) * mu[labels]
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    rows: NDArray[np.float64] = a * mu[labels] + np.sqrt(1 - a**2) * noise
    return rows


def directions(rng: np.random.Generator, k: int, d: int) -> NDArray[np.float64]:
    """``k`` unit rows, uniform on the sphere."""
    mu: NDArray[np.float64] = rng.standard_normal((k, d))
    mu /= np.linalg.norm(mu, axis=1, keepdims=True)
    return mu


def hard_text(
    rng: np.random.Generator, d: int = 1500, n: int = 350, k: int = 6, length: int = 40
) -> tuple[csr_array[Any], NDArray[np.int64]]:
    """Sparse tf-idf rows of overlapping topics: each is the common word distribution, perturbed."""
    common = rng.dirichlet(np.full(d, 0.3))
    topics = np.array([rng.dirichlet(np.maximum(common * d * 0.25, 1e-6)) for _ in range(k)])
    topics = 0.45 * common + 0.55 * topics
    labels = rng.integers(k, size=n)
    counts = np.array([rng.multinomial(length, topics[z]) for z in labels])
    idf = np.log((n + 1) / (1 + (counts > 0).sum(axis=0)))
    rows = np.log1p(counts) * idf
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return csr_array(rows), labels


def nmi(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Normalised mutual information of two labellings."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0 / len(a))
    r, s = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    kept = table > 0
    mutual = (table[kept] * np.log((table / np.where(kept, r * s, 1))[kept])).sum()
    entropy = [-(p[p > 0] * np.log(p[p > 0])).sum() for p in (r, s)]
    return float(mutual / np.sqrt(entropy[0] * entropy[1]))
