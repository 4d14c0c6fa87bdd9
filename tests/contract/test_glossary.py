"""The glossary defines each term once, and what users read uses its words."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import typer

from tests.contract.test_floors import modules
from vmfstream import cli

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
ENTRY = re.compile(r"^\*\*(.+?)\*\*(?:: (.+))?$", re.MULTILINE)

PRIVATE = (
    "adoption",
    "asleep",
    "awake",
    "foretell",
    "foretells",
    "foretold",
    "heldout",
    "hindsight",
    "parted",
    "settling",
    "temper",
    "tempers",
    "unknown words",
)
"""Words that the program had of its own for things that have a name."""


def entries() -> list[tuple[str, str]]:
    """Terms with their definitions."""
    return ENTRY.findall(GLOSSARY.read_text(encoding="utf-8"))


def spoken(command: Any) -> str:
    """What the help of a command shows: its text, and the options and arguments that are not hidden, with theirs."""
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    words = [word for one in shown for word in (*one.opts, getattr(one, "help", None) or "")]
    return " ".join([command.help or "", *words])


def test_terms_are_defined_once() -> None:
    assert len(entries()) > 40
    assert not [term for term, count in Counter(term.lower() for term, _ in entries()).items() if count > 1]


def test_definitions_are_sentences() -> None:
    assert not [term for term, definition in entries() if not definition.endswith(".")]


def test_names_of_classes_and_types_stand_for_one_thing_each() -> None:
    found: dict[str, dict[str, str]] = {}
    for module, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, {})[module] = module
            elif isinstance(node, ast.AnnAssign | ast.Assign) and not isinstance(node.value, ast.Name):
                name = ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
                if re.fullmatch("[A-Z][A-Za-z]*[a-z][A-Za-z]*", name):
                    found.setdefault(name, {})[module] = ast.unparse(node.value) if node.value else ""
    assert len(found) > 500
    assert not {name: where for name, where in found.items() if len(set(where.values())) > 1}


def test_terms_are_in_order() -> None:
    terms = [term.lower() for term, _ in entries()]
    assert terms == sorted(terms)


def test_commands_have_no_private_language() -> None:
    commands: dict[str, Any] = getattr(typer.main.get_command(cli.app), "commands", {})
    private = re.compile(rf"\b({'|'.join(PRIVATE)})\b", re.IGNORECASE)
    found = {name: private.findall(spoken(command)) for name, command in commands.items()}
    assert commands
    assert not {name: words for name, words in found.items() if words}


def test_modules_named_in_the_table_of_names_exist() -> None:
    root = GLOSSARY.parents[1]
    folders = (root / name for name in ("vmfstream", "connectors", "dashboards", "replay"))
    known = {file.stem for folder in folders for file in folder.rglob("*")}
    table = GLOSSARY.with_name("names.md").read_text(encoding="utf-8").split("## Modules")[1].split("\n## ")[0]
    cells = [row.split("|")[3] for row in table.splitlines() if row.startswith("|") and "---" not in row]
    new = [Path(name).stem for cell in cells for name in re.findall(r"`([^`]+)`", re.sub(r"`[^`]+` →", "", cell))]
    assert len(new) > 60
    assert not [name for name in new if name not in known]
