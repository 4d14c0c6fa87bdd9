"""Seconds per million values of the special functions, beside scipy's Bessel functions where those work; one thread.

Prints one JSON line per dimension and function: the median of interleaved rounds of processor time, with the largest
relative error (``error``): beside values in 40 digits, of inverses after the way there and back, where the result is
finite; ``finite`` is the share of these.

    python tests/benchmarks/bench_directional.py [--values 100000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from scipy.special import ive

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vmfstream.arrays import Vector
from vmfstream.directional.bessel import inv_bessel_ratio, log_c, log_c_uniform, log_partition, vmf_terms
from vmfstream.directional.inverses import banerjee, newton2
from vmfstream.directional.kummer import inv_mean_square, log_kummer, watson_terms

DIMENSIONS = (3, 20, 100, 1_000, 10_000, 100_000, 1_000_000)
CHECKED = 20  # values that are compared with 40 digits


class Method(NamedTuple):
    run: Callable[[Vector], Any]
    given: Vector
    truth: Vector


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--values", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=5)
    asked = arguments.parse_args()
    for d in DIMENSIONS:
        methods = _methods(d, asked.values)
        for method in methods.values():
            method.run(method.given[:10])  # compiles
        seconds: dict[str, list[float]] = {name: [] for name in methods}
        for _ in range(asked.rounds):
            for name, method in methods.items():
                begun = time.process_time()
                method.run(method.given)
                seconds[name].append(time.process_time() - begun)
        for name, method in methods.items():
            _report(d, name, method, statistics.median(seconds[name]) * 1e6 / asked.values)


def _methods(d: int, values: int) -> dict[str, Method]:
    """Concentrations from d / 100 to 10 d in logarithmic steps, shuffled; every other one negative for Watson's."""
    kappa = np.random.default_rng(0).permutation(d * np.geomspace(0.01, 10.0, values))
    axial = kappa * np.where(np.arange(values) % 2, 1.0, -1.0)
    t, w = vmf_terms(d, kappa), watson_terms(d, axial)
    ell, ratio = (np.array(column) for column in zip(*(_exact_vmf(d, k) for k in kappa[:CHECKED]), strict=True))
    log_m = np.array([_exact_log_kummer(d, k) for k in axial[:CHECKED]])
    log_c_d = float(log_c_uniform(d)) - ell
    nu = 0.5 * d - 1.0

    def scipy_log_c(k: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return np.asarray(nu * np.log(k) - 0.5 * d * np.log(2 * np.pi) - np.log(ive(nu, k)) - k)

    def scipy_ratio(k: Vector) -> Vector:
        with np.errstate(invalid="ignore"):
            return np.asarray(ive(nu + 1.0, k) / ive(nu, k))

    return {
        "log C_d": Method(lambda k: log_c(d, k), kappa, log_c_d),
        "log C_d by scipy.special.ive": Method(scipy_log_c, kappa, log_c_d),
        "log C_d(0) - log C_d": Method(lambda k: log_partition(d, k), kappa, ell),
        "A_d with its derivative": Method(lambda k: vmf_terms(d, k).a, kappa, ratio),
        "A_d by scipy.special.ive": Method(scipy_ratio, kappa, ratio),
        "inverse of A_d": Method(lambda r: inv_bessel_ratio(d, r), t.a, kappa),
        "inverse of A_d, newton2": Method(lambda r: newton2(d, r), t.a, kappa),
        "inverse of A_d, banerjee": Method(lambda r: banerjee(d, r), t.a, kappa),
        "log M(1/2, d/2) with g": Method(lambda k: log_kummer(d, k), axial, log_m),
        "inverse of g": Method(lambda r: inv_mean_square(d, r), w.g, axial),
    }


def _report(d: int, name: str, method: Method, seconds: float) -> None:
    found = np.asarray(method.run(method.given[: len(method.truth)]))
    finite = np.isfinite(found)
    line = {
        "bench": "directional",
        "function": name,
        "d": d,
        "seconds_per_million": round(seconds, 4),
        "error": float(f"{np.abs(found / method.truth - 1)[finite].max():.1e}") if finite.any() else None,
        "finite": round(float(finite.mean()), 3),
    }
    print(json.dumps(line), flush=True)


def _exact_vmf(d: int, kappa: float) -> tuple[float, float]:
    """Return log 0F1(; d/2; kappa^2/4) and A_d = (kappa/d) 0F1(; d/2 + 1) / 0F1(; d/2)."""
    with mpmath.workdps(40):
        c, y = mpmath.mpf(d) / 2, mpmath.mpf(kappa) ** 2 / 4
        logs = []
        for order in (c, c + 1):
            peak = mpmath.floor((mpmath.sqrt((order - 1) ** 2 + 4 * y) - (order - 1)) / 2)
            start = peak * mpmath.log(y) - mpmath.loggamma(peak + 1) - mpmath.loggamma(order + peak)
            total = _outward(peak, partial(_ratio_0f1, order, y))
            logs.append(start + mpmath.loggamma(order) + mpmath.log(total))
        return float(logs[0]), float(mpmath.mpf(kappa) / d * mpmath.exp(logs[1] - logs[0]))


def _ratio_0f1(c: Any, y: Any, j: Any) -> Any:
    return y / ((j + 1) * (c + j))


def _exact_log_kummer(d: int, kappa: float) -> float:
    """Return log M(1/2, d/2, kappa), for kappa < 0 as kappa + log M((d - 1)/2, d/2, -kappa)."""
    with mpmath.workdps(40):
        c, x = mpmath.mpf(d) / 2, abs(mpmath.mpf(kappa))
        a = mpmath.mpf(1) / 2 if kappa > 0 else c - mpmath.mpf(1) / 2
        slope = c + 1 - x
        root = mpmath.sqrt(max(slope**2 - 4 * (c - a * x), 0))
        peak = max(mpmath.floor((root - slope) / 2), 0)
        start = peak * mpmath.log(x) - mpmath.loggamma(peak + 1)
        start += mpmath.loggamma(a + peak) - mpmath.loggamma(a) - mpmath.loggamma(c + peak) + mpmath.loggamma(c)
        total = _outward(peak, lambda j: (a + j) * x / ((c + j) * (j + 1)))
        return float(start + mpmath.log(total) + min(mpmath.mpf(kappa), 0))


def _outward(peak: Any, ratio: Callable[[Any], Any]) -> Any:
    """Sum a series of positive terms from the one at ``peak``, as multiples of it; ratio(j) = t_{j+1} / t_j."""
    total = mpmath.mpf(1)
    for step in (1, -1):
        term, j = mpmath.mpf(1), peak
        while term > 1e-35 * total and (step > 0 or j > 0):
            term = term * ratio(j) if step > 0 else term / ratio(j - 1)
            total += term
            j += step
    return total


if __name__ == "__main__":
    main()
