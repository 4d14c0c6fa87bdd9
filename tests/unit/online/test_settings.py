"""The rules of the tracker as text and back."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any

import pytest

from vmfstream.online import settings
from vmfstream.online.settings import BirthSettings, DriftSettings, TrackerSettings


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: other(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, bool):
        return not value
    if isinstance(value, tuple):
        return (*value, 1.0 / 3.0)
    return 12 if value is None else 7.5 if value == inf else value * 3 + 1


def test_settings_survive_as_text() -> None:
    changed: TrackerSettings = other(TrackerSettings())
    text = changed.as_text()
    assert text["births.least_gain"] == "31.0"
    assert text["persistences"] == "(0.8, 0.9, 0.95, 0.98, 0.995, 0.3333333333333333)"
    assert TrackerSettings().with_text(text) == changed
    assert all(text[name] != value for name, value in TrackerSettings().as_text().items())


def test_what_is_not_stored_stays() -> None:
    own = TrackerSettings(drift=DriftSettings(spreads=9.0))
    assert own.with_text({}) == own
    read = own.with_text({"births.chance": "0.5", "window": "None", "of another version": "7"})
    assert read == replace(own, births=BirthSettings(chance=0.5))


@pytest.mark.parametrize("text", ["many", "2.5", "True", "[1]", "", "None"])
def test_values_of_another_kind_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"births\.sweeps: expected a value like 5, got "):
        TrackerSettings().with_text({"births.sweeps": text})


@pytest.mark.parametrize(
    "kind", [value for value in vars(settings).values() if isinstance(value, type) and is_dataclass(value)]
)
def test_every_setting_is_explained(kind: type) -> None:
    explained = (kind.__doc__ or "").partition("Attributes")[2]
    named = {name for line in explained.splitlines() if " : " in line for name in line.partition(" : ")[0].split(", ")}
    assert {f.name for f in fields(kind)} == {name.strip() for name in named}
