"""Trackers on a topic in processes of their own, to be killed."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import duckdb

from vmfstream.records import Position

_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(["tests.warmed", "vmfstream.connectors.kafka.source"])

SUBJECTS = (
    "harbour ship crane cargo docker sailor vessel anchor",
    "comet moon orbit rocket telescope astronaut galaxy launch",
    "wheat barley farmer harvest grain field tractor seed",
)


def documents(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Documents of three subjects, an hour apart from each other by the thousand."""
    rng = random.Random(seed)
    words = [subject.split() for subject in SUBJECTS]
    return [
        {
            "id": f"d{i}",
            "time": 1_600_000_000 + i * 36 // 10,
            "text": " ".join(rng.choices(words[i % 3], k=6)),
        }
        for i in range(count)
    ]


def times(rows: list[dict[str, Any]]) -> list[int]:
    """When the messages of documents were written, in milliseconds."""
    return [row["time"] * 1000 for row in rows]


def follow_topic(path: str, url: str, until: Position | None, settings: dict[str, Any]) -> None:
    """Run (or continue) a topic into a log until these offsets are read."""
    from vmfstream.connectors import open_source
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.engine.run import RunSettings, follow
    from vmfstream.runfile.writer import RunFile

    given: dict[str, Any] = {"topics": 3, "slices": "5000", "threads": 1, "window": 300, "epoch_documents": 1000}
    given |= settings
    linger = given.pop("linger", None)
    source = open_source(url, **given.pop("source", {}))
    end = None if until is None else sum(until.values())
    told: list[int] = []
    store = RunFile(path)
    try:
        follow(
            source,
            FieldCodec(unit="offset"),
            store,
            RunSettings(**given),
            linger=linger,
            observe=lambda now: told.append(now.documents + now.rejected),
            stop=lambda: told[-1] == end,
        )
    finally:
        source.close()


def tracker(path: Path, url: str, until: Position | None = None, **settings: Any) -> Any:
    """Start one, which ends with the tests at the latest."""
    child = _servers.Process(target=follow_topic, args=(str(path), url, until, settings), daemon=True)
    child.start()
    return child


def stored(path: Path) -> dict[str, int]:
    """The position of a log."""
    return dict(ask(path, "select part, next_offset from position"))


def counts(path: Path) -> tuple[int, int]:
    """Documents and rejected messages of a log."""
    ((n, rejected),) = ask(path, "select coalesce(sum(n), 0)::bigint, coalesce(sum(rejected), 0)::bigint from epoch")
    return n, rejected


def ask(path: Path, query: str) -> list[Any]:
    """Rows of a log that may be written meanwhile."""
    for _ in range(500):
        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                return connection.execute(query).fetchall()
        except (duckdb.IOException, duckdb.CatalogException):
            time.sleep(0.02)
    raise AssertionError(f"{path} is never free, or holds no tables")


def wait_for(what: Any, seconds: float = 60.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def long_documents(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Documents of 1.3 KB in 30 subjects with words of their own and words that all share."""
    rng = random.Random(first)
    shared = [f"common{i}" for i in range(2000)]
    out = []
    for i in range(first, first + count):
        own = [f"subject{i % 30}word{j}" for j in range(40)]
        text = " ".join(rng.choices(own, k=30) + rng.choices(shared, k=65))
        out.append({"id": f"d{i}", "time": 1_600_000_000 + i, "text": text})
    return out
