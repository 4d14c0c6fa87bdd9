"""A module imports from its own floor or below, never above; some floors have stricter rules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MODELS = ("temporal", "hierarchical", "admixture", "multilevel")
"""Models that do not know of each other."""

FLOORS = {
    "vmfstream": -1,
    "vmfstream.arrays": 0,
    "vmfstream.records": 0,
    "vmfstream.protocols": 0,
    "vmfstream.errors": 0,
    "vmfstream.field_names": 0,
    "vmfstream.field_texts": 0,
    "vmfstream.html_references": 0,
    "vmfstream.clock": 0,
    "vmfstream.decisions": 0,
    "vmfstream.seeds": 0,
    "vmfstream.folders": 0,
    "vmfstream.locks": 0,
    "vmfstream.machine": 0,
    "vmfstream.runtime_tuning": 0,
    "vmfstream.stages": 0,
    "vmfstream.progress": 0,
    "vmfstream.times": 0,
    "vmfstream.slicing": 0,
    "vmfstream.takeovers": 0,
    "vmfstream.directional": 0,
    "vmfstream.mixtures": 1,
    "vmfstream.bayes.factors": 1.1,
    "vmfstream.bayes": 1.2,
    "vmfstream.bayes.flat": 1.3,
    **{f"vmfstream.bayes.{model}": 1.4 for model in MODELS},
    "vmfstream.online": 2,
    "vmfstream.stories": 2,
    "vmfstream.runfile": 3,
    "vmfstream.text": 3,
    "vmfstream.engine": 4,
    "vmfstream.frozen": 4.1,
    "vmfstream.estimators": 5,
    "vmfstream.topic_tracker": 5.1,
    "vmfstream.datasets": 5,
    "vmfstream.metrics": 5,
    "vmfstream.clustering_metrics": 5,
    "vmfstream.connectors": 6,
    "vmfstream.dashboards": 7,
    "vmfstream.replay": 7,
    "vmfstream.plot": 8,
    "vmfstream.cli": 8,
    "vmfstream.__main__": 8,
}
ONLY = {
    "vmfstream.connectors": (
        "vmfstream.connectors",
        "vmfstream.records",
        "vmfstream.protocols",
        "vmfstream.errors",
        "vmfstream.field_names",
        "vmfstream.field_texts",
        "vmfstream.html_references",
        "vmfstream.clock",
        "vmfstream.folders",
        "vmfstream.machine",
        "vmfstream.runtime_tuning",
        "vmfstream.times",
    ),
    "vmfstream.dashboards": (
        "vmfstream.dashboards",
        "vmfstream.clock",
        "vmfstream.records",
        "vmfstream.errors",
        "vmfstream.folders",
        "vmfstream.machine",
        "vmfstream.runfile.queries",
        "vmfstream.runfile.verification",
        "vmfstream.slicing",
        "vmfstream.takeovers",
    ),
}
NEVER = {
    "vmfstream.replay": ("vmfstream.dashboards",),
    **{f"vmfstream.bayes.{one}": tuple(f"vmfstream.bayes.{two}" for two in MODELS if two != one) for one in MODELS},
}
NUMERIC = {"numpy", "scipy", "numba", "llvmlite", "threadpoolctl"}
"""llvmlite is how numba writes intrinsics, threadpoolctl tells the library below numpy how many threads it may use."""


def modules() -> list[tuple[str, Path]]:
    found = []
    for folder, package in (
        ("vmfstream", "vmfstream"),
        *((f, f"vmfstream.{f}") for f in ("connectors", "dashboards", "replay")),
    ):
        for path in sorted((ROOT / folder).rglob("*.py")):
            inner = path.relative_to(ROOT / folder)
            if folder == "vmfstream" and inner.parts[0] in ("connectors", "dashboards", "replay"):
                continue
            parts = [p for p in inner.with_suffix("").parts if p != "__init__"]
            found.append((".".join([package, *parts]), path))
    return found


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            if node.module in ("vmfstream", *FLOORS):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floor(module: str) -> float:
    known = [name for name in FLOORS if module == name or (name != "vmfstream" and module.startswith(name + "."))]
    assert known, f"{module} stands on no floor"
    return FLOORS[max(known, key=len)]


def test_every_room_is_found() -> None:
    names = [name for name, _ in modules()]
    assert len(names) > 30
    assert "vmfstream.connectors.codecs" in names


def faults(module: str, path: Path) -> Iterator[str]:
    """What a module imports and must not."""
    own = floor(module)
    for name in imports(path):
        if not name.startswith("vmfstream"):
            continue
        placed = any(name == known or name.startswith(known + ".") for known in FLOORS if known != "vmfstream")
        if placed and floor(name) > own != -1:
            yield f"{module} imports {name} from a floor above"
        for room, allowed in ONLY.items():
            if module.startswith(room) and not name.startswith(allowed):
                yield f"{module} may import only {', '.join(allowed)}; it imports {name}"
        for room, banned in NEVER.items():
            if module.startswith(room) and name.startswith(banned):
                yield f"{module} must not import {name}"


def test_the_table_of_floors_names_every_module_of_its_own() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Floors")[1].split("## ")[0]
    alone = [path.name for path in (ROOT / "vmfstream").glob("*.py") if not path.name.startswith("__")]
    assert [name for name in alone if f"{name}`" not in table] == []


def test_imports_go_down() -> None:
    assert not [fault for module, path in modules() for fault in faults(module, path)]


def not_numeric(module: str, path: Path) -> Iterator[str]:
    """What a module of a numeric floor imports beside numbers."""
    if not 0 <= floor(module) <= 2 or module in ("vmfstream.records", "vmfstream.protocols", "vmfstream.errors"):
        return
    for name in imports(path):
        top = name.split(".")[0]
        if top not in NUMERIC | {"vmfstream"} and top not in sys.stdlib_module_names:
            yield f"{module} imports {name}"


def test_numeric_floors_need_numbers_only() -> None:
    assert not [fault for module, path in modules() for fault in not_numeric(module, path)]
