"""The temporal mixture as an estimator: scikit-learn's checks, slices of every kind, appending."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.estimators.temporal import TemporalVMFMixture


@parametrize_with_checks(
    [
        TemporalVMFMixture(n_components=3, max_iter=300, random_state=0),
        TemporalVMFMixture(n_components=3, inference="gibbs", n_draws=5, burn_in=5, random_state=0),
    ],
    expected_failed_checks=lambda _: EXPECTS_CLASSIFIER,
)
@pytest.mark.filterwarnings("ignore:TemporalVMFMixture. y is ignored")
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def moving(
    sizes: tuple[int, ...] = (40, 25, 0, 60, 30), d: int = 200, k: int = 3, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows about means that turn a little in every slice, their slices (from 7 on) and labels."""
    rng = np.random.default_rng(seed)
    mu = directions(rng, k, d)
    rows, slices, labels = [], [], []
    for t, n in enumerate(sizes):
        mu = mu + 0.2 * directions(rng, k, d)
        mu /= np.linalg.norm(mu, axis=1, keepdims=True)
        z = rng.integers(k, size=n)
        rows.append(vmf_rows(rng, mu, z, 0.5))
        slices.append(np.full(n, 7 + t))
        labels.append(z)
    return np.concatenate(rows), np.concatenate(slices), np.concatenate(labels)


KINDS = [
    {"inference": "filter"},
    {"inference": "filter", "start": "first"},
    {"inference": "smoother"},
    {"inference": "smoother", "lag": 1},
    {"inference": "smoother", "proportions": "logistic-normal"},
    {"inference": "smoother", "anchored": False, "concentration": "own", "kappa": "quadrature"},
    {"inference": "filter", "proportions": "dirichlet", "concentration": "own"},
    {"inference": "meanfield", "persistence": 0.9, "max_iter": 500},
    {"inference": "meanfield", "persistence": 0.9, "max_iter": 500, "proportions": "logistic-normal"},
    {"inference": "gibbs", "n_draws": 10, "burn_in": 5},
    {"inference": "gibbs", "n_draws": 10, "burn_in": 5, "proportions": "logistic-normal", "concentration": "own"},
]


def model(**options: Any) -> TemporalVMFMixture:
    return TemporalVMFMixture(**({"n_components": 3, "persistence": 0.95, "random_state": 0, "tol": 1e-5} | options))


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_finds_moving_topics(options: dict[str, Any]) -> None:
    x, slices, labels = moving()
    fitted = model(**options).fit(x, slices=slices)
    assert nmi(fitted.labels_, labels) > 0.95
    assert fitted.means_.shape == (5, 3, 200)
    assert np.linalg.norm(fitted.means_, axis=2) == pytest.approx(1, abs=1e-9)
    assert fitted.slices_.tolist() == [7, 8, 9, 10, 11]
    assert fitted.certainties_.shape == fitted.slice_weights_.shape == (5, 3)
    assert fitted.slice_weights_.sum(axis=1) == pytest.approx(1)
    assert fitted.weights_.sum() == pytest.approx(1)
    assert np.array_equal(fitted.predict(x[slices == 11]), fitted.labels_[slices == 11])


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_appended_slices_change_no_filtered_mean_of_the_past(options: dict[str, Any]) -> None:
    x, slices, labels = moving()
    past = slices < 10
    fitted = model(**options).fit(x[past], slices=slices[past])
    before, certain = fitted.means_.copy(), fitted.certainties_.copy()
    fitted.partial_fit(x[~past], slices=slices[~past])
    assert fitted.means_.shape == (5, 3, 200)
    assert fitted.slices_.tolist() == [7, 8, 9, 10, 11]
    assert nmi(fitted.labels_, labels[~past]) > 0.95
    same = [np.array_equal(a, b) for a, b in zip(before, fitted.means_[:2], strict=False)]
    if options["inference"] in ("smoother", "gibbs"):
        assert fitted.certainties_[1].min() >= certain[1].min()
        reach = options.get("lag")
        # slice 8 is heard by slice 7 before and after; slices 10 and 11 are too far for a lag of one
        assert same == ([True, True] if reach == 1 else [False, False])
    else:
        assert same == [True, True]


def test_bound_of_the_filter_is_one_of_all_documents() -> None:
    """It grew with the slices: 2, 4 and 8 of the same rows had 1.6, 2.8 and 5.3 times the bound of one."""
    rng = np.random.default_rng(0)
    means = np.linalg.qr(rng.standard_normal((20, 20)))[0][:4]
    x = rng.permutation(np.repeat(means, 60, axis=0) + 0.15 * rng.standard_normal((240, 20)))
    for count in (1, 2, 8):
        slices = np.arange(240) % count
        filtered, smoothed = (
            TemporalVMFMixture(4, random_state=0, inference=inference).fit(x, slices=slices).lower_bound_
            for inference in ("filter", "smoother")
        )
        assert filtered == pytest.approx(smoothed, abs=0.2)


def test_filter_started_in_the_first_slice_knows_nothing_of_later_ones() -> None:
    x, slices, _ = moving()
    whole = model(inference="filter", start="first").fit(x, slices=slices)
    for last in (7, 8, 10):
        part = model(inference="filter", start="first").fit(x[slices <= last], slices=slices[slices <= last])
        assert np.array_equal(part.means_, whole.means_[: last - 6])
        assert np.array_equal(part.slice_weights_, whole.slice_weights_[: last - 6])


def test_appending_one_by_one_is_appending_at_once() -> None:
    x, slices, _ = moving()
    start = slices < 8
    at_once = model().fit(x[start], slices=slices[start]).partial_fit(x[~start], slices=slices[~start])
    stepwise = model().fit(x[start], slices=slices[start])
    for t in (8, 10, 11):
        stepwise.partial_fit(x[slices == t], slices=slices[slices == t])
    assert stepwise.slices_.tolist() == at_once.slices_.tolist()
    assert np.abs(stepwise.means_ - at_once.means_).max() < 1e-10
    assert stepwise.score_samples(x) == pytest.approx(at_once.score_samples(x), abs=1e-8)


@pytest.mark.parametrize("inference", ["filter", "smoother", "meanfield"])
def test_bounds_after_appending_are_those_of_what_was_appended(inference: str) -> None:
    """They stayed those of the first call."""
    x, slices, _ = moving()
    past = slices < 10
    fitted = model(inference=inference, start="first" if inference == "filter" else "all")
    first = fitted.fit(x[past], slices=slices[past]).lower_bound_
    expected = fitted.score(x[slices == 10])
    appended = fitted.partial_fit(x[~past], slices=slices[~past]).lower_bound_
    assert appended != first
    assert appended == pytest.approx(expected, rel=0.35)
    assert fitted.lower_bounds_.tolist() == [appended]
    assert fitted.n_iter_ == 1
    if inference == "filter":
        whole = model(inference="filter", start="first").fit(x, slices=slices).lower_bound_
        assert past.mean() * first + (~past).mean() * appended == pytest.approx(whole)
    assert fitted.partial_fit(np.zeros((2, 200))).lower_bound_ == 0


def test_mean_field_learns_its_hyperparameters() -> None:
    x, slices, labels = moving()
    options = {"inference": "meanfield", "persistence": 0.9, "max_iter": 500, "concentration": "own"}
    given, learnt = (
        model(**options, kappa="quadrature", empirical_bayes=names).fit(x, slices=slices)
        for names in ((), ("alpha", "mu0", "c0", "kappa"))
    )
    assert learnt.lower_bound_ > given.lower_bound_ + 0.1 / len(x)
    assert nmi(learnt.labels_, labels) > 0.95


def test_rows_may_come_in_any_order() -> None:
    x, slices, _ = moving()
    order = np.random.default_rng(5).permutation(len(x))
    sorted_, mixed = model().fit(x, slices=slices), model().fit(x[order], slices=slices[order])
    # within a slice rows keep their order, so the starts differ; what is found does not
    assert mixed.slices_.tolist() == sorted_.slices_.tolist()
    assert nmi(mixed.labels_, sorted_.labels_[order]) == pytest.approx(1)
    assert mixed.lower_bound_ == pytest.approx(sorted_.lower_bound_, abs=0.5 / len(x))


@pytest.mark.thorough
def test_chosen_persistence_follows_the_drift() -> None:
    static = moving((60,) * 6, seed=1)
    rng = np.random.default_rng(2)
    mu = directions(rng, 3, 200)
    still = np.concatenate([vmf_rows(rng, mu, np.repeat([0, 1, 2], 20), 0.5) for _ in range(6)])
    drifting, resting = (model(persistence="auto").fit(rows, slices=static[1]) for rows in (static[0], still))
    assert drifting.persistence_ < resting.persistence_
    assert resting.persistence_ >= 0.99
    one_slice = model(persistence="auto").fit(static[0])
    assert one_slice.persistence_ == 0.98  # nothing judges yet


def test_next_slice_is_predicted_better_than_by_a_model_of_no_memory() -> None:
    x, slices, _ = moving((50,) * 6)
    past = slices < 12
    scores = [model(persistence=p).fit(x[past], slices=slices[past]).score(x[~past]) for p in (0.01, 0.95)]
    assert scores[1] > scores[0] + 3
    relative = model().fit(x[past], slices=slices[past])
    shift = relative.score_samples(x[:2], relative_to_uniform=False) - relative.score_samples(x[:2])
    assert shift[0] == pytest.approx(shift[1])


def test_sparse_single_precision_is_dense_double() -> None:
    x, slices, _ = moving()
    x[np.abs(x) < 0.02] = 0
    # one start: of two, equally good, rounding may choose
    dense = model(n_init=1).fit(x, slices=slices)
    sparse = model(n_init=1).fit(csr_array(x.astype(np.float32)), slices=slices)
    assert sparse.means_.dtype == np.float32
    assert np.abs(dense.means_ - sparse.means_).max() < 1e-3
    assert sparse.concentrations_ == pytest.approx(dense.concentrations_, rel=1e-3)


def test_empty_rows_take_no_part() -> None:
    x, slices, _ = moving()
    with_blank, times = np.vstack([x[:30], np.zeros((1, 200)), x[30:]]), np.r_[slices[:30], 9, slices[30:]]
    fitted, plain = model().fit(with_blank, slices=times), model().fit(x, slices=slices)
    assert fitted.n_empty_rows_ == 1
    assert fitted.labels_[30] == -1
    assert np.abs(fitted.means_ - plain.means_).max() < 1e-12


@pytest.mark.parametrize(
    ("slices", "text"),
    [
        ([0, 1], "one slice for each of 3 rows"),
        ([0.0, 0.5, 1.0], "slices: expected integers, got 0.5 in row 1"),
        (["a", "b", "c"], "slices: expected integers, got values such as 'a'|slices: .* np.str_\\('a'\\)"),
        ([None, 1, 2], "slices: expected integers, got values such as None"),
        ([0, np.nan, 1], "slices: expected integers, got nan in row 1"),
        ([0, 1, 5000], "at most 1000 slices without documents in a row, got 4998 before slice 5000"),
    ],
)
def test_bad_slices_are_named(slices: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        TemporalVMFMixture(n_components=2).fit(np.eye(3), slices=slices)


def test_bad_parameters_are_named() -> None:
    x = np.eye(4)
    for value in (0.0, 1.0, 1.5, -0.1, "sometimes"):
        with pytest.raises(ValueError, match="persistence: expected a number in"):
            TemporalVMFMixture(n_components=2, persistence=value).fit(x)
    with pytest.raises(ValueError, match="lag: expected None unless inference is 'smoother'"):
        TemporalVMFMixture(n_components=2, inference="filter", lag=2).fit(x)
    with pytest.raises(ValueError, match="start: 'first' belongs to inference 'filter'"):
        TemporalVMFMixture(n_components=2, start="first").fit(x)
    with pytest.raises(ValueError, match="at most the 1 rows with a direction in the first slice, got 2"):
        TemporalVMFMixture(n_components=2, start="first", inference="filter").fit(x, slices=[0, 1, 1, 1])
    with pytest.raises(ValueError, match="empirical_bayes: expected \\(\\) unless inference is 'meanfield'"):
        TemporalVMFMixture(n_components=2, empirical_bayes=["mu0"]).fit(x)
    with pytest.raises(ValueError, match="some of 'alpha', 'mu0', 'c0', 'kappa', got \\['nu'\\]"):
        TemporalVMFMixture(n_components=2, inference="meanfield", empirical_bayes=["nu"]).fit(x)
    fitted = TemporalVMFMixture(n_components=2, random_state=0).fit(np.vstack([x, x]), slices=np.repeat([3, 4], 4))
    with pytest.raises(ValueError, match="expected slices after the last one, 4, got 4"):
        fitted.partial_fit(x, slices=[5, 4, 5, 5])
    assert fitted.partial_fit(x).slices_.tolist() == [3, 4, 5]


def test_classes_are_not_taken_for_slices() -> None:
    """In pipelines and cross-validation y are classes."""
    x, slices, y = moving()
    plain = model().fit(x)
    assert plain.slices_.tolist() == [0]
    with pytest.warns(UserWarning, match=r"y is ignored, all rows are of one slice; name slices: fit\(X, slices=...\)"):
        fitted = model().fit(x, y)
    assert fitted.slices_.tolist() == [0]
    np.testing.assert_array_equal(fitted.means_, plain.means_)
    with pytest.warns(UserWarning, match="y is ignored"):
        scores = cross_val_score(model(), x, y, cv=3)
    assert np.isfinite(scores).all()
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(Normalizer(), model().set_fit_request(slices=True)).fit(x, y, slices=slices)
    assert routed[-1].slices_.tolist() == [7, 8, 9, 10, 11]
    fitted.partial_fit(x)
    assert fitted.slices_.tolist() == [0, 1]
