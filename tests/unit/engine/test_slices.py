"""Every document belongs to one slice, and a slice knows its ends and its name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.engine.loop.slices import UNITS, Slicing
from vmfstream.errors import InputError

TICK = timedelta(microseconds=1)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))


@pytest.mark.parametrize("unit", UNITS)
@given(time=MOMENTS)
def test_a_slice_contains_its_documents(unit: str, time: datetime) -> None:
    slicing = Slicing.parse(unit)
    slice_ = slicing.slice(slicing.index(time))
    assert slice_.begins is not None
    assert slice_.ends is not None
    assert slice_.begins <= time < slice_.ends
    assert slicing.index(slice_.begins) == slice_.index
    if slice_.ends.year < 9999:
        assert slicing.index(slice_.ends) == slice_.index + 1
        assert slicing.index(slice_.ends - TICK) == slice_.index


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("time", [datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_calendar_has_a_first_and_a_last_slice(unit: str, time: datetime) -> None:
    slicing = Slicing.parse(unit)
    slice_ = slicing.slice(slicing.index(time))
    assert slice_.begins is not None
    assert slice_.ends is not None
    assert slice_.begins <= time <= slice_.ends


LABELS = [
    ("year", datetime(1969, 7, 20, tzinfo=UTC), "1969", 1969),
    ("quarter", datetime(2001, 9, 30, 23, 59, tzinfo=UTC), "2001 Q3", 8006),
    ("month", datetime(1969, 12, 31, tzinfo=UTC), "1969-12", 23_639),
    ("month", datetime(44, 3, 15, tzinfo=UTC), "0044-03", 530),
    ("week", datetime(1970, 1, 1, tzinfo=UTC), "1970 W01", 0),
    ("week", datetime(2021, 1, 3, tzinfo=UTC), "2020 W53", 2661),
    ("week", datetime(2024, 12, 30, tzinfo=UTC), "2025 W01", 2870),
    ("day", datetime(1969, 12, 31, 23, tzinfo=UTC), "1969-12-31", -1),
    ("hour", datetime(1969, 12, 31, 22, 59, tzinfo=UTC), "1969-12-31 22h", -2),
    ("hour", datetime(1970, 1, 1, 0, 59, tzinfo=UTC), "1970-01-01 00h", 0),
]


@pytest.mark.parametrize(("unit", "time", "label", "index"), LABELS)
def test_labels(unit: str, time: datetime, label: str, index: int) -> None:
    slicing = Slicing.parse(unit)
    assert slicing.index(time) == index
    assert slicing.slice(index).label == label


def test_slices_are_cut_in_universal_time() -> None:
    new_year_in_tokyo = datetime(2020, 1, 1, 3, tzinfo=timezone(timedelta(hours=9)))
    assert Slicing.parse("year").index(new_year_in_tokyo) == 2019


def test_slices_of_documents_are_counted() -> None:
    slicing = Slicing.parse(" 2500 ")
    second = slicing.slice(1)
    assert (second.index, second.label, second.begins, second.ends) == (1, "2,501 to 5,000", None, None)
    with pytest.raises(ValueError, match="not numbered by time"):
        slicing.index(datetime(2000, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("text", [*UNITS, "1", "5000"])
def test_text_round_trip(text: str) -> None:
    assert str(Slicing.parse(text)) == text
    assert Slicing.parse(text.upper()) == Slicing.parse(text)


@pytest.mark.parametrize("text", ["", "fortnight", "0", "-5", "1.5", "1e3", "²", "9" * 5000, "years"])
def test_what_is_no_slicing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="year, quarter, month, week, day, hour"):
        Slicing.parse(text)
