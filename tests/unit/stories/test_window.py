"""Labels after the window: by the formulas, whatever the batches, better than on arrival."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.unit.stories.streams import TWINS, bursts, forwarded
from vmfstream.clustering_metrics import v_measure
from vmfstream.directional.bessel import log_c
from vmfstream.estimators.stories import StoryMixture
from vmfstream.stories.mixture import Learnt, Retired, SequentialMixture
from vmfstream.stories.settings import StorySettings
from vmfstream.stories.window import STRIDE, Window

SETTINGS = StorySettings(grain=0.3, half_life=150.0)


def rows_of(n: int = 900, *, dense: bool = False) -> Any:
    x = bursts(n, **TWINS)[0].astype(np.float32)
    x[::70] = 0.0
    return x if dense else csr_array(x)


def times_of(n: int, timed: bool) -> Any:
    """Times of documents, some of which come late."""
    rng = np.random.default_rng(4)
    return np.cumsum(rng.exponential(1.0, n)) - rng.choice([0.0, 30.0], n, p=[0.9, 0.1]) + 1e6 if timed else None


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("batch", [1, 61, 250])
def test_batches_and_pickling_change_no_label(dense: bool, timed: bool, batch: int) -> None:
    x, times = rows_of(dense=dense), times_of(900, timed)
    one = StoryMixture(0.3, half_life=150.0, window=130).fit(x, times=times)
    whole = [one.smoothed_labels_, one.flush()]
    two, parts = StoryMixture(0.3, half_life=150.0, window=130), []
    for low in range(0, 900, batch):
        some = slice(low, low + batch)
        two.partial_fit(x[some], times=times[some] if timed else None)
        two = pickle.loads(pickle.dumps(two)) if batch > 1 else two
        parts.append(two.smoothed_labels_)
        assert low + batch < 130 or 130 <= min(low + batch, 900) - sum(map(len, parts)) < 130 + STRIDE
    np.testing.assert_array_equal(np.concatenate(parts), whole[0])
    np.testing.assert_array_equal(two.flush(), whole[1])
    assert len(np.concatenate(whole)) == 900
    assert two.flush().tolist() == []
    np.testing.assert_array_equal(np.flatnonzero(np.concatenate(whole) < 0), np.arange(0, 900, 70))


@pytest.mark.thorough
@pytest.mark.parametrize("timed", [False, True])
def test_labels_are_those_of_the_stories_when_rows_leave(timed: bool) -> None:
    x, times, window = rows_of(), times_of(900, timed), Window(130)
    mixture = SequentialMixture(SETTINGS, x.shape[1])
    learnt, (left, before) = window.learn(mixture, x, times)
    prefix, done = SequentialMixture(SETTINGS, x.shape[1]), 0
    empty = np.diff(x.indptr) == 0
    came = np.arange(900) - np.cumsum(empty) if times is None else np.maximum.accumulate(np.where(empty, 0.0, times))
    for end in range(STRIDE, 901, STRIDE):
        part = slice(end - STRIDE, end)
        prefix.learn(x[part], times[part] if timed else None)
        for row in range(done, max(end - 130, 0)):
            own = int(forwarded(learnt.labels[[row]], prefix_ended(learnt, prefix))[0])
            expected = most_probable(prefix, x[[row]].toarray()[0], float(came[row]), own)
            assert left[row] == (own if expected < 0 else expected)  # alone: as on arrival, after the mergers so far
        done = max(end - 130, 0)
    assert (left != forwarded(learnt.labels, learnt.retired)[: len(left)]).sum() > 5
    assert (left != before).sum() > 5


def prefix_ended(learnt: Learnt, prefix: SequentialMixture) -> Retired:
    """The stories that ended by the time to which ``prefix`` learnt."""
    ended = np.isin(learnt.retired.ids, prefix.living().ids, invert=True) & (learnt.retired.ids < prefix.next_id)
    columns: Any = (column[ended] for column in learnt.retired)
    return Retired(*columns)


def test_a_story_that_began_later_is_as_improbable_as_one_that_ended_before() -> None:
    x = rows_of()
    mixture = SequentialMixture(SETTINGS, x.shape[1])
    own = mixture.learn(x)
    owners = forwarded(own.labels, own.retired)[600:]
    times = np.random.default_rng(5).uniform(0.0, 900.0, 300)
    before = mixture.arrays()
    given = zip(x[600:].toarray(), times.tolist(), owners.tolist(), strict=True)
    expected = [most_probable(mixture, row, time, owner) for row, time, owner in given]
    assert mixture.relabel(x[600:], times, owners).tolist() == expected
    assert (mixture.relabel(x[600:], np.full(300, 899.0), owners) != expected).any()
    for name, array in mixture.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(mixture.predict(x), SequentialMixture.from_arrays(SETTINGS, before).predict(x))


def most_probable(mixture: SequentialMixture, row: Any, time: float, owner: int) -> int:
    """The story by the formulas as they are written; -1 for one of its own or for a row of zeros.

    The row is taken out of the story that it is in, ``owner``.
    """
    if not row.any():
        return -1
    kappa, tempo = SETTINGS.dimension * 0.3 / (1 - 0.3**2), SETTINGS.half_life / (math.sqrt(2) - 1)
    prior = SETTINGS.prior * kappa

    def big_l(vector: Any) -> float:
        return float(log_c(SETTINGS.dimension, math.hypot(kappa * np.linalg.norm(vector), prior)))

    best, winner = math.log(SETTINGS.alpha) + big_l(0.0 * row) - big_l(row), -1
    living = mixture.living()
    for i, sums in enumerate(csr_array(living.sums).toarray().astype(float)):
        n = int(living.size[i])
        if living.ids[i] == owner:
            n, sums = n - 1, sums - row
        gap = max(time - living.last[i], living.first[i] - time, 0.0)
        if not n or abs(sums @ row) < 1e-6 or gap > SETTINGS.retire_after * SETTINGS.half_life:
            continue
        expected = tempo + living.last[i] - living.first[i]
        score = math.log(n) + math.log(n * tempo / expected) - (n + 1) * math.log1p(gap / expected)
        score += big_l(sums) - big_l(sums + row)
        if score > best:
            best, winner = score, int(living.ids[i])
    return winner


def test_labels_after_the_window_are_better_than_on_arrival() -> None:
    x, truth = bursts(2000, **TWINS)
    model = StoryMixture(0.3, half_life=150.0, window=200).fit(x)
    after = np.concatenate([model.smoothed_labels_, model.flush()])
    assert v_measure(after, truth).v > v_measure(model.labels_, truth).v + 0.01


def test_words_of_rows_in_the_window_are_in_use() -> None:
    x, window = rows_of(), Window(130)
    window.learn(SequentialMixture(SETTINGS, x.shape[1]), x, None)
    np.testing.assert_array_equal(np.flatnonzero(window.columns_in_use(900)), np.unique(x[-130:].indices))


def test_features_with_names_grow_while_rows_are_in_the_window() -> None:
    rng = np.random.default_rng(0)
    bags = [{f"w{word}": 1.0 for word in rng.choice(40, 5) + 8 * (i // 20)} for i in range(250)]
    model, after = StoryMixture(window=50), []
    for bag in bags:
        model.learn_one(bag)
        after += model.smoothed_labels_.tolist()
    assert len(after) == 150
    assert len([*after, *model.flush().tolist()]) == 250


def test_without_a_window_there_are_no_second_labels() -> None:
    model = StoryMixture().fit(np.eye(4))
    assert not hasattr(model, "smoothed_labels_")
    assert model.flush().tolist() == []


def test_times_that_cannot_be_leave_all_as_it_was() -> None:
    x, times = rows_of(), times_of(900, True)
    model = StoryMixture(window=100).fit(x[:300], times=times[:300])
    times[899] = np.nan
    with pytest.raises(ValueError, match="expected finite numbers, got nan in row 599"):
        model.partial_fit(x[300:], times=times[300:])
    assert model.n_documents_seen_ == 300 - 5
    assert len(model.flush()) == 100
