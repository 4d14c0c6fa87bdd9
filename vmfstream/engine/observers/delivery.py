"""What a log tells the world after a commit: closed slices and events, or the messages that were no documents.

Everything is read back from the log, so that what a crash kept from being sent is sent by the next run.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from vmfstream.errors import VmfstreamError
from vmfstream.runfile.queries import ClosedSlice, Reader, RejectedFrame

log = logging.getLogger(__name__)


class Outbox(Protocol):
    """Where the letters of an epoch go, all or none, and what is already there."""

    def delivered(self) -> int:
        """Return the last epoch that was sent, 0 before the first."""
        ...

    def send(self, epoch: int, letters: Iterable[Any]) -> int:
        """Send the letters of one epoch; return how many."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


Letters = Callable[[Reader, int, int], Iterator[tuple[int, Iterable[Any]]]]
"""From a log and two epochs to the letters of every epoch after the first, up to the second, that has some."""


class Courier:
    """Brings an outbox up to the last commit, again and again; a failure is told and made good later.

    Parameters
    ----------
    path : Path
        The log.
    letters : Letters
        What there is to send.
    opened : callable
        Opens the outbox for the run of a given name.
    rest : float
        Seconds after a failure in which nothing is tried again, so that reading goes on meanwhile.
    """

    def __init__(self, path: Path, letters: Letters, opened: Callable[[str], Outbox], rest: float = 30.0) -> None:
        self._path, self._letters, self._opened, self._rest = path, letters, opened, rest
        self._failed = float("-inf")
        self._outbox: Outbox | None = None
        self._done = 0

    def __call__(self, epoch: int) -> bool:
        """Send what was committed up to this epoch and not sent; True if nothing is left."""
        if epoch < 1 or (self._outbox is not None and epoch <= self._done):
            return True
        if time.monotonic() - self._failed < self._rest:
            return False
        try:
            reader = Reader(self._path)
            if self._outbox is None:
                self._outbox = self._opened(reader.run_name())
                self._done = self._outbox.delivered()
            for number, letters in self._letters(reader, self._done, epoch):
                sent = self._outbox.send(number, letters)
                log.info("epoch %d: %d letters sent", number, sent)
                self._done = number
            self._done = epoch
        except VmfstreamError as error:
            log.warning("%s; epochs after %d are sent later", error, self._done)
            self._outbox = None
            self._failed = time.monotonic()
            return False
        return True

    def close(self) -> None:
        """Release the outbox."""
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None


def closed_slices(reader: Reader, after: int, upto: int) -> Iterator[tuple[int, list[tuple[str, bytes]]]]:
    """Yield (key, JSON) of closed slices and of events, by epoch."""
    slices = [one for one in reader.closed_after(after) if one.epoch <= upto]
    for epoch in sorted({one.epoch for one in slices}):
        yield epoch, [letter for one in slices if one.epoch == epoch for letter in _slice_letters(one)]


def rejected_messages(reader: Reader, after: int, upto: int) -> Iterator[tuple[int, list[tuple[str, int, str]]]]:
    """Yield (part, offset, reason) of rejected messages, by epoch."""
    frame: RejectedFrame = reader.rejected_after(after)
    rows = list(zip(frame.epoch.tolist(), frame.part, frame.offset.tolist(), frame.reason, strict=True))
    for epoch in sorted({row[0] for row in rows if row[0] <= upto}):
        yield epoch, [(part, offset, reason) for number, part, offset, reason in rows if number == epoch]


def _slice_letters(one: ClosedSlice) -> Sequence[tuple[str, bytes]]:
    about = {"epoch": one.epoch, "slice": one.label}
    told: list[tuple[str, dict[str, Any]]] = [
        (
            f"slice {one.label}",
            {
                "type": "slice",
                **about,
                "index": one.slice,
                "begins": one.begins,
                "ends": one.ends,
                "documents": one.n,
                "predicted": one.predicted,
                "warm_up": one.warm_up,
                "topics": one.topics,
            },
        )
    ]
    told += [
        (f"{event['kind']} {one.label} {event['topic']}", {"type": "event", **about, **event}) for event in one.events
    ]
    return [(key, json.dumps(_plain(body), ensure_ascii=False).encode()) for key, body in told]


def _plain(value: Any) -> Any:
    """Replace what JSON cannot say: numbers that are none become null, times become text."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else value
