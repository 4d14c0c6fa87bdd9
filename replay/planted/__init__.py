"""The built-in news stream: documents about topics that are known, so that what a tracker finds can be scored."""

from vmfstream.replay.planted.stream import PlantedDocument, PlantedSource, PlantedStream

__all__ = ["PlantedDocument", "PlantedSource", "PlantedStream"]
