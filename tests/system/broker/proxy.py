"""A bad network: a TCP proxy that stalls, cuts and delays."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

Address = tuple[str, int]


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
