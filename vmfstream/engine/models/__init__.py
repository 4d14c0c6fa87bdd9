"""The models that a run can follow a stream with, by name: one file each, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.online.settings import TrackerSettings
from vmfstream.protocols import Model


class ModelSettings(Protocol):
    """The settings of a run, as far as models need them: a method for each model that has some."""

    def tracker(self) -> TrackerSettings:
        """Return the settings of the tracker."""
        ...


MODELS: Mapping[str, Callable[[ModelSettings], Model]] = {
    "topics": lambda settings: TrackerModel(settings.tracker()),
}
"""Makes a model from the settings of a run."""
