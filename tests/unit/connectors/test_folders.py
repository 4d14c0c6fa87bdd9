"""Folders of files: tables one after the other, plain texts as documents."""

from __future__ import annotations

import gzip
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.errors import InputError
from vmfstream.records import Document, Message, Rejected


def drain(source: object, limit: int = 2) -> list[Message]:
    """All messages of a source, a few at a time."""
    messages: list[Message] = []
    while not source.exhausted:  # type: ignore[attr-defined]
        messages.extend(source.poll(limit, 0.0))  # type: ignore[attr-defined]
    return messages


def test_tables_follow_each_other_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.csv", "a.jsonl", "sub/c.csv"):
        row = '{"time": 2001, "text": "one"}\n' * 3 if name.endswith("jsonl") else "time,text\n" + "2001,one\n" * 3
        (tmp_path / name).write_text(row)
    (tmp_path / ".hidden.csv").write_text("x\n")
    (tmp_path / "notes.docx").write_text("x")
    source = open_source(tmp_path)
    messages = drain(source)
    assert [(m.part, m.offset) for m in messages] == [
        (p, i) for p in ("a.jsonl", "b.csv", "sub/c.csv") for i in range(3)
    ]
    assert source.name == tmp_path.name
    assert source.total is None
    source.seek({"a.jsonl": 3, "b.csv": 1})
    assert [(m.part, m.offset) for m in drain(source, 10)] == [(m.part, m.offset) for m in messages[4:]]
    source.close()
    assert source.exhausted


def test_plain_texts_have_the_encoding_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a 2001.txt").write_bytes("Größe".encode("cp1252"))
    (message,) = drain(open_source(tmp_path, encoding="cp1252"))
    document = FieldCodec().decode(message)
    assert isinstance(document, Document)
    assert document.text == "Größe"
    with pytest.raises(InputError, match=r"a 2001\.txt cannot be read as ascii"):
        drain(open_source(tmp_path, encoding="ascii"))
    with pytest.raises(InputError, match="delimiter: only tables of text"):
        open_source(tmp_path, delimiter=";")


def test_plain_texts_are_documents_with_the_dates_of_their_names(tmp_path: Path) -> None:
    for name in ("2020-03-31 speech.txt", "report 1999.txt", "20210215.txt"):
        (tmp_path / name).write_text(f"text of {name}")
    source = open_source(tmp_path)
    found = [FieldCodec().decode(message) for message in drain(source)]
    source.seek({tmp_path.name: 2})
    assert [message.offset for message in source.poll(9, 0.0)] == [2]
    source.close()
    assert all(isinstance(one, Document) for one in found)
    read = {one.id: one.time for one in found if isinstance(one, Document)}
    assert read == {
        "2020-03-31 speech.txt": datetime(2020, 3, 31, tzinfo=UTC),
        "20210215.txt": datetime(2021, 2, 15, tzinfo=UTC),
        "report 1999.txt": datetime(1999, 1, 1, tzinfo=UTC),
    }


def test_texts_without_dates_have_the_time_of_their_last_change(tmp_path: Path) -> None:
    for at, name in enumerate(("2020.txt", "b.txt")):
        (tmp_path / name).write_text("some")
        os.utime(tmp_path / name, (1_000_000_000 + at, 1_000_000_000 + at))
    source = open_source(tmp_path, max_line_bytes=3)
    messages = drain(source)
    source.close()
    assert [message.time and message.time.timestamp() for message in messages] == [1_000_000_000, 1_000_000_001]
    assert all(isinstance(FieldCodec().decode(message), Rejected) for message in messages)  # four bytes, three taken


def test_a_text_without_a_date_among_dated_ones_is_rejected(tmp_path: Path) -> None:
    for name in ("2020-01-02.txt", "2020-01-03.txt", "README.txt"):
        (tmp_path / name).write_text("some")
    found = [FieldCodec().decode(message) for message in drain(open_source(tmp_path))]
    assert [one.time for one in found if isinstance(one, Document)] == [
        datetime(2020, 1, 2, tzinfo=UTC),
        datetime(2020, 1, 3, tzinfo=UTC),
    ]
    (wrong,) = [one for one in found if isinstance(one, Rejected)]
    assert wrong.reason.startswith("no time: the file's name has no date")
    assert wrong.excerpt == "README.txt"


def test_what_a_folder_leaves_out_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder, elsewhere = tmp_path / "texts", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for name in ("a.txt", ".hidden.md", "b.md", "c.txt.bz2", "d.text", "e.docx", "g.tar.gz"):
        (folder / name).write_text("some")
    (elsewhere / "f.txt").write_text("more")
    (folder / "link").symlink_to(elsewhere)
    (folder / "z.txt").symlink_to(tmp_path / "nothing.txt")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):  # told once
            assert len(drain(open_source(folder))) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "texts: files with endings that are not read are left out: b.md, c.txt.bz2, d.text (and 2 more)",
        "texts: folders behind links are left out: link",
        "texts: files that cannot be read are left out: z.txt",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_encodings_of_plain_texts_are_told_by_each(
    tmp_path: Path, encoding: str, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    for at in range(3):
        body = f"Größe und Öl {at}".encode(encoding)
        (tmp_path / f"{at}{ending}").write_bytes(gzip.compress(body) if ending.endswith("gz") else body)
    (tmp_path / f"3{ending}").write_bytes(gzip.compress(b"plain") if ending.endswith("gz") else b"plain")
    with caplog.at_level(logging.WARNING):
        found = [FieldCodec().decode(message) for message in drain(open_source(tmp_path))]
    assert [one.text for one in found if isinstance(one, Document)] == [
        *(f"Größe und Öl {at}" for at in range(3)),
        "plain",
    ]
    told = [f"{tmp_path.name}: texts that are not UTF-8 are read as Windows-1252; give --encoding if they are another"]
    assert [record.getMessage() for record in caplog.records] == (told if encoding == "cp1252" else [])


def test_packed_texts_are_measured_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a" * 5000))
    (message,) = drain(open_source(tmp_path, max_line_bytes=1000))
    assert message.oversized == 5000
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"abc" * 5000)[:-20])
    with pytest.raises(InputError, match=r"a\.txt\.gz cannot be read: Compressed file ended"):
        drain(open_source(tmp_path))


def test_a_folder_says_what_it_should_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected files ending in \.jsonl, .* found none"):
        open_source(tmp_path)
    (tmp_path / "a.txt").write_text("some")
    (tmp_path / "b.csv").write_text("time,text\n")
    with pytest.raises(InputError, match=r"expected either plain text or tables, found a\.txt and b\.csv"):
        open_source(tmp_path)
