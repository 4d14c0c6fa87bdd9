"""Groups that are new: what is found, what was always there, and how often chance brings one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.online.births import ScoredDocuments, gram_of, new_topic_log_density, or_new, proposed_groups
from vmfstream.online.new_groups import _chance, _density, _Prior, find_new_groups
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
    assert first.joins[mine].all()
    assert first.joins[~mine].sum() <= 4
    assert first.chance < 1e-10
    assert first.gain > 100
    assert len(first.control) == 600


def test_what_was_as_frequent_before_is_not_new() -> None:
    recent = known(noise(48, 1), around(0, 12, 3), noise(48, 4), around(0, 12, 5))
    control = known(noise(480, 6), around(0, 120, 7))
    assert find_new_groups(recent, slices_of(60, 60), control, ANCHOR, KAPPA, RULES) == []


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
    found = find_new_groups(recent, slices_of(90, 90), known(noise(540, 6), old), ANCHOR, KAPPA, RULES)
    assert found
    assert found[0].joins[160:].mean() > 0.8


def test_chance_makes_hardly_any_group_new() -> None:
    """Documents of two groups and of none, in any order."""
    x = np.concatenate([around(0, 60, 1), around(1, 60, 2), noise(480, 3)])
    found = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(x))
        recent, control = known(x[order[:150]]), known(x[order[150:]])
        found += len(find_new_groups(recent, slices_of(50, 50, 50), control, ANCHOR, KAPPA, RULES))
    assert found == 0


def test_documents_that_are_explained_make_no_group() -> None:
    recent = known(noise(48, 4), around(0, 12, 5))
    explained = recent._replace(s=recent.s + 1000.0)
    assert find_new_groups(explained, slices_of(60), known(noise(600, 6)), ANCHOR, KAPPA, RULES) == []


@pytest.mark.parametrize("n", [1, 4])
def test_few_documents_make_no_group(n: int) -> None:
    assert find_new_groups(known(noise(n, 1)), slices_of(n), known(noise(400, 2)), ANCHOR, KAPPA, RULES) == []


def test_no_gain_is_enough_if_so_told() -> None:
    recent = known(noise(48, 4), around(0, 12, 5))
    none = replace(RULES, least_gain=np.inf)
    assert find_new_groups(recent, slices_of(60), known(noise(600, 6)), ANCHOR, KAPPA, none) == []


def test_members_are_judged_by_the_others() -> None:
    recent = or_new(known(around(0, 8, 1), noise(4, 2)), ANCHOR, KAPPA, RULES)
    members = np.arange(8)
    density, f = _density(recent, members, _Prior(ANCHOR, KAPPA))
    assert f == pytest.approx(ANCHOR + KAPPA * recent.x[:8].astype(np.float64).sum(axis=0), rel=1e-5)
    for i in range(12):
        others = np.flatnonzero((np.arange(12) < 8) & (np.arange(12) != i))
        alone, _ = _density(
            ScoredDocuments(recent.x[[*others, i]], recent.s), np.arange(len(others)), _Prior(ANCHOR, KAPPA)
        )
        assert density[i] == pytest.approx(alone[-1], abs=1e-3)


@pytest.mark.parametrize("risen", [1, 2, 3])
def test_the_chance_is_the_least_of_binomial_tails(risen: int) -> None:
    """Of all levels and all numbers of newest slices, whichever of them rose."""
    rng = np.random.default_rng(3)
    delta, before = rng.normal(-40.0, 40.0, 90), rng.normal(-40.0, 40.0, 200)
    slices = slices_of(30, 30, 30)
    delta[slices > 2 - risen] += 50.0
    expected = 1.0
    for newest in (1, 2, 3):
        now = slices > 2 - newest
        for level in RULES.levels:
            above, older = (delta[now] > level).sum(), (before > level).sum() + (delta[~now] > level).sum()
            if above >= RULES.least_members:
                expected = min(expected, binom.sf(above - 1, above + older, now.sum() / 290))
    assert _chance(delta, slices, before, RULES) == pytest.approx(expected, rel=1e-9)
    assert expected < 1e-3


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
