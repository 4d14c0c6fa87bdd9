"""An epoch shared among worker processes: what the cost model predicts, and what is measured.

Documents are made by the workers from their offsets, so that neither a broker nor a disk is measured. For every size
of the model (K topics, D words) and every executor it prints one JSON line: seconds of an epoch by the clock, processor
time of all workers (``work``) and of the driver with its scheduler (``driver``), and bytes to and from the workers,
each with what the cost model says (`predicted`). Its constants are measured first, one by one. Processor times are what
others on the machine disturb least; workers beyond its cores cannot be faster, and nothing is claimed about them.

    python tests/benchmarks/bench_dask.py [--documents 10000] [--epochs 3] [--sizes 30x20000]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from vmfstream.bayes.factors.beliefs import learn  # noqa: E402
from vmfstream.directional.chunked import blocks  # noqa: E402
from vmfstream.directional.kernels import padded, posterior_accumulate  # noqa: E402
from vmfstream.engine.loop.settings import EngineSettings  # noqa: E402
from vmfstream.engine.loop.state import EngineState  # noqa: E402
from vmfstream.engine.models.tracker import TrackerModel  # noqa: E402
from vmfstream.engine.scale.executor import InProcess, executor_of  # noqa: E402
from vmfstream.engine.scale.ranged_batches import RANGE_MESSAGES, RangedBatches  # noqa: E402
from vmfstream.mixtures.columns import column_norms  # noqa: E402
from vmfstream.online.partial_sums import PartialSums, added  # noqa: E402
from vmfstream.online.state import OpenSlice, TrackerSettings, TrackState  # noqa: E402
from vmfstream.records import Document, Message, Position, Range  # noqa: E402
from vmfstream.slicing import Slicing  # noqa: E402
from vmfstream.text.encoders import TextEncoder  # noqa: E402

Figures: TypeAlias = dict[str, float]

WORDS = 100  # per document
MOMENT = datetime(2001, 7, 1, tzinfo=UTC)


class Made:
    """Documents made from their offsets: 100 words each, rare and frequent ones."""

    name = "made"
    total = None
    exhausted = True

    def __init__(self, dimension: int, topics: int) -> None:
        self.dimension, self.topics, self.documents = dimension, topics, 0

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Nobody polls what is read in ranges."""
        raise AssertionError("nobody polls what is read in ranges")

    def seek(self, position: Position) -> None:
        """Read wherever one wants."""

    def close(self) -> None:
        """Nothing is open."""

    def extents(self, position: Position) -> Sequence[Range]:
        return [Range("made", position.get("made", 0), self.documents)]

    def reader(self) -> Made:
        return self

    def words(self, first: int, last: int) -> NDArray[np.int64]:
        """Numbers of words, (documents, 100)."""
        rng = np.random.default_rng([first, self.dimension])
        return (self.dimension * rng.random((last - first, WORDS)) ** 3).astype(np.int64)

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        rows = self.words(wanted.first, wanted.last).tolist()
        return [
            Message("made", wanted.first + i, {"text": " ".join(f"w{word}" for word in row)})
            for i, row in enumerate(rows)
        ], wanted.last


class Plain:
    """Decodes what `Made` makes."""

    def decode(self, message: Message) -> Document:
        value: Any = message.value
        return Document(message.part, message.offset, str(message.offset), MOMENT, value["text"])


class Weighed:
    """An executor that notes the driver's time in calls, and how much they bring and fetch."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.inside = self.up = self.down = 0.0

    @property
    def workers(self) -> int:
        return int(self.inner.workers)

    def share(self, value: Any) -> Any:
        self.down += _size(value) * self.workers
        return self._timed(self.inner.share, value)

    def hold(self, function: Any, calls: Any) -> Any:
        return self._timed(self.inner.hold, function, calls)

    def map(self, function: Any, calls: Any) -> Any:
        found = self._timed(self.inner.map, function, calls)
        self.up += _size(found)
        return found

    def _timed(self, what: Callable[..., Any], *given: Any) -> Any:
        began = time.process_time()
        found = what(*given)
        self.inside += time.process_time() - began
        return found

    def close(self) -> None:
        self.inner.close()


def used(executor: Weighed) -> tuple[float, float]:
    """Processor time so far of the workers and of the driver."""
    here = time.process_time()
    if isinstance(executor.inner, InProcess):
        return executor.inside, here - executor.inside
    return sum(executor.inner._client.run(time.process_time).values()), here


def _size(value: Any) -> float:
    """Bytes of a value as it is sent."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return float(len(body) + sum(buffer.raw().nbytes for buffer in buffers))


def state_of(topics: int, dimension: int) -> TrackState:
    """A belief with all of its words, in the middle of nowhere: only its size counts."""
    kp = padded(topics)
    base = np.zeros((dimension, kp), np.float32)
    base[:, :topics] = np.random.default_rng(0).random((dimension, topics), np.float32)
    nothing = np.zeros((dimension, kp), np.float32)
    return TrackState(
        slice=0,
        anchor=base[:, 0].copy(),
        kappa=dimension / 10,
        ids=np.arange(topics),
        next_id=topics,
        n=np.ones(kp),
        n_past=np.zeros(kp),
        past=None,
        window=(),
        scores=np.zeros(5),
        leader=2,
        open=OpenSlice(nothing, np.zeros(kp), 0, (), 0),
        base=base,
        f=base,
        gamma=column_norms(base),
        lowest_cosine=0.0,
        smoothed_drift_angle=np.full(kp, np.nan),
    )


def full_encoder(dimension: int) -> TextEncoder:
    """An encoder with a column for each of so many words."""
    encoder = TextEncoder(capacity=dimension, min_df=1, max_df_share=1.0)
    encoder.vocabulary.count([" ".join(f"w{j}" for j in range(i, i + 1000)) for i in range(0, dimension, 1000)])
    encoder.close_slice()
    return encoder


def begun(size: tuple[int, int], documents: int, executor: Any) -> tuple[RangedBatches, EngineState, Made]:
    """A run at the begin of a slice, with a full vocabulary and topics."""
    topics, dimension = size
    make = partial(TextEncoder, capacity=dimension, min_df=1, max_df_share=1.0)
    encoder = full_encoder(dimension)
    source = Made(dimension, topics)
    cut, model = (
        EngineSettings(Slicing.parse("year"), epoch_documents=documents),
        TrackerModel(TrackerSettings(topics, threads=1)),
    )
    state = EngineState(encoder, model, cut)
    state.position.slice, model.state = 2001, state_of(topics, dimension)
    return RangedBatches(source, Plain(), cut, make, executor), state, source


def measured(size: tuple[int, int], documents: int, epochs: int, executor: Any) -> Figures:
    """Medians over epochs; the first two bring the slice's prediction to the workers and are left out."""
    weighed = Weighed(executor)
    batches, state, source = begun(size, documents, weighed)
    seen: list[Figures] = []
    for _ in range(epochs + 2):
        source.documents += documents
        weighed.up = weighed.down = 0.0
        began, (work, driver) = time.perf_counter(), used(weighed)
        epoch = batches.next_epoch(state, lambda _: None, lambda: False, lambda: True)
        seconds, (worked, drove) = time.perf_counter() - began, used(weighed)
        assert epoch.documents == documents
        seen.append(
            {
                "seconds": seconds,
                "work": worked - work,
                "driver": drove - driver,
                "up": weighed.up,
                "down": weighed.down,
            }
        )
    return {name: statistics.median(one[name] for one in seen[2:]) for name in seen[0]}


class Costs(NamedTuple):
    """Seconds of a processor.

    Per word read and counted; per coordinate and topic scored; per element of sums that are gathered and added; per
    word of the vocabulary a helper begins with; per element of the driver's matrices; per document decided about; in
    the driver per byte moved, and for an epoch's calls; in a worker the same.
    """

    word: float
    score: float
    element: float
    column: float
    state: float
    decide: float
    byte: float = 0.0
    calls: float = 0.0
    work_byte: float = 0.0
    work_calls: float = 0.0


def predicted(costs: Costs, size: tuple[int, int], documents: int, workers: int, words: dict[str, float]) -> Figures:
    """What an epoch should take and move.

    ``words`` are those that occur: ``range`` in a range, ``block`` in what a worker returns, ``open`` in the slice so
    far; ``workers`` 0 is this process.
    """
    topics, dimension = size
    kp = padded(topics)
    ranges = -(-documents // RANGE_MESSAGES)
    parts = len(blocks(ranges, max(workers, 1)))
    down = workers * words["open"] * kp * 4.0
    up = parts * words["block"] * (kp * 4.0 + 8.0) + 24.0 * documents
    work = documents * WORDS * (costs.word + kp * costs.score) + ranges * words["range"] * kp * costs.element
    work += parts * dimension * costs.column
    work += (up + down) * costs.work_byte + workers * costs.work_calls if workers else 0.0
    driver = documents * costs.decide + dimension * kp * costs.state + (parts - 1) * words["block"] * kp * costs.element
    driver += (up + down) * costs.byte + costs.calls if workers else 0.0
    seconds = work / max(1, min(workers, os.cpu_count() or 1)) + driver
    return {"seconds": seconds, "work": work, "driver": driver, "up": up if workers else 0.0, "down": down}


def calibrated(documents: int) -> Costs:
    """Measure each constant by itself, in this process."""
    measured((16, 1000), documents, 1, InProcess())  # compiled code is loaded
    small = measured((16, 5_000), documents, 3, InProcess())
    wide = measured((16, 400_000), documents, 1, InProcess())
    d, kp, n = 100_000, 112, 4 * RANGE_MESSAGES
    words = Made(d, 1).words(0, n)
    x = csr_array((np.full(words.size, 0.1, np.float32), words.ravel(), np.arange(n + 1) * WORDS), shape=(n, d))
    base = np.random.default_rng(0).random((d, kp), np.float32)
    line = np.vstack([np.zeros(kp), np.full(kp, 0.01)])
    score = _took(lambda: posterior_accumulate(x, base, line, np.zeros(kp), np.ones(kp), kp)) / (n * WORDS * kp)
    some = np.unique(words)
    half = PartialSums(some, base[some], np.zeros(kp), 1, 1, 0.0)
    gathered = _took(lambda: learn(base[some], base[some], np.ones(kp)))
    element = (gathered + _took(lambda: added(half, half))) / half.s.size
    encoder = full_encoder(d)
    begun = encoder.blank_state()
    column = _took(lambda: TextEncoder(capacity=d, min_df=1, max_df_share=1.0).restore(begun)) / d
    state = max(wide["driver"] - small["driver"], 0.0) / (395_000 * 16)
    per_document = {name: small[name] / documents for name in ("work", "driver")}
    return Costs(per_document["work"] / WORDS - 16 * score, score, element, column, state, per_document["driver"])


def _took(what: Callable[[], Any], times: int = 3) -> float:
    """Processor time of a call, the least of a few after one that loads compiled code."""
    what()
    seconds = []
    for _ in range(times):
        began = time.process_time()
        what()
        seconds.append(time.process_time() - began)
    return min(seconds)


def with_wire(costs: Costs, executor: Any) -> Costs:
    """Measure what calls and bytes cost of both sides."""
    weighed = Weighed(executor)

    def cost(load: Any, times: int) -> tuple[float, float]:
        before = used(weighed)
        for _ in range(times):
            kept = executor.hold(_same, [(executor.share(load),)])
            executor.map(_same, [(kept[0],)])
        return tuple((now - then) / times for now, then in zip(used(weighed), before, strict=True))  # type: ignore[return-value]

    load = np.zeros(2**22)
    nothing, full = cost(None, 5), cost(load, 2)
    moved = load.nbytes * (1 + executor.workers)
    bytes_ = [max(b - a, 0.0) / moved for a, b in zip(nothing, full, strict=True)]
    return costs._replace(
        byte=bytes_[1], work_byte=bytes_[0], calls=2 * nothing[1], work_calls=2 * nothing[0] / executor.workers
    )


def _same(value: Any) -> Any:
    return value


def occurring(dimension: int, documents: int, epochs: int, workers: int) -> Figures:
    """How many different words a range, a worker's block and the slice in the middle of the measured epochs hold."""
    ranges = -(-documents // RANGE_MESSAGES)
    block = blocks(ranges, max(workers, 1))[0].stop * RANGE_MESSAGES
    made = Made(dimension, 1)

    def kept(low: int, high: int) -> float:
        edges = [*range(low, high, RANGE_MESSAGES), high]
        used = np.zeros(dimension, np.bool_)
        for a, b in pairwise(edges):
            used[made.words(a, b)] = True
        return float(used.sum())

    middle = documents * (2 + epochs // 2)
    return {"range": kept(0, RANGE_MESSAGES), "block": kept(0, min(block, documents)), "open": kept(0, middle)}


def main() -> None:
    """Calibrate, then measure every size with every executor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000, help="per epoch")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", default="0,1,2,4", help="0 is this process alone")
    parser.add_argument("--sizes", default="16x5000,30x20000,100x100000,200x500000", help="topics x words")
    given = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in given.sizes.split(",")]
    costs = calibrated(given.documents)
    for workers in map(int, given.workers.split(",")):
        with executor_of(None, workers) as cluster:
            executor = cluster or InProcess()
            if workers:
                measured((16, 1000), given.documents, 1, executor)  # every worker loads its compiled code
                costs = with_wire(costs, executor)
            print(json.dumps({"measure": "constants", "workers": workers, **costs._asdict()}), flush=True)
            for topics, dimension in sizes:
                words = occurring(dimension, given.documents, given.epochs, workers)
                expected = predicted(costs, (topics, dimension), given.documents, workers, words)
                found = measured((topics, dimension), given.documents, given.epochs, executor)
                if not workers:
                    found |= {"up": 0.0, "down": 0.0}
                line: dict[str, Any] = {"measure": "epoch", "workers": workers, "topics": topics, "words": dimension}
                for name in expected:
                    line |= {name: found[name], f"{name}_predicted": expected[name]}
                line["driver_share"] = found["driver"] / (found["driver"] + found["work"])
                print(json.dumps(_rounded(line)), flush=True)


def _rounded(line: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in line.items()}


if __name__ == "__main__":
    main()
