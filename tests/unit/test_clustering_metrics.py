"""Scores of streams against brute force over documents, and against scikit-learn."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

from vmfstream.clustering_metrics import adjusted_mutual_information, b_cubed, detection, detection_cost, v_measure

Labels = NDArray[np.int64]


def random_labels(seed: int) -> tuple[Labels, Labels]:
    rng = np.random.default_rng(seed)
    return 7 * rng.integers(6, size=60) - 1, rng.integers(4, size=60)


@pytest.mark.parametrize("seed", range(5))
def test_b_cubed_against_brute_force(seed: int) -> None:
    z, y = random_labels(seed)
    precision = np.mean([(y[z == a] == b).mean() for a, b in zip(z, y, strict=True)])
    recall = np.mean([(z[y == b] == a).mean() for a, b in zip(z, y, strict=True)])
    score = b_cubed(z, y)
    assert score.precision == pytest.approx(precision)
    assert score.recall == pytest.approx(recall)
    assert score.f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_b_cubed_of_one_cluster_and_of_one_each() -> None:
    y = [0, 0, 1, 1]
    assert b_cubed([5, 5, 5, 5], y) == pytest.approx((0.5, 1.0, 2 / 3))
    assert b_cubed([1, 2, 3, 4], y) == pytest.approx((1.0, 0.5, 2 / 3))
    assert b_cubed(["x", "x", "y", "y"], y) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_scikit_learn(seed: int) -> None:
    z, y = random_labels(seed)
    assert adjusted_mutual_information(z, y) == pytest.approx(sk.adjusted_mutual_info_score(y, z))
    assert v_measure(z, y).v == pytest.approx(sk.normalized_mutual_info_score(y, z))
    assert v_measure(z, y).homogeneity == pytest.approx(sk.homogeneity_score(y, z))
    assert v_measure(z, y).completeness == pytest.approx(sk.completeness_score(y, z))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("costs", [{}, {"miss": 3.0, "false_alarm": 1.0, "prior": 0.4}])
def test_detection_cost_against_brute_force(seed: int, costs: dict[str, float]) -> None:
    z, y = random_labels(seed)
    z[:30] = 17  # the best cluster of a small class may hold none of it
    y[7] = 99
    z[-1], y[-1] = 18, y[-2]
    miss, alarm, prior = (
        costs.get(name, 0) or one for name, one in (("miss", 1), ("false_alarm", 0.1), ("prior", 0.02))
    )
    total = 0.0
    for label in np.unique(y):
        of = y == label
        total += min(
            miss * prior * (z[of] != c).mean() + alarm * (1 - prior) * (z[~of] == c).mean() for c in np.unique(z)
        )
    expected = total / len(np.unique(y)) / min(miss * prior, alarm * (1 - prior))
    assert detection_cost(z, y, **costs) == pytest.approx(expected)
    assert detection_cost(y, y, **costs) == 0.0
    assert detection_cost(np.zeros(5), np.ones(5)) == 0.0


def test_detection_cost_refuses_costs_outside_their_domain() -> None:
    with pytest.raises(ValueError, match=r"prior: expected a number in \(0, 1\), got 1"):
        detection_cost([0, 1], [0, 1], prior=1)
    with pytest.raises(ValueError, match=r"miss: expected a number in \(0, inf\), got 'a'"):
        detection_cost([0, 1], [0, 1], miss=cast(Any, "a"))


@pytest.mark.parametrize("seed", range(5))
def test_detection_against_brute_force(seed: int) -> None:
    z, y = random_labels(seed)
    times = np.cumsum(np.random.default_rng(seed).random(60))
    counted, timed = detection(z, y), detection(z, y, times)
    for label in range(4):
        own = [(a, t) for a, b, t in zip(z, y, times, strict=True) if b == label]
        labels = [a for a, _ in own]
        main = max(dict.fromkeys(labels), key=labels.count)
        assert counted.share[label] == pytest.approx(labels.count(main) / len(own))
        if (y[z == main] == label).mean() < 0.5:
            assert counted.delay[label] == timed.delay[label] == np.inf
        else:
            assert counted.delay[label] == labels.index(main)
            assert timed.delay[label] == pytest.approx(own[labels.index(main)][1] - own[0][1])


def test_a_class_that_is_found_late_and_one_that_never_is() -> None:
    z = [0, 0, 5, 5, 5, 0, 0, 0]
    y = [0, 1, 1, 1, 1, 0, 0, 2]
    counted = detection(z, y)
    np.testing.assert_array_equal(counted.delay, [0, 1, np.inf])
    np.testing.assert_array_equal(counted.share, [1, 0.75, 1])


def test_labels_that_do_not_fit() -> None:
    measures: list[Any] = [b_cubed, adjusted_mutual_information, v_measure, detection_cost, detection]
    for score in measures:
        for z, y in itertools.chain([([0, 1], [0]), ([], [])], [([[0]], [[0]])]):
            with pytest.raises(ValueError, match="two label vectors of one length"):
                score(z, y)
    with pytest.raises(ValueError, match="times: expected one for each of 2"):
        detection([0, 1], [0, 1], [0.5])
