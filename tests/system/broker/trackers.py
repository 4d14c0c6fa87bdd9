"""Trackers on a topic in processes of their own, to be killed."""

from __future__ import annotations

import atexit
import random
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tests.processes import SERVER
from tests.waiting import has_ended, wait_for
from vmfstream.connectors.kafka.publisher import Deadlines
from vmfstream.records import Position

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
    given |= {"documents": "all"} | settings
    linger = given.pop("linger", None)
    source = open_source(url, **given.pop("source", {}))
    end = None if until is None else sum(until.values())
    progress: list[int] = []
    store = RunFile(path)
    try:
        follow(
            source,
            FieldCodec(unit="offset"),
            store,
            RunSettings(**given),
            linger=linger,
            observe=lambda now: progress.append(now.documents + now.rejected),
            stop=lambda: progress[-1] == end,
        )
    finally:
        source.close()


def tracker(path: Path, url: str, until: Position | None = None, **settings: Any) -> Any:
    """Start one, which ends with the tests at the latest."""
    child = SERVER.Process(target=follow_topic, args=(str(path), url, until, settings), daemon=True)
    child.start()
    return child


def follow_command(words: tuple[str, ...], deadlines: Deadlines) -> None:
    """Run a command whose Kafka producers have other deadlines, and which tries again soon after it could not send."""
    from vmfstream.cli import main
    from vmfstream.connectors.kafka import sending_process
    from vmfstream.engine.observers import delivery

    made = partial(sending_process.PublishingProcess, deadlines=deadlines)
    sending_process.PublishingProcess = made  # type: ignore[misc, assignment]
    delivery.Delivery = partial(delivery.Delivery, rest=0.5)  # type: ignore[misc, assignment]
    sys.argv = ["vmfstream", *words]
    main()


def command(*words: object, deadlines: Deadlines) -> Any:
    """Start a command in a process of its own, which ends with the tests at the latest.

    ``deadlines`` are those of its producers.
    """
    child = SERVER.Process(target=follow_command, args=(tuple(map(str, words)), deadlines))  # has a child itself
    child.start()
    atexit.register(child.kill)
    return child


def children(process: int) -> list[int]:
    """Return the numbers of the processes that a process has started."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += map(int, (task / "children").read_text().split())
    return found


def stored(path: Path) -> dict[str, int]:
    """The position of a log, empty while there is no log."""
    return dict(ask(path, "select part, next_offset from position")) if path.exists() else {}


def rows_of(path: Path, table: str) -> int:
    """How many rows a table of a log has, 0 while there is no log."""
    return int(ask(path, f"select count(*) from {table}")[0][0]) if path.exists() else 0


def counts(path: Path) -> tuple[int, int]:
    """Documents and rejected messages of a log, none while there is no log."""
    if not path.exists():
        return 0, 0
    ((n, rejected),) = ask(path, "select coalesce(sum(n), 0)::bigint, coalesce(sum(rejected), 0)::bigint from epoch")
    return n, rejected


def written(path: Path) -> tuple[int, int]:
    """Size and time of the last change of a log, which tell of progress without holding it up."""
    if not path.exists():
        return 0, 0
    now = path.stat()
    return now.st_size, now.st_mtime_ns


def join(child: Any, path: Path) -> None:
    """Wait for the end of a process as long as it writes into its log."""
    wait_for(lambda: (has_ended(child), written(path)), lambda seen: seen[0])


def ask(path: Path, query: str) -> list[Any]:
    """Rows of a log that may be written meanwhile: waits while another process holds it or makes its tables."""
    found: list[Any] = []

    def look() -> tuple[int, int] | None:
        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                found[:] = connection.execute(query).fetchall()
        except (duckdb.IOException, duckdb.CatalogException):
            return written(path)
        return None

    wait_for(look, lambda busy: busy is None)
    return found


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
