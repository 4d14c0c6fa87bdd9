"""Table 1 and figures 7 to 9 of Banerjee, Dhillon, Ghosh and Sra 2005 ([BDGS05]): closed forms of the concentration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.inverses import banerjee, mardia_jupp_large, mardia_jupp_small
from vmfstream.replay.papers import banerjee_printed as printed
from vmfstream.replay.papers.catalogue import Effort, Exhibit
from vmfstream.replay.papers.shown import Axes, Cell, Series, Shown, Table
from vmfstream.replay.papers.work import Done, Task

FORMULAS = {"Eq. (4.1)": mardia_jupp_large, "Eq. (4.2)": mardia_jupp_small, "Eq. (4.4)": banerjee}

DIMENSION, KAPPA = 1000, 500.0
"""What figures 7 and 9, and figure 8, hold fixed."""

KAPPAS = tuple(float(kappa) for kappa in range(10, 5011, 250))

DIMENSIONS = tuple(range(4, 1455, 50))

LENGTHS = tuple(round(0.01 * percent, 2) for percent in range(5, 96, 5))

EQUAL = 0.18
"""Mean resultant length up to which (4.2) is printed to have the smaller error."""

_NOTE = "The paper draws curves and prints no values."


def approximations() -> Table:
    """Return Table 1: three closed forms of the concentration."""
    cells = []
    for d, r, kappa, values in printed.APPROXIMATIONS:
        # the first row was made from the resultant length as printed, the others from that before rounding
        length = r if d == 10 else float(bessel_ratio(d, kappa))
        for (name, formula), value in zip(FORMULAS.items(), values, strict=True):
            cells.append(Cell(f"{d}, {r:g}, {kappa}", name, value, float(formula(d, length))))
    note = (
        "Ours are from r as printed at d = 10, and from r = A_d(κ), before rounding, at the others: these are what the "
        "printed values are made from. From r as printed those of the others differ in their last digits."
    )
    return Table("Estimates of the concentration", tuple(cells), digits=6, exact=True, corner="d, r, κ", notes=(note,))


def estimates(dimensions: Sequence[int], kappas: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """Return by formula what it makes of A_d(kappa), for pairs of ``dimensions`` and ``kappas``."""
    pairs = [(d, float(bessel_ratio(d, kappa))) for d, kappa in zip(dimensions, kappas, strict=True)]
    return {name: tuple(float(formula(d, r)) for d, r in pairs) for name, formula in FORMULAS.items()}


def errors(length: float) -> dict[str, float]:
    """Return by formula log10 |A_d(its estimate) - r| at the mean resultant ``length`` r, where d is `DIMENSION`."""
    back = {name: float(bessel_ratio(DIMENSION, formula(DIMENSION, length))) for name, formula in FORMULAS.items()}
    return {name: float(np.log10(abs(r - length))) for name, r in back.items()}


def _nothing(effort: Effort) -> list[Task]:
    return []


def _show_table(done: Done) -> Shown:
    return Shown("table1", "Approximations of κ", (approximations(),))


def _show_kappas(done: Done) -> Shown:
    found = {"true κ": KAPPAS} | estimates((DIMENSION,) * len(KAPPAS), KAPPAS)
    lines = tuple(Series(name, KAPPAS, values) for name, values in found.items())
    panel = Axes(f"d = {DIMENSION}", "true κ", "estimate", lines)
    return Shown("figure7", "True and approximated κ", panels=(panel,), notes=(_NOTE,))


def _show_dimensions(done: Done) -> Shown:
    found = estimates(DIMENSIONS, (KAPPA,) * len(DIMENSIONS))
    lines = tuple(Series(name, DIMENSIONS, values) for name, values in found.items())
    panel = Axes(f"κ = {KAPPA:g}", "d", "estimate", lines, levels=(("true κ", KAPPA),))
    return Shown("figure8", "Approximations for varying d", panels=(panel,), notes=(_NOTE,))


def _show_lengths(done: Done) -> Shown:
    found = [errors(length) for length in LENGTHS]
    lines = tuple(Series(name, LENGTHS, tuple(one[name] for one in found)) for name in FORMULAS)
    panel = Axes(f"d = {DIMENSION}", "r", "log10 |A(estimate) - r|", lines)
    equal = f"Up to r = {EQUAL:g}, as printed, (4.2) has the smaller error, above it (4.4)."
    return Shown("figure9", "Errors for varying r", panels=(panel,), notes=(equal, _NOTE))


_SHOWN: Mapping[str, Callable[[Done], Shown]] = {
    "table1": _show_table,
    "figure7": _show_kappas,
    "figure8": _show_dimensions,
    "figure9": _show_lengths,
}

INVERSES: Mapping[str, Exhibit] = {name: Exhibit(_nothing, show) for name, show in _SHOWN.items()}
