"""The health strip: what is usual, what is odd, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.texts import BANNED
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.page.data import parts_of
from vmfstream.dashboards.page.drawings import PagePlan
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.health.frame import WARM_UP, HealthFrame, HealthRow, usual
from vmfstream.dashboards.views.health.panel import PANEL, columns
from vmfstream.dashboards.views.health.view import HealthView
from vmfstream.runfile.queries import EpochFrame, EventFrame, QualityFrame, Rejections

SLICES = 24
KEPT = (
    "Every topic kept its meaning: none lost all of its ten strongest words within two quarters, unless a birth, "
    "split, merger or end is told."
)


@dataclass(frozen=True)
class Run(FakeRows):
    """A log with updates of its own."""

    epoch_frame: EpochFrame | None = None
    refused: Rejections | None = None
    npmi: float = 0.2
    isotropy: float = float("nan")

    def quality(self) -> QualityFrame:
        frame = self.topics("filtered")
        wave = 0.01 * np.cos(frame.slice)
        last = frame.slice == frame.slice.max()
        npmi = np.where(last, self.npmi, 0.2 + wave)
        return QualityFrame(frame.slice, frame.topic, frame.share, npmi, 0.5 + wave, 0.9 + wave, self.isotropy + wave)

    def epochs(self) -> EpochFrame:
        return self.epoch_frame or super().epochs()

    def rejections(self) -> Rejections:
        return self.refused or super().rejections()


def run(slices: int = SLICES, refused: Rejections | None = None, **columns: list[float]) -> Run:
    """Return a calm log of two updates per slice, with columns of slices or updates instead."""
    return made(columns, slices, refused)


def made(columns: dict[str, list[float]], slices: int = SLICES, refused: Rejections | None = None) -> Run:
    base = gazette(slices=slices, topics=3, settling=0)
    n = np.array(columns.pop("documents", [1000.0 + s % 3 for s in range(slices)]), np.int64)
    predicted = np.array(columns.pop("predicted", [50.0 + 0.5 * (s % 3) for s in range(slices)]))
    count = 2 * slices

    def filled(name: str, value: float) -> np.ndarray:
        return np.array(columns.pop(name, [value] * count))

    frame = EpochFrame(
        epoch=np.arange(1, count + 1),
        slice=np.repeat(np.arange(slices), 2),
        label=np.repeat(base.slice_frame.label, 2),
        n=np.tile([300, 700], slices),
        rejected=filled("rejected", 0).astype(np.int64),
        late=filled("late", 0).astype(np.int64),
        empty=np.zeros(count, np.int64),
        oov_rate=filled("oov_rate", 0.05),
        prequential=np.zeros(count),
        seconds=filled("seconds", 0.5),
        lag=filled("lag", 10).astype(np.int64),
    )
    alarms = np.array(columns.pop("alarms", []), np.int64)
    none = np.full(alarms.size, np.nan)
    zero = np.zeros(alarms.size, np.int64)
    events = EventFrame(
        alarms, alarms, np.array(["drift"] * alarms.size, object), zero, zero - 1, none, none, none, zero - 1
    )
    assert not columns
    return Run(
        **{**vars(base), "slice_frame": replace(base.slice_frame, n=n, predicted=predicted), "event_frame": events},
        epoch_frame=frame,
        refused=refused,
    )


def health(rows: FakeRows) -> HealthFrame:
    return HealthView().frame(CachedRows(rows), Selection())


def row(rows: FakeRows, name: str) -> HealthRow:
    return next(row for row in health(rows).rows if row.name.startswith(name))


def test_usual_is_median_and_robust_spread_of_the_slices_before() -> None:
    values = np.arange(60.0) ** 2
    median, spread = usual(values, 0.0)
    for s in (14, 15, 40, 59):
        before = values[max(0, s - 28) : s]
        assert median[s] == np.median(before)
        assert spread[s] == pytest.approx(1.4826 * np.median(np.abs(before - np.median(before))))
    assert (median[:14] == np.median(values[:14])).all()  # the warm-up is judged together
    later = values.copy()
    later[50:] = 1e9
    np.testing.assert_array_equal(usual(later, 0.0)[0][:51], median[:51])


def test_unknown_values_do_not_count() -> None:
    values = np.array([np.nan, 5.0, np.nan, 7.0])
    np.testing.assert_array_equal(usual(values, 0.5)[0], [6.0] * 4)
    assert np.isnan(usual(np.full(3, np.nan), 0.5)[0]).all()
    assert usual(np.array([3.0, 3.0]), 0.5)[1].tolist() == [0.5, 0.5]


def test_a_calm_run_has_nothing_unusual() -> None:
    frame = health(run())
    assert frame.verdict == ("Nothing unusual in 2001 Q4.", KEPT)
    assert frame.missing == ()
    assert [r.name for r in frame.rows] == [
        "Documents",
        "Misfit of new documents",
        "Words outside the vocabulary",
        "Topics, active and dormant",
        "Coherence of words, NPMI",
        "Coherence of words, C_v",
        "Different words of topics",
        "Drift alarms",
        "Rejected and late",
        "Messages waiting",
        "Seconds per update",
    ]
    assert not any(r.unusual.any() for r in frame.rows)


def test_updates_are_put_together_by_slice() -> None:
    oov_rate = [0.10, 0.20] * SLICES
    rows = run(oov_rate=oov_rate, seconds=[1.0, 3.0] * SLICES, rejected=[1, 2] * SLICES, late=[0, 4] * SLICES)
    assert row(rows, "Words outside the vocabulary").values[5] == pytest.approx(0.10 * 0.3 + 0.20 * 0.7)
    assert row(rows, "Seconds").values[5] == pytest.approx(2.0)
    assert row(rows, "Rejected").values[5] == 7.0
    assert row(run(lag=[9, 4] * SLICES), "Messages").values[5] == 4.0


def test_surprise_is_measured_in_usual_spreads() -> None:
    predicted = [50.0 + (s % 5) for s in range(SLICES)]
    predicted[-1] = 40.0
    found = row(run(predicted=predicted), "Misfit")
    before = np.array(predicted[:-1])
    spread = 1.4826 * np.median(np.abs(before - np.median(before)))
    assert found.values[-1] == pytest.approx((np.median(before) - 40.0) / spread)
    assert found.shown[-1] == f"+{found.values[-1]:.1f}"
    assert found.usually == "up to +2"
    assert found.unusual.tolist() == [False] * (SLICES - 1) + [True]


@pytest.mark.parametrize(
    ("name", "column", "odd", "fine"),
    [
        ("Documents", "documents", 500, 2000),
        ("Misfit", "predicted", 20.0, 80.0),
        ("Words outside the vocabulary", "oov_rate", 0.2, 0.0),
        ("Rejected", "rejected", 30, 0),
        ("Messages", "lag", 500, 0),
        ("Seconds", "seconds", 3.0, 0.1),
    ],
)
def test_only_the_bad_side_is_unusual(name: str, column: str, odd: float, fine: float) -> None:
    per = 1 if column in ("documents", "predicted") else 2
    usual_value = {"documents": 1000, "predicted": 50.0, "oov_rate": 0.05, "rejected": 0, "lag": 10, "seconds": 0.5}
    for value, expected in ((odd, True), (fine, False)):
        rows = made({column: [usual_value[column]] * (per * (SLICES - 1)) + [value] * per})
        assert row(rows, name).unusual[-1] == expected
        assert not row(rows, name).unusual[:-1].any()


def test_alarms_are_counted_by_slice() -> None:
    found = row(run(alarms=[4, 4, 20, 20, 20]), "Drift")
    assert (found.values[4], found.values[20], found.values[5]) == (2, 3, 0)
    assert np.flatnonzero(found.unusual).tolist() == [20]


def test_nothing_is_unusual_before_the_warm_up() -> None:
    documents = [1000.0] * SLICES
    documents[3] = documents[WARM_UP - 1] = documents[WARM_UP] = 10.0
    assert np.flatnonzero(row(run(documents=documents), "Documents").unusual).tolist() == [WARM_UP]
    assert health(run(slices=5)).verdict == ("Too few dates to tell what is usual: 5 of 15.", KEPT)


def test_the_verdict_is_the_first_three_oddities_and_what_was_rejected() -> None:
    last = 2 * SLICES - 2
    rows = run(
        documents=[1000.0] * (SLICES - 1) + [400.0],
        oov_rate=[0.05] * last + [0.5] * 2,
        lag=[10.0] * last + [5000.0] * 2,
        seconds=[0.5] * last + [9.0] * 2,
        refused=Rejections(1234, {"time": 1200, "text": 30, "id": 4}, {}),
    )
    assert health(rows).verdict == (
        "Documents: 400 in 2001 Q4, usually 1,000.",
        "Words outside the vocabulary: 50 % in 2001 Q4, usually 5.0 %.",
        "Messages waiting: 5,000 in 2001 Q4, usually 10.",
        KEPT,
        "1,234 messages were rejected so far, most often: time, text.",
    )


def test_the_verdict_tells_of_topics_that_were_taken_over() -> None:
    rows = gazette(slices=20, topics=5)
    (sentence,) = [line for line in health(rows).verdict if "its meaning" in line]
    assert "two quarters" in sentence
    words = rows.word_frames["filtered"]
    late = (words.topic == 3) & (words.slice >= 10)
    words.word[late] = np.array([f"other{rank}" for rank in words.rank[late]], dtype=object)
    (sentence,) = [line for line in health(rows).verdict if "something else" in line]
    compared = [(s, t) for s in range(2, 20) for t in range(5)]
    assert f"(2 of {len(compared)})" in sentence


def test_what_the_run_file_does_not_know_is_named() -> None:
    frame = health(run(lag=[-1.0] * 2 * SLICES, oov_rate=[np.nan] * 2 * SLICES))
    assert frame.missing == ("Words outside the vocabulary", "Messages waiting")
    assert len(frame.rows) == 9


def test_coherence_that_falls_is_unusual() -> None:
    assert row(replace(run(), npmi=0.05), "Coherence").unusual.tolist() == [False] * (SLICES - 1) + [True]
    assert row(run(), "Coherence").shown[-1] == "0.20"
    assert row(replace(run(), npmi=-0.05), "Coherence").shown[-1] == "−0.05"
    assert row(replace(run(), npmi=-0.004), "Coherence").shown[-1] == "0.00"
    assert row(run(), "Coherence of words, C_v").shown[0] == "0.51"
    assert row(run(), "Different").usually == "90 %"


def test_isotropy_is_there_for_vectors_only() -> None:
    assert not [one for one in health(run()).rows if "Isotropy" in one.name]
    assert not [name for name in health(run()).missing if "Isotropy" in name]
    vectors = replace(run(), isotropy=0.2)
    assert row(vectors, "Isotropy").shown[0] == "21 %"
    assert not row(replace(vectors, isotropy=0.02), "Isotropy").unusual.any()
    parts = [parts_of(CachedRows(rows), PagePlan()) for rows in (run(), vectors)]
    assert [texts.ISOTROPY_CAPTION in PANEL.section(one) for one in parts] == [False, True]


def test_run_files_of_before_know_no_coherence() -> None:
    assert {"Coherence of words, NPMI", "Coherence of words, C_v", "Different words of topics"} <= set(
        health(gazette(slices=20, topics=3)).missing
    )


def test_empty_slices_are_gaps_of_what_needs_documents() -> None:
    rows = run(documents=[1000.0] * 20 + [0.0] + [1000.0] * 3)
    assert np.isnan(row(rows, "Misfit").values[20])
    assert row(rows, "Misfit").shown[20] == ""
    assert row(rows, "Documents").unusual[20]


def test_topics_live_on_in_a_silence_as_far_as_it_was_followed() -> None:
    silent = gazette(slices=20, topics=3, settling=0, empty=(5, 6))
    assert row(silent, "Topics, active and dormant").values.tolist() == [3.0] * 20
    left_out = gazette(slices=20, topics=3, settling=0).only(lambda frame: frame.slice != 6)
    assert np.flatnonzero(np.isnan(row(left_out, "Topics, active and dormant").values)).tolist() == [6]


def test_odd_values_are_red_dots_and_have_a_mark() -> None:
    rows = CachedRows(run(documents=[1000.0] * (SLICES - 1) + [400.0]))
    view = HealthView()
    figure = view.figure(view.frame(rows, Selection()), Size(900, 0), "light")
    dots = next(t for t in figure.data if t.name == "unusual")
    assert (list(dots.x), dots.marker.color) == ([SLICES - 1], theme("light").alarm)
    assert "! 400" in {note.text for note in figure.layout.annotations}
    assert "usual 1,000" in {note.text for note in figure.layout.annotations}
    values = next(t for t in figure.data if t.name == "values")
    assert ((np.array(values.y) >= 0) & (np.array(values.y) <= 11) | np.isnan(values.y)).all()
    reported = columns(rows, history_of(rows, "filtered"))
    assert reported["rows"][0] == {
        "name": "Documents",
        "odd": [SLICES - 1],
        "shown": ["1,000"] * 23 + ["400"],
        "usual": "1,000",
    }


def test_no_word_of_the_model_is_said() -> None:
    frame = health(run(documents=[1000.0] * (SLICES - 1) + [400.0]))
    said = " ".join([*frame.verdict, *(r.name for r in frame.rows)]).lower()
    assert not any(word in said for word in BANNED)
