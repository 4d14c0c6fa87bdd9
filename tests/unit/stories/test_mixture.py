"""What the sequential mixture promises: independence of form, resumption, bounded memory, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from tests.unit.stories.streams import TWINS, bursts, forwarded, mixed_shares, vectors_of
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings

SHORT = StorySettings(half_life=10.0)

MERGING = StorySettings(grain=0.3, half_life=150.0)
"""Settings with which some stories of `TWINS` are merged."""


def rows_of(n: int, seed: int = 0) -> csr_array:
    return csr_array(bursts(n, seed=seed)[0].astype(np.float32))


def test_stories_that_come_and_go_are_found() -> None:
    x, truth = bursts(2000, columns=3000)
    learnt = SequentialMixture(StorySettings(half_life=30.0), 3000).learn(csr_array(x.astype(np.float32)))
    together = learnt.labels[:, None] == learnt.labels
    assert (together == (truth[:, None] == truth)).mean() > 0.99
    assert np.all(np.diff(learnt.retired.last) >= 0)
    for story, size, first, last in zip(*learnt.retired[:4], strict=True):
        own = np.flatnonzero(learnt.labels == story)
        assert (size, first, last) == (len(own), own[0], own[-1])
    assert (np.abs(learnt.retired.weights[:, 0]) >= np.abs(learnt.retired.weights[:, 1])).all()


@pytest.mark.parametrize("dense", [False, True])
def test_rows_are_compared_with_their_story_before_they_join_it(dense: bool) -> None:
    x: Any = bursts(300)[0].astype(np.float32)
    x[7] = 0.0
    learnt = SequentialMixture(SHORT, 300, dense=dense).learn(x if dense else csr_array(x))
    for i, (label, cosine) in enumerate(zip(learnt.labels, learnt.cosines, strict=True)):
        total = x[:i][learnt.labels[:i] == label].sum(axis=0)
        if label < 0 or not total.any():
            assert cosine == 0.0
        else:
            assert cosine == pytest.approx(float(x[i] @ total / np.linalg.norm(total)), abs=1e-5)


def test_permuted_and_added_columns_change_no_label() -> None:
    x = rows_of(600)
    expected = SequentialMixture(SHORT, 300).learn(x).labels
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(SequentialMixture(SHORT, 300).learn(csr_array(x[:, order])).labels, expected)
    wide = csr_array(hstack([x, csr_array((600, 5000), dtype=np.float32)]))
    np.testing.assert_array_equal(SequentialMixture(SHORT, 5300).learn(wide).labels, expected)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("settings", [SHORT, MERGING])
def test_going_on_from_stored_arrays_is_never_having_stopped(dense: bool, timed: bool, settings: StorySettings) -> None:
    x: Any = bursts(900, **({"seed": 3} if settings is SHORT else TWINS))[0].astype(np.float32)
    x[::50] = 0.0
    x = x if dense else csr_array(x)
    times = np.cumsum(np.random.default_rng(0).exponential(1.0, 900)).round(1) + 1e9
    one = SequentialMixture(settings, x.shape[1], dense=dense)
    two = SequentialMixture(settings, x.shape[1], dense=dense)
    whole = one.learn(x, times if timed else None)
    assert (whole.retired.into >= 0).any() == (settings is MERGING)
    labels, retired = [], []
    for low in range(0, 900, 61):
        part = slice(low, low + 61)
        learnt = two.learn(x[part], times[part] if timed else None)
        labels.append(learnt.labels)
        retired.append(np.stack([learnt.retired.ids, learnt.retired.into, learnt.retired.evidence]))
        stored = two.arrays()
        assert all(array.dtype != object for array in stored.values())
        two = SequentialMixture.from_arrays(settings, stored)
        for name, array in two.arrays().items():
            np.testing.assert_array_equal(array, stored[name])
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels)
    expected = np.stack([whole.retired.ids, whole.retired.into, whole.retired.evidence])
    np.testing.assert_array_equal(np.concatenate(retired, axis=1), expected)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name])


def test_sums_are_those_of_the_rows() -> None:
    x = rows_of(300)
    mixture = SequentialMixture(SHORT, 300)
    labels = mixture.learn(x).labels
    living = mixture.living()
    sums: Any = living.sums
    assert len(living.ids) == mixture.n_stories
    for row, story in enumerate(living.ids):
        np.testing.assert_allclose(sums[[row]].toarray()[0], x[labels == story].sum(axis=0), atol=1e-5)
    used = mixture.columns_in_use()
    np.testing.assert_array_equal(np.flatnonzero(used), np.unique(sums.indices))


@pytest.mark.parametrize("dense", [False, True])
def test_a_merged_story_has_the_documents_of_both(dense: bool) -> None:
    x: Any = bursts(900, **TWINS)[0].astype(np.float32)
    mixture = SequentialMixture(MERGING, x.shape[1], dense=dense)
    learnt = mixture.learn(x if dense else csr_array(x))
    merged = learnt.retired.into >= 0
    assert merged.sum() >= 3
    labels, living = forwarded(learnt.labels, learnt.retired), mixture.living()
    assert set(living.ids) & set(learnt.retired.into)
    sums = csr_array(living.sums).toarray()
    for row, story in enumerate(living.ids):
        own = np.flatnonzero(labels == story)
        assert (living.size[row], living.first[row], living.last[row]) == (len(own), own[0], own[-1])
        np.testing.assert_allclose(sums[row], x[own].sum(axis=0), atol=1e-5)
    for story, size, first, last in zip(*(column[~merged] for column in learnt.retired[:4]), strict=True):
        own = np.flatnonzero(labels == story)
        assert (size, first, last) == (len(own), own[0], own[-1])
    np.testing.assert_allclose(mixture.arrays()["square"], (sums**2).sum(axis=1), rtol=1e-4)
    assert (learnt.retired.evidence[merged] > 0.0).all()


def test_the_strongest_words_are_those_of_the_sums() -> None:
    x = bursts(300, seed=3)[0].round(1)  # many weights are equal
    x[np.linalg.norm(x, axis=1) == 0.0] = 1.0
    mixture = SequentialMixture(StorySettings(half_life=20.0), x.shape[1])
    retired = mixture.learn(csr_array((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))).retired
    assert len(retired.ids)
    living = mixture.living()
    words, weights = mixture.strongest(living.ids[::-1], 7)
    for sums, columns, shares in zip(csr_array(living.sums).toarray()[::-1], words, weights, strict=True):
        order = np.argsort(-np.abs(sums), kind="stable")[: min(7, np.count_nonzero(sums))]
        np.testing.assert_array_equal(columns[: len(order)], order)
        np.testing.assert_allclose(shares[: len(order)], sums[order] / np.linalg.norm(sums), rtol=1e-5)
        assert (columns[len(order) :] == -1).all()


def test_predicting_is_what_learning_would_give_and_changes_nothing() -> None:
    x, mixture = rows_of(300), SequentialMixture(SHORT, 300)
    for i in range(300):
        before = mixture.arrays()
        said = mixture.predict(x[[i]])
        for name, array in mixture.arrays().items():
            np.testing.assert_array_equal(array, before[name])
        assert mixture.learn(x[[i]]).labels == said


def test_a_second_judgement_is_predicted_whatever_the_batches() -> None:
    x, _ = mixed_shares(400)
    rows, settings = csr_array(x.astype(np.float32)), StorySettings(half_life=40.0)
    expected = SequentialMixture(settings, x.shape[1]).learn(rows).labels
    mixture = SequentialMixture(settings, x.shape[1])
    for i in range(400):
        assert mixture.predict(rows[[i]]) == mixture.learn(rows[[i]]).labels == expected[i]


def test_a_row_of_zeros_changes_nothing() -> None:
    x = rows_of(100).toarray()
    expected = SequentialMixture(SHORT, 300).learn(csr_array(x)).labels
    gaps = np.insert(x, [10, 50, 50], 0.0, axis=0)
    for rows, dense in ((csr_array(gaps), False), (gaps, True)):
        labels = SequentialMixture(SHORT, 300, dense=dense).learn(rows).labels
        np.testing.assert_array_equal(np.flatnonzero(labels < 0), [10, 51, 52])
    explicit = csr_array((np.zeros(2, np.float32), [0, 1], [0, 2]), shape=(1, 300))
    assert SequentialMixture(SHORT, 300).learn(explicit).labels == [-1]
    np.testing.assert_array_equal(
        np.delete(SequentialMixture(SHORT, 300).learn(csr_array(gaps)).labels, [10, 51, 52]), expected
    )


def test_a_story_that_nobody_joins_is_retired_after_eight_half_lives() -> None:
    x = csr_array(np.eye(3, dtype=np.float32)[[0, 1, 1, 0]])
    for last, expected in ((81.0, [0, 1, 1, 0]), (81.5, [0, 1, 1, 2])):
        learnt = SequentialMixture(SHORT, 3).learn(x, [1.0, 2.0, 60.0, last])
        assert learnt.labels.tolist() == expected
        assert learnt.retired.ids.tolist() == ([0] if expected[-1] == 2 else [])


def test_a_time_before_the_newest_counts_as_that() -> None:
    x = csr_array(np.eye(3, dtype=np.float32)[[0, 1, 0]])
    living = SequentialMixture(SHORT, 3)
    living.learn(x, [5.0, 9.0, 7.0])
    assert living.living().last.tolist() == [9.0, 9.0]


def test_the_story_joined_longest_ago_makes_room() -> None:
    mixture = SequentialMixture(StorySettings(max_stories=3), 6)
    learnt = mixture.learn(csr_array(np.eye(6, dtype=np.float32)[[0, 1, 2, 0, 3, 4, 1]]))
    assert learnt.labels.tolist() == [0, 1, 2, 0, 3, 4, 5]
    assert learnt.retired.ids.tolist() == [1, 2, 0]
    assert mixture.n_stories == 3


def test_a_story_with_too_many_words_keeps_the_strongest() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros((200, 500), np.float32)
    x[:, 0] = 2.0
    for row in x:
        row[rng.choice(np.arange(1, 500), 5, replace=False)] = 0.5
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    mixture = SequentialMixture(StorySettings(max_words=40), 500)
    assert set(mixture.learn(csr_array(x)).labels) == {0}
    sums: Any = mixture.living().sums
    assert 30 <= sums.nnz <= 40
    assert sums[0, 0] == pytest.approx(x[:, 0].sum(), rel=1e-5)
    assert mixture.arrays()["square"][0] == pytest.approx((sums.data.astype(float) ** 2).sum(), rel=1e-5)


@pytest.mark.thorough
def test_memory_is_bounded_by_the_living_stories() -> None:
    mixture = SequentialMixture(StorySettings(half_life=30.0), 3000)
    sizes = []
    for part in range(12):
        mixture.learn(csr_array(bursts(2000, columns=3000, seed=part)[0].astype(np.float32)))
        sizes.append(sum(array.nbytes for array in mixture.arrays().values()))
        sizes[-1] += mixture.nbytes
    assert max(sizes[4:]) <= 1.2 * max(sizes[:4])
    assert mixture.next_id > 500


def test_bad_input_says_what_was_expected_and_nothing_is_learnt() -> None:
    x, mixture = rows_of(20), SequentialMixture(SHORT, 300)
    mixture.learn(x, np.arange(20.0))
    before = mixture.arrays()
    with pytest.raises(ValueError, match="expected 300 columns, got 299"):
        mixture.learn(csr_array(x[:, :299]), np.arange(20.0))
    with pytest.raises(ValueError, match="one for each of 20 rows, as in the batches before, got none"):
        mixture.learn(x)
    with pytest.raises(ValueError, match=r"one for each of 20 rows, got the shape \(19,\)"):
        mixture.learn(x, np.arange(19.0))
    with pytest.raises(ValueError, match="expected finite numbers, got nan in row 3"):
        mixture.learn(x, np.where(np.arange(20) == 3, np.nan, 1.0))
    for name, array in mixture.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    untimed = SequentialMixture(SHORT, 300)
    untimed.learn(x)
    with pytest.raises(ValueError, match="time is counted in documents"):
        untimed.learn(x, np.arange(20.0))


# --- vectors beside the words


@pytest.mark.parametrize("timed", [False, True])
def test_words_and_vectors_go_on_from_stored_arrays(timed: bool) -> None:
    x, truth = bursts(700, **TWINS)
    rows, beside = csr_array(x.astype(np.float32)), vectors_of(truth, noise=2.0)
    settings = StorySettings(grain=0.2, half_life=150.0)
    times = np.cumsum(np.random.default_rng(0).exponential(1.0, 700)).round(1) + 1e9 if timed else None
    one, two = (SequentialMixture(settings, x.shape[1], vectors=12) for _ in range(2))
    whole = one.learn(rows, times, beside)
    assert (whole.retired.into >= 0).any()
    labels = []
    for low in range(0, 700, 61):
        part = slice(low, low + 61)
        labels.append(two.learn(rows[part], None if times is None else times[part], beside[part]).labels)
        two = SequentialMixture.from_arrays(settings, two.arrays())
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name])
    assert two.vectors == 12


def test_vectors_help_where_words_say_little_and_zeros_say_nothing() -> None:
    x, truth = bursts(400, words=5, seed=2)  # two words of their own
    rows, settings = csr_array(x.astype(np.float32)), StorySettings(half_life=30.0)
    alone = SequentialMixture(settings, x.shape[1]).learn(rows).labels
    both = SequentialMixture(settings, x.shape[1], vectors=12).learn(rows, None, vectors_of(truth, noise=0.3)).labels
    same = truth[:, None] == truth
    right = [((found[:, None] == found) == same).mean() for found in (alone, both)]
    assert 1.0 - right[1] < 0.7 * (1.0 - right[0])
    nothing = np.zeros((400, 12), np.float32)
    rows = csr_array(x.astype(np.float32))
    one = SequentialMixture(SHORT, x.shape[1], vectors=12).learn(rows, None, nothing).labels
    other = SequentialMixture(SHORT, x.shape[1], vectors=7).learn(rows, None, nothing[:, :7]).labels
    np.testing.assert_array_equal(one, other)
    assert len(np.unique(one)) < 100


def test_sums_of_vectors_are_those_of_the_documents() -> None:
    x, truth = bursts(3000, columns=2000)
    rows, beside = csr_array(x.astype(np.float32)), vectors_of(truth, noise=0.3)
    mixture = SequentialMixture(StorySettings(0.4, half_life=1e5), x.shape[1], vectors=12)
    labels = mixture.learn(rows, None, beside).labels
    stored = mixture.arrays()
    assert len(stored["ids"]) > 70  # more than there was room for at first
    for story, sums, square in zip(stored["ids"], stored["beside"], stored["beside_square"], strict=True):
        np.testing.assert_allclose(sums, beside[labels == story].sum(axis=0), atol=1e-4)
        assert square == pytest.approx((sums**2).sum(), rel=1e-4)


def test_prediction_and_second_labels_use_the_vectors() -> None:
    x, truth = bursts(400, words=5, seed=2)  # two words of their own
    rows, beside = csr_array(x.astype(np.float32)), vectors_of(truth, noise=0.3)
    mixture = SequentialMixture(StorySettings(half_life=30.0), x.shape[1], vectors=12)
    labels = mixture.learn(rows[:399], None, beside[:399]).labels
    again = mixture.relabel(rows[:399], np.arange(399.0), labels, beside[:399])
    alive = np.isin(labels, mixture.living().ids) & (again >= 0)
    assert (again == labels)[alive].mean() > 0.85
    before = mixture.arrays()
    wanted = mixture.predict(rows[399:], vectors=beside[399:])
    assert mixture.learn(rows[399:], None, beside[399:]).labels == wanted
    mixture = SequentialMixture.from_arrays(mixture.settings, before)
    assert mixture.predict(rows[399:], vectors=beside[399:]) == wanted
    assert mixture.predict(rows[399:], vectors=-beside[399:]) != wanted


def test_vectors_that_do_not_fit_are_clear_errors() -> None:
    rows = rows_of(5)
    with pytest.raises(ValueError, match="vectors: expected none, for this mixture was made without"):
        SequentialMixture(SHORT, 300).learn(rows, None, np.ones((5, 3), np.float32))
    mixture = SequentialMixture(SHORT, 300, vectors=3)
    with pytest.raises(ValueError, match=r"vectors: expected the shape \(5, 3\), got none"):
        mixture.learn(rows)
    with pytest.raises(ValueError, match=r"vectors: expected the shape \(5, 3\), got the shape \(4, 3\)"):
        mixture.learn(rows, None, np.ones((4, 3), np.float32))
    assert mixture.n_documents == 0
