"""Convert records to JSON values and named arrays, and back, so that they are stored without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import numpy as np

from vmfstream import records
from vmfstream.records import Arrays

_OLD_KINDS = {"Typical": "Representative"}
_OLD_FIELDS = {
    "EpochReport": {"unknown": "oov_rate", "heldout": "prequential"},
    "SliceReport": {"settling": "warm_up", "typical": "representative", "temper": "temperature"},
    "TopicRows": {"speed": "drift_angle", "speed_error": "drift_angle_error"},
}
"""Names under which earlier versions saved records and their fields, each with today's."""

_KINDS = {name: kind for name, kind in vars(records).items() if isinstance(kind, type) and is_dataclass(kind)}


def to_json(value: Any, arrays: Arrays) -> Any:
    """Return a value that JSON can hold; arrays in it are put into ``arrays`` under new names.

    Raises
    ------
    ValueError
        If it holds something that is neither a record nor a plain value.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        name = f"array.{len(arrays)}"
        arrays[name] = value
        return {"@array": name}
    if isinstance(value, datetime):
        return {"@time": value.isoformat()}
    if isinstance(value, bytes):
        return to_json(np.frombuffer(value, np.uint8), arrays) | {"@bytes": True}
    if type(value).__name__ in _KINDS:
        return {"@record": type(value).__name__} | {
            f.name: to_json(getattr(value, f.name), arrays) for f in fields(value)
        }
    if isinstance(value, Mapping):
        return {"@mapping": [[to_json(part, arrays) for part in pair] for pair in value.items()]}
    if isinstance(value, tuple):
        return {"@tuple": [to_json(part, arrays) for part in value]}
    if isinstance(value, list):
        return [to_json(part, arrays) for part in value]
    raise ValueError(f"expected a record or a plain value, got {type(value).__name__}")


def from_json(value: Any, arrays: Arrays) -> Any:
    """Return the value that `to_json` was given, equal in every number; records of earlier versions get today's names.

    Raises
    ------
    ValueError
        If it was not made by `to_json`.
    """
    if isinstance(value, list):
        return [from_json(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    if "@array" in value:
        found = arrays[value["@array"]]
        return found.tobytes() if "@bytes" in value else found
    if "@time" in value:
        return datetime.fromisoformat(value["@time"])
    if "@tuple" in value:
        return tuple(from_json(part, arrays) for part in value["@tuple"])
    if "@mapping" in value:
        return {from_json(key, arrays): from_json(part, arrays) for key, part in value["@mapping"]}
    name = value.get("@record", "")
    name = _OLD_KINDS.get(name, name)
    if name not in _KINDS:
        raise ValueError(f"expected a record, got {value.get('@record')!r}")
    parts = {field: from_json(part, arrays) for field, part in value.items() if field != "@record"}
    if "temper" in parts:  # was the inverse
        parts["temper"] = 1.0 / parts["temper"]
    if name == "DocumentRows" and "second" not in parts:  # earlier versions had no second topics
        n = len(parts["id"])
        parts |= {"second": np.full(n, -1), "second_probability": np.full(n, np.nan, np.float32)}
        parts |= {"place": np.full(n, -1)}
    names = _OLD_FIELDS.get(name, {})
    return _KINDS[name](**{names.get(field, field): part for field, part in parts.items()})
