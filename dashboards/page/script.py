"""The page's own script: the modules of ``browser/``, joined into one script without requests.

Every file is an ES module. Those of the panels, named as in ``PANELS``, and those that ``main.js`` imports follow each
other so that each comes after what it imports; their import lines, lines of comments and the word export go, and one
function holds them all. So that the script does what the modules do, imports must not be circular or renamed, and no
name may be defined twice at the top of modules.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from vmfstream.dashboards import PANELS

MAIN = "main.js"

_IMPORT = re.compile(r'^import (?:\{[^}]*\} from )?"\./(\w+\.js)";\n', re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |let |function |async function )", re.MULTILINE)


@cache
def script() -> str:
    """Return all modules as one script, without lines of comments."""
    bodies = (_EXPORT.sub("", _IMPORT.sub("", _COMMENT.sub("", asset(name)))) for name in modules())
    return '(() => {\n"use strict";\n' + "\n".join(bodies) + "})();"


@cache
def modules() -> tuple[str, ...]:
    """Return the names of all modules, each after those that it imports.

    Raises
    ------
    ValueError
        If modules import each other in a circle.
    """
    order: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"modules import each other: {' > '.join((*above, name))}")
        if name not in order:
            for imported in _IMPORT.findall(asset(name)):
                add(imported, (*above, name))
            order.append(name)

    for name in (*(f"{panel}.js" for panel in PANELS), MAIN):
        add(name, ())
    return tuple(order)


def asset(name: str) -> str:
    """Return the text of a file of ``browser/``."""
    return resources.files("vmfstream.dashboards").joinpath("browser", name).read_text(encoding="utf-8")
