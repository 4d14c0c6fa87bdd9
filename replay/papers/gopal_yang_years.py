"""Figure 1 of Gopal and Yang 2014 ([GY14]): the log-likelihood of the next year."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vmfstream import metrics
from vmfstream.replay.papers.catalogue import Effort, Exhibit
from vmfstream.replay.papers.gopal_yang_data import COLLECTIONS
from vmfstream.replay.papers.gopal_yang_fits import (
    B_OURS,
    B_OWN,
    B_SAMPLED,
    PERSISTENCE,
    T_OURS,
    T_OWN,
    T,
    V,
    next_year_once,
)
from vmfstream.replay.papers.gopal_yang_printed import CLUSTERS
from vmfstream.replay.papers.shown import Cell, Panel, Series, Shown, Table, mean_and_spread
from vmfstream.replay.papers.work import Done, Task

YEARS: Mapping[str, tuple[int, int]] = {
    "NIPS abstracts": (1987, 2003),
    "NIPS papers": (1987, 1999),
    "NYT front pages": (1996, 2006),
    "NYT elections": (1996, 2006),
}
"""First and last year of the collections; the first is never predicted."""

FORETELLERS = (V, B_SAMPLED, B_OURS, B_OWN, T, T_OURS, T_OWN)

RIVALS = ((T, V), (T, B_SAMPLED), (T_OURS, V), (T_OURS, B_OURS), (T_OWN, V), (T_OWN, B_OWN))
"""Temporal mixtures and those without time that they are held against: of equal starts and concentrations."""

_MEAN_FIELD = (
    "The mean-field chain takes the mean of every year for better known than it is, so that it follows few and short "
    "texts too closely: on abstracts the smoother gives some 30 nats more at the same persistence."
)

_OWN = (
    "With a concentration for each cluster the mixture without time predicts headlines so much better that moving "
    "means add little or nothing to it."
)

_RELATIVE = (
    "The paper draws its values and prints none. What it draws, (LL - LL of vMFmix) / |LL of vMFmix|, is mostly the "
    "constant N log C_D(0) in the denominator, so that its size says little: nats per document are free of it."
)


def _years(data: str) -> range:
    first, last = YEARS[data]
    return range(first + 1, last + 1)


def _foretelling_tasks(effort: Effort) -> list[Task]:
    return [
        Task(
            next_year_once,
            {"data": data, "method": method, "k": CLUSTERS, "year": year, "seed": seed},
            COLLECTIONS[data].files,
        )
        for data in YEARS
        for year in _years(data)
        for method in FORETELLERS
        for seed in effort.seeds()
    ]


def _show_foretelling(done: Done) -> Shown:
    panels = [panel for data in YEARS for panel in _improvements(done, data)]
    return Shown(
        "figure1",
        f"The next year's log-likelihood, {CLUSTERS} clusters",
        (_won(done),),
        tuple(panels),
        (
            "Each model is fitted to all years before the one that it predicts.",
            _RELATIVE,
            f"{T} is the paper's inference with a persistence of {PERSISTENCE}, for it does not name its own; "
            f"{T_OURS} is the smoother, its persistence chosen by what predicted best so far.",
            _MEAN_FIELD,
            _OWN,
            *(collection.remark for collection in COLLECTIONS.values()),
        ),
    )


def _improvements(done: Done, data: str) -> tuple[Panel, Panel]:
    nats, relative = [], []
    for method in FORETELLERS[1:]:
        found = [_improvement(done, data, method, year) for year in _years(data)]
        x = tuple(float(year) for year in _years(data))
        nats.append(Series(method, x, tuple(gain.nats_per_document for gain in found)))
        relative.append(Series(method, x, tuple(100 * gain.relative for gain in found)))
    return (
        Panel(data, "year", "nats per document above vMFmix", tuple(nats)),
        Panel(f"{data}, as the paper draws it", "year", "improvement over vMFmix, %", tuple(relative)),
    )


def _improvement(done: Done, data: str, method: str, year: int) -> metrics.Improvement:
    """How much better a model predicts a year than vMFmix, by the means over restarts."""
    total, base = (mean_and_spread(done.values("total", data=data, method=name, year=year))[0] for name in (method, V))
    return metrics.next_slice_improvement(total, base, done.where(data=data, year=year)[0]["documents"])


def _won(done: Done) -> Table:
    """How often each model is better than each other one, and its mean gain."""
    cells = []
    for data in YEARS:
        years = _years(data)
        for method in FORETELLERS[1:]:
            gains = [_improvement(done, data, method, year).nats_per_document for year in years]
            cells.append(Cell(data, f"{method}: mean gain over vMFmix", None, float(np.mean(gains))))
        for method, rival in RIVALS:
            ours, theirs = (
                [mean_and_spread(done.values("relative", data=data, method=name, year=year))[0] for year in years]
                for name in (method, rival)
            )
            won = int(np.sum(np.greater(ours, theirs)))
            cells.append(Cell(data, f"years in which {method} beats {rival}", None, f"{won} of {len(years)}"))
    return Table("Nats per document, and years won", tuple(cells), digits=1, corner="collection")


FORETELLING = Exhibit(_foretelling_tasks, _show_foretelling)
