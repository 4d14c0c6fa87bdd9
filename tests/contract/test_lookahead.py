"""What was known when a slice closed does not change when the future arrives."""

from __future__ import annotations

import numpy as np
import pytest

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.records import SliceReport, TopicRows
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.runfile.memory import MemoryStore

SETTINGS = RunSettings(topics=6, slices="month", threads=1, window=400, living_topics=True)


def followed(months: int) -> MemoryStore:
    """Follow the first months of one and the same stream."""
    messages = PlantedSource(PlantedStream(slices=12, documents_per_slice=120)).poll(10_000, 0.0)
    run_file = MemoryStore()
    values = [m.value for m in messages if isinstance(m.value, dict)]
    limit = [value for value in values if int(value["time"][5:7]) <= months]
    follow(MemorySource(limit), FieldCodec(), run_file, SETTINGS)
    return run_file


def reports(run_file: MemoryStore) -> list[SliceReport]:
    return [report for commit in run_file.commits for report in commit.closed]


def same(a: TopicRows, b: TopicRows) -> None:
    for name in ("topic", "n", "share", "kappa", "gamma", "tightness", "certainty", "drift_angle"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.words == b.words


@pytest.mark.thorough
def test_appending_slices_changes_no_filtered_row() -> None:
    short, long = reports(followed(5)), reports(followed(8))
    assert len(short) == 5
    assert len(long) == 8
    for before, after in zip(short, long, strict=False):
        assert before.slice == after.slice
        assert before.n == after.n
        np.testing.assert_equal(before.predicted, after.predicted)
        assert before.topics is not None
        assert after.topics is not None
        same(before.topics, after.topics)


def test_smoothed_topics_do_change() -> None:
    """Guards the test above: the smoothed rows of the same slices must feel the future."""

    def last(run_file: MemoryStore) -> dict[int, TopicRows]:
        return {s.slice: s.topics for commit in run_file.commits for s in commit.smoothed}

    short, long = last(followed(5)), last(followed(8))
    newest = max(short)
    assert not np.array_equal(short[newest].gamma, long[newest].gamma)
