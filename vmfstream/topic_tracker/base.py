"""What all parts of a `TopicTracker` share: the run that it is, and the names of its topics."""

from __future__ import annotations

import warnings
from typing import Any

from vmfstream.decisions import names_of
from vmfstream.engine.loop.engine import Engine
from vmfstream.engine.loop.namer import BackgroundNamer
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.locks import CopyableLock
from vmfstream.records import Commit
from vmfstream.runfile.memory import MemoryStore
from vmfstream.topic_tracker.manual_source import ManualSource


class TrackerParts:
    """Base of the groups of methods of `TopicTracker`, which begins the run."""

    _given: dict[str, Any]
    _run: RunSettings
    _store: MemoryStore
    _source: ManualSource
    _engine: Engine
    _model: TrackerModel
    _namer: BackgroundNamer | None
    _lock: CopyableLock
    """Lets one thread in at a time, wherever something is read that learning changes."""

    @property
    def _commits(self) -> list[Commit]:
        """The commits so far, to which another thread adds none."""
        return list(self._store.commits)

    def names(self) -> dict[int, str]:
        """Return the names that were given to topics, by id."""
        return names_of([*self._store.decisions(), *self._store.pending()])

    def _take_names(self) -> None:
        """Keep the names that the namer gave after the last commit."""
        if self._namer is not None and self._store.commits:
            with self._lock:
                self._store.name_topics(self._namer.take())


def deprecated(old: str, new: str) -> None:
    """Warn the caller of the caller that a former name is used."""
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=3)
