"""A store in memory, for trackers inside a program and for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from vmfstream.errors import InputError
from vmfstream.records import Arrays, Checkpoint, Commit, Decision
from vmfstream.runfile.json_records import check, from_json, to_json
from vmfstream.runfile.rows import check_order


class MemoryStore:
    """Keep every commit in memory, in order, and of the states only the last ones.

    Attributes
    ----------
    commits : list of Commit
        All commits, with empty ``open_state``, no ``slice_state``, and but for the newest no topics of their epochs.
    """

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self._settings: dict[str, str] = {}
        self._position: dict[str, int] = {}
        self._open_state: Arrays = {}
        self._slice_state: Arrays | None = None
        self._waiting: list[Decision] = []
        self._closed = False

    def copy(self) -> MemoryStore:
        """Return a store of the same content, which commits to this one do not change; the arrays are shared."""
        made = copy(self)
        made.commits, made._position, made._waiting = list(self.commits), dict(self._position), list(self._waiting)
        return made

    def resume(self) -> Checkpoint | None:
        """Return the last epoch with position and states, or None before the first commit."""
        if not self.commits:
            return None
        return Checkpoint(
            epoch=self.commits[-1].epoch.epoch,
            position=dict(self._position),
            open_state=_copied(self._open_state),
            slice_state=None if self._slice_state is None else _copied(self._slice_state),
            finished=self.commits[-1].finished,
            decisions=self.decisions(),
        )

    def decide(self, *wanted: Decision) -> None:
        """Let decisions wait for the end of a slice."""
        self._waiting += wanted

    def pending(self) -> list[Decision]:
        """Return the decisions that wait, in order."""
        return list(self._waiting)

    def decisions(self) -> list[Decision]:
        """Return the decisions that were applied or refused, in order."""
        undone = {number: later for one in self.commits for number, later in one.undone.items()}
        found = [one for commit in self.commits for one in commit.decisions]
        return [replace(one, undone_by=undone.get(one.number)) for one in found]

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings at the first call; later return the recorded ones."""
        if not self._settings:
            self._settings = dict(wanted)
        return dict(self._settings)

    def commit(self, *commits: Commit) -> None:
        """Store epochs, all or none.

        Raises
        ------
        InputError
            If an epoch does not follow the one before, or the store is closed.
        """
        if self._closed:
            raise InputError("the store is closed")
        last = self.commits[-1].epoch.epoch if self.commits else None
        for one in commits:
            check_order(one.epoch.epoch, last, "the store in memory")
            last = one.epoch.epoch
        for one in commits:
            if self.commits:
                newest = self.commits[-1]
                self.commits[-1] = replace(newest, epoch=replace(newest.epoch, topics=None))
            self.commits.append(replace(one, position=dict(one.position), open_state={}, slice_state=None))
            self._position |= one.position
            self._open_state = _copied(one.open_state)
            if one.slice_state is not None:
                self._slice_state = _copied(one.slice_state)
        done = {decision.key for one in commits for decision in one.decisions}
        self._waiting = [one for one in self._waiting if one.key not in done]

    def name_topics(self, names: Sequence[tuple[int, int, str]]) -> None:
        """Add ``names`` that a namer gave after the last epoch: slice, topic and name."""
        if names:
            self.commits[-1] = replace(self.commits[-1], given_names=[*self.commits[-1].given_names, *names])

    def to_json(self, arrays: Arrays) -> Any:
        """Return everything stored as a value for JSON; arrays are put into ``arrays``, see `json_records.to_json`."""
        states = [self._open_state, self._slice_state]
        return to_json([self.commits, self._settings, self._position, states, self._waiting], arrays)

    @classmethod
    def from_json(cls, value: Any, arrays: Arrays) -> MemoryStore:
        """Return the store whose `to_json` gave this value.

        Raises
        ------
        ValueError
            If no `to_json` gave it.
        """
        store = cls()
        store.commits, store._settings, store._position, states, *waiting = from_json(value, arrays)
        store._open_state, store._slice_state = states
        store._waiting = waiting[0] if waiting else []  # those of earlier versions have none
        check(store.commits, Sequence[Commit], "commits")
        check(store._settings, Mapping[str, str], "settings")
        check(store._position, Mapping[str, int], "position")
        check(store._open_state, Arrays, "open state")
        check(store._slice_state, Arrays | None, "slice state")
        check(store._waiting, Sequence[Decision], "decisions")
        return store

    @classmethod
    def holding(
        cls, commits: Sequence[Commit], settings: Mapping[str, str], checkpoint: Checkpoint | None
    ) -> MemoryStore:
        """Return a store that holds ``commits`` with their ``settings`` and the states of a ``checkpoint``."""
        store = cls()
        store.commits, store._settings = list(commits), dict(settings)
        if checkpoint is not None:
            store._open_state, store._slice_state = checkpoint.open_state, checkpoint.slice_state
        return store

    def close(self) -> None:
        """Refuse further commits; reading stays possible."""
        self._closed = True


def _copied(arrays: Arrays) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}
