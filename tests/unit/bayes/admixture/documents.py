"""Documents of an admixture that is known."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.directional.kernels import padded


def cut(sizes: list[int]) -> csr_array:
    """Bags of documents of these sizes, every vector seen once."""
    offsets = np.cumsum([0, *sizes])
    return csr_array((np.ones(offsets[-1]), np.arange(offsets[-1]), offsets), shape=(len(sizes), offsets[-1]))


def planted(
    seed: int = 0, k: int = 3, d: int = 8, n: int = 60, size: int = 20, alpha: float = 0.3, a: float = 0.85
) -> tuple[Vector, csr_array, Vector, Vector]:
    """Documents of an admixture: vectors, bags, proportions (n, k) and directions (k, d)."""
    rng = np.random.default_rng(seed)
    mu, theta = directions(rng, k, d), rng.dirichlet(np.full(k, alpha), n)
    z = np.concatenate([rng.choice(k, size, p=row) for row in theta])
    return vmf_rows(rng, mu, z, a), cut([size] * n), theta, mu


def columns(mu: Vector) -> Vector:
    out = np.zeros((mu.shape[1], padded(len(mu))))
    out[:, : len(mu)] = mu.T
    return out
