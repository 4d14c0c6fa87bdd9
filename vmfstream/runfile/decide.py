"""Leave decisions for the run that writes a run file; apply names at once where no run is writing it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from vmfstream.decisions import applied, check_topics, names_of, undone_by, unnamed
from vmfstream.errors import InputError, StoreLocked
from vmfstream.records import Decision
from vmfstream.runfile.connection import connected, explain
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.lease import lease
from vmfstream.runfile.rows import decided
from vmfstream.runfile.stored_decisions import run_name, stored_decisions
from vmfstream.runfile.upgrade import upgrade
from vmfstream.runfile.writer import insert, mark_undone

_BRIEFLY = 0.5
"""Seconds that another decision may take to be written."""


def decide(run_file: str | Path, wanted: Sequence[Decision], timeout: float = 10.0) -> bool:
    """Leave decisions for the run of a file, to be applied at the next end of a slice.

    A name changes nothing but what is shown; where no run is writing the file, it is given at once.

    Parameters
    ----------
    run_file : str or Path
        A run file with at least one epoch.
    wanted : sequence of Decision
        In order, from `vmfstream.decisions.decision`.
    timeout : float
        Seconds to wait for a file that another process holds.

    Returns
    -------
    bool
        Whether all are in the run file now; else they wait beside it.

    Raises
    ------
    InputError
        If there is no such run file, it has no epoch yet, it or its folder cannot be written, or one of the topics is
        not there or has no name that could be taken away; none is left then.
    StoreLocked
        If another process does not release the file in time.
    """
    path = Path(run_file).expanduser().resolve()
    upgrade(path, timeout)
    with connected(path, read_only=True, timeout=timeout) as connection:
        name = run_name(connection)
        active, known = _topics(connection)
        stored = stored_decisions(connection)
    if not name:
        raise InputError(f"{path}: the run has not written anything yet; decide once it has")
    for one in wanted:
        check_topics(one, active, known, str(path))
    inbox = Inbox(path)
    keys = {one.key for one in stored}
    names = names_of([*stored, *(one for one in inbox.read(name) if one.key not in keys)])
    for why in unnamed(wanted, names).values():
        raise InputError(f"{path}: {why}")
    keys = {one.key for one in wanted}
    try:
        for one in wanted:
            inbox.put(one, name)
        _give_names_alone(path, inbox, name, timeout)
    except InputError:
        inbox.remove(keys)
        raise
    return keys.isdisjoint(inbox.keys())


def give_waiting_names(run_file: str | Path, timeout: float = 10.0) -> int:
    """Give the names that came too late for the last slice of a run, unless another one is writing ``run_file``.

    Returns
    -------
    int
        How many decisions still wait, for a run that goes on with the file.

    Raises
    ------
    InputError, StoreLocked
        As `decide`.
    """
    path = Path(run_file).expanduser().resolve()
    inbox = Inbox(path)
    if not inbox.folder.exists():
        return 0
    with connected(path, read_only=True, timeout=timeout) as connection:
        name = run_name(connection)
    _give_names_alone(path, inbox, name, timeout)
    return len(inbox.read(name))


def _topics(connection: duckdb.DuckDBPyConnection) -> tuple[list[int], list[int]]:
    """Return the ids of the topics there are, as far as the run file tells, and of all there were."""

    def ids(query: str) -> set[int]:
        return {topic for (topic,) in connection.execute(query).fetchall()}

    closed = ids("select topic from filtered where slice = (select max(slice) from slice)")
    open_ones = ids("select topic from topic where epoch = (select max(epoch) from epoch)")
    gone = ids("select topic from event where kind in ('merged', 'ended') and slice = (select max(slice) from slice)")
    ever = ids("select topic from filtered union select topic from topic")
    return sorted((closed or open_ones) - gone), sorted(ever)


def _give_names_alone(path: Path, inbox: Inbox, run: str, timeout: float) -> None:
    """Give the names that wait, unless a run is writing, which takes them itself; another of these calls is awaited."""
    last = time.monotonic() + _BRIEFLY
    while True:
        try:
            with lease(path):
                _give_names(path, inbox, run, timeout)
            return
        except StoreLocked:
            if time.monotonic() > last:
                return
        time.sleep(0.02)


def _give_names(path: Path, inbox: Inbox, run: str, timeout: float) -> None:
    """Write the names that wait into the run file, as of its newest slice, and forget what is in it already."""
    with connected(path, read_only=False, timeout=timeout) as connection:
        try:
            connection.begin()
            decisions = stored_decisions(connection)
            known = {one.key for one in decisions}
            index, epoch = connection.execute(
                "select coalesce((select max(slice) from slice), max(slice)), max(epoch) from epoch"
            ).fetchall()[0]
            for waiting in inbox.read(run):
                if waiting.kind != "name" or waiting.key in known:
                    continue
                why = unnamed([waiting], names_of(decisions)).get(waiting.key, "")
                one = replace(applied(waiting, len(decisions) + 1, index), refused=why)
                insert(connection, "decision", decided([one], epoch))
                for number in () if why else undone_by(one, decisions):
                    mark_undone(connection, number, one.number)
                decisions = stored_decisions(connection)
            connection.commit()
        except duckdb.Error as error:
            raise InputError(f"cannot write decisions into the run file {path}: {explain(error)}") from error
    inbox.remove({one.key for one in decisions})
