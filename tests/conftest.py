"""What holds for all tests."""

from __future__ import annotations

import signal

# tests that were started in the background ignore Ctrl-C, and so would the programs that they start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
