"""Maximum-likelihood mixtures of von Mises-Fisher distributions by expectation and maximisation.

    p(x) = sum_k pi_k vMF(x | mu_k, kappa_k),   vMF(x | mu, kappa) = C_D(kappa) exp(kappa mu'x)

Log-densities are relative to the uniform density on the sphere, log C_D(kappa) - log C_D(0) = -ell_D(kappa). Rows
without direction take no part: their responsibilities are zero and their label is -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.bessel import vmf_terms
from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.directional.params import Mixture, Rows
from vmfstream.mixtures.columns import Floats, column_norms, directed, softmax_rows
from vmfstream.mixtures.concentration import TREATMENTS, Treatment, own_concentration, shared_concentration
from vmfstream.mixtures.seeding import one_hot, random_responsibilities, seed_labels

Concentration: TypeAlias = Literal["shared", "own"]

MELTING = (0.001, 0.3)
"""Limits of the temperature at which annealing starts."""

ANNEAL = 0.5
"""Where annealing starts, as a multiple of the inverse temperature at which topics melt."""

FROZEN_BELOW = 0.3
"""While the inverse temperature is below this, the concentration stays as it was: soft labels say nothing about it."""

TIED_SWEEPS = 5
"""Sweeps after the start during which own concentrations are still shared."""

DEAD = 0.5
"""Weight below which a cluster is dead and starts again from the document explained worst."""


@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """A fitted mixture.

    ``resp`` (N, kp) and ``labels`` (N,) belong to exactly this ``mixture``; ``trace`` holds the mean log-likelihood per
    document after each sweep at full temperature, in nats relative to uniform; ``n_iter`` counts all sweeps.
    """

    mixture: Mixture
    resp: Floats
    trace: NDArray[np.float64]
    labels: NDArray[np.int64]
    n_iter: int
    converged: bool


def e_step(x: Rows, mixture: Mixture, beta: float = 1.0) -> tuple[Floats, NDArray[np.float64]]:
    """Compute responsibilities softmax_k( beta (log pi_k + kappa_k x_i'mu_k - ell(kappa_k)) ).

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mixture : Mixture
    beta : float in (0, 1], inverse temperature

    Returns
    -------
    resp : (N, kp), rows sum to one; zero in padded columns and for rows without direction
    loglik : (N,) float64, log-sum-exp of the tempered scores (for beta = 1 the log-density relative to uniform); zero
        for rows without direction

    References
    ----------
    [BDGS05] eq. (3.11), [GY14] section 3.
    """
    ell = vmf_terms(mixture.mu.shape[0], mixture.kappa)[0]
    with np.errstate(divide="ignore"):
        offset = np.log(mixture.pi) - ell
    resp = dots(x, mixture.mu)
    loglik = softmax_rows(resp, np.asarray(mixture.kappa, np.float64), offset, beta)
    blank = ~directed(x)
    resp[blank] = 0
    loglik[blank] = 0
    return resp, loglik


def m_step(
    x: Rows,
    resp: Floats,
    k: int,
    *,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | NDArray[np.float64] | None = None,
    previous: Mixture | None = None,
) -> Mixture:
    """Estimate the mixture from responsibilities: pi_k = n_k / N, mu_k = S_k / |S_k|, kappa by ``estimator``.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, kp), zero for rows without direction
    k : int, number of topics
    concentration : one concentration for all topics or one each
    estimator : see `vmfstream.mixtures.concentration`
    kappa : the concentration (a number, or one per topic) if it is not to be estimated
    previous : gives the direction of topics whose resultant vanishes

    References
    ----------
    [BDGS05] eqs. (3.12)-(3.14), [Sra] section 4.
    """
    d = x.shape[1]
    s = accumulate(x, resp)
    norms, nk = column_norms(s), resp.sum(axis=0, dtype=np.float64)[:k]
    mu = s / np.where(norms > 0, norms, 1.0).astype(s.dtype)
    if previous is not None:
        mu = np.where(norms > 0, mu, previous.mu)
    if kappa is None:
        qk = np.einsum("ik,ik->k", resp, resp, dtype=np.float64)[:k] if estimator == "debiased" else None
        if concentration == "shared":
            kappa = shared_concentration(d, norms[:k], nk, float(nk.sum()), estimator, qk=qk)
        else:
            kappa = own_concentration(d, norms[:k], nk, estimator, qk=qk)
    return Mixture(pi=nk / nk.sum(), mu=mu, kappa=np.broadcast_to(np.asarray(kappa, np.float64), k).copy())


def fit(
    x: Rows,
    k: int,
    *,
    rng: np.random.Generator,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | None = None,
    anneal: bool = True,
    beta0: float | None = None,
    factor: float = 1.4,
    max_iter: int = 100,
    tol: float = 1e-4,
    init: str | Floats = "k-means++",
    n_init: int = 1,
) -> MixtureFit:
    """Fit a mixture of von Mises-Fisher distributions by EM, deterministically annealed unless told otherwise.

    Scores of documents grow with the dimension, so EM in high dimension freezes at its start after a sweep or two;
    annealing (responsibilities softmax(beta scores), beta from ``beta0`` to 1 by ``factor`` per sweep) is what lets the
    result leave a poor start.

    Parameters
    ----------
    x : (N, D) CSR or dense array of float32 or float64, unit rows; zero rows are ignored
    k : int, number of topics, at most the number of rows with a direction
    rng : numpy.random.Generator
    concentration : ``"shared"`` (default, right for text) or ``"own"``
    estimator : treatment of the concentration, see `vmfstream.mixtures.concentration`
    kappa : float, the concentration for ``estimator="fixed"``
    anneal, beta0, factor : the annealing; the concentration is frozen while beta < 0.3. By default beta0 is the inverse
        of the spread of the scores under the start, where topics just begin to differ, times `ANNEAL`
    max_iter : int, largest number of sweeps at beta = 1
    tol : float, stop when the log-likelihood per document changes by less, in nats
    init : ``"k-means++"``, ``"random"``, or responsibilities (N, k) or (N, kp)
    n_init : int, number of starts; the one of largest likelihood is returned

    Raises
    ------
    ValueError
        Rows that are neither unit nor zero, k out of range, an unknown option, responsibilities of another shape.
    """
    _check(x, k, concentration, estimator, kappa, beta0, factor, n_init)
    heat = (beta0, factor) if anneal else None
    runs = (
        _em(x, k, _start(x, k, init, rng), heat, concentration, estimator, kappa, max_iter, tol)
        for _ in range(n_init if isinstance(init, str) else 1)
    )
    return max(runs, key=lambda run: float(run.trace[-1]))


def annealed_start(x: Rows, k: int, rng: np.random.Generator, *, heat: float = ANNEAL, max_iter: int = 50) -> Floats:
    """Responsibilities (N, kp) of annealed EM with a shared concentration: where Bayesian fits and streams start.

    ``heat`` is where annealing starts, as a multiple of the inverse temperature at which topics melt.
    """
    start = _start(x, k, "k-means++", rng)
    beta0 = heat * melting(x, m_step(x, start, k))
    return fit(x, k, rng=rng, init=start, beta0=beta0, max_iter=max_iter).resp


def _em(
    x: Rows,
    k: int,
    resp: Floats,
    heat: tuple[float | None, float] | None,
    concentration: Concentration,
    estimator: Treatment,
    fixed: float | None,
    max_iter: int,
    tol: float,
) -> MixtureFit:
    mixture = m_step(x, resp, k, estimator=estimator, kappa=fixed)
    betas: list[float] = []
    if heat is not None:
        beta0, factor = heat
        betas = _temperatures(ANNEAL * melting(x, mixture) if beta0 is None else beta0, factor)
    for beta in betas:
        resp, _ = e_step(x, mixture, beta)
        kappa = mixture.kappa if beta < FROZEN_BELOW else fixed
        mixture = m_step(x, resp, k, estimator=estimator, kappa=kappa, previous=mixture)
    held = directed(x)
    trace: list[float] = []
    spare = k
    converged = False
    while True:
        resp, loglik = e_step(x, mixture)
        trace.append(float(loglik[held].mean()))
        dead = np.flatnonzero(resp.sum(axis=0)[:k] < DEAD)[:spare]
        converged = not len(dead) and len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol
        if concentration == "own" and len(trace) <= TIED_SWEEPS + 1:
            converged = False
        if converged or len(trace) > max_iter:
            break
        spare -= len(dead)
        _reseed(resp, np.where(held, loglik, np.inf), dead)
        tied = concentration == "shared" or len(trace) <= TIED_SWEEPS
        mixture = m_step(
            x,
            resp,
            k,
            concentration="shared" if tied else "own",
            estimator=estimator,
            kappa=fixed,
            previous=mixture,
        )
    labels = np.where(held, resp[:, :k].argmax(axis=1), -1)
    return MixtureFit(mixture, resp, np.array(trace), labels, len(betas) + len(trace), converged)


def melting(x: Rows, mixture: Mixture) -> float:
    """Inverse temperature at which the scores kappa x'mu_k of a mixture spread by one nat: colder, topics differ.

    1 / sd_ik(kappa x_i'mu_k), within [0.001, 0.3].
    """
    scores = dots(x, mixture.mu)[directed(x), : mixture.k] * mixture.kappa
    spread = float(scores.std())
    return float(np.clip(1.0 / spread, *MELTING)) if spread > 0.0 else MELTING[1]


def _reseed(resp: Floats, loglik: NDArray[np.float64], dead: NDArray[np.int64]) -> None:
    """Give each dead topic one of the documents explained worst."""
    for topic, row in zip(dead, np.argsort(loglik), strict=False):
        resp[row] = 0
        resp[row, topic] = 1


def _temperatures(beta0: float, factor: float) -> list[float]:
    steps = int(np.ceil(-np.log(beta0) / np.log(factor)))
    return [beta0 * factor**j for j in range(steps)]


def _start(x: Rows, k: int, init: str | Floats, rng: np.random.Generator) -> Floats:
    if isinstance(init, str):
        if init == "k-means++":
            return one_hot(seed_labels(x, k, rng), k, x.dtype)
        if init == "random":
            return random_responsibilities(x, k, rng)
        raise ValueError(f"init must be 'k-means++', 'random' or an array of responsibilities; got {init!r}")
    given = np.asarray(init)
    kp = padded(k)
    if given.ndim != 2 or given.shape[0] != x.shape[0] or given.shape[1] not in (k, kp):
        raise ValueError(f"init must have shape {(x.shape[0], k)} or {(x.shape[0], kp)}; got {given.shape}")
    resp = np.zeros((x.shape[0], kp), x.dtype)
    resp[:, :k] = given[:, :k]
    resp[~directed(x)] = 0
    return resp


def _check(
    x: Rows,
    k: int,
    concentration: str,
    estimator: str,
    kappa: float | None,
    beta0: float | None,
    factor: float,
    n_init: int,
) -> None:
    if concentration not in ("shared", "own"):
        raise ValueError(f"concentration must be 'shared' or 'own'; got {concentration!r}")
    if estimator not in TREATMENTS:
        raise ValueError(f"estimator must be one of {', '.join(TREATMENTS)}; got {estimator!r}")
    if (estimator == "fixed") != (kappa is not None):
        raise ValueError(
            f"kappa belongs to estimator 'fixed' and to no other; got estimator {estimator!r}, kappa {kappa}"
        )
    if kappa is not None and not (np.isfinite(kappa) and kappa > 0):
        raise ValueError(f"kappa must be positive and finite; got {kappa}")
    if not (beta0 is None or 0 < beta0 <= 1) or not factor > 1:
        raise ValueError(f"beta0 must lie in (0, 1] and factor above 1; got beta0 {beta0}, factor {factor}")
    if n_init < 1:
        raise ValueError(f"n_init must be at least 1; got {n_init}")
    check_rows(x)
    rows = int(directed(x).sum())
    if not 1 <= k <= rows:
        raise ValueError(f"k must be between 1 and the {rows} rows with a direction; got {k}")


def check_rows(x: Rows) -> None:
    """Raise ValueError unless ``x`` is a matrix of floats whose rows are unit or zero."""
    if x.ndim != 2 or x.dtype not in (np.float32, np.float64):
        raise ValueError(f"x must be a matrix of float32 or float64; got {x.ndim} dimensions of {x.dtype}")
    if x.shape[1] < 2:
        raise ValueError(f"x must have at least 2 columns; got {x.shape[1]}")
    squared = np.asarray((x**2).sum(axis=1), np.float64)
    bad = ~((squared == 0) | (np.abs(squared - 1) < 1e-3))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"rows of x must have length 1 or 0; row {row} has length {np.sqrt(squared[row]):.6g}")
