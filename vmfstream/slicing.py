"""Cutting time into slices: intervals of the calendar of any length, or runs of N documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.records import Slice, microseconds

UNITS = ("year", "quarter", "month", "week", "day", "hour")
"""The units that people ask for most; see `Slicing.parse` for all."""

Base: TypeAlias = Literal["minute", "week", "month", "documents"]
"""What lengths are multiples of: minutes since 1970, weeks since a Monday, months since the year 0, or documents."""

POSSIBLE = (
    "year, quarter, month, week, day, hour, minute, decade or fortnight, some of them such as 15min, 6h or 2 weeks, or "
    "a number of documents"
)
"""What a length of slices may be, for help and errors."""

_DAY = 24 * 60
_WEEK = 7 * _DAY
_LONGEST = {"minute": 9999 * 366 * _DAY, "week": 9999 * 53, "month": 9999 * 12, "documents": 10**12}
"""More would begin before the calendar does, or not fit into a number."""

_LENGTHS: dict[str, tuple[Base, int]] = {
    "minute": ("minute", 1),
    "hour": ("minute", 60),
    "day": ("minute", _DAY),
    "week": ("week", 1),
    "fortnight": ("week", 2),
    "month": ("month", 1),
    "quarter": ("month", 3),
    "year": ("month", 12),
    "decade": ("month", 120),
    "document": ("documents", 1),
}
_SHORT = {"min": "minute", "h": "hour", "d": "day", "w": "week", "q": "quarter", "y": "year"}
_WRITTEN = re.compile(r"(\d{0,12})\s*([a-z]*)")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = datetime(1969, 12, 29, tzinfo=UTC)
_FIRST, _LAST = (moment.replace(tzinfo=UTC) for moment in (datetime.min, datetime.max))


@dataclass(frozen=True, slots=True)
class Slicing:
    """How documents fall into slices: by intervals of their time (UTC), or so many documents at a time.

    Slices of a calendar are numbered by the calendar itself (a year by its number, a day by days since 1970), so the
    same document always falls into the same slice; slices of N documents are numbered from 0.

    Parameters
    ----------
    base : what lengths are multiples of, see `Base`.
    length : how many of it a slice has, >= 1.

    Notes
    -----
    Intervals are counted from the begin of 1970, weeks from Monday, 29 December 1969, months and years from the year 0.
    So what divides a day (15 minutes, 6 hours) begins anew at midnight, what divides a year (2 or 6 months) in January,
    and what divides a hundred years (5, a decade) with the century. Other lengths, such as 7 hours or 10 days, do not
    begin with the day or the month.
    """

    base: Base
    length: int = 1

    @classmethod
    def parse(cls, text: str) -> Slicing:
        """Read a length such as ``month``, ``15min``, ``6h``, ``2 weeks``, ``decade``, or a number of documents.

        Raises
        ------
        InputError
            If it is none; lists what is possible.

        Examples
        --------
        >>> [str(Slicing.parse(text)) for text in ("15min", "24h", "fortnight", "10 years", "500")]
        ['15 minutes', 'day', '2 weeks', 'decade', '500']
        """
        found = _WRITTEN.fullmatch(text.strip().lower()) if text.isascii() else None
        if found is not None and any(found.groups()):
            many, unit = found.groups()
            unit = unit or "document"
            name = _SHORT.get(unit, unit if unit in _LENGTHS else unit.removesuffix("s"))
            number = int(many) if many else 1
            if name in _LENGTHS and number > 0 and (many or name != "document"):
                base, length = _LENGTHS[name]
                if number * length <= _LONGEST[base]:
                    return cls._simplest(base, number * length)
        raise InputError(f"slices: expected one of {POSSIBLE}, got {text!r}")

    @classmethod
    def _simplest(cls, base: Base, length: int) -> Slicing:
        """Bring whole weeks that were given in days to weeks, which begin on Monday."""
        return cls("week", length // _WEEK) if base == "minute" and length % _WEEK == 0 else cls(base, length)

    @property
    def documents(self) -> int:
        """Documents of a slice; 0 for intervals of time."""
        return self.length if self.base == "documents" else 0

    def __str__(self) -> str:
        if self.documents:
            return str(self.documents)
        # the largest unit that the length is a multiple of
        units = ((name, of) for name, (base, of) in reversed(_LENGTHS.items()) if base == self.base)
        for name, of in units:
            if name in ("quarter", "fortnight", "decade"):
                if self.length == of and name != "fortnight":
                    return name
            elif self.length % of == 0:
                many = self.length // of
                return name if many == 1 else f"{many} {name}s"
        raise AssertionError(self.base)

    def index(self, time: datetime) -> int:
        """Number of the calendar slice that contains ``time``."""
        return int(self.indices(np.array([microseconds(time)]))[0])

    def indices(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the calendar slices that contain ``times`` (N,), which are microseconds since 1970."""
        match self.base:
            case "month":
                months = times.view("datetime64[us]").astype("datetime64[M]").astype(np.int64) + 12 * 1970
                return months // self.length
            case "week":
                return (times - microseconds(_MONDAY)) // (self.length * _microseconds(weeks=1))
            case "minute":
                return times // (self.length * _microseconds(minutes=1))
        raise ValueError(f"slices of {self.base} are not numbered by time")

    def slice(self, index: int) -> Slice:
        """Describe a slice: its label as people write it and its two ends."""
        if self.documents:
            return Slice(index, f"{index * self.documents + 1:,} to {(index + 1) * self.documents:,}")
        begins, ends = self.span(index)
        return Slice(index, self._label(begins, ends), begins, ends)

    def span(self, index: int) -> tuple[datetime, datetime]:
        """Return the two ends of a calendar slice, of which the second is no longer part of it.

        The calendar begins with the year 1 and ends with the year 9999.
        """
        return self._moment(index), self._moment(index + 1)

    def _moment(self, index: int) -> datetime:
        """Return when a slice begins."""
        many = index * self.length
        try:
            match self.base:
                case "month":
                    return datetime(many // 12, many % 12 + 1, 1, tzinfo=UTC)
                case "week":
                    return _MONDAY + timedelta(weeks=many)
                case _:
                    return _EPOCH + timedelta(minutes=many)
        except (ValueError, OverflowError):
            return _FIRST if index < self.index(_EPOCH) else _LAST

    def _label(self, begins: datetime, ends: datetime) -> str:
        """Name a slice by its unit or its first and last one; by its begin if it does not consist of whole days."""
        if self.base == "month" and self.length == 120:
            return f"{begins.year // 10 * 10:04}s"
        if self.base == "month" and self.length == 3:
            return f"{begins.year:04} Q{(begins.month + 2) // 3}"
        if self.base == "minute" and self.length % _DAY:
            return f"{begins.date()} {begins:%H}h" if self.length == 60 else f"{begins.date()} {begins:%H:%M}"
        first, last = self._unit_label(begins), self._unit_label(ends - timedelta(microseconds=1))
        return first if first == last else f"{first} to {last}"

    def _unit_label(self, moment: datetime) -> str:
        """Name the year, month, week or day that contains a moment."""
        if self.base == "week":
            year, week, _ = moment.isocalendar()
            return f"{year:04} W{week:02d}"
        if self.base == "minute":
            return moment.date().isoformat()
        return f"{moment.year:04}" if self.length % 12 == 0 else moment.date().isoformat()[:7]


ENOUGH = 20
"""Mean documents of a slice from which on it is long enough."""

_UNIT_DAYS = {"minute": 1 / _DAY, "hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365, "decade": 3652}


def long_enough(documents: int, span: timedelta) -> str:
    """Return the shortest unit of the calendar that holds `ENOUGH` of so many documents on average, "" for none.

    Parameters
    ----------
    documents : how many there are.
    span : the time that they are spread over.

    Examples
    --------
    >>> long_enough(9_600, timedelta(days=2000)), long_enough(3, timedelta(days=2000))
    ('week', '')
    """
    days = span / timedelta(days=1)
    return next((unit for unit, length in _UNIT_DAYS.items() if documents * length >= ENOUGH * days), "")


def _microseconds(**span: int) -> int:
    return timedelta(**span) // timedelta(microseconds=1)
