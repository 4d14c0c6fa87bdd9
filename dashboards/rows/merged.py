"""Merge the slices of very long runs into fewer dates of several slices each, so that their page stays small and fast.

A page is some hundred pixels wide, and its arrays have a row for each date: 10,000 dates would cost gigabytes and show
nothing that 1,000 do not show. Dates are counted back from the newest slice, so that the newest one is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from vmfstream.dashboards.rows.geometry import degrees_between, unit
from vmfstream.dashboards.rows.history import LONGEST_GAP, Bools, Doubles, Ints, shown_slices
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows, at_once
from vmfstream.runfile.queries import (
    AngleFrame,
    DocumentCountFrame,
    EpochFrame,
    EventFrame,
    ListedFrame,
    NameFrame,
    QualityFrame,
    Reading,
    Rejections,
    RepresentativeFrame,
    SketchFrame,
    SliceFrame,
    SnapshotFrame,
    SnapshotTopicFrame,
    SnapshotWordFrame,
    StoryDocumentFrame,
    StoryFrame,
    StorySliceFrame,
    StoryWordFrame,
    TopicFrame,
    WordCodes,
    kept,
)

F = TypeVar("F")

MOST_DATES = 1_000
"""Dates of a page; a run of more slices is shown with several slices a date."""


def rows_of_page(rows: RunRows, most: int = MOST_DATES) -> RunRows:
    """Return ``rows`` as they are, or merged to at most ``most`` dates if they have more slices than that."""
    frame = rows.slices()
    shown = frame.slice[shown_slices(frame)]
    per = -(-int(shown.max() - shown.min() + 1) // most) if shown.size else 1
    return MergedRows(rows, per) if per > 1 else rows


def merged_of(rows: RunRows) -> MergedRows | None:
    """Return the merged rows behind ``rows``, if that is what they are."""
    inner = rows.rows if isinstance(rows, CachedRows) else rows
    return inner if isinstance(inner, MergedRows) else None


class MergedRows:
    """Rows of a run file whose ``slice`` is the number of a date of ``per`` slices.

    Documents of the slices of a date are added up. Topics, words, names and angles are those of the last of its slices
    that has them, and the date is called after its last slice. The drift angle is that since the date before.
    """

    def __init__(self, rows: RunRows, per: int) -> None:
        self.per = per
        self._rows = rows
        self._slices = frame = rows.slices()
        shown = shown_slices(frame)
        self._stretches = frame.slice[1:][np.diff(frame.slice) > LONGEST_GAP + 1]  # where new ones begin
        self._oldest, self._newest = int(frame.slice[shown].min()), int(frame.slice[shown].max())
        self._last: dict[Reading, TopicFrame] = {}

    def at_once(self) -> AbstractContextManager[None]:
        """Answer the queries made inside from one moment of the run file."""
        return at_once(self._rows)

    def dates(self, slices: Ints) -> Ints:
        """Return the numbers of the dates of slices; gaps that are too long to be shown stay so."""
        stretch, here = (np.searchsorted(self._stretches, at, side="right") for at in (slices, self._newest))
        apart = (LONGEST_GAP + 2) * (stretch - here)
        out: Ints = (self._newest - self._oldest) // self.per - (self._newest - slices) // self.per + apart
        return out

    def slices_of(self, date: int) -> tuple[int, int]:
        """Return the first and the last slice of a date that is shown."""
        last = self._newest - ((self._newest - self._oldest) // self.per - date) * self.per
        return last - self.per + 1, last

    def slices(self) -> SliceFrame:
        """Return the dates in place of closed slices."""
        frame, date = self._slices, self.dates(self._slices.slice)
        starts = _begins(date)
        lasts = _ends(date)
        n = np.add.reduceat(frame.n, starts)
        known = np.where(np.isnan(frame.predicted), 0, frame.n)
        predicted = np.add.reduceat(np.nan_to_num(frame.predicted) * known, starts)
        return SliceFrame(
            slice=date[lasts],
            label=frame.label[lasts],
            begins=frame.begins[starts],
            ends=frame.ends[lasts],
            n=n,
            predicted=_quotient(predicted, np.add.reduceat(known, starts)),
            warm_up=np.logical_or.reduceat(frame.warm_up, starts),
        )

    def topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of all dates."""
        frame, last = self._topics(reading), self._lasts(reading)
        date = self.dates(frame.slice)
        starts = _begins(date, frame.topic)
        if not starts.size:
            return last
        own = self._slices
        n = own.n[np.searchsorted(own.slice, frame.slice)]
        merged = self.slices()
        of = merged.n[np.searchsorted(merged.slice, date[starts])].astype(np.float64)
        share = _quotient(np.add.reduceat(np.nan_to_num(frame.share) * n, starts), of)
        return replace(
            last,
            slice=date[starts],
            n=np.add.reduceat(np.nan_to_num(frame.n), starts),
            share=np.where(of > 0, share, last.share),
            drift_angle=self._drift(reading),
        )

    def word_codes(self, reading: Reading, top: int = 60, slices: Sequence[int] | None = None) -> WordCodes:
        """Return the words of topics at all dates."""
        frame = self._rows.word_codes(reading, top, self._asked(reading))
        own = self._is_last(reading, frame.slice, frame.topic)
        columns = {name: getattr(frame, name)[own] for name in ("topic", "rank", "word", "weight")}
        return WordCodes(slice=self.dates(frame.slice[own]), **columns, vocabulary=frame.vocabulary)

    def angles(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> AngleFrame:
        """Return the angles between topics: those of the last slice of a date that both are in."""
        frame = self._dated(self._rows.angles(reading, topic, self._asked(reading)))
        frame = kept(frame, np.lexsort((frame.other, frame.topic, frame.slice)))  # stable: in the order of slices
        return kept(frame, _ends(frame.slice, frame.topic, frame.other))

    def sketches(self, reading: Reading, topic: int | None = None, slices: Sequence[int] | None = None) -> SketchFrame:
        """Return the sketches of means at all dates."""
        frame = self._rows.sketches(reading, topic, self._asked(reading))
        return self._dated(kept(frame, self._is_last(reading, frame.slice, frame.topic)))

    def quality(self) -> QualityFrame:
        """Return the coherence and the diversity of topics at all dates."""
        frame = self._rows.quality()
        return self._dated(kept(frame, self._is_last("filtered", frame.slice, frame.topic)))

    def names(self, slices: Sequence[int] | None = None) -> NameFrame:
        """Return the names of topics at all dates."""
        frame = self._rows.names(self._asked("filtered"))
        return self._dated(kept(frame, self._is_last("filtered", frame.slice, frame.topic)))

    def representative(self, topic: int | None = None) -> RepresentativeFrame:
        """Return the most representative documents of each date: the first of its slices, then the second ones."""
        frame = self._rows.representative(topic)
        date = self.dates(frame.slice)
        order = np.lexsort((-frame.slice, frame.rank, frame.topic, date))
        frame = replace(kept(frame, order), slice=date[order])
        place = _counted(frame.slice, frame.topic)
        return kept(replace(frame, rank=place), place <= frame.rank.max(initial=0))

    def events(self) -> EventFrame:
        """Return the events of topics; how long topics that ended had been silent is told in dates."""
        frame = self._rows.events()
        silent = np.where(frame.value > 0, np.maximum(np.round(frame.value / self.per), 1.0), frame.value)
        value = np.where(frame.kind == "ended", silent, frame.value)
        return replace(self._dated(frame), value=value)

    def epochs(self) -> EpochFrame:
        """Return the engine updates, each with its date."""
        return self._dated(self._rows.epochs())

    def stories(self) -> StoryFrame:
        """Return the stories, each with its first and last date."""
        frame = self._rows.stories()
        return replace(frame, first_slice=self.dates(frame.first_slice), last_slice=self.dates(frame.last_slice))

    def story_slices(self) -> StorySliceFrame:
        """Return what stories were at the ends of dates: of the last slice in which they had documents."""
        frame = self._dated(self._rows.story_slices())
        last = np.append((frame.slice[1:] != frame.slice[:-1]) | (frame.story[1:] != frame.story[:-1]), True)
        return kept(frame, last[: len(frame.slice)])

    def snapshots(self) -> SnapshotFrame:
        """Return the batch fits of samples, each with its date."""
        return self._dated(self._rows.snapshots())

    def newest_listed(self, most: int, stories: Sequence[int]) -> ListedFrame:
        """Return the newest documents of each topic and date, and of some stories."""
        frame = self._dated(self._rows.newest_listed(most, stories))
        of_topic = (frame.topic >= 0) & (_places(frame.slice, frame.topic) <= most)
        of_story = np.isin(frame.story, list(stories)) & (_places(frame.story, frame.story) <= most)
        return kept(frame, of_topic | of_story)

    def listed_counts(self) -> DocumentCountFrame:
        """Return how many documents there are of each topic and date."""
        frame = self._dated(self._rows.listed_counts())
        keys, at = np.unique(np.stack([frame.slice, frame.topic], axis=1), axis=0, return_inverse=True)
        n = np.zeros(len(keys), np.int64)
        np.add.at(n, at.ravel(), frame.n)
        return DocumentCountFrame(keys[:, 0], keys[:, 1], n)

    def meta(self) -> dict[str, str]:
        """Return the settings of the run."""
        return self._rows.meta()

    def topic_names(self) -> dict[int, str]:
        """Return the names that people gave to topics."""
        return self._rows.topic_names()

    def pinned_topics(self) -> Ints:
        """Return the ids of the topics that are pinned."""
        return self._rows.pinned_topics()

    def has_smoothed(self) -> bool:
        """Tell whether there are smoothed topics."""
        return self._rows.has_smoothed()

    def rejections(self) -> Rejections:
        """Return how many messages were rejected, by reason."""
        return self._rows.rejections()

    def story_words(self, top: int = 10) -> StoryWordFrame:
        """Return the words of stories."""
        return self._rows.story_words(top)

    def story_documents(self, top: int = 5) -> StoryDocumentFrame:
        """Return the representative documents of stories."""
        return self._rows.story_documents(top)

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        """Return the topics of batch fits."""
        return self._rows.snapshot_topics(snapshot)

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        """Return the words of the topics of batch fits."""
        return self._rows.snapshot_words(snapshot, top)

    def _dated(self, frame: F) -> F:
        """Return a frame with dates in place of slices."""
        given: Any = frame
        out: F = replace(given, slice=self.dates(given.slice))
        return out

    def _topics(self, reading: Reading) -> TopicFrame:
        """Return the topics of the slices that are shown, by date, topic and slice.

        A date is smoothed if its last slice is.
        """
        frame = self._rows.topics(reading)
        frame = kept(frame, (frame.slice >= self._oldest) & (frame.slice <= self._newest))
        date = self.dates(frame.slice)
        if reading == "smoothed":
            last = self._lasts("filtered")
            behind = self.dates(last.slice[last.slice > frame.slice.max(initial=self._oldest - 1)])
            frame = kept(frame, ~np.isin(date, behind))
            date = self.dates(frame.slice)
        return kept(frame, np.lexsort((frame.slice, frame.topic, date)))

    def _lasts(self, reading: Reading) -> TopicFrame:
        """Return each topic at the last slice of a date that it is in, by date and topic."""
        if reading not in self._last:
            frame = self._topics(reading)
            self._last[reading] = kept(frame, _ends(self.dates(frame.slice), frame.topic))
        return self._last[reading]

    def _asked(self, reading: Reading) -> tuple[int, ...]:
        """Return the slices at which some topic is looked at."""
        return tuple(np.unique(self._lasts(reading).slice).tolist())

    def _is_last(self, reading: Reading, slices: Ints, topics: Ints) -> Bools:
        """Return which pairs of slice and topic are the last ones of a date."""
        last = self._lasts(reading)
        most = 1 + max(last.topic.max(initial=0), topics.max(initial=0))
        out: Bools = np.isin(slices * most + topics, last.slice * most + last.topic)
        return out

    def _drift(self, reading: Reading) -> Doubles:
        """Return the degrees between each topic's mean at a date and at the date before, by date and topic."""
        last, frame = self._lasts(reading), self.sketches(reading)
        out = np.full(last.slice.size, np.nan)
        if not frame.slice.size:
            return out
        date = self.dates(last.slice)
        most = 1 + int(last.topic.max())
        at = np.searchsorted(date * most + last.topic, frame.slice * most + frame.topic)
        order = np.lexsort((frame.slice, frame.topic))
        a, b = order[:-1], order[1:]
        next_ones = (frame.topic[a] == frame.topic[b]) & (frame.slice[a] + 1 == frame.slice[b])
        a, b = a[next_ones], b[next_ones]
        means = unit(frame.numbers)
        out[at[b]] = degrees_between(means[a], means[b])
        return out


def _quotient(a: Doubles, b: Any) -> Doubles:
    out: Doubles = np.divide(a, b, out=np.full(a.shape, np.nan), where=np.asarray(b) > 0)
    return out


def _begins(*columns: Ints) -> Ints:
    """Return where rows begin that have the same numbers and follow each other."""
    new = np.ones(columns[0].size, np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(new)


def _ends(*columns: Ints) -> Ints:
    """Return where rows end that have the same numbers and follow each other."""
    begins = _begins(*columns)
    return np.append(begins[1:], columns[0].size)[: begins.size] - 1


def _counted(first: Ints, second: Ints) -> Ints:
    """Return the places, from 1, of rows among those of the same two numbers, which follow each other."""
    starts = _begins(first, second)
    lengths = np.diff(np.append(starts, first.size))
    out: Ints = np.arange(first.size) - np.repeat(starts, lengths) + 1
    return out


def _places(first: Ints, second: Ints) -> Ints:
    """Return the places, from 1, of rows among those of the same two numbers, in the order in which they stand."""
    order = np.lexsort((np.arange(first.size), second, first))
    out = np.empty(first.size, np.int64)
    out[order] = _counted(first[order], second[order])
    return out
