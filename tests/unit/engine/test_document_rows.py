"""What every document got on arrival: one row each, the same whatever the cuts, in the log and in memory."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine.documents import OneByOne, document, engine, run, years
from tests.unit.runfile.records import commit, documents
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.models import tracker
from vmfstream.engine.run import RunSettings, agree, follow
from vmfstream.errors import InputError
from vmfstream.records import DocumentRows
from vmfstream.runfile import schema
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

SIZES = {2001: 40, 2002: 50, 2003: 60}


def all_rows(store: MemoryStore) -> DocumentRows:
    return DocumentRows.joined([one.documents for one in store.commits if one.documents is not None])


def test_every_document_has_one_row_with_what_it_got() -> None:
    topics: dict[str, int] = {}
    stories: dict[str, int] = {}

    def note(into: dict[str, int]) -> Any:
        def noted(some: Any, labels: NDArray[np.int64]) -> None:
            into.update(zip([one.id for one in some], labels.tolist(), strict=True))

        return noted

    store = MemoryStore()
    items = [*years(SIZES), {"id": "blank", "time": 2003, "text": ""}]
    settings = RunSettings(topics=3, documents="all", epoch_documents=25, threads=1)
    follow(
        MemorySource(items),
        FieldCodec(),
        store,
        settings,
        assigned=note(topics),
        in_stories=note(stories),
    )
    rows = all_rows(store)
    ids = [f"d{i}" for i in range(150)]
    assert list(rows.id) == [one for one in [*ids, "blank"] if one in stories]
    assert len(rows) == sum(one.epoch.n for one in store.commits)
    assert rows.story.tolist() == [stories[id] for id in rows.id]
    assert rows.topic.tolist() == [topics.get(id, -1) for id in rows.id]
    assert rows.topic[:40].tolist() == [-1] * 40  # before the first topics
    known = rows.topic >= 0
    assert known[40:150].all()
    assert np.isnan(rows.probability[~known]).all()
    assert np.isnan(rows.novelty[~known]).all()
    assert ((rows.probability[known] > 1 / 3) & (rows.probability[known] <= 1)).all()
    assert (rows.novelty[known] < 0).all()
    assert [np.datetime64(t, "us").astype(object).year for t in rows.time[[0, 40, 149]].tolist()] == [2001, 2002, 2003]


def test_probabilities_have_the_temperature_of_the_slice_before(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = all_rows(run(years(SIZES), documents=True))
    monkeypatch.setattr(tracker, "arrival_temperature", lambda result: 200.0 if result.prediction else np.nan)
    found = all_rows(run(years(SIZES), documents=True))
    np.testing.assert_array_equal(found.topic, plain.topic)
    np.testing.assert_array_equal(found.probability[:90], plain.probability[:90])  # the first slice predicts nothing
    assert (plain.probability[90:] > 0.999).all()
    assert ((found.probability[90:] > 1 / 3) & (found.probability[90:] < 0.9)).all()


def test_nothing_is_kept_unless_it_is_wanted() -> None:
    assert all(one.documents is None for one in run(years(SIZES)).commits)


def test_a_continued_run_keeps_the_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "arrival_temperature", lambda result: 200.0 if result.prediction else np.nan)
    store = MemoryStore()
    begun = engine(OneByOne(years(SIZES)), store, documents=True)
    begun.run(stop=lambda: begun.documents > 120)
    assert not begun.finished
    engine(years(SIZES), store, documents=True).run()
    rows = all_rows(store)
    assert list(rows.id) == [f"d{i}" for i in range(150)]
    assert (rows.probability[-20:] < 0.9).all()


def test_the_run_file_has_them_in_order(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0, documents=documents("a", "half \ud83d")), commit(1, documents=documents("c")))
    with duckdb.connect(run_file.path, read_only=True) as connection:
        found = connection.execute(
            "select id, epoch_us(time), slice, topic, probability, story, novelty from document order by rowid"
        ).fetchall()
    first = (59_999_999, 0, -1, None, -1, None)
    assert found == [("a", *first), ("half ?", 60_000_000, 0, 0, 0.0, 0, 0.0), ("c", 59_999_999, 1, -1, None, -1, None)]


def test_a_file_of_before_there_were_any_goes_on_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.duckdb"
    with pytest.MonkeyPatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:12])
        older = RunFile(path)
        older.settings({name: value for name, value in RunSettings(topics=3).as_text().items() if name != "documents"})
    Reader(path)
    with caplog.at_level(logging.WARNING):
        follow(
            MemorySource([document(i, 2001) for i in range(30)]),
            FieldCodec(),
            RunFile(path),
            RunSettings(topics=3, documents="all"),
        )
    assert "kept no documents; it goes on without them" in caplog.text
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("select (select count(*) from document), sum(n) from epoch").fetchall() == [(0, 30)]


def test_a_run_keeps_to_what_it_began_with() -> None:
    begun = RunSettings(documents="none").as_text()
    with pytest.raises(InputError, match="begun with documents = 'none' and cannot be continued with 'all'"):
        agree(RunSettings(documents="all"), begun)
    with pytest.raises(InputError, match="documents: expected all or none, got 'some'"):
        RunSettings(documents="some")
