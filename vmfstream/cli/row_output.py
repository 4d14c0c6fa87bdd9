"""Print rows as a table for people, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from vmfstream.cli.console import table_console
from vmfstream.cli.logs import for_terminal
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

FORMATS = ("table", "csv", "jsonl")
"""Formats in which commands list documents."""

_LONG = 24
"""Letters above which texts of a column are wrapped where the terminal is narrow."""


def check_format(format: str) -> None:
    """Raise InputError for a format that is none of `FORMATS`."""
    if format not in FORMATS:
        raise InputError(f"--format: expected table, csv or jsonl, got {format!r}")


def print_rows(rows: list[dict[str, Any]], as_json: bool, nothing: str, spare: Sequence[str] = ()) -> None:
    """Print rows as a table, or as JSON.

    Where a table is wider than the terminal, long texts are wrapped; if that does not suffice, columns are left out and
    named, those of ``spare`` first. In a pipe or a file it has all of them, with lines of any length.

    Parameters
    ----------
    rows : each with the same keys, which are the columns.
    as_json : whether to print each row as a line of JSON.
    nothing : what a table without rows says.
    spare : columns to leave out first, in this order; then the last ones.
    """
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    console = table_console()
    names, left_out = list(rows[0]) if rows else [nothing], list[str]()
    while len(names) > 1 and sum(_width(rows, name) for name in names) + 2 * (len(names) - 1) > console.width:
        left_out.append(next((name for name in spare if name in names), names[-1]))
        names.remove(left_out[-1])
    console.print(_table(rows, names, console.is_terminal))
    if left_out:
        typer.echo(f"not shown, for want of room: {', '.join(left_out)}; a pipe or a file gets all columns", err=True)


def _table(rows: list[dict[str, Any]], names: Sequence[str], terminal: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in names:
        least = _width(rows, name)
        heading = name.replace("_", "\n") if terminal else name
        table.add_column(heading, overflow="fold", min_width=least, no_wrap=not _is_long(rows, name))
    for row in rows:
        table.add_row(*(Text(_cell(row[name])) for name in names))
    return table


def _is_long(rows: list[dict[str, Any]], name: str) -> bool:
    """Tell whether the texts of a column may be wrapped."""
    return max((len(_cell(row[name])) for row in rows), default=0) > _LONG


def _width(rows: list[dict[str, Any]], name: str) -> int:
    """Return the least width of a column; where texts may be wrapped it holds most words whole."""
    texts = [_cell(row[name]) for row in rows]
    heading = max(map(len, name.split("_")))
    if not _is_long(rows, name):
        return max([heading, *map(len, texts)])
    return max([heading, _LONG // 2, *(min(len(word), _LONG) for text in texts for word in text.split())])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    text = " ".join(value) if isinstance(value, list) else str(value)
    return for_terminal(text, lines=False)
