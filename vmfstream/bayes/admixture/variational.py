"""The Dirichlet admixture of von Mises-Fisher distributions: every document mixes the topics in its own proportions.

    theta_i ~ Dir(alpha);  z_ij ~ Cat(theta_i);  x_ij ~ vMF(mu_{z_ij}, kappa_{z_ij})
    q = prod_i Dir(theta_i | phi_i) prod_ij Cat(z_ij | p_ij)

Documents are bags of vectors: a csr_array (N, V) that says how often each document holds each of V unit rows. Where
every vector is seen once, as in images or sentences, it has one entry a column; where vectors are those of words, equal
words share one row, and their scores are computed once. Each step raises the lower bound. Log-densities are relative to
uniform; vectors without direction count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.admixture.loops import relative_scores, visit
from vmfstream.bayes.admixture.topics import Law, Likelihood, TopicBelief, Topics
from vmfstream.bayes.factors.empirical_bayes import best_alpha
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import moment_kappa_prior, moment_prior
from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.em import TIE
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.seeding import start_from
from vmfstream.mixtures.sums import WeightedSums

SWEEPS, STILL = 20, 1e-3
"""Most steps of a document's own proportions in one visit, and the change per vector at which they rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What a visit to all documents gives.

    ``phi`` (N, k) are the posteriors Dir(phi_i) of their proportions and ``bound`` (N,) what they add to the lower
    bound, 0 for documents without vectors; ``has_direction`` (N,) tells the others. ``mass`` (V, kp) holds the
    responsibilities of the vectors, summed over documents, and ``sums`` those of vectors, over all.
    """

    phi: Vector
    bound: Vector
    has_direction: NDArray[np.bool_]
    mass: Vector
    sums: WeightedSums


def directed_bags(x: Rows, bags: csr_array) -> csr_array:
    """Return the bags (N, V) in float64 without the vectors that have no direction and without zeros."""
    kept = csr_array(bags, dtype=np.float64, copy=True)
    kept.data[~directed(x)[kept.indices]] = 0.0
    kept.eliminate_zeros()
    return kept


def visited(
    x: Rows,
    bags: csr_array,
    topics: Topics,
    alpha: float,
    phi: Vector | None = None,
    *,
    sweeps: int = SWEEPS,
    tol: float = STILL,
) -> Visit:
    """Infer the proportions of all documents under given topics: the E-step.

    Parameters
    ----------
    x : (V, D) CSR or dense unit rows
    bags : (N, V) csr_array of `directed_bags`
    topics : Topics
    alpha : float > 0
    phi : (N, k), where to start; alpha + J_i / K by default, J_i being the vectors of the document
    sweeps : int >= 0, most steps of each document before the last
    tol : float, change of phi per vector at which a document rests

    References
    ----------
    [Li] eq. (9).
    """
    (n, v), k = bags.shape, topics.k
    if phi is None:
        phi = np.repeat((alpha + np.asarray(bags.sum(axis=1)) / k)[:, None], k, axis=1)
    scores = dots(x, topics.f.astype(x.dtype, copy=False))
    likeness, best = np.empty_like(scores), np.empty(v)
    relative_scores(scores, topics.slope, topics.offset, best, likeness)
    phi, mass, qk, bound = phi.copy(), np.zeros((v, scores.shape[1])), np.zeros(k), np.zeros(n)
    documents = bags.indptr.astype(np.int64, copy=False), bags.indices.astype(np.int64, copy=False), bags.data
    visit(*documents, scores, likeness, best, float(alpha), sweeps, tol, phi, mass, qk, bound)
    return Visit(phi, bound, np.diff(bags.indptr) > 0, mass, summed(x, mass, k, qk))


def summed(x: Rows, mass: Vector, k: int, qk: Vector) -> WeightedSums:
    """Sum unit rows ``x`` (V, D) by their ``mass`` (V, kp) in ``k`` topics.

    ``qk`` (k,) are the sums of squares, which are known.
    """
    return WeightedSums(accumulate(x, mass.astype(x.dtype)), mass.sum(axis=0)[:k], qk)


def log_proportions(phi: Vector) -> Vector:
    """Return sum_k E[log theta_ik] of every document, (N,)."""
    return np.asarray(digamma(phi).sum(axis=1) - phi.shape[1] * digamma(phi.sum(axis=1)))


@dataclass(frozen=True, slots=True, eq=False)
class AdmixtureFit:
    """Fitted ``topics`` and ``alpha``, and the ``visit`` to all documents under exactly these.

    ``trace`` is the lower bound after each sweep, in nats relative to uniform, of all documents together.
    """

    topics: Topics
    alpha: float
    visit: Visit
    law: Law
    trace: Vector
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.trace)


def fit(
    x: Rows,
    bags: csr_array,
    resp: Floats,
    k: int,
    law: Law,
    *,
    alpha: float = 0.1,
    learn_alpha: bool = True,
    sweeps: int = SWEEPS,
    max_iter: int = 100,
    tol: float = 1e-4,
) -> AdmixtureFit:
    """Fit the admixture by coordinate ascent on the lower bound.

    Parameters
    ----------
    x : (V, D) CSR or dense unit rows
    bags : (N, V) csr_array of `directed_bags`, with at least one vector
    resp : (V, kp) responsibilities of the vectors to start from
    k : int, number of topics
    law : `Likelihood` or `TopicBelief`
    alpha : float > 0, prior of the proportions, or where its search starts
    learn_alpha : whether alpha maximises the bound
    sweeps : int >= 0, steps of each document in a sweep; see `visited`
    max_iter : int, largest number of sweeps
    tol : float, stop when the bound per vector changes by less, in nats

    Raises
    ------
    ValueError
        Shapes that do not fit, no vectors, or an alpha that is not positive.

    Notes
    -----
    A sweep costs O(V D K) for the scores and O(nnz K) for every step of the documents; scores and responsibilities of
    the vectors take O(V K) memory.

    References
    ----------
    [Li] section 2.
    """
    _check(x, bags, resp, k, alpha)
    seen = np.asarray(bags.sum(axis=0))
    mass = resp.astype(np.float64) * seen[:, None]
    sums = summed(x, mass, k, np.einsum("v,vk->k", seen, resp[:, :k].astype(np.float64) ** 2))
    phi = alpha + np.asarray(bags @ resp[:, :k].astype(np.float64))
    topics: Topics | None = None
    trace: list[float] = []
    enough = tol * float(seen.sum())
    while True:
        topics = law.topics(sums, topics)
        found = visited(x, bags, topics, alpha, phi, sweeps=sweeps)
        trace.append(float(found.bound.sum()) - topics.cost)
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < enough
        if converged or len(trace) >= max_iter:
            return AdmixtureFit(topics, alpha, found, law, np.array(trace), converged)
        sums, phi = found.sums, found.phi
        if learn_alpha:
            alpha = best_alpha(k, float(log_proportions(phi[found.has_direction]).mean()), alpha)


def best_fit(
    x: Rows,
    bags: csr_array,
    k: int,
    rng: np.random.Generator,
    *,
    bayesian: bool = False,
    concentration: Concentration = "own",
    init: str | Floats = "k-means++",
    n_init: int = 1,
    **options: Any,
) -> AdmixtureFit:
    """Fit from ``n_init`` starts and return the fit of largest bound, the first of those that are equal to rounding.

    Parameters
    ----------
    x, bags, k : as in `fit`
    rng : numpy.random.Generator
    bayesian : whether topics have beliefs, under priors estimated from the first start, instead of points
    concentration : one for all topics, or one each
    init : ``"k-means++"`` (labels of spherical k-means), ``"random"`` responsibilities, or responsibilities (V, kp),
        which are the only start
    n_init : int >= 1
    options : of `fit`

    Raises
    ------
    ValueError
        ``n_init`` is below 1, or ``init`` names no responsibilities.
    """
    law: Law | None = None
    best: AdmixtureFit | None = None
    seen = np.asarray(bags.sum(axis=0))
    for _ in range(n_init if isinstance(init, str) else 1):
        resp = start_from(x, k, init, rng, seen)
        if isinstance(resp, Mixture):
            raise ValueError(f"init must give responsibilities; got {init!r}")
        if law is None:
            law = _believed(x, resp, seen, k, concentration) if bayesian else Likelihood(concentration)
        found = fit(x, bags, resp, k, law, **options)
        if best is None or found.trace[-1] - best.trace[-1] > TIE * abs(best.trace[-1]):
            best = found
    if best is None:
        raise ValueError(f"n_init must be at least 1; got {n_init}")
    return best


def _believed(x: Rows, resp: Floats, seen: Vector, k: int, concentration: Concentration) -> TopicBelief:
    mass = (resp * seen[:, None]).astype(x.dtype)
    nothing = np.zeros(1 if concentration == "shared" else k)
    model = KappaModel("quadrature", moment_kappa_prior(x, mass, k), concentration, nothing, nothing)
    return TopicBelief(moment_prior(x, mass, k), model)


def _check(x: Rows, bags: csr_array, resp: Floats, k: int, alpha: float) -> None:
    if bags.shape[1] != x.shape[0]:
        raise ValueError(f"bags must have a column for each of {x.shape[0]} vectors; got the shape {bags.shape}")
    if resp.shape != (x.shape[0], padded(k)):
        raise ValueError(f"resp must have the shape {(x.shape[0], padded(k))}; got {resp.shape}")
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be a positive number; got {alpha}")
    if not bags.nnz:
        raise ValueError(f"no vector with a direction is in any of {bags.shape[0]} documents")
