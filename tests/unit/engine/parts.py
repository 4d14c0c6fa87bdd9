"""A list per part as a source that can be read in ranges, in this process or in others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tests.unit.engine.documents import SUBJECTS, document
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.scale.executor import InProcess
from vmfstream.engine.scale.ranged_batches import RangedBatches
from vmfstream.online.state import TrackerSettings
from vmfstream.protocols import Executor, Store
from vmfstream.records import Message, Position, Range
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import TextEncoder

Items = Sequence[bytes | Mapping[str, Any]]


class Parts:
    """Parts by name; all of it can be pickled."""

    name = "parts"
    total = None

    def __init__(self, parts: Mapping[str, Items], ended: bool = True) -> None:
        self.parts = {name: list(items) for name, items in parts.items()}
        self.exhausted = ended

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        raise AssertionError("nobody polls what is read in ranges")

    def seek(self, position: Position) -> None:
        """Parts are read wherever one wants."""

    def close(self) -> None:
        """Nothing is open."""

    def extents(self, position: Position) -> Sequence[Range]:
        return [Range(name, position.get(name, 0), len(items)) for name, items in self.parts.items()]

    def reader(self) -> Parts:
        return self

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        messages: list[Message] = []
        total = 0
        for offset in range(wanted.first, wanted.last):
            value = self.parts[wanted.part][offset]
            messages.append(Message(wanted.part, offset, value))
            total += len(value) if isinstance(value, bytes) else len(str(value))
            if total >= limit:
                return messages, offset + 1
        return messages, wanted.last


def spread(items: Iterable[Any], parts: int) -> dict[str, Items]:
    """Documents dealt out to parts."""
    rows = list(items)
    return {f"p{number}": rows[number::parts] for number in range(parts)}


def news(count: int, slices: int, subjects: Sequence[Sequence[str]] = SUBJECTS) -> list[dict[str, Any]]:
    """Documents evenly spread over the years from 2001 on, with a rare word of their own now and then."""
    rows = [document(i, 2001 + i * slices // count, subjects) for i in range(count)]
    for i, row in enumerate(rows):
        row["text"] += f" rare{i % 97} year{row['time']}"
    return rows


def ranged(
    source: Parts,
    store: Store | None = None,
    executor: Executor | None = None,
    *,
    slices: str = "year",
    topics: int = 3,
    window: int | None = None,
    range_messages: int = 100,
    cold_starts: int = 2,
    encoder: Callable[[], TextEncoder] = TextEncoder,
    rules: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> Engine:
    """An engine over parts, whose tracker may have other rules besides."""
    cut = EngineSettings(Slicing.parse(slices), **settings)
    model = TrackerModel(TrackerSettings(topics=topics, window=window, cold_starts=cold_starts, threads=1, **rules))
    batches = RangedBatches(source, FieldCodec(), cut, encoder, executor or InProcess(), range_messages)
    return Engine(source, encoder(), model, store or MemoryStore(), cut, batches)


def run(source: Parts, executor: Executor | None = None, **given: Any) -> MemoryStore:
    """Follow to the end and return what was committed."""
    store = MemoryStore()
    ranged(source, store, executor, **given).run()
    return store
