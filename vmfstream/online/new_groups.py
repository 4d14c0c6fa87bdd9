"""New groups: documents of the newest slices that are alike, while hardly any older document is like them.

Documents of the newest slices propose groups. Every document x, new or old, is compared with the sum S of a group
without x itself, by

    score = x'S / |S| - x'm

where m is the mean direction of the older documents: what all of them share says nothing. Above some score more
documents are new than chance would bring; the score is taken at which chance brings so many with the least
probability, and the new documents above it make the group of the next round.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from vmfstream.arrays import Mask
from vmfstream.mixtures.columns import directed
from vmfstream.online.births import Group, ScoredDocuments, gram_of, log_density, or_new, proposed_groups
from vmfstream.online.document_sums import products, products_with_others, sum_of
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import Matrix, Rows, Vector, columns_of, stack


class _Prior(NamedTuple):
    """What all groups share: the anchor (D,) and the concentration of documents."""

    anchor: Matrix
    kappa: float


class _Found(NamedTuple):
    """A group as the places of its documents, and how easily chance makes so many of its kind new."""

    chance: float
    members: NDArray[np.intp]


def find_new_groups(
    recent: ScoredDocuments,
    slices: NDArray[np.int64],
    control: ScoredDocuments,
    anchor: Matrix,
    kappa: float,
    rules: BirthSettings,
    told: Mask | None = None,
) -> list[Group]:
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

    Returns
    -------
    Those whose chance is below ``rules.new_chance``, whose gain is above ``rules.least_gain`` nats, and of whose
    documents at least the share ``rules.joining_share`` join, the least chance first. The gain is that of the documents
    that join, each judged by the others.
    """
    prior = _Prior(anchor, kappa)
    recent, control = (or_new(known, anchor, kappa, rules) for known in (recent, control))
    counted = np.arange(len(slices)) if told is None else np.flatnonzero(~told)
    pool = _pool(ScoredDocuments(recent.x[counted], recent.s[counted]), control)
    newest = np.zeros(len(pool.s), np.bool_)
    newest[: len(counted)] = slices[counted] > slices.max() - rules.proposing_slices
    newest &= directed(pool.x)
    found = (
        one._replace(members=counted[one.members])
        for one in _found(pool, newest, prior, rules)
        if one.chance < rules.new_chance
    )
    groups = ((one, _group(one, recent, control, prior, rules)) for one in sorted(found, key=lambda one: one.chance))
    return [
        group
        for one, group in groups
        if group.gain > rules.least_gain and np.count_nonzero(group.joins) >= rules.joining_share * len(one.members)
    ]


def _pool(recent: ScoredDocuments, control: ScoredDocuments) -> ScoredDocuments:
    """Recent documents and older ones behind them, by the words that older ones can hold."""
    x, older = recent.x, control.x
    if not isinstance(older, np.ndarray):
        columns = np.full(older.shape[1], -1, np.int32)
        columns[older.indices] = older.indices
        x = columns_of(x, columns)
    return ScoredDocuments(stack([x, older], int(older.shape[1])), np.concatenate([recent.s, control.s]))


def _found(pool: ScoredDocuments, newest: Mask, prior: _Prior, rules: BirthSettings) -> list[_Found]:
    """Groups that the newest documents of a pool propose, after the rounds and the test."""
    groups = list(_proposals(pool, np.flatnonzero(newest), prior, rules))
    older = sum_of(pool.x, np.flatnonzero(~newest))
    usual = products(pool.x, older / max(float(np.linalg.norm(older)), 1e-12))
    tested: dict[bytes, _Found] = {}
    for _ in range(rules.joining_rounds):
        if not groups:
            break
        scores = np.ascontiguousarray((_likeness(pool.x, groups) - usual[:, None]).T)
        refined = [_above_best_cut(column, newest, rules) for column in scores]
        groups = [one.members for one in refined if len(one.members)]
        for one in refined:
            if one.chance < rules.worth_testing and one.members.tobytes() not in tested:
                likeness = _likeness_to_others(pool.x, one.members)
                old = np.flatnonzero(~newest)
                nearest = old[np.argsort(-likeness[old], kind="stable")[: rules.nearest_old]]
                old_kind = rules.old_weight * (usual + _likeness(pool.x, [nearest])[:, 0])
                tested[one.members.tobytes()] = _above_best_cut(likeness - old_kind, newest, rules)
    return list(tested.values())


def _proposals(
    pool: ScoredDocuments, newest: NDArray[np.intp], prior: _Prior, rules: BirthSettings
) -> Iterator[NDArray[np.intp]]:
    """Groups among the worst explained of the newest documents, as their places; they may overlap."""
    worst = min(2 * rules.proposing_documents, int(np.ceil(rules.badly_explained * len(newest))))
    if worst < rules.least_members:
        return
    chosen = np.sort(newest[np.argsort(pool.s[newest], kind="stable")[:worst]])
    x, (anchor, kappa) = pool.x[chosen], prior
    norm = float(np.linalg.norm(anchor.astype(np.float64)))
    b, most = np.asarray(x @ anchor, np.float64), rules.new_candidates
    gram, s, d = gram_of(x), pool.s[chosen], len(anchor)
    for members in proposed_groups(gram, b, norm * norm, kappa, d, s, rules, most, overlapping=True):
        yield chosen[members]


def _likeness(x: Rows, groups: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Cosine of every document with the sum of each group, of which it is left out itself, (N, G)."""
    sums = np.stack([sum_of(x, members) for members in groups])
    dots = products(x, sums.T)
    squares = np.tile(np.einsum("ij,ij->i", sums, sums), (len(dots), 1))
    for group, members in enumerate(groups):
        squares[members, group] += 1.0 - 2.0 * dots[members, group]
        dots[members, group] -= 1.0
    return np.asarray(dots / np.sqrt(np.maximum(squares, 1e-12)))


def _likeness_to_others(x: Rows, members: NDArray[np.intp]) -> Vector:
    """Cosine of every document with the sum of a group without itself and the one of the group most like it, (N,)."""
    total, largest = products_with_others(x, members)
    return np.asarray((total - largest) / np.linalg.norm(sum_of(x, members)))


def _above_best_cut(scores: Vector, newest: Mask, rules: BirthSettings) -> _Found:
    """The newest documents above the score at which chance makes so many new with the least probability."""
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(newest)]
    new, total = np.cumsum(newest[order]), np.arange(1, len(order) + 1)
    share = float(np.mean(newest))
    often = new * (1.0 - share) >= rules.least_odds * share * (total - new)
    cuts = np.flatnonzero(newest[order] & often & (new >= rules.least_new))
    if not len(cuts):
        return _Found(1.0, cuts)
    chances = bdtrc(new[cuts] - 1, total[cuts], share)
    cut = int(np.argmin(chances))
    above = order[: cuts[cut] + 1]
    return _Found(float(chances[cut]), np.sort(above[newest[above]]))


def _group(
    found: _Found, recent: ScoredDocuments, control: ScoredDocuments, prior: _Prior, rules: BirthSettings
) -> Group:
    """What a group brings: those of its documents join that it explains better than what is known."""
    members, share = found.members, np.log(len(found.members) / len(recent.s))
    density, f = _density(recent, members, prior)
    now = share + density
    then = share + log_density(len(f), prior.kappa, float(f @ f), products(control.x, f))
    delta = now - recent.s
    joins = np.zeros(len(delta), np.bool_)
    joins[members] = delta[members] > rules.document_gain
    return Group(joins, float(delta[joins].sum()), found.chance, now, then)


def _density(known: ScoredDocuments, members: NDArray[np.intp], prior: _Prior) -> tuple[Vector, Vector]:
    """Log-densities of documents under a group, of which members are left out themselves, and the group's f, (D,)."""
    kappa = prior.kappa
    f = prior.anchor + kappa * sum_of(known.x, members)
    dot = products(known.x, f)
    squares = np.full(len(dot), float(f @ f))
    squares[members] = np.maximum(squares[members] - 2.0 * kappa * dot[members] + kappa * kappa, 0.0)
    dot[members] -= kappa
    return log_density(len(f), kappa, squares, dot), f
