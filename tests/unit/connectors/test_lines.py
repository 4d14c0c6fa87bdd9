"""Cutting bytes into lines: however the bytes arrive, the lines are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmfstream.connectors.lines import LineSplitter


@given(
    st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), min_size=1, max_size=8),
    st.lists(st.integers(1, 40), max_size=10),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(4, 14),
)
def test_the_cuts_do_not_matter(lines: list[bytes], cuts: list[int], end: bytes, limit: int) -> None:
    body = end.join(lines)
    splitter, found, at = LineSplitter(limit), [], 0
    for cut in [*cuts, len(body) + 1]:
        found += splitter.feed(body[at : at + cut])
        at += cut
    found += splitter.flush()
    if not lines[-1]:  # the end of the last line is not the beginning of another
        lines = lines[:-1]
    assert len(found) == len(lines)
    for number, (line, given_line) in enumerate(zip(found, lines, strict=True)):
        closed = number < len(lines) - 1 or body.endswith(b"\n")
        size = len(given_line) + (len(end) - 1 if closed else 0)
        assert line.oversized == (size if size > limit else None)
        assert line.value == given_line


def test_keeps_the_beginning_of_a_long_line() -> None:
    splitter = LineSplitter(2000)
    assert splitter.feed(b"a" * 900) == []
    assert splitter.feed(b"b" * 1500) == []
    (line,) = splitter.feed(b"c" * 5000 + b"\n")
    assert line == (b"a" * 900 + b"b" * 124, 7400)
    assert splitter.feed(b"next\n") == [(b"next", None)]


def test_refuses_a_limit_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least 1 byte, got 0"):
        LineSplitter(0)
