"""Panel of the most representative documents of the topic at the date."""

from __future__ import annotations

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.panels import PageParts, Panel, switch


def section(parts: PageParts) -> str:
    """Return the places of the representative documents and of all, as far as they are kept; the script fills them."""
    choices = [("date", texts.PAGE["storiesDate"], True), ("all", texts.PAGE["storiesAll"], True)]
    scope = switch("listed-scope", texts.LISTED, choices)
    return (
        '<div id="documents" aria-live="off"><h3></h3><ol></ol><p class="muted"></p></div>'
        f'<details id="listed" hidden><summary></summary><div class="choices">{scope}</div>'
        '<div class="listed"></div></details>'
    )


PANEL = Panel("documents", section)
