"""Hierarchies of topics from the snapshots of a run file: choice by date, stable order of nodes, areas at a date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vmfstream.dashboards.looks.escape import clean
from vmfstream.dashboards.rows.history import Bools, Doubles, History, Ints
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.stable_layout import river_order
from vmfstream.dashboards.rows.topic_names import distinct
from vmfstream.runfile.queries import SnapshotTopicFrame

WORDS = 3

_MOST_SNAPSHOTS = 40


@dataclass(frozen=True, slots=True, eq=False)
class TreeFrame:
    """One tree, its N nodes in the depth-first order that all trees of a run file share.

    Parameters
    ----------
    history : History
    date, made : int or None
        Rows of the cursor and of the last slice that the tree knows; None if there is no slice, no tree.
    parent : int array of shape (N,)
        Position of the parent, -1 for the groups on top.
    topic : int array of shape (N,)
        Id of the live topic, -1 for groups and for topics that no live one answers to.
    leaf : bool array of shape (N,)
    share, area : float arrays of shape (N,)
        Part of all documents as the snapshot found it, and at the cursor. Zero for groups: they hold their topics.
    words : tuple of N tuples of str
        At most three: those of the date for live topics, the snapshot's for all others.
    """

    history: History
    date: int | None
    made: int | None
    parent: Ints
    topic: Ints
    leaf: Bools
    share: Doubles
    area: Doubles
    words: tuple[tuple[str, ...], ...]


def no_tree(history: History, date: int | None) -> TreeFrame:
    """Return a frame without a tree."""
    none, nothing = np.empty(0, np.int64), np.empty(0)
    return TreeFrame(history, date, None, none, none, none.astype(np.bool_), nothing, nothing, ())


def trees(rows: RunRows, history: History) -> list[tuple[int, int]]:
    """Return the snapshots that are trees, each with the row of the last slice it knows, by time.

    Of several for one slice the newest counts, and of all the newest forty.
    """
    frame = rows.snapshots()
    if not history.index.size:
        return []
    row = np.clip(frame.slice - history.index[0], 0, history.index.size - 1)
    of_slice = {int(row[k]): int(frame.snapshot[k]) for k in np.flatnonzero(frame.kind == "tree")}
    return [(snapshot, s) for s, snapshot in sorted(of_slice.items())][-_MOST_SNAPSHOTS:]


def read_tree(rows: RunRows, history: History, snapshot: int, made: int) -> TreeFrame:
    """Read a tree as the snapshot of number ``snapshot`` in ``rows`` found it.

    ``made`` is the row of ``history`` at which it was taken.
    """
    nodes, words = rows.snapshot_topics(snapshot), rows.snapshot_words(snapshot, 4 * WORDS)
    place = {topic: k for k, topic in enumerate(river_order(rows))}
    order, parent = _depth_first(nodes, place)
    number = {int(node): k for k, node in enumerate(nodes.node)}
    at = np.array([number[node] for node in order], dtype=np.int64)
    groups = set(nodes.parent.tolist())
    leaf = np.array([node not in groups for node in order], dtype=np.bool_)
    words_of: dict[int, list[str]] = {}
    for node, word in zip(words.node.tolist(), words.word, strict=True):
        words_of.setdefault(node, []).append(clean(str(word)))
    share = np.clip(np.nan_to_num(nodes.share[at]), 0.0, None) * leaf
    return TreeFrame(
        history=history,
        date=None,
        made=made,
        parent=parent,
        topic=np.where(leaf, nodes.topic[at], -1),
        leaf=leaf,
        share=share,
        area=share,
        words=tuple(tuple(distinct(words_of.get(node, []), WORDS)) for node in order),
    )


def at_date(frame: TreeFrame, date: int) -> TreeFrame:
    """Return the same tree at a date: areas and words of live topics are those of the date.

    Where none of them has documents, areas stay as the snapshot found them.
    """
    history = frame.history
    area, words = frame.share.copy(), list(frame.words)
    for k in np.flatnonzero(frame.topic >= 0):
        t = history.position(int(frame.topic[k]))
        alive = t is not None and bool(history.alive()[date, t])
        area[k] = history.share[date, t] if alive else 0.0
        if t is not None and alive:
            given = history.given.get(int(frame.topic[k]))
            own = (given,) if given else tuple(distinct(history.strongest(date, t, 4 * WORDS), WORDS))
            words[k] = own or words[k]
    if not area[frame.topic >= 0].any():
        area = frame.share
    return replace(frame, date=date, area=area, words=tuple(words))


def _depth_first(nodes: SnapshotTopicFrame, place: Mapping[int, int]) -> tuple[list[int], Ints]:
    """Return the nodes below the single one on top, if there is one, and the positions of their parents.

    Of brothers, the one whose topics stand first in the river comes first, so that cells stay near their place from one
    tree to the next.
    """
    children: dict[int, list[int]] = {}
    for node, above in zip(nodes.node.tolist(), nodes.parent.tolist(), strict=True):
        children.setdefault(above, []).append(node)
    topic = dict(zip(nodes.node.tolist(), nodes.topic.tolist(), strict=True))

    def places(node: int) -> list[int]:
        if node in children:
            return [p for child in children[node] for p in places(child)]
        return [place[topic[node]]] if topic[node] in place else []

    def middle(node: int) -> tuple[float, int]:
        found = places(node)
        return (float(np.mean(found)) if found else len(place), node)

    tops = children.get(-1, [])
    while len(tops) == 1 and tops[0] in children:
        tops = children[tops[0]]
    order: list[int] = []
    parent: list[int] = []
    waiting = [(node, -1) for node in sorted(tops, key=middle, reverse=True)]
    while waiting:
        node, above = waiting.pop()
        waiting += [(child, len(order)) for child in sorted(children.get(node, ()), key=middle, reverse=True)]
        order.append(node)
        parent.append(above)
    return order, np.array(parent, dtype=np.int64)
