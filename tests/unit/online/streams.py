"""Simulated slices of documents, a plain loop over them, and what a state is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.online import tracker
from vmfstream.online.state import Rows, TrackerSettings, TrackState

PLAIN = TrackerSettings(topics=3, window=100, persistences=(0.8, 0.95), cold_starts=1)
"""Small enough for a test: the window holds two slices of 40."""

FILTER = replace(PLAIN, persistences=(0.9,), refit=False, concentration_step=0.0)
"""The filter alone: memberships stay as they were on arrival, kappa as it was at the start."""


LIVING = replace(PLAIN, topics=6, window=300, persistences=(0.9, 0.98), living_topics=True)
"""Topics may come and go; the window holds two slices of 150."""


@dataclass(frozen=True)
class Drift:
    """Dense slices of moving topics, with the true means (T, K, D) and labels."""

    xs: list[NDArray[np.float32]]
    means: NDArray[np.float64]
    labels: list[NDArray[np.int64]]


def drifting(
    *, omega: float = 0.95, slices: int = 6, n: int = 40, d: int = 200, k: int = 3, a: float = 0.5, seed: int = 0
) -> Drift:
    """Topics whose means turn by the cosine ``omega`` from slice to slice, documents at the cosine ``a`` to them."""
    rng = np.random.default_rng(seed)
    means = [directions(rng, k, d)]
    for _ in range(slices - 1):
        means.append(vmf_rows(rng, means[-1], np.arange(k), omega))
        means[-1] /= np.linalg.norm(means[-1], axis=1, keepdims=True)
    labels = [rng.permutation(np.arange(n) % k) for _ in range(slices)]
    xs = [vmf_rows(rng, mu, z, a).astype(np.float32) for mu, z in zip(means, labels, strict=True)]
    return Drift(xs, np.array(means), labels)


def texts(
    *, slices: int = 6, n: int = 40, d: int = 300, k: int = 3, length: int = 40, seed: int = 0
) -> list[csr_array[Any]]:
    """Sparse non-negative slices: counts of words drawn from ``k`` static topics over a common background."""
    rng = np.random.default_rng(seed)
    topics = 0.4 * rng.dirichlet(np.full(d, 0.3)) + 0.6 * rng.dirichlet(np.full(d, 0.05), size=k)
    out = []
    for _ in range(slices):
        counts = np.array([rng.multinomial(length, topics[z]) for z in rng.integers(k, size=n)])
        rows = np.log1p(counts)
        out.append(sparse(rows / np.linalg.norm(rows, axis=1, keepdims=True)))
    return out


@dataclass(frozen=True)
class Story:
    """Sparse slices of topics that come and go, with the label of every document."""

    xs: list[csr_array[Any]]
    labels: list[NDArray[np.int64]]


def story(counts: NDArray[np.int64], *, d: int = 800, length: int = 60, seed: int = 0) -> Story:
    """Counts of words drawn from topics over a common background; ``counts`` (T, K) documents per slice and topic."""
    rng = np.random.default_rng(seed)
    topics = 0.4 * rng.dirichlet(np.full(d, 0.3)) + 0.6 * rng.dirichlet(np.full(d, 0.05), size=counts.shape[1])
    xs, labels = [], []
    for row in counts:
        z = rng.permutation(np.repeat(np.arange(len(row)), row))
        rows = np.log1p(np.array([rng.multinomial(length, topics[k]) for k in z]).reshape(-1, d))
        xs.append(sparse(rows / np.linalg.norm(rows, axis=1, keepdims=True)))
        labels.append(z)
    return Story(xs, labels)


def sparse(x: Any) -> csr_array[Any]:
    """Rows as documents are stored."""
    return csr_array(np.asarray(x, np.float32))


def empty(d: int) -> NDArray[np.float32]:
    return np.zeros((0, d), np.float32)


def begun(xs: Sequence[Rows], settings: TrackerSettings, *, given: int = 1) -> TrackState:
    """A state fitted on the first ``given`` slices; the next one is open."""
    return tracker.init(settings, list(enumerate(xs[:given])), given, empty(xs[0].shape[1]))


def learn(
    state: TrackState, x: Rows, settings: TrackerSettings, *, batch: int | None = None
) -> tuple[TrackState, tracker.SliceResult]:
    """One slice from its first batch to its end."""
    for low in range(0, x.shape[0], batch or max(x.shape[0], 1)):
        state, _ = tracker.step(state, x[low : low + (batch or x.shape[0])], settings)
    return tracker.end_slice(state, settings)


def follow(
    xs: Sequence[Rows], settings: TrackerSettings, *, given: int = 1, batch: int | None = None
) -> tuple[TrackState, list[tracker.SliceResult]]:
    """Follow all slices after the first fit."""
    state, seen = begun(xs, settings, given=given), []
    for x in xs[given:]:
        state, closed = learn(state, x, settings, batch=batch)
        seen.append(closed)
    return state, seen


def contents(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Everything a state or report holds, by name, as arrays and numbers."""
    if is_dataclass(value):
        for field in fields(value):
            yield from contents(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, (tuple, list)):
        yield f"{name}#", len(value)
        for i, part in enumerate(value):
            yield from contents(part, f"{name}[{i}]")
    elif isinstance(value, Mapping):
        yield from contents(tuple(value.items()), name)
    elif isinstance(value, csr_array):
        for part in ("data", "indices", "indptr"):
            yield f"{name}.{part}", getattr(value, part)
    else:
        yield name, value


def assert_same(a: Any, b: Any, *, leave_out: str = "\0") -> None:
    """Equal bit for bit."""
    for (name, left), (other, right) in zip(contents(a), contents(b), strict=True):
        assert name == other
        if leave_out in name:
            continue
        if left is None or isinstance(left, str):
            assert left == right, name
        else:
            assert np.array_equal(left, right, equal_nan=True), name


def unit(f: NDArray[np.float32], k: int = 3) -> NDArray[np.float64]:
    """Directions of the first topics as rows."""
    m = f[:, :k].T.astype(np.float64)
    return np.asarray(m / np.linalg.norm(m, axis=1, keepdims=True))
