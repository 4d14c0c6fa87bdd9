"""The loop: documents in, one transaction per epoch out.

An epoch is at most ``epoch_documents`` documents of one slice, read, scored and added in batches of
``batch_documents``. Both are cut by counts and by the ends of slices, not by the clock, so that a replay after a crash
cuts the same ones (a linger time, if asked for, cuts earlier; the cut is then visible in the stored positions).
Whatever the engine needs to go on is in the last commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.calibration import arrival_temper
from vmfstream.engine.loop.document_buffer import Held, Kept
from vmfstream.engine.loop.duplicates import RecentIds
from vmfstream.engine.loop.intake import Intake, Reach
from vmfstream.engine.loop.novel import MostNovel, topics_of
from vmfstream.engine.loop.reading import reader
from vmfstream.engine.loop.report import topic_rows, typical
from vmfstream.engine.loop.restoring import restore_model
from vmfstream.engine.loop.sample import Sampler
from vmfstream.engine.loop.settings import EngineSettings as EngineSettings
from vmfstream.engine.loop.settings import Epoch as Epoch
from vmfstream.engine.loop.settings import Observer as Observer
from vmfstream.engine.loop.settings import Progress as Progress
from vmfstream.engine.loop.settings import share
from vmfstream.engine.loop.writing import Writer
from vmfstream.online import tracker
from vmfstream.online.belief_update import refreshed
from vmfstream.online.reading import current, newest_slice, novelty, smoothed
from vmfstream.online.results import TopicView
from vmfstream.online.serialization import to_arrays
from vmfstream.online.state import Rows, TrackerSettings, TrackState
from vmfstream.protocols import Codec, Live, Source, Store
from vmfstream.records import (
    Arrays,
    Checkpoint,
    Commit,
    Document,
    EpochReport,
    Event,
    Slice,
    SliceReport,
    SmoothedSlice,
    TopicRows,
)
from vmfstream.text.encoders import Encoder
from vmfstream.text.vocabulary import Growth

_NOT_BEGUN = Slice(0, "not begun")

Assigned = Callable[[Sequence[Document], NDArray[np.int64]], None]
"""Told the topic id that each document of a batch got on arrival, -1 for none."""


class Engine:
    """One source, one encoder, one tracker, one store.

    Parameters
    ----------
    source, codec, encoder, store : the parts; the store is resumed if it has a checkpoint.
    track, settings : see `TrackerSettings` and `EngineSettings`.
    assigned : told about every document once there is a model.
    """

    def __init__(
        self,
        source: Source,
        codec: Codec,
        encoder: Encoder,
        store: Store,
        track: TrackerSettings,
        settings: EngineSettings,
        assigned: Assigned | None = None,
    ) -> None:
        self._source, self._encoder = source, encoder
        self._track, self._settings, self._assigned = track, settings, assigned
        self._reach = Reach(RecentIds(settings.remembered_ids))
        self._reader = reader(source, codec, settings.batch_documents, settings.ahead)
        self._intake = Intake(self._reader, self._reach, settings)
        self._writer = Writer(store, beside=settings.ahead > 0)
        self._held = Held()
        self._sample = Sampler(settings.sample, track.seed)
        self._novel = MostNovel(settings.novel_documents)
        self._state: TrackState | None = None
        self._epoch = self._committed = self._living = 0
        self._announced = 0
        self.finished = False
        checkpoint = store.resume()
        if checkpoint is not None:
            self._restore(checkpoint)
            source.seek(self._reach.position)

    @property
    def documents(self) -> int:
        """Documents learnt so far, those of earlier runs included."""
        return self._reach.read

    @property
    def rejected(self) -> int:
        """Messages that were no documents so far."""
        return self._reach.refused

    @property
    def epoch(self) -> int:
        """Last committed epoch, 0 before the first."""
        return self._committed

    @property
    def state(self) -> TrackState | None:
        """The tracker's state, or None before the first fit."""
        return self._state

    def run(self, observe: Observer | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Follow the source until it is exhausted or ``stop()`` is true; the open epoch is then committed as it is."""

        def asked() -> bool:
            self._writer.settle(stop, wait=False)
            return stop()

        with self._reader, self._writer:
            self._tell(self._described(), Epoch(), observe, finished=self.finished)
            over = False
            while not over:
                epoch = self._next_epoch(observe, asked)
                news = epoch.messages or epoch.next_slice is not None
                if news or (epoch.end and not self.finished and (self._reach.slice is not None or self._epoch > 0)):
                    self._commit(self._finish(epoch), epoch, observe, stop)
                over = epoch.end or epoch.stopped
            self._writer.settle(stop)

    def _next_epoch(self, observe: Observer | None, stop: Callable[[], bool]) -> Epoch:
        """Read and learn batches until the epoch is over."""
        epoch = Epoch()
        while True:
            documents = self._intake.batch(epoch, stop)
            epoch.over |= epoch.messages >= self._settings.epoch_documents
            if documents:
                began = time.perf_counter()
                self.finished = False
                self._learn(documents, epoch)
                epoch.seconds += time.perf_counter() - began
            if epoch.over:
                self._state = None if self._state is None else refreshed(self._state)
                return epoch
            self._tell(self._described(), epoch, observe, finished=self.finished)

    def _learn(self, documents: list[Document], epoch: Epoch) -> None:
        """Count, encode, score and add a batch, or hold it until there is enough for the first topics."""
        counts = self._encoder.count(documents)
        self._sample.add(documents, counts)
        if self._state is None:
            self._held.add([Kept.of(document) for document in documents], counts)
            self._start_when_full(epoch)
            return
        x = self._encoder.encode(counts)
        begun = epoch.scored + epoch.empty > 0  # the first batch leaves alone what the last commit may still be writing
        self._state, info = tracker.step(self._state, x, self._track, donate=begun)
        room = self._track.slice_limit - len(self._held)
        if room > 0:
            self._held.add([Kept.of(document) for document in documents[:room]], counts.take(slice(0, room)))
        scored, topics = info.label >= 0, topics_of(info, self._state.ids)
        self._novel.add(documents, novelty(self._state, x, info), topics, scored)
        if self._assigned is not None:
            self._assigned(documents, topics)
        unknown, words = self._encoder.unknown(counts)
        epoch.scored += int(np.count_nonzero(scored))
        epoch.loglik += float(info.loglik[scored].sum())
        epoch.empty += int(np.count_nonzero(~scored))
        epoch.unknown += unknown
        epoch.words += words

    def _start_when_full(self, epoch: Epoch) -> None:
        """Fit the first topics once as many documents are held as a slice may keep."""
        if self._held.documents >= self._track.slice_limit:
            epoch.started = True
            self._grow()
            if not self._start(self._reach.slice or 0):
                self._held = Held()  # so many documents without a word that counts are not worth their memory

    def _finish(self, epoch: Epoch) -> Commit:
        """Close what an epoch closes, and put together what has to be written."""
        began = time.perf_counter()
        described = self._described()
        topics = self._epoch_topics()
        closed: list[SliceReport] = []
        final_slices: list[SmoothedSlice] = []
        if epoch.next_slice is not None:
            while self._reach.slice is not None and self._reach.slice < epoch.next_slice:
                report, final = self._close_slice(last=False)
                closed.append(report)
                final_slices += final
        elif epoch.end and self._reach.slice is not None and not self.finished:
            if self._reach.in_slice or self._state is None:
                report, final = self._close_slice(last=True)
                closed.append(report)
                final_slices += final
            if self._state is not None:
                views = smoothed(self._state, self._track)
                final_slices += [SmoothedSlice(view.slice, self._rows(view)) for view in views]
        self.finished = epoch.end
        self._epoch += 1
        open_state, slice_state = self._states(bool(closed) or epoch.started or self._epoch == 1)
        return Commit(
            epoch=EpochReport(
                epoch=self._epoch,
                slice=described,
                n=epoch.documents,
                rejected=len(epoch.rejected),
                late=epoch.late,
                empty=epoch.empty,
                unknown=share(epoch.unknown, epoch.words),
                heldout=epoch.heldout,
                seconds=epoch.seconds + time.perf_counter() - began,
                topics=topics,
                lag=self._lag(),
            ),
            closed=closed,
            rejected=epoch.rejected,
            position=dict(self._reach.position),
            open_state=open_state,
            slice_state=slice_state,
            smoothed=final_slices,
            finished=self.finished,
            sampled=self._sample.take(described.index, self._encoder),
        )

    def _commit(self, commit: Commit, epoch: Epoch, observe: Observer | None, stop: Callable[[], bool]) -> None:
        """Have an epoch written; whoever wants to know is told when it is."""

        living = self._topics()

        def told() -> None:
            self._committed, self._living = commit.epoch.epoch, living
            self._reader.committed(commit.position)
            self._tell(commit.epoch.slice, epoch, observe, finished=commit.finished)

        self._writer.write(commit, told, stop, urgent=commit.epoch.lag == 0)

    def _tell(self, described: Slice, epoch: Epoch, observe: Observer | None, *, finished: bool) -> None:
        if observe is not None:
            observe(
                Progress(
                    self._committed,
                    described.label,
                    self._reach.read,
                    self._reach.refused,
                    epoch.heldout,
                    finished,
                    late=self._reach.late,
                    seconds=epoch.seconds,
                    lag=self._lag(),
                    topics=self._living,
                )
            )

    def _topics(self) -> int:
        return 0 if self._state is None else len(self._state.ids)

    def _lag(self) -> int | None:
        return self._source.lag(self._reach.position) if isinstance(self._source, Live) else None

    def _start(self, open_slice: int) -> bool:
        """Fit the first topics on everything held; False if there is nothing yet that has a direction."""
        window, kept = self._held.encode(self._encoder)
        if self._encoder.dim < 2 or not any(x.any() if isinstance(x, np.ndarray) else x.nnz for x in [*window, kept]):
            return False
        slices = [(index, x) for (index, _), x in zip(self._held.slices, window, strict=True)]
        self._state = tracker.init(self._track, slices, open_slice, kept)
        return True

    def _described(self) -> Slice:
        """The open slice, or what stands for it before the first document."""
        return _NOT_BEGUN if self._reach.slice is None else self._settings.slices.slice(self._reach.slice)

    def _grow(self) -> Growth:
        self._sample.pack(self._encoder)
        growth = self._encoder.close_slice()
        self._held.remap(growth.terms)
        return growth

    def _regrow(self) -> tuple[NDArray[np.int32], Sequence[Rows], Rows]:
        """Let the vocabulary grow; return its old columns, and the rows of the window and of the open slice in it."""
        columns = self._grow().columns
        return columns, *self._held.encode(self._encoder)

    def _close_slice(self, *, last: bool) -> tuple[SliceReport, list[SmoothedSlice]]:
        """End the open slice: let the vocabulary grow and the tracker learn, and report what is known now."""
        index, n = self._reach.slice or 0, self._reach.in_slice
        predicted, temper, result = float("nan"), float("nan"), None
        if self._state is None:
            self._grow()
            parts = self._held.open
            kept = self._held.close(index, whole=True, encoder=self._encoder)
            enough = self._held.documents >= 2 * self._track.topics
            if (enough or last) and self._start(index + 1) and self._state is not None:
                result = newest_slice(self._state, self._track)
        else:
            self._state, result = tracker.end_slice(self._state, self._track, self._regrow)
            predicted, temper = result.predicted, arrival_temper(result)
            parts = self._held.open
            kept = self._held.close(index, whole=result.whole, encoder=self._encoder)
            self._held.trim(len(self._state.window))
        self._sample.close(index)
        novel = self._novel.close()
        self._reach.slice, self._reach.in_slice = index + 1, 0
        described = self._settings.slices.slice(index)
        if self._state is None or result is None:
            return SliceReport(described, n, predicted, float("nan"), True, self._encoder.dim, None, None), []
        self._encoder.told(index, result.filtered.ids, parts, result.resp)
        known = {event.other if event.kind == "split" else event.topic for event in result.events}
        fresh = range(self._announced, self._state.next_id)
        started = [Event("started", topic) for topic in fresh if topic not in known]
        self._announced = self._state.next_id
        topics = self._rows(result.filtered)
        report = SliceReport(
            slice=described,
            n=n,
            predicted=predicted,
            persistence=self._track.persistences[self._state.leader],
            settling=self._state.warm_up,
            dimension=self._encoder.dim,
            topics=topics,
            typical=typical(result, kept, self._settings.typical_documents),
            events=[*started, *result.events],
            novel=novel,
            temper=temper,
        )
        return report, [
            SmoothedSlice(view.slice, topics if view is result.filtered else self._rows(view))
            for view in result.smoothed
        ]

    def _rows(self, view: TopicView) -> TopicRows:
        """Report the topics of a closed slice."""
        return topic_rows(view, self._encoder, self._settings.slice_words, geometry=True)

    def _epoch_topics(self) -> TopicRows | None:
        """Topics of the open slice as far as it has come."""
        if self._state is None:
            return None
        return topic_rows(current(self._state), self._encoder, self._settings.epoch_words)

    def _states(self, slice_ended: bool) -> tuple[Arrays, Arrays | None]:
        """Everything that is needed to go on after this commit, as flat arrays."""
        index, in_slice, *others = self._reach.counters()
        counters = [index, in_slice, self._announced, *others]
        open_part: Arrays = {
            "engine.counters": np.array(counters, np.int64),
            "engine.recent": self._reach.recent.state(),
        }
        open_part |= {f"encoder.{name}": a for name, a in self._encoder.state().items()}
        open_part |= self._held.open_arrays(self._encoder) | self._sample.open_arrays() | self._novel.arrays()
        slice_part: Arrays = self._held.slice_arrays() | self._sample.slice_arrays() if slice_ended else {}
        if self._state is not None:
            of_epoch, of_slice = to_arrays(self._state)
            open_part |= of_epoch
            slice_part |= of_slice if slice_ended else {}
        return open_part, slice_part if slice_ended else None

    def _restore(self, checkpoint: Checkpoint) -> None:
        open_part, slice_part = checkpoint.open_state, checkpoint.slice_state or {}
        index, in_slice, self._announced, read, refused = (int(v) for v in open_part["engine.counters"])
        self._reach.restore(index, in_slice, read, refused)
        self._reach.position.update(checkpoint.position)
        self._reach.recent.restore(open_part["engine.recent"])
        self._epoch = self._committed = checkpoint.epoch
        self.finished = checkpoint.finished
        self._sample.restore(open_part, slice_part)
        self._novel.restore(open_part)
        self._held, self._state = restore_model(self._encoder, self._track, open_part, slice_part)
        self._living = self._topics()
