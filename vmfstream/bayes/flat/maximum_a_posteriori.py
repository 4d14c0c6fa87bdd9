"""MAP estimates of the Bayesian mixture: the mode of the posterior of weights, directions and concentrations.

The concentration is that of the best direction, not of all likely ones, so it is too large where there are far more
words than documents: prefer `vmfstream.bayes.flat.variational.fit`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaPrior, mode_kappa
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior, moment_kappa_prior
from vmfstream.bayes.factors.responsibilities import SoftOrHard, total
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import column_dots, column_norms, directed
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.seeding import one_hot
from vmfstream.mixtures.steps import e_step
from vmfstream.mixtures.sums import weighted
from vmfstream.progress import swept


@dataclass(frozen=True, slots=True, eq=False)
class ModeFit:
    """The mode: ``mixture``, its E-step ``resp`` (N, kp), and the log joint density after each sweep, ``trace``.

    Densities are relative to uniform, also that of the directions under their prior; labels are summed out, or take
    their best values if assignments are hard. ``law`` is the prior of log kappa.
    """

    mixture: Mixture
    resp: Floats
    trace: Vector
    law: KappaPrior
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.trace)


def fit_modes(
    x: Rows,
    resp0: Floats,
    k: int,
    prior: Prior,
    *,
    concentration: Concentration = "shared",
    kappa_prior: KappaPrior | None = None,
    assignment: SoftOrHard = "soft",
    mass: Vector | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
) -> ModeFit:
    """Climb to a mode of the posterior by EM.

    pi_k = (n_k + alpha_k - 1) / sum; mu_k = R_k / |R_k| with R_k = kappa_k S_k + b_k; log kappa_k maximises
    T_k kappa - n_k ell(kappa) + log N(log kappa | m, s2) with T_k = S_k'mu_k: the mode of the density of log kappa.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    resp0 : (N, kp) initial responsibilities
    k : int, number of topics
    prior : Prior with alpha >= 1: the density of the weights has no mode below
    concentration, kappa_prior, assignment, mass, max_iter, tol : as in `vmfstream.bayes.flat.variational.fit`

    Raises
    ------
    ValueError
        Responsibilities of another shape, or alpha below 1.

    References
    ----------
    [GY14] Table 2, whose results are point estimates.
    """
    alpha = np.broadcast_to(np.asarray(prior.alpha, np.float64), k)
    if not (alpha >= 1).all():
        raise ValueError(f"a mode needs alpha of at least 1; got {alpha.min()}")
    d = x.shape[1]
    law = moment_kappa_prior(x, weighted(resp0, mass), k) if kappa_prior is None else kappa_prior
    grouped = KappaModel(prior=law, concentration=concentration).grouped
    b = np.zeros((d, resp0.shape[1]), x.dtype)
    b[:, :k] = prior.b[:, None] if prior.b.ndim == 1 else prior.b[:, :k]
    directed_rows = directed(x)
    resp = np.where(directed_rows[:, None], resp0, resp0.dtype.type(0))
    kappa = np.exp(np.full(1 if concentration == "shared" else k, law.m))
    trace: list[float] = []
    while True:
        seen = weighted(resp, mass)
        s, nk = accumulate(x, seen), seen.sum(axis=0, dtype=np.float64)[:k]
        pi = (nk + alpha - 1) / (nk + alpha - 1).sum()
        f, gamma = natural_vectors(b, s, kappa, k)
        mu = np.zeros_like(f)
        mu[:, :k] = f[:, :k] / np.where(gamma > 0, gamma, 1.0).astype(f.dtype)
        kappa = mode_kappa(d, grouped(nk), grouped(column_dots(s, mu)[:k]), law)
        mixture = Mixture(pi, mu, np.broadcast_to(kappa, k).copy())
        resp, loglik = e_step(x, mixture)
        if assignment == "hard":
            best = resp[:, :k].max(axis=1).astype(np.float64)
            loglik = loglik + np.log(np.where(directed_rows, best, 1.0))
            resp = one_hot(np.where(directed_rows, resp[:, :k].argmax(axis=1), -1), k, x.dtype)
        directions = float(column_dots(b, mu).sum() - log_partition(d, column_norms(b)[:k]).sum())
        gain = float(loglik.sum() if mass is None else loglik @ mass)
        trace.append(gain + _log_prior(pi, alpha, kappa, law) + directions)
        swept(len(trace), "log joint density", trace[-1])
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol * total(x, mass)
        if converged or len(trace) >= max_iter:
            return ModeFit(mixture, resp, np.array(trace), law, converged)


def _log_prior(pi: Vector, alpha: Vector, kappa: Vector, law: KappaPrior) -> float:
    weights = gammaln(alpha.sum()) - gammaln(alpha).sum() + xlogy(alpha - 1, pi).sum()
    log_kappa = -0.5 * ((np.log(kappa) - law.m) ** 2 / law.s2 + np.log(2 * np.pi * law.s2)).sum()
    return float(weights + log_kappa)
