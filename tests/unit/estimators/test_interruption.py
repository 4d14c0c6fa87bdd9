"""A call that ends with Ctrl-C, wherever that comes, has learnt nothing: the same call can be made again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream import DirichletVMFAdmixture, MultilevelClustering, OnlineVMFMixture, StoryMixture, TemporalVMFMixture

RNG = np.random.default_rng(0)
ROWS = vmf_rows(RNG, directions(RNG, 3, 6), np.arange(300) % 3, 0.9)
BAGS = list(ROWS.reshape(60, 5, 6))
COUNTS = RNG.poisson(2.0, (20, 8)) + 1
NAMED = [dict(zip("abcdef", row.tolist(), strict=True)) for row in ROWS]
WORDS = csr_array((np.ones(600), (np.repeat(np.arange(300), 2), RNG.integers(0, 400, 600))), shape=(300, 400))
LATER = 2 + np.arange(200) // 50
PLACES = 20


def in_batches() -> OnlineVMFMixture:
    return OnlineVMFMixture(3, slice_size=40, window=60, random_state=0).partial_fit(ROWS[:100])


def few_words() -> OnlineVMFMixture:
    return (
        OnlineVMFMixture(3, slice_size=40, window=60, random_state=0)
        .partial_fit(WORDS[:100])
        .partial_fit(WORDS[100:110])
    )


def one_by_one() -> OnlineVMFMixture:
    model = OnlineVMFMixture(3, slice_size=40, window=60, batch_size=20, random_state=0)
    for document in NAMED[:131]:  # batches of 2, 2, 4, 8, 16, then of 20: the next document is the last of one
        model.learn_one(document)
    return model


def slices() -> TemporalVMFMixture:
    return TemporalVMFMixture(3, random_state=0).fit(ROWS[:100], slices=np.arange(100) // 50)


def bags() -> DirichletVMFAdmixture:
    return DirichletVMFAdmixture(3, batch_size=10, random_state=0).fit(BAGS[:30])


def groups() -> MultilevelClustering:
    model = MultilevelClustering(draws=2, burn_in=2, thin=2, n_init=2, random_state=0)
    return model.fit(COUNTS, {"a": COUNTS[:, :1]})


@pytest.mark.parametrize(
    ("make", "call", "tell"),
    [
        pytest.param(in_batches, lambda m: m.partial_fit(ROWS[100:]), lambda m: m.means_, id="rows in one pass"),
        pytest.param(few_words, lambda m: m.partial_fit(WORDS[110:112]), lambda m: m.means_, id="rows of few words"),
        pytest.param(
            few_words, lambda m: m.partial_fit(WORDS[110:180]), lambda m: m.means_, id="few words, two slices"
        ),
        pytest.param(one_by_one, lambda m: m.learn_one(NAMED[131]), lambda m: m.means_, id="documents by name"),
        pytest.param(slices, lambda m: m.partial_fit(ROWS[100:], slices=LATER), lambda m: m.means_, id="slices"),
        pytest.param(bags, lambda m: m.partial_fit(BAGS[30:]), lambda m: m.means_, id="bags"),
        pytest.param(groups, lambda m: m.resume(3), lambda m: m.topics_, id="groups, resumed"),
        pytest.param(
            groups,
            lambda m: m.fit(COUNTS[:10], {"b": COUNTS[:10, 1:2]}),
            lambda m: [*m.labels_, "b" in m.context_names_],
            id="groups, another fit",
        ),
    ],
)
def test_nothing_is_learnt(make: Callable[[], Any], call: Callable[[Any], Any], tell: Callable[[Any], Any]) -> None:
    expected = make()
    before = tell(expected)
    lines = traced(partial(call, expected), 0)
    for line in np.linspace(1, lines, PLACES, endpoint=False, dtype=int).tolist():
        model = make()
        with pytest.raises(KeyboardInterrupt):
            traced(partial(call, model), line)
        np.testing.assert_array_equal(tell(model), before)
        call(model)
        np.testing.assert_array_equal(tell(model), tell(expected))


def stories() -> StoryMixture:
    return StoryMixture(window=30).partial_fit(ROWS[:120])


def named_stories() -> StoryMixture:
    model = StoryMixture(window=30)
    for document in NAMED[:120]:
        model.learn_one(document)
    return model


def known(model: StoryMixture) -> list[list[int]]:
    return [getattr(model, name).tolist() for name in ("labels_", "smoothed_labels_", "story_ids_", "story_sizes_")]


@pytest.mark.parametrize(
    ("make", "call"),
    [
        pytest.param(stories, lambda m: m.partial_fit(ROWS[120:]), id="rows"),
        pytest.param(stories, lambda m: m.partial_fit(ROWS[120:150], sample_weight=np.full(30, 2)), id="weights"),
        pytest.param(stories, lambda m: m.fit(ROWS[120:]), id="another fit"),
        pytest.param(named_stories, lambda m: m.learn_one(NAMED[120]), id="documents by name"),
    ],
)
def test_stories_learn_all_or_nothing(
    make: Callable[[], StoryMixture], call: Callable[[StoryMixture], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make()
    before = known(expected)
    lines = traced(partial(call, expected), 0)
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for line in np.linspace(1, lines, PLACES, endpoint=False, dtype=int).tolist():
            model = make()
            with pytest.raises(KeyboardInterrupt):
                traced(partial(call, model), line, partial(signal.raise_signal, signal.SIGINT))
            if known(model) == before:
                call(model)
            assert known(model) == known(expected)
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_ctrl_c_is_left_to_a_program_that_looks_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = stories()
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.delattr(signal, "signal")
    assert len(model.partial_fit(ROWS[120:]).labels_) == 180


def test_an_interrupted_flush_loses_no_labels() -> None:
    model, expected = stories(), stories().flush()
    with pytest.raises(KeyboardInterrupt):
        traced(model.flush, traced(stories().flush, 0) // 2)
    np.testing.assert_array_equal(model.flush(), expected)


def interrupt() -> None:
    raise KeyboardInterrupt


def traced(call: Callable[[], Any], last: int, at_last: Callable[[], None] = interrupt) -> int:
    """Return how many lines of the package a call runs; ``at_last`` is called at the ``last``, 0 for none."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_globals.get("__name__", "").startswith("vmfstream."):
            return None
        lines += event == "line"
        if lines == last > 0 and event == "line":
            at_last()
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(earlier)
    return lines
