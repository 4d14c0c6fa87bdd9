"""How concentrations are inferred: groups, known values, earlier documents, and a prior that is learnt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import KappaPrior, KappaRule, quadrature_factor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.mixtures.options import Concentration

D = 50
N = np.array([10.0, 10.0, 12.0])
T = 0.7 * N


def test_shared_and_own_factors() -> None:
    prior = KappaPrior(3.0, 0.5)
    shared = KappaModel("quadrature", prior, "shared").factor(D, N, T)
    assert shared.mean == pytest.approx(quadrature_factor(D, N.sum(), T.sum(), prior).mean)
    own = KappaModel("quadrature", prior, "own").factor(D, N, T)
    assert own.mean == pytest.approx(quadrature_factor(D, N, T, prior).mean)
    seen = KappaModel("quadrature", prior, "shared", np.array([100.0]), np.array([20.0])).factor(D, N, T)
    assert seen.mean == pytest.approx(quadrature_factor(D, N.sum() + 100, T.sum() + 20, prior).mean)


def test_known_values_and_noise() -> None:
    assert KappaModel(7.0, None, "own", np.zeros(3), np.zeros(3)).factor(D, N, T).mean == pytest.approx([7.0] * 3)
    assert KappaModel(7.0).known == pytest.approx([7.0])
    assert KappaModel("quadrature").known is None
    assert KappaModel("sampling").noisy
    assert not KappaModel(7.0).noisy


@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("rule", ["quadrature", "lognormal", "point"])
def test_parts_of_the_documents_give_as_much_as_all(rule: KappaRule, concentration: Concentration) -> None:
    nothing = np.zeros(1 if concentration == "shared" else 3)
    model = KappaModel(rule, None if rule == "point" else KappaPrior(3.0, 0.5), concentration, nothing, nothing)

    def given(model: KappaModel, n: Vector, t: Vector) -> float:
        factor = model.factor(D, n, t)
        return float((model.grouped(t) * factor.mean - model.grouped(n) * factor.ell).sum()) - model.cost(factor)

    assert model.earlier(D) == 0
    after = replace(model, n_seen=model.grouped(N), t_seen=model.grouped(T))
    assert after.earlier(D) == pytest.approx(given(model, N, T))
    assert given(model, N, T) + given(after, 2 * N, T) - after.earlier(D) == pytest.approx(given(model, 3 * N, 2 * T))


def test_learning_the_prior_renews_the_factors_under_it() -> None:
    model = KappaModel("quadrature", KappaPrior(3.0, 0.5), "own")
    before = model.factor(D, N, T)
    after, factor = model.learned(D, N, T, before)
    assert after.prior != model.prior
    assert factor.kl == pytest.approx(after.factor(D, N, T).kl)
    assert factor.kl.sum() < before.kl.sum()
    without = KappaModel("point")
    assert without.learned(D, N, T, without.factor(D, N, T))[0] is without


def test_topics_left_out_of_the_estimate_can_veto_it() -> None:
    # three topics agree so well that their prior would be narrow; twenty with hardly a document lie far from them
    n = np.r_[np.full(3, 200.0), np.full(20, 0.99)]
    t = np.r_[0.7 * n[:3], 0.9 * n[3:]]
    prior = KappaPrior(float(np.log(inv_bessel_ratio(D, 0.8))), 0.3)
    model = KappaModel("quadrature", prior, "own")
    before = model.factor(D, n, t)
    after, factor = model.learned(D, n, t, before)
    assert after is model
    assert factor is before
    few, _ = model.learned(D, n[:3], t[:3], model.factor(D, n[:3], t[:3]))
    assert few.prior is not None
    assert few.prior.s2 < 0.1
