"""May I trust this: what the tracker read, how well it was predicted and how fast it worked, slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from vmfstream.dashboards import wording
from vmfstream.dashboards.escape import for_plotly
from vmfstream.dashboards.history import Bools, Floats, History, history_of, ticks
from vmfstream.dashboards.panels import Panel, Parts, chart
from vmfstream.dashboards.theme import ThemeName, template, theme
from vmfstream.dashboards.view import LogRows, Selection, Size
from vmfstream.log.queries import EpochFrame

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WARM_UP = 14
"""Slices before which nothing is called unusual."""

ROW = 52
PHONE = 480

_WINDOW = 28
_DEVIATIONS = 2.0
_ROBUST = 1.4826  # median absolute deviation of a normal variable to its standard deviation
_HEAD = 26

Side = Literal["high", "low", "none"]


class _Kind(NamedTuple):
    """A row: its key in wording, where leaving the usual is bad, whether it starts at zero, and how it is written."""

    name: str
    bad: Side
    zero: bool
    write: Callable[[float], str]


@dataclass(frozen=True, slots=True, eq=False)
class HealthRow:
    """One quantity by slice.

    Parameters
    ----------
    name : str
        What it is.
    values, low, high, usual : float arrays of shape (S,)
        NaN where it is not known; ``low`` to ``high`` is usual, judged by the slices before; infinite on a side where
        leaving it is not bad.
    shown : tuple of S str
        The values as text.
    unusual : bool array of shape (S,)
    zero : bool
        Whether its scale begins at zero.
    """

    name: str
    values: Floats
    low: Floats
    high: Floats
    usual: Floats
    shown: tuple[str, ...]
    usually: str
    unusual: Bools
    zero: bool


@dataclass(frozen=True, slots=True, eq=False)
class HealthFrame:
    """The quantities that are known, the names of those that are not, and what to say first."""

    labels: tuple[str, ...]
    rows: tuple[HealthRow, ...]
    missing: tuple[str, ...]
    verdict: tuple[str, ...]


class HealthView:
    """May I trust this."""

    name = "health"
    title = wording.HEALTH

    def frame(self, rows: LogRows, selection: Selection) -> HealthFrame:
        """Collect the quantities by slice; the selection does not matter."""
        history = history_of(rows, "then")
        found: list[HealthRow] = []
        missing: list[HealthRow] = []
        for kind, values in _quantities(rows, history):
            row = _row(kind, values)
            (missing if np.isnan(values).all() else found).append(row)
        rejected = rows.rejections()
        return HealthFrame(
            labels=history.labels,
            rows=tuple(found) if history.labels else (),
            missing=tuple(row.name for row in missing) if history.labels else (),
            verdict=tuple(_verdict(history.labels, found, rejected.total, list(rejected.reasons))),
        )

    def drawing(self, frame: HealthFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of rows, whatever the size says."""
        return _drawing(frame, size, theme)

    def figure(self, frame: HealthFrame, size: Size, theme: ThemeName) -> Figure:
        """Draw the rows one under the other."""
        import plotly.graph_objects as go

        return go.Figure(self.drawing(frame, size, theme))


def usual(values: Floats, floor: Floats | float) -> tuple[Floats, Floats]:
    """Return for each slice the median of the slices before it, and their spread.

    Parameters
    ----------
    values : float array of shape (S,)
        NaN where unknown.
    floor : float or float array of shape (S,)
        Least spread.

    Returns
    -------
    median, spread : float arrays of shape (S,)
        Of the known values among the 28 slices before; slices of the warm-up are judged together. NaN without any.
    """
    slices = values.size
    median, spread = np.full(slices, np.nan), np.full(slices, np.nan)
    for s in range(slices):
        before = values[: min(WARM_UP, slices)] if s < WARM_UP else values[max(0, s - _WINDOW) : s]
        known = before[~np.isnan(before)]
        if known.size:
            median[s] = np.median(known)
            spread[s] = _ROBUST * np.median(np.abs(known - median[s]))
    return median, np.maximum(spread, floor)


def _quantities(rows: LogRows, history: History) -> list[tuple[_Kind, Floats]]:
    epochs = rows.epochs()
    frame, events = rows.slices(), rows.events()
    begin = history.index[0] if history.index.size else 0
    slices = history.index.size
    predicted = np.full(slices, np.nan)
    predicted[frame.slice - begin] = np.where(frame.n > 0, frame.predicted, np.nan)
    median, spread = usual(predicted, 1e-9)
    at = events.slice[events.kind == "drift"] - begin
    alarms = np.bincount(at[(at >= 0) & (at < slices)], minlength=slices).astype(np.float64)
    refused = _by_slice(epochs, history, (epochs.rejected + epochs.late).astype(np.float64), np.ones(epochs.n.size))
    count = _count
    return [
        (_Kind("documents", "low", True, count), history.n.astype(np.float64)),
        (_Kind("surprise", "high", False, _signed), (median - predicted) / spread),
        (_Kind("newWords", "high", True, wording.percent), _by_slice(epochs, history, epochs.unknown, epochs.n, True)),
        (_Kind("living", "none", False, count), history.alive().sum(axis=1).astype(np.float64)),
        (_Kind("alarms", "high", True, count), alarms),
        (_Kind("refused", "high", True, count), refused),
        (_Kind("lag", "high", True, count), _last(epochs, history, np.where(epochs.lag < 0, np.nan, epochs.lag))),
        (_Kind("seconds", "high", True, lambda v: f"{v:.2g}"), _by_slice(epochs, history, epochs.seconds, None, True)),
    ]


def _row(kind: _Kind, values: Floats) -> HealthRow:
    # a spread below what counting alone gives would call every second slice unusual
    centre = np.abs(np.nan_to_num(values))
    floor = {"surprise": 1.0, "newWords": 0.01}.get(kind.name, 0.1 * float(np.median(centre)) if values.size else 0.0)
    counted = np.sqrt(np.maximum(np.median(centre), 1.0)) if values.size else 1.0
    least = counted if kind.write is _count else floor
    median, spread = (np.zeros(values.size), np.ones(values.size)) if kind.name == "surprise" else usual(values, least)
    low = median - _DEVIATIONS * spread if kind.bad == "low" else np.full(values.size, -np.inf)
    high = median + _DEVIATIONS * spread if kind.bad == "high" else np.full(values.size, np.inf)
    late = np.arange(values.size) >= WARM_UP
    return HealthRow(
        name=wording.HEALTH_ROWS[kind.name],
        values=values,
        low=np.where(kind.zero, np.maximum(low, 0.0), low),
        high=high,
        usual=median,
        shown=tuple("" if np.isnan(v) else kind.write(float(v)) for v in values),
        usually=_usually(kind, median),
        unusual=late & ((values < low) | (values > high)),
        zero=kind.zero,
    )


def _usually(kind: _Kind, median: Floats) -> str:
    """Return what is usual now, as text."""
    if not median.size or np.isnan(median[-1]):
        return ""
    return wording.UP_TO.format(f"{_DEVIATIONS:+.0f}") if kind.name == "surprise" else kind.write(float(median[-1]))


def _by_slice(epochs: EpochFrame, history: History, values: Floats, weight: Any, mean: bool = False) -> Floats:
    """Return sums of a column of epochs by slice, or means weighted by ``weight``; NaN where nothing is known."""
    weights = np.ones(values.size) if weight is None else np.asarray(weight, np.float64)
    slices = history.index.size
    s = epochs.slice - (history.index[0] if slices else 0)
    known = ~np.isnan(values) & (s >= 0) & (s < slices)
    total = np.bincount(s[known], weights=(values * weights)[known], minlength=slices)
    of = np.bincount(s[known], weights=weights[known], minlength=slices)
    there = np.bincount(s[known], minlength=slices) > 0
    whole: Floats = np.where(there & (of > 0), total / np.where(mean & (of > 0), of, 1.0), np.nan)
    return whole


def _last(epochs: EpochFrame, history: History, values: Floats) -> Floats:
    """Return the last known value of each slice."""
    out = np.full(history.index.size, np.nan)
    s = epochs.slice - (history.index[0] if out.size else 0)
    known = ~np.isnan(values) & (s >= 0) & (s < out.size)
    out[s[known]] = values[known]
    return out


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _signed(value: float) -> str:
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}".replace("-", "−")


def _verdict(labels: Sequence[str], rows: Sequence[HealthRow], rejected: int, reasons: Sequence[str]) -> list[str]:
    """Return the first three oddities of the newest slice as sentences, or that there are none."""
    if not labels:
        return [wording.nothing_closed(0)]
    said = [wording.odd(row.name, row.shown[-1], row.usually, labels[-1]) for row in rows if row.unusual[-1]][:3]
    if not said:
        said = [wording.nothing_odd(labels, WARM_UP)]
    if rejected:
        said.append(wording.rejected(rejected, reasons))
    return said


def _drawing(frame: HealthFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    colours = theme(name)
    phone = size.width <= PHONE
    slices = len(frame.labels)
    left, right = (10, 100) if phone else (176, 112)
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

        def place(values: Floats, k: int = k, bottom: float = bottom, top: float = top) -> Floats:
            level = np.clip((values - bottom) / (top - bottom), 0.0, 1.0)
            placed: Floats = k + 0.5 + shift + drawn * (0.5 - level)
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
        "text": for_plotly(f"{wording.USUAL} {row.usually}") if row.usually else "",
        "font": {"color": muted, "size": 11},
    }
    return [base | name, base | value, base | small]


def columns(rows: LogRows, history: History) -> dict[str, Any]:
    """Return names, values as text and oddities of all rows, and the verdict."""
    frame = HealthView().frame(rows, Selection())
    return {
        "missing": list(frame.missing),
        "rows": [
            {
                "name": row.name,
                "odd": np.flatnonzero(row.unusual).tolist(),
                "shown": list(row.shown),
                "usual": row.usually,
            }
            for row in frame.rows
        ],
        "verdict": list(frame.verdict),
    }


_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


def _keys(rows: LogRows, topics: Sequence[int]) -> list[str]:
    return [f"health/{kind}" for kind in _SIZES]


def _draw(rows: LogRows, key: str) -> dict[str, Any]:
    view = HealthView()
    return view.drawing(view.frame(rows, Selection()), _SIZES[key.rpartition("/")[2]], "light")


def section(parts: Parts) -> str:
    """Return the panel's HTML; the script fills in verdict and rows."""
    cursor = '<div class="cursor" aria-hidden="true"></div>'
    figure = chart("health", wording.HEALTH, wording.HEALTH_CAPTION, over=cursor)
    return f'<ul id="health-verdict"></ul>{figure}<p class="muted" id="health-missing"></p>'


PANEL = Panel("health", section, "Health", columns=columns, keys=_keys, draw=_draw)
