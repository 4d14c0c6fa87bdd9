"""Programs beside a test of the log, and all that a log holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb


def snapshot(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table but the clock's."""
    with duckdb.connect(path, read_only=True) as connection:
        tables = connection.execute("select table_name from duckdb_tables() order by 1").fetchall()
        rows = {table: connection.execute(f"select * from {table} order by all").fetchall() for (table,) in tables}
    rows["epoch"] = [row[:3] + row[4:] for row in rows["epoch"]]
    return rows


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
    )  # fmt: skip
