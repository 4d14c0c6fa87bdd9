"""The newest slice of a stream that ended in the middle of it is told as such, and left out of judgements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.looks import phrases
from vmfstream.dashboards.rows.history import history_of, read_history
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.dashboards.views.changes.sentences import what_changed
from vmfstream.dashboards.views.health.frame import health_frame

SLICES = 20


def counted(last: int) -> FakeRows:
    """Return a log of slices of 500 documents, of which the newest has ``last``."""
    rows = gazette(slices=SLICES, topics=4, settling=0)
    labels = np.array([f"{500 * s + 1:,} to {500 * (s + 1):,}" for s in range(SLICES)], object)
    n = np.array([500] * (SLICES - 1) + [last])
    never = np.full(SLICES, np.datetime64("NaT", "us"))
    return replace(rows, slice_frame=replace(rows.slice_frame, label=labels, n=n, begins=never, ends=never))


def dated(reach: float) -> FakeRows:
    """Return a log of quarters whose documents reach to nine tenths, those of the newest quarter to ``reach``."""
    rows = gazette(slices=SLICES, topics=4, settling=0)
    begins = np.arange("1996-01", "2001-01", 3, dtype="datetime64[M]").astype("datetime64[us]")
    ends = np.append(begins[1:], np.datetime64("2001-01-01", "us"))
    part = np.full(SLICES, 0.9)
    part[-1] = reach
    documents = rows.typical_frame
    at = documents.slice - rows.slice_frame.slice[0]
    days = ((ends - begins) / np.timedelta64(1, "D") * part).astype(np.int64)
    time = begins[at] + days[at] * np.timedelta64(1, "D")
    return replace(
        rows,
        slice_frame=replace(rows.slice_frame, begins=begins, ends=ends),
        typical_frame=replace(documents, time=time.astype(documents.time.dtype)),
    )


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        (counted(500), SLICES),
        (counted(450), SLICES),
        (counted(109), SLICES - 1),
        (dated(0.95), SLICES),
        (dated(0.2), SLICES - 1),
        (dated(0.0), SLICES - 1),
    ],
)
def test_a_slice_is_whole_if_it_reaches_as_far_as_others(rows: FakeRows, whole: int) -> None:
    assert judged(rows, read_history(rows, "filtered")).index.size == whole


def test_dates_of_years_say_nothing_of_the_end() -> None:
    rows = dated(0.0)
    begins = rows.slice_frame.begins
    time = begins[rows.typical_frame.slice - rows.slice_frame.slice[0]]
    rows = replace(rows, typical_frame=replace(rows.typical_frame, time=time))
    assert judged(rows, read_history(rows, "filtered")).index.size == SLICES


def test_slices_of_so_many_documents_are_named_together_by_their_ends() -> None:
    labels = history_of(CachedRows(counted(500)), "filtered").labels
    assert phrases.span(labels) == "1 to 10,000"
    assert phrases.span(labels[2:3]) == "1,001 to 1,500"
    assert phrases.span(("1996 Q1", "1996 Q2")) == "1996 Q1–1996 Q2"
    assert phrases.span(()) == ""


def test_judgements_leave_it_out_and_the_page_tells_it() -> None:
    rows, whole = CachedRows(counted(109)), CachedRows(counted(500))
    last = history_of(rows, "filtered").labels[-1]
    assert not any("Documents" in line for line in health_frame(rows).verdict)
    assert not any(row.unusual[-1] for row in health_frame(rows).rows)
    found = [c for c in what_changed(rows, "filtered").changes if c.kind in ("grown", "fallen", "words")]
    assert all(change.at < SLICES - 1 for change in found)
    assert f"{last} is unfinished" in build_page(rows)[0]
    assert "is unfinished" not in build_page(whole)[0]
