"""The Fisher-Bingham distribution and its special cases: Bingham, Kent, Fisher-Watson, Bingham-Mardia.

    p(x) = exp(b'x + x'Bx) / c(b, B)   on the unit sphere of any dimension

The constant is one integral along a line in the complex plane, for every dimension: with the eigenvalues -lambda_i of B
and g_i, the parts of b along its eigenvectors,

    c = 2 pi^(d/2) / (2 pi i)  int exp(s - sum_i log(lambda_i + s) / 2 + sum_i g_i^2 / (4 (lambda_i + s))) ds,

taken through the saddle point on a parabola that follows the steepest descent, by the trapezoidal rule. Moments are the
same integral with another factor: given s, x is normal with variances 1 / (2 (lambda_i + s)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.distribution import SphereDistribution, observed
from vmfstream.directional.vmf import VonMisesFisher

STEP, NODES = 0.1, 160
"""Trapezoidal rule on half of the parabola, in widths of the saddle: errors are of the order of rounding."""

ENOUGH = 1e-8
"""Largest difference of a moment from that of the rows at which a fit ends, in standard deviations of a row."""

SWEEPS = 2000
"""Most steps of a fit."""

SINGULAR = 1e-12
"""Share of the variance below which moments of rows depend on each other, as the squares do, whose sum is 1."""


class FisherBingham(SphereDistribution):
    """The distribution with density exp(b'x + x'Bx) / c on the unit sphere.

    =========================  ========================================  =====================================
    special case               ``linear`` b                              ``quadratic`` B
    =========================  ========================================  =====================================
    von Mises-Fisher           kappa mu                                  0
    Watson                     0                                         kappa mu mu'
    Bingham                    0                                         symmetric
    Kent (`kent`)              kappa g_1                                 beta (g_2 g_2' - g_3 g_3')
    Fisher-Watson              kappa_0 mu_0                              kappa mu mu'
    Bingham-Mardia             2 kappa nu mu                             -kappa mu mu', for exp(-kappa (mu'x - nu)^2)
    =========================  ========================================  =====================================

    Parameters
    ----------
    linear : array_like, shape (d,)
        The vector b, finite, d >= 2.
    quadratic : array_like, shape (d, d)
        The symmetric matrix B, finite. A multiple of the identity that is added to it changes nothing.

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is not finite, or ``quadratic`` is not symmetric.

    Notes
    -----
    Costs grow with d^3, and fits with d^4 and more: for dimensions of tens. The log density has absolute errors of some
    1e-15 times the largest term of the exponent.

    References
    ----------
    [MJ00] section 9.4, the families; Kume and Wood (2005), "Saddlepoint approximations for the Bingham and
    Fisher-Bingham normalising constants", Biometrika 92, whose integral is here taken without approximation; Kent,
    Ganeiber and Mardia (2018), "A new unified approach for the simulation of a wide class of directional
    distributions", Journal of Computational and Graphical Statistics 27: draws by rejection from an angular central
    Gaussian distribution.

    Examples
    --------
    >>> one = FisherBingham.kent(np.eye(3), kappa=20.0, beta=5.0)
    >>> x = one.rvs(2_000, rng=0)
    >>> bool(abs(one.mean[0] - x.mean(axis=0)[0]) < 0.01)
    True
    """

    def __init__(self, linear: ArrayLike, quadratic: ArrayLike) -> None:
        b, matrix = np.array(linear, np.float64), np.array(quadratic, np.float64)
        if b.ndim != 1 or len(b) < 2:
            raise ValueError(f"linear: expected a vector of at least two numbers, got the shape {b.shape}")
        if matrix.shape != (len(b), len(b)):
            raise ValueError(f"quadratic: expected the shape {(len(b), len(b))}, got {matrix.shape}")
        for name, values in (("linear", b), ("quadratic", matrix)):
            if not np.isfinite(values).all():
                raise ValueError(f"{name}: expected finite numbers, got {values[~np.isfinite(values)][0]}")
        if np.abs(matrix - matrix.T).max() > 1e-10 * np.abs(matrix).max():
            raise ValueError("quadratic: expected a symmetric matrix")
        self.linear, self.quadratic = b, 0.5 * (matrix + matrix.T)
        for values in (self.linear, self.quadratic):
            values.setflags(write=False)

    @classmethod
    def kent(cls, axes: ArrayLike, kappa: float, beta: float) -> FisherBingham:
        """Return the Kent distribution: of the von Mises-Fisher kind, with elliptical contours.

        Parameters
        ----------
        axes : array_like, shape (3, 3)
            Orthonormal rows: the mean direction, the longer and the shorter axis of the contours.
        kappa : float
            Concentration, >= 0.
        beta : float
            Ovalness, >= 0; at most kappa / 2 where there is to be one mode.

        Raises
        ------
        ValueError
            If rows are not orthonormal, or a number is negative or not finite.
        """
        g = np.array(axes, np.float64)
        if g.shape != (3, 3) or np.abs(g @ g.T - np.eye(3)).max() > 1e-8:
            raise ValueError(f"axes: expected three orthonormal rows, got the shape {g.shape} or other rows")
        for name, value in (("kappa", kappa), ("beta", beta)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: expected a finite number of at least 0, got {value}")
        return cls(kappa * g[0], beta * (np.outer(g[1], g[1]) - np.outer(g[2], g[2])))

    @classmethod
    def fit(cls, x: Rows | Sequence[Any], weights: ArrayLike | None = None, *, linear: bool = True) -> FisherBingham:
        """Estimate both parameters from unit vectors by maximum likelihood.

        Parameters
        ----------
        x : csr_array or array_like, shape (n, d)
            Unit vectors, more than d and not all in a plane.
        weights : array_like, shape (n,), optional
            How often each vector was seen, >= 0; once by default.
        linear : bool
            Whether there is a linear part; without it is a Bingham distribution, the same for x and -x.

        Raises
        ------
        ValueError
            If rows are not unit vectors, weights do not fit, or the vectors have no largest likelihood.

        Notes
        -----
        The family is exponential, so the likelihood has one maximum: where the first and second moments are those of
        the vectors. The trace of ``quadratic`` is 0.
        """
        rows, w = observed(x, weights, "mle", ("mle",))
        dense: Vector = rows if isinstance(rows, np.ndarray) else rows.toarray()
        if np.linalg.eigvalsh((dense.T * w) @ dense / w.sum())[0] < SINGULAR:
            raise ValueError("x: expected vectors in all dimensions, got some that lie in a subspace")
        statistics = _Statistics(dense.shape[1], linear)
        given = statistics.of(dense)
        mean = w @ given / w.sum()
        apart = given - mean
        directions = _whitened(apart.T @ (apart * (w / w.sum())[:, None]))
        start = statistics.joined(_rough(dense, w) if linear else np.zeros(dense.shape[1]))

        def loss(step: Vector) -> tuple[float, Vector]:
            theta = start + directions @ step
            one = cls(*statistics.unpacked(theta))
            first, second = one._moments
            expected = statistics.expected(first, second)
            return one._log_constant - float(theta @ mean), directions.T @ (expected - mean)

        options = {"gtol": ENOUGH, "maxiter": SWEEPS}
        found = minimize(loss, np.zeros(directions.shape[1]), jac=True, method="BFGS", options=options)
        if not np.abs(found.jac).max() < 1e-4:
            raise ValueError(
                "x: expected vectors that allow a largest likelihood, got too few or too concentrated ones"
            )
        b, matrix = statistics.unpacked(start + directions @ found.x)
        return cls(b, matrix - np.trace(matrix) / len(b) * np.eye(len(b)))

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return len(self.linear)

    @property
    def mean(self) -> Vector:
        """The expected vector, (d,); its length is below 1."""
        return self._moments[0].copy()

    @property
    def second_moment(self) -> Vector:
        """The expected x x', (d, d), of trace 1."""
        return self._moments[1].copy()

    def _log_relative(self, rows: Any) -> Vector:
        q = self._quantities
        along = np.asarray(rows @ q.axes)
        power = along @ q.g - np.square(along) @ q.shifted
        return np.asarray(power - (self._log_constant - q.top) - log_c_uniform(self.d))[()]

    def _drawn(self, n: int, rng: np.random.Generator) -> Vector:
        kappa = float(np.linalg.norm(self.linear))
        d = self.d
        spread = -self.quadratic
        if kappa > 0:
            mu = self.linear / kappa
            typical = math.sqrt(mu @ self._moments[1] @ mu)  # kappa t <= kappa (t^2 / typical + typical) / 2
            spread = spread - kappa / (2.0 * typical) * np.outer(mu, mu)
        values, axes = eigh(spread)
        twice = 2.0 * (values - values[0])
        low = brentq(lambda b: float((1.0 / (b + twice)).sum()) - 1.0, 1e-12, d + 1.0, xtol=1e-14)
        width = 1.0 + twice / low
        most = -0.5 * (d - low) + 0.5 * d * math.log(d / low)
        out = np.empty((n, d))
        missing = n
        while missing:
            wanted = int(1.5 * missing) + 16
            y = rng.standard_normal((wanted, d)) / np.sqrt(width)
            y /= np.linalg.norm(y, axis=1, keepdims=True)
            squares = np.square(y)
            log_ratio = -0.5 * squares @ twice + 0.5 * d * np.log(squares @ width) - most
            x = y @ axes.T
            if kappa > 0:
                log_ratio -= 0.5 * kappa / typical * np.square(x @ mu - typical)
            kept = x[np.log1p(-rng.random(wanted)) <= log_ratio][:missing]
            out[n - missing : n - missing + len(kept)] = kept
            missing -= len(kept)
        return out

    def _entropy(self) -> float:
        first, second = self._moments
        return self._log_constant - float(self.linear @ first) - float((self.quadratic * second).sum())

    def _kl(self, other: FisherBingham) -> float:
        first, second = self._moments
        linear = float((self.linear - other.linear) @ first)
        quadratic = float(((self.quadratic - other.quadratic) * second).sum())
        return max(other._log_constant - self._log_constant + linear + quadratic, 0.0)

    @cached_property
    def _quantities(self) -> _Quantities:
        values, axes = eigh(-self.quadratic)
        return _Quantities(axes, values - values[0], self.linear @ axes, -float(values[0]))

    @cached_property
    def _path(self) -> tuple[float, NDArray[np.complex128], NDArray[np.complex128]]:
        """The logarithm of what is taken out, and the nodes s with their weights, of which the real part counts."""
        lam, g = self._quantities.shifted, self._quantities.g
        d = self.d

        def slope(s: float) -> float:
            return 1.0 - 0.5 * float((1.0 / (lam + s)).sum()) - 0.25 * float(np.square(g / (lam + s)).sum())

        high = 0.5 * d + 0.5 * float(np.linalg.norm(g)) + 1.0
        s0 = brentq(slope, 1e-3 / (2.0 * d + 2.0), high, xtol=1e-14, rtol=8.9e-16)
        z = lam + s0
        curvature = float((0.5 / z**2 + 0.5 * g**2 / z**3).sum())
        bend = -float((1.0 / z**3 + 1.5 * g**2 / z**4).sum()) / (6.0 * curvature)
        h = STEP / math.sqrt(curvature)
        t = h * np.arange(NODES)
        s = s0 + 1j * t + bend * t**2
        exponent = (
            s - 0.5 * np.log(lam[:, None] + s).sum(axis=0) + (0.25 * g[:, None] ** 2 / (lam[:, None] + s)).sum(axis=0)
        )
        top = float(exponent[0].real)
        weight = np.exp(exponent - top) * (1.0 - 2.0j * bend * t) * h
        weight[0] *= 0.5
        return top, s, weight

    @cached_property
    def _log_constant(self) -> float:
        """log c."""
        top, _, weight = self._path
        total = float(weight.sum().real)
        return top + self._quantities.top + 0.5 * self.d * math.log(math.pi) + math.log(2.0 * total / math.pi)

    @cached_property
    def _moments(self) -> tuple[Vector, Vector]:
        """E[x] and E[x x']."""
        q = self._quantities
        _, s, weight = self._path
        weight = weight / weight.sum().real
        variance = 0.5 / (q.shifted[:, None] + s)
        along = q.g[:, None] * variance
        first = (along * weight).sum(axis=1).real
        second = ((along * weight) @ along.T).real + np.diag((variance * weight).sum(axis=1).real)
        return q.axes @ first, q.axes @ second @ q.axes.T


@dataclass(frozen=True, slots=True, eq=False)
class _Quantities:
    """Along the eigenvectors ``axes`` (d, d): -B as ``shifted`` (d,), from 0, b as ``g`` (d,); ``top`` was added."""

    axes: Vector
    shifted: Vector
    g: Vector
    top: float


class _Statistics:
    """The entries of x and of x x' that a fit uses, in one vector: those of x if ``linear``, then i <= j."""

    def __init__(self, d: int, linear: bool) -> None:
        self.d, self.linear, self.upper = d, linear, np.triu_indices(d)

    def of(self, rows: Vector) -> Vector:
        """Return the statistics of unit ``rows`` (N, d)."""
        pairs = rows[:, self.upper[0]] * rows[:, self.upper[1]]
        return np.hstack([rows, pairs]) if self.linear else pairs

    def expected(self, first: Vector, second: Vector) -> Vector:
        """Return the same of moments."""
        return np.concatenate([first, second[self.upper]]) if self.linear else second[self.upper]

    def joined(self, b: Vector) -> Vector:
        """Return natural parameters of a ``b`` (d,) without quadratic part."""
        nothing = np.zeros(len(self.upper[0]))
        return np.concatenate([b, nothing]) if self.linear else nothing

    def unpacked(self, theta: Vector) -> tuple[Vector, Vector]:
        """Return b and B of natural parameters; an entry of x x' off the diagonal stands for two of B."""
        b, rest = (theta[: self.d], theta[self.d :]) if self.linear else (np.zeros(self.d), theta)
        matrix = np.zeros((self.d, self.d))
        matrix[self.upper] = 0.5 * rest
        return b, matrix + matrix.T


def _whitened(covariance: Vector) -> Vector:
    """Return steps (p, q) in which statistics of a ``covariance`` (p, p) vary by 1; dead ones are left out."""
    width = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    values, vectors = eigh(covariance / np.outer(width, width))
    kept = values > SINGULAR * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / width[:, None])


def _rough(rows: Vector, weights: Vector) -> Vector:
    """Return b of a von Mises-Fisher distribution as the start of a fit."""
    s = rows.T @ weights
    if np.linalg.norm(s) <= 1e-9 * weights.sum():
        return np.zeros(rows.shape[1])
    found = VonMisesFisher.fit(rows, weights=weights)
    return np.asarray(found.kappa * found.mu)
