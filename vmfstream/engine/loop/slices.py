"""Cutting time into slices: calendar intervals, or runs of N documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Slice, microseconds

UNITS = ("year", "quarter", "month", "week", "day", "hour")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = datetime(1969, 12, 29, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Slicing:
    """How documents fall into slices: by a calendar unit of their time (UTC), or ``documents`` at a time.

    Slices of a calendar are numbered by the calendar itself (a year by its number, a day by days since 1970), so the
    same document always falls into the same slice; slices of N documents are numbered from 0.
    """

    unit: str
    documents: int = 0

    @classmethod
    def parse(cls, text: str) -> Slicing:
        """Read ``year``, ``quarter``, ``month``, ``week``, ``day``, ``hour`` or a number of documents."""
        word = text.strip().lower()
        if word in UNITS:
            return cls(word)
        if word.isdecimal() and len(word) <= 12 and int(word) > 0:
            return cls("documents", int(word))
        raise InputError(f"slices: expected one of {', '.join(UNITS)} or a number of documents, got {text!r}")

    def __str__(self) -> str:
        return str(self.documents) if self.unit == "documents" else self.unit

    def index(self, time: datetime) -> int:
        """Number of the calendar slice that contains ``time``."""
        return int(self.indices(np.array([microseconds(time)]))[0])

    def indices(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the calendar slices that contain ``times`` (N,), which are microseconds since 1970."""
        match self.unit:
            case "year":
                return times.view("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
            case "quarter":
                return _months(times) // 3
            case "month":
                return _months(times)
            case "week":
                return (times - microseconds(_MONDAY)) // _microseconds(weeks=1)
            case "day":
                return times // _microseconds(days=1)
            case "hour":
                return times // _microseconds(hours=1)
        raise ValueError(f"slices of {self.unit} are not numbered by time")

    def slice(self, index: int) -> Slice:
        """Describe a slice: its label as people write it and its two ends."""
        if self.unit == "documents":
            return Slice(index, f"{index * self.documents + 1:,} to {(index + 1) * self.documents:,}")
        begins, ends = self.span(index)
        return Slice(index, self._label(begins), begins, ends)

    def span(self, index: int) -> tuple[datetime, datetime]:
        """Return the two ends of a calendar slice, of which the second is no longer part of it."""
        return self._begins(index), self._ends(index)

    def _begins(self, index: int) -> datetime:
        match self.unit:
            case "year":
                return datetime(index, 1, 1, tzinfo=UTC)
            case "quarter":
                return datetime(index // 4, index % 4 * 3 + 1, 1, tzinfo=UTC)
            case "month":
                return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)
            case "week":
                return _MONDAY + timedelta(weeks=index)
            case "day":
                return _EPOCH + timedelta(days=index)
            case _:
                return _EPOCH + timedelta(hours=index)

    def _ends(self, index: int) -> datetime:
        try:
            return self._begins(index + 1)
        except (ValueError, OverflowError):
            return datetime.max.replace(tzinfo=UTC)  # the calendar ends with the year 9999

    def _label(self, begins: datetime) -> str:
        match self.unit:
            case "year":
                return str(begins.year)
            case "quarter":
                return f"{begins.year} Q{(begins.month + 2) // 3}"
            case "month":
                return begins.date().isoformat()[:7]
            case "week":
                year, week, _ = begins.isocalendar()
                return f"{year} W{week:02d}"
            case "day":
                return begins.date().isoformat()
            case _:
                return f"{begins.date()} {begins.hour:02d}h"


def _months(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Months since the year 0."""
    return times.view("datetime64[us]").astype("datetime64[M]").astype(np.int64) + 12 * 1970


def _microseconds(**span: int) -> int:
    return timedelta(**span) // timedelta(microseconds=1)
