"""When the window is refitted: often in the beginning, later as far as a budget allows.

The first documents decide what the topics are; later refits change little and cost more than the documents themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.online.settings import TrackerSettings


@dataclass(frozen=True, slots=True)
class RefitSchedule:
    """What decides about the next refit, all in documents.

    Attributes
    ----------
    learnt : documents of the closed slices.
    cold : documents that the last fit from nothing saw.
    spent : documents that were scored once more by refits paid from the budget.
    pause : slices that end without a refit after one that gained little.
    wait : as many of them as are still to come.
    fitted : documents that had been learnt at the last refit.
    """

    learnt: int = 0
    cold: int = 0
    spent: int = 0
    pause: int = 0
    wait: int = 0
    fitted: int = 0

    def after_slice(self, documents: int) -> RefitSchedule:
        """Count the documents of a slice that ends."""
        return replace(self, learnt=self.learnt + documents, wait=max(self.wait - 1, 0))

    def allows(self, rows: int, settings: TrackerSettings) -> bool:
        """Tell whether the ``rows`` of the window may be refitted now.

        Enough of them must be new since the last refit, and the work must be free, or promise a gain and lie within the
        budget.
        """
        if self.learnt - self.fitted < settings.fitting.new_documents * rows:
            return False
        budget = settings.refit_budget * (self.learnt - settings.free_documents)
        work = settings.fitting.counted_sweeps * rows
        return settings.refit and not self.wait and (self._is_free(settings) or self.spent + work <= budget)

    def allows_cold(self, rows: int, settings: TrackerSettings) -> bool:
        """Tell whether the refit may include fits from nothing; they serve the beginning only."""
        rules = settings.fitting
        grown = self.learnt <= rules.early_documents or rows >= rules.growth * self.cold
        return grown and self._is_free(settings)

    def after_refit(
        self, rows: int, settings: TrackerSettings, *, gain: float, cold: bool, warm_up: bool = False
    ) -> RefitSchedule:
        """Count a refit of ``rows`` under ``settings`` that gained the share ``gain`` of the bound.

        ``cold`` tells that it included fits from nothing. After a little gain the next slices end without a refit, but
        not in the ``warm_up``, when all documents are in the window.
        """
        rules = settings.fitting
        work = 0 if self._is_free(settings) else rules.counted_sweeps * rows
        least = rules.least_free_gain if self._is_free(settings) else rules.least_gain
        little = gain < least and not warm_up
        pause = min(max(2 * self.pause, 1), rules.longest_pause) if little else 0
        fitted = rows if cold else self.cold
        spent, wait = self.spent + work, pause + 1 if pause else 0
        return replace(self, cold=fitted, spent=spent, pause=pause, wait=wait, fitted=self.learnt)

    def array(self) -> NDArray[np.int64]:
        """Flatten."""
        return np.array([self.learnt, self.cold, self.spent, self.pause, self.wait, self.fitted], np.int64)

    @classmethod
    def from_array(cls, array: NDArray[np.int64]) -> RefitSchedule:
        """Rebuild what `array` made."""
        return cls(*(int(value) for value in array))

    def _is_free(self, settings: TrackerSettings) -> bool:
        return self.learnt <= settings.free_documents
