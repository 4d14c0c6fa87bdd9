"""Epochs that are written in one transaction: the rows that stay when one after the other had been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from vmfstream.records import Commit, Position, Sampled
from vmfstream.runfile.rows import Frame, frames


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What a transaction does to the tables.

    Hindsight of the slices ``renewed`` goes before its new rows are added; the slices of ``cut`` keep only sampled
    documents of keys up to a largest.
    """

    tables: Mapping[str, Frame]
    renewed: Sequence[int]
    cut: Mapping[int, int]
    position: Position


def written(commits: Sequence[Commit]) -> Writing:
    """Put epochs together, at least one, in their order."""
    cut: dict[int, int] = {}
    for one in commits:
        _lower(cut, one.sampled)
    tables: dict[str, list[Frame]] = {}
    for one, begun in zip(_lasting(commits), _begun(commits), strict=True):
        for table, frame in frames(one, begun).items():
            tables.setdefault(table, []).append(frame)
    return Writing(
        {
            table: {name: np.concatenate([one[name] for one in some]) for name in some[0]}
            for table, some in tables.items()
        },
        sorted({view.slice for one in commits for view in one.smoothed}),
        cut,
        {part: offset for one in commits for part, offset in one.position.items()},
    )


def _begun(commits: Sequence[Commit]) -> list[datetime]:
    """When the epochs were begun, taken for done one right after the other."""
    at, found = datetime.now(UTC), list[datetime]()
    for one in reversed(commits):
        at -= timedelta(seconds=one.epoch.seconds)
        found.append(at)
    return found[::-1]


def _lasting(commits: Sequence[Commit]) -> list[Commit]:
    """Leave out hindsight that a later epoch renews, and sampled documents that a later one drops."""
    renewed: set[int] = set()
    cut: dict[int, int] = {}
    found = []
    for one in reversed(commits):
        smoothed = [view for view in one.smoothed if view.slice not in renewed]
        found.append(replace(one, smoothed=smoothed, sampled=_thinned(one.sampled, cut)))
        renewed |= {view.slice for view in one.smoothed}
        _lower(cut, one.sampled)
    return found[::-1]


def _thinned(sampled: Sampled | None, cut: Mapping[int, int]) -> Sampled | None:
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


def _lower(cut: dict[int, int], sampled: Sampled | None) -> None:
    for index, largest in ({} if sampled is None else sampled.cut).items():
        cut[index] = min(largest, cut.get(index, largest))
