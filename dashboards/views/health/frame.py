"""Diagnostics of a run by slice: input, fit of topics, drift alarms and speed, with their usual ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.rows.history import Bools, Doubles, History, history_of, shown_slices
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.runfile.queries import EpochFrame, kept
from vmfstream.takeovers import taken_over

WARM_UP = 14


"""Slices before which nothing is called unusual."""


_WINDOW = 28


_DEVIATIONS = 2.0


_ROBUST = 1.4826  # median absolute deviation of a normal variable to its standard deviation


_COMPARED = 10
"""Strongest words of which a topic must keep one."""


BadSide = Literal["high", "low", "none"]


class _Kind(NamedTuple):
    """A row: its key in ``HEALTH_ROWS``, the bad side of its usual range, whether it starts at zero, and its format."""

    name: str
    bad: BadSide
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
    values: Doubles
    low: Doubles
    high: Doubles
    usual: Doubles
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


def health_frame(rows: RunRows) -> HealthFrame:
    """Collect the quantities by slice."""
    history = history_of(rows, "filtered")
    whole = judged(rows, history).index.size
    found: list[HealthRow] = []
    missing: list[HealthRow] = []
    for kind, values in _quantities(rows, history):
        row = _row(kind, values, whole)
        (missing if np.isnan(values).all() else found).append(row)
    rejected = rows.rejections()
    return HealthFrame(
        labels=history.labels,
        rows=tuple(found) if history.labels else (),
        missing=tuple(row.name for row in missing) if history.labels else (),
        verdict=tuple(
            _verdict(history.labels[:whole], found, rejected.total, list(rejected.reasons), _identity(rows, history))
        ),
    )


def usual(values: Doubles, floor: Doubles | float) -> tuple[Doubles, Doubles]:
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


def _quantities(rows: RunRows, history: History) -> list[tuple[_Kind, Doubles]]:
    epochs = rows.epochs()
    frame, events = kept(rows.slices(), shown_slices(rows.slices())), rows.events()
    begin = history.index[0] if history.index.size else 0
    slices = history.index.size
    predicted = np.full(slices, np.nan)
    predicted[frame.slice - begin] = np.where(frame.n > 0, frame.predicted, np.nan)
    median, spread = usual(predicted, 1e-9)
    at = events.slice[events.kind == "drift"] - begin
    alarms = np.bincount(at[(at >= 0) & (at < slices)], minlength=slices).astype(np.float64)
    refused = _by_slice(epochs, history, (epochs.rejected + epochs.late).astype(np.float64), np.ones(epochs.n.size))
    there = ~np.isnan(history.documents)
    followed = (history.n > 0) | there.any(axis=1)  # the run file has no rows of slices that a long silence left out
    count = _count
    return [
        (_Kind("documents", "low", True, count), history.n.astype(np.float64)),
        (_Kind("surprise", "high", False, _signed), (median - predicted) / spread),
        (_Kind("newWords", "high", True, phrases.percent), _by_slice(epochs, history, epochs.oov_rate, epochs.n, True)),
        (_Kind("living", "none", False, count), np.where(followed, there.sum(axis=1), np.nan)),
        (_Kind("coherence", "low", False, _coherence), _of_topics(rows, history, "npmi")),
        (_Kind("coherenceCv", "low", True, _coherence), _of_topics(rows, history, "c_v")),
        (_Kind("diversity", "low", True, phrases.percent), _of_topics(rows, history, "diversity")),
        *_isotropy(rows, history),
        (_Kind("alarms", "high", True, count), alarms),
        (_Kind("refused", "high", True, count), refused),
        (_Kind("lag", "high", True, count), _last(epochs, history, np.where(epochs.lag < 0, np.nan, epochs.lag))),
        (_Kind("seconds", "high", True, lambda v: f"{v:.2g}"), _by_slice(epochs, history, epochs.seconds, None, True)),
    ]


def _row(kind: _Kind, values: Doubles, whole: int) -> HealthRow:
    """Judge the values of slices, of which the first ``whole`` ones are finished."""
    # a spread below what counting alone gives would call every second slice unusual
    centre = np.abs(np.nan_to_num(values))
    floor = {"surprise": 1.0, "newWords": 0.01}.get(kind.name, 0.1 * float(np.median(centre)) if values.size else 0.0)
    counted = np.sqrt(np.maximum(np.median(centre), 1.0)) if values.size else 1.0
    least = counted if kind.write is _count else floor
    median, spread = (np.zeros(values.size), np.ones(values.size)) if kind.name == "surprise" else usual(values, least)
    low = median - _DEVIATIONS * spread if kind.bad == "low" else np.full(values.size, -np.inf)
    high = median + _DEVIATIONS * spread if kind.bad == "high" else np.full(values.size, np.inf)
    late = (np.arange(values.size) >= WARM_UP) & (np.arange(values.size) < whole)
    return HealthRow(
        name=texts.HEALTH_ROWS[kind.name],
        values=values,
        low=np.where(kind.zero, np.maximum(low, 0.0), low),
        high=high,
        usual=median,
        shown=tuple("" if np.isnan(v) else kind.write(float(v)) for v in values),
        usually=_usually(kind, median),
        unusual=late & ((values < low) | (values > high)),
        zero=kind.zero,
    )


def _usually(kind: _Kind, median: Doubles) -> str:
    """Return what is usual now, as text."""
    if not median.size or np.isnan(median[-1]):
        return ""
    return texts.UP_TO.format(f"{_DEVIATIONS:+.0f}") if kind.name == "surprise" else kind.write(float(median[-1]))


def _by_slice(epochs: EpochFrame, history: History, values: Doubles, weight: Any, mean: bool = False) -> Doubles:
    """Return sums of a column of epochs by slice, or means weighted by ``weight``; NaN where nothing is known."""
    weights = np.ones(values.size) if weight is None else np.asarray(weight, np.float64)
    slices = history.index.size
    s = epochs.slice - (history.index[0] if slices else 0)
    known = ~np.isnan(values) & (s >= 0) & (s < slices)
    total = np.bincount(s[known], weights=(values * weights)[known], minlength=slices)
    of = np.bincount(s[known], weights=weights[known], minlength=slices)
    there = np.bincount(s[known], minlength=slices) > 0
    whole: Doubles = np.where(there & (of > 0), total / np.where(mean & (of > 0), of, 1.0), np.nan)
    return whole


def _of_topics(rows: RunRows, history: History, name: str) -> Doubles:
    """Return the mean of a column of `vmfstream.runfile.queries.QualityFrame` over the topics of each slice."""
    frame, slices = rows.quality(), history.index.size
    values = getattr(frame, name)
    s = frame.slice - (history.index[0] if slices else 0)
    known = ~np.isnan(values) & (s >= 0) & (s < slices)
    many = np.bincount(s[known], minlength=slices)
    total = np.bincount(s[known], weights=values[known], minlength=slices)
    mean: Doubles = np.divide(total, many, out=np.full(slices, np.nan), where=many > 0)
    return mean


def _isotropy(rows: RunRows, history: History) -> list[tuple[_Kind, Doubles]]:
    """Return the row of isotropy, which documents that are words have not."""
    mean = _of_topics(rows, history, "isotropy")
    return [] if np.isnan(mean).all() else [(_Kind("isotropy", "none", True, phrases.percent), mean)]


def _last(epochs: EpochFrame, history: History, values: Doubles) -> Doubles:
    """Return the last known value of each slice."""
    out = np.full(history.index.size, np.nan)
    s = epochs.slice - (history.index[0] if out.size else 0)
    known = ~np.isnan(values) & (s >= 0) & (s < out.size)
    out[s[known]] = values[known]
    return out


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _coherence(value: float) -> str:
    return "0.00" if abs(value) < 0.005 else f"{value:.2f}".replace("-", "−")


def _signed(value: float) -> str:
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}".replace("-", "−")


def _identity(rows: RunRows, history: History) -> str:
    """Return how many topics stand for something else than two slices before, untold; empty if none can be compared."""
    events = rows.events()
    happened = [
        {"slice": s, "kind": kind, "topic": topic, "other": other}
        for s, kind, topic, other in zip(
            *(column.tolist() for column in (events.slice, events.kind, events.topic, events.other)), strict=True
        )
    ]
    topics = [
        {"slice": int(history.index[s]), "topic": int(history.topic[t]), "words": [(w, 1.0) for w in words]}
        for s, t in np.argwhere(~np.isnan(history.documents))
        if (words := history.strongest(s, t, _COMPARED))
    ]
    taken, compared = taken_over(topics, happened, _COMPARED)
    return phrases.taken_over(len(taken), compared, history.period()) if compared else ""


def _verdict(
    labels: Sequence[str], rows: Sequence[HealthRow], rejected: int, reasons: Sequence[str], identity: str
) -> list[str]:
    """Return the first three oddities of the newest slice as sentences, or that there are none, and about all slices.

    ``identity`` is a sentence about the topics, or empty.
    """
    if not labels:
        return [phrases.nothing_closed(0)]
    at = len(labels) - 1
    said = [phrases.odd(row.name, row.shown[at], row.usually, labels[at]) for row in rows if row.unusual[at]][:3]
    if not said:
        said = [phrases.nothing_odd(labels, WARM_UP)]
    said += [identity] if identity else []
    if rejected:
        said.append(phrases.rejected(rejected, reasons))
    return said
