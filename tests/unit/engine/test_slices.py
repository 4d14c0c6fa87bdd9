"""Every document belongs to one slice, and a slice knows its ends and its name."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine.documents import document
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing

UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "decade", "15 minutes", "6 hours", "7 hours"]
UNITS += ["2 weeks", "10 days", "5 years", "6 months", "300 years"]
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
    assert slicing.slice(slice_.index + 1).label != slice_.label or slice_.ends.year == 9999
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
    ("minute", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), "1969-12-31 23:59", -1),
    ("15min", datetime(1970, 1, 1, 1, 29, tzinfo=UTC), "1970-01-01 01:15", 5),
    ("6h", datetime(2020, 12, 31, 22, 40, tzinfo=UTC), "2020-12-31 18:00", 74_511),
    ("36h", datetime(1970, 1, 3, tzinfo=UTC), "1970-01-02 12:00", 1),
    ("3 days", datetime(1970, 1, 5, tzinfo=UTC), "1970-01-04 to 1970-01-06", 1),
    ("fortnight", datetime(2021, 1, 3, tzinfo=UTC), "2020 W52 to 2020 W53", 1330),
    ("6 months", datetime(2020, 7, 1, tzinfo=UTC), "2020-07 to 2020-12", 4041),
    ("5 years", datetime(1999, 12, 31, tzinfo=UTC), "1995 to 1999", 399),
    ("decade", datetime(1999, 12, 31, tzinfo=UTC), "1990s", 199),
    ("decade", datetime(1, 1, 1, tzinfo=UTC), "0000s", 0),
    ("decade", datetime(995, 1, 1, tzinfo=UTC), "0990s", 99),
    ("year", datetime(995, 1, 1, tzinfo=UTC), "0995", 995),
    ("300 years", datetime(995, 1, 1, tzinfo=UTC), "0900 to 1199", 3),
    ("quarter", datetime(995, 4, 1, tzinfo=UTC), "0995 Q2", 3981),
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


@pytest.mark.parametrize(
    ("text", "simplest"),
    [
        ("15min", "15 minutes"),
        ("60 MIN", "hour"),
        ("24h", "day"),
        ("1d", "day"),
        ("7 days", "week"),
        ("168h", "week"),
        ("fortnight", "2 weeks"),
        ("2 fortnights", "4 weeks"),
        ("2w", "2 weeks"),
        ("3 months", "quarter"),
        ("4q", "year"),
        ("2y", "2 years"),
        ("years", "year"),
        ("10 years", "decade"),
        ("2 decades", "20 years"),
        ("500 documents", "500"),
        ("0500", "500"),
    ],
)
def test_equal_lengths_have_one_text(text: str, simplest: str) -> None:
    assert str(Slicing.parse(text)) == simplest
    assert Slicing.parse(simplest) == Slicing.parse(text)


@pytest.mark.parametrize("text", ["15min", "6h", "12h", "day"])
def test_what_divides_a_day_begins_at_midnight(text: str) -> None:
    slicing, midnight = Slicing.parse(text), datetime(2021, 3, 14, tzinfo=UTC)
    assert slicing.slice(slicing.index(midnight)).begins == midnight


@pytest.mark.parametrize("text", ["week", "fortnight", "5 weeks", "14 days"])
def test_weeks_begin_on_monday(text: str) -> None:
    slicing = Slicing.parse(text)
    begins = slicing.slice(slicing.index(datetime(2021, 3, 17, tzinfo=UTC))).begins
    assert begins is not None
    assert begins.weekday() == 0


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "0", "-5", "1.5", "1e3", "²", "9" * 5000, "century", "5 m", "0 days", "min utes", "s", "document"),
        *("999999999999 years", "1 2 days", "days 3", "d\u0430y"),
    ],
)
def test_what_is_no_slicing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="year, quarter, month, week, day, hour, minute, decade or fortnight"):
        Slicing.parse(text)


def test_settings_keep_one_text_for_equal_lengths() -> None:
    assert RunSettings(slices="Fortnight").slices == RunSettings(slices="2 weeks").slices == "2 weeks"


@pytest.mark.parametrize("python", [True, False])
@pytest.mark.parametrize(
    ("slices", "days", "told"),
    [
        ("day", 5, "so far 100 slices (day) have 20 documents: .*; try slices of a length such as year, or of a"),
        ("1", 5, "so far 100 slices (1) have 100 documents: .*; try slices of a number of documents, such as 100, in"),
        ("week", 1, ""),
    ],
)
def test_slices_that_are_far_too_short_are_told_once_early(
    slices: str, days: int, told: str, python: bool, caplog: pytest.LogCaptureFixture
) -> None:
    times = [datetime(2001, 1, 1, tzinfo=UTC) + timedelta(days=days * i) for i in range(210 if slices == "1" else 60)]
    if python:
        TopicTracker(topics=3, slices=slices).learn([document(i, 0)["text"] for i in range(len(times))], times)
    else:
        source = MemorySource([document(i, time.isoformat()) for i, time in enumerate(times)])
        follow(source, FieldCodec(), MemoryStore(), RunSettings(topics=3, slices=slices))
    said = [one for one in caplog.messages if "slices" in one]
    assert len(said) == bool(told)
    assert all(re.match(told.replace("(", r"\(").replace(")", r"\)"), one) for one in said)
