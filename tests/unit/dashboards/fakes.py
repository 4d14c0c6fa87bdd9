"""A realistic log without an engine: an invented newspaper with thirty topics over thirty quarters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.unit.dashboards.stories import TITLES, lagged, stories, track
from vmfstream.dashboards.dataframes import F, RowsInMemory, empty
from vmfstream.records import SKETCH_SIZE
from vmfstream.runfile.queries import (
    AngleFrame,
    EpochFrame,
    EventFrame,
    Reading,
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
    WordFrame,
    kept,
)
from vmfstream.text.sketch import projection, sketch

_STARTS = {20: 9, 21: 19, 26: 14, 23: 8}
_ENDS = {7: 21, 20: 20, 27: 24}


@dataclass(frozen=True)
class FakeRows(RowsInMemory):
    """Frames as the reader would give them."""

    slice_frame: SliceFrame
    topic_frames: dict[Reading, TopicFrame]
    word_frames: dict[Reading, WordFrame]
    sketch_frames: dict[Reading, SketchFrame]
    typical_frame: RepresentativeFrame
    event_frame: EventFrame
    settings: dict[str, str]
    snapshot_frames: tuple[SnapshotFrame, SnapshotTopicFrame, SnapshotWordFrame] | None = None
    story_frames: tuple[StoryFrame, StoryWordFrame, StoryDocumentFrame] | None = None
    story_slice_frame: StorySliceFrame | None = None

    def meta(self) -> dict[str, str]:
        return dict(self.settings)

    def whole(self, kind: type[F], reading: Reading | None = None) -> F:
        made: dict[type, Callable[[], Any]] = {AngleFrame: lambda: self._angles(reading), EpochFrame: self._epochs}
        if kind in made:
            found: F = made[kind]()
            return found
        frames: list[Any] = [self.slice_frame, self.typical_frame, self.event_frame, *(self.snapshot_frames or ())]
        frames += [*(self.story_frames or ()), self.story_slice_frame]
        frames += [frames_of[reading] for name in _BY_READING if reading in (frames_of := getattr(self, name))]
        return next((frame for frame in frames if isinstance(frame, kind)), empty(kind))

    def without_smoothed(self) -> FakeRows:
        frames: dict[str, Any] = {name: {"filtered": getattr(self, name)["filtered"]} for name in _BY_READING}
        return replace(self, **frames)

    def only(self, chosen: Callable[[Any], Any]) -> FakeRows:
        """Return a log with some of its rows, a mask of those of each frame of slices, topics, words and sketches."""
        frames: dict[str, Any] = {
            name: {reading: kept(frame, chosen(frame)) for reading, frame in getattr(self, name).items()}
            for name in _BY_READING
        }
        return replace(self, slice_frame=kept(self.slice_frame, chosen(self.slice_frame)), **frames)

    def _angles(self, reading: Reading | None) -> AngleFrame:
        f = self.whole(SketchFrame, reading)
        unit = f.numbers / np.linalg.norm(f.numbers, axis=1, keepdims=True)
        parts = []
        for s in np.unique(f.slice):
            here = np.flatnonzero(f.slice == s)
            a, b = np.triu_indices(here.size, 1)
            degrees = np.degrees(np.arccos(np.clip((unit[here] @ unit[here].T)[a, b], -1, 1)))
            parts.append((np.full(a.size, s), f.topic[here[a]], f.topic[here[b]], degrees))
        if not parts:
            return empty(AngleFrame)
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return AngleFrame(*columns)

    def _epochs(self) -> EpochFrame:
        f = self.slice_frame
        none, zero = np.full(f.slice.size, np.nan), np.zeros(f.slice.size, np.int64)
        return EpochFrame(
            epoch=f.slice + 1,
            slice=f.slice,
            label=f.label,
            n=f.n,
            rejected=zero,
            late=zero,
            empty=zero,
            oov_rate=none,
            prequential=none,
            seconds=np.full(f.slice.size, 0.2),
            lag=zero - 1,
        )


_BY_READING = ("topic_frames", "word_frames", "sketch_frames")


def gazette(
    slices: int = 30,
    topics: int = 30,
    seed: int = 7,
    stored: int = 60,
    settling: int = 2,
    empty: tuple[int, ...] = (),
    words: list[list[str]] | None = None,
) -> FakeRows:
    """Return the log of an invented newspaper; its frames are shared with others of the same size.

    Parameters
    ----------
    slices, topics, seed, stored
        Size; ``stored`` words per topic and slice.
    settling : int
        So many first slices are still settling.
    empty : slice numbers without documents
    words : word lists to use instead of the built-in stories
    """
    lists = None if words is None else tuple(map(tuple, words))
    rows = _gazette(slices, topics, seed, stored, settling, empty, lists)
    frames: dict[str, Any] = {name: dict(getattr(rows, name)) for name in _BY_READING}
    return replace(rows, settings=dict(rows.settings), **frames)


@cache
def _gazette(
    slices: int,
    topics: int,
    seed: int,
    stored: int,
    settling: int,
    empty: tuple[int, ...],
    words: tuple[tuple[str, ...], ...] | None,
) -> FakeRows:
    rng = np.random.default_rng([seed, slices, topics])
    word_lists = stories() if words is None else [list(one) for one in words]
    labels = (
        [f"{1996 + s // 4} Q{s % 4 + 1}" for s in range(slices)] if slices != 13 else [str(1987 + s) for s in range(13)]
    )
    time = np.arange(slices)
    base = np.exp(rng.normal(0.0, 0.5, topics)) * 22
    size = np.zeros((slices, topics))
    for t in range(topics):
        curve = np.full(slices, 1.0)
        for _ in range(rng.integers(1, 4)):
            centre, width, height = rng.uniform(-2, slices + 2), rng.uniform(0.8, 5.0), rng.uniform(0.4, 2.6)
            curve += height * np.exp(-0.5 * ((time - centre) / width) ** 2)
        size[:, t] = base[t] * curve * np.exp(0.12 * rng.normal(size=slices))
    for t, start in _STARTS.items():
        if t < topics and slices >= 24:
            size[:start, t] = np.nan
    for t, end in _ENDS.items():
        if t < topics and slices >= 24:
            size[end + 1 :, t] = np.nan
    counts = np.round(size)
    counts[list(empty)] = np.where(np.isnan(counts[list(empty)]), np.nan, 0.0)
    n = np.nansum(counts, axis=1).astype(np.int64)

    tracks = [track(word_lists[t % len(word_lists)], slices, stored, rng) for t in range(topics)]
    readings: dict[Reading, float] = {"filtered": 0.16, "smoothed": 0.0}
    topic_frames: dict[Reading, TopicFrame] = {}
    word_frames: dict[Reading, WordFrame] = {}
    sketch_frames: dict[Reading, SketchFrame] = {}
    alive = ~np.isnan(counts)
    s_all, t_all = np.nonzero(alive)
    for reading, noise in readings.items():
        rows: list[tuple[int, int, int, str, float]] = []
        speed = np.full(counts.shape, np.nan)
        sketches = np.zeros((*counts.shape, SKETCH_SIZE))
        for t in range(topics):
            vocabulary, weight = tracks[t]
            seen = weight if reading == "smoothed" else lagged(weight, noise, rng)
            seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
            cosines = np.clip((seen[1:] * seen[:-1]).sum(axis=1), -1, 1)
            both = alive[1:, t] & alive[:-1, t]
            speed[1:, t] = np.where(both, np.degrees(np.arccos(cosines)), np.nan)
            project = projection(w.encode("utf-8", "replace") for w in vocabulary)
            sketches[:, t] = sketch(project, seen.T.astype(np.float32))
            for s in np.flatnonzero(alive[:, t]):
                order = np.argsort(-seen[s], kind="stable")[:stored]
                rows += [
                    (int(s), t, r + 1, vocabulary[w], float(seen[s, w]))
                    for r, w in enumerate(order)
                    if seen[s, w] > 1e-3
                ]
        certainty = np.clip(
            0.55 + 0.12 * np.log10(1 + np.nan_to_num(counts)) + (0.08 if reading == "smoothed" else 0.0), 0, 0.99
        )
        share = counts / np.maximum(n, 1)[:, None]
        topic_frames[reading] = TopicFrame(
            slice=s_all,
            topic=t_all,
            n=counts[alive],
            share=share[alive],
            kappa=np.full(s_all.size, 900.0),
            gamma=np.full(s_all.size, 5000.0),
            tightness=np.full(s_all.size, 0.4),
            certainty=certainty[alive],
            drift_angle=speed[alive],
            drift_angle_error=0.2 * speed[alive],
        )
        sketch_frames[reading] = SketchFrame(slice=s_all, topic=t_all, numbers=sketches[alive])
        columns = list(zip(*rows, strict=True)) if rows else [(), (), (), (), ()]
        word_frames[reading] = WordFrame(
            slice=np.array(columns[0], np.int64),
            topic=np.array(columns[1], np.int64),
            rank=np.array(columns[2], np.int64),
            word=texts(columns[3]),
            weight=np.array(columns[4], np.float64),
        )

    typical = _typical(tracks, alive & (n > 0)[:, None], labels, rng)
    events = [(0, "started", t, -1, np.nan) for t in range(topics) if alive[0, t]]
    events += [(s, "born", t, -1, float(counts[s, t])) for t, s in _STARTS.items() if t < topics and slices >= 24]
    events += [(s + 1, "merged", t, 2, 41.0) for t, s in _ENDS.items() if t < topics and slices >= 24]
    events += [
        (int(s), "drift", int(t), -1, 30.0)
        for s, t in zip(rng.integers(3, max(slices, 4), 5), rng.integers(0, topics, 5), strict=True)
        if s < slices
    ]
    events.sort(key=lambda e: (e[0], e[1], e[2]))
    begins = np.array(
        [np.datetime64(f"{1996 + s // 4}-{3 * (s % 4) + 1:02d}-01", "us") for s in range(slices + 1)], "datetime64[us]"
    )
    return FakeRows(
        slice_frame=SliceFrame(
            slice=time.astype(np.int64),
            label=texts(labels),
            begins=begins[:-1],
            ends=begins[1:],
            n=n,
            predicted=np.zeros(slices),
            warm_up=time < settling,
        ),
        topic_frames=topic_frames,
        word_frames=word_frames,
        sketch_frames=sketch_frames,
        typical_frame=typical,
        event_frame=EventFrame(
            slice=np.array([e[0] for e in events], np.int64),
            epoch=np.array([e[0] for e in events], np.int64),
            kind=texts([e[1] for e in events]),
            topic=np.array([e[2] for e in events], np.int64),
            other=np.array([e[3] for e in events], np.int64),
            value=np.array([e[4] for e in events], np.float64),
            evidence=np.full(len(events), np.nan),
            chance=np.full(len(events), np.nan),
            decision=np.full(len(events), -1),
        ),
        settings={
            "title": "Harbour Gazette",
            "source": "invented",
            "topics": str(topics),
            "seed": str(seed),
            "version": "0.1.0",
            "licence": "invented headlines, free to use",
            "slices": "quarter",
        },
    )


def _typical(
    tracks: list[tuple[list[str], NDArray[np.float64]]],
    there: NDArray[np.bool_],
    labels: list[str],
    rng: np.random.Generator,
) -> RepresentativeFrame:
    rows = []
    moods = ("quiet", "difficult", "surprising", "long")
    for s, t in zip(*np.nonzero(there), strict=True):
        vocabulary, weight = tracks[t]
        best = [vocabulary[w] for w in np.argsort(-weight[s], kind="stable")[:6]]
        for r in range(5):
            a, b = best[r % len(best)], best[(r + 2) % len(best)]
            title = TITLES[r].format(a=a, b=b, c=moods[int(rng.integers(4))])
            rows.append(
                (
                    int(s),
                    int(t),
                    r + 1,
                    f"{labels[s]}/{t}/{r}",
                    title[0].upper() + title[1:],
                    0.9 - 0.09 * r - 0.1 * rng.random(),
                )
            )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    stamps = [
        np.datetime64("1996-01-15", "us") + np.timedelta64(91 * int(s) + 3 * int(r), "D")
        for s, r in zip(columns[0], columns[2], strict=True)
    ]
    return RepresentativeFrame(
        slice=np.array(columns[0], np.int64),
        topic=np.array(columns[1], np.int64),
        rank=np.array(columns[2], np.int64),
        id=texts(columns[3]),
        title=texts(columns[4]),
        time=np.array(stamps, "datetime64[us]"),
        score=np.array(columns[5], np.float64),
    )


def texts(values: list[str] | tuple[str, ...]) -> NDArray[np.object_]:
    out = np.empty(len(values), dtype=np.object_)
    out[:] = values
    return out


def replacing(rows: FakeRows, topic: int, before: int, old: int) -> FakeRows:
    """Return a log in which, as known then, a topic has another number before a slice, and flows into the later one."""

    def renamed(frame: Any) -> Any:
        number = np.where((frame.topic == topic) & (frame.slice < before), old, frame.topic)
        return replace(frame, topic=number)

    frames: dict[str, Any] = {}
    for name in _BY_READING:
        frames_of = getattr(rows, name)
        frames[name] = frames_of | {"filtered": renamed(frames_of["filtered"])}
    last = rows.event_frame
    one: dict[str, Any] = {
        "slice": before,
        "epoch": before,
        "kind": "merged",
        "topic": old,
        "other": topic,
        "value": 50.0,
    }
    one |= {"evidence": np.nan, "chance": np.nan, "decision": -1}
    events = {field: np.append(getattr(last, field), value) for field, value in one.items()}
    return replace(rows, event_frame=EventFrame(**events), **frames)


def with_stories(rows: FakeRows, *stories: tuple[int, int, int, int, str], topic: int = 1) -> FakeRows:
    """Return a log with stories: number, documents, slices of the first and last one, title; each has three words.

    Their trends are their numbers, and those of even number have ended.
    """
    number, size, first, last = (np.array([one[k] for one in stories], np.int64) for k in range(4))
    title = np.array([one[4] for one in stories], np.object_)
    moment = np.zeros(len(stories), "datetime64[us]")
    frame = StoryFrame(
        number,
        first,
        last,
        moment,
        moment,
        size,
        np.full(len(stories), topic),
        number.astype(np.float64),
        number % 2 == 0,
        title,
        np.full(len(stories), -1),
    )
    word = np.array([f"{mark}{one[0]}" for one in stories for mark in "abc"], np.object_)
    words = StoryWordFrame(np.repeat(number, 3), np.tile([1, 2, 3], len(stories)), word, np.ones(len(word)))
    address = np.array([f"https://example.org/{one[0]}" for one in stories], np.object_)
    ones = np.ones(len(stories), np.int64)
    documents = StoryDocumentFrame(number, ones, address, title, moment, np.full(len(stories), 0.5))
    return replace(rows, story_frames=(frame, words, documents))


def with_past(rows: FakeRows, *past: tuple[int, int, int, str], topic: int = 1) -> FakeRows:
    """Return a log that knows what stories were: slice, story, documents then, title then; the trend is 2.5."""
    at, story, size = (np.array([one[k] for one in past], np.int64) for k in range(3))
    title = np.array([one[3] for one in past], np.object_)
    words = np.array([f"early{one[1]}, a{one[1]}" for one in past], np.object_)
    known = StorySliceFrame(at, story, size, np.full(len(past), topic), np.full(len(past), 2.5), title, words)
    return replace(rows, story_slice_frame=known)
