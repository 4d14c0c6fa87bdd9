"""Topics joined and parted at once: the acceptance against densities written out, and visits by enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import gammaln

from tests.tiers import first_of
from tests.unit.bayes.multilevel.test_sampler import CASES, Tiny, bag_density, direction_density, unit
from vmfstream.arrays import ClusterLabels, Vector
from vmfstream.bayes.multilevel import sampler as ml
from vmfstream.bayes.multilevel.concentrations import ETA, REST, SPREAD, Laws
from vmfstream.bayes.multilevel.content import vector_content, word_content
from vmfstream.bayes.multilevel.split_merge import Proposal, proposed

V, ETA_OF_TINY = 1.9, 1.3


def log_prior(shares: Vector) -> float:
    """Density of the shares of topics, the last that of new ones, as parts of GEM(eta) without order."""
    return float(
        (len(shares) - 1) * np.log(ETA_OF_TINY) - np.log(shares[:-1]).sum() + (ETA_OF_TINY - 1) * np.log(shares[-1])
    )


def content_density(tiny: Tiny, tokens: ClusterLabels) -> float:
    if tiny.kind == "words":
        return bag_density(np.bincount(tiny.words[tokens], minlength=4), 0.3)
    return direction_density(tiny.vectors[tokens], tiny.vectors.sum(axis=0), 4.0, 0.7)


def log_allotment(tiny: Tiny, token: ClusterLabels, second: ClusterLabels, share: float) -> float:
    """log of the probability of the halves, each token of the topic given those before it."""
    cluster, value = tiny.z[tiny.of], 0.0
    for t in range(2, len(token)):
        weights = []
        for h in (0, 1):
            before = token[:t][second[:t] == h]
            seated = (cluster[before] == cluster[token[t]]).sum() + V * share / 2
            joined = content_density(tiny, np.append(before, token[t])) - content_density(tiny, before)
            weights.append(np.log(seated) + joined)
        value += weights[second[t]] - np.logaddexp(*weights)
    return float(value)


def log_share(tiny: Tiny, token: ClusterLabels, second: ClusterLabels, shares: Vector) -> float:
    """log of the density of u: a Beta law of about the tables of both halves."""
    level, opened, cluster = V * shares.sum() / 2, [], tiny.z[tiny.of]
    for h in (0, 1):
        n = np.unique(cluster[token[second == h]], return_counts=True)[1]
        opened.append((1 + level * np.log((n - 0.5 + level) / (0.5 + level))).sum())
    return float(stats.beta.logpdf(shares[0] / shares.sum(), *opened))


def by_definition(tiny: Tiny, shares: Vector, a: int, b: int | None, proposal: Proposal) -> float:
    """Joint density with two topics, Jacobian, proposal density of them, joint density with one."""
    halves, token, second = proposal.halves.share, proposal.token, proposal.second
    two, one = tiny.l.copy(), tiny.l.copy()
    if b is None:
        new = len(shares) - 1
        two[token[second == 1]] = new
        apart = np.append(np.append(shares[:-1], 0.0), shares[-1])
        apart[[a, new]], together = halves, np.append(np.append(shares[:-1], 1e-300), shares[-1])
        split, whole = log_prior(apart), log_prior(shares)
    else:
        one[one == b] = a
        apart, together = shares, shares.copy()
        together[a], together[b] = shares[a] + shares[b], 1e-300
        split, whole = log_prior(shares), log_prior(np.delete(together, b))
    split += tiny.log_joint(tiny.z, two, apart) + np.log(halves.sum())
    whole += tiny.log_joint(tiny.z, one, together)
    backward = log_allotment(tiny, token, second, halves.sum()) + log_share(tiny, token, second, halves)
    return float(split - whole - backward)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_acceptance_is_the_ratio_of_joint_and_proposal_densities(kind: str, seed: int) -> None:
    tiny = Tiny(kind, seed)
    chain = tiny.chain()
    chain.levels[ETA] = ETA_OF_TINY
    shares = np.append(chain.content.share[: chain.m], chain.levels[REST])
    parted = 0
    for i in range(len(tiny.l)):
        for j in range(len(tiny.l)):
            a, b = tiny.l[i], tiny.l[j]
            if i == j:
                continue
            found = proposed(i, j, -np.inf, *chain.parts[:2], chain.levels, chain.rng)
            assert found.token[:2].tolist() == [i, j]
            assert found.second[:2].tolist() == [0, 1]
            assert sorted(found.token) == np.flatnonzero((tiny.l == a) | (tiny.l == b)).tolist()
            expected = by_definition(tiny, shares, a, None if a == b else b, found)
            assert found.log_ratio == pytest.approx(expected, abs=1e-9)
            parted += a == b
    assert 10 < parted < 120


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_a_rejection_that_comes_early_would_have_come_late(kind: str) -> None:
    tiny = Tiny(kind, 0)
    chain = tiny.chain()
    early = 0
    for i in range(len(tiny.l)):
        for j in np.flatnonzero(tiny.l != tiny.l[i]).tolist():
            for limit in (-3.0, -1.0, -0.3, -0.03):
                decided = [
                    proposed(i, j, least, *chain.parts[:2], chain.levels, np.random.default_rng(i)).log_ratio
                    for least in (-np.inf, limit)
                ]
                assert (limit < -decided[0]) == (limit < -decided[1])
                early += decided[0] != decided[1]
    assert early > 20


FEW = [3, 2]
SIGHTS = np.array([0, 0, 1, 1, 2])


def few(kind: str) -> ml.Chain:
    """Two groups of five tokens, which stay clusters by themselves."""
    law = (1e9, 1e9)
    if kind == "words":
        content = word_content(csr_array(np.array([[2, 1, 0], [0, 1, 1]])), 0.3)
    else:
        content = vector_content(directions(), np.cumsum([0, *FEW]), kappa=4.0, c0=0.7)
    rng = np.random.default_rng(0)
    return ml.Chain(content, (), np.arange(2), rng, laws=Laws(law, law, law), fixed_kappa=True)


def directions() -> Vector:
    return unit(np.eye(3)[SIGHTS] + 0.4 * np.random.default_rng(3).standard_normal((5, 3)))


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n things, named in the order of their first members."""
    if n == 0:
        yield ()
        return
    for part in partitions(n - 1):
        for m in range(max(part, default=-1) + 2):
            yield (*part, m)


STIRLING = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 2, 3, 1]])


def log_weight(kind: str, part: tuple[int, ...]) -> float:
    """Chinese restaurant franchise of concentrations 1: sum over how many tables each topic has in each cluster."""
    l, of = np.array(part), np.repeat([0, 1], FEW)  # noqa: E741
    counts = np.array([np.bincount(l[of == k], minlength=max(part) + 1) for k in (0, 1)])
    total = 0.0
    for opened in np.ndindex(*(counts.ravel() + 1)):
        ways = np.prod(STIRLING[counts.ravel(), opened])
        if ways > 0:
            by_topic = np.reshape(opened, counts.shape).sum(axis=0)
            total += ways * np.exp(gammaln(by_topic).sum() - gammaln(1.0 + by_topic.sum()))
    value = np.log(total)
    for m in range(max(part) + 1):
        if kind == "words":
            value += bag_density(np.bincount(SIGHTS[l == m], minlength=3), 0.3)
        else:
            x = directions()
            value += direction_density(x[l == m], x.sum(axis=0), 4.0, 0.7)
    return float(value)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_of(["words", "vectors"]))
@pytest.mark.parametrize("with_tokens", first_of([True, False]))
def test_the_chain_visits_partitions_as_often_as_they_are_likely(kind: str, with_tokens: bool) -> None:
    chain, sweeps = few(kind), 8000
    places = {part: n for n, part in enumerate(partitions(5))}
    visits = np.zeros(len(places))
    for _ in range(sweeps):
        if with_tokens:
            chain.draw_tokens()
        chain.draw_pairs()
        chain.compact()
        chain.draw_shares()
        chain.levels[SPREAD] = 1.0
        names = dict[int, int]()
        visits[places[tuple(names.setdefault(m, len(names)) for m in chain.content.l.tolist())]] += 1
    assert chain.levels[ETA] == pytest.approx(1.0, abs=1e-3)
    weights = np.array([log_weight(kind, part) for part in places])
    p = np.exp(weights - weights.max())
    assert visits / sweeps == pytest.approx(p / p.sum(), abs=0.02)
    assert np.abs(visits / sweeps - p / p.sum()).sum() < 0.08
