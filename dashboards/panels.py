"""What a view contributes to a page: its HTML, columns for its script, and figures by key.

A module of a view ends with ``PANEL = Panel(...)`` and stands in ``PANELS`` of ``vmfstream.dashboards``; its script,
``browser/NAME.js``, registers ``views.NAME = { wire(), draw(changed), cursor() }`` (see ``browser/state.js``).
The exported and the live page are made of panels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.run_rows import RunRows


@dataclass(frozen=True, slots=True)
class PageParts:
    """What a page is made from.

    Parameters
    ----------
    rows : RunRows
    history : History
        The reading that the page opens with.
    meta : mapping of str to str
        Settings of the run.
    smoothed, many, live : bool
        Whether there are smoothed topics, more topics than the river draws, and a server.
    measures : sequence of str
        What thickness can mean.
    dropped : sequence of str
        What was left out to keep a file small.
    """

    rows: RunRows
    history: History
    meta: Mapping[str, str]
    smoothed: bool
    many: bool
    measures: Sequence[str]
    dropped: Sequence[str]
    live: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One view's part of the page.

    Parameters
    ----------
    name : str
        The view's name in ``PANELS``, in its script and in addresses.
    section : callable
        HTML of the panel, escaped. The page wraps it in an element with ``data-view="NAME"``.
    title : str
        What its tab is called; views outside of tabs need none.
    columns : callable, optional
        From the rows and the opening history, what its script finds as ``page.NAME``: plain values and numpy arrays.
    keys : callable, optional
        From the rows and the topics that have pictures of their own, the keys of all its figures: ``NAME/...``.
    draw : callable, optional
        One figure by its key, light, as plain ``data`` and ``layout``; the page repaints it dark.
    """

    name: str
    section: Callable[[PageParts], str]
    title: str = ""
    columns: Callable[[RunRows, History], Any] | None = None
    keys: Callable[[RunRows, Sequence[int]], Sequence[str]] | None = None
    draw: Callable[[RunRows, str], dict[str, Any]] | None = None


def chart(
    name: str,
    heading: str,
    caption: str,
    sentence: str = "",
    *,
    controls: str = "",
    over: str = "",
    table: bool = True,
    level: int = 3,
) -> str:
    """Return a figure with heading, caption, a place to draw into, and buttons to save picture and rows.

    Parameters
    ----------
    name : str
        Ids begin with it: ``NAME`` is the chart, ``NAME .plot`` where plotly draws, ``NAME-caption`` the caption.
    heading, caption, sentence : str
        Plain text; ``sentence`` describes the figure to those who do not see it, the caption does if it is empty.
    controls : str
        HTML beside the heading.
    over : str
        HTML on top of the drawing.
    table : bool
        Offer the rows as a file; the view's script answers with ``rows()``.
    level : int
        Of the heading, from 2 to 6.
    """
    described = "words" if sentence else "caption"
    spoken = f'<p class="only-read" id="{name}-words">{for_html(sentence)}</p>' if sentence else ""
    return (
        f'<figure aria-labelledby="{name}-title" aria-describedby="{name}-{described}">\n'
        f'<div class="head"><h{level} id="{name}-title">{for_html(heading)}</h{level}>'
        f'<div class="choices">{controls}</div></div>\n'
        f'<figcaption id="{name}-caption">{for_html(caption)}</figcaption>{spoken}\n'
        f'<div class="chart" id="{name}"><div class="plot" aria-hidden="true"></div>{over}</div>\n'
        f'<div class="tools">{save_buttons(name, table=table)}</div>\n</figure>'
    )


def save_buttons(name: str, *, table: bool = True) -> str:
    """Return the buttons that save a chart as a picture and its rows as a file; the heading says of what they are."""
    rows = save_table(name) if table else ""
    return f'<button class="quiet" data-save="{name}" aria-describedby="{name}-title">save picture</button>{rows}'


def save_table(name: str) -> str:
    """Return the button that saves the rows of a panel as a file."""
    return f'<button class="quiet" data-csv="{name}" aria-describedby="{name}-title">save table</button>'


def switch(name: str, label: str, choices: Sequence[tuple[str, str, bool]]) -> str:
    """Return a row of buttons of which one is pressed.

    ``name`` is its id, ``label`` its name for screen readers, and ``choices`` are (value, text, enabled).
    """
    buttons = "".join(
        f'<button data-value="{for_html(value)}"{"" if enabled else " disabled"}>{for_html(text)}</button>'
        for value, text, enabled in choices
    )
    return f'<div class="switch" role="group" aria-label="{for_html(label)}" id="{name}">{buttons}</div>'
