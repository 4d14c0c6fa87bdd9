"""A task that takes as long as it is told."""

from __future__ import annotations

import time

from vmfstream.replay.papers.work import Result


def nap(seconds: float) -> Result:
    time.sleep(seconds)
    return {"slept": seconds}
