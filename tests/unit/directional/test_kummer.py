"""Kummer's function, its logarithmic derivative and the inverse: golden numbers, mpmath, bounds, limits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.directional.oracles import golden
from vmfstream.directional import kummer, kummer_inverses
from vmfstream.directional.kummer_scalars import largest_term


def test_terms_golden() -> None:
    table = golden("watson.csv")
    found = kummer.watson_terms(table["D"], table["kappa"])
    np.testing.assert_allclose(found.log_m, table["log_M"], rtol=1e-12)
    np.testing.assert_allclose(found.g, table["g"], rtol=1e-13)
    np.testing.assert_allclose(found.one_minus_g, table["one_minus_g"], rtol=1e-13)


def test_inverse_and_bounds_golden() -> None:
    table = golden("watson_inverse.csv")
    found = kummer_inverses.compare_inverses(table["D"], table["r"])
    np.testing.assert_allclose(found["exact"], table["kappa"], rtol=1e-12)
    for name in "LBU":
        np.testing.assert_allclose(found[name], table[f"bound_{name}"], rtol=1e-13)


def exact(d: int, kappa: float) -> tuple[Any, ...]:
    """log M, g, 1 - g and g' in 50 digits, from M and its first two derivatives."""
    with mpmath.workdps(50):
        a, c, z = mpmath.mpf(1) / 2, mpmath.mpf(d) / 2, mpmath.mpf(kappa)
        m = [mpmath.hyp1f1(a + i, c + i, z) for i in range(3)]
        g = a / c * m[1] / m[0]
        return mpmath.log(m[0]), g, 1 - g, a * (a + 1) / (c * (c + 1)) * m[2] / m[0] - g * g


@pytest.mark.parametrize("d", [2, 3, 8, 51, 1000, 20_001])
@pytest.mark.parametrize("ratio", [-9, -1.6, -1.4, -1.01, -0.99, -0.4, -1e-6, 1e-6, 0.4, 0.99, 1.2, 1.49, 1.6, 9])
def test_terms_against_mpmath(d: int, ratio: float) -> None:
    for kappa in {ratio * d / 2, ratio * 35}:
        found = kummer.watson_terms(d, kappa)
        for value, truth in zip(found, exact(d, kappa), strict=True):
            assert abs(mpmath.mpf(float(value)) / truth - 1) < 2e-13


@pytest.mark.thorough
@pytest.mark.parametrize("ratio", [-1.01, -0.4, 0.4, 1.2])
def test_terms_against_mpmath_in_a_million_dimensions(ratio: float) -> None:
    d, x = 10**6, abs(ratio) * 5e5
    with mpmath.workdps(30):  # the weights of the series, from a term within some standard deviations of the largest
        c = mpmath.mpf(d) / 2
        a = mpmath.mpf(1) / 2 if ratio > 0 else c - mpmath.mpf(1) / 2
        j = int(largest_term(float(a), float(c), x))
        weight, total, mean, square = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
        for step in (1, -1):
            weight, at = mpmath.mpf(1), j if step > 0 else j - 1
            while at >= 0 and weight > mpmath.mpf(10) ** -25 * max(total, 1):
                if step < 0:
                    weight *= (c + at) * (at + 1) / ((a + at) * x)
                total += weight
                mean += weight * (a + at) / (c + at)
                square += weight * (a + at) * (a + at + 1) / ((c + at) * (c + at + 1))
                if step > 0:
                    weight *= (a + at) * x / ((c + at) * (at + 1))
                at += step
        mean, square = mean / total, square / total
        variance = square - mean**2
        found = kummer.watson_terms(d, x if ratio > 0 else -x)
        g = mean if ratio > 0 else 1 - mean
        assert abs(mpmath.mpf(float(found.g)) / g - 1) < 1e-13
        assert abs(mpmath.mpf(float(found.g_prime)) / variance - 1) < (1e-11 if ratio == -1.01 else 1e-13)


@pytest.mark.parametrize("d", [2, 60, 5_000, 10**6])
@pytest.mark.parametrize("sign", [-1, 1])
def test_methods_join(d: int, sign: int) -> None:
    for seam in (50.0, d / 2):
        left, right = (kummer.watson_terms(d, sign * seam * (1 + step)) for step in (-1e-10, 1e-10))
        for low, high in zip(left, right, strict=True):
            assert low == pytest.approx(high, rel=2e-7 if d < 10**6 else 1e-4)  # g' moves fast at kappa = d/2


def test_zero_concentration_is_uniform() -> None:
    found = kummer.watson_terms(7, 0.0)
    assert [float(value) for value in found[:3]] == [0.0, 1 / 7, 6 / 7]
    assert found.g_prime == pytest.approx(2 * 6 / (7 * 7 * 9), rel=1e-14)
    assert kummer.inv_mean_square(7, 1 / 7) == pytest.approx(0.0, abs=1e-14)
    assert kummer.inv_mean_square(2, 0.5) == 0.0


@given(st.integers(2, 10**6), st.floats(-1e7, 1e7))
@settings(max_examples=100, deadline=None)
def test_shape_of_the_functions(d: int, kappa: float) -> None:
    found = kummer.watson_terms(d, kappa)
    assert 0 < found.g < 1
    assert found.g + found.one_minus_g == pytest.approx(1, abs=1e-13)
    assert 0 < found.g_prime <= 0.25
    assert (found.g > 1 / d) == (kappa > 0) or abs(kappa) < 1e-6 * d
    assert min(kappa, 0) - 1e-9 <= found.log_m <= max(kappa, 0) + 1e-9


@given(st.integers(2, 10**5), st.floats(1e-3, 1e5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_derivatives(d: int, size: float, negative: bool) -> None:
    kappa = -size if negative else size
    h = 1e-4 * size
    low, mid, high = (kummer.watson_terms(d, kappa + step) for step in (-h / 5, 0.0, h / 5))
    assert (high.log_m - low.log_m) / (2 * h / 5) == pytest.approx(mid.g, rel=1e-5)
    low, high = (kummer.watson_terms(d, kappa + step) for step in (-h, h))
    slope = high.g - low.g if mid.g < 0.5 else low.one_minus_g - high.one_minus_g
    assert slope / (2 * h) == pytest.approx(mid.g_prime, rel=1e-4)


@given(st.integers(2, 10**6), st.floats(1e-6, 1 - 1e-6))
@settings(max_examples=100, deadline=None)
def test_inverse_is_inverse(d: int, r: float) -> None:
    kappa = kummer.inv_mean_square(d, r)
    assert kummer.mean_square(d, kappa) == pytest.approx(r, rel=1e-12)


def test_inverse_near_the_uniform_distribution() -> None:
    for d in (3, 1_000, 10**6):
        for kappa in (1e-3 * d, -1e-3 * d, 1e-5 * d):
            assert kummer.inv_mean_square(d, kummer.mean_square(d, kappa)) == pytest.approx(kappa, rel=1e-9)


def test_inverse_uses_one_minus_r() -> None:
    kappa = np.array([1e8, 1e10, 1e12])
    t = kummer.watson_terms(30, kappa)
    np.testing.assert_allclose(kummer.inv_mean_square(30, t.g, t.one_minus_g), kappa, rtol=1e-12)


@given(st.integers(3, 10**6), st.floats(1e-5, 1 - 1e-5))
@settings(max_examples=150, deadline=None)
def test_bounds_hold(d: int, r: float) -> None:
    found = kummer_inverses.compare_inverses(d, r)
    kappa, slack = found["exact"], 1e-9 * abs(found["exact"])
    assert found["L"] <= kappa + slack
    assert kappa <= found["U"] + slack
    assert (found["B"] - kappa) * np.sign(r * d - 1) >= -slack


def test_bounds_are_exact_where_they_claim_to_be() -> None:
    for d in (3, 40, 2_000):
        near_one, near_zero = 1 - 1e-7, 1e-7 / d
        one, zero = kummer_inverses.compare_inverses(d, near_one), kummer_inverses.compare_inverses(d, near_zero)
        for found, close, far in ((one, "LB", "U"), (zero, "UB", "L")):
            for name in close:
                assert found[name] / found["exact"] == pytest.approx(1, abs=1e-5)
            assert found[far] / found["exact"] > 1.0004  # E21: not all three are exact at both ends
    assert kummer_inverses.bound_u(3, 1 - 1e-7) / kummer.inv_mean_square(3, 1 - 1e-7) == pytest.approx(3, rel=1e-5)
    assert kummer_inverses.bound_l(3, 1e-7) / kummer.inv_mean_square(3, 1e-7) == pytest.approx(2, rel=1e-5)


def test_the_heuristic_of_bijral_is_good_in_high_dimension() -> None:
    assert kummer_inverses.bbg(50, 0.9) == pytest.approx((25 * 0.9 - 0.5) / 0.09 + 0.9 / (50 * 0.1))
    ratio = kummer_inverses.bbg([10, 100, 1000], 0.6) / kummer.inv_mean_square([10, 100, 1000], 0.6)
    np.testing.assert_allclose((1 - ratio) * [10, 100, 1000], 4 / 3, rtol=0.06)  # an error of the order of 1/d


def test_limits_of_estimates() -> None:
    low, high = kummer.watson_bounds(1_000)
    assert kummer.mean_square(1_000, high) == pytest.approx(0.9999, rel=1e-12)
    assert kummer.mean_square(1_000, low) == pytest.approx(1e-4 / 1_000, rel=1e-9)
    assert kummer.watson_bounds(60) == (-1e6, 1e6)


@pytest.mark.parametrize("d", [2, 3, 10, 1000])
@pytest.mark.parametrize("kappa", [30.0, 60.0, 1e3, 1e8, 1e12, 1e15, -1e3, -1e12])
def test_the_rest_of_the_normaliser_keeps_its_digits(d: int, kappa: float) -> None:
    with mpmath.workdps(60):
        expected = float(mpmath.log(mpmath.hyp1f1(0.5, mpmath.mpf(d) / 2, kappa)) - max(kappa, 0))
    assert kummer.log_kummer_rest(d, kappa) == pytest.approx(expected, rel=1e-13)


def test_broadcasts_and_scalars() -> None:
    assert kummer.watson_terms([[2], [30]], [-0.5, 1.0, 60.0]).g.shape == (2, 3)
    assert isinstance(kummer.log_kummer(5, -2.0), float)
    assert kummer.inv_mean_square([2, 3], [[0.2], [0.7]]).shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kummer.watson_terms(1, 2.0), "d: expected dimensions of at least 2, got 1.0"),
        (lambda: kummer.watson_terms(3, [1.0, np.inf]), "kappa: expected finite values, got inf at position 1"),
        (lambda: kummer.inv_mean_square(3, 0.0), r"r: expected mean squared cosines in \(0, 1\), got 0.0"),
        (lambda: kummer.inv_mean_square(3, [0.5, np.nan]), "r: .* got nan at position 1"),
        (lambda: kummer.inv_mean_square(3, 0.5, 0.0), "one_minus_r: .* got 0.0"),
        (lambda: kummer_inverses.bbg(3, 1.0), "r: expected mean squared cosines"),
    ],
)
def test_says_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
