"""The approximations of the inverse of A_d beside the exact one: printed numbers, error orders, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.directional.oracles import golden
from vmfstream.directional import inverses
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, vmf_terms

DIMENSIONS = [2, 3, 10, 100, 1_000, 10**5]


def relative_errors(d: Any, r: Any) -> dict[str, Any]:
    found = inverses.compare_inverses(d, r)
    return {name: kappa / found["exact"] - 1 for name, kappa in found.items()}


@pytest.mark.parametrize(
    ("d", "kappa", "large", "small", "banerjee"),  # [BDGS05] table 1
    [
        (10, 10, 12.2839, 9.36921, 10.1631),
        (100, 60, 93.2999, 59.3643, 60.0833),
        (500, 300, 469.506, 296.832, 300.084),
        (1000, 800, 1120.92, 776.799, 800.13),
    ],
)
def test_printed_numbers(d: int, kappa: float, large: float, small: float, banerjee: float) -> None:
    found = inverses.compare_inverses(d, bessel_ratio(d, kappa))
    assert found["exact"] == pytest.approx(kappa, rel=1e-12)
    assert found["mardia_jupp_large"] == pytest.approx(large, rel=5e-6)
    assert found["mardia_jupp_small"] == pytest.approx(small, rel=5e-6)
    assert found["banerjee"] == pytest.approx(banerjee, rel=5e-6)


def test_banerjee_golden() -> None:
    table = golden("vmf_inverse.csv")
    np.testing.assert_allclose(inverses.banerjee(table["D"], table["r_bar"]), table["banerjee_kappa"], rtol=1e-13)


def order(name: str, d: int, near_one: bool) -> float:
    """By which power of r, or of 1 - r, the relative error falls."""
    size = np.array([0.04, 0.02]) if not near_one else np.array([2e-3, 1e-3])
    error = np.abs(relative_errors(d, 1 - size if near_one else size)[name])
    return float(np.log2(error[0] / error[1]))


@pytest.mark.parametrize("d", [3, 10, 100, 10_000])
def test_error_orders(d: int) -> None:
    assert order("mardia_jupp_small", d, near_one=False) == pytest.approx(6, abs=0.1)
    assert order("banerjee", d, near_one=False) == pytest.approx(2, abs=0.02)
    assert order("tanabe_upper", d, near_one=False) == pytest.approx(2, abs=0.02)
    assert order("banerjee", d, near_one=True) == pytest.approx(1, abs=0.02)
    if d == 3:  # A_3 = coth kappa - 1 / kappa: all that is left out is exp(-2 kappa)
        assert abs(relative_errors(3, 0.999)["mardia_jupp_large"]) < 1e-12
    else:
        assert order("mardia_jupp_large", d, near_one=True) == pytest.approx(1, abs=0.02)


def test_leading_error_of_banerjee() -> None:
    for d in (3, 10, 1_000):
        leading = 0.01**2 * (d - 2) / (d * (d + 2))  # from both expansions at r = 0
        assert relative_errors(d, 0.01)["banerjee"] == pytest.approx(leading, rel=1e-3)
    assert abs(relative_errors(2, 0.01)["banerjee"]) < 1e-8  # the term of order r^2 vanishes


def test_largest_errors() -> None:
    r = np.linspace(0.001, 0.999, 999)
    worst = {d: {name: float(np.abs(e).max()) for name, e in relative_errors(d, r).items()} for d in DIMENSIONS}
    assert worst[2]["banerjee"] == pytest.approx(0.0651, abs=1e-4)
    for d in (100, 1_000, 10**5):
        assert worst[d]["banerjee"] == pytest.approx(0.1716 / d, rel=0.01)
        assert worst[d]["tanabe"] == pytest.approx(0.101 / d**2, rel=0.05)
        assert worst[d]["newton2"] < 1e-11
    for d in DIMENSIONS:
        assert worst[d]["newton2"] < 1e-3 * worst[d]["banerjee"]
        assert worst[d]["tanabe_fixed_point"] <= worst[d]["tanabe"]


@given(st.integers(2, 10**6), st.floats(1e-6, 0.9999))
@settings(max_examples=100, deadline=None)
def test_bounds_of_tanabe(d: int, r: float) -> None:
    found = inverses.compare_inverses(d, r)
    slack = 1e-12 * found["exact"]
    assert found["tanabe_lower"] <= found["exact"] + slack
    assert found["tanabe_lower"] - slack <= found["tanabe"] <= found["tanabe_upper"] + slack
    assert found["exact"] <= found["tanabe_upper"] + slack


@pytest.mark.parametrize(("d", "r"), [(3, 0.3), (50, 0.6), (2, 0.8)])
def test_fixed_point_contracts_as_stated(d: int, r: float) -> None:
    kappa = float(inv_bessel_ratio(d, r))
    t = vmf_terms(d, kappa)
    errors = np.array([float(inverses.tanabe_fixed_point(d, r, steps)) - kappa for steps in (20, 21)])
    if abs(errors[0]) > 1e-12 * kappa:
        assert errors[1] / errors[0] == pytest.approx(1 - kappa * float(t.a_prime / t.a), rel=1e-2)
    assert inverses.tanabe_fixed_point(d, r, 2_000) == pytest.approx(kappa, rel=1e-12)
    assert inverses.tanabe_fixed_point(d, r, 0) == inverses.tanabe(d, r)


def test_tanabe_joins_the_bounds_by_the_iteration() -> None:
    d, r = 7, 0.45
    low, high = (float(bound(d, r)) for bound in (inverses.tanabe_lower, inverses.tanabe_upper))
    at_low, at_high = (r * kappa / float(bessel_ratio(d, kappa)) for kappa in (low, high))
    joined = (low * at_high - high * at_low) / ((at_high - at_low) - (high - low))
    assert inverses.tanabe(d, r) == pytest.approx(joined, rel=1e-12)


def test_two_newton_steps_square_the_error_twice() -> None:
    d, r = 30, 0.5
    kappa = inverses.banerjee(d, r)
    for _ in range(2):
        a = float(bessel_ratio(d, kappa))
        kappa -= (a - r) / (1 - a**2 - (d - 1) / kappa * a)  # [Sra] eq. (4.5) as printed
    assert inverses.newton2(d, r) == pytest.approx(float(kappa), rel=1e-12)


def test_zero_and_shapes() -> None:
    for name, kappa in inverses.compare_inverses([2, 50], [[0.0], [0.3]]).items():
        assert kappa.shape == (2, 2), name
        assert np.all(kappa[0] == 0) or name == "mardia_jupp_large"
    assert isinstance(inverses.tanabe(5, 0.2), float)


@pytest.mark.parametrize("name", inverses.INVERSES)
def test_all_refuse_what_is_no_resultant(name: str) -> None:
    for d, r, message in (
        (3, 1.0, "r: expected"),
        (3, -0.1, "r: expected"),
        (1, 0.5, "d: expected"),
        (3, np.nan, "r:"),
    ):
        with pytest.raises(ValueError, match=message):
            inverses.INVERSES[name](d, r)
    with pytest.raises(ValueError, match="steps: expected"):
        inverses.tanabe_fixed_point(3, 0.5, -1)
