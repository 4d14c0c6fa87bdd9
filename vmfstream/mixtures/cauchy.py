"""Maximum-likelihood mixtures of spherical Cauchy distributions, which have heavy tails: outliers hardly move a mean.

    p(x) = sum_k pi_k SC(x | mu_k, rho_k),   SC(x | mu, rho) = C_D(0) ((1 - rho^2) / (1 + rho^2 - 2 rho mu'x))^(D - 1)

with 0 <= rho < 1. Log-densities are relative to the uniform density on the sphere. Rows without direction take no part:
their responsibilities are zero and their label is -1. A `Mixture` holds rho as ``kappa``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.cauchy import best_rho
from vmfstream.directional.kernels import dots, padded
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import dense_rows, directed, eligible, softmax_rows
from vmfstream.mixtures.em import Expectation, Stop, best_of, climb
from vmfstream.mixtures.options import EMOptions, checked
from vmfstream.mixtures.seeding import start_from
from vmfstream.mixtures.sums import weighted_sums

_FIRST_STEPS = 20
"""Steps for rho and mu at the start, where nothing is known of them."""


@dataclass(frozen=True, slots=True, eq=False)
class CauchyFit:
    """A fitted mixture.

    ``labels`` (N,) belong to exactly this ``mixture``; ``trace`` holds the mean log-likelihood per document before the
    first M-step and after each, in nats relative to uniform.
    """

    mixture: Mixture
    labels: NDArray[np.int64]
    trace: Vector
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of M-steps."""
        return len(self.trace) - 1


def distances(x: Rows, mixture: Mixture, *, threads: int = 1) -> Vector:
    """Return 1 + rho_k^2 - 2 rho_k mu_k'x_i, (N, K) float64, at least (1 - rho_k)^2.

    ``x`` are unit rows (N, D) of the dtype of the ``mixture``, and ``threads`` share them.
    """
    rho = np.asarray(mixture.kappa, np.float64)
    cosine = dots(x, mixture.mu, threads=threads)[:, : mixture.k].astype(np.float64)
    return np.asarray(np.maximum(1.0 + rho**2 - 2.0 * rho * cosine, (1.0 - rho) ** 2))


def log_densities(x: Rows, mixture: Mixture, *, threads: int = 1) -> Vector:
    """Return log SC(x_i | mu_k, rho_k), (N, K) float64, relative to uniform; arguments as in `distances`.

    References
    ----------
    Kato and McCullagh (2020), "Some properties of a Cauchy family on the sphere derived from the Moebius
    transformations", Bernoulli 26, eq. (1).
    """
    rho = np.asarray(mixture.kappa, np.float64)
    return np.asarray((mixture.d - 1) * (np.log1p(-(rho**2)) - np.log(distances(x, mixture, threads=threads))))


def e_step(x: Rows, mixture: Mixture, *, threads: int = 1) -> tuple[Vector, Vector]:
    """Compute responsibilities softmax_k( log pi_k + log SC(x_i | mu_k, rho_k) ).

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mixture : Mixture
    threads : int

    Returns
    -------
    resp : (N, K) float64, rows sum to one; zero for rows without direction
    loglik : (N,) float64, log-density relative to uniform; zero for rows without direction
    """
    with np.errstate(divide="ignore"):
        offset = np.log(mixture.pi)
    resp = log_densities(x, mixture, threads=threads)
    loglik = softmax_rows(resp, np.ones(mixture.k), offset, 1.0)
    blank = ~directed(x)
    resp[blank] = 0.0
    loglik[blank] = 0.0
    return resp, loglik


def m_step(x: Rows, resp: Vector, mixture: Mixture, *, weights: Vector | None = None, threads: int = 1) -> Mixture:
    """Improve the mixture by responsibilities.

    With u_ik = 1 + rho_k^2 - 2 rho_k mu_k'x_i under the mixture before, -log u is at least its tangent, so the sum of
    resp_ik (log(1 - rho^2) - u / u_ik) bounds the log-likelihood from below, and touches it. Its maximum is mu_k along
    sum_i resp_ik x_i / u_ik, a mean in which far documents count little, and `best_rho`.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, K), zero for rows without direction
    mixture : the one that the responsibilities come from; a component without weight stays what it was
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Notes
    -----
    The likelihood does not fall.
    """
    k = mixture.k
    mass = resp if weights is None else resp * weights[:, None]
    near = mass / distances(x, mixture, threads=threads)
    wide = np.zeros((len(near), mixture.mu.shape[1]), mixture.mu.dtype)
    wide[:, :k] = near
    sums = weighted_sums(x, wide, k, threads).s[:, :k].astype(np.float64)
    length, nk = np.linalg.norm(sums, axis=0), mass.sum(axis=0)
    rho = best_rho(nk, near.sum(axis=0), length)
    known = (nk > 0.0) & (length > 0.0)
    mu = mixture.mu.copy()
    mu[:, :k][:, known] = (sums[:, known] / length[known]).astype(mu.dtype)
    return Mixture(nk / nk.sum(), mu, np.where(known, rho, mixture.kappa))


def fit(
    x: Rows,
    k: int,
    *,
    rng: np.random.Generator,
    max_iter: int = 200,
    tol: float = 1e-4,
    init: str | Floats | Mixture = "k-means++",
    n_init: int = 1,
    weights: Vector | None = None,
    pi: Vector | None = None,
    threads: int = 1,
) -> CauchyFit:
    """Fit a mixture of spherical Cauchy distributions by EM.

    Parameters
    ----------
    x : (N, D) CSR or dense array of float32 or float64, unit rows; zero rows are ignored
    k : int, number of components, at most the number of rows with a direction and a weight
    rng : numpy.random.Generator
    max_iter : int, largest number of M-steps
    tol : float, stop when the objective per row changes by less, in nats
    init : ``"k-means++"``, ``"random"``, responsibilities (N, k) or (N, kp), or a mixture
    n_init : int, number of starts; the one of largest objective is returned
    weights : (N,) float64, how often each row was seen, >= 0; once by default
    pi : (k,) float64, weights of the components in the first E-step; those of the start by default
    threads : int

    Raises
    ------
    ValueError
        Rows that are neither unit nor zero, k out of range, or a start of another shape.
    """
    options = checked(x, k, EMOptions(max_iter, tol, weights, threads, pi), n_init)
    model = _CauchyModel(x, k, options)
    starts = n_init if isinstance(init, str) else 1
    given = (start_from(x, k, init, rng, options.weights, threads) for _ in range(starts))
    return best_of(_fitted(model, start) for start in given)


@dataclass(frozen=True, slots=True, eq=False)
class _CauchyModel:
    """The steps of EM; the statistics of an E-step are its responsibilities (N, K)."""

    x: Rows
    k: int
    options: EMOptions

    def e_step(self, mixture: Mixture) -> Expectation[Vector]:
        """Compute responsibilities."""
        x, weights = self.x, self.options.weights
        resp, loglik = e_step(x, mixture, threads=self.options.threads)
        taking_part = eligible(x, weights)
        mass = taking_part.astype(np.float64) if weights is None else np.where(taking_part, weights, 0.0)
        labels = np.where(directed(x), resp.argmax(axis=1), -1)
        return Expectation(resp, float(mass @ loglik / mass.sum()), mass @ resp, labels, loglik)

    def m_step(self, mixture: Mixture, found: Expectation[Vector], sweep: int) -> Mixture:
        """Improve the mixture."""
        weights, threads = self.options.weights, self.options.threads
        return m_step(self.x, found.statistics, mixture, weights=weights, threads=threads)

    def restart(
        self,
        mixture: Mixture,
        found: Expectation[Vector],
        sweep: int,
        dead: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Mixture:
        """Put the dead components at the documents ``rows``, as wide as the widest of the others."""
        mixture = self.m_step(mixture, found, sweep)
        mu, rho = mixture.mu.copy(), mixture.kappa.copy()
        mu[:, dead] = dense_rows(self.x, rows).T
        rho[dead] = np.delete(rho, dead).min()
        pi = mixture.pi * (1.0 - len(dead) / mixture.k)
        pi[dead] = 1.0 / mixture.k
        return Mixture(pi / pi.sum(), mu, rho)

    def begun(self, resp: Floats) -> Mixture:
        """Return a mixture from responsibilities alone: a few M-steps from means without a spread."""
        x, k = self.x, self.k
        mu = np.zeros((x.shape[1], padded(k)), x.dtype)
        mu[0, :k] = 1.0
        mixture = Mixture(np.full(k, 1.0 / k), mu, np.zeros(k))
        for _ in range(_FIRST_STEPS):
            weights, threads = self.options.weights, self.options.threads
            mixture = m_step(x, np.asarray(resp[:, :k], np.float64), mixture, weights=weights, threads=threads)
        return mixture


def _fitted(model: _CauchyModel, start: Floats | Mixture) -> CauchyFit:
    options = model.options
    mixture = start if isinstance(start, Mixture) else model.begun(start)
    found = climb(model, model.x, options.begun(mixture), Stop(options.max_iter, options.tol), options.weights)
    return CauchyFit(found.mixture, found.last.labels.astype(np.int64), found.trace, found.converged)
