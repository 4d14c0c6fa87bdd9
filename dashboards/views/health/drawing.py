"""Figure of the diagnostics: one row per quantity, with its usual range and dots outside of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.theme import ThemeName, template, theme
from vmfstream.dashboards.rows.history import Doubles, ticks
from vmfstream.dashboards.view import PHONE, Size
from vmfstream.dashboards.views.health.frame import HealthFrame, HealthRow

ROW = 52


_HEAD = 26


def draw_health(frame: HealthFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    """Return data and layout of a ``frame``; the height follows the number of rows, whatever ``size`` says.

    ``name`` is that of the theme.
    """
    colours = theme(name)
    phone = size.width <= PHONE
    slices = len(frame.labels)
    left, right = (10, 100) if phone else (196, 112)
    drawn, shift = (0.46, 0.22) if phone else (0.62, 0.0)  # of a row; on phones the name stands above
    height = _HEAD + ROW * len(frame.rows) + 8
    band_x: list[float | None] = []
    band_y: list[float | None] = []
    line_y: list[float | None] = []
    dot_x: list[float] = []
    dot_y: list[float] = []
    notes = []
    for k, row in enumerate(frame.rows):
        bottom, top = _scale(row)

        def place(values: Doubles, k: int = k, bottom: float = bottom, top: float = top) -> Doubles:
            level = np.clip((values - bottom) / (top - bottom), 0.0, 1.0)
            placed: Doubles = k + 0.5 + shift + drawn * (0.5 - level)
            return placed

        known = np.flatnonzero(~np.isnan(row.usual) & (np.isfinite(row.low) | np.isfinite(row.high)))
        if known.size:
            low = place(np.where(np.isfinite(row.low), row.low, bottom)[known])
            high = place(np.where(np.isfinite(row.high), row.high, top)[known])
            band_x += [*known.tolist(), *known[::-1].tolist(), None]
            band_y += [*low.tolist(), *high[::-1].tolist(), None]
        y = place(row.values)
        line_y += [*y.tolist(), None]
        odd = np.flatnonzero(row.unusual)
        dot_x += odd.tolist()
        dot_y += y[odd].tolist()
        notes += _texts(row, k, phone, left, right, colours.text, colours.muted, colours.alarm)
    traces = [
        _trace("usual", band_x, band_y, mode="lines", fill="toself", fillcolor=colours.rule, line={"width": 0}),
        _trace(
            "values",
            [*range(slices), None] * len(frame.rows),
            line_y,
            mode="lines",
            connectgaps=False,
            line={"color": colours.text, "width": 1.4},
        ),
        _trace("unusual", dot_x, dot_y, mode="markers", marker={"color": colours.alarm, "size": 7}),
    ]
    marked = ticks(frame.labels, size.width - left - right, 46.0)
    edge = max(slices - 1, 1)
    return {
        "data": traces,
        "layout": {
            "template": template(name),
            "width": size.width,
            "height": height,
            "margin": {"t": _HEAD, "b": 8, "l": left, "r": right},
            "meta": {"view": "health", "rows": len(frame.rows), "range": [0, edge]},
            "annotations": notes,
            "xaxis": {
                "range": [0, edge],
                "side": "top",
                "tickangle": 0,
                "tickvals": [i for i, _ in marked],
                "ticktext": [for_plotly(text) for _, text in marked],
            },
            "yaxis": {"range": [max(len(frame.rows), 1), 0], "visible": False},
        },
    }


def _scale(row: HealthRow) -> tuple[float, float]:
    """Return bottom and top of a row: what was and what is usual; zero is shown unless all values are far from it."""
    shown = np.concatenate([row.values, row.low, row.high])
    shown = shown[np.isfinite(shown)]
    if not shown.size:
        return 0.0, 1.0
    least, most = float(shown.min()), float(shown.max())
    if np.isfinite(row.high).any():  # the band leaves room above it
        most = max(most, 1.4 * float(row.high[np.isfinite(row.high)].max()))
    bottom = 0.0 if row.zero and least < 0.5 * most else least - 0.3 * (most - least)
    return bottom, most if most > bottom else bottom + 1.0


def _trace(name: str, x: list[Any], y: list[Any], **looks: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "hoverinfo": "skip",
        "cliponaxis": False,
        "x": np.array(x, np.float32),
        "y": np.array(y, np.float32),
        **looks,
    }


def _texts(
    row: HealthRow, k: int, phone: bool, left: int, right: int, text: str, muted: str, alarm: str
) -> list[dict[str, Any]]:
    """Return the row's name, its last value and what is usual."""
    known = [shown for shown in row.shown if shown]
    last = known[-1] if known else ""
    odd = bool(row.unusual.size and row.unusual[-1])
    base = {"xref": "paper", "yref": "y", "showarrow": False, "y": k + 0.5}
    name = {"x": 0, "xanchor": "left", "text": for_plotly(row.name)}
    if phone:
        name |= {"yanchor": "top", "yshift": ROW / 2 - 3, "font": {"color": muted, "size": 11}}
    else:
        name |= {"yanchor": "middle", "xshift": -left, "font": {"color": text, "size": 12.5}}
    value = {
        "x": 1,
        "xanchor": "left",
        "xshift": 14,
        "yanchor": "middle",
        "yshift": 8,
        "text": for_plotly(f"! {last}" if odd else last),
        "font": {"color": alarm if odd else text, "size": 16, "weight": 650},
    }
    small = {
        "x": 1,
        "xanchor": "left",
        "xshift": 14,
        "yanchor": "middle",
        "yshift": -9,
        "text": for_plotly(f"{texts.USUAL} {row.usually}") if row.usually else "",
        "font": {"color": muted, "size": 11},
    }
    return [base | name, base | value, base | small]
