"""A store without a file, for trackers inside a program and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vmfstream.errors import InputError
from vmfstream.records import Arrays, Checkpoint, Commit
from vmfstream.runfile.plain import from_plain, to_plain
from vmfstream.runfile.rows import check_order


class MemoryLog:
    """Keeps every commit in memory in order; of the states only the last ones.

    Attributes
    ----------
    commits : list of Commit
        What was committed, with empty ``open_state`` and no ``slice_state``.
    """

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self._settings: dict[str, str] = {}
        self._position: dict[str, int] = {}
        self._open_state: Arrays = {}
        self._slice_state: Arrays | None = None
        self._closed = False

    def resume(self) -> Checkpoint | None:
        """Return the last commit's state, or None while nothing was committed."""
        if not self.commits:
            return None
        return Checkpoint(
            epoch=self.commits[-1].epoch.epoch,
            position=dict(self._position),
            open_state=_copied(self._open_state),
            slice_state=None if self._slice_state is None else _copied(self._slice_state),
            finished=self.commits[-1].finished,
        )

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings the first time; later return those."""
        if not self._settings:
            self._settings = dict(wanted)
        return dict(self._settings)

    def commit(self, *commits: Commit) -> None:
        """Keep epochs, all or none.

        Raises
        ------
        InputError
            If an epoch does not follow the one before, or the store is closed.
        """
        if self._closed:
            raise InputError("the log is closed")
        last = self.commits[-1].epoch.epoch if self.commits else None
        for one in commits:
            check_order(one.epoch.epoch, last, "the log in memory")
            last = one.epoch.epoch
        for one in commits:
            self.commits.append(replace(one, position=dict(one.position), open_state={}, slice_state=None))
            self._position |= one.position
            self._open_state = _copied(one.open_state)
            if one.slice_state is not None:
                self._slice_state = _copied(one.slice_state)

    def plain(self, arrays: Arrays) -> Any:
        """Return all that is kept as a value for JSON; arrays in it are put into ``arrays``, see `log.plain`."""
        states = [self._open_state, self._slice_state]
        return to_plain([self.commits, self._settings, self._position, states], arrays)

    @classmethod
    def from_plain(cls, value: Any, arrays: Arrays) -> MemoryLog:
        """Return a log that keeps what `plain` returned."""
        log = cls()
        log.commits, log._settings, log._position, states = from_plain(value, arrays)
        log._open_state, log._slice_state = states
        return log

    def close(self) -> None:
        """Refuse further commits; what was kept stays readable."""
        self._closed = True


def _copied(arrays: Arrays) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}
