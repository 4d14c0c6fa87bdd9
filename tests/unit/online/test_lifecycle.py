"""Topics that are born, split, merge, sleep and wake, on simulated streams and on shuffled real text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from tests.data import corpus_file
from tests.tiers import first_of
from tests.unit.online.streams import LIVING, PLAIN, Story, assert_same, begun, follow, learn, sparse, story
from tests.unit.online.test_state import through_a_file
from vmfstream.directional.bessel import log_partition
from vmfstream.online import lifecycle, mergers, slice_end, tracker
from vmfstream.online.belief import Belief, new_topic_log_density, score, with_prediction
from vmfstream.online.births import Group
from vmfstream.online.new_groups import find_new_groups
from vmfstream.online.reading import novelty
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import OpenSlice, Rows, TrackerSettings, TrackState, rows_in_columns
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import with_topic, with_topics_merged
from vmfstream.online.vocabulary_change import regrown
from vmfstream.records import Document, Event
from vmfstream.text.encoders import TextEncoder

Counts = NDArray[np.int64]
SEEDS = (0, 1, 2)


def counts(slices: int, *shares: int) -> Counts:
    """The same documents per topic in every slice."""
    return np.tile(np.array(shares, np.int64), (slices, 1))


def lived(stream: Story, settings: TrackerSettings) -> tuple[TrackState, list[list[Event]], list[NDArray[np.int64]]]:
    """Follow a story; what happened in each slice after the first, and the ids that its documents got on arrival."""
    state, events, ids = begun(stream.xs, settings), [], []
    for x in stream.xs[1:]:
        after, info = tracker.step(state, x, settings)
        ids.append(after.ids[info.label])
        state, closed = learn(state, x, settings)
        events.append(list(closed.events))
    return state, events, ids


def found(events: Sequence[Sequence[Event]], kind: str) -> list[tuple[int, Event]]:
    """Events of a kind with their slices."""
    return [(t, event) for t, now in enumerate(events, 1) for event in now if event.kind == kind]


# --- births ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_an_eighth_of_a_slice_is_born_within_two_slices(seed: int) -> None:
    plan = counts(14, 26, 26, 26, 26, 26, 0)
    plan[8:, 5] = 18
    stream = story(plan, seed=seed)
    state, events, ids = lived(stream, LIVING)
    ((at, born),) = found(events, "born")
    assert 8 <= at <= 10
    assert born.topic == 6
    assert born.value is not None
    assert born.evidence is not None
    assert born.chance is not None
    assert born.value >= 9
    assert born.evidence > 10
    assert born.chance < 1e-4
    given = np.concatenate(ids[at:]) == born.topic
    planted = np.concatenate(stream.labels[at + 1 :]) == 5
    assert planted[given].mean() > 0.9
    assert given[planted].mean() > 0.9
    assert len(np.unique(state.ids)) == state.k == 6
    assert adjusted_rand_score(np.concatenate(stream.labels[1:]), np.concatenate(ids)) >= 0.9


def two_new(monkeypatch: pytest.MonkeyPatch, settings: TrackerSettings) -> tuple[list[int], list[int]]:
    """Slices in which topics are born, and those searched: two classes come in slice 8, the next two are empty.

    A search that finds both as one group finds three: each class, and between them, both.
    """
    plan = counts(12, 26, 26, 26, 26, 26, 0, 0)
    plan[8, 5:] = 30
    plan[9:11] = 0
    stream, searched = story(plan), list[int]()

    def by_class(recent: Any, slices: NDArray[np.int64], *given: Any) -> Iterator[Group]:
        searched.append(int(slices.max()))
        label = np.concatenate([stream.labels[t] for t in np.unique(slices)])
        for group in find_new_groups(recent, slices, *given):
            parts = (group.joins & one for one in (label == 5, label >= 5, label == 6))
            yield from (replace(group, joins=part) for part in parts if part.any())

    monkeypatch.setattr(lifecycle, "find_new_groups", by_class)
    return [at for at, _ in found(lived(stream, settings)[1], "born")], searched


def test_nothing_is_born_in_an_empty_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    born, searched = two_new(monkeypatch, replace(LIVING, topics=8, births=BirthSettings(most_births=1)))
    assert born == [8]
    assert not {9, 10} & set(searched)


def test_groups_that_share_no_document_are_born_of_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    born, searched = two_new(monkeypatch, replace(LIVING, topics=8, births=BirthSettings(most_births=2)))
    assert born == [8, 8]
    assert searched.count(8) == 1


def test_sleepers_leave_their_places_but_keep_their_ids() -> None:
    plan = counts(18, 26, 26, 26, 26, 26, 0)
    plan[5:14, 0] = 0
    plan[10:, 5] = 18
    stream = story(plan)
    state, events, ids = lived(stream, replace(LIVING, topics=5))
    ((_, dormant),) = found(events, "dormant")
    ((at, born),) = found(events, "born")
    ((_, woken),) = found(events, "woken")
    assert not found(events, "ended")
    assert 10 <= at <= 12
    assert (dormant.topic, born.topic) == (woken.topic, state.next_id - 1)
    assert (ids[-1] == dormant.topic).tolist() == (stream.labels[-1] == 0).tolist()
    assert state.k == 6


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_a_newborn_takes_the_place_of_the_longest_asleep(seed: int) -> None:
    plan = counts(20, 26, 26, 26, 26, 26, 0, 0, 0)
    plan[5:, 0] = plan[6:, 1] = plan[7:, 2] = 0
    plan[11:, 5] = plan[14:, 6] = plan[17:, 7] = 18
    state, events, ids = lived(story(plan, seed=seed), replace(LIVING, topics=5))
    dormant = [event.topic for _, event in found(events, "dormant")]
    ((at, ended),) = found(events, "ended")
    born = found(events, "born")
    assert len(dormant) == 3
    assert [event.topic for _, event in born] == [5, 6, 7]
    assert (at, ended.topic) == (born[-1][0], dormant[0])
    assert ended.topic not in state.ids
    assert ended.topic not in np.concatenate(ids[at:])
    assert state.k == 7


def turning(*, at: int, seed: int) -> Story:
    """A story whose fourth topic exchanges half of its words from slice ``at`` on."""
    stream = story(counts(at + 6, 30, 30, 30, 30), length=120, seed=seed)
    words = np.random.default_rng(1).permutation(800)[:400]
    for t in range(at, at + 6):
        x = stream.xs[t].toarray()
        own = stream.labels[t] == 3
        x[np.ix_(own, words)] = x[np.ix_(own, np.roll(words, 1))]
        stream.xs[t] = sparse(x)
    return stream


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_a_topic_that_turns_is_not_born_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = turning(at=10, seed=seed)
    _, events, ids = lived(stream, replace(LIVING, topics=5))
    assert not found(events, "born")
    before, after = (np.unique(ids[t - 1][stream.labels[t] == 3]).tolist() for t in (9, 15))
    assert before == after
    assert adjusted_rand_score(stream.labels[15], ids[14]) == 1
    monkeypatch.setattr(lifecycle, "_has_drifted", lambda life, state, group, memory: False)
    monkeypatch.setattr(lifecycle, "_same_topic", lambda *given: None)
    assert found(lived(stream, replace(LIVING, topics=5))[1], "born")


def test_documents_that_return_wake_their_topic() -> None:
    plan = counts(16, 26, 26, 26, 26, 26)
    plan[5:12, 0] = plan[13:, 0] = 0
    stream = story(plan)
    settings = replace(LIVING, topics=5)
    state, events, _ = lived(Story(stream.xs[:13], stream.labels[:13]), settings)
    ((_, dormant),) = found(events, "dormant")
    column = state.ids.tolist().index(dormant.topic)
    state = replace(state, slice=state.slice - 1)
    assert state.life is not None
    recent = state.life.recent
    forgotten = np.where((recent.topic == dormant.topic) & (recent.slice == 12), -100.0, recent.gain)
    dozing = np.where(np.arange(state.k) == column, 7, state.life.dormant_since)
    life = replace(state.life, recent=replace(recent, gain=forgotten), dormant_since=dozing)
    after, (event,) = lifecycle.with_births(replace(state, life=life), settings)
    assert (event.kind, event.topic) == ("woken", dormant.topic)
    assert event.value is not None
    assert event.value >= 20
    assert after.life is not None
    assert after.life.dormant_since[column] < 0
    assert after.ids.tolist() == state.ids.tolist()
    assert after.next_id == state.next_id
    assert after.n_past.sum() == pytest.approx(state.n_past.sum())


def test_the_number_of_topics_is_bounded() -> None:
    plan = counts(12, 26, 26, 26, 26, 26, 0)
    plan[8:, 5] = 18
    state, events, _ = lived(story(plan), replace(LIVING, topics=5))
    assert not found(events, "born")  # all five are worth more than the newcomer
    assert state.k == 5


def test_a_group_takes_a_slot_from_topics_that_lately_lose_less_than_it_gains() -> None:
    settings = replace(LIVING, topics=4, mergers=replace(LIVING.mergers, crowded_cosine=0.0))
    state, _ = follow(story(counts(14, 40, 40, 40, 40)).xs, settings)
    evidence, _ = TopicPairs(settings).evidence(state)
    a, b = divmod(int(np.argmax(np.where(np.eye(4), -np.inf, evidence))), 4)
    forgotten = replace(state, window=tuple(replace(w, x=w.x[:0], resp=w.resp[:0]) for w in state.window))
    ever = -evidence[a, b]
    lately = ever + TopicPairs(settings).evidence(forgotten)[0][a, b]
    assert 0.0 < lately < 0.8 * ever

    def room(gain: float, state: TrackState = state, *, on_trial: bool = True) -> tuple[TrackState | None, list[str]]:
        roomy, events = lifecycle.with_room(state, settings, gain, TopicPairs(settings), on_trial=on_trial)
        return roomy, [event.kind for event in events]

    assert room(1.01 * lately) == (state, [])  # the two are merged when the trial of the new one is over
    assert room(0.99 * lately) == (None, [])
    assert room(0.99 * ever, on_trial=False) == (None, [])
    assert room(1.01 * ever, on_trial=False)[1] == ["merged"]
    alone = replace(state, window=())  # all that is known of the topics is older then, and counts
    assert room(1.0, alone) == room(1.0, alone, on_trial=False) == (None, [])


CROWDED = replace(LIVING, topics=5, mergers=replace(LIVING.mergers, crowded_cosine=0.0))


def newcomers(stays: bool, empty: int = 0) -> tuple[Story, TrackState, list[list[Event]]]:
    """Follow as many topics as there may be, and from slice 8 on another kind of documents, or only for two slices.

    So many slices from slice 10 on are ``empty``.
    """
    plan = counts(14 + empty, 26, 26, 26, 26, 26, 0)
    plan[8 : None if stays else 10, 5] = 60
    plan[10 : 10 + empty] = 0
    stream = story(plan)
    state, events, _ = lived(stream, CROWDED)
    return stream, state, events


def judged_mergers(events: Sequence[Sequence[Event]]) -> list[tuple[int, Event]]:
    """Mergers by evidence; those of numbers that fits of the warm-up have given up have none."""
    return [(at, event) for at, event in found(events, "merged") if event.evidence is not None]


def test_a_topic_whose_documents_stop_coming_ends_with_its_trial_and_no_other_pays() -> None:
    _, state, events = newcomers(stays=False)
    ((at, born),) = found(events, "born")
    ((end, ended),) = found(events, "ended")
    assert ended.topic == born.topic
    assert end == at + CROWDED.births.trial_slices
    assert ended.value is None
    assert ended.evidence is not None
    assert not judged_mergers(events)
    assert born.topic not in state.ids
    assert state.k == 5


def test_documents_of_a_topic_that_ends_with_its_trial_go_to_others() -> None:
    stream, _, events = newcomers(stays=False)
    ((end, ended),) = found(events, "ended")
    settings = replace(CROWDED, window=900)  # it holds all that the topic got
    state = begun(stream.xs, settings)
    for x in stream.xs[1 : end + 1]:
        state, _ = learn(state, x, settings)
    assert ended.topic not in state.ids
    assert state.window[0].index < end - settings.births.trial_slices
    heirs = set[int]()
    for w in state.window:
        np.testing.assert_allclose(w.resp.sum(axis=1), 1.0, rtol=1e-5)
        heirs |= set(w.resp[stream.labels[w.index] == 5].argmax(axis=1).tolist())
    assert len(heirs) > 1  # each goes to the topic that explains it best, not all to one


def test_a_topic_whose_documents_go_on_keeps_its_place_and_two_others_become_one() -> None:
    _, state, events = newcomers(stays=True)
    ((at, born),) = found(events, "born")
    ((merger, merged),) = judged_mergers(events)
    assert merger == at + CROWDED.births.trial_slices
    assert born.topic not in {merged.topic, merged.other}
    assert born.topic in state.ids
    assert state.k == 5


def test_empty_slices_are_no_part_of_a_trial() -> None:
    _, state, events = newcomers(stays=True, empty=4)
    ((at, born),) = found(events, "born")
    ((merger, _),) = judged_mergers(events)
    assert at < 10
    assert merger == at + CROWDED.births.trial_slices + 4
    assert not found(events, "ended")
    assert born.topic in state.ids


def test_a_topic_on_trial_is_one_more_and_pinned_it_does_not_end() -> None:
    stream, _, events = newcomers(stays=False)
    ((at, born),) = found(events, "born")
    state = begun(stream.xs, CROWDED)
    for x in stream.xs[1 : at + CROWDED.births.trial_slices]:
        state, _ = learn(state, x, CROWDED)
    assert state.k == 6
    pinned = replace(state, by_hand=replace(state.by_hand, pinned=(born.topic,)))
    after, result = learn(pinned, stream.xs[at + CROWDED.births.trial_slices], CROWDED)
    assert born.topic in after.ids
    assert [event.kind for event in result.events] == ["merged"]


def test_a_topic_on_trial_becomes_part_of_one_that_it_is_much_alike_and_no_two_others_do() -> None:
    alike = replace(CROWDED, births=replace(CROWDED.births, trial_cosine=-1.0))  # any two are alike now
    plan = counts(14, 26, 26, 26, 26, 26, 0)
    plan[8:10, 5] = 60
    state, events, _ = lived(story(plan), alike)
    ((at, born),) = found(events, "born")
    ((merger, merged),) = judged_mergers(events)
    assert merger == at + 1  # it has no need of the end of its trial
    assert merged.topic == born.topic
    assert not found(events, "ended")
    assert state.k == 5


def test_finer_structure_that_is_not_new_is_a_split() -> None:
    plan = counts(12, 26, 26, 26, 26, 8)
    stream = story(plan)
    settings = replace(LIVING, topics=5, refit=False)
    state, _, _ = lived(stream, settings)
    column = int(np.argmin(state.n[:5]))
    parent = int(state.ids[0 if column else 1])
    coarse = with_topics_merged(state, column, 0 if column else 1)
    coarse = replace(coarse, slice=state.slice - 1)
    assert coarse.life is not None
    spoilt = [  # as if the fifth topic had never been known
        replace(sample, gain=np.where(sample.topic == state.ids[column], 0.0, sample.gain))
        for sample in (coarse.life.recent, coarse.life.control)
    ]
    coarse = replace(coarse, life=replace(coarse.life, recent=spoilt[0], control=spoilt[1]))
    after, events = lifecycle.with_births(coarse, settings)
    (event,) = events
    assert (event.kind, event.topic, event.other) == ("split", parent, 5)
    assert event.chance is not None
    assert event.chance > 1e-3
    assert after.ids.tolist() == [*coarse.ids.tolist(), 5]
    assert lifecycle.with_births(coarse, replace(settings, topics=4))[1] == []


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_first_stories_are_the_most_novel(seed: int) -> None:
    plan = counts(9, 26, 26, 26, 26, 26, 0)
    plan[8, 5] = 18
    stream = story(plan, seed=seed)
    state, _, _ = lived(Story(stream.xs[:8], stream.labels[:8]), LIVING)
    after, info = tracker.step(state, stream.xs[8], LIVING)
    novel = novelty(state, stream.xs[8], info)
    new = stream.labels[8] == 5
    assert novel[new].min() > novel[~new].max()
    assert (novel[~new] < 0).all()
    blank = csr_array((2, 800), dtype=np.float32)
    assert not novelty(after, blank, tracker.step(after, blank, LIVING)[1]).any()


# --- mergers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_halves_of_one_topic_flow_together(seed: int) -> None:
    stream = story(counts(8, 30, 30, 30, 30, 30), seed=seed)
    state, events, ids = lived(stream, replace(LIVING, topics=8))
    mergers = [event for _, event in found(events, "merged") if event.evidence is not None]  # fresh fits have none
    assert state.k == 5
    assert len(mergers) == 3
    assert len({event.topic for event in mergers}) == 3
    for event in mergers:
        assert event.evidence is not None
        assert event.value is not None
        assert event.evidence > 0
        assert event.value < 60
        assert event.topic not in state.ids
    assert adjusted_rand_score(np.concatenate(stream.labels[3:]), np.concatenate(ids[2:])) >= 0.9


@pytest.mark.parametrize(("halves", "sign"), [((0, 1), 1), ((0, 2), -1)])
def test_twenty_documents_tell_one_topic_from_two(halves: tuple[int, int], sign: int) -> None:
    stream = story(counts(1, 40, 20))
    x, z = stream.xs[0], stream.labels[0]
    rows = [np.flatnonzero(z == 0)[:20], np.flatnonzero(z == 0)[20:], np.flatnonzero(z == 1)]
    state = begun([x], replace(PLAIN, topics=3))
    resp = np.zeros_like(state.window[0].resp)
    for k, own in enumerate(rows):
        resp[own, k] = 1.0
    state = replace(state, window=(replace(state.window[0], resp=resp),))
    a, b = halves
    evidence, cosine = TopicPairs(replace(PLAIN, topics=3)).evidence(state)
    dense = x.toarray().astype(np.float64)
    anchor = state.anchor.astype(np.float64)
    h = [state.kappa * dense[own].sum(axis=0) for own in rows]

    def ell(v: NDArray[np.float64]) -> float:
        return float(log_partition(len(v), np.linalg.norm(v)))

    by_hand = ell(anchor + h[a] + h[b]) + ell(anchor) - ell(anchor + h[a]) - ell(anchor + h[b])
    assert evidence[a, b] == pytest.approx(by_hand, rel=1e-4)
    assert np.sign(evidence[a, b]) == sign
    f, g = anchor + h[a], anchor + h[b]
    assert cosine[a, b] == pytest.approx(f @ g / np.linalg.norm(f) / np.linalg.norm(g), rel=1e-5)


def test_the_topic_of_old_keeps_its_id_in_a_merger() -> None:
    state, _ = follow(story(counts(8, 30, 30)).xs, replace(LIVING, topics=2))
    assert state.life is not None
    evidence, cosine = TopicPairs(LIVING).evidence(state)
    for old, new in ((0, 1), (1, 0)):
        height = np.where(np.arange(2) == old, 0.5, 0.0)  # however many documents both have by now
        aged = replace(state, life=replace(state.life, reference_share=height))
        one, (event,) = mergers.merge_pair(aged, (0, 1), evidence, cosine)
        assert (event.topic, event.other) == (state.ids[new], state.ids[old])
        assert one.ids.tolist() == [state.ids[old]]


def test_topics_that_sleep_are_not_merged_for_want_of_worth() -> None:
    plan = counts(12, 26, 26, 26, 26)
    plan[6:, 2:] = 0
    state, _, _ = lived(story(plan), replace(LIVING, topics=4))
    evidence, cosine = TopicPairs(LIVING).evidence(state)
    speaking = mergers._merging_gain(state, np.zeros_like(evidence), np.ones_like(cosine), LIVING)
    inside = np.add.reduce([w.resp.sum(axis=0) for w in state.window])[:4]
    assert (inside < 1.0).sum() == 2
    assert speaking == pytest.approx(np.minimum.outer(inside, inside), abs=1e-3)


@pytest.mark.parametrize("few", [0, 1, 3])
def test_topics_stay_apart_while_hardly_any_document_comes(few: int) -> None:
    """Beliefs decay in a silence, and what decayed tells no topic from another."""
    plan = counts(12, *[30] * 6)
    plan[8:] = 0
    plan[8:, :few] = 1
    _, events, _ = lived(story(plan, length=10), replace(LIVING, topics=6, persistences=(0.5,)))
    assert [event for slice_, event in found(events, "merged") if slice_ >= 8] == []


def test_a_group_is_asked_for_by_who_holds_it_now() -> None:
    state, _ = follow(story(counts(8, 30, 30)).xs, replace(LIVING, topics=2))
    assert state.life is not None
    recent = state.life.recent
    foreign = replace(recent, topic=np.full(len(recent), 99))  # the topics of arrival have ended
    stored = lifecycle._holders(state, foreign)
    for w in state.window:
        here = recent.slice == w.index
        assert stored[here].tolist() == w.resp[recent.row[here]].argmax(axis=1).tolist()
    assert set(stored[recent.slice < state.window[0].index]) <= {-1}


# --- sleep ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_a_topic_sleeps_at_the_third_empty_slice_and_wakes_under_its_id(seed: int) -> None:
    plan = counts(14, 26, 26, 26, 26, 26)
    plan[7:11, 2] = 0
    stream = story(plan, seed=seed)
    state, events, ids = lived(stream, replace(LIVING, topics=5))
    ((at, dormant),) = found(events, "dormant")
    ((back, woken),) = found(events, "woken")
    assert at == 9
    assert back in (11, 12)
    assert dormant.topic == woken.topic
    assert dormant.value == pytest.approx(0, abs=0.5)
    assert (ids[-1] == dormant.topic).tolist() == (stream.labels[-1] == 2).tolist()
    assert adjusted_rand_score(np.concatenate(stream.labels[1:]), np.concatenate(ids)) >= 0.9
    assert state.ids.tolist() == [0, 1, 2, 3, 4]


def test_a_silent_stream_puts_nobody_to_sleep() -> None:
    plan = counts(12, 26, 26, 26)
    plan[6:11] = 0
    _, events, _ = lived(story(plan), replace(LIVING, topics=3))
    assert not any(events)


# --- places ---------------------------------------------------------------------------------------------------------


def test_documents_of_a_newcomer_count_once() -> None:
    state, _ = follow(story(counts(8, 30, 30)).xs, replace(LIVING, topics=4, window=100))
    assert state.life is not None
    assert state.past is not None
    members = state.life.recent.take(np.arange(0, len(state.life.recent), 3))
    grown = with_topic(state, members, LIVING)
    inside = members.slice >= state.window[0].index
    assert 0 < inside.sum() < len(inside)
    stored = np.add.reduce([w.resp.sum(axis=0) for w in grown.window])
    before = np.add.reduce([w.resp.sum(axis=0) for w in state.window])
    assert stored.sum() == pytest.approx(before.sum(), abs=1e-3)
    assert stored[state.k] == inside.sum()
    assert grown.n_past[state.k] == (~inside).sum()
    assert grown.past is not None
    for h, was in zip(grown.past, state.past, strict=True):
        assert np.array_equal(h[:, : state.k], was[:, : state.k])
        assert h[:, state.k].any()
        assert not h[:, state.k + 1 :].any()


def test_joining_keeps_every_document() -> None:
    state, _ = follow(story(counts(6, 30, 30, 30)).xs, replace(PLAIN, window=100))
    one = with_topics_merged(state, 2, 0)
    assert one.ids.tolist() == [0, 1]
    assert one.n_past.sum() == pytest.approx(state.n_past.sum())
    assert one.past is not None
    assert state.past is not None
    assert np.allclose(one.past[0][:, 0], state.past[0][:, 0] + state.past[0][:, 2])
    for a, b in zip(one.window, state.window, strict=True):
        assert np.allclose(a.resp[:, 0], b.resp[:, 0] + b.resp[:, 2])
        assert not a.resp[:, 2:].any()


def test_more_topics_than_sixteen_widen_everything() -> None:
    state, _ = follow(story(counts(8, 30, 30)).xs, replace(LIVING, topics=4))
    assert state.life is not None
    few, before = state.life.recent.take(np.arange(3)), state.k
    for _ in range(16):
        state = with_topic(state, few, LIVING)
    assert state.k == before + 16
    assert state.kp == 32
    assert state.past is not None
    assert {h.shape[1] for h in state.past} == {32} == {w.resp.shape[1] for w in state.window}
    state = replace(state, open=OpenSlice.empty(state.dim, state.kp))
    after, _ = learn(with_prediction(state, LIVING), story(counts(1, 30, 30)).xs[0], LIVING)
    assert np.isfinite(after.base).all()


# --- switched off, stored, moved ------------------------------------------------------------------------------------


def test_topics_that_do_not_live_know_no_life(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = story(counts(8, 30, 30, 30, 30, 30))
    settings = replace(LIVING, topics=8, living_topics=False)
    state, seen = follow(stream.xs, settings)
    assert state.life is None
    assert not any(closed.events for closed in seen)
    for module, name in ((lifecycle, "with_births"), (slice_end, "with_mergers")):
        monkeypatch.setattr(module, name, lambda state, settings, pairs: (state, []))
    monkeypatch.setattr(lifecycle, "with_dormancy", lambda state, n, settings: (state, []))
    monkeypatch.setattr(lifecycle, "with_arrivals", lambda state, x, belief, settings: state)
    again, seen_again = follow(stream.xs, settings)
    assert_same(state, again)
    assert_same(seen, seen_again)


def test_lives_are_stored_bit_for_bit() -> None:
    plan = counts(12, 26, 26, 26, 26, 26, 0)
    plan[8:, 5] = 18
    xs = story(plan).xs
    state, again = (begun(xs, LIVING) for _ in range(2))
    for x in xs[1:]:
        state, closed = learn(state, x, LIVING)
        again, closed_again = learn(through_a_file(again, LIVING), x, LIVING)
        assert_same(state, again)
        assert_same(closed, closed_again)
    assert state.next_id == 7


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_lives_move_to_a_new_vocabulary(kind: str) -> None:
    xs = story(counts(8, 30, 30), d=300).xs
    rows = list(xs) if kind == "csr" else [x.toarray() for x in xs]
    state, _ = follow(rows, replace(LIVING, topics=4))
    columns = np.append(np.arange(20, 300), np.full(100, -1)).astype(np.int32)
    window = [w.x for w in state.window]
    wider = [rows_in_columns(x, columns) for x in window]
    grown = regrown(state, columns, wider, rows_in_columns(rows[0][:0], columns), LIVING)
    assert state.life is not None
    assert grown.life is not None
    for old, new in ((state.life.recent, grown.life.recent), (state.life.control, grown.life.control)):
        assert new.gain == pytest.approx(old.gain * 380 / 300)
        a, b = (m if isinstance(m, np.ndarray) else m.toarray() for m in (old.x, new.x))
        kept = a[:, 20:] / np.linalg.norm(a[:, 20:], axis=1, keepdims=True)
        assert np.abs(b[:, :280] - kept).max() < 1e-6
        assert not b[:, 280:].any()
    assert grown.life.arrival_gain == pytest.approx(state.life.arrival_gain * 380 / 300)
    assert_same(grown.life.decayed_share, state.life.decayed_share)


# --- the samples ----------------------------------------------------------------------------------------------------


def test_samples_are_bounded_and_uniform() -> None:
    rules = BirthSettings(control_documents=200, slice_documents=40, least_control=10**9)
    plan = counts(24, 20, 20)
    plan[1:12] *= 2  # slices of 80, then of 40: as many are kept of each, but they stand for more
    state, _ = follow(story(plan, d=200, length=20).xs, replace(LIVING, topics=2, refit=False, births=rules))
    assert state.life is not None
    recent, control = state.life.recent, state.life.control
    assert np.unique(recent.slice).tolist() == [21, 22, 23]
    assert len(recent) == 120
    assert len(control) == 200
    early = np.count_nonzero(control.slice < 12) / 200
    assert early == pytest.approx(11 * 80 / (11 * 80 + 9 * 40), abs=0.1)
    assert control.slice.max() == 20


# --- real text in random order --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shuffled() -> list[csr_array[Any]]:
    """Twenty-six slices of 130 newsgroup posts in random order: nothing can be born in them."""
    import duckdb

    path = corpus_file("twenty_newsgroups/docs.parquet")
    table = duckdb.connect().execute(f"from '{path}' select text").fetchall()
    order = np.random.default_rng(1).permutation(len(table))[: 26 * 130]
    time = datetime(2000, 1, 1, tzinfo=UTC)
    documents = [Document("posts", int(i), str(i), time, table[i][0]) for i in order]
    encoder = TextEncoder(stop_words="scikit-learn")  # with this list the posts show what scores in sample do
    counted = encoder.count(documents)
    encoder.close_slice()
    x = encoder.encode(counted)
    return [x[130 * t : 130 * (t + 1)] for t in range(26)]


QUIET = TrackerSettings(topics=12, window=300, persistences=(0.98,), cold_starts=2, refit=False, living_topics=True)


@pytest.fixture(scope="module")
def quietly_born(shuffled: list[csr_array[Any]]) -> int:
    return births(shuffled)


def births(xs: list[csr_array[Any]]) -> int:
    _, seen = follow(xs, QUIET, given=3)
    return sum(event.kind == "born" for closed in seen for event in closed.events)


@pytest.mark.corpus
def test_nothing_is_born_in_a_shuffled_stream(quietly_born: int) -> None:
    assert quietly_born <= 1


@pytest.mark.corpus
def test_scores_of_learnt_documents_would_bring_false_births(
    shuffled: list[csr_array[Any]], quietly_born: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = lifecycle.with_arrivals

    def in_sample(state: TrackState, x: Rows, belief: Belief, settings: TrackerSettings) -> TrackState:
        state = arrived(state, x, belief, settings)
        life = state.life
        assert life is not None
        knows = belief._replace(f=state.f, gamma=state.gamma[: state.k])
        old = life.control
        if not len(old):
            return state
        gain = score(old.x, knows, threads=1)[0] - new_topic_log_density(old.x, state.anchor, state.kappa)
        return replace(state, life=replace(life, control=replace(old, gain=gain)))

    monkeypatch.setattr(lifecycle, "with_arrivals", in_sample)
    assert births(shuffled) > quietly_born
