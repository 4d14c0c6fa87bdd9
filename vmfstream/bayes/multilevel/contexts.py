"""Contexts of groups, besides their content: numbers, bags of items or directions; parameters integrated out.

Every context is a `Context`, whatever its kernel, so that a group may have several in one compiled sweep. A group
without a row has no context, which costs nothing: its factor is 1. The predictive density of a group given the others
of its cluster is

* Gaussian with a normal-gamma prior: Student's t, each column for itself;
* Dirichlet-multinomial: the ratio of two Dirichlet normalisers for the whole bag;
* von Mises-Fisher: exp(-ell(kappa) - ell(|kappa S + b|) + ell(|kappa (S + x) + b|)), relative to uniform.

The likelihood of a context is raised to a power >= 0, the inverse of its temperature.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from vmfstream.arrays import Indices, Rows, Vector
from vmfstream.bayes.factors.univariate import resultant
from vmfstream.directional.bessel import R_MAX, R_MIN, ell, inv_bessel_ratio

GAUSSIAN, BAG, DIRECTION = 0, 1, 2

STRENGTH, SHAPE, RATE = 0.01, 1.0, 0.1
"""Normal-gamma prior: observations the prior mean is worth, and shape and rate of the precision, in units of the data's
variance."""

ITEM = 0.1
"""Dirichlet parameter of every item of a bag."""

VAGUE = 1.0
"""Concentration of the prior of a mean direction."""


class Context(NamedTuple):
    """Rows of one context and its sums by cluster; the arrays of sums are changed in place.

    ``indptr``, ``indices``, ``values``: a row per group, empty where the context is missing; ``own`` (J, 2): total of
    a bag, or x'x and x'b of a direction; ``law``: parameters of the prior, (mean 0, strength, shape, rate), (item,
    all items) or (d, kappa, |b|); ``prior`` (W,): b of directions; ``amount`` (kc,): groups, or items of a bag;
    ``sums`` (kc, W); ``extra`` (kc, 2): |S|^2 and S'b of directions; ``power``: of the factor, 1 / temperature.
    """

    kind: int
    power: float
    indptr: Indices
    indices: Indices
    values: Vector
    own: Vector
    law: Vector
    prior: Vector
    amount: Vector
    sums: Vector
    extra: Vector


def gaussian(values: Vector, *, prior: tuple[float, float, float] | None = None, power: float = 1.0) -> Context:
    """Numbers of every group, ``values`` (J, W), rows with NaN missing; the prior mean is 0, so give them centred.

    ``prior``: strength, shape and rate of the normal-gamma law; by default `STRENGTH`, `SHAPE` and `RATE` times the
    variance. ``power`` > 0 multiplies the log-density.

    References
    ----------
    [MC2] section 4: unknown mean and variance with a Gaussian-Gamma prior.
    """
    complete = np.asarray(np.isfinite(values).all(axis=1))
    spread = float(values[complete].var()) if complete.any() else 0.0
    strength, shape, rate = prior or (STRENGTH, SHAPE, RATE * (spread or 1.0))
    width = int(values.shape[1])
    indptr = np.concatenate([[0], np.cumsum(complete * width)]).astype(np.int64)
    indices = np.tile(np.arange(width), complete.sum())
    law = np.array([0.0, strength, shape, rate])
    return _context(
        GAUSSIAN, power, indptr, indices, values[complete].ravel(), np.zeros((complete.size, 2)), law, 2 * width
    )


def bag(counts: csr_array, *, item: float = ITEM, power: float = 1.0) -> Context:
    """Counts of items of every group, (J, W); empty rows are missing. The order of items is part of the density.

    ``counts`` are whole numbers; ``item`` > 0 is the Dirichlet parameter of every item; ``power`` as in `gaussian`.
    """
    rows = csr_array(counts, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    own = np.column_stack([rows.sum(axis=1), np.zeros(rows.shape[0])])
    law = np.array([item, item * rows.shape[1]])
    return _context(BAG, power, rows.indptr, rows.indices, rows.data, own, law, rows.shape[1])


def direction(rows: Rows, *, kappa: float | None = None, c0: float = VAGUE, power: float = 1.0) -> Context:
    """Unit ``rows`` of every group, (J, W); rows of zeros are missing. The prior of a mean lies about that of all rows.

    ``kappa`` starts at that of a mean resultant length of one half; ``c0`` > 0 is the length of the prior's natural
    vector; ``power`` as in `gaussian`.
    """
    x = csr_array(rows, dtype=np.float64, copy=True)
    x.eliminate_zeros()
    b = prior_direction(np.asarray(x.sum(axis=0)).ravel(), c0)
    own = np.column_stack([x.multiply(x).sum(axis=1), x @ b])
    start = float(inv_bessel_ratio(x.shape[1], 0.5)) if kappa is None else kappa
    law = np.array([float(x.shape[1]), start, float(np.linalg.norm(b))])
    return _context(DIRECTION, power, x.indptr, x.indices, x.data, own, law, x.shape[1], b)


def prior_direction(total: Vector, c0: float) -> Vector:
    """The natural parameter of the prior of mean directions: length ``c0`` along a sum of rows."""
    length = float(np.linalg.norm(total))
    return total * (c0 / length) if length > 0 else np.zeros_like(total)


def _context(
    kind: int,
    power: float,
    indptr: Any,
    indices: Any,
    values: Vector,
    own: Vector,
    law: Vector,
    width: int,
    prior: Vector | None = None,
) -> Context:
    rows = np.asarray(indptr, np.int64), np.asarray(indices, np.int64), np.ascontiguousarray(values, np.float64)
    sums = np.zeros(1), np.zeros((1, width)), np.zeros((1, 2))
    b = np.zeros(0) if prior is None else prior
    return Context(kind, float(power), *rows, np.ascontiguousarray(own, np.float64), law, b, *sums)


def concentration_range(d: float) -> tuple[float, float]:
    """Smallest and largest logarithm of a concentration in ``d`` dimensions."""
    low, high = np.log(inv_bessel_ratio(int(d), np.array([R_MIN, R_MAX])))
    return float(low), float(high)


@njit(cache=True)
def shift(context: Context, j: int, k: int, sign: float) -> None:
    """Let group j join cluster k (``sign`` 1) of a ``context`` or leave it (-1)."""
    first, last = context.indptr[j], context.indptr[j + 1]
    if first == last:
        return
    sums = context.sums[k]
    if context.kind == DIRECTION:
        context.extra[k, 0] += 2.0 * sign * _dot(context, j, k) + context.own[j, 0]
        context.extra[k, 1] += sign * context.own[j, 1]
    for e in range(first, last):
        if context.kind == GAUSSIAN:
            sums[2 * context.indices[e]] += sign * context.values[e]
            sums[2 * context.indices[e] + 1] += sign * context.values[e] ** 2
        else:
            sums[context.indices[e]] += sign * context.values[e]
    context.amount[k] += sign * context.own[j, 0] if context.kind == BAG else sign
    if context.amount[k] < 0.5:  # nothing is left but rounding
        context.amount[k] = 0.0
        sums[:] = 0.0
        context.extra[k] = 0.0


@njit(cache=True)
def predictive(context: Context, j: int, k: int) -> float:
    """Log-density of the row of group j, times ``power``, given the members of cluster k without j.

    It is that of one ``context``, in nats; 0 for a group without a row.
    """
    first, last = context.indptr[j], context.indptr[j + 1]
    if first == last:
        return 0.0
    law, sums, n, value = context.law, context.sums[k], context.amount[k], 0.0
    if context.kind == GAUSSIAN:
        for e in range(first, last):
            column, x = 2 * context.indices[e], context.values[e]
            value += normal_gamma(law, n + 1.0, sums[column] + x, sums[column + 1] + x * x)
            value -= normal_gamma(law, n, sums[column], sums[column + 1])
    elif context.kind == BAG:
        for e in range(first, last):
            had, x = law[0] + sums[context.indices[e]], context.values[e]
            value += math.log(had) if x == 1.0 else math.lgamma(had + x) - math.lgamma(had)
        value -= math.lgamma(law[1] + n + context.own[j, 0]) - math.lgamma(law[1] + n)
    else:
        d, kappa, c0 = law[0], law[1], law[2]
        square, cross = context.extra[k, 0], context.extra[k, 1]
        joined = square + 2.0 * _dot(context, j, k) + context.own[j, 0]
        value = ell(d, resultant(kappa, joined, cross + context.own[j, 1], c0))
        value -= ell(d, resultant(kappa, square, cross, c0)) + ell(d, kappa)
    return context.power * value


@njit(cache=True)
def score_rows(context: Context, scores: Vector) -> None:
    """Add to ``scores`` (J, kc) the log-density, times ``power``, of every row given the members of every cluster."""
    for j in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            scores[j, k] += predictive(context, j, k)


@njit(cache=True)
def log_marginals(context: Context) -> float:
    """Log-density, times ``power``, of all rows given the clusters, parameters integrated out."""
    value, law = 0.0, context.law
    for k in range(len(context.amount)):
        n, sums = context.amount[k], context.sums[k]
        if n == 0:
            continue
        if context.kind == GAUSSIAN:
            for column in range(0, len(sums), 2):
                value += normal_gamma(law, n, sums[column], sums[column + 1])
        elif context.kind == BAG:
            value += math.lgamma(law[1]) - math.lgamma(law[1] + n)
            for x in sums:
                if x > 0:
                    value += math.lgamma(law[0] + x) - math.lgamma(law[0])
        else:
            value += ell(law[0], resultant(law[1], context.extra[k, 0], context.extra[k, 1], law[2]))
            value -= n * ell(law[0], law[1]) + ell(law[0], law[2])
    return context.power * value


@njit(cache=True)
def normal_gamma(law: Vector, n: float, total: float, squares: float) -> float:
    """Log-density of n numbers with this ``total`` and sum of ``squares``, mean and precision integrated out.

    ``law`` holds strength, shape and rate of the normal-gamma law from place 1 on.
    """
    if n == 0:
        return 0.0
    strength, shape = law[1] + n, law[2] + 0.5 * n
    rate = law[3] + 0.5 * max(squares - total * total / strength, 0.0)
    value = math.lgamma(shape) - math.lgamma(law[2]) + law[2] * math.log(law[3]) - shape * math.log(rate)
    return float(value + 0.5 * math.log(law[1] / strength) - 0.5 * n * math.log(2.0 * math.pi))


@njit(cache=True)
def _dot(context: Context, j: int, k: int) -> float:
    value = 0.0
    for e in range(context.indptr[j], context.indptr[j + 1]):
        value += context.values[e] * context.sums[k, context.indices[e]]
    return value
