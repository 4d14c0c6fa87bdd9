"""The mixtures as scikit-learn estimators: its own checks, and what they promise beyond."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import vonmises_fisher
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.data import corpus_file
from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import directions, hard_text, vmf_rows
from vmfstream import (
    BayesianVMFMixture,
    DirichletProcessVMFMixture,
    HierarchicalVMFMixture,
    OnlineVMFMixture,
    TemporalVMFMixture,
    datasets,
)
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, log_c_uniform
from vmfstream.estimators.distinct import Distinct
from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans
from vmfstream.estimators.mixtures import VMFMixture
from vmfstream.estimators.watson import WatsonMixture


@parametrize_with_checks(
    [
        VMFMixture(n_components=3, max_iter=300, random_state=0),
        VMFMixture(3, assignment="hybrid", concentration="own", estimator="debiased", max_iter=300, random_state=0),
        VMFMixture(3, algorithm="incremental", max_iter=300, random_state=0),
    ],
    expected_failed_checks=lambda _: EXPECTS_CLASSIFIER,
)
@pytest.mark.filterwarnings("ignore:.* puts all rows into")  # some checks have no clusters
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def planted(seed: int = 0, d: int = 8, k: int = 3, n: int = 90, a: float = 0.7) -> tuple[Any, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), truth, a), truth


def agreement(a: Any, b: Any) -> float:
    return float(normalized_mutual_info_score(a, b))


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_densities_and_probabilities_are_scipys(assignment: str) -> None:
    x, _ = planted()
    model = VMFMixture(3, concentration="own", assignment=assignment, random_state=0).fit(x)
    parts = [
        np.log(p) + vonmises_fisher(m, k).logpdf(x)
        for p, m, k in zip(model.weights_, model.means_, model.concentrations_, strict=True)
    ]
    joint = np.stack(parts, axis=1)
    density = logsumexp(joint, axis=1)
    assert model.score_samples(x, relative_to_uniform=False) == pytest.approx(density, abs=1e-9)
    assert model.score_samples(x) == pytest.approx(density - float(log_c_uniform(8)), abs=1e-9)
    assert model.score(x) == pytest.approx(model.score_samples(x).mean())
    assert np.abs(model.predict_proba(x) - np.exp(joint - density[:, None])).max() < 1e-9
    assert np.array_equal(model.predict(x), joint.argmax(axis=1))
    best = density if assignment == "soft" else joint.max(axis=1)
    assert model.lower_bound_ == pytest.approx(best.mean() - float(log_c_uniform(8)), abs=1e-9)


def test_rows_without_direction_are_as_likely_as_under_the_uniform_distribution() -> None:
    x, _ = planted()
    model = VMFMixture(3, random_state=0).fit(x)
    nowhere = np.zeros((2, 8))
    assert np.array_equal(model.predict_proba(nowhere), np.stack([model.weights_] * 2))
    assert not model.score_samples(nowhere).any()
    assert model.score_samples(nowhere, relative_to_uniform=False) == pytest.approx([float(log_c_uniform(8))] * 2)


def test_every_option_changes_the_result() -> None:
    x, _ = hard_text(np.random.default_rng(1))
    common: dict[str, Any] = {"n_init": 1, "random_state": 0, "max_iter": 30}
    expected = VMFMixture(6, **common).fit(x)
    for change in (
        {"assignment": "hard"},
        {"assignment": "hybrid", "soft_iter": 1},
        {"concentration": "own"},
        {"estimator": "mle"},
        {"estimator": "debiased"},
        {"init": "random"},
        {"init": "perturbed-mean"},
        {"anneal": False},
        {"random_state": 1},
        {"tol": 3.0},
        {"n_init": 4},
    ):
        other = VMFMixture(6, **(common | change)).fit(x)
        moved = other.concentrations_ != pytest.approx(expected.concentrations_, rel=1e-9)
        assert moved or agreement(other.labels_, expected.labels_) < 1, change


def test_restarts_keep_the_best() -> None:
    x, _ = hard_text(np.random.default_rng(1))
    one, many = (VMFMixture(6, n_init=n, anneal=False, random_state=0).fit(x) for n in (1, 5))
    assert many.lower_bound_ > one.lower_bound_


def test_a_warm_start_goes_on() -> None:
    x, _ = hard_text(np.random.default_rng(2))
    options: dict[str, Any] = {"estimator": "mle", "anneal": False, "random_state": 0, "n_init": 1, "tol": 1e-9}
    whole = VMFMixture(6, max_iter=8, **options)
    parts = VMFMixture(6, max_iter=4, warm_start=True, **options)
    with pytest.warns(ConvergenceWarning, match="VMFMixture has not converged in max_iter=4"):
        parts.fit(x)
    first = parts.lower_bound_
    with pytest.warns(ConvergenceWarning):
        parts.fit(x)
    with pytest.warns(ConvergenceWarning):
        whole.fit(x)
    assert parts.lower_bounds_[0] == pytest.approx(first)
    assert parts.lower_bounds_ == pytest.approx(whole.lower_bounds_[4:])
    assert np.array_equal(parts.labels_, whole.labels_)
    annealed = VMFMixture(6, estimator="mle", warm_start=True, random_state=0).fit(x)
    reached = annealed.lower_bound_
    assert annealed.fit(x).lower_bounds_[0] == pytest.approx(reached)


def test_labels_and_means_as_starts() -> None:
    x, truth = planted(a=0.9)
    means = np.stack([x[truth == t].sum(axis=0) for t in range(3)])
    for start in (truth, truth.tolist(), means):
        for rows in (x, csr_array(x)):
            model = VMFMixture(3, init=start, anneal=False).fit(rows)
            assert np.array_equal(model.labels_, truth)
    for bad in (truth[1:], truth + 1, truth.astype(float)):
        with pytest.raises(ValueError, match="init: expected 90 labels from 0 to 2, or means"):
            VMFMixture(3, init=bad).fit(x)


def test_weights_are_repeated_rows() -> None:
    x, truth = planted(a=0.5)
    counts = np.random.default_rng(0).integers(0, 4, 90)
    options: dict[str, Any] = {"estimator": "mle", "concentration": "own", "anneal": False}
    once = VMFMixture(3, init=truth, **options).fit(x, sample_weight=counts)
    repeated = VMFMixture(3, init=truth.repeat(counts), **options).fit(x.repeat(counts, axis=0))
    assert once.lower_bounds_ == pytest.approx(repeated.lower_bounds_, abs=1e-10)
    assert once.means_ == pytest.approx(repeated.means_, abs=1e-10)
    assert np.array_equal(once.labels_.repeat(counts), repeated.labels_)


@pytest.mark.corpus
def test_classic3_is_told_apart() -> None:
    corpus_file("classic3/counts.npz")
    corpus = datasets.classic3("ltc")
    x = csr_array(corpus.x.astype(np.float32))
    model = VMFMixture(3, n_init=1, random_state=0).fit(x)
    assert agreement(corpus.y, model.labels_) >= 0.95


@pytest.mark.thorough
def test_big_mix_is_recovered() -> None:
    """[BDGS05] table 3: four components in 1000 dimensions, 5000 rows; the printed smallest cosine is 0.994."""
    simulated = datasets.big_mix()
    runs = {
        estimator: VMFMixture(4, concentration="own", estimator=estimator, n_init=1, random_state=0).fit(simulated.x)
        for estimator in ("mle", "debiased", "marginal")
    }
    errors = {}
    for estimator, model in runs.items():
        cosines = model.means_ @ np.asarray(simulated.truth.mu[:, :4])
        match = cosines.argmax(axis=0)
        assert sorted(match) == [0, 1, 2, 3]
        assert cosines.max(axis=0).min() >= 0.993
        assert agreement(simulated.y, model.labels_) == 1.0
        errors[estimator] = np.abs(model.concentrations_[match] / simulated.truth.kappa - 1).mean()
    assert errors["debiased"] < 0.006
    assert errors["marginal"] < 0.006
    assert errors["mle"] > errors["debiased"]
    true = np.asarray(bessel_ratio(1000, simulated.truth.kappa))
    bias = inv_bessel_ratio(1000, np.sqrt(true**2 + (1 - true**2) * 4 / 5000)) / simulated.truth.kappa - 1
    assert errors["mle"] == pytest.approx(bias.mean(), abs=0.005)


@pytest.mark.parametrize("kind", [VMFMixture, WatsonMixture, SphericalKMeans, FrequencySensitiveKMeans])
@pytest.mark.parametrize("scale", [1 / 300, 1e-300, 0.9])
def test_weights_of_a_small_total_are_relative(kind: Any, scale: float) -> None:
    """They cannot be numbers of observations: a fit to hundredths of rows would find no clusters."""
    rng = np.random.default_rng(0)
    x = vmf_rows(rng, np.eye(8)[:3], np.repeat([0, 1, 2], 100), 0.9)
    weights = rng.integers(1, 4, 300).astype(np.float64)
    weights[:5] = 0.0
    few = kind(3, random_state=0).fit(x, sample_weight=scale * weights / weights.max())
    many = kind(3, random_state=0).fit(x, sample_weight=weights * 295 / weights.sum())
    np.testing.assert_array_equal(few.labels_, many.labels_)
    np.testing.assert_allclose(few.means_, many.means_, atol=1e-9)
    assert len(set(few.labels_.tolist())) == 3


def test_a_fit_that_leaves_one_cluster_warns() -> None:
    rng = np.random.default_rng(1)
    x = directions(rng, 30, 200)
    with pytest.warns(ConvergenceWarning, match="VMFMixture puts all rows into 1 of 3 clusters"):
        VMFMixture(3, random_state=0).fit(x)


@pytest.mark.parametrize("kind", [VMFMixture, WatsonMixture])
def test_draws_are_those_of_the_components(kind: Any) -> None:
    x, _ = planted(a=0.9, n=300)
    model = kind(3, random_state=0).fit(x)
    drawn, labels = model.sample(30_000)
    assert drawn.shape == (30_000, 8)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1.0)
    assert np.bincount(labels) / 30_000 == pytest.approx(model.weights_, abs=0.01)
    assert np.array_equal(labels, np.sort(labels))
    again = clone(model).set_params(init=model.means_).fit(drawn)
    assert again.means_ == pytest.approx(model.means_, abs=0.02)
    assert again.concentrations_ == pytest.approx(model.concentrations_, rel=0.05)
    assert np.array_equal(model.sample(5)[0], model.sample(5)[0])
    with pytest.raises(ValueError, match="n_samples: expected an integer of at least 1, got 0"):
        model.sample(0)


@pytest.mark.parametrize(
    "model",
    [
        BayesianVMFMixture(3, random_state=0),
        DirichletProcessVMFMixture(4, random_state=0),
        HierarchicalVMFMixture(1, 3, random_state=0),
        OnlineVMFMixture(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_draws_have_the_expected_weights_means_and_concentrations(model: Any) -> None:
    fitted = model.fit(planted(a=0.9, n=300)[0])
    check_draws(fitted, fitted.means_)


def test_draws_are_those_of_the_newest_slice() -> None:
    x, _ = planted(a=0.9, n=300)
    fitted = TemporalVMFMixture(3, persistence=0.9, random_state=0).fit(
        np.vstack([x, np.roll(x, 1, axis=1)]), slices=np.repeat([0, 1], 300)
    )
    assert abs(fitted.means_[0] - fitted.means_[1]).max() > 0.1
    check_draws(fitted, fitted.means_[1])


def check_draws(fitted: Any, means: NDArray[Any]) -> None:
    drawn, labels = fitted.sample(30_000)
    assert np.bincount(labels, minlength=len(means)) / 30_000 == pytest.approx(
        fitted.weights_ / fitted.weights_.sum(), abs=0.01
    )
    for k in np.unique(labels):
        own = drawn[labels == k]
        cosine = bessel_ratio(8, fitted.concentrations_[k])
        assert own.mean(axis=0) @ means[k] == pytest.approx(cosine, abs=5 * (1 - cosine) / np.sqrt(len(own)))
        assert own.mean(axis=0) == pytest.approx(cosine * means[k], abs=4 / np.sqrt(8 * len(own)))
    assert np.array_equal(fitted.sample(5)[0], fitted.sample(5)[0])


def test_criteria_count_what_is_free_and_find_the_number_of_components() -> None:
    x, _ = planted(a=0.9, n=300)
    x[:2] = 0.0  # rows without direction do not count
    own = VMFMixture(3, concentration="own", random_state=0).fit(x)
    likelihood = own.score_samples(x[2:], relative_to_uniform=False).sum()
    assert own.bic(x) == pytest.approx((2 + 3 * 7 + 3) * np.log(298) - 2 * likelihood)
    assert own.aic(x) == pytest.approx(2 * (2 + 3 * 7 + 3) - 2 * likelihood)
    shared = VMFMixture(3, random_state=0).fit(x)
    assert shared.aic(x) == pytest.approx(2 * (2 + 3 * 7 + 1) - 2 * 298 * (shared.score(x) + float(log_c_uniform(8))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [VMFMixture(k, estimator="mle", random_state=0).fit(x).bic(x) for k in range(1, 7)]
    assert int(np.argmin(found)) + 1 == 3


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_criteria_need_a_row_with_a_direction(criterion: str) -> None:
    fitted = VMFMixture(3, random_state=0).fit(planted(a=0.9, n=300)[0])
    with pytest.raises(ValueError, match="X: expected a row with a direction, got 3 rows of zeros"):
        getattr(fitted, criterion)(np.zeros((3, 8)))


def test_probabilities_are_features_with_names() -> None:
    x, truth = planted(a=0.9)
    features = make_pipeline(VMFMixture(3, random_state=0), LogisticRegression()).fit(x, truth)
    assert features.score(x, truth) > 0.95
    model = features[0]
    assert np.array_equal(model.transform(x), model.predict_proba(x))
    assert model.get_feature_names_out().tolist() == ["vmfmixture0", "vmfmixture1", "vmfmixture2"]


@pytest.mark.parametrize("kind", [VMFMixture, WatsonMixture, SphericalKMeans, FrequencySensitiveKMeans])
def test_a_callable_gives_means(kind: Any) -> None:
    x, _ = planted(a=0.9)
    asked: list[Any] = []

    def rows_of_mine(rows: Any, k: int, rng: np.random.Generator) -> Any:
        asked.append((rows.shape, k, rng.random()))
        return rows[:k]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(3, init=rows_of_mine, n_init=4, random_state=0).fit(x)
        same = kind(3, init=rows_of_mine, n_init=1, random_state=0).fit(x)
    assert [one[:2] for one in asked] == [((90, 8), 3)] * 5
    assert len({one[2] for one in asked[:4]}) == 4
    assert model.means_ == pytest.approx(same.means_)
    with pytest.raises(ValueError, match=r"init: expected means of the shape \(3, 8\), got \(2, 8\)"):
        kind(3, init=lambda rows, k, rng: rows[:2]).fit(x)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("d", [2, 3, 16])
def test_rows_of_single_precision_have_their_concentration(d: int, storage: Any) -> None:
    """Of rows of kappa 1e5 on the circle 1 - r is 5e-6: sums of single precision gave 2.6 times the concentration."""
    x = vonmises_fisher(np.full(d, d**-0.5), 1e5).rvs(500, random_state=d)
    for kind in (VMFMixture, WatsonMixture):
        wide = kind(1, estimator="mle").fit(storage(x))
        narrow = kind(1, estimator="mle").fit(storage(x.astype(np.float32)))
        assert narrow.concentrations_ == pytest.approx(wide.concentrations_, rel=1e-3)
        assert narrow.score(storage(x.astype(np.float32))) == pytest.approx(wide.score(x), abs=1e-3)


def test_starts_compete_in_a_sample_of_many_rows() -> None:
    """Default fits of many rows cost little more than one start, and find what all rows as a whole would."""
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=5000)
    x = vmf_rows(rng, np.eye(8)[:5], labels, 0.8)
    told: list[int] = []

    def start(rows: NDArray[np.float64], k: int, rng: np.random.Generator) -> NDArray[np.float64]:
        told.append(len(rows))
        return np.asarray(rows[rng.choice(len(rows), k, replace=False)])

    few = VMFMixture(5, init=start, random_state=0).fit(x)
    assert told == [2000] * 3
    told.clear()
    whole = VMFMixture(5, init=start, n_init=3, random_state=0).fit(x)
    assert told == [5000] * 3
    assert few.lower_bound_ == pytest.approx(whole.lower_bound_, abs=1e-3)
    assert adjusted_rand_score(labels, few.labels_) > 0.95
    told.clear()
    VMFMixture(5, init=start, random_state=0).fit(x[:3999])
    VMFMixture(5, init=start, warm_start=True, random_state=0).fit(x)
    assert told == [3999] * 3 + [2000] * 3
    for options in (
        {"assignment": "hybrid"},
        {"assignment": "hard"},
        {"concentration": "own"},
        {"weights_init": [1e6, 1, 1, 1, 1]},
    ):
        model = VMFMixture(5, random_state=0, **options).fit(x)
        assert adjusted_rand_score(labels, model.labels_) > 0.95
        assert model.converged_
    assert model.lower_bounds_[0] == pytest.approx(model.lower_bound_, abs=0.05)  # weights_init is for the starts only


def test_many_rows_of_double_precision_are_fitted_in_single_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x = vmf_rows(rng, np.eye(20)[:5], rng.integers(5, size=5000), 0.8)
    fits: list[tuple[type, int]] = []
    climbed = VMFMixture._climbed

    def told(self: Any, rows: Any, *start: Any, **options: Any) -> Any:
        found = climbed(self, rows, *start, **options)
        fits.append((rows.dtype.type, len(found.trace) - 1))
        return found

    monkeypatch.setattr(VMFMixture, "_climbed", told)
    model = VMFMixture(5, tol=1e-6, random_state=0).fit(x)
    (coarse, swept), (fine, more) = fits[-2:]
    assert (coarse, fine) == (np.float32, np.float64)
    assert swept > more
    assert model.n_iter_ == swept + more == len(model.lower_bounds_) - 1
    again = VMFMixture(5, init=model.means_, weights_init=model.weights_, anneal=False, tol=1e-6, random_state=0).fit(x)
    assert again.lower_bound_ == pytest.approx(model.lower_bound_, abs=1e-5)
    for steps in (1, 2, 3):
        with pytest.warns(ConvergenceWarning):
            short = VMFMixture(5, max_iter=steps, tol=1e-12, random_state=0).fit(x)
        assert short.n_iter_ == steps == len(short.lower_bounds_) - 1
        assert fits[-1][0] is np.float64
        assert fits[-1][1] >= 1


def test_rows_are_drawn_by_their_weights() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=5000)
    x = vmf_rows(rng, np.eye(8)[:4], labels, 0.8)
    weight = np.where(labels == 0, 0.0, rng.integers(1, 4, 5000))
    model = VMFMixture(3, random_state=0).fit(x, sample_weight=weight)
    assert adjusted_rand_score(labels[labels > 0], model.labels_[labels > 0]) > 0.95
    copies = np.repeat(np.arange(5000), weight.astype(int))
    again = VMFMixture(3, random_state=0).fit(x[copies])
    np.testing.assert_array_equal(again.labels_, model.labels_[copies])
    assert again.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-12)


def test_rows_of_large_weight_are_among_those_drawn() -> None:
    weight = np.append(np.ones(4000), 1e6)
    rows = np.eye(2)[np.zeros(4001, int)]
    part = Distinct(rows, weight, np.arange(4001)).sample(2000, np.random.default_rng(0))
    assert part is not None
    assert part.weight is not None
    assert part.weight.sum() == 2000
    assert part.weight.max() > 1950
    assert Distinct(rows, weight, np.arange(4001)).sample(2001, np.random.default_rng(0)) is None
