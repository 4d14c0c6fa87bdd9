"""The stories of a run beside its topics: every document is given its story on arrival, from the first one on.

The encoder counts the words of documents. Words without a column in the vocabulary count here too, so stories need not
wait for the first fit, as topics do. A story is written into the run file once it has `LEAST_DOCUMENTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.engine.loop.document_buffer import KeptDocument, KeptDocuments
from vmfstream.engine.loop.story_book import BURST_DOCUMENTS, BURST_SCORE, CALM_SCORE, StoryBook, growth
from vmfstream.records import Arrays, Event, SmoothedStories, StoryEvent, StoryRows, StorySlices, arrays_under
from vmfstream.text.counts import Counts

if TYPE_CHECKING:
    from vmfstream.stories.mixture import Learnt, Retired, SequentialMixture
    from vmfstream.stories.settings import StorySettings
    from vmfstream.stories.weights import RunningTfidf
    from vmfstream.stories.window import Left, Window
    from vmfstream.text.vocabulary import Vocabulary

LEAST_DOCUMENTS = 3
"""Documents from which on a story has rows in the run file."""

WORDS = 10
"""Words of a story in the run file."""

_FEW_WORDS = 2.0
"""A document of so many different words counts half as a representative one: titles of one word say little."""

AT_ONCE = 1_000
"""Most documents that are learnt at once: where time is counted in documents, no story that gets one of them is retired
meanwhile."""

_DAY = 86_400e6
"""Microseconds of a day."""


@dataclass(frozen=True, slots=True, eq=False)
class StoryDocuments:
    """N documents for the stories: their words, what is remembered of them, their topics and novelty on arrival.

    ``counts`` (N rows) are those of an encoder, ``topics`` (N,) is -1 for none, ``novelty`` (N,) in nats 0 then;
    ``vectors`` (N, E) are unit rows, or None for none.
    """

    counts: Counts
    kept: KeptDocuments
    topics: NDArray[np.int64]
    novelty: NDArray[np.float64]
    vectors: NDArray[np.float32] | None = None

    def merged(self, later: StoryDocuments) -> StoryDocuments:
        """Put later documents behind these."""
        counts = Counts.concat([self.counts, later.counts])
        topics = np.concatenate([self.topics, later.topics])
        novelty = np.concatenate([self.novelty, later.novelty])
        known = [one.vectors for one in (self, later) if one.vectors is not None]
        return StoryDocuments(counts, self.kept + later.kept, topics, novelty, np.concatenate(known) if known else None)

    def remap(self, terms: NDArray[np.integer] | None) -> StoryDocuments:
        """Follow a renumbering of the terms."""
        return StoryDocuments(self.counts.remap(terms), self.kept, self.topics, self.novelty, self.vectors)


@dataclass(frozen=True, slots=True, eq=False)
class StoryStep:
    """At most `AT_ONCE` documents that have their stories, before the book knows of it.

    Attributes
    ----------
    learnt : what the mixture said.
    opened : ids of the stories that were opened.
    words : how many different words each document has, (N,).
    left : documents that got their second story meanwhile; None without a window.
    """

    learnt: Learnt
    opened: NDArray[np.int64]
    words: NDArray[np.integer]
    left: Left | None


class StoryLevel:
    """Gives documents their stories, and reports what became of stories.

    Parameters
    ----------
    settings : StorySettings
        Of a new run; one that is continued has its own.
    vocabulary : Vocabulary
        The encoder's, whose terms are the columns here.
    window : int
        Documents after which a document gets a second story, see `vmfstream.stories.window`; 0 for none.
    """

    def __init__(self, settings: StorySettings, vocabulary: Vocabulary, window: int = 0) -> None:
        self._settings, self._vocabulary = settings, vocabulary
        self._size = window
        self._window: Window | None = None
        self._waiting = np.zeros((2, 0), np.int64)  # slices and places of the documents in the window
        self._smoothed: list[SmoothedStories] = []
        self._made: tuple[SequentialMixture, RunningTfidf] | None = None
        self._book = StoryBook()
        self._documents_now = self._documents_before = 0
        self._events: list[StoryEvent] = []
        self._ended: list[StoryRows] = []
        self._then: list[StorySlices] = []

    @property
    def terms(self) -> int:
        """How many columns the words of documents need now."""
        return self._vocabulary.n_terms

    @property
    def renamed_soon(self) -> bool:
        """Whether the next end of a slice may give columns other numbers, or words other names."""
        return self._vocabulary.renames

    def assign(
        self,
        counts: Counts,
        times: NDArray[np.int64],
        vectors: NDArray[np.float32] | None = None,
        terms: int | None = None,
    ) -> list[StoryStep]:
        """Give documents their stories, in their order; `note` comes next, once their topics are known.

        Stories do not depend on how documents are cut, but for the order of events if parts are no multiples of
        `AT_ONCE`.

        Parameters
        ----------
        counts : words of N documents.
        times : (N,) in microseconds since 1970.
        vectors : (N, E) unit rows, or None for none.
        terms : `terms` when they had been counted; by default as it is now.
        """
        terms = self.terms if terms is None else terms
        mixture, weights = self._parts(0 if vectors is None else vectors.shape[1], terms)
        if not mixture.vectors:  # a run that began with stories of words alone goes on so
            vectors = None
        mixture.widen(max(mixture.columns, terms))
        shape = (len(counts), mixture.columns)
        rows = weights.weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape))
        days = times / _DAY if self._settings.days else None
        settings, step = self._settings, AT_ONCE
        if not settings.days:
            step = max(1, min(step, int(settings.retire_after * settings.half_life)))
        return [
            self._step(
                mixture,
                rows[some],
                None if days is None else days[some],
                None if vectors is None else vectors[some],
            )
            for some in (slice(low, low + step) for low in range(0, len(counts), step))
        ]

    def _step(
        self,
        mixture: SequentialMixture,
        rows: csr_array,
        days: NDArray[np.float64] | None,
        vectors: NDArray[np.float32] | None,
    ) -> StoryStep:
        known, left = mixture.next_id, None
        if self._window is None:
            learnt = mixture.learn(rows, days, vectors)
        else:
            learnt, left = self._window.learn(mixture, rows, days, vectors)
        return StoryStep(learnt, np.arange(known, mixture.next_id), np.diff(rows.indptr), left)

    def note(
        self, steps: Sequence[StoryStep], documents: StoryDocuments, index: int, first: int = 0
    ) -> NDArray[np.int64]:
        """Note the stories of documents; return their ids, (N,), -1 for documents without words.

        Parameters
        ----------
        steps : what `assign` returned for these documents.
        documents : N documents.
        index : number of the open slice, to which they belong.
        first : place in the slice of the first one.
        """
        low = 0
        for step in steps:
            some = slice(low, low + len(step.words))
            self._note(step, documents.topics[some], documents.novelty[some], documents.kept[some], index, first + low)
            low = some.stop
        return np.concatenate([np.zeros(0, np.int64), *(step.learnt.labels for step in steps)])

    def flush(self) -> None:
        """Give the documents that wait for a second story the one that they have now."""
        if self._window is not None and self._made is not None:
            self._told(self._window.flush(self._made[0]))

    def take_smoothed(self) -> list[SmoothedStories]:
        """Return the documents whose second story is another one, since the last call."""
        taken, self._smoothed = self._smoothed, []
        return taken

    def _told(self, left: Left) -> None:
        """Note which of the documents that waited longest have another story now."""
        at = np.flatnonzero(left.labels != left.before)
        if len(at):
            slices, places = self._waiting[:, at]
            self._smoothed.append(SmoothedStories(slices, places, left.labels[at]))
        self._waiting = self._waiting[:, len(left.labels) :]

    def _note(
        self,
        step: StoryStep,
        topics: NDArray[np.int64],
        novelty: NDArray[np.float64],
        kept: Sequence[KeptDocument],
        index: int,
        first: int,
    ) -> None:
        book, learnt = self._book, step.learnt
        if step.left is not None:
            n = len(step.words)
            came = np.stack([np.full(n, index), np.arange(first, first + n)])
            self._waiting = np.concatenate([self._waiting, came], axis=1)
            self._told(step.left)
        book.open(step.opened, index)
        places = np.where(learnt.labels >= 0, np.searchsorted(book.ids, learnt.labels), -1)
        scores = learnt.cosines * (step.words / (step.words + _FEW_WORDS)).astype(np.float32)
        book.add(places, topics, scores, novelty, kept, index)
        self._documents_now += int(np.count_nonzero(places >= 0))
        fresh = np.flatnonzero(~book.shown & (book.size >= LEAST_DOCUMENTS))
        book.shown[fresh] = True
        self._happened("opened", fresh, index)
        self._retire(learnt.retired, index)

    def _retire(self, retired: Retired, index: int) -> None:
        """Forget stories that ended; those that have rows get their last ones. Others take over what was merged."""
        book = self._book
        places = np.searchsorted(book.ids, retired.ids)
        merged = np.flatnonzero(retired.into >= 0)
        others = np.searchsorted(book.ids, retired.into[merged])
        mergers = zip(places[merged].tolist(), others.tolist(), retired.evidence[merged].tolist(), strict=True)
        for place, other, evidence in mergers:
            story, into = int(book.ids[place]), int(book.ids[other])
            self._events.append(StoryEvent("merged", story, index, int(book.size[place]), into, evidence))
            book.merge(place, other)
        shown = np.flatnonzero(book.shown[places])
        if len(shown):
            self._happened("ended", places[shown[retired.into[shown] < 0]], index)
            words = self._named(retired.words[shown, :WORDS], retired.weights[shown, :WORDS])
            ended = self._rows(book.taken(places[shown]), words, ended=True)
            self._ended.append(ended)
            self._told_then(ended.taken(np.flatnonzero(book.now[places[shown]])), index)
        book.drop(places)

    def end_slice(self, index: int, events: Sequence[Event]) -> list[tuple[KeptDocument, float, int, int]]:
        """End slice ``index``: tell which stories grew; parents follow topics that were merged, as ``events`` say.

        Slices without documents are left out: a story is compared with the last slice that had some.

        Returns the first stories: of each story that got its rows in this slice the first document, its novelty on
        arrival, the parent topic, and the story; the largest story first.
        """
        book = self._book
        for event in events:
            if event.kind == "merged" and event.other is not None:
                own = book.topic == event.topic
                book.topic[own] = event.other
                book.changed |= own
        fresh = np.flatnonzero(book.shown & ~book.listed)
        fresh = fresh[np.argsort(-book.size[fresh], kind="stable")]
        book.listed[fresh] = True
        opened = book.opener[fresh], book.novelty[fresh], book.topic[fresh], book.ids[fresh]
        first = list(zip(*(column.tolist() for column in opened), strict=True))
        if not self._documents_now:
            return first
        moving = (book.now > 0) | (book.before > 0)
        book.trend = growth(book.now, book.before, self._documents_now, self._documents_before)
        book.bursting &= book.trend >= CALM_SCORE
        burst = (book.trend >= BURST_SCORE) & (book.now >= BURST_DOCUMENTS) & ~book.bursting
        book.bursting |= burst
        self._happened("burst", np.flatnonzero(burst & book.shown), index)
        book.changed |= moving
        came = book.taken(book.shown & (book.now > 0))
        self._told_then(self._rows(came, self._words(came.ids), ended=False), index)
        book.before, book.now = book.now, np.zeros_like(book.now)
        self._documents_before, self._documents_now = self._documents_now, 0
        return first

    def remap(self, terms: NDArray[np.int32] | None) -> None:
        """Follow a renumbering of the vocabulary's terms, old to new, -1 for those that are gone."""
        if terms is None or self._made is None:
            return
        from vmfstream.stories.mixture import SequentialMixture
        from vmfstream.stories.weights import RunningTfidf

        mixture, weights = self._made
        stored, columns = mixture.arrays(), self._vocabulary.n_terms
        stored = remapped(stored, terms, columns)
        frequency = np.zeros(columns, np.int64)
        old = weights.document_frequency
        stay = terms[: len(old)] >= 0
        frequency[terms[: len(old)][stay]] = old[stay]
        weights = RunningTfidf.from_arrays(weights.arrays() | {"df": frequency})
        self._made = SequentialMixture.from_arrays(self._settings, stored), weights
        if self._window is not None:
            self._window.remap(terms, columns)

    def take(self) -> tuple[StoryRows | None, list[StoryEvent]]:
        """Return the rows of the stories that changed since the last call, and what happened to stories."""
        parts, events = self._ended, self._events
        self._ended, self._events = [], []
        changed = self._book.changed & self._book.shown
        if changed.any():
            book = self._book.taken(changed)
            if self._documents_now and self._documents_before:
                book.trend = growth(book.now, book.before, self._documents_now, self._documents_before)
            parts = [*parts, self._rows(book, self._words(book.ids), ended=False)]
        self._book.changed[:] = False
        return (None if not parts else StoryRows.joined(parts)), events

    def take_slices(self) -> list[StorySlices]:
        """Return what stories were at the ends of slices since the last call."""
        taken, self._then = self._then, []
        return taken

    def arrays(self) -> Arrays:
        """Return all that `restore` needs, as flat arrays; nothing before the first document."""
        if self._made is None:
            return {}
        mixture, weights = self._made
        arrays: Arrays = {"settings": self._settings.numbers()}
        arrays["documents"] = np.array([self._documents_now, self._documents_before], np.int64)
        arrays |= {f"mixture.{name}": array for name, array in mixture.arrays().items()}
        arrays |= {f"weights.{name}": array.copy() for name, array in weights.arrays().items()}
        if self._window is not None:
            arrays |= {f"window.{name}": array for name, array in self._window.arrays().items()}
            arrays |= {"window.slice": self._waiting[0].copy(), "window.place": self._waiting[1].copy()}
        return arrays | {f"book.{name}": array.copy() for name, array in self._book.arrays().items()}

    def restore(self, arrays: Arrays) -> None:
        """Continue from what `arrays` returned; what follows is the same to the last bit."""
        if not arrays:
            return
        from vmfstream.stories.mixture import SequentialMixture
        from vmfstream.stories.settings import StorySettings
        from vmfstream.stories.weights import RunningTfidf
        from vmfstream.stories.window import Window

        self._settings = StorySettings.from_numbers(arrays["settings"])
        self._documents_now, self._documents_before = arrays["documents"].tolist()
        if arrays["mixture.form"][1] not in (-1, self._settings.days):
            raise ValueError("expected times of stories as the settings say")
        mixture = SequentialMixture.from_arrays(self._settings, arrays_under(arrays, "mixture."))
        self._made = mixture, RunningTfidf.from_arrays(arrays_under(arrays, "weights."))
        self._book = StoryBook.from_arrays(arrays_under(arrays, "book."))
        if self._size and "window.seen" in arrays:
            self._window = Window(self._size)
            self._window.restore(arrays_under(arrays, "window."), mixture.columns)
            self._waiting = np.stack([arrays["window.slice"], arrays["window.place"]])
            vectors = arrays["window.vectors"].shape[1] if "window.vectors" in arrays else 0
            if self._waiting.size and vectors != mixture.vectors:
                raise ValueError(f"expected vectors of {mixture.vectors} numbers, got {vectors}")
        if not np.array_equal(self._book.ids, np.sort(mixture.living().ids)):
            raise ValueError("expected the same stories in the mixture and in the book")
        if len(self._made[1].document_frequency) > mixture.columns:
            raise ValueError(f"expected frequencies of at most {mixture.columns} words")

    def _parts(self, vectors: int = 0, terms: int = 0) -> tuple[SequentialMixture, RunningTfidf]:
        """Return the mixture and the weights of words; made when the first document comes, with ``vectors`` so long."""
        if self._made is None:
            from vmfstream.stories.mixture import SequentialMixture
            from vmfstream.stories.weights import RunningTfidf
            from vmfstream.stories.window import Window

            columns = max(terms, 1)
            self._made = SequentialMixture(self._settings, columns, vectors=vectors), RunningTfidf()
            self._window = Window(self._size) if self._size else None
        return self._made

    def _happened(self, kind: str, places: NDArray[np.int64], index: int) -> None:
        ids, sizes = self._book.ids[places].tolist(), self._book.size[places].tolist()
        self._events += [StoryEvent(kind, story, index, size) for story, size in zip(ids, sizes, strict=True)]

    def _told_then(self, rows: StoryRows, index: int) -> None:
        """Note what stories are at the end of slice ``index``, or when they end in it."""
        if not len(rows.story):
            return
        slices, words = np.full(len(rows.story), index), [[word for word, _ in some] for some in rows.words]
        then = StorySlices(slices, rows.story, rows.size, rows.topic, rows.trend, rows.titles(), words)
        self._then.append(then)

    def _words(self, ids: NDArray[np.int64]) -> list[list[tuple[str, float]]]:
        """Return the strongest words of living stories, with their weights."""
        return self._named(*self._parts()[0].strongest(ids, WORDS)) if len(ids) else []

    def _named(self, columns: NDArray[np.int32], weights: NDArray[np.float32]) -> list[list[tuple[str, float]]]:
        """Return the words of stories from their columns (S, n), -1 for none, and their weights, (S, n)."""
        terms, places = np.unique(columns, return_inverse=True)
        known = np.append(self._vocabulary.term_words(terms[terms >= 0].tolist()), [""]).astype(np.object_)
        names = known[places.reshape(columns.shape) - np.count_nonzero(terms < 0)]
        lengths = np.count_nonzero(columns >= 0, axis=1)
        return [
            list(zip(some[:n], of[:n], strict=True))
            for some, of, n in zip(names.tolist(), weights.tolist(), lengths.tolist(), strict=True)
        ]

    def _rows(self, book: StoryBook, words: list[list[tuple[str, float]]], *, ended: bool) -> StoryRows:
        documents = [
            [(one.id, one.title, one.time, score) for one, score in _distinct(kept, scores)]
            for kept, scores in zip(book.documents.tolist(), book.score.tolist(), strict=True)
        ]
        return StoryRows(
            story=book.ids,
            first_slice=book.first_slice,
            last_slice=book.last_slice,
            first=book.first.view("datetime64[us]"),
            last=book.last.view("datetime64[us]"),
            size=book.size,
            topic=book.topic,
            trend=book.trend,
            ended=np.full(len(book), ended),
            words=words,
            documents=documents,
        )


def _distinct(documents: Sequence[KeptDocument | None], scores: Sequence[float]) -> list[tuple[KeptDocument, float]]:
    """Leave out documents whose title was there before."""
    found: dict[str, tuple[KeptDocument, float]] = {}
    for one, score in zip(documents, scores, strict=True):
        if one is not None:
            found.setdefault(one.title, (one, score))
    return list(found.values())


def remapped(stored: Arrays, terms: NDArray[np.integer], columns: int) -> Arrays:
    """Return the state of a sparse mixture under other columns; words that are gone are taken from its stories.

    Parameters
    ----------
    stored : `vmfstream.stories.mixture.SequentialMixture.arrays`
    terms : the new column of each old one, -1 for those that are gone; the others keep their order.
    columns : number of new columns.
    """
    new = terms[stored["indices"]]
    stay = new >= 0
    before = np.concatenate(([0], np.cumsum(stay)))
    lost = np.concatenate(([0.0], np.cumsum(np.where(stay, 0.0, stored["values"].astype(np.float64) ** 2))))
    form, bounds = stored["form"].copy(), stored["indptr"]
    form[0] = columns
    return stored | {
        "square": stored["square"] - (lost[bounds[1:]] - lost[bounds[:-1]]),
        "indptr": before[bounds],
        "indices": new[stay].astype(np.int32),
        "values": stored["values"][stay],
        "form": form,
    }
