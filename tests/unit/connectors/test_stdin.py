"""A pipe as a source: it waits as long as it is told and not longer."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from vmfstream.connectors import open_source
from vmfstream.connectors.stdin import StdinSource
from vmfstream.errors import InputError


@pytest.fixture
def pipe() -> Iterator[tuple[StdinSource, int]]:
    reading, writing = os.pipe()
    yield StdinSource(descriptor=reading), writing
    os.close(reading)


def test_an_empty_pipe_is_no_end(pipe: tuple[StdinSource, int]) -> None:
    source, writing = pipe
    waited = []
    for _ in range(3):
        begun = time.monotonic()
        assert source.poll(5, 0.1) == []
        waited.append(time.monotonic() - begun)
    assert 0.09 < min(waited) < 0.5  # the shortest: another process may have had the processor
    assert not source.exhausted
    os.close(writing)
    assert source.poll(5, 1.0) == []
    assert source.exhausted


def test_gives_whole_lines_as_they_arrive(pipe: tuple[StdinSource, int]) -> None:
    source, writing = pipe
    os.write(writing, b'{"a": 1}\n{"a"')
    begun = time.monotonic()
    assert [message.value for message in source.poll(5, 100.0)] == [b'{"a": 1}']
    assert time.monotonic() - begun < 50  # it has a line, and does not wait for five
    threading.Timer(0.05, os.write, [writing, b": 2}\n\nlast"]).start()
    assert [message.value for message in source.poll(5, 100.0)] == [b'{"a": 2}']
    os.close(writing)
    assert [(m.part, m.offset, m.value) for m in source.poll(5, 5.0)] == [("stdin", 3, b"last")]


def test_other_lines_are_counted_behind_those_that_were_read(pipe: tuple[StdinSource, int]) -> None:
    source, writing = pipe
    threading.Timer(0.3, os.write, [writing, b"\n8\n9\n"]).start()
    first = source.first(lambda: False)
    assert first is not None
    assert first.value == b"8"
    source.count_from({"stdin": 7})
    assert [(m.offset, m.value) for m in source.poll(5, 1.0)] == [(8, b"8"), (9, b"9")]
    os.close(writing)


def test_waiting_for_the_first_line_ends_when_it_shall(pipe: tuple[StdinSource, int]) -> None:
    source, writing = pipe
    asked = iter((False, True))
    assert source.first(lambda: next(asked)) is None
    os.close(writing)
    assert source.first(lambda: False) is None


def test_passes_over_the_lines_read_before_and_cannot_go_back(pipe: tuple[StdinSource, int]) -> None:
    source, writing = pipe
    os.write(writing, b"1\n2\n3\n4\n")
    source.seek({"stdin": 2})
    assert [(m.offset, m.value) for m in source.poll(1, 1.0)] == [(2, b"3")]
    with pytest.raises(InputError, match="cannot go back to line 2, 3 lines were read"):
        source.seek({"stdin": 1})
    os.close(writing)


def test_plain_lines_have_their_arrival_as_time() -> None:
    reading, writing = os.pipe()
    source = open_source("stdin:", format="txt", descriptor=reading)
    os.write(writing, b"some words\n")
    os.close(writing)
    (message,) = source.poll(5, 1.0)
    assert message.value == {"text": b"some words"}
    assert message.time is not None
    assert abs(message.time.timestamp() - time.time()) < 60
    os.close(reading)


def test_refuses_without_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdin", missing)
        with pytest.raises(InputError, match="there is no standard input"):
            open_source("-")
    with pytest.raises(InputError, match="jsonl or txt, got 'csv'"):
        open_source("-", format="csv")
