"""What every source must do, whatever it reads."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow.ipc
import pytest
from pyarrow.feather import write_feather

from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.connectors.stdin import StdinSource
from vmfstream.errors import InputError
from vmfstream.protocols import Source
from vmfstream.records import Document, Message

ROWS = [{"id": f"d{n}", "time": f"20{n:02}-01-01", "text": f'Größe "{n}",\ta\\b' + "x" * n} for n in range(23)]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    body = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)


def jsonl(path: Path) -> None:
    write_lines(path, [json.dumps(row) for row in ROWS])


def table(path: Path) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "time", "text"], delimiter="\t" if ".tsv" in path.name else ",")
        writer.writeheader()
        writer.writerows(ROWS)


def parquet(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t(id varchar, time date, text varchar)")
        connection.executemany("insert into t values (?, ?, ?)", [list(row.values()) for row in ROWS])
        connection.execute(f"copy t to '{path}' (format parquet)")


def feather(path: Path) -> None:
    table = pyarrow.table({name: [row[name] for row in ROWS] for name in ("id", "time", "text")})
    if path.suffix == ".feather":
        write_feather(table, str(path))
    else:
        with pyarrow.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=7)


def excel(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", None, "time", "text"])
    for row in ROWS:
        sheet.append([row["id"], None, datetime.fromisoformat(row["time"]), row["text"]])
    book.save(path)


def plain(path: Path) -> None:
    write_lines(path, [row["text"] for row in ROWS])


FILES: dict[str, Callable[[Path], None]] = {
    "a.jsonl": jsonl,
    "a.ndjson": jsonl,
    "a.jsonl.gz": jsonl,
    "a.csv": table,
    "a.csv.gz": table,
    "a.tsv": table,
    "a.txt": plain,
    "a.txt.gz": plain,
    "a.parquet": parquet,
    "a.feather": feather,
    "a.arrow": feather,
    "a.xlsx": excel,
}


@dataclass
class Maker:
    """Opens the same source again and again, as restarts do."""

    open: Callable[[], Source]
    opened: list[Source] = field(default_factory=list)

    def __call__(self) -> Source:
        self.opened.append(self.open())
        return self.opened[-1]


@pytest.fixture(params=[*FILES, "stdin", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    kind: str = request.param
    path = tmp_path / ("a.jsonl" if kind in ("stdin", "memory") else kind)
    FILES[path.name](path)
    descriptors: list[int] = []

    def opened() -> Source:
        if kind == "memory":
            return MemorySource(ROWS)
        if kind == "stdin":
            descriptors.append(os.open(path, os.O_RDONLY))
            return StdinSource(descriptor=descriptors[-1])
        return open_source(str(path))

    maker = Maker(opened)
    yield maker
    for source in maker.opened:
        source.close()
    for descriptor in descriptors:
        os.close(descriptor)


def drain(source: Source, limit: int = 5) -> list[Message]:
    messages: list[Message] = []
    for _ in range(1000):
        if source.exhausted:
            return messages
        found = source.poll(limit, 0.0)
        assert len(found) <= limit
        messages += found
    raise AssertionError("the source does not end")


def plain_values(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    return [(m.part, m.offset, m.value, m.time, m.oversized) for m in messages]


def test_gives_every_row_once_in_order(make: Maker) -> None:
    source = make()
    messages = drain(source)
    assert [message.offset for message in messages] == list(range(len(ROWS)))
    assert len({message.part for message in messages}) == 1
    documents = [FieldCodec(timed=False).decode(message) for message in messages]
    assert [d.text for d in documents if isinstance(d, Document)] == [row["text"] for row in ROWS]
    assert source.poll(5, 0.0) == []
    assert source.name
    assert source.total in (None, len(ROWS))


@pytest.mark.parametrize("limit", [1, 7, 23, 1000])
def test_the_size_of_polls_does_not_matter(make: Maker, limit: int) -> None:
    assert plain_values(drain(make(), limit)) == plain_values(drain(make()))


@pytest.mark.parametrize("read", [0, 1, 11, 22, 23])
def test_seek_and_continue_equals_undisturbed(make: Maker, read: int) -> None:
    whole = drain(make())
    source = make()
    source.seek({})
    before = list(source.poll(read, 0.0)) if read else []
    # the source may have read ahead, and somebody else's parts may stand in the position
    position = {whole[0].part: len(before), "other": 4}
    again = make()
    again.seek(position)
    assert plain_values(before + drain(again)) == plain_values(whole)


def test_seek_beyond_the_end_is_the_end(make: Maker) -> None:
    part = drain(make())[0].part
    source = make()
    source.seek({part: 100})
    if isinstance(source, StdinSource):  # the lines that were read before are not there
        with pytest.raises(InputError, match=r"ended after line \d+, and 100 lines of it were read before"):
            drain(source)
        return
    assert drain(source) == []
    assert source.exhausted


def test_asking_whether_it_is_exhausted_takes_nothing(make: Maker) -> None:
    source = make()
    for _ in range(3):
        assert not source.exhausted
    assert len(drain(source)) == len(ROWS)


def test_a_poll_for_nothing_is_empty(make: Maker) -> None:
    source = make()
    assert list(source.poll(0, 0.0)) == []
    assert len(drain(source)) == len(ROWS)


def test_closes_twice_and_gives_nothing_then(make: Maker) -> None:
    source = make()
    source.poll(3, 0.0)
    source.close()
    source.close()
    assert list(source.poll(3, 0.0)) == []
    assert source.exhausted


def test_txt_lines_have_no_times(tmp_path: Path) -> None:
    plain(tmp_path / "a.txt")
    assert {message.time for message in drain(open_source(tmp_path / "a.txt"))} == {None}
    dated = drain(open_source(tmp_path / "a.txt", time=datetime(2024, 5, 1)))
    assert {message.time for message in dated} == {datetime(2024, 5, 1, tzinfo=UTC)}
