"""The truncated Dirichlet-process mixture: stick-breaking weights, with topics in the order of largest bound.

    v_k ~ Beta(1, a), v_K = 1;  pi_k = v_k prod_{j<k} (1 - v_j);  a ~ Gamma(shape, rate)

and all else as in `vmfstream.bayes.flat.variational`. The factors are q(v_k) = Beta(g_k, h_k) and q(a) = Gamma.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, digamma, gammaln

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat.variational import FlatFit, fit

ROUNDS = 200
"""Rounds between the sticks and their concentration; a few suffice."""

DRAWS = 4000
"""Draws of the weights that their quantiles are taken from."""


@dataclass(frozen=True, slots=True)
class Sticks:
    """Prior of the weights: sticks Beta(1, a) with a ~ Gamma(``shape``, ``rate``)."""

    shape: float = 1.0
    rate: float = 1.0

    def posterior(self, nk: Vector) -> StickWeights:
        """Return the best factors of the sticks and of their concentration, given expected numbers (k,).

        Large topics before small ones raise the bound, except for the last: its stick is whole, and with a > 1 a larger
        one may end the order better. So every topic is tried there.
        """
        falling = np.argsort(-nk, kind="stable")
        orders = [np.append(np.delete(falling, last), falling[last]) for last in reversed(range(len(nk)))]
        return self._best(nk, np.array(orders))

    def _best(self, nk: Vector, orders: NDArray[np.int64]) -> StickWeights:
        """Return the factors of that one of the ``orders`` (m, k) whose bound is the largest."""
        n = nk[orders]
        g, rest = 1 + n[:, :-1], (n[:, ::-1].cumsum(axis=1)[:, ::-1] - n)[:, :-1]
        shape, concentration = self.shape + len(nk) - 1, np.full(len(orders), self.shape / self.rate)
        for _ in range(ROUNDS):
            h = concentration[:, None] + rest
            rate = self.rate - (digamma(h) - digamma(g + h)).sum(axis=1)
            before, concentration = concentration, shape / rate
            if np.all(np.abs(concentration - before) <= 1e-13 * before):
                break
        # nk'E[log pi] - KL where both factors are the best ones, up to what all orders share
        bound = betaln(g, h).sum(axis=1) - shape * np.log(rate) - shape * self.rate / rate
        best = bound.argmax()
        return StickWeights(orders[best], g[best], h[best], shape, float(rate[best]), self)


@dataclass(frozen=True, slots=True, eq=False)
class StickWeights:
    """Posterior of the weights: Beta(``g``, ``h``), (k-1,), of the sticks of the topics in ``order`` (k,).

    The concentration of the process has the factor Gamma(``shape``, ``rate``).
    """

    order: NDArray[np.int64]
    g: Vector
    h: Vector
    shape: float
    rate: float
    prior: Sticks

    @property
    def concentration(self) -> float:
        """E[a], the expected concentration of the process."""
        return self.shape / self.rate

    @property
    def expected_log(self) -> Vector:
        """E[log pi_k] = E[log v_k] + sum_{j<k} E[log(1 - v_j)]."""
        total = digamma(self.g + self.h)
        broken, left = digamma(self.g) - total, digamma(self.h) - total
        return self._by_topic(np.append(broken, 0.0) + np.concatenate([[0.0], left.cumsum()]))

    @property
    def mean(self) -> Vector:
        """E[pi_k]."""
        v = self.g / (self.g + self.h)
        return self._by_topic(np.append(v, 1.0) * np.concatenate([[1.0], (1 - v).cumprod()]))

    @property
    def kl(self) -> float:
        """Divergence of the factors of the sticks and of their concentration from the prior.

        E[a] stands for a in Beta(1, a); what E[log a] adds for each stick belongs to the divergence too.
        """
        g, h, a = self.g, self.h, self.concentration
        log_a = float(digamma(self.shape) - np.log(self.rate))
        total = digamma(g + h)
        sticks = -betaln(g, h) + (g - 1) * (digamma(g) - total) + (h - 1) * (digamma(h) - total)
        expected = log_a + (a - 1) * (digamma(h) - total)
        p, r = self.prior.shape, self.prior.rate
        gamma = (self.shape - p) * digamma(self.shape) - gammaln(self.shape) + gammaln(p)
        gamma += p * (np.log(self.rate) - np.log(r)) + self.shape * (r - self.rate) / self.rate
        return float((sticks - expected).sum() + gamma)

    def quantiles(self, levels: ArrayLike) -> Vector:
        """Quantiles of each pi_k, (k, number of ``levels``), from draws that are the same at every call."""
        v = np.random.default_rng(0).beta(self.g, self.h, size=(DRAWS, len(self.g)))
        whole = np.ones((DRAWS, 1))
        pi = np.hstack([v, whole]) * np.hstack([whole, (1 - v).cumprod(axis=1)])
        return self._by_topic(np.quantile(pi, np.atleast_1d(np.asarray(levels, np.float64)), axis=0).T)

    def _by_topic(self, ordered: Vector) -> Vector:
        out = np.empty_like(ordered)
        out[self.order] = ordered
        return out


def fit_process(
    x: Rows,
    resp0: Floats,
    k: int,
    prior: Prior,
    *,
    shape: float = 1.0,
    rate: float = 1.0,
    **options: Any,
) -> FlatFit:
    """Fit the truncated Dirichlet-process mixture by coordinate ascent; topics not needed stay empty.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp0 : (N, kp) initial responsibilities
    k : int, largest number of topics
    prior : Prior of the directions; its alpha is not used
    shape, rate : floats > 0, prior Gamma of the concentration of the process
    options : as in `vmfstream.bayes.flat.variational.fit`

    Returns
    -------
    FlatFit whose ``weights`` are `StickWeights`.

    Raises
    ------
    ValueError
        If ``shape`` or ``rate`` is not positive, and as `vmfstream.bayes.flat.variational.fit`.

    Notes
    -----
    In high dimension the evidence of the directions outweighs any prior of the weights: C_0 decides how many topics
    stay, not the process. The order of the sticks is chosen anew at every sweep.
    """
    for name, value in (("shape", shape), ("rate", rate)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite; got {value}")
    return fit(x, resp0, k, prior, weights=Sticks(shape, rate), **options)
