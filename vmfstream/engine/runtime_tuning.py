"""How often the interpreter leaves a run for its own business: to look for garbage, to let another thread go on."""

from __future__ import annotations

import gc
import sys
from threading import Lock

ALLOCATIONS = 50_000
"""New objects between two rounds of the garbage collector."""

TURN = 0.0001
"""Seconds that a thread waits before it asks another one for its turn."""


class _Unhindered:
    """A context in which the garbage collector comes by less often, and the next thread sooner, than by default.

    The garbage collector passes over what lives already, the loaded libraries above all: to look through that with
    every fifty thousand documents costs as much as to encode them. New objects it looks at less often: documents would
    outlive many of its rounds, and are freed without it. And a thread that comes back from compiled code, which needs
    no turn, waits less for its next one.

    The settings are those of the whole process: of runs beside each other, the first sets them and the last one to end
    puts them back.
    """

    def __init__(self) -> None:
        self._lock, self._runs = Lock(), 0
        self._thresholds, self._turn = gc.get_threshold(), sys.getswitchinterval()

    def __enter__(self) -> None:
        with self._lock:
            self._runs += 1
            if self._runs > 1:
                return
            self._thresholds, self._turn = gc.get_threshold(), sys.getswitchinterval()
            first, *others = self._thresholds
            gc.freeze()
            gc.set_threshold(first and max(first, ALLOCATIONS), *others)  # 0 is never
            sys.setswitchinterval(min(self._turn, TURN))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._runs -= 1
            if self._runs == 0:
                sys.setswitchinterval(self._turn)
                gc.set_threshold(*self._thresholds)
                gc.unfreeze()


UNHINDERED = _Unhindered()
