"""Estimates of the concentration: bias, agreement of the formulas, limits."""

from __future__ import annotations

import numpy as np
import pytest

from vmfstream.directional.bessel import LARGE_KAPPA, R_MAX, bessel_ratio, inv_bessel_ratio, kappa_bounds
from vmfstream.directional.inverses import banerjee, newton2
from vmfstream.mixtures.concentration import Treatment, debiased_resultant, own_concentration, shared_concentration

D, KAPPA = 10_000, float(inv_bessel_ratio(10_000, 0.2))


def expected_norm(n: float, a: float) -> float:
    return float(np.sqrt(n**2 * a**2 + n * (1 - a**2)))


@pytest.mark.parametrize(("n", "mle"), [(2, 15005), (5, 6242), (10, 4277), (50, 2586), (200, 2219)])
def test_few_documents_bias_the_mle_and_nothing_else(n: int, mle: float) -> None:
    norm = expected_norm(n, 0.2)
    assert own_concentration(D, [norm], [n], "mle")[0] == pytest.approx(mle, rel=0.01)
    treatments: tuple[Treatment, ...] = ("debiased", "marginal")
    for treatment in treatments:
        assert own_concentration(D, [norm], [n], treatment)[0] == pytest.approx(KAPPA, rel=2e-3)
        assert shared_concentration(D, [norm], [n], n, treatment) == pytest.approx(KAPPA, rel=2e-3)


@pytest.mark.parametrize(("n", "mle"), [(2, 14148), (5, 5593), (10, 3522), (50, 1440), (200, 713)])
def test_noise_is_seen_as_noise(n: int, mle: float) -> None:
    norm = np.sqrt(n)
    assert own_concentration(D, [norm], [n], "mle")[0] == pytest.approx(mle, rel=0.01)
    treatments: tuple[Treatment, ...] = ("debiased", "marginal")
    for treatment in treatments:
        assert own_concentration(D, [0.999 * norm], [n], treatment)[0] == pytest.approx(kappa_bounds(D)[0])


@pytest.mark.parametrize("d", [2, 50, 5000])
def test_marginal_solves_its_equation(d: int) -> None:
    norms, n = np.array([30.0, 12.0, 7.5]), 90.0
    kappa = shared_concentration(d, norms, [45, 30, 15], n)
    right = (norms * bessel_ratio(d, kappa * norms)).sum()
    assert n * float(bessel_ratio(d, kappa)) == pytest.approx(right, rel=1e-10)
    assert kappa < shared_concentration(d, norms, [45, 30, 15], n, "mle")


def test_large_samples_make_all_agree() -> None:
    n, a = 1e7, 0.4
    values = [
        own_concentration(50, [expected_norm(n, a)], [n], t)[0] for t in ("mle", "newton2", "debiased", "marginal")
    ]
    assert values == pytest.approx([float(inv_bessel_ratio(50, a))] * 4, rel=1e-4)


def test_own_of_one_topic_is_shared() -> None:
    treatments: tuple[Treatment, ...] = ("marginal", "mle", "banerjee", "newton2", "debiased")
    for treatment in treatments:
        own = own_concentration(100, [30.0], [70.0], treatment)[0]
        assert own == pytest.approx(shared_concentration(100, [30.0], [70.0], 70.0, treatment), rel=1e-12)


def test_approximations_approach_the_root() -> None:
    exact = float(inv_bessel_ratio(1000, 0.3))
    assert float(banerjee(1000, 0.3)) == pytest.approx(exact, rel=2e-4)
    assert float(newton2(1000, 0.3)) == pytest.approx(exact, rel=1e-12)
    assert abs(float(newton2(2, 0.7)) / float(inv_bessel_ratio(2, 0.7)) - 1) < 1e-4
    assert abs(float(banerjee(2, 0.7)) / float(inv_bessel_ratio(2, 0.7)) - 1) > 1e-2


def test_duplicates_are_capped_and_empty_topics_rest_at_the_lower_limit() -> None:
    kappa = own_concentration(20, [5.0, 0.0, 0.0], [5.0, 0.0, 4.0], "mle")
    low, high = kappa_bounds(20)[0], LARGE_KAPPA
    assert kappa == pytest.approx([high, low, low])
    assert own_concentration(20, [5.0, 0.0], [5.0, 0.0], "marginal") == pytest.approx([high, low])
    assert shared_concentration(20, [0.0], [0.0], 0.0) == low
    wide = own_concentration(1_000, [5.0], [5.0], "mle")
    assert wide == pytest.approx([float(inv_bessel_ratio(1_000, R_MAX))])  # the larger one of two caps


def test_pooled_mean_cosine_of_hard_labels() -> None:
    x = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    norm = float(np.linalg.norm(x.sum(axis=0)))
    assert debiased_resultant([norm, 1.0], [3.0, 1.0]) ** 2 == pytest.approx((0.6 + 0.0 + 0.8) / 3)
    assert debiased_resultant([1.0], [1.0]) == 0.0
    pair = float(np.sqrt(2 + 2 * 0.6))
    pooled = (3 * (0.6 + 0.0 + 0.8) / 3 + 2 * 0.6) / 5
    assert debiased_resultant([norm, pair], [3.0, 2.0]) ** 2 == pytest.approx(pooled)


def test_unknown_treatment_and_missing_value_are_named() -> None:
    with pytest.raises(ValueError, match="'median'"):
        shared_concentration(10, [1.0], [2.0], 2.0, "median")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive finite"):
        own_concentration(10, [1.0], [2.0], "fixed")
    assert shared_concentration(10, [1.0], [2.0], 2.0, "fixed", fixed=7.0) == 7.0
