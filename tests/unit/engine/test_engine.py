"""The loop: where epochs and slices are cut, what is counted, and that nothing is lost or read twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tiers import all_but
from tests.unit.engine.documents import (
    SUBJECTS,
    OneByOne,
    closed,
    committed,
    document,
    engine,
    run,
    sizes,
    track_state,
    years,
)
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import ABORT, PAUSE, Aborted
from vmfstream.engine.loop.engine import Progress
from vmfstream.errors import StoreLocked
from vmfstream.online import filtering
from vmfstream.online.settings import WindowSettings
from vmfstream.online.state import TrackState
from vmfstream.records import Commit, Document
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.encoders import TextEncoder, VectorEncoder

FOUR_YEARS = years({2001: 40, 2002: 40, 2003: 40, 2004: 40})


def test_epochs_are_cut_by_count_and_by_slice_ends() -> None:
    store = run(FOUR_YEARS, epoch_documents=25)
    assert sizes(store) == [25, 15] * 4
    assert [c.epoch.slice.label for c in store.commits] == [y for y in ("2001", "2002", "2003", "2004") for _ in "12"]
    assert [c.epoch.epoch for c in store.commits] == list(range(1, 9))
    assert [len(c.closed) for c in store.commits] == [0, 1] * 4
    assert [c.finished for c in store.commits] == [False] * 7 + [True]
    assert [c.position["memory"] for c in store.commits] == [25, 40, 65, 80, 105, 120, 145, 160]


def test_an_epoch_gathers_batches() -> None:
    coarse, fine = (run(FOUR_YEARS, epoch_documents=size, batch_documents=10) for size in (20, 10))
    assert sizes(coarse) == [20, 20, 0] * 4
    assert sizes(fine) == [10, 10, 10, 10, 0] * 4
    wholes, parts = (
        [c.epoch for c in store.commits if c.epoch.n][len(store.commits) // 4 :] for store in (coarse, fine)
    )
    for whole, one, two in zip(wholes, parts[-2 * len(wholes) :: 2], parts[-2 * len(wholes) + 1 :: 2], strict=True):
        assert whole.prequential == pytest.approx((one.prequential + two.prequential) / 2)
        assert min(one.oov_rate, two.oov_rate) <= whole.oov_rate <= max(one.oov_rate, two.oov_rate)
    assert [r.predicted for r in closed(coarse)] == pytest.approx([r.predicted for r in closed(fine)], nan_ok=True)


def test_how_messages_arrive_does_not_change_the_cuts() -> None:
    assert committed(run(OneByOne(FOUR_YEARS), epoch_documents=25)) == committed(run(FOUR_YEARS, epoch_documents=25))


def test_a_slice_may_end_exactly_with_an_epoch() -> None:
    store = run(years({2001: 25, 2002: 50}), epoch_documents=25)
    assert sizes(store) == [25, 0, 25, 25, 0]
    assert [len(c.closed) for c in store.commits] == [0, 1, 0, 0, 1]
    assert [r.n for r in closed(store)] == [25, 50]
    assert np.isnan(store.commits[1].epoch.prequential)


def test_slices_of_documents() -> None:
    reports = closed(run([document(i, 2001) for i in range(50)], slices="20"))
    assert [(r.slice.index, r.slice.label, r.n) for r in reports] == [
        (0, "1 to 20", 20),
        (1, "21 to 40", 20),
        (2, "41 to 60", 10),
    ]


def test_rejected_messages_fill_epochs_but_not_slices() -> None:
    items = [item for i in range(40) for item in (b"{nonsense", document(i, 2001))]
    store = run(items, slices="20", epoch_documents=10)
    assert [r.n for r in closed(store)] == [20, 20]
    assert sizes(store) == [5, 5, 5, 5, 5, 5, 5, 5, 0]  # the last one ends the source
    assert [c.epoch.rejected for c in store.commits] == [5, 5, 5, 5, 5, 5, 5, 5, 0]


def test_slices_without_documents_are_reported() -> None:
    reports = closed(run(years({2001: 30, 2005: 30})))
    assert [(r.slice.label, r.n) for r in reports] == [
        ("2001", 30),
        ("2002", 0),
        ("2003", 0),
        ("2004", 0),
        ("2005", 30),
    ]
    for report in reports:
        assert report.topics is not None
        assert report.topics.topic.tolist() == [0, 1, 2]
        assert report.topics.n.sum() == pytest.approx(report.n, abs=1e-3)
    assert all(np.isnan(r.predicted) for r in reports[:4])
    assert np.isfinite(reports[4].predicted)


def test_late_documents_count_in_the_open_slice() -> None:
    items = years({2001: 30, 2002: 30})
    items.insert(45, document(100, 1999))
    items.insert(50, document(101, 2001))
    store = run(items)
    assert [r.n for r in closed(store)] == [30, 32]
    assert [c.epoch.late for c in store.commits] == [0, 2]
    assert sum(c.epoch.rejected for c in store.commits) == 0


def test_slices_of_documents_know_no_late_ones() -> None:
    items = [document(i, 2001 - i % 7) for i in range(50)]
    assert [c.epoch.late for c in run(items, slices="20").commits] == [0, 0, 0]


@pytest.mark.parametrize(("gap", "accepted"), [(5, True), (6, False)])
def test_a_document_far_ahead_is_an_error_of_its_time(gap: int, accepted: bool) -> None:
    items = [*years({2001: 30}), document(90, 2001 + gap), *[document(100 + i, 2001) for i in range(5)]]
    store = run(items, max_gap=5)
    rejected = [r for c in store.commits for r in c.rejected]
    assert len(closed(store)) == (1 + gap if accepted else 1)
    assert len(rejected) == (0 if accepted else 1)
    if rejected:
        assert "6 slices ahead" in rejected[0].reason
        assert rejected[0].offset == 30


def test_a_long_silence_has_no_slices() -> None:
    items = [*years({2001: 30, 2002: 30}), *[document(100 + i, 2902 + i // 30) for i in range(60)]]
    store = run(items)
    years_closed = [r.slice.label for r in closed(store)]
    assert years_closed == ["2001", "2002", *map(str, range(2003, 2019)), "2902", "2903"]
    assert [r.n for r in closed(store)] == [30, 30, *[0] * 16, 30, 30]
    assert sum(c.epoch.rejected for c in store.commits) == 0
    labels = [one.topics.topic.tolist() for one in closed(store)[-2:] if one.topics is not None]
    assert [len(topics) for topics in labels] == [3, 3]
    assert [r.n for r in closed(run(items, empty_slices=0))] == [30, 30, 30, 30]


def test_a_silence_is_the_same_whatever_epochs_are_cut() -> None:
    items = [*years({2001: 30, 2002: 30}), *[document(100 + i, 2500 + i // 30) for i in range(60)]]
    stores = [run(items, epoch_documents=documents) for documents in (7, 1000)]
    first, second = ([(r.slice.label, r.n, r.predicted) for r in closed(store)] for store in stores)
    assert [one[:2] for one in first] == [one[:2] for one in second]


def test_a_repeated_id_is_refused_within_its_distance() -> None:
    items = [*years({2001: 30}), document(29, 2001), document(3, 2001)]
    store = run(items, remembered_ids=20)
    rejected = [r for c in store.commits for r in c.rejected]
    assert [(r.offset, r.reason) for r in rejected] == [(30, "read before: id 'd29'")]
    assert closed(store)[0].n == 31


def test_a_repetition_is_recognised_by_the_run_that_continues() -> None:
    items = years({2001: 40})
    store = MemoryStore()
    with pytest.raises(Aborted):
        engine([*items, ABORT], store, epoch_documents=25).run()
    engine([*items, items[3]], store, epoch_documents=25).run()
    assert [r.reason for c in store.commits for r in c.rejected] == ["read before: id 'd3'"]


def test_the_document_that_ends_a_slice_is_no_repetition() -> None:
    store = run(years({2001: 20, 2002: 1, 2003: 20}))
    assert [r.n for r in closed(store)] == [20, 1, 20]
    assert not any(c.rejected for c in store.commits)


@pytest.mark.parametrize(("linger", "expected"), [(None, [20]), (1e-9, [10, 10])])
def test_an_epoch_is_closed_after_its_linger_time(linger: float | None, expected: list[int]) -> None:
    items = years({2001: 20})
    store = run([*items[:10], PAUSE, *items[10:]], linger=linger, topics=2)
    assert sizes(store) == expected


def test_what_an_engine_tells_after_every_batch_and_commit() -> None:
    seen: list[Progress] = []
    engine([*FOUR_YEARS[:60], b"?"], epoch_documents=25, batch_documents=16).run(seen.append)
    assert [(p.epoch, p.slice, p.documents, p.rejected, p.finished) for p in seen] == [
        (0, "not begun", 0, 0, False),
        (0, "2001", 16, 0, False),
        (1, "2001", 25, 0, False),
        (2, "2001", 40, 0, False),
        (2, "2002", 56, 0, False),
        (3, "2002", 60, 1, True),
    ]


def interrupted(handed: int) -> MemoryStore:
    """Stop once the source handed out so many documents, then continue with an engine that only has the store."""
    store = MemoryStore()
    source = OneByOne(FOUR_YEARS)
    first = engine(source, store, epoch_documents=25, window=60)
    first.run(stop=lambda: source.handed >= handed)
    assert not first.finished
    second = engine(OneByOne(FOUR_YEARS), store, epoch_documents=25, window=60)
    assert second.documents == first.documents
    second.run()
    assert second.finished
    return store


@pytest.mark.parametrize("handed", [25, 65, 105, 145])
def test_stopped_between_epochs_and_continued_is_undisturbed(handed: int) -> None:
    assert committed(interrupted(handed)) == committed(run(FOUR_YEARS, epoch_documents=25, window=60))


def test_a_run_that_has_read_far_ahead_stops_before_the_next_epoch() -> None:
    store, asked = MemoryStore(), list[int]()

    def stop() -> bool:
        asked.append(len(store.commits))
        return asked[-1] >= 2

    first = engine(FOUR_YEARS, store, epoch_documents=25, window=60)  # one poll hands out all
    first.run(stop=stop)
    assert not first.finished
    assert len(store.commits) <= 3  # one may be on its way to the store
    assert asked[0] == 0  # a supervisor sees that the loop moves
    engine(FOUR_YEARS, store, epoch_documents=25, window=60).run()
    assert committed(store) == committed(run(FOUR_YEARS, epoch_documents=25, window=60))


def test_stopped_within_an_epoch_and_continued_only_the_cut_shows() -> None:
    store, whole = interrupted(83), run(FOUR_YEARS, epoch_documents=25, window=60)
    assert sizes(store) == [25, 15, 25, 15, 3, 25, 12, 25, 15]
    assert committed(store)[:4] == committed(whole)[:4]
    assert [(r.slice, r.n) for r in closed(store)] == [(r.slice, r.n) for r in closed(whole)]
    for ours, theirs in zip(closed(store), closed(whole), strict=True):
        assert ours.topics is not None
        assert theirs.topics is not None
        np.testing.assert_allclose(ours.topics.n, theirs.topics.n, atol=0.05)


@pytest.mark.parametrize("at", all_but([0, 10, 25, 40, 41, 130, 160], 10, 25, 40, 130))
def test_a_source_that_fails_loses_nothing(at: int) -> None:
    store = MemoryStore()
    with pytest.raises(Aborted):
        engine([*FOUR_YEARS[:at], ABORT, *FOUR_YEARS[at:]], store, epoch_documents=25, batch_documents=10).run()
    engine(FOUR_YEARS, store, epoch_documents=25, batch_documents=10).run()
    assert committed(store) == committed(run(FOUR_YEARS, epoch_documents=25, batch_documents=10))


def test_batches_learnt_in_place_leave_what_is_restored() -> None:
    store, source = MemoryStore(), OneByOne(FOUR_YEARS)
    first = engine(source, store, epoch_documents=30, batch_documents=10, threads=3)
    first.run(stop=lambda: source.handed >= 70)
    second = engine(FOUR_YEARS, store, threads=3)
    ours, theirs = track_state(first), track_state(second)
    assert ours is not None
    assert theirs is not None
    assert ours.open.documents == 30
    np.testing.assert_array_equal(ours.gamma, theirs.gamma)
    np.testing.assert_array_equal(ours.f, theirs.f)


def test_a_finished_run_adds_nothing() -> None:
    store = run(FOUR_YEARS)
    epochs = len(store.commits)
    again = engine(FOUR_YEARS, store)
    again.run()
    assert again.finished
    assert len(store.commits) == epochs


def test_a_finished_run_goes_on_when_the_source_has_grown() -> None:
    store = run(FOUR_YEARS[:120])
    more = engine(FOUR_YEARS, store)
    more.run()
    assert more.finished
    assert [(r.slice.label, r.n) for r in closed(store)] == [(str(year), 40) for year in (2001, 2002, 2003, 2004)]
    assert {s.slice for s in store.commits[-1].smoothed} == {2001, 2002, 2003, 2004}


class Remembering(MemoryStore):
    """Keeps the sums of the open slice that every commit was given, and what they were then."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []

    def commit(self, *commits: Commit) -> None:
        super().commit(*commits)
        given = [one.open_state["open.s"] for one in commits if "open.s" in one.open_state]
        self.sums += [(s, s.copy()) for s in given]


def test_what_is_being_written_does_not_change_while_more_is_learnt() -> None:
    store = Remembering()
    engine(FOUR_YEARS, store, epoch_documents=15, batch_documents=5).run()
    assert sum(len(was) > 0 for _, was in store.sums) > 4
    for given, was in store.sums:
        np.testing.assert_array_equal(given, was)


class Locked(MemoryStore):
    """Refuses one epoch a few times."""

    def __init__(self, epoch: int, times: int) -> None:
        super().__init__()
        self.epoch, self.times = epoch, times

    def commit(self, *commits: Commit) -> None:
        if self.times and self.epoch in [one.epoch.epoch for one in commits]:
            self.times -= 1
            raise StoreLocked("the run file is held by somebody")
        super().commit(*commits)


def test_an_epoch_waits_for_a_locked_store(caplog: pytest.LogCaptureFixture) -> None:
    store = Locked(epoch=3, times=2)
    engine(FOUR_YEARS, store, epoch_documents=25).run()
    assert committed(store) == committed(run(FOUR_YEARS, epoch_documents=25))
    assert caplog.text.count("epoch 3 waits") == 2


def test_a_locked_store_does_not_outlive_a_stop() -> None:
    store = Locked(epoch=3, times=10**9)
    with pytest.raises(StoreLocked):
        engine(FOUR_YEARS, store, epoch_documents=25).run(stop=lambda: store.times < 10**9)
    assert len(store.commits) == 2


@pytest.mark.parametrize("slices", ["year", "quarter", "month", "week", "day", "hour", "10"])
def test_a_stream_may_begin_with_rejected_messages(slices: str) -> None:
    store = run([b"?"] * 12, slices=slices, epoch_documents=5)
    assert [c.epoch.rejected for c in store.commits] == [5, 5, 2]
    assert not closed(store)
    assert store.commits[-1].finished


def test_nothing_at_all_commits_nothing() -> None:
    assert not run([]).commits


def test_the_calendar_ends_with_the_year_9999() -> None:
    assert [r.slice.label for r in closed(run(years({9998: 20, 9999: 20})))] == ["9998", "9999"]


def noise(sizes: dict[int, int]) -> list[Any]:
    """Documents of one word each, that no other has."""
    letters = "abcdefghijklmnopqrst"
    items = years(sizes)
    for i, item in enumerate(items):
        assert isinstance(item, dict)
        item["text"] = "".join(letters[(i // 20**j) % 20] for j in range(5))
    return items


HUGE = 4600


def test_topics_start_in_the_middle_of_a_huge_slice() -> None:
    found: list[int] = []

    def count(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        assert len(documents) == len(topics)
        found.extend(topics.tolist())

    items = years({2001: HUGE, 2002: 300})
    store = run(items, epoch_documents=500, assigned=count)
    epochs = [c.epoch for c in store.commits]
    assert [e.topics is not None for e in epochs] == [False] * 10 + [True]  # a store in memory keeps the newest
    assert [bool(np.isfinite(e.prequential)) for e in epochs] == [False] * 8 + [True] * 3
    assert len(found) == HUGE + 300 - 4000
    subject = [i % 3 for i in range(4000, HUGE + 300)]
    assert len(set(zip(subject, found, strict=True))) == 3
    first, second = closed(store)
    assert first.n == HUGE
    assert first.topics is not None
    assert first.topics.n.sum() == pytest.approx(HUGE, rel=1e-3)
    assert [(e.kind, e.topic) for e in first.events] == [("started", 0), ("started", 1), ("started", 2)]
    assert not second.events


def test_a_run_that_started_in_a_huge_slice_can_be_continued() -> None:
    items = years({2001: HUGE, 2002: 300})
    store = MemoryStore()
    with pytest.raises(Aborted):
        engine([*items[:4400], ABORT, *items[4400:]], store, epoch_documents=500).run()
    engine(items, store, epoch_documents=500).run()
    assert committed(store) == committed(run(items, epoch_documents=500))


def test_a_first_slice_that_is_too_small_waits() -> None:
    store = run(years({2001: 5, 2002: 4, 2003: 40}), topics=6)
    reports = closed(store)
    assert [r.n for r in reports] == [5, 4, 40]
    assert [r.topics is None for r in reports] == [True, True, False]
    assert [len(r.events) for r in reports] == [0, 0, 6]
    smoothed = {s.slice: s.topics for c in store.commits for s in c.smoothed}
    assert sorted(smoothed) == [2001, 2002, 2003]
    assert smoothed[2001].n.sum() == pytest.approx(5, abs=1e-3)


@pytest.mark.thorough
def test_many_slices_before_the_first_topics_cost_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, looked_at = list[int](), list[int]()
    encode, statistics = TextEncoder.encode, filtering.statistics

    def counted(self: TextEncoder, counts: Any) -> Any:
        encoded.append(len(counts))
        return encode(self, counts)

    def told(state: TrackState) -> Any:
        looked_at.append(len(state.window))
        return statistics(state)

    monkeypatch.setattr(TextEncoder, "encode", counted)
    monkeypatch.setattr("vmfstream.online.slice_end.statistics", told)
    one_a_year = years(dict.fromkeys(range(1001, 1121), 1))
    store = run(one_a_year, topics=60)
    slices = closed(store)
    assert [one.topics is None for one in slices] == [True] * 119 + [False]
    assert len(encoded) <= 3 * len(slices)
    run([*one_a_year, document(120, 1121), document(121, 1122)], topics=60)
    assert max(looked_at) <= WindowSettings().most_slices + 1


@pytest.mark.parametrize(("documents", "topics"), [(1, 0), (2, 0), (12, 12)])
def test_more_topics_than_documents(documents: int, topics: int) -> None:
    store = run(years({2001: documents}), topics=30)
    (report,) = closed(store)
    assert report.n == documents
    assert store.commits[-1].finished
    assert (report.topics is not None) == bool(topics)
    if report.topics is not None:
        assert 1 <= len(report.topics.topic) <= topics
        assert report.topics.n.sum() == pytest.approx(documents, abs=1e-3)


def test_topics_that_are_added_later_have_new_ids() -> None:
    strangers = noise({2001: 1004})[1000:]  # without known words: eight documents are left for the first topics
    store = run([*years({2001: 8}), *strangers, *years({2001: 8, 2002: 40})[8:]], topics=6)
    first, second = closed(store)
    assert first.topics is not None
    assert second.topics is not None
    assert first.topics.topic.tolist() == [0, 1, 2, 3]
    assert second.topics.topic.tolist() == [0, 1, 2, 3, 4, 5]
    assert [event.topic for event in first.events] == [0, 1, 2, 3]
    assert [event.topic for event in second.events] == [4, 5]


def test_words_of_a_new_slice_appear() -> None:
    later = (*SUBJECTS[:2], ["wheat", "barley", "farmer", "drought", "dust", "locust", "famine", "relief"])
    items = years({2001: 60}) + [document(100 + i, 2002, later) for i in range(60)]
    before, after = closed(run(items))
    assert before.dimension == 24
    assert after.dimension == 29
    assert before.topics is not None
    assert after.topics is not None
    strongest = [{word for word, _ in words[:8]} for words in before.topics.words]
    farm = strongest.index(set(SUBJECTS[2]))
    assert {"drought", "dust", "famine", "locust", "relief"} <= {word for word, _ in after.topics.words[farm][:13]}
    harbour = strongest.index(set(SUBJECTS[0]))
    assert {word for word, _ in after.topics.words[harbour][:8]} == set(SUBJECTS[0])


def test_documents_without_known_words_belong_nowhere() -> None:
    found: list[int] = []

    def count(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        found.extend(topics.tolist())

    items = [*years({2001: 30}), *({"id": f"x{i}", "time": 2002, "text": f"qqq{i} and the"} for i in range(4))]
    store = run(items, assigned=count)
    assert found == [-1] * 4
    assert store.commits[-1].epoch.empty == 4
    assert store.commits[-1].epoch.oov_rate == 1.0
    assert np.isnan(store.commits[-1].epoch.prequential)


def test_documents_that_share_no_word_are_not_kept_for_ever() -> None:
    items = noise({2001: 1000, 2002: 3000})
    store = MemoryStore()
    with pytest.raises(Aborted):
        engine([*items, ABORT], store, epoch_documents=1000).run()
    continued = engine([*items, *years({2002: 4000, 2003: 60})[4000:]], store, epoch_documents=1000)
    assert continued.documents == 4000
    assert continued.state.buffer.documents == 0
    continued.run()
    assert [r.n for r in closed(store)] == [1000, 3000, 60]
    assert [r.topics is None for r in closed(store)] == [True, True, False]


def test_vectors_are_followed_too() -> None:
    rng = np.random.default_rng(0)
    items: list[Any] = []
    for i in range(120):
        value = rng.normal(0.0, 0.1, 6)
        value[i % 3] += 1.0
        items.append({"id": str(i), "time": 2001 + i // 40, "v": value.tolist()})
    store = run(items, encoder=VectorEncoder(6, list("abcdef")), codec=FieldCodec(vector="v"))
    for report in closed(store):
        assert report.topics is not None
        assert report.dimension == 6
        assert sorted(words[0][0] for words in report.topics.words) == ["a", "b", "c"]


def test_an_engine_reads_counts_of_earlier_runs() -> None:
    store = run([*FOUR_YEARS, b"?"])
    again = engine(FOUR_YEARS, store)
    assert (again.documents, again.rejected, again.epoch) == (160, 1, 4)
    assert again.state.model.begun


def test_typical_documents_belong_to_their_topic() -> None:
    store = run(FOUR_YEARS, representative_documents=2, encoder=TextEncoder())
    for report in closed(store):
        assert report.representative is not None
        assert report.topics is not None
        assert report.representative.rank.tolist() == [1, 2] * 3
        for topic, id in zip(report.representative.topic, report.representative.id, strict=True):
            words = {word for word, _ in report.topics.words[int(topic)]}
            assert words & set(SUBJECTS[int(id[1:]) % 3])


def test_a_slice_larger_than_what_is_kept_is_still_judged_and_shown() -> None:
    """One epoch may hold more documents than are kept of a slice; the first of them are kept all the same."""
    items = [document(i, year) for year in (2001, 2002, 2003) for i in range(year * 10_000, year * 10_000 + 4500)]
    store = run(items, epoch_documents=6000)
    reports = closed(store)
    assert [r.n for r in reports] == [4500, 4500, 4500]
    for report in reports[1:]:
        assert report.topics is not None
        assert report.topics.n.sum() == pytest.approx(4500, rel=0.01)
        assert np.isfinite(report.predicted)
        assert report.representative is not None
        assert len(report.representative.id) > 0
