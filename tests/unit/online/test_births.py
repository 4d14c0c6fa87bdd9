"""Groups of documents: their densities, their leave-one-out judgement, what the tests accept."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.bayes.predictive import predictive
from vmfstream.online.belief import log_density, new_topic_log_density
from vmfstream.online.births import ScoredDocuments, _left_out, find_groups
from vmfstream.online.settings import BirthSettings

D, KAPPA = 300, 150.0
RULES = BirthSettings()


def anchor(seed: int = 0) -> NDArray[np.float32]:
    return np.asarray(60.0 * directions(np.random.default_rng(seed), 1, D)[0], np.float32)


def around(mean: NDArray[np.float64], n: int, seed: int, a: float = 0.45) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return vmf_rows(rng, mean[None], np.zeros(n, np.int64), a).astype(np.float32)


def known(*parts: NDArray[np.float32]) -> ScoredDocuments:
    """Documents that the mixture explains as if it had no topics at all, and a little worse than that."""
    x = np.concatenate(parts)
    return ScoredDocuments(x, new_topic_log_density(x, anchor(), KAPPA) - 1.0)


def test_density_is_the_predictive_one() -> None:
    rng = np.random.default_rng(3)
    x = around(directions(rng, 1, D)[0], 20, 1)
    f = (anchor() + 40.0 * x[0]).astype(np.float64)
    columns = np.zeros((D, 16))
    columns[:, 0] = f
    expected = predictive(x.astype(np.float64), columns, np.array([np.linalg.norm(f)]), KAPPA, np.zeros(1))
    assert log_density(D, KAPPA, float(f @ f), x @ f) == pytest.approx(expected, abs=1e-6)
    columns[:, 0] = anchor()
    expected = predictive(x.astype(np.float64), columns, np.array([60.0]), KAPPA, np.zeros(1))
    assert new_topic_log_density(x, anchor(), KAPPA) == pytest.approx(expected, abs=1e-4)


def test_no_document_speaks_for_itself() -> None:
    x = around(directions(np.random.default_rng(4), 1, D)[0], 12, 2).astype(np.float64)
    members = np.arange(12) < 7
    b = anchor().astype(np.float64)
    cross, squares = _left_out(x @ x.T, x @ b, float(b @ b), KAPPA, members)
    for i in range(12):
        others = members & (np.arange(12) != i)
        f = b + KAPPA * x[others].sum(axis=0)
        assert squares[i] == pytest.approx(float(f @ f), rel=1e-6)
        assert cross[i] == pytest.approx(float(x[i] @ x[others].sum(axis=0)), abs=1e-6)


def sample(group: int, background: int, seed: int) -> tuple[ScoredDocuments, NDArray[np.bool_]]:
    """A group amid documents that have nothing in common, and which of them propose."""
    rng = np.random.default_rng(seed)
    mean = directions(np.random.default_rng(99), 1, D)[0]
    noise = directions(rng, background, D).astype(np.float32)
    return known(around(mean, group, seed), noise), rng.random(group + background) < 0.5


def test_a_group_that_is_new_is_found() -> None:
    recent, half = sample(20, 150, 1)
    control, _ = sample(0, 600, 2)
    groups = find_groups(recent, half, control, anchor(), KAPPA, RULES)
    first = groups[0]
    assert first.joins[:20].all()
    assert first.joins[20:].sum() < 10  # some by chance; two thirds are of the group
    assert first.gain > 10
    assert first.chance < 1e-5
    assert [len(densities) for densities in first.densities()] == [170, 600]


def test_a_group_that_was_always_there_is_not_new() -> None:
    recent, half = sample(20, 150, 1)
    control, _ = sample(70, 530, 2)
    first = find_groups(recent, half, control, anchor(), KAPPA, RULES)[0]
    assert first.joins[:20].all()
    assert first.chance > 0.01


def test_known_documents_make_no_group() -> None:
    recent, half = sample(20, 150, 1)
    explained = recent._replace(s=recent.s + 1000.0)
    assert find_groups(explained, half, sample(0, 600, 2)[0], anchor(), KAPPA, RULES) == []


@pytest.mark.parametrize("group", [0, 3])
def test_too_few_make_no_group(group: int) -> None:
    recent, half = sample(group, 100, 5)
    half[:group] = True  # nobody of the group tests
    assert find_groups(recent, half, sample(0, 600, 2)[0], anchor(), KAPPA, RULES) == []


def test_nothing_comes_of_nothing() -> None:
    recent, _ = sample(0, 4, 1)
    assert find_groups(recent, np.zeros(4, np.bool_), recent, anchor(), KAPPA, RULES) == []
    assert RULES.log_share < 0
