"""The newest topics of a log, or one topic over time, as rows for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader, Reading


def newest_topics(log: Path, words: int, hindsight: bool) -> list[dict[str, Any]]:
    """One row per topic of the newest closed slice, largest first."""
    reader, reading = _open(log, hindsight)
    topics = reader.topics(reading)
    if not len(topics.slice):
        return []
    newest = int(topics.slice.max())
    label = dict(zip(reader.slices().slice.tolist(), reader.slices().label.tolist(), strict=True))[newest]
    spoken = _words(reader, reading, words)
    here = np.flatnonzero(topics.slice == newest)
    return [
        {
            "topic": int(topics.topic[i]),
            "slice": label,
            "documents": round(float(topics.n[i])),
            "share": round(float(topics.share[i]), 4),
            "words": spoken.get((newest, int(topics.topic[i])), []),
        }
        for i in here[np.argsort(-topics.n[here], kind="stable")]
    ]


def one_topic(log: Path, topic: int, words: int, hindsight: bool) -> list[dict[str, Any]]:
    """One row per slice of a topic, oldest first."""
    reader, reading = _open(log, hindsight)
    topics = reader.topics(reading)
    here = np.flatnonzero(topics.topic == topic)
    if not len(here):
        known = ", ".join(str(t) for t in np.unique(topics.topic)) or "none yet"
        raise InputError(f"{log}: there is no topic {topic}; topics: {known}")
    label = dict(zip(reader.slices().slice.tolist(), reader.slices().label.tolist(), strict=True))
    spoken = _words(reader, reading, words)
    return [
        {
            "slice": label[int(topics.slice[i])],
            "documents": round(float(topics.n[i])),
            "turned": "" if np.isnan(topics.drift_angle[i]) else f"{topics.drift_angle[i]:.0f}°",
            "words": spoken.get((int(topics.slice[i]), topic), []),
        }
        for i in here
    ]


def _open(log: Path, hindsight: bool) -> tuple[Reader, Reading]:
    reader = Reader(log)
    if hindsight and not reader.has_hindsight():
        raise InputError(f"{log}: no slice has been looked at in hindsight yet; leave --hindsight out")
    return reader, "hindsight" if hindsight else "then"


def _words(reader: Reader, reading: Reading, top: int) -> dict[tuple[int, int], list[str]]:
    frame = reader.words(reading, top=top)
    out: dict[tuple[int, int], list[str]] = {}
    for slice_, topic, word in zip(frame.slice.tolist(), frame.topic.tolist(), frame.word.tolist(), strict=True):
        out.setdefault((slice_, topic), []).append(word)
    return out
