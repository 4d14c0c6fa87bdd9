"""Words of one topic over time: a rank chart for few slices, a heatmap for many or for both readings."""

from __future__ import annotations

from typing import Any

import numpy as np

from vmfstream.dashboards.looks.texts import WORDS
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.history import NO_WORD, Doubles, History, Ints, history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.words.frame import WordsFrame, words_layout
from vmfstream.dashboards.views.words.heatmap import heatmap
from vmfstream.dashboards.views.words.rank_chart import rank_chart


class WordsView(View[WordsFrame]):
    """How the words of one topic changed."""

    name = "words"
    title = WORDS

    def frame(self, rows: RunRows, selection: Selection) -> WordsFrame:
        """Read the words of the selected topic (the lowest id if none is selected)."""
        history = history_of(rows, selection.reading)
        t, there = history.life(selection.topic)
        if t is None or not there.size:
            none = np.empty((0, 0))
            return WordsFrame(
                topic=selection.topic or 0,
                form=selection.form,
                reading=history.reading,
                labels=(),
                first=0,
                n=np.empty(0),
                certainty=np.empty(0),
                settled=np.empty(0, np.bool_),
                words=(),
                weight=none,
                rank=none.astype(np.int64),
            )
        a, b = int(there[0]), int(there[-1]) + 1
        codes = np.unique(history.word[a:b, t])
        other = None
        if selection.form == "both" and rows.has_smoothed():
            # upper half: filtered; lower half: smoothed
            history, late = history_of(rows, "filtered"), history_of(rows, "smoothed")
            t, u = history.position(int(history.topic[t])) or 0, late.position(int(history.topic[t])) or 0
            names = {history.vocabulary[w] for w in np.unique(history.word[a:b, t]) if w != NO_WORD}
            names |= {late.vocabulary[w] for w in np.unique(late.word[a:b, u]) if w != NO_WORD}
            words = tuple(sorted(names))
            weight, rank = _table(history, t, a, b, words)
            other = _table(late, u, a, b, words)
        else:
            words = tuple(sorted({history.vocabulary[w] for w in codes if w != NO_WORD}))
            weight, rank = _table(history, t, a, b, words)
        return WordsFrame(
            topic=int(history.topic[t]),
            form=selection.form,
            reading=history.reading,
            labels=history.labels[a:b],
            first=a,
            n=np.where(history.n[a:b] > 0, np.nan_to_num(history.documents[a:b, t]), 0.0),
            certainty=history.certainty[a:b, t],
            settled=history.settled()[a:b],
            words=words,
            weight=weight,
            rank=rank,
            other=other,
        )

    def drawing(self, frame: WordsFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of rows, whatever the size says."""
        if not frame.labels:
            return {"data": [], "layout": words_layout(frame, size, theme, 0, 1, 60, {}, [])}
        return (rank_chart if frame.chosen(size) == "ranks" else heatmap)(frame, size, theme)


def _table(history: History, t: int, a: int, b: int, words: tuple[str, ...]) -> tuple[Doubles, Ints]:
    place = {word: k for k, word in enumerate(words)}
    codes, at = np.unique(history.word[a:b, t], return_inverse=True)
    places = [-1 if w == NO_WORD else place.get(history.vocabulary[w], -1) for w in codes]
    column = np.array(places, np.int64)[at]
    weight = np.zeros((b - a, len(words)))
    rank = np.zeros((b - a, len(words)), dtype=np.int64)
    s, r = (found[::-1] for found in np.nonzero(column >= 0))
    k = column[s, r]
    weight[s, k], rank[s, k] = history.weight[a + s, t, r], r + 1  # of words that look alike the strongest stays
    return weight, rank
