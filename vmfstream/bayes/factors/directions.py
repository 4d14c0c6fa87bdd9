"""Beliefs about directions as natural vectors: columns f_k of a matrix (D, kp) stand for vMF(f_k / |f_k|, |f_k|)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Floats, Vector
from vmfstream.bayes.factors.priors import Prior
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.vmf import kl
from vmfstream.mixtures.columns import column_dots, column_norms


def natural_vectors(b: Floats, s: Floats, kappa: ArrayLike, k: int) -> tuple[Floats, Vector]:
    """Return f_k = b_k + kappa_k S_k, (D, kp), and the lengths gamma, (k,); padded columns stay zero.

    ``b`` is (D,) for all topics or (D, kp), ``s`` (D, kp) are sums of documents, ``kappa`` is a number or one per
    topic, (k,).
    """
    f = np.zeros_like(s)
    f[:, :k] = s[:, :k] * np.asarray(kappa, np.float64).astype(s.dtype) + (b[:, None] if b.ndim == 1 else b[:, :k])
    return f, column_norms(f)[:k]


def shrinkage(d: int, gamma: Vector) -> Vector:
    """Return A(gamma) / gamma, the factor from a natural vector to the expected direction; 1 / D at 0."""
    return np.where(gamma > 0, np.asarray(bessel_ratio(d, gamma)) / np.where(gamma > 0, gamma, 1.0), 1.0 / d)


def expected_cosines(f: Floats, gamma: Vector, s: Floats) -> Vector:
    """Return S_k'E[mu_k], (k,), of sums ``s`` (D, kp) under beliefs ``f`` (D, kp) of lengths ``gamma`` (k,)."""
    return column_dots(f, s)[: len(gamma)] * shrinkage(f.shape[0], gamma)


def directions_divergence(f: Floats, gamma: Vector, prior: Prior) -> float:
    """sum_k KL(vMF(psi_k, gamma_k) || vMF with natural vector b_k), in nats.

    ``f`` (D, kp) are the beliefs' natural vectors, of lengths ``gamma`` (k,), and b_k those of the ``prior``.
    """
    k = len(gamma)
    b = prior.b if prior.b.ndim == 2 else np.broadcast_to(prior.b[:, None], f.shape)
    c0 = np.broadcast_to(prior.c0, f.shape[1])[:k]
    both = gamma * c0
    cosine = np.divide(column_dots(f, b)[:k], both, out=np.zeros_like(gamma), where=both > 0)
    return float(kl(f.shape[0], gamma, c0, cosine).sum())
