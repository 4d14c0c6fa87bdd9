"""Write recomputed tables and figures as one HTML page that works without a server or network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from json import dumps
from pathlib import Path
from typing import Any

from vmfstream.folders import write_file
from vmfstream.replay.papers.shown import Axes, Image, Images, Series, Shown, Table

COLOURS = ("#0b6fb8", "#d1495b", "#2a8c57", "#8a5fbf", "#b8740b", "#4c7a89", "#a0527a", "#6b6b6b")
"""Colours of the series, in order of first appearance; distinguishable with any colour vision."""

SYMBOLS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "cross": "✚",
    "x": "✖",
    "star": "★",
    "hexagon": "⬢",
}
"""Marks of the series in the same order, with a letter that looks alike."""

INK = "#1d2329"

_CONFIG = {
    "displayModeBar": False,
    "displaylogo": False,
    "plotlyServerURL": "",
    "responsive": True,
    "showSendToCloud": False,
}

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2329; background: #fff; margin: 0 auto; max-width: 76rem;
  padding: 1.5rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid #d9dee3; }
nav a { margin-right: 1rem; }
a { color: #0b6fb8; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .75rem 0; font-size: .92rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e6eaee; }
th[scope=row], th.corner { text-align: left; font-weight: 500; }
thead th { border-bottom-color: #9aa4ad; font-weight: 600; }
.paper { color: #55606a; }
.ours { font-weight: 600; }
.note { color: #55606a; margin: .3rem 0; max-width: 60rem; }
.legend span { display: inline-block; margin-right: 1.4rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: 1rem; }
.panels.small { grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
.panels > div { min-width: 0; }
p.images { margin: .75rem 0 .3rem; font-size: .92rem; }
ul.images { display: flex; flex-wrap: wrap; gap: .8rem; list-style: none; margin: 0; padding: 0; }
ul.images li { text-align: center; color: #55606a; font-size: .85rem; }
ul.images svg { display: block; margin: 0 auto .2rem; fill: #1d2329; background: #f3f5f7; }
"""


def write_page(path: Path, title: str, about: str, shown: Sequence[Shown]) -> None:
    """Write the page; an existing file is replaced.

    Parameters
    ----------
    path : pathlib.Path
    title : str
        Of the paper.
    about : str
        How the numbers were made, one sentence.
    shown : sequence of Shown
    """
    write_file(path, build_page(title, about, shown))


def build_page(title: str, about: str, shown: Sequence[Shown]) -> str:
    """Return the page as text; arguments as in `write_page`."""
    from plotly.offline import get_plotlyjs

    links = " ".join(f'<a href="#{escape(one.name)}">{escape(one.name)}</a>' for one in shown)
    figures = [figure for one in shown for figure in _figures(one)]
    library = f"<script>{get_plotlyjs()}</script>" if figures else ""
    # drawn when all places are there, for a figure takes the width that its place has at that moment
    drawing = f"<script>{_drawing(figures)}</script>" if figures else ""
    sections = "\n".join(_section(one) for one in shown)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style>{library}</head><body>
<h1>{escape(title)}</h1>
<p class="note">{escape(about)}</p>
<nav>{links}</nav>
{sections}
{drawing}
</body></html>
"""


def _section(shown: Shown) -> str:
    parts = [f'<h2 id="{escape(shown.name)}">{escape(shown.name)}: {escape(shown.title)}</h2>']
    parts += [_images(images) for images in shown.images]
    parts += [_table(table) for table in shown.tables]
    places = "".join(f'<div id="{escape(shown.name)}-{i}"></div>' for i in range(len(shown.panels)))
    kind = "panels small" if all(panel.square for panel in shown.panels) else "panels"
    parts += [f'{_legend(shown)}<div class="{kind}">{places}</div>'] if places else []
    parts += [f'<p class="note">{escape(note)}</p>' for note in shown.notes]
    return "<section>" + "\n".join(parts) + "</section>"


def _images(images: Images) -> str:
    drawn = "".join(f"<li>{_image(one)}{escape(one.name)}</li>" for one in images.images)
    return f'<p class="images">{escape(images.title)}</p><ul class="images">{drawn}</ul>'


def _image(image: Image) -> str:
    """Draw pixels as squares, darker for more."""
    squares = "".join(
        f'<path d="M{x} {y}h1v1h-1z" fill-opacity="{value:.2f}"/>'
        for y, row in enumerate(image.pixels)
        for x, value in enumerate(row)
    )
    width, height = len(image.pixels[0]), len(image.pixels)
    return f'<svg viewBox="0 0 {width} {height}" height="{8 * height}" aria-hidden="true">{squares}</svg>'


def _table(table: Table) -> str:
    columns = table.columns()
    upper = "".join(f'<th scope="colgroup" colspan="{len(table.sources(c))}">{escape(c)}</th>' for c in columns)
    lower = "".join(f'<th class="{source}">{source}</th>' for _, source in table.places())
    second = f"<tr><th></th>{lower}</tr>" if len(table.places()) > len(columns) else ""
    rows = []
    for row in table.rows():
        data = "".join(
            f'<td class="{source}">{escape(table.text(row, column, source))}</td>' for column, source in table.places()
        )
        rows.append(f'<tr><th scope="row">{escape(row)}</th>{data}</tr>')
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f'<div class="wide"><table><caption>{escape(table.title)}</caption><thead>'
        f'<tr><th class="corner">{escape(table.corner)}</th>{upper}</tr>{second}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{notes}"
    )


def _names(shown: Shown) -> list[str]:
    """Return the names of all series: each has one colour and mark in all panels."""
    return list(dict.fromkeys(series.name for panel in shown.panels for series in panel.series))


def _legend(shown: Shown) -> str:
    styles = {series.name: series.style for panel in shown.panels for series in panel.series[::-1]}
    letters = list(SYMBOLS.values())
    entries = []
    for i, name in enumerate(_names(shown)):
        colour, letter = COLOURS[i % len(COLOURS)], letters[i % len(letters)]
        if styles[name] != "line":
            colour, letter = (INK, "✖") if styles[name] == "marks" else (colour, "●")
        entries.append(f'<span><b style="color:{colour}">{letter}</b> {escape(name)}</span>')
    if any(series.style == "printed" for panel in shown.panels for series in panel.series):
        entries.append("<span><b>○</b> hollow: the printed value</span>")
    return f'<p class="legend">{"".join(entries)}</p>'


def _figures(shown: Shown) -> list[dict[str, Any]]:
    """Return the panels as plotly draws them, each with the name of its place."""
    names = _names(shown)
    return [{"place": f"{shown.name}-{i}", "figure": _figure(panel, names)} for i, panel in enumerate(shown.panels)]


def _figure(panel: Axes, names: Sequence[str]) -> dict[str, Any]:
    import plotly.graph_objects as go

    figure = go.Figure([_trace(series, names.index(series.name)) for series in panel.series])
    for label, level in panel.levels:
        figure.add_hline(level, line={"dash": "dash", "color": "#55606a", "width": 1.5}, annotation_text=label)
    figure.update_layout(
        template="simple_white",
        title={"text": panel.title, "x": 0.02, "font": {"size": 16}},
        xaxis_title=panel.x_title,
        yaxis_title=panel.y_title,
        height=380,
        margin={"l": 60, "r": 20, "t": 50, "b": 50},
        font={"family": "system-ui, sans-serif", "size": 13},
        showlegend=False,
        hovermode="closest",
    )
    if panel.square:
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
        figure.update_xaxes(constrain="domain")
    drawn: dict[str, Any] = figure.to_plotly_json()
    return drawn


def _drawing(figures: list[dict[str, Any]]) -> str:
    from plotly.io.json import to_json_plotly

    every = to_json_plotly(figures)  # safe inside a script: it writes no "<"
    draw = "Plotly.newPlot(one.place, one.figure.data, one.figure.layout, config)"
    return f"const config = {dumps(_CONFIG)}; for (const one of {every}) {draw};"


def _trace(series: Series, place: int) -> dict[str, Any]:
    colour, symbol = COLOURS[place % len(COLOURS)], list(SYMBOLS)[place % len(SYMBOLS)]
    trace: dict[str, Any] = {"type": "scatter", "x": series.x, "y": series.y, "name": series.name}
    if series.style == "line":
        trace |= {"mode": "lines+markers", "line": {"color": colour, "width": 2}, "marker": {"symbol": symbol}}
        if series.spread is not None:
            trace["error_y"] = {"array": series.spread, "thickness": 1, "width": 3, "color": colour}
    elif series.style == "printed":
        marker = {"symbol": f"{symbol}-open", "color": colour, "size": 13, "line": {"width": 2}}
        trace |= {"mode": "markers", "marker": marker, "name": f"{series.name}, printed"}
    elif series.style == "points":
        trace |= {"mode": "markers", "marker": {"color": colour, "size": 6, "opacity": 0.75}}
    else:
        trace |= {
            "mode": "markers",
            "marker": {"color": INK, "size": 11, "symbol": "x"},
        }
    return trace
