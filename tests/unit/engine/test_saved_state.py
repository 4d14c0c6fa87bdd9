"""Saved states that are damaged or a stranger's: a clear error, never a crash or a run with wrong numbers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.saved_state import Rule, check_arrays, checked_state, rules_of
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.records import Arrays
from vmfstream.runfile.memory import MemoryStore

Alter: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]

ROOT = Path(__file__).resolve().parents[3]

ALTERED = """
import faulthandler, json, random, resource, sys
from dataclasses import replace
import numpy as np
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import VmfstreamError
from vmfstream.runfile.memory import MemoryStore

faulthandler.enable()
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # a size that a state claims must not take the machine
GROUPS = ["apple pear plum fig melon", "car road truck bus train", "sun rain wind storm snow"]
rng = random.Random(1)
vectors, stem, share = json.loads(sys.argv[1])


def item(i):
    group = rng.randrange(3)
    text = " ".join(rng.choice(GROUPS[group].split()) for _ in range(6)) + f" w{rng.randrange(50)}s"
    values = [rng.gauss(1.0 if j == group else 0.0, 0.2) for j in range(8)]
    return {"id": f"d{i}", "title": f"t{i}", "text": text, "time": f"2020-{1 + i // 60:02d}-03", "vector": values}


items = [item(i) for i in range(375)]  # of which the last are in the month after that of the saved state
second = {"documents": "all", "smoothed_stories": True}
given = {"dimension": 8, "named": vectors == "named"} if vectors else {"stem": stem or ""}
sizes = {"window": 120, "sample": 50, "epoch_documents": 55}
settings = RunSettings(topics=3, slices="month", threads=1, **sizes, **given, **second)
fields = {"vector": "vector", "dimension": 8} if vectors else {}


def go_on(store, stop=lambda: False):
    return follow(MemorySource(items), FieldCodec(**fields), store, settings, ahead=0, stop=stop)


whole = MemoryStore()
go_on(whole, lambda: sum(one.epoch.n for one in whole.commits) >= 330)
saved = whole.resume()
assert saved.open_state["engine.counters"][1] > 0  # in the middle of a slice


def alterations(array):
    yield "dropped", None
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, array[-1:]]) if array.size else np.zeros((3, *array.shape[1:]), array.dtype)
    yield "flat", array.reshape(-1, 1)
    yield "texts", np.full(array.shape, "x")
    if not array.size:
        return
    if array.dtype.kind == "f":
        yield "integers", array.astype(np.int64, casting="unsafe")
        for value in (np.nan, np.inf, -1e30, 1e30):
            other = array.copy()
            other.flat[array.size // 2] = value
            yield str(value), other
    elif array.dtype.kind in "iu":
        yield "fractions", array.astype(np.float64)
        bounds = np.iinfo(array.dtype)
        for value in (bounds.max, bounds.min, -7, 10**6):
            other = array.copy()
            other.flat[array.size // 2] = np.array(value).astype(array.dtype)
            yield str(value), other
        yield "falling", array[::-1].copy()
        yield "equal", np.full_like(array, array.flat[-1])
        yield "all one more", array + np.ones(1, array.dtype)
        other = array.copy()
        other.flat[0] += np.ones((), array.dtype)
        yield "the first one more", other
        if array.dtype == np.int64 and array.size > 4:  # differences and sums of 64 bits are as they should be
            wrapping = array.copy()
            wrapping.flat[1:4] = 2**63 - 1, -(2**63), -1
            yield "wrapping", wrapping
            wrapping = np.zeros_like(array)
            wrapping.flat[:4] = 2**62, 2**62, 2**62, 2**62
            wrapping.flat[4] = array.sum()
            yield "wrapping total", wrapping


class Altered(MemoryStore):
    def resume(self):
        return self.checkpoint


unaltered = Altered()
unaltered.checkpoint = replace(saved, finished=False)
unaltered.commits, unaltered._settings = whole.commits[-1:], whole.settings({})
go_on(unaltered)  # what follows says something only if this goes on

outcome = {"refused": 0, "went on": [], "failed": []}
turns = random.Random(2)
with np.errstate(all="ignore"):
    for part in ("open_state", "slice_state"):
        for name, array in getattr(saved, part).items():
            for how, other in alterations(array):
                if turns.random() >= share:
                    continue
                print(part, name, how, flush=True)
                arrays = {k: a.copy() for k, a in getattr(saved, part).items()}
                arrays[name] = other
                if other is None:
                    del arrays[name]
                store = Altered()
                store.checkpoint = replace(saved, finished=False, **{part: arrays})
                store.commits, store._settings = whole.commits[-1:], whole.settings({})
                try:
                    go_on(store)
                except VmfstreamError as error:
                    outcome["refused"] += 1
                except Exception as error:
                    outcome["failed"].append(f"{name} {how}: {type(error).__name__}: {error}")
                else:
                    outcome["went on"].append(f"{name} {how}")
print(json.dumps(outcome))
"""


def altered(vectors: str | None, stem: str | None, share: float) -> tuple[int, list[str]]:
    """Continue runs whose saved state was altered in one array; return how many were refused, and which went on."""
    command = [sys.executable, "-W", "ignore", "-c", ALTERED, json.dumps([vectors, stem, share])]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=os.environ | {"NUMBA_NUM_THREADS": "1"}
    )
    last = (done.stdout.splitlines() or [""])[-1]
    assert done.returncode == 0, f"{last}: {done.stderr[-3000:]}"
    outcome = json.loads(last)
    assert outcome["failed"] == []
    return outcome["refused"], outcome["went on"]


@pytest.mark.thorough
@pytest.mark.parametrize(("vectors", "stem"), [(None, None), (None, "english"), ("values", None), ("named", None)])
def test_no_altered_state_of_any_kind_ends_the_interpreter(vectors: str | None, stem: str | None) -> None:
    refused, went_on = altered(vectors, stem, 0.1)
    assert refused > 0.6 * (refused + len(went_on))


def state() -> Arrays:
    return {
        "encoder.df": np.array([1, 2, 3]),
        "encoder.columns": np.array([0, 2], np.int32),
        "encoder.form_starts": np.array([0, 1, 2, 3]),
        "encoder.form_pool": np.frombuffer(b"abc", np.uint8),
        "held.slices": np.array([5]),
        "held.0.indptr": np.array([0, 1, 3]),
        "held.0.terms": np.array([0, 1, 2], np.int32),
        "held.0.counts": np.array([1, 1, 1], np.uint16),
        "held.0.tokens": np.array([1, 2], np.int32),
        "anchor": np.array([1.0, 2.0], np.float32),
        "life.trial": np.array([1]),
        "life.told": np.repeat([[0], [2]], 10, axis=0),
    }


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("held.0.terms", [0, 1, 3], r"held\.0\.terms: expected less than 3, got 3"),
        ("held.0.terms", [0, -1, 2], r"held\.0\.terms: expected at least 0, got -1"),
        ("held.0.indptr", [0, 4, 3], r"held\.0\.indptr: expected numbers that rise from 0 to 3, got 0 to 3"),
        ("held.0.tokens", [1], r"held\.0\.tokens: expected a size of 2, got the shape \(1,\)"),
        ("encoder.columns", [0.0, 2.0], r"encoder\.columns: expected values of kind i, got float64"),
        ("anchor", [1.0, np.nan], "anchor: expected finite numbers, got others"),
        ("life.trial", [-1], r"life\.trial: expected at least 0, got -1"),
        ("life.told", [[3]] * 20, r"life\.told: expected less than 3, got 3"),
        ("life.told", [[1]] * 19, r"life\.told: expected a size of 20, got the shape \(19, 1\)"),
        ("anchor", [1.0], r"anchor: expected a size of 2, got the shape \(1,\)"),
    ],
)
def test_errors_name_the_array(name: str, array: list[float], says: str) -> None:
    with checked_state(state()):
        pass
    with (
        pytest.raises(InputError, match=f"the saved state is damaged: {says}"),
        checked_state(state() | {name: np.array(array)}),
    ):
        pass


M = 2**63


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("window.starts", [0, M - 1, -M, -1, 3], "expected numbers that rise from 0 to 3, got 0 to 3"),
        ("window.sizes", [M // 2, M // 2, M // 2, M // 2, 3], f"expected lengths up to 3, got {M // 2}"),
        ("ids", [4, 2, 4], "expected each number once, got one twice"),
        ("life.calm", [M - 1], f"expected numbers up to {M // 2}, got {M - 1} to {M - 1}"),
        ("temperature", [0.0], "expected at least 0.001, got 0.0"),
    ],
)
def test_numbers_that_the_rest_does_not_allow_are_refused(name: str, array: list[float], says: str) -> None:
    rules = rules_of({}) | {"window.starts": Rule("i", ("*",), rising="window.rows")}
    rows = {"window.resp": np.zeros((3, 1)), name: np.array(array)}
    with pytest.raises(InputError, match=f"the state: {re.escape(name)}: {says}"):
        check_arrays(rows, rules, "the state")


def followed(store: MemoryStore, upto: int = 200, **given: Any) -> MemoryStore:
    """Follow a stream into a store until it has so many documents; at 140 a slice is open, and closed ones are kept."""
    words = ("apple pear plum fig melon", "car road truck bus train", "sun rain wind storm snow")
    texts = [f"{words[i % 3]} {words[i % 3].split()[i % 5]} w{i % 7}" for i in range(200)]
    items = [
        {"text": text, "time": f"2020-{1 + i // 40:02d}-03", "vector": [float(i % 3 == j) + 0.1 for j in range(3)]}
        for i, text in enumerate(texts)
    ]
    settings = RunSettings(topics=3, slices="month", window=80, threads=1, sample=50, epoch_documents=25, **given)
    codec = FieldCodec(vector="vector", dimension=3) if given.get("dimension") else FieldCodec()

    def stop() -> bool:
        return sum(one.epoch.n for one in store.commits) >= upto

    follow(MemorySource(items), codec, store, settings, ahead=0, stop=stop)
    return store


@pytest.fixture(scope="module")
def saved() -> Arrays:
    found = followed(MemoryStore(), 140).resume()
    assert found is not None
    return found.open_state | (found.slice_state or {})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("n", {}),
        ("open.resp", {}),
        ("stories.mixture.beside", {"dimension": 3, "named": True, "documents": "all", "smoothed_stories": True}),
        ("stories.window.vectors", {"dimension": 3, "named": True, "documents": "all", "smoothed_stories": True}),
    ],
)
def test_a_run_goes_on_from_no_state_that_lacks_something(name: str, given: dict[str, Any]) -> None:
    store = followed(MemoryStore(), 140, **given)
    found = store.resume()
    assert found is not None
    empty = {"open.resp"}  # what may be empty, but not now
    parts = [
        {key: array[: 0 if key == name else None] for key, array in part.items() if key != name or key in empty}
        for part in (found.open_state, found.slice_state or {})
    ]
    altered = MemoryStore.holding(
        store.commits, store.settings({}), replace(found, open_state=parts[0], slice_state=parts[1])
    )
    with pytest.raises(InputError, match="the saved state is damaged: "):
        followed(altered, **given)
    whole = MemoryStore.holding(store.commits, store.settings({}), found)
    assert sum(one.epoch.n for one in followed(whole, **given).commits) == 200


def plus(more: float, at: int = 0) -> Alter:
    def altered(array: NDArray[Any]) -> NDArray[Any]:
        other = array.copy()
        other.flat[at] += more
        return other

    return altered


@pytest.mark.parametrize(
    ("name", "alter", "says"),
    [
        (
            "held.slices",
            plus(1, -1),
            r"held\.slices: expected the slices of the window, \[24241 24242\], got \[24241 24243\]",
        ),
        ("held.slices", np.flip, "held.slices: expected numbers that never fall"),
        ("window.index", plus(-1), "held.slices: expected the slices of the window"),
        ("window.index", np.flip, "window.index: expected numbers that never fall"),
        ("window.index", lambda array: np.full_like(array, array[0]), "window.index: expected each number once"),
        ("window.resp", plus(1e9), "window.resp: expected less than 2.0"),
        ("slice", plus(1), "slice: expected the open slice, 24243, got 24244"),
        ("engine.counters", plus(-1), "slice: expected the open slice, 24242, got 24243"),
        ("engine.counters", plus(-100, 1), "engine.counters: expected numbers of documents from 0 on"),
        ("engine.counters", plus(1, 1), "open.documents: expected the 26 documents of the open slice, got 25"),
        ("open.documents", plus(-1), "open.documents: expected the 25 documents of the open slice, got 24"),
        ("open.n", plus(9.0), "open.n: expected 25 documents at most"),
        ("n", plus(1e3), "n: expected 145 documents at most"),
        ("n_past", plus(1e3), "n_past: expected 145 documents at most"),
        ("ids", plus(100), "ids: expected less than the next one"),
        ("counters", plus(10**6), "counters: expected 3 to 6 topics in all, got 1000003"),
        ("scalars", lambda array: np.full_like(array, -1.0), "scalars: expected a concentration of at least 0"),
        ("smoothed_speed", plus(1e9), "smoothed_speed: expected less than 1000"),
        ("stories.book.ids", np.flip, "stories.book.ids: expected numbers that never fall"),
        ("stories.book.size", plus(1), "stories.book.size: expected the documents of the stories"),
        ("stories.book.size", plus(-99), "stories.book.size: expected at least 0"),
        ("stories.book.now", plus(-99), "stories.book.now: expected at least 0"),
        ("stories.book.before", plus(-99), "stories.book.before: expected at least 0"),
        ("stories.book.votes", plus(-99), "stories.book.votes: expected at least 0"),
        ("stories.mixture.square", np.zeros_like, "stories.mixture.square: expected the squares of the sums"),
        ("stories.mixture.square", np.negative, "stories.mixture.square: expected the squares of the sums"),
        ("novel.novelty", lambda array: np.full_like(array, np.nan), "novel.novelty: expected finite numbers"),
        ("sample.open", np.flip, "sample.open: expected numbers that never fall"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(saved: Arrays, name: str, alter: Alter, says: str) -> None:
    with checked_state(saved):
        pass
    with (
        pytest.raises(InputError, match=f"the saved state is damaged: {says}"),
        checked_state(saved | {name: alter(saved[name])}),
    ):
        pass


def test_what_reading_finds_is_an_error_of_the_state() -> None:
    for error, says in ((KeyError("ids"), "'ids' is missing"), (ValueError("odd"), "odd"), (MemoryError(), "Memory")):
        with pytest.raises(InputError, match=f"the saved state is damaged: {says}"), checked_state(state()):
            raise error
