"""Files as people have them: their encodings, delimiters and times are told by the files."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.file_text import checked_encoding, delimiter_of, encoding_of
from vmfstream.errors import InputError
from vmfstream.records import Document, Message


def texts(path: Path, *, timed: bool = False, **options: object) -> list[str | None]:
    """Texts of the documents of a file, None for what is rejected."""
    source = open_source(path, **options)
    found: list[str | None] = []
    while not source.exhausted:
        for message in source.poll(100, 0.0):
            one = FieldCodec(timed=timed).decode(message)
            found.append(one.text if isinstance(one, Document) else None)
    source.close()
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".txt", ".packed.txt"])
def test_encodings_are_told_by_the_file(tmp_path: Path, encoding: str, ending: str) -> None:
    head = "" if ending.endswith(".txt") else "time,text\n"
    rows = "".join(f"{'' if ending.endswith('.txt') else '2001,'}café über {i}\n" for i in range(50))
    body, path = (head + rows).encode(encoding), tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(body) if ending in (".csv.gz", ".packed.txt") else body)
    assert texts(path) == [f"café über {i}" for i in range(50)]


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;", "\ufeffsep=;", "\nsep=;\n", "sep=;\r"])
def test_a_first_line_may_name_the_delimiter(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\ntime;with,three,commas;text\n2001;no;a\n2002;no;b\n", "utf-8")
    assert texts(path) == ["a", "b"]
    path.write_text("sep=\t\ntime\ttext\n2001\ta, b; c\n")
    assert texts(path) == ["a, b; c"]
    path.write_text("sep=;\ntime|text\n2001|a; b\n")
    assert texts(path, delimiter="|") == ["a; b"]
    path.write_text("time,text,sep=\n2001,a,\n")
    assert texts(path) == ["a"]


def test_a_few_broken_bytes_do_not_make_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"time,text\n" + "2001,café\n".encode() * 5 + b"2001,caf\xe9\n")
    assert texts(path) == ["café"] * 5 + [None]
    assert texts(path, encoding="cp1252") == ["cafÃ©"] * 5 + ["café"]


def test_json_is_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"time": 2001, "text": "caf\xe9"}\n')
    assert texts(path) == [None]
    assert texts(path, encoding="latin-1") == ["café"]


def test_another_encoding_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(b"time,text\n2001,caf\xe9\n")
    with caplog.at_level(logging.WARNING):
        assert texts(path) == ["café"]
    assert "old.csv is not UTF-8: it is read as Windows-1252" in caplog.text


def test_a_wrong_encoding_says_where_reading_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"time,text\n2001,caf\xe9\n")
    with pytest.raises(InputError, match="cannot be read any further after row 0"):
        texts(path, encoding="ascii")
    with pytest.raises(InputError, match="expected one such as utf-8, cp1252 or utf-16, got 'nonsense'"):
        checked_encoding("nonsense")
    assert encoding_of(b"") == "utf-8"


@pytest.mark.parametrize(
    ("header", "expected"),
    [("a,b", ","), ("a;b,c;d", ";"), ("a\tb", "\t"), ("a|b", "|"), ("text", ","), ('"a;b",c', ",")],
)
def test_delimiters_are_told_by_the_header(header: str, expected: str) -> None:
    assert delimiter_of(header) == expected


def test_semicolons_are_found_and_can_be_overruled(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time;text\n2001;one, two\n")
    assert texts(path) == ["one, two"]
    assert texts(path, delimiter=",") == [None]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json", ".parquet"])
def test_rows_without_a_time_are_taken_if_asked_for(tmp_path: Path, ending: str) -> None:
    import duckdb

    path = tmp_path / f"a{ending}"
    if ending == ".parquet":
        duckdb.sql(f"copy (select 'one' as text union all select 'two') to '{path}'")
    else:
        contents = {
            ".csv": "text\none\ntwo\n",
            ".jsonl": '{"text": "one"}\n{"text": "two"}\n',
            ".json": '[{"text": "one"},\n {"text": "two"}]',
        }
        path.write_text(contents[ending])
    assert texts(path, timed=True) == [None, None]
    assert sorted(str(text) for text in texts(path)) == ["one", "two"]


def test_lines_in_a_json_file_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"time": 2001, "text": "one"}\n{"time": 2002, "text": "two"}\n')
    assert texts(path) == ["one", "two"]


def test_fields_of_objects_have_names_with_dots() -> None:
    line = b'{"meta": {"published": "2021-03-01", "by": {"id": "x"}}, "content": {"body": "some"}}'
    found = FieldCodec(time="meta.published", text="content.body", id="meta.by.id").decode(Message("p", 0, line))
    assert isinstance(found, Document)
    assert (found.id, found.text, str(found.time)[:10]) == ("x", "some", "2021-03-01")
    flat = FieldCodec(time="a.b").decode(Message("p", 0, b'{"a.b": "2021", "text": "some"}'))
    assert isinstance(flat, Document)
    refused = FieldCodec().decode(Message("p", 0, line))
    assert "found meta.published, meta.by.id, content.body" in getattr(refused, "reason", "")


def test_a_time_format_reads_what_is_not_usual() -> None:
    codec = FieldCodec(time_format="%d/%m/%Y")
    for written, expected in (("3/4/2021", "2021-04-03"), ("2021-01-02", "2021-01-02"), (" 05/06/2021 ", "2021-06-05")):
        found = codec.decode(Message("p", 0, {"time": written, "text": "some", "id": "a"}))
        assert isinstance(found, Document)
        assert str(found.time)[:10] == expected
    refused = codec.decode(Message("p", 0, {"time": "4/31/2021", "text": "some"}))
    assert "nor a year nor seconds since 1970 nor %d/%m/%Y" in getattr(refused, "reason", "")
    zoned = FieldCodec(time_format="%d/%b/%Y:%H:%M:%S %z").decode(
        Message("p", 0, {"time": "10/Oct/2000:13:55:36 -0700", "text": "some"})
    )
    assert isinstance(zoned, Document)
    assert str(zoned.time) == "2000-10-10 20:55:36+00:00"
    for wrong, said in (("%H", "expected one with a year"), ("%Q", "cannot be read")):
        with pytest.raises(InputError, match=said):
            FieldCodec(time_format=wrong)
