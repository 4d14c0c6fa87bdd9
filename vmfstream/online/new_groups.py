"""New groups: documents of the newest slices that are alike, while hardly any older document is like them.

Documents of the newest slices propose groups. Every document x, new or old, is compared with the sum S of a group
without x itself, by

    score = x'S / |S| - x'm

where m is the mean direction of the older documents, so that what all documents share does not count. The threshold of
the score is the one above which so many new documents are least probable by chance; the new documents above it make the
group of the next round.

Groups are sought, so many seem new that are not: pairs of documents that answer each other, put together, or documents
of an old kind. So what is found is tested by another score: the document of the group that x is most like is left out,
too (in a group of one kind the others are enough), and what is taken off is the cosine with m and that with the sum of
the older documents that are most like the group, by ``old_weight`` each.

Documents of topics that were just born are left out: what is new about them was told.

Words that no older document can hold are left out: documents are not encoded again when the vocabulary grows, and
words that old documents lack for that reason alone would make the new ones alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from vmfstream.arrays import Mask
from vmfstream.mixtures.columns import directed, length_of, square_of
from vmfstream.online.belief import log_density
from vmfstream.online.births import Group, ScoredDocuments, SearchCache, gram_of, or_new, proposed_groups
from vmfstream.online.document_sums import Pairs, products, sum_of, sums_of
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import Matrix, Rows, Vector, rows_in_columns, stack


class _Prior(NamedTuple):
    """What all groups share: the anchor (D,) and the concentration of documents."""

    anchor: Matrix
    kappa: float


class _Found(NamedTuple):
    """A group as the places of its documents, and how easily chance makes so many of its kind new."""

    chance: float
    members: NDArray[np.intp]


class _Pool(NamedTuple):
    """Documents among which groups are looked for: recent ones and older ones behind them, N in all.

    ``newest`` (N,) may propose, ``counted`` are numbers of those that count at all.
    """

    x: Rows
    s: Vector
    newest: Mask
    counted: NDArray[np.intp]


def find_new_groups(
    recent: ScoredDocuments,
    slices: NDArray[np.int64],
    control: ScoredDocuments,
    anchor: Matrix,
    kappa: float,
    rules: BirthSettings,
    told: Mask | None = None,
    memory: SearchCache | None = None,
) -> Iterator[Group]:
    """Look for groups among recent documents that are more frequent now than they were.

    Parameters
    ----------
    recent : N documents of the last slices
    slices : (N,) the slice of each
    control : older documents, uniform over the stream
    anchor : (D,) natural vector of the common prior
    kappa : concentration of documents
    rules : thresholds
    told : (N,) documents that count neither as new nor as old, None for none: those of topics that were just born
    memory : of the searches among the same documents

    Yields
    ------
    Those whose chance is below ``rules.new_chance``, whose gain is above ``rules.least_gain`` nats, and of whose
    documents at least the share ``rules.joining_share`` join, the least chance first. The gain is that of the documents
    that join, each judged by the others.
    """
    prior, memory = _Prior(anchor, kappa), SearchCache() if memory is None else memory
    recent, control = (or_new(known, anchor, kappa, rules, memory) for known in (recent, control))
    pool = _pool(recent, slices, control, rules, told, memory)
    found = (one for one in _found(pool, prior, rules, memory) if one.chance < rules.new_chance)
    for one in sorted(found, key=lambda one: one.chance):
        group = _group(one, recent, control, prior, rules)
        if group.gain > rules.least_gain and np.count_nonzero(group.joins) >= rules.joining_share * len(one.members):
            yield group


def _pool(
    recent: ScoredDocuments,
    slices: NDArray[np.int64],
    control: ScoredDocuments,
    rules: BirthSettings,
    told: Mask | None,
    memory: SearchCache,
) -> _Pool:
    """Recent documents and older ones behind them, by the words that older ones can hold."""
    x = memory.once("pool", lambda: _rows_of_pool(recent.x, control.x), recent.x, control.x)
    counts = np.ones(len(recent.s) + len(control.s), np.bool_)
    newest = np.zeros(len(counts), np.bool_)
    newest[: len(slices)] = slices > slices.max() - rules.proposing_slices
    newest &= memory.once("directed", lambda: directed(x), x)
    if told is not None:
        counts[: len(told)] = ~told
        newest[: len(told)] &= ~told
    return _Pool(x, np.concatenate([recent.s, control.s]), newest, np.flatnonzero(counts))


def _rows_of_pool(x: Rows, older: Rows) -> Rows:
    if not isinstance(older, np.ndarray):
        columns = np.full(older.shape[1], -1, np.int32)
        columns[older.indices] = older.indices
        x = rows_in_columns(x, columns)
    return stack([x, older], int(older.shape[1]))


def _found(pool: _Pool, prior: _Prior, rules: BirthSettings, memory: SearchCache) -> list[_Found]:
    """Groups that the newest documents of a pool propose, after the rounds and the test."""
    groups = list(_proposals(pool, prior, rules))
    if not groups:
        return []
    pairs = memory.once("pairs", lambda: Pairs(pool.x), pool.x)
    old = pool.counted[~pool.newest[pool.counted]]
    older = sum_of(pool.x, old)
    usual = products(pool.x, older / max(length_of(older), 1e-12))
    refined: dict[bytes, _Found] = {}
    tested: dict[bytes, _Found] = {}
    for _ in range(rules.joining_rounds):
        rough = list({one.tobytes(): one for one in groups if one.tobytes() not in refined}.values())
        if rough:
            for one, scores in zip(rough, (_likeness(pool.x, rough) - usual[:, None]).T, strict=True):
                refined[one.tobytes()] = _above_best_cut(scores, pool, rules)
        finer = [refined[one.tobytes()] for one in groups]
        groups = [found.members for found in finer if len(found.members)]
        for found in finer:
            key = found.members.tobytes()
            if found.chance < rules.worth_testing and key not in tested:
                strict = partial(_likeness_to_others, pool.x, found.members, pairs)
                likeness = memory.once(("strict", key), strict, pool.x)
                nearest = old[_largest(likeness[old], rules.nearest_old)]
                to_old = memory.once(("old", nearest.tobytes()), partial(_likeness, pool.x, [nearest]), pool.x)
                tested[key] = _above_best_cut(likeness - rules.old_weight * (usual + to_old[:, 0]), pool, rules)
    return list(tested.values())


def _proposals(pool: _Pool, prior: _Prior, rules: BirthSettings) -> Iterator[NDArray[np.intp]]:
    """Groups among the worst explained of the newest documents, as their places; they may overlap."""
    newest = np.flatnonzero(pool.newest)
    worst = min(2 * rules.proposing_documents, int(np.ceil(rules.badly_explained * len(newest))))
    if worst < rules.least_members:
        return
    chosen = np.sort(newest[np.argsort(pool.s[newest], kind="stable")[:worst]])
    x, (anchor, kappa) = pool.x[chosen], prior
    b, most = np.asarray(x @ anchor, np.float64), rules.new_candidates
    gram, s, d = gram_of(x), pool.s[chosen], len(anchor)
    for members in proposed_groups(gram, b, square_of(anchor), kappa, d, s, rules, most, overlapping=True):
        yield chosen[members]


def _likeness(x: Rows, groups: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Cosine of every document with the sum of each group, of which it is left out itself, (N, G)."""
    sums = sums_of(x, groups)
    dots = products(x, sums)
    squares = np.tile(np.einsum("ij,ij->j", sums, sums), (len(dots), 1))
    for group, members in enumerate(groups):
        squares[members, group] += 1.0 - 2.0 * dots[members, group]
        dots[members, group] -= 1.0
    return np.asarray(dots / np.sqrt(np.maximum(squares, 1e-12)))


def _likeness_to_others(x: Rows, members: NDArray[np.intp], pairs: Pairs) -> Vector:
    """Cosine of every document with the sum of a group without itself and the one of the group most like it, (N,)."""
    total, largest = pairs.with_others(members)
    return np.asarray((total - largest) / length_of(sum_of(x, members)))


def _above_best_cut(scores: Vector, pool: _Pool, rules: BirthSettings) -> _Found:
    """The newest documents above the score at which chance makes so many new with the least probability."""
    scores, newest = scores[pool.counted], pool.newest[pool.counted]
    order = _largest(scores, int(np.count_nonzero(newest)))
    new, total = np.cumsum(newest[order]), np.arange(1, len(order) + 1)
    share = float(np.mean(newest))
    often = new * (1.0 - share) >= rules.least_odds * share * (total - new)
    cuts = np.flatnonzero(newest[order] & often & (new >= rules.least_new))
    if not len(cuts):
        return _Found(1.0, cuts)
    chances = bdtrc(new[cuts] - 1, total[cuts], share)
    cut = int(np.argmin(chances))
    above = order[: cuts[cut] + 1]
    return _Found(float(chances[cut]), pool.counted[np.sort(above[newest[above]])])


def _largest(scores: Vector, most: int) -> NDArray[np.intp]:
    """Places of the ``most`` largest ``scores``, or of all, in falling order; of equal ones the first comes first."""
    last = max(len(scores) - most, 0)
    best = np.flatnonzero(scores >= np.partition(scores, last)[last]) if last else np.arange(len(scores))
    return best[np.argsort(-scores[best], kind="stable")[:most]]


def _group(
    found: _Found, recent: ScoredDocuments, control: ScoredDocuments, prior: _Prior, rules: BirthSettings
) -> Group:
    """What a group brings: those of its documents join that it explains better than what is known."""
    members, share = found.members, np.log(len(found.members) / len(recent.s))
    dot, squares, f = _left_out(recent.x, members, prior)
    d = len(f)

    def densities() -> tuple[Vector, Vector]:
        now = share + log_density(d, prior.kappa, squares, dot)
        return now, share + log_density(d, prior.kappa, square_of(f), products(control.x, f))

    delta = share + log_density(d, prior.kappa, squares[members], dot[members]) - recent.s[members]
    joins, better = np.zeros(len(dot), np.bool_), delta > rules.document_gain
    joins[members] = better
    return Group(joins, float(delta[better].sum()), found.chance, densities)


def _left_out(x: Rows, members: NDArray[np.intp], prior: _Prior) -> tuple[Vector, Vector, Vector]:
    """Products of documents with a group's natural vector, of which members are left out themselves, (N,).

    Returns them, the squared lengths of these vectors (N,), and that of the whole group (D,).
    """
    kappa = prior.kappa
    f = prior.anchor + kappa * sum_of(x, members)
    dot = products(x, f)
    squares = np.full(len(dot), square_of(f))
    squares[members] = np.maximum(squares[members] - 2.0 * kappa * dot[members] + kappa * kappa, 0.0)
    dot[members] -= kappa
    return dot, squares, f
