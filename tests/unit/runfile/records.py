"""Small records for the tests of the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np

from vmfstream.records import (
    Arrays,
    Commit,
    DocumentRows,
    EpochReport,
    Event,
    Rejected,
    Representative,
    Slice,
    SliceReport,
    SmoothedSlice,
    StoryRows,
    TopicRows,
)
from vmfstream.runfile import schema

BEGINS = datetime(2024, 1, 1, tzinfo=UTC)
ENDS = datetime(2025, 1, 1, tzinfo=UTC)


def of_format(path: Path, number: int, **settings: str) -> Path:
    """Write an empty run file of an earlier format, with settings."""
    with duckdb.connect(path) as connection:
        connection.execute("create table meta(key varchar primary key, value varchar not null)")
        connection.execute("create table migration(name varchar primary key, applied_at timestamp not null)")
        connection.executemany("insert into meta values (?, ?)", [["format", "0"], *map(list, settings.items())])
        for step in range(number):
            schema._migrate(connection, step)
    return path


def topic_rows(topics: Sequence[int] = (3, 7), words: int = 2, mark: str = "w") -> TopicRows:
    k = len(topics)
    numbers = np.arange(k, dtype=np.float64)
    return TopicRows(
        topic=np.array(topics, dtype=np.int64),
        n=numbers + 10,
        share=np.full(k, 1 / k),
        kappa=numbers + 20,
        gamma=numbers + 30,
        tightness=numbers / 10,
        certainty=numbers / 20,
        drift_angle=np.where(numbers == 0, np.nan, 1.5),
        drift_angle_error=np.where(numbers == 0, np.nan, 0.5),
        words=[[(f"{mark}{topic}_{rank}", 1 / (rank + 1)) for rank in range(words)] for topic in topics],
        angles=np.abs(np.subtract.outer(numbers, numbers)) * 30.0,
        sketches=np.outer(numbers + 1, np.ones(512)).astype(np.int8),
    )


def state(seed: int, size: int = 5) -> Arrays:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.standard_normal((size, 3)).astype(np.float32),
        "half": rng.standard_normal(size).astype(np.float16),
        "count": rng.integers(-5, 5, size),
        "word": np.array(["schön", "", "日本"]),
        "none": np.empty((0, 4)),
        "seed": np.array(seed),
    }


def epoch_report(epoch: int, topics: TopicRows | None = None) -> EpochReport:
    return EpochReport(
        epoch=epoch,
        slice=Slice(epoch, f"slice {epoch}", BEGINS, ENDS),
        n=100,
        rejected=1,
        late=2,
        empty=3,
        oov_rate=0.25,
        prequential=float("nan") if topics is None else 12.5,
        seconds=0.5,
        topics=topics,
    )


def slice_report(index: int, topics: TopicRows | None) -> SliceReport:
    best = Representative(
        topic=np.array([3, 3]),
        rank=np.array([1, 2]),
        id=["a", "b"],
        title=["First", "Second"],
        time=[BEGINS, ENDS],
        score=np.array([2.0, 1.0]),
    )
    return SliceReport(
        slice=Slice(index, f"slice {index}", BEGINS, ENDS),
        n=100,
        predicted=float("nan"),
        persistence=0.9,
        warm_up=index == 0,
        dimension=50,
        topics=topics,
        representative=best if topics is not None else None,
        events=(Event("started", 7), Event("merged", 3, other=7, value=0.5)),
    )


def commit(epoch: int, *, small: bool = False, size: int = 5, **changes: object) -> Commit:
    """Return a commit with rows for every table, or with ``small`` only one epoch row and a state."""
    topics = None if small else topic_rows()
    values: dict[str, object] = {
        "epoch": epoch_report(epoch, topics),
        "closed": () if small else (slice_report(epoch, topics),),
        "rejected": () if small else (Rejected("a.jsonl", 100 * epoch + 5, "not JSON: line 6", "{"),),
        "position": {"a.jsonl": 101 * (epoch + 1)},
        "open_state": state(epoch, size),
        "slice_state": None if small else state(1000 + epoch),
    }
    return Commit(**(values | changes))  # type: ignore[arg-type]


def stories(*sizes: tuple[int, int], mark: str = "w") -> StoryRows:
    """Stories by number and documents, with as many words and documents as their number."""
    ids = np.array([story for story, _ in sizes], np.int64)
    return StoryRows(
        story=ids,
        first_slice=ids + 3,
        last_slice=ids + 4,
        first=ids.view("datetime64[us]"),
        last=(ids + 5).view("datetime64[us]"),
        size=np.array([size for _, size in sizes], np.int64),
        topic=ids - 1,
        trend=ids / 2.0,
        ended=ids == 2,
        words=[[(f"{mark}{story}", 0.5) for _ in range(story)] for story, _ in sizes],
        documents=[[(f"id{story}", f"{mark} title", 7, 0.5) for _ in range(story)] for story, _ in sizes],
    )


def documents(*ids: str) -> DocumentRows:
    """Documents whose numbers follow from their places; the first has neither topic nor story."""
    at = np.arange(len(ids)) - 1
    numbers = np.where(at < 0, np.nan, at / 8).astype(np.float32)
    return DocumentRows(ids, at + 60_000_000, at, numbers, at, -numbers, at, numbers, np.arange(len(ids)))


def smoothed(index: int, topics: Sequence[int] = (3, 7), mark: str = "s") -> SmoothedSlice:
    return SmoothedSlice(index, topic_rows(topics, mark=mark))
