"""Simulated slices of documents."""

from __future__ import annotations

import numpy as np

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.mixtures.seeding import one_hot


def simulated(t: int = 4, d: int = 300, k: int = 3, n: int = 40) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """Slices of static topics, their true responsibilities and statistics."""
    rng = np.random.default_rng(7)
    mu = directions(rng, k, d)
    labels = [rng.integers(k, size=n) for _ in range(t)]
    xs = [vmf_rows(rng, mu, z, 0.4) for z in labels]
    resps = [np.asarray(one_hot(z, k, np.float64), np.float64) for z in labels]
    return xs, resps, [x.T @ r for x, r in zip(xs, resps, strict=True)]
