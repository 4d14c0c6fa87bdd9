"""The clock of a process does not go back, and nothing but it decides by the machine's."""

from __future__ import annotations

import ast
from pathlib import Path

import vmfstream
from vmfstream.clock import SteadyClock

STAMPS = {"decisions.py", "runfile/inbox.py", "runfile/schema.py", "runfile/snapshots.py"}
"""Files that note when something was made, and compare that with nothing."""


def test_it_follows_the_clock_ahead_and_never_back() -> None:
    wall, passed = iter([100.0, 101.0, 50.0, 51.0, 500.0, 90.0]), iter([7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
    clock = SteadyClock(lambda: next(wall), lambda: next(passed))
    assert [clock() for _ in range(6)] == [100.0, 101.0, 102.0, 103.0, 500.0, 501.0]


def test_nothing_else_decides_by_the_machines_clock() -> None:
    root = Path(vmfstream.__file__).parent
    asks = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today")}
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in asks
    }
    assert found - {"clock.py"} == STAMPS
