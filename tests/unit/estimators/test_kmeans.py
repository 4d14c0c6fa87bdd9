"""K-means on the sphere as scikit-learn estimators: its own checks, and what they promise beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.mixtures.planted import directions, hard_text, vmf_rows
from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans


@parametrize_with_checks(
    [
        SphericalKMeans(3, random_state=0),
        FrequencySensitiveKMeans(3, random_state=0),
        FrequencySensitiveKMeans(3, mode="online", frequency="asymptotic", random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")  # labels of few rows swing
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


EVERY = [
    SphericalKMeans(3, random_state=0),
    SphericalKMeans(3, init="agglomerative", local_search=10, random_state=0),
    FrequencySensitiveKMeans(3, random_state=0),
    FrequencySensitiveKMeans(3, mode="online", random_state=0),
    FrequencySensitiveKMeans(3, frequency="asymptotic", random_state=0),
]


@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_labels_cosines_and_shares_belong_together(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    x = vmf_rows(rng, directions(rng, 3, 30), rng.integers(3, size=80), 0.6)
    weights = rng.random(80)
    estimator.fit(x, sample_weight=weights)
    cosines = estimator.transform(x)
    assert cosines == pytest.approx(x @ estimator.means_.T)
    assert np.array_equal(estimator.predict(x), estimator.labels_)
    assert estimator.score(x) == pytest.approx(cosines[np.arange(80), estimator.labels_].mean())
    assert estimator.weights_ == pytest.approx(np.bincount(estimator.labels_, weights) / weights.sum())
    assert list(estimator.get_feature_names_out()) == [f"{type(estimator).__name__.lower()}{k}" for k in range(3)]
    if isinstance(estimator, SphericalKMeans):
        assert np.array_equal(estimator.labels_, cosines.argmax(axis=1))


def test_spherical_k_means_climbs_warns_and_goes_on() -> None:
    rng = np.random.default_rng(2)
    x = vmf_rows(rng, directions(rng, 8, 20), rng.integers(8, size=300), 0.4)
    model = SphericalKMeans(8, init="random", max_iter=1, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="SphericalKMeans has not converged in max_iter=1"):
        model.fit(x)
    first = model.lower_bound_
    model.set_params(max_iter=100).fit(x)
    assert model.converged_
    assert model.lower_bounds_[0] > first
    assert (np.diff(model.lower_bounds_) >= -1e-12).all()
    whole = SphericalKMeans(8, init="random", random_state=0).fit(x)
    assert np.array_equal(model.labels_, whole.labels_)
    best = SphericalKMeans(8, init="random", n_init=10, random_state=0).fit(x)
    assert best.lower_bound_ > whole.lower_bound_


@pytest.mark.parametrize("init", ["k-means++", "perturbed-mean", "random"])
def test_every_start_finds_clear_clusters(init: str) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=90)
    x = vmf_rows(rng, directions(rng, 3, 100), truth, 0.7)
    for model in (SphericalKMeans, FrequencySensitiveKMeans):
        labels = model(3, init=init, n_init=5, random_state=0).fit_predict(x)
        assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == 3


@pytest.mark.filterwarnings("ignore:.* has not converged in max_iter=1 ")
def test_every_option_of_frequency_sensitive_k_means_changes_the_result() -> None:
    x, _ = hard_text(np.random.default_rng(1))
    expected = FrequencySensitiveKMeans(6, random_state=0).fit(x)
    online = FrequencySensitiveKMeans(6, mode="online", random_state=0).fit(x)
    for other in (
        FrequencySensitiveKMeans(6, frequency="asymptotic", random_state=0),
        FrequencySensitiveKMeans(6, kappa_0=30.0, random_state=0),
        FrequencySensitiveKMeans(6, max_iter=1, random_state=0),
        FrequencySensitiveKMeans(6, tol=0.5, random_state=0),
        online,
    ):
        assert not np.array_equal(other.fit(x).means_, expected.means_)
    changes: tuple[dict[str, Any], ...] = ({"horizon": 20.0}, {"shuffle": False}, {"frequency": "asymptotic"})
    for change in changes:
        other = FrequencySensitiveKMeans(6, mode="online", random_state=0, **change).fit(x)
        assert not np.array_equal(other.means_, online.means_)
    assert np.ptp(expected.concentrations_) > 0
    wrongs: tuple[dict[str, Any], ...] = ({"kappa_0": 0.0}, {"horizon": 0.5}, {"mode": "stream"}, {"shuffle": 2})
    for wrong in wrongs:
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            FrequencySensitiveKMeans(3, **wrong).fit(x)
