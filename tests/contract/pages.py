"""What is written for users: the pages, their blocks of code, the lines of commands, links and headings."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.testing import CliRunner

from vmfstream import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    text: str


class Said(NamedTuple):
    """What a page shows below a command or program, and what it prints."""

    of: str
    shown: str
    printed: str


def generated() -> Any:
    """The module that makes the pages of the site that are told by code."""
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text: str) -> list[Block]:
    """The blocks of code of a page."""
    return [Block(language, body) for _, language, body in _FENCE.findall(text)]


def shell_lines(block: Block) -> list[str]:
    """The commands of a block for a shell, without the comments behind them."""
    lines = re.findall(r"^\$ (.+)$", block.text.replace("\\\n", " "), re.MULTILINE)
    return [line.split("   #")[0].split("  #")[0].strip() for line in lines]


def command_lines(text: str) -> Iterator[str]:
    """The lines of a page that call vmfstream, in blocks and between backticks, without the comments behind them."""
    for block in blocks(text):
        if block.language not in ("python", "math", "toml", "text"):
            for line in block.text.replace("\\\n", " ").splitlines():
                for found in re.findall(r"(?:^|[\s/|])vmfstream ([a-z-][^|#\n]*)", line):
                    if line.lstrip().startswith("$") or block.language == "":
                        yield found
    yield from re.findall(r"`vmfstream ([^`]+)`", _FENCE.sub("", text))


def wrong_words(line: str) -> list[str]:
    """Commands and options of a line that vmfstream does not have."""
    command: Any = typer.main.get_command(cli.app)
    words = shlex.split(line.replace("'", " ").replace('"', " "))
    options = {"--help", "-h", "--version"}
    wrong = []
    for word in words:
        if re.match(r"--?[a-z]", word):
            wrong += [] if word.split("=")[0] in options else [word]
        elif word in getattr(command, "commands", {}):
            command = command.commands[word]
            options |= {one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts)}
        elif word == words[0] and not word.isupper():
            wrong.append(word)
    return wrong


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and mkdocs make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain))


def anchors(text: str) -> set[str]:
    """The anchors of a page."""
    return {slug(found) for found in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)}


def links(text: str) -> list[str]:
    """The targets of the links and pictures of a page that lead to files of the project."""
    found = re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def run_through(text: str) -> Iterator[Said]:
    """Run the programs and the commands of vmfstream of a page, one after the other, in the working directory.

    A block of ``text`` behind a program shows what it prints; other commands than vmfstream are left out.
    """
    names: dict[str, Any] = {"__name__": "page"}
    found = blocks(text)
    for place, block in enumerate(found):
        if block.language == "python":
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(block.text, "page", "exec"), names)
            after = found[place + 1] if place + 1 < len(found) else Block("", "")
            yield Said(block.text, after.text if after.language == "text" else "", printed.getvalue())
        elif block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                if line.startswith("vmfstream "):
                    result = CliRunner().invoke(cli.app, shlex.split(line, comments=True)[1:])
                    assert result.exit_code == 0, f"{line}\n{result.output}"
                    yield Said(line, shown, result.stdout)


def is_shown(said: Said) -> bool:
    """Tell whether a page shows what is printed: blanks and the digits of numbers do not count, ``...`` is anything."""
    shown, printed = (re.sub(r"-?\d[\d.,]*", "0", " ".join(one.split())) for one in (said.shown, said.printed))
    return re.fullmatch(re.escape(shown).replace(re.escape("..."), ".*"), printed) is not None
