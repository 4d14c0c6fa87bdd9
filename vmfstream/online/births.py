"""Births: groups of documents that the topics explain badly, that explain each other, and that are new.

Groups that one half of the recent documents proposes are tested on the other. A group is new only if its kind is more
frequent now than it was; finer structure that was always there explains documents better too. Documents of both
times are compared by their scores on arrival, before they were learnt; what was learnt looks well explained.

With a group's sum S its topic has the belief f = B + kappa S, B being the anchor, and a document the gain

    delta = log pi + log p(x | f) - s

over its score s under the mixture, or under a topic without documents where that is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray
from scipy.special import bdtrc

from vmfstream.arrays import Mask
from vmfstream.directional.bessel import ell, log_partition
from vmfstream.online.document_sums import products, sum_of
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import Matrix, Rows, Vector

DEGREE, ROUNDING = 24, 1e-11
"""Highest degree of the polynomial that stands for the Bessel functions of all pairs, and its relative error."""


class ScoredDocuments(NamedTuple):
    """Documents and how well they were explained on arrival: rows (N, D), log-densities (N,)."""

    x: Rows
    s: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A tested group: which recent documents join, its gain in nats and how easily chance makes it as frequent.

    ``recent`` and ``control`` are log pi + log p(x | f) of all documents.
    """

    joins: Mask
    gain: float
    chance: float
    recent: Vector
    control: Vector


def new_topic_log_density(x: Rows, anchor: Matrix, kappa: float) -> Vector:
    """Compute the log-density of documents (N, D) under a topic without documents, (N,), nats relative to uniform.

    ``x`` are unit rows, ``anchor`` (D,) is the prior's natural vector, ``kappa`` the concentration of documents.
    """
    norm = float(np.linalg.norm(anchor.astype(np.float64)))
    return log_density(len(anchor), kappa, norm * norm, np.asarray(x @ anchor, np.float64))


def log_density(d: int, kappa: float, square: Vector | float, dot: Vector, *, pairs: bool = False) -> Vector:
    """Compute log-densities relative to uniform under beliefs of squared length ``square`` and dot products ``dot``.

    [GY14, predictive density of the Bayesian mixture], in nats; ``d`` is the dimension, ``kappa`` the concentration of
    documents. For all ``pairs`` of documents with relative error `ROUNDING`.
    """
    if not pairs:
        out = np.empty_like(dot)
        squares = np.full(dot.shape, square)
        _log_densities(float(d), kappa, squares.ravel(), dot.ravel(), out.ravel())
        return out
    alone = log_partition(d, np.sqrt(np.maximum(square, 0.0)))
    together = _interpolated(d, np.maximum(square + kappa * kappa + 2.0 * kappa * dot, 0.0))
    return np.asarray(together - alone - log_partition(d, kappa))


@njit(cache=True, nogil=True)
def _log_densities(d: float, kappa: float, square: Vector, dot: Vector, out: Vector) -> None:
    common, last, alone = ell(d, kappa), -1.0, 0.0
    for i in range(len(dot)):
        if square[i] != last:  # often the same for all
            last = square[i]
            alone = ell(d, np.sqrt(max(last, 0.0)))
        joint = max(square[i] + kappa * kappa + 2.0 * kappa * dot[i], 0.0)
        out[i] = ell(d, np.sqrt(joint)) - alone - common


def _interpolated(d: int, squares: Vector) -> Vector:
    """Return `log_partition` of many lengths by their squares.

    It is analytic in the square, with singularities on the negative axis only, beyond -(d/2 - 1)^2 [DLMF 10.21].
    """
    low, high = float(squares.min()), float(squares.max())
    if high > low:
        series = Chebyshev.interpolate(lambda q: log_partition(d, np.sqrt(np.maximum(q, 0.0))), DEGREE, (low, high))
        negligible = ROUNDING * max(np.abs(series.coef).max(), 1.0)
        if np.abs(series.coef[-2:]).max() < negligible:
            out = np.empty(squares.size)
            _chebyshev(np.asarray(series.trim(0.1 * negligible).coef, np.float64), low, high, squares.ravel(), out)
            return out.reshape(squares.shape)
    return np.asarray(log_partition(d, np.sqrt(squares)))


@njit(cache=True, nogil=True)
def _chebyshev(coefficients: Vector, low: float, high: float, x: Vector, out: Vector) -> None:
    """Evaluate a Chebyshev series over [low, high] by Clenshaw's recurrence, block by block."""
    block = 256
    t, one, two = np.empty(block), np.empty(block), np.empty(block)
    for begin in range(0, len(x), block):
        n = min(block, len(x) - begin)
        for i in range(n):
            t[i] = (2.0 * x[begin + i] - low - high) / (high - low)
            one[i] = two[i] = 0.0
        for j in range(len(coefficients) - 1, 0, -1):
            for i in range(n):
                above = two[i]
                two[i] = one[i]
                one[i] = coefficients[j] + 2.0 * t[i] * one[i] - above
        for i in range(n):
            out[begin + i] = coefficients[0] + t[i] * one[i] - two[i]


def find_groups(
    recent: ScoredDocuments, half: Mask, control: ScoredDocuments, anchor: Matrix, kappa: float, rules: BirthSettings
) -> list[Group]:
    """Look for groups among recent documents and test them; new ones come first, then by gain.

    Each half of the recent documents proposes groups that the other tests. A document is explained by the mixture or as
    the first of its kind, whichever is better: what nothing explains does not make a group by that alone.

    Parameters
    ----------
    recent : documents of the last slices
    half : (N,) one half of them
    control : older documents, uniform over the stream
    anchor : (D,) natural vector of the common prior
    kappa : concentration of documents
    rules : thresholds

    Returns
    -------
    Groups that gain at least ``rules.least_gain`` nats on the testing half, whatever their chance.
    """
    recent, control = (or_new(known, anchor, kappa, rules) for known in (recent, control))
    groups = [
        g for proposing in (half, ~half) for g in _groups_of_half(recent, proposing, control, anchor, kappa, rules)
    ]
    return sorted(groups, key=lambda g: (g.chance >= rules.chance, -g.gain))


def or_new(known: ScoredDocuments, anchor: Matrix, kappa: float, rules: BirthSettings) -> ScoredDocuments:
    """Add a topic without documents to the mixture that scores documents, with the share that groups begin with.

    ``known`` are documents with their scores, ``anchor`` (D,) and ``kappa`` the prior and the concentration of
    documents, ``rules`` tell the share.
    """
    return ScoredDocuments(
        known.x, np.logaddexp(known.s, rules.log_share + new_topic_log_density(known.x, anchor, kappa))
    )


def _groups_of_half(
    recent: ScoredDocuments, half: Mask, control: ScoredDocuments, anchor: Matrix, kappa: float, rules: BirthSettings
) -> list[Group]:
    """Groups that one half proposes and that pass the test on the other."""
    proposing = np.flatnonzero(half)
    worst = proposing[np.argsort(recent.s[proposing], kind="stable")]
    worst = np.sort(worst[: min(rules.proposing_documents, int(np.ceil(rules.badly_explained * len(worst))))])
    if len(worst) < rules.least_members:
        return []
    x = recent.x[worst]
    gram = gram_of(x)
    norm = float(np.linalg.norm(anchor.astype(np.float64)))
    proposals = proposed_groups(
        gram,
        np.asarray(x @ anchor, np.float64),
        norm * norm,
        kappa,
        len(anchor),
        recent.s[worst],
        rules,
        rules.candidates,
    )
    tested = (_tested_group(worst[members], recent, half, control, anchor, kappa, rules) for members in proposals)
    return [g for g in tested if g is not None]


def gram_of(x: Rows) -> NDArray[np.float64]:
    """Dot products of all pairs of documents, (N, N)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x @ x.T, np.float64)
    words = x.tocsc()
    gram = np.zeros((x.shape[0], x.shape[0]))
    _add_words(words.indptr, words.indices, words.data, gram)
    return np.asarray(gram + np.tril(gram, -1).T)


@njit(cache=True, nogil=True)
def _add_words(indptr: Any, documents: Any, data: Any, gram: NDArray[np.float64]) -> None:
    """Add to the lower triangle what each word brings to the pairs of documents that hold it."""
    for word in range(len(indptr) - 1):
        low, high = indptr[word], indptr[word + 1]
        for a in range(low, high):
            row, value = gram[documents[a]], np.float64(data[a])
            for b in range(low, a + 1):
                row[documents[b]] += value * data[b]


def proposed_groups(
    gram: NDArray[np.float64],
    b: Vector,
    square: float,
    kappa: float,
    d: int,
    s: Vector,
    rules: BirthSettings,
    most: int,
    *,
    overlapping: bool = False,
) -> Iterator[Mask]:
    """Find groups around single documents, each refined by judging every document without its own part in the sum.

    Parameters
    ----------
    gram : (N, N) dot products of all pairs of documents
    b : (N,) those with the anchor
    square : squared length of the anchor
    kappa : concentration of documents
    d : dimension
    s : (N,) log-densities of documents under what is known
    rules : thresholds
    most : seeds that are tried
    overlapping : whether a document may be in several groups; no group begins with a document of another one.
    """
    one = square + 2.0 * kappa * b + kappa * kappa
    gains = rules.log_share + log_density(d, kappa, one[:, None], b + kappa * gram, pairs=True) - s
    alone = np.minimum(rules.log_share + log_density(d, kappa, square, b) - s, 0.0)
    np.fill_diagonal(gains, 0.0)
    positive, everyone = np.maximum(gains, 0.0), np.ones(len(s), np.bool_)
    free = everyone
    for _ in range(most):
        may = everyone if overlapping else free
        value = np.where(free, positive @ may + alone, -np.inf)
        seed = int(np.argmax(value))
        if not free[seed]:
            return
        members = may & (gains[seed] > 0.0)
        members[seed] = True
        for _ in range(rules.sweeps):
            before = members
            members = may & (_left_out(gram, b, square, kappa, d, members) + rules.log_share > s)
            if members.sum() < rules.least_members or np.array_equal(members, before):
                break
        if members.sum() >= rules.least_members:
            yield members
        free = free & ~members
        free[seed] = False


def _left_out(gram: NDArray[np.float64], b: Vector, square: float, kappa: float, d: int, members: Mask) -> Vector:
    """Log-density of every document under the group without itself."""
    own = members.astype(np.float64)
    cross = gram @ own
    total = float(own @ cross)
    lengths = total - own * (2.0 * cross - 1.0)
    squares = square + 2.0 * kappa * (float(own @ b) - own * b) + kappa * kappa * lengths
    return log_density(d, kappa, squares, b + kappa * (cross - own))


def _tested_group(
    members: NDArray[np.intp],
    recent: ScoredDocuments,
    half: Mask,
    control: ScoredDocuments,
    anchor: Matrix,
    kappa: float,
    rules: BirthSettings,
) -> Group | None:
    """Test a proposed group on the other half and against the control sample; None if it gains too little."""
    d, share = len(anchor), len(members) / np.count_nonzero(half)
    f = anchor + kappa * sum_of(recent.x, members)
    square = float(f @ f)
    now, then = (np.log(share) + log_density(d, kappa, square, products(known.x, f)) for known in (recent, control))
    delta = now - recent.s
    testing = delta[~half]
    gain = float(np.logaddexp(np.log1p(-share), testing).sum())
    joining = int(np.count_nonzero(testing > rules.document_gain))
    if joining < rules.least_joining or gain <= rules.least_gain:
        return None
    earlier = int(np.count_nonzero(then - control.s > rules.document_gain))
    part = len(testing) / (len(testing) + len(control.s))
    chance = float(bdtrc(joining - 1, joining + earlier, part))
    return Group(delta > 0.0, gain, chance, now, then)
