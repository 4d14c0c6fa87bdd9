"""A file that names a function does not make its reader run it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.unit.frozen.frozen_runs import followed, texts
from vmfstream import FrozenModel, TopicTracker
from vmfstream.cli import app
from vmfstream.engine.run import RunSettings
from vmfstream.engine.snapshots.batch import take_snapshots
from vmfstream.errors import InputError, NotNamedAgain
from vmfstream.text import sentence_models

_CODE = """
from pathlib import Path
(Path(__file__).parent / "imported").touch()

def cut(text):
    return text.split()

def embed(texts):
    return [[text.count(letter) + .1 for letter in "aeiou"] for text in texts]
"""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Lay a module ``of_a_stranger`` where it is found; tell whether it was imported since."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "of_a_stranger.py").write_text(_CODE)
    monkeypatch.syspath_prepend(str(folder))

    def forget_and_tell() -> bool:
        sys.modules.pop("of_a_stranger", None)
        sentence_models._loaded.cache_clear()
        found = (folder / "imported").exists()
        (folder / "imported").unlink(missing_ok=True)
        return found

    return forget_and_tell


CODE = {"tokeniser": "of_a_stranger:cut", "embed": "of_a_stranger:embed"}


@pytest.mark.parametrize("option", CODE)
@pytest.mark.thorough
def test_no_way_of_opening_a_file_runs_what_it_names(option: str, tmp_path: Path, imported: Callable[[], bool]) -> None:
    run_file = followed(tmp_path / "run.duckdb", **{option: CODE[option]})  # type: ignore[arg-type]
    named: dict[str, Any] = {option: CODE[option]}
    model = tmp_path / "model.zip"
    FrozenModel.load(run_file, **named).save(model)
    new = tmp_path / "new.txt"
    new.write_text("\n".join(texts(9, seed=3)))
    assert imported()
    wanted = f"asks for the .* '{CODE[option]}'.*--{option} {CODE[option]}, or {option}= in Python"
    for opened in (
        lambda: FrozenModel.load(run_file),
        lambda: FrozenModel.load(run_file, at="2001"),
        lambda: FrozenModel.load(model),
        lambda: take_snapshots(run_file, ["flat"]),
    ):
        with pytest.raises(NotNamedAgain, match=wanted):
            opened()
        assert not imported()
    ways = (
        ["label", str(run_file), str(new)],
        ["label", str(model), str(new)],
        ["freeze", str(run_file), "--out", str(tmp_path / "other.zip")],
        ["snapshot", str(run_file), "--kind", "flat"],
    )
    for command in ways:
        result = CliRunner().invoke(app, command)
        assert result.exit_code != 0
        assert isinstance(result.exception, NotNamedAgain)
        assert not imported()
        result = CliRunner().invoke(app, [*command, f"--{option}", CODE[option]])
        assert result.exit_code == 0, result.output
        assert imported()
        with pytest.raises(NotNamedAgain, match=f"^{option}: expected '{CODE[option]}', which the run was made with"):
            CliRunner().invoke(app, [*command, f"--{option}", "other:one"], catch_exceptions=False)
        assert not imported()


@pytest.mark.thorough
def test_commands_that_show_and_check_need_no_name(tmp_path: Path, imported: Callable[[], bool]) -> None:
    run_file = followed(tmp_path / "run.duckdb", tokeniser=CODE["tokeniser"])
    imported()
    for command in (["show"], ["doctor"], ["export", str(tmp_path / "page.html")], ["report"]):
        result = CliRunner().invoke(app, [command[0], str(run_file), *command[1:]])
        assert result.exit_code == 0, result.output
    assert not imported()


def test_a_run_goes_on_by_the_same_command(tmp_path: Path, imported: Callable[[], bool]) -> None:
    run_file = followed(tmp_path / "run.duckdb", tokeniser=CODE["tokeniser"])
    imported()
    followed(run_file, tokeniser=CODE["tokeniser"])
    assert imported()
    with pytest.raises(InputError, match="begun with tokeniser = 'of_a_stranger:cut' and cannot be continued with ''"):
        followed(run_file)
    assert not imported()


@pytest.mark.thorough
def test_a_saved_tracker_wants_its_function_again(tmp_path: Path, imported: Callable[[], bool]) -> None:
    import of_a_stranger  # type: ignore[import-not-found]

    for option, function in (("tokeniser", of_a_stranger.cut), ("embed", of_a_stranger.embed)):
        given: dict[str, Any] = {option: function}
        tracker = TopicTracker(topics=2, **given).learn(texts(60), 2001).learn(texts(60), 2002)
        tracker.save(tmp_path / f"{option}.duckdb")
        imported()
        with pytest.raises(NotNamedAgain, match=CODE[option]):
            TopicTracker.load(tmp_path / f"{option}.duckdb")
        with pytest.raises(InputError, match=rf"{option}: expected '{CODE[option]}', .* got 'builtins:sorted'"):
            TopicTracker.load(tmp_path / f"{option}.duckdb", **{option: sorted})
        assert not imported()
        again = TopicTracker.load(tmp_path / f"{option}.duckdb", **given)
        wanted, found = tracker.freeze().label(texts(9)), again.freeze().label(texts(9))
        np.testing.assert_array_equal(found["topic"], wanted["topic"])
        if option == "tokeniser":
            assert (again.freeze().with_topics({"one": texts(1)[0].split()}).label(texts(1))["topic"] == 0).all()


def test_what_a_file_says_of_its_own_trust_is_not_read() -> None:
    stored = RunSettings(tokeniser="os:getcwd").as_text()
    assert "from_file" not in stored
    with pytest.raises(NotNamedAgain):
        RunSettings.from_text(stored | {"from_file": "False"}).encoder()
    for embed in ("onnx:model.onnx", "some-model", "os:getcwd"):
        with pytest.raises(NotNamedAgain):
            RunSettings.from_text(stored | {"tokeniser": "", "embed": embed}).encoder()
