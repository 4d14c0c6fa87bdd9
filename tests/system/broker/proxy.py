"""A bad network: a TCP proxy that stalls, cuts and delays, and one that loses single requests and answers of Kafka."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from typing import Any

Address = tuple[str, int]

PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, COMMIT_OFFSETS = 0, 22, 24, 25, 26, 28
"""Numbers of the requests of producers with transactions."""

_LATE = 1.5  # seconds that a request comes late, or its answer: longer than clients of these tests wait


class Proxy:
    """Passes bytes between a door and a target until it is closed; ``stall`` and ``delay`` may be set meanwhile."""

    def __init__(self, door: Address, target: Address) -> None:
        self.stall = False
        self.delay = 0.0
        self.connections = 0
        self._target = target
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(door)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections as a broken line does, without a word."""
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._open.clear()

    def close(self) -> None:
        """End everything."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                try:
                    far = socket.create_connection(self._target, 5.0)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                with self._lock:
                    self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := one.recv(65536):
                while self.stall:
                    time.sleep(0.02)
                time.sleep(self.delay)
                other.sendall(piece)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Frames(Proxy):
    """Knows the requests of Kafka's protocol; ``faults`` has for kinds of them what happens to the next one, once.

    ``answer lost``: the connection ends after the broker has got the request. ``answer late``: the answer comes after
    the client has given up. ``late``: the request comes by a connection of its own after the client has asked again;
    ``into the next`` that too, in the middle of the transaction after this one. ``held``: it comes when it is released.
    ``answer held``: its answer comes then. ``always`` has what happens to all requests of a kind.
    """

    def __init__(self, *doors: Any) -> None:
        self.faults: dict[int, str] = {}
        self.always: dict[int, str] = {}
        self.seen = Counter[int]()
        self.happened = Counter[str]()
        self._waiting: dict[tuple[int, int], str] = {}  # by connection and number of the request
        self._released, self._next_one = threading.Event(), threading.Event()
        self._came = threading.Event()
        self._came.set()
        super().__init__(*doors)

    def release(self) -> None:
        """Let go what is held."""
        self._released.set()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            answers = one.getpeername()[1] == self._target[1]
            while self._answer(one, other) if answers else self._request(one, other):
                pass
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _answer(self, one: socket.socket, other: socket.socket) -> bool:
        frame = _frame(one)
        fault = self._waiting.pop((id(other), *struct.unpack_from(">i", frame, 4)), "")
        if fault == "answer late":
            time.sleep(_LATE)
        if fault == "answer held":
            self._released.wait()
        other.sendall(frame)
        return True

    def _request(self, one: socket.socket, other: socket.socket) -> bool:
        """Pass a request on; tell whether the connection goes on."""
        frame = _frame(one)
        kind, _, number = struct.unpack_from(">hhi", frame, 4)
        fault = self.faults.pop(kind, "") or self.always.get(kind, "")
        self.seen[kind] += 1
        if kind == END and self._next_one.is_set():
            self._came.wait()
        if fault.startswith("answer") and fault != "answer lost":
            self._waiting[id(one), number] = fault
        if fault == "into the next":
            self._next_one.clear()
            self._came.clear()
        if fault in ("late", "held", "into the next"):  # by a connection of its own, as what waited in a network
            threading.Thread(target=self._later, args=(frame, fault), daemon=True).start()
        else:
            other.sendall(frame)
        if kind == PRODUCE and not self._came.is_set():
            self._next_one.set()
        self.happened[fault] += 1
        if fault == "answer lost":
            time.sleep(0.2)
        return fault not in ("answer lost", "late", "into the next") and not (fault == "held" and self._released.wait())

    def _later(self, frame: bytes, fault: str) -> None:
        if fault == "held":
            self._released.wait()
        elif fault == "into the next":
            self._next_one.wait()
            time.sleep(0.3)  # the broker writes the messages
        else:
            time.sleep(_LATE)
        with contextlib.suppress(OSError), socket.create_connection(self._target, 5.0) as far:
            far.sendall(frame)
            far.recv(65536)
            self.happened["came late"] += 1
        if fault == "into the next":
            self._came.set()


def _frame(one: socket.socket) -> bytes:
    head = _bytes(one, 4)
    return head + _bytes(one, *struct.unpack(">i", head))


def _bytes(one: socket.socket, count: int) -> bytes:
    body = b""
    while len(body) < count:
        piece = one.recv(count - len(body))
        if not piece:
            raise OSError("closed")
        body += piece
    return body
