"""The decisions of a run: those that wait, what became of those before, and the words among them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from vmfstream.decisions import WORD_KINDS, applied, names_of, told, undone_by, unnamed
from vmfstream.errors import InputError
from vmfstream.records import Decision, Event
from vmfstream.text.encoders import Encoder, WordCounting

log = logging.getLogger(__name__)

_SEED = "seed-"  # begins the keys of decisions that were made by seeds


class DecisionBook:
    """Numbers decisions, remembers what became of them, and gives out each of them once.

    Parameters
    ----------
    pending : returns the decisions that wait, in order; those that were given out already may be among them.
    """

    def __init__(self, pending: Callable[[], Sequence[Decision]]) -> None:
        self._pending = pending
        self._all: list[Decision] = []
        self._keys: set[str] = set()
        self._new: list[Decision] = []
        self._undone: dict[int, int] = {}

    def restore(self, decisions: Sequence[Decision]) -> None:
        """Continue after these, which the store holds."""
        self._all = list(decisions)
        self._keys = {one.key for one in decisions}

    @property
    def seeded(self) -> list[str]:
        """Names of the seeds that the first topics began with, in the order of these."""
        return [one.text for one in self._all if one.kind == "name" and one.key.startswith(_SEED)]

    def taken(self, index: int, *, topics: bool) -> list[Decision]:
        """Take the decisions that wait, numbered, for the end of slice ``index``.

        Without ``topics`` only those about words are taken; the others wait until there are topics.
        """
        waiting = [one for one in self._pending() if one.key not in self._keys]
        return self._numbered([one for one in waiting if topics or one.kind in WORD_KINDS], index)

    def without_names(self, taken: Sequence[Decision]) -> dict[int, str]:
        """Return why decisions among those ``taken`` take away no name, by their numbers."""
        why = unnamed(taken, names_of(self._all))
        return {one.number: why[one.key] for one in taken if one.key in why}

    def add(self, made: Sequence[Decision], index: int) -> None:
        """Note decisions that were made before the run and hold since slice ``index``, with its first topics."""
        own = [replace(one, key=f"{_SEED}{one.kind}-{one.topic}") for one in made]
        self.settle(self._numbered(own, index), {}, [])

    def _numbered(self, chosen: Sequence[Decision], index: int) -> list[Decision]:
        return [applied(one, len(self._all) + at, index) for at, one in enumerate(chosen, start=1)]

    def settle(
        self,
        taken: Sequence[Decision],
        refused: Mapping[int, str],
        events: Sequence[Event],
        word_of: Callable[[str], str] = str,
    ) -> None:
        """Note what became of the decisions that were ``taken``, and tell which were ``refused`` and why.

        ``events`` are those of the slice; a split's new topic is among them. ``word_of`` tells which word of the
        vocabulary a text is.
        """
        new_topic = {one.decision: one.other for one in events if one.kind == "split" and one.decision is not None}
        for one in taken:
            why = refused.get(one.number, "")
            one = replace(one, refused=why, other=new_topic.get(one.number) or one.other)
            if why:
                log.warning("decision %d, to %s, was refused: %s", one.number, told(one), why)
            else:
                log.info("decision %d: %s", one.number, told(one))
                for number in undone_by(one, self._all, word_of):
                    self._all[number - 1] = replace(self._all[number - 1], undone_by=one.number)
                    self._undone[number] = one.number
            self._all.append(one)
            self._keys.add(one.key)
            self._new.append(one)

    def take(self) -> tuple[list[Decision], dict[int, int]]:
        """Return what became of decisions since the last call: new ones, and by which one earlier ones are undone."""
        out = self._new, self._undone
        self._new, self._undone = [], {}
        return out


def change_words(encoder: Encoder, decisions: Sequence[Decision]) -> dict[int, str]:
    """Forbid and allow words, which takes effect at the end of the slice; return why not, by numbers."""
    refused: dict[int, str] = {}
    for one in decisions:
        if not isinstance(encoder, WordCounting):
            refused[one.number] = "the documents of this run have no words"
            continue
        try:
            change = encoder.vocabulary.forbid if one.kind == "forbid" else encoder.vocabulary.allow
            change(one.text)
        except InputError as error:
            refused[one.number] = str(error)
    return refused
