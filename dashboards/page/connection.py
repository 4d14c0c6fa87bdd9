"""A connection of the live page that has to send whole requests."""

from __future__ import annotations

import time
from typing import Any

from waitress.channel import HTTPChannel

REQUEST_SECONDS = 20.0
"""Seconds that a request may take to arrive, which has a few kilobytes; a connection without a request has as long."""


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection that is closed if no whole request came for `REQUEST_SECONDS`, whatever bytes came.

    A request that sends a byte now and then would hold its place for ever, since waitress asks only for silence.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        self._since = time.monotonic()
        super().__init__(*given, **named)

    def service(self) -> None:
        """Answer a request; the next one may take as long again."""
        self._since = time.monotonic()  # also before, since the loop may look before this ends
        super().service()
        self._since = time.monotonic()

    def handle_write(self) -> None:
        """Send what there is of an answer."""
        super().handle_write()
        self._since = time.monotonic()

    def readable(self) -> bool:
        """Tell whether more of a request is wanted; the loop asks this all the time."""
        answering = self.requests or self.total_outbufs_len
        if not answering and time.monotonic() - self._since > REQUEST_SECONDS:
            self.will_close = True
        return bool(super().readable())
