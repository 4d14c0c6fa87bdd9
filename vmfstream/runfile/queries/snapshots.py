"""Batch fits of a sample of the stream."""

from __future__ import annotations

from dataclasses import dataclass

from vmfstream.arrays import Vector
from vmfstream.runfile.queries.base import Ints, RunFileQueries, Texts, Times


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotFrame:
    """Batch fits of a sample of the stream, see `vmfstream.engine.snapshots.batch`.

    ``kind`` is ``flat``, ``tree`` or ``smoothed``; ``slice`` the last one that the sample holds, ``documents`` its
    size; ``bound`` in nats per document; ``predicted`` and ``live`` the mean log-density that the fit and the tracker
    gave to the documents of the next slice.
    """

    snapshot: Ints
    kind: Texts
    slice: Ints
    made: Times
    documents: Ints
    bound: Vector
    predicted: Vector
    live: Vector


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotTopicFrame:
    """Topics of snapshots; ``parent`` is -1 at a root, ``topic`` the live topic it answers to or -1 for none."""

    snapshot: Ints
    node: Ints
    parent: Ints
    level: Ints
    topic: Ints
    n: Vector
    share: Vector
    tightness: Vector
    certainty: Vector


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotWordFrame:
    """Words of the topics of snapshots by rank (from 1)."""

    snapshot: Ints
    node: Ints
    rank: Ints
    word: Texts
    weight: Vector


class SnapshotQueries(RunFileQueries):
    """Queries of snapshots."""

    def snapshots(self) -> SnapshotFrame:
        """Return the batch fits of samples of the stream."""
        return self._frame(SnapshotFrame, "from snapshot order by snapshot")

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        """Return the topics of all snapshots or of one."""
        query = "from snapshot_topic where $1 is null or snapshot = $1 order by snapshot, node"
        return self._frame(SnapshotTopicFrame, query, [snapshot])

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        """Return at most ``top`` words per topic of all snapshots or of one."""
        query = """
            from snapshot_word where rank <= $1 and ($2 is null or snapshot = $2) order by snapshot, node, rank"""
        return self._frame(SnapshotWordFrame, query, [top, snapshot])
