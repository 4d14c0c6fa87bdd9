"""Print rows as a table for people, or as JSON."""

from __future__ import annotations

import json
from typing import Any

import typer

from vmfstream.cli.console import table_console
from vmfstream.errors import InputError

FORMATS = ("table", "csv", "jsonl")
"""Formats in which commands list documents."""


def check_format(format: str) -> None:
    """Raise InputError for a format that is none of `FORMATS`."""
    if format not in FORMATS:
        raise InputError(f"--format: expected table, csv or jsonl, got {format!r}")


def print_rows(rows: list[dict[str, Any]], as_json: bool, nothing: str) -> None:
    """Print rows as a table, or as JSON; ``nothing`` is what a table without rows says."""
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in rows[0] if rows else [nothing]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    table_console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    text = " ".join(value) if isinstance(value, list) else str(value)
    return "".join(letter if letter.isprintable() else " " for letter in text)  # titles are written by strangers
