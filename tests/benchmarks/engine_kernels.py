"""What no pass can do without, for `bench_engine`: scores under fixed topics, softmax, and sums of the documents."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import config
from scipy.sparse import csr_array

from tests.benchmarks.engine_passes import FITTED, Clock, Pass, fitted
from vmfstream.directional import kernels, loops
from vmfstream.directional import simd as lanes
from vmfstream.online.belief import current_belief


def bare(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run the loops of the tracker alone, under the first topics."""
    m, kappa, log_weight = directions(first, k, threads, kernels.padded(k))
    line = np.stack([log_weight, kappa]).astype(np.float64)
    slope = (kappa > 0.0).astype(np.float64)
    sums = [kernels.zeros(*m.shape) for _ in range(threads)]
    return kernel_pass(bare_chunk, batches, (m, line, np.zeros(len(slope)), slope), sums)


def directions(first: csr_array, k: int, threads: int, kp: int) -> tuple[Any, Any, Any]:
    """Means (D, kp) of the first topics, their concentrations and logarithms of their weights, padded."""
    state, settings = fitted(first, k, threads)
    known = current_belief(state, settings)
    m = kernels.zeros(len(known.f), kp)
    m[:, :k] = known.f[:, :k] / np.maximum(known.gamma, 1e-12).astype(np.float32)
    kappa, log_weight = np.zeros(kp, np.float32), np.full(kp, -np.inf, np.float32)
    kappa[:k], log_weight[:k] = known.kappa, known.log_weights
    return m, kappa, log_weight


def kernel_pass(chunk: Any, batches: list[csr_array], law: tuple[Any, ...], sums: list[Any]) -> Pass:
    """Run a kernel over all batches, one thread for each of the matrices of sums."""
    threads = len(sums)
    labels = []
    with ThreadPoolExecutor(threads) as pool:
        clock = Clock()
        for x in batches:
            label = np.empty(x.shape[0], np.int32)
            parts = [x.shape[0] * c // threads for c in range(threads + 1)]
            shared = x.indptr, x.indices, x.data, *law, label
            jobs = [(parts[c], parts[c + 1], *shared, sums[c]) for c in range(threads)]
            if threads == 1:
                chunk(*jobs[0])
            else:
                list(pool.map(lambda job: chunk(*job), jobs))
            labels.append(label)
        return clock.read(labels)


@njit(cache=True, nogil=True)
def bare_chunk(
    low: int,
    high: int,
    indptr: Any,
    indices: Any,
    data: Any,
    m: Any,
    line: Any,
    zero: Any,
    slope: Any,
    label: Any,
    s: Any,
) -> None:
    """Scores and softmax of all documents, then the sums: faster than both for one document after another."""
    kp = m.shape[1]
    together = loops._TOGETHER
    dots = np.empty((together, kp), m.dtype)
    score, r, active = loops._scratch(kp)
    topic, share = np.empty((high - low) * kp, np.int32), np.empty((high - low) * kp, m.dtype)
    ends = np.empty(high - low, np.int64)
    at = 0
    for first in range(low, high, together):
        last = min(first + together, high)
        loops._dot_rows(first, last, indptr, indices, data, m, dots)
        for i in range(first, last):
            best = loops._score(dots[i - first], line, zero, slope, score)
            count, label[i], _ = loops._softmax(score, best, 1e-3, r, active)
            for a in range(count):
                topic[at], share[at] = active[a], r[active[a]]
                at += 1
            ends[i - low] = at
    a = 0
    for i in range(low, high):
        while a < ends[i - low]:
            after = min(i + (a + 1 == ends[i - low]), high - 1)
            then = indptr[after], indptr[after + 1], topic[min(a + 1, at - 1)]
            lanes.add_entry(indices, data, indptr[i], indptr[i + 1], s, topic[a], share[a], *then)
            a += 1


ROOM = 32
"""Topics whose sums are written out; they fill the registers."""


def written_out() -> Any:
    """Return the plain kernel, for any number of topics that `ROOM` divides."""
    each = range(ROOM)
    lines = [
        "def plain_chunk(low, high, indptr, indices, data, m, kappa, log_weight, label, s):",
        "    kp = m.shape[1]",
        "    r = np.empty(kp, np.float32)",
        "    for i in range(low, high):",
        f"        for column in range(0, kp, {ROOM}):",
        *(f"            a{t} = np.float32(0.0)" for t in each),
        "            for j in range(indptr[i], indptr[i + 1]):",
        "                word, x = np.uint64(indices[j]), data[j]",
        *(f"                a{t} += x * m[word, np.uint64(column) + np.uint64({t})]" for t in each),
        *(f"            r[column + {t}] = a{t}" for t in each),
        "        best = 0",
        "        for t in range(kp):",
        "            r[t] = kappa[t] * r[t] + log_weight[t]",
        "            if r[t] > r[best]:",
        "                best = t",
        "        highest, total = r[best], np.float32(0.0)",
        "        for t in range(kp):",
        "            r[t] = np.exp(r[t] - highest)",
        "            total += r[t]",
        "        label[i] = best",
        "        for t in range(kp):",
        "            share = r[t] / total",
        "            if share > np.float32(1e-3):",
        "                for j in range(indptr[i], indptr[i + 1]):",
        "                    s[indices[j], t] += share * data[j]",
    ]
    room: dict[str, Any] = {"np": np}
    exec("\n".join(lines), room)
    rows, numbers = types.float32[:, ::1], types.float32[::1]
    words = types.int32[::1]
    vars(config)["SLP_VECTORIZE"] = 1  # the scalars become vectors
    try:
        given = types.intp, types.intp, words, words, numbers, rows, numbers, numbers, words, rows
        return njit(types.void(*given), nogil=True, fastmath={"contract"})(room["plain_chunk"])
    finally:
        vars(config)["SLP_VECTORIZE"] = 0


def plain(first: csr_array, batches: list[csr_array], k: int, threads: int) -> Pass:
    """Run what numba makes of the kernel alone, under the first topics."""
    law = directions(first, k, threads, -(-k // ROOM) * ROOM)
    chunk = FITTED.get("plain") or FITTED.setdefault("plain", written_out())
    return kernel_pass(chunk, batches, law, [np.zeros_like(law[0]) for _ in range(threads)])
