"""The examples in the docstrings of public names are true, and every public class shows itself used."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

import vmfstream

PUBLIC = {name: getattr(vmfstream, name) for name in vmfstream.__all__ if not name.startswith("__")}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(name: str) -> list[doctest.DocTest]:
    """The docstrings with examples of a public name: its own, those of its methods, of a module those of all in it."""
    return [found for found in doctest.DocTestFinder().find(PUBLIC[name], name) if found.examples]


def test_every_public_class_shows_itself_used() -> None:
    assert not [name for name, thing in PUBLIC.items() if inspect.isclass(thing) and not examples(name)]


@pytest.mark.parametrize("name", [name for name in PUBLIC if examples(name)])
def test_examples_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in examples(name):
        runner.run(example, out=said.append)
    assert runner.tries
    assert not runner.failures, "".join(said)
