"""Fit from several starts and keep the best; anneal the Bayesian mixture itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, TypeVar, get_args

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import point_factor
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.factors.responsibilities import responsibilities
from vmfstream.bayes.factors.weights import Dirichlet, WeightsPrior
from vmfstream.bayes.starts import annealed_starts
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.annealing import ANNEAL, melting
from vmfstream.mixtures.em import TIE
from vmfstream.mixtures.seeding import one_hot, random_responsibilities, seed_labels
from vmfstream.mixtures.steps import m_step
from vmfstream.mixtures.sums import weighted

Start: TypeAlias = Literal["annealed-em", "annealed", "k-means++", "random"]
"""Annealed EM; k-means++ and annealed sweeps of the model itself; k-means++ alone; random responsibilities."""

STARTS: tuple[Start, ...] = get_args(Start)

COOLING = 1.4
"""Factor of the inverse temperature from sweep to sweep."""

Fitted = TypeVar("Fitted")


def best_of(
    x: Rows,
    k: int,
    rng: np.random.Generator,
    prior_of: Callable[[Floats], Prior],
    run: Callable[[Floats, Prior], Fitted],
    bound: Callable[[Fitted], float],
    *,
    n_init: int = 1,
    start: Start | Floats = "annealed-em",
    weights: WeightsPrior | None = None,
    mass: Vector | None = None,
) -> Fitted:
    """Fit from ``n_init`` starts, all under one prior, and return the fit of largest bound.

    The prior comes from the first start, or, as random responsibilities say nothing about it, from spherical k-means.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    k : int, number of topics
    rng : numpy.random.Generator
    prior_of : gives the prior from responsibilities (N, kp)
    run : fits from responsibilities under a prior
    bound : what fits are compared by
    n_init : int >= 1; one start only if ``start`` gives responsibilities
    start : one of `STARTS`, or responsibilities (N, kp)
    weights : prior of the weights while the model is annealed, default Dir(prior.alpha)
    mass : (N,) float64, how often each row was seen, >= 0; once by default

    Raises
    ------
    ValueError
        An unknown start, or no start at all.
    """
    prior: Prior | None = None
    best: Fitted | None = None
    for resp in _starts(x, k, rng, n_init, start, mass):
        if prior is None:
            prior = prior_of(_clustered(x, k, rng, mass) if isinstance(start, str) and start == "random" else resp)
        if isinstance(start, str) and start == "annealed":
            resp = annealed(x, resp, k, prior, weights=weights, mass=mass)
        found = run(resp, prior)
        if best is None or bound(found) - bound(best) > TIE * abs(bound(best)):
            best = found
    if best is None:
        raise ValueError(f"n_init must be at least 1; got {n_init}")
    return best


def annealed(
    x: Rows,
    resp: Floats,
    k: int,
    prior: Prior,
    *,
    weights: WeightsPrior | None = None,
    mass: Vector | None = None,
    heat: float = ANNEAL,
) -> Floats:
    """Cool the Bayesian mixture from where topics melt to full scores, at a fixed concentration; return (N, kp).

    The prior acts at full weight while the documents do not, so topics that they do not pay for are let go; how many,
    depends on the prior of the directions.

    Parameters
    ----------
    x, resp, k, prior : as in `vmfstream.bayes.flat.variational.fit`
    weights : prior of the weights, default Dir(prior.alpha)
    mass : (N,) float64, how often each row was seen, >= 0; once by default
    heat : float, where to begin, as a multiple of the inverse temperature at which topics melt
    """
    shares = Dirichlet(np.broadcast_to(np.asarray(prior.alpha, np.float64), k)) if weights is None else weights
    mixture = m_step(x, weighted(resp, mass), k)
    factor = point_factor(x.shape[1], mixture.kappa[:1])
    beta = heat * melting(x, mixture, weights=mass)
    while beta < 1:
        seen = weighted(resp, mass)
        nk = seen.sum(axis=0, dtype=np.float64)[:k]
        f, gamma = natural_vectors(prior.b, accumulate(x, seen), factor.mean, k)
        resp = responsibilities(x, f, gamma, factor, shares.posterior(nk).expected_log, beta)[0]
        beta *= COOLING
    return resp


def _starts(
    x: Rows, k: int, rng: np.random.Generator, n_init: int, start: Start | Floats, mass: Vector | None
) -> Iterator[Floats]:
    if not isinstance(start, str):
        return iter([start])
    if start not in STARTS:
        raise ValueError(f"start must be one of {', '.join(STARTS)}, or responsibilities; got {start!r}")
    if start == "annealed-em":
        return annealed_starts(x, k, rng, n_init, weights=mass)
    if start == "random":
        return (random_responsibilities(x, k, rng) for _ in range(n_init))
    return (_clustered(x, k, rng, mass) for _ in range(n_init))


def _clustered(x: Rows, k: int, rng: np.random.Generator, mass: Vector | None) -> Floats:
    return one_hot(seed_labels(x, k, rng, weights=mass), k, x.dtype)
