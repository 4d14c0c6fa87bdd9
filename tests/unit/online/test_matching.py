"""Cosines of topics seen from the mean of all of them."""

from __future__ import annotations

import numpy as np

from vmfstream.online.matching import centred_cosines, centred_pairs


def test_pairs_are_seen_from_the_mean_of_all_topics() -> None:
    rng = np.random.default_rng(4)
    means = rng.normal(size=(6, 9)) + 3.0  # much in common
    means /= np.linalg.norm(means, axis=1)[:, None]
    n = np.array([5.0, 0.0, 20.0, 1.0, 7.0, 300.0])
    away = means - (n / n.sum()) @ means
    away /= np.linalg.norm(away, axis=1)[:, None]
    found = centred_pairs(means @ means.T, n)
    np.testing.assert_allclose(found, away @ away.T, atol=1e-9)
    assert (means @ means.T).min() > 0.8 > 0.0 > found.min()
    np.testing.assert_array_equal(centred_pairs(np.ones((2, 2)), np.zeros(2)), np.ones((2, 2)))  # nothing to see


def test_cosines_of_pairs_are_those_of_two_readings() -> None:
    rng = np.random.default_rng(5)
    f = np.asfortranarray(np.abs(rng.normal(size=(9, 4))).astype(np.float32))
    n = np.array([3.0, 1.0, 8.0, 2.0])
    unit = (f / np.linalg.norm(f, axis=0)).astype(np.float64)
    pairs = centred_pairs(unit.T @ unit, n)
    for shift in (1, 2):
        other = (np.arange(4) + shift) % 4
        moved = np.asfortranarray(f[:, other])
        # what `before` was is compared with what `now` is, whose mean is the centre
        np.testing.assert_allclose(centred_cosines(moved, f, n), pairs[other, np.arange(4)], atol=1e-5)
