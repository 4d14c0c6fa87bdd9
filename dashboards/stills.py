"""Pictures for print: one view as SVG, PDF or PNG, light on white, at a print size, with a line that describes it."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from vmfstream.dashboards import VIEWS, current_name
from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean, for_plotly
from vmfstream.dashboards.looks.textwidth import em_width
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.page.markup import NO_COASTS
from vmfstream.dashboards.rows.history import history_of, slice_called
from vmfstream.dashboards.rows.initial_selection import initial_measure, initial_topic
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.compare.view import CompareFrame
from vmfstream.dashboards.views.search.view import SearchFrame
from vmfstream.dashboards.views.tree.hierarchy import TreeFrame
from vmfstream.errors import InputError, MissingExtra
from vmfstream.folders import write_file
from vmfstream.runfile.queries import Reader, Reading

Format = Literal["svg", "pdf", "png"]

NARROWEST, WIDEST = 60.0, 1200.0
"""Widths in millimetres that a still may have."""

_PIXELS_PER_MM = 4.2518  # the page's 12 px text is then 8 pt high in print
_CSS_PER_MM = 96.0 / 25.4
_DOTS_PER_MM = 300.0 / 25.4
_WHITE = "#ffffff"
_TEXT = 12
_FIRST_LINE, _NEXT_LINE = 26, 16
_SHAPE = {"river": 0.54}
_SQUARE = ("neighbours", "globe")
_WHOLE = ("river", "lineage", "globe", "tree", "search", "health")


def parse_width(text: str) -> float:
    """Return millimetres from ``170mm``, ``17cm`` or ``6.7in``.

    Raises
    ------
    InputError
        If it is no such length, or outside 60 to 1200 mm.
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(mm|cm|in)\s*", text)
    if found is None:
        raise InputError(f"--width: expected a length such as 170mm, 17cm or 6.7in, got {text!r}")
    width = float(found[1]) * {"mm": 1.0, "cm": 10.0, "in": 25.4}[found[2]]
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"--width: expected {NARROWEST:.0f} to {WIDEST:.0f} mm, got {width:g} mm")
    return width


def format_of(path: Path, given: str | None = None) -> Format:
    """Return the format of a still: the one that was given, else that of the file's ending.

    Raises
    ------
    InputError
        If it is none of svg, pdf and png.
    """
    name = (given or path.suffix.lstrip(".")).lower()
    for known in get_args(Format):
        if name == known:
            found: Format = known
            return found
    raise InputError(f"--format: expected {', '.join(get_args(Format))}, got {name or 'none'!r}")


def write_still(
    run_file: str | os.PathLike[str],
    target: Path,
    what: str,
    *,
    kind: str | None = None,
    width: str = "170mm",
    topic: int | None = None,
    word: str | None = None,
    date: str | None = None,
    other: str | None = None,
    reading: Reading = "smoothed",
    filtered: bool | None = None,
    then: bool | None = None,
) -> int:
    """Write one view of a run file as a picture and return its size in bytes.

    Parameters
    ----------
    run_file : path of a run file
    target : Path
        The picture; an existing file is replaced.
    what : str
        A view by name, see ``VIEWS``.
    kind : {"svg", "pdf", "png"}, optional
        By default what the file's name ends with.
    width : str
        In print, see `parse_width`.
    topic, word : optional
        What the view is about; views of one topic take the one the page opens with.
    date, other : str, optional
        Names of slices.
    reading : {"filtered", "smoothed"}
        As known when each slice closed, or using later documents too.
    filtered, then : bool
        Deprecated: former names of ``reading="filtered"``.

    Raises
    ------
    InputError, MissingExtra
        See `still`; InputError too for a date that the run file does not have.
    """
    for name, given in (("filtered", filtered), ("then", then)):
        if given is not None:
            warnings.warn(f"{name}=... is deprecated, use reading=...", DeprecationWarning, stacklevel=2)
            reading = "filtered" if given else "smoothed"
    what = current_name(what)
    form, millimetres = format_of(target, kind), parse_width(width)
    rows = CachedRows(Reader(Path(run_file)))
    history = history_of(rows, reading)
    if topic is None and what not in _WHOLE:
        topic = initial_topic(judged(rows, history))
    chosen = Selection(
        date=slice_called(history, date),
        topic=topic,
        word=word,
        other=slice_called(history, other),
        reading=history.reading,
        measure=initial_measure(history),
    )
    made = still(rows, what, chosen, form, millimetres)
    write_file(target, made)
    return len(made)


def still(rows: RunRows, what: str, selection: Selection, kind: Format, width: float = 170.0) -> bytes:
    """Draw one view for print.

    Parameters
    ----------
    rows : RunRows
    what : str
        A view by name, see ``VIEWS``.
    selection : Selection
    kind : {"svg", "pdf", "png"}
        PNG has 300 dots per inch.
    width : float
        In millimetres; text of the axes is 8 pt high.

    Raises
    ------
    InputError
        If there is no such view or topic, no closed slice, nothing to draw, or no Chromium.
    MissingExtra
        Without kaleido.
    """
    drawing = printed(rows, what, selection, width)
    return _rendered(drawing, kind, width)


def printed(rows: RunRows, what: str, selection: Selection, width: float = 170.0) -> dict[str, Any]:
    """Return the drawing of a still as plain data and layout; arguments and errors as in `still`."""
    what = current_name(what)
    if what not in VIEWS:
        raise InputError(f"--still: expected one of {', '.join(VIEWS)}, got {what!r}")
    rows = rows if isinstance(rows, CachedRows) else CachedRows(rows)
    history = history_of(rows, selection.reading)
    if not history.labels:
        raise InputError("the run file has no closed slice: there is nothing to draw yet")
    if not history.topic.size and what != "health":
        raise InputError("the run file has no topics: there is nothing to draw but its health")
    if selection.topic is not None and history.position(selection.topic) is None:
        raise InputError(f"there is no topic {selection.topic} in this run file")
    view = VIEWS[what]()
    pixels = round(width * _PIXELS_PER_MM)
    high = pixels if what in _SQUARE else round(pixels * _SHAPE.get(what, 0.6))
    frame = view.frame(rows, selection)
    if isinstance(frame, SearchFrame) and not frame.rows:
        near = f"; similar ones are {', '.join(frame.near)}" if frame.near else ""
        asked = f"{frame.word!r}, which is among the strongest words of no topic{near}" if frame.word else "none"
        raise InputError(f"--word: expected the word of the picture of a search, got {asked}")
    if isinstance(frame, TreeFrame) and frame.made is None:
        raise InputError(f"the run file has no tree: {texts.TREE_COMMAND} makes one")
    if isinstance(frame, CompareFrame) and frame.left == frame.right:
        raise InputError(f"--other: expected another date of topic {frame.left.topic} than {frame.left.label}")
    drawing: dict[str, Any] = _on_white(view.drawing(frame, Size(pixels, high), "light"))
    layout = drawing["layout"]
    lines = _lines(source(rows, what, selection), pixels)
    room = _FIRST_LINE + _NEXT_LINE * (len(lines) - 1)
    layout["height"] = (layout.get("height") or high) + room
    layout["margin"] = dict(layout.get("margin", {}))
    below = layout["margin"].get("b", 0)
    layout["margin"]["b"] = below + room
    caption = _caption(lines, layout["margin"].get("l", 0), below)
    layout["annotations"] = [*layout.get("annotations", ()), caption]
    return drawing


def source(rows: RunRows, what: str, selection: Selection) -> list[str]:
    """Say in parts what a still of ``what`` shows: corpus, topic, time, reading, version.

    ``rows`` and ``selection`` are what it is drawn from.
    """
    history = history_of(rows, selection.reading)
    meta = rows.meta()
    parts = [clean(meta.get("title") or texts.TITLE)]
    if what not in _WHOLE and selection.topic is not None:
        parts.append(texts.PAGE["topic"].replace("{topic}", str(selection.topic)))
    parts.append(phrases.span(history.labels))
    parts.append(texts.PAGE["filtered" if what == "health" else history.reading])
    if meta.get("version"):
        parts.append(f"vmfstream {clean(meta['version'])}")
    return parts


def _lines(parts: Sequence[str], pixels: int) -> list[str]:
    """Join parts by commas into as few lines as the width allows; nearly always one."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}, {part}"
        if em_width(longer) * _TEXT <= pixels - 8:
            lines[-1] = longer
        else:
            lines[-1] += ","
            lines.append(part)
    return lines


def _caption(lines: Sequence[str], left: float, below: float) -> dict[str, Any]:
    return {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 4 - left,
        "y": 0,
        "yref": "paper",
        "yanchor": "top",
        "yshift": -below - 6,
        "showarrow": False,
        "align": "left",
        "text": "<br>".join(map(for_plotly, lines)),
        "font": {"color": theme("light").muted, "size": _TEXT},
    }


def _on_white(value: Any) -> Any:
    """Return a copy of a light drawing on white instead of the page's colour."""
    if isinstance(value, str):
        return _WHITE if value == theme("light").page else value
    if isinstance(value, Mapping):
        return {key: _on_white(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_on_white(item) for item in value]
    return value


def _rendered(drawing: dict[str, Any], kind: Format, width: float) -> bytes:
    try:
        import kaleido
        from choreographer.errors import ChromeNotFoundError
    except ImportError:
        raise MissingExtra("stills need kaleido: pip install 'vmfstream[stills]'") from None
    import plotly.graph_objects as go

    pixels, high = drawing["layout"]["width"], drawing["layout"]["height"]
    scale = {"svg": 1.0, "pdf": width * _CSS_PER_MM / pixels, "png": width * _DOTS_PER_MM / pixels}[kind]
    options = {"format": kind, "width": pixels, "height": high, "scale": scale}
    with tempfile.TemporaryDirectory() as folder:
        # nothing is asked of any network: no formulas, and no coast lines for globes
        quiet = Path(folder) / "quiet.js"
        quiet.write_text(NO_COASTS, encoding="utf-8")
        page = kaleido.PageGenerator(mathjax=False, others=[quiet.as_uri()])
        try:
            with _quiet("choreographer", "kaleido"):
                made: bytes = kaleido.calc_fig_sync(go.Figure(drawing), opts=options, kopts={"page_generator": page})
        except ChromeNotFoundError:
            raise InputError("stills need Chromium or Chrome on this machine, and none was found") from None
    return _sized(made, width, high * width / pixels) if kind == "svg" else made


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Keep libraries from telling about their pipes; what goes wrong comes as an exception."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _sized(svg: bytes, width: float, height: float) -> bytes:
    """Return an SVG with its size in millimetres."""
    head, end, rest = svg.decode("utf-8").partition(">")
    head = re.sub(r'\b(width|height)="[^"]*"', lambda m: f'{m[1]}="{width if m[1] == "width" else height:.2f}mm"', head)
    return (head + end + rest).encode("utf-8")
