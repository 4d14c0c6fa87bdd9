"""Weights are numbers of rows, and neither their order nor their copies matter to a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import (
    DiametricalKMeans,
    FrequencySensitiveKMeans,
    SphericalKMeans,
    VMFMixture,
    WatsonMixture,
)
from vmfstream.directional.params import Mixture
from vmfstream.directional.sphere import row_keys, unit_rows
from vmfstream.mixtures.annealing import melting
from vmfstream.mixtures.frequency_sensitive import default_scale, frequency_sensitive
from vmfstream.mixtures.movmf import fit

pytestmark = pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")

WEIGHTED = [
    VMFMixture(4),
    VMFMixture(4, init="random", estimator="debiased", assignment="hybrid", concentration="own"),
    VMFMixture(4, init="perturbed-mean", assignment="hard", anneal=False),
    SphericalKMeans(4),
    SphericalKMeans(4, init="random", n_init=3),
    FrequencySensitiveKMeans(4),
    FrequencySensitiveKMeans(4, frequency="asymptotic"),
    FrequencySensitiveKMeans(4, mode="online"),
    WatsonMixture(4),
    WatsonMixture(4, init="random", assignment="hard"),
    DiametricalKMeans(4, n_init=2),
]


def planted(d: int = 6, n: int = 60) -> NDArray[np.float64]:
    rng = np.random.default_rng(d)
    return vmf_rows(rng, directions(rng, 4, d), rng.integers(4, size=n), 0.5)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("estimator", WEIGHTED, ids=str)
def test_weights_are_repeated_rows_in_any_order(estimator: Any, seed: int, storage: Any) -> None:
    x = planted()
    counts = np.random.default_rng(seed).integers(0, 5, len(x))
    mixed = np.random.default_rng(seed).permutation(len(x))
    once = clone(estimator).set_params(random_state=seed).fit(storage(x[mixed]), sample_weight=counts[mixed])
    copies = clone(estimator).set_params(random_state=seed).fit(storage(x.repeat(counts, axis=0)))
    assert np.array_equal(once.predict(x), copies.predict(x))
    assert once.means_ == pytest.approx(copies.means_, abs=1e-9)
    assert once.weights_ == pytest.approx(copies.weights_, abs=1e-9)
    assert once.n_iter_ == copies.n_iter_
    assert np.array_equal(once.labels_[np.argsort(mixed)].repeat(counts), copies.labels_)
    assert np.array_equal(once.labels_, once.predict(x[mixed]))


def test_equal_rows_have_equal_keys_in_every_storage() -> None:
    x = unit_rows(np.random.default_rng(0).poisson(0.3, (300, 40)).astype(np.float64))[0]
    mixed = np.random.default_rng(1).permutation(300)
    keys = row_keys(x)
    assert np.array_equal(row_keys(x[mixed]), keys[mixed])
    assert np.array_equal(row_keys(csr_array(x)), keys)
    assert len(np.unique(keys)) == len(np.unique(x, axis=0))


@pytest.mark.parametrize("score_by", ["exact", "asymptotic"])
def test_the_scale_of_frequency_sensitive_k_means_counts_weights(score_by: Any) -> None:
    x, mu = planted(), np.zeros((6, 16))
    mu[:4, :4] = np.eye(4)
    for seed in range(10):
        counts = np.random.default_rng(seed).integers(0, 4, len(x)) ** 2
        once = default_scale(x, mu, 4, score_by, weights=counts.astype(np.float64))
        assert once == pytest.approx(default_scale(x.repeat(counts, axis=0), mu, 4, score_by), rel=1e-12)
        options: dict[str, Any] = {"score_by": score_by, "max_iter": 5}
        weighted = frequency_sensitive(x, mu, 4, weights=counts.astype(np.float64), **options)
        repeated = frequency_sensitive(x.repeat(counts, axis=0), mu, 4, **options)
        assert np.array_equal(weighted.labels.repeat(counts), repeated.labels)
        assert weighted.kappa == pytest.approx(repeated.kappa)


def test_annealing_starts_where_weighted_scores_spread() -> None:
    x = planted()
    mu = np.zeros((6, 16))
    mu[:4, :4] = np.eye(4)
    mixture = Mixture(np.full(4, 0.25), mu, np.full(4, 30.0))
    counts = np.where(x[:, 0] > 0.5, 9, 1)
    once = melting(x, mixture, weights=counts.astype(np.float64))
    assert once == pytest.approx(melting(x.repeat(counts, axis=0), mixture), rel=1e-12)
    assert once != pytest.approx(melting(x, mixture), rel=1e-2)


def test_a_component_of_one_document_among_heavy_rows_lives() -> None:
    """It was dead below half the mean weight of a row."""
    x = np.vstack([np.eye(3)[:1].repeat(2, axis=0), np.eye(3)[1:2]])
    weights = np.array([500.0, 500.0, 1.0])
    start = np.array([[1.0, 0], [1, 0], [0, 1]])
    options: dict[str, Any] = {"init": start, "anneal": False, "estimator": "fixed", "kappa": 50.0}
    found = fit(x, 2, rng=np.random.default_rng(0), weights=weights, **options)
    assert found.mixture.pi == pytest.approx([1000 / 1001, 1 / 1001], rel=1e-6)
    assert found.n_iter == 1
