"""Gibbs sampling of the temporal mixture: the directions of a slice are integrated out for its labels.

Given the slices before and after, a slice is a flat mixture whose topics have priors of their own, and what
`vmfstream.bayes.flat.gibbs` draws. With tau the concentration of a step and B the anchor,

    mu_{t,k} | rest ~ vMF(B + tau mu_{t-1,k} + tau mu_{t+1,k} + kappa_k S_{t,k})
    p(u_k = log kappa_k | rest) ~ exp( -n_k ell(e^u_k) + e^u_k sum_t S_{t,k}'mu_{t,k} ) N(u_k; m, s2)

Static weights are integrated out, over all slices. Those of a logistic-normal walk are drawn by elliptical slice
sampling, which has nothing to tune. Directions are drawn slice by slice, so those of a chain that hardly turns move
slowly; like all chains of single labels it hardly moves in high dimension: start it well, or keep it for few words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from vmfstream.arrays import ClusterLabels, Floats, Indices, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.factors.univariate import ConcentrationTarget
from vmfstream.bayes.flat.gibbs import (
    GibbsState,
    drawn_concentration,
    kept_draws,
    matched_topics,
)
from vmfstream.bayes.temporal.proportions import FIRST_STEP
from vmfstream.directional.bessel import log_partition
from vmfstream.mixtures.columns import column_dots, renumbered
from vmfstream.mixtures.seeding import one_hot


@dataclass(frozen=True, slots=True, eq=False)
class ChainPrior:
    """Prior of directions, weights and concentrations.

    ``h0`` (D, k) natural vectors of the first slice, ``anchor`` (D,) of every slice, ``tau`` the concentration of a
    step. ``alpha`` of static weights, or ``step``, the variance of a step of their logarithms; the other is None.
    ``kappa`` the prior of a log concentration.
    """

    h0: Floats
    anchor: Floats
    tau: float
    alpha: float | None
    step: float | None
    kappa: KappaPrior


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """Draws from the posterior, whose topics are numbered as in the draw of largest joint density.

    ``labels`` (draws, N) slice after slice, -1 for rows without direction; ``kappas`` (draws, g) with g = 1 (shared) or
    k (own); ``weights`` (draws, T, k); ``resps`` (N_t, k) how often each document of a slice was in each topic;
    ``trace`` the log joint density after every sweep, in nats relative to uniform.
    """

    labels: ClusterLabels
    kappas: Vector
    weights: Vector
    resps: list[Vector]
    trace: Vector


def draw_chain(
    xs: Sequence[Rows],
    labels0: Sequence[ClusterLabels],
    means0: Sequence[Floats],
    kappa0: Vector,
    prior: ChainPrior,
    rng: np.random.Generator,
    *,
    draws: int = 100,
    burn_in: int = 100,
) -> ChainDraws:
    """Draw labels, directions, weights and concentrations from their posterior.

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; zero rows are ignored, slices may be empty
    labels0 : (N_t,) labels of every slice to start from; those of zero rows are not read
    means0 : (D, kp) directions of every slice to start from
    kappa0 : (1,) one concentration for all topics, or (k,), to start from
    prior : ChainPrior
    rng : numpy.random.Generator
    draws, burn_in : sweeps kept (at least 1), and before them (at least 0)

    Raises
    ------
    ValueError
        Labels of another shape or beyond k, or no draws.

    Notes
    -----
    O(nnz K + T K D) a sweep, and 2 N K scalar functions.

    References
    ----------
    [GY14] sections 3.1.2 and 3.3: the paper gives the conditionals of the flat mixture only.
    """
    chain = _Chain(xs, labels0, means0, kappa0, prior)
    kept, trace = kept_draws(lambda: chain.sweep(rng), chain.log_joint, draws, burn_in)
    return _gathered(kept, trace, np.cumsum([x.shape[0] for x in xs])[:-1], chain.k)


class _Chain:
    """Labels and directions ``mu`` (D, kp) of all slices, concentrations and log-weights; changed in place."""

    def __init__(
        self,
        xs: Sequence[Rows],
        labels: Sequence[ClusterLabels],
        means: Sequence[Floats],
        kappa: Vector,
        prior: ChainPrior,
    ) -> None:
        self.k, self.prior, self.kappa = prior.h0.shape[1], prior, kappa.astype(np.float64)
        self.mu: list[Floats] = [mean.astype(np.float64) for mean in means]
        self.eta = np.zeros((len(xs), self.k))
        start = Prior(prior.alpha or 1.0, np.zeros(len(prior.anchor)))
        counted = prior.alpha is not None
        self.slices = [
            GibbsState(x, z, self.k, start, None, kappa, "own", counted=counted)
            for x, z in zip(xs, labels, strict=True)
        ]

    @property
    def kappas(self) -> Vector:
        return np.broadcast_to(self.kappa, self.k)

    @property
    def counts(self) -> Vector:
        """Documents of topics by slice, (T, k)."""
        return np.array([one.nk for one in self.slices])

    def sweep(self, rng: np.random.Generator) -> tuple[ClusterLabels, Vector, Vector]:
        """Draw everything once, slice after slice, and return labels, concentrations and weights (T, k)."""
        counts = self.counts
        pis = np.exp(_log_shares(self.eta))
        for t, one in enumerate(self.slices):
            alpha = self.prior.alpha
            one.alpha = pis[t] if alpha is None else np.asarray(alpha + counts.sum(axis=0) - counts[t])
            one.kappa = self.kappa.copy()
            one.renew_prior(self._pull(t))
            one.draw_labels(rng)
            self.mu[t] = one.drawn_directions(rng)
            counts[t] = one.nk
        self._draw_kappa(rng)
        labels = np.concatenate([one.labels for one in self.slices])
        return labels, self.kappa.copy(), self._drawn_weights(counts, rng)

    def log_joint(self) -> float:
        """log p(z, X, mu, log kappa, eta), static weights integrated out, relative to uniform and up to a constant."""
        prior, counts, d = self.prior, self.counts, len(self.mu[0])
        documents = self._cosines() @ self.kappas - counts.sum(axis=0) @ log_partition(d, self.kappas)
        before = [prior.h0, *(prior.tau * mu[:, : self.k] for mu in self.mu[:-1])]
        links = sum(
            ((b + prior.anchor[:, None]) * mu[:, : self.k]).sum() for b, mu in zip(before, self.mu, strict=True)
        )
        far = -0.5 * ((np.log(self.kappa) - prior.kappa.m) ** 2).sum() / prior.kappa.s2
        if prior.alpha is not None:
            weights = gammaln(prior.alpha + counts.sum(axis=0)).sum()
        else:
            steps = np.diff(self.eta, axis=0, prepend=0.0)
            rate = np.r_[FIRST_STEP, np.full(len(steps) - 1, prior.step)][:, None]
            weights = (counts * _log_shares(self.eta)).sum() - 0.5 * (steps**2 / rate).sum()
        return float(documents + links + far + weights)

    def _cosines(self) -> Vector:
        """sum_t S_t'mu_t, (k,)."""
        of_slices = [column_dots(one.s, mu)[: self.k] for one, mu in zip(self.slices, self.mu, strict=True)]
        return np.asarray(np.sum(of_slices, axis=0))

    def _pull(self, t: int) -> Floats:
        """Natural vectors (D, k) of what the neighbours of slice ``t`` and the prior say of its directions."""
        prior, k = self.prior, self.k
        pull = np.asarray(prior.anchor[:, None]) + (prior.h0 if t == 0 else prior.tau * self.mu[t - 1][:, :k])
        return pull if t == len(self.mu) - 1 else pull + prior.tau * self.mu[t + 1][:, :k]

    def _drawn_weights(self, counts: Vector, rng: np.random.Generator) -> Vector:
        if self.prior.alpha is not None:
            pi = rng.dirichlet(self.prior.alpha + counts.sum(axis=0))
            return np.tile(pi, (len(counts), 1))
        for t, seen in enumerate(counts):
            self.eta[t] = _drawn_log_weights(self.eta[t], *self._ahead_and_behind(t), seen, rng)
        return np.exp(_log_shares(self.eta))

    def _draw_kappa(self, rng: np.random.Generator) -> None:
        d, law = len(self.mu[0]), self.prior.kappa
        n, t = self.counts.sum(axis=0), self._cosines()
        if len(self.kappa) == 1:
            n, t = n.sum(keepdims=True), t.sum(keepdims=True)
        for g in range(len(self.kappa)):
            target = ConcentrationTarget(d, float(n[g]), float(t[g]), law.m, law.s2)
            self.kappa[g] = drawn_concentration(target, self.kappa[g], max(float(t[g]), 0.0), rng)

    def _ahead_and_behind(self, t: int) -> tuple[Vector, float]:
        """Mean (k,) and variance of the log-weights of slice ``t`` given those of its neighbours."""
        step = float(self.prior.step or 0.0)
        precision = 1 / FIRST_STEP if t == 0 else 1 / step
        mean = np.zeros(self.k) if t == 0 else self.eta[t - 1] * precision
        if t < len(self.eta) - 1:
            precision, mean = precision + 1 / step, mean + self.eta[t + 1] / step
        return mean / precision, 1 / precision


def _gathered(kept: list[tuple[ClusterLabels, Vector, Vector]], trace: Vector, ends: Indices, k: int) -> ChainDraws:
    """Number the topics of all draws as in the best one; slices but the last end at rows ``ends`` (T - 1,)."""
    best = kept[int(trace[-len(kept) :].argmax())][0]
    resp = np.zeros((len(best), k))
    labels, kappas, weights = [], [], []
    for z, kappa, pis in kept:
        order = matched_topics(best, z, k)
        labels.append(renumbered(z, order))
        kappas.append(kappa[order] if len(kappa) == k else kappa)
        weights.append(pis[:, order])
        resp += one_hot(labels[-1], k, np.float64)[:, :k]
    resps = list(np.split(resp / len(kept), ends))
    return ChainDraws(np.array(labels), np.array(kappas), np.array(weights), resps, trace)


def _log_shares(eta: Vector) -> Vector:
    return np.asarray(eta - np.logaddexp.reduce(eta, axis=-1, keepdims=True))


def _drawn_log_weights(eta: Vector, mean: Vector, var: float, counts: Vector, rng: np.random.Generator) -> Vector:
    """Draw log-weights from N(mean, var I) times the density of multinomial ``counts``, from ``eta`` on; all (k,).

    References
    ----------
    Murray, Adams & MacKay 2010, Elliptical slice sampling, figure 2.
    """
    other = rng.normal(0.0, np.sqrt(var), len(eta))
    level = float(counts @ _log_shares(eta)) + np.log(rng.random())
    angle = rng.uniform(0.0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    while True:
        proposed = mean + (eta - mean) * np.cos(angle) + other * np.sin(angle)
        if counts @ _log_shares(proposed) > level:
            return np.asarray(proposed)
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
