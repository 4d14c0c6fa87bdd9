"""Find topics that are about something else than before although no event says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["taken_over"]


def taken_over(
    topics: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]], words: int = 10
) -> tuple[list[tuple[Any, int]], int]:
    """Find the topics that share no strong word with themselves two slices before, without an event that names them.

    Drift alarms and surprises do not count as such events.

    Parameters
    ----------
    topics, events, words : see `vmfstream.metrics.takeover_rate`.

    Returns
    -------
    taken : list of slice and topic
    compared : int
        Number of topic-slices with a state two slices before.
    """
    slices = list(dict.fromkeys(row["slice"] for row in topics))
    place = {label: rank for rank, label in enumerate(slices)}
    announced = {
        (place[event["slice"]], topic)
        for event in events
        if event["kind"] not in ("drift", "surprise") and event["slice"] in place
        for topic in (event["topic"], event["other"])
    }
    shown = {(place[row["slice"]], row["topic"]): {word for word, _ in row["words"][:words]} for row in topics}
    compared = [(rank, topic) for rank, topic in shown if (rank - 2, topic) in shown]
    taken = [
        (slices[rank], topic)
        for rank, topic in compared
        if not shown[rank, topic] & shown[rank - 2, topic] and not {(rank - 1, topic), (rank, topic)} & announced
    ]
    return taken, len(compared)
