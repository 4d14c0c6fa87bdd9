"""Send to other systems what was committed: closed slices, events and stories, or the rejected messages.

Everything can be read from the run file, so that what a crash kept from being sent is sent by the next run. Labels need
not wait for that: their messages are sent while the run file is written, and the transaction of the broker is committed
once that is done.
"""

from __future__ import annotations

import heapq
import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from operator import itemgetter, length_hint
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any, Protocol

from vmfstream.errors import VmfstreamError
from vmfstream.records import Commit
from vmfstream.runfile.queries import ClosedSlice, Reader, RejectedFrame

log = logging.getLogger(__name__)


class Sender(Protocol):
    """Sends the messages of an epoch, all or none, and knows what was sent before."""

    def delivered(self) -> Sequence[int]:
        """Return the last epochs that were sent, of each place to send to, the smallest first; 0 before the first.

        What is sent under a number goes to the places that have got an earlier one.
        """
        ...

    def forget_after(self, epoch: int) -> int:
        """Let what was sent of epochs after ``epoch`` count as not sent; return the last of them, ``epoch`` if none."""
        ...

    def send(self, epoch: int, messages: Iterable[Any], rest: Callable[[], Iterable[Any]] = tuple) -> int:
        """Send the ``messages`` of one ``epoch``, and those that ``rest()`` returns then; return how many."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


EpochMessages = Callable[[Reader, int, int], Iterator[tuple[int, Iterable[Any]]]]
"""Yields, from a run file, the messages of every epoch after the first number, up to the second, that has some."""

MessagesAhead = Callable[[Sequence[Commit]], Iterable[Any] | None]
"""Returns messages of commits before they are written, None if they are known only afterwards."""


class NotWritten(VmfstreamError):
    """Epochs whose messages are being sent could not be written."""


class Transaction:
    """Messages of epochs that are being written.

    Parameters
    ----------
    first, last : int
        The epochs.
    messages : iterable
        What can be sent before.
    more : bool
        Whether there may be more to send afterwards.
    """

    def __init__(self, first: int, last: int, messages: Iterable[Any], *, more: bool) -> None:
        self.first, self.last, self.messages, self.more = first, last, messages, more
        self._over = Event()
        self.written = False

    def end(self, *, written: bool) -> None:
        """Tell whether the epochs were written."""
        self.written = written
        self._over.set()

    @property
    def failed(self) -> bool:
        """Whether they could not be written."""
        return self._over.is_set() and not self.written

    def wait(self) -> None:
        """Return once the epochs are written; raise NotWritten if they could not be."""
        self._over.wait()
        if not self.written:
            raise NotWritten(f"epochs {self.first} to {self.last} could not be written")


class Delivery:
    """Sends what was committed and not sent yet; a failure is logged and made good later.

    Parameters
    ----------
    path : Path
        The run file.
    messages : EpochMessages
        What there is to send.
    opened : callable
        Opens the sender for the run of a given name.
    rest : float
        Seconds after a failure in which nothing is tried again, so that reading goes on meanwhile.
    sent : callable, optional
        Called with the number of every epoch whose messages were sent.
    others : callable, optional
        Yields what `ahead` has to send besides, once epochs are written.
    """

    def __init__(
        self,
        path: Path,
        messages: EpochMessages,
        opened: Callable[[str], Sender],
        rest: float = 30.0,
        sent: Callable[[int], None] = lambda epoch: None,
        others: EpochMessages = lambda reader, after, upto: iter(()),
    ) -> None:
        self._path, self._messages, self._opened, self._rest, self._sent = path, messages, opened, rest, sent
        self._others = others
        self._failed = float("-inf")
        self._reader: Reader | None = None
        self._sender: Sender | None = None
        self._done = 0
        self._begun: int | None = None

    def begin(self, epoch: int) -> None:
        """Note at which epoch the run file stands: what was sent of later ones, an older copy of it does not know."""
        self._begun = epoch

    def __call__(self, epoch: int) -> bool:
        """Send what was committed up to this epoch and not sent; True if nothing is left."""
        if epoch < 1 or (self._sender is not None and epoch <= self._done):
            return True
        if time.monotonic() - self._failed < self._rest:
            return False
        try:
            reader, ahead = self._opened_reader(), list[int]()
            if self._sender is None:
                self._sender = self._opened(reader.run_name())
                self._forget_what_is_unknown(self._sender)
                self._done, *ahead = self._sender.delivered()
            # epochs are put together, but not with those that a place to send to has got already
            for last in [*(one for one in ahead if one < epoch), epoch]:
                for number, messages in self._messages(reader, self._done, last):
                    count = self._sender.send(number, messages)
                    log.info("epoch %d: %d messages sent", number, count)
                    self._done = number
                    self._sent(number)
                self._done = last
        except VmfstreamError as error:
            self._fail(error)
            return False
        return True

    def ahead(self, transactions: Sequence[Transaction]) -> bool:
        """Send what epochs have to send while they are written, and commit it once they are.

        Returns
        -------
        bool
            False if nothing was sent: it has to be read from the run file.
        """
        firsts, lasts = [one.first for one in transactions], [one.last for one in transactions]
        if self._sender is None or not firsts or firsts != [last + 1 for last in (self._done, *lasts[:-1])]:
            return False
        number = lasts[-1]

        def rest() -> Iterable[Any]:
            transactions[-1].wait()
            if not any(one.more for one in transactions):
                return ()
            others = self._others(self._opened_reader(), self._done, number)
            return chain.from_iterable(messages for _, messages in others)

        try:
            count = self._sender.send(number, chain.from_iterable(one.messages for one in transactions), rest)
        except NotWritten:
            self._sender = None  # another one knows that nothing arrived
            return False
        except VmfstreamError as error:
            self._fail(error)
            return False
        log.info("epoch %d: %d messages sent", number, count)
        self._done = number
        self._sent(number)
        return True

    def _forget_what_is_unknown(self, sender: Sender) -> None:
        begun = self._begun
        if begun is not None and (last := sender.forget_after(begun)) > begun:
            log.warning(
                "the run file is a copy: it was at epoch %d, and epochs up to %d were sent; what follows is sent again",
                begun,
                last,
            )
        self._begun = None  # later ones are of this run

    def _opened_reader(self) -> Reader:
        self._reader = self._reader or Reader(self._path)
        return self._reader

    def _fail(self, error: VmfstreamError) -> None:
        log.warning("%s; epochs after %d are sent later", error, self._done)
        self._sender = None
        self._failed = time.monotonic()

    def close(self) -> None:
        """Release the sender."""
        if self._sender is not None:
            self._sender.close()
            self._sender = None


class InThread:
    """Delivers in a thread of its own, so that reading goes on meanwhile; the newest epoch stands for all before.

    Parameters
    ----------
    delivery : Delivery
    ahead : callable
        Returns what can be sent of epochs while they are written, see `writing`.
    released : callable, called when nothing more is delivered.
    """

    def __init__(
        self,
        delivery: Delivery,
        ahead: MessagesAhead = lambda commits: None,
        released: Callable[[], None] = lambda: None,
    ) -> None:
        self._delivery, self._ahead, self._released = delivery, ahead, released
        self._changed = Condition()
        self._begun: deque[Transaction] = deque()
        self._newest, self._done, self._closing = 0, 0, False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, name="vmfstream-delivery", daemon=True)
        self._thread.start()

    def begin(self, epoch: int) -> None:
        """Note at which epoch the run file stands, as `Delivery.begin` does."""
        self._delivery.begin(epoch)

    def __call__(self, epoch: int) -> None:
        """Have sent what was committed up to this epoch; raise what went wrong in the thread."""
        with self._changed:
            self._newest = max(self._newest, epoch)
            self._changed.notify()
            if self._error is not None:
                raise self._error

    @contextmanager
    def writing(self, commits: Sequence[Commit]) -> Iterator[None]:
        """Have messages of ``commits`` sent while they are written inside, in one transaction."""
        first, last = commits[0].epoch.epoch, commits[-1].epoch.epoch
        messages = self._ahead(commits) or ()
        more = any(one.rejected or one.closed or one.story_events for one in commits)
        one = Transaction(first, last, messages, more=more)
        with self._changed:
            waiting = sum(length_hint(other.messages) for other in self._begun)
            if length_hint(messages) and waiting <= _MOST_AHEAD:
                self._begun.append(one)
                self._changed.notify()
        try:
            yield
        except BaseException:
            one.end(written=False)
            raise
        with self._changed:
            one.end(written=True)
            self._newest = max(self._newest, last)
            self._changed.notify()

    def close(self) -> None:
        """Send what is left, once, and release the sender."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        self._delivery.close()
        self._released()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closing or self._newest > self._done or self._begun)
                    newest, closing, begun = self._newest, self._closing, self._next()
                if self._delivery.ahead(begun):
                    self._done = begun[-1].last
                if newest > self._done and self._delivery(newest):
                    self._done = newest
                elif newest > self._done and not closing:
                    with self._changed:
                        self._changed.wait_for(lambda: self._closing, _RETRY)
                if closing:
                    return
        except BaseException as error:
            self._error = error

    def _next(self) -> Sequence[Transaction]:
        """Take the transactions that are over, or the one that goes on if none is."""
        while self._begun and (self._begun[0].failed or self._begun[0].last <= self._done):
            self._begun.popleft()
        over = [one for one in self._begun if one.written]
        taken = over or list(self._begun)[:1]
        for one in taken:
            self._begun.remove(one)
        return taken


_RETRY = 1.0  # seconds between two looks whether a failed delivery may be tried again
_MOST_AHEAD = 100_000  # messages that may wait; those of later epochs are read from the run file


def together(outputs: Sequence[EpochMessages]) -> EpochMessages:
    """Return the messages of several outputs, in the order of epochs.

    Epochs are put together under the number of the last of them: those that were committed together, and others, up to
    `TOGETHER` messages. A transaction of the broker takes about as long for a thousand messages as for one.
    """

    def messages(reader: Reader, after: int, upto: int) -> Iterator[tuple[int, Iterable[Any]]]:
        merged = heapq.merge(*(output(reader, after, upto) for output in outputs), key=itemgetter(0))
        gathered: list[Iterable[Any]] = []
        last = count = 0
        for epoch, some in groupby(merged, key=itemgetter(0)):
            if count >= TOGETHER:
                yield last, chain.from_iterable(gathered)
                gathered, count = [], 0
            of_epoch = [messages for _, messages in some]
            gathered += of_epoch
            count += sum(length_hint(messages, 1) for messages in of_epoch)
            last = epoch
        if gathered:
            yield last, chain.from_iterable(gathered)

    return messages


TOGETHER = 5_000
"""Messages beyond which no further epoch is put into a transaction of the broker."""


def closed_slices(reader: Reader, after: int, upto: int) -> Iterator[tuple[int, list[tuple[str, bytes]]]]:
    """Yield (key, JSON) of closed slices, of events and of stories, by epoch.

    Epochs are those after ``after`` and up to ``upto``; ``reader`` reads the run file. Stories are sent when they are
    opened, have a burst, or end, with the title and the words that they have by then.
    """
    slices = [one for one in reader.closed_after(after) if one.epoch <= upto]
    stories = [one for one in reader.story_events_after(after) if one["epoch"] <= upto]
    for epoch in sorted({one.epoch for one in slices} | {one["epoch"] for one in stories}):
        of_stories = [_story_message(one) for one in stories if one["epoch"] == epoch]
        of_slices = [message for one in slices if one.epoch == epoch for message in _slice_messages(one)]
        yield epoch, [*of_slices, *of_stories]


def rejected_messages(reader: Reader, after: int, upto: int) -> Iterator[tuple[int, list[tuple[str, int, str]]]]:
    """Yield (part, offset, reason) of rejected messages, by epoch; arguments as in `closed_slices`."""
    frame: RejectedFrame = reader.rejected_after(after)
    rows = list(zip(frame.epoch.tolist(), frame.part, frame.offset.tolist(), frame.reason, strict=True))
    for epoch in sorted({row[0] for row in rows if row[0] <= upto}):
        yield epoch, [(part, offset, reason) for number, part, offset, reason in rows if number == epoch]


def _slice_messages(one: ClosedSlice) -> Sequence[tuple[str, bytes]]:
    about = {"epoch": one.epoch, "slice": one.label}
    bodies: list[tuple[str, dict[str, Any]]] = [
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
                "settling": one.warm_up,
                "topics": [_with_former_keys(topic) for topic in one.topics],
            },
        )
    ]
    bodies += [
        (f"{event['kind']} {one.label} {event['topic']}", {"type": "event", **about, **event}) for event in one.events
    ]
    return [(key, _json(body)) for key, body in bodies]


def _story_message(event: dict[str, Any]) -> tuple[str, bytes]:
    return f"story {event['story']} {event['kind']} {event['slice']}", _json({"type": "story", **event})


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(_plain(body), ensure_ascii=False).encode()


def _with_former_keys(topic: dict[str, Any]) -> dict[str, Any]:
    """Return a topic that has its drift under the former keys too, for one version (as a slice has ``settling``)."""
    return topic | {"speed": topic["drift_angle"], "speed_error": topic["drift_angle_error"]}


def _plain(value: Any) -> Any:
    """Replace what JSON has no form for: NaN and infinities become null, times become text."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else value
