"""Dates that people give to commands."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np

from vmfstream.errors import InputError

_WRITTEN = re.compile(r"(\d[^T ]*(?:[T ][\d:.]+)?)(Z|[+-]\d\d(?::?\d\d)?)?")
"""A date, maybe with a time and an offset from UTC."""


def moment_of(option: str, given: str, *, ends: bool = False, also: str = "") -> datetime:
    """Return when a date begins, in UTC without a time zone.

    Parameters
    ----------
    option : what it was given to, for the message.
    given : a date in ISO form, as short as a year; with a time it may have an offset from UTC.
    ends : whether it is asked for when the date ends: a year with its last moment, an hour with its own.
    also : what might have been given as well, for the message.

    Raises
    ------
    InputError
        If it is no date of the years 1 to 9999.

    Examples
    --------
    >>> moment_of("--since", "2013-11").isoformat(), moment_of("--until", "2013-11", ends=True).isoformat()
    ('2013-11-01T00:00:00', '2013-12-01T00:00:00')
    >>> moment_of("--since", "2013-11-04T08:30+02:00").isoformat()
    '2013-11-04T06:30:00'
    """
    found = _WRITTEN.fullmatch(given)
    try:
        if found is None:
            raise ValueError("no date")
        date, offset = np.datetime64(found[1]), _offset(found[2])
        begins = _moment(date) - offset
        if not ends:
            return begins
        try:
            return _moment((date.astype(np.int64) + 1).astype(date.dtype)) - offset
        except (ValueError, OverflowError):  # the last year that there is
            return datetime.max
    except (ValueError, OverflowError) as error:
        expected = f"a date, such as 2013-11-04{also and f', or {also}'}"
        raise InputError(f"{option}: expected {expected}, got {given!r}") from error


def _moment(date: np.datetime64) -> datetime:
    return datetime.fromisoformat(str(date.astype("datetime64[us]")))


def _offset(text: str | None) -> timedelta:
    return datetime.fromisoformat(f"2000-01-01T00:00{text}").utcoffset() or timedelta() if text else timedelta()
