"""Trees beside a faked log: two levels of groups over its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tests.unit.dashboards.fakes import FakeRows
from vmfstream.runfile.queries import SnapshotFrame, SnapshotTopicFrame, SnapshotWordFrame

STRANGER = -1


def with_trees(
    rows: FakeRows,
    made: Mapping[int, Sequence[Sequence[int]]],
    kinds: Sequence[str] = (),
    words: Mapping[int, Sequence[str]] | None = None,
) -> FakeRows:
    """Return the log with a snapshot after each of some slices.

    Parameters
    ----------
    rows : FakeRows
    made : slice -> groups of topic ids, -1 for a topic that no live one answers to
        Leaves are numbered first, then groups, then the one on top of all.
    kinds : kinds of the snapshots, trees if empty
    words : words by node; ``leaf3a leaf3b ...`` or ``group7a ...`` if there are none
    """
    topics: list[tuple[int, int, int, int, int, float]] = []
    word_rows: list[tuple[int, int, int, str]] = []
    for snapshot, groups in enumerate(made.values()):
        leaves = [(topic, k) for k, group in enumerate(groups) for topic in group]
        top = len(leaves) + len(groups)
        share = 1 / max(len(leaves), 1)
        for node, (topic, k) in enumerate(leaves):
            topics.append((snapshot, node, len(leaves) + k, 2, topic, share))
        for k, group in enumerate(groups):
            topics.append((snapshot, len(leaves) + k, top, 1, STRANGER, share * len(group)))
        topics.append((snapshot, top, -1, 0, STRANGER, 1.0))
        for node in range(top + 1):
            kind = "leaf" if node < len(leaves) else "group"
            named = (words or {}).get(node) or [f"{letter}{kind}{node}" for letter in "abcd"]
            word_rows += [(snapshot, node, rank, word) for rank, word in enumerate(named, start=1)]
    count, numbers = len(made), [np.array(column) for column in zip(*topics, strict=True)]
    texts, kind_texts = np.empty(len(word_rows), np.object_), np.empty(count, np.object_)
    texts[:] = [word for *_, word in word_rows]
    kind_texts[:] = list(kinds) or ["tree"] * count
    which, nothing, full = np.arange(count), np.zeros(count), np.ones(len(topics))
    frames = (
        SnapshotFrame(
            snapshot=which,
            kind=kind_texts,
            slice=np.array(list(made), np.int64),
            made=np.zeros(count, "datetime64[us]"),
            documents=np.full(count, 100),
            bound=nothing,
            predicted=nothing,
            live=nothing,
        ),
        SnapshotTopicFrame(
            snapshot=numbers[0],
            node=numbers[1],
            parent=numbers[2],
            level=numbers[3],
            topic=numbers[4],
            n=numbers[5] * 100,
            share=numbers[5],
            tightness=full,
            certainty=full,
        ),
        SnapshotWordFrame(
            snapshot=np.array([row[0] for row in word_rows], np.int64),
            node=np.array([row[1] for row in word_rows], np.int64),
            rank=np.array([row[2] for row in word_rows], np.int64),
            word=texts,
            weight=np.ones(len(word_rows)),
        ),
    )
    return replace(rows, snapshot_frames=frames)
