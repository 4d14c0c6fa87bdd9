"""Convert records to JSON values and named arrays, and back, so that they are stored without pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

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
    record = _KINDS[name](**{names.get(field, field): part for field, part in parts.items()})
    _check_record(record)
    return record


def check(value: Any, expected: Any, name: str) -> None:
    """Refuse a ``value`` that is not of the type ``expected``, with ``name`` in the message.

    Raises
    ------
    ValueError
    """
    if not _fits(value, expected):
        raise ValueError(f"{name}: expected {expected}, got {type(value).__name__}")


def _check_record(record: Any) -> None:
    """Refuse a record with a field of another type, or with columns of different lengths."""
    kind: Any = type(record)
    types, columns = _types(kind)
    for name, expected in types.items():
        check(getattr(record, name), expected, f"{kind.__name__}.{name}")
    for name in columns:
        column = getattr(record, name)
        if column is not None and len(column) != len(getattr(record, columns[0])):
            raise ValueError(f"{kind.__name__}.{name}: expected a column of the same length as the others")
        if isinstance(column, np.ndarray) and column.ndim != 1 + (name in _MATRICES):
            raise ValueError(f"{kind.__name__}.{name}: expected an array of another shape than {column.shape}")


_MATRICES = ("angles", "sketches")


@cache
def _types(kind: type) -> tuple[dict[str, Any], list[str]]:
    """Return the types of the fields of a kind of record, and, of one that has arrays, which are columns."""
    types = get_type_hints(kind)
    origins = {name: [_parts(one)[0] for one in (expected, *_either(expected))] for name, expected in types.items()}
    if not any(np.ndarray in some for some in origins.values()):
        return types, []
    return types, [name for name, some in origins.items() if np.ndarray in some or Sequence in some]


@cache
def _parts(expected: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the origin and the arguments of a type; ``NDArray`` can be a name of one, that of NumPy 2.5 is."""
    kind, parts = get_origin(expected), get_args(expected)
    return _parts(kind.__value__[parts]) if hasattr(kind, "__value__") else (kind, parts)


@cache
def _either(expected: Any) -> tuple[Any, ...]:
    """Return the types of which one is expected, nothing if it is a single one."""
    kind, parts = _parts(expected)
    return parts if kind in (UnionType, Union) else ()


def _fits(value: Any, expected: Any) -> bool:
    kind, parts = _parts(expected)
    if expected is Any:
        return True
    if either := _either(expected):
        return any(_fits(value, one) for one in either)
    if kind is np.ndarray:
        wanted = get_args(parts[1])[0]
        return isinstance(value, np.ndarray) and (wanted is Any or value.dtype.kind == np.dtype(wanted).kind)
    if kind is Sequence:
        return isinstance(value, list | tuple) and all(_fits(one, parts[0]) for one in value)
    if kind is tuple:
        return isinstance(value, list | tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
    if kind in (Mapping, dict):
        return isinstance(value, dict) and all(_fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items())
    return isinstance(value, int | float if expected is float else expected)
