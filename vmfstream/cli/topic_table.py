"""The topics of a run file as rows for a terminal: those of one slice, or one over time; and its stories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader, Reading, TopicFrame, trend_word

_NAMING = 3
"""Words by which a topic is called that has no name yet."""

_QUALITY = ("npmi", "c_v", "diversity")
_OF_VECTORS = (*_QUALITY, "isotropy")
"""Columns of documents that are words, and that are vectors."""


def smoothed_slices(reader: Reader) -> list[str]:
    """Return the labels of the slices that have been smoothed, oldest first; in a run that goes on not the newest."""
    labels = reader.slice_labels()
    return [labels[number] for number in np.unique(reader.topics("smoothed").slice).tolist()]


def topics_of_slice(
    reader: Reader, words: int, reading: Reading | None = None, at: str | None = None
) -> list[dict[str, Any]]:
    """Return one row per topic of the slice labelled ``at``, largest first; by default of the newest closed slice.

    Parameters
    ----------
    reader : Reader
    words : int
        Number of words of a topic.
    reading : {"filtered", "smoothed"}, optional
        By default that of the page: smoothed if the slice has been smoothed, else filtered.
    at : str, optional

    Raises
    ------
    InputError
        If there is no such closed slice, or it has no topics in this reading; names those that have.
    """
    with _opened(reader, reading):
        labels = reader.slice_labels()
        topics, strongest = _read(reader, reading, max(words, _NAMING))
        numbers = {labels[number]: number for number in np.unique(topics.slice).tolist()}
        if at is None and not numbers:
            return []
        label = list(numbers)[-1] if at is None else at
        if label not in numbers:
            from vmfstream.frozen.parts import missing_slice

            closed = (labels[number] for number in np.unique(reader.topics("filtered").slice).tolist())
            if reading == "smoothed" and label in closed:
                raise InputError(
                    f"{reader.path}: slice {label} has not been smoothed yet, slices are up to {list(numbers)[-1]}; "
                    "leave --reading smoothed out"
                )
            raise InputError(f"{reader.path}: {missing_slice(label, list(numbers))}")
        number = numbers[label]
        given, pinned = reader.topic_names(), set(reader.pinned_topics().tolist())
        here = np.flatnonzero(topics.slice == number)
        (quality, unknown), names = _quality(reader), _names(reader, strongest)
        return [
            {
                "topic": int(topics.topic[i]),
                "name": given.get(int(topics.topic[i])) or names(number, int(topics.topic[i]))[0],
                "title": names(number, int(topics.topic[i]))[1],
                **({"pinned": "pinned" if int(topics.topic[i]) in pinned else ""} if pinned else {}),
                "slice": label,
                "documents": round(float(topics.n[i])),
                "share": round(float(topics.share[i]), 4),
                **quality.get((number, int(topics.topic[i])), unknown),
                "words": strongest.get((number, int(topics.topic[i])), [])[:words],
            }
            for i in here[np.argsort(-topics.n[here], kind="stable")]
        ]


def one_topic(reader: Reader, topic: int, words: int, reading: Reading | None = None) -> list[dict[str, Any]]:
    """Return one row per slice of a topic, oldest first; ``reading`` is as in `topics_of_slice`.

    Raises
    ------
    InputError
        If there is no such topic; names those that there are.
    """
    with _opened(reader, reading):
        topics, strongest = _read(reader, reading, max(words, _NAMING))
        here = np.flatnonzero(topics.topic == topic)
        if not len(here):
            other: Reading = "smoothed" if reading == "filtered" else "filtered"
            if (reader.topics(other).topic == topic).any():
                raise InputError(
                    f"{reader.path}: topic {topic} has no {reading or 'smoothed'} slices, but {other} ones: "
                    f"--reading {other}"
                )
            known = ", ".join(str(t) for t in np.unique(topics.topic)) or "none yet"
            raise InputError(f"{reader.path}: there is no topic {topic}; topics: {known}")
        label = reader.slice_labels()
        (quality, unknown), names = _quality(reader), _names(reader, strongest)
        return [
            {
                "slice": label[int(topics.slice[i])],
                "name": names(int(topics.slice[i]), topic)[0],
                "title": names(int(topics.slice[i]), topic)[1],
                "documents": round(float(topics.n[i])),
                "drift_angle": "" if np.isnan(topics.drift_angle[i]) else f"{topics.drift_angle[i]:.0f}°",
                **quality.get((int(topics.slice[i]), topic), unknown),
                "words": strongest.get((int(topics.slice[i]), topic), [])[:words],
            }
            for i in here
        ]


def newest_stories(reader: Reader, words: int, top: int) -> list[dict[str, Any]]:
    """Return one row per story, at most ``top``: by the slice of the last document, newest first, and by size.

    Each has at most ``words`` words.
    """
    strongest = dict[int, list[str]]()
    with reader.at_once():
        stories, label, frame = reader.stories(top), reader.slice_labels(), reader.story_words(words)
    for story, word in zip(frame.story.tolist(), frame.word.tolist(), strict=True):
        strongest.setdefault(story, []).append(word)
    return [
        {
            "story": int(stories.story[i]),
            "title": str(stories.title[i]),
            "size": int(stories.size[i]),
            "first": label[int(stories.first_slice[i])],
            "last": label[int(stories.last_slice[i])],
            "trend": trend_word(float(stories.trend[i]), bool(stories.ended[i]), int(stories.merged_into[i])),
            "merged_into": int(stories.merged_into[i]) if stories.merged_into[i] >= 0 else None,
            "topic": int(stories.topic[i]) if stories.topic[i] >= 0 else None,
            "words": strongest.get(int(stories.story[i]), []),
        }
        for i in range(len(stories.story))
    ]


@contextmanager
def _opened(reader: Reader, reading: Reading | None) -> Iterator[None]:
    with reader.at_once():
        if reading == "smoothed" and not reader.has_smoothed():
            raise InputError(f"{reader.path}: no slice has been smoothed yet; leave --reading smoothed out")
        yield


def _quality(reader: Reader) -> tuple[dict[tuple[int, int], dict[str, float | None]], dict[str, float | None]]:
    """Return coherence, diversity and isotropy by slice and topic, as known when the slice closed; None where unknown.

    The last is left out where no topic has one. Return also the columns of a topic of which nothing is known.
    """
    frame = reader.quality()
    names = _QUALITY if np.isnan(frame.isotropy).all() else _OF_VECTORS
    columns = [[None if value != value else round(value, 3) for value in getattr(frame, name)] for name in names]
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
    known = dict(zip(zip(frame.slice.tolist(), frame.topic.tolist(), strict=True), rows, strict=True))
    return known, dict.fromkeys(names)


def _names(reader: Reader, strongest: dict[tuple[int, int], list[str]]) -> Callable[[int, int], tuple[str, str]]:
    """Return a function from slice and topic to the name and the title that it had then, or last before.

    A smoothed topic may be told in slices that ended before it was found: there it is called by its ``strongest`` words
    of the slice, since its later names may have words that no document held yet.
    """
    frame = reader.names()
    known: dict[int, dict[int, tuple[str, str]]] = {}
    columns = (frame.topic, frame.slice, frame.name, frame.title)
    for topic, slice_, name, title in zip(*(column.tolist() for column in columns), strict=True):
        known.setdefault(topic, {})[slice_] = (name, title)

    def named(slice_: int, topic: int) -> tuple[str, str]:
        earlier = [one for one in known.get(topic, ()) if one <= slice_]
        if earlier:
            return known[topic][max(earlier)]
        return ", ".join(strongest.get((slice_, topic), [])[:_NAMING]), ""

    return named


def _read(reader: Reader, reading: Reading | None, top: int) -> tuple[TopicFrame, dict[tuple[int, int], list[str]]]:
    """Return topics by slice, and their ``top`` strongest words by slice and topic.

    Without a ``reading``, slices that have been smoothed are smoothed, and the others filtered, as on the page.
    """
    if reading is not None:
        return reader.topics(reading), _words(reader, reading, top)
    then, later = reader.topics("filtered"), reader.topics("smoothed")
    smoothed = set(np.unique(later.slice).tolist())
    kept = ~np.isin(then.slice, later.slice)
    columns = [np.concatenate([getattr(then, one.name)[kept], getattr(later, one.name)]) for one in fields(TopicFrame)]
    order = np.lexsort((columns[1], columns[0]))  # topics within slices
    words = {key: some for key, some in _words(reader, "filtered", top).items() if key[0] not in smoothed}
    return TopicFrame(*(column[order] for column in columns)), words | _words(reader, "smoothed", top)


def _words(reader: Reader, reading: Reading, top: int) -> dict[tuple[int, int], list[str]]:
    frame = reader.words(reading, top=top)
    out: dict[tuple[int, int], list[str]] = {}
    for slice_, topic, word in zip(frame.slice.tolist(), frame.topic.tolist(), frame.word.tolist(), strict=True):
        out.setdefault((slice_, topic), []).append(word)
    return out
