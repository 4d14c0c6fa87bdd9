"""Export of a run file as one self-contained HTML page, which needs no server and no network."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmfstream.dashboards.looks.escape import for_json
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.data import page_data, parts_of
from vmfstream.dashboards.page.drawings import Drawings, PagePlan
from vmfstream.dashboards.page.markup import exported
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.initial_selection import initial_measure
from vmfstream.dashboards.rows.merged import rows_of_page
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows, at_once, readings_of, slices_per_date
from vmfstream.dashboards.view import SizeMeasure
from vmfstream.errors import InputError
from vmfstream.folders import write_file
from vmfstream.runfile.queries import Reader

REFUSED_MB = 25.0

_MB = 1e6


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Size of the written file, what was left out to keep it small, and how many slices a date of it stands for."""

    bytes: int
    dropped: tuple[str, ...]
    per: int = 1


def export_page(
    log_path: str | os.PathLike[str], out_path: str | os.PathLike[str], *, max_mb: float = 8.0
) -> ExportReport:
    """Write a run file as one HTML page.

    Parameters
    ----------
    log_path : path of a run file
    out_path : path of the page; an existing file is replaced
    max_mb : float
        Size in megabytes above which parts are left out, in this order: the river in the measure that is not
        shown first, lists of documents, representative ones beyond two, figures of the words of small topics, words
        beyond twenty, figures of all but the sixty largest topics.

    Returns
    -------
    ExportReport

    Raises
    ------
    InputError
        If the run file cannot be read, the page would be larger than 25 MB, or it cannot be written.
    ValueError
        If ``max_mb`` is not positive.

    Notes
    -----
    The same run file gives the same bytes.
    """
    text, report = build_page(Reader(Path(log_path)), max_mb=max_mb)
    write_file(Path(out_path), text)
    return report


def build_page(rows: RunRows, *, max_mb: float = 8.0) -> tuple[str, ExportReport]:
    """Build the page from rows; see `export_page`."""
    if not max_mb > 0:
        raise ValueError(f"max_mb must be positive, got {max_mb}")
    with at_once(rows):
        snapshot = CachedRows(rows_of_page(rows))
        snapshot.read_ahead()
    drawings = Drawings(snapshot)
    opening = initial_measure(history_of(snapshot, readings_of(snapshot)[0]))
    plans = _plans(opening, listed=bool(len(snapshot.listed_counts().slice)))
    plan, text = first_that_fits(plans, lambda plan: _page(snapshot, plan, drawings), max_mb * _MB)
    size = len(text.encode("utf-8"))
    if size > REFUSED_MB * _MB:
        raise InputError(
            f"the page would be {size / _MB:.1f} MB, more than {REFUSED_MB:.0f} MB: use fewer topics or longer slices"
        )
    return text, ExportReport(bytes=size, dropped=plan.dropped, per=slices_per_date(snapshot))


def first_that_fits(plans: list[PagePlan], page: Callable[[PagePlan], str], most: float) -> tuple[PagePlan, str]:
    """Return the first plan whose page has no more than ``most`` bytes, the last one if none has, and its page.

    Few pages are made: that of the first plan, and those that halve what is left.

    Parameters
    ----------
    plans : list of PagePlan
        Each makes a smaller page than the one before.
    page : callable
        Makes the page of a plan.
    most : float
        Bytes of a page in UTF-8.
    """
    too_large, chosen, at, made = -1, len(plans) - 1, 0, {}
    while too_large + 1 < chosen:
        text = page(plans[at])
        if len(text.encode("utf-8")) <= most:
            chosen, made = at, {at: text}
        else:
            too_large = at
        at = (too_large + chosen) // 2
    return plans[chosen], made[chosen] if chosen in made else page(plans[chosen])


def _plans(opening: SizeMeasure, *, listed: bool) -> list[PagePlan]:
    """Return what to write, each plan leaving out one thing more than the one before; ``listed`` if there are lists."""
    steps: list[tuple[dict[str, Any], str]] = [
        ({"measures": (opening,)}, "the river of documents" if opening == "share" else "the river of shares"),
        *([({"listed": 0}, "lists of documents")] if listed else []),
        ({"documents": 2}, "representative documents beyond two"),
        ({"least_share": 0.005}, "figures of the words of topics that never reached 0.5 %"),
        ({"words": 20}, "words beyond the twenty strongest"),
        ({"pictures": 60}, "figures of the words of all but the sixty largest topics"),
    ]
    plans = [PagePlan()]
    for change, what in steps:
        plans.append(replace(plans[-1], **change, dropped=(*plans[-1].dropped, what)))
    return plans


def _page(rows: RunRows, plan: PagePlan, drawings: Drawings) -> str:
    from plotly.offline import get_plotlyjs

    table = ArrayTable()
    data = page_data(rows, plan, table)
    figures = {}
    if rows.slices().slice.size:
        figures = {key: table.with_references(drawings.figure(key)) for key in drawings.keys(plan)}
    data["arrays"] = table.entries
    return exported(parts_of(rows, plan), get_plotlyjs(), for_json(data), for_json(figures))
