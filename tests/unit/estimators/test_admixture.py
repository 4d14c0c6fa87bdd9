"""The Dirichlet admixture as a scikit-learn estimator: its own checks, forms of documents, batches, bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import vmfstream
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.directional.bessel import inv_bessel_ratio, log_c_uniform
from vmfstream.estimators.admixture import DirichletVMFAdmixture

K, D, PER = 3, 20, 25


@parametrize_with_checks(
    [DirichletVMFAdmixture(3, max_iter=300, random_state=0), DirichletVMFAdmixture(3, bayesian=True, random_state=0)],
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def documents(n: int = 60, size: int = PER, seed: int = 0) -> tuple[list[NDArray[Any]], NDArray[Any], NDArray[Any]]:
    """Documents of different lengths, their proportions and the directions of the topics."""
    rng = np.random.default_rng(seed)
    mu, theta = directions(np.random.default_rng(7), K, D), rng.dirichlet(np.full(K, 0.3), n)
    sizes = rng.integers(1, 2 * size, n)
    made = [vmf_rows(rng, mu, rng.choice(K, j, p=row), 0.8) for j, row in zip(sizes, theta, strict=True)]
    return made, theta, mu


def offsets_of(given: list[NDArray[Any]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, given)])


@pytest.mark.parametrize("bayesian", [False, True])
def test_what_is_planted_is_found(bayesian: bool) -> None:
    given, theta, mu = documents(150)
    fitted = DirichletVMFAdmixture(K, bayesian=bayesian, random_state=0).fit(given)
    cosines = fitted.means_ @ mu.T
    order = cosines.argmax(axis=0)
    assert sorted(order) == [0, 1, 2]
    assert cosines.max(axis=1).min() > 0.99
    assert fitted.concentrations_ == pytest.approx(np.full(K, float(inv_bessel_ratio(D, 0.8))), rel=0.06)
    assert fitted.alpha_ == pytest.approx(0.3, rel=0.25)
    assert np.isinf(fitted.certainties_).all() != bayesian
    fresh, truth, _ = documents(80, seed=1)
    found = fitted.transform(fresh)
    assert found.sum(axis=1) == pytest.approx(np.ones(80))
    assert np.abs(found[:, order] - truth).mean() < 0.1
    assert np.array_equal(fitted.predict(fresh), found.argmax(axis=1))
    assert fitted.weights_[order] == pytest.approx(
        np.average(theta, axis=0, weights=[len(document) for document in given]), abs=0.03
    )
    assert fitted.score(fresh) == pytest.approx(fitted.score_samples(fresh).mean())
    assert fitted.score_samples(given).mean() == pytest.approx(fitted.lower_bound_, rel=0.01) or bayesian
    absolute = fitted.score_samples(fresh, relative_to_uniform=False)
    sizes = np.array([len(document) for document in fresh])
    assert absolute == pytest.approx(fitted.score_samples(fresh) + sizes * float(log_c_uniform(D)))
    assert np.diff(fitted.lower_bounds_).min() > 0
    assert fitted.n_documents_seen_ == 150


def test_all_forms_of_documents_are_the_same() -> None:
    given, _, _ = documents()
    rows, offsets = np.concatenate(given), offsets_of(given)
    model = DirichletVMFAdmixture(K, random_state=0)
    wanted = model.fit(given).proportions_
    counts = csr_array((np.ones(len(rows)), np.arange(len(rows)), offsets), shape=(len(given), len(rows)))
    forms: list[tuple[Any, dict[str, Any]]] = [
        (tuple(given), {}),
        (pd.Series(given), {}),
        (pd.Series(given).to_numpy(), {}),
        (rows, {"offsets": offsets}),
        (csr_array(rows), {"offsets": offsets.tolist()}),
        (rows, {"counts": counts}),
        (rows.tolist(), {"counts": counts.toarray()}),
    ]
    for form, options in forms:
        assert model.fit(form, **options).proportions_ == pytest.approx(wanted)
        assert model.transform(form, **options) == pytest.approx(model.transform(given))
        assert model.fit_transform(form, **options) == pytest.approx(model.transform(given))
        assert np.array_equal(model.fit_predict(form, **options), model.labels_)
    cube = np.stack([rows[:30], rows[30:60]])
    assert model.transform(cube) == pytest.approx(model.transform([rows[:30], rows[30:60]]))
    assert model.transform(rows[:4]) == pytest.approx(model.transform(rows[:4], offsets=np.arange(5)))


def test_counts_are_not_changed() -> None:
    given, _, _ = documents(6)
    rows = np.concatenate(given)
    counts = csr_array(np.ones((2, len(rows))))
    counts.data[3] = 0.0
    DirichletVMFAdmixture(K, random_state=0).fit(rows, counts=counts)
    assert counts.nnz == 2 * len(rows)
    counts.data[:] = 0.0
    with pytest.raises(ValueError, match="expected at least one vector, got 2 empty documents"):
        DirichletVMFAdmixture(K).fit(rows, counts=counts)


def test_batches_are_learnt_one_after_the_other() -> None:
    given, _, mu = documents(400)
    model = DirichletVMFAdmixture(K, batch_size=10, random_state=0)
    for low in range(0, 400, 50):
        part = given[low : low + 50]
        model.partial_fit(np.concatenate(part), offsets=offsets_of(part))
        assert model.proportions_.shape == (50, K)
        assert model.lower_bound_ > 0
    assert model.n_documents_seen_ == 400
    assert (model.means_ @ mu.T).max(axis=1).min() > 0.99
    assert model.concentrations_ == pytest.approx(np.full(K, float(inv_bessel_ratio(D, 0.8))), rel=0.06)
    assert model.alpha_ == pytest.approx(0.3, rel=0.3)
    # a fit can be continued, and all of it can be stored
    whole = DirichletVMFAdmixture(K, batch_size=10, random_state=0).fit(given[:50])
    stored = pickle.loads(pickle.dumps(whole))
    whole.partial_fit(given[50:])
    assert stored.partial_fit(given[50:]).means_ == pytest.approx(whole.means_)
    assert whole.means_ == pytest.approx(model.means_)


def test_known_starts_are_taken() -> None:
    given, _, mu = documents()
    by_means = DirichletVMFAdmixture(K, init=mu).fit(given)
    assert (by_means.means_ * mu).sum(axis=1).min() > 0.98
    nearest = (np.concatenate(given) @ mu.T).argmax(axis=1)
    assert DirichletVMFAdmixture(K, init=nearest).fit(given).means_ == pytest.approx(by_means.means_)
    turned = DirichletVMFAdmixture(K, init=mu[[2, 0, 1]]).fit(given)
    assert turned.means_ == pytest.approx(by_means.means_[[2, 0, 1]])
    assert turned.lower_bound_ == pytest.approx(by_means.lower_bound_)


def test_a_given_alpha_can_be_kept() -> None:
    given, _, _ = documents()
    assert DirichletVMFAdmixture(K, alpha=2.5, learn_alpha=False, random_state=0).fit(given).alpha_ == 2.5


def test_documents_and_vectors_without_direction_take_no_part() -> None:
    given, _, _ = documents()
    zero = np.zeros((2, D))
    holes = [given[0], np.zeros((0, D)), *given[1:], [], zero, np.concatenate([given[3], zero])]
    fitted = DirichletVMFAdmixture(K, random_state=0).fit(holes)
    assert (fitted.n_empty_rows_, fitted.n_empty_documents_) == (4, 3)
    assert fitted.n_documents_seen_ == 61
    empty = [1, 61, 62]
    assert np.flatnonzero(fitted.labels_ < 0).tolist() == empty
    assert fitted.proportions_[empty] == pytest.approx(np.full((3, K), 1 / K))
    assert np.array_equal(np.flatnonzero(fitted.predict(holes) < 0), empty)
    assert fitted.score_samples(holes)[empty].tolist() == [0, 0, 0]
    assert fitted.score(holes) == pytest.approx(np.delete(fitted.score_samples(holes), empty).mean())
    assert fitted.score([zero]) == 0
    seen = fitted.n_documents_seen_
    assert fitted.partial_fit([zero, zero]).n_documents_seen_ == seen


def test_rare_single_precision_stays_single() -> None:
    given, _, _ = documents()
    single = [document.astype(np.float32) for document in given]
    fitted = DirichletVMFAdmixture(K, random_state=0).fit(single)
    exact = DirichletVMFAdmixture(K, init=fitted.means_, random_state=0).fit(given)
    assert fitted.means_.dtype == np.float32
    assert (fitted.means_ * exact.means_).sum(axis=1).min() > 0.9999
    assert fitted.transform(given) == pytest.approx(fitted.transform(single), abs=1e-3)


def test_bad_documents_are_named() -> None:
    given, _, _ = documents(6)
    rows, offsets = np.concatenate(given), offsets_of(given)
    model = DirichletVMFAdmixture(K, random_state=0)
    wrong = [given[0], given[1][:, :-1], *given[2:]]
    broken = [given[0], given[1], given[2].copy()]
    broken[2][0, 3] = np.nan
    stray = rows.copy()
    stray[5, 1] = np.inf
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (wrong, {}, r"expected vectors of 20 dimensions, got the shape \(\d+, 19\) in document 1"),
        ([given[0], given[1][0]], {}, r"got the shape \(20,\) in document 1"),
        (broken, {}, "expected finite values, got nan in document 2"),
        ([given[0], csr_array(given[1])], {}, "expected dense vectors, got a sparse matrix in document 1"),
        (stray, {"offsets": offsets}, "infinity"),
        (rows, {"offsets": offsets[1:]}, f"from 0 to {len(rows)}, got {offsets[1]} ... {offsets[-1]}"),
        (rows, {"offsets": offsets[::-1]}, "integers that never fall"),
        (rows, {"offsets": offsets + 0.5}, "got float64"),
        (rows, {"counts": np.ones((2, 3))}, rf"a column for each of {len(rows)} vectors, got the shape \(2, 3\)"),
        (rows, {"counts": -np.ones((1, len(rows)))}, r"finite counts of at least 0, got -1.0 in document 0"),
        (rows, {"counts": np.ones((1, len(rows))), "offsets": offsets}, "more than one of them"),
        (given, {"offsets": offsets}, "more than one of them"),
        ([np.zeros((3, D)), np.zeros((0, D))], {}, "expected at most the 0 rows that have a direction"),
        ([np.zeros((0, D))] * 3, {}, "expected at least one vector, got 3 empty documents"),
        ([[], []], {}, "expected at least one vector, got 2 empty documents"),
        (rows, {"counts": csr_array((4, len(rows)))}, "expected at least one vector, got 4 empty documents"),
        ([given[0][:2]], {}, "expected at most the 2 rows"),
    ]
    for X, options, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X, **options)
    fitted = model.fit(given)
    with pytest.raises(ValueError, match="19 features"):
        fitted.transform([given[0][:, :-1]])
    with pytest.raises(NotFittedError):
        DirichletVMFAdmixture().transform(given)


def test_bad_parameters_are_named() -> None:
    given, _, _ = documents(6)
    cases: list[tuple[str, Any]] = [("alpha", 0.0), ("init", "perturbed-mean"), ("batch_size", 0), ("bayesian", "yes")]
    for name, value in cases:
        with pytest.raises(ValueError, match=f"{name}: expected"):
            DirichletVMFAdmixture(K, **{name: value}).fit(given)


def test_a_fit_that_was_cut_short_says_so() -> None:
    given, _, _ = documents(20)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = DirichletVMFAdmixture(K, max_iter=2, tol=0.0, n_init=1, random_state=0).fit(given)
    assert (model.n_iter_, model.converged_) == (2, False)
    assert vmfstream.DirichletVMFAdmixture is DirichletVMFAdmixture


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [([], r"\(0,\)"), ("abc", r"\(\)"), (np.zeros((0, 5)), r"\(0, 5\)"), (np.zeros((0, 3, 5)), r"\(0,\)")],
)
def test_no_documents_are_called_that(wrong: Any, shape: str) -> None:
    """The message was about ``offsets``, which were not given."""
    with pytest.raises(ValueError, match=f"X: expected vectors in rows, at least one, .*, got the shape {shape}"):
        DirichletVMFAdmixture(2).fit(wrong)


@pytest.mark.parametrize("bayesian", [False, True])
def test_a_batch_of_documents_without_vectors_changes_nothing(bayesian: bool) -> None:
    rows = np.random.default_rng(0).standard_normal((30, 5))
    admixture = DirichletVMFAdmixture(2, bayesian=bayesian, random_state=0).fit(list(rows.reshape(6, 5, 5)))
    means, learnt, empty = admixture.means_.copy(), admixture.n_documents_seen_, [[], np.zeros((0, 5)), []]
    assert admixture.transform(empty).tolist() == [[0.5, 0.5]] * 3
    assert admixture.predict(empty).tolist() == [-1] * 3
    assert (admixture.score(empty), admixture.score_samples(empty).tolist()) == (0.0, [0.0] * 3)
    admixture.partial_fit(empty)
    assert (admixture.labels_.tolist(), admixture.n_empty_documents_, admixture.lower_bound_) == ([-1] * 3, 3, 0.0)
    assert admixture.n_documents_seen_ == learnt
    np.testing.assert_array_equal(admixture.means_, means)
    with pytest.raises(NotFittedError):
        DirichletVMFAdmixture(2).transform(empty)
