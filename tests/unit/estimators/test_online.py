"""The one-pass mixture: scikit-learn's and river's own checks, and what it promises beyond."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.typing import NDArray
from river import checks, feature_extraction
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER, LEARNS_IN_ORDER, RIVER_CHECKS, RIVER_METHOD, bags, texts
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.directional import kernels
from vmfstream.estimators.chunked import chunked
from vmfstream.estimators.online import OnlineVMFMixture
from vmfstream.estimators.stories import StoryMixture
from vmfstream.online import tracker


@parametrize_with_checks(
    [OnlineVMFMixture(n_components=3, random_state=0)],
    expected_failed_checks=lambda _: EXPECTS_CLASSIFIER | RIVER_METHOD | LEARNS_IN_ORDER,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("check", list(checks.yield_checks(OnlineVMFMixture())), ids=lambda c: c.__name__)
def test_river_accepts_it(check: Callable[[Any], None]) -> None:
    check(OnlineVMFMixture(n_components=3, random_state=0))


@pytest.mark.thorough
@pytest.mark.parametrize("check", RIVER_CHECKS, ids=lambda c: c.__name__)
def test_rivers_checks_on_text(check: Callable[..., None]) -> None:
    check(OnlineVMFMixture(n_components=3, batch_size=16, random_state=0), [(x, 0) for x, _ in bags(200)])


def planted(n: int = 3000, d: int = 60, k: int = 5, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), labels, 0.7), labels


@pytest.mark.parametrize("sparse", [True, False])
def test_weights_are_repeated_rows(sparse: bool) -> None:
    x, _ = planted(600, d=20)
    x[[0, 7]] = 0.0
    weight = np.random.default_rng(1).integers(0, 4, 600)
    weight[[0, 7, 300, 301]] = [2, 0, 3, 0]
    rows: Any = csr_array(x) if sparse else x
    options: dict[str, Any] = {"window": 150, "slice_size": 200, "random_state": 0}
    once, often = OnlineVMFMixture(5, **options), OnlineVMFMixture(5, **options)
    for part in (slice(0, 300), slice(300, 600)):
        copies = np.repeat(np.arange(600)[part], weight[part])
        once.partial_fit(rows[part], sample_weight=weight[part])
        often.partial_fit(rows[copies])
        first = np.searchsorted(copies, np.arange(600)[part])
        learnt = weight[part] > 0
        np.testing.assert_array_equal(once.labels_[learnt], often.labels_[first[learnt]])
        np.testing.assert_array_equal(once.labels_[~learnt], often.predict(rows[part][~learnt]))
        assert once.lower_bound_ == often.lower_bound_
        assert once.n_empty_rows_ == (2 if part.start == 0 else 0)
    np.testing.assert_array_equal(once.means_, often.means_)
    np.testing.assert_array_equal(once.weights_, often.weights_)
    assert once.n_documents_seen_ == weight.sum() == often.n_documents_seen_
    whole = OnlineVMFMixture(5, **options).fit(rows, sample_weight=weight)
    repeated = OnlineVMFMixture(5, **options).fit(rows[np.repeat(np.arange(600), weight)])
    assert whole.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-12)
    np.testing.assert_array_equal(whole.labels_[np.repeat(np.arange(600), weight)], repeated.labels_)


def test_weights_of_documents_are_whole_numbers() -> None:
    x, _ = planted(100, d=20)
    for weight, message in (
        (np.full(100, 1.5), "expected whole numbers where documents are learnt one after the other, got 1.5"),
        (np.ones(99), r"expected one weight for each of 100 vectors, got the shape \(99,\)"),
        (np.zeros(100), "expected a positive weight, got only zeros"),
        (-np.ones(100), "expected finite weights of at least 0, got -1.0 in row 0"),
    ):
        with pytest.raises(ValueError, match=f"sample_weight: {message}"):
            OnlineVMFMixture(5).fit(x, sample_weight=weight)
        model = OnlineVMFMixture(5, random_state=0).fit(x)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(x, sample_weight=weight)
        assert model.n_documents_seen_ == 100


@pytest.mark.parametrize("batch", [50, 700, 3000])
@pytest.mark.parametrize("sparse", [True, False])
def test_one_pass_recovers_what_was_planted(batch: int, sparse: bool) -> None:
    x, labels = planted()
    model = OnlineVMFMixture(5, window=500, slice_size=800, random_state=0)
    found = []
    for low in range(0, len(x), batch):
        part = x[low : low + batch]
        found.append(model.partial_fit(csr_array(part) if sparse else part).topic_ids_[model.labels_])
    assert model.n_documents_seen_ == 3000
    assert adjusted_rand_score(labels, model.predict(x)) > 0.98
    assert adjusted_rand_score(labels[500:], np.concatenate(found)[500:]) > 0.98
    assert model.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.norm(model.means_, axis=1), 1.0, rtol=1e-5)
    assert model.score(x) == pytest.approx(model.score_samples(x).mean())


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_stream() -> None:
    x, _ = planted(n=16_000)
    model = OnlineVMFMixture(5, window=500, slice_size=1000, random_state=0)
    sizes = [len(pickle.dumps(model.partial_fit(x[low : low + 500]))) for low in range(0, 16_000, 500)]
    assert max(sizes[16:]) <= max(sizes[:16])


def test_rows_may_be_overwritten_after_they_were_learnt() -> None:
    x, _ = planted(600)
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    kept, reused = (OnlineVMFMixture(4, slice_size=100, window=150, random_state=0) for _ in range(2))
    room = np.empty((20, x.shape[1]), np.float32)
    for batch in np.split(x, 30):
        kept.partial_fit(batch)
        room[:] = batch
        reused.partial_fit(room)
    np.testing.assert_array_equal(reused.means_, kept.means_)


def test_no_row_is_learnt_if_one_is_not_finite() -> None:
    x = np.eye(4).repeat(3000, axis=0)
    model = OnlineVMFMixture(2, random_state=0).partial_fit(x[:100])
    before = pickle.dumps(model)
    x[-1, 2] = np.nan
    with pytest.raises(ValueError, match="neither NaN nor inf, got nan in row 11999, column 2"):
        model.partial_fit(x)
    assert pickle.dumps(model) == before


BAD: tuple[Any, ...] = (["cat fur", "ship"], np.full((9, 3), np.nan), csr_array(np.full((9, 3), np.inf)))
"""Rows that no model takes, of other kinds and widths than those of the tests."""


@pytest.mark.parametrize("bad", BAD, ids=["texts", "NaN", "infinite"])
def test_a_first_call_that_fails_begins_nothing(bad: Any) -> None:
    x = np.random.default_rng(0).standard_normal((60, 5))
    expected = OnlineVMFMixture(3, random_state=0).partial_fit(x).labels_
    model = OnlineVMFMixture(3, random_state=0)
    with pytest.raises(ValueError, match=r"X: expected rows of numbers|x: expected finite values"):
        model.partial_fit(bad)
    with pytest.raises(ValueError, match="feature 'a': expected a finite number, got nan"):
        model.learn_one({"a": np.nan})
    assert model.partial_fit(x).labels_.tolist() == expected.tolist()


@pytest.mark.parametrize("bad", BAD, ids=["texts", "NaN", "infinite"])
@pytest.mark.parametrize("model", [OnlineVMFMixture(3, random_state=0), StoryMixture()], ids=["topics", "stories"])
def test_a_fit_that_fails_leaves_the_one_before(model: Any, bad: Any) -> None:
    x = np.random.default_rng(0).standard_normal((60, 5))
    expected = model.fit(x).predict(x)
    with pytest.raises(ValueError, match=r"X: expected rows of numbers|x: expected finite values"):
        model.fit(bad)
    assert model.predict(x).tolist() == expected.tolist()


def test_rows_in_parts_are_given_part_by_part() -> None:
    with pytest.raises(ValueError, match="part by part"):
        OnlineVMFMixture(2).fit(chunked([np.eye(4), np.eye(4)]))


@pytest.mark.thorough
def test_topics_may_turn() -> None:
    rng = np.random.default_rng(0)
    means = directions(rng, 4, 200)
    model = OnlineVMFMixture(4, window=400, slice_size=400, random_state=0)
    for _ in range(12):
        labels = rng.integers(4, size=400)
        model.partial_fit(vmf_rows(rng, means, labels, 0.5))
        before, means = means, vmf_rows(rng, means, np.arange(4), 0.9)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
    assert (model.means_ @ before.T).max(axis=1).min() > 0.95


def test_a_stored_model_goes_on_as_if_it_had_never_been_stored() -> None:
    x, _ = planted()
    one = OnlineVMFMixture(5, window=500, slice_size=800, random_state=0)
    for low in range(0, 3000, 300):
        one.partial_fit(x[low : low + 300])
    two = OnlineVMFMixture(5, window=500, slice_size=800, random_state=0)
    for low in range(0, 3000, 300):
        two = pickle.loads(pickle.dumps(two)).partial_fit(x[low : low + 300])
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_in_a_river_pipeline() -> None:
    model: Any = feature_extraction.TFIDF() | OnlineVMFMixture(3, batch_size=32, random_state=0)
    found, truth = [], []
    for text, subject in texts(600):
        found.append(model.predict_one(text))
        truth.append(subject)
        model.learn_one(text)
    assert adjusted_rand_score(truth[200:], found[200:]) > 0.95


@pytest.mark.thorough
@pytest.mark.parametrize("documents", [100, 200, 1000])
def test_answers_come_from_the_first_documents_on(documents: int) -> None:
    """It learnt nothing before the 256th: the agreement of 200 answers with the subjects was 0."""
    model, found = OnlineVMFMixture(3, random_state=0), []
    for x, _ in bags(documents):
        found.append(model.predict_one(x))
        model.learn_one(x)
    assert adjusted_rand_score([subject for _, subject in bags(documents)], found) > 0.85


def test_river_finds_many_the_same_as_one() -> None:
    x, labels = planted(60, 6, 3)
    dataset = [(dict(enumerate(row)), int(label)) for row, label in zip(x, labels, strict=True)]
    check: Any = checks.common.check_learn_many_matches_learn_one
    check(OnlineVMFMixture(3, random_state=0), dataset)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 7, 64, 300])
def test_frames_and_mappings_say_the_same(size: int) -> None:
    documents = [x for x, _ in bags(300)]
    one, many = (OnlineVMFMixture(3, batch_size=64, random_state=0) for _ in range(2))
    for x in documents:
        one.learn_one(x)
    for low in range(0, 300, size):
        many.learn_many(pd.DataFrame(documents[low : low + size]).fillna(0.0))
    frame = pd.DataFrame(documents).fillna(0.0)
    assert [one.predict_one(x) for x in documents] == one.predict_many(frame).tolist()
    assert np.array_equal(one.predict_many(frame), many.predict_many(frame))
    assert np.array_equal(one.means_, many.means_)


def test_words_of_documents_with_names_are_their_features() -> None:
    model = OnlineVMFMixture(2, batch_size=4, random_state=0)
    for i in range(40):
        model.learn_one({"cat": 2, "fur": 1} if i % 2 else {"ship": 3, "sea": 1, 7: 0.1})
    assert sorted(model.words(top=2)) == [["cat", "fur"], ["ship", "sea"]]
    assert "7" in max(model.words())


def test_features_beyond_the_limit_are_left_out() -> None:
    model = OnlineVMFMixture(3, batch_size=16, max_features=20, random_state=0)
    for x, _ in bags(200):
        model.learn_one(x)
    assert model.means_.shape[1] == 20


@pytest.mark.parametrize("x", [{"a": float("nan")}, {"a": "text"}, {"a": None}])
def test_a_feature_that_is_no_number_is_named(x: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="feature 'a': expected a finite number, got"):
        OnlineVMFMixture().learn_one(x)


@pytest.mark.parametrize("kind", [OnlineVMFMixture, StoryMixture])
def test_a_document_that_is_no_mapping_is_refused(kind: Any) -> None:
    for learn in (kind().learn_one, kind().predict_one):
        with pytest.raises(ValueError, match="x: expected a mapping from features to numbers, got 'words'"):
            learn("words")


def test_rows_with_and_without_names_do_not_mix() -> None:
    named, plain = OnlineVMFMixture(2), OnlineVMFMixture(2)
    named.learn_one({"a": 1.0})
    with pytest.raises(ValueError, match="partial_fit: expected no named features"):
        named.partial_fit(np.eye(4))
    plain.partial_fit(np.eye(4))
    with pytest.raises(ValueError, match="learn_one: expected rows without names"):
        plain.learn_one({"a": 1.0})


@pytest.mark.parametrize("kind", [OnlineVMFMixture, StoryMixture])
def test_a_document_with_names_is_not_judged_by_rows_without(kind: Any) -> None:
    """One kind ended with an AttributeError, the other took every document for the first of a new story."""
    named = kind()
    named.learn_one({"a": 1.0, "b": 1.0})
    for model in (kind().fit(np.eye(4)), kind().partial_fit(np.eye(4)), named.fit(np.eye(4))):
        with pytest.raises(ValueError, match="predict_one: expected rows without names, for fit or partial_fit was"):
            model.predict_one({"a": 1.0})


def test_many_documents_with_names_are_not_judged_by_rows_without() -> None:
    with pytest.raises(ValueError, match="predict_many: expected rows without names"):
        OnlineVMFMixture(2).fit(np.eye(4)).predict_many(pd.DataFrame({"a": [1.0]}))


def test_many_documents_are_a_frame_of_pandas() -> None:
    for method in (OnlineVMFMixture().learn_many, OnlineVMFMixture().predict_many):
        for given, kind in ((np.eye(3), "numpy.ndarray"), (polars.DataFrame({"a": [1.0]}), "polars.*DataFrame")):
            with pytest.raises(ValueError, match=f"X: expected a pandas DataFrame, got {kind}"):
                method(given)
        with pytest.raises(ValueError, match="X: expected different column names, got 'b' repeatedly"):
            method(pd.DataFrame(np.eye(3), columns=["b", "a", "b"]))


def test_rows_without_direction() -> None:
    x, _ = planted(n=50)
    x[::5] = 0.0
    model = OnlineVMFMixture(3, random_state=0).fit(x)
    assert (model.labels_[::5] == -1).all()
    assert model.n_empty_rows_ == 10
    with pytest.raises(ValueError, match="expected a row with a direction, got 7 rows of zeros"):
        OnlineVMFMixture(3).fit(np.zeros((7, 3)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("persistence", 1.0), ("persistence", 0.0), ("slice_size", 0), ("alpha", 0.0), ("batch_size", 0), ("window", 0)],
)
def test_parameters_outside_their_domain(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        OnlineVMFMixture(**{name: value}).fit(np.eye(4))


def test_a_row_takes_no_longer_the_more_rows_its_slice_has() -> None:
    rng = np.random.default_rng(0)
    rows = vmf_rows(rng, directions(rng, 3, 6), np.arange(900) % 3, 0.9)
    model = OnlineVMFMixture(3, slice_size=2000, window=400, random_state=0).partial_fit(rows[:500])
    calls, counted = list[int](), list[int]()
    for row in rows[500:900]:
        sys.setprofile(lambda *_: calls.append(0))
        try:
            model.partial_fit(row[None])
        finally:
            sys.setprofile(None)
        counted.append(len(calls))
        calls.clear()
    assert counted[-1] <= counted[1] + 10


def test_a_row_of_few_words_copies_no_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 400, 600)
    rows = csr_array((np.ones(600), (np.repeat(np.arange(300), 2), columns)), shape=(300, 400))
    model = OnlineVMFMixture(3, slice_size=500, window=60, random_state=0).partial_fit(rows[:100])
    copies: list[int] = []

    def copied(m: NDArray[Any]) -> NDArray[Any]:
        copies.append(m.size)
        return kernels.copied(m)

    monkeypatch.setattr(tracker, "copied", copied)
    for i in range(100, 300):
        model.partial_fit(rows[i : i + 1])
    assert len(copies) < 10  # one at the beginning of each slice
