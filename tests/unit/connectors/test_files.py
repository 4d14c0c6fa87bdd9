"""Files as people have them: empty, damaged, huge lines, strange names."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import openpyxl
import pytest

from tests.unit.connectors.test_sources import drain, jsonl, parquet
from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.errors import InputError, MissingExtra
from vmfstream.records import Document, Rejected


def test_an_empty_file_is_exhausted_at_once(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv", "a.tsv", "a.txt"):
        (tmp_path / name).touch()
        assert open_source(tmp_path / name).exhausted
    (tmp_path / "b.csv").write_text("id,time,text\n")
    assert open_source(tmp_path / "b.csv").exhausted
    with gzip.open(tmp_path / "b.jsonl.gz", "wb"):
        pass
    assert open_source(tmp_path / "b.jsonl.gz").exhausted


def test_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes.docx").touch()
    for name in ("not.parquet", "not.feather", "not.feather.gz", "not.xlsx"):
        (tmp_path / name).write_text("hello")
    with pytest.raises(InputError, match="cannot be read as Excel"):
        drain(open_source(tmp_path / "not.xlsx"))
    for path, says in [
        ("none.jsonl", "there is no file"),
        ("notes.docx", r"should end in \.jsonl, .*\.parquet"),
        (".", "expected either plain text or tables|cannot be read as"),
        ("not.parquet", "cannot be read as Parquet"),
        ("not.feather", "cannot be read as Feather"),
        ("not.feather.gz", "cannot tell what"),
        ("x" * 300 + ".jsonl", "File name too long"),
    ]:
        with pytest.raises(InputError, match=says):
            open_source(tmp_path / path)
    with pytest.raises(InputError, match="format must be one of"):
        open_source(tmp_path / "notes.docx", format="docx")


@pytest.mark.parametrize(
    ("name", "module", "package"), [("a.feather", "pyarrow", "pyarrow"), ("a.xlsx", "openpyxl", "openpyxl")]
)
def test_names_the_package_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, package: str
) -> None:
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=f"need {package}: pip install 'vmfstream\\[tables\\]'"):
        drain(open_source(tmp_path / name))


def test_an_excel_sheet_as_people_write_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["id", " text ", "date"],
        [7, "a cat", datetime(2021, 3, 1)],
        [],
        ["x", "=1+1", "2021-03-02"],
        [8, "b"],
    ):
        sheet.append(row)
    book.create_sheet("other").append(["not", "read"])
    book.save(tmp_path / "a.xlsx")
    messages = drain(open_source(tmp_path / "a.xlsx"))
    assert [(message.offset, message.value) for message in messages] == [
        (0, {"id": 7, "text": "a cat", "date": datetime(2021, 3, 1)}),
        (2, {"id": "x", "date": "2021-03-02"}),  # no program has computed the formula
        (3, {"id": 8, "text": "b"}),
    ]
    assert [one.getMessage() for one in caplog.records] == ["a.xlsx: only its first sheet, Sheet, is read, not other"]
    decoded = [FieldCodec().decode(message) for message in messages]
    assert [type(one) for one in decoded] == [Document, Rejected, Rejected]
    sheet.cell(1, 2, "id")
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="expected a header of different names, found id twice"):
        drain(open_source(tmp_path / "b.xlsx"))


def test_cells_of_an_excel_sheet_without_a_name_of_their_column_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, cell in (("a.xlsx", None), ("b.xlsx", "lost")):
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        for row in (["date", "", "text", None], [2021, None, "a cat", None], [2022, None, "a dog", cell]):
            sheet.append(row)
        book.save(tmp_path / name)
        assert [set(message.value) for message in drain(open_source(tmp_path / name))] == [{"date", "text"}] * 2
    assert [one.getMessage() for one in caplog.records] == [
        "b.xlsx: columns without a name in the first row are left out"
    ]


def test_options_that_a_format_does_not_have(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet")
    jsonl(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"encoding: only files of text have one, a\.parquet is parquet"):
        open_source(tmp_path / "a.parquet", encoding="cp1252")
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(InputError, match=r"delimiter: only tables of text such as \.csv have one"):
            open_source(tmp_path / name, delimiter=";")


def test_says_that_permission_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").chmod(0)
    if os.geteuid() == 0:  # root may read everything
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(InputError, match=r"no permission to read .*a\.jsonl"):
        open_source(tmp_path / "a.jsonl")


def test_an_unknown_ending_needs_a_format(tmp_path: Path) -> None:
    jsonl(tmp_path / "stream")
    assert len(drain(open_source(tmp_path / "stream", format="jsonl"))) == 23


@pytest.mark.parametrize("name", ["a:b.jsonl", "mailto:me.jsonl", "with space [1]*?.jsonl", "große%20.jsonl"])
def test_reads_files_of_any_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / name)
    assert drain(open_source(name))[0].part == name


def test_reads_parquet_of_any_name(tmp_path: Path) -> None:
    parquet(tmp_path / "plain.parquet")
    folder = tmp_path / "year=2020" / "[x]*"
    folder.mkdir(parents=True)
    (folder / "aXb.parquet").write_bytes((tmp_path / "plain.parquet").read_bytes())
    (tmp_path / "plain.parquet").rename(folder / "a?[b].parquet")
    source = open_source(folder / "a?[b].parquet")
    assert source.total == 23
    messages = drain(source)
    assert len(messages) == 23
    assert list(messages[0].value) == ["id", "time", "text"]


def test_reads_file_urls(tmp_path: Path) -> None:
    jsonl(tmp_path / "a b.jsonl")
    url = (tmp_path / "a b.jsonl").as_uri()
    assert "%20" in url
    assert len(drain(open_source(url))) == 23
    assert len(drain(open_source(url.replace("file://", "file://localhost")))) == 23
    with pytest.raises(InputError, match="names the computer 'elsewhere'"):
        open_source(url.replace("file://", "file://elsewhere"))


def test_unknown_schemes_name_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"gopher: is none of file:, stdin:, kafka:, memory:.* or the name of a file"):
        open_source("gopher://hole/x")


def test_blank_lines_count_but_are_no_messages(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n   \n{"a": 2}')
    messages = drain(open_source(tmp_path / "a.jsonl"))
    assert [(m.offset, m.value) for m in messages] == [(0, b'{"a": 1}'), (3, b'{"a": 2}')]


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.csv"])
def test_a_huge_line_is_passed_over_in_bounded_memory(tmp_path: Path, name: str) -> None:
    rows = {
        "a.jsonl": (
            '{"time": 2020, "text": "first"}',
            '{"time": 2020, "text": "',
            '"}',
            '{"time": 2020, "text": "last"}',
        ),
        "a.txt": ("first", "", "", "last"),
        "a.csv": ("time,text\n2020,first", '2020,"', '"', "2020,last"),
    }[name]
    size = 50_000_000
    with (tmp_path / name).open("wb") as file:
        file.write(f"{rows[0]}\n{rows[1]}".encode())
        for _ in range(50):
            file.write(b"x" * (size // 50))
        file.write(f"{rows[2]}\n{rows[3]}\n".encode())
    tracemalloc.start()
    codec = FieldCodec(timed=False)
    found = [codec.decode(m) for m in drain(open_source(tmp_path / name, max_line_bytes=4_000_000))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    first, huge, last = found
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert (first.text, last.text, last.offset) == ("first", "last", 2)
    assert isinstance(huge, Rejected)
    assert huge.reason.startswith("too long: line 2 has 50,0")
    assert len(huge.excerpt) == 200


def test_a_damaged_archive_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    rows = [json.dumps({"n": n, "noise": os.urandom(500).hex()}) for n in range(4000)]
    packed = gzip.compress("\n".join(rows).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) * 3 // 4])
    (tmp_path / "no.jsonl.gz").write_bytes(b"plain text")
    source = open_source(tmp_path / "cut.jsonl.gz")
    found = 0
    said = ""
    while not said:
        try:
            found += len(source.poll(100, 0.0))
        except InputError as error:
            said = str(error)
    assert found > 1000
    assert f"cut.jsonl.gz cannot be read any further after row {found}:" in said
    assert not source.exhausted
    broken = open_source(tmp_path / "no.jsonl.gz")
    with pytest.raises(InputError, match="after row 0"):
        broken.poll(1, 0.0)


def test_csv_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        '\ufeffid;time;text\n1;2020;"two\nlines; one ""cell"""\n\n2;2021\n3;2022;a;b\n'.encode()
        + b"4;2023;caf\xe9\n"
        + b"5;2024;null \0 byte\n6;2024;"
        + b"y" * 300_000
    )
    messages = drain(open_source(tmp_path / "a.csv", delimiter=";"))
    decoded = [FieldCodec().decode(message) for message in messages]
    assert [d.offset for d in decoded] == [0, 2, 3, 4, 5, 6]
    assert [d.reason for d in decoded if isinstance(d, Rejected)] == [
        "no text: expected text or body or content or abstract or summary or message or the like, found id, time",
        "too many cells: 4 in a row of 3 columns; quotation marks may be missing",
        "not UTF-8: byte 0xe9 at position 3 in text",
    ]
    texts = [d.text for d in decoded if isinstance(d, Document)]
    assert texts[:2] == ['two\nlines; one "cell"', "null \0 byte"]
    assert texts[2] is not None
    assert len(texts[2]) == 300_000


def test_csv_with_columns_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,text,,\n2001,ship,,\n2002,sea,x,y\n")
    found = [FieldCodec().decode(message) for message in drain(open_source(tmp_path / "a.csv"))]
    assert [one.text for one in found if isinstance(one, Document)] == ["ship", "sea"]


def test_csv_with_blank_lines_before_the_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('\n  \n"time",text\n\n2001,"ship\n2002,sea\n')
    decoded = [FieldCodec().decode(message) for message in drain(open_source(tmp_path / "a.csv"))]
    assert [(one.offset, getattr(one, "text", None) or one.reason) for one in decoded] == [  # type: ignore[union-attr]
        (1, "the quoted field that begins in line 5 is never closed"),
        (2, "sea"),
    ]


def test_csv_with_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'time,text\r\n2001,a\rb\r\n2002,"c\rd\r\n"\r\n2003,e\r\r\n')
    decoded = [FieldCodec().decode(message) for message in drain(open_source(tmp_path / "a.csv"))]
    assert [one.text and one.text.split() for one in decoded if isinstance(one, Document)] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]
    (tmp_path / "b.csv").write_bytes(b"time,text\r2001,a\r2002,b\r")
    with pytest.raises(InputError, match=r"b\.csv: expected lines that end in a line feed, found carriage returns"):
        drain(open_source(tmp_path / "b.csv"))


def test_csv_with_a_quotation_mark_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,fine\n2,"open\n' + "2,more\n" * 10_000)
    source = open_source(tmp_path / "a.csv", max_line_bytes=50_000)
    assert len(source.poll(10, 0.0)) == 1
    with pytest.raises(InputError, match="after row 1: a record has more than 50,000 bytes; is a quotation mark"):
        source.poll(10, 0.0)


def test_csv_whose_last_quotation_mark_is_never_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = '2001,"two\nlines"\n2002,"a\nb","c ""x""\n2003,more ""y""\n\n2004,' + "z" * 2000 + "\n2005,last\n"
    (tmp_path / "a.csv").write_text("time,text\n" + rows)
    source = open_source(tmp_path / "a.csv", max_line_bytes=1000)
    messages = drain(source)
    decoded = [FieldCodec().decode(message) for message in messages]
    told = [(d.offset, d.reason, d.excerpt[:7]) for d in decoded if isinstance(d, Rejected)]
    assert told == [
        (1, "the quoted field that begins in line 5 is never closed", '2002,"a'),
        (4, "too long: line 5 has 2,005 bytes", "2004,zz"),
    ]
    assert [(d.offset, d.text) for d in decoded if isinstance(d, Document)] == [
        (0, "two\nlines"),
        (2, 'more ""y""'),
        (5, "last"),
    ]
    source.seek({"a.csv": 2})
    assert [message.offset for message in drain(source)] == [2, 4, 5]
    (tmp_path / "b.csv").write_text('time,"text\n' + rows.replace('"', ""))
    with pytest.raises(InputError, match=r"expected a header, but the quoted field that begins in line 1 is never"):
        drain(open_source(tmp_path / "b.csv"))
    monkeypatch.setattr("vmfstream.connectors.files._RECORD_LINES", 3)
    with pytest.raises(InputError, match="after row 1: a record has more than 3 lines; is a quotation mark"):
        drain(open_source(tmp_path / "a.csv"))


def test_parquet_times_need_no_other_library(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'Asia/Tokyo'")
        connection.execute(
            "copy (select timestamptz '2020-01-01 12:00:00+00' as \"ti\"\"me\", 'a' as text, [1.5, 2] as v, "
            f"'b'::blob as raw) to '{tmp_path / 'a.parquet'}' (format parquet)"
        )
    (message,) = drain(open_source(tmp_path / "a.parquet"))
    decoded = FieldCodec(time='ti"me', vector="v", meta=["raw"]).decode(message)
    assert isinstance(decoded, Document)
    assert decoded.time == datetime(2020, 1, 1, 12, tzinfo=UTC)
    assert decoded.vector is not None
    assert decoded.vector.tolist() == [1.5, 2.0]
    assert decoded.meta == {"raw": b"b"}


def test_reads_a_named_pipe_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    if os.fork() == 0:
        with pipe.open("wb") as file:
            file.write(b'{"a": 1}\n{"a": 2}\n')
        os._exit(0)
    source = open_source(pipe)
    source.seek({"pipe.jsonl": 1})
    assert [message.value for message in drain(source)] == [b'{"a": 2}']
    os.wait()
