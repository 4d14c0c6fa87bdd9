"""Functions of the page's modules, called by Node.js without a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

BROWSER = Path(__file__).parents[3] / "dashboards" / "browser"
CALL = """
import { readFileSync } from "node:fs";
const { module, name, calls } = JSON.parse(readFileSync(0));
const called = (await import(module))[name];
console.log(JSON.stringify(calls.map((given) => called(...given))));
"""

needs_node = pytest.mark.skipif(not shutil.which("node") and "CI" not in os.environ, reason="needs Node.js")


def called(module: str, name: str, calls: list[tuple[Any, ...]]) -> list[Any]:
    """What a function of a module returns for each tuple of arguments; the clock is that of UTC."""
    given = {"module": (BROWSER / module).as_uri(), "name": name, "calls": calls}
    command = ["node", "--input-type=module", "--eval", CALL]
    environment = os.environ | {"TZ": "UTC"}
    found: list[Any] = json.loads(subprocess.check_output(command, input=json.dumps(given), text=True, env=environment))
    return found
