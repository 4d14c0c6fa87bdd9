"""What is written about the program is there, complete and true."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
import typer
from typer.testing import CliRunner

import vmfstream
from tests.contract import pages
from tests.data import missing
from vmfstream import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
COMMANDS = (
    "demo",
    "replay",
    "run",
    "publish",
    "dashboard",
    "export",
    "show",
    "documents",
    "label",
    "freeze",
    "topic",
    "report",
    "snapshot",
    "corpora",
    "reproduce",
    "doctor",
)
PYTHON = [block.text for block in pages.blocks(README) if block.language == "python"]
RUN = {"README.md", "embeddings.md", "python.md", "run-file.md", "tutorial.md"}
"""Pages whose programs run, those of run-file.md in tests/unit/frozen/test_storage.py."""


def known() -> dict[str, Any]:
    """The commands as the program knows them."""
    return dict(getattr(typer.main.get_command(cli.app), "commands", {}))


def options_of(command: Any) -> set[str]:
    """The options of a command and of those below it."""
    own = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    return own.union(*map(options_of, getattr(command, "commands", {}).values()))


def test_these_are_the_commands() -> None:
    assert set(known()) == set(COMMANDS)


def test_every_command_says_what_it_does() -> None:
    said = {name: (command.help or "").strip().split("\n")[0] for name, command in known().items()}
    assert not {name: first for name, first in said.items() if not first.endswith(".")}


@pytest.mark.parametrize("arguments", [["--help"], ["topic", "x.duckdb", "--help"]], ids=["vmfstream", "topic"])
def test_the_list_of_commands_says_all_of_it_in_80_columns(arguments: list[str]) -> None:
    said = CliRunner().invoke(cli.app, arguments, terminal_width=78).stdout.split("Commands:\n")[1]
    assert len(said.splitlines()) >= 9
    assert not [line for line in said.splitlines() if not line.endswith(".") or line.endswith("...")]


def test_the_program_shows_what_people_do_first() -> None:
    first = CliRunner().invoke(cli.app, ["--help"]).stdout.split("Options:")[0]
    lines = [line.strip() for line in first.splitlines() if line.strip().startswith("vmfstream ")]
    assert [line.split()[1] for line in lines] == ["demo", "replay", "run"]
    assert not [line for line in lines if pages.wrong_words(line.removeprefix("vmfstream "))]


def test_every_command_shows_itself_used() -> None:
    shown = {name: re.search(rf"^vmfstream {name}\b", known()[name].help, re.MULTILINE) for name in COMMANDS}
    assert not [name for name, found in shown.items() if not found]


def test_every_option_says_what_it_means() -> None:
    said = {
        f"{name} {parameter.name}": getattr(parameter, "help", None) or ""
        for name, command in known().items()
        for parameter in command.params
        if parameter.name != "help"
    }
    assert len(said) > len(COMMANDS)
    assert not {name: text for name, text in said.items() if not text.endswith(".")}


def test_the_readme_shows_every_command() -> None:
    assert not [name for name in COMMANDS if not re.search(rf"\bvmfstream {name}\b", README)]


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_pages_show_only_commands_and_options_that_exist(page: Path) -> None:
    lines = list(pages.command_lines(page.read_text(encoding="utf-8")))
    assert not {line: wrong for line in lines if (wrong := pages.wrong_words(line))}


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_options_named_in_sentences_exist(page: Path) -> None:
    told_otherwise = {"CHANGELOG.md", "names.md", "results.md", "trials.md"}  # old names, and options of benchmarks
    named = set(re.findall(r"`(--[a-z][\w-]*)[^`]*`", page.read_text(encoding="utf-8")))
    assert page.name in told_otherwise or not named - options_of(typer.main.get_command(cli.app))


def test_wrong_commands_and_options_are_found() -> None:
    text = "```console\n$ vmfstream play x\n$ cat x | vmfstream run - --sliced day\n```\n`vmfstream show x --words 4`"
    assert [pages.wrong_words(line) for line in pages.command_lines(text)] == [["play"], ["--sliced"], []]


def test_the_readme_speaks_python() -> None:
    assert any("TopicTracker" in block for block in PYTHON)


@pytest.mark.parametrize("block", PYTHON, ids=range(len(PYTHON)))
def test_the_readme_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_programs_stand_only_where_they_are_run() -> None:
    found = {
        page.name for page in pages.PAGES for block in pages.blocks(page.read_text("utf-8")) if block[0] == "python"
    }
    assert found == RUN


@pytest.mark.parametrize(
    ("page", "parts"), [pytest.param("tutorial.md", 14, marks=pytest.mark.thorough), ("python.md", 9)]
)
def test_pages_show_what_is_printed(page: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = list(pages.run_through((ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert len(said) >= parts
    assert not [one for one in said if not pages.is_shown(one)]


def test_the_programs_about_embeddings_print_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = pages.blocks((ROOT / "docs" / "embeddings.md").read_text("utf-8"))
    for block, after in pairwise(shown):
        if block.language == "python":
            exec(compile(block.text, "embeddings.md", "exec"), {"__name__": "page"})
            assert capsys.readouterr().out.strip() == (after.text.strip() if after.language == "text" else "")


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = []
    for target in pages.links(text):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in pages.anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert not broken


def test_it_is_said_how_much_of_a_text_is_kept_unasked(tmp_path: Path) -> None:
    source, run_file = tmp_path / "talk.jsonl", tmp_path / "talk.duckdb"
    rows = [
        {"time": f"2024-0{1 + n // 20}-01", "text": f"{'cat fur paw' if n % 2 else 'ship sea'} {n} " * 99}
        for n in range(60)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"time": "soon", "text": "x" * 999}]))
    asked = ["run", str(source), "--slices", "month", "--topics", "2", "--documents", "none", "--out", str(run_file)]
    assert CliRunner().invoke(cli.app, asked).exit_code == 0
    with duckdb.connect(run_file, read_only=True) as run:
        kept = [
            run.execute(f"select max(length({column})) from {table}").fetchall()[0][0]
            for table, column in (("representative", "title"), ("story_document", "title"), ("rejected", "excerpt"))
        ]
    assert [number for number in kept if f"first {number} characters" not in SECURITY] == []


def test_every_page_has_its_place_on_the_site() -> None:
    named = re.findall(r"^ +- (?:[^\n]+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    made = set(pages.generated().generated_pages())
    notebooks = {f"notebooks/{file.stem}.md" for file in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    assert sorted(named) == sorted({page.name for page in (ROOT / "docs").glob("*.md")} | made | notebooks)


@pytest.mark.thorough
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        missing("the extra docs")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    asked = {
        found
        for page in (tmp_path / "site").rglob("*.html")
        for found in re.findall(
            r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?(https?:[^\s\">]+)", page.read_text("utf-8")
        )
    }
    assert not asked


def test_results_say_how_they_came_about() -> None:
    sections = re.split(r"^##+ (.+)$", (ROOT / "docs" / "results.md").read_text("utf-8"), flags=re.MULTILINE)
    told = {"Again", "Tuned on", "Spread", "Not promised"}
    with_tables = {title: text for title, text in zip(sections[1::2], sections[2::2], strict=True) if "\n|---|" in text}
    assert len(with_tables) > 10
    assert not {
        title: left
        for title, text in with_tables.items()
        if (left := {one for one in told if f"- **{one}**" not in text})
    }


def test_the_reference_has_every_command_with_its_options() -> None:
    page = pages.generated().commands_page()
    for name, command in known().items():
        section = page.split(f"## vmfstream {name}\n")[1]
        shown = {
            option
            for parameter in command.params
            if not getattr(parameter, "hidden", False)
            for option in parameter.opts
        }
        assert not [option for option in shown if option.startswith("--") and option not in section], name


def test_the_reference_has_groups_in_the_order_of_the_help() -> None:
    page = pages.generated().commands_page()
    for name in ("demo", "replay", "run", "label"):
        section = page.split(f"## vmfstream {name}\n")[1].split("\n## ")[0]
        helped = CliRunner().invoke(cli.app, [name, "--help"]).output
        groups = re.findall(r"^(?!Usage)([A-Z][A-Za-z ]+):$", helped, re.MULTILINE)
        shown = re.findall(r"^\| \*\*(.+)\*\* \|", section, re.MULTILINE)
        assert shown == [group for group in groups if group in shown or group != "Options"], name  # --help itself


def test_the_page_of_the_run_file_names_all_tables_and_no_others() -> None:
    text = (ROOT / "docs" / "run-file.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|", text.split("## Documents")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(pages.generated().tables()) - {"checkpoint_open_before", "checkpoint_slice_before"}


def test_the_changelog_has_this_version() -> None:
    newest = re.search(r"^## (\S+)", CHANGELOG, re.MULTILINE)
    assert newest
    assert newest[1] == vmfstream.__version__


MODULES = [
    found.name
    for found in pkgutil.walk_packages(vmfstream.__path__, "vmfstream.")
    if not found.name.endswith("__main__")  # importing it runs the program
]


def undocumented(module: ModuleType) -> list[str]:
    missing = [] if (module.__doc__ or "").strip() else [module.__name__]
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if not (inspect.isfunction(thing) or inspect.isclass(thing) or hasattr(thing, "py_func")):
            continue
        if not (inspect.getdoc(thing) or "").strip():
            missing.append(f"{module.__name__}.{name}")
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if member.startswith("_") or not inspect.isfunction(function) or function.__doc__:
                    continue
                if not any(hasattr(base, member) for base in thing.__mro__[1:]):
                    missing.append(f"{module.__name__}.{name}.{member}")
    return missing


def test_every_public_name_is_explained() -> None:
    assert not [name for module in MODULES for name in undocumented(importlib.import_module(module))]


@pytest.mark.parametrize("name", ["TopicTracker", "VonMisesFisher"])
def test_public_classes_explain_their_parameters(name: str) -> None:
    public = getattr(vmfstream, name)
    said = (public.__doc__ or "") + "".join(
        method.__doc__ or "" for _, method in inspect.getmembers(public, inspect.isfunction)
    )
    for parameter in inspect.signature(public).parameters:
        assert re.search(rf"\b{parameter}\b", said), f"{name}: {parameter}"


def test_every_source_that_is_named_is_in_the_list() -> None:
    mark = re.compile(r"\[([A-Z][A-Za-z]{0,5}\d\d|Sra|Li|MC2)\]")
    files = [file for folder in ("vmfstream", "replay") for file in (ROOT / folder).rglob("*.py")]
    named = {found for file in files for found in mark.findall(file.read_text(encoding="utf-8"))}
    listed = re.findall(r"^\[(\w+)\]", vmfstream.__doc__ or "", re.MULTILINE)
    assert named == set(listed)
    assert listed == sorted(listed)
