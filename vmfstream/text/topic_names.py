"""Names of topics: the phrases and words that tell a topic from the others, none of them twice.

A word counts by its weight in the mean direction of the topic, and by how little of it the other topics have. A phrase
counts as its words together, by the share of the topic's documents that have it, and by the share of its uses that
are the topic's own. Two words of a name that are a phrase of the stream stand as this phrase, *supreme court*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from types import MappingProxyType

PARTS = 4
"""Most parts of a name."""

JOINT = ", "
"""What stands between the parts of a name."""

_WORDS = 30
"""Strongest words of a topic that may become part of a name."""

_USUAL = 0.1
"""Share of a topic's documents from which on a phrase counts fully."""

_ALIKE = 4
"""Words that begin with so many equal letters say the same."""

WeightedTerms = Sequence[Sequence[tuple[str, float]]]
"""For each topic words or phrases with their weights."""


def topic_names(
    words: WeightedTerms, phrases: WeightedTerms, pairs: Mapping[str, float] = MappingProxyType({})
) -> list[list[str]]:
    """Return up to `PARTS` parts of the name of each of K topics, the most telling first.

    Parameters
    ----------
    words : strongest words of each topic with their weights in its mean direction.
    phrases : phrases of each topic with the shares of its documents that have them.
    pairs : phrases of two words of the whole stream with their counts. Where both words would be parts of a name, the
        phrase is.

    Examples
    --------
    >>> words = [[("korea", 0.6), ("north", 0.5), ("missile", 0.3), ("says", 0.2)], [("oil", 0.5), ("says", 0.3)]]
    >>> topic_names(words, [[("north korea", 0.4), ("korea says", 0.01)], []])
    [['north korea', 'missile', 'says'], ['oil', 'says']]
    >>> topic_names([[("court", 0.6), ("judge", 0.5), ("supreme", 0.3)]], [[]], {"supreme court": 9.0})
    [['supreme court', 'judge']]
    """
    in_all = _totals([strongest[:_WORDS] for strongest in words])
    of_phrases = _totals(phrases)
    named = []
    for own, found in zip(words, phrases, strict=True):
        score = {word: weight * sqrt(weight / in_all[word]) for word, weight in own[:_WORDS] if weight > 0.0}
        candidates = dict(score)
        for phrase, share in found:
            parts = [score.get(word, 0.0) for word in phrase.split(" ")]
            if sum(parts) > 0.0:
                telling = sqrt(share / of_phrases[phrase]) * min(1.0, share / _USUAL)
                candidates[phrase] = sum(parts) * telling
        named.append(_distinct(sorted(candidates, key=lambda one: (-candidates[one], one)), pairs))
    return named


def alike(one: str, other: str) -> bool:
    """Tell whether one of two words begins with the first four letters of the other.

    Examples
    --------
    >>> alike("Korean", "korea"), alike("war", "warm"), alike("sea", "ship")
    (True, True, False)
    """
    one, other = one.casefold(), other.casefold()
    return one.startswith(other[:_ALIKE]) or other.startswith(one[:_ALIKE])


def shortened(parts: Sequence[str], words: int) -> str:
    """Return a name as one text: its first parts, until they have so many words.

    Examples
    --------
    >>> shortened(["north korea", "missile", "test"], 2), shortened(["oil", "prices"], 3)
    ('north korea', 'oil, prices')
    """
    chosen: list[str] = []
    for part in parts:
        if sum(one.count(" ") + 1 for one in chosen) >= words:
            break
        chosen.append(part)
    return JOINT.join(chosen)


def _totals(lists: WeightedTerms) -> Mapping[str, float]:
    totals: dict[str, float] = {}
    for pairs in lists:
        for name, weight in pairs:
            totals[name] = totals.get(name, 0.0) + weight
    return totals


def _distinct(candidates: Sequence[str], pairs: Mapping[str, float]) -> list[str]:
    """Return the first candidates of which no two have a word in common, words that are one of the ``pairs`` as one."""
    chosen: list[str] = []
    said: list[str] = []
    for one in candidates:
        words = one.split(" ")
        if any(alike(word, other) for word in words for other in said):
            continue
        said += words
        made = [(pairs[pair], i, pair) for i, part in enumerate(chosen) for pair in _both(part, one) if pair in pairs]
        if made:
            _, i, chosen[i] = max(made)
            continue
        chosen.append(one)
        if len(chosen) == PARTS:
            break
    return chosen


def _both(part: str, one: str) -> Sequence[str]:
    """Return two words side by side in either order; nothing if one is a phrase already."""
    return () if " " in part or " " in one else (f"{part} {one}", f"{one} {part}")
