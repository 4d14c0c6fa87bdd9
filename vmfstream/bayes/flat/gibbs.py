"""Gibbs sampling of the Bayesian mixture, with weights and directions integrated out or drawn as well.

Collapsed, with b_k = C_0 mu_0, u_k = log kappa_k, and S_k without document i,

    P(z_i = k | rest) ~ (alpha + n_k) exp( -ell(kappa_k) - ell(|kappa_k S_k + b_k|) + ell(|kappa_k (S_k + x_i) + b_k|) )
    p(u_k | rest) ~ exp( -n_k ell(e^u) + ell(|e^u S_k + b_k|) - (u - m)^2 / (2 s2) )

In high dimension one reassignment costs tens of nats and the chain hardly moves: start it well, or keep it for few
words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numba import njit
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import gammaln

from vmfstream.arrays import ClusterLabels, Floats, Indices, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.factors.univariate import ConcentrationTarget, metropolis, resultant
from vmfstream.directional.bessel import R_MAX, R_MIN, inv_bessel_ratio, log_partition
from vmfstream.directional.bessel_scalars import ell
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.directional.vmf import sample
from vmfstream.mixtures.columns import column_dots, column_norms, directed, renumbered
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.seeding import one_hot
from vmfstream.progress import swept

DrawT = TypeVar("DrawT")

STEPS = 10
"""Metropolis steps of a concentration in a sweep."""


@dataclass(frozen=True, slots=True, eq=False)
class GibbsFit:
    """Draws from the posterior; topics whose priors agree are numbered as in the draw of largest joint density.

    ``labels`` (draws, N) with -1 for rows without direction, ``kappas`` (draws, g) with g = 1 (shared) or k (own),
    ``pis`` (draws, k); ``trace`` the log joint density after every sweep, in nats relative to uniform.
    ``resp`` (N, kp) holds how often each document was in each topic; ``f`` (D, kp), ``gamma`` (k,), ``kappa`` (g,) and
    ``rho`` (k,) are the beliefs given these frequencies and the mean concentration, for prediction.
    """

    labels: ClusterLabels
    kappas: Vector
    pis: Vector
    trace: Vector
    resp: Floats
    f: Floats
    gamma: Vector
    kappa: Vector
    rho: Vector


def fit(
    x: Rows,
    labels0: ClusterLabels,
    k: int,
    prior: Prior,
    *,
    rng: np.random.Generator,
    kappa_prior: KappaPrior | None = None,
    kappa: float | Vector | None = None,
    concentration: Concentration = "shared",
    collapsed: bool = True,
    draws: int = 100,
    burn_in: int = 100,
) -> GibbsFit:
    """Draw labels and concentrations from their posterior.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    labels0 : (N,) labels to start from, best from annealed EM; those of zero rows are not read
    k : int, number of topics
    prior : Prior, see `vmfstream.bayes.factors.priors.moment_prior`
    rng : numpy.random.Generator
    kappa_prior : prior of log kappa, needed unless ``kappa`` is known
    kappa : known values, a number or (k,); None draws them
    concentration : one for all topics or one each
    collapsed : integrate weights and directions out (default), or draw them too
    draws, burn_in : sweeps kept (at least 1), and before them (at least 0)

    Returns
    -------
    GibbsFit

    Raises
    ------
    ValueError
        Labels of another shape or beyond k, neither ``kappa`` nor its prior, or no draws.

    Notes
    -----
    A collapsed sweep costs O(nnz K) and 2 N K scalar functions; one that is not, O(nnz K + K D).

    References
    ----------
    [GY14] section 3.1.2; sums in the denominator hold document i as a member of topic k.
    """
    if kappa is None and kappa_prior is None:
        raise ValueError("kappa_prior is needed to draw kappa; got None")
    state = GibbsState(x, labels0, k, prior, kappa_prior, kappa, concentration)

    def sweep() -> tuple[ClusterLabels, Vector, Vector]:
        if collapsed:
            state.draw_labels(rng)
            pi = rng.dirichlet(state.alpha + state.nk)
        else:
            pi = state.draw_all(rng)
        if kappa is None:
            state.draw_kappa(rng)
        return state.labels.copy(), state.kappa.copy(), pi

    return _gathered(state, *kept_draws(sweep, state.log_joint, draws, burn_in))


def kept_draws(
    sweep: Callable[[], DrawT], log_joint: Callable[[], float], draws: int, burn_in: int
) -> tuple[list[DrawT], Vector]:
    """Run a chain: return what its last ``draws`` sweeps gave, and the log joint density after every one.

    ``sweep`` draws everything once, ``log_joint`` tells the density then; ``burn_in`` sweeps come before. Raises
    ValueError unless there is something to draw.
    """
    if draws < 1 or burn_in < 0:
        raise ValueError(f"draws must be at least 1 and burn_in at least 0; got {draws} and {burn_in}")
    kept, trace = [], []
    for number in range(1, burn_in + draws + 1):
        found = sweep()
        trace.append(log_joint())
        swept(number, "log joint density", trace[-1])
        if number > burn_in:
            kept.append(found)
    return kept, np.array(trace)


def conditionals(x: Rows, labels: ClusterLabels, k: int, prior: Prior, kappa: float | Vector) -> Vector:
    """P(z_i = k | all other labels, kappa), (N, k), weights and directions integrated out; zero without direction.

    Parameters
    ----------
    x, labels, k, prior : as in `fit`
    kappa : a number or (k,)
    """
    return GibbsState(x, labels, k, prior, None, kappa, "own").probabilities()


class GibbsState:
    """Labels, concentrations and the sums they give; changed in place by the draws.

    Arguments as in `fit`, ``labels`` those to start from; ``law`` is the prior of log kappa, None where kappa is known.
    ``counted`` says whether the weights are integrated out, so that labels follow the counts of their topics, or are
    given by the ``prior``.
    """

    def __init__(
        self,
        x: Rows,
        labels: ClusterLabels,
        k: int,
        prior: Prior,
        law: KappaPrior | None,
        kappa: float | Vector | None,
        concentration: Concentration,
        *,
        counted: bool = True,
    ) -> None:
        labels = np.asarray(labels)
        if labels.shape != (x.shape[0],):
            raise ValueError(f"labels must have the shape {(x.shape[0],)}; got {labels.shape}")
        directed_rows = directed(x)
        known = labels[directed_rows]
        if len(known) and not 0 <= known.min() <= known.max() < k:
            raise ValueError(f"labels must lie between 0 and {k - 1}; got {known.min()} to {known.max()}")
        self.k, self.law, self.concentration, self.counted = k, law, concentration, counted
        self.x: Any = csr_array(x).astype(np.float64)
        self.labels = np.where(directed_rows, labels, -1).astype(np.int64)
        self.alpha = np.broadcast_to(np.asarray(prior.alpha, np.float64), k).copy()
        self.s = accumulate(self.x, one_hot(self.labels, k, np.float64))
        self.xx = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        b = prior.b.astype(np.float64)
        self.renew_prior(b[:, None] if b.ndim == 1 else b[:, :k])
        self.exchangeable = np.ndim(prior.alpha) == 0 and b.ndim == 1 and (kappa is None or np.ndim(kappa) == 0)
        groups = 1 if concentration == "shared" else k
        start = self._estimate() if kappa is None else kappa
        self.kappa = np.broadcast_to(np.asarray(start, np.float64), groups if np.ndim(start) == 0 else k).copy()

    @property
    def kappas(self) -> Vector:
        """Concentrations of all topics, (k,)."""
        return np.broadcast_to(self.kappa, self.k).copy()

    def renew_prior(self, b: Floats) -> None:
        """Take other natural vectors ``b`` (D, k) as the prior of the directions, or one for all, (D, 1)."""
        self.b = np.zeros_like(self.s)
        self.b[:, : self.k] = b
        self.c0 = column_norms(self.b)[: self.k]
        self.xb = np.ascontiguousarray(dots(self.x, self.b)[:, : self.k])
        self._refresh()

    def _refresh(self) -> None:
        """Take the scalars anew from the sums, so that rounding does not add up."""
        self.nk = np.bincount(self.labels[self.labels >= 0], minlength=self.k).astype(np.float64)
        self.square = column_norms(self.s)[: self.k] ** 2
        self.cross = column_dots(self.s, self.b)[: self.k]

    def _estimate(self) -> float:
        ratio = np.sqrt(self.square).sum() / max(self.nk.sum(), 1.0)
        return float(inv_bessel_ratio(self.x.shape[1], np.clip(ratio, R_MIN, R_MAX)))

    def _swept(self, uniform: Vector, labels: ClusterLabels, probability: Vector) -> None:
        _sweep(
            *(self.x.indptr, self.x.indices, self.x.data, self.xx, self.xb, uniform, labels),
            *(self.s, self.nk, self.square, self.cross, self.c0, self.alpha, self.kappas, probability),
            float(self.counted),
        )

    def draw_labels(self, rng: np.random.Generator) -> None:
        """Draw every label in turn, given all others."""
        self._swept(rng.random(len(self.labels)), self.labels, np.empty((0, self.k)))
        self._refresh()

    def probabilities(self) -> Vector:
        """Return P(z_i = k | all other labels), (N, k)."""
        out = np.zeros((len(self.labels), self.k))
        self._swept(np.empty(0), self.labels, out)
        return out

    def drawn_directions(self, rng: np.random.Generator) -> Floats:
        """Draw directions (D, kp) given labels and concentrations."""
        return drawn_columns(natural_vectors(self.b, self.s, self.kappas, self.k)[0], self.k, rng)

    def draw_all(self, rng: np.random.Generator) -> Vector:
        """Draw weights and directions, then labels given these."""
        d = self.x.shape[1]
        pi: Vector = rng.dirichlet(self.alpha + self.nk)
        mu = self.drawn_directions(rng)
        with np.errstate(divide="ignore"):
            score = dots(self.x, mu)[:, : self.k] * self.kappas + np.log(pi) - log_partition(d, self.kappas)
        noise = rng.gumbel(size=score.shape)
        self.labels = np.where(self.labels >= 0, (score + noise).argmax(axis=1), -1)
        self.s = accumulate(self.x, one_hot(self.labels, self.k, np.float64))
        self._refresh()
        return pi

    def draw_kappa(self, rng: np.random.Generator) -> None:
        """Draw concentrations, directions integrated out, by Metropolis with steps of their posterior width."""
        groups = [slice(None)] if self.concentration == "shared" else [slice(j, j + 1) for j in range(self.k)]
        for g, topics in enumerate(groups):
            self.kappa[g] = drawn_concentration(
                self.kappa_target(topics), self.kappa[g], np.sqrt(self.square[topics]).sum(), rng
            )

    def kappa_target(self, topics: slice) -> ConcentrationTarget:
        """Return the density of the log concentration that ``topics`` share, given the labels."""
        law = KappaPrior(0.0, np.inf) if self.law is None else self.law
        given = float(self.nk[topics].sum()), 0.0, law.m, law.s2
        return ConcentrationTarget(self.x.shape[1], *given, self.square[topics], self.cross[topics], self.c0[topics])

    def log_joint(self) -> float:
        """log p(z, X, log kappa) without weights and directions, relative to uniform."""
        d, kappas = self.x.shape[1], self.kappas
        weights = gammaln(self.alpha.sum()) - gammaln(self.alpha.sum() + self.nk.sum())
        weights += (gammaln(self.alpha + self.nk) - gammaln(self.alpha)).sum()
        gamma = np.sqrt(np.maximum(kappas**2 * self.square + 2 * kappas * self.cross + self.c0**2, 0))
        directions = log_partition(d, gamma) - log_partition(d, self.c0) - self.nk * log_partition(d, kappas)
        law = 0.0
        if self.law is not None:
            law = float((-0.5 * (np.log(self.kappa) - self.law.m) ** 2 / self.law.s2).sum())
            law -= 0.5 * len(self.kappa) * float(np.log(2 * np.pi * self.law.s2))
        return float(weights + directions.sum()) + law


def drawn_columns(f: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Draw a direction for each of the first ``k`` columns of ``f`` (D, kp), natural vectors, by ``rng``."""
    mu, gamma = np.zeros_like(f), column_norms(f)
    for j in range(k):
        direction = f[:, j] / gamma[j] if gamma[j] > 0 else np.eye(1, len(f))[0]
        mu[:, j] = sample(direction, float(gamma[j]), 1, rng)[0]
    return mu


def drawn_concentration(target: ConcentrationTarget, kappa: float, resultant: float, rng: np.random.Generator) -> float:
    """Take Metropolis steps from ``kappa`` under the density ``target`` of its logarithm.

    ``resultant`` is the length of the sum of what it is the concentration of, which tells where the density lies;
    ``rng`` draws.
    """
    width = _width(target, resultant)
    return float(np.exp(metropolis(target, float(np.log(kappa)), 2.4 * width, STEPS, rng)[-1]))


def _width(target: ConcentrationTarget, resultant: float) -> float:
    """Standard deviation of u = log kappa under its target, which does not depend on the current value."""
    sd = np.sqrt(target.s2)
    ratio = resultant / target.n if target.n > 0 else 0.0
    likely = np.log(inv_bessel_ratio(target.d, np.clip(ratio, R_MIN, R_MAX))) if target.n > 0 else target.m
    u, f = target.located(min(target.m - 12 * sd, likely - 1), max(target.m + 12 * sd, likely + 1))
    w = np.exp(f - f.max())
    w /= w.sum()
    return float(np.sqrt(w @ (u - w @ u) ** 2))


def matched_topics(best: ClusterLabels, z: ClusterLabels, k: int) -> Indices:
    """Return which topic of the draw ``z`` (N,) each of ``k`` topics of the ``best`` draw (N,) is, to agree most."""
    both = z >= 0
    table = np.bincount(best[both] * k + z[both], minlength=k * k).reshape(k, k)
    return np.asarray(linear_sum_assignment(-table)[1])


def _gathered(state: GibbsState, kept: list[tuple[ClusterLabels, Vector, Vector]], trace: Vector) -> GibbsFit:
    """Number the topics of all draws as in the best one, and summarise."""
    k = state.k
    best = kept[int(trace[-len(kept) :].argmax())][0]
    resp = np.zeros_like(one_hot(best, k, np.float64))
    labels, kappas, pis = [], [], []
    for z, kappa, pi in kept:
        order = matched_topics(best, z, k) if state.exchangeable else np.arange(k)
        labels.append(renumbered(z, order))
        kappas.append(kappa[order] if len(kappa) == k else kappa)
        pis.append(pi[order])
        resp += one_hot(labels[-1], k, np.float64)
    resp /= len(kept)
    mean = np.mean(kappas, axis=0)
    f, gamma = natural_vectors(state.b, accumulate(state.x, resp), mean, k)
    rho = state.alpha + resp.sum(axis=0)[:k]
    return GibbsFit(np.array(labels), np.array(kappas), np.array(pis), trace, resp, f, gamma, mean, rho)


@njit(cache=True)
def _sweep(
    indptr: Any,
    indices: Any,
    data: Any,
    xx: Vector,
    xb: Vector,
    uniform: Vector,
    labels: ClusterLabels,
    s: Vector,
    nk: Vector,
    square: Vector,
    cross: Vector,
    c0: Vector,
    alpha: Vector,
    kappa: Vector,
    probability: Vector,
    counted: float,
) -> None:
    """Draw every label in turn given all others; with room in ``probability``, write those instead and keep labels.

    A topic's weight is ``alpha`` and, where ``counted`` is 1, the number of its documents.
    ``square`` = |S_k|^2 and ``cross`` = S_k'b_k follow the sums S, and x_i'S_k gives the norms with and without i.
    """
    d, k, frozen = float(s.shape[0]), len(nk), len(probability) > 0
    of_kappa, of_sum = np.empty(k), np.empty(k)
    for j in range(k):
        of_kappa[j] = ell(d, kappa[j])
        of_sum[j] = ell(d, resultant(kappa[j], square[j], cross[j], c0[j]))
    cosine, joined, p = np.empty(k), np.empty(k), np.empty(k)
    for i in range(len(labels)):
        old = labels[i]
        if old < 0:
            continue
        cosine[:] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            row, v = s[indices[e]], data[e]
            for j in range(k):
                cosine[j] += v * row[j]
        with_i = of_sum[old]
        nk[old] -= 1
        cosine[old] -= xx[i]
        square[old] -= 2 * cosine[old] + xx[i]
        cross[old] -= xb[i, old]
        of_sum[old] = ell(d, resultant(kappa[old], square[old], cross[old], c0[old]))
        top = -np.inf
        for j in range(k):
            length = resultant(kappa[j], square[j] + 2 * cosine[j] + xx[i], cross[j] + xb[i, j], c0[j])
            joined[j] = ell(d, length) if j != old else with_i
            p[j] = np.log(alpha[j] + counted * nk[j]) - of_kappa[j] - of_sum[j] + joined[j]
            top = max(top, p[j])
        total = 0.0
        for j in range(k):
            p[j] = np.exp(p[j] - top)
            total += p[j]
        new = old
        if frozen:
            for j in range(k):
                probability[i, j] = p[j] / total
        else:
            left = uniform[i] * total
            new = 0
            while new < k - 1 and left >= p[new]:
                left -= p[new]
                new += 1
        nk[new] += 1
        square[new] += 2 * cosine[new] + xx[i]
        cross[new] += xb[i, new]
        of_sum[new] = joined[new]
        labels[i] = new
        if new != old:
            for e in range(indptr[i], indptr[i + 1]):
                s[indices[e], old] -= data[e]
                s[indices[e], new] += data[e]
