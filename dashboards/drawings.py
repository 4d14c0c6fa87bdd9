"""All figures of a page, drawn once, for the sizes at which pages show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vmfstream.dashboards.bands import stack
from vmfstream.dashboards.history import Snapshot
from vmfstream.dashboards.shares import SharesView, label_trace, labels
from vmfstream.dashboards.view import Form, Measure, Selection, Size
from vmfstream.dashboards.words import WordsView
from vmfstream.log.queries import Reading

_WIDE = Size(1240, 486)
_PHONE = Size(362, 480)
_LABEL_WIDTHS = (1240, 1000, 760, 560)
_LABEL_WIDTHS_PHONE = (450, 362, 320)
_WORDS_WIDE = Size(800, 0)
_WORDS_PHONE = Size(362, 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes into a page, and in words what does not."""

    share: bool = True
    documents: int = 5
    least_share: float = 0.0
    pictures: int = 1000
    words: int = 60
    dropped: tuple[str, ...] = ()


class Drawings:
    """The figures of a page by name, each drawn once however often the page is made smaller."""

    def __init__(self, rows: Snapshot, readings: tuple[Reading, ...], topic: int | None) -> None:
        self._rows = rows
        self._readings = readings
        self._topic = topic
        self._drawn: dict[str, Any] = {}
        self._order: list[int] = []

    @property
    def order(self) -> list[int]:
        """Topics from the top of the river to its bottom."""
        if not self._order:
            frame = SharesView().frame(self._rows, Selection(reading=self._readings[0]))
            self._order = [int(t) for t in frame.history.topic[frame.order]]
        return self._order

    def figures(self, plan: Plan, many: bool) -> dict[str, Any]:
        """Return the figures that a plan keeps."""
        measures: tuple[Measure, ...] = ("documents", "share") if plan.share else ("documents",)
        out: dict[str, Any] = {}
        for reading in self._readings:
            for measure in measures:
                for kind in ("wide", "phone", "all") if many else ("wide", "phone"):
                    key = f"river/{reading}/{measure}/{kind}"
                    out[key] = self._once(key, partial(self._river, reading, measure, kind))
        for topic in self._pictured(plan):
            for reading in self._readings:
                for kind, (form, size) in _FORMS.items():
                    key = f"words/{reading}/{topic}/{kind}"
                    out[key] = self._once(key, partial(self._words, reading, topic, form, size))
            for kind, size in _BOTH.items() if len(self._readings) == 2 else ():
                key = f"words/both/{topic}/{kind}"
                out[key] = self._once(key, partial(self._words, "hindsight", topic, "both", size))
        return out

    def _pictured(self, plan: Plan) -> list[int]:
        history = self._rows.history(self._readings[0])
        peak = np.nan_to_num(history.share).max(axis=0) if history.topic.size else np.empty(0)
        largest = np.argsort(-peak, kind="stable")[: plan.pictures]
        return [int(history.topic[t]) for t in np.sort(largest) if peak[t] >= plan.least_share]

    def _river(self, reading: Reading, measure: Measure, kind: str) -> dict[str, Any]:
        view = SharesView()
        frame = view.frame(
            self._rows, Selection(topic=self._topic, reading=reading, measure=measure, all_topics=kind == "all")
        )
        size, widths = (_PHONE, _LABEL_WIDTHS_PHONE) if kind == "phone" else (_WIDE, _LABEL_WIDTHS)
        figure = _plain(view.drawing(frame, size, "light"))
        bands = stack(frame, size)
        text = figure["data"].pop()  # the page picks the labels of its own width
        fitted = {}
        for width in widths:
            fit = Size(width, size.height)
            trace = label_trace(labels(frame, bands, fit), frame, bands, fit, "light")
            fitted[str(width)] = {key: trace[key] for key in _PER_LABEL}
        _quantise(figure, fitted)
        return figure | {"labels": fitted, "text": {key: value for key, value in text.items() if key not in _PER_LABEL}}

    def _words(self, reading: Reading, topic: int, form: Form, size: Size) -> dict[str, Any]:
        view = WordsView()
        return _plain(
            view.drawing(view.frame(self._rows, Selection(topic=topic, reading=reading, form=form)), size, "light")
        )

    def _once(self, key: str, draw: Callable[[], dict[str, Any]]) -> Any:
        if key not in self._drawn:
            self._drawn[key] = draw()
        return self._drawn[key]


_PER_LABEL = ("x", "y", "text", "customdata", "textfont")
_FORMS: Mapping[str, tuple[Form, Size]] = {
    "ladder": ("ladder", _WORDS_WIDE),
    "strips": ("strips", _WORDS_WIDE),
    "strips-phone": ("strips", _WORDS_PHONE),
}
_BOTH: Mapping[str, Size] = {"both": _WORDS_WIDE, "both-phone": _WORDS_PHONE}


def _quantise(figure: dict[str, Any], fitted: dict[str, dict[str, Any]]) -> None:
    """Replace heights by whole numbers up to 65535, a hundredth of a pixel each: half the bytes."""
    axis = figure["layout"]["yaxis"]
    bottom, top = axis["range"]
    unit = (bottom - top) / 65535
    for trace in figure["data"]:
        trace["y"] = np.rint((trace["y"] - top) / unit).astype(np.uint16)
    for labels_of_width in fitted.values():
        labels_of_width["y"] = [round((y - top) / unit) for y in labels_of_width["y"]]
    figure["layout"]["yaxis"] = axis | {"range": [65535, 0]}


def _plain(drawing: dict[str, Any]) -> dict[str, Any]:
    """Return a drawing without the template, which the page holds once."""
    layout = {key: value for key, value in drawing["layout"].items() if key != "template"}
    return {"data": list(drawing["data"]), "layout": layout}
