"""Documents of three subjects over four years, and what tests of commands do with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb

Run = Callable[..., tuple[int, str, str]]

SUBJECTS = (
    "harbour ship crane cargo docker sailor vessel anchor",
    "comet moon orbit rocket telescope astronaut galaxy launch",
    "wheat barley farmer harvest grain field tractor seed",
)

COMMAND = ("--slices", "year", "-k", 3)
"""How a run follows them."""


def lines(n: int = 120, start: int = 2001) -> list[dict[str, object]]:
    """Documents of three subjects over four years."""
    rows: list[dict[str, object]] = []
    for i in range(n):
        words = SUBJECTS[i % 3].split()
        text = " ".join(words[(i + j) % len(words)] for j in range(6))
        rows.append({"id": f"d{i}", "time": str(start + i * 4 // n), "title": f"Report {i}", "text": text})
    return rows


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def count(run_file: Path, table: str) -> int:
    with duckdb.connect(str(run_file), read_only=True) as connection:
        return int(connection.execute(f"select count(*) from {table}").fetchall()[0][0])
