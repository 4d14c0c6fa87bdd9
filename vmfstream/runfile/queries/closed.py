"""Closed slices as rows by name, for those who pass them on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vmfstream.runfile.queries.asking import Asking


@dataclass(frozen=True, slots=True, eq=False)
class ClosedSlice:
    """A closed slice with its topics, each with its words, and its events, as rows by name; None where unknown."""

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


class Closed(Asking):
    """What outputs ask."""

    def closed_after(self, epoch: int) -> list[ClosedSlice]:
        """Return what later epochs closed, in order, as it was known then."""
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
