"""Panel of the stories that make up the selected topic."""

from __future__ import annotations

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import PageParts, Panel


def section(parts: PageParts) -> str:
    """Return the place of heading, list and what was left out; the script fills it."""
    return (
        f'<div id="topic-stories" hidden><h3 id="topic-stories-title">{for_html(texts.TOPIC_STORIES)}</h3>'
        '<p class="muted"></p><ol aria-labelledby="topic-stories-title"></ol></div>'
    )


PANEL = Panel("topicstories", section)
