"""Choose the persistence that predicts best, by one filter whose memberships all candidates share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.temporal.chain import forward, next_slice_density
from vmfstream.bayes.temporal.filtering import Filtered

PERSISTENCES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)
"""Grid that a persistence is chosen from."""

PILOT = 0.9
"""Persistence of the filter whose memberships all the grid is judged by."""

UNJUDGED = 0.98
"""What is taken while no slice was predicted yet."""

JUDGED = 500
"""Most documents of a slice that judge."""


def judged(xs: Sequence[Rows], pilot: Filtered, anchor: Floats) -> Vector:
    """Mean log predictive density per document of every slice but the first, for each of `PERSISTENCES`; or zeros."""
    gains = [one.h - one.p for one in pilot.slices]
    totals = np.zeros(len(PERSISTENCES))
    for j, omega in enumerate(PERSISTENCES):
        ps = forward(gains, 1.0, pilot.slices[0].p, omega)[0]
        for t in range(1, len(xs)):
            if xs[t].shape[0]:
                step = -(-xs[t].shape[0] // JUDGED)
                before = pilot.slices[t - 1]
                density = next_slice_density(xs[t][::step], ps[t], anchor, before.kappa, np.log(before.weights))
                totals[j] += float(density.mean()) * xs[t].shape[0]
    return np.asarray(totals / max(sum(x.shape[0] for x in xs[1:]), 1))
