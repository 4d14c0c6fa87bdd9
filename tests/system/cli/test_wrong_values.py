"""Every option of `run` and `replay` with values that it cannot have: one sentence that names it, and no run file."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tests.system.cli.given import Run
from vmfstream import cli

WRONG: dict[str, tuple[str, ...]] = {
    "--topics": ("0", "x"),
    "--topics-from": ("missing.toml", "good.jsonl"),
    "--slices": ("century", "0", "-5 days"),
    "--documents": ("some", "-3"),
    "--html": ("missing/page.html",),
    "--out": ("missing/run.duckdb", "/"),
    "--seed": ("-1", "x"),
    "--window": ("-1", "x"),
    "--refit-budget": ("-1", "x"),
    "--threads": ("0", "x"),
    "--epoch-size": ("0", "x"),
    "--vocabulary": ("0", "x"),
    "--stop-words": ("klingon",),
    "--tokeniser": ("missing:function", "json:missing", "x"),
    "--stem": ("klingon",),
    "--linger": ("-1", "x"),
    "--time": ("missing",),
    "--text": ("missing",),
    "--id": ("missing", "@key", "@header.id"),
    "--title-column": ("missing",),
    "--time-format": ("%Q", "x"),
    "--encoding": ("x",),
    "--delimiter": (";",),
    "--vector": ("v",),
    "--dimension": ("-1", "3"),
    "--namer": ("'", "no-such-program"),
    "--story-component": ("gauss",),
    "--story-days": ("-1", "x"),
    "--story-grain": ("-1", "1", "x"),
    "--sample": ("-1", "x"),
    "--max-late": ("-1", "2"),
    "--max-rejected": ("-1", "2"),
    "--snapshot-every": ("-1", "x"),
    "--kind": ("x",),
    "--config": ("missing.toml",),
    "--format": ("x", "text"),
    "--schema-registry": ("x", "http://127.0.0.1:1"),
    "--log-format": ("x",),
    "--on-gap": ("x", "latest"),
    "--group": ("g",),
    "--dead-letters": ("x", "kafka://127.0.0.1:1/dead"),
    "--publish": ("x", "http://127.0.0.1/news"),
    "--labels": ("x", "kafka://127.0.0.1:1/labels"),
    "--label-format": ("x", "json"),
    "--metrics-port": ("-1", "70000"),
    "--metrics-address": ("0.0.0.0",),
    "--workers": ("-1", "2"),
    "--executor": ("x", "dask://127.0.0.1:1"),
    "--dashboard-port": ("-1", "70000"),
}
ANY = {"--page-title", "--embed"}
"""Any text is a title; what cannot be a model has tests of its own."""


def options(command: str) -> set[str]:
    """The options of a command that have a value."""
    every = typer.main.get_command(cli.app).commands[command].params  # type: ignore[attr-defined]
    named = [
        next((o for o in one.opts if o.startswith("--")), "") for one in every if not getattr(one, "is_flag", False)
    ]
    return {name for name in named if name not in ("", "--help")}


def test_no_option_is_left_out() -> None:
    assert options("run") == WRONG.keys() | ANY
    assert options("replay") < options("run")


@pytest.mark.parametrize("command", ["run", "replay"])
def test_wrong_values_are_named_and_leave_nothing_behind(
    run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    known, kept, silent = options(command), {good.name}, list[tuple[object, ...]]()
    for option, values in WRONG.items():
        for value in values:
            if option not in known:
                continue
            needed = () if option == "--slices" else ("--slices", "year")
            code, _, err = run(command, good.name, *needed, option, value)
            said = err.replace("\n", " ")
            name = option.removeprefix("--").replace("-", " ").split()[0]
            if code == 0 or (name not in said.lower() and value not in said):
                silent.append((option, value, code, said[-200:]))
            left = {path.name for path in tmp_path.iterdir()} - kept
            if left:
                silent.append((option, value, "left", sorted(left)))
                for path in left:
                    (tmp_path / path).unlink()
    assert not silent
