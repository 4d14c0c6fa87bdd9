"""The places of views that are not drawn yet."""

from __future__ import annotations

from vmfstream.dashboards.panels import Panel, Parts


def _nothing(parts: Parts) -> str:
    return ""


def _later(parts: Parts) -> str:
    return '<p class="muted">This view is not drawn yet.</p>'


RAYS = Panel("rays", _nothing)
GLOBE = Panel("globe", _later, "Globe")
