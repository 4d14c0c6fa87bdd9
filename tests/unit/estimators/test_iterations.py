"""Sweeps, starts and clusters: what estimators count, and what they warn of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import (
    BayesianVMFMixture,
    DiametricalKMeans,
    DirichletProcessVMFMixture,
    DirichletVMFAdmixture,
    FrequencySensitiveKMeans,
    HierarchicalVMFMixture,
    SphericalCauchyMixture,
    SphericalKMeans,
    TemporalVMFMixture,
    VMFHiddenMarkovModel,
    VMFMixture,
    WatsonMixture,
)

ITERATE = [
    VMFMixture(4),
    VMFMixture(4, concentration="own"),
    VMFMixture(4, assignment="hard"),
    VMFMixture(4, assignment="hybrid", concentration="own"),
    SphericalKMeans(4),
    FrequencySensitiveKMeans(4),
    VMFHiddenMarkovModel(4),
    WatsonMixture(4),
    WatsonMixture(4, assignment="hard"),
    DiametricalKMeans(4),
    BayesianVMFMixture(4),
    BayesianVMFMixture(4, inference="map"),
    DirichletProcessVMFMixture(4),
    HierarchicalVMFMixture(2),
    TemporalVMFMixture(4),
    TemporalVMFMixture(4, inference="filter"),
    TemporalVMFMixture(4, inference="meanfield"),
    DirichletVMFAdmixture(4),
    SphericalKMeans(4, local_search=5),
    VMFMixture(4, algorithm="incremental", concentration="own"),
]

CONTINUE = [
    estimator
    for estimator in ITERATE[:-2]
    if "warm_start" in estimator.get_params() and not isinstance(estimator, FrequencySensitiveKMeans)
]
"""Sizes of frequency-sensitive clusters are means over sweeps, which a warm start begins anew, as its class says."""


def rows(n: int = 200, d: int = 6) -> NDArray[np.float64]:
    rng = np.random.default_rng(5)
    return vmf_rows(rng, directions(rng, 4, d), rng.integers(4, size=n), 0.6)


@pytest.mark.parametrize("max_iter", [1, 2, 200])
@pytest.mark.parametrize("estimator", ITERATE, ids=str)
def test_sweeps_are_at_most_those_allowed_and_too_few_warn(estimator: Any, max_iter: int) -> None:
    x: Any = rows()
    if isinstance(estimator, DirichletVMFAdmixture):
        x = np.split(x, 40)
    model = clone(estimator).set_params(max_iter=max_iter, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x)
    assert 1 <= model.n_iter_ <= max_iter
    warned = any(issubclass(w.category, ConvergenceWarning) and "max_iter" in str(w.message) for w in caught)
    assert warned != model.converged_
    assert model.converged_ or model.n_iter_ == max_iter or isinstance(model, TemporalVMFMixture)


@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into 3 of 4")
@pytest.mark.parametrize("estimator", CONTINUE, ids=str)
def test_one_sweep_and_one_more_are_two(estimator: Any) -> None:
    x = rows()
    options = {"random_state": 0, "n_init": 1}
    parts = clone(estimator).set_params(max_iter=1, warm_start=True, **options).fit(x).fit(x)
    whole = clone(estimator).set_params(max_iter=2, **options).fit(x)
    assert parts.means_ == pytest.approx(whole.means_, abs=1e-12)
    assert parts.weights_ == pytest.approx(whole.weights_, abs=1e-12)
    if hasattr(whole, "concentrations_"):
        assert parts.concentrations_ == pytest.approx(whole.concentrations_, rel=1e-10)


@pytest.mark.filterwarnings("ignore:.* has not converged")
@pytest.mark.parametrize("max_iter", [1, 5])
def test_own_concentrations_are_found_however_few_the_sweeps(max_iter: int) -> None:
    rng = np.random.default_rng(0)
    x = np.vstack([vmf_rows(rng, np.eye(8)[j : j + 1], np.zeros(100, int), a) for j, a in ((0, 0.5), (4, 0.95))])
    model = VMFMixture(2, concentration="own", max_iter=max_iter, random_state=0).fit(x)
    low, high = sorted(model.concentrations_)
    assert high > 3 * low


@pytest.mark.filterwarnings("ignore:.* stops at a concentration")
@pytest.mark.parametrize(
    "kind",
    [
        VMFMixture,
        VMFHiddenMarkovModel,
        WatsonMixture,
        SphericalKMeans,
        FrequencySensitiveKMeans,
        DiametricalKMeans,
    ],
)
def test_fewer_directions_than_clusters_warn(kind: Any) -> None:
    x = np.repeat(np.eye(4), 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=rf"{kind.__name__} puts all rows into \d of 6 clusters"):
        model = kind(6, random_state=0).fit(x)
    assert len(np.unique(model.labels_)) <= 4


@pytest.mark.parametrize(
    "kind",
    [VMFMixture, WatsonMixture, SphericalKMeans, DiametricalKMeans, BayesianVMFMixture, DirichletProcessVMFMixture],
)
def test_several_starts_from_one_given_warn(kind: Any) -> None:
    x = rows()
    with pytest.warns(RuntimeWarning, match=f"n_init: expected 'auto' or 1 with a given init, got 3; {kind.__name__}"):
        kind(4, init=x[:4], n_init=3, random_state=0).fit(x)


def test_one_start_is_the_default_for_given_ones() -> None:
    x = rows()
    for kind in (VMFMixture, BayesianVMFMixture):
        given = kind(4, init=x[:4], random_state=0).fit(x)
        assert given.lower_bound_ == kind(4, init=x[:4], n_init=1, random_state=0).fit(x).lower_bound_
        drawn = kind(4, init="k-means++", random_state=0).fit(x).lower_bound_
        assert (
            drawn
            == kind(4, init="k-means++", n_init=3 if kind is VMFMixture else 2, random_state=0).fit(x).lower_bound_
        )


@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")
@pytest.mark.parametrize("estimator", ITERATE, ids=str)
def test_bounds_are_means_over_rows(estimator: Any) -> None:
    """Of Bayesian models they were totals; twice the rows have about the same mean."""
    x: Any = rows(400)
    once: Any = x[:200]
    twice: Any = np.vstack([x, 0 * x[:7]])
    if isinstance(estimator, DirichletVMFAdmixture):
        once, twice = np.split(once, 40), [*np.split(x, 80), np.zeros((0, 6))]
    few, many = (clone(estimator).set_params(random_state=1).fit(some) for some in (once, twice))
    assert many.lower_bound_ == pytest.approx(few.lower_bound_, rel=0.35)


@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")
@pytest.mark.parametrize(
    ("model", "largest"),
    [
        (VMFMixture(2, estimator="mle"), "1e\\+06"),
        (VMFMixture(2, concentration="own"), "1e\\+06"),
        (VMFHiddenMarkovModel(2), "1e\\+06"),
        (WatsonMixture(2), "1e\\+06"),
        (SphericalCauchyMixture(2), "0.999"),
    ],
    ids=str,
)
def test_concentrations_that_are_cut_are_told(model: Any, largest: str) -> None:
    x = np.repeat(np.eye(3)[:2], 20, axis=0)
    with pytest.warns(RuntimeWarning, match=f"stops at a concentration of {largest}, and 2 of 2 components have it"):
        clone(model).set_params(random_state=0).fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        clone(model).set_params(random_state=0).fit(rows(d=3))
