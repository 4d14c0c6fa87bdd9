"""On what results depend: equal settings give equal results, and runs that were cut by the clock say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.documents import OneByOne, closed, plain
from tests.unit.engine.parts import news
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import PAUSE, MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

ITEMS = news(15_000, 2)


def followed(size: int, source: Any = ITEMS) -> MemoryStore:
    store = MemoryStore()
    read = MemorySource(source) if isinstance(source, list) else source
    follow(read, FieldCodec(), store, RunSettings(topics=6, epoch_documents=size))
    return store


@pytest.mark.thorough
def test_epochs_of_whole_batches_give_equal_results() -> None:
    wanted = [plain(report) for report in closed(followed(20_000))]
    for size in (10_000, 5_000):
        assert [plain(report) for report in closed(followed(size))] == wanted
    assert [plain(report) for report in closed(followed(20_000, OneByOne(ITEMS)))] == wanted
    assert [plain(report) for report in closed(followed(37))] != wanted


@pytest.mark.thorough
@pytest.mark.parametrize(("linger", "cut"), [(None, 0), (1e-9, 2)])
def test_epochs_that_the_clock_ends_are_counted(tmp_path: Path, linger: float | None, cut: int) -> None:
    items: list[Any] = news(90, 2)
    items[20:20] = [PAUSE]
    items[60:60] = [PAUSE]
    run_file = RunFile(tmp_path / "run.duckdb")
    settings = RunSettings(topics=2, epoch_documents=25)
    follow(MemorySource(items), FieldCodec(), run_file, settings, linger=linger, ahead=0)
    assert Reader(run_file.path).cut_epochs() == cut


def test_a_stop_in_a_slice_is_counted(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    for stop_at in (20, 99):
        source = OneByOne(news(90, 2))

        def stop(source: OneByOne = source, stop_at: int = stop_at) -> bool:
            return source.handed >= stop_at

        follow(source, FieldCodec(), run_file, RunSettings(topics=2), stop=stop, ahead=0)
    assert Reader(run_file.path).cut_epochs() == 1
