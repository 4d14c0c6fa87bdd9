"""Dot products of all pairs of documents, and their densities by a polynomial, are what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from vmfstream.online.births import gram_of, log_density


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dot_products_of_all_pairs(dtype: type) -> None:
    x = csr_array(random_array((30, 200), density=0.2, rng=np.random.default_rng(0), dtype=dtype))
    rows = x.toarray().astype(np.float64)
    np.testing.assert_allclose(gram_of(x), rows @ rows.T, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(gram_of(x), gram_of(x).T)
    np.testing.assert_allclose(gram_of(x.toarray()), rows @ rows.T, rtol=10 * float(np.finfo(dtype).eps))


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
