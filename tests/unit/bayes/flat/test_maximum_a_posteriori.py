"""Modes of the posterior: the climb, its summit, and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat.maximum_a_posteriori import fit_modes
from vmfstream.bayes.flat.variational import fit
from vmfstream.directional.bessel import log_partition
from vmfstream.mixtures import movmf
from vmfstream.mixtures.seeding import one_hot, random_responsibilities


def planted(d: int, n: int = 90) -> tuple[Any, Any]:
    rng = np.random.default_rng(d)
    labels = rng.integers(3, size=n)
    return vmf_rows(rng, directions(rng, 3, d), labels, 0.5), labels


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_sweep_climbs(d: int, concentration: Any, assignment: Any) -> None:
    x, labels = planted(d)
    prior = moment_prior(x, labels, 3, alpha=1.5)
    start = random_responsibilities(x, 3, np.random.default_rng(0))
    run = fit_modes(x, start, 3, prior, concentration=concentration, assignment=assignment, tol=1e-10)
    assert np.diff(run.trace).min() > -1e-9 * abs(run.trace[-1])
    assert run.mixture.pi.sum() == pytest.approx(1.0)
    assert np.linalg.norm(run.mixture.mu[:, :3], axis=0) == pytest.approx(np.ones(3))
    assert not run.mixture.mu[:, 3:].any()


def log_joint(x: Any, pi: Any, mu: Any, kappa: float, prior: Prior, law: KappaPrior) -> float:
    """Log joint density relative to uniform, written out; alpha = 2."""
    d = x.shape[1]
    score = np.log(pi) + kappa * (x @ mu) - log_partition(d, kappa)
    weights = np.log(2.0) + np.log(6.0) + np.log(10.0) + np.log(pi).sum()  # Gamma(6) / Gamma(2)^3 = 120
    directions = (prior.b @ mu - log_partition(d, prior.c0)).sum()
    log_kappa = -0.5 * ((np.log(kappa) - law.m) ** 2 / law.s2 + np.log(2 * np.pi * law.s2))
    return float(np.logaddexp.reduce(score, axis=1).sum() + weights + directions + log_kappa)


def test_the_summit_is_one() -> None:
    x, labels = planted(6, 40)
    prior, law = moment_prior(x, labels, 3, alpha=2.0), KappaPrior(1.0, 0.3)
    run = fit_modes(x, one_hot(labels, 3, np.float64), 3, prior, kappa_prior=law, tol=1e-13, max_iter=3000)
    pi, mu, kappa = run.mixture.pi, run.mixture.mu[:, :3], float(run.mixture.kappa[0])
    top = log_joint(x, pi, mu, kappa, prior, law)
    assert run.trace[-1] == pytest.approx(top, abs=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = mu + 1e-3 * rng.standard_normal(mu.shape)
        assert log_joint(x, pi, moved / np.linalg.norm(moved, axis=0), kappa, prior, law) < top
        shares = pi * np.exp(1e-3 * rng.standard_normal(3))
        assert log_joint(x, shares / shares.sum(), mu, kappa, prior, law) < top
    for factor in (0.999, 1.001):
        assert log_joint(x, pi, mu, kappa * factor, prior, law) < top


def test_without_priors_it_is_maximum_likelihood() -> None:
    x, labels = planted(30)
    start = one_hot(labels, 3, np.float64)
    flat = Prior(1.0, np.zeros(30))
    mode = fit_modes(x, start, 3, flat, kappa_prior=KappaPrior(3.0, 1e6), tol=1e-12, max_iter=500)
    likely = movmf.fit(
        x, 3, rng=np.random.default_rng(0), init=start, estimator="mle", anneal=False, tol=1e-12, max_iter=500
    )
    assert mode.mixture.kappa == pytest.approx(likely.mixture.kappa, rel=1e-5)
    assert mode.mixture.pi == pytest.approx(likely.mixture.pi, rel=1e-5)
    assert nmi(labels, mode.resp[:, :3].argmax(axis=1)) > 0.85


def test_more_dimensions_than_documents_overstate_the_concentration() -> None:
    x, labels = planted(2000)
    prior, start = Prior(1.0, np.zeros(2000)), one_hot(labels, 3, np.float64)
    law = KappaPrior(7.0, 1.0)
    assert (
        fit_modes(x, start, 3, prior, kappa_prior=law).mixture.kappa[0]
        > 1.03 * fit(x, start, 3, prior, kappa_prior=law).kappa.mean[0]
    )


def test_rows_without_direction_and_bad_input() -> None:
    x, labels = planted(20)
    prior = moment_prior(x, labels, 3)
    start = one_hot(labels, 3, np.float64)
    holes = fit_modes(np.insert(x, 3, 0.0, axis=0), np.insert(start, 3, 0.3, axis=0), 3, prior)
    assert holes.trace == pytest.approx(fit_modes(x, start, 3, prior).trace, abs=1e-8)
    assert not holes.resp[3].any()
    with pytest.raises(ValueError, match=r"alpha of at least 1; got 0.5"):
        fit_modes(x, start, 3, Prior(0.5, prior.b))
