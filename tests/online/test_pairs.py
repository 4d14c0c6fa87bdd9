"""Densities of all pairs of documents by a polynomial are those by Bessel functions."""

from __future__ import annotations

import numpy as np
import pytest

from vmfstream.online.births import log_density


@pytest.mark.parametrize(("d", "kappa"), [(50_000, 9000.0), (3000, 700.0), (200, 90.0), (3, 40.0)])
def test_densities_of_pairs(d: int, kappa: float) -> None:
    rng = np.random.default_rng(0)
    square = rng.uniform(0.5, 4.0, (60, 1)) * kappa**2
    dot = rng.uniform(0.0, 1.0, (60, 60)) * kappa
    exact = log_density(d, kappa, square, dot)
    np.testing.assert_allclose(log_density(d, kappa, square, dot, pairs=True), exact, rtol=0, atol=1e-10 * d)


def test_densities_of_pairs_that_are_all_alike() -> None:
    dot = np.full((2, 2), 3.0)
    exact = log_density(100, 20.0, 400.0, dot)
    np.testing.assert_array_equal(log_density(100, 20.0, 400.0, dot, pairs=True), exact)
