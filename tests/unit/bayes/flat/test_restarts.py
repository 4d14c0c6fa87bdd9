"""Starts of Bayesian fits, and the best of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.mixtures.planted import directions, hard_text, nmi, vmf_rows
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat.restarts import STARTS, annealed, best_of
from vmfstream.bayes.flat.variational import FlatFit, fit
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.seeding import one_hot, seed_labels


def planted() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=120)
    return vmf_rows(rng, directions(rng, 4, 40), labels, 0.6), labels


def search(x: Any, k: int, **options: Any) -> FlatFit:
    def run(resp: Any, prior: Prior) -> FlatFit:
        return fit(x, resp, k, prior)

    return best_of(
        x, k, np.random.default_rng(0), lambda resp: moment_prior(x, resp, k), run, lambda f: f.trace[-1], **options
    )


@pytest.mark.parametrize("start", STARTS)
def test_every_start_leads_to_a_fit(start: Any) -> None:
    x, labels = planted()
    found = search(x, 4, start=start, n_init=2)
    assert found.resp.sum(axis=1) == pytest.approx(np.ones(120))
    if start.startswith("annealed"):
        assert nmi(labels, found.resp[:, :4].argmax(axis=1)) > 0.9


def test_the_largest_bound_wins_under_one_prior() -> None:
    x, _ = planted()
    priors, bounds = [], []

    def run(resp: Any, prior: Prior) -> FlatFit:
        found = fit(x, resp, 6, prior)
        priors.append(prior)
        bounds.append(found.trace[-1])
        return found

    best = best_of(
        x,
        6,
        np.random.default_rng(0),
        lambda resp: moment_prior(x, resp, 6),
        run,
        lambda f: f.trace[-1],
        n_init=4,
        start="k-means++",
    )
    assert len({id(prior) for prior in priors}) == 1
    assert len(set(bounds)) > 1
    assert best.trace[-1] == max(bounds)


def test_random_responsibilities_have_no_say_in_the_prior() -> None:
    x, _ = planted()
    blurred = search(x, 4, start="random").prior
    clear = search(x, 4, start="k-means++").prior
    assert float(blurred.c0) == pytest.approx(float(clear.c0), rel=0.5)


def test_given_responsibilities_are_the_only_start() -> None:
    x, labels = planted()
    start = one_hot(labels, 4, np.float64)
    found = search(x, 4, start=start, n_init=5)
    assert np.array_equal(found.trace, fit(x, start, 4, moment_prior(x, start, 4)).trace)


def test_annealing_lets_go_of_topics() -> None:
    x, _ = hard_text(np.random.default_rng(1))
    start = one_hot(seed_labels(x, 20, np.random.default_rng(0)), 20, np.float64)
    resp = annealed(x, start, 20, moment_prior(x, start, 20, cosine=0.3))
    assert resp.shape == (x.shape[0], padded(20))
    assert resp.sum(axis=1) == pytest.approx(np.ones(x.shape[0]), abs=1e-12)
    assert (resp.sum(axis=0) > 1).sum() < 10


def test_bad_input_is_named() -> None:
    x, _ = planted()
    with pytest.raises(ValueError, match="random, or responsibilities; got 'far'"):
        search(x, 3, start="far")
    with pytest.raises(ValueError, match="n_init must be at least 1; got 0"):
        search(x, 3, n_init=0)
