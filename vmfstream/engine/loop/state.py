"""All that a run knows between two batches: how far it has read, its encoder and model, the documents that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Mask, Matrix, Vector
from vmfstream.decisions import WORD_KINDS, decision
from vmfstream.engine.loop.admission import Admission, RecentIds
from vmfstream.engine.loop.decision_book import DecisionBook, change_words
from vmfstream.engine.loop.document_buffer import DocumentBuffer, KeptDocument, LaterTopics, times_of
from vmfstream.engine.loop.learning import BatchResult
from vmfstream.engine.loop.namer import BackgroundNamer
from vmfstream.engine.loop.sample import MostNovel, Sampler
from vmfstream.engine.loop.saved_state import checked_state
from vmfstream.engine.loop.seeding import Seeding
from vmfstream.engine.loop.settings import EngineSettings, Epoch
from vmfstream.engine.loop.stories import StoryLevel
from vmfstream.engine.loop.story_thread import StoryThread, Told
from vmfstream.engine.loop.topic_names import NameLevel
from vmfstream.engine.loop.word_quality import with_quality
from vmfstream.protocols import Distributed, DocumentTopics, Model, Regrown, SliceSummary, TopicView
from vmfstream.records import (
    Arrays,
    Decision,
    Event,
    Rejected,
    Representative,
    Slice,
    SliceReport,
    SmoothedDocuments,
    SmoothedSlice,
    TopicRows,
    arrays_under,
)
from vmfstream.text.encoders import Counted, Encoder, Growth, TextEncoder, TopicNaming, WordCounting

_NO_SLICE = -(2**62)
_NOT_BEGUN = Slice(0, "not begun")
_ENCODER = "encoder."
_STORIES = "stories."
_NAMES = "names."


class SliceHook(Protocol):
    """Observes slice ends with the documents that are kept of them."""

    def before_end(self, index: int, documents: Counted) -> None:
        """Take the kept documents of a slice, before its end changes the vocabulary and the model."""
        ...

    def vocabulary_changed(self, growth: Growth) -> None:
        """Take the change of the columns, and of the terms of counts."""
        ...


@dataclass(slots=True)
class StreamPosition:
    """How far a stream was read.

    ``offsets`` holds the next offset of every part; ``slice`` is the open one, None before the first document, and
    ``in_slice`` its documents; ``documents`` and ``rejected`` count all runs, ``late`` the documents of this run that
    came after their slice was closed.
    """

    recent: RecentIds
    offsets: dict[str, int] = field(default_factory=dict)
    slice: int | None = None
    in_slice: int = 0
    documents: int = 0
    rejected: int = 0
    late: int = 0

    def count(self, admission: Admission, epoch: Epoch) -> None:
        """Count the documents of an admission."""
        epoch.documents += admission.learnt
        epoch.late += admission.late
        self.documents += admission.learnt
        self.in_slice += admission.learnt
        self.late += admission.late

    def reject(self, rejected: Sequence[Rejected], epoch: Epoch) -> None:
        """Count rejected messages."""
        epoch.rejected += rejected
        self.rejected += len(rejected)


class EngineState:
    """What both ways to obtain the sums of an epoch, in this process or by workers, change in the same manner.

    Parameters
    ----------
    encoder, model, settings : see `vmfstream.engine.loop.engine.Engine`.
    hooks : observers of slice ends.
    pending : returns the decisions of people that wait.
    seeding : gives the first topics their directions and names; None without seeds.
    namer : asked for names of topics.

    Attributes
    ----------
    position : how far the stream was read.
    buffer : documents that are encoded again when the vocabulary changes.
    sampler, novel : the documents that the run file keeps for snapshots, and reports as novel.
    story_thread : learns the stories beside the topics; None if there are none.
    decisions : what people have decided.
    names : what names topics by phrases and words; None if documents have no words.
    """

    def __init__(
        self,
        encoder: Encoder,
        model: Model,
        settings: EngineSettings,
        hooks: Sequence[SliceHook] = (),
        pending: Callable[[], Sequence[Decision]] = tuple,
        seeding: Seeding | None = None,
        namer: BackgroundNamer | None = None,
    ) -> None:
        self.encoder, self.model, self.settings = encoder, model, settings
        self.position = StreamPosition(RecentIds(settings.remembered_ids))
        self.buffer = DocumentBuffer()
        self.sampler = Sampler(settings.sample, settings.seed)
        self.novel = MostNovel(settings.novel_documents)
        self.story_thread: StoryThread | None = None
        if settings.stories is not None and isinstance(encoder, WordCounting):
            level = StoryLevel(settings.stories, encoder.vocabulary, settings.story_window)
            self.story_thread = StoryThread(level)
        self.decisions, self._seeding = DecisionBook(pending), seeding
        self.names = NameLevel(encoder.vocabulary, namer) if isinstance(encoder, WordCounting) else None
        self._hooks = hooks
        self._relabelled: list[SmoothedDocuments] = []
        self._later = LaterTopics()
        self._announced = 0

    @property
    def stories(self) -> StoryLevel | None:
        """The stories beside the topics, once they have learnt all documents so far; None if there are none."""
        return None if self.story_thread is None else self.story_thread.settled()

    @property
    def described(self) -> Slice:
        """The open slice, or what stands for it before the first document."""
        position = self.position
        return _NOT_BEGUN if position.slice is None else self.settings.slices.slice(position.slice)

    @property
    def newest(self) -> Slice:
        """The slice of the newest documents, or what stands for it before the first one."""
        position = self.position
        if position.slice is None:
            return _NOT_BEGUN
        return self.settings.slices.slice(position.slice if position.in_slice else position.slice - 1)

    @property
    def room(self) -> int:
        """Documents of the open slice that may still be kept; before the model has begun, until it begins."""
        kept = len(self.buffer) if self.model.begun else self.buffer.documents
        return max(self.model.kept_documents - kept, 0)

    @property
    def again(self) -> bool:
        """Whether documents of the open slice are scored again when later ones are known, outside of the window."""
        begun = self.settings.documents and self.model.begun
        return begun and self.position.in_slice > self.model.kept_documents

    def fold(self, result: BatchResult, epoch: Epoch, in_stories: Told | None = None) -> None:
        """Add the ``result`` of a batch to the open slice; let a model that has not begun do so once it has enough.

        Stories may learn its documents later, as `stories` says: then ``in_stories`` is called, and the rows that are
        in ``epoch`` get their stories.
        """
        index = self.position.slice or 0
        n = result.scored + result.empty if self.model.begun else len(result.kept)
        first = self.position.in_slice - n
        at = len(epoch.rows)
        if result.rows is not None:
            epoch.rows.append(replace(result.rows, place=np.arange(first, first + n)))

        def told(labels: NDArray[np.int64]) -> None:
            if result.rows is not None:
                epoch.rows[at] = replace(epoch.rows[at], story=labels)
            if in_stories is not None:
                in_stories(labels)

        if self.story_thread is not None and result.stories is not None:
            self.story_thread.learn(result.stories, index, first, told)
        if result.all_counts is not None:
            if not len(self._later):
                self._later.begin(self.buffer.open, self.buffer.first.get(index, 0))
            self._later.add(result.all_counts)
        self.buffer.add(result.kept, result.counts)
        for some in result.samples:
            self.sampler.add(some)
        self.novel.join(result.novel)
        if result.sums is not None and isinstance(self.model, Distributed):
            self.model.add(result.sums, self.encoder.encode(result.counts))
        self._relabelled += self._later.told(self.encoder, self.model, index, wait=self.model.kept_documents)
        epoch.scored += result.scored
        epoch.empty += result.empty
        epoch.loglik += result.loglik
        epoch.words += result.words
        epoch.oov += result.oov
        if not self.model.begun and not self.room:
            epoch.begun = True
            grown = self._regrown()
            window, rows = grown.encode()
            if self.model.begin(window, index, rows, grown.seeds):
                self._name_seeds()
            else:
                self.buffer = DocumentBuffer()  # so many documents without a direction are not worth their memory
                self.buffer.first[index] = self.position.in_slice
            self._relabel(self.model.labels())

    def end_slice(self, *, last: bool) -> tuple[SliceReport, list[SmoothedSlice]]:
        """End the open slice: let the vocabulary grow and the model learn, and report what is known now."""
        index, n = self.position.slice or 0, self.position.in_slice
        if self._hooks:
            documents = self.encoder.concat(self.buffer.open)
            for hook in self._hooks:
                hook.before_end(index, documents)
        self._relabelled += self._later.told(self.encoder, self.model, index, wait=0)
        begun = self.model.begun
        taken = self.decisions.taken(index, topics=begun)
        about_words = [one for one in taken if one.kind in WORD_KINDS]
        about_topics = [one for one in taken if one.kind not in (*WORD_KINDS, "name")]
        refused = change_words(self.encoder, about_words)
        summary = self.model.end_slice(index, self._regrown, last=last, decisions=about_topics)
        if summary is not None:
            refused |= summary.refused
        refused |= self.decisions.without_names(taken) | {
            one.number: f"there was never a topic {one.topic}"
            for one in taken
            if one.kind == "name" and one.topic >= self.model.next_id
        }
        word_of = self.encoder.vocabulary.term_of if isinstance(self.encoder, WordCounting) else str
        self.decisions.settle(taken, refused, [] if summary is None else summary.events, word_of)
        if self.model.begun and not begun:
            self._name_seeds()
        first = []
        if (stories := self.stories) is not None:
            first = stories.end_slice(index, [] if summary is None else summary.events)
        parts = self.buffer.open
        if summary is not None:
            self._relabel(summary.labelled if begun else self.model.labels())
        kept = self.buffer.end_slice(index, self.encoder, self.model.window if self.model.begun else None)
        self.sampler.close(index)
        novel = self.novel.close(first)
        self.position.slice, self.position.in_slice = index + 1, 0
        described = self.settings.slices.slice(index)
        if self.names is not None:
            self.names.learn(kept, summary)
            if self.settings.phrases and isinstance(self.encoder, WordCounting):
                self.encoder.vocabulary.add_phrases(self.names.phrases())
        if summary is None:
            nothing = float("nan")
            return SliceReport(described, n, nothing, nothing, True, self.encoder.dim, None, None), []
        self.encoder.observe_slice(index, summary.topics.ids, parts, summary.resp)
        topics = self.rows(summary.topics)
        if isinstance(self.encoder, WordCounting):
            topics = with_quality(topics, self.encoder, [counts for _, counts in self.buffer.window])
        topics = replace(topics, isotropy=summary.isotropy)
        if self._seeding is not None:
            topics = replace(topics, part_of=self._seeding.parts(summary.topics.ids, summary.topics.f))
        best = representative(summary, kept, self.settings.representative_documents)
        report = SliceReport(
            slice=described,
            n=n,
            predicted=summary.predicted,
            persistence=summary.persistence,
            warm_up=summary.warm_up,
            dimension=self.encoder.dim,
            topics=topics,
            representative=best,
            events=[*self._started(summary.events), *summary.events],
            novel=novel,
            temperature=summary.temperature,
            names=None if self.names is None else self.names.names(described, topics, best),
        )
        return report, [
            SmoothedSlice(view.slice, topics if view is summary.topics else self.rows(view))
            for view in summary.smoothed
        ]

    def skip_to(self, index: int) -> None:
        """Leave out slices without documents: ``index`` is the open one now."""
        self.position.slice = index
        self.model.skip_to(index)

    def label_window(self) -> None:
        """Give the documents of the window the topics and stories that they have now, as at the end of a stream."""
        self._relabel(self.model.labels())
        if (stories := self.stories) is not None:
            stories.flush()

    def take_relabelled(self) -> list[SmoothedDocuments]:
        """Return the documents that got later labels since the last call."""
        taken, self._relabelled = self._relabelled, []
        return taken

    def _relabel(self, labels: Sequence[DocumentTopics]) -> None:
        """Remember the topics of documents of closed slices and of the open one, if documents are kept."""
        if not self.settings.documents:
            return
        for slice, topic in labels:
            if len(topic):
                self._relabelled.append(SmoothedDocuments(slice, self.buffer.first.get(slice, 0), topic))

    def rows(self, view: TopicView) -> TopicRows:
        """Report the topics of a closed slice."""
        return topic_rows(view, self.encoder, self.settings.slice_words, geometry=True)

    def open_rows(self) -> TopicRows | None:
        """Report the topics in the middle of the open slice, None if there are none yet."""
        view = self.model.describe()
        return None if view is None else topic_rows(view, self.encoder, self.settings.epoch_words)

    def arrays(self, *, slice_ended: bool) -> tuple[Arrays, Arrays | None]:
        """Return all that is needed to continue, as flat arrays; what changes at slice ends only if one ended.

        `story_arrays` has what is needed of the stories.
        """
        position = self.position
        index = _NO_SLICE if position.slice is None else position.slice
        counters = [index, position.in_slice, self._announced, position.documents, position.rejected]
        open_part: Arrays = {"engine.counters": np.array(counters, np.int64), "engine.recent": position.recent.state()}
        open_part |= {f"{_ENCODER}{name}": a for name, a in self.encoder.state().items()}
        open_part |= self.buffer.open_arrays(self.encoder) | self.sampler.open_arrays() | self.novel.arrays()
        open_part |= self._later.arrays(self.encoder)
        of_epoch, of_slice = self.model.arrays()
        if not slice_ended:
            return open_part | of_epoch, None
        slice_part = self.buffer.slice_arrays() | self.sampler.slice_arrays() | of_slice
        if self.names is not None:
            slice_part |= {f"{_NAMES}{name}": array for name, array in self.names.arrays().items()}
        return open_part | of_epoch, slice_part

    def story_arrays(self) -> Arrays:
        """Return what is needed to continue the stories, after `StoryLevel.take`; nothing without stories."""
        stories = self.stories
        return {} if stories is None else {f"{_STORIES}{name}": a for name, a in stories.arrays().items()}

    def restore(self, open_part: Arrays, slice_part: Arrays, offsets: Mapping[str, int]) -> None:
        """Continue from ``open_part``, with `story_arrays`, and ``slice_part``, see `arrays`, and ``offsets`` by part.

        Raises
        ------
        InputError
            If they are damaged, or were made with other settings.
        """
        with checked_state(open_part, slice_part):
            self._restore(open_part, slice_part, offsets)

    def _restore(self, open_part: Arrays, slice_part: Arrays, offsets: Mapping[str, int]) -> None:
        position = self.position
        index, position.in_slice, self._announced, position.documents, position.rejected = (
            int(v) for v in open_part["engine.counters"]
        )
        position.slice = None if index == _NO_SLICE else index
        if position.slice is not None:
            self.settings.slices.slice(position.slice)  # raises ValueError for one that is in no calendar
        position.offsets.update(offsets)
        position.recent.restore(open_part["engine.recent"])
        self.sampler.restore(open_part, slice_part)
        self.novel.restore(open_part)
        if (stories := self.stories) is not None:
            stories.restore(stored_stories(open_part))
        if self.names is not None:
            self.names.restore(arrays_under(slice_part, _NAMES))
        self.buffer = restore_model(self.encoder, self.model, open_part, slice_part)
        self._later.restore(open_part, self.encoder)
        if self._seeding is not None:
            self._seeding.names = self.decisions.seeded

    def _regrown(self) -> Regrown:
        """Let the vocabulary grow, and offer the kept documents in it."""
        self.sampler.pack(self.encoder)
        if self.story_thread is not None:
            self.story_thread.before_close()
        growth = self.encoder.close_slice(self.position.slice or 0)
        self.buffer.remap(growth.terms)
        if growth.terms is not None and (stories := self.stories) is not None:
            stories.remap(growth.terms)
        for hook in self._hooks:
            hook.vocabulary_changed(growth)
        seeds = None
        if self._seeding is not None and isinstance(self.encoder, TextEncoder):
            seeds = self._seeding.directions(self.encoder, begun=self.model.begun)
        return Regrown(growth.columns, self.buffer.documents, partial(self.buffer.encode, self.encoder), seeds)

    def _name_seeds(self) -> None:
        """Note the names that the first topics have by their seeds, and that they are pinned."""
        names = () if self._seeding is None else self._seeding.names
        made = [decision("name", topic, text=name) for topic, name in enumerate(names)]
        made += [decision("pin", topic) for topic in range(len(names))]
        self.decisions.add(made, self.position.slice or 0)

    def _started(self, events: Sequence[Event]) -> list[Event]:
        """Events for the topics that are new and that no other event names."""
        named = {event.other if event.kind == "split" else event.topic for event in events}
        fresh = range(self._announced, self.model.next_id)
        self._announced = self.model.next_id
        return [Event("started", topic) for topic in fresh if topic not in named]


def stored_position(open_part: Arrays) -> tuple[int | None, int]:
    """Return the slice of the newest documents, None before any, and how many came, as `EngineState.arrays` told."""
    index, in_slice, _, documents, _ = (int(v) for v in open_part["engine.counters"])
    return (None if index == _NO_SLICE else index if in_slice else index - 1), documents


def stored_stories(open_part: Arrays) -> Arrays:
    """Return what `StoryLevel.arrays` returned, from the open part of a stored state."""
    return arrays_under(open_part, _STORIES)


def restore_model(encoder: Encoder, model: Model, open_part: Arrays, slice_part: Arrays) -> DocumentBuffer:
    """Let ``encoder`` and ``model`` continue from stored arrays; return the documents that were kept.

    ``open_part`` and ``slice_part`` are from `EngineState.arrays`. What follows is the same to the last bit as if
    nothing had been stored.
    """
    encoder.restore(arrays_under(open_part, _ENCODER))
    buffer = DocumentBuffer.from_arrays(open_part, slice_part, encoder)
    window, rows = buffer.encode(encoder)
    model.restore(open_part, slice_part, [x for _, x in window], rows)
    return buffer


def topic_rows(view: TopicView, encoder: TopicNaming, words: int, *, geometry: bool = False) -> TopicRows:
    """Return the topics of a ``view`` as rows; with ``geometry`` also intervals, angles and sketches of their means.

    ``encoder`` names each by at most ``words`` words. What smoothing brings from later slices has no place where no
    document could hold it: words that were not there yet are left out of the means.
    """
    from vmfstream.bayes.factors.credible_regions import angular_radius, share_intervals
    from vmfstream.directional.bessel import bessel_ratio

    dim, k = len(view.f), len(view.ids)
    total = view.n.sum()
    directions, gamma = _means(view, encoder.known_by(view.slice))
    shares = share_intervals(view.n)
    return TopicRows(
        topic=view.ids,
        n=view.n,
        share=view.n / total if total > 0.0 else np.zeros(k),
        kappa=np.full(k, view.kappa),
        gamma=gamma,
        tightness=np.full(k, float(bessel_ratio(dim, view.kappa))),
        certainty=np.asarray(bessel_ratio(dim, gamma)),
        drift_angle=view.drift_angle,
        drift_angle_error=view.drift_angle_error,
        words=encoder.words(directions, words, k, (view.slice, view.ids)),
        share_low=shares[:, 0] if geometry else None,
        share_high=shares[:, 1] if geometry else None,
        radius=np.degrees(angular_radius(dim, gamma)) if geometry else None,
        angles=_angles(directions)[:k, :k] if geometry else None,
        sketches=encoder.sketches(directions[:, :k]) if geometry else None,
    )


def _angles(directions: Matrix) -> Vector:
    """Degrees between the columns of ``directions``, (K, K)."""
    from vmfstream.mixtures.columns import column_products

    return np.asarray(np.degrees(np.arccos(np.clip(column_products(directions, directions), -1.0, 1.0))), np.float64)


def _means(view: TopicView, known: Mask) -> tuple[Matrix, Vector]:
    """Mean directions (D, >= K) and lengths of the natural vectors (K,) of a view, over the ``known`` columns (D,)."""
    from vmfstream.mixtures.columns import column_norms

    f, lengths = view.f, view.gamma
    if not known.all():
        f = np.where(known[:, None], f, np.float32(0.0))
        lengths = column_norms(f)[: len(lengths)]
    divisor = np.ones(f.shape[1])
    divisor[: len(lengths)] = np.maximum(lengths, 1e-12)
    return np.asarray(f / divisor.astype(np.float32)), lengths


def representative(closed: SliceSummary, kept: Sequence[KeptDocument], per_topic: int) -> Representative | None:
    """Return the documents of each topic nearest to its mean, at most ``per_topic``, among those that were ``kept``.

    ``closed`` has the memberships of these documents; None if there are none.
    """
    if not len(closed.resp):
        return None
    label = closed.resp.argmax(axis=1)
    own = closed.cosine[np.arange(len(label)), np.minimum(label, closed.cosine.shape[1] - 1)]
    own = np.where(closed.resp.max(axis=1) > 0.0, own, -np.inf)  # documents without known words belong nowhere
    order = np.lexsort((np.arange(len(label)), -own, label))
    label, own = label[order], own[order]
    first = np.searchsorted(label, label)
    rank = np.arange(len(label)) - first + 1
    keep = (rank <= per_topic) & np.isfinite(own)
    chosen = order[keep]
    return Representative(
        topic=closed.topics.ids[label[keep]],
        rank=rank[keep],
        id=[kept[i].id for i in chosen],
        title=[kept[i].title for i in chosen],
        time=times_of([kept[i] for i in chosen]).tolist(),
        score=own[keep].astype(np.float64),
    )
