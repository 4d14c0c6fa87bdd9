"""Read times that are written as texts or numbers."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# seconds, milliseconds, microseconds and nanoseconds since 1970 from 1973 to 5138: from, below, units in a second
_SINCE_1970 = tuple((10**power, 10 ** (power + 3), 10 ** (power - 8)) for power in (8, 11, 14, 17))
SECONDS = _SINCE_1970[0]
"""From and below: integers that are seconds since 1970."""


_QUARTER = re.compile(r"(\d{4})[ -]?Q([1-4])|Q([1-4])[ -]?(\d{4})", re.IGNORECASE)
_WEEK = re.compile(r"(\d{4}) (W\d\d)")  # as slices are labelled
_ONE_DIGIT = re.compile(r"(?<![\d.,])\d(?!\d)")
_UTC = re.compile(r" ?(UTC|GMT)$")


def from_value(value: object) -> datetime:
    """Return the time that a text, a number, a date, time or period of Python, numpy or pandas stands for, in UTC.

    A period is the time of its beginning.

    Raises
    ------
    ValueError
        If the value is no time, or one that is missing.

    Examples
    --------
    >>> from_value(np.datetime64("2021-03-31")) == from_value("2021-03-31") == from_value(20210331)
    True
    """
    try:
        if isinstance(value, str):
            return from_text(value.strip())
        if isinstance(value, np.generic):
            # microseconds are what Python's own times can hold; a number comes of years that they cannot
            moment = isinstance(value, np.datetime64)
            value = (value.astype("datetime64[us]") if moment else value).item()
            if moment and not isinstance(value, datetime):
                raise ValueError("no time")
        value = getattr(value, "start_time", value)  # of a period of pandas
        if isinstance(value, Decimal):  # of Parquet
            value = whole if (whole := int(value)) == value else float(value)
        if isinstance(value, datetime):
            return utc(value)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return from_number(value)
    except (OverflowError, TypeError, AttributeError) as error:
        raise ValueError("no time") from error
    raise ValueError("no time")


def from_text(text: str) -> datetime:
    """Return the time of an ISO date or time, ``YYYY-MM``, a quarter, or a number as of `from_number`, in UTC.

    Zeros before single digits of a date may be missing, and UTC may be named.

    Raises
    ------
    ValueError
        If the text is no time.

    Examples
    --------
    >>> from_text("2021-03-31T12:00:00+02:00").isoformat(), from_text("2021-03").isoformat()
    ('2021-03-31T10:00:00+00:00', '2021-03-01T00:00:00+00:00')
    >>> from_text("2021 Q2") == from_text("2021-4-1 0:00 UTC")
    True
    """
    try:
        return _usual(text)
    except ValueError:
        if (plain := _plain(text)) == text:
            raise
        return _usual(plain)


def _plain(text: str) -> str:
    """Return a quarter, a week, or a date with single digits or the name of UTC as ISO writes it."""
    if quarter := _QUARTER.fullmatch(text):
        year, number = quarter[1] or quarter[4], int(quarter[2] or quarter[3])
        return f"{year}-{3 * number - 2:02}"
    if text[:4].isdecimal() and text[4:5] == "-":
        return _UTC.sub("Z", _ONE_DIGIT.sub(r"0\g<0>", text))
    return _WEEK.sub(r"\1-\2", text)


def _usual(text: str) -> datetime:
    if text[4:5] == "-" and len(text) > 7:  # no number has one there
        return utc(datetime.fromisoformat(text))
    # numbers go first: the ISO parser would take some numbers of milliseconds for dates with a time
    if text.lstrip("+-").replace(".", "", 1).isdecimal():
        return from_number(float(text))
    if len(text) == 7 and text[4] == "-" and text[:4].isdecimal() and text[5:].isdecimal():
        return datetime(int(text[:4]), int(text[5:]), 1, tzinfo=UTC)
    return utc(datetime.fromisoformat(text))


def from_number(number: int | float) -> datetime:
    """Return the time of a year, of YYYYMMDD, or of (milli-, micro-, nano-)seconds since 1970 by magnitude, in UTC.

    Raises
    ------
    ValueError
        If the number is none of these.

    Examples
    --------
    >>> from_number(2021).date().isoformat(), from_number(1_617_148_800_000).date().isoformat()
    ('2021-01-01', '2021-03-31')
    """
    if type(number) is int and SECONDS[0] <= number < SECONDS[1]:
        return _EPOCH + timedelta(0, number)
    if 1 <= number <= 9999 and number == int(number):
        return datetime(int(number), 1, 1, tzinfo=UTC)
    if 10_000_101 <= number <= 99_991_231 and number == int(number):
        day = int(number)
        return datetime(day // 10_000, day // 100 % 100, day % 100, tzinfo=UTC)
    for least, limit, units in _SINCE_1970:
        if least <= abs(number) < limit:
            whole, part = divmod(number, units)
            return _EPOCH + timedelta(0, whole, part * 1_000_000 / units if part else 0)
    raise ValueError


def utc(time: datetime) -> datetime:
    """Return a time in UTC, which it is in if it names no zone.

    Raises
    ------
    ValueError
        If it is the missing time of pandas.
    """
    if time.tzinfo is UTC:
        return time
    if time != time:  # the missing time of pandas
        raise ValueError
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
