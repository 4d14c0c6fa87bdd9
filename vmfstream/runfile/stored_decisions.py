"""The decisions in a run file that is open, and the name of its run."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb

from vmfstream.errors import InputError
from vmfstream.records import Decision

RUN_NAME = "select strftime(begun, '%Y%m%d%H%M%S%f') from epoch order by epoch limit 1"
"""A name that no other run has: when its first epoch began."""

_COLUMNS = "key, made, kind, topic, other, text, number, slice, refused, undone_by"


def run_name(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the run, empty before its first epoch."""
    return str((connection.execute(RUN_NAME).fetchone() or ("",))[0])


def stored_decisions(connection: duckdb.DuckDBPyConnection) -> list[Decision]:
    """Return the decisions that were applied or refused, in order.

    Raises
    ------
    InputError
        If one was made at a time that no run writes.
    """
    rows = connection.execute(f"select {_COLUMNS} from decision order by number").fetchall()
    for _, made, *_ in rows:
        if not isinstance(made, datetime):  # DuckDB returns times after the year 9999 as texts
            raise InputError(
                f"the run file is damaged: decision.made: expected times of the years 1 to 9999, got {made}"
            )
    return [
        Decision(
            key, made.replace(tzinfo=UTC), kind, -1 if topic is None else topic, -1 if other is None else other, *rest
        )
        for key, made, kind, topic, other, *rest in rows
    ]
