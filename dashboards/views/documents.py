"""Panel of the most representative documents of the topic at the date."""

from __future__ import annotations

from vmfstream.dashboards.panels import PageParts, Panel


def section(parts: PageParts) -> str:
    """Return the place of heading, list and what was kept; the script fills them."""
    return '<div id="documents" aria-live="off"><h3></h3><ol></ol><p class="muted"></p></div>'


PANEL = Panel("documents", section)
