"""The loop: documents in, one transaction per epoch out.

An epoch is at most ``epoch_documents`` documents of one slice, read, scored and added in batches of
``batch_documents``. Both are cut by counts and by the ends of slices, not by the clock, so that a replay after a crash
cuts the same ones (a linger time, if asked for, cuts earlier; the cut is then visible in the stored positions).
Whatever the engine needs to go on is in the last commit.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.admission import beyond, read_before
from vmfstream.engine.duplicates import RecentIds
from vmfstream.engine.held import Held, Kept
from vmfstream.engine.novel import MostNovel
from vmfstream.engine.report import topic_rows, typical
from vmfstream.engine.restoring import restore_model
from vmfstream.engine.sample import Sampler
from vmfstream.engine.slices import Slicing
from vmfstream.engine.tempering import arrival_temper
from vmfstream.errors import StoreLocked
from vmfstream.online import tracker
from vmfstream.online.state import TrackerSettings, TrackState, to_arrays
from vmfstream.protocols import Codec, Live, Source, Store
from vmfstream.records import (
    Arrays,
    Checkpoint,
    Commit,
    Document,
    EpochReport,
    Event,
    Message,
    Rejected,
    Slice,
    SliceReport,
    SmoothedSlice,
    TopicRows,
)
from vmfstream.text.encoders import Encoder
from vmfstream.text.vocabulary import Growth

log = logging.getLogger(__name__)


_NO_SLICE = -(2**62)
_NOT_BEGUN = Slice(0, "not begun")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the stream is cut and what is written.

    Attributes
    ----------
    slices : calendar unit or number of documents per slice.
    epoch_documents : most documents of one epoch, which is one transaction.
    batch_documents : documents that are scored under the same belief before they are added to it.
    batch_characters : characters of text after which a batch takes no more documents, which bounds memory.
    linger : seconds after which an epoch that has documents is closed although more could come; None waits.
    max_gap : slices that a document may lie ahead of the open one; beyond, its time is taken for an error.
    remembered_ids : documents after which a repeated id is no longer recognised.
    epoch_words, slice_words, typical_documents : rows per topic in the log.
    novel_documents : most novel documents of a slice in the log.
    sample : most documents of the sample that snapshots are made of; 0 keeps none.
    """

    slices: Slicing
    epoch_documents: int = 20_000
    batch_documents: int = 5000
    batch_characters: int = 50_000_000
    linger: float | None = None
    max_gap: int = 1000
    remembered_ids: int = 65_536
    epoch_words: int = 20
    slice_words: int = 60
    typical_documents: int = 5
    novel_documents: int = 20
    sample: int = 0


@dataclass(slots=True)
class Epoch:
    """What one commit consumes and shows, gathered batch by batch.

    ``over`` tells why it takes no more: ``next_slice`` is set when a document of a later slice ended it, ``end`` when
    the source did, ``stopped`` when the user did, ``quiet`` when no more was waited for.
    """

    documents: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    late: int = 0
    scored: int = 0
    loglik: float = 0.0
    words: int = 0
    unknown: int = 0
    empty: int = 0
    seconds: float = 0.0
    deadline: float | None = None
    started: bool = False
    next_slice: int | None = None
    end: bool = False
    stopped: bool = False
    quiet: bool = False
    over: bool = False

    @property
    def messages(self) -> int:
        """Messages consumed."""
        return self.documents + len(self.rejected)


@dataclass(frozen=True, slots=True)
class Progress:
    """Told at the start, after every commit and every batch before it.

    ``heldout`` and ``seconds`` are of the epoch so far; ``late`` counts since the process began; ``lag`` is how many
    messages wait in the source, None if it cannot say; ``topics`` is 0 before the first fit.
    """

    epoch: int
    slice: str
    documents: int
    rejected: int
    heldout: float
    finished: bool
    late: int = 0
    seconds: float = 0.0
    lag: int | None = None
    topics: int = 0


Observer = Callable[[Progress], None]
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
        self._source, self._codec, self._encoder, self._store = source, codec, encoder, store
        self._track, self._settings, self._assigned = track, settings, assigned
        self._queue: deque[Message] = deque()
        self._recent = RecentIds(settings.remembered_ids)
        self._held = Held()
        self._sample = Sampler(settings.sample, track.seed)
        self._novel = MostNovel(settings.novel_documents)
        self._state: TrackState | None = None
        self._position: dict[str, int] = {}
        self._epoch = 0
        self._slice: int | None = None
        self._in_slice = 0
        self._announced = 0
        self._read = 0
        self._refused = 0
        self._late = 0
        self.finished = False
        checkpoint = store.resume()
        if checkpoint is not None:
            self._restore(checkpoint)
            source.seek(self._position)

    @property
    def documents(self) -> int:
        """Documents learnt so far, those of earlier runs included."""
        return self._read

    @property
    def rejected(self) -> int:
        """Messages that were no documents so far."""
        return self._refused

    @property
    def epoch(self) -> int:
        """Last committed epoch, 0 before the first."""
        return self._epoch

    @property
    def state(self) -> TrackState | None:
        """The tracker's state, or None before the first fit."""
        return self._state

    def run(self, observe: Observer | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Follow the source until it is exhausted or ``stop()`` is true; the open epoch is then committed as it is."""
        self._tell(self._described(), Epoch(), observe)
        while True:
            epoch = self._next_epoch(observe, stop)
            news = epoch.messages or epoch.next_slice is not None
            if news or (epoch.end and not self.finished and (self._slice is not None or self._epoch > 0)):
                commit = self._finish(epoch)
                self._write(commit, stop)
                if isinstance(self._source, Live):
                    self._source.committed(commit.position)
                self._tell(commit.epoch.slice, epoch, observe)
            if epoch.end or epoch.stopped:
                return

    def _next_epoch(self, observe: Observer | None, stop: Callable[[], bool]) -> Epoch:
        """Read and learn batches until the epoch is over."""
        epoch = Epoch()
        while True:
            documents = self._next_batch(epoch, stop)
            epoch.over |= epoch.messages >= self._settings.epoch_documents
            if documents:
                began = time.perf_counter()
                self.finished = False
                self._learn(documents, epoch)
                epoch.seconds += time.perf_counter() - began
            if epoch.over:
                return epoch
            self._tell(self._described(), epoch, observe)

    def _next_batch(self, epoch: Epoch, stop: Callable[[], bool]) -> list[Document]:
        """Take messages from the source until a batch is full or the epoch is over."""
        documents: list[Document] = []
        characters = 0
        most = min(epoch.messages + self._settings.batch_documents, self._settings.epoch_documents)
        while epoch.messages < most and characters < self._settings.batch_characters:
            if not self._queue:
                epoch.stopped = stop()
                epoch.end = not epoch.stopped and self._source.exhausted
                if epoch.stopped or epoch.end:
                    epoch.over = True
                    break
                self._queue.extend(self._source.poll(self._settings.batch_documents, 0.2))
                if self._settings.linger is not None and epoch.messages:
                    epoch.deadline = epoch.deadline or time.monotonic() + self._settings.linger
                    if time.monotonic() > epoch.deadline:
                        epoch.over = True
                        break
                continue
            message = self._queue[0]
            record = self._codec.decode(message)
            ahead = self._ahead(record) if isinstance(record, Document) else 0
            if 0 < ahead <= self._settings.max_gap:
                epoch.next_slice, epoch.over = (self._slice or 0) + ahead, True
                break
            self._queue.popleft()
            self._position[message.part] = message.offset + 1
            if isinstance(record, Document):
                record = self._admit(record, ahead)
            if isinstance(record, Rejected):
                epoch.rejected.append(record)
                self._refused += 1
                continue
            epoch.documents += 1
            self._read += 1
            epoch.late += ahead < 0
            self._late += ahead < 0
            documents.append(record)
            characters += len(record.text or "")
            self._in_slice += 1
            if self._in_slice == self._settings.slices.documents:
                epoch.next_slice, epoch.over = (self._slice or 0) + 1, True
                break
        return documents

    def _ahead(self, document: Document) -> int:
        """How many slices a document lies ahead of the open one, which the very first document opens."""
        slicing = self._settings.slices
        index = (self._slice or 0) if slicing.documents else slicing.index(document.time)
        if self._slice is None:
            self._slice = index
        return index - self._slice

    def _admit(self, document: Document, ahead: int) -> Document | Rejected:
        """Refuse a document that lies too far ahead or was read before."""
        if ahead > 0:
            return beyond(document, ahead)
        return read_before(document) if self._recent.seen(document.id) else document

    def _learn(self, documents: list[Document], epoch: Epoch) -> None:
        """Count, encode, score and add a batch, or hold it until there is enough for the first topics."""
        counts = self._encoder.count(documents)
        self._sample.add(documents, counts, self._encoder)
        if self._state is None:
            self._held.add([Kept.of(document) for document in documents], counts)
            self._start_when_full(epoch)
            return
        x = self._encoder.encode(counts)
        self._state, info = tracker.step(self._state, x, self._track)
        room = self._track.slice_limit - len(self._held)
        if room > 0:
            self._held.add([Kept.of(document) for document in documents[:room]], counts.take(slice(0, room)))
        scored = info.label >= 0
        topics = np.where(scored, self._state.ids[np.maximum(info.label, 0)], -1)
        self._novel.add(documents, tracker.novelty(self._state, x, info), topics, scored)
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
            if not self._start(self._slice or 0):
                self._held = Held()  # so many documents without a word that counts are not worth their memory

    def _finish(self, epoch: Epoch) -> Commit:
        """Close what an epoch closes, and put together what has to be written."""
        began = time.perf_counter()
        described = self._described()
        topics = self._epoch_topics()
        closed: list[SliceReport] = []
        smoothed: list[SmoothedSlice] = []
        if epoch.next_slice is not None:
            while self._slice is not None and self._slice < epoch.next_slice:
                report, final = self._close_slice(last=False)
                closed.append(report)
                smoothed += final
        elif epoch.end and self._slice is not None and not self.finished:
            if self._in_slice or self._state is None:
                report, final = self._close_slice(last=True)
                closed.append(report)
                smoothed += final
            if self._state is not None:
                smoothed += [self._smoothed(view) for view in tracker.hindsight(self._state, self._track)]
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
                unknown=_share(epoch.unknown, epoch.words),
                heldout=_share(epoch.loglik, epoch.scored),
                seconds=epoch.seconds + time.perf_counter() - began,
                topics=topics,
                lag=self._lag(),
            ),
            closed=closed,
            rejected=epoch.rejected,
            position=dict(self._position),
            open_state=open_state,
            slice_state=slice_state,
            smoothed=smoothed,
            finished=self.finished,
            sampled=self._sample.take(described.index),
        )

    def _write(self, commit: Commit, stop: Callable[[], bool]) -> None:
        """Commit; while another process holds the log the epoch is kept and tried again until the run is stopped."""
        while True:
            try:
                self._store.commit(commit)
                break
            except StoreLocked as error:
                if stop():
                    raise
                log.warning("%s; epoch %d waits", error, commit.epoch.epoch)
        log.info("epoch %d, slice %s: %d documents", commit.epoch.epoch, commit.epoch.slice.label, commit.epoch.n)

    def _tell(self, described: Slice, epoch: Epoch, observe: Observer | None) -> None:
        if observe is not None:
            heldout = _share(epoch.loglik, epoch.scored)
            observe(
                Progress(
                    self._epoch,
                    described.label,
                    self._read,
                    self._refused,
                    heldout,
                    self.finished,
                    late=self._late,
                    seconds=epoch.seconds,
                    lag=self._lag(),
                    topics=0 if self._state is None else len(self._state.ids),
                )
            )

    def _lag(self) -> int | None:
        return self._source.lag(self._position) if isinstance(self._source, Live) else None

    def _start(self, open_slice: int) -> bool:
        """Fit the first topics on everything held; False if there is nothing yet that has a direction."""
        window, kept = self._held.encode(self._encoder)
        if self._encoder.dim < 2 or not any(x.any() if isinstance(x, np.ndarray) else x.nnz for x in [*window, kept]):
            return False
        slices = [(index, x) for (index, _), x in zip(self._held.slices, window, strict=True)]
        self._state = tracker.start(self._track, slices, open_slice, kept)
        return True

    def _described(self) -> Slice:
        """The open slice, or what stands for it before the first document."""
        return _NOT_BEGUN if self._slice is None else self._settings.slices.slice(self._slice)

    def _grow(self) -> Growth:
        growth = self._encoder.close_slice()
        self._held.remap(growth.terms)
        return growth

    def _close_slice(self, *, last: bool) -> tuple[SliceReport, list[SmoothedSlice]]:
        """End the open slice: let the vocabulary grow and the tracker learn, and report what is known now."""
        index, n = self._slice or 0, self._in_slice
        predicted, temper, result = float("nan"), float("nan"), None
        if self._state is None:
            self._grow()
            parts = self._held.open
            kept = self._held.close(index, whole=True, encoder=self._encoder)
            enough = self._held.documents >= 2 * self._track.topics
            if (enough or last) and self._start(index + 1) and self._state is not None:
                result = tracker.opening(self._state, self._track)
        else:
            judged, predicted = tracker.judge(self._state, self._track)
            columns = self._grow().columns
            window, rows = self._held.encode(self._encoder)
            grown = tracker.regrow(judged, columns, window, rows, self._track)
            self._state, result = tracker.close(grown, predicted, self._track)
            temper = arrival_temper(grown, result, self._track)
            parts = self._held.open
            kept = self._held.close(index, whole=grown.open.documents == len(self._held), encoder=self._encoder)
            self._held.trim(len(self._state.window))
        self._sample.close(index)
        novel = self._novel.close()
        self._slice, self._in_slice = index + 1, 0
        described = self._settings.slices.slice(index)
        if self._state is None or result is None:
            return SliceReport(described, n, predicted, float("nan"), True, self._encoder.dim, None, None), []
        self._encoder.told(index, result.filtered.ids, parts, result.resp)
        known = {event.other if event.kind == "split" else event.topic for event in result.events}
        fresh = range(self._announced, self._state.next_id)
        started = [Event("started", topic) for topic in fresh if topic not in known]
        self._announced = self._state.next_id
        report = SliceReport(
            slice=described,
            n=n,
            predicted=predicted,
            persistence=self._track.persistences[self._state.leader],
            settling=self._state.settling,
            dimension=self._encoder.dim,
            topics=topic_rows(result.filtered, self._encoder, self._settings.slice_words, geometry=True),
            typical=typical(result, kept, self._settings.typical_documents),
            events=[*started, *result.events],
            novel=novel,
            temper=temper,
        )
        return report, [self._smoothed(view) for view in result.smoothed]

    def _smoothed(self, view: tracker.TopicView) -> SmoothedSlice:
        rows = topic_rows(view, self._encoder, self._settings.slice_words, geometry=True)
        return SmoothedSlice(view.slice, rows)

    def _epoch_topics(self) -> TopicRows | None:
        """Topics of the open slice as far as it has come."""
        if self._state is None:
            return None
        return topic_rows(tracker.current(self._state), self._encoder, self._settings.epoch_words)

    def _states(self, slice_ended: bool) -> tuple[Arrays, Arrays | None]:
        """Everything that is needed to go on after this commit, as flat arrays."""
        index = _NO_SLICE if self._slice is None else self._slice
        counters = [index, self._in_slice, self._announced, self._read, self._refused]
        open_part: Arrays = {"engine.counters": np.array(counters, np.int64), "engine.recent": self._recent.state()}
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
        counters = (int(v) for v in open_part["engine.counters"])
        index, self._in_slice, self._announced, self._read, self._refused = counters
        self._slice = None if index == _NO_SLICE else index
        self._epoch, self.finished = checkpoint.epoch, checkpoint.finished
        self._position = dict(checkpoint.position)
        self._recent.restore(open_part["engine.recent"])
        self._sample.restore(open_part, slice_part)
        self._novel.restore(open_part)
        self._held, self._state = restore_model(self._encoder, self._track, open_part, slice_part)


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")
