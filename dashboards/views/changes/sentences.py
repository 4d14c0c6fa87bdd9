"""Recent changes in three to six sentences built from rows, each about one topic at one date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.rows.history import NO_WORD, History, history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.topic_names import lifetime
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.dashboards.rows.word_order import in_order
from vmfstream.runfile.queries import EventFrame, Reading, shortened

MOST = 6
LEAST = 3
ENOUGH = 10
"""Documents of a topic below which its growth, fall and new words are not worth a sentence."""

_STRONG = 8
_NAMED = 3
_NEW_SHOWN = 4
_DEVIATIONS = 3.0
_AGAIN = 0.6
_SAME_TOPIC = 0.5
# importance of each kind of change; within a kind the size of the topic decides
_WORTH = {
    "born": 1.0,
    "merged": 0.95,
    "split": 0.95,
    "ended": 0.9,
    "drift": 0.85,
    "grown": 0.75,
    "fallen": 0.7,
    "words": 0.65,
    "woken": 0.45,
    "surprise": 0.4,
    "dormant": 0.4,
}


@dataclass(frozen=True, slots=True)
class ChangeSentence:
    """A sentence and where it leads.

    Parameters
    ----------
    kind : str
        Kind of event, or ``grown``, ``fallen``, ``words``.
    at : int
        Position of the date in the history.
    topic : int
        Its id; -1 if the sentence is about all documents.
    parts : tuple of str
        The sentence in parts; every second one, from the second, is words of topics.
    size : float
        Documents it is about.
    """

    kind: str
    at: int
    topic: int
    parts: tuple[str, ...]
    size: float

    def __str__(self) -> str:
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Changes:
    """Sentences about the slices from ``first`` to ``last`` (positions), the most important first."""

    first: int
    last: int
    changes: tuple[ChangeSentence, ...]


def what_changed(rows: RunRows, reading: Reading, since: int | None = None, until: int | None = None) -> Changes:
    """Return sentences on recent changes.

    Parameters
    ----------
    rows : RunRows
    reading : {"filtered", "smoothed"}
        Events are those detected at the time; words, shares and drift are those of the reading.
    since : int, optional
        Position of the first slice to cover; by default the last tenth of the slices, more if little changed.
    until : int, optional
        Position of the slice after which nothing is known; by default the newest.
    """
    history = history_of(rows, reading)
    if until is not None:
        history = history.until(until)
    last = history.index.size - 1
    if last < 1:
        return Changes(0, max(last, 0), ())
    whole = judged(rows, history) if until is None or until == history_of(rows, reading).index.size - 1 else history
    recent = max(1, last + 1 - -(-(last + 1) // 10)) if since is None else int(np.clip(since, 1, last))
    measured = [*_trends(whole, recent), *_new_words(whole, recent)] if recent < whole.index.size else []
    first = recent
    while True:
        found = [*_events(rows.events(), history, first), *measured]
        if len(found) >= LEAST or first == 1 or since is not None:
            return Changes(first if found else recent, last, _best(found))
        first = max(1, 2 * first - last - 1)


def _best(found: list[ChangeSentence]) -> tuple[ChangeSentence, ...]:
    """Return at most six, the worthiest first; a second sentence of a kind or about a topic is worth less."""
    largest = max((c.size for c in found), default=0.0) or 1.0
    worth = {k: _WORTH[c.kind] * (0.6 + 0.4 * np.sqrt(c.size / largest)) for k, c in enumerate(found)}
    chosen: list[ChangeSentence] = []
    while worth and len(chosen) < MOST:
        k = max(worth, key=lambda i: (worth[i], -i))
        chosen.append(found[k])
        del worth[k]
        for i in worth:
            worth[i] *= _AGAIN if found[i].kind == found[k].kind else 1.0
            worth[i] *= _SAME_TOPIC if found[i].topic == found[k].topic else 1.0
    return tuple(chosen)


def _events(events: EventFrame, history: History, first: int) -> Iterator[ChangeSentence]:
    settled = history.settled()
    where = events.slice - history.index[0]
    for k in np.flatnonzero((first <= where) & (where < history.index.size)):
        at = int(where[k])
        kind, topic = str(events.kind[k]), int(events.topic[k])
        other = int(events.other[k])
        known = {topic, other} <= {-1, *history.topic.tolist()}
        if kind in _EVENTS and settled[at] and known:
            value = float(events.value[k])
            by_hand = events.decision[k] >= 0 and kind in _BY_HAND
            change = (_by_hand(kind) if by_hand else _EVENTS[kind])(history, at, topic, other, value)
            if change is not None:
                yield change


_BY_HAND = ("merged", "split", "ended")
"""Kinds of events that people may bring about."""


def _by_hand(kind: str) -> Callable[[History, int, int, int, float], ChangeSentence]:
    """Return what makes the sentence on an event of this kind that a person decided."""

    def sentence(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
        one, two = (other, topic) if kind == "split" else (topic, other)
        second = _name(history, at, two)
        change = _change(kind, history, at, one, form=f"{kind} by hand", other=second, documents=_recent(value))
        if kind != "merged":
            return change
        return replace(change, topic=other, size=max(change.size, _size(history, at, other)))

    return sentence


def _born(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
    return _change("born", history, at, topic, documents=_recent(value))


def _split(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
    parent = _name(history, at, topic)
    return _change("split", history, at, other, other=parent, documents=_recent(value))


def _merged(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
    survivor = _name(history, at, other)
    life = _smoothed_life(history, topic)
    until = phrases.until(history.labels[life[1]]) if life and life[1] < at - 1 else ""
    change = _change("merged", history, at, topic, other=survivor, turn=_degrees(value), smoothed=until)
    return replace(change, topic=other, size=max(change.size, _size(history, at, other)))


def _ended(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence | None:
    seen = _seen(history, at, topic)
    if _speaks(history, at, topic) or seen is None or seen < at - value - 1:
        return None  # it had ended before, or had not
    noun = history.period()
    form = "not kept" if np.isnan(value) else "ended" if value > 0 else "replaced"
    silent = phrases.count(np.nan_to_num(value), noun, noun + "s")
    change = _change("ended", history, at, topic, form=form, silent=silent)
    t = history.position(topic)
    largest = 0.0 if t is None else float(np.nan_to_num(history.documents[: at + 1, t]).max(initial=0.0))
    return replace(change, size=largest)


def _dormant(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence | None:
    return None if _speaks(history, at, topic) else _change("dormant", history, at, topic)


def _speaks(history: History, at: int, topic: int) -> bool:
    """Return whether a dormant topic has smoothed documents, when later documents changed assignments."""
    t = history.position(topic)
    return history.reading == "smoothed" and t is not None and bool(history.documents[at, t] >= ENOUGH)


def _woken(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
    return _change("woken", history, at, topic, documents=_recent(value))


def _surprise(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence:
    said = phrases.changed("better" if value > 0 else "worse", date=history.labels[at])
    return ChangeSentence("surprise", at, -1, said, float(history.n[at]))


def _drift(history: History, at: int, topic: int, other: int, value: float) -> ChangeSentence | None:
    """Return the sentence on a drift alarm; smoothed, only if the drift was above the topic's median near that date."""
    t = history.position(topic)
    if t is None:
        return None
    steps = np.where(history.settled(), history.drift_angle[:, t], np.nan)
    turn = value
    if history.reading == "smoothed":
        near = steps[max(at - 1, 0) : at + 2]
        usual = history.usual_drift_angle()[t]
        if np.isnan(near).all() or not np.nanmax(near) > usual:
            return None
        at, turn = max(at - 1, 0) + int(np.nanargmax(near)), float(np.nanmax(near))
    before = steps[:at][~np.isnan(steps[:at])]
    fastest = before.size > 1 and turn > before.max()
    return _change("drift", history, at, topic, form="fastest" if fastest else "alarm", turn=_degrees(turn))


_EVENTS = {
    "born": _born,
    "split": _split,
    "merged": _merged,
    "ended": _ended,
    "dormant": _dormant,
    "woken": _woken,
    "surprise": _surprise,
    "drift": _drift,
}


def _trends(history: History, first: int) -> Iterator[ChangeSentence]:
    """Return the largest significant growth and fall of share against an equally long time before."""
    last = history.index.size - 1
    earlier = slice(max(0, 2 * first - last - 1), first)
    recent = slice(first, last + 1)
    settled = history.settled()
    if not (settled[earlier].all() and settled[recent].all()):
        return
    documents = np.where(history.alive(), history.documents, 0.0)
    old, new = documents[earlier].sum(axis=0), documents[recent].sum(axis=0)
    of_old, of_new = float(history.n[earlier].sum()), float(history.n[recent].sum())
    lived = history.alive()[earlier].any(axis=0) & history.alive()[recent].any(axis=0)
    if of_old <= 0 or of_new <= 0 or not lived.any():
        return
    step = new / of_new - old / of_old
    both = (new + old) / (of_new + of_old)
    chance = np.sqrt(np.clip(both * (1.0 - both), 1e-12, None) * (1.0 / of_new + 1.0 / of_old))
    for kind, sign, enough in (("grown", 1.0, new), ("fallen", -1.0, old)):
        height = np.where(lived & (enough >= ENOUGH) & (sign * step > _DEVIATIONS * chance), sign * step, 0.0)
        for k, t in enumerate(np.argsort(-height, kind="stable")[:2]):
            if height[t] > 0:
                change = _change(
                    kind,
                    history,
                    last,
                    int(history.topic[t]),
                    form=kind if k else f"most {kind}",
                    after=phrases.percent(float(new[t] / of_new)),
                    before=phrases.percent(float(old[t] / of_old)),
                    span=phrases.span(history.labels[recent]),
                    earlier=phrases.span(history.labels[earlier]),
                )
                yield replace(change, size=float(height[t] * of_new))


def _new_words(history: History, first: int) -> Iterator[ChangeSentence]:
    """Return words that are among the eight strongest at the end and never were before ``first``."""
    last = history.index.size - 1
    settled, alive = history.settled(), history.alive()
    if not settled[last]:
        return
    found = []
    for t in range(history.topic.size):
        earlier = np.flatnonzero(alive[:first, t] & settled[:first])
        enough = np.where(alive[first:, t], history.documents[first:, t], 0.0).sum() >= ENOUGH
        if earlier.size < 2 or not enough or not alive[last, t]:
            continue
        known = set(history.word[earlier, t, :_STRONG].ravel().tolist())
        words, weights = history.word[last, t, :_STRONG], history.weight[last, t, :_STRONG]
        fresh = [k for k, w in enumerate(words) if w != NO_WORD and int(w) not in known]
        if fresh:
            height = float(weights[fresh].sum()) * np.sqrt(history.documents[last, t])
            found.append((height, t, [history.vocabulary[words[k]] for k in fresh]))
    for _, t, fresh_words in sorted(found, key=lambda item: (-item[0], item[1]))[:3]:
        topic = int(history.topic[t])
        parts = [part for part in history.names.get((last, t), ()) if not set(part.split()) & set(fresh_words)]
        name = [w for w in history.strongest(last, t, _STRONG) if w not in fresh_words] or fresh_words
        yield _change(
            "words",
            history,
            last,
            topic,
            words=shortened(parts, _NAMED) or " ".join(in_order(name[:_NAMED], history.pairs)),
            new=", ".join(fresh_words[:_NEW_SHOWN]),
            date=history.labels[first],
        )


def _change(
    kind: str, history: History, at: int, topic: int, *, form: str = "", words: str = "", date: str = "", **said: str
) -> ChangeSentence:
    called = history.given.get(topic) or words or _name(history, at, topic)
    called = called or texts.PAGE["topic"].replace("{topic}", str(topic))
    parts = phrases.changed(form or kind, words=called, date=date or history.labels[at], **said)
    return ChangeSentence(kind, at, topic, parts, _size(history, at, topic))


def _name(history: History, at: int, topic: int) -> str:
    """Return the name of a topic at a date, or at the nearest date before (else after) at which it has words."""
    if topic in history.given:
        return history.given[topic]
    t, s = history.position(topic), _seen(history, at, topic)
    if t is None or s is None:
        return ""
    if (s, t) in history.names:
        return shortened(history.names[s, t], _NAMED)
    return " ".join(in_order(history.strongest(s, t, _NAMED), history.pairs))


def _size(history: History, at: int, topic: int) -> float:
    t, s = history.position(topic), _seen(history, at, topic)
    return float(np.nan_to_num(history.documents[s, t])) if t is not None and s is not None else 0.0


def _seen(history: History, at: int, topic: int) -> int | None:
    t = history.position(topic)
    there = np.flatnonzero((history.word[:, t] != NO_WORD).any(axis=1)) if t is not None else np.empty(0, np.int64)
    if not there.size:
        return None
    before = there[there <= at]
    return int(before[-1] if before.size else there[0])


def _smoothed_life(history: History, topic: int) -> tuple[int, int] | None:
    """Return the first and the last row of a smoothed topic, None if filtered."""
    t = history.position(topic)
    return lifetime(history, t) if t is not None and history.reading == "smoothed" else None


def _recent(value: float) -> str:
    return phrases.count(value, "recent document", "recent documents")


def _degrees(value: float) -> str:
    return f"{value:.0f}°"
