"""The models that a run can follow a stream with, by name: one file each, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.protocols import Model

if TYPE_CHECKING:
    from vmfstream.engine.run import RunSettings

MODELS: Mapping[str, Callable[[RunSettings], Model]] = {
    "topics": lambda run: TrackerModel(run.tracker()),
}
"""Makes a model from the settings of a run."""
