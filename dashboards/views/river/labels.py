"""Placement of words inside the bands of the river, as large as they fit, and beside bulges too narrow for words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import unescape

import numpy as np

from vmfstream.dashboards.looks.textwidth import em_width
from vmfstream.dashboards.rows.history import Doubles
from vmfstream.dashboards.rows.word_order import in_order

SIZES = (20.0, 18.0, 16.5, 15.0, 14.0, 13.0, 12.0, 11.0, 10.5)
LINE = 1.18
"""Height of a line in font sizes."""

OVERHANG = 0.2
"""Part of the height by which a single line may reach over its band's edges: lower-case letters leave that room."""

_PAIR_LEAST = 11.0
_BOLD_FROM = 13.0
_GAP = 12.0  # between two labels at one height, which would read as one
_SIDE = 3.0
_WIDER = 1.15  # some fonts are wider than what widths are estimated for; a label must not leave the picture
_QUIET = 12.0  # largest size of texts that are no words of a topic
_MOST_PER_BAND = 12
_BESIDE_SIZES = (12.0, 11.0)
_BULGE = 24.0  # least thickness of a bulge that is labelled beside
_NEAR = 16.0  # largest distance of such a label from its bulge
_COVER = 0.25  # what may lie between the two, in parts of the bulge


@dataclass(frozen=True, slots=True)
class BandLabel:
    """A text with its middle at (x, y) pixels in a box of ``width`` by ``height``."""

    band: int
    x: float
    y: float
    width: float
    height: float
    lines: int
    size: float
    weight: int
    text: str
    beside: bool = False
    """Whether it stands above or below the river, beside a bulge of its band."""


@dataclass(frozen=True, slots=True)
class _Text:
    lines: tuple[str, ...]
    em: float
    em_bold: float


def place_labels(
    x: Doubles,
    edges: Doubles,
    columns: Doubles,
    thickness: Doubles,
    words: Sequence[Sequence[Sequence[str]]],
    fixed: Mapping[int, str],
    width: float,
    inset: float,
    apart: float,
    pairs: Collection[tuple[str, str]] = (),
    taken: Sequence[BandLabel] = (),
) -> list[BandLabel]:
    """Place labels for all bands.

    Parameters
    ----------
    x : float array of shape (P,)
        Positions in pixels at which the edges are known, ascending.
    edges : float array of shape (B + 1, P)
        Upper edge of every band, and the lower edge of the last one, in pixels downwards.
    columns, thickness : float arrays of shape (C,) and (C, B)
        Pixel positions of the slices and the bands' thickness there.
    words : per band and column the words to choose from, best first, already escaped
    fixed : band -> text
        Bands that carry the same words everywhere.
    width, inset : float
        The drawing's width and its empty margin on both sides, in pixels.
    apart : float
        Least distance between the middles of two labels of one band.
    pairs : collection of pairs of str
        Words that are written in this order if they stand side by side.
    taken : sequence of BandLabel
        What is written above or below the river otherwise.

    Returns
    -------
    list of BandLabel
        In order of bands; boxes lie between their band's edges over their whole width, or above or below the river
        beside a bulge of their band, and do not overlap.
    """
    if columns.size == 1:
        return _beside(x, edges, words, fixed, width)
    placed: list[BandLabel] = []
    peaks = thickness.max(axis=0) if thickness.size else np.empty(0)
    for band in np.argsort(-peaks, kind="stable"):
        placed += _in_band(
            int(band),
            x,
            edges,
            columns,
            thickness[:, band],
            words[band],
            fixed.get(int(band)),
            width,
            inset,
            apart,
            placed,
            pairs,
        )
    placed += _bulges(x, edges, columns, thickness, words, fixed, width, inset, apart, [*taken, *placed], pairs)
    return sorted(placed, key=lambda label: (label.band, label.x))


def _bulges(
    x: Doubles,
    edges: Doubles,
    columns: Doubles,
    thickness: Doubles,
    words: Sequence[Sequence[Sequence[str]]],
    fixed: Mapping[int, str],
    width: float,
    inset: float,
    apart: float,
    others: Sequence[BandLabel],
    pairs: Collection[tuple[str, str]],
) -> list[BandLabel]:
    """Label bulges that are high enough but too narrow for words above or below the river, the highest first.

    Only such bulges that lie at that edge of the river, or nearly.
    """
    made: list[BandLabel] = []
    places = np.argwhere(thickness >= _BULGE)
    for c, band in places[np.argsort(-thickness[tuple(places.T)], kind="stable")].tolist():
        mine = [label for label in (*others, *made) if label.band == band]
        if band in fixed or any(abs(columns[c] - label.x) < apart for label in mine):
            continue
        said = {word for label in mine for word in label.text.replace("<br>", " ").split(" ")}
        lines, _, singles = _choices(words[band][c], said, pairs)
        for text in (*lines, *singles):
            label = _above_or_below(text, band, float(columns[c]), x, edges, width, inset)
            if label is not None and not any(_touch(label, other) for other in (*others, *made)):
                made.append(label)
                break
    return made


def _above_or_below(
    text: _Text, band: int, centre: float, x: Doubles, edges: Doubles, width: float, inset: float
) -> BandLabel | None:
    """Return a label beside the bulge of a band, None if another band or the picture's edge is in the way."""
    at = int(np.argmin(np.abs(x - centre)))
    top, bottom = edges[0], edges[-1]
    over, under = edges[band, at] - top[at], bottom[at] - edges[band + 1, at]
    above = bool(over <= under)
    if min(over, under) > _COVER * (edges[band + 1, at] - edges[band, at]):
        return None
    for size in _BESIDE_SIZES:
        half, height = 0.5 * text.em * size, LINE * size
        reach = _WIDER * half + _SIDE
        middle = min(max(centre, inset + reach), width - inset - reach)
        a, b = np.searchsorted(x, (middle - reach, middle + reach))
        part = slice(max(int(a) - 1, 0), int(b) + 1)
        edge = float(top[part].min()) if above else float(bottom[part].max())
        y = edge - 0.5 * height if above else edge + 0.5 * height
        distance = float(top[at]) - edge if above else edge - float(bottom[at])
        inside = float(top.min()) <= y - 0.5 * height and y + 0.5 * height <= float(bottom.max())
        if inside and distance <= _NEAR and 2 * reach <= width - 2 * inset:
            return BandLabel(band, middle, y, 2 * half, height, 1, size, 500, text.lines[0], beside=True)
    return None


def _in_band(
    band: int,
    x: Doubles,
    edges: Doubles,
    columns: Doubles,
    thickness: Doubles,
    words: Sequence[Sequence[str]],
    fixed: str | None,
    width: float,
    inset: float,
    apart: float,
    others: Sequence[BandLabel],
    pairs: Collection[tuple[str, str]],
) -> list[BandLabel]:
    # lists: the largest of a few numbers is found faster than in arrays
    places, upper, lower = x.tolist(), edges[band].tolist(), edges[band + 1].tolist()
    least = SIZES[-1] * LINE * (1.0 - OVERHANG)
    mine: list[BandLabel] = []
    said: set[str] = set()
    for c in np.argsort(-thickness, kind="stable"):
        if thickness[c] < least or len(mine) == (1 if fixed else _MOST_PER_BAND):
            break
        if any(abs(columns[c] - label.x) < apart for label in mine):
            continue
        texts = [[_text((fixed,))]] * 3 if fixed else _choices(words[c], said, pairs)
        room = min(float(thickness[c]), _QUIET * LINE) if fixed else float(thickness[c])
        found = _best(texts, float(columns[c]), room, places, upper, lower, width, inset)
        if found is None:
            continue
        text, size, cx, cy = found
        bold = size >= _BOLD_FROM
        label = BandLabel(
            band=band,
            x=cx,
            y=cy,
            width=(text.em_bold if bold else text.em) * size,
            height=LINE * size * len(text.lines),
            lines=len(text.lines),
            size=size,
            weight=600 if bold else 500,
            text="<br>".join(text.lines),
        )
        if any(_touch(label, other) for other in (*others, *mine)) or any(abs(cx - m.x) < apart for m in mine):
            continue
        mine.append(label)
        said.update(word for line in text.lines for word in line.split(" "))
        said.add(" ".join(text.lines))
    return mine


def _choices(words: Sequence[str], said: set[str], follows: Collection[tuple[str, str]]) -> list[list[_Text]]:
    """Return texts to try: a phrase or two words on a line, words stacked, one word; first what was not yet said."""
    if not words:
        return [[], [], []]
    fresh = [w for w in words if w not in said] + [w for w in words if w in said]
    first = fresh[0]
    if " " in first:  # a phrase stands for itself
        singles = [_text((word,)) for word in fresh if " " not in word]
        return [[_text((first,))], [_text(tuple(first.split(" ")))], singles[:2]]
    different = [w for w in fresh[1:] if unescape(w)[:4].casefold() != unescape(first)[:4].casefold()]
    pairs, stacks = [], []
    if different:
        two = _in_order((first, different[0]), follows)
        pairs.append(_text((" ".join(two),)))
        stacks.append(_text(tuple(two)))
        third = [w for w in different[1:] if unescape(w)[:4].casefold() != unescape(different[0])[:4].casefold()]
        if third:
            stacks.insert(0, _text(tuple(_in_order((first, different[0], third[0]), follows))))
    singles = [_text((w,)) for w in (first, *different[:1])]
    return [pairs, stacks, singles]


def _best(
    texts: Sequence[Sequence[_Text]],
    centre: float,
    room: float,
    x: list[float],
    upper: list[float],
    lower: list[float],
    width: float,
    inset: float,
) -> tuple[_Text, float, float, float] | None:
    """Return text, size and place of the best label at a slice, or None.

    Two words on a line win down to 11 px unless a stack would be larger; one word is the last resort.
    """
    pairs, stacks, singles = texts
    best: tuple[_Text, float, float, float] | None = None
    for text in (*pairs, *stacks):
        found = _largest(text, centre, room, x, upper, lower, width, inset, _PAIR_LEAST)
        if found and (best is None or found[1] > best[1] + 1.0):
            best = found
    if best:
        return best
    for text in singles:
        found = _largest(text, centre, room, x, upper, lower, width, inset, SIZES[-1])
        if found:
            return found
    return None


def _largest(
    text: _Text,
    centre: float,
    room: float,
    x: list[float],
    upper: list[float],
    lower: list[float],
    width: float,
    inset: float,
    least: float,
) -> tuple[_Text, float, float, float] | None:
    slack = (1.0 - OVERHANG) if len(text.lines) == 1 else 1.0
    for size in SIZES:
        if size < least:
            return None
        needed = LINE * size * len(text.lines) * slack
        if needed > room:
            continue
        half = 0.5 * (text.em_bold if size >= _BOLD_FROM else text.em) * size
        if 2 * _WIDER * half > width - 2 * inset:
            continue
        reach = _WIDER * half + _SIDE
        middle = min(max(centre, inset + reach), width - inset - reach)
        a, b = bisect_left(x, middle - half - _SIDE), bisect_left(x, middle + half + _SIDE)
        part = slice(max(a - 1, 0), b + 1)
        top, bottom = max(upper[part]), min(lower[part])
        if bottom - top >= needed:
            return text, size, middle, 0.5 * (top + bottom)
    return None


def _beside(
    x: Doubles, edges: Doubles, words: Sequence[Sequence[Sequence[str]]], fixed: Mapping[int, str], width: float
) -> list[BandLabel]:
    """Label one stacked column to its right, where a band is as high as a line."""
    left = float(x[-1]) + 10.0
    placed = []
    for band, choice in enumerate(words):
        top, bottom = float(edges[band, 0]), float(edges[band + 1, 0])
        size = next((s for s in SIZES[4:] if s * LINE <= bottom - top), None)
        text = fixed.get(band) or " ".join(choice[0][:4])
        if size is None or not text:
            continue
        while " " in text and _text((text,)).em * size > width - left:
            text = text.rsplit(" ", 1)[0]
        wide = _text((text,)).em * size
        if wide <= width - left:
            placed.append(BandLabel(band, left, 0.5 * (top + bottom), wide, LINE * size, 1, size, 500, text))
    return placed


def _in_order(words: Sequence[str], follows: Collection[tuple[str, str]]) -> list[str]:
    """Return escaped words in their natural order."""
    escaped = {unescape(word): word for word in words}
    return [escaped[word] for word in in_order(list(escaped), follows)]


def _text(lines: tuple[str, ...]) -> _Text:
    plain = [unescape(line) for line in lines]
    return _Text(lines, max(em_width(line) for line in plain), max(em_width(line, bold=True) for line in plain))


def _touch(one: BandLabel, other: BandLabel) -> bool:
    wide, high = 0.5 * (one.width + other.width) + _GAP, 0.5 * (one.height + other.height)
    return abs(one.x - other.x) < wide and abs(one.y - other.y) < high
