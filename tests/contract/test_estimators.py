"""The table of what estimators can do says what they can."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from sklearn.base import BaseEstimator

import vmfstream

TABLE = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text(encoding="utf-8")


def test_the_table_of_estimators_is_right() -> None:
    head, _, *rows = [line.strip("|").split("|") for line in TABLE.splitlines() if line.startswith("|")]
    columns = [re.sub(r"[` ]", "", cell) for cell in head[1:]]
    told = {}
    for row in rows:
        kind = getattr(vmfstream, row[0].strip(" `"))
        told[kind.__name__] = kind
        able = set(dir(kind)) | set(inspect.signature(kind).parameters) | set(inspect.signature(kind.fit).parameters)
        marked = {name for name, cell in zip(columns, row[1:], strict=True) if cell.strip()}
        assert marked == able & set(columns), kind.__name__
    public = [getattr(vmfstream, name) for name in vmfstream.__all__]
    estimators = {thing.__name__ for thing in public if inspect.isclass(thing) and issubclass(thing, BaseEstimator)}
    assert set(told) == estimators - {"TopicTracker"}
