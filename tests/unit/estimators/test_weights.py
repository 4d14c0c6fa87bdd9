"""Weights are numbers of rows, and neither their order nor their copies matter to a fit."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.base import clone

from tests.tiers import all_but
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import (
    BayesianVMFMixture,
    DiametricalKMeans,
    DirichletProcessVMFMixture,
    FrequencySensitiveKMeans,
    HierarchicalVMFMixture,
    OnlineVMFMixture,
    SphericalCauchyMixture,
    SphericalKMeans,
    StoryMixture,
    TemporalVMFMixture,
    VMFHiddenMarkovModel,
    VMFMixture,
    WatsonMixture,
)
from vmfstream.arrays import Vector
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import moment_kappa_prior, moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.flat.maximum_a_posteriori import fit_modes
from vmfstream.bayes.flat.restarts import annealed
from vmfstream.bayes.hierarchical.prior import moment_tree_prior
from vmfstream.bayes.hierarchical.trees import regular_tree
from vmfstream.bayes.hierarchical.variational import fit_tree
from vmfstream.bayes.starts import annealed_starts
from vmfstream.bayes.temporal import fitting
from vmfstream.bayes.temporal.filtering import filter_fit
from vmfstream.bayes.temporal.fitting import EvolutionOptions, evolve
from vmfstream.bayes.temporal.meanfield import Links, fit_chain, started
from vmfstream.bayes.temporal.proportions import proportions
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.directional.params import Mixture
from vmfstream.directional.sphere import row_keys, unit_rows
from vmfstream.mixtures.annealing import melting
from vmfstream.mixtures.frequency_sensitive import default_scale, frequency_sensitive
from vmfstream.mixtures.movmf import fit
from vmfstream.mixtures.seeding import random_responsibilities
from vmfstream.mixtures.steps import m_step
from vmfstream.mixtures.sums import weighted

pytestmark = pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")

WEIGHTED = [
    VMFMixture(4),
    VMFMixture(4, init="random", estimator="debiased", assignment="hybrid", concentration="own"),
    VMFMixture(4, algorithm="incremental"),
    VMFMixture(4, init="perturbed-mean", assignment="hard", anneal=False),
    SphericalKMeans(4),
    SphericalKMeans(4, init="random", n_init=3),
    SphericalKMeans(4, init="agglomerative", local_search=5),
    VMFMixture(4, init="agglomerative"),
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


BAYESIAN = [
    BayesianVMFMixture(4, n_init=1),
    BayesianVMFMixture(4, init="annealed", concentration="own", assignment="hard"),
    BayesianVMFMixture(4, init="random", inference="map"),
    DirichletProcessVMFMixture(4),
    HierarchicalVMFMixture(2, 2, n_init=1),
    HierarchicalVMFMixture(2, 2, n_init=1, inference="meanfield"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("estimator", BAYESIAN, ids=str)
def test_weights_of_bayesian_models_are_repeated_rows_in_any_order(estimator: Any, storage: Any) -> None:
    x = planted()
    counts = np.random.default_rng(1).integers(0, 5, len(x))
    rows = np.random.default_rng(2).permutation(np.arange(len(x)).repeat(counts))
    once = clone(estimator).set_params(random_state=0).fit(storage(x), sample_weight=counts)
    copies = clone(estimator).set_params(random_state=0).fit(storage(x[rows]))
    plain = clone(estimator).set_params(random_state=0).fit(storage(x))
    assert once.lower_bounds_ == pytest.approx(copies.lower_bounds_, rel=1e-9)
    assert once.means_ == pytest.approx(copies.means_, abs=1e-9)
    assert once.weights_ == pytest.approx(copies.weights_, abs=1e-9)
    assert once.means_ != pytest.approx(plain.means_, abs=1e-3)
    assert np.array_equal(once.labels_[rows], copies.labels_)
    assert np.array_equal(once.labels_[counts == 0], once.predict(x[counts == 0]))
    relative = clone(estimator).set_params(random_state=0).fit(storage(x), sample_weight=1e-3 * counts)
    whole = clone(estimator).set_params(random_state=0)
    whole.fit(storage(x), sample_weight=counts * np.count_nonzero(counts) / counts.sum())
    assert relative.means_ == pytest.approx(whole.means_, abs=1e-7)  # modes are found to the root of rounding


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_bayesian_fits_of_weights_are_those_of_copies_that_nobody_merged(assignment: Any) -> None:
    """Estimators merge equal rows first, so that both would be wrong alike: here copies stay apart."""
    x, rng = planted(), np.random.default_rng(2)
    counts = rng.integers(1, 5, len(x))
    mass, copies, k = counts.astype(np.float64), x.repeat(counts, axis=0), 4
    resp = random_responsibilities(x, k, rng)
    prior, law = moment_prior(x, resp, k, alpha=1.5), moment_kappa_prior(x, resp, k)
    options: dict[str, Any] = {"kappa_prior": law, "assignment": assignment, "max_iter": 30}
    for fitted in (variational.fit, fit_modes):
        once = fitted(x, resp, k, prior, mass=mass, **options)
        many = fitted(copies, resp.repeat(counts, axis=0), k, prior, **options)
        assert once.trace == pytest.approx(many.trace, rel=1e-6)  # modes are found to the root of rounding
        assert once.resp.repeat(counts, axis=0) == pytest.approx(many.resp, abs=1e-6)
        assert once.trace[-1] != pytest.approx(fitted(x, resp, k, prior, **options).trace[-1], rel=1e-3)
    tree = regular_tree(2, 2)
    start = moment_tree_prior(x, resp, tree)
    for scheme in ("messages", "meanfield"):
        one = fit_tree(x, resp, tree, start, scheme, mass=mass, max_iter=10)
        all_of_them = fit_tree(copies, resp.repeat(counts, axis=0), tree, start, scheme, max_iter=10)
        assert one.trace == pytest.approx(all_of_them.trace, rel=1e-9)


TEMPORAL = [
    TemporalVMFMixture(3, persistence=0.9),
    TemporalVMFMixture(3, persistence="auto", proportions="logistic-normal", lag=1),
    TemporalVMFMixture(3, inference="filter", concentration="own", kappa="quadrature"),
    TemporalVMFMixture(3, inference="filter", start="first", proportions="dirichlet"),
    TemporalVMFMixture(3, inference="meanfield", empirical_bayes=("alpha", "mu0", "c0")),
    TemporalVMFMixture(3, inference="gibbs", n_draws=8, burn_in=4),
]


def in_slices() -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
    """Rows, their slices, one of which is empty, and how often they were seen."""
    rng, x = np.random.default_rng(1), planted()
    return x, rng.choice([2, 3, 5], len(x)), rng.integers(0, 4, len(x))


@pytest.mark.parametrize("estimator", all_but(TEMPORAL, *TEMPORAL[1:4]), ids=str)
def test_weights_of_temporal_models_are_repeated_rows_in_any_order(estimator: Any) -> None:
    x, slices, counts = in_slices()
    rows = np.random.default_rng(2).permutation(np.arange(len(x)).repeat(counts))
    once = clone(estimator).set_params(random_state=0).fit(x, sample_weight=counts, slices=slices)
    copies = clone(estimator).set_params(random_state=0).fit(csr_array(x[rows]), slices=slices[rows])
    plain = clone(estimator).set_params(random_state=0).fit(x, slices=slices)
    assert once.lower_bounds_ == pytest.approx(copies.lower_bounds_, rel=1e-9)
    assert once.means_ == pytest.approx(copies.means_, abs=1e-9)
    assert once.slice_weights_ == pytest.approx(copies.slice_weights_, abs=1e-9)
    assert once.lower_bound_ != pytest.approx(plain.lower_bound_, rel=1e-3)
    assert np.array_equal(once.labels_[rows], copies.labels_)
    assert once.labels_.min() == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "estimator", all_but([*WEIGHTED, *BAYESIAN, *TEMPORAL], *WEIGHTED[2:], *BAYESIAN[1:3], *TEMPORAL[1:4]), ids=str
)
def test_the_order_of_different_rows_does_not_matter(estimator: Any, seed: int) -> None:
    x, slices, _ = in_slices()
    mixed = np.random.default_rng(seed).permutation(len(x))
    temporal = isinstance(estimator, TemporalVMFMixture)
    given, moved = ({"slices": slices}, {"slices": slices[mixed]}) if temporal else ({}, {})
    one = clone(estimator).set_params(random_state=seed).fit(x, **given)
    other = clone(estimator).set_params(random_state=seed).fit(csr_array(x[mixed]), **moved)
    assert np.array_equal(one.labels_[mixed], other.labels_)


def test_a_row_without_weight_is_labelled_by_the_means_of_its_slice() -> None:
    turn = np.linspace(0.0, 1.0, 5)
    means = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]).transpose(2, 0, 1)
    rng = np.random.default_rng(0)
    x = np.concatenate([each[rng.integers(2, size=40)] + 0.1 * rng.standard_normal((40, 2)) for each in means])
    slices, weights = np.arange(5).repeat(40), np.ones(200)
    weights[::40] = 0.0
    found = TemporalVMFMixture(2, persistence=0.9, random_state=0).fit(x, sample_weight=weights, slices=slices)
    unseen = np.flatnonzero(weights == 0.0)
    cosines = np.einsum("tkd,td->tk", found.means_, x[unseen])
    assert np.array_equal(found.labels_[unseen], cosines.argmax(axis=1))
    for row in unseen:
        seen = (slices == slices[row]) & (weights > 0)
        nearest = np.flatnonzero(seen)[np.argmax(x[seen] @ x[row])]
        assert found.labels_[row] == found.labels_[nearest]


@pytest.mark.parametrize("inference", ["smoother", "filter", "meanfield"])
def test_slices_that_are_appended_may_have_weights(inference: str) -> None:
    x, slices, counts = in_slices()
    early = slices < 5
    given = TemporalVMFMixture(3, persistence=0.9, inference=inference, random_state=0)
    given.fit(x[early], slices=slices[early])
    once, copies = deepcopy(given), deepcopy(given)
    later = np.flatnonzero(~early)
    rows = later.repeat(counts[later])
    once.partial_fit(x[later], sample_weight=counts[later], slices=slices[later])
    copies.partial_fit(x[rows], slices=slices[rows])
    assert once.means_ == pytest.approx(copies.means_, abs=1e-9)
    assert once.slice_weights_ == pytest.approx(copies.slice_weights_, abs=1e-9)
    assert np.array_equal(once.labels_.repeat(counts[later]), copies.labels_)
    relative = deepcopy(given).partial_fit(x[later], sample_weight=np.full(len(later), 1e-6), slices=slices[later])
    assert relative.means_ == pytest.approx(given.partial_fit(x[later], slices=slices[later]).means_, abs=1e-9)


def test_temporal_fits_of_weights_are_those_of_copies_that_nobody_merged() -> None:
    x, slices, counts = in_slices()
    order = np.argsort(slices, kind="stable")
    ends = np.searchsorted(slices[order], [3, 4, 5])
    xs, each = np.split(x[order], ends), np.split(counts[order], ends)
    rng, k = np.random.default_rng(3), 3
    resps = [random_responsibilities(one, k, rng) for one in xs]
    masses = [one.astype(np.float64) for one in each]
    many = [(a.repeat(n, axis=0), b.repeat(n, axis=0)) for a, b, n in zip(xs, resps, each, strict=True)]
    copies, copied = [a for a, _ in many], [b for _, b in many]
    h0, anchor = np.zeros((x.shape[1], resps[0].shape[1])), np.full(x.shape[1], 0.4)
    chain: dict[str, Any] = {"betas": (0.5,), "lag": 2, "tol": 1e-9}
    given = (20.0, np.zeros(k), h0, anchor, 0.9, 1.0)
    smoothed = fit_smoother(xs, resps, *given, masses=masses, **chain)
    wanted = fit_smoother(copies, copied, *given, **chain)
    assert smoothed.trace == pytest.approx(wanted.trace, rel=1e-9)
    assert smoothed.counts == pytest.approx(wanted.counts, rel=1e-6)
    how: dict[str, Any] = {"omega": 0.9, "anchor": anchor, "kappa": "quadrature"}
    how["kappa_prior"] = moment_kappa_prior(xs[0], resps[0], k)
    filtered, alone = filter_fit(xs, resps, k, masses=masses, **how), filter_fit(copies, copied, k, **how)
    assert filtered.state.p == pytest.approx(alone.state.p, rel=1e-6, abs=1e-9)
    assert [one.bound for one in filtered.slices] == pytest.approx([one.bound for one in alone.slices], rel=1e-9)
    links, law = Links(h0 + anchor[:, None], 20.0), proportions("static", k, 4)
    once = started(xs, resps, [links.b] * 4, None, law, masses)
    often = started(copies, copied, [links.b] * 4, None, law)
    traces = fit_chain(xs, once, links, KappaModel()).trace, fit_chain(copies, often, links, KappaModel()).trace
    assert traces[0] == pytest.approx(traces[1], rel=1e-9)


def test_the_persistence_is_chosen_by_weighted_rows() -> None:
    """With one topic the start does not matter, so that copies may stay apart."""
    x, slices, counts = in_slices()
    order = np.argsort(slices, kind="stable")
    rows = order.repeat(counts[order])
    sizes, many = (np.bincount(slices[some] - 2, minlength=4).tolist() for some in (order, rows))
    options, mass = EvolutionOptions(persistence=None), counts[order].astype(np.float64)
    once = evolve(x[order], sizes, 1, options, np.random.default_rng(0), mass=mass)
    copies = evolve(x[rows], many, 1, options, np.random.default_rng(0))
    assert once.scores is not None
    assert once.scores == pytest.approx(copies.scores, rel=1e-6)
    assert once.trace == pytest.approx(copies.trace, rel=1e-6)
    assert once.scores != pytest.approx(evolve(x[order], sizes, 1, options, np.random.default_rng(0)).scores, rel=1e-3)


def test_topics_begin_from_weighted_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    x, slices, counts = in_slices()
    order, seen = np.argsort(slices, kind="stable"), list[Any]()

    def noted(*given: Any, weights: Any) -> Any:
        seen.append(weights)
        return annealed_starts(*given, weights=weights)

    monkeypatch.setattr(fitting, "annealed_starts", noted)
    sizes, mass = np.bincount(slices - 2).tolist(), counts[order].astype(np.float64)
    evolve(x[order], sizes, 3, EvolutionOptions(), np.random.default_rng(0), mass=mass)
    evolve(x[order], sizes, 3, EvolutionOptions("filter", start="first"), np.random.default_rng(0), mass=mass)
    assert np.array_equal(seen[0], mass)
    assert np.array_equal(seen[1], mass[: sizes[0]])


def test_starts_of_weights_are_those_of_copies() -> None:
    x, rng = planted(), np.random.default_rng(3)
    counts = rng.integers(1, 5, len(x))
    mass, copies = counts.astype(np.float64), x.repeat(counts, axis=0)
    resp = random_responsibilities(x, 4, rng)
    prior = moment_prior(x, resp, 4)
    once = annealed(x, resp, 4, prior, mass=mass)
    mixture = m_step(copies, resp.repeat(counts, axis=0), 4, estimator="mle")
    weighed = m_step(x, weighted(resp, mass), 4, estimator="mle")
    assert weighed.kappa == pytest.approx(mixture.kappa, rel=1e-12)
    many = annealed(copies, resp.repeat(counts, axis=0), 4, prior)
    assert once.argmax(axis=1).repeat(counts).tolist() == many.argmax(axis=1).tolist()


@pytest.mark.parametrize("init", ["annealed-em", "labels"])
def test_weights_of_gibbs_sampling_are_repeated_rows_too(init: str) -> None:
    x = planted()
    counts, labels = np.random.default_rng(1).integers(0, 4, len(x)), np.arange(60) % 4
    options: dict[str, Any] = {"inference": "gibbs", "n_init": 1, "n_draws": 3, "burn_in": 0, "random_state": 0}
    once = BayesianVMFMixture(4, init=labels if init == "labels" else init, **options)
    copies = BayesianVMFMixture(4, init=labels.repeat(counts) if init == "labels" else init, **options)
    once.fit(x, sample_weight=counts)
    copies.fit(x.repeat(counts, axis=0))
    assert once.lower_bounds_ == pytest.approx(copies.lower_bounds_, rel=1e-9)
    assert np.array_equal(once.labels_.repeat(counts), copies.labels_)
    assert once.weights_ == pytest.approx(copies.weights_, abs=1e-12)
    assert len(once.labels_) == 60
    with pytest.raises(ValueError, match=r"sample_weight: expected whole numbers .*, got 1\.5"):
        once.fit(x, sample_weight=np.full(60, 1.5))


@pytest.mark.parametrize("kind", [VMFMixture, WatsonMixture, SphericalCauchyMixture])
def test_weights_of_the_first_e_step_are_given(kind: Any) -> None:
    x = planted(n=200)
    options: dict[str, Any] = {"init": x[:2], "max_iter": 1, "tol": 0.0}
    if kind is VMFMixture:
        options |= {"anneal": False, "concentration": "own"}
    plain = kind(2, **options).fit(x)
    given = kind(2, weights_init=[30, 10], **options).fit(x)
    same = kind(2, weights_init=np.array([0.75, 0.25]), **options).fit(x)
    start = kind(2, **options, warm_start=True).fit(x)
    assert given.lower_bounds_[0] != pytest.approx(plain.lower_bounds_[0], abs=1e-4)
    assert given.lower_bounds_ == pytest.approx(same.lower_bounds_, rel=1e-12)
    before = start.lower_bounds_[-1]
    start.set_params(weights_init=[0.75, 0.25]).fit(x)  # a warm start keeps the weights of the last fit
    assert start.lower_bounds_[0] == pytest.approx(before)
    for bad, message in (
        ([1.0], r"weights_init: expected 2 weights, got the shape \(1,\)"),
        ([1.0, 0.0], "weights_init: expected finite weights above 0, got 0.0 at 1"),
        (1.0, "weights_init: expected an array or None, got 1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(2, weights_init=bad).fit(x)


def test_the_first_e_step_is_that_of_the_given_weights() -> None:
    """One M-step after it, the weights are the mean responsibilities under the start with these weights."""
    x = planted(n=200)
    options: dict[str, Any] = {"init": x[:2], "anneal": False, "estimator": "mle", "n_init": 1}
    labels = (x @ x[:2].T).argmax(axis=1)
    means = np.stack([x[labels == j].sum(axis=0) for j in range(2)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    model = VMFMixture(2, weights_init=[0.9, 0.1], max_iter=1, tol=0.0, **options).fit(x)
    r = np.linalg.norm(x[labels == 0].sum(axis=0)) + np.linalg.norm(x[labels == 1].sum(axis=0))
    kappa = float(inv_bessel_ratio(6, r / 200))
    scores = kappa * x @ means.T + np.log([0.9, 0.1])
    assert model.weights_ == pytest.approx(softmax(scores, axis=1).mean(axis=0), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (VMFMixture(3), "nats a row"),
        (WatsonMixture(3), "nats a row"),
        (SphericalCauchyMixture(3), "nats a row"),
        (VMFHiddenMarkovModel(3), "nats a row"),
        (SphericalKMeans(3), "mean cosine"),
        (FrequencySensitiveKMeans(3), "mean cosine"),
        (FrequencySensitiveKMeans(3, mode="online"), "mean cosine"),
        (DiametricalKMeans(3), "mean squared cosine"),
        (BayesianVMFMixture(3), "bound in nats"),
        (BayesianVMFMixture(3, inference="map"), "log joint density"),
        (BayesianVMFMixture(3, inference="gibbs", n_draws=3, burn_in=3), "log joint density"),
        (DirichletProcessVMFMixture(3), "bound in nats"),
        (HierarchicalVMFMixture(1, 3), "bound in nats"),
        (TemporalVMFMixture(3), "bound in nats"),
        (TemporalVMFMixture(3, inference="filter"), "bound in nats"),
    ],
    ids=str,
)
def test_verbose_fits_print_a_line_a_sweep(model: Any, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = planted()
    clone(model).set_params(random_state=0).fit(x)
    assert capsys.readouterr().out == ""
    found = clone(model).set_params(random_state=0, verbose=1).fit(x)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(f"{type(model).__name__}, sweep ") for line in lines)
    own = [line for line in lines if says in line]
    assert len(own) >= found.n_iter_
    value = float(own[-1].rsplit(" ", 1)[1])
    if not isinstance(model, BayesianVMFMixture | TemporalVMFMixture) and getattr(model, "n_init", 1) == 1:
        bound = found.lower_bound_ * (len(x) if "bound" in says else 1)
        assert value == pytest.approx(bound, rel=1e-4)
    with pytest.raises(ValueError, match="verbose: expected an integer of at least 0 or True or False, got 'yes'"):
        clone(model).set_params(verbose="yes").fit(x)


@pytest.mark.parametrize("kind", [BayesianVMFMixture, DirichletProcessVMFMixture])
def test_weights_of_1_change_nothing(kind: Any) -> None:
    x = np.random.default_rng(0).standard_normal((150, 6))
    fits = [
        kind(4, init="k-means++", max_iter=1000, random_state=0).fit(x, sample_weight=w) for w in (None, np.ones(150))
    ]
    np.testing.assert_array_equal(*(fit.labels_ for fit in fits))


@pytest.mark.parametrize("total", [1e13, 1e16, 1e300, 1.5e308])
def test_weights_beyond_all_doubt_are_refused(total: float) -> None:
    """Fits looked for a peak narrower than the distance of two numbers, for ever, or ended with NaN."""
    x = np.random.default_rng(0).standard_normal((40, 5))
    for model in (BayesianVMFMixture(2), HierarchicalVMFMixture(2, 2), DirichletProcessVMFMixture(2), VMFMixture(2)):
        with pytest.raises(ValueError, match="sample_weight: expected at most 1e\\+12 observations in all, got "):
            model.fit(x, sample_weight=np.full(40, total / 2))
        model.fit(x, sample_weight=np.full(40, 1e10))


def test_rows_are_not_copied_without_end() -> None:
    x = np.random.default_rng(0).standard_normal((3, 5))
    for model in (OnlineVMFMixture(2), StoryMixture()):
        with pytest.raises(
            ValueError, match=r"sample_weight: expected at most 1,000,000,000 in all where .*, got 1e\+11"
        ):
            model.partial_fit(x, sample_weight=[1e11, 1, 1])


def test_weights_that_are_no_numbers_are_named() -> None:
    x = np.random.default_rng(0).standard_normal((3, 5))
    for model in (VMFMixture(2), OnlineVMFMixture(2), StoryMixture()):
        with pytest.raises(ValueError, match=r"sample_weight: expected an array of numbers, got \['a', 'b', 'c'\]"):
            model.fit(x, sample_weight=["a", "b", "c"])
