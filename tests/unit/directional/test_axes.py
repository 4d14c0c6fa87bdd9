"""Extreme axes of scatter matrices beside the eigenvectors of the whole matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vmfstream.directional.axes import canonical, least_axis, principal_axis
from vmfstream.directional.sphere import unit_rows

ROUNDING = 1e-12  # relative: the axis to start from is scaled to unit length again


def rows(n: int, d: int, seed: int, density: float = 0.2) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) * np.linspace(1, 3, d)
    return unit_rows(x)[0]


@pytest.mark.parametrize(("n", "d"), [(300, 40), (40, 300), (300, 200), (250, 101)])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_axes_are_eigenvectors(n: int, d: int, stored: Any) -> None:
    x, w = rows(n, d, n), np.random.default_rng(1).random(n)
    w[::3] = 0
    values, vectors = np.linalg.eigh((x * w[:, None]).T @ x / w.sum())
    axis, mean = principal_axis(stored(x), w)
    assert mean == pytest.approx(values[-1], rel=1e-10)
    np.testing.assert_allclose(axis, canonical(vectors[:, -1]), atol=1e-4)
    axis, mean = least_axis(stored(x), w)
    assert mean == pytest.approx(values[0], rel=1e-6, abs=1e-9)
    assert np.linalg.norm(axis) == pytest.approx(1, rel=1e-12)
    assert axis[np.argmax(np.abs(axis))] > 0


def test_single_precision_and_duplicates() -> None:
    x = np.repeat(rows(2, 150, 3), 300, axis=0).astype(np.float32)
    weights = np.repeat([1.0, 0.0], 300)
    axis, mean = principal_axis(x, weights)
    np.testing.assert_allclose(axis, canonical(x[0].astype(float)), atol=1e-6)
    assert mean == pytest.approx(1, rel=1e-5)


def test_never_worse_than_the_start() -> None:
    x, w = rows(400, 130, 5), np.ones(400)
    best, mean = principal_axis(x, w)
    again, same = principal_axis(x, w, best)
    assert same >= mean * (1 - ROUNDING)
    assert abs(again @ best) == pytest.approx(1, abs=1e-9)
    least, mean = least_axis(x, w)
    assert least_axis(x, w, least)[1] <= mean * (1 + ROUNDING)
    assert principal_axis(x, w, least)[1] == pytest.approx(same, rel=1e-9)  # the other end's axis misleads nobody
