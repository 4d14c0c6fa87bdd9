"""What all estimators accept and refuse: rows of any length and storage, zero rows, weights, parameters."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import BayesianVMFMixture, DirichletProcessVMFMixture, HierarchicalVMFMixture, TemporalVMFMixture
from vmfstream.estimators.base import SphereEstimator
from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans
from vmfstream.estimators.mixtures import VMFMixture
from vmfstream.estimators.parameters import Array, Choice, Either, Flag, Nothing, Number, Whole, check_parameters

EVERY = [
    VMFMixture(3, random_state=0),
    VMFMixture(3, random_state=0, assignment="hard", concentration="own"),
    SphericalKMeans(3, random_state=0),
    SphericalKMeans(3, init="agglomerative", local_search=10, random_state=0),
    FrequencySensitiveKMeans(3, random_state=0),
    FrequencySensitiveKMeans(3, mode="online", random_state=0),
]


@pytest.fixture
def x() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    return vmf_rows(rng, directions(rng, 3, 25), rng.integers(3, size=80), 0.6)


def fitted(estimator: SphereEstimator, *arguments: Any) -> Any:
    return clone(estimator).fit(*arguments)


every = pytest.mark.parametrize("estimator", EVERY, ids=str)


@pytest.mark.thorough
@every
@pytest.mark.parametrize("storage", [csr_array, csr_matrix, csc_array, coo_array, np.asfortranarray, np.ndarray.tolist])
def test_rows_of_any_length_and_storage(estimator: Any, storage: Any, x: NDArray[np.float64]) -> None:
    expected = fitted(estimator, x)
    given = storage(x * np.linspace(0.01, 50, 80)[:, None])
    found = fitted(estimator, given)
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.means_ == pytest.approx(expected.means_, abs=1e-6)
    assert np.array_equal(found.predict(given), found.labels_)
    if hasattr(found, "predict_proba"):
        assert found.predict_proba(given).sum(axis=1) == pytest.approx(np.ones(80))


@every
def test_single_precision_is_kept(estimator: Any, x: NDArray[np.float64]) -> None:
    for rows in (x.astype(np.float32), csr_array(x.astype(np.float32))):
        found = fitted(estimator, rows)
        assert found.means_.dtype == np.float32
        assert np.linalg.norm(found.means_, axis=1) == pytest.approx(1.0, abs=1e-6)
        assert np.array_equal(found.predict(rows), found.labels_)
        assert found.predict(x).dtype == np.int64
    assert fitted(estimator, np.round(10 * x).astype(np.int32)).means_.dtype == np.float64


@every
def test_zero_rows_take_no_part_and_are_reported(
    estimator: Any, x: NDArray[np.float64], caplog: pytest.LogCaptureFixture
) -> None:
    holes = np.insert(x, [0, 40], 0.0, axis=0)
    estimator = clone(estimator).set_params(init=x[:3])
    with caplog.at_level(logging.INFO):
        found = fitted(estimator, holes)
    expected = fitted(estimator, x)
    assert found.n_empty_rows_ == 2
    assert "2 of 82 rows have no direction" in caplog.text
    assert (found.labels_[[0, 41]] == -1).all()
    assert (found.predict(np.zeros((2, 25))) == -1).all()
    if getattr(estimator, "mode", None) != "online":  # there the order of reading is drawn for all rows
        assert np.array_equal(np.delete(found.labels_, [0, 41]), expected.labels_)
    assert found.weights_.sum() == pytest.approx(1.0)
    assert found.score(holes) == pytest.approx(found.score(x))
    assert found.score(np.zeros((2, 25))) == 0.0


@every
def test_weights(estimator: Any, x: NDArray[np.float64]) -> None:
    found = fitted(estimator, x, None, np.full(80, 0.25))
    assert np.isfinite(found.lower_bound_)
    half = np.append(np.zeros(60), np.ones(20))
    assert np.isfinite(fitted(estimator, x, None, half).means_).all()
    for weights, message in (
        (np.append(np.nan, np.ones(79)), "finite weights of at least 0, got nan in row 0"),
        (np.append(np.ones(79), -1.0), "finite weights of at least 0, got -1.0 in row 79"),
        (np.zeros(80), "a positive weight, got only zeros"),
        (np.ones(79), r"one weight for each of 80 vectors, got the shape \(79,\)"),
        (
            np.append(np.ones(2), np.zeros(78)),
            r"at most the 2 rows that have a direction and a weight \(n_samples=80\)",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(estimator, x, None, weights)


@every
def test_more_components_than_rows_is_an_error(estimator: Any, x: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"n_components: expected at most the 2 rows .* \(n_samples=2\), got 3"):
        fitted(estimator, x[:2])


@every
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_components", 0, "n_components: expected an integer of at least 1, got 0"),
        ("n_components", 2.5, "got 2.5"),
        ("n_components", True, "got True"),
        ("max_iter", 0, "max_iter: expected an integer of at least 1, got 0"),
        ("n_init", -1, "n_init: expected an integer of at least 1.*, got -1"),
        ("init", "zeros", "init: expected one of 'k-means[+][+]'.* or an array or a callable, got 'zeros'"),
        ("init", np.ones((2, 25)), r"init: expected means of the shape \(3, 25\), got \(2, 25\)"),
        ("init", np.zeros((3, 25)), "init: expected means with a direction, got zeros in row 0"),
        ("init", np.full((3, 25), np.nan), "init: expected finite means, got nan"),
        ("warm_start", "yes", "warm_start: expected True or False, got 'yes'"),
        ("n_jobs", -2, "n_jobs: expected an integer of at least -1 or None, got -2"),
    ],
)
def test_parameters_are_checked(estimator: Any, parameter: str, value: Any, message: str, x: Any) -> None:
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(**{parameter: value}).fit(x)


@every
def test_randomness_is_the_callers(estimator: Any, x: NDArray[np.float64]) -> None:
    def means(state: Any) -> Any:
        return clone(estimator).set_params(random_state=state).fit(x).means_

    assert np.array_equal(means(3), means(3))
    assert np.array_equal(means(np.random.RandomState(3)), means(np.random.RandomState(3)))
    assert np.array_equal(means(np.random.default_rng(3)), means(np.random.default_rng(3)))
    assert len({means(np.random.RandomState(seed)).tobytes() for seed in range(5)}) > 1
    assert np.isfinite(means(None)).all()


@every
def test_threads_change_nothing(estimator: Any, x: NDArray[np.float64]) -> None:
    rows = csr_array(x)
    one, two, all_of_them = (clone(estimator).set_params(n_jobs=jobs).fit(rows) for jobs in (None, 2, -1))
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.labels_, all_of_them.labels_)
    assert one.means_ == pytest.approx(two.means_, abs=1e-12)


def test_domains() -> None:
    assert Number(0.0).holds(0)
    assert not Number(0.0, closed="neither").holds(0.0)
    assert Number(0.0, 1.0, "high").holds(1.0)
    assert not Number(0.0, 1.0).holds(1.0)
    assert not any(Number(0.0).holds(v) for v in (np.nan, np.inf, "1", True, None))
    assert Number(0.0, 1.0, "both").wanted == "a number in [0, 1]"
    assert Number(0.0).wanted == "a number in [0, inf)"
    assert Whole(1).holds(np.int64(1))
    assert Flag().holds(np.True_)
    assert Either(Choice("a"), Nothing(), Array()).wanted == "one of 'a' or None or an array"
    check_parameters({"a": 1, "b": None}, {"a": Whole(0), "b": Nothing()})
    with pytest.raises(ValueError, match="b: expected None, got 2"):
        check_parameters({"a": 1, "b": 2}, {"a": Whole(0), "b": Nothing()})


@pytest.mark.parametrize(
    "estimator",
    [VMFMixture(2), SphericalKMeans(2), BayesianVMFMixture(2), TemporalVMFMixture(2), HierarchicalVMFMixture(1, 2)],
    ids=str,
)
def test_components_have_words(estimator: Any) -> None:
    counts = pd.DataFrame(
        [[4, 1, 0, 0], [3, 1, 0, 0], [0, 1, 6, 0], [0, 1, 5, 2]] * 3, columns=["cat", "a", "sea", "ship"]
    )
    model = clone(estimator).set_params(random_state=0).fit(counts)
    first = int(model.labels_[0])
    found = model.words()
    assert [found[first][:2], found[1 - first][:3]] == [["cat", "a"], ["sea", "ship", "a"]]
    assert model.words(list("wxyz"), top=1) == [["w"], ["y"]][:: 1 if first == 0 else -1]
    with pytest.raises(ValueError, match=r"feature_names: expected 4 names, got the shape \(3,\)"):
        model.words(list("xyz"))
    with pytest.raises(ValueError, match="top: expected an integer of at least 1, got 0"):
        model.words(top=0)
    with pytest.raises(ValueError, match="feature_names: expected the names of the columns"):
        clone(estimator).set_params(random_state=0).fit(counts.to_numpy()).words()
    with pytest.raises(NotFittedError):
        clone(estimator).words()


@pytest.mark.parametrize(
    "estimator",
    [
        VMFMixture(6),
        SphericalKMeans(6),
        BayesianVMFMixture(6),
        BayesianVMFMixture(6, concentration="own", kappa="bounding"),
        BayesianVMFMixture(6, assignment="hard"),
        BayesianVMFMixture(6, inference="map"),
        DirichletProcessVMFMixture(10),
        HierarchicalVMFMixture(2, 3),
        HierarchicalVMFMixture(2, 3, inference="meanfield"),
        HierarchicalVMFMixture(tree=[-1, 0, 0, 1, 1, 2, 2]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")
def test_labels_of_a_fit_are_those_that_are_predicted(estimator: Any) -> None:
    rng = np.random.default_rng(1)
    for d, seed in itertools.product((5, 12, 30), range(2)):
        x = rng.standard_normal((5, d))[rng.integers(5, size=400)] + 0.8 * rng.standard_normal((400, d))
        x[10] = 0
        found = clone(estimator).set_params(random_state=seed).fit(x, sample_weight=rng.integers(0, 3, 400))
        assert np.array_equal(found.labels_, found.predict(x))


def test_a_fit_that_goes_on_has_the_same_clusters_and_columns() -> None:
    """The message was about ``init``, which was not given."""
    rng = np.random.default_rng(0)
    x = vmf_rows(rng, directions(rng, 4, 5), np.arange(60) % 4, 0.9)
    for model in (VMFMixture(3, warm_start=True), SphericalKMeans(3, warm_start=True)):
        first = model.fit(x)
        with pytest.raises(
            ValueError, match="warm_start: the last fit had 3 clusters in 5 dimensions, expected 4 in 5"
        ):
            first.set_params(n_components=4).fit(x)
        with pytest.raises(
            ValueError, match="warm_start: the last fit had 3 clusters in 5 dimensions, expected 3 in 4"
        ):
            first.set_params(n_components=3).fit(x[:, :4])
        first.fit(x)


@pytest.mark.parametrize("kind", [VMFMixture, BayesianVMFMixture, SphericalKMeans, TemporalVMFMixture])
def test_a_seed_that_is_none_is_named(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"random_state: expected .*, a seed of at least 0 or None, got -1"):
        kind(2, random_state=-1).fit(np.random.default_rng(0).standard_normal((20, 3)))
