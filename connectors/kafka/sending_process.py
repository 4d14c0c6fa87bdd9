"""A publisher in a process of its own.

The client takes some 50 µs of Python for each message. In a thread of the run they would be taken from reading and
learning; a process has a core of its own for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.connectors.kafka.publisher import Deadlines, KafkaPublisher, OutgoingMessage
from vmfstream.errors import InputError
from vmfstream.machine import leave_stopping_to_others
from vmfstream.runtime_tuning import tuned_runtime

_CHUNK = 500  # messages that are passed on at once
_LAST_SECONDS = 20.0  # in which the process has to end


class PublishingProcess:
    """Do as `KafkaPublisher` does, in another process, which ends when this one does.

    Messages are passed on as they are made, no more at once than the other process takes. After an error it has ended,
    and what it had begun to send with it. ``address``, ``options``, ``name`` and ``deadlines`` are those of
    `KafkaPublisher`.

    Raises
    ------
    InputError
        As `KafkaPublisher` does; or if the process has ended. Raised by every method but ``close``.
    """

    def __init__(
        self, address: TopicAddress, options: ClientOptions, name: str, deadlines: Deadlines | None = None
    ) -> None:
        context = get_context("spawn")  # a fork would copy the threads' locks
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, address, options, name, deadlines), name="vmfstream-sending", daemon=True
        )
        self._process.start()
        theirs.close()
        self._answer()

    def delivered(self) -> Sequence[int]:
        """Do as `KafkaPublisher.delivered`."""
        self._tell("delivered")
        return list(self._answer())

    def forget_after(self, epoch: int) -> int:
        """Do as `KafkaPublisher.forget_after`."""
        self._tell(("forget", epoch))
        return int(self._answer())

    def send(
        self, epoch: int, messages: Iterable[OutgoingMessage], rest: Callable[[], Iterable[OutgoingMessage]] = tuple
    ) -> int:
        """Send the ``messages`` of an ``epoch`` as `KafkaPublisher.send` does.

        ``rest`` is called in this process, as soon as they are passed on.
        """
        self._tell(epoch)
        try:
            self._pass_on(messages)
            self._pass_on(rest())
        except BaseException:
            self.close()
            raise
        return int(self._answer())

    def close(self) -> None:
        """Let the process close the connection and end."""
        self._pipe.close()
        self._process.join(_LAST_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _pass_on(self, messages: Iterable[OutgoingMessage]) -> None:
        left = iter(messages)
        while some := list(islice(left, _CHUNK)):
            self._tell(some)
        self._tell(None)

    def _tell(self, what: Any) -> None:
        try:
            self._pipe.send(what)
        except OSError:
            self._answer()  # it has ended, and has said why

    def _answer(self) -> Any:
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            answer = InputError("the process that sends messages has ended")
        if isinstance(answer, BaseException):
            self.close()
            raise answer
        return answer


def _serve(pipe: Connection, *how: Any) -> None:
    """Publish what comes until nothing can come any more."""
    leave_stopping_to_others()  # the run ends in order
    try:
        publisher = KafkaPublisher(*how)
        pipe.send(0)
        with tuned_runtime(), suppress(EOFError):
            while True:
                asked = pipe.recv()
                if asked == "delivered":
                    pipe.send(publisher.delivered())
                elif isinstance(asked, tuple):
                    pipe.send(publisher.forget_after(asked[1]))
                else:
                    pipe.send(publisher.send(asked, _messages(pipe), partial(_awaited, pipe)))
        publisher.close()
    except Exception as error:
        with suppress(OSError):  # nobody wants to know
            pipe.send(error if isinstance(error, InputError) else RuntimeError(f"{type(error).__name__}: {error}"))


def _messages(pipe: Connection) -> Iterator[OutgoingMessage]:
    """Yield messages up to the next end; an end of the pipe in between is an EOFError."""
    while (some := pipe.recv()) is not None:
        yield from some


def _awaited(pipe: Connection) -> Iterable[OutgoingMessage]:
    """Do as `_messages` once there is something to tell."""
    some = pipe.recv()
    return () if some is None else chain(some, _messages(pipe))
