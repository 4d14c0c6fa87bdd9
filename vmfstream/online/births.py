"""Births: groups of documents that the topics explain badly, that explain each other, and that are new.

Groups that one half of the recent documents proposes are tested on the other. A group is new only if such documents are
more frequent now than before: finer structure that was always there explains documents better too. Documents of both
times are compared by their scores on arrival, since documents look well explained once they were learnt.

With a group's sum S its topic has the belief f = B + kappa S, B being the anchor, and a document the gain

    delta = log pi + log p(x | f) - s

over its score s under the mixture, or under a topic without documents where that is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray
from scipy.special import bdtrc

from vmfstream.arrays import Mask
from vmfstream.directional.bessel import ell, log_partition
from vmfstream.mixtures.columns import square_of
from vmfstream.online.belief import log_density, new_topic_log_density
from vmfstream.online.document_sums import products, sum_of
from vmfstream.online.settings import BirthSettings
from vmfstream.online.state import Matrix, Rows, Vector

T = TypeVar("T")

DEGREE, ROUNDING = 24, 1e-11
"""Highest degree of the polynomial that stands for the Bessel functions of all pairs, and its relative error."""


class ScoredDocuments(NamedTuple):
    """Documents and how well they were explained on arrival: rows (N, D), log-densities (N,)."""

    x: Rows
    s: Vector


@dataclass(frozen=True, eq=False)
class Group:
    """A tested group: which recent documents join, its gain in nats and how easily chance makes it as frequent.

    ``densities`` computes log pi + log p(x | f) of all recent and of all control documents, which few groups need.
    """

    joins: Mask
    gain: float
    chance: float
    densities: Callable[[], tuple[Vector, Vector]]


class SearchCache:
    """What searches at the end of one slice have in common: their documents are the same, only the scores change."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    def once(self, name: str | tuple[str, bytes], make: Callable[[], T], *of: Any) -> T:
        """Return what ``make`` has returned for the same ``name`` and the same objects ``of``."""
        key = name, *map(id, of)
        if key not in self._made:
            self._made[key] = make(), of  # they are held, so that their ids stay theirs
        found: T = self._made[key][0]
        return found


def _series(d: int, low: float, high: float) -> Vector | None:
    """Coefficients of a Chebyshev series of `log_partition` by the square of the length in [low, high], None if bad.

    It is analytic in the square, with singularities on the negative axis only, beyond -(d/2 - 1)^2 [DLMF 10.21].
    """
    if not high > low:
        return None
    series = Chebyshev.interpolate(lambda q: log_partition(d, np.sqrt(np.maximum(q, 0.0))), DEGREE, (low, high))
    negligible = ROUNDING * max(np.abs(series.coef).max(), 1.0)
    if np.abs(series.coef[-2:]).max() >= negligible:
        return None
    return np.asarray(series.trim(0.1 * negligible).coef, np.float64)


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
    recent: ScoredDocuments,
    half: Mask,
    control: ScoredDocuments,
    anchor: Matrix,
    kappa: float,
    rules: BirthSettings,
    memory: SearchCache | None = None,
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
    memory : of the searches among the same documents

    Returns
    -------
    Groups that gain at least ``rules.least_gain`` nats on the testing half, whatever their chance.
    """
    recent, control = (or_new(known, anchor, kappa, rules, memory) for known in (recent, control))
    groups = [
        g for proposing in (half, ~half) for g in _groups_of_half(recent, proposing, control, anchor, kappa, rules)
    ]
    return sorted(groups, key=lambda g: (g.chance >= rules.chance, -g.gain))


def or_new(
    known: ScoredDocuments, anchor: Matrix, kappa: float, rules: BirthSettings, memory: SearchCache | None = None
) -> ScoredDocuments:
    """Add a topic without documents to the mixture that scores documents, with the share that groups begin with.

    ``known`` are documents with their scores, ``anchor`` (D,) and ``kappa`` the prior and the concentration of
    documents, ``rules`` tell the share, and ``memory`` is that of searches among the same documents.
    """
    alone = new_topic_densities(known.x, anchor, kappa, memory)
    return ScoredDocuments(known.x, np.logaddexp(known.s, rules.log_share + alone))


def new_topic_densities(x: Rows, anchor: Matrix, kappa: float, memory: SearchCache | None) -> Vector:
    """Do as `new_topic_log_density`, once for the same documents if there is a ``memory``.

    ``x`` (N, D) are unit rows, ``anchor`` (D,) and ``kappa`` the prior and the concentration of documents.
    """
    if memory is None:
        return new_topic_log_density(x, anchor, kappa)
    return memory.once("new topic", lambda: new_topic_log_density(x, anchor, kappa), x, anchor)


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
    proposals = proposed_groups(
        gram,
        np.asarray(x @ anchor, np.float64),
        square_of(anchor),
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
    return gram


@njit(cache=True, nogil=True)
def _add_words(indptr: Any, documents: Any, data: Any, gram: NDArray[np.float64]) -> None:
    """Add what each word brings to the pairs of documents that hold it."""
    for word in range(len(indptr) - 1):
        low, high = indptr[word], indptr[word + 1]
        for a in range(low, high):
            row, value = gram[documents[a]], np.float64(data[a])
            for b in range(low, a + 1):
                row[documents[b]] += value * data[b]
    for i in range(len(gram)):
        for j in range(i):
            gram[j, i] = gram[i, j]


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

    A document that has no word in common with a group is not explained better by it than by a topic without documents,
    and such pairs are not looked at: a longer sum makes what is orthogonal to it less likely.

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
    fresh = rules.log_share + log_density(d, kappa, square, b) - s
    apart = (fresh <= 0.0) & (kappa + 2.0 * b >= 0.0)  # of these the rule about words in common is true
    least = s - rules.log_share
    gains = _pair_gains(gram, b, square, kappa, d, least, apart)
    alone = np.minimum(fresh, 0.0)
    free = np.ones(len(s), np.bool_)
    value = _value_of_seeds(gains, free) + alone
    for _ in range(most):
        seed = int(np.argmax(np.where(free, value, -np.inf)))
        if not free[seed]:
            return
        may = np.ones(len(s), np.bool_) if overlapping else free
        members = may & (gains[seed] > 0.0)
        members[seed] = True
        for _ in range(rules.sweeps):
            before = members
            members = _better_explained(gram, b, square, kappa, float(d), before, may, least, apart)
            if members.sum() < rules.least_members or np.array_equal(members, before):
                break
        if members.sum() >= rules.least_members:
            yield members
        free = free & ~members
        free[seed] = False
        if not overlapping:
            value = _value_of_seeds(gains, free) + alone


def _pair_gains(
    gram: NDArray[np.float64], b: Vector, square: float, kappa: float, d: int, s: Vector, apart: Mask
) -> NDArray[np.float64]:
    """By how much a topic of one document explains another one better than its score ``s``, (N, N).

    Zero on the diagonal, and for the pairs without a product whose second document is ``apart``.
    """
    one = square + 2.0 * kappa * b + kappa * kappa
    low, high = _bounds_of_pairs(gram, b, kappa, one)
    series = _series(d, max(low, 0.0), max(high, 0.0))
    own = log_partition(d, np.sqrt(np.maximum(one, 0.0))) + float(log_partition(d, kappa))
    gains = np.zeros_like(gram)
    apart = apart & (one.min() >= square)
    if series is not None:
        _gains_of_pairs(gram, b, kappa, one, own, s, apart, series, max(low, 0.0), max(high, 0.0), gains)
        return gains
    i, j = np.nonzero((gram != 0.0) | ~apart)
    gains[i, j] = log_density(d, kappa, one[i], b[j] + kappa * gram[i, j]) - s[j]
    np.fill_diagonal(gains, 0.0)
    return gains


@njit(cache=True, nogil=True)
def _bounds_of_pairs(gram: NDArray[np.float64], b: Vector, kappa: float, one: Vector) -> tuple[float, float]:
    """Smallest and largest squared length of the natural vector of a pair."""
    low, high = np.inf, -np.inf
    for i in range(len(gram)):
        own = one[i] + kappa * kappa
        for j in range(len(gram)):
            both = own + 2.0 * kappa * (b[j] + kappa * gram[i, j])
            low, high = min(low, both), max(high, both)
    return low, high


@njit(cache=True, nogil=True)
def _gains_of_pairs(
    gram: NDArray[np.float64],
    b: Vector,
    kappa: float,
    one: Vector,
    own: Vector,
    s: Vector,
    apart: Mask,
    coefficients: Vector,
    low: float,
    high: float,
    gains: NDArray[np.float64],
) -> None:
    """Write the gains of the pairs that are looked at."""
    n = len(gram)
    place, both, density = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for i in range(n):
        count = 0
        for j in range(n):
            if i != j and (gram[i, j] != 0.0 or not apart[j]):
                place[count] = j
                both[count] = max(one[i] + kappa * kappa + 2.0 * kappa * (b[j] + kappa * gram[i, j]), 0.0)
                count += 1
        _chebyshev(coefficients, low, high, both[:count], density[:count])
        for a in range(count):
            gains[i, place[a]] = density[a] - own[i] - s[place[a]]


@njit(cache=True, nogil=True)
def _value_of_seeds(gains: NDArray[np.float64], free: Mask) -> Vector:
    """Sum of the positive gains of the ``free`` documents under a topic of each of them, zero for others."""
    out = np.zeros(len(gains))
    for i in np.flatnonzero(free):
        for j in range(len(gains)):
            if gains[i, j] > 0.0 and free[j]:
                out[i] += gains[i, j]
    return out


@njit(cache=True, nogil=True)
def _better_explained(
    gram: NDArray[np.float64],
    b: Vector,
    square: float,
    kappa: float,
    d: float,
    members: Mask,
    may: Mask,
    s: Vector,
    apart: Mask,
) -> Mask:
    """Tell of those documents that ``may`` join whether the group without itself explains them better than ``s``, (N,).

    The group has ``members``; other arguments as in `proposed_groups`.
    """
    cross, squares = _left_out(gram, b, square, kappa, members)
    better, common, last, alone = np.zeros(len(s), np.bool_), ell(d, kappa), -1.0, 0.0
    for i in range(len(s)):
        if not may[i] or (cross[i] == 0.0 and apart[i] and squares[i] >= square):
            continue
        if squares[i] != last:  # often the same for all
            last = squares[i]
            alone = ell(d, np.sqrt(max(last, 0.0)))
        joint = max(last + kappa * kappa + 2.0 * kappa * (b[i] + kappa * cross[i]), 0.0)
        better[i] = ell(d, np.sqrt(joint)) - alone - common > s[i]
    return better


@njit(cache=True, nogil=True)
def _left_out(
    gram: NDArray[np.float64], b: Vector, square: float, kappa: float, members: Mask
) -> tuple[Vector, Vector]:
    """Products of every document with the group without itself, and the squared lengths of its natural vector, (N,)."""
    n, along, total = len(b), 0.0, 0.0
    cross = np.zeros(n)
    for i in range(n):
        if members[i]:
            along += b[i]
            for j in range(n):
                cross[j] += gram[i, j]
    for i in range(n):
        if members[i]:
            total += cross[i]
    squares = np.empty(n)
    for i in range(n):
        if members[i]:
            length = total - (2.0 * cross[i] - 1.0)  # rows have unit length
            squares[i] = square + 2.0 * kappa * (along - b[i]) + kappa * kappa * length
            cross[i] -= 1.0
        else:
            squares[i] = square + 2.0 * kappa * along + kappa * kappa * total
    return cross, squares


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
    square = square_of(f)
    now = np.log(share) + log_density(d, kappa, square, products(recent.x, f))
    delta = now - recent.s
    testing = delta[~half]
    gain = float(np.logaddexp(np.log1p(-share), testing).sum())
    joining = int(np.count_nonzero(testing > rules.document_gain))
    if joining < rules.least_joining or gain <= rules.least_gain:
        return None
    then = np.log(share) + log_density(d, kappa, square, products(control.x, f))
    earlier = int(np.count_nonzero(then - control.s > rules.document_gain))
    part = len(testing) / (len(testing) + len(control.s))
    chance = float(bdtrc(joining - 1, joining + earlier, part))
    return Group(delta > 0.0, gain, chance, lambda: (now, then))
