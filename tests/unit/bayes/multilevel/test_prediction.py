"""New groups under a draw of the multilevel sampler: probabilities and memberships against sums over all topics."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from tests.unit.bayes.multilevel.test_sampler import SIZES, Tiny, bag_density, direction_density, sequential_student
from vmfstream.arrays import Vector
from vmfstream.bayes.multilevel import contexts as mc
from vmfstream.bayes.multilevel import prediction as mp
from vmfstream.bayes.multilevel.sampler_state import Draw

TOKENS = np.array([2, 2, 2, 1])


def tiny_draw(seed: int = 3) -> Draw:
    chain = Tiny("words", seed).chain()
    return chain.draw(0.0)


def summed_out(draw: Draw, tokens: NDArray[np.int64], odds: Vector) -> tuple[float, Vector, Vector]:
    """p(tokens), p(topic of a further token | tokens) and p(cluster | tokens), by the sum over all topics of tokens."""
    like, (k, m) = mp.words_given_topics(draw), draw.tokens.shape
    of = np.zeros((k + 1, m + 1))
    of[:k, :m] = draw.tokens
    strength = of + draw.spread * draw.mixing[-1]
    clusters, topics = np.zeros(k + 1), np.zeros(m + 1)
    for l in product(range(m + 1), repeat=len(tokens)):  # noqa: E741
        count = np.bincount(l, minlength=m + 1)
        seat = gammaln(strength + count).sum(axis=1) - gammaln(strength).sum(axis=1)
        seat += gammaln(strength.sum(axis=1)) - gammaln((strength + count).sum(axis=1))
        p = np.exp(odds + seat) * np.prod(like[tokens, l])
        clusters += p
        topics += p @ ((strength + count) / (strength + count).sum(axis=1, keepdims=True))
    total = clusters.sum()
    return float(total), topics / total, clusters / total


def many(tokens: NDArray[np.int64], times: int) -> mp.Bags:
    return mp.Bags(len(tokens) * np.arange(times + 1), np.tile(tokens, times))


@pytest.mark.parametrize("steps", [0, 3])
def test_the_mean_of_the_estimates_is_the_sum_over_all_topics(steps: int) -> None:
    draw = tiny_draw()
    times = 20_000
    odds = np.log(np.append(draw.members, draw.alpha) / (draw.members.sum() + draw.alpha))
    expected, _, _ = summed_out(draw, TOKENS, odds)
    given = mp.words_given_topics(draw), many(TOKENS, times), np.tile(odds, (times, 1)), np.random.default_rng(0)
    drawn = np.exp(mp.log_probabilities(draw, *given, steps=steps))
    error = drawn.std() / np.sqrt(times)
    assert drawn.mean() == pytest.approx(expected, abs=4 * error)
    independent = np.exp(odds) @ np.prod(draw.mixing @ draw.topics[:, TOKENS], axis=1)
    assert abs(independent - expected) > 8 * error


def repeated(of: Vector, prior: Vector, like: Vector, times: int) -> float:
    """log p(one word so many times) in a cluster, by the sum over the numbers of its tokens on three topics."""
    first, second = np.meshgrid(np.arange(times + 1), np.arange(times + 1))
    possible = first + second <= times
    number = np.column_stack([first[possible], second[possible], times - first[possible] - second[possible]])
    strength = of + prior
    each = gammaln(times + 1) - gammaln(number + 1).sum(axis=1) + number @ np.log(like)
    each += (gammaln(strength + number) - gammaln(strength)).sum(axis=1)
    return float(logsumexp(each) + gammaln(strength.sum()) - gammaln(strength.sum() + times))


def test_a_long_group_unlike_all_clusters_is_one_by_itself() -> None:
    """A word of a topic of which each cluster has a part: only a new cluster can have that topic alone."""
    topics = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]], np.float32)
    tokens, shares = np.array([[600.0, 400.0, 0.0], [700.0, 300.0, 0.0]]), np.array([0.7, 0.29, 0.01])
    mixing = (np.vstack([tokens, np.zeros(3)]) + 0.5 * shares) / (np.append(tokens.sum(axis=1), 0.0)[:, None] + 0.5)
    given: dict[str, Any] = {
        "members": np.ones(2),
        "alpha": 1.0,
        "spread": 0.5,
        "tokens": tokens[:, :2],
        "mixing": mixing,
    }
    draw = replace(tiny_draw(), topics=topics, contexts=(), **given)
    like, odds = mp.words_given_topics(draw), mp.cluster_odds(draw, (), 1000)
    bags = many(np.ones(200, np.int64), 1000)
    found = mp.log_probabilities(draw, like, bags, odds, np.random.default_rng(0), steps=5)
    exact = [repeated(of, 0.5 * shares, like[1], 200) for of in (*tokens, np.zeros(3))]
    assert exact[2] > max(exact[:2]) + 100
    assert logsumexp(found) - np.log(1000) == pytest.approx(logsumexp(exact) - np.log(3), abs=0.1)


def test_memberships_are_those_of_the_sum_over_all_topics() -> None:
    draw = tiny_draw()
    odds = np.log(np.append(draw.members, draw.alpha))
    _, topics, clusters = summed_out(draw, TOKENS, odds)
    given = mp.words_given_topics(draw), many(TOKENS, 2000), np.tile(odds, (2000, 1)), np.random.default_rng(0)
    found_topics = mp.memberships(draw, *given)
    assert found_topics.sum(axis=1) == pytest.approx(1.0)
    assert found_topics.mean(axis=0) == pytest.approx(topics, abs=0.005)
    together = np.exp(mp.cluster_scores(draw, *given, steps=1)).mean(axis=0)
    assert together / together.sum() == pytest.approx(clusters, abs=0.005)


def test_a_further_token_is_predicted_from_those_seen() -> None:
    """p(a, b) / p(a) is the probability of b given a."""
    draw = tiny_draw()
    odds = np.log(np.append(draw.members, draw.alpha))
    both, _, _ = summed_out(draw, TOKENS[[0, 3]], odds)
    one, _, _ = summed_out(draw, TOKENS[:1], odds)
    like, times = mp.words_given_topics(draw), 2000
    topics = mp.memberships(draw, like, many(TOKENS[:1], times), np.tile(odds, (times, 1)), np.random.default_rng(0))
    found = np.exp(mp.further(like, many(TOKENS[3:], times), topics))
    assert found.mean() == pytest.approx(both / one, rel=0.01)


def test_a_group_without_tokens_has_what_its_contexts_say() -> None:
    draw = tiny_draw()
    odds = mp.cluster_odds(draw, [None] * 3, 2)
    assert np.exp(odds[0]) == pytest.approx(np.append(draw.members, draw.alpha) / (draw.members.sum() + draw.alpha))
    none = mp.Bags(np.zeros(3, np.int64), np.zeros(0, np.int64))
    like, rng = mp.words_given_topics(draw), np.random.default_rng(0)
    assert mp.cluster_scores(draw, like, none, odds, rng, steps=5) == pytest.approx(odds)
    topics = mp.memberships(draw, like, none, odds, rng)
    assert topics == pytest.approx(np.exp(odds) @ draw.mixing)
    assert mp.log_probabilities(draw, like, none, odds, rng, steps=5).tolist() == [0.0, 0.0]


def test_contexts_of_new_groups_weigh_clusters_by_their_predictive_densities() -> None:
    tiny = Tiny("words", 3)
    draw = tiny.chain().draw(0.0)
    rng = np.random.default_rng(5)
    times, tags = np.array([[0.3, -0.2], [np.nan, np.nan]]), np.array([[0, 2, 0, 1, 0], [0, 0, 0, 0, 0]])
    places = rng.standard_normal((2, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    fresh = mc.gaussian(times), mc.bag(csr_array(tags)), mc.direction(places)
    found = mp.cluster_odds(draw, fresh, 2)
    for j in range(2):
        expected = np.log(np.append(draw.members, draw.alpha))
        for k in range(len(expected)):
            members = np.flatnonzero(tiny.z == k)
            expected[k] += density(tiny, members, times[j], tags[j], places[j]) - density(tiny, members)
        assert found[j] - found[j, 0] == pytest.approx(expected - expected[0], abs=1e-9)


def density(tiny: Tiny, members: NDArray[np.int64], *more: Any) -> float:
    """Of the contexts of the members of a cluster, and of a new group."""
    times, tags, places = tiny.times[members], tiny.tags[members], tiny.places[members]
    if more:
        times, tags, places = (np.concatenate([a, b[None]]) for a, b in zip((times, tags, places), more, strict=True))
    times = times[np.isfinite(times[:, 0])]
    value = sum(sequential_student(times[:, c], 0.5, 1.5, 0.8) for c in range(2))
    value += 0.6 * bag_density(tags.sum(axis=0), 0.2)
    possible = np.abs(places).sum(axis=1) > 0
    return value + direction_density(places[possible], tiny.places.sum(axis=0), 3.0, 0.5)


def test_vectors_have_densities_relative_to_uniform() -> None:
    draw = Tiny("vectors", 1).chain().draw(0.0)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    like, top = mp.vectors_given_topics(draw, x)
    assert like.max(axis=1) == pytest.approx(1.0)
    assert (like * np.exp(top)[:, None]).mean(axis=0) == pytest.approx(1.0, abs=0.1)
    assert len(SIZES) == draw.members.sum()
