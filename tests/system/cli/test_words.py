"""Options of run that say what a word is, and what a topic is called."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, Run, lines, write
from vmfstream.runfile.queries import Reader


def words_of(path: Path) -> set[str]:
    return set(Reader(path).words("filtered").word.tolist())


def test_stop_words_of_languages_and_files_are_left_out(run: Run, tmp_path: Path) -> None:
    rows = [row | {"text": f"{row['text']} the und cramer"} for row in lines()]
    good = write(tmp_path / "good.jsonl", rows)
    own = tmp_path / "own.txt"
    own.write_text("cramer # a man on television\nharbour")
    path = tmp_path / "run.duckdb"
    code, _, err = run("run", good, *COMMAND, "--stop-words", f"english,german,{own}", "--out", path)
    assert code == 0, err
    assert "ship" in words_of(path)
    assert not words_of(path) & {"the", "und", "cramer", "harbour"}
    code, _, err = run("run", good, *COMMAND, "--stop-words", "english,klingon", "--out", tmp_path / "x.duckdb")
    assert code == 1
    assert "stop words: expected arabic" in err


def test_an_own_tokeniser_cuts_the_words(run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_words.py").write_text("def cut(text):\n    return [word.upper() for word in text.split()]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "run.duckdb"
    code, _, err = run("run", good, *COMMAND, "--tokeniser", "my_words:cut", "--out", path)
    assert code == 0, err
    assert {"SHIP", "COMET"} <= words_of(path)
    assert not {word for word in words_of(path) if word != word.upper()}
    code, _, err = run("topic", path, "words", "--forbid", "C++")  # only the run knows what a word is
    assert code == 0, err
    code, _, err = run("run", good, *COMMAND, "--tokeniser", "builtins:str", "--out", tmp_path / "y.duckdb")
    assert (code, "the tokeniser returned one str, expected a list of words" in err) == (1, True)
    code, _, err = run("run", good, *COMMAND, "--tokeniser", "my_words:none", "--out", tmp_path / "x.duckdb")
    assert code == 1
    assert "tokeniser: expected a function as module:name, got 'my_words:none'" in err


def test_a_namer_is_asked_and_its_names_are_kept(run: Run, good: Path, tmp_path: Path) -> None:
    program = tmp_path / "namer.py"
    program.write_text("import json, sys\nprint('Called', json.load(sys.stdin)['words'][0][0])\n")
    path = tmp_path / "run.duckdb"
    code, _, err = run("run", good, *COMMAND, "--namer", f"{sys.executable} {program}", "--out", path)
    assert code == 0, err
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [name for (name,) in connection.execute("select distinct name from given_name").fetchall()]
    assert len(names) >= 3
    assert all(name.startswith("Called ") for name in names)
    code, out, _ = run("show", path)
    assert code == 0
    assert "Called" in out


def test_phrases_and_second_stories_are_wanted_by_options(run: Run, tmp_path: Path) -> None:
    rows = [row | {"text": f"{row['text']} white house", "title": "white house"} for row in lines()]
    good = write(tmp_path / "good.jsonl", rows)
    path = tmp_path / "run.duckdb"
    given = ("--phrases", "--smoothed-stories", "--documents", "all")
    code, _, err = run("run", good, *COMMAND, *given, "--out", path)
    assert code == 0, err
    meta = Reader(path).meta()
    assert (meta["phrases"], meta["smoothed_stories"]) == ("True", "True")
    code, _, err = run("run", good, *COMMAND, "--smoothed-stories", "--out", tmp_path / "x.duckdb")
    assert code == 1
    assert "smoothed_stories: they belong to kept documents with stories" in err
