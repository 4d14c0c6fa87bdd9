"""Univariate densities known up to a constant: tabulated on a grid, or sampled by Metropolis steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from vmfstream.arrays import Vector
from vmfstream.directional.bessel_scalars import ell

GRID = 400
"""Points of the trapezoid rule, which converges exponentially for these smooth, vanishing integrands."""

NEGLIGIBLE = math.log(1e-25)

REFINED = 20
"""How many times finer than the grid quantiles are looked up, between cubic splines."""

_Numbers: TypeAlias = tuple[float, float, float, float, float, Vector, Vector, Vector]


@dataclass(frozen=True, slots=True)
class ConcentrationTarget:
    """Log-density of u = log kappa, up to a constant, with or without the directions integrated out.

    -n ell(kappa) + T kappa + sum_j ell( sqrt(kappa^2 square_j + 2 kappa cross_j + c0_j^2) ) - (u - m)^2 / (2 s2), where
    ``square`` = |S_j|^2, ``cross`` = S_j'b_j and ``c0`` = |b_j| belong to the topics whose direction is integrated out,
    by default none.
    """

    d: int
    n: float
    t: float
    m: float
    s2: float
    square: Vector = field(default_factory=lambda: np.zeros(0))
    cross: Vector = field(default_factory=lambda: np.zeros(0))
    c0: Vector = field(default_factory=lambda: np.zeros(0))

    def __call__(self, u: Vector) -> Vector:
        """Evaluate at each of ``u`` (g,)."""
        out: Vector = _target_each(u, self.numbers)
        return out

    def located(self, low: float, high: float) -> tuple[Vector, Vector]:
        """Find where its mass is between ``low`` and ``high``: return an even grid there, (g,), and its values, (g,).

        It may have two peaks (narrow prior, distant data): the first scan has to see both.
        """
        u, f = _located(float(low), float(high), self.numbers)
        return u, f

    @property
    def numbers(self) -> _Numbers:
        """The arguments of the compiled density."""
        return float(self.d), self.n, self.t, self.m, self.s2, self.square, self.cross, self.c0


def metropolis(target: ConcentrationTarget, u: float, step: float, draws: int, rng: np.random.Generator) -> Vector:
    """Draw from ``target`` by random-walk Metropolis from ``u``, with normal steps of deviation ``step``; (draws,).

    ``rng`` gives ``draws`` steps, of which none is left out.
    """
    moves, tests = step * rng.standard_normal(draws), np.log(rng.random(draws))
    out: Vector = _walk(u, moves, tests, target.numbers)
    return out


@njit(cache=True)
def resultant(kappa: float, square: float, cross: float, c0: float) -> float:
    """|kappa S + b| for a concentration ``kappa``, from ``square`` |S|^2, ``cross`` S'b and ``c0`` |b|."""
    return float(np.sqrt(max(kappa * (kappa * square + 2 * cross) + c0 * c0, 0.0)))


@njit(cache=True)
def _target(u: float, numbers: _Numbers) -> float:
    d, n, t, m, s2, square, cross, c0 = numbers
    kappa = np.exp(u)
    value = -n * ell(d, kappa) + t * kappa - (u - m) ** 2 / (2 * s2)
    for j in range(len(square)):
        value += ell(d, np.sqrt(max(kappa * kappa * square[j] + 2 * kappa * cross[j] + c0[j] * c0[j], 0.0)))
    return float(value)


@njit(cache=True)
def _target_each(u: Vector, numbers: _Numbers) -> Vector:
    out = np.empty(len(u))
    for i in range(len(u)):
        out[i] = _target(u[i], numbers)
    return out


@njit(cache=True)
def _walk(u: float, moves: Vector, tests: Vector, numbers: _Numbers) -> Vector:
    out = np.empty(len(moves))
    height = _target(u, numbers)
    for i in range(len(moves)):
        proposed = _target(u + moves[i], numbers)
        if tests[i] < proposed - height:
            u, height = u + moves[i], proposed
        out[i] = u
    return out


@njit(cache=True)
def _located(low: float, high: float, numbers: _Numbers) -> tuple[Vector, Vector]:
    while True:
        u = np.linspace(low, high, GRID)
        f = _target_each(u, numbers)
        least = f.max() + NEGLIGIBLE
        if not np.isfinite(least):
            return u, f
        first, last = 0, GRID - 1
        while not f[first] > least:
            first += 1
        while not f[last] > least:
            last -= 1
        first, last = max(first - 1, 0), min(last + 1, GRID - 1)
        if last - first > GRID // 2:
            return u, f
        low, high = u[first], u[last]


def grid_quantiles(u: Vector, f: Vector, levels: ArrayLike) -> Vector:
    """Quantiles at ``levels`` in (0, 1) of the density exp(f), up to a constant, given on the even grid ``u``."""
    from scipy.interpolate import CubicSpline

    fine = np.linspace(u[0], u[-1], REFINED * len(u))
    mass = CubicSpline(u, np.exp(f - f.max())).antiderivative()(fine)
    return np.asarray(np.interp(np.asarray(levels, np.float64) * mass[-1], np.maximum.accumulate(mass), fine))
