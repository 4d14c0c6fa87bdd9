"""Figures for notebooks: from a path, a reader, a tracker, or tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.written import write_run_file
from vmfstream import TopicTracker, plot
from vmfstream.dashboards import VIEWS
from vmfstream.dashboards.dataframes import TABLES, TableRows
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader

CALLS: dict[str, Callable[[Any], Any]] = {
    "river": lambda run_file: plot.river(run_file, topic=1),
    "river of shares": lambda run_file: plot.river(run_file, measure="share", reading="filtered", theme="dark"),
    "words": lambda run_file: plot.words(run_file, 1),
    "both readings": lambda run_file: plot.words(run_file, 1, form="both"),
    "compare dates": lambda run_file: plot.compare(run_file, 1, "1997 Q1", "1996 Q2"),
    "compare topics": lambda run_file: plot.compare(run_file, 1, other_topic=2),
    "neighbours": lambda run_file: plot.neighbours(run_file, 1, "1997 Q1"),
    "globe": lambda run_file: plot.globe(run_file, topic=1),
    "lineage": plot.lineage,
    "tree": plot.tree,
    "search": lambda run_file: plot.search(run_file, "harbour"),
    "health": plot.health,
}


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_file(tmp_path_factory.mktemp("plot") / "run.duckdb", gazette(slices=6, topics=4))


@pytest.fixture(scope="module")
def tables(run_file: Path) -> dict[str, pd.DataFrame]:
    """Return all rows of the log as DataFrames, in another order than the log's."""
    reader = Reader(run_file)
    plain = ("slices", "representative", "events", "epochs", "snapshots", "snapshot_topics", "snapshot_words")
    out = {name: _table(getattr(reader, name)()) for name in plain}
    for name in ("topics", "words", "angles", "sketches"):
        both = [_table(getattr(reader, name)(r)).assign(reading=r) for r in ("filtered", "smoothed")]
        out[name] = pd.concat(both)
    return {name: table if name == "events" else table.iloc[::-1] for name, table in out.items()}


def _table(frame: Any) -> pd.DataFrame:
    columns = {f.name: getattr(frame, f.name) for f in fields(frame)}
    return pd.DataFrame({name: list(c) if c.ndim > 1 else c for name, c in columns.items()})


@pytest.fixture(scope="module")
def read(run_file: Path) -> CachedRows:
    return CachedRows(Reader(run_file))


@pytest.fixture(scope="module")
def tabled(tables: dict[str, pd.DataFrame]) -> CachedRows:
    return CachedRows(TableRows(tables))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_run_files_and_tables_give_the_same_figure(name: str, read: CachedRows, tabled: CachedRows) -> None:
    figure = CALLS[name](read)
    assert figure.data or figure.layout.annotations  # the tree says that there is none
    assert CALLS[name](tabled).to_json() == figure.to_json()


def test_a_run_file_may_be_given_in_many_ways(
    run_file: Path, read: CachedRows, tables: dict[str, pd.DataFrame]
) -> None:
    expected = plot.words(read, 2).to_json()
    for given in (run_file, str(run_file), Reader(run_file), tables, TableRows(tables, {"title": "x"})):
        assert plot.words(given, 2).to_json() == expected


def test_figures_are_those_of_the_views(run_file: Path) -> None:
    rows = CachedRows(Reader(run_file))
    view = VIEWS["words"]()
    frame = view.frame(rows, Selection(topic=2, reading="filtered", form="heatmap"))
    expected = view.figure(frame, Size(500, 0), "dark").to_json()
    assert plot.words(run_file, 2, form="heatmap", reading="filtered", width=500, theme="dark").to_json() == expected


@pytest.mark.thorough
def test_former_names_work_and_warn(run_file: Path) -> None:
    with pytest.warns(DeprecationWarning, match="now called plot.neighbours"):
        former = plot.seen_from_here(run_file, 1, "1997 Q1")
    assert former.to_json() == plot.neighbours(run_file, 1, "1997 Q1").to_json()
    with pytest.warns(DeprecationWarning, match="'ladder' is now called 'ranks'"):
        former = plot.words(run_file, 1, form="ladder")  # type: ignore[arg-type]
    assert former.to_json() == plot.words(run_file, 1, form="ranks").to_json()
    with pytest.warns(DeprecationWarning, match="'then' is now called 'filtered'"):
        former = plot.words(run_file, 1, reading="then")  # type: ignore[arg-type]
    assert former.to_json() == plot.words(run_file, 1, reading="filtered").to_json()
    with pytest.warns(DeprecationWarning, match=r"use run=\.\.\."):
        former = plot.words(log=run_file, topic=1)  # type: ignore[call-arg]
    assert former.to_json() == plot.words(run_file, 1).to_json()


def test_a_history_is_of_one_moment(run_file: Path, opened: list[Path]) -> None:
    history_of(CachedRows(Reader(run_file)), "smoothed")
    assert len(opened) == 1


def test_dates_are_names(run_file: Path) -> None:
    heads = [note.text for note in plot.compare(run_file, 1, "1997 Q1", "1996 Q3").layout.annotations]
    assert (heads[0], heads[2]) == ("1996 Q3", "1997 Q1")
    with pytest.raises(InputError, match="no date '2031' in this run file; dates are 1996 Q1 to 1997 Q2"):
        plot.compare(run_file, 1, "2031")


def test_what_is_not_there_is_said(run_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no topic 99"):
        plot.words(run_file, 99)
    with pytest.raises(InputError, match="there is no topic 99"):
        plot.compare(run_file, 1, other_topic=99)
    with pytest.raises(InputError, match="expected a path, a Reader, a TopicTracker or tables, got int"):
        plot.health(3)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        plot.health(tmp_path / "none.duckdb")


def test_a_model_is_no_run() -> None:
    tracker = TopicTracker(topics=2).learn(["cat fur paw", "ship sea harbour"] * 20, 2001).learn(["ship"], 2002)
    with pytest.raises(InputError, match="run: expected a path, a Reader, a TopicTracker or tables, got FrozenModel"):
        plot.river(tracker.freeze())  # type: ignore[arg-type]


UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "reading: expected 'filtered' or 'smoothed', got 'x'": lambda run: plot.river(run, reading="x"),  # type: ignore[arg-type]
    "reading: expected 'filtered' or 'smoothed', got 'y'": lambda run: plot.tree(run, reading="y"),  # type: ignore[arg-type]
    "measure: expected 'documents' or 'share' or None, got 'x'": lambda run: plot.river(run, measure="x"),  # type: ignore[arg-type]
    "form: expected 'auto' or 'ranks' or 'heatmap' or 'both', got 'x'": lambda run: plot.words(run, 1, form="x"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("said", UNKNOWN)
def test_unknown_names_are_refused(run_file: Path, said: str) -> None:
    with pytest.raises(InputError, match=said):
        UNKNOWN[said](run_file)


def test_a_tracker_is_drawn_and_written(tmp_path: Path) -> None:
    tracker = TopicTracker(topics=2, slices="year")
    texts = ["cat fur paw", "ship sea harbour"] * 20
    tracker.learn(texts, [2001] * 40).learn(texts, [2002] * 40).finish()
    first = plot.words(tracker, 0, width=900).data[0]
    shown = {text for text, rank in zip(first.text, first.y, strict=True) if rank <= 3}
    assert shown in ({"cat", "fur", "paw"}, {"ship", "sea", "harbour"})
    path = tmp_path / "run.duckdb"
    tracker.save(path)
    assert plot.words(path, 0).to_json() == plot.words(tracker, 0).to_json()
    assert plot.neighbours(path, 0, 2001).to_json() == plot.neighbours(path, 0, "2001").to_json()
    early = TopicTracker(topics=2, slices="year").learn(texts, [995] * 40)
    early.finish()
    assert plot.neighbours(early, 0, 995).to_json() == plot.neighbours(early, 0, "0995").to_json()
    assert Reader(path).meta()["format"]
    with pytest.raises(InputError, match="exists already"):
        tracker.save(path)


def test_rows_stand_in_the_order_of_the_run_file(run_file: Path, tables: dict[str, pd.DataFrame]) -> None:
    reader, rows = Reader(run_file), TableRows(tables)
    for one, two in (
        (reader.words("filtered"), rows.words("filtered")),
        (reader.representative(1), rows.representative(1)),
    ):
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(two, field.name))


def test_little_is_enough() -> None:
    few = {
        "slices": {"slice": [3, 4], "label": ["a", "b"], "n": [2, 3]},
        "topics": pd.DataFrame({"slice": [3, 4], "topic": [7, 7], "n": [2.0, 3.0], "share": [1.0, 1.0]}),
        "words": {"slice": [3, 4], "topic": [7, 7], "rank": [1, 1], "word": ["cat", "dog"], "weight": [1.0, 1.0]},
    }
    rows = TableRows(few)
    assert not rows.has_smoothed()
    assert rows.slices().warm_up.tolist() == [False, False]
    assert np.isnan(rows.topics("filtered").certainty).all()
    assert (rows.angles("filtered").slice.size, rows.sketches("filtered").numbers.shape[0]) == (0, 0)
    heads = [note.text for note in plot.compare(few, 7).layout.annotations]
    assert heads == ["a", "", "b"]
    for draw in (plot.river, plot.lineage, plot.health):
        assert draw(few).data


def test_former_names_of_tables_and_columns_are_understood() -> None:
    old = {
        "slices": {"slice": [3], "label": ["a"], "n": [2], "settling": [True]},
        "topics": {"slice": [3], "topic": [7], "n": [2.0], "share": [1.0], "speed": [5.0], "speed_error": [1.0]},
        "words": {"slice": [3], "topic": [7], "rank": [1], "word": ["cat"], "weight": [1.0]},
        "epochs": {"epoch": [0], "slice": [3], "label": ["a"], "n": [2], "seconds": [1.0]}
        | {"unknown": [0.5], "heldout": [9.0]},
        "typical": {"slice": [3], "topic": [7], "rank": [1], "id": ["d"], "title": ["t"], "time": [None]},
    }
    with pytest.warns(DeprecationWarning, match="'typical' is now called 'representative'"):
        rows = TableRows(old)
    assert rows.representative(7).id.tolist() == ["d"]
    with pytest.warns(DeprecationWarning, match="'settling' is now called 'warm_up'"):
        assert rows.slices().warm_up.tolist() == [True]
    with pytest.warns(DeprecationWarning, match="is now called 'drift_angle"):
        topics = rows.topics("filtered")
    assert (topics.drift_angle.tolist(), topics.drift_angle_error.tolist()) == ([5.0], [1.0])
    with pytest.warns(DeprecationWarning, match="is now called '(oov_rate|prequential)'"):
        epochs = rows.epochs()
    assert (epochs.oov_rate.tolist(), epochs.prequential.tolist()) == ([0.5], [9.0])
    both = {"slice": [3, 3], "topic": [7, 7], "n": [2.0, 3.0], "reading": ["then", "hindsight"]}
    rows = TableRows({"slices": {"slice": [3]}, "words": old["words"], "topics": both})
    with pytest.warns(DeprecationWarning, match="is now called '(filtered|smoothed)'"):
        assert (rows.topics("filtered").n.tolist(), rows.topics("smoothed").n.tolist()) == ([2.0], [3.0])


def test_times_of_pandas_are_times() -> None:
    stamps = pd.to_datetime(["2001-01-01", None], utc=True)
    table = {"slice": [0, 1], "topic": [0, 0], "rank": [1, 1], "id": ["a", "b"], "title": ["", ""], "time": stamps}
    tables = {"slices": {"slice": []}, "topics": {"slice": []}, "words": {"slice": []}, "representative": table}
    time = TableRows(tables).representative().time
    assert time[0] == np.datetime64("2001-01-01")
    assert np.isnat(time[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"topcs": {}}, "tables: expected some of slices, topics, words"),
        ({"words": None}, "tables: 'words' is missing"),
        ({"words": {"slice": [0], "topic": [0], "rank": [1], "weight": [1.0]}}, None),
        ({"topics": {"slice": [0], "n": [1.0]}}, "topics: there is no column 'topic'"),
        ({"topics": {"topic": [0]}}, "topics: there is no column 'slice'"),
        ({"topics": {"slice": [0], "topic": ["x"]}}, "topics: column 'topic' should hold int64"),
    ],
)
def test_tables_are_checked(change: dict[str, Any], said: str | None) -> None:
    good = {"slices": {"slice": [0], "n": [1]}, "topics": {"slice": [0], "topic": [0]}, "words": {"slice": []}}
    given = {name: table for name, table in (good | change).items() if table is not None}
    if said is None:
        assert TableRows(given).words("filtered").word.tolist() == [""]
        return
    with pytest.raises(InputError, match=said):
        TableRows(given).topics("filtered")


def test_every_table_is_a_frame_of_the_reader() -> None:
    for name in TABLES:
        assert hasattr(Reader, name)
        assert hasattr(TableRows, name)
