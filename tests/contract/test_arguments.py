"""Public functions with three or more arguments say in their docstrings what each argument is.

An argument is named in the function's docstring, in that of its class if it makes one, or in that of a function to
which it refers by "as in `name`": in a list of parameters, or between double backticks, which formulas need not have.
Arguments that all functions of a file share stand in the file's docstring.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("vmfstream", "connectors", "dashboards", "replay")
COMMANDS = ROOT / "vmfstream" / "cli"  # their options say it themselves, see test_docs
MANY = 3
SYMBOL = 2  # most letters of a name that a formula explains

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Public(NamedTuple):
    """A public function: where it is, its name, its arguments, its docstring."""

    place: str
    name: str
    arguments: tuple[str, ...]
    said: str


def arguments(function: Function) -> tuple[str, ...]:
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return tuple(one.arg for one in every if one is not None and one.arg not in ("self", "cls"))


def functions(body: list[ast.stmt], place: str, of_class: str = "") -> Iterator[Public]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from functions(node.body, f"{place} {node.name}", ast.get_docstring(node) or "")
        elif isinstance(node, Function) and (node.name == "__init__" or not node.name.startswith("_")):
            said = (ast.get_docstring(node) or "") + (f"\n{of_class}" if node.name == "__init__" else "")
            yield Public(f"{place} {node.name}", node.name, arguments(node), said)


def names(argument: str, said: str) -> bool:
    """Tell whether a docstring names an argument."""
    if len(argument) <= SYMBOL and re.search(rf"(?<!\w){argument}(?!\w)", said):
        return True
    quoted = " ".join(re.findall(r"``([^`]+)``", said))
    listed = rf"(^|; )\s*([\w*]+, )*\**{argument}(, [\w*]+)*( : |$)"
    return bool(re.search(rf"(?<!\w){argument}(?!\w)", quoted) or re.search(listed, said, re.MULTILINE))


def unsaid(one: Public, shared: str, others: dict[str, str]) -> list[str]:
    """Return the arguments of a function that are nowhere explained."""
    said = "\n".join([one.said, *(others.get(name, "") for name in re.findall(r"as in `+(\w+)`", one.said))])
    return [name for name in one.arguments if not names(name, said) and f"``{name}``" not in shared]


def test_every_argument_is_explained() -> None:
    found: list[Public] = []
    missing: dict[int, list[str]] = {}
    for file in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))):
        if COMMANDS in file.parents:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        here = list(functions(tree.body, str(file.relative_to(ROOT))))
        others = {one.name: one.said for one in here}
        for one in here:
            if len(one.arguments) >= MANY:
                missing[len(found)] = unsaid(one, ast.get_docstring(tree) or "", others)
                found.append(one)
    assert len(found) > 400
    said = {(one.name, one.arguments) for at, one in enumerate(found) if not missing[at]}  # by an interface
    assert not {
        one.place: missing[at] for at, one in enumerate(found) if missing[at] and (one.name, one.arguments) not in said
    }
