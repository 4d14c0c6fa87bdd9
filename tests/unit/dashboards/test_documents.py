"""Documents and the table of all topics; what scripts make of them is tested in a browser."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette
from vmfstream.dashboards.looks.texts import BANNED, TABLE_HEADS
from vmfstream.dashboards.page.data import parts_of
from vmfstream.dashboards.page.document_lists import _rows
from vmfstream.dashboards.page.drawings import PagePlan
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.views.table import PANEL, drift_since_first
from vmfstream.runfile.queries import ListedFrame, QualityFrame


def test_turned_is_the_angle_to_the_first_date() -> None:
    rows = CachedRows(gazette())
    history = history_of(rows, "smoothed")
    drift = drift_since_first(rows, history)
    sketches = rows.sketches("smoothed", 21)  # born in slice 19
    first, last = sketches.numbers[0], sketches.numbers[-1]
    true = np.degrees(np.arccos(first @ last / np.linalg.norm(first) / np.linalg.norm(last)))
    t = history.position(21)
    assert drift[29, t] == pytest.approx(true, abs=0.05)
    assert drift[19, t] == pytest.approx(0.0, abs=0.05)
    assert np.isnan(drift[:19, t]).all()


def test_filtered_drift_begins_after_the_warm_up() -> None:
    rows = CachedRows(gazette(slices=8, topics=3, settling=3))
    drift = drift_since_first(rows, history_of(rows, "filtered"))
    assert np.isnan(drift[:3]).all()
    assert drift[3] == pytest.approx(np.zeros(3), abs=0.05)


def test_columns_have_a_place_for_every_topic_and_date() -> None:
    rows = CachedRows(gazette(slices=6, topics=4))
    assert PANEL.columns is not None
    found = PANEL.columns(rows, history_of(rows, "smoothed"))
    assert set(found) == {"smoothed", "filtered"}
    drift = drift_since_first(rows, history_of(rows, "filtered"))
    shown = found["filtered"].reshape(6, 4)
    known = ~np.isnan(drift)
    np.testing.assert_allclose(shown[known], np.rint(drift[known]))
    assert (shown[~known] == 255).all()


def test_listed_documents_without_a_time_show_none() -> None:
    history, none = history_of(CachedRows(gazette(slices=6)), "smoothed"), np.zeros(2, np.int64)
    for day, shown in (("2001-05-06", "2001-05-06"), ("2001-05-06T07:08:09", "2001-05-06 07:08:09")):
        times, texts = np.array([day, "NaT"], "datetime64[us]"), np.array(["a", "b"], object)
        frame = ListedFrame(texts, times, none + int(history.index[0]), none, none / 1, none, texts)
        assert [row[4] for row in _rows(frame, history)] == [shown, ""]


def test_vectors_have_an_isotropy_by_topic_and_date() -> None:
    rows = gazette(slices=6, topics=4)
    frame = rows.topics("filtered")
    quality = QualityFrame(
        frame.slice, frame.topic, frame.share, frame.share, frame.share, frame.share, np.arange(24) / 100
    )
    assert PANEL.columns is not None
    cached = CachedRows(rows)
    cached.__dict__["quality"] = lambda: quality
    found = PANEL.columns(cached, history_of(cached, "smoothed"))["isotropy"]
    place = (frame.slice - frame.slice[0]) * 4 + np.searchsorted(np.unique(frame.topic), frame.topic)
    assert found[place].tolist() == list(range(24))


def test_a_run_file_without_sketches_has_a_table_all_the_same() -> None:
    rows = gazette(slices=6, topics=4)
    rows.sketch_frames.clear()
    assert PANEL.columns is not None
    snapshot = CachedRows(rows)
    found = PANEL.columns(snapshot, history_of(snapshot, "smoothed"))
    assert (found["filtered"] == 255).all()


def test_heads_are_buttons_in_plain_words() -> None:
    html = PANEL.section(parts_of(CachedRows(gazette(slices=4, topics=2)), PagePlan()))
    for key, text in TABLE_HEADS.items():
        assert f'<button data-sort="{key}">{text}</button>' in html
    assert html.count('aria-sort="none"') == len(TABLE_HEADS)
    assert not any(word in html.lower() for word in BANNED)
