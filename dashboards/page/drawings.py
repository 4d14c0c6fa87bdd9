"""All figures of a page, each drawn on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vmfstream.dashboards import PANELS, panel
from vmfstream.dashboards.panels import Panel
from vmfstream.dashboards.rows.history import history_of, topics_of
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.view import SizeMeasure


@dataclass(frozen=True, slots=True)
class PagePlan:
    """What is written into a page, and the names of the parts left out."""

    measures: tuple[SizeMeasure, ...] = ("documents", "share")
    documents: int = 5
    listed: int = 10
    least_share: float = 0.0
    pictures: int = 1000
    words: int = 60
    dropped: tuple[str, ...] = ()


class Drawings:
    """Figures of one state of a run file by key, each drawn on first use."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self._drawn: dict[str, Any] = {}
        self._panels: dict[str, Panel] = {name: panel(name) for name in PANELS}

    def keys(self, plan: PagePlan) -> list[str]:
        """Return the keys of the figures that a plan keeps, in the order of the page."""
        topics = self._pictured(plan)
        keys = [key for one in self._panels.values() if one.keys for key in one.keys(self._rows, topics)]
        return [key for key in keys if not key.startswith("river/") or key.split("/")[2] in plan.measures]

    def figure(self, key: str) -> dict[str, Any]:
        """Return a figure without the template, which the page holds once.

        Raises
        ------
        KeyError
            If no view has a figure of this key.
        """
        if key not in self._known:
            raise KeyError(key)
        if key not in self._drawn:
            draw = self._panels[key.partition("/")[0]].draw
            assert draw is not None
            drawing = draw(self._rows, key)
            layout = {name: value for name, value in drawing["layout"].items() if name != "template"}
            self._drawn[key] = drawing | {"data": list(drawing["data"]), "layout": layout}
        found: dict[str, Any] = self._drawn[key]
        return found

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.keys(PagePlan()))

    def _pictured(self, plan: PagePlan) -> Sequence[int]:
        """Return the topics that have pictures of their own."""
        topics = topics_of(self._rows)
        peak = np.zeros(topics.size)
        for reading in readings_of(self._rows):
            history = history_of(self._rows, reading)
            at = np.searchsorted(topics, history.topic)
            peak[at] = np.maximum(peak[at], np.nan_to_num(history.share).max(axis=0, initial=0.0))
        largest = np.argsort(-peak, kind="stable")[: plan.pictures]
        return [int(topics[t]) for t in np.sort(largest) if peak[t] >= plan.least_share]
