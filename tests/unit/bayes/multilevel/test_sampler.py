"""MC2: conditionals against a joint density written from the model, limits, sums, concentrations, recovery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import gammaln

from tests.unit.bayes.multilevel.conditionals import group_conditional, token_conditional
from tests.unit.mixtures.planted import nmi
from vmfstream.arrays import ClusterLabels, Vector
from vmfstream.bayes.multilevel import contexts as mc
from vmfstream.bayes.multilevel import sampler as ml
from vmfstream.bayes.multilevel.concentrations import ALPHA, ETA, REST, SPREAD, Laws, drawn_kappa, resampled
from vmfstream.bayes.multilevel.content import Content, vector_content, word_content
from vmfstream.bayes.multilevel.token_updates import tables
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.vmf import VonMisesFisher

SIZES = [3, 1, 4, 2, 2]
GROUPS, WORDS, D = len(SIZES), 4, 3


class Tiny:
    """Raw data of five groups, and the joint density of any labelling, written down without any sum that is kept."""

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kind, self.of = kind, np.repeat(np.arange(GROUPS), SIZES)
        self.words = np.sort(rng.integers(0, WORDS, len(self.of)) + WORDS * self.of) % WORDS
        self.vectors = unit(rng.standard_normal((len(self.of), D)))
        self.times = rng.standard_normal((GROUPS, 2))
        self.times[1] = np.nan
        self.tags = rng.integers(0, 3, (GROUPS, 5))
        self.tags[3] = 0
        self.places = unit(rng.standard_normal((GROUPS, D)))
        self.places[4] = 0.0
        self.z, self.l = rng.integers(0, 3, GROUPS), rng.integers(0, 4, len(self.of))

    def content(self) -> Content:
        if self.kind == "words":
            counts = np.zeros((GROUPS, WORDS))
            np.add.at(counts, (self.of, self.words), 1)
            content = word_content(csr_array(counts), 0.3)
        else:
            content = vector_content(self.vectors, np.cumsum([0, *SIZES]), kappa=4.0, c0=0.7)
        content.l[:] = self.l
        return content

    def contexts(self) -> tuple[mc.Context, ...]:
        return (
            mc.gaussian(self.times, prior=(0.5, 1.5, 0.8)),
            mc.bag(csr_array(self.tags), item=0.2, power=0.6),
            mc.direction(self.places, kappa=3.0, c0=0.5),
        )

    def chain(self, *, with_contexts: bool = True) -> ml.Chain:
        chain = ml.Chain(
            self.content(),
            self.contexts() if with_contexts else (),
            self.z,
            np.random.default_rng(1),
            levels=(0.7, 1.9, 1.3),
        )
        topics = chain.m
        shares = np.random.default_rng(2).dirichlet(np.ones(topics + 1))
        chain.content.share[:topics], chain.levels[REST] = shares[:-1], shares[-1]
        self.z, self.l = chain.groups.z.copy(), chain.content.l.copy()
        return chain

    def log_joint(self, z: ClusterLabels, l: ClusterLabels, shares: Vector, *, with_contexts: bool = True) -> float:  # noqa: E741
        """Given shares of all topics, new ones among them, alpha = .7 and v = 1.9."""
        alpha, v = 0.7, 1.9
        _, members = np.unique(z, return_counts=True)
        value = len(members) * np.log(alpha) + gammaln(members).sum() + gammaln(alpha) - gammaln(alpha + GROUPS)
        for k in np.unique(z):
            counts = np.bincount(l[z[self.of] == k], minlength=len(shares))
            value += gammaln(v) - gammaln(v + counts.sum()) + (gammaln(v * shares + counts) - gammaln(v * shares)).sum()
            if with_contexts:
                value += self.log_contexts(np.flatnonzero(z == k))
        for m in np.unique(l):
            if self.kind == "words":
                value += bag_density(np.bincount(self.words[l == m], minlength=WORDS), 0.3)
            else:
                value += direction_density(self.vectors[l == m], self.vectors.sum(axis=0), 4.0, 0.7)
        return float(value)

    def log_contexts(self, groups: NDArray[np.int64]) -> float:
        occupied = groups[np.isfinite(self.times[groups, 0])]
        value = sum(sequential_student(self.times[occupied, c], 0.5, 1.5, 0.8) for c in range(2))
        value += 0.6 * bag_density(self.tags[groups].sum(axis=0), 0.2)
        placed = groups[np.abs(self.places[groups]).sum(axis=1) > 0]
        return value + direction_density(self.places[placed], self.places.sum(axis=0), 3.0, 0.5)


def unit(x: Vector) -> Vector:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def bag_density(counts: NDArray[Any], b: float) -> float:
    return float(
        gammaln(b * len(counts)) - gammaln(b * len(counts) + counts.sum()) + (gammaln(b + counts) - gammaln(b)).sum()
    )


def sequential_student(x: Vector, strength: float, shape: float, rate: float) -> float:
    """The normal-gamma evidence as a product of Student t predictives, prior mean 0."""
    mean, value = 0.0, 0.0
    for y in x:
        scale = np.sqrt(rate * (strength + 1) / (shape * strength))
        value += stats.t.logpdf(y, 2 * shape, mean, scale)
        rate += 0.5 * strength * (y - mean) ** 2 / (strength + 1)
        mean = (strength * mean + y) / (strength + 1)
        strength, shape = strength + 1, shape + 0.5
    return float(value)


def direction_density(x: Vector, total: Vector, kappa: float, c0: float) -> float:
    length = np.linalg.norm(kappa * x.sum(axis=0) + c0 * total / np.linalg.norm(total))
    ell = log_partition(D, np.array([length, c0, kappa]))
    return float(ell[0] - ell[1] - len(x) * ell[2])


def normalised(logs: list[float]) -> Vector:
    p = np.exp(np.array(logs) - max(logs))
    return np.asarray(p / p.sum())


CASES = [(kind, seed) for kind in ("words", "vectors") for seed in range(3)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
@pytest.mark.parametrize("with_contexts", [True, False])
def test_cluster_conditionals_are_ratios_of_the_joint(kind: str, seed: int, with_contexts: bool) -> None:
    tiny = Tiny(kind, seed)
    chain = tiny.chain(with_contexts=with_contexts)
    shares = np.append(chain.content.share[: chain.m], chain.levels[REST])
    for j in range(GROUPS):
        others = np.unique(np.delete(tiny.z, j))
        joints = []
        for k in [*others, GROUPS]:
            z = tiny.z.copy()
            z[j] = k
            joints.append(tiny.log_joint(z, tiny.l, shares, with_contexts=with_contexts))
        assert group_conditional(chain, j) == pytest.approx(normalised(joints), abs=1e-9)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_topic_conditionals_are_ratios_of_the_joint(kind: str, seed: int) -> None:
    tiny = Tiny(kind, seed)
    chain = tiny.chain()
    for i in range(len(tiny.l)):
        others = np.unique(np.delete(tiny.l, i))
        shares = np.append(chain.content.share[: chain.m], chain.levels[REST])
        if tiny.l[i] not in others:
            shares[-1] += shares[tiny.l[i]]
            shares[tiny.l[i]] = 1e-300
        joints = []
        for m in [*others, chain.m]:
            l = tiny.l.copy()  # noqa: E741
            l[i] = m
            joints.append(tiny.log_joint(tiny.z, l, shares))
        assert token_conditional(chain, i) == pytest.approx(normalised(joints), abs=1e-9)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_the_log_joint_is_that_of_the_model(kind: str, seed: int) -> None:
    tiny = Tiny(kind, seed)
    chain = tiny.chain()
    shares = np.append(chain.content.share[: chain.m], chain.levels[REST])
    assert chain.log_joint() == pytest.approx(tiny.log_joint(tiny.z, tiny.l, shares), abs=1e-9)


def planted(rng: np.random.Generator, groups: int = 60, tokens: int = 40) -> tuple[csr_array, Vector, ClusterLabels]:
    """Three clusters over three topics of four words each, and a number that tells them apart."""
    y = np.arange(groups) % 3
    topics = np.kron(np.eye(3), np.full((1, 4), 0.25))
    mixing = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.2, 0.0, 0.8]])
    counts = rng.multinomial(tokens, mixing[y] @ topics)
    return csr_array(counts), (3.0 * y + 0.3 * rng.standard_normal(groups))[:, None], y


def chain_of(kind: str, seed: int, contexts: bool = True) -> tuple[ml.Chain, ClusterLabels]:
    rng = np.random.default_rng(seed)
    counts, numbers, y = planted(rng)
    if kind == "words":
        content = word_content(counts)
    else:
        words = np.repeat(counts.indices, counts.data)
        content = vector_content(
            unit(np.eye(12)[words] + 0.1 * rng.standard_normal((len(words), 12))), np.arange(61) * 40
        )
    places = unit(np.eye(3)[y] + 0.2 * rng.standard_normal((60, 3)))
    places[::4] = 0.0
    given = (mc.gaussian(numbers - numbers.mean()), mc.bag(csr_array(np.eye(3)[y])), mc.direction(places))
    return ml.Chain(content, given if contexts else (), rng.integers(0, 6, 60), rng), y


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_kept_sums_are_those_of_a_recount(kind: str) -> None:
    chain, _ = chain_of(kind, 0)
    for _ in range(4):
        for _ in range(3):
            chain.sweep()
        chain.draw_groups()
        chain.draw_tokens()
        kept = chain.counts()
        chain.recount()
        for had, anew in zip(kept, chain.counts(), strict=True):
            assert had == pytest.approx(anew, abs=1e-9)
        assert chain.groups.members.sum() == 60
        assert chain.groups.of.sum() == chain.content.tokens.sum() == 2400
        assert chain.content.share.sum() + chain.levels[REST] == pytest.approx(1.0)
        assert (chain.content.share[chain.content.tokens == 0] == 0).all()


@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_planted_clusters_are_found(kind: str) -> None:
    chain, y = chain_of(kind, 1)
    draws, trace = ml.fit(chain, draws=3, burn_in=40, thin=5)
    assert trace.shape == (55, 3)
    assert nmi(draws[-1].labels, y) > 0.99
    assert len(draws[-1].members) == 3
    assert draws[-1].mixing.shape == (4, draws[-1].tokens.shape[1] + 1)
    assert draws[-1].mixing.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.thorough
def test_words_alone_are_clustered_as_with_contexts_that_are_missing() -> None:
    counts, numbers, _ = planted(np.random.default_rng(0))
    missing = mc.gaussian(np.full_like(numbers, np.nan)), mc.bag(csr_array((60, 5)))
    runs = []
    for contexts in ((), missing):
        chain = ml.Chain(word_content(counts), (), np.arange(60) % 6, np.random.default_rng(5))
        chain.contexts = tuple(ml.Chain(word_content(counts), contexts, chain.groups.z, chain.rng).contexts)
        chain.rng = np.random.default_rng(6)
        chain.compact()
        runs.append([chain.sweep() for _ in range(5)])
    assert runs[0] == runs[1]


def test_a_factor_of_power_zero_is_no_factor() -> None:
    tiny = Tiny("words", 0)
    contexts = tuple(context._replace(power=0.0) for context in tiny.contexts())
    tempered = ml.Chain(tiny.content(), contexts, tiny.z, np.random.default_rng(0))
    without = ml.Chain(tiny.content(), (), tiny.z, np.random.default_rng(0))
    assert tempered.log_joint() == pytest.approx(without.log_joint(), abs=1e-12)
    for j in range(GROUPS):
        assert group_conditional(tempered, j) == pytest.approx(group_conditional(without, j), abs=1e-12)


def test_without_tokens_of_its_own_a_group_follows_the_contexts_alone() -> None:
    """Integrating the contents out leaves a Dirichlet process mixture over contexts ([MC2] theorem 3)."""
    numbers = np.array([0.0, 0.3, 4.0, 4.2, 0.1])
    chain = ml.Chain(
        word_content(csr_array(np.ones((5, 2)))),
        [mc.gaussian(numbers[:, None], prior=(0.5, 1.5, 0.8))],
        np.array([0, 0, 1, 1, 0]),
        np.random.default_rng(0),
    )
    chain.content.l[:] = -1
    chain.groups.z[:] = [0, 0, 1, 1, 0]
    chain.make_room(3, 16)
    chain.recount()
    alpha = chain.levels[ALPHA]
    apart = [[0.0, 0.3], [4.0, 4.2], []]
    weights = [np.log(len(part) or alpha) + student_step(np.array(part), 0.1) for part in apart]
    assert group_conditional(chain, 4) == pytest.approx(normalised(weights), abs=1e-12)


def student_step(x: Vector, y: float) -> float:
    law = 0.5, 1.5, 0.8
    return sequential_student(np.append(x, y), *law) - sequential_student(x, *law)


def test_names_of_clusters_and_topics_do_not_matter() -> None:
    tiny = Tiny("words", 1)
    chain = tiny.chain()
    height, alone = chain.log_joint(), [np.sort(group_conditional(chain, j)) for j in range(GROUPS)]
    topics = np.random.default_rng(0).permutation(chain.m)
    share = chain.content.share.copy()
    chain.groups.z[:] = chain.groups.z.max() - chain.groups.z
    chain.content.l[:] = topics[chain.content.l]
    chain.content.share[topics] = share[: chain.m]
    chain.recount()
    assert chain.log_joint() == pytest.approx(height, abs=1e-10)
    for j in range(GROUPS):
        assert np.sort(group_conditional(chain, j)) == pytest.approx(alone[j], abs=1e-10)


@pytest.mark.thorough
def test_the_chain_visits_clusterings_as_often_as_they_are_likely() -> None:
    """Three groups of two words of one type: by enumeration of topics, clusters and a grid of shares."""
    law = (1e9, 1e9)
    chain = ml.Chain(
        word_content(csr_array(np.array([[1, 0], [1, 0], [0, 1]])), 0.3),
        (),
        np.zeros(3, np.int64),
        np.random.default_rng(0),
        laws=Laws(law, law, law),
    )
    alone = np.zeros(3)
    for _ in range(30_000):
        chain.draw_groups()
        chain.draw_tokens()
        chain.compact()
        chain.draw_shares()
        chain.levels[:3] = 1.0
        z = chain.groups.z
        alone += [z[0] == z[1], z[0] == z[2], chain.content.l[0] == chain.content.l[1]]
    assert alone / 30_000 == pytest.approx(franchise(), abs=0.012)


def franchise() -> Vector:
    """The same by the Chinese restaurant franchise: tokens at tables of their cluster, tables at topics, all 1."""
    total, value = 0.0, np.zeros(3)
    words = [0, 0, 1]
    for z in PARTITIONS:
        for seats in PARTITIONS:
            if any(seats[a] == seats[b] and z[a] != z[b] for a in range(3) for b in range(3)):
                continue
            tables_, dishes = len(set(seats)), PARTITIONS_OF[len(set(seats))]
            restaurants = np.prod([rising([seats[i] for i in range(3) if z[i] == k]) for k in set(z)])
            for dish in dishes:
                l = [dish[t] for t in seats]  # noqa: E741
                likely = np.prod(
                    [
                        np.exp(bag_density(np.bincount([words[i] for i in range(3) if l[i] == m], minlength=2), 0.3))
                        for m in set(l)
                    ]
                )
                p = float(rising(z) * restaurants * rising(dish) * likely)
                total += p
                value += p * np.array([z[0] == z[1], z[0] == z[2], l[0] == l[1]])
            assert tables_ == len(dishes[0])
    return np.asarray(value / total)


PARTITIONS: list[tuple[int, ...]] = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
PARTITIONS_OF: dict[int, list[tuple[int, ...]]] = {1: [(0,)], 2: [(0, 0), (0, 1)], 3: PARTITIONS}


def rising(parts: Sequence[int]) -> float:
    """The probability of a partition under a Chinese restaurant of concentration 1."""
    sizes = np.unique(parts, return_counts=True)[1]
    return float(np.exp(gammaln(sizes).sum() - gammaln(1.0 + len(parts))))


def test_tables_are_drawn_by_the_antoniak_law() -> None:
    chain, _ = chain_of("words", 2)
    chain.levels[SPREAD] = 5.0
    occupied = chain.content.tokens > 0
    a = 5.0 * chain.content.share[occupied]
    expected = [
        sum((a[m] / (a[m] + np.arange(int(n)))).sum() for n in chain.groups.of[:, np.flatnonzero(occupied)[m]])
        for m in range(occupied.sum())
    ]
    drawn = [tables(chain.groups, chain.content, chain.levels, chain.rng)[occupied] for _ in range(3000)]
    assert np.mean(drawn, axis=0) == pytest.approx(np.array(expected), rel=0.03)


def test_concentrations_have_their_posterior() -> None:
    """p(a | K) ~ a^(K + shape - 1) exp(-rate a) Gamma(a) / Gamma(a + n), integrated on a grid."""
    rng, level, law = np.random.default_rng(0), 1.0, (2.0, 0.5)
    drawn = []
    for _ in range(20_000):
        level = resampled(level, 50, 6, law, rng)
        drawn.append(level)
    a = np.linspace(1e-3, 15, 4000)
    log_p = (6 + law[0] - 1) * np.log(a) - law[1] * a + gammaln(a) - gammaln(a + 50)
    p = np.exp(log_p - log_p.max())
    assert np.mean(drawn) == pytest.approx((a * p).sum() / p.sum(), rel=0.03)


def test_shares_go_with_the_concentration_that_is_drawn() -> None:
    """Three clusters of one token of each of two topics have six tables: rest given eta is Beta(eta, 6)."""
    content = word_content(csr_array(np.ones((3, 2))))
    content.l[:] = [0, 1, 0, 1, 0, 1]
    chain = ml.Chain(content, (), np.arange(3), np.random.default_rng(0))
    drawn = np.empty((4000, 2))
    for row in drawn:
        chain.draw_shares()
        row[:] = chain.levels[[ETA, REST]]
    eta, rest = drawn.T
    left = rest - eta / (eta + 6.0)
    assert left.mean() == pytest.approx(0.0, abs=0.006)
    assert (left * eta).mean() == pytest.approx(0.0, abs=0.006)


def test_the_spread_has_its_posterior() -> None:
    """p(v | tables) ~ v^(tables + shape - 1) exp(-rate v) prod_k Gamma(v) / Gamma(v + n_k)."""
    chain, _ = chain_of("words", 3)
    tokens = chain.groups.tokens[chain.groups.members > 0]
    chain._tables = 12.0
    drawn = []
    for _ in range(5000):
        chain.draw_levels()
        drawn.append(chain.levels[SPREAD])
    v = np.linspace(1e-3, 40, 4000)
    log_p = 12.0 * np.log(v) - v + (gammaln(v)[:, None] - gammaln(v[:, None] + tokens)).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    assert np.mean(drawn) == pytest.approx((v * p).sum() / p.sum(), rel=0.03)


def test_concentrations_of_directions_are_learnt() -> None:
    rng = np.random.default_rng(0)
    law = np.array([3.0, 1.0, 0.1])
    x = [VonMisesFisher(mu, 20.0).rvs(200, rng) for mu in np.eye(3)]
    s = np.array([part.sum(axis=0) for part in x])
    drawn = [drawn_kappa(law, np.full(3, 200.0), (s**2).sum(axis=1), np.zeros(3), rng) for _ in range(300)]
    assert np.mean(drawn) == pytest.approx(20.0, rel=0.08)
    assert 0.01 < np.std(drawn) / 20.0 < 0.1


@pytest.mark.parametrize("fixed", [True, False])
def test_known_concentrations_of_directions_stay(fixed: bool) -> None:
    tiny = Tiny("vectors", 0)
    chain = ml.Chain(tiny.content(), tiny.contexts(), tiny.z, np.random.default_rng(0), fixed_kappa=fixed)
    chain.sweep()
    assert bool(chain.content.law[1] == 4.0) == fixed
    assert bool(chain.contexts[2].law[1] == 3.0) == fixed


def test_bad_states_say_so() -> None:
    content = word_content(csr_array(np.ones((3, 2))))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="expected 3 rows, got 2"):
        ml.Chain(content, [mc.gaussian(np.zeros((2, 1)))], np.zeros(3, np.int64), rng)
    with pytest.raises(ValueError, match="expected 3 clusters of at least 0"):
        ml.Chain(content, [], np.array([0, -1, 0]), rng)
