"""The loop: epochs of documents in, one report per epoch out.

An epoch is at most ``epoch_documents`` documents of one slice, read, scored and added in batches of
``batch_documents``. Both are cut by counts and by the ends of slices, not by the clock, so that a replay after a crash
cuts the same ones (a linger time, if asked for, cuts earlier; the cut is then visible in the stored positions).
All that is needed to continue is in the last commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Protocol

from vmfstream.engine.loop.namer import BackgroundNamer
from vmfstream.engine.loop.seeding import Seeding
from vmfstream.engine.loop.settings import EngineSettings as EngineSettings
from vmfstream.engine.loop.settings import Epoch as Epoch
from vmfstream.engine.loop.settings import Observer as Observer
from vmfstream.engine.loop.settings import Progress as Progress
from vmfstream.engine.loop.short_slices import ShortSlices
from vmfstream.engine.loop.state import EngineState, SliceHook
from vmfstream.engine.loop.writing import PAUSE_FACTOR, PROMPT_PAUSE_FACTOR, Writer
from vmfstream.protocols import Deciding, Live, Model, Source, Store
from vmfstream.records import (
    Arrays,
    Checkpoint,
    Commit,
    DocumentRows,
    EpochReport,
    Position,
    SliceReport,
    SmoothedSlice,
)
from vmfstream.runtime_tuning import product_threads
from vmfstream.stages import WRITING, StageClock, timed
from vmfstream.text.encoders import Encoder


class Batches(Protocol):
    """Where the sums of an epoch come from; entered while a run goes on."""

    def __enter__(self) -> Batches:
        """Begin to read."""
        ...

    def __exit__(self, *error: object) -> None:
        """Read no more."""
        ...

    def next_epoch(
        self, state: EngineState, report: Callable[[Epoch], None], stop: Callable[[], bool], free: Callable[[], bool]
    ) -> Epoch:
        """Let ``state`` learn one epoch; ``report`` its progress, and end it early once ``stop()`` is true.

        The linger time ends it only while ``free()`` is true: earlier it could not be written.
        """
        ...

    @property
    def caught_up(self) -> bool:
        """Whether all messages that were read are taken."""
        ...

    def slice_ended(self, open_slice: int) -> None:
        """Forget what holds for one slice only; ``open_slice`` has begun."""
        ...

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        ...

    def arrays(self) -> Arrays:
        """Return what ``restore`` needs."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Continue from the stored state of a run, in which its own arrays are."""
        ...


class Engine:
    """One source, one encoder, one model, one store.

    Parameters
    ----------
    source, encoder, model, store : the parts; the store is resumed if it has a checkpoint.
    settings : see `EngineSettings`.
    batches : where the sums of an epoch come from: `vmfstream.engine.loop.local_batches.LocalBatches` or
        `vmfstream.engine.scale.ranged_batches.RangedBatches`.
    hooks : observers of slice ends.
    resumed : where the store stands, if it was asked already and the source stands there too.
    fresh : whether the store was asked and holds nothing yet.
    seeding : gives the first topics their directions and names.
    namer : asked for names of topics, see `vmfstream.engine.loop.namer`.
    """

    def __init__(
        self,
        source: Source,
        encoder: Encoder,
        model: Model,
        store: Store,
        settings: EngineSettings,
        batches: Batches,
        hooks: Sequence[SliceHook] = (),
        resumed: Checkpoint | None = None,
        fresh: bool = False,
        seeding: Seeding | None = None,
        namer: BackgroundNamer | None = None,
    ) -> None:
        self._source, self._batches, self._namer = source, batches, namer
        pending = store.pending if isinstance(store, Deciding) else tuple
        self._state = EngineState(encoder, model, settings, hooks, pending, seeding, namer)
        pause = PROMPT_PAUSE_FACTOR if settings.labels else PAUSE_FACTOR
        self._writer = Writer(store, in_thread=settings.ahead > 0, pause_factor=pause)
        self._clock = StageClock()
        self._short = ShortSlices(str(settings.slices))
        self._epoch = self._committed = self._topics = 0
        self.finished = False
        checkpoint = store.resume() if resumed is None and not fresh else resumed
        if checkpoint is not None:
            self._restore(checkpoint)
            if resumed is None:
                source.seek(self._state.position.offsets)

    @property
    def documents(self) -> int:
        """Documents learnt so far, those of earlier runs included."""
        return self._state.position.documents

    @property
    def rejected(self) -> int:
        """Messages rejected so far."""
        return self._state.position.rejected

    @property
    def epoch(self) -> int:
        """Last committed epoch, 0 before the first."""
        return self._committed

    @property
    def caught_up(self) -> bool:
        """Whether all messages that were read are learnt, or counted as rejected."""
        return self._batches.caught_up

    @property
    def state(self) -> EngineState:
        """What the run knows now."""
        return self._state

    def run(self, observe: Observer | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Follow the source until it is exhausted or ``stop()`` is true; an open epoch is then committed as it is."""

        def stopped() -> bool:
            self._writer.settle(stop, wait=False)
            return stop()

        def report(epoch: Epoch) -> None:
            finished = self.finished and not epoch.documents
            self._report(self._state.described.label, epoch, observe, finished=finished)

        with (
            self._clock.on(),
            product_threads(),
            self._batches,
            self._writer,
            self._state.story_thread or nullcontext(),
        ):
            report(Epoch())
            over = False
            while not over:
                epoch = self._batches.next_epoch(self._state, report, stopped, self._writer.free)
                self.finished = self.finished and not epoch.documents
                news = epoch.messages or epoch.next_slice is not None
                read = self._state.position.slice is not None or self._epoch > 0
                if news or (epoch.end and not self.finished and read):
                    self._commit(self._finished(epoch), epoch, observe, stop)
                over = epoch.end or epoch.stopped or stopped()  # many epochs may have been read at once
            self._writer.settle(stop)

    def _finished(self, epoch: Epoch) -> Commit:
        """End what an epoch ends, and put together what has to be written."""
        began = time.perf_counter()
        state, described = self._state, self._state.described
        with timed(WRITING):
            topics = state.open_rows()
        with timed("slice ends"):
            closed, smoothed = self._closed(epoch)
        self._short.count(closed)
        self.finished = epoch.end
        self._epoch += 1
        with timed(WRITING):
            open_state, slice_state = state.arrays(slice_ended=bool(closed) or epoch.begun or self._epoch == 1)
            sampled = state.sampler.take(described.index, state.encoder)
            stories = state.stories  # whose thread has had as much time as there was
            story_rows, story_events = (None, []) if stories is None else stories.take()
            open_state |= state.story_arrays()
            rows = DocumentRows.joined(epoch.rows) if epoch.rows else None
        decisions, undone = state.decisions.take()
        return Commit(
            epoch=EpochReport(
                epoch=self._epoch,
                slice=described,
                n=epoch.documents,
                rejected=len(epoch.rejected),
                late=epoch.late,
                empty=epoch.empty,
                oov_rate=epoch.oov_rate,
                prequential=epoch.prequential,
                seconds=epoch.seconds + time.perf_counter() - began,
                topics=topics,
                lag=self._lag(),
            ),
            closed=closed,
            rejected=epoch.rejected,
            position=dict(state.position.offsets),
            open_state=open_state | self._batches.arrays(),
            slice_state=slice_state,
            smoothed=smoothed,
            finished=self.finished,
            sampled=sampled,
            seconds=self._clock.take(),
            stories=story_rows,
            story_slices=[] if stories is None else stories.take_slices(),
            story_events=story_events,
            documents=None if rows is None or not state.settings.documents else self._documents(rows),
            decisions=decisions,
            undone=undone,
            documents_per_topic=state.settings.documents_per_topic,
            relabelled=state.take_relabelled(),
            in_other_stories=[] if stories is None else stories.take_smoothed(),
            given_names=[] if self._namer is None else self._namer.take(),
            labels=rows if state.settings.labels else None,
        )

    def _documents(self, rows: DocumentRows) -> DocumentRows:
        """Return the rows of an epoch that stay."""
        most = self._state.settings.documents_per_topic
        return rows.newest_per_topic(most) if most else rows

    def _closed(self, epoch: Epoch) -> tuple[list[SliceReport], list[SmoothedSlice]]:
        """End the slices before the next document, or all at the end of the source."""
        state, position = self._state, self._state.position
        closed: list[SliceReport] = []
        smoothed: list[SmoothedSlice] = []

        def end_slice(*, last: bool) -> None:
            report, final = state.end_slice(last=last)
            closed.append(report)
            smoothed.extend(final)
            self._batches.slice_ended(report.slice.index + 1)

        if epoch.next_slice is not None:
            while position.slice is not None and position.slice < epoch.next_slice:
                if len(closed) <= state.settings.empty_slices:
                    end_slice(last=False)
                else:
                    state.skip_to(epoch.next_slice)
                    self._batches.slice_ended(epoch.next_slice)
        elif epoch.end and position.slice is not None and not self.finished:
            if position.in_slice or not state.model.begun:
                end_slice(last=True)
            smoothed += [SmoothedSlice(view.slice, state.rows(view)) for view in state.model.smoothed()]
            state.label_window()
        return closed, smoothed

    def _commit(self, commit: Commit, epoch: Epoch, observe: Observer | None, stop: Callable[[], bool]) -> None:
        """Have an epoch written, and report it when it is."""
        topics = len(self._state.model.ids)

        def written() -> None:
            self._committed, self._topics = commit.epoch.epoch, topics
            self._batches.committed(commit.position)
            self._report(commit.epoch.slice.label, epoch, observe, finished=commit.finished)

        lag = commit.epoch.lag
        keeps_up = lag is not None and lag <= epoch.messages
        self._writer.write(commit, written, stop, urgent=keeps_up)

    def _report(self, label: str, epoch: Epoch, observe: Observer | None, *, finished: bool) -> None:
        if observe is not None:
            position = self._state.position
            observe(
                Progress(
                    self._committed,
                    label,
                    position.documents,
                    position.rejected,
                    epoch.prequential,
                    finished,
                    late=position.late,
                    seconds=epoch.seconds,
                    lag=self._lag(),
                    topics=self._topics,
                )
            )

    def _lag(self) -> int | None:
        return self._source.lag(self._state.position.offsets) if isinstance(self._source, Live) else None

    def _restore(self, checkpoint: Checkpoint) -> None:
        self._state.decisions.restore(checkpoint.decisions)
        self._state.restore(checkpoint.open_state, checkpoint.slice_state or {}, checkpoint.position)
        self._batches.restore(checkpoint.open_state)
        self._epoch = self._committed = checkpoint.epoch
        self._topics = len(self._state.model.ids)
        self.finished = checkpoint.finished
