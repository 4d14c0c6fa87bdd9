"""The decisions in a run file that is open, and the name of its run."""

from __future__ import annotations

from datetime import UTC

import duckdb

from vmfstream.records import Decision

RUN_NAME = "select strftime(begun, '%Y%m%d%H%M%S%f') from epoch order by epoch limit 1"
"""A name that no other run has: when its first epoch began."""

_COLUMNS = "key, made, kind, topic, other, text, number, slice, refused, undone_by"


def run_name(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the run, empty before its first epoch."""
    return str((connection.execute(RUN_NAME).fetchone() or ("",))[0])


def stored_decisions(connection: duckdb.DuckDBPyConnection) -> list[Decision]:
    """Return the decisions that were applied or refused, in order."""
    rows = connection.execute(f"select {_COLUMNS} from decision order by number").fetchall()
    return [
        Decision(
            key, made.replace(tzinfo=UTC), kind, -1 if topic is None else topic, -1 if other is None else other, *rest
        )
        for key, made, kind, topic, other, *rest in rows
    ]
