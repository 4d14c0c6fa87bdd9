"""Tempered probabilities: against exact ones, and of scores that claim too much."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from vmfstream.bayes.tempering import fitted_inverse_temperature, tempered


def test_a_temper_changes_probabilities_and_not_their_order() -> None:
    scores = np.random.default_rng(3).normal(0, 40, (20, 5))
    for heat in (0.01, 0.3, 1.0, 4.0):
        found = tempered(scores, heat)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))
        exact = [[float(1 / sum(mpmath.exp(heat * (mpmath.mpf(b) - a)) for b in row)) for a in row] for row in scores]
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_the_temper_of_overconfident_scores_is_found() -> None:
    rng = np.random.default_rng(4)
    honest = rng.normal(0, 2, (20_000, 4))
    labels = (rng.gumbel(size=honest.shape) + honest).argmax(axis=1)
    assert fitted_inverse_temperature(honest, labels) == pytest.approx(1.0, rel=0.03)
    assert fitted_inverse_temperature(50 * honest, labels) == pytest.approx(0.02, rel=0.03)


def test_what_no_temper_can_be_fitted_to() -> None:
    with pytest.raises(ValueError, match="above 0"):
        tempered(np.zeros((2, 2)), 0.0)
    for labels in ([0], [0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="labels"):
            fitted_inverse_temperature(np.zeros((2, 2)), np.array(labels))
