"""A growing log: what was drawn stays where it was."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.stable_layout import StableLayout
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.river.bands import stack
from vmfstream.dashboards.views.river.view import RiverView


def until(rows: FakeRows, end: int) -> FakeRows:
    """Return the rows of the first slices."""
    return rows.only(lambda frame: frame.slice < end)


def pictures(steady: StableLayout | None, ends: tuple[int, ...]) -> list[dict[int, Any]]:
    """Return the edges of every topic's band at the slices, one picture for each length."""
    whole = gazette(slices=30, topics=30).without_smoothed()
    out = []
    for end in ends:
        frame = RiverView().frame(CachedRows(until(whole, end), steady), Selection())
        bands = stack(frame, Size(1240, 486))
        at = np.searchsorted(bands.x, np.arange(end) - 1e-9)
        ids = [int(frame.history.topic[t]) for t in bands.topics]
        edges = {topic: bands.edges[b : b + 2, at].T for b, topic in enumerate(ids)}
        out.append({-1: bands.extent, -2: ids} | edges)
    return out


def test_the_past_keeps_its_shape_order_and_scale() -> None:
    for one, two in pairwise(pictures(StableLayout(), (16, 17, 20, 24, 30))):
        assert [topic for topic in two[-2] if topic in one] == one[-2]
        for topic in one[-2]:
            old = one[topic]
            np.testing.assert_allclose(two[topic][: len(old)], old, atol=1e-6)
        (a, b), (c, d) = one[-1], two[-1]
        assert c <= a < b <= d
        grown = (d - c) / (b - a) * 4
        assert grown == pytest.approx(round(grown))


def test_without_memory_everything_may_move() -> None:
    one, two = pictures(None, (16, 30))
    assert any(np.abs(two[topic][:16] - one[topic]).max() > 1.0 for topic in one[-2])


def test_a_newborn_stands_beside_its_nearest_relative() -> None:
    steady = StableLayout()
    before, after = pictures(steady, (16, 30))
    fresh = set(after[-2]) - set(before[-2])
    assert fresh == {21}
    assert 0 < after[-2].index(21) <= len(before[-2])


def test_a_river_twice_as_long_is_levelled_anew() -> None:
    steady = StableLayout()
    first = steady.line("river", np.array([1.0, 0.0]), 4)
    assert steady.line("river", np.array([2.0, 0.0]), 7) is first
    assert steady.line("river", np.array([3.0, 0.0]), 8)[0] == 3.0


def test_the_scale_grows_in_quarters_and_does_not_shrink() -> None:
    steady = StableLayout()
    assert steady.extent("river", 0.0, 8.0) == (0.0, 8.0)
    assert steady.extent("river", 1.0, 8.5) == (0.0, 10.0)
    assert steady.extent("river", -0.1, 3.0) == (-2.5, 10.0)
