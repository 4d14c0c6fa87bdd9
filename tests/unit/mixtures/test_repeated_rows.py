"""Streams repeat themselves: fits of more components than there are different rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream import BayesianVMFMixture, VMFMixture
from vmfstream.mixtures.sums import move, weighted_sums


def repeated(seed: int, dtype: type[np.floating[Any]]) -> csr_array:
    """Rows of which there are some twenty different ones."""
    rng = np.random.default_rng(seed)
    different, n, d = rng.integers(2, 25), int(rng.integers(20, 150)), int(rng.integers(3, 30))
    x = (rng.random((different, d)) < 0.3) * rng.random((different, d))
    x[x.sum(axis=1) == 0.0, 0] = 1.0
    rows = x[rng.integers(0, different, n)].astype(dtype)
    return csr_array(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.filterwarnings("ignore:.* puts all rows into", "ignore:.* has not converged")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("seed", "concentration"), [(1, "shared"), (1, "own"), (10, "own"), (13, "own"), (19, "shared")]
)
def test_components_that_lose_their_rows_keep_a_direction(
    seed: int, concentration: Any, dtype: type[np.floating[Any]]
) -> None:
    x = repeated(seed, dtype)
    fit = VMFMixture(min(30, x.shape[0]), concentration=concentration, random_state=seed).fit(x)
    assert fit.weights_.min() >= 0.0
    assert np.isfinite(fit.predict_proba(x)).all()
    np.testing.assert_allclose(np.linalg.norm(fit.means_, axis=1), 1.0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.* puts all rows into", "ignore:.* has not converged")
def test_posteriors_of_concentrations_stay_finite() -> None:
    x = repeated(1, np.float32)
    fit = BayesianVMFMixture(30, concentration="own", max_iter=20, random_state=1).fit(x)
    assert np.isfinite(fit.concentrations_).all()
    assert np.isfinite(fit.predict_proba(x)).all()


def test_nothing_is_left_of_a_component_whose_rows_move_away() -> None:
    x = repeated(3, np.float32)
    rng = np.random.default_rng(0)
    resp: NDArray[np.float32] = np.zeros((x.shape[0], 16), np.float32)
    resp[:, :2] = rng.dirichlet([1.0, 1.0], x.shape[0])
    resp[:3, 2] = resp[:3, :2].sum(axis=1)
    resp[:3, :2] = 0.0
    sums = weighted_sums(x, resp, 4)
    move(x, sums, np.arange(3), resp[:3], np.full(3, 3))
    assert sums.nk[2] == sums.qk[2] == 0.0
    assert not sums.s[:, 2].any()
    assert sums.nk[3] == pytest.approx(3.0)
    np.testing.assert_allclose(sums.nk.sum(), x.shape[0], rtol=1e-6)
