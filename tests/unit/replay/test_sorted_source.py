from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from vmfstream.connectors.codecs import FieldCodec, parse_time
from vmfstream.errors import InputError
from vmfstream.records import Document, Message, Rejected
from vmfstream.replay.run import open_replay
from vmfstream.replay.sorted_source import SortedFileSource, SortedSource

ROWS: list[dict[str, Any]] = [
    {"id": "c", "time": "2021-03-01", "title": "Third", "text": "wheat, rye"},
    {"id": "a", "time": "2020-12-31T23:00:00Z", "title": "First", "text": "dockers"},
    {"id": "x", "time": "never", "title": "Timeless", "text": "comets"},
    {"id": "b1", "time": "2021-01-05", "title": "Second", "text": 'a "quoted"\nline'},
    {"id": "b2", "time": "2021-01-05", "title": "Second too", "text": "goals"},
    {"id": "y", "time": None, "title": "Timeless too", "text": "tails"},
    {"id": "b3", "time": "2021-01-05T01:00:00+01:00", "title": "Also second", "text": "at midnight"},
]
ORDER = ["a", "b1", "b2", "b3", "c", "x", "y"]


def write(folder: Path, ending: str, rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / f"news{ending}"
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    if ending == ".jsonl":
        path.write_text(lines)
    elif ending == ".jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif ending == ".json":
        path.write_text(json.dumps(rows))
    else:
        raw = folder / "raw.jsonl"
        raw.write_text(lines)
        with duckdb.connect() as connection:
            table = connection.read_json(
                str(raw), format="newline_delimited", columns=dict.fromkeys(rows[0], "VARCHAR")
            )
            if ending == ".parquet":
                table.write_parquet(str(path))
            else:
                table.write_csv(str(path), sep="\t" if ending == ".tsv" else ",", header=True)
    return path


def drain(source: SortedSource, limit: int = 3) -> list[Message]:
    messages: list[Message] = []
    while not source.exhausted:
        messages.extend(source.poll(limit, 0.0))
    return messages


def value(message: Message) -> Mapping[str, Any]:
    assert not isinstance(message.value, bytes)
    return message.value


def values(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    return [value(message) for message in messages]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".json", ".csv", ".tsv", ".parquet"])
def test_rows_come_in_order_of_time_and_the_timeless_last(tmp_path: Path, ending: str) -> None:
    source = SortedFileSource(write(tmp_path, ending))
    messages = drain(source)
    source.close()
    assert source.total == len(ROWS)
    assert source.name == f"news{ending}"
    assert [message.offset for message in messages] == list(range(len(ROWS)))
    assert [row["id"] for row in values(messages[:5])] == ORDER[:5]
    assert messages[1].time == datetime(2021, 1, 5, tzinfo=UTC)
    assert messages[3].time == datetime(2021, 1, 5, tzinfo=UTC)
    assert values(messages)[1]["text"] == 'a "quoted"\nline'
    assert messages[-1].time is None
    decoded = [FieldCodec().decode(message) for message in messages]
    assert [isinstance(one, Document) for one in decoded] == [True] * 5 + [False] * 2
    assert isinstance(decoded[5], Rejected)
    assert "never" in decoded[5].reason
    assert "Timeless" in decoded[5].excerpt


def test_a_line_that_is_no_json_is_handed_on_to_be_counted(tmp_path: Path) -> None:
    path = write(tmp_path, ".jsonl")
    path.write_text(path.read_text() + '{"id": "half", "ti\n')
    source = SortedFileSource(path)
    messages = drain(source)
    source.close()
    assert len(messages) == len(ROWS) + 1
    assert sum(isinstance(FieldCodec().decode(message), Rejected) for message in messages) == 3


@pytest.mark.parametrize(
    "written",
    [
        "1987",
        "987",
        "1987-02",
        "1987-02-26",
        "1987-02-26T15:01:01",
        "1987-02-26 15:01:01.25",
        "1987-02-26T15:01:01+05:30",
        "1987-02-26T15:01:01Z",
        "19870226",
        "541350061",
        "541350061.5",
        "-541350061",
        "1614850061000",
        "1614850061000000",
        "1614850061000000000",
        "1987.0",
        "  1987  ",
    ],
)
def test_times_are_read_as_the_codec_reads_them(tmp_path: Path, written: str) -> None:
    source = SortedFileSource(write(tmp_path, ".csv", [{"time": written, "text": "some"}]))
    message = source.poll(1, 0.0)[0]
    source.close()
    assert message.time == parse_time(written)
    assert parse_time(value(message)["time"]) == message.time


@pytest.mark.parametrize(
    "written", ["0", "20211340", "2021-13", "infinity", "-5", "99999999999999999999999", "soon", ""]
)
def test_what_is_no_time_is_rejected_with_the_reason_of_the_codec(tmp_path: Path, written: str) -> None:
    rows = [{"time": "2001", "text": "some"}, {"time": written, "text": "other"}]
    source = SortedFileSource(write(tmp_path, ".jsonl", rows))
    messages = drain(source)
    source.close()
    plain = FieldCodec().decode(Message("news.jsonl", 1, json.dumps(rows[1]).encode()))
    refused = FieldCodec().decode(messages[1])
    assert messages[1].time is None
    assert isinstance(refused, Rejected)
    assert isinstance(plain, Rejected)
    assert (refused.reason, refused.excerpt, refused.offset) == (plain.reason, plain.excerpt, plain.offset)


def test_mail_dates_are_read_too(tmp_path: Path) -> None:
    written = "Tue, 02 Mar 2021 08:30:00 +0100"
    source = SortedFileSource(write(tmp_path, ".jsonl", [{"date": written, "text": "some"}]))
    assert source.poll(1, 0.0)[0].time == datetime(2021, 3, 2, 7, 30, tzinfo=UTC)
    source.close()


def test_columns_are_found_by_usual_names_or_given(tmp_path: Path) -> None:
    rows = [{"Year": "1999", "Body": "one", "when": "2001", "row": "r", "rank": "k"}]
    path = write(tmp_path, ".csv", rows)
    source = SortedFileSource(path)
    message = source.poll(1, 0.0)[0]
    assert message.value == {"id": "news.csv:0", "time": "1999-01-01T00:00:00+00:00", "text": "one"}
    source.close()
    source = SortedFileSource(path, codec=FieldCodec(time="when", title="Body", text="rank", id="row"))
    message = source.poll(1, 0.0)[0]
    assert message.value == {"id": "r", "time": "2001-01-01T00:00:00+00:00", "title": "one", "text": "k"}
    source.close()


def test_typed_parquet_columns_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "typed.parquet"
    duckdb.sql(f"""COPY (SELECT * FROM (VALUES
        (2, DATE '2020-05-02', 'b'), (1, DATE '2019-05-02', 'a')) t(id, date, text)) TO '{path}'""")
    source = SortedFileSource(path)
    messages = drain(source)
    source.close()
    assert [row["id"] for row in values(messages)] == ["1", "2"]
    assert messages[1].time == datetime(2020, 5, 2, tzinfo=UTC)


def test_short_rows_are_padded_and_a_delimiter_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("time;text\n2001;some, with a comma\n1999\n")
    source = SortedFileSource(path, delimiter=";")
    first, second = drain(source)
    source.close()
    assert value(first)["text"] == "some, with a comma"
    assert isinstance(FieldCodec().decode(second), Rejected)


def test_names_of_files_and_columns_may_hold_anything(tmp_path: Path) -> None:
    folder = tmp_path / "o'clock [1]*"
    folder.mkdir()
    path = write(folder, ".jsonl", [{"time": "2001", 'it\'s "text"': "one"}])
    source = SortedFileSource(path, codec=FieldCodec(text='it\'s "text"'))
    assert value(source.poll(1, 0.0)[0])["text"] == "one"
    source.close()


def test_seeking_equals_reading_on(tmp_path: Path) -> None:
    rows = [{"time": f"{1900 + (i * 37) % 100}", "id": str(i), "text": f"text {i}"} for i in range(3000)]
    source = SortedFileSource(write(tmp_path, ".jsonl", rows))
    whole = drain(source, 500)
    assert [int(row["id"]) for row in values(whole)] == sorted(range(3000), key=lambda i: (i * 37 % 100, i))
    for start in (0, 1, 1023, 1024, 2999, 3000):
        source.seek({source.part: start})
        rest = drain(source, 700)
        assert [message.offset for message in rest] == list(range(start, 3000))
        assert values(rest) == values(whole[start:])
    source.seek({})
    assert values(source.poll(10, 0.0)) == values(whole[:10])
    source.seek({source.part: 500})
    assert values(source.poll(10, 0.0)) == values(whole[500:510])
    source.close()
    source.close()


@pytest.mark.thorough
def test_equal_times_keep_the_order_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    duckdb.sql(f"COPY (SELECT i AS id, 1990 + i % 3 AS year, 'some text' AS text FROM range(150000) t(i)) TO '{path}'")
    source = SortedFileSource(path)
    messages = drain(source, 10_000)
    source.close()
    ids = [int(row["id"]) for row in values(messages)]
    assert ids == sorted(range(150_000), key=lambda i: (i % 3, i))


def test_the_rate_is_kept(tmp_path: Path) -> None:
    rows = [{"time": "2001", "text": f"text {i}"} for i in range(40)]
    source = SortedFileSource(write(tmp_path, ".jsonl", rows), rate=100)
    begun = time.monotonic()
    given = 0
    while not source.exhausted:
        given += len(source.poll(1000, 0.05))
        assert given <= 100 * (time.monotonic() - begun) + 1
    assert given == 40
    source.close()


def test_a_slow_rate_does_not_hold_the_poll(tmp_path: Path) -> None:
    source = SortedFileSource(write(tmp_path, ".jsonl"), rate=0.01)
    begun = time.monotonic()
    assert source.poll(10, 0.02) == []
    assert time.monotonic() - begun < 50.0  # the first document is due after 100 s
    assert not source.exhausted
    source.close()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.jsonl", "", "expected documents, found none"),
        ("header.csv", "time,text\n", "expected documents, found none"),
        ("notime.csv", "when,text\n1999,some\n", "its row is no document; no time: .* found when, text; name it by"),
        ("notext.csv", "time,words\n1999,some\n2000,more\n", "none of the first 2 rows .* found time, words"),
        ("news.docx", "time,text\n1999,some\n", r"its name should end in \.jsonl"),
        ("twice.csv", "time,text,text\n1999,some,more\n", "header of different names, found text twice"),
        ("fake.parquet", "time,text\n", r"fake\.parquet cannot be read as Parquet"),
        ("half.json", '[{"time": 1999, "te', r"half\.json cannot be read as JSON"),
        ("days.csv", "date,text\n1/2/2021,some\n", "cannot tell day from month .* '%d/%m/%Y' or '%m/%d/%Y'"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        SortedFileSource(path)


def test_a_row_with_too_many_cells_is_rejected_alone(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("time,text\n1999,some\n2000,some,more\n")
    source = SortedFileSource(path)
    good, bad = map(FieldCodec().decode, drain(source))
    source.close()
    assert isinstance(good, Document)
    assert isinstance(bad, Rejected)
    assert "too many cells" in bad.reason


def test_files_of_a_folder_are_sorted_together(tmp_path: Path) -> None:
    for name, year in (("b", 1999), ("a", 2001)):
        (tmp_path / f"{name}.csv").write_text(f"time,text\n{year},one {name}\n{year + 1},two {name}\n")
    source = SortedFileSource(tmp_path)
    assert [row["text"] for row in values(drain(source))] == ["one b", "two b", "one a", "two a"]
    source.close()


def test_missing_files_folders_and_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nowhere\.csv"):
        SortedFileSource(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"expected files ending in .* found none"):
        SortedFileSource(tmp_path)
    path = write(tmp_path, ".csv")
    with pytest.raises(InputError, match="no time: expected when, found id, time, title, text"):
        SortedFileSource(path, codec=FieldCodec(time="when"))
    with pytest.raises(InputError, match="rate must be a positive number"):
        SortedFileSource(path, rate=0)


@pytest.mark.parametrize(
    ("many", "days", "unit"),
    [
        (9_000, 365 * 31, "year"),
        (600, 365, "month"),
        (600, 365 * 3, "quarter"),
        (100, 150, "month"),  # weeks would hold 5 documents each
        (600, 25, "day"),
        (3_000, 1, "hour"),
        (3_000, 0.1, "minute"),
        (240, 0.1, "hour"),
        (10, 365 * 31, "year"),
    ],
)
def test_slices_follow_from_the_times(tmp_path: Path, many: int, days: float, unit: str) -> None:
    begin, step = datetime(1990, 1, 1, tzinfo=UTC), timedelta(days=days) / many
    rows = [{"time": (begin + at * step).isoformat(), "text": "wheat"} for at in range(many)]
    rows.append({"time": "never", "text": "comets"})
    with closing(SortedFileSource(write(tmp_path, ".jsonl", rows))) as source:
        assert source.usual_slices() == unit


@pytest.mark.parametrize(("form", "unit"), [("%Y", "year"), ("%Y-%m", "month"), ("%Y-%m-%d", "month")])
def test_slices_are_not_shorter_than_times_are_told(tmp_path: Path, form: str, unit: str) -> None:
    begin = datetime(2001, 1, 1, tzinfo=UTC)
    rows = [{"time": (begin + timedelta(days=at)).strftime(form), "text": "wheat"} for at in range(300)]
    with closing(SortedFileSource(write(tmp_path, ".jsonl", rows))) as source:
        assert source.usual_slices() == unit


def test_documents_without_a_time_come_last_but_for_rejected_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("year,text\n,one\n2002,\n2001,two\n,three\n2000,four\n")
    codec = FieldCodec(timed=False)
    with closing(SortedFileSource(tmp_path / "a.csv", codec=codec)) as source:
        found = [codec.decode(one) for one in source.poll(9, 0.0)]
    told = [(one.text, str(one.time)[:4]) if isinstance(one, Document) else one.reason for one in found]
    assert told == [("four", "2000"), ("two", "2001"), ("one", "None"), ("three", "None"), "text is empty"]


def test_lines_of_text_are_counted(tmp_path: Path) -> None:
    for lines, length in ((7, "20"), (200, "20"), (405, "41")):
        (tmp_path / "a.txt").write_text("some words\n" * lines)
        with closing(SortedFileSource(tmp_path / "a.txt")) as source:
            assert source.usual_slices() == length


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_vectors_come_in_order_of_time(tmp_path: Path, ending: str) -> None:
    given = [("2021", [0.25, 3e-8]), ("2019", [1, 2]), ("2020", [1, None]), ("2020", [5.5, -1]), ("2018", [1, 2, 3])]
    path = tmp_path / f"vectors{ending}"
    raw = path if ending == ".jsonl" else tmp_path / "raw.jsonl"
    raw.write_text("".join(json.dumps({"date": date, "v": vector}) + "\n" for date, vector in given))
    if ending == ".parquet":
        duckdb.execute(f"COPY (SELECT date, v::DOUBLE[] AS v FROM read_json('{raw}')) TO '{path}'")
    replay = open_replay(str(path), slices="year", vector="v", dimension=2)
    assert isinstance(replay.source, SortedSource)
    with closing(replay.source):
        found = [replay.codec.decode(message) for message in drain(replay.source)]
    documents = [one for one in found[:3] if isinstance(one, Document)]
    rejected = [one for one in found[3:] if isinstance(one, Rejected)]
    assert [one.vector.tolist() for one in documents if one.vector is not None] == [
        [1, 2],
        [5.5, -1],
        [0.25, np.float32(3e-8)],
    ]
    assert [one.time.year for one in documents if one.time is not None] == [2019, 2020, 2021]
    assert [one.text for one in documents] == [None, None, None]
    assert [one.reason for one in rejected] == [
        "v is not finite: number 2 of 2",
        "v has the wrong dimension: 3, expected 2",
    ]
