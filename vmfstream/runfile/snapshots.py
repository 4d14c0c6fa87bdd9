"""Read the sample of a run file for batch fits, and write their results as snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Arrays
from vmfstream.runfile.checkpoints import TIMEOUT, one_commit
from vmfstream.runfile.connection import connected, explain
from vmfstream.runfile.rows import Frame, as_texts
from vmfstream.runfile.schema import check
from vmfstream.runfile.upgrade import upgrade
from vmfstream.runfile.writer import insert, stored_state


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Settings, sample and states of a run file, all of the same commit.

    ``slice`` and ``packed`` are columns of the sample, ordered by slice and key; ``sizes`` are the numbers of documents
    of closed slices. ``now`` is the open and the slice state of the last commit, ``before`` those from before the
    newest slice ended, None if there are none.
    """

    settings: Mapping[str, str]
    slice: NDArray[np.int64]
    packed: Sequence[bytes]
    sizes: Mapping[int, int]
    now: tuple[Arrays, Arrays] | None
    before: tuple[Arrays, Arrays] | None


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A batch fit of the sample, with the columns of `SnapshotFrame` and `SnapshotTopicFrame`."""

    kind: str
    slice: int
    documents: int
    bound: float
    predicted: float
    live: float
    parent: NDArray[np.int64]
    level: NDArray[np.int64]
    topic: NDArray[np.int64]
    n: NDArray[np.float64]
    share: NDArray[np.float64]
    tightness: NDArray[np.float64]
    certainty: NDArray[np.float64]
    words: Sequence[Sequence[tuple[str, float]]]


def read_stored(path: Path) -> Stored:
    """Read settings, sample and states of one commit, also while a run is writing.

    Raises
    ------
    InputError
        If there is no run file at ``path``.
    StoreLocked
        If the run file is not released in time.
    """
    path = path.expanduser().resolve()
    try:
        with one_commit(path) as connection:
            rows = connection.execute("select slice, packed from sample order by slice, key").fetchall()
            return Stored(
                settings=dict(connection.execute("select key, value from meta").fetchall()),
                slice=np.array([index for index, _ in rows], np.int64),
                packed=[packed for _, packed in rows],
                sizes=dict(connection.execute("select slice, n from slice").fetchall()),
                now=_states(connection, ""),
                before=_states(connection, "_before"),
            )
    except (duckdb.Error, ValueError) as error:
        raise InputError(f"cannot read the run file {path}: {error}") from error


def check_writable(path: Path) -> None:
    """Raise what `write_snapshots` would raise if the run file cannot be written, before the work of fits."""
    with connected(path.expanduser().resolve(), read_only=False, timeout=TIMEOUT):
        pass


def write_snapshots(path: Path, snapshots: Sequence[Snapshot]) -> list[int]:
    """Write snapshots, all or none; return their numbers.

    Raises
    ------
    InputError
        If the run file cannot be written; it is unchanged then.
    StoreLocked
        If the run file is not released in time.
    """
    path = path.expanduser().resolve()
    if not path.exists():
        raise InputError(f"there is no run file at {path}")
    upgrade(path, TIMEOUT)
    with connected(path, read_only=False, timeout=TIMEOUT) as connection:
        try:
            connection.begin()
            check(connection, path)
            first = connection.execute("select coalesce(max(snapshot), -1) + 1 from snapshot").fetchall()[0][0]
            numbers = [first + i for i in range(len(snapshots))]
            for number, one in zip(numbers, snapshots, strict=True):
                for table, frame in _frames(number, one).items():
                    insert(connection, table, frame)
            connection.commit()
        except duckdb.Error as error:
            raise InputError(f"cannot write snapshots into the run file {path}: {explain(error)}") from error
    return numbers


def _states(connection: duckdb.DuckDBPyConnection, which: str) -> tuple[Arrays, Arrays] | None:
    states = [stored_state(connection, f"{kind}{which}") for kind in ("open", "slice")]
    return None if states[0] is None or states[1] is None else (states[0], states[1])


def _frames(number: int, one: Snapshot) -> dict[str, Frame]:
    nodes, lengths = len(one.topic), [len(words) for words in one.words]
    word = [pair for words in one.words for pair in words]
    return {
        "snapshot": {
            "snapshot": np.array([number]),
            "kind": as_texts([one.kind]),
            "slice": np.array([one.slice]),
            "made": np.array([datetime.now(UTC).replace(tzinfo=None)], "datetime64[us]"),
            "documents": np.array([one.documents]),
            "bound": np.array([one.bound]),
            "predicted": np.array([one.predicted]),
            "live": np.array([one.live]),
        },
        "snapshot_topic": {
            "snapshot": np.full(nodes, number),
            "node": np.arange(nodes),
            **{
                name: getattr(one, name)
                for name in ("parent", "level", "topic", "n", "share", "tightness", "certainty")
            },
        },
        "snapshot_word": {
            "snapshot": np.full(len(word), number),
            "node": np.repeat(np.arange(nodes), lengths),
            "rank": np.array([rank for length in lengths for rank in range(1, length + 1)], np.int64),
            "word": as_texts(name for name, _ in word),
            "weight": np.array([weight for _, weight in word], np.float64),
        },
    }
