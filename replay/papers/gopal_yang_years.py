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
from vmfstream.replay.papers.shown import Axes, Cell, Series, Shown, Table, mean_and_spread
from vmfstream.replay.papers.work import Done, Task

YEARS: Mapping[str, tuple[int, int]] = {
    "NIPS abstracts": (1987, 2003),
    "NIPS papers": (1987, 1999),
    "NYT front pages": (1996, 2006),
    "NYT elections": (1996, 2006),
}
"""First and last year of the collections; the first is never predicted."""

PREDICTING = (V, B_SAMPLED, B_OURS, B_OWN, T, T_OURS, T_OWN)

OF_A_KIND = ((T, B_SAMPLED), (T_OURS, B_OURS), (T_OWN, B_OWN))
"""Temporal mixtures and the Bayesian ones without time that have as many concentrations."""

RIVALS = (*((method, V) for method, _ in OF_A_KIND), *OF_A_KIND)

_MEAN_FIELD = (
    "The mean-field chain takes the mean of every year for better known than it is, so that it follows few and short "
    "texts too closely: on abstracts the smoother gives some 30 nats more at the same persistence."
)

_OWN = (
    "With a concentration for each cluster the mixture without time predicts headlines so much better that moving "
    "means add little or nothing to it."
)

_STARTS = (
    "In a restart the paper's models begin once and those of vmfstream twice, of which the larger bound is kept. On "
    "many documents that decides: of the front pages before 2006 the smoother of persistence .9 gives 58.0 nats from "
    "one start and 61.9 from the best of three by its own bound, B-vMFmix 58.2 and 59.1."
)

_RELATIVE = (
    "The paper draws its values and prints none. What it draws, (LL - LL of vMFmix) / |LL of vMFmix|, is mostly the "
    "constant N log C_D(0) in the denominator, so that its size says little: nats per document are free of it."
)


def _years(data: str) -> range:
    first, last = YEARS[data]
    return range(first + 1, last + 1)


def _next_year_tasks(effort: Effort) -> list[Task]:
    return [
        Task(
            next_year_once,
            {"data": data, "method": method, "k": CLUSTERS, "year": year, "seed": seed},
            COLLECTIONS[data].files,
        )
        for data in YEARS
        for year in _years(data)
        for method in PREDICTING
        for seed in effort.seeds()
    ]


def _show_next_years(done: Done) -> Shown:
    panels = [panel for data in YEARS for panel in _improvements(done, data)]
    return Shown(
        "figure1",
        f"The next year's log-likelihood, {CLUSTERS} clusters",
        (_mean_gains(done), _won(done)),
        tuple(panels),
        (
            "Each model is fitted to all years before the one that it predicts.",
            _RELATIVE,
            f"{T} is the paper's inference with a persistence of {PERSISTENCE}, for it does not name its own; "
            f"{T_OURS} is the smoother, its persistence chosen by what predicted best so far; after a single "
            "year there is nothing to choose it by, and the lowest is taken.",
            _MEAN_FIELD,
            _OWN,
            _STARTS,
            *(collection.remark for collection in COLLECTIONS.values()),
        ),
    )


def _improvements(done: Done, data: str) -> tuple[Axes, Axes, Axes]:
    x = tuple(float(year) for year in _years(data))
    nats, relative = [], []
    for method in PREDICTING[1:]:
        found = [_improvement(done, data, method, year) for year in _years(data)]
        nats.append(Series(method, x, tuple(gain.nats_per_document for gain in found)))
        relative.append(Series(method, x, tuple(100 * gain.relative for gain in found)))
    ahead = tuple(Series(method, x, _ahead(done, data, method, rival)) for method, rival in OF_A_KIND)
    return (
        Axes(data, "year", "nats per document above vMFmix", tuple(nats)),
        Axes(f"{data}, as the paper draws it", "year", "improvement over vMFmix, %", tuple(relative)),
        Axes(f"{data}: what time is worth", "year", "nats per document above B-vMFmix", ahead),
    )


def _ahead(done: Done, data: str, method: str, rival: str) -> tuple[float, ...]:
    """Return the nats per document by which a model is ahead of another in every year, by the means over restarts."""
    means = (
        [mean_and_spread(done.values("relative", data=data, method=name, year=year))[0] for year in _years(data)]
        for name in (method, rival)
    )
    return tuple(ours - theirs for ours, theirs in zip(*means, strict=True))


def _improvement(done: Done, data: str, method: str, year: int) -> metrics.Improvement:
    """How much better a model predicts a year than vMFmix, by the means over restarts."""
    total, base = (mean_and_spread(done.values("total", data=data, method=name, year=year))[0] for name in (method, V))
    return metrics.next_slice_improvement(total, base, done.where(data=data, year=year)[0]["documents"])


def _won(done: Done) -> Table:
    cells = []
    for method, rival in RIVALS:
        for data in YEARS:
            ahead = _ahead(done, data, method, rival)
            cells.append(Cell(f"{method} ahead of {rival}", data, None, f"{sum(a > 0 for a in ahead)} of {len(ahead)}"))
    return Table("Years in which the model with time predicts better than one without", tuple(cells), corner="models")


def _mean_gains(done: Done) -> Table:
    cells = [
        Cell(method, data, None, float(np.mean(_ahead(done, data, method, V))))
        for method in PREDICTING[1:]
        for data in YEARS
    ]
    return Table("Nats per document above vMFmix, mean over the years", tuple(cells), digits=1, corner="model")


NEXT_YEARS = Exhibit(_next_year_tasks, _show_next_years)
