"""Every estimator with its default arguments, as scikit-learn checks it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER, LEARNS_IN_ORDER, RIVER_METHOD
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import (
    BayesianVMFMixture,
    DiametricalKMeans,
    DirichletProcessVMFMixture,
    DirichletVMFAdmixture,
    FrequencySensitiveKMeans,
    HierarchicalVMFMixture,
    OnlineVMFMixture,
    SphericalCauchyMixture,
    SphericalKMeans,
    TemporalVMFMixture,
    VMFHiddenMarkovModel,
    VMFMixture,
    WatsonMixture,
)

FLAT = [
    VMFMixture(),
    WatsonMixture(),
    SphericalCauchyMixture(),
    SphericalKMeans(),
    FrequencySensitiveKMeans(),
    DiametricalKMeans(),
    BayesianVMFMixture(),
    DirichletProcessVMFMixture(),
    TemporalVMFMixture(),
    VMFHiddenMarkovModel(),
]


@parametrize_with_checks(
    [*FLAT, HierarchicalVMFMixture(), DirichletVMFAdmixture(), OnlineVMFMixture()],
    expected_failed_checks=lambda estimator: (
        (EXPECTS_CLASSIFIER if hasattr(estimator, "predict_proba") else {})
        | (RIVER_METHOD | LEARNS_IN_ORDER if isinstance(estimator, OnlineVMFMixture) else {})
    ),
)
@pytest.mark.filterwarnings(
    "ignore:.* puts all rows into",
    "ignore:.* has not converged",
    "ignore:.* stops at a concentration of",
    "ignore:TemporalVMFMixture. y is ignored",
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings(
    "ignore:.* puts all rows into", "ignore:.* has not converged", "ignore:.* stops at a concentration of"
)
@pytest.mark.parametrize(
    "estimator",
    [
        *FLAT,
        BayesianVMFMixture(inference="map", concentration="own"),
        BayesianVMFMixture(inference="gibbs", n_draws=5, burn_in=5),
        TemporalVMFMixture(inference="filter"),
        OnlineVMFMixture(),
    ],
    ids=str,
)
def test_labels_have_no_gaps_and_belong_to_what_is_shown(estimator: Any) -> None:
    """Of few rows around few directions most components stay empty; on the circle, that they do is certain."""
    rng = np.random.default_rng(0)
    x = vmf_rows(rng, directions(rng, 3, 2), rng.integers(3, size=50), 0.9)
    for seed in range(5):
        model = clone(estimator).set_params(random_state=seed).fit(x)
        used = np.unique(model.labels_)
        assert np.array_equal(used, np.arange(len(used)))
        shown = model.means_ if model.means_.ndim == 2 else model.means_[-1]
        own = np.abs((x * shown[model.labels_]).sum(axis=1))
        assert own.mean() > 0.95
        assert own.mean() > np.abs((x * shown[::-1][model.labels_]).sum(axis=1)).mean()
        if isinstance(
            model, VMFMixture | WatsonMixture | SphericalCauchyMixture | SphericalKMeans | FrequencySensitiveKMeans
        ):
            assert np.array_equal(model.predict(x), model.labels_)
        if hasattr(model, "weight_interval") and getattr(model, "inference", "variational") == "variational":
            interval = model.weight_interval(0.95)
            assert ((interval[:, 0] <= model.weights_) & (model.weights_ <= interval[:, 1])).all()
