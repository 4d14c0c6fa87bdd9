"""Convert the records of a commit to columns of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Commit, Decision, Event, SliceReport, StoryEvent, StoryRows, StorySlices, TopicRows
from vmfstream.text.topic_names import JOINT

Frame: TypeAlias = dict[str, NDArray[Any]]
"""Columns of equal length by name."""

_NUMBERS = ("share", "n", "kappa", "gamma", "tightness", "certainty", "drift_angle", "drift_angle_error")
_UNCERTAIN = ("share_low", "share_high", "radius")
_PHRASES = 8
"""Phrases of a topic and slice in the run file."""

_QUALITY = ("npmi", "c_v", "diversity", "isotropy")

WEIGHT_DIGITS, DEGREE_DIGITS = 4, 2
"""Decimals of words' weights and of angles: pages and tables show two and none, and DuckDB packs short decimals in half
the bytes."""


def check_order(epoch: int, last: int | None, where: str) -> None:
    """Refuse an ``epoch`` that does not follow the ``last`` one; a new store begins with epoch 0 or 1.

    Raises
    ------
    InputError
        If ``epoch`` is already stored or leaves a gap; the message names the store, ``where``, and both numbers.
    """
    if last is None:
        if epoch not in (0, 1):
            raise InputError(f"{where} is new and must begin with epoch 0 or 1, got {epoch}; was it moved?")
    elif epoch <= last:
        raise InputError(f"epoch {epoch} is already in {where}, its last is {last}; does the same run go on elsewhere?")
    elif epoch != last + 1:
        raise InputError(f"{where} ends with epoch {last} and must go on with {last + 1}, got {epoch}")


def frames(commit: Commit, begun: datetime) -> dict[str, Frame]:
    """Return the rows of an epoch that began at ``begun``, as columns by table; tables without rows are left out."""
    report = commit.epoch
    tables: dict[str, Frame] = {
        "epoch": {
            "epoch": _ints([report.epoch]),
            "slice": _ints([report.slice.index]),
            "label": as_texts([report.slice.label]),
            "begun": _times([begun]),
            "n": _ints([report.n]),
            "rejected": _ints([report.rejected]),
            "late": _ints([report.late]),
            "empty": _ints([report.empty]),
            "oov_rate": _floats([report.oov_rate]),
            "prequential": _floats([report.prequential]),
            "seconds": _floats([report.seconds]),
            "finished": np.array([commit.finished]),
            "lag": _floats([np.nan if report.lag is None else report.lag]),
        }
    }
    if report.topics is not None:
        tables["topic"] = _topics("epoch", [(report.epoch, report.topics)])
        tables["word"] = _words("epoch", [(report.epoch, report.topics)])
    if commit.closed:
        tables |= _slices(commit.closed, report.epoch)
    if commit.smoothed:
        tables |= _reading("smoothed", [(one.slice, one.topics) for one in commit.smoothed])
    if commit.sampled is not None:
        one = commit.sampled
        tables["sample"] = {
            "slice": np.full(len(one.key), one.slice),
            "key": one.key,
            "part": as_texts(one.part),
            "source_offset": one.offset,
            "packed": np.array(one.packed, np.object_),
        }
    if commit.rejected:
        tables["rejected"] = {
            "part": as_texts(rejection.part for rejection in commit.rejected),
            "source_offset": _ints([rejection.offset for rejection in commit.rejected]),
            "epoch": np.full(len(commit.rejected), report.epoch),
            "reason": as_texts(rejection.reason for rejection in commit.rejected),
            "excerpt": as_texts(rejection.excerpt for rejection in commit.rejected),
        }
    if commit.documents is not None:
        rows = commit.documents
        tables["document"] = {
            "id": as_texts(rows.id),
            "time": rows.time.view("datetime64[us]"),
            "slice": np.full(len(rows), report.slice.index),
            "topic": rows.topic,
            "probability": rows.probability,
            "story": rows.story,
            "novelty": rows.novelty,
            "place": rows.place,
            "second": rows.second,
            "second_probability": rows.second_probability,
        }
        if rows.text is not None:
            tables["document"]["text"] = as_texts(rows.text)
    if commit.relabelled:
        parts = commit.relabelled
        tables["document_smoothed"] = {
            "slice": np.repeat(_ints([one.slice for one in parts]), [len(one.topic) for one in parts]),
            "place": _joined([np.arange(one.first, one.first + len(one.topic)) for one in parts]),
            "topic": _joined([one.topic for one in parts]),
        }
    if commit.in_other_stories:
        tables["story_smoothed"] = {
            name: _joined([getattr(one, name) for one in commit.in_other_stories])
            for name in ("slice", "place", "story")
        }
    if commit.given_names:
        tables["given_name"] = given_names(commit.given_names)
    if commit.labels is not None and commit.labels.part is not None and commit.labels.offset is not None:
        rows = commit.labels
        tables["outbox"] = {
            "epoch": np.full(len(rows), report.epoch),
            "part": as_texts(commit.labels.part),
            "source_offset": commit.labels.offset,
            "topic": rows.topic,
            "probability": rows.probability,
            "story": rows.story,
            "novelty": rows.novelty,
        }
    if commit.decisions:
        tables["decision"] = decided(commit.decisions, report.epoch)
    if commit.stories is not None:
        tables |= _stories(commit.stories)
    if commit.story_slices:
        tables["story_slice"] = _story_slices(commit.story_slices)
    if commit.story_events:
        events = commit.story_events
        tables["story_event"] = {
            "slice": _ints([event.slice for event in events]),
            "epoch": np.full(len(events), report.epoch),
            "kind": as_texts(event.kind for event in events),
            "story": _ints([event.story for event in events]),
            "size": _ints([event.size for event in events]),
        } | _optional(events, "other", "evidence")
    return {table: frame for table, frame in tables.items() if len(next(iter(frame.values())))}


def decided(decisions: Sequence[Decision], epoch: int) -> Frame:
    """Return decisions that were applied in an ``epoch`` as columns; -1 for no topic becomes NULL."""
    topics = {name: np.array([getattr(one, name) for one in decisions], np.float64) for name in ("topic", "other")}
    return {
        "number": _ints([one.number for one in decisions]),
        "key": as_texts(one.key for one in decisions),
        "made": _times([one.made for one in decisions]),
        "kind": as_texts(one.kind for one in decisions),
        **{name: np.where(ids < 0, np.nan, ids) for name, ids in topics.items()},
        "text": as_texts(one.text for one in decisions),
        "slice": _ints([one.slice for one in decisions]),
        "epoch": np.full(len(decisions), epoch),
        "refused": as_texts(one.refused for one in decisions),
    }


def given_names(names: Sequence[tuple[int, int, str]]) -> Frame:
    """Return the rows of names that a namer gave: slice, topic and name."""
    return {
        "slice": _ints([index for index, _, _ in names]),
        "topic": _ints([topic for _, topic, _ in names]),
        "name": as_texts(name for _, _, name in names),
    }


def _optional(events: Sequence[Event] | Sequence[StoryEvent], *names: str) -> Frame:
    """Return columns of numbers that not every event has, NaN for none."""
    values = {name: [getattr(event, name) for event in events] for name in names}
    return {name: _floats([np.nan if one is None else one for one in given]) for name, given in values.items()}


def _stories(rows: StoryRows) -> dict[str, Frame]:
    numbers = ("story", "first_slice", "last_slice", "first", "last", "size", "topic", "trend", "ended")
    lengths = [len(words) for words in rows.words]
    documents = [one for some in rows.documents for one in some]
    counts = [len(some) for some in rows.documents]
    return {
        "story": {name: getattr(rows, name) for name in numbers} | {"title": as_texts(rows.titles())},
        "story_word": {
            "story": np.repeat(rows.story, lengths),
            "rank": _joined([np.arange(1, length + 1) for length in lengths]),
            "word": as_texts(word for words in rows.words for word, _ in words),
            "weight": _floats([weight for words in rows.words for _, weight in words]),
        },
        "story_document": {
            "story": np.repeat(rows.story, counts),
            "rank": _joined([np.arange(1, count + 1) for count in counts]),
            "id": as_texts(id for id, _, _, _ in documents),
            "title": as_texts(title for _, title, _, _ in documents),
            "time": _ints([time for _, _, time, _ in documents]).view("datetime64[us]"),
            "score": _floats([score for _, _, _, score in documents]),
        },
    }


def _story_slices(parts: Sequence[StorySlices]) -> Frame:
    numbers = ("slice", "story", "size", "topic", "trend")
    return {name: _joined([getattr(one, name) for one in parts]) for name in numbers} | {
        "title": as_texts(title for one in parts for title in one.title),
        "words": as_texts(JOINT.join(words) for one in parts for words in one.words),
    }


def _slices(closed: Sequence[SliceReport], epoch: int) -> dict[str, Frame]:
    topics = [(report.slice.index, report.topics) for report in closed if report.topics is not None]
    best = [(report.slice.index, report.representative) for report in closed if report.representative is not None]
    novel = [(report.slice.index, report.novel) for report in closed if report.novel is not None]
    events = [(report.slice.index, event) for report in closed for event in report.events]
    named = [(report.slice.index, report.names) for report in closed if report.names is not None]
    return {
        "slice": {
            "slice": _ints([report.slice.index for report in closed]),
            "label": as_texts(report.slice.label for report in closed),
            "begins": _times([report.slice.begins for report in closed]),
            "ends": _times([report.slice.ends for report in closed]),
            "epoch": np.full(len(closed), epoch),
            "n": _ints([report.n for report in closed]),
            "predicted": _floats([report.predicted for report in closed]),
            "persistence": _floats([report.persistence for report in closed]),
            "warm_up": np.array([report.warm_up for report in closed], dtype=np.bool_),
            "dimension": _ints([report.dimension for report in closed]),
            "temperature": _floats([report.temperature for report in closed]),
        },
        "representative": {
            "slice": np.repeat(_ints([index for index, _ in best]), [len(one.id) for _, one in best]),
            "topic": _joined([one.topic for _, one in best]),
            "rank": _joined([one.rank for _, one in best]),
            "id": as_texts(id for _, one in best for id in one.id),
            "title": as_texts(title for _, one in best for title in one.title),
            "time": _times([time for _, one in best for time in one.time]),
            "score": _joined([one.score for _, one in best]),
        },
        "novel": {
            "slice": np.repeat(_ints([index for index, _ in novel]), [len(most.id) for _, most in novel]),
            "rank": _joined([most.rank for _, most in novel]),
            "id": as_texts(id for _, most in novel for id in most.id),
            "title": as_texts(title for _, most in novel for title in most.title),
            "time": _times([time for _, most in novel for time in most.time]),
            "novelty": _joined([most.novelty for _, most in novel]),
            "topic": _joined([most.topic for _, most in novel]),
            "story": _joined([most.stories for _, most in novel]),
        },
        "event": {
            "slice": _ints([index for index, _ in events]),
            "epoch": np.full(len(events), epoch),
            "kind": as_texts(event.kind for _, event in events),
            "topic": _ints([event.topic for _, event in events]),
        }
        | _optional([event for _, event in events], "other", "value", "evidence", "chance", "decision"),
        "topic_name": {
            "slice": np.repeat(_ints([index for index, _ in named]), [len(names.topic) for _, names in named]),
            "topic": _joined([names.topic for _, names in named]),
            "name": as_texts(JOINT.join(parts) for _, names in named for parts in names.name),
            "title": as_texts(title for _, names in named for title in names.title),
        },
        "topic_phrase": _ranked(
            "phrase",
            [
                (index, topic, phrases[:_PHRASES])
                for index, names in named
                for topic, phrases in zip(names.topic.tolist(), names.phrases, strict=True)
            ],
        ),
    } | _reading("filtered", topics)


def _reading(table: str, topics: Sequence[tuple[int, TopicRows]]) -> dict[str, Frame]:
    """Return the rows of topics, words, angles and sketches of slices."""
    pairs = [(index, rows, np.triu_indices(len(rows.topic), 1)) for index, rows in topics if rows.angles is not None]
    sketched = [(index, rows.topic, rows.sketches) for index, rows in topics if rows.sketches is not None]
    return {
        table: _topics("slice", topics, (*_UNCERTAIN, *_QUALITY) if table == "filtered" else _UNCERTAIN)
        | (_parts(topics) if table == "filtered" else {}),
        f"{table}_word": _words("slice", topics),
        f"{table}_angle": {
            "slice": np.repeat(_ints([index for index, _, _ in pairs]), [len(a) for _, _, (a, _) in pairs]),
            "topic": _joined([np.minimum(rows.topic[a], rows.topic[b]) for _, rows, (a, b) in pairs]),
            "other": _joined([np.maximum(rows.topic[a], rows.topic[b]) for _, rows, (a, b) in pairs]),
            "degrees": _joined([rows.angles[at] for _, rows, at in pairs if rows.angles is not None]).round(
                DEGREE_DIGITS
            ),
        },
        f"{table}_sketch": {
            "slice": np.repeat(_ints([index for index, _, _ in sketched]), [len(ids) for _, ids, _ in sketched]),
            "topic": _joined([ids for _, ids, _ in sketched]),
            "numbers": np.array([one.tobytes() for _, _, numbers in sketched for one in numbers], dtype=np.object_),
        },
    }


def _topics(key: str, topics: Sequence[tuple[int, TopicRows]], more: Sequence[str] = ()) -> Frame:
    frame: Frame = {
        key: np.repeat(_ints([index for index, _ in topics]), [len(rows.topic) for _, rows in topics]),
        "topic": _joined([rows.topic for _, rows in topics]),
    }
    names = (*_NUMBERS, *more)
    return frame | {name: _joined([_known(getattr(rows, name), rows) for _, rows in topics]) for name in names}


def _parts(topics: Sequence[tuple[int, TopicRows]]) -> Frame:
    """Return the topics of which others are parts, NaN for none."""
    parts = [np.full(len(rows.topic), -1) if rows.part_of is None else rows.part_of for _, rows in topics]
    return {"part_of": _joined([np.where(one < 0, np.nan, one) for one in parts])}


def _known(column: NDArray[np.float64] | None, rows: TopicRows) -> NDArray[np.float64]:
    return np.full(len(rows.topic), np.nan) if column is None else column


def _words(key: str, topics: Sequence[tuple[int, TopicRows]]) -> Frame:
    lists = [(index, *pair) for index, rows in topics for pair in zip(rows.topic.tolist(), rows.words, strict=True)]
    return _ranked("word", lists, key)


def _ranked(what: str, lists: Sequence[tuple[int, int, Sequence[tuple[str, float]]]], key: str = "slice") -> Frame:
    """Return words or phrases of topics with their weights, the largest first."""
    lengths = [len(words) for _, _, words in lists]
    return {
        key: np.repeat(_ints([index for index, _, _ in lists]), lengths),
        "topic": np.repeat(_ints([topic for _, topic, _ in lists]), lengths),
        "rank": _joined([np.arange(1, length + 1) for length in lengths]),
        what: as_texts(word for _, _, words in lists for word, _ in words),
        "weight": _floats([weight for _, _, words in lists for _, weight in words]).round(WEIGHT_DIGITS),
    }


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _ints(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def as_texts(values: Iterable[str]) -> NDArray[np.object_]:
    """Return texts as a column; lone surrogates become question marks."""
    texts = list(map(str, values))
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can express and UTF-8 cannot
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
    return np.array(texts, dtype=np.object_)


def _times(values: Sequence[datetime | None]) -> NDArray[np.datetime64]:
    naive = [None if time is None else _utc(time) for time in values]
    return np.array(naive, dtype="datetime64[us]")


def _utc(time: datetime) -> datetime:
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
