"""Combine several epochs into one write, which leaves the same rows as writing them one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from vmfstream.clock import now
from vmfstream.records import Commit, Position, Sampled, SmoothedDocuments
from vmfstream.runfile.rows import Frame, frames


@dataclass(frozen=True, slots=True, eq=False)
class CoalescedWrite:
    """The changes that one transaction makes to the tables.

    Smoothed rows of the slices ``renewed``, rows of the ``stories``, and later labels of the ``documents`` (slice,
    first place, place after the last) are deleted before new rows are added. In the slices of ``cut`` only sampled
    documents with keys up to the given largest one stay; of each topic and slice ``documents_per_topic`` documents
    stay, all if it is 0. ``seconds`` are added to those of each stage. ``undone`` has for numbers of decisions that of
    the one which undoes each.
    """

    tables: Mapping[str, Frame]
    renewed: Sequence[int]
    cut: Mapping[int, int]
    position: Position
    seconds: Mapping[str, float]
    stories: Sequence[int]
    undone: Mapping[int, int]
    documents: Sequence[tuple[int, int, int]]
    documents_per_topic: int


def coalesce(commits: Sequence[Commit]) -> CoalescedWrite:
    """Combine one or more epochs, given in their order."""
    cut: dict[int, int] = {}
    for one in commits:
        _lower_limits(cut, one.sampled)
    tables: dict[str, list[Frame]] = {}
    for one, begun in zip(_without_replaced(commits), _start_times(commits), strict=True):
        for table, frame in frames(one, begun).items():
            tables.setdefault(table, []).append(frame)
    return CoalescedWrite(
        {
            table: {name: np.concatenate([one[name] for one in some]) for name in some[0]}
            for table, some in tables.items()
        },
        sorted({view.slice for one in commits for view in one.smoothed}),
        cut,
        {part: offset for one in commits for part, offset in one.position.items()},
        _summed(commits),
        sorted({story for one in commits if one.stories is not None for story in one.stories.story.tolist()}),
        {number: later for one in commits for number, later in one.undone.items()},
        sorted({(it.slice, it.first, it.first + len(it.topic)) for one in commits for it in one.relabelled}),
        max(one.documents_per_topic for one in commits),
    )


def _summed(commits: Sequence[Commit]) -> Mapping[str, float]:
    """Return the seconds of each stage in all epochs."""
    return {
        stage: sum(one.seconds.get(stage, 0.0) for one in commits)
        for stage in dict.fromkeys(stage for one in commits for stage in one.seconds)
    }


def _start_times(commits: Sequence[Commit]) -> list[datetime]:
    """Return when each epoch began, if each followed the one before without a gap."""
    at, found = datetime.fromtimestamp(now(), UTC), list[datetime]()
    for one in reversed(commits):
        at -= timedelta(seconds=one.epoch.seconds)
        found.append(at)
    return found[::-1]


def _without_replaced(commits: Sequence[Commit]) -> list[Commit]:
    """Leave out smoothed slices, labels and stories that a later epoch replaces, and what it drops of the sample."""
    renewed, relabelled = set[int](), list[SmoothedDocuments]()
    known = np.zeros(0, np.int64)
    cut: dict[int, int] = {}
    found = []
    for one in reversed(commits):
        smoothed = [view for view in one.smoothed if view.slice not in renewed]
        stories = None
        if one.stories is not None:
            stories = one.stories.taken(np.flatnonzero(~np.isin(one.stories.story, known)))
            known = np.union1d(known, one.stories.story)
        documents: list[SmoothedDocuments] = []
        for labels in reversed(one.relabelled):
            documents[:0] = labels.besides(relabelled)
            relabelled.append(labels)
        sampled = _without_dropped(one.sampled, cut)
        found.append(replace(one, smoothed=smoothed, sampled=sampled, stories=stories, relabelled=documents))
        renewed |= {view.slice for view in one.smoothed}
        _lower_limits(cut, one.sampled)
    return found[::-1]


def _without_dropped(sampled: Sampled | None, cut: Mapping[int, int]) -> Sampled | None:
    if sampled is None or sampled.slice not in cut:
        return sampled
    rows = np.flatnonzero(sampled.key <= np.uint64(cut[sampled.slice]))
    return replace(
        sampled,
        key=sampled.key[rows],
        part=[sampled.part[i] for i in rows.tolist()],
        offset=sampled.offset[rows],
        packed=[sampled.packed[i] for i in rows.tolist()],
    )


def _lower_limits(cut: dict[int, int], sampled: Sampled | None) -> None:
    for index, largest in ({} if sampled is None else sampled.cut).items():
        cut[index] = min(largest, cut.get(index, largest))
