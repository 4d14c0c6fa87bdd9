"""Gibbs sampling: conditionals and long-run frequencies against enumeration of every labelling."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.data import golden_file
from tests.tiers import first_of
from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat import gibbs
from vmfstream.bayes.predictive import predictive
from vmfstream.mixtures.options import Concentration

CASES = json.loads(golden_file("tiny_gibbs.json").read_text())["cases"]


def tiny(case: dict[str, Any]) -> tuple[NDArray[np.float64], Prior, KappaPrior]:
    prior = Prior(case["alpha"], case["C0"] * np.array(case["mu0"]))
    return np.array(case["X"]), prior, KappaPrior(case["m"], case["sigma2"])


def together(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often two documents share a topic."""
    return np.asarray((labels[:, :, None] == labels[:, None, :]).mean(axis=0))


@pytest.mark.parametrize("case", CASES)
def test_conditionals_are_those_of_the_enumeration(case: dict[str, Any]) -> None:
    x, prior, _ = tiny(case)
    expected = np.array(case["fixed_kappa"]["single_site_conditionals"])
    for z, exact in zip(case["assignments"], expected, strict=True):
        for rows in (x, csr_array(x)):
            found = gibbs.conditionals(rows, np.array(z), case["K"], prior, np.array(case["kappa"]))
            assert found == pytest.approx(exact, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("case", first_of(CASES))
def test_collapsed_chain_visits_labellings_as_often_as_they_are_likely(case: dict[str, Any]) -> None:
    x, prior, law = tiny(case)
    start = np.array(case["assignments"][5])
    known = gibbs.fit(
        x,
        start,
        case["K"],
        prior,
        rng=np.random.default_rng(0),
        kappa=np.array(case["kappa"]),
        concentration="own",
        draws=5000,
    )
    assert together(known.labels) == pytest.approx(np.array(case["fixed_kappa"]["coclustering"]), abs=0.03)
    drawn = gibbs.fit(
        x,
        start,
        case["K"],
        prior,
        rng=np.random.default_rng(1),
        kappa_prior=law,
        concentration="own",
        draws=2000,
    )
    assert together(drawn.labels) == pytest.approx(np.array(case["integrated_kappa"]["coclustering"]), abs=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("case", first_of(CASES))
def test_sweeps_leave_the_posterior_as_it_is(case: dict[str, Any]) -> None:
    # many short chains from exact draws: unlike one long chain, this needs no mixing
    x, prior, _ = tiny(case)
    exact, labellings = np.array(case["fixed_kappa"]["posterior"]), np.array(case["assignments"])
    rng = np.random.default_rng(2)
    for collapsed in (True, False):
        counts = np.zeros(len(exact))
        for i in rng.choice(len(exact), p=exact, size=1500):
            run = gibbs.fit(
                x,
                labellings[i],
                case["K"],
                prior,
                rng=rng,
                kappa=np.array(case["kappa"]),
                concentration="own",
                collapsed=collapsed,
                draws=1,
                burn_in=0,
            )
            counts[int(run.labels[0] @ case["K"] ** np.arange(case["N"])[::-1])] += 1
        frequent = exact * 1500 > 5
        spread = np.sqrt(1500 * exact * (1 - exact))
        assert np.array_equal(labellings @ case["K"] ** np.arange(case["N"])[::-1], np.arange(len(exact)))
        assert (np.abs(counts - 1500 * exact) < 4 * spread)[frequent].all()


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_concentrations_follow_their_conditional(case: dict[str, Any]) -> None:
    x, prior, law = tiny(case)
    given = case["kappa_conditional"]
    state = gibbs.GibbsState(x, np.array(given["z"]), case["K"], prior, law, None, "own")
    rng = np.random.default_rng(3)
    chain = np.empty((1500, case["K"]))
    for i in range(len(chain)):
        state.draw_kappa(rng)
        chain[i] = state.kappa
    for j, exact in enumerate(given["per_cluster"]):
        mean_log = next(v for key, v in exact.items() if "log" in key and "mean" in key)
        assert np.log(chain[:, j]).mean() == pytest.approx(mean_log, abs=0.06)


@pytest.mark.parametrize("case", CASES)
def test_density_of_a_concentration_is_the_joint_density_as_its_function(case: dict[str, Any]) -> None:
    x, prior, law = tiny(case)
    u = np.array([-1.0, 0.5, 2.0, 4.0])
    groups: dict[Concentration, slice] = {"shared": slice(None), "own": slice(1, 2)}
    for concentration, topics in groups.items():
        z = np.array(case["kappa_conditional"]["z"])
        state = gibbs.GibbsState(x, z, case["K"], prior, law, None, concentration)
        joint = []
        for value in u:
            state.kappa[-1] = np.exp(value)
            joint.append(state.log_joint())
        found = state.kappa_target(topics)(u)
        assert found - found[0] == pytest.approx(np.array(joint) - joint[0], abs=1e-9)


def planted(d: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(d)
    labels = rng.integers(3, size=90)
    return vmf_rows(rng, directions(rng, 3, d), labels, 0.7), labels


@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("collapsed", [True, False])
def test_topics_are_found_from_random_labels(concentration: Any, collapsed: bool) -> None:
    x, labels = planted(5)
    prior = moment_prior(x, labels, 3)
    run = gibbs.fit(
        x,
        np.random.default_rng(0).integers(3, size=90),
        3,
        prior,
        rng=np.random.default_rng(1),
        kappa_prior=KappaPrior(1.0, 1.0),
        concentration=concentration,
        collapsed=collapsed,
    )
    assert nmi(labels, run.resp[:, :3].argmax(axis=1)) > 0.8
    assert run.trace[-1] > run.trace[0]
    assert run.kappas.shape == (100, 1 if concentration == "shared" else 3)
    assert run.pis.sum(axis=1) == pytest.approx(np.ones(100))
    assert run.resp.sum(axis=1) == pytest.approx(np.ones(90))
    weights = np.log(run.rho / run.rho.sum())
    assert predictive(x, run.f, run.gamma, float(run.kappa.mean()), weights).mean() > 0.3


def test_names_of_topics_do_not_change_between_draws() -> None:
    x, labels = planted(3)
    run = gibbs.fit(
        x, labels, 3, moment_prior(x, labels, 3), rng=np.random.default_rng(0), kappa_prior=KappaPrior(1.0, 1.0)
    )
    best = run.labels[int(run.trace[-100:].argmax())]
    for drawn in run.labels:
        other = [np.array(names)[drawn] for names in itertools.permutations(range(3))]
        assert (drawn == best).sum() == max((renamed == best).sum() for renamed in other)


def test_trace_is_the_joint_density_of_the_enumeration() -> None:
    case = CASES[0]
    x, prior, _ = tiny(case)
    joint = np.array(case["fixed_kappa"]["log_joint"])
    found = [
        gibbs.GibbsState(x, np.array(z), case["K"], prior, None, np.array(case["kappa"]), "own").log_joint()
        for z in case["assignments"]
    ]
    assert np.subtract(found, found[0]) == pytest.approx(joint - joint[0], abs=1e-9)


def test_rows_without_direction_take_no_part() -> None:
    x, labels = planted(4)
    holes, named = np.insert(x, 10, 0.0, axis=0), np.insert(labels, 10, -7)
    prior = moment_prior(x, labels, 3)
    run = gibbs.fit(holes, named, 3, prior, rng=np.random.default_rng(0), kappa=5.0, draws=5)
    assert (run.labels[:, 10] == -1).all()
    assert not run.resp[10].any()
    assert not gibbs.conditionals(holes, named, 3, prior, 5.0)[10].any()
    kept = np.delete(gibbs.conditionals(holes, named, 3, prior, 5.0), 10, axis=0)
    assert kept == pytest.approx(gibbs.conditionals(x, labels, 3, prior, 5.0), abs=1e-12)


def test_same_seed_same_draws() -> None:
    x, labels = planted(4)
    prior = moment_prior(x, labels, 3)
    runs = [
        gibbs.fit(x, labels, 3, prior, rng=np.random.default_rng(7), kappa_prior=KappaPrior(1.0, 1.0), draws=5)
        for _ in range(2)
    ]
    assert np.array_equal(runs[0].labels, runs[1].labels)
    assert np.array_equal(runs[0].kappas, runs[1].kappas)


def test_bad_input_is_named() -> None:
    x, labels = planted(4)
    prior, rng = moment_prior(x, labels, 3), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"labels must have the shape \(90,\); got \(89,\)"):
        gibbs.fit(x, labels[1:], 3, prior, rng=rng, kappa=5.0)
    with pytest.raises(ValueError, match="labels must lie between 0 and 1; got 0 to 2"):
        gibbs.fit(x, labels, 2, prior, rng=rng, kappa=5.0)
    with pytest.raises(ValueError, match="kappa_prior is needed"):
        gibbs.fit(x, labels, 3, prior, rng=rng)
    with pytest.raises(ValueError, match="draws must be at least 1 and burn_in at least 0; got 0 and 5"):
        gibbs.fit(x, labels, 3, prior, rng=rng, kappa=5.0, draws=0, burn_in=5)
