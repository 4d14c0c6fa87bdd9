"""The angular central Gaussian distribution on the unit sphere of any dimension: directions of normal vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.distribution import SphereDistribution, observed

STEPS = 10_000
"""Most steps of a fit."""


class AngularCentralGaussian(SphereDistribution):
    """The distribution of z / |z| with z ~ N(0, shape), the same for x and -x.

    p(x) = C_d(0) |shape|^(-1/2) (x' shape^-1 x)^(-d/2): axes that gather along the large eigenvectors.

    Parameters
    ----------
    shape : array_like, shape (d, d)
        Symmetric and positive definite, d >= 2; a factor changes nothing, and its trace is made d.

    Raises
    ------
    ValueError
        If ``shape`` is no such matrix.

    References
    ----------
    Tyler (1987), "Statistical analysis for the angular central Gaussian distribution on the sphere", Biometrika 74: the
    density, and the fixed point that a fit repeats.

    Examples
    --------
    >>> one = AngularCentralGaussian(np.diag([4.0, 1.0, 1.0]))
    >>> found = AngularCentralGaussian.fit(one.rvs(2_000, rng=0))
    >>> bool(abs(found.shape[0, 0] / found.shape[1, 1] - 4.0) < 0.6)
    True
    """

    def __init__(self, shape: ArrayLike) -> None:
        given = np.array(shape, np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or len(given) < 2:
            raise ValueError(f"shape: expected a square matrix of at least two rows, got the shape {given.shape}")
        if not np.isfinite(given).all() or np.abs(given - given.T).max() > 1e-10 * np.abs(given).max():
            raise ValueError("shape: expected a symmetric matrix of finite numbers")
        least = np.linalg.eigvalsh(given)[0]
        if not least > 1e-14 * np.abs(given).max():
            raise ValueError(f"shape: expected a positive definite matrix, got the eigenvalue {least:g}")
        self.shape = 0.5 * (given + given.T) * len(given) / np.trace(given)
        self.shape.setflags(write=False)
        self._root: Vector = np.linalg.cholesky(self.shape)

    @classmethod
    def fit(cls, x: Rows | Sequence[Any], weights: ArrayLike | None = None) -> AngularCentralGaussian:
        """Estimate the shape from unit vectors by maximum likelihood.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d)
            Unit vectors, more than d and in all dimensions; no subspace may hold more than its share of them.
        weights : array_like, shape (n,), optional
            How often each vector was seen, >= 0; once by default.

        Raises
        ------
        ValueError
            If rows are not unit vectors, weights do not fit, or the vectors have no largest likelihood.
        """
        rows, w = observed(x, weights, "mle", ("mle",))
        dense: Vector = rows if isinstance(rows, np.ndarray) else rows.toarray()
        d, w = dense.shape[1], w / w.sum()
        shape = np.eye(d)
        for _ in range(STEPS):
            try:
                far = np.square(solve_triangular(np.linalg.cholesky(shape), dense.T, lower=True)).sum(axis=0)
            except np.linalg.LinAlgError:
                break
            new = d * (dense.T * (w / far)) @ dense
            new *= d / np.trace(new)
            if np.abs(new - shape).max() < 1e-13 * d:
                return cls(new)
            shape = new
        raise ValueError("x: expected vectors in all dimensions, got too many in a subspace: no largest likelihood")

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return len(self.shape)

    def _log_relative(self, rows: Any) -> Vector:
        half = solve_triangular(self._root, np.eye(self.d), lower=True)
        far = np.square(np.asarray(rows @ half.T)).sum(axis=-1)
        return np.asarray(-np.log(np.diag(self._root)).sum() - 0.5 * self.d * np.log(far))[()]

    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        z = rng.standard_normal((n, self.d)) @ self._root.T
        return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))

    def _entropy(self) -> float:
        uniform = -float(self.logpdf(np.eye(1, self.d)[0])) + float(self._log_relative(np.eye(1, self.d)[0]))
        log_det = float(np.log(np.diag(self._root)).sum())
        return uniform + log_det - 0.5 * self.d * _log_form(np.linalg.eigvalsh(self.shape))

    def _kl(self, other: AngularCentralGaussian) -> float:
        ratio = solve_triangular(other._root, self._root, lower=True)
        log_det = float(np.log(np.diag(other._root)).sum() - np.log(np.diag(self._root)).sum())
        return max(log_det + 0.5 * self.d * _log_form(np.linalg.svd(ratio, compute_uv=False) ** 2), 0.0)


def _log_form(eigenvalues: Vector) -> float:
    """Return E log(z'Mz) - E log(z'z) of normal z, for a matrix M with these ``eigenvalues`` (d,), all above 0.

    By Frullani, int (E exp(-t z'z) - E exp(-t z'Mz)) / t dt; in u = log t the trapezoidal rule is exact to rounding.
    """
    scale = float(np.log(eigenvalues).mean())
    values = eigenvalues / np.exp(scale)
    d = len(values)
    ends = -40.0 - np.log(values.max() + 1.0), 40.0 * 2.0 / d + 40.0 - np.log(min(values.min(), 1.0))
    u = np.linspace(*ends, 4 * int(ends[1] - ends[0]) + 1)
    t = 2.0 * np.exp(u)
    plain, formed = -0.5 * d * np.log1p(t), -0.5 * np.log1p(t[:, None] * values).sum(axis=1)
    return scale + float((np.exp(plain) - np.exp(formed)).sum() * (u[1] - u[0]))
