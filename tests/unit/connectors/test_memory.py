"""The marks of the source that tests are made of."""

from __future__ import annotations

import pytest

from vmfstream.connectors import open_source
from vmfstream.connectors.memory import ABORT, EOF, PAUSE, Aborted, MemorySource


def values(source: MemorySource, limit: int = 10) -> list[object]:
    return [message.value for message in source.poll(limit, 0.0)]


def test_a_pause_is_one_empty_poll() -> None:
    source = MemorySource([PAUSE, b"a", b"b", PAUSE, PAUSE, b"c", PAUSE])
    assert [values(source) for _ in range(6)] == [[], [b"a", b"b"], [], [], [b"c"], []]
    assert source.exhausted


def test_an_abort_raises_once_and_a_restart_goes_on() -> None:
    source = MemorySource([b"a", ABORT, b"b"])
    assert values(source) == [b"a"]
    with pytest.raises(Aborted, match="before item 1"):
        source.poll(10, 0.0)
    source.seek({"memory": 0})
    assert values(source) == [b"a", b"b"]


def test_an_end_holds_until_a_seek() -> None:
    source = MemorySource([b"a", EOF, b"b"])
    assert values(source) == [b"a"]
    assert not source.exhausted
    assert values(source) == []
    assert source.exhausted
    assert values(source) == []
    source.seek({"memory": 1})
    assert not source.exhausted
    assert values(source) == [b"b"]
    assert source.exhausted


def test_opens_by_url() -> None:
    source = open_source("memory:", items=[{"text": "a"}], name="mine")
    assert (source.name, source.total) == ("mine", 1)
    assert open_source("memory:").exhausted
