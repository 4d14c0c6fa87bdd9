"""Figure of the lineage: ribbons as thick as shares, curves of splits and merges, event marks, words at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.texts import WARM_UP
from vmfstream.dashboards.looks.textwidth import em_width, shortened
from vmfstream.dashboards.looks.theme import SLOTS, Theme, ThemeName, template, theme
from vmfstream.dashboards.rows.history import Bools, Doubles, History, ticks
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.view import INSET, PHONE, Size
from vmfstream.dashboards.views.lineage.frame import LineageFrame, TopicEvent, TopicLane, thickness
from vmfstream.dashboards.views.lineage.lane_assignment import Link

LANE = 27
TOP, BOTTOM = 30, 20

_RIGHT, _RIGHT_PHONE = 158, 96
_LEAST, _MOST = 1.0, 14.0
_POINTS = 96
_MOST_COLUMNS = 300
_NEAR = 6.0
_MIDDLE = 0.6  # of a lane lies above its line, for the words at birth
_TEXT = 11.5
_LEAST_ROOM = 36.0
_SYMBOLS = {"born": "circle", "ended": "x-thin", "drift": "triangle-down", "dormant": "circle", "woken": "circle"}
_SIZES = {"born": 9, "ended": 7, "drift": 8, "dormant": 4, "woken": 4}


class _Curve(NamedTuple):
    """Curve of a split or merge: colour slot, path, middle, and the index of its event."""

    slot: int
    path: str
    x: float
    y: float
    event: int


def lineage_drawing(frame: LineageFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    """Return data and layout of a ``frame``; the height follows the number of lanes, whatever ``size`` says.

    ``name`` is that of the theme.
    """
    return _Drawing(frame, size, name).drawn()


class _Drawing:
    """One drawing: the frame, and how its slices and lanes become pixels."""

    def __init__(self, frame: LineageFrame, size: Size, name: ThemeName) -> None:
        self.frame, self.size, self.name = frame, size, name
        self.colours: Theme = theme(name)
        self.right = _RIGHT_PHONE if size.width <= PHONE else _RIGHT
        slices = frame.history.index.size
        self.range = [0.0, slices - 1.0] if slices > 1 else [-0.5, 0.5]
        self.wide = size.width - INSET - self.right
        self.per_pixel = (self.range[1] - self.range[0]) / self.wide
        self.half = thickness(frame.history, _LEAST, _MOST) / (2 * LANE)

    def drawn(self) -> dict[str, Any]:
        """Return data and layout."""
        marks = list(self._marks())
        curves = [self._curve(*bond) for bond in self.frame.links]
        traces = [*self._ribbons(), *self._mark_trace(marks), *self._words(marks)]
        return {"data": traces, "layout": self._layout(marks, curves)}

    def _slot(self, line: TopicLane) -> int:
        return int(self.frame.history.topic[line.t]) % SLOTS

    def _ribbons(self) -> Iterator[dict[str, Any]]:
        """Give one filled trace per colour: every active stretch of every topic, as thick as its share."""
        for slot, lines in self._by_slot():
            xs: list[Doubles] = []
            ys: list[Doubles] = []
            gap = np.array([np.nan])
            for line in lines:
                for a, b in _runs(line.active, line.first, line.last):
                    x, half = self._stretch(a, b, line.t)
                    xs += [x, x[::-1], x[:1], gap]
                    ys += [line.lane - half, (line.lane + half)[::-1], line.lane - half[:1], gap]
            if xs:
                yield {
                    "type": "scatter",
                    "mode": "lines",
                    "fill": "toself",
                    "name": f"lives {slot}",
                    "hoverinfo": "skip",
                    "x": np.concatenate(xs)[:-1].astype(np.float32),
                    "y": np.concatenate(ys)[:-1].round(4).astype(np.float32),
                    "fillcolor": self.colours.slots[slot].fill,
                    "line": {"color": self.colours.slots[slot].ink, "width": 1},
                }

    def _stretch(self, a: int, b: int, t: int) -> tuple[Doubles, Doubles]:
        """Return positions and half thickness between two rows; a single slice gets a little width of its own."""
        from scipy.interpolate import PchipInterpolator

        if a == b:
            ends = np.clip(a + np.array([-0.35, 0.35]), self.range[0], self.range[1])
            return ends, np.repeat(self.half[a, t], 2)
        slices = self.frame.history.index.size
        per = -(-slices // _MOST_COLUMNS)
        starts = np.arange(a, b + 1, per)
        position = np.append(starts[:-1] + (per - 1) / 2, b) if per > 1 else starts.astype(np.float64)
        position[0] = a
        half = np.add.reduceat(self.half[a : b + 1, t], starts - a) / np.diff(np.append(starts, b + 1))
        sub = int(np.clip(_POINTS // slices, 1, 6))
        if sub == 1 or position.size < 2:
            return position, half
        x = np.linspace(a, b, (b - a) * sub + 1)
        return x, PchipInterpolator(position, half)(x)

    def _marks(self) -> Iterator[dict[str, Any]]:
        """Return the marks; events of one topic within six pixels share a mark."""
        place = {int(self.frame.history.topic[line.t]): line for line in self.frame.lines}
        found: dict[tuple[int, int], list[tuple[int, TopicEvent]]] = {}
        for k, what in enumerate(self.frame.events):
            if what.topic in place and what.kind in _SYMBOLS:
                found.setdefault((what.topic, int(what.kind == "drift")), []).append((k, what))
        for (topic, above), events in found.items():
            line = place[topic]
            groups: list[list[tuple[int, TopicEvent]]] = []
            for event in sorted(events, key=lambda e: e[1].slice):
                if groups and (event[1].slice - groups[-1][-1][1].slice) / self.per_pixel < _NEAR:
                    groups[-1].append(event)
                else:
                    groups.append([event])
            for group in groups:
                yield self._mark(line, group, bool(above))

    def _mark(self, line: TopicLane, group: list[tuple[int, TopicEvent]], above: bool) -> dict[str, Any]:
        what = group[-1][1]
        s = {"born": line.first, "ended": line.last}.get(what.kind, min(max(what.slice, line.first), line.last))
        ink = self.colours.slots[self._slot(line)].ink
        half = float(self.half[s, line.t])
        edge = self.colours.alarm if above else ink
        return {
            "x": s + 9 * self.per_pixel if what.kind == "ended" else float(s),
            "y": round(line.lane - (half + 5 / LANE if above else 0.0), 3),
            "symbol": _SYMBOLS[what.kind],
            "size": _SIZES[what.kind],
            "fill": self.colours.page if what.kind == "born" else edge,
            "edge": edge,
            "width": 0 if above else 2,
            "text": str(len(group)) if len(group) > 1 else "",
            "events": [k for k, _ in group],
            "line": line,
            "above": above,
        }

    def _mark_trace(self, marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        if marks:
            yield {
                "type": "scatter",
                "mode": "markers+text",
                "name": "marks",
                "hoverinfo": "skip",
                "cliponaxis": False,
                "x": [round(m["x"], 3) for m in marks],
                "y": [m["y"] for m in marks],
                "text": [m["text"] for m in marks],
                "textposition": "top center",
                "textfont": {"color": self.colours.muted, "size": 10},
                "marker": {
                    "symbol": [m["symbol"] for m in marks],
                    "size": [m["size"] for m in marks],
                    "color": [m["fill"] for m in marks],
                    "line": {"color": [m["edge"] for m in marks], "width": [m["width"] for m in marks]},
                    "opacity": 1,
                },
            }

    def _words(self, marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Give the words at birth above each line and the words now, or the last ones, right of it."""
        history, newest = self.frame.history, self.frame.history.index.size - 1
        settled = history.settled()
        above: list[tuple[float, float, str, str]] = []
        beside: list[tuple[float, float, str, str]] = []
        flowed = {link.child for _, link in self.frame.links if link.inwards}
        for k, line in enumerate(self.frame.lines):
            rows = np.arange(line.first, line.last + 1)
            named = rows[settled[rows]] if settled[rows].any() else rows
            first = _fitted(history, int(named[0]), line.t, 0.6 * self.wide)
            alive = line.last == newest
            x = self._beside_marks(line, first, marks)
            fits = x + em_width(first) * _TEXT * self.per_pixel < line.last or line.first == line.last == 0
            if fits:
                until = min(line.last, int(x + 100 * self.per_pixel)) + 1
                y = line.lane - float(self.half[line.first : until, line.t].max()) - 1 / LANE
                above.append((x, y, first, self.colours.text))
            away = 0.0 if alive else max(10.0, (0.45 / self.per_pixel if k in flowed else 0.0)) * self.per_pixel
            place = self.range[1] if alive else line.last + away
            room = self._free_after(line, place)
            last = _fitted(history, line.last if alive or fits else int(named[0]), line.t, max(room, _LEAST_ROOM))
            if alive:
                beside.append((place, line.lane, last, self.colours.text))
            elif (last != first or not fits) and room >= _LEAST_ROOM:
                beside.append((place, line.lane, last, self.colours.muted if fits else self.colours.text))
        for name, mode, position, labels in (
            ("first words", "text", "top right", above),
            ("last words", "markers+text", "middle right", beside),
        ):
            yield {
                "type": "scatter",
                "mode": mode,
                "name": name,
                "hoverinfo": "skip",
                "cliponaxis": False,
                "textposition": position,
                # plotly hides what is anchored outside of the axis: a marker nobody sees keeps the distance
                "marker": {"color": self.colours.page, "opacity": 0, "size": 10},
                "x": [round(label[0], 3) for label in labels],
                "y": [round(label[1], 3) for label in labels],
                "text": [for_plotly(label[2]) for label in labels],
                "textfont": {"color": [label[3] for label in labels], "size": _TEXT},
            }

    def _free_after(self, line: TopicLane, x: float) -> float:
        """Return the pixels between a place right of a life and the next life on its lane or the end of the drawing."""
        next_ones = [other.first for other in self.frame.lines if other.lane == line.lane and other.first > line.first]
        end = min(next_ones) - 9 * self.per_pixel if next_ones else self.range[1] + (self.right - 8) * self.per_pixel
        return (end - x) / self.per_pixel - 5

    def _beside_marks(self, line: TopicLane, text: str, marks: list[dict[str, Any]]) -> float:
        """Return where the words at birth begin: at birth, or right of marks that would stand in them."""
        wide = em_width(text) * _TEXT * self.per_pixel
        x = line.first + 3 * self.per_pixel
        for mark in sorted((m for m in marks if m["line"] is line), key=lambda m: m["x"]):
            near = x - 7 * self.per_pixel < mark["x"] < x + wide + 7 * self.per_pixel
            if near and (mark["above"] or (mark["symbol"] == "circle" and mark["x"] == line.first)):
                x = mark["x"] + 9 * self.per_pixel
        return x

    def _layout(self, marks: list[dict[str, Any]], curves: list[_Curve]) -> dict[str, Any]:
        history, colours = self.frame.history, self.colours
        marked = ticks(history.labels, self.wide, 46.0 if self.size.width <= PHONE else 74.0)
        high, low = -_MIDDLE - 0.3, max(self.frame.lanes, 1) - _MIDDLE
        grid = "".join(f"M{i},{high}L{i},{low}" for i, _ in marked)
        shapes = [_path(grid, colours.rule, 1)] if grid else []
        shapes += self._paths(curves)
        edge, notes = self._warm_up(low)
        topics = [int(history.topic[line.t]) for line in self.frame.lines]
        return {
            "template": template(self.name),
            "width": self.size.width,
            "height": TOP + round((low - high) * LANE) + BOTTOM,
            "margin": {"l": INSET, "r": self.right, "t": TOP, "b": BOTTOM},
            "meta": {
                "view": "lineage",
                "range": self.range,
                "lane": LANE,
                "ticks": marked,
                "lives": [
                    [topic, line.lane, line.first, line.last]
                    for topic, line in zip(topics, self.frame.lines, strict=True)
                ],
                "marks": [[round(m["x"], 3), m["y"], m["events"]] for m in marks]
                + [[round(curve.x, 3), round(curve.y, 3), [curve.event]] for curve in curves],
            },
            "xaxis": {
                "range": self.range,
                "side": "top",
                "tickangle": 0,
                "tickvals": [i for i, _ in marked],
                "ticktext": [for_plotly(text) for _, text in marked],
            },
            "yaxis": {"range": [low, high], "visible": False},
            "shapes": shapes + edge,
            "annotations": notes,
        }

    def _warm_up(self, low: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return a line after the last slice in which topics could still change their meaning, and its name."""
        unsettled = np.flatnonzero(~self.frame.history.settled())
        if not unsettled.size or self.frame.history.index.size < 2:
            return [], []
        x = min(float(unsettled[-1]) + 0.5, self.range[1])
        left = x < self.range[1] / 4
        note = {
            "x": x,
            "y": low,
            "xanchor": "left" if left else "right",
            "yanchor": "top",
            "text": f"◂ {WARM_UP}" if left else f"{WARM_UP} ▸",
            "showarrow": False,
            "font": {"color": self.colours.muted, "size": 11},
        }
        return [_path(f"M{x},{-_MIDDLE}L{x},{low}", self.colours.muted, 1, "dot")], [note]

    def _curve(self, event: int, link: Link) -> _Curve:
        """Return the curve of a split or merge: its colour slot, its path, its middle and its event."""
        child, parent = self.frame.lines[link.child], self.frame.lines[link.parent]
        step = max(1.0, 14 * self.per_pixel)
        # where rows end or begin: smoothed, that is not the slice in which the tracker noticed, and the other topic may
        # not be there yet, or no longer
        x0, x1 = (
            (child.last, max(child.last + step, parent.first))
            if link.inwards
            else (min(child.first - step, parent.last), child.first)
        )
        y0, y1 = (child.lane, parent.lane) if link.inwards else (parent.lane, child.lane)
        x = 0.5 * (x0 + x1)
        path = f"M{x0:.2f},{y0}C{x:.2f},{y0} {x:.2f},{y1} {x1:.2f},{y1}"
        return _Curve(self._slot(child), path, x, 0.5 * (y0 + y1), event)

    def _paths(self, curves: list[_Curve]) -> list[dict[str, Any]]:
        """Return curves and the dotted stretches of sleep, one path per colour."""
        drawn: dict[int, str] = {}
        for curve in curves:
            drawn[curve.slot] = drawn.get(curve.slot, "") + curve.path
        dormant: dict[int, str] = {}
        for line in self.frame.lines:
            for a, b in _runs(~line.active, line.first, line.last):
                x0, x1 = max(a - 1, line.first), min(b + 1, line.last)
                path = f"M{x0},{line.lane}L{x1},{line.lane}" if x1 > x0 else ""
                dormant[self._slot(line)] = dormant.get(self._slot(line), "") + path
        inks = self.colours.slots
        return [
            *(_path(path, inks[slot].ink, 2) for slot, path in sorted(drawn.items())),
            *(_path(path, inks[slot].ink, 1.2, "dot") for slot, path in sorted(dormant.items()) if path),
        ]

    def _by_slot(self) -> Iterator[tuple[int, list[TopicLane]]]:
        for slot, lines in groupby(sorted(self.frame.lines, key=self._slot), key=self._slot):
            yield slot, list(lines)


def _fitted(history: History, s: int, t: int, width: float) -> str:
    """Return the two strongest words of a topic, or the strongest one, so that they fit."""
    words = topic_name(history, s, t)
    return words if em_width(words) * _TEXT <= width else shortened(topic_name(history, s, t, 1), width / _TEXT)


def _runs(where: Bools, first: int, last: int) -> list[tuple[int, int]]:
    """Return first and last row of every stretch of true values between two rows."""
    inside = np.flatnonzero(where[first : last + 1]) + first
    parts = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts if part.size]


def _path(path: str, colour: str, width: float, dash: str | None = None) -> dict[str, Any]:
    line = {"color": colour, "width": width} | ({"dash": dash} if dash else {})
    return {"type": "path", "path": path, "layer": "below", "line": line}
