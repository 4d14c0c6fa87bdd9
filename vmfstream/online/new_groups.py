"""New groups: recent documents that explain each other and that older documents do not resemble.

Documents of the newest slices propose groups, and each is judged by the sum of the others, itself left out. Older
documents that join a group make a counterpart of their own, which shows what of its kind was always there. With the sum
S of a group, the sum T of its counterpart, f = B + kappa S and g = B + kappa T, a document counts by

    delta = log pi + log p(x | f) - log(p(x) + pi p(x | g))

where p(x) is its density under the mixture on arrival. A group is new if, among all documents whose delta exceeds some
level, more are recent than chance would bring. The same is asked for several levels and numbers of newest slices, and
the least of these chances is the group's: the threshold takes into account that many are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from vmfstream.online.births import Group, ScoredDocuments, gram_of, log_density, or_new, proposed_groups
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import Matrix, Vector


class _Prior(NamedTuple):
    """What all groups share: the anchor (D,) and the concentration of documents."""

    anchor: Matrix
    kappa: float


def find_new_groups(
    recent: ScoredDocuments,
    slices: NDArray[np.int64],
    control: ScoredDocuments,
    anchor: Matrix,
    kappa: float,
    rules: BirthSettings,
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

    Returns
    -------
    Those whose gain is above ``rules.least_gain`` nats and whose chance is below ``rules.new_chance``, the least first.
    The gain is that of the documents that join, each judged by the others.
    """
    prior = _Prior(anchor, kappa)
    recent, control = (or_new(known, anchor, kappa, rules) for known in (recent, control))
    proposals = _proposals(recent, slices, prior, rules)
    tested = (_tested(members, recent, slices, control, prior, rules) for members in proposals)
    found = [g for g in tested if g is not None and g.gain > rules.least_gain and g.chance < rules.new_chance]
    return sorted(found, key=lambda g: (g.chance, -g.gain))


def _proposals(
    recent: ScoredDocuments, slices: NDArray[np.int64], prior: _Prior, rules: BirthSettings
) -> Iterator[NDArray[np.intp]]:
    """Groups among the worst explained documents of the newest slices, as their numbers; they may overlap."""
    newest = np.flatnonzero(slices > slices.max() - rules.proposing_slices)
    worst = min(2 * rules.proposing_documents, int(np.ceil(rules.badly_explained * len(newest))))
    if worst < rules.least_members:
        return
    chosen = np.sort(newest[np.argsort(recent.s[newest], kind="stable")[:worst]])
    x, (anchor, kappa) = recent.x[chosen], prior
    norm = float(np.linalg.norm(anchor.astype(np.float64)))
    b, most = np.asarray(x @ anchor, np.float64), rules.new_candidates
    gram, s, d = gram_of(x), recent.s[chosen], len(anchor)
    for members in proposed_groups(gram, b, norm * norm, kappa, d, s, rules, most, overlapping=True):
        yield chosen[members]


def _tested(
    members: NDArray[np.intp],
    recent: ScoredDocuments,
    slices: NDArray[np.int64],
    control: ScoredDocuments,
    prior: _Prior,
    rules: BirthSettings,
) -> Group | None:
    """Let documents join a proposed group, and test whether it is new; None if too few join."""
    share = 0.0
    for _ in range(rules.joining_rounds + 1):
        if len(members) < rules.least_members:
            return None
        share = np.log(len(members) / len(recent.s))
        density, f = _density(recent, members, prior)
        now = share + density
        members = np.flatnonzero(now - recent.s > rules.document_gain)
    then = share + log_density(len(f), prior.kappa, float(f @ f), np.asarray(control.x @ f, np.float64))
    explained, before = recent.s, control.s
    older = np.flatnonzero(then - control.s > rules.document_gain)
    if len(older) >= rules.least_members:
        own, g = _density(control, older, prior)
        other = log_density(len(g), prior.kappa, float(g @ g), np.asarray(recent.x @ g, np.float64))
        explained, before = np.logaddexp(explained, share + other), np.logaddexp(before, share + own)
    delta = now - explained
    joins = delta > rules.document_gain
    if np.count_nonzero(joins) < rules.least_members:
        return None
    gain = float(delta[joins].sum())
    return Group(joins, gain, _chance(delta, slices, then - before, rules), now, then)


def _density(known: ScoredDocuments, members: NDArray[np.intp], prior: _Prior) -> tuple[Vector, Vector]:
    """Log-densities of documents under a group, of which members are left out themselves, and the group's f, (D,)."""
    kappa = prior.kappa
    f = prior.anchor + kappa * np.asarray(known.x[members].sum(axis=0), np.float64).ravel()
    dot = np.asarray(known.x @ f, np.float64)
    squares = np.full(len(dot), float(f @ f))
    squares[members] = np.maximum(squares[members] - 2.0 * kappa * dot[members] + kappa * kappa, 0.0)
    dot[members] -= kappa
    return log_density(len(f), kappa, squares, dot), f


def _chance(delta: Vector, slices: NDArray[np.int64], before: Vector, rules: BirthSettings) -> float:
    """Return the least probability that so many of the documents above a level are recent if nothing is new."""
    least, total, newest = 1.0, len(delta) + len(before), slices.max()
    for recent in range(1, rules.recent_slices + 1):
        now = slices > newest - recent
        for level in rules.levels:
            above = int(np.count_nonzero(delta[now] > level))
            older = int(np.count_nonzero(before > level) + np.count_nonzero(delta[~now] > level))
            if above >= rules.least_members:
                least = min(least, float(bdtrc(above - 1, above + older, np.count_nonzero(now) / total)))
    return least
