"""Groups that are new: what is found, what was always there, and how often chance brings one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import binom

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Mask, Vector
from vmfstream.online.belief import log_density, new_topic_log_density
from vmfstream.online.births import (
    ScoredDocuments,
    SearchCache,
    gram_of,
    or_new,
    proposed_groups,
)
from vmfstream.online.document_sums import Pairs
from vmfstream.online.new_groups import (
    _above_best_cut,
    _Found,
    _largest,
    _left_out,
    _likeness,
    _likeness_to_others,
    _Pool,
    _Prior,
    find_new_groups,
)
from vmfstream.online.settings import BirthSettings

D, KAPPA = 300, 150.0
RULES = BirthSettings()
ANCHOR = np.asarray(60.0 * directions(np.random.default_rng(0), 1, D)[0], np.float32)
MEANS = directions(np.random.default_rng(99), 3, D)


def around(group: int, n: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return vmf_rows(rng, MEANS[group][None], np.zeros(n, np.int64), 0.45).astype(np.float32)


def noise(n: int, seed: int) -> NDArray[np.float32]:
    return directions(np.random.default_rng(seed), n, D).astype(np.float32)


def known(*parts: NDArray[np.float32]) -> ScoredDocuments:
    """Documents that the mixture explains a little worse than if it had no topics at all."""
    x = np.concatenate(parts)
    return ScoredDocuments(x, new_topic_log_density(x, ANCHOR, KAPPA) - 1.0)


def slices_of(*numbers: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(numbers)), numbers)


def test_a_group_of_the_newest_slices_is_found_whole() -> None:
    recent = known(noise(60, 1), noise(48, 2), around(0, 12, 3), noise(48, 4), around(0, 12, 5))
    (first, *_) = find_new_groups(recent, slices_of(60, 60, 60), known(noise(600, 6)), ANCHOR, KAPPA, RULES)
    mine = np.zeros(180, np.bool_)
    mine[108:120] = mine[168:] = True
    assert first.joins[mine].mean() > 0.9
    assert first.joins[~mine].sum() <= 4
    assert first.chance < 1e-10
    assert first.gain > 100
    assert [len(densities) for densities in first.densities()] == [180, 600]


def test_what_was_told_is_not_new_again() -> None:
    recent = known(noise(48, 4), around(0, 12, 5), noise(36, 2), around(1, 24, 3))
    told = np.arange(120) >= 96
    found = list(find_new_groups(recent, slices_of(60, 60), known(noise(600, 6)), ANCHOR, KAPPA, RULES, told))
    assert found
    assert not any(group.joins[told].any() for group in found)
    assert all(group.joins[48:60].sum() > 9 for group in found)


def test_what_was_as_frequent_before_is_not_new() -> None:
    recent = known(noise(48, 1), around(0, 12, 3), noise(48, 4), around(0, 12, 5))
    control = known(noise(480, 6), around(0, 120, 7))
    assert not list(find_new_groups(recent, slices_of(60, 60), control, ANCHOR, KAPPA, RULES))


def test_a_group_that_grew_is_new_by_what_is_above_its_old_share() -> None:
    recent = known(noise(20, 1), around(0, 40, 3), noise(60, 4))
    control = known(noise(590, 6), around(0, 10, 7))
    (first, *_) = find_new_groups(recent, slices_of(0, 60, 60), control, ANCHOR, KAPPA, RULES)
    assert first.chance < 1e-5


def test_old_documents_of_a_kind_do_not_hide_another_one_beside_it() -> None:
    beside = 0.8 * MEANS[0] + 0.6 * MEANS[1]
    rng = np.random.default_rng(8)
    old = vmf_rows(rng, (beside / np.linalg.norm(beside))[None], np.zeros(60, np.int64), 0.45).astype(np.float32)
    recent = known(noise(160, 1), around(0, 20, 3))
    found = list(find_new_groups(recent, slices_of(90, 90), known(noise(540, 6), old), ANCHOR, KAPPA, RULES))
    assert found
    assert found[0].joins[160:].mean() > 0.75


def test_chance_makes_hardly_any_group_new() -> None:
    """Documents of two groups and of none, in any order."""
    x = np.concatenate([around(0, 60, 1), around(1, 60, 2), noise(480, 3)])
    found = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(x))
        recent, control = known(x[order[:150]]), known(x[order[150:]])
        found += len(list(find_new_groups(recent, slices_of(50, 50, 50), control, ANCHOR, KAPPA, RULES)))
    assert found == 0


def test_documents_that_are_explained_make_no_group() -> None:
    recent = known(noise(48, 4), around(0, 12, 5))
    explained = recent._replace(s=recent.s + 1000.0)
    assert not list(find_new_groups(explained, slices_of(60), known(noise(600, 6)), ANCHOR, KAPPA, RULES))


def test_a_group_that_is_mostly_explained_is_not_born_of_its_rest() -> None:
    recent = known(noise(48, 4), around(0, 18, 5))
    recent.s[54:] += 1000.0  # a topic has twelve of the eighteen
    (rest, *_) = find_new_groups(
        recent, slices_of(66), known(noise(600, 6)), ANCHOR, KAPPA, replace(RULES, joining_share=0.3)
    )
    assert np.flatnonzero(rest.joins).tolist() == [48, 49, 50, 51, 52, 53]
    assert not list(find_new_groups(recent, slices_of(66), known(noise(600, 6)), ANCHOR, KAPPA, RULES))


@pytest.mark.parametrize("n", [1, 4])
def test_few_documents_make_no_group(n: int) -> None:
    assert not list(find_new_groups(known(noise(n, 1)), slices_of(n), known(noise(400, 2)), ANCHOR, KAPPA, RULES))


def test_no_gain_is_enough_if_so_told() -> None:
    recent = known(noise(48, 4), around(0, 12, 5))
    none = replace(RULES, least_gain=np.inf)
    assert not list(find_new_groups(recent, slices_of(60), known(noise(600, 6)), ANCHOR, KAPPA, none))


def test_members_are_judged_by_the_others() -> None:
    recent = or_new(known(around(0, 8, 1), noise(4, 2)), ANCHOR, KAPPA, RULES)
    members = np.arange(8)

    def density(rows: NDArray[np.float32], members: NDArray[np.intp]) -> Vector:
        dot, squares, f = _left_out(rows, members, _Prior(ANCHOR, KAPPA))
        return log_density(len(f), KAPPA, squares, dot)

    f = _left_out(recent.x, members, _Prior(ANCHOR, KAPPA))[2]
    assert f == pytest.approx(ANCHOR + KAPPA * recent.x[:8].astype(np.float64).sum(axis=0), rel=1e-5)
    for i in range(12):
        others = np.flatnonzero((np.arange(12) < 8) & (np.arange(12) != i))
        alone = density(recent.x[[*others, i]], np.arange(len(others)))
        assert density(recent.x, members)[i] == pytest.approx(alone[-1], abs=1e-3)


def cut_of(scores: Vector, newest: Mask) -> _Found:
    return _above_best_cut(scores, _Pool(np.zeros((0, D)), scores, newest, np.arange(len(scores))), RULES)


def test_the_cut_has_the_least_of_all_binomial_tails() -> None:
    rng = np.random.default_rng(3)
    newest = rng.random(300) < 0.25
    scores = rng.normal(0.0, 1.0, 300)
    scores[np.flatnonzero(newest)[:15]] += 3.0
    found = cut_of(scores, newest)
    expected = {}
    for cut in scores[newest]:
        above = scores >= cut
        new, old = np.count_nonzero(above & newest), np.count_nonzero(above & ~newest)
        more_often = new / newest.sum() >= RULES.least_odds * old / (~newest).sum()
        if new >= RULES.least_new and more_often:
            expected[cut] = binom.sf(new - 1, new + old, newest.mean())
    best = min(expected, key=lambda cut: expected[cut])
    assert found.chance == pytest.approx(expected[best], rel=1e-9)
    assert found.chance < 1e-4
    assert found.members.tolist() == np.flatnonzero((scores >= best) & newest).tolist()


def test_of_equal_scores_the_first_documents_are_above_the_cut() -> None:
    newest, scores = np.arange(400) >= 340, np.zeros(400)
    scores[350:] = 1.0
    scores[50:60] = 1.0  # as high as fifty new ones, and before them
    assert cut_of(scores, newest).members.tolist() == list(range(350, 400))
    assert cut_of(np.roll(scores, -60), np.roll(newest, -60)).members.tolist() == list(range(290, 340))


@pytest.mark.parametrize("most", [1, 3, 40, 100])
def test_the_largest_are_the_first_of_all_in_order(most: int) -> None:
    scores = np.random.default_rng(4).integers(0, 12, 60) / 7.0  # many are equal
    np.testing.assert_array_equal(_largest(scores, most), np.argsort(-scores, kind="stable")[:most])


def test_documents_that_do_not_count_are_as_if_they_were_not_there() -> None:
    rng = np.random.default_rng(3)
    newest, scores = rng.random(300) < 0.25, rng.normal(0.0, 1.0, 300)
    scores[np.flatnonzero(newest)[:15]] += 3.0
    counted = np.flatnonzero(rng.random(300) < 0.8)
    among = _Pool(np.zeros((0, D)), scores, newest, counted)
    found, alone = _above_best_cut(scores, among, RULES), cut_of(scores[counted], newest[counted])
    assert found.chance == alone.chance
    assert found.members.tolist() == counted[alone.members].tolist()


def test_what_a_search_remembers_changes_no_other() -> None:
    recent, control = known(noise(48, 4), around(0, 12, 5), around(1, 18, 3)), known(noise(600, 6))
    memory = SearchCache()
    rows = ScoredDocuments(csr_array(recent.x), recent.s), ScoredDocuments(csr_array(control.x), control.s)
    for raised in (0, 12):
        rows[0].s[48 : 48 + raised] += 1000.0
        for told in (None, np.arange(78) >= 72):
            given = rows[0], slices_of(30, 48), rows[1], ANCHOR, KAPPA, RULES, told
            alone, remembered = list(find_new_groups(*given)), list(find_new_groups(*given, memory))
            assert alone
            assert [group.chance for group in remembered] == [group.chance for group in alone]
            assert [group.joins.tolist() for group in remembered] == [group.joins.tolist() for group in alone]
            for one, other in zip(remembered, alone, strict=True):
                np.testing.assert_array_equal(np.concatenate(one.densities()), np.concatenate(other.densities()))


def test_a_kind_that_is_not_much_more_frequent_has_no_cut() -> None:
    newest = np.arange(1000) < 400
    scores = np.where(np.arange(1000) % 2 == 0, 0.0, np.where(newest, 2.0, 1.0) + np.arange(1000) / 1000)
    scores[400:620] += 2.0
    assert cut_of(scores, newest).chance == 1.0


@pytest.mark.parametrize("sparse", [False, True])
def test_documents_are_compared_with_the_others_of_a_group(*, sparse: bool) -> None:
    x = np.concatenate([around(0, 6, 1), noise(4, 2)])
    members = np.array([0, 1, 2, 7])
    rows = csr_array(x) if sparse else x
    (alone,) = _likeness(rows, [members]).T
    strict = _likeness_to_others(rows, members, Pairs(rows))
    length = np.linalg.norm(x[members].astype(np.float64).sum(axis=0))
    for i in range(10):
        others = members[members != i]
        dots = np.sort(x[others].astype(np.float64) @ x[i])
        rest = np.linalg.norm(x[others].astype(np.float64).sum(axis=0))
        assert alone[i] == pytest.approx(dots.sum() / rest, abs=1e-5)
        assert strict[i] == pytest.approx((dots.sum() - max(dots[-1], 0.0)) / length, abs=1e-5)


def test_pairs_that_answer_each_other_are_no_group() -> None:
    """Thirty pairs of documents share half of their words and one small thing with all pairs."""
    rng = np.random.default_rng(5)

    def pairs(n: int) -> NDArray[np.float32]:
        own = np.repeat(directions(rng, n, D), 2, axis=0)
        x = own + 0.9 * directions(rng, 2 * n, D) + 0.25 * MEANS[0]
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)

    for _ in range(5):
        recent, control = known(noise(60, 1), pairs(30)), known(noise(300, 6), pairs(60), noise(120, 7))
        assert not list(find_new_groups(recent, slices_of(60, 60), control, ANCHOR, KAPPA, RULES))


def test_words_that_old_documents_cannot_hold_make_no_group() -> None:
    def with_word(x: NDArray[np.float32], weight: float) -> csr_array:
        word = np.full((len(x), 1), weight, np.float32)
        return csr_array(np.hstack([x * np.float32(np.sqrt(1.0 - weight**2)), word]))

    def documents(x: NDArray[np.float32], weight: float) -> ScoredDocuments:
        rows = with_word(x, weight)
        return ScoredDocuments(rows, new_topic_log_density(rows, anchor, KAPPA) - 1.0)

    anchor = np.append(ANCHOR, np.float32(0.0))
    recent, control = documents(noise(100, 1), 0.5), documents(noise(400, 2), 0.0)
    assert not list(find_new_groups(recent, slices_of(50, 50), control, anchor, KAPPA, RULES))
    held = with_word(noise(400, 2), 0.0) + csr_array((np.full(1, 1e-3, np.float32), ([399], [D])), shape=(400, D + 1))
    assert list(find_new_groups(recent, slices_of(50, 50), control._replace(x=csr_array(held)), anchor, KAPPA, RULES))


def test_proposed_groups_overlap_only_if_they_may() -> None:
    beside = vmf_rows(np.random.default_rng(2), (MEANS[0] + MEANS[1])[None] / 1.41, np.zeros(12, np.int64), 0.45)
    recent = known(around(0, 12, 1), beside.astype(np.float32), around(1, 12, 3))
    x, b = recent.x, np.asarray(recent.x @ ANCHOR, np.float64)
    square = float(ANCHOR.astype(np.float64) @ ANCHOR)

    def most(*, overlapping: bool) -> int:
        found = proposed_groups(gram_of(x), b, square, KAPPA, D, recent.s, RULES, 9, overlapping=overlapping)
        return int(np.sum(list(found), axis=0).max())

    assert most(overlapping=False) == 1
    assert most(overlapping=True) == 2
