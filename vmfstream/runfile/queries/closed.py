"""Queries of closed slices as rows by name, for outputs such as published messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vmfstream.runfile.queries.base import RunFileQueries


@dataclass(frozen=True, slots=True, eq=False)
class ClosedSlice:
    """A closed slice with its filtered topics, their words, and its events, as dicts; None for missing values."""

    epoch: int
    slice: int
    label: str
    begins: datetime | None
    ends: datetime | None
    n: int
    predicted: float | None
    warm_up: bool
    topics: list[dict[str, Any]]
    events: list[dict[str, Any]]


class Closed(RunFileQueries):
    """Queries of closed slices."""

    def closed_after(self, epoch: int) -> list[ClosedSlice]:
        """Return the slices that epochs after ``epoch`` closed, in order, with filtered topics."""
        where = f"slice in (select slice from slice where epoch > {int(epoch)})"
        topics: dict[int, list[dict[str, Any]]] = {}
        by_topic: dict[tuple[int, int], list[tuple[str, float]]] = {}
        for index, topic, word, weight in self._rows(
            f"select slice, topic, word, weight from filtered_word where {where} order by slice, topic, rank"
        ):
            by_topic.setdefault((index, topic), []).append((word, weight))
        for row in self._dicts(f"select * from filtered where {where} order by slice, topic"):
            index = row.pop("slice")
            topics.setdefault(index, []).append(row | {"words": by_topic.get((index, row["topic"]), [])})
        events: dict[int, list[dict[str, Any]]] = {}
        for row in self._dicts(f"select * exclude epoch from event where {where} order by slice, rowid"):
            events.setdefault(row.pop("slice"), []).append(row)
        slices = self._rows(
            "select epoch, slice, label, begins, ends, n, predicted, warm_up from slice "
            f"where epoch > {int(epoch)} order by slice"
        )
        return [ClosedSlice(*(*row, topics.get(row[1], []), events.get(row[1], []))) for row in slices]
