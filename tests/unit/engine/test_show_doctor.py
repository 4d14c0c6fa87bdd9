"""What commands print about a run file and about the installation."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.unit.engine.documents import SUBJECTS, years
from vmfstream.cli import diagnosis as doctor
from vmfstream.cli.diagnosis import examine
from vmfstream.cli.topic_table import newest_topics, one_topic
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.runfile.writer import RunFile

SETTINGS = RunSettings(title="Reports", topics=3, threads=1, window=60)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "run.duckdb"
    items = [*years({2001: 40, 2002: 40, 2003: 45}), b"{", b"?", b"[]"]
    follow(MemorySource(items), FieldCodec(), RunFile(path), SETTINGS)
    return path


def test_the_newest_slice_largest_topic_first(log: Path) -> None:
    rows = newest_topics(log, words=8, smoothed=False)
    assert [row["slice"] for row in rows] == ["2003"] * 3
    assert [row["documents"] for row in rows] == [15] * 3
    assert sorted(row["topic"] for row in rows) == [0, 1, 2]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-3)
    assert sorted(map(sorted, (row["words"] for row in rows))) == sorted(map(sorted, SUBJECTS))


def test_sizes_decide_the_order(tmp_path: Path) -> None:
    uneven = [item for i, item in enumerate(years({2001: 90})) if i % 3 == 1 or i % 9 == 0 or i % 18 == 2]
    path = tmp_path / "run.duckdb"
    follow(MemorySource(uneven), FieldCodec(), RunFile(path), SETTINGS)
    rows = newest_topics(path, words=1, smoothed=False)
    assert [row["documents"] for row in rows] == [30, 10, 5]
    assert [len(row["words"]) for row in rows] == [1, 1, 1]


def test_one_topic_over_time(log: Path) -> None:
    for smoothed in (False, True):
        rows = one_topic(log, 1, words=5, smoothed=smoothed)
        assert [row["slice"] for row in rows] == ["2001", "2002", "2003"]
        assert rows[0]["drift_angle"] == ""
        assert rows[1]["drift_angle"].endswith("°")
        assert all(len(row["words"]) == 5 for row in rows)


def test_an_unknown_topic_names_the_known(log: Path) -> None:
    with pytest.raises(InputError, match="no topic 17; topics: 0, 1, 2"):
        one_topic(log, 17, words=5, smoothed=False)


def test_a_run_file_without_smoothed_topics_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    RunFile(path)
    assert newest_topics(path, words=5, smoothed=False) == []
    with pytest.raises(InputError, match="smoothed"):
        newest_topics(path, words=5, smoothed=True)
    with pytest.raises(InputError, match="none yet"):
        one_topic(path, 0, words=5, smoothed=False)


def test_everything_is_there() -> None:
    checks = {check.what: check for check in examine()}
    assert {"python", "numpy", "numba", "duckdb", "plotly", "compiled kernels"} <= set(checks)
    assert checks["compiled kernels"].good
    assert "4166.6" in checks["compiled kernels"].found


def test_a_missing_package_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "plotly":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    assert [check.what for check in examine() if not check.good] == ["plotly"]


def test_wrong_numbers_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.directional.bessel.inv_bessel_ratio", lambda d, r: 4000.0)
    assert "compiled kernels" in [check.what for check in examine() if not check.good]


def test_a_run_file_is_examined(log: Path) -> None:
    found = {check.what: check.found for check in examine(log)}
    assert "Reports" in found[str(log)]
    assert "finished" in found[str(log)]
    assert "newest closed slice 2003" in found["epochs"]
    assert found["rejected"] == "3 (2 x not JSON; 1 x not a JSON object)"


def test_rejected_messages_of_rare_kinds_are_counted_too(tmp_path: Path) -> None:
    bad = [b"{", b"[]", b"", b"\xff", b'{"text": "", "time": 2001}']
    follow(MemorySource([*years({2001: 40}), *bad, *bad[:3]]), FieldCodec(), RunFile(tmp_path / "run.duckdb"), SETTINGS)
    found = {check.what: check.found for check in examine(tmp_path / "run.duckdb")}
    assert found["rejected"] == "8 (2 x empty; 2 x not JSON; 2 x not a JSON object; 2 others)"


def test_what_is_no_run_file_fails(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("nonsense " * 1000)
    last = list(examine(tmp_path / "x.duckdb"))[-1]
    assert not last.good
    assert str(tmp_path) in last.found
    assert not list(examine(tmp_path / "missing.duckdb"))[-1].good


def test_a_new_run_file_has_nothing_to_tell(tmp_path: Path) -> None:
    RunFile(tmp_path / "new.duckdb")
    found = {check.what: check for check in examine(tmp_path / "new.duckdb")}
    assert found["epochs"].found.startswith("0,")
    assert "can be continued" in found[str(tmp_path / "new.duckdb")].found
