"""Dates that people give: as short as a year, with offsets, and what is none."""

from __future__ import annotations

import warnings

import pytest

from vmfstream.cli.dates import moment_of
from vmfstream.errors import InputError


@pytest.mark.parametrize(
    ("given", "begins", "ends"),
    [
        ("0850", "0850-01-01T00:00:00", "0851-01-01T00:00:00"),
        ("2001-12", "2001-12-01T00:00:00", "2002-01-01T00:00:00"),
        ("2001-01-19 23:30", "2001-01-19T23:30:00", "2001-01-19T23:31:00"),
        ("2001-01-20T05:00:00+05:00", "2001-01-20T00:00:00", "2001-01-20T00:00:01"),
        ("2001-01-19T23-0130", "2001-01-20T00:30:00", "2001-01-20T01:30:00"),
        ("2001-01-19T23Z", "2001-01-19T23:00:00", "2001-01-20T00:00:00"),
        ("9999", "9999-01-01T00:00:00", "9999-12-31T23:59:59.999999"),
    ],
)
def test_a_date_begins_and_ends_in_utc(given: str, begins: str, ends: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert moment_of("--since", given).isoformat() == begins
        assert moment_of("--until", given, ends=True).isoformat() == ends


@pytest.mark.parametrize("given", ["", "tomorrow", "20010120", "99999", "2001-02-30", "0001-01-01T00:00+01:00", "٢٠٠١"])
def test_what_is_no_date_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"--since: expected a date, such as 2013-11-04, got '"):
        moment_of("--since", given)
    with pytest.raises(InputError, match=r"--until: expected a date, such as 2013-11-04, or a label, got '"):
        moment_of("--until", given, ends=True, also="a label")
