"""What factors say is known agrees with what draws say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.mixtures.planted import directions
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.priors import moment_prior
from vmfstream.bayes.flat import gibbs
from vmfstream.bayes.flat.uncertainty import DrawnUncertainty, of_draws, of_factors
from vmfstream.bayes.flat.variational import fit
from vmfstream.directional.vmf import sample
from vmfstream.mixtures.seeding import one_hot


@pytest.mark.thorough
@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_factors_and_draws_agree(concentration: str) -> None:
    # far more documents than dimensions and clear topics: labels are certain, and only kappa is not
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=300)
    x = np.vstack([sample(mu, 60.0, int((labels == j).sum()), rng) for j, mu in enumerate(directions(rng, 2, 8))])
    labels = np.sort(labels)
    prior, law = moment_prior(x, labels, 2), KappaPrior(3.0, 1.0)
    start = one_hot(labels, 2, np.float64)
    exact = fit(x, start, 2, prior, concentration=concentration, kappa_prior=law)  # type: ignore[arg-type]
    known = of_factors(exact, "quadrature")
    run = gibbs.fit(
        x,
        labels,
        2,
        prior,
        rng=rng,
        kappa_prior=law,
        concentration=concentration,  # type: ignore[arg-type]
        draws=1000,
    )
    drawn = of_draws(run)
    width = np.diff(known.concentrations(0.9))
    assert (np.abs(drawn.concentrations(0.9) - known.concentrations(0.9)) < 0.15 * width).all()
    assert drawn.weights(0.9) == pytest.approx(known.weights(0.9), abs=0.01)
    normal = fit(x, start, 2, prior, concentration=concentration, kappa_prior=law, kappa="lognormal")  # type: ignore[arg-type]
    assert of_factors(normal, "lognormal").concentrations(0.9) == pytest.approx(known.concentrations(0.9), rel=0.01)
    point = fit(x, start, 2, prior, concentration=concentration, kappa="point")  # type: ignore[arg-type]
    assert not np.diff(of_factors(point, "point").concentrations(0.9)).any()


def test_intervals_of_draws_are_central() -> None:
    draws = np.random.default_rng(0).permutation(np.arange(1001.0))[:, None]
    found = DrawnUncertainty(draws, draws / 1000)
    assert found.concentrations(0.8) == pytest.approx(np.array([[100.0, 900.0]]))
    assert found.weights(0.8) == pytest.approx(np.array([[0.1, 0.9]]))
