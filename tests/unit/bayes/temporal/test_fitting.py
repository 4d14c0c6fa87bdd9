"""The temporal mixture as a whole: what an appended slice is told, and the best of several starts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.bayes.temporal.slices import simulated
from vmfstream.bayes.temporal.fitting import EvolutionOptions, Inference, evolve, extended
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.mixtures.columns import column_norms


@pytest.mark.parametrize("inference", ["filter", "smoother", "meanfield", "gibbs"])
def test_slices_without_documents_hear_only_the_link(inference: Inference) -> None:
    """The expected cosine falls by the persistence; mean field says c0 E[mu] to the next factor instead."""
    xs, _, _ = simulated()
    options = EvolutionOptions(inference=inference, persistence=0.6, anchored=False, max_iter=300, draws=5, burn_in=5)
    fitted = evolve(np.vstack(xs), [40] * 4, 3, options, np.random.default_rng(0))
    empty = np.zeros((0, 300))
    later = extended(fitted, [empty, empty])
    cosine = [np.asarray(bessel_ratio(300, column_norms(f)[:3])) for f in later.f]
    assert len(later.f) == 6
    if inference == "meanfield":
        c0 = float(inv_bessel_ratio(300, 0.6))
        assert column_norms(later.f[4])[:3] == pytest.approx(c0 * cosine[3], rel=1e-9)
        assert column_norms(later.f[5])[:3] == pytest.approx(c0 * cosine[4], rel=1e-9)
    else:
        assert cosine[4] == pytest.approx(0.6 * cosine[3], rel=1e-9)
        assert cosine[5] == pytest.approx(0.36 * cosine[3], rel=1e-9)
    assert later.weights[4:] == pytest.approx(np.tile(fitted.state.weights.weights, (2, 1)))
    # the density of the slice after the last is that of the link in every scheme
    assert later.predicted(xs[0])[1].mean() < fitted.predicted(xs[0])[1].mean()


def test_more_starts_never_fit_worse() -> None:
    xs, _, _ = simulated(k=5, n=25)
    bounds = [
        evolve(np.vstack(xs), [25] * 4, 5, EvolutionOptions(), np.random.default_rng(3), starts=n).trace.max()
        for n in (1, 4)
    ]
    assert bounds[1] >= bounds[0]


def test_bad_options_are_named() -> None:
    for options in (
        {"inference": "exact"},
        {"persistence": 1.0},
        {"inference": "filter", "lag": 1},
        {"inference": "gibbs", "lag": 1},
        {"inference": "gibbs", "proportions": "dirichlet"},
    ):
        with pytest.raises(ValueError, match=f"{list(options)[-1]}: expected"):
            EvolutionOptions(**options)
