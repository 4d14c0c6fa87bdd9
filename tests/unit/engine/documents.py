"""Small streams whose topics are plain, and what was committed, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import Item, MemorySource
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.loop.local_batches import Assigned, LocalBatches
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.online.state import TrackerSettings, TrackState
from vmfstream.protocols import Source, Store
from vmfstream.records import Message, SliceReport
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import Encoder, TextEncoder

SUBJECTS = (
    ["harbour", "ship", "crane", "cargo", "docker", "sailor", "vessel", "anchor"],
    ["comet", "moon", "orbit", "rocket", "telescope", "astronaut", "galaxy", "launch"],
    ["wheat", "barley", "farmer", "harvest", "grain", "field", "tractor", "seed"],
)


def document(i: int, time: object, subjects: Sequence[Sequence[str]] = SUBJECTS) -> dict[str, Any]:
    """Six words of one subject."""
    words = subjects[i % len(subjects)]
    text = " ".join(words[(i * 5 + j) % len(words)] for j in range(6))
    return {"id": f"d{i}", "time": time, "title": f"Report {i}", "text": text}


def years(sizes: dict[int, int]) -> list[Item]:
    """So many documents per year, numbered through."""
    times = [year for year, size in sizes.items() for _ in range(size)]
    return [document(i, year) for i, year in enumerate(times)]


class OneByOne(MemorySource):
    """Hands out a single message at a time and counts them."""

    handed = 0

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        messages = super().poll(1, timeout)
        self.handed += len(messages)
        return messages


def engine(
    source: Source | Iterable[Item],
    store: Store | None = None,
    *,
    topics: int = 3,
    window: int | None = None,
    slices: str = "year",
    encoder: Encoder | None = None,
    codec: FieldCodec | None = None,
    assigned: Assigned | None = None,
    threads: int = 1,
    cold_starts: int = 2,
    rules: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> Engine:
    """An engine over a list or a source, whose tracker may have other rules besides."""
    read = MemorySource(source) if isinstance(source, Iterable) else source
    chosen = TrackerSettings(topics=topics, window=window, cold_starts=cold_starts, threads=threads, **rules)
    model = TrackerModel(chosen)
    cut = EngineSettings(Slicing.parse(slices), **settings)
    batches = LocalBatches(read, codec or FieldCodec(), cut, assigned)
    return Engine(read, encoder or TextEncoder(), model, store or MemoryStore(), cut, batches)


def track_state(engine: Engine) -> TrackState | None:
    """The state of the tracker that an engine drives."""
    model = engine.state.model
    assert isinstance(model, TrackerModel)
    return model.state


def run(source: Source | Iterable[Item], **given: Any) -> MemoryStore:
    """Follow to the end and return what was committed."""
    store = MemoryStore()
    engine(source, store, **given).run()
    return store


def closed(store: MemoryStore) -> list[SliceReport]:
    """All slices in the order in which they were closed."""
    return [report for commit in store.commits for report in commit.closed]


def sizes(store: MemoryStore) -> list[int]:
    """Documents of each epoch."""
    return [commit.epoch.n for commit in store.commits]


def committed(store: MemoryStore) -> list[str]:
    """Everything that was committed, as text, but the seconds."""
    return [plain(commit) for commit in store.commits]


def plain(value: Any) -> str:
    """A record as text, number for number."""
    if isinstance(value, list | tuple):
        return f"[{', '.join([plain(one) for one in value])}]"
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    kind: Any = type(value)
    if not (names := _compared(kind)):
        return repr(value)
    return f"({', '.join([f'{name}={plain(getattr(value, name))}' for name in names])})"


@cache
def _compared(record: type) -> tuple[str, ...]:
    """Fields of a record but the seconds; none of what is no record."""
    return tuple(f.name for f in fields(record) if f.name != "seconds") if is_dataclass(record) else ()
