"""The warning that slices are far too short for the times of the documents."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from vmfstream.records import SliceReport
from vmfstream.slicing import long_enough

EARLY_SLICES, HARDLY_ANY = 100, 5
"""Slices after which it is judged, and mean documents that are hardly any: a run of many such slices takes hours."""

log = logging.getLogger(__name__)


class ShortSlices:
    """Warns once, early in a run, that its slices hold hardly any documents.

    Parameters
    ----------
    length : of the slices, as `vmfstream.slicing.Slicing` has it.
    """

    def __init__(self, length: str) -> None:
        self._length, self._slices, self._documents = length, 0, 0
        self._first: SliceReport | None = None

    def count(self, closed: Sequence[SliceReport]) -> None:
        """Count slices that ended, those without documents too."""
        for report in closed:
            if self._slices == EARLY_SLICES:
                return
            self._first = self._first or report
            self._slices += 1
            self._documents += report.n
            if self._slices == EARLY_SLICES and self._documents < HARDLY_ANY * EARLY_SLICES:
                self._warn(self._first, report)

    def _warn(self, first: SliceReport, last: SliceReport) -> None:
        begins, ends = first.slice.begins, last.slice.ends
        longer = "" if begins is None or ends is None else long_enough(self._documents, ends - begins)
        log.warning(
            "so far %d slices (%s) have %d documents: each takes the time of a slice end, rows of the run file and "
            "room on the page; try slices of %sa number of documents, such as 100, in a new run",
            self._slices,
            self._length,
            self._documents,
            f"a length such as {longer}, or of " if longer else "",
        )
