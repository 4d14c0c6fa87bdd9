"""The sums of an epoch from workers, who read ranges of offsets; the driver plans, admits, adds up and commits.

An epoch is planned as ranges of offsets, and a plan follows from the position and from what the source holds. Ranges
are small and of one size. Workers get blocks of neighbouring ranges (`vmfstream.directional.chunked.blocks`), whole
subtrees of the one binary tree along which all sums are made.

Workers read the ranges and return of each message its slice and a digest of its id. Part by part, in the order of the
plan, the driver takes messages up to the first document of a later slice: then that part waits until the slice is
over, that is, until every part waits or has nothing left. The documents taken are scored under the belief at the
begin of the epoch and added at its end. Nothing of this depends on how many workers there are, or on where they are:
the result is the same to the last bit.

In one process, `vmfstream.engine.loop.local_batches.LocalBatches` scores batch by batch in the order of times. Here the
same documents are learnt, but in other batches; and no part makes documents of another one late.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.chunked import blocks, tree_reduce
from vmfstream.engine.loop.admission import NOT_BEGUN, Doubt, Verdict, admit
from vmfstream.engine.loop.learning import BatchResult
from vmfstream.engine.loop.settings import EngineSettings, Epoch
from vmfstream.engine.loop.state import EngineState
from vmfstream.engine.scale.blocks import (
    BlockResult,
    EpochTask,
    RangeDecision,
    RangeReading,
    RangeSummary,
    SliceTask,
    learn_block,
    read_block,
    summaries,
)
from vmfstream.errors import InputError, SourceAway, WorkersLost
from vmfstream.protocols import Codec, Distributed, Executor, Live, Model, Ranged, Source
from vmfstream.records import Arrays, Position, Range
from vmfstream.stages import timed
from vmfstream.text.encoders import WorkerEncoder

log = logging.getLogger(__name__)

RANGE_MESSAGES = 2500
"""Messages of a range, the unit of work: sums over ranges are added along one tree."""

MOST_RANGES = 64
"""Ranges of an epoch, beyond which they get larger: every range costs a sum over its words."""

RANGE_BYTES = 2**26
"""Bytes of messages after which a range is read no further: bounds the memory of a worker."""

_PAUSE = 0.2  # seconds between two looks whether something came
_WAITING = "ranges.waiting"

T = TypeVar("T")


class RangedBatches:
    """Lets the workers of an executor read and learn; see `vmfstream.engine.loop.engine.Batches`.

    Parameters
    ----------
    source : Source that is `vmfstream.protocols.Ranged`.
    codec : decodes messages in the workers.
    settings : EngineSettings, of which ``batch_documents``, ``batch_characters`` and ``ahead`` are not used.
    make_encoder : makes one like the engine's encoder in the workers.
    executor : where ranges are read and learnt.
    range_messages : most messages of a range, on which sums depend in their last digits; 0 goes by the epoch's size.

    Raises
    ------
    InputError
        If the source cannot be read in ranges.
    """

    def __init__(
        self,
        source: Source,
        codec: Codec,
        settings: EngineSettings,
        make_encoder: Callable[[], WorkerEncoder],
        executor: Executor,
        range_messages: int = 0,
    ) -> None:
        if not isinstance(source, Ranged):
            raise InputError(f"{source.name} is read in one piece; only topics of Kafka can be shared among workers")
        self._source: Source = source
        self._ranged: Ranged = source
        self._settings, self._executor, self._make_encoder = settings, executor, make_encoder
        self._size = range_messages or max(RANGE_MESSAGES, -(-settings.epoch_documents // MOST_RANGES))
        self._reading = RangeReading(source.reader(), codec, settings.slices, RANGE_BYTES)
        self._waiting: dict[str, int] = {}
        self._task: Any = None  # the slice's task, where the workers have it

    def __enter__(self) -> RangedBatches:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def next_epoch(
        self, state: EngineState, report: Callable[[Epoch], None], stop: Callable[[], bool], free: Callable[[], bool]
    ) -> Epoch:
        """Wait until an epoch can be planned, and let the workers do it."""
        epoch = Epoch(over=True)
        with timed("waiting"):
            extents = self._awaited(state, epoch, report, stop, free)
        began = time.perf_counter()
        plan = planned([one for one in extents if one.part not in self._waiting], self._budget(state), self._size)
        if plan:
            self._read_and_learn(plan, state, epoch)
        if not epoch.stopped:
            epoch.next_slice = self._slice_after(extents, state, quiet=epoch.quiet)
        epoch.seconds = time.perf_counter() - began
        return epoch

    @property
    def caught_up(self) -> bool:
        """Whether all messages that were read are taken: those of an epoch, and no others, are read for it."""
        return True

    def slice_ended(self, open_slice: int) -> None:
        """Forget the task of the slice, and the parts that waited for the one that has begun."""
        self._task = None
        self._waiting = {part: index for part, index in self._waiting.items() if index > open_slice}

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        if isinstance(self._source, Live):
            self._source.committed(position)

    def arrays(self) -> Arrays:
        """Return which parts wait, and for which slices."""
        return {_WAITING: np.frombuffer(json.dumps(self._waiting).encode(), np.uint8)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from what ``arrays`` returned."""
        stored = arrays.get(_WAITING)
        self._waiting = {} if stored is None else json.loads(stored.tobytes())

    def _budget(self, state: EngineState) -> int:
        """Most messages of the next epoch: it ends where a slice of N documents ends, or where the first fit is due."""
        most = self._settings.epoch_documents
        if self._settings.slices.documents:
            most = min(most, self._settings.slices.documents - state.position.in_slice)
        if not state.model.begun:
            most = min(most, state.room)
        return max(most, 1)

    def _awaited(
        self,
        state: EngineState,
        epoch: Epoch,
        report: Callable[[Epoch], None],
        stop: Callable[[], bool],
        free: Callable[[], bool],
    ) -> Sequence[Range]:
        """Return what the source holds, once that is enough for an epoch, or nothing more is waited for."""
        linger, since, away = self._settings.linger, None, False
        while True:
            try:
                extents = self._ranged.extents(state.position.offsets)
            except SourceAway as error:  # nothing is quiet that does not answer
                if not away:
                    log.warning("%s; waiting", error)
                away, since, epoch.stopped = True, None, stop()
                if epoch.stopped:
                    return []
                report(epoch)
                continue
            ready = sum(len(one) for one in extents if one.part not in self._waiting)
            epoch.stopped = stop()
            if epoch.stopped:
                return []
            if ready >= self._budget(state) or all(one.part in self._waiting for one in extents):
                return extents
            now = time.monotonic()
            since = now if since is None and (ready or self._waiting) else since
            epoch.quiet = self._source.exhausted or (
                bool(self._waiting) if linger is None else since is not None and now - since >= linger and free()
            )
            if epoch.quiet:
                epoch.end = self._source.exhausted and not ready and not self._waiting
                return extents
            report(epoch)
            time.sleep(_PAUSE if linger is None else min(_PAUSE, linger / 4))

    def _slice_after(self, extents: Sequence[Range], state: EngineState, *, quiet: bool) -> int | None:
        """Return the slice to go on with if the open one is over, else None.

        Slices of N documents are over when they are full, those of the calendar when all parts wait; parts that have
        nothing left are no obstacle if they were given their time (``quiet``).
        """
        size, position = self._settings.slices.documents, state.position
        if size and position.in_slice == size:
            return (position.slice or 0) + 1
        awaited = [one for one in extents if one.part not in self._waiting]
        left = any(position.offsets.get(one.part, one.first) < one.last for one in awaited)
        return min(self._waiting.values()) if self._waiting and not left and (quiet or not awaited) else None

    def _read_and_learn(self, plan: Sequence[Range], state: EngineState, epoch: Epoch) -> None:
        """Have a plan carried out; where workers are lost with the ranges they have read, from its beginning."""
        cut = blocks(len(plan), self._retried(lambda: self._executor.workers))
        calls = [(self._reading, list(plan[block])) for block in cut]
        with timed("reading"):
            blocks_read, seen = self._retried(lambda: self._read(calls))
            decisions = self._admitted([one for block in seen for one in block], state, epoch)
        so_far = None
        if state.model.begun:
            so_far = _distributed(state.model).gathered(min(one.lowest_cosine for block in seen for one in block))
        task = EpochTask(so_far, state.sampler.wanted, state.again)

        def learn() -> list[BlockResult]:
            nonlocal blocks_read
            if blocks_read is None:
                blocks_read, _ = self._read(calls)
            if self._task is None:
                self._task = self._executor.share(self._slice_task(state))
            rest = (self._task, self._executor.share(task))
            try:
                return self._executor.map(
                    learn_block, [(block, decisions[at], *rest) for block, at in zip(blocks_read, cut, strict=True)]
                )
            except WorkersLost:
                blocks_read = self._task = None
                raise

        with timed("scoring"):
            results = self._retried(learn)
        self._fold(results, state, epoch)

    def _read(self, calls: Sequence[tuple[Any, ...]]) -> tuple[Any, list[list[RangeSummary]]]:
        blocks = self._executor.hold(read_block, calls)
        return blocks, self._executor.map(summaries, [(self._reading, block) for block in blocks])

    def _retried(self, work: Callable[[], T]) -> T:
        """Do some work again until no workers are lost during it."""
        while True:
            try:
                return work()
            except WorkersLost as error:
                log.warning("%s; the epoch is done again", error)

    def _slice_task(self, state: EngineState) -> SliceTask:
        return SliceTask(
            slicing=self._settings.slices,
            slice=state.position.slice or 0,
            encoder=self._make_encoder,
            encoder_state=state.encoder.blank_state(),
            prediction=_distributed(state.model).prediction() if state.model.begun else None,
            novel=self._settings.novel_documents,
            stories=state.story_thread is not None,
            rows=self._settings.documents or self._settings.labels,
            text=self._settings.text,
            places=self._settings.labels,
        )

    def _admitted(self, seen: Sequence[RangeSummary], state: EngineState, epoch: Epoch) -> list[RangeDecision]:
        """Decide about every message, move the position and count."""
        position = state.position
        slicing, doubt = self._settings.slices, Doubt.now(self._settings.slices, self._settings.max_gap)
        following = _following(seen)
        if position.slice is None:
            begins: dict[str, int] = {}  # of the parts, the earliest of which is the first slice
            for one, after in zip(seen, following, strict=True):
                begin = doubt.first(one.columns.slice, after)
                if begin is not None:
                    begins.setdefault(one.wanted.part, begin)
            position.slice = min(begins.values(), default=None)
        open_slice = NOT_BEGUN if position.slice is None else position.slice
        stopped = set(self._waiting)
        decisions, learnt = [], []
        for one, after in zip(seen, following, strict=True):
            part = one.wanted.part
            if part in stopped:
                decisions.append(np.full(len(one.offset), Verdict.DEFER, np.int8))
                learnt.append(0)
                continue
            admission = admit(one.columns, open_slice, slicing, doubt, position.recent, after=after)
            position.count(admission, epoch)
            decisions.append(admission.decision)
            learnt.append(admission.learnt)
            position.offsets[part] = one.next
            if admission.next_slice is not None:
                self._waiting[part] = admission.next_slice
                position.offsets[part] = int(one.offset[admission.taken])
            if admission.next_slice is not None or one.next < one.wanted.last:
                stopped.add(part)
        keep = apportioned(state.room, learnt) if state.model.begun else learnt
        return [RangeDecision(decision, count) for decision, count in zip(decisions, keep, strict=True)]

    def _fold(self, results: Sequence[BlockResult], state: EngineState, epoch: Epoch) -> None:
        """Add up the results of the blocks, in their order."""
        encoder, batches = state.encoder, []
        for one in results:
            terms = encoder.absorb(one.tally)
            batches.append(one.batch.remap(terms))
            state.position.reject(one.rejected, epoch)
        whole: BatchResult = tree_reduce(lambda a, b: a.merged(b, encoder), batches)
        state.fold(whole, epoch)
        if epoch.begun:
            self._task = None


def _distributed(model: Model) -> Distributed:
    if not isinstance(model, Distributed):
        raise InputError(f"{type(model).__name__} learns in one process; leave --workers and --executor out")
    return model


def _following(seen: Sequence[RangeSummary]) -> list[NDArray[np.int64]]:
    """Return for each range the slices of the messages of its part that were read after it."""
    last: dict[str, NDArray[np.int64]] = {}
    out = []
    for one in reversed(seen):
        after = last.get(one.wanted.part, np.zeros(0, np.int64))
        out.append(after)
        last[one.wanted.part] = np.concatenate([one.columns.slice, after])
    return out[::-1]


def apportioned(total: int, sizes: Sequence[int]) -> list[int]:
    """Share ``total`` out in proportion to ``sizes``, to none more than its size (largest remainders, then the first).

    Examples
    --------
    >>> apportioned(10, [100, 50, 50]), apportioned(10, [3, 1])
    ([5, 3, 2], [3, 1])
    """
    whole = sum(sizes)
    if total >= whole:
        return list(sizes)
    shares = [total * size // whole for size in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (-(total * sizes[i] % whole), i))
    for i in order[: total - sum(shares)]:
        shares[i] += 1
    return shares


def planned(extents: Sequence[Range], budget: int, size: int) -> list[Range]:
    """Return the ranges of an epoch of at most ``budget`` messages, part by part, each of at most ``size`` messages.

    ``extents`` are what the parts hold, one each. Every part gives in proportion to that, so that all are read to their
    ends at the same time.
    """
    out = []
    for extent, share in zip(extents, apportioned(budget, [len(e) for e in extents]), strict=True):
        end = extent.first + share
        out += [Range(extent.part, low, min(low + size, end)) for low in range(extent.first, end, size)]
    return out
