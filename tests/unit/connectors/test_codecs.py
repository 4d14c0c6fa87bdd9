"""From messages to documents: every bad one is told why, none raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.connectors.codecs import MESSAGE_TIME, SURPLUS, FieldCodec, Refusal, document_as_json, parse_time
from vmfstream.records import NO_TIME, Document, Message, Rejected, messages_of

GOOD = {"id": 7, "time": "2024-05-06", "text": "words", "title": "Title"}


def message(value: bytes | Mapping[str, Any], **changes: Any) -> Message:
    return Message("f.jsonl", 6, value, **changes)


def accept(value: Any, codec: FieldCodec | None = None, **changes: Any) -> Document:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    document = (codec or FieldCodec()).decode(message(raw, **changes))
    assert isinstance(document, Document), getattr(document, "reason", None)
    return document


def year_of(document: Document) -> int:
    assert document.time is not None
    return document.time.year


def reason(value: Any, codec: FieldCodec | None = None, **changes: Any) -> str:
    rejected = (codec or FieldCodec()).decode(message(value, **changes))
    assert isinstance(rejected, Rejected)
    assert (rejected.part, rejected.offset) == ("f.jsonl", 6)
    assert len(rejected.excerpt) <= 200
    assert len(rejected.reason) < 400
    (rejected.reason + rejected.excerpt).encode()
    return rejected.reason


def test_takes_the_usual_fields() -> None:
    document = accept(GOOD)
    assert (document.part, document.offset, document.id) == ("f.jsonl", 6, "7")
    assert document.time == datetime(2024, 5, 6, tzinfo=UTC)
    assert (document.text, document.title, document.vector) == ("words", "Title", None)


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "timestamp",
        "date",
        "published",
        "year",
        "Date",
        "publishedAt",
        "created",
        "pubDate",
        "Creation Date",
        "Datum",
    ],
)
def test_finds_the_time(name: str) -> None:
    assert year_of(accept({name: "2020", "text": "a"})) == 2020


@pytest.mark.parametrize("name", ["text", "body", "content", "abstract", "Text", "full_text", "fullText", "Texto"])
def test_finds_the_text(name: str) -> None:
    assert accept({"time": "2020", name: "a"}).text == "a"


@pytest.mark.parametrize("name", ["title", "headline", "Titel", "TÍTULO"])
def test_finds_the_title(name: str) -> None:
    assert accept({"time": "2020", "text": "a", name: "b"}).title == "b"


@pytest.mark.parametrize("name", ["id", "_id", "key", "url"])
def test_finds_the_id_or_names_the_place(name: str) -> None:
    assert accept({"time": "2020", "text": "a", name: "x"}).id == "x"
    assert accept({"time": "2020", "text": "a", name: None}).id == "f.jsonl:6"
    assert accept({"time": "2020", "text": "a", name: ""}).id == "f.jsonl:6"


def test_a_null_field_gives_way_to_another_usual_one() -> None:
    document = accept({"time": None, "date": "1999", "text": None, "body": "b"})
    assert (year_of(document), document.text) == (1999, "b")


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_field_gives_way_to_another_usual_one(blank: str) -> None:
    fields = {"id": blank, "key": "k", "time": blank, "date": "1999", "title": blank, "headline": "h"}
    document = accept(fields | {"content": blank, "description": "b"})
    assert (document.id, year_of(document), document.text) == ("k", 1999, "b")
    assert document.meta == {"title": "h"}
    usual = {"id": "i", "time": "1999", "title": blank, "headline": "h", "text": "a"}
    assert accept(usual).meta == {"title": "h"}
    assert accept(usual | {"headline": blank}).meta == {"title": blank}


def test_whole_numbers_are_written_as_such() -> None:
    one = accept({"time": "2020", "text": "a", "id": 7.0, "title": 8.0})
    assert (one.id, one.title) == ("7", "8")
    assert [accept({"time": "2020", "text": "a", "id": id}).id for id in (7.5, 1e300)] == ["7.5", "1e+300"]


@pytest.mark.parametrize("missing", [" ", "\t\n", float("nan")])
def test_blank_and_missing_ids_are_none(missing: object) -> None:
    assert accept({"time": "2020", "text": "a", "id": missing}).id == "f.jsonl:6"
    document = accept({"time": missing, "date": "1999", "text": missing, "body": "b", "id": missing, "key": "k"})
    assert (document.id, year_of(document), document.text) == ("k", 1999, "b")


def test_a_title_that_is_nan_is_none() -> None:
    assert accept({"time": "2020", "text": "a", "title": float("nan")}).title == "a"
    assert accept({"time": "2020", "text": "a", "title": float("nan"), "headline": "h"}).title == "h"


def test_takes_only_the_fields_it_was_given() -> None:
    codec = FieldCodec(id="a", time="b", text="c", title="d", meta=("e", "f"))
    fields = {"a": "A", "b": "2001", "c": "C", "d": "D", "e": [1], "time": "2020", "text": "no"}
    document = accept(fields, codec)
    assert (document.id, year_of(document), document.text) == ("A", 2001, "C")
    assert document.meta == {"title": "D", "e": [1]}
    assert reason(json.dumps(GOOD).encode(), codec) == "no time: expected b, found id, time, text, title"


def test_the_source_may_know_the_time() -> None:
    arrival = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert accept({"text": "a"}, time=arrival).time == datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert year_of(accept({"text": "a", "time": "2020"}, time=arrival)) == 2020
    assert reason(b'{"text": "a", "time": null}', time=arrival) == "time is null"
    assert reason(b'{"text": "a", "time": "soon"}', time=arrival).startswith("time is no time: 'soon'")


BAD_LINES = {
    b'{"time": "2020", "text": "a"': "not JSON: line 7, column 29: Expecting ',' delimiter",
    b"": "empty: line 7 holds nothing",
    b"hello": "not JSON: line 7, column 1: Expecting value",
    b'{"a": 1} {"b": 2}': "not JSON: line 7, column 10: Extra data",
    b"[1, 2]": "not a JSON object: line 7 holds a list",
    b"null": "not a JSON object: line 7 holds null",
    b'"text"': "not a JSON object: line 7 holds a text",
    b"12": "not a JSON object: line 7 holds a number",
    b"[" * 100_000: "not JSON that can be read: line 7: ",
    b'{"n": ' + b"1" * 5000 + b"}": "not JSON that can be read: line 7: ",
    b'{"text": "caf\xe9"}': "not UTF-8: byte 0xe9 at position 13 on line 7",
    b"\xff\xfe{\x00}\x00": "not UTF-8: byte 0xff at position 0 on line 7",
    b"{}": "no time: expected time or timestamp or date or published or created_at or year or the like, found nothing",
    b'{"when": 1, "what": 2}': "no time: expected time or timestamp or date or published or created_at or year or the "
    "like, found when, what",
    b'{"time": "2020"}': "no text: expected text or body or ",
    b'{"time": null, "text": "a"}': "time is null",
    b'{"time": "2020", "text": null}': "text is null",
    b'{"time": "2020", "text": 5}': "text is no text: it is a number",
    b'{"time": "2020", "body": ["a"]}': "body is no text: it is a list",
    b'{"time": "2020", "text": {}}': "text is no text: it is an object",
    b'{"time": "2020", "text": true}': "text is no text: it is true or false",
    b'{"time": "2020", "text": ""}': "text is empty",
    b'{"time": "2020", "text": " \\n\\u00a0"}': "text is empty",
    b'{"time": "tomorrow", "text": "a"}': "time is no time: 'tomorrow' is neither a date like 2021-03-31 nor a year",
    b'{"time": "\\ud800", "text": "a"}': "time is no time: '?' is neither",
    b'{"time": true, "text": "a"}': "time is no time: True is neither",
    b'{"time": [2020], "text": "a"}': "time is no time: [2020] is neither",
    b'{"time": 1e400, "text": "a"}': "time is no time: inf is neither",
    b'{"time": NaN, "text": "a"}': "time is no time: nan is neither",
    b'{"time": ' + b"9" * 4000 + b', "text": "a"}': "time is no time: a number of more than 20 digits is neither",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_says_why_a_line_is_no_document(line: bytes) -> None:
    assert reason(line).startswith(BAD_LINES[line])


def test_long_texts_and_lines_are_refused() -> None:
    codec = FieldCodec(max_characters=3)
    assert accept({"time": "2020", "text": "äöü"}, codec).text == "äöü"
    assert reason(b'{"time": "2020", "text": "abcd"}', codec) == "text is too long: 4 characters, at most 3 are taken"
    assert reason(b'{"time"', oversized=12_345) == "too long: line 7 has 12,345 bytes"


def test_tolerates_marks_nulls_and_half_characters() -> None:
    assert accept(b'\xef\xbb\xbf{"time": "2020", "text": "a\\u0000b"}').text == "a\0b"
    document = accept(b'{"time": "2020", "id": "\\ud83d", "title": "t\\udc80", "text": "\\ud83d\\ude00 cut \\ud83d"}')
    assert (document.id, document.title, document.text) == ("?", "t?", "\U0001f600 cut ?")


def test_texts_of_bytes_must_be_utf8() -> None:
    good = FieldCodec().decode(message({"time": 2020, "text": "grün".encode()}))
    assert isinstance(good, Document)
    assert good.text == "grün"
    assert reason({"time": 2020, "text": b"gr\xfcn"}) == "not UTF-8: byte 0xfc at position 2 in text"
    assert reason({"time": 2020, "text": "gr\udcfcn"}) == "not UTF-8: byte 0xfc at position 2 in text"


MOMENT = datetime(2024, 2, 29, 13, 14, 15, tzinfo=UTC)
SECONDS = int(MOMENT.timestamp())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-02-29T13:14:15", MOMENT),
        ("2024-02-29 13:14:15Z", MOMENT),
        ("2024-02-29T15:14:15+02:00", MOMENT),
        (" 2024-02-29T13:14:15.250 ", MOMENT.replace(microsecond=250_000)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("20240229", datetime(2024, 2, 29, tzinfo=UTC)),
        (20240229, datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02", datetime(2024, 2, 1, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        *((text, datetime(2024, 4, 1, tzinfo=UTC)) for text in ("2024 Q2", "2024Q2", "2024-q2", "Q2 2024", "Q2-2024")),
        *((text, datetime(2024, 4, 1, tzinfo=UTC)) for text in ("2024 W14", "2024-W14", "2024-4", "2024-4-1")),
        *((text, MOMENT.replace(hour=3)) for text in ("2024-2-29 3:14:15", "2024-02-29 03:14:15 UTC")),
        (pandas.Period("2024-05", "Q"), datetime(2024, 4, 1, tzinfo=UTC)),
        (1987, datetime(1987, 1, 1, tzinfo=UTC)),
        (1987.0, datetime(1987, 1, 1, tzinfo=UTC)),
        (np.int16(1987), datetime(1987, 1, 1, tzinfo=UTC)),
        (SECONDS, MOMENT),
        (str(SECONDS), MOMENT),
        (SECONDS + 0.25, MOMENT.replace(microsecond=250_000)),
        (f"{SECONDS}.25", MOMENT.replace(microsecond=250_000)),
        (SECONDS * 1000 + 250, MOMENT.replace(microsecond=250_000)),
        (str(SECONDS * 1000), MOMENT),
        (SECONDS * 10**6 + 7, MOMENT.replace(microsecond=7)),
        (SECONDS * 10**9 + 7000, MOMENT.replace(microsecond=7)),
        (1612121212345, datetime.fromtimestamp(1612121212, UTC).replace(microsecond=345_000)),
        ("1612121212345", datetime.fromtimestamp(1612121212, UTC).replace(microsecond=345_000)),
        (-(10**9), datetime(1938, 4, 24, 22, 13, 20, tzinfo=UTC)),
        (datetime(2024, 2, 29, 13, 14, 15), MOMENT),
        (MOMENT.astimezone(timezone(timedelta(hours=-7))), MOMENT),
        (date(2024, 2, 29), datetime(2024, 2, 29, tzinfo=UTC)),
        (np.datetime64("2024-02-29T13:14:15", "ns"), MOMENT),
        (Decimal("1987.00"), datetime(1987, 1, 1, tzinfo=UTC)),
        (Decimal(f"{SECONDS}.25"), MOMENT.replace(microsecond=250_000)),
    ],
)
def test_understands_times(value: object, expected: datetime) -> None:
    found = parse_time(value)
    assert found == expected
    assert found.tzinfo is UTC


def test_documents_need_no_time_if_they_are_counted() -> None:
    codec = FieldCodec(timed=False)
    for fields in ({"text": "a"}, {"text": "a", "time": None}, {"text": "a", "id": 7, "date": " "}):
        document = accept(fields, codec)
        assert document.time is None
        assert codec.decode_all([message(fields)]).time.tolist() == [NO_TIME]
        assert "time" not in json.loads(document_as_json(document))
    assert reason({"text": "a", "time": "soon"}, codec).startswith("time is no time: 'soon'")
    assert year_of(accept({"text": "a", "time": "2020"}, codec)) == 2020


@pytest.mark.parametrize(
    "value",
    ["", "0", 0, -5, "yesterday", "2024-13", "2024-02-30", "20240230", "29.02.2024", 12345, 1e7, 2020.5, 10**20, -1e300,
     float("nan"), float("inf"), True, None, b"2020", [], {}, np.datetime64("NaT", "us"), np.bool_(True), "²",
     np.datetime64("12000-01-01"), np.datetime64("-200-01-01"), Decimal("2020.5"), Decimal("sNaN"), Decimal("Infinity"),
     "9" * 5000, "2024 Q5", "FY2024", "2024 W60", "44 BC", "0001-01-01T00:00:00+23:00", "1" * 21, "..", "-"],
)  # fmt: skip
def test_says_which_time_it_does_not_understand(value: object) -> None:
    with pytest.raises(ValueError, match="is neither a date like 2021-03-31 nor a year nor seconds since 1970"):
        parse_time(value)


def test_the_missing_time_of_pandas_is_no_time() -> None:
    with pytest.raises(ValueError, match="NaT is neither"):
        parse_time(pandas.NaT)
    assert parse_time(pandas.Timestamp(MOMENT)) == MOMENT


def test_takes_vectors_of_one_dimension() -> None:
    codec = FieldCodec(vector="v")
    document = accept({"time": 2020, "v": [1, 2.5, -3]}, codec)
    assert document.vector is not None
    assert document.vector.dtype == np.float32
    assert document.vector.tolist() == [1.0, 2.5, -3.0]
    assert document.text is None
    assert codec.dimension == 3
    assert reason(b'{"time": 2020, "v": [1, 2]}', codec) == "v has the wrong dimension: 2, expected 3"
    cell = codec.decode(message({"time": "2020", "text": "a", "v": "[1, 2, 3]"}))
    assert isinstance(cell, Document)
    assert cell.text == "a"


@pytest.mark.parametrize("written", ["[ 1.  2.5 -3. ]", "[1. 2.5\n -3e0]", "[1, 2.5, -3]"])
def test_reads_vectors_as_pandas_writes_arrays_into_cells(written: str) -> None:
    cell = FieldCodec(vector="v", dimension=3).decode(message({"time": "2020", "v": written}))
    assert isinstance(cell, Document)
    assert cell.vector is not None
    assert cell.vector.tolist() == [1.0, 2.5, -3.0]


def test_a_rejected_message_does_not_fix_the_dimension() -> None:
    codec = FieldCodec(vector="v")
    assert reason(b'{"time": 2020, "text": 3, "v": [1, 2]}', codec) == "text is no text: it is a number"
    accept({"time": 2020, "v": [1, 2, 3]}, codec)


BAD_VECTORS: list[tuple[Any, str]] = [
    (None, "v is null"),
    ([1, float("nan"), 3], "v is not finite: number 2 of 3"),
    ([1, 2, float("inf")], "v is not finite: number 3 of 3"),
    ([1, 2, 1e39], "v is not finite: number 3 of 3"),
    ([0, 0, 0.0], "v has no direction: all 3 numbers are zero"),
    ([1e-60, 0, 0], "v has no direction"),
    ([1, 2], "v has the wrong dimension: 2, expected 3"),
    ([], "v has the wrong dimension: 0, expected 3"),
    ([[1, 2, 3]], "v is no list of numbers: [[1, 2, 3]]"),
    ([1, "2", 3], "v is no list of numbers: [1, '2', 3]"),
    ([1, None, 3], "v is not finite: number 2 of 3"),
    ([[1], [2, 3]], "v is no list of numbers: its items differ in kind"),
    ([10**400, 1, 1], "v is no list of numbers"),
    ([True, False, True], "v is no list of numbers"),
    ("1 2 3", "v is no list of numbers: '1 2 3'"),
    ("", "v is no list of numbers: ''"),
    ("[1. 2. nan]", "v is not finite: number 3 of 3"),
    ("[1. 2.]", "v has the wrong dimension: 2, expected 3"),
    ("[1. 2. ... 3.]", "v is no list of numbers: '[1. 2. ... 3.]'"),
    (5, "v is no list of numbers: it is a number"),
    ({}, "v is no list of numbers: it is an object"),
]


@pytest.mark.parametrize(("vector", "says"), BAD_VECTORS)
def test_says_why_a_vector_is_none(vector: Any, says: str) -> None:
    codec = FieldCodec(vector="v", dimension=3)
    assert reason({"time": 2020, "v": vector}, codec).startswith(says)
    assert reason({"time": 2020, "w": 1}, codec) == "no vector: expected v, found time, w"
    assert codec.dimension == 3


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.thorough
@given(st.dictionaries(st.sampled_from(["id", "time", "text", "v", "title", "other"]), ANYTHING))
def test_never_raises_on_rows(fields: dict[str, Any]) -> None:
    for codec in (FieldCodec(), FieldCodec(vector="v", meta=["other"])):
        result = codec.decode(message(fields))
        if isinstance(result, Document):
            assert result.time is None or result.time.tzinfo is UTC
            (result.id + (result.text or "")).encode()


@given(st.binary() | st.text().map(lambda text: json.dumps({"time": text, "text": text}).encode()))
def test_never_raises_on_bytes(raw: bytes) -> None:
    assert isinstance(FieldCodec().decode(message(raw)), Document | Rejected)


def test_leaves_the_message_alone() -> None:
    fields = {"time": 2020, "text": "a", "tags": ["x"]}
    FieldCodec(meta=["tags"]).decode(message(fields))
    assert fields == {"time": 2020, "text": "a", "tags": ["x"]}


ODD_LINES = (
    *BAD_LINES,
    b'\xef\xbb\xbf{"time": "2020", "text": "a\\u0000b"}',
    b'{"time": 2020, "text": "a", "id": 18446744073709551616}',
    b'{"time": 2020, "text": "a", "id": -9223372036854775809}',
    b'{"time": 2020, "text": "a", "id": 18446744073709551615}',
    b'{"time": 2020, "text": "a", "id": [36893488147419103232]}',
    b'{"time": 2020, "text": "a", "title": 36893488147419103232, "id": NaN}',
    b'{"time": 2020, "text": "a", "id": "first", "id": "second", "b": 1}',
    b'{"time": 2020, "text": "\\ud83d cut", "id": -0, "title": -0.0}',
    b'{"time": 2020, "text": "a", "extra": Infinity, "b": 36893488147419103232}',
    b'{"time": 2020, "text": "a", "extra": [1e400, 36893488147419103232]}',
    b'{"time": 2020, "text": "a", "extra": {"deep": 36893488147419103232}, "b": 1e300}',
    b'{"time": 36893488147419103232, "text": "a"}',
    b'{"time": 1600000000.25, "text": "a", "b": 1e300}',
    b'{"time": 2020, "text": 36893488147419103232}',
    b'{"time": 2020, "text": "a\x01"}',
    b' \n{"time": 2020, "text": "a"}\r\n ',
)


def shown(decoded: Document | Rejected) -> str:
    fields = [name for name in type(decoded).__slots__ if name != "meta"]
    meta = sorted(decoded.meta.items()) if isinstance(decoded, Document) else ()
    return repr([getattr(decoded, name) for name in fields]) + repr(meta)


@pytest.mark.parametrize("line", ODD_LINES)
@pytest.mark.parametrize("vector", [None, "extra"])
def test_the_quick_reader_never_makes_a_difference(
    line: bytes, vector: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = FieldCodec(meta=("extra", "b"), vector=vector).decode(message(line))
    monkeypatch.setattr("orjson.loads", json.loads)
    careful = FieldCodec(meta=("extra", "b"), vector=vector).decode(message(line))
    assert shown(quick) == shown(careful)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2020-05-06")
cells = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)


@given(st.fixed_dictionaries({}, optional={name: cells for name in ("time", "text", "id", "title", "extra", "Date")}))
def test_whatever_fields_hold_both_readers_agree(fields: dict[str, Any]) -> None:
    line = json.dumps(fields).encode()
    quick = FieldCodec(meta=("extra",)).decode(message(line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orjson.loads", json.loads)
        careful = FieldCodec(meta=("extra",)).decode(message(line))
    assert shown(quick) == shown(careful)


moments = st.datetimes().map(lambda time: time.replace(fold=0))  # which of two equal times of a clock set back it is
times = st.sampled_from(["1990", "2020-05-06", "2020-05", "-", "----5", "1990-01-01T10:00Z", 1990]) | moments
texts = st.sampled_from(["a", "é", " ", "", "\udc80", None]) | st.text(max_size=5)
extra = {name: texts | cells for name in ("title", "other", SURPLUS)}


sent = st.none() | st.just(pandas.NaT) | moments | moments.map(lambda time: time.replace(tzinfo=UTC))


@given(st.fixed_dictionaries({"text": texts}, optional=extra | {"time": times, "id": texts}), sent, st.booleans())
def test_usual_rows_are_decoded_as_others(fields: dict[str, Any], time: datetime | None, of_message: bool) -> None:
    fields |= {SURPLUS: ["more"]} if SURPLUS in fields else {}
    codec = FieldCodec(time=MESSAGE_TIME if of_message else None)
    careful = codec.decode(message(MappingProxyType(fields), time=time))  # only a dict is a usual row
    assert shown(codec.decode(message(fields, time=time))) == shown(careful)
    columns = messages_of([message(fields, time=time)] * 2)
    for messages in (columns, replace(columns, time=None)) if time is None else (columns,):
        documents = codec.decode_all(messages)
        assert [shown(documents.rejected.get(at) or documents[at]) for at in (0, 1)] == [shown(careful)] * 2


lengths = st.sampled_from([0, 1, 50, 119, 120, 121, 279, 280, 281, 399, 400, 401])


@given(st.lists(st.tuples(lengths, lengths), max_size=3))
def test_a_title_is_the_beginning_of_the_stripped_text(runs: list[tuple[int, int]]) -> None:
    text = "".join(" " * blanks + "a" * letters for blanks, letters in runs)
    document = Document("p", 0, "id", datetime(2020, 1, 1, tzinfo=UTC), text)
    assert document.title == (text or "id").strip()[:120]


def test_plain_json_is_read_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.loads", None)
    codec = FieldCodec(vector="v", meta=("m",))
    document = codec.decode(
        message(b'{"id": 7, "time": 1600000000.5, "title": "T", "text": "\xc3\xa9", "v": [1, 2.5]}')
    )
    assert isinstance(document, Document)
    assert (document.id, document.title, document.text, year_of(document)) == ("7", "T", "é", 2020)


def test_a_message_knows_about_how_much_room_it_takes() -> None:
    assert message(b"x" * 900).size == 1000
    assert message({"text": "x" * 900, "n": 5}).size == 1008


def test_keys_and_headers_of_messages_stand_for_fields() -> None:
    codec = FieldCodec(id="@key", time="@header.published", title="@header.ce.title")
    assert codec.attached == ("@key", "@header.published", "@header.ce.title")
    attached = {"@key": b"k-1", "@header.published": b"1999-05", "@header.ce.title": None}
    document = accept({"text": "words", "id": "other", "time": "2020"}, codec, attached=attached)
    assert (document.id, year_of(document), document.title) == ("k-1", 1999, "words")
    number = attached | {"@key": (-2).to_bytes(8, "big", signed=True)}  # as Kafka's LongSerializer writes
    assert accept({"text": "words"}, codec, attached=number).id == "fffffffffffffffe"
    assert accept({"text": "words"}, codec, attached=attached | {"@key": None}).id == "f.jsonl:6"
    assert "no time: expected @header.published" in reason(b'{"text": "words"}', codec)
    documents = codec.decode_all([message(b'{"text": "words"}', attached=attached), message(b'{"text": "words"}')])
    assert documents.id[0] == "k-1"
    assert list(documents.rejected) == [1]
    assert FieldCodec(id="@key.number").attached == ("@key",)
    assert accept({"text": "a", "time": "2020"}, FieldCodec(id="@key.n"), attached={"@key": {"n": 5}}).id == "5"


def test_a_column_may_have_any_name() -> None:
    row = {"id": "1", "time": "2020", "text": "words", "refused": "no", "reason": "none", "excerpt": "x"}
    assert FieldCodec().decode(message(row)).id == "1"  # type: ignore[union-attr]
    assert reason(Refusal("it is no document", "its beginning")) == "it is no document"
