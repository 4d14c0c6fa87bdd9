"""Queries of what people decided: the decisions of a run, those that wait, and the names of topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmfstream.decisions import names_of
from vmfstream.records import Decision
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.queries.base import Ints, RunFileQueries, Texts, Times
from vmfstream.runfile.stored_decisions import RUN_NAME, stored_decisions


@dataclass(frozen=True, slots=True, eq=False)
class DecisionFrame:
    """Decisions by number, see `vmfstream.records.Decision`; ``epoch`` wrote them, a number that is missing is -1."""

    number: Ints
    made: Times
    kind: Texts
    topic: Ints
    other: Ints
    text: Texts
    slice: Ints
    epoch: Ints
    refused: Texts
    undone_by: Ints


class DecisionQueries(RunFileQueries):
    """Queries of decisions."""

    def decisions(self) -> DecisionFrame:
        """Return the decisions that were applied or refused, in order."""
        return self._frame(DecisionFrame, "from decision order by number")

    def waiting_decisions(self) -> list[Decision]:
        """Return the decisions that wait for the end of a slice, in order."""
        inbox = Inbox(self.path)
        if not inbox.folder.exists():
            return []
        rows = self._rows(RUN_NAME)
        known = {key for (key,) in self._rows("select key from decision")}
        return [one for one in inbox.read(str(rows[0][0]) if rows else "") if one.key not in known]

    def applied_decisions(self) -> list[Decision]:
        """Return the decisions that were applied or refused as records, in order."""
        return self._connected(stored_decisions)

    def topic_names(self) -> dict[int, str]:
        """Return the names that people gave to topics, by id."""
        return names_of(self.applied_decisions())

    def pinned_topics(self) -> Ints:
        """Return the ids of the topics that are pinned, in ascending order."""
        frame = self.decisions()
        applied = (frame.refused == "") & (frame.undone_by < 0) & (frame.kind == "pin")
        return np.unique(frame.topic[applied])
