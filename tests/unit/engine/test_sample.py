"""The sample: which documents are in it depends on their positions alone, and never are there more than asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine import documents
from tests.unit.engine.documents import engine, years
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.sample import Candidates, Sampler, _level, mixed64, position_keys
from vmfstream.records import Document, Documents, Sampled
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.writer import RunFile
from vmfstream.text.encoders import VectorEncoder

NOW = datetime(2024, 1, 1, tzinfo=UTC)
ENCODER = VectorEncoder(2)


def some(first: int, last: int, part: str = "a") -> list[Document]:
    return [Document(part, i, str(i), NOW, vector=np.ones(2, np.float32)) for i in range(first, last)]


def keys_of(docs: list[Document], seed: int) -> NDArray[np.uint64]:
    return position_keys([one.part for one in docs], np.array([one.offset for one in docs]), seed)


def feed(sampler: Sampler, docs: list[Document], batch: int = 7) -> None:
    for i in range(0, len(docs), batch):
        batch_ = docs[i : i + batch]
        sampler.add(Candidates.among(Documents.of(batch_), ENCODER.count(batch_), sampler.wanted))


class Table:
    """What a store makes of the changes."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str, int], int] = {}

    def apply(self, change: Sampled | None) -> None:
        if change is None:
            return
        largest = {index: most for index, most in change.cut.items()}
        self.rows = {at: key for at, key in self.rows.items() if key <= largest.get(at[0], 2**64)}
        columns = zip(change.part, change.offset.tolist(), change.key.tolist(), strict=True)
        self.rows |= {(change.slice, part, offset): key for part, offset, key in columns}

    def slices(self) -> dict[int, int]:
        found = [index for index, _, _ in self.rows]
        return {index: found.count(index) for index in sorted(set(found))}


def sampled(limit: int, sizes: list[int], batch: int = 7, epoch: int = 50, seed: int = 0) -> Table:
    sampler, table, at = Sampler(limit, seed), Table(), 0
    for index, size in enumerate(sizes):
        for first in range(0, size, epoch):
            feed(sampler, some(at + first, at + min(first + epoch, size)), batch)
            if first + epoch < size:
                table.apply(sampler.take(index, ENCODER))
        sampler.close(index)
        table.apply(sampler.take(index, ENCODER))
        assert len(table.rows) <= limit
        at += size
    return table


def test_all_are_kept_while_there_is_room() -> None:
    assert sampled(1000, [30, 200, 5]).slices() == {0: 30, 1: 200, 2: 5}


def test_slices_are_thinned_to_one_level() -> None:
    # the open slice's room is kept free: four slices of 25
    assert sampled(100, [300, 200, 400]).slices() == {0: 25, 1: 25, 2: 25}
    assert sampled(100, [300, 10, 400]).slices() == {0: 30, 1: 10, 2: 30}


def test_a_slice_without_documents_takes_no_room() -> None:
    assert sampled(100, [300, 0, 0, 400]).slices() == {0: 33, 3: 33}


def test_more_slices_than_places_lets_the_oldest_go() -> None:
    assert sampled(4, [5] * 9).slices() == {6: 1, 7: 1, 8: 1}


def test_those_with_the_smallest_keys_stay() -> None:
    table = sampled(100, [300, 200, 400])
    for index, (first, last) in enumerate([(0, 300), (300, 500), (500, 900)]):
        keys = np.sort(keys_of(some(first, last), 0))
        assert sorted(key for at, key in table.rows.items() if at[0] == index) == keys[:25].tolist()


@pytest.mark.parametrize(("batch", "epoch"), [(1, 50), (50, 50), (3, 1000), (64, 64)])
def test_batches_and_epochs_do_not_matter(batch: int, epoch: int) -> None:
    assert sampled(60, [120, 90, 200], batch, epoch).rows == sampled(60, [120, 90, 200]).rows


def test_only_those_that_stay_in_the_sample_are_packed() -> None:
    class Counting(VectorEncoder):
        packed = 0

        def pack(self, counts: Any) -> list[bytes]:
            self.packed += len(counts)
            return super().pack(counts)

    sampler, encoder = Sampler(50, 0), Counting(2)
    feed(sampler, some(0, 1000), 10)
    change = sampler.take(0, encoder)
    assert change is not None
    assert len(change.key) == encoder.packed == 50


def test_another_seed_chooses_others() -> None:
    assert sampled(20, [200]).rows.keys() != sampled(20, [200], seed=1).rows.keys()


def test_keys_are_uniform_whatever_the_parts() -> None:
    keys = np.concatenate([keys_of(some(0, 5000, part), 3) for part in ("topic:0", "topic:1")])
    assert len(np.unique(keys)) == 10_000
    share = np.histogram(keys / 2.0**64, 20, (0, 1))[0] / 500
    assert np.abs(share - 1).max() < 0.2


def test_the_level_of_slices() -> None:
    assert _level([], 10) == 10
    assert _level([2, 100], 11) == 4
    assert _level([1, 1, 1], 10) == 7
    assert _level([5] * 50, 10) == 1


def test_without_a_limit_there_is_nothing() -> None:
    sampler = Sampler(0, 0)
    feed(sampler, some(0, 20))
    sampler.close(0)
    assert sampler.take(0, ENCODER) is None
    assert sampler.open_arrays() == {} == sampler.slice_arrays()


def test_the_run_file_holds_the_sample(tmp_path: Path) -> None:
    store = RunFile(tmp_path / "run.duckdb")
    engine(years({2001: 60, 2002: 80, 2003: 40}), store, sample=60, epoch_documents=25).run()
    with duckdb.connect(str(store.path), read_only=True) as connection:
        found = connection.execute("select slice, count(*) from sample group by slice order by slice").fetchall()
        packed = connection.execute("select packed from sample where source_offset < 60 limit 1").fetchall()[0][0]
    assert found == [(2001, 15), (2002, 15), (2003, 15)]
    assert any(word.encode() in packed for words in documents.SUBJECTS for word in words)


@pytest.mark.thorough
def test_an_interrupted_run_samples_the_same(tmp_path: Path) -> None:
    items = years({2001: 60, 2002: 80, 2003: 40})
    rows = []
    for stops in (False, True):
        store = RunFile(tmp_path / f"{stops}.duckdb")
        for n in range(1, 400) if stops else ():
            one = engine(items, store, sample=60, epoch_documents=25)
            one.run(stop=iter([*[False] * 12, *[True] * 400]).__next__)
            if one.finished or n > 30:
                break
        engine(items, store, sample=60, epoch_documents=25).run()
        with duckdb.connect(str(store.path), read_only=True) as connection:
            rows.append(connection.execute("select * from sample order by all").fetchall())
    assert rows[0] == rows[1]


def test_a_state_from_before_there_were_samples_begins_one() -> None:
    source, store = MemorySource(years({2001: 60, 2002: 60})), MemoryStore()
    engine(source, store).run(stop=iter([*[False] * 3, *[True] * 400]).__next__)
    again = engine(MemorySource(years({2001: 60, 2002: 60, 2003: 20})), store, sample=50)
    again.run()
    assert sum(len(c.sampled.key) for c in store.commits if c.sampled is not None) > 0


def test_bits_are_mixed_as_published() -> None:
    """The first outputs of splitmix64 from the state 0."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        states = np.arange(3, dtype=np.uint64) * step
    assert mixed64(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
