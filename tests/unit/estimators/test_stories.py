"""The mixture of stories: scikit-learn's and river's own checks, and what it promises beyond."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from river import checks, feature_extraction
from scipy.sparse import csr_array, random_array
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.threads import Watched, at_once
from tests.unit.estimators.checks import RIVER_CHECKS, RIVER_METHOD, bags, texts
from tests.unit.mixtures.planted import directions, vmf_rows
from tests.unit.stories.streams import bursts, vectors_of
from vmfstream.estimators.chunked import chunked
from vmfstream.estimators.stories import StoryMixture
from vmfstream.stories import mixture as story_mixture
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.passes import label_rows
from vmfstream.stories.settings import StorySettings


@parametrize_with_checks([StoryMixture()], expected_failed_checks=lambda _: RIVER_METHOD)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("check", list(checks.yield_checks(StoryMixture())), ids=lambda c: c.__name__)
def test_river_accepts_it(check: Callable[[Any], None]) -> None:
    check(StoryMixture())


@pytest.mark.thorough
@pytest.mark.parametrize("check", RIVER_CHECKS, ids=lambda c: c.__name__)
def test_rivers_checks_on_text(check: Callable[..., None]) -> None:
    check(StoryMixture(), [(x, 0) for x, _ in bags(200)])


def planted(n: int = 1000, d: int = 400, k: int = 8, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), labels, 0.7), labels


@pytest.mark.parametrize("sparse", [True, False])
def test_weights_are_repeated_rows(sparse: bool) -> None:
    x, _ = planted(300)
    x[0] = 0.0
    weight = np.random.default_rng(1).integers(0, 4, 300)
    weight[0] = 2
    copies = np.repeat(np.arange(300), weight)
    rows: Any = csr_array(x) if sparse else x
    times, vectors = np.arange(300) / 7, planted(300, d=30)[0]
    once, often = StoryMixture(window=20), StoryMixture(window=20)
    for part in (slice(0, 100), slice(100, 300)):
        some = copies[(copies >= part.start) & (copies < part.stop)]
        once.partial_fit(rows[part], sample_weight=weight[part], times=times[part], vectors=vectors[part])
        often.partial_fit(rows[some], times=times[some], vectors=vectors[some])
        learnt = weight[part] > 0
        np.testing.assert_array_equal(
            once.labels_[learnt], often.labels_[np.searchsorted(some, np.arange(300)[part][learnt])]
        )
        assert (once.labels_[~learnt] == -1).all()
        np.testing.assert_array_equal(once.smoothed_labels_, often.smoothed_labels_)
    assert once.n_documents_seen_ == weight[1:].sum()
    np.testing.assert_array_equal(once.story_sizes_, often.story_sizes_)
    fitted = StoryMixture().fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(fitted.labels_[copies], StoryMixture().fit(rows[copies]).labels_)
    for bad, message in ((np.full(300, 1.5), "whole numbers where documents are learnt"), (np.ones(9), "for each of")):
        with pytest.raises(ValueError, match=f"sample_weight: expected .*{message}"):
            fitted.partial_fit(rows, sample_weight=bad)
    assert fitted.n_documents_seen_ == weight[1:].sum()
    with pytest.raises(ValueError, match="times: expected"):
        once.partial_fit(rows, sample_weight=weight, times=times[:5], vectors=vectors)


@pytest.mark.parametrize("sparse", [True, False])
def test_labels_are_those_of_one_pass_however_rows_are_cut(sparse: bool) -> None:
    x, labels = planted()
    rows: Any = csr_array(x) if sparse else x
    whole = StoryMixture(grain=0.5).fit(rows)
    assert adjusted_rand_score(labels, whole.labels_) > 0.98
    model = StoryMixture(grain=0.5)
    parts = [model.partial_fit(rows[low : low + 77]).labels_ for low in range(0, 1000, 77)]
    np.testing.assert_array_equal(np.concatenate(parts), whole.labels_)
    assert model.n_documents_seen_ == 1000
    np.testing.assert_array_equal(model.story_ids_, whole.story_ids_)
    assert model.story_sizes_.sum() == 1000
    means: Any = model.means_
    np.testing.assert_allclose(np.linalg.norm(means.toarray() if sparse else means, axis=1), 1.0, rtol=1e-5)


def test_float32_and_float64_rows_and_unscaled_ones_say_the_same() -> None:
    x, _ = planted(300)
    expected = StoryMixture().fit_predict(x)
    np.testing.assert_array_equal(StoryMixture().fit_predict(x.astype(np.float32)), expected)
    np.testing.assert_array_equal(StoryMixture().fit_predict(7.0 * x), expected)


def test_stories_may_have_heavy_tails() -> None:
    x: Any = bursts(400, words=5, seed=2)[0]  # two words of their own
    model = StoryMixture(grain=0.4, component="cauchy").fit(x)
    mixture = SequentialMixture(StorySettings(grain=0.4, cauchy=True), x.shape[1], dense=True)
    np.testing.assert_array_equal(model.labels_, mixture.learn(x.astype(np.float32)).labels)
    assert (model.labels_ != StoryMixture(grain=0.4).fit(x).labels_).any()
    with pytest.raises(ValueError, match="component: expected one of 'vmf', 'cauchy', got 'kent'"):
        StoryMixture(component="kent").fit(x)


def test_predict_is_what_learning_would_give() -> None:
    x, _ = planted(400)
    model = StoryMixture(half_life=20.0)
    for row in x:
        said = model.predict(row[None])[0] if model.__sklearn_is_fitted__() else 0
        assert said == model.partial_fit(row[None]).labels_[0]


def test_predict_does_not_learn() -> None:
    x, _ = planted(300)
    model = StoryMixture().fit(x[:200])
    first = model.predict(x[200:])
    np.testing.assert_array_equal(model.predict(x[200:]), first)
    assert model.predict(np.eye(400)[[3]])[0] == model.next_id_


def test_fit_forgets_and_a_failed_fit_does_not() -> None:
    x, _ = planted(200)
    model = StoryMixture().fit(x)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="times"):
        model.fit(x, times=[1.0])
    assert pickle.dumps(model) == before
    assert model.fit(x).next_id_ == model.labels_.max() + 1


def test_one_story_of_most_documents_is_told() -> None:
    """With stop words half of real texts were one story, without a word."""
    rng = np.random.default_rng(0)
    own = random_array((300, 2_000), density=0.002, format="csr", rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StoryMixture().fit(own)
        StoryMixture().fit(own[:190] + csr_array(np.eye(2_000)[:1].repeat(190, axis=0)))
        StoryMixture().partial_fit(own + csr_array(np.eye(2_000)[:1].repeat(300, axis=0)))
    with pytest.warns(UserWarning, match=r"300 of 300 documents are in one story; of texts leave out words"):
        StoryMixture().fit(own + csr_array(np.eye(2_000)[:1].repeat(300, axis=0)))


@pytest.mark.parametrize(
    ("times", "got"),
    [
        (np.array(["2024-01-01"] * 5, "M8[ns]"), r"datetime64\[ns\]"),
        (np.array([1] * 5, "m8[s]"), r"timedelta64\[s\]"),
        ([datetime(2024, 1, 1)] * 5, "datetime"),
        (["1"] * 5, "<U1"),
    ],
)
def test_times_are_numbers(times: Any, got: str) -> None:
    """Of dates the unit is not known."""
    with pytest.raises(ValueError, match=f"^times: expected numbers in the unit of half_life, got {got}$"):
        StoryMixture().fit(np.eye(5), times=times)
    assert StoryMixture().fit(np.eye(5), times=np.array([1, 2, 3, 4, 5], object)).n_stories_ == 5


def test_vectors_beside_rows_are_dense() -> None:
    with pytest.raises(ValueError, match=r"^vectors: expected a dense array, got a sparse one$"):
        StoryMixture().fit(csr_array(np.eye(5)), vectors=csr_array(np.eye(5)))


def test_no_row_is_learnt_if_one_is_bad() -> None:
    x, _ = planted(200)
    model = StoryMixture().fit(x[:100])
    before = pickle.dumps(model)
    x[-1, 2] = np.nan
    with pytest.raises(ValueError, match="neither NaN nor inf, got nan in row 99, column 2"):
        model.partial_fit(x[100:])
    with pytest.raises(ValueError, match="expecting 400 features"):
        model.partial_fit(x[:5, :399])
    with pytest.raises(ValueError, match="time is counted in documents"):
        model.partial_fit(x[:5], times=np.arange(5))
    with pytest.raises(ValueError, match="part by part"):
        model.partial_fit(chunked([x[:100], x[:100]]))
    assert pickle.dumps(model) == before


def test_rows_without_direction() -> None:
    x, _ = planted(50)
    x[::5] = 0.0
    for rows in (x, csr_array(x)):
        model = StoryMixture().fit(rows)
        assert (model.labels_[::5] == -1).all()
        assert (np.delete(model.labels_, np.s_[::5]) >= 0).all()
        assert model.n_empty_rows_ == 10
        assert model.n_documents_seen_ == 40
        assert (model.predict(rows)[::5] == -1).all()
    assert StoryMixture().fit_predict(np.zeros((3, 4))).tolist() == [-1, -1, -1]


def test_a_stored_model_goes_on_as_if_it_had_never_been_stored() -> None:
    x, _ = planted()
    one = StoryMixture(half_life=30.0).fit(x)
    two = StoryMixture(half_life=30.0)
    labels = [(two := pickle.loads(pickle.dumps(two.partial_fit(x[i : i + 100])))).labels_ for i in range(0, 1000, 100)]
    np.testing.assert_array_equal(np.concatenate(labels), one.labels_)


def test_half_life_is_in_the_unit_of_times() -> None:
    x, _ = planted(100)
    twice, times = np.concatenate([x, x]), np.concatenate([np.linspace(0, 1, 100), np.linspace(30, 31, 100)])
    brief = StoryMixture(half_life=2.0).fit(twice, times=times)
    long = StoryMixture(half_life=20.0).fit(twice, times=times)
    assert not set(brief.labels_[:100]) & set(brief.labels_[100:])
    assert set(long.labels_[:100]) == set(long.labels_[100:])
    assert set(brief.retired_.ids) == set(brief.labels_[:100])


def test_in_a_river_pipeline_labels_begin_with_the_first_document() -> None:
    model: Any = feature_extraction.TFIDF() | StoryMixture(grain=0.5)
    found, truth = [], []
    for text, subject in texts(300):
        found.append(model.predict_one(text))
        truth.append(subject)
        model.learn_one(text)
    assert found[0] == 0
    assert adjusted_rand_score(truth, found) > 0.9


def test_predict_one_says_what_learn_one_would() -> None:
    model = StoryMixture(grain=0.5)
    for x, _ in bags(100):
        said = model.predict_one(x)
        model.learn_one(x)
        assert said == model.labels_[0]


def test_features_that_no_story_holds_are_forgotten() -> None:
    model = StoryMixture(half_life=2.0, max_features=100)
    for i in range(300):
        model.learn_one({f"a{i}": 1.0, f"b{i}": 1.0})
        assert model.labels_[0] == i
    assert model.means_.shape[1] == 100
    assert model.predict_one({}) == -1


@pytest.mark.parametrize("x", [{"a": float("nan")}, {"a": "text"}, {"a": None}])
def test_a_feature_that_is_no_number_is_named(x: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="feature 'a': expected a finite number, got"):
        StoryMixture().learn_one(x)


def test_rows_with_and_without_names_do_not_mix() -> None:
    named, plain = StoryMixture(), StoryMixture()
    named.learn_one({"a": 1.0})
    with pytest.raises(ValueError, match="partial_fit: expected no named features"):
        named.partial_fit(np.eye(4))
    plain.partial_fit(np.eye(4))
    with pytest.raises(ValueError, match="learn_one: expected rows without names"):
        plain.learn_one({"a": 1.0})


@pytest.mark.parametrize(
    ("name", "value"),
    [("grain", 1.0), ("grain", 0.0), ("half_life", 0.0), ("alpha", 0.0), ("max_words", 3), ("max_features", 1)],
)
def test_parameters_outside_their_domain(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        StoryMixture(**{name: value}).fit(np.eye(4))


def test_a_second_view_counts_in_any_batches_and_after_the_window() -> None:
    x, truth = bursts(600, words=5, seed=2)
    vectors = vectors_of(truth, noise=0.5).astype(np.float64)
    vectors[::50] = 0.0
    whole, parts = StoryMixture(window=100), StoryMixture(window=100)
    whole.partial_fit(csr_array(x), vectors=vectors)
    assert (whole.labels_ != StoryMixture().fit(csr_array(x)).labels_).any()
    labels, smoothed = [], []
    for low in range(0, len(x), 130):
        part = slice(low, low + 130)
        parts = pickle.loads(pickle.dumps(parts)).partial_fit(csr_array(x[part]), vectors=vectors[part])
        labels.append(parts.labels_)
        smoothed.append(parts.smoothed_labels_)
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels_)
    np.testing.assert_array_equal(np.concatenate(smoothed), whole.smoothed_labels_)
    for size in (3.0, 1e300, 1e-300):
        twice = StoryMixture().fit(csr_array(x), vectors=size * vectors)
        np.testing.assert_array_equal(twice.labels_, whole.labels_)
    assert (twice.predict(csr_array(x[-5:]), vectors=vectors[-5:]) == twice.labels_[-5:]).mean() > 0.5


def test_views_that_do_not_fit_are_clear_errors() -> None:
    x, _ = planted(20)
    for vectors, says in (
        (np.ones((20, 1)), r"vectors: expected the shape \(N, E\) with E of at least 2, got \(20, 1\)"),
        (pd.Series([np.ones(4)] * 20), r"vectors: expected an array of numbers, \(N, E\), got Series; numpy\.stack"),
        ([[1.0, 2.0], [1.0]], r"vectors: expected an array of numbers, \(N, E\), got list"),
        ([["a", "b"]] * 20, r"vectors: expected an array of numbers, \(N, E\), got list"),
        (np.full((20, 4), 1j), "vectors: expected real numbers, got complex ones"),
        (np.ones((19, 4)), r"vectors: expected the shape \(20, 4\), got the shape \(19, 4\)"),
        (
            np.where(np.arange(80).reshape(20, 4) == 9, np.nan, 1.0),
            r"vectors: expected finite numbers, got .* row 2",
        ),
    ):
        with pytest.raises(ValueError, match=says):
            StoryMixture().fit(x, vectors=vectors)
    model = StoryMixture().fit(x, vectors=np.ones((20, 4)))
    with pytest.raises(ValueError, match=r"vectors: expected the shape \(20, 4\), got none"):
        model.partial_fit(x)


def test_threads_that_label_at_once_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = planted(200)
    model = StoryMixture().fit(x)
    parts = [x[low : low + 20] for low in range(0, 200, 20)]
    wanted = [model.predict(part) for part in parts]
    watched = Watched(label_rows)
    monkeypatch.setattr(story_mixture, "label_rows", watched)
    found = at_once([partial(model.predict, part) for part in parts])
    assert watched.most == 1
    np.testing.assert_array_equal(found, wanted)
