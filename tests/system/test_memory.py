"""Memory does not grow with the number of documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

DOCUMENTS = 300_000
PER_SLICE = 20_000
SLICES = 100  # the run ends long before: months alike, so that what is kept for them is alike
PAUSE = 20_000  # documents after which the stream waits until all that came is written
EARLY, LATE = 100_000, 240_000
MB_PER_100K = 2.0
ONE_ARENA = os.environ | {"MALLOC_ARENA_MAX": "1"}

RUN = """
import ctypes, gc, json, resource, sys, time
from pathlib import Path

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.run import RunSettings, follow
from vmfstream.runfile.writer import RunFile
from vmfstream.replay.planted import PlantedSource, PlantedStream

log, documents, slices, per_slice, pause = sys.argv[1], *map(int, sys.argv[2:])
settings = RunSettings(topics=16, slices="month", threads=1)
for size in (300, 5000):  # compile everything first, for small slices and large ones
    first, read = PlantedSource(PlantedStream(slices=12, documents_per_slice=size)), []
    few = {"observe": lambda now: read.append(now.documents), "stop": lambda: read[-1] >= 20_000}
    follow(first, FieldCodec(), RunFile(f"{log}.{size}"), settings, **few)

resident = []
free = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)


class PausingSource(PlantedSource):
    # What waits to be learnt or written comes and goes by tens of megabytes: memory is read when nothing does.
    written, until = 0, pause

    def poll(self, limit, timeout):
        if self._next == self.until:
            if self.written < self._next:
                time.sleep(timeout)
                return []
            gc.collect()
            free(0)
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            resident.append((self._next, pages * resource.getpagesize() / 1e6))
            self.until += pause
        return super().poll(min(limit, self.until - self._next), timeout)

    def observe(self, progress):
        self.written = progress.documents


def enough():
    return len(resident) * pause >= documents


source = PausingSource(PlantedStream(slices=slices, documents_per_slice=per_slice))
engine = follow(source, FieldCodec(), RunFile(log), settings, observe=source.observe, stop=enough)
print(json.dumps({
    "documents": engine.documents,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    "resident": resident,
}))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_later_documents_need_no_more_memory_than_the_first(tmp_path: Path) -> None:
    arguments = [str(tmp_path / "run.duckdb"), *map(str, (DOCUMENTS, SLICES, PER_SLICE, PAUSE))]
    command = [sys.executable, "-c", RUN, *arguments]
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=ONE_ARENA).stdout
    figures = json.loads(out.splitlines()[-1])
    resident = figures["resident"]
    # the median, since the allocator of the database keeps some megabytes for a while
    early = median(mb for documents, mb in resident if EARLY <= documents < EARLY + 100_000)
    late = median(mb for documents, mb in resident if documents >= LATE)
    size = (tmp_path / "run.duckdb").stat().st_size / 1e6
    print(
        f"\n{figures['documents']:,} documents, peak {figures['peak']:.0f} MB, resident {early:.1f} MB after {EARLY:,} "
        f"and {late:.1f} MB at the end, run file {size:.0f} MB"
    )
    assert figures["documents"] == pytest.approx(DOCUMENTS, rel=0.05)
    assert late - early < MB_PER_100K * (LATE - EARLY) / 100_000
