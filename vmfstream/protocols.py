"""The seams: what a source, a codec and a store must do. Everything else is a concrete class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from vmfstream.records import Checkpoint, Commit, Document, Message, Position, Range, Rejected


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
        """Return how many messages lie behind a position; may be asked while another thread polls."""
        ...

    def committed(self, position: Position) -> None:
        """Be told what was committed, for monitoring only."""
        ...


class RangeReader(Protocol):
    """Reads what a range names, in any process: it is pickled, and a range read twice gives the same messages."""

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        """Return messages of a range and the offset after them, before its end if they have ``limit`` bytes."""
        ...


@runtime_checkable
class Ranged(Protocol):
    """What a source can do besides whose messages can be read in any order."""

    def extents(self, position: Position) -> Sequence[Range]:
        """Return for every part what it holds from these offsets on, which may be nothing, in a fixed order."""
        ...

    def reader(self) -> RangeReader:
        """Return what reads ranges elsewhere."""
        ...


class Executor(Protocol):
    """Applies pure functions to arguments in this process or in others.

    What ``share`` and ``hold`` return stands for a value that stays where it is; it may be among the arguments of later
    calls, and is forgotten when nobody refers to it any more. Where a process is lost its part is done again by others;
    `WorkersLost` tells that held or shared values are gone and that all has to be done again from the start.
    """

    @property
    def workers(self) -> int:
        """How many calls can run at once now."""
        ...

    def share(self, value: Any) -> Any:
        """Bring a value to all workers, once."""
        ...

    def hold(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Call the function with each of the arguments; results stay where they were made."""
        ...

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the function with each of the arguments; return the results in this order."""
        ...

    def close(self) -> None:
        """Release the workers; a second call does nothing."""
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

    def commit(self, *commits: Commit) -> None:
        """Write epochs that follow each other, all or nothing; an epoch number is accepted once and in order."""
        ...

    def close(self) -> None:
        """Release the store; a second call does nothing."""
        ...
