"""Where a reader of a live page stands when newer data come: its script alone, by Node.js, without a browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.node import called, needs_node
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.data import page_data
from vmfstream.dashboards.page.drawings import PagePlan
from vmfstream.dashboards.rows.merged import merged_of, rows_of_page
from vmfstream.dashboards.rows.run_rows import CachedRows

pytestmark = needs_node


def page_of(slices: int, most: int) -> tuple[CachedRows, dict[str, Any]]:
    """A page of so many slices with at most so many dates: its rows, and what the script knows of it."""
    rows = CachedRows(rows_of_page(gazette(slices=slices, topics=4), most))
    data = page_data(rows, PagePlan(), ArrayTable())
    return rows, {name: data[name] for name in ("labels", "last", "per")}


def places(page: dict[str, Any], newer: dict[str, Any]) -> list[int]:
    """Where a reader of each date of a page stands in the newer one."""
    return called("place.js", "dateIn", [(newer, page, date) for date in range(len(page["labels"]))])


@pytest.mark.parametrize(
    ("slices", "most", "per"),
    [((12, 13), 20, (1, 1)), ((19, 21), 20, (1, 2)), ((29, 30), 10, (3, 3)), ((30, 34), 10, (3, 4))],
)
def test_a_reader_stays_at_the_slices_that_were_looked_at(
    slices: tuple[int, int], most: int, per: tuple[int, int]
) -> None:
    (rows, page), (newer_rows, newer) = (page_of(count, most) for count in slices)
    assert (page["per"], newer["per"]) == per
    merged, newer_merged = merged_of(rows), merged_of(newer_rows)
    dates = range(len(page["labels"]))
    looked_at = np.array([merged.slices_of(date)[1] if merged else date for date in dates])
    assert places(page, newer) == (newer_merged.dates(looked_at) if newer_merged else looked_at).tolist()


def test_a_page_of_fewer_slices_has_a_place_for_everyone() -> None:
    (_, page), (_, newer) = page_of(12, 20), page_of(5, 20)
    assert places(page, newer) == [0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4]
