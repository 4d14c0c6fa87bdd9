"""The figures of Gopal and Yang 2014 ([GY14]) computed again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vmfstream import metrics
from vmfstream.replay.papers.catalogue import Effort, Exhibit
from vmfstream.replay.papers.gopal_yang_data import COLLECTIONS, SETS
from vmfstream.replay.papers.gopal_yang_fits import (
    B_OURS,
    B_OWN,
    B_SAMPLED,
    H_OURS,
    PERSISTENCE,
    T_OURS,
    T_OWN,
    V_OURS,
    H,
    T,
    V,
    held_out_once,
    hierarchy_once,
    next_year_once,
)
from vmfstream.replay.papers.gopal_yang_printed import CLUSTERS
from vmfstream.replay.papers.gopal_yang_tables import remarks
from vmfstream.replay.papers.gopal_yang_words import VOCABULARY
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

TREES = ((2, 3), (2, 4), (2, 5), (3, 3), (3, 4))
"""Height and branching of the hierarchies, by their number of leaves."""

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
        for method, rival in ((T, B_SAMPLED), (T_OURS, B_OURS), (T_OWN, B_OWN), (T_OURS, V), (T_OWN, V)):
            ours, theirs = (
                [mean_and_spread(done.values("relative", data=data, method=name, year=year))[0] for year in years]
                for name in (method, rival)
            )
            won = int(np.sum(np.greater(ours, theirs)))
            cells.append(Cell(data, f"years in which {method} beats {rival}", None, f"{won} of {len(years)}"))
    return Table("Nats per document, and years won", tuple(cells), digits=1, corner="collection")


_GROWN = ("CNAE", "NEWS20")


def _hierarchy_tasks(effort: Effort) -> list[Task]:
    tasks = []
    for data in _GROWN:
        for height, branching in TREES:
            for seed in effort.seeds():
                common = {"data": data, "seed": seed, "draw": effort.seed}
                for method in (V, V_OURS, B_SAMPLED, B_OURS):
                    given = common | {"method": method, "k": branching**height}
                    tasks.append(Task(held_out_once, given, SETS[data].files))
                for method in (H, H_OURS):
                    given = common | {"method": method, "height": height, "branching": branching}
                    tasks.append(Task(hierarchy_once, given, SETS[data].files))
    return tasks


def _show_hierarchies(done: Done) -> Shown:
    return Shown(
        "figure2",
        "Hierarchies: log-likelihood of documents held out",
        (_grown(done),),
        tuple(_hierarchy_panel(done, data) for data in _GROWN),
        (
            "The paper draws five hierarchies, prints no values and names one of them, three levels of four children; "
            "those beside it are ours. The flat models have as many clusters as the hierarchy has leaves.",
            *remarks(_GROWN),
        ),
    )


def _density(done: Done, data: str, method: str, tree: tuple[int, int]) -> list[float]:
    height, branching = tree
    if method in (H, H_OURS):
        return done.values("relative", data=data, method=method, height=height, branching=branching)
    return done.values("relative", data=data, method=method, k=branching**height)


def _hierarchy_panel(done: Done, data: str) -> Panel:
    series = []
    for method in (V, V_OURS, B_SAMPLED, B_OURS, H, H_OURS):
        points = [mean_and_spread(_density(done, data, method, tree)) for tree in TREES]
        spread = None if points[0][1] is None else tuple(sd or 0.0 for _, sd in points)
        leaves = tuple(float(branching**height) for height, branching in TREES)
        series.append(Series(method, leaves, tuple(mean for mean, _ in points), spread=spread))
    return Panel(data, "leaves", "nats per document above the uniform density", tuple(series))


def _grown(done: Done) -> Table:
    cells = []
    for data in _GROWN:
        for tree in TREES:
            for method, rival in ((H, B_SAMPLED), (H_OURS, B_OURS)):
                gain = np.subtract(_density(done, data, method, tree), _density(done, data, rival, tree)).tolist()
                cells.append(
                    Cell(f"{data}, h={tree[0]}, b={tree[1]}", f"{method} above {rival}", None, *mean_and_spread(gain))
                )
    return Table("Nats per document by which hierarchies are ahead", tuple(cells), digits=1, corner="hierarchy")


FIGURES: Mapping[str, Exhibit] = {
    "figure1": Exhibit(_foretelling_tasks, _show_foretelling),
    "figure2": Exhibit(_hierarchy_tasks, _show_hierarchies),
    "figure3": VOCABULARY,
}
