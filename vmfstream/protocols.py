"""The seams: what a source, a codec and a store must do. Everything else is a concrete class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from vmfstream.records import Checkpoint, Commit, Document, Message, Position, Rejected


class Source(Protocol):
    """Yields messages that carry part and offset.

    The engine owns the position: it folds ``offset + 1`` per part from the messages it consumed and hands it back to
    ``seek`` after a restart, so a source remembers nothing.
    """

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        ...

    @property
    def exhausted(self) -> bool:
        """True once nothing will come any more; always False for endless sources."""
        ...

    @property
    def total(self) -> int | None:
        """Number of messages if known beforehand (progress bars), else None."""
        ...

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` messages; never block longer than ``timeout`` seconds; an empty answer is normal."""
        ...

    def seek(self, position: Position) -> None:
        """Continue with these offsets; parts not named start at their beginning."""
        ...

    def close(self) -> None:
        """Release files and connections; a second call does nothing."""
        ...


@runtime_checkable
class Live(Protocol):
    """What a source can do besides that is written while it is read."""

    def lag(self, position: Position) -> int:
        """Return how many messages lie behind a position."""
        ...

    def committed(self, position: Position) -> None:
        """Be told what was committed, for monitoring only."""
        ...


class Codec(Protocol):
    """Turns a message into a document, or says why it cannot be one. Never raises on bad data."""

    def decode(self, message: Message) -> Document | Rejected:
        """Decode one message."""
        ...


class Store(Protocol):
    """Keeps what the engine reports and what it needs to continue."""

    def resume(self) -> Checkpoint | None:
        """Return the last commit's state, or None for a new store."""
        ...

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Record the run's settings in a new store; in an old one return those it was made with."""
        ...

    def commit(self, commit: Commit) -> None:
        """Write one epoch, all or nothing; an epoch number is accepted once and in order."""
        ...

    def close(self) -> None:
        """Release the store; a second call does nothing."""
        ...
