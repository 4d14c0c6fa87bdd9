"""Read a run file to its last byte in use, and check that its tables agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from vmfstream.errors import InputError
from vmfstream.records import Arrays
from vmfstream.runfile.checkpoints import one_commit
from vmfstream.runfile.connection import explain
from vmfstream.runfile.writer import stored_state

_NO_NUMBERS = ("not isfinite(n)", "n < -1e-3", "not isfinite(share)", "share < -1e-3", "share > 1.001")

_ROUNDING = 1e-3
"""Of documents: their parts in topics are float32 and sum to one within 1e-4 for a thousand topics."""

_DISAGREEMENTS = {
    "epochs are missing": "select count(*) <> max(epoch) - min(epoch) + 1 from epoch",
    "rejected messages are missing": "select sum(rejected) <> (select count(*) from rejected) from epoch",
    "documents are missing": """
        select sum(n) <> (select count(*) from document) from epoch
        where exists(select * from meta where key = 'documents' and value = 'all')
        and not exists(select * from migration where name = 'add_documents' and applied_at > (
            select min(begun) from epoch))""",
    "places of documents are missing": """
        select bool_or(n <> places) from (
            select count(*) as n, max(place) + 1 as places from document group by slice)
        where exists(select * from meta where key = 'documents' and value = 'all')""",
    "closed slices name epochs that are missing": "select count(*) > 0 from slice anti join epoch using (epoch)",
    **{
        f"{table} has slices that are not closed": f"select count(*) > 0 from {table} anti join slice using (slice)"
        for table in ("filtered", "filtered_word", "smoothed", "smoothed_word", "representative", "event", "topic_name")
    },
    **{
        f"{table} has topics that {whole} has not": f"""
            select count(*) > 0 from {table} anti join {whole} using (slice, topic)"""
        for table, whole in (
            ("filtered_word", "filtered"),
            ("topic_name", "filtered"),
            ("smoothed_word", "smoothed"),
        )
    },
    **{
        f"{table} has other ranks than 1, 2, ...": f"""
            select count(*) > 0 from (
                select min(rank) as first, max(rank) as last, count(distinct rank) as different, count(*) as many
                from {table} group by slice, topic)
            where first <> 1 or last <> many or different <> many"""
        for table in ("filtered_word", "smoothed_word")
    },
    **{
        f"{table} has numbers that are none": f"select bool_or({' or '.join(wrong)}) from {table}"
        for table, wrong in (
            ("filtered", _NO_NUMBERS),
            ("smoothed", _NO_NUMBERS),
            ("filtered_word", ("not isfinite(weight)",)),
            ("smoothed_word", ("not isfinite(weight)",)),
            ("filtered_angle", ("not isfinite(degrees)",)),
            ("smoothed_angle", ("not isfinite(degrees)",)),
        )
    },
    **{
        f"topics in {table} have more documents than their slices": f"""
            select count(*) > 0 from (select slice, sum(n) as n from {table} group by slice) as topics
            join slice using (slice) where topics.n > {1 + _ROUNDING} * slice.n + {_ROUNDING}"""
        for table in ("filtered", "smoothed")
    },
    "there are epochs, but no position in the source": """
        select count(*) > 0 and not exists(select * from position) from epoch where n > 0""",
}
"""What would be wrong if a query answered true."""


def problems(path: Path) -> Iterator[str]:
    """Read every row and say what cannot be read, or does not agree; nothing if the run file is whole.

    Blocks that no row uses are not read. The states are read as bytes; `stored_states` makes arrays of them.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If there is no run file at ``path``, or it cannot be opened.
    """
    path = path.expanduser().resolve()
    damaged = False
    with one_commit(path) as connection:
        names = connection.execute("select table_name from duckdb_tables() where not internal order by 1").fetchall()
        for (name,) in names:
            try:
                connection.execute(f'select bit_xor(hash(row)) from "{name}" as row').fetchall()
            except duckdb.Error as error:
                damaged = True
                yield f"the table {name} cannot be read: {explain(error)}"
                connection.rollback()
                connection.begin()
        if damaged:
            return
        for what, query in _DISAGREEMENTS.items():
            if connection.execute(query).fetchall() == [(True,)]:
                yield what


def stored_states(path: Path) -> tuple[dict[str, Arrays], tuple[int, int]]:
    """Return the stored states by name, and how many documents and rejected messages the epochs have.

    Raises
    ------
    InputError
        If a state cannot be read.
    """
    path = path.expanduser().resolve()
    with one_commit(path) as connection:
        try:
            states = {
                name: state
                for name in ("open", "slice", "open_before", "slice_before")
                if (state := stored_state(connection, name)) is not None
            }
            counts = connection.execute("select coalesce(sum(n), 0), coalesce(sum(rejected), 0) from epoch").fetchall()
        except (duckdb.Error, ValueError) as error:
            raise InputError(f"a state in the run file {path} cannot be read: {error}") from error
    documents, rejected = counts[0]
    return states, (int(documents), int(rejected))
