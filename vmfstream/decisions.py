"""Decisions of people about topics and words: made and checked here, applied by a run at the end of a slice."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from vmfstream.errors import InputError
from vmfstream.records import Decision

KINDS: Mapping[str, str] = {
    "name": "name topic {topic} {text!r}",
    "pin": "pin topic {topic}",
    "unpin": "unpin topic {topic}",
    "merge": "merge topic {topic} into {other}",
    "split": "split topic {topic}",
    "end": "end topic {topic}",
    "forbid": "forbid the word {text!r}",
    "allow": "allow the word {text!r}",
}
"""What kinds there are, and how a decision of each is told."""

WORD_KINDS = ("forbid", "allow")
"""Kinds that are about a word; the others are about a topic."""

LONGEST = 100
"""Most characters of a name or a word."""


JOINERS = "\u200c\u200d"
"""Signs without a width that words of Persian or Hindi and emojis hold: zero-width non-joiner and joiner."""


def one_line(text: str) -> str:
    """Return a text with blanks for what cannot be printed, and single blanks; `JOINERS` stay inside of words.

    Examples
    --------
    >>> one_line(" Brexit \\x1b[31m\\ttalks ")
    'Brexit [31m talks'
    """
    words = "".join(sign if sign.isprintable() or sign in JOINERS else " " for sign in text).split()
    return " ".join(filter(None, (word.strip(JOINERS) for word in words)))


def decision(kind: str, topic: int = -1, other: int = -1, text: str = "") -> Decision:
    """Make a decision, now.

    Parameters
    ----------
    kind : one of `KINDS`.
    topic, other : ids of topics, where the kind needs them.
    text : a name or a word, where the kind needs one; blanks around it and signs that cannot be printed go.

    Raises
    ------
    InputError
        If there is no such kind, or it needs another argument than those given.

    Examples
    --------
    >>> made = decision("merge", 3, 9)
    >>> made.kind, made.topic, made.other, told(made)
    ('merge', 3, 9, 'merge topic 3 into 9')
    """
    if kind not in KINDS:
        raise InputError(f"decision: expected one of {', '.join(KINDS)}, got {kind!r}")
    if not isinstance(text, str):
        raise InputError(f"{kind}: expected a text, got {type(text).__name__}")
    printed = one_line(text)
    if len(printed) > LONGEST:
        raise InputError(f"{kind}: expected at most {LONGEST} characters, got {len(printed)}")
    if kind in WORD_KINDS:
        if not printed:
            raise InputError(f"{kind}: expected a word, got {text!r}")
    else:
        for topic_id in (topic, other) if kind == "merge" else (topic,):
            check_topic_id(topic_id, kind)
        if kind == "merge" and topic == other:
            raise InputError(f"merge: topic {topic} cannot be merged with itself")
    return Decision(uuid4().hex, datetime.now(UTC), kind, int(topic), int(other), printed)


def check_topic_id(topic: Any, where: str) -> None:
    """Refuse what can be no id of a topic; ``where`` is what it was given to, for the message.

    Raises
    ------
    InputError
        If ``topic`` is no whole number from 0 on; True, False and 0.0 are none.
    """
    try:
        number = -1 if isinstance(topic, bool) else operator.index(topic)
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(f"{where}: expected the id of a topic, a whole number from 0 on, got {topic!r}")


def told(one: Decision) -> str:
    """Return what a decision asks for, in words; names and words of strangers are quoted."""
    if one.kind == "name" and not one.text:
        return f"take away the name of topic {one.topic}"
    return KINDS.get(one.kind, one.kind).format(topic=one.topic, other=one.other, text=one.text)


def names_of(decisions: Iterable[Decision], begun: Mapping[int, str] | None = None) -> dict[int, str]:
    """Return the names that topics have after decisions; ``begun`` are those that they had before."""
    names = dict(begun or {})
    for one in decisions:
        if one.kind == "name" and not one.refused:
            names.pop(one.topic, None)
            if one.text:
                names[one.topic] = one.text
    return names


def unnamed(wanted: Iterable[Decision], names: Mapping[int, str]) -> dict[str, str]:
    """Return why decisions that take away a name cannot be applied, by their keys: the topic has none.

    Parameters
    ----------
    wanted : decisions in their order, of which each name holds for those that follow.
    names : the names that topics have before.
    """
    known, refused = dict(names), dict[str, str]()
    for one in wanted:
        if one.kind == "name" and not one.text and one.topic not in known:
            refused[one.key] = f"topic {one.topic} has no name that was given to it"
        known = names_of([one], known)
    return refused


def undone_by(new: Decision, earlier: Sequence[Decision], word_of: Callable[[str], str] = str) -> list[int]:
    """Return the numbers of the ``earlier`` decisions that ``new`` undoes, by being the opposite or the next name.

    ``word_of`` tells which word of the vocabulary a text is.
    """
    standing = (one for one in earlier if not one.refused and one.undone_by is None)
    return [one.number for one in standing if _undoes(new, one, word_of)]


def _undoes(new: Decision, old: Decision, word_of: Callable[[str], str]) -> bool:
    pair = (new.kind, old.kind)
    if pair in (("name", "name"), ("unpin", "pin"), ("pin", "unpin")):
        return new.topic == old.topic
    if pair in (("allow", "forbid"), ("forbid", "allow")):
        return word_of(new.text) == word_of(old.text)
    if pair == ("split", "merge"):
        return new.topic == old.other
    return pair == ("merge", "split") and {new.topic, new.other} == {old.topic, old.other}


def check_topics(wanted: Decision, active: Iterable[int], ended: Iterable[int], where: str) -> None:
    """Refuse at once a decision about a topic that is not there.

    Parameters
    ----------
    wanted : the decision
    active, ended : ids of the topics there are, and of those there were; these may get a name
    where : what has the topics, for the message

    Raises
    ------
    InputError
        If a topic is not there; names those that are.
    """
    if wanted.kind in WORD_KINDS:
        return
    there, gone = set(active), set(ended)
    for topic in (wanted.topic, wanted.other) if wanted.kind == "merge" else (wanted.topic,):
        if topic in there or (wanted.kind == "name" and topic in gone):
            continue
        known = ", ".join(map(str, sorted(there))) or "none yet"
        how = f"topic {topic} has ended" if topic in gone else f"there is no topic {topic}"
        raise InputError(f"{where}: {how}; topics: {known}")


def check_words(wanted: Iterable[Decision], cut: Callable[[str], Sequence[str]]) -> None:
    """Refuse at once a decision about what is not one word to the run's tokeniser, whose ``cut`` it is.

    Raises
    ------
    InputError
        If there is such a decision; quotes what it has instead of a word.
    """
    for one in wanted:
        if one.kind not in WORD_KINDS:
            continue
        found = dict.fromkeys(cut(one.text))
        if not found:
            raise InputError(f"{one.kind}: expected a word, got {one.text!r}, in which the tokeniser finds none")
        if len(found) > 1:
            words = ", ".join(map(repr, found))
            raise InputError(f"{one.kind}: expected one word, got {one.text!r}, in which the tokeniser finds {words}")


def applied(one: Decision, number: int, index: int) -> Decision:
    """Return the decision ``one`` with its ``number`` and the slice ``index`` at whose end it was applied."""
    return replace(one, number=number, slice=index)
