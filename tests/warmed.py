"""Imported by the server that forks test processes: compiled code is loaded once there, not in every process."""

from __future__ import annotations

from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.run import RunSettings, follow
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.runfile import writer  # noqa: F401
from vmfstream.runfile.memory import MemoryStore

follow(
    PlantedSource(PlantedStream(slices=12, documents_per_slice=20)),
    FieldCodec(),
    MemoryStore(),
    RunSettings(topics=3, slices="month", threads=1, window=60),
)
