"""Write the documents of a planted stream: fill the slots of sentence templates with words of the topics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vmfstream.replay.planted.sentences import ASIDES, BODIES, CLOSERS, COMMON, HEADLINES, LEADS
from vmfstream.replay.planted.topics import PLANTED_TOPICS, TOPICAL, PlantedTopic

_GOLDEN = 0.6180339887498949  # steps of the golden ratio keep neighbouring slots from repeating a word

_KINDS = (*TOPICAL, *COMMON)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_SLOT = re.compile(r"\{(\w+)\}")
_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_FUNCTION_WORDS = frozenset(
    _TOKEN.findall(
        "a above along an and are at before behind below beside beyond by for from in into of off on outside over "
        "the to up with"
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class _Frames:
    """All sentence frames: their text with ``%s`` for slots, and per slot twice its kind, plus one for a capital."""

    text: list[str]
    slots: NDArray[np.intp]
    aside: NDArray[np.bool_]
    ranges: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class _PhrasePool:
    """Every entry of every list once, then all of them again with a capital."""

    phrases: NDArray[np.object_]
    size: int
    number: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class DrawTable:
    """Entries to draw from: that of group g and uniform u stands where ``cumulative`` passes g + u."""

    entry: NDArray[np.intp]
    cumulative: NDArray[np.float64]


def _build_frames() -> _Frames:
    families = {"headline": HEADLINES, "lead": LEADS, "body": BODIES, "aside": ASIDES, "closer": CLOSERS}
    text, aside = [""], [False]  # frame 0 is no sentence
    codes: list[list[int]] = [[]]
    ranges: dict[str, tuple[int, int]] = {}
    for family, frames in families.items():
        ranges[family] = (len(text), len(text) + len(frames))
        for frame in frames:
            names = _SLOT.findall(frame)
            codes.append([2 * _NUMBER[name.lower()] + name[0].isupper() for name in names])
            written = _SLOT.sub("%s", frame)
            text.append(written + "\n" if family == "headline" else " " + written)
            aside.append(family == "aside")
    slots = np.full((len(text), max(map(len, codes))), -1, dtype=np.intp)
    for row, numbers in enumerate(codes):
        slots[row, : len(numbers)] = numbers
    return _Frames(text, slots, np.array(aside), ranges)


def _build_pool() -> _PhrasePool:
    topical = (phase.entries(kind) for topic in PLANTED_TOPICS for phase in topic.phases for kind in TOPICAL)
    phrases = list(dict.fromkeys(chain.from_iterable(chain(topical, COMMON.values()))))
    capitals = [phrase[0].upper() + phrase[1:] for phrase in phrases]
    return _PhrasePool(
        np.array(phrases + capitals, dtype=object), len(phrases), {phrase: n for n, phrase in enumerate(phrases)}
    )


_FRAMES = _build_frames()
_POOL = _build_pool()


def choose_frames(rng: np.random.Generator, n: int, asides: float) -> NDArray[np.intp]:
    """Return the frames of ``n`` documents, shape (n, 6): headline, lead, body, perhaps a body, an aside, a closer.

    ``asides`` is the probability of an aside, and ``rng`` draws.
    """
    optional = {3: 0.5, 4: asides, 5: 0.5}
    families = ("headline", "lead", "body", "body", "aside", "closer")
    frames = np.column_stack([rng.integers(*_FRAMES.ranges[family], size=n) for family in families])
    for column, probability in optional.items():
        frames[rng.random(n) >= probability, column] = 0
    return frames.astype(np.intp)


def _ranked(size: int) -> NDArray[np.float64]:
    """Return falling weights for a list of entries, shape (size,), summing to one."""
    weights = 1.0 / (np.arange(size) + 2.0)
    return np.asarray(weights / weights.sum())


def _topical_table(kind: str, mixes: Sequence[NDArray[np.float64]]) -> DrawTable:
    entries: list[int] = []
    cumulative: list[NDArray[np.float64]] = []
    for group, (topic, mix) in enumerate(zip(PLANTED_TOPICS, mixes, strict=True)):
        weights = []
        for phase, weight in zip(topic.phases, mix.tolist(), strict=True):
            if weight > 0:
                words = phase.entries(kind)
                entries.extend(_POOL.number[word] for word in words)
                weights.append(weight * _ranked(len(words)))
        within = np.cumsum(np.concatenate(weights))
        within[-1] = 1.0  # so that rounding never leaves the group
        cumulative.append(group + within)
    return DrawTable(np.array(entries, dtype=np.intp), np.concatenate(cumulative))


def _common_table(entries: Sequence[str]) -> DrawTable:
    cumulative = np.arange(1, len(entries) + 1) / len(entries)
    return DrawTable(np.array([_POOL.number[entry] for entry in entries], dtype=np.intp), cumulative)


_COMMON_TABLES = [_common_table(entries) for entries in COMMON.values()]


def leading_words(topic: PlantedTopic, phase: int, top: int = 20) -> tuple[str, ...]:
    """Return the ``top`` words of ``topic`` expected most often in a ``phase``, from 0.

    That is by slots per frame times weight within the list.
    """
    slots = Counter(
        _KINDS[code >> 1]
        for family in ("headline", "lead", "body")
        for frame in range(*_FRAMES.ranges[family])
        for code in _FRAMES.slots[frame].tolist()
        if code >= 0
    )
    weights: Counter[str] = Counter()
    for kind in TOPICAL:
        entries = topic.phases[phase].entries(kind)
        for entry, weight in zip(entries, _ranked(len(entries)).tolist(), strict=True):
            for token in set(_TOKEN.findall(entry.lower())) - _FUNCTION_WORDS:
                weights[token] += slots[kind] * weight
    return tuple(word for word, _ in sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:top])


def tables_of(mixes: Sequence[NDArray[np.float64]]) -> list[DrawTable]:
    """Return one table per kind of slot: of every topic's words where its phases are so mixed, then of common words."""
    return [_topical_table(kind, mixes) for kind in TOPICAL] + _COMMON_TABLES


def written(
    rng: np.random.Generator,
    frames: NDArray[np.intp],
    topic: NDArray[np.intp],
    other: NDArray[np.intp],
    tables: Sequence[DrawTable],
) -> list[tuple[str, str]]:
    """Return title and text of documents: a word for every slot of their ``frames``, then all joined.

    ``topic`` (n,) are their topics, ``other`` (n,) those that their asides are about, numbers in ``tables`` of words;
    ``rng`` draws.
    """
    n = topic.size
    codes = _FRAMES.slots[frames]  # (n, sentences, slots)
    teller = np.where(_FRAMES.aside[frames], other[:, None], topic[:, None])[:, :, None]
    used = codes >= 0
    document, _, _ = np.nonzero(used)
    codes, teller = codes[used], np.broadcast_to(teller, used.shape)[used]
    kind, capital = codes >> 1, codes & 1
    lengths = np.bincount(document, minlength=n)
    ends = np.cumsum(lengths)
    place = np.arange(codes.size) - np.repeat(ends - lengths, lengths)
    u = (rng.random((n, len(_KINDS)))[document, kind] + place * _GOLDEN) % 1.0
    word = np.empty(codes.size, dtype=np.intp)
    for number, table in enumerate(tables):
        here = np.flatnonzero(kind == number)
        group = teller[here] if number < len(TOPICAL) else 0
        word[here] = table.entry[np.searchsorted(table.cumulative, group + u[here], side="right")]
    words = _POOL.phrases[word + capital * _POOL.size].tolist()
    text = _FRAMES.text
    documents = []
    for begin, end, chosen in zip((ends - lengths).tolist(), ends.tolist(), frames.tolist(), strict=True):
        frame = "".join([text[number] for number in chosen])
        title, _, body = (frame % tuple(words[begin:end])).partition("\n")
        documents.append((title, body[1:]))
    return documents
