"""States as arrays and back, the settings that follow from others, rows under each other."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, PLAIN, assert_same, begun, drifting, empty, learn, sparse, texts
from vmfstream.directional.kernels import accumulate
from vmfstream.online import tracker
from vmfstream.online.belief import refreshed
from vmfstream.online.serialization import from_arrays, to_arrays
from vmfstream.online.slice_end import close, judge
from vmfstream.online.state import Arrays, Rows, TrackerSettings, TrackState, rows_of, stack
from vmfstream.online.topic_slots import columns_at


def through_a_file(state: TrackState, settings: TrackerSettings = PLAIN) -> TrackState:
    """What is left of a state after it was written and read."""
    parts: list[Arrays] = []
    for arrays in to_arrays(state):
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            parts.append(dict(stored))
    kept = stack([rows for rows, _ in state.open.kept], state.dim)
    return from_arrays(parts[0], parts[1], [w.x for w in state.window], kept, settings)


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_stored_states_go_on_bit_for_bit(kind: str) -> None:
    xs: list[Rows] = list(texts()) if kind == "csr" else list(drifting().xs)
    state = begun(xs, PLAIN)
    settled = set()
    for x in xs[1:]:
        again = through_a_file(state)
        assert_same(state, again)
        again, _ = tracker.step(again, x[:25], PLAIN)
        state, _ = tracker.step(state, x[:25], PLAIN)
        assert_same(state, again)
        state, _ = tracker.step(state, x[25:], PLAIN)
        again, _ = tracker.step(through_a_file(again), x[25:], PLAIN)
        assert_same(state, again, leave_out=".kept")  # one batch of kept rows or two
        again = through_a_file(again)
        (state, predicted), (again, predicted_again) = judge(state, PLAIN), judge(again, PLAIN)
        assert predicted == predicted_again
        (state, closed), (again, closed_again) = (close(s, predicted, PLAIN) for s in (state, again))
        assert_same(state, again)
        assert_same(closed, closed_again)
        settled.add(state.warm_up)
    assert settled == {True, False}


@pytest.mark.parametrize("words", [300, 5000])  # a batch holds most words, or few of them
@pytest.mark.usefixtures("any_work_is_shared")
def test_states_that_were_spent_are_refreshed_to_what_is_restored(words: int) -> None:
    settings = replace(PLAIN, threads=2)
    xs = texts()
    for x in xs:
        x.resize(x.shape[0], words)
    state = begun(xs[:2], settings)
    for x in xs[2:5]:
        state, _ = tracker.step(state, x, settings, donate=True)
    restored = through_a_file(state, settings)
    assert not np.array_equal(state.gamma, restored.gamma)
    fresh, again = (replace(s, open=replace(s.open, kept=())) for s in (refreshed(state), restored))
    assert_same(fresh, again)


def test_large_and_empty_slices_are_stored_too() -> None:
    xs = drifting(d=20, a=0.8).xs
    state, _ = learn(begun(xs, PLAIN), np.tile(xs[1], (101, 1)), PLAIN, batch=1000)
    assert not state.window
    assert_same(state, through_a_file(state))
    state, _ = learn(state, empty(20), PLAIN)
    assert_same(state, through_a_file(state))
    filled, _ = tracker.step(state, xs[2], PLAIN)
    beyond, _ = tracker.step(filled, np.tile(xs[1], (101, 1)), PLAIN)
    whole, again = (replace(s, open=replace(s.open, kept=())) for s in (beyond, through_a_file(beyond)))
    assert_same(whole, again)  # the kept rows are cut into other batches
    assert sum(len(resp) for _, resp in beyond.open.kept) == 4000
    assert beyond.open.documents == 4080


def test_what_changes_with_every_epoch_is_apart() -> None:
    xs = texts()
    state, _ = learn(begun(xs, PLAIN), xs[1], PLAIN)
    open_part, slice_part = to_arrays(state)
    filled, _ = tracker.step(state, xs[2], PLAIN)
    assert_same(list(slice_part.values()), list(to_arrays(filled)[1].values()))
    assert not open_part["open.n"].any()
    assert to_arrays(filled)[0]["open.n"].any()
    assert all(name.startswith("open.") for name in open_part)


def test_stored_names_never_change() -> None:
    xs = texts()
    state, _ = learn(begun(xs, LIVING), xs[1], LIVING)
    samples = {
        f"life.{sample}.{part}"
        for sample in ("recent", "control")
        for part in ("gain", "slice", "row", "topic", "key", "half", "x.data", "x.indices", "x.indptr")
    }
    own = {"slice", "anchor", "scalars", "ids", "counters", "n", "n_past", "scores", "smoothed_speed", "refits"}
    own |= {"window.index", "window.sizes", "window.resp"}
    own |= {f"life.{part}" for part in ("heard", "heard_slice", "heard_topic", "calm", "tallied", "tally", "usual")}
    own |= {f"life.{part}" for part in ("weight", "height", "asleep", "watched", "alive", "trial", "numbered")}
    own |= {"life.told", "life.holder"}
    open_part, slice_part = to_arrays(state)
    assert set(open_part) == {"open.s", "open.n", "open.documents", "open.resp"}
    assert {name for name in slice_part if not name.startswith("past.")} - samples == own


def test_settings_that_follow_from_others() -> None:
    assert [TrackerSettings(topics=k).window_documents for k in (5, 30, 100)] == [1500, 1500, 5000]
    assert TrackerSettings(window=10).window_documents == 10
    assert TrackerSettings(window=10).window_coordinates == 0
    assert TrackerSettings().window_coordinates == 100_000
    assert [TrackerSettings(window=w).slice_limit for w in (10, 9000)] == [4000, 9000]


def test_stack_keeps_the_kind_of_rows() -> None:
    x = texts(slices=1)[0]
    dense = x.toarray()
    assert stack([], 300).shape == (0, 300)
    assert stack([x], 300) is x
    thrice = stack([x, x[:0], x], 300)
    assert not isinstance(thrice, np.ndarray)
    assert np.array_equal(thrice.toarray(), np.vstack([dense, dense]))
    nothing = sparse(np.zeros((0, 300)))
    both = stack([nothing, dense, nothing, dense], 300)
    assert isinstance(both, np.ndarray)
    assert rows_of(both) == 80
    assert accumulate(stack([nothing, dense[:0]], 300), np.zeros((0, 16), np.float32)).shape == (300, 16)


@pytest.mark.parametrize("columns", [[0, 1, 2], [0, 2, 3, -1], [-1, -1, 3, 4, 0], [-1, 0, 1, -1, 2], [4]])
def test_columns_are_chosen_as_by_numpy(columns: list[int]) -> None:
    a, chosen = np.random.default_rng(0).random((7, 5), np.float32), np.array(columns)
    np.testing.assert_array_equal(columns_at(a, chosen), np.where(chosen >= 0, a[:, chosen], 0.0))
