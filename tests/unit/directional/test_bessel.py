from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tests.unit.directional.oracles import golden
from vmfstream.directional import bessel


@pytest.fixture(scope="module")
def normalizer() -> dict[str, np.ndarray]:
    return golden("vmf_log_normalizer.csv")


@pytest.fixture(scope="module")
def inverse() -> dict[str, np.ndarray]:
    return golden("vmf_inverse.csv")


def test_terms_golden(normalizer: dict[str, np.ndarray]) -> None:
    found = bessel.vmf_terms(normalizer["D"], normalizer["kappa"])
    np.testing.assert_allclose(found.ell, normalizer["ell"], rtol=1e-12)
    np.testing.assert_allclose(found.a, normalizer["A"], rtol=1e-12)
    np.testing.assert_allclose(found.a_prime, normalizer["A_prime"], rtol=1e-11)
    np.testing.assert_allclose(found.one_minus_a, normalizer["one_minus_A"], rtol=1e-11)


def test_log_partition_is_the_first_term(normalizer: dict[str, np.ndarray]) -> None:
    found = bessel.log_partition(normalizer["D"], normalizer["kappa"])
    np.testing.assert_allclose(found, normalizer["ell"], rtol=1e-12)


def test_log_c_golden(normalizer: dict[str, np.ndarray]) -> None:
    found = bessel.log_c(normalizer["D"], normalizer["kappa"])
    np.testing.assert_allclose(found, normalizer["log_C"], rtol=1e-12, atol=1e-12)


def test_inverse_golden(inverse: dict[str, np.ndarray]) -> None:
    found = bessel.inv_bessel_ratio(inverse["D"], inverse["r_bar"])
    slack = np.maximum(1.0, inverse["condition_number"] / 10)
    assert np.all(np.abs(found / inverse["kappa"] - 1.0) <= 1e-10 * slack)


def test_inverse_uses_one_minus_r(normalizer: dict[str, np.ndarray]) -> None:
    keep = (normalizer["kappa"] > 0) & (normalizer["one_minus_A"] < 1e-3)
    assert keep.any()
    found = bessel.inv_bessel_ratio(normalizer["D"][keep], normalizer["A"][keep], normalizer["one_minus_A"][keep])
    np.testing.assert_allclose(found, normalizer["kappa"][keep], rtol=1e-10)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_agrees_with_scipy_in_low_dimensions(d: int) -> None:
    kappa = np.array([0.1, 1.0, 5.0, 29.0, 31.0, 100.0])
    ratio = special.ive(d / 2, kappa) / special.ive(d / 2 - 1, kappa)
    np.testing.assert_allclose(bessel.bessel_ratio(d, kappa), ratio, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 50, 900, 30_000, 10**6])
def test_regions_join(d: int) -> None:
    seam = max(np.sqrt(2.0 * d), np.sqrt(max(900.0 - (d / 2 - 1) ** 2, 0.0)))
    left, right = bessel.vmf_terms(d, seam * (1 - 1e-9)), bessel.vmf_terms(d, seam * (1 + 1e-9))
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_zero_concentration() -> None:
    found = bessel.vmf_terms(7, 0.0)
    assert [float(value) for value in found] == [0.0, 0.0, 1 / 7, 1.0]
    assert bessel.inv_bessel_ratio(7, 0.0) == 0.0


def test_broadcasts_and_scalars() -> None:
    assert bessel.vmf_terms([[2], [30]], [0.5, 1.0, 60.0]).a.shape == (2, 3)
    assert isinstance(bessel.log_partition(5, 2.0), float)
    assert bessel.log_partition(5, np.zeros(0)).shape == (0,)


@given(st.integers(2, 10**6), st.floats(1e-6, 0.9999))
@settings(max_examples=200, deadline=None)
def test_inverse_is_inverse(d: int, r: float) -> None:
    kappa = bessel.inv_bessel_ratio(d, r)
    assert bessel.bessel_ratio(d, kappa) == pytest.approx(r, rel=1e-12)


@given(st.integers(2, 10**6), st.floats(0, 1e7))
@settings(max_examples=200, deadline=None)
def test_shape_of_the_functions(d: int, kappa: float) -> None:
    found = bessel.vmf_terms(d, kappa)
    assert found.ell >= 0
    assert 0 <= found.a < 1
    assert 0 < found.a_prime <= 1 / d * (1 + 1e-12)
    assert found.a + found.one_minus_a == pytest.approx(1, abs=1e-15)
    if kappa > 1e-3:
        assert kappa / (d + kappa) * (1 - 1e-12) <= found.a <= kappa / d * (1 + 1e-12)


@given(st.integers(2, 10**5), st.floats(1e-3, 1e5))
@settings(max_examples=100, deadline=None)
def test_derivatives(d: int, kappa: float) -> None:
    h = 1e-4 * kappa
    low, mid, high = (bessel.vmf_terms(d, kappa + step) for step in (-h, 0.0, h))
    assert (high.ell - low.ell) / (2 * h) == pytest.approx(mid.a, rel=1e-6)
    assert (low.one_minus_a - high.one_minus_a) / (2 * h) == pytest.approx(mid.a_prime, rel=1e-6, abs=1e-11 / h)


@pytest.mark.parametrize("d", [2, 30, 20_000])
def test_convolution(d: int) -> None:
    gamma, tau = 12.0 * d, 3.0 * d
    one = bessel.vmf_terms(d, gamma)
    two = bessel.vmf_terms(d, tau)
    found = bessel.conv_concentration(d, gamma, two.a, two.one_minus_a)
    assert bessel.bessel_ratio(d, found) == pytest.approx(one.a * two.a, rel=1e-12)
    assert found < min(gamma, tau)
    assert bessel.conv_concentration(d, gamma, 1.0) == gamma
    assert bessel.conv_concentration(d, gamma, 0.0) == 0.0
    assert bessel.conv_concentration(d, 0.0, 0.7) == 0.0


def test_convolution_keeps_the_digits_of_a_slow_step() -> None:
    # 1 - omega = 1e-14: the new 1 - A is the sum of the two, where A(gamma) omega has lost it
    found = bessel.conv_concentration(10, 1e12, 1.0, 1e-14)
    oma = float(bessel.vmf_terms(10, 1e12).one_minus_a)
    assert float(bessel.vmf_terms(10, found).one_minus_a) == pytest.approx(oma + 1e-14, rel=1e-12, abs=0)


def test_bounds_do_not_depend_on_the_dimension() -> None:
    for d in (2, 100, 10**6):
        low, high = bessel.kappa_bounds(d)
        assert bessel.bessel_ratio(d, low) == pytest.approx(bessel.R_MIN)
        assert bessel.bessel_ratio(d, high) == pytest.approx(bessel.R_MAX)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bessel.vmf_terms(1, 1.0), "d: expected dimensions of at least 2, got 1.0"),
        (lambda: bessel.vmf_terms(float("nan"), 1.0), "d: expected"),
        (lambda: bessel.log_partition(3, [1.0, -2.0]), r"kappa: .* got -2.0 at position 1"),
        (lambda: bessel.log_partition(3, [[1.0, float("inf")]]), r"got inf at position \(0, 1\)"),
        (lambda: bessel.inv_bessel_ratio(3, 1.0), r"r: expected mean resultant lengths in \[0, 1\), got 1.0"),
        (lambda: bessel.inv_bessel_ratio(3, 0.5, 0.0), r"one_minus_r: expected"),
        (lambda: bessel.conv_concentration(3, 1.0, 1.5), r"omega: expected values in \[0, 1\], got 1.5"),
        (lambda: bessel.conv_concentration(3, -1.0, 0.5), "gamma: expected"),
    ],
)
def test_says_what_is_wrong(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_lengths_of_columns_equal_the_general_case() -> None:
    lengths = np.array([0.0, 1e-3, 2.0, 300.0, 1e6])
    wide = np.full(5, 10_000.0)
    np.testing.assert_array_equal(bessel.log_partition(10_000, lengths), bessel.log_partition(wide, lengths))
    for omega in (0.0, 0.95, 1.0):
        found = bessel.conv_concentration(10_000, lengths, omega)
        np.testing.assert_array_equal(found, bessel.conv_concentration(wide, lengths, np.full(5, omega)))
    for call in (bessel.log_partition, lambda d, g: bessel.conv_concentration(d, g, 0.9)):
        with pytest.raises(ValueError, match="at position 1"):
            call(10, np.array([1.0, -1.0]))
        with pytest.raises(ValueError, match="at least 2, got 1"):
            call(1, np.array([1.0]))
