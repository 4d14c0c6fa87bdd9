"""Turn the records that a tracker keeps into rows: topics of slices, events, and novel documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import Commit, SliceReport, TopicRows

_EVENT_FIELDS = ("kind", "topic", "other", "value", "evidence", "chance")
_UNCERTAINTY_FIELDS = ("share_low", "share_high", "radius")


def closed_slices(commits: Sequence[Commit]) -> list[SliceReport]:
    """Return the reports of closed slices, oldest first."""
    return [report for commit in commits for report in commit.closed]


def rows_of_topics(commits: Sequence[Commit], *, smoothed: bool, words: int) -> list[dict[str, Any]]:
    """Return one row per topic and closed slice of ``commits``, filtered or ``smoothed``.

    Each has at most ``words`` words.
    """
    reports = closed_slices(commits)
    labels = {report.slice.index: report.slice.label for report in reports}
    if smoothed:
        found = {view.slice: view.topics for commit in commits for view in commit.smoothed}
    else:
        found = {report.slice.index: report.topics for report in reports if report.topics is not None}
    return [row for index in sorted(found) for row in _rows_of_slice(labels[index], found[index], words)]


def rows_of_events(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """Return one row per event, in order."""
    return [
        {"slice": report.slice.label} | {name: getattr(event, name) for name in _EVENT_FIELDS}
        for report in closed_slices(commits)
        for event in report.events
    ]


def rows_of_novel_documents(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """Return one row per novel document, by slice, most novel first."""
    return [
        {"slice": report.slice.label, "id": id, "title": title, "novelty": float(novelty), "topic": int(topic)}
        for report in closed_slices(commits)
        if (most := report.novel) is not None
        for id, title, novelty, topic in zip(most.id, most.title, most.novelty, most.topic, strict=True)
    ]


def _rows_of_slice(label: str, topics: TopicRows, words: int) -> list[dict[str, Any]]:
    return [
        {
            "slice": label,
            "topic": int(topics.topic[i]),
            "documents": float(topics.n[i]),
            "share": float(topics.share[i]),
            "drift_angle": float(topics.drift_angle[i]),
            "turned": float(topics.drift_angle[i]),  # the key of earlier versions
            **{name: _at(getattr(topics, name), i) for name in _UNCERTAINTY_FIELDS},
            "words": list(topics.words[i][:words]),
        }
        for i in range(len(topics.topic))
    ]


def _at(column: NDArray[np.float64] | None, i: int) -> float:
    return float("nan") if column is None else float(column[i])
