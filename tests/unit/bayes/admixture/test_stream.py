"""The admixture learnt from batches: its averages are those of all documents, and it finds what is planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.unit.bayes.admixture.documents import columns, planted
from vmfstream.arrays import Vector
from vmfstream.bayes.admixture import variational
from vmfstream.bayes.admixture.stream import Averages, averaged, batches, begun, learned, mixed
from vmfstream.bayes.admixture.topics import Likelihood
from vmfstream.bayes.admixture.variational import AdmixtureFit
from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.mixtures.sums import WeightedSums


def first_fit(bayesian: bool = False, **options: Any) -> tuple[Vector, csr_array, AdmixtureFit]:
    x, bags, _, _ = planted(**options)
    return x, bags, variational.best_fit(x, bags, 3, np.random.default_rng(0), bayesian=bayesian)


def test_steps_of_one_over_t_average_all_documents() -> None:
    x, bags, found = first_fit(n=12)
    whole, documents = averaged(variational.visited(x, bags, found.topics, found.alpha))
    assert documents == 12
    mean: Averages | None = None
    for t, (rows, one) in enumerate(batches(x, bags, 1), 1):
        fresh, _ = averaged(variational.visited(rows, one, found.topics, found.alpha))
        mean = fresh if mean is None else mixed(mean, fresh, 1 / t)
    assert mean is not None
    assert mean.sums.s == pytest.approx(whole.sums.s, abs=1e-12)
    assert mean.sums.nk == pytest.approx(whole.sums.nk)
    assert mean.sums.qk == pytest.approx(whole.sums.qk)
    assert mean.log_theta == pytest.approx(whole.log_theta)


@pytest.mark.parametrize("bayesian", [False, True])
def test_a_stream_finds_what_is_planted(bayesian: bool) -> None:
    x, bags, _, mu = planted(n=600)
    few = csr_array(bags[:40, : 40 * 20])
    stream = begun(variational.best_fit(x[: 40 * 20], few, 3, np.random.default_rng(0), bayesian=bayesian))
    first = stream.topics.f[:, :3] / np.linalg.norm(stream.topics.f[:, :3], axis=0)
    rest = csr_array(bags[40:])
    for batch in batches(x, rest, 20):
        stream, found = learned(stream, *batch)
        assert found.bound.mean() > 0
    means = stream.topics.f[:, :3] / np.linalg.norm(stream.topics.f[:, :3], axis=0)
    assert (mu @ means).max(axis=1).min() > 0.998
    assert (1 - (mu @ means).max(axis=1)).sum() < 0.5 * (1 - (mu @ first).max(axis=1)).sum()
    assert stream.topics.kappa.mean == pytest.approx(float(inv_bessel_ratio(8, 0.85)), rel=0.06)
    assert stream.alpha == pytest.approx(0.3, rel=0.25)
    assert (stream.steps, stream.documents) == (28, 600)


def test_averages_know_of_how_many_vectors_they_are() -> None:
    averages, _ = averaged(first_fit()[2].visit)
    both = mixed(averages, averages, 0.5).sums
    assert both.nk == pytest.approx(averages.sums.nk)
    assert both.nk**2 / both.qk == pytest.approx(2 * averages.sums.nk**2 / averages.sums.qk)


def test_few_vectors_do_not_sharpen_the_topics_of_a_stream() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((30, 200))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    sums = WeightedSums(columns(noise.sum(axis=0)[None]), np.array([30.0]), np.array([30.0]))
    stream = begun(first_fit()[2])
    assert stream.law.topics(sums, None).slope[0] < 10
    assert Likelihood().topics(sums, None).slope[0] > 30


def test_batches_hold_every_document_once() -> None:
    x, bags, _ = first_fit(n=7, size=3)
    parts = list(batches(x, bags, 3))
    assert [batch.shape[0] for _, batch in parts] == [3, 3, 1]
    assert np.concatenate([rows for rows, _ in parts]) == pytest.approx(x)
    words = np.eye(4)
    shared = csr_array(np.array([[2.0, 0, 1, 0], [0, 0, 3, 0]]))
    (rows, batch), (other, _) = batches(words, shared, 1)
    assert rows == pytest.approx(words[[0, 2]])
    assert batch.toarray().tolist() == [[2.0, 1.0]]
    assert other == pytest.approx(words[[2]])


def test_a_batch_without_vectors_changes_nothing() -> None:
    x, _, found = first_fit(n=10)
    stream = begun(found)
    after, visit = learned(stream, x[:0], csr_array((3, 0)))
    assert after is stream
    assert not visit.has_direction.any()
