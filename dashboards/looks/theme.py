"""Colours, fonts and the plotly template: everything about looks that does not depend on the data.

A topic's colour depends on its id only (``id mod 24``). The table of 24 slots in four inks was searched in OKLab for
the largest minimum distance under normal and colour-blind vision; all other tones are mixed from it in OKLab, so the
set of colours is closed and a light figure can be repainted dark by looking every colour up in one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ThemeName = Literal["light", "dark"]

SLOTS = 24
FONT = 'Inter, ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

RIVER_MIX = (0.0, 0.11, 0.22, 0.33, 0.44, 0.55)
FADED_MIX = 0.72
LINE_MIX = 0.25
INK_MIX = (0.3, 0.6)
STRIP_STEPS = 9
STRIP_TOP = 0.92

# page, panel, text, muted text, decoration, outlines of controls, alarm, live: name -> (light, dark)
_SURFACES: Mapping[str, tuple[str, str]] = {
    "page": ("#fbfaf7", "#14161a"),
    "panel": ("#ffffff", "#1b1e23"),
    "text": ("#1d1c1a", "#f1efe9"),
    "muted": ("#66625b", "#a29e95"),
    "rule": ("#e6e2d9", "#2b2f36"),
    "outline": ("#cfc9bd", "#444a54"),
    "alarm": ("#b3261e", "#ff8a7a"),
    "live": ("#1a6b4a", "#6fd3a8"),
}

# fill light, ink light, fill dark, ink dark
_SLOTS: tuple[tuple[str, str, str, str], ...] = (
    ("#72acec", "#0d4a83", "#1b5188", "#7db7f8"),
    ("#fdcb7c", "#815909", "#8a6006", "#ffcd7e"),
    ("#cd7480", "#6b1c2d", "#712634", "#de838f"),
    ("#65d5b8", "#056452", "#006c58", "#6cdcbf"),
    ("#e6c6fa", "#725385", "#775c88", "#e9c6ff"),
    ("#aead54", "#4e4c06", "#555305", "#b9b85f"),
    ("#02a7ab", "#034648", "#084e50", "#2bb6bb"),
    ("#fea293", "#89392e", "#8e4237", "#feac9e"),
    ("#d08dc9", "#692f65", "#6f376b", "#db98d5"),
    ("#9684d0", "#422d71", "#483576", "#a593e1"),
    ("#c08340", "#593300", "#613905", "#d19350"),
    ("#c1e0ab", "#4f6c37", "#597244", "#c1e2a8"),
    ("#b2bddc", "#435285", "#535b75", "#aec2fc"),
    ("#b3dedc", "#00716e", "#4b716f", "#90e8e4"),
    ("#d59590", "#703432", "#733f3c", "#e49e98"),
    ("#8bb1a5", "#005646", "#36584e", "#76c5ae"),
    ("#dabb64", "#695200", "#715907", "#e0c16b"),
    ("#aa8791", "#60273b", "#573a43", "#ce8b9f"),
    ("#9fa2d8", "#424275", "#494a77", "#aaace8"),
    ("#fec2cd", "#8a4c5a", "#8d5662", "#ffc4cf"),
    ("#bdc1a1", "#555a1b", "#5c5f43", "#c3cb8b"),
    ("#66a465", "#064b0e", "#165119", "#75b474"),
    ("#af7cbf", "#552562", "#5b2e68", "#bf8bcf"),
    ("#cfb4cc", "#6f436c", "#6a5468", "#e4b1df"),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """The tones of one colour slot: areas, lines, paleness steps (strong to pale) and strip steps (page to strong)."""

    fill: str
    ink: str
    river: tuple[str, ...]
    faded: str
    line: str
    inks: tuple[str, ...]
    strip: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """All colours of one theme; ``rail`` are the strip steps of the text colour."""

    name: ThemeName
    page: str
    panel: str
    text: str
    muted: str
    rule: str
    outline: str
    alarm: str
    live: str
    rail: tuple[str, ...]
    slots: tuple[Slot, ...]

    def slot(self, topic: int) -> Slot:
        """Return the tones of a topic: slot ``topic mod 24``, whatever else is on the page."""
        return self.slots[topic % SLOTS]

    def tones(self) -> tuple[str, ...]:
        """Return every colour in a fixed order, the same in both themes (text inputs of the repaint table)."""
        plain = [self.page, self.panel, self.text, self.muted, self.rule, self.outline, self.alarm, self.live]
        plain += self.rail
        for slot in self.slots:
            plain += [slot.fill, slot.ink, *slot.river, slot.faded, slot.line, *slot.inks, *slot.strip]
        return tuple(plain)


@cache
def theme(name: ThemeName) -> Theme:
    """Return the light or dark theme.

    Raises
    ------
    ValueError
        If ``name`` is neither ``"light"`` nor ``"dark"``.
    """
    if name not in ("light", "dark"):
        raise ValueError(f"theme must be 'light' or 'dark', got {name!r}")
    return _themes()[0 if name == "light" else 1]


@cache
def repaint_table() -> Mapping[str, str]:
    """Return the table from every light colour to its dark counterpart."""
    return dict(zip(theme("light").tones(), theme("dark").tones(), strict=True))


def repaint(value: Any) -> Any:
    """Return a copy of a light figure (plain lists and dicts) in dark colours; anything that is no colour stays."""
    if isinstance(value, str):
        return repaint_table().get(value, value)
    if isinstance(value, Mapping):
        return {key: repaint(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [repaint(item) for item in value]
    return value


@cache
def template(name: ThemeName) -> dict[str, Any]:
    """Return the one small plotly template of all figures."""
    colours = theme(name)
    axis = {
        "automargin": False,
        "fixedrange": True,
        "showgrid": False,
        "showline": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": colours.muted, "size": 12},
    }
    return {
        "layout": {
            "autotypenumbers": "strict",
            "dragmode": False,
            "font": {"color": colours.text, "family": FONT, "size": 12},
            "hovermode": False,
            "margin": {"autoexpand": False, "pad": 0},
            "paper_bgcolor": colours.page,
            "plot_bgcolor": colours.page,
            "showlegend": False,
            "xaxis": axis,
            "yaxis": axis,
        }
    }


def config() -> dict[str, Any]:
    """Return the one plotly configuration: no buttons of plotly's own, nothing that could upload a figure."""
    return {
        "displayModeBar": False,
        "displaylogo": False,
        "plotlyServerURL": "",
        "responsive": False,
        "showEditInChartStudio": False,
        "showLink": False,
        "showSendToCloud": False,
        "staticPlot": True,
    }


def mix(colour: str, other: str, part: float) -> str:
    """Mix ``part`` (0 to 1) of ``other`` into ``colour`` along a straight line in OKLab."""
    return _hex((1.0 - part) * _oklab(colour) + part * _oklab(other))


def contrast(one: str, two: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2), from 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    high, low = sorted((float(_linear(c) @ weights) for c in (one, two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@cache
def _themes() -> tuple[Theme, Theme]:
    """Mix both themes side by side."""
    surfaces = dict(_SURFACES)
    page = surfaces["page"]
    fixed = [((s[0], s[2]), (s[1], s[3])) for s in _SLOTS]

    def mixed(tones: tuple[str, str], part: float) -> tuple[str, str]:
        return mix(tones[0], page[0], part), mix(tones[1], page[1], part)

    def steps(ink: tuple[str, str]) -> list[tuple[str, str]]:
        return [page, *(mixed(ink, 1.0 - STRIP_TOP * k / STRIP_STEPS) for k in range(1, STRIP_STEPS + 1))]

    rail = steps(surfaces["text"])
    slots: list[tuple[Slot, Slot]] = []
    for fill, ink in fixed:
        river = [fill, *(mixed(fill, part) for part in RIVER_MIX[1:])]
        faded, line = mixed(fill, FADED_MIX), mixed(fill, LINE_MIX)
        inks = [mixed(ink, part) for part in INK_MIX]
        strip = steps(ink)
        slots.append(
            (_slot(0, fill, ink, river, faded, line, inks, strip), _slot(1, fill, ink, river, faded, line, inks, strip))
        )
    names: tuple[ThemeName, ThemeName] = ("light", "dark")
    light, dark = (
        Theme(
            name=names[side],
            rail=tuple(tone[side] for tone in rail),
            slots=tuple(both[side] for both in slots),
            **{name: tones[side] for name, tones in surfaces.items()},
        )
        for side in (0, 1)
    )
    return light, dark


def _slot(
    side: int,
    fill: tuple[str, str],
    ink: tuple[str, str],
    river: list[tuple[str, str]],
    faded: tuple[str, str],
    line: tuple[str, str],
    inks: list[tuple[str, str]],
    strip: list[tuple[str, str]],
) -> Slot:
    return Slot(
        fill=fill[side],
        ink=ink[side],
        river=tuple(tone[side] for tone in river),
        faded=faded[side],
        line=line[side],
        inks=tuple(tone[side] for tone in inks),
        strip=tuple(tone[side] for tone in strip),
    )


# linear sRGB to cone response, and its cube root to lightness and two opponent axes (Ottosson 2020)
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _linear(colour: str) -> NDArray[np.float64]:
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _oklab(colour: str) -> NDArray[np.float64]:
    lab: NDArray[np.float64] = _TO_LAB @ np.cbrt(_TO_LMS @ _linear(colour))
    return lab


def _hex(lab: NDArray[np.float64]) -> str:
    linear = np.clip(np.linalg.solve(_TO_LMS, np.linalg.solve(_TO_LAB, lab) ** 3), 0.0, 1.0)
    value = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{int(v):02x}" for v in np.rint(value * 255.0))
