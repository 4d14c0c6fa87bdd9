"""What is a document and what is rejected, and why, is the same for run, which reads line by line, and for replay."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vmfstream.cli.sources import opened_with_codec
from vmfstream.connectors.lines import MAX_LINE_BYTES
from vmfstream.errors import InputError
from vmfstream.protocols import Codec, Source
from vmfstream.records import Document
from vmfstream.replay.run import open_replay

GOOD = b'{"id": "d%d", "time": "2020-01-%02d", "text": "harbour strike"}\n'
ODD = [
    "[1,2]", "5", "null", "true", '"x"', "", "{", "\0", "[" * 200 + "]" * 200, '{"a":' * 200 + "1" + "}" * 200,
    '{"time": "2020", "text": ' + "[" * 200 + "]" * 200 + "}", '{"time": "2020", "text": {"a": 1}}',
    '{"time": "2020", "text": ["a", "b"]}', '{"time": "2020", "text": 5}', '{"time": "2020", "text": true}',
    '{"time": "2020", "text": null}', '{"time": "2020", "text": " "}', '{"time": {"a": 1}, "text": "a b"}',
    '{"time": [2020], "text": "a b"}', '{"time": true, "text": "a b"}', '{"time": 1e999, "text": "a b"}',
    '{"time": "99999-01-01", "text": "a"}', '{"time": "2020", "text": "a \\ud800 b", "id": "lone"}',
    '{"time": "2020", "text": "a", "x": NaN, "id": "nan"}', '\ufeff{"time": "2020", "text": "mark", "id": "mark"}',
    '{"time": "2020", "text": "a", "id": {"x": 1}}', '{"time": "2020", "text": "a", "title": ["t"], "id": "title"}',
    '{"time": "2020", "text": "a", "id": 123456789012345678901234567890}',
    '{"time": "2020", "text": "a", "id": "deep", "x": ' + "[" * 900 + "]" * 900 + "}",
    '{"time": "2020" "text": "a"}', '{"time": "2020", "text": "a\tb"}', '{"date": "2020", "Text": "upper", "id": "U"}',
]  # fmt: skip


def outcome(source: Source, codec: Codec) -> list[tuple[Any, ...]]:
    """What became of every message, in no order: of documents their fields, of others the reason."""
    found: list[tuple[Any, ...]] = []
    with closing(source):
        while not source.exhausted:
            for message in source.poll(1000, 0.0):
                one = codec.decode(message)
                if isinstance(one, Document):
                    name = one.id if ":" not in one.id else "its place"
                    found.append(("", name, one.time, one.text, one.meta.get("title")))
                else:
                    found.append((one.reason,))
    return sorted(found, key=repr)


def both(path: Path) -> list[tuple[Any, ...]]:
    """Return the outcome of a file, which must be the same read in both ways."""
    by_line = outcome(*opened_with_codec(str(path), {}))
    replayed = open_replay(str(path))
    assert outcome(replayed.source, replayed.codec) == by_line
    return by_line


def test_odd_lines(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"".join(GOOD % (n, n) for n in range(1, 28)) + "\n".join(ODD).encode() + b"\n")
    found = both(path)
    reasons = [one[0] for one in found if one[0]]
    assert len(found) == 27 + len(ODD) - 1  # an empty line is none
    assert len(reasons) == 23
    assert "not a JSON object: line 28 holds a list" in reasons


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.fixed_dictionaries({}, optional={n: VALUES for n in ("id", "time", "text", "title")}), max_size=30)
)
def test_any_fields(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(
        b"".join(GOOD % (n, n) for n in range(1, 28)) + "".join(f"{json.dumps(r)}\n" for r in rows).encode()
    )
    assert len(both(path)) == 27 + len(rows)


def test_a_gzip_bomb_is_one_rejected_row(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(GOOD % (1, 1))
        file.write(b'{"time": "2020", "text": "%s"}\n' % (b" " * (MAX_LINE_BYTES + 5_000_000)))
        file.write(GOOD % (2, 2))
    found = both(path)
    assert [one[1] for one in found if not one[0]] == ["d1", "d2"]
    (reason,) = [one[0] for one in found if one[0]]
    assert reason.startswith("too long: line 2 has ")


@pytest.mark.parametrize("name", ["-", "stdin:"])
def test_standard_input_is_not_sorted(name: str) -> None:
    with pytest.raises(InputError, match="standard input cannot be sorted by time: save it to a file"):
        open_replay(name)
