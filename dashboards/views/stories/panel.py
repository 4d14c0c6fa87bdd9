"""Panel of the stories: what came and went, with the documents that represent it best."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import clean, for_html
from vmfstream.dashboards.panels import PageParts, Panel, save_table, switch
from vmfstream.dashboards.rows.history import History, Ints
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.runfile.queries import StoryFrame, StorySliceFrame, Times, kept, trend_word

MOST = 400
"""Stories of a page: the largest, and the newest besides."""

NEWEST = 100
"""Stories of the newest slices that a page has, whatever their size."""

WORDS, DOCUMENTS = 8, 3


def section(parts: PageParts) -> str:
    """Return heading, switch and the places of list and button; the script fills them."""
    choices = [("date", texts.PAGE["storiesDate"], True), ("all", texts.PAGE["storiesAll"], True)]
    scope = switch("stories-scope", texts.STORIES, choices)
    return (
        f'<div class="head"><h3 id="stories-title">{for_html(texts.STORIES)}</h3>'
        f'<div class="choices">{scope}</div></div>'
        '<p class="muted" id="stories-caption"></p><ol id="stories" aria-labelledby="stories-title"></ol>'
        '<p><button class="quiet" id="stories-more" hidden></button></p>'
        f'<div class="tools">{save_table("stories")}</div>'
    )


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return the page's stories, largest first, and how many there are altogether.

    A story is a row of number, title, documents, positions of the slices of its first and last document, parent topic
    (-1 for none), trend, words, its representative documents as rows of title, safe address and position (-1 where that
    is not known), and what it was at positions where it had documents: position, size, topic, trend, title and words, 0
    for a title or words as in the end. ``since`` is the first position of which that is known. ``dates`` and ``topics``
    tell how many stories each position and each parent topic has, with those that the page leaves out.
    """
    everything = rows.stories()
    frame = _chosen(everything)
    place = {story: i for i, story in enumerate(frame.story.tolist())}
    words: list[list[str]] = [[] for _ in place]
    named = rows.story_words()
    named = kept(named, named.rank <= WORDS)
    for story, word in zip(named.story.tolist(), named.word.tolist(), strict=True):
        if story in place:
            words[place[story]].append(clean(str(word)))
    documents: list[list[list[str]]] = [[] for _ in place]
    best = rows.story_documents()
    best = kept(best, best.rank <= DOCUMENTS)
    came = _positions_of_times(best.time, rows, history)
    for story, title, address, at in zip(
        best.story.tolist(), best.title.tolist(), best.id.tolist(), came.tolist(), strict=True
    ):
        if story in place:
            safe = address if address.startswith(("https://", "http://")) else ""
            documents[place[story]].append([clean(str(title), 160) or clean(str(address)), safe, at])
    first, last = _positions(frame.first_slice, history), _positions(frame.last_slice, history)
    titles = [clean(str(title), 160) for title in frame.title.tolist()]
    then = rows.story_slices()
    known, told = _positions(then.slice, history), then.strongest()
    before: list[dict[int, list[Any]]] = [{} for _ in place]
    for i in np.flatnonzero(np.isin(then.story, frame.story)).tolist():
        at = place[int(then.story[i])]
        title = clean(str(then.title[i]), 160)
        strongest = [clean(word) for word in told[i][:WORDS]]
        before[at][int(known[i])] = [
            int(known[i]),
            int(then.size[i]),
            int(then.topic[i]),
            trend_word(float(then.trend[i]), False),
            0 if title == titles[at] else title,
            0 if strongest == words[at] else strongest,
        ]
    since = int(known.min(initial=history.index.size))
    return {
        "all": len(everything.story),
        "since": since,
        "dates": _alive(everything, then, since, history),
        "topics": Counter(everything.topic[everything.topic >= 0].tolist()),
        "rows": [
            [
                int(frame.story[i]),
                titles[i],
                int(frame.size[i]),
                int(first[i]),
                int(last[i]),
                int(frame.topic[i]),
                trend_word(float(frame.trend[i]), bool(frame.ended[i]), int(frame.merged_into[i])),
                words[i],
                documents[i],
                list(before[i].values()),
            ]
            for i in range(len(frame.story))
        ],
    }


def stories_of_page(rows: RunRows) -> list[int]:
    """Return the numbers of the stories of a page."""
    found: list[int] = _chosen(rows.stories()).story.tolist()
    return found


def _chosen(frame: StoryFrame) -> StoryFrame:
    """Return the stories of the page, largest first; ``frame`` has those of the newest slices first."""
    largest = np.lexsort((frame.story, -frame.size))
    if len(largest) <= MOST:
        return kept(frame, largest)
    newest = np.arange(NEWEST)
    others = largest[~np.isin(largest, newest)][: MOST - NEWEST]
    return kept(frame, largest[np.isin(largest, np.concatenate([newest, others]))])


def _alive(frame: StoryFrame, then: StorySliceFrame, since: int, history: History) -> list[int]:
    """Return how many stories there are at each position, from ``since`` on without those that were none yet."""
    first, last = _positions(frame.first_slice, history), _positions(frame.last_slice, history)
    told: dict[int, int] = {}
    for story, at in zip(then.story.tolist(), _positions(then.slice, history).tolist(), strict=True):
        told.setdefault(story, at)
    newest = history.index.size - 1
    known = np.array([told.get(story, newest) for story in frame.story.tolist()], np.int64)
    return [int(((first <= at) & (at <= last) & ((at < since) | (known <= at))).sum()) for at in range(newest + 1)]


def _positions(slices: Ints, history: History) -> Ints:
    """Return positions of slices in the history; the open slice counts as the newest closed one."""
    if not history.index.size:
        return np.zeros_like(slices)
    found: Ints = np.clip(slices - history.index[0], 0, history.index.size - 1)
    return found


def _positions_of_times(times: Times, rows: RunRows, history: History) -> Ints:
    """Return positions of the slices in which documents came, by their times; -1 where slices have no times."""
    slices = rows.slices()
    if not len(slices.slice) or np.isnat(slices.ends).any():
        return np.full(len(times), -1)
    after = np.searchsorted(slices.ends, times, side="right")
    return _positions(slices.slice[np.minimum(after, len(slices.slice) - 1)], history)


PANEL = Panel("stories", section, "Stories", columns=columns)
