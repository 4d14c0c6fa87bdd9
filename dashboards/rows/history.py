"""The run file as dense arrays over slices and topics, read once and shared by all views."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.looks.escape import clean
from vmfstream.dashboards.looks.phrases import STEP, period, unlabelled
from vmfstream.dashboards.rows.run_rows import RunRows, at_once, once, readings_of, slices_per_date
from vmfstream.dashboards.rows.word_order import WordPairs, word_pairs
from vmfstream.errors import InputError
from vmfstream.runfile.queries import NameFrame, Reading, SliceFrame, kept, label_of
from vmfstream.slicing import Slicing

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_WORD = -1
_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """One reading of the run file.

    Parameters
    ----------
    reading : {"filtered", "smoothed"}
    index, n, warm_up : arrays of shape (S,)
        Slice numbers without gaps, documents, and whether topic numbers could still change their meaning.
    labels : tuple of S str
        Names of the slices in the words of their calendar.
    topic : int array of shape (T,)
        Ids of the topics that this reading has rows of, in ascending order.
    documents, share, certainty, drift_angle : float arrays of shape (S, T)
        NaN where the topic was not alive; ``drift_angle`` in degrees since the slice before.
    vocabulary : tuple of V str
        Words, cleaned for display.
    word : int array of shape (S, T, R)
        Positions in the vocabulary by rank, -1 where there is no word.
    weight : float array of shape (S, T, R)
        Weights of these words, 0 where there is none.
    pairs : set of pairs of str
        Words that stand side by side in texts, in this order.
    given : mapping of int to str
        Names that people gave to topics, by id, cleaned for display.
    names : mapping of (row, column) to tuple of str
        Parts of the names of topics, phrases and words, cleaned for display; run files of before have none.
    per : int
        Slices of the run file that each row holds: more than one where it has too many for a page.
    """

    reading: Reading
    index: Ints
    labels: tuple[str, ...]
    n: Ints
    warm_up: Bools
    topic: Ints
    documents: Doubles
    share: Doubles
    certainty: Doubles
    drift_angle: Doubles
    vocabulary: tuple[str, ...]
    word: Ints
    weight: Doubles
    pairs: WordPairs = frozenset()
    given: Mapping[int, str] = field(default_factory=dict)
    names: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    per: int = 1

    def period(self) -> str:
        """Return what a row of the arrays is called: the unit of the calendar, or step where it holds more slices."""
        return period(self.labels) if self.per == 1 else STEP

    def until(self, last: int) -> History:
        """Return the same with the slices up to row ``last`` only."""
        by_slice = (
            "index",
            "labels",
            "n",
            "warm_up",
            "documents",
            "share",
            "certainty",
            "drift_angle",
            "word",
            "weight",
        )
        return replace(self, **{name: getattr(self, name)[: last + 1] for name in by_slice})

    def alive(self) -> Bools:
        """Return where a topic has a row and its slice has documents, shape (S, T)."""
        alive: Bools = ~np.isnan(self.documents) & (self.n > 0)[:, None]
        return alive

    def position(self, topic: int) -> int | None:
        """Return the column of a topic id, or None."""
        found = np.flatnonzero(self.topic == topic)
        return int(found[0]) if found.size else None

    def life(self, topic: int | None) -> tuple[int | None, Ints]:
        """Return the column of a topic, the first one's if there is no such topic, and the rows in which it stands."""
        t = None if topic is None else self.position(topic)
        if t is None:
            t = 0 if self.topic.size else None
        return t, np.flatnonzero(~np.isnan(self.documents[:, t])) if t is not None else np.empty(0, np.int64)

    def strongest(self, s: int, t: int, top: int) -> list[str]:
        """Return the ``top`` strongest words of column ``t`` at row ``s``."""
        return [self.vocabulary[w] for w in self.word[s, t, :top] if w != NO_WORD]

    def settled(self) -> Bools:
        """Return the slices whose topic numbers are final in this reading (all of them if smoothed)."""
        return ~self.warm_up if self.reading == "filtered" else np.ones(self.index.size, dtype=np.bool_)

    def provisional(self) -> Bools:
        """Return the topics that exist only in slices of the warm-up, shape (T,)."""
        there = ~np.isnan(self.documents)
        there[:-1] &= self.settled()[:-1, None]
        stayed: Bools = np.asarray(there.any(axis=0))
        return ~stayed

    def usual_drift_angle(self) -> Doubles:
        """Return each topic's median drift angle after the warm-up in degrees, NaN where it has none, shape (T,)."""
        known = np.where(self.settled()[:, None] & self.alive(), self.drift_angle, np.nan)
        out = np.full(self.topic.size, np.nan)
        for t in range(self.topic.size):
            steps = known[:, t][~np.isnan(known[:, t])]
            if steps.size >= 3:
                out[t] = np.median(steps)
        return out


def read_history(rows: RunRows, reading: Reading) -> History:
    """Read one reading of the run file.

    In the smoothed reading, slices that were not smoothed yet are filtered ones. Without any smoothed slice this is the
    filtered reading, under its own name.
    """
    with at_once(rows):
        if reading == "smoothed" and not rows.has_smoothed():
            reading = "filtered"
        slices, names, given, pairs = rows.slices(), rows.names(), given_names(rows), word_pairs(rows)
        readings: list[Reading] = ["filtered", "smoothed"] if reading == "smoothed" else ["filtered"]
        frames = [(rows.topics(one), rows.word_codes(one)) for one in readings]
        length = rows.meta().get("slices", "")
    per = slices_per_date(rows)
    index, labels, n, warm_up = _calendar(slices, length, per)
    late = np.isin(index, frames[1][0].slice) if len(frames) > 1 else np.zeros(index.size, np.bool_)
    parts = [(*frame, used) for frame, used in zip(frames, (~late, late), strict=False)]

    ids = np.unique(np.concatenate([frame.topic[_inside(index, frame.slice, used)] for frame, _, used in parts]))
    shape = (index.size, ids.size)
    documents, share, certainty, drift_angle = (np.full(shape, np.nan) for _ in range(4))
    for frame, _, used in parts:
        s, t, keep = _cells(index, ids, frame.slice, frame.topic, used)
        for out, column in (
            (documents, frame.n),
            (share, frame.share),
            (certainty, frame.certainty),
            (drift_angle, frame.drift_angle),
        ):
            out[s, t] = column[keep]

    vocabulary, places = _vocabulary([frame.vocabulary for _, frame, _ in parts])
    ranks = max((int(frame.rank.max()) for _, frame, _ in parts if frame.rank.size), default=0)
    word = np.full((*shape, ranks), NO_WORD, dtype=np.int64)
    weight = np.zeros((*shape, ranks))
    for (_, words_frame, used), place in zip(parts, places, strict=True):
        s, t, keep = _cells(index, ids, words_frame.slice, words_frame.topic, used)
        r = words_frame.rank[keep] - 1
        word[s, t, r] = place[words_frame.word[keep]]
        weight[s, t, r] = words_frame.weight[keep]
    return History(
        reading=reading,
        index=index,
        labels=labels,
        n=n,
        warm_up=warm_up,
        topic=ids,
        documents=documents,
        share=share,
        certainty=certainty,
        drift_angle=drift_angle,
        vocabulary=vocabulary,
        word=word,
        weight=weight,
        pairs=pairs,
        given=given,
        names=_names(names, index, ids),
        per=per,
    )


def given_names(rows: RunRows) -> dict[int, str]:
    """Return the names that people gave to topics, by id, cleaned for display."""
    return {topic: name for topic, text in rows.topic_names().items() if (name := clean(text))}


def history_of(rows: RunRows, reading: Reading) -> History:
    """Return a reading as dense arrays, computed once if ``rows`` are cached."""
    return once(rows, ("history", reading), lambda: read_history(rows, reading))


def topics_of(rows: RunRows) -> Ints:
    """Return the ids of the topics of all readings of a run file, in ascending order."""
    return np.unique(np.concatenate([history_of(rows, reading).topic for reading in readings_of(rows)]))


def lived(rows: RunRows, topics: Sequence[int]) -> list[tuple[Reading, int]]:
    """Return the readings with those of some topics that they have rows of."""
    known = {reading: set(history_of(rows, reading).topic.tolist()) for reading in readings_of(rows)}
    return [(reading, topic) for reading in known for topic in topics if topic in known[reading]]


def slice_called(history: History, label: str | int | None) -> int | None:
    """Return the position of a slice by its name, which may be the number of a year, None for none.

    Raises
    ------
    InputError
        If there is no such slice.
    """
    called = label_of(label)
    if called is None:
        return None
    if called not in history.labels:
        known = f"{history.labels[0]} to {history.labels[-1]}" if history.labels else "none yet"
        raise InputError(f"there is no date {label!r} in this run file; dates are {known}")
    return history.labels.index(called)


LONGEST_GAP = 1_000
"""Slices without documents in a row that a history can have."""

LEAST_STRETCH = 0.01
"""Share of the documents that a stretch between longer gaps needs to be shown."""

_CHARACTER, _GAP = 6.3, 8.0
"""Pixels of a character of a label below an axis, and between two labels."""


def ticks(labels: tuple[str, ...], width: float, least: float) -> list[tuple[int, str]]:
    """Choose the slices whose ``labels`` are written below an axis, one per ``least`` of its ``width`` pixels at most.

    Where every slice fits, all are named; otherwise the first slice of each year is, by its year alone, every second,
    fifth, tenth of them, or several slices of each year if there is room; slices without years are thinned by counting
    back from the newest. Whole labels also need the room of the longest.
    """
    count = len(labels)
    if count == 0:
        return []
    step = width / max(count - 1, 1)
    whole = max(least, _CHARACTER * max(map(len, labels)) + _GAP)
    if step >= whole:
        return list(enumerate(labels))
    years = [match.group() if (match := _YEAR.search(label)) else "" for label in labels]
    starts = [i for i in range(count) if years[i] and (i == 0 or years[i] != years[i - 1])]
    if all(years) and 1 < len(starts) < count and max(Counter(years).values()) <= 366:
        chosen = [(i, years[i]) for i in starts]
    else:
        chosen = list(enumerate(labels))
    by_year = len(chosen) < count
    least = least if by_year or list(labels) == years else whole / 0.8
    if (
        by_year and len(starts) <= 5 and (len(starts) - 1) * 2 * least <= width
    ):  # room for more than years: every second, third ... slice
        for every in (2, 3, 4, 6, 12, 13, 26):
            kept = [(i, labels[i]) for i in range(count) if (i - starts[-1]) % every == 0]
            if every * step >= whole and len(kept) >= 2 * (len(starts) - 1):
                return kept
    for every in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000):
        kept = chosen[(count - 1) % every :: every]
        if by_year or list(labels) == years:
            kept = [item for item in chosen if int(item[1]) % every == 0]
        gaps = [(b[0] - a[0]) * step for a, b in itertools.pairwise(kept)]
        if by_year and len(gaps) > 1 and gaps[0] < least <= min(gaps[1:]):  # the first year may be cut short
            kept, gaps = kept[1:], gaps[1:]
        if kept and (not gaps or min(gaps) >= least * 0.8):
            return kept
    return [chosen[-1]]


def _names(names: NameFrame, index: Ints, ids: Ints) -> Mapping[tuple[int, int], tuple[str, ...]]:
    """Return the parts of names by row and column."""
    column = {int(topic): t for t, topic in enumerate(ids)}
    first = int(index[0]) if index.size else 0
    return {
        (s - first, column[topic]): tuple(clean(part) for part in parts)
        for (s, topic), parts in names.parts().items()
        if topic in column and 0 <= s - first < index.size
    }


def shown_slices(frame: SliceFrame) -> Bools:
    """Return which of the run file's slices a history shows, shape (S,).

    A document with a wrong time, such as 1970, can lie thousands of slices before the others, and the arrays of a
    history have a row for each slice in between. So only one stretch without a longer gap than `LONGEST_GAP` is shown:
    the newest that has at least `LEAST_STRETCH` of the documents.
    """
    stretch = np.concatenate([[0], np.cumsum(np.diff(frame.slice) > LONGEST_GAP + 1)])[: frame.slice.size]
    documents = np.bincount(stretch, weights=frame.n)
    large = np.flatnonzero(documents >= LEAST_STRETCH * documents.sum())
    out: Bools = stretch == large[-1] if large.size else np.zeros(0, np.bool_)
    return out


def _calendar(frame: SliceFrame, length: str, per: int) -> tuple[Ints, tuple[str, ...], Ints, Bools]:
    """Return slice numbers without gaps; slices that the run file does not hold are empty ones."""
    if not frame.slice.size:
        return np.empty(0, np.int64), (), np.empty(0, np.int64), np.empty(0, np.bool_)
    frame = kept(frame, shown_slices(frame))
    index = np.arange(int(frame.slice.min()), int(frame.slice.max()) + 1)
    where = frame.slice - index[0]
    named = dict(zip(where.tolist(), frame.label.tolist(), strict=True))
    missing = _names_of_missing(frame, length, per)
    labels = tuple(clean(named.get(i) or missing(int(index[i])), 24) for i in range(index.size))
    n = np.zeros(index.size, dtype=np.int64)
    warm_up = np.zeros(index.size, dtype=np.bool_)
    n[where], warm_up[where] = frame.n, frame.warm_up
    return index, labels, n, warm_up


def _names_of_missing(frame: SliceFrame, length: str, per: int) -> Callable[[int], str]:
    """Return what names dates that the run file does not hold: each after the last of its ``per`` slices."""
    last, newest = int(frame.slice[-1]), frame.ends[-1:] - np.timedelta64(1, "us")
    try:
        slicing = Slicing.parse(length)
        at = int(slicing.indices(newest.astype("datetime64[us]").astype(np.int64))[0])
    except (InputError, ValueError):  # tables that are no run file, slices of so many documents
        return unlabelled
    return unlabelled if np.isnat(newest[0]) else lambda date: slicing.slice(at - (last - date) * per).label


def _cells(index: Ints, ids: Ints, slices: Ints, topics: Ints, used: Bools) -> tuple[Ints, Ints, Bools]:
    """Return rows and columns of the cells that lie in used slices, and which entries these are."""
    keep = _inside(index, slices, used) & np.isin(topics, ids)
    return slices[keep] - index[:1], np.searchsorted(ids, topics[keep]), keep


def _inside(index: Ints, slices: Ints, used: Bools) -> Bools:
    """Return which entries lie in used slices."""
    inside: Bools = np.isin(slices, index[used])
    return inside


def _vocabulary(parts: list[NDArray[np.object_]]) -> tuple[tuple[str, ...], list[Ints]]:
    """Return all words, cleaned for display, and where those of each part stand among them."""
    raw = sorted({str(word) for part in parts for word in part})
    place = {word: k for k, word in enumerate(raw)}
    return tuple(clean(word) or "·" for word in raw), [np.array([place[str(w)] for w in p], np.int64) for p in parts]
