"""Hidden Markov models: passes by enumeration of all paths, ascent, planted chains, and scikit-learn's own checks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import nmi
from vmfstream import VMFHiddenMarkovModel, VMFMixture, VonMisesFisher
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Mixture
from vmfstream.estimators import hidden_markov
from vmfstream.mixtures.em import Expectation
from vmfstream.mixtures.hidden_markov import (
    HiddenMarkovChain,
    HiddenMarkovFit,
    _ChainModel,
    fit,
    likeliest,
    passes,
    scores,
)


@parametrize_with_checks(
    [VMFHiddenMarkovModel(3, max_iter=2000, random_state=0)], expected_failed_checks=lambda _: EXPECTS_CLASSIFIER
)
@pytest.mark.filterwarnings("ignore:.* puts all rows into")  # some checks have no clusters
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def chain_of(k: int, rng: np.random.Generator, d: int = 3) -> HiddenMarkovChain:
    means = np.zeros((d, padded(k)))
    means[:, :k] = rng.standard_normal((d, k))
    means[:, :k] /= np.linalg.norm(means[:, :k], axis=0)
    transitions = rng.dirichlet(np.full(k, 0.7), k)
    return HiddenMarkovChain(np.full(k, 1 / k), means, rng.uniform(1, 20, k), rng.dirichlet(np.ones(k)), transitions)


def enumerated(
    score: NDArray[np.float64], chain: HiddenMarkovChain, first: NDArray[np.bool_]
) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """All paths, and the log of their joint probability with the rows."""
    n, k = score.shape
    paths = list(product(range(k), repeat=n))
    with np.errstate(divide="ignore"):
        start, transitions = np.log(chain.start), np.log(chain.transitions)
    logs = [
        sum(
            score[t, z[t]] + (start[z[t]] if first[t] else transitions[z[t - 1], z[t]])  # the chain, as it is defined
            for t in range(n)
        )
        for z in paths
    ]
    return paths, np.array(logs)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("begins", [[0], [0, 3], [0, 1, 5]])
def test_passes_agree_with_all_paths(seed: int, begins: list[int]) -> None:
    rng = np.random.default_rng(seed)
    chain, n = chain_of(3, rng), 6
    if seed == 5:  # some transitions are impossible
        chain.transitions[0] = [0.0, 1.0, 0.0]
        chain.start[:] = [0.0, 0.25, 0.75]
    first = np.isin(np.arange(n), begins)
    score = rng.normal(0, 3, (n, 3))
    paths, logs = enumerated(score, chain, first)
    z = np.array(paths)
    weight = np.exp(logs - logsumexp(logs))
    found = passes(score, chain, first)
    assert found.loglik.sum() == pytest.approx(logsumexp(logs), abs=1e-10)
    for t in range(n):
        np.testing.assert_allclose(found.smoothed[t], [weight[z[:, t] == k].sum() for k in range(3)], atol=1e-12)
    pairs = np.zeros((3, 3))
    for t in np.flatnonzero(~first).tolist():
        np.add.at(pairs, (z[:, t - 1], z[:, t]), weight)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-12)
    for t in range(n):  # filtered: as if the rows after it were not there
        before, part = enumerated(score[: t + 1], chain, first[: t + 1])
        at = np.array(before)[:, t]
        share = np.exp(part - logsumexp(part))
        np.testing.assert_allclose(found.filtered[t], [share[at == k].sum() for k in range(3)], atol=1e-12)
    assert tuple(likeliest(score, chain, first)) == paths[int(logs.argmax())]


def test_scores_that_are_far_apart_are_not_lost() -> None:
    chain = chain_of(2, np.random.default_rng(0))
    chain.transitions[:] = [[1.0, 0.0], [0.0, 1.0]]
    chain.start[:] = 0.5
    score = np.array([[0.0, -2000.0], [-3000.0, 0.0]])  # only the second row tells that all were in the second state
    found = passes(score, chain, np.array([True, False]))
    assert found.filtered[0].tolist() == [1.0, 0.0]
    assert found.smoothed.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.loglik.sum() == pytest.approx(np.log(0.5) - 2000.0)
    assert likeliest(score, chain, np.array([True, False])).tolist() == [1, 1]


def planted(seed: int = 0, d: int = 10, n: int = 600) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A chain of three states that stay for 20 rows on average, with means that overlap."""
    rng = np.random.default_rng(seed)
    moves = np.where(rng.random(n) < 0.05, rng.integers(1, 3, n), 0)
    states: NDArray[np.int64] = moves.cumsum() % 3
    x = np.empty((n, d))
    for k in range(3):
        mean = np.full(d, 0.35)
        mean[k] = 1.0
        rows = states == k
        x[rows] = VonMisesFisher(mean / np.linalg.norm(mean), 12.0).rvs(int(rows.sum()), rng)
    return x, states


def test_neighbours_help() -> None:
    x, states = planted()
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    alone = nmi(VMFMixture(3, max_iter=1000, random_state=0).fit(x).labels_, states)
    together = nmi(model.labels_, states)
    assert together > 0.75 > 0.6 > alone
    stay = np.diag(model.transmat_)
    np.testing.assert_allclose(stay, 0.95, atol=0.03)
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0)
    assert model.concentrations_[0] == pytest.approx(12.0, rel=0.1)


@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_the_likelihood_never_falls(concentration: str) -> None:
    x, _ = planted(1, n=200)
    model = VMFHiddenMarkovModel(4, estimator="mle", concentration=concentration, tol=0.0, max_iter=40, random_state=1)
    with pytest.warns(match="has not converged"):
        bounds = model.fit(x).lower_bounds_
    assert len(bounds) == 41
    assert (np.diff(bounds) > -1e-12).all()
    assert bounds[-1] > bounds[0]


def test_sweeps_end_where_the_likelihood_is_stationary() -> None:
    """No small change of start, transitions or concentrations betters a fit by maximum likelihood."""
    x, _ = planted(2, n=150)
    model = VMFHiddenMarkovModel(2, estimator="mle", concentration="own", tol=1e-12, max_iter=3000, random_state=0)
    model.fit(x)
    best = model.score(x)
    for k, step in product(range(2), (-1e-3, 1e-3)):
        fitted = model.transmat_, model.concentrations_
        moved = fitted[0].copy()
        moved[k] += [step, -step]
        model.transmat_ = moved
        assert model.score(x) < best
        model.transmat_ = fitted[0]
        model.concentrations_ = fitted[1] * np.where(np.arange(2) == k, np.exp(step), 1.0)
        assert model.score(x) < best
        model.concentrations_ = fitted[1]


def test_one_state_is_one_distribution() -> None:
    x, _ = planted(3, n=100)
    model = VMFHiddenMarkovModel(1, estimator="mle").fit(x)
    single = VMFMixture(1, estimator="mle").fit(x)
    assert model.score(x) == pytest.approx(single.score(x), abs=1e-12)
    assert model.transmat_.tolist() == [[1.0]]


def test_equal_transitions_are_a_mixture() -> None:
    x, _ = planted(4, n=100)
    mixture = VMFMixture(3, random_state=0).fit(x)
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    model.means_, model.concentrations_ = mixture.means_, mixture.concentrations_
    model.startprob_, model.transmat_ = mixture.weights_, np.tile(mixture.weights_, (3, 1))
    np.testing.assert_allclose(model.score_samples(x), mixture.score_samples(x), atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(x), mixture.predict_proba(x), atol=1e-10)
    np.testing.assert_array_equal(model.predict(x), mixture.predict(x))


def test_sequences_know_nothing_of_each_other() -> None:
    x, _ = planted(5)
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x, lengths=[200, 400])
    both = model.predict_proba(x, lengths=[200, 400])
    np.testing.assert_allclose(both[:200], model.predict_proba(x[:200]), atol=1e-12)
    np.testing.assert_allclose(both[200:], model.predict_proba(x[200:]), atol=1e-12)
    np.testing.assert_array_equal(model.predict(x, lengths=[200, 400])[200:], model.predict(x[200:]))
    density = model.score_samples(x, lengths=[200, 400])
    np.testing.assert_allclose(density[200:], model.score_samples(x[200:]), atol=1e-12)
    assert model.score(x, lengths=[200, 400]) == pytest.approx(density.mean())


def test_filtered_probabilities_do_not_know_the_future() -> None:
    x, _ = planted(6, n=300)
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    filtered = model.predict_proba(x, filtered=True)
    np.testing.assert_allclose(filtered[:100], model.predict_proba(x[:100], filtered=True), atol=1e-12)
    np.testing.assert_allclose(filtered[99], model.predict_proba(x[:100])[99], atol=1e-12)
    assert abs(filtered - model.predict_proba(x)).max() > 0.1


def test_a_row_without_direction_takes_its_state_from_its_neighbours() -> None:
    x, _ = planted(7, n=300)
    x[150] = 0.0
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    assert model.labels_[150] == model.predict(x)[150] == -1
    assert model.n_empty_rows_ == 1
    probability = model.predict_proba(x)
    assert probability[150].argmax() == probability[149].argmax() == probability[151].argmax()
    density = model.score_samples(x)
    assert density[150] == pytest.approx(0.0)
    assert model.score(x) == pytest.approx(np.delete(density, 150).mean())
    shifted = model.predict_proba(np.delete(x, 150, axis=0))
    assert abs(shifted[149] - probability[149]).max() > 1e-6  # time passes where nothing is seen


def test_rows_without_direction_have_no_part_in_the_states() -> None:
    x, _ = planted(11, n=60)
    model = VMFHiddenMarkovModel(1).fit(np.vstack([x, np.zeros((60, 10))]))
    alone = VMFHiddenMarkovModel(1).fit(x)
    np.testing.assert_allclose(model.means_, alone.means_)
    assert model.concentrations_[0] == pytest.approx(alone.concentrations_[0])


@pytest.mark.filterwarnings("ignore:.* puts all rows into")
def test_states_without_rows_come_last_with_their_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.eye(4)[np.repeat([0, 1, 0, 1], [9, 3, 4, 5])]
    model = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    assert model.labels_.max() == 1

    def emptied_first(*given: Any, **options: Any) -> HiddenMarkovFit:
        found = fit(*given, **options)
        chain, order = found.chain, [2, 1, 0]
        mu = chain.mu.copy()
        mu[:, :3] = mu[:, order]
        transitions = chain.transitions[np.ix_(order, order)]
        turned = HiddenMarkovChain(chain.pi[order], mu, chain.kappa[order], chain.start[order], transitions)
        return replace(found, chain=turned)

    monkeypatch.setattr(hidden_markov, "fit", emptied_first)
    again = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    assert again.labels_.max() == 1
    assert again.score(x) == pytest.approx(again.lower_bound_, abs=1e-12)
    np.testing.assert_array_equal(again.predict(x), again.labels_)


def test_sparse_rows_and_single_precision_give_the_same() -> None:
    x, _ = planted(8, d=40, n=200)
    base = VMFHiddenMarkovModel(3, random_state=0).fit(x)
    np.testing.assert_array_equal(VMFHiddenMarkovModel(3, random_state=0).fit(csr_array(x)).labels_, base.labels_)
    single = VMFHiddenMarkovModel(3, random_state=0).fit(x.astype(np.float32))
    np.testing.assert_array_equal(single.labels_, base.labels_)
    np.testing.assert_allclose(single.transmat_, base.transmat_, atol=1e-4)


def test_draws_have_the_chain_that_they_come_from() -> None:
    model = VMFHiddenMarkovModel(3, random_state=0).fit(planted(9)[0])
    model.transmat_ = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])
    x, states = model.sample(20_000)
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(pairs / pairs.sum(axis=1, keepdims=True), model.transmat_, atol=0.02)
    again = VMFHiddenMarkovModel(3, random_state=1).fit(x)
    cosine = again.means_ @ model.means_.T
    np.testing.assert_allclose(cosine.max(axis=1), 1.0, atol=1e-3)
    order = cosine.argmax(axis=1)
    np.testing.assert_allclose(again.transmat_, model.transmat_[np.ix_(order, order)], atol=0.02)
    np.testing.assert_array_equal(model.sample(5)[0], model.sample(5)[0])
    with pytest.raises(ValueError, match="n_samples: expected an integer"):
        model.sample(0)


def test_a_state_without_rows_starts_again() -> None:
    x, _ = planted(10, n=120)
    first = np.arange(120) == 0
    model = _ChainModel(x, 3, first, "shared", "marginal", 1)
    chain = fit(x, 3, first, rng=np.random.default_rng(0)).chain
    chain.transitions[:, 2] = 0.0
    chain.transitions[:] /= chain.transitions.sum(axis=1, keepdims=True)
    chain.start[2] = 0.0
    found: Expectation[Any] = model.e_step(chain)
    assert found.nk[2] == 0.0
    kept = model.m_step(chain, found, 1)
    np.testing.assert_array_equal(kept.mu[:, 2], chain.mu[:, 2])
    begun = model.restart(chain, found, 1, np.array([2]), np.array([7]))
    np.testing.assert_allclose(found.statistics.resp.sum(axis=1), 1.0)
    np.testing.assert_allclose(begun.mu[:, 2], x[7], atol=1e-12)
    assert isinstance(begun, HiddenMarkovChain)
    assert (begun.transitions > 0.03).all()
    np.testing.assert_allclose(begun.transitions.sum(axis=1), 1.0)
    assert model.e_step(begun).nk[2] > 0.0


@pytest.mark.parametrize("lengths", [[], [3, 6], [0, 10], [-1, 11], [2.5, 7.5], 10, [[5], [5]], ["a"]])
def test_lengths_that_are_none(lengths: Any) -> None:
    x, _ = planted(n=10)
    with pytest.raises(ValueError, match="lengths: expected positive integers with the sum 10, the number of rows"):
        VMFHiddenMarkovModel(2, random_state=0).fit(x, lengths=lengths)


@pytest.mark.parametrize(
    "wrong", [{"n_components": 0}, {"estimator": "exact"}, {"init": np.eye(2)}, {"tol": -1.0}, {"concentration": 3}]
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        VMFHiddenMarkovModel(**({"n_components": 2} | wrong)).fit(planted(n=10)[0])


def test_scores_are_log_densities() -> None:
    rng = np.random.default_rng(0)
    chain = chain_of(3, rng)
    x = rng.standard_normal((5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    uniform = VonMisesFisher(np.eye(3)[0], 0.0).logpdf(x)
    states = Mixture(chain.pi, chain.mu, chain.kappa)
    for k in range(3):
        expected = VonMisesFisher(chain.mu[:, k], float(chain.kappa[k])).logpdf(x) - uniform
        np.testing.assert_allclose(scores(x, states)[:, k], expected, atol=1e-10)
