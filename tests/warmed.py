"""Imported by the server that forks test processes: compiled code is loaded once there, not in every process.

The modules whose functions are run, and what those import, are loaded too.
"""

from __future__ import annotations

import distributed  # noqa: F401

import tests.system.broker.dask_processes
import tests.system.test_recovery  # noqa: F401
import vmfstream.cli
import vmfstream.connectors.kafka.source
import vmfstream.engine.scale.cluster  # noqa: F401
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.run import RunSettings, follow
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.runfile import writer  # noqa: F401
from vmfstream.runfile.memory import MemoryStore

store = MemoryStore()
for slices in (12, 16):  # the second goes on where the first has ended, which restores its state
    follow(
        PlantedSource(PlantedStream(slices=slices, documents_per_slice=60)),
        FieldCodec(),
        store,
        RunSettings(topics=6, slices="month", threads=1, window=400, living_topics=True),
    )
