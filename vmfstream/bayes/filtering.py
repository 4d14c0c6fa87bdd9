"""The filter: slice after slice, a Bayesian mixture whose prior is what the slices before predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.concentration import KappaPrior, KappaRule
from vmfstream.bayes.flat import FlatFit, Prior, fit, moment_kappa_prior, natural_vectors
from vmfstream.bayes.temporal import convolve, next_slice_density
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Rows
from vmfstream.mixtures.columns import Floats, directed

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """Beliefs given the past only, one entry per slice.

    ``p`` (D, kp) predicted and ``h`` (D, kp) filtered natural vectors without the anchor; ``rho`` (T, k); ``kappa``
    (T,); ``resps`` (N_t, kp); ``log_predictive`` (N_t,) density of each document under the prediction, NaN while no
    concentration is known; ``n_seen``, ``t_seen`` the statistics of kappa after the last slice.
    """

    p: list[Floats]
    h: list[Floats]
    rho: Vector
    kappa: Vector
    resps: list[Floats]
    log_predictive: list[Vector]
    n_seen: float
    t_seen: float


def filter_fit(
    xs: Sequence[Rows],
    resp0: Floats,
    k: int,
    *,
    omega: float,
    h0: Floats | None = None,
    anchor: Floats | None = None,
    alpha: float = 1.0,
    kappa: KappaRule | float = "point",
    kappa_prior: KappaPrior | None = None,
    memory: float = 1.0,
    max_iter: int = 50,
    tol: float = 1e-4,
) -> Filtered:
    """Filter a sequence of slices, each by coordinate ascent on its own evidence lower bound.

    p_{t+1} = conv(h_t); slice t is the Bayesian mixture with the prior natural vectors B + p_t, weights Dir(rho_{t-1})
    and, for kappa, the statistics (n, T) of the slices before; rho_t = rho_{t-1} + n_t.

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; the first must hold documents, later ones may be empty
    resp0 : (N_1, kp), initial responsibilities of the first slice; later slices start from their prediction
    k : int, number of topics
    omega : float in [0, 1], expected cosine between consecutive means
    h0 : (D, kp) or (D,), prediction for the first slice, default none
    anchor : (D,) natural vector B that holds at all times, or None
    alpha : float > 0, prior of the weights
    kappa : ``"point"``, ``"quadrature"`` or a known value
    kappa_prior : for ``"quadrature"``, default from ``resp0``
    memory : float in (0, 1], factor on the statistics of kappa per slice; 1 for one concentration at all times
    max_iter, tol : per slice, see `vmfstream.bayes.flat.fit`

    References
    ----------
    [GY14] section 3.3 (the model); inference by assumed density instead of mean field over the slices.
    """
    if not xs or not directed(xs[0]).any():
        raise ValueError("the first slice must hold documents with a direction")
    if not 0 < memory <= 1:
        raise ValueError(f"memory must lie in (0, 1]; got {memory}")
    d, dtype = xs[0].shape[1], xs[0].dtype
    p = np.zeros((d, padded(k)), dtype)
    if h0 is not None:
        p[:, :k] = h0[:, None] if h0.ndim == 1 else h0[:, :k]
    background = np.zeros(d, dtype) if anchor is None else anchor
    if kappa == "quadrature" and kappa_prior is None:
        kappa_prior = moment_kappa_prior(xs[0], resp0, k)
    rho = np.full(k, alpha)
    known: float | None = None if isinstance(kappa, str) else float(kappa)
    n_seen = t_seen = 0.0
    ps, hs, rhos, kappas, resps, densities = [], [], [], [], [], []
    for t, x in enumerate(xs):
        ps.append(p)
        densities.append(_density(x, p, anchor, known, rho))
        h = p
        resp = np.zeros((x.shape[0], p.shape[1]), dtype)
        if directed(x).any():
            b, _ = natural_vectors(background, p, 1.0, k)
            posterior: FlatFit = fit(
                x,
                resp0 if t == 0 else None,
                k,
                Prior(rho, b),
                kappa=kappa,
                kappa_prior=kappa_prior,
                kappa0=known,
                seen=(memory * n_seen, memory * t_seen),
                max_iter=max_iter,
                tol=tol,
            )
            h, _ = natural_vectors(-background, posterior.f, 1.0, k)
            resp, known = posterior.resp, float(posterior.kappa.mean[0])
            n_seen = memory * n_seen + float(posterior.nk.sum())
            t_seen = memory * t_seen + float(posterior.t.sum())
            rho = posterior.rho
        hs.append(h)
        rhos.append(rho)
        kappas.append(known)
        resps.append(resp)
        p = convolve(h, omega)
    return Filtered(ps, hs, np.array(rhos), np.array(kappas, np.float64), resps, densities, n_seen, t_seen)


def _density(x: Rows, p: Floats, anchor: Floats | None, kappa: float | None, rho: Vector) -> Vector:
    if kappa is None:
        return np.full(x.shape[0], np.nan)
    return next_slice_density(x, p, anchor, kappa, np.log(rho / rho.sum()))
