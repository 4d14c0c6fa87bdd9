"""Tables of the run file, as an ordered list of migrations.

Only small tables carry an index. Rows of an epoch or a slice are kept unique by the primary keys of ``epoch`` and
``slice``, written in the same transaction: with two million word rows an index of its own would double the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from vmfstream.errors import FormatVersion, InputError
from vmfstream.runfile.connection import explain
from vmfstream.runfile.lease import lease

CREATE_CHECKPOINT = "create or replace table checkpoint_{kind}(body ubigint using compression uncompressed)"
"""A state as numbers of 8 bytes, in their order; they are compressed as a whole before."""


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables of format 1."""
    connection.execute("""
        create table epoch(
            epoch bigint primary key, slice integer not null, label varchar not null, begun timestamp not null,
            n bigint not null, rejected bigint not null, late bigint not null, empty bigint not null,
            unknown double, heldout double, seconds double not null, finished boolean not null);
        create table topic(
            epoch bigint not null, topic integer not null, share double, n double, kappa double, gamma double,
            tightness double, certainty double, speed double);
        create table word(
            epoch bigint not null, topic integer not null, rank integer not null, word varchar not null, weight double);
        create table slice(
            slice integer primary key, label varchar not null, begins timestamp, ends timestamp, epoch bigint not null,
            n bigint not null, predicted double, persistence double, settling boolean not null,
            dimension integer not null);
        create table typical(
            slice integer not null, topic integer not null, rank integer not null, id varchar not null,
            title varchar not null, time timestamp, score double);
        create table event(
            slice integer not null, epoch bigint not null, kind varchar not null, topic integer not null,
            other integer, value double);
        create table rejected(
            part varchar not null, source_offset bigint not null, epoch bigint not null, reason varchar not null,
            excerpt varchar not null);
        create table position(part varchar primary key, next_offset bigint not null);
    """)
    for kind in ("open", "slice"):
        connection.execute(CREATE_CHECKPOINT.format(kind=kind))
    for reading in ("filtered", "smoothed"):
        connection.execute(f"""
            create table {reading}(
                slice integer not null, topic integer not null, n double, share double, kappa double, gamma double,
                tightness double, certainty double, speed double);
            create table {reading}_word(
                slice integer not null, topic integer not null, rank integer not null, word varchar not null,
                weight double);
        """)


def add_lag(connection: duckdb.DuckDBPyConnection) -> None:
    """Let an epoch say how many messages waited in the source when it was written."""
    connection.execute("alter table epoch add column lag bigint")


def add_evidence(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the evidence of an event."""
    connection.execute("alter table event add column evidence double")
    connection.execute("alter table event add column chance double")


def add_geometry(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep the angles between topics and a sketch of each mean at a slice end, and the error of a drift angle."""
    for table in ("topic", "filtered", "smoothed"):
        connection.execute(f"alter table {table} add column speed_error double")
    for reading in ("filtered", "smoothed"):
        connection.execute(f"""
            create table {reading}_angle(
                slice integer not null, topic integer not null, other integer not null, degrees float not null);
            create table {reading}_sketch(slice integer not null, topic integer not null, numbers blob not null);
        """)


def add_snapshots(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep what batch models found in a sample of the stream."""
    connection.execute("""
        create table snapshot(
            snapshot integer primary key, kind varchar not null, slice integer not null, made timestamp not null,
            documents bigint not null, bound double, predicted double, live double);
        create table snapshot_topic(
            snapshot integer not null, node integer not null, parent integer not null, level integer not null,
            topic integer not null, n double, share double, tightness double, certainty double);
        create table snapshot_word(
            snapshot integer not null, node integer not null, rank integer not null, word varchar not null,
            weight double);
    """)


def add_sample(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a sample of the documents, and the states from before the newest slice ended."""
    connection.execute("""
        create table sample(
            slice integer not null, key ubigint not null, part varchar not null, source_offset bigint not null,
            packed blob not null);
    """)
    for kind in ("open_before", "slice_before"):
        connection.execute(CREATE_CHECKPOINT.format(kind=kind))


def add_uncertainty(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep intervals of shares, how sure directions are, and the most novel documents of a slice."""
    for table in ("filtered", "smoothed"):
        for column in ("share_low", "share_high", "radius"):
            connection.execute(f"alter table {table} add column {column} double")
    connection.execute("""
        create table novel(
            slice integer not null, rank integer not null, id varchar not null, title varchar not null, time timestamp,
            novelty double not null, topic integer not null);
    """)


def add_temper(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the inverse temperature of topic probabilities on arrival to slices."""
    connection.execute("alter table slice add column temper double")


def use_standard_terms(connection: duckdb.DuckDBPyConnection) -> None:
    """Name tables and columns by the field's terms; the inverse temperature becomes a temperature."""
    connection.execute("update slice set temper = 1.0 / temper where not isnan(temper)")
    connection.execute("alter table slice rename temper to temperature")
    connection.execute("alter table slice rename settling to warm_up")
    connection.execute("alter table epoch rename unknown to oov_rate")
    connection.execute("alter table epoch rename heldout to prequential")
    connection.execute("alter table typical rename to representative")
    for table in ("topic", "filtered", "smoothed"):
        connection.execute(f"alter table {table} rename speed to drift_angle")
        connection.execute(f"alter table {table} rename speed_error to drift_angle_error")


def add_stages(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep the seconds that a run spent in each of its stages."""
    connection.execute("create table stage(stage varchar primary key, seconds double not null)")


def add_stories(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep the stories, their words and representative documents, and what happened to them."""
    connection.execute("""
        create table story(
            story bigint not null, first_slice integer not null, last_slice integer not null, first timestamp not null,
            last timestamp not null, size bigint not null, topic integer not null, trend double not null,
            ended boolean not null, title varchar not null);
        create table story_word(story bigint not null, rank integer not null, word varchar not null, weight double);
        create table story_document(
            story bigint not null, rank integer not null, id varchar not null, title varchar not null, time timestamp,
            score double);
        create table story_event(
            slice integer not null, epoch bigint not null, kind varchar not null, story bigint not null,
            size bigint not null);
    """)


def add_story_lineage(connection: duckdb.DuckDBPyConnection) -> None:
    """Tell of stories that were merged into which other one, and by how much evidence."""
    connection.execute("alter table story_event add column other bigint")
    connection.execute("alter table story_event add column evidence double")


def add_documents(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep what every document got on arrival."""
    connection.execute("""
        create table document(
            id varchar not null, time timestamp not null, slice integer not null, topic integer not null,
            probability float, story bigint not null, novelty float);
    """)


def add_smoothed_documents(connection: duckdb.DuckDBPyConnection) -> None:
    """Give documents places in their slices and second topics, maybe texts, and what they were labelled later.

    Later labels have a table of their own: rows of large tables are not changed, but added.
    """
    for column in ("place uinteger", "second integer default -1", "second_probability float", "text varchar"):
        connection.execute(f"alter table document add column {column}")
    connection.execute("""
        update document set place = found.place from (
            select rowid as row, row_number() over (partition by slice order by rowid) - 1 as place from document) found
        where document.rowid = found.row""")
    connection.execute(
        "create table document_smoothed(slice integer not null, place uinteger not null, topic integer not null)"
    )


def add_quality(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep the coherence and the diversity of the words of topics."""
    for column in ("npmi", "c_v", "diversity"):
        connection.execute(f"alter table filtered add column {column} double")


def add_names(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep names, titles and phrases of topics, and names that a namer gave."""
    connection.execute("""
        create table topic_name(
            slice integer not null, topic integer not null, name varchar not null, title varchar not null);
        create table topic_phrase(
            slice integer not null, topic integer not null, rank integer not null, phrase varchar not null,
            weight double);
        create table given_name(slice integer not null, topic integer not null, name varchar not null);
    """)


def add_outbox(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep what documents got, and where their messages stand, until it was sent."""
    connection.execute("""
        create table outbox(
            epoch bigint not null, part varchar not null, source_offset bigint not null, topic integer not null,
            probability float, story bigint not null, novelty float);
    """)


def add_decisions(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep what people decided about topics and words, and which events these decisions made."""
    connection.execute("""
        create table decision(
            number bigint not null, key varchar not null, made timestamp not null, kind varchar not null, topic integer,
            other integer, text varchar not null, slice integer not null, epoch bigint not null,
            refused varchar not null, undone_by bigint);
    """)
    connection.execute("alter table event add column decision bigint")


_NARROW_DOCUMENTS = {
    ("document", "topic"): ("SMALLINT", "INTEGER"),
    ("document", "second"): ("SMALLINT", "INTEGER"),
    ("document", "story"): ("INTEGER", "BIGINT"),
    ("document_smoothed", "topic"): ("SMALLINT", "INTEGER"),
    ("story_smoothed", "story"): ("INTEGER", "BIGINT"),
}

_NARROW_PLACES = {
    **{(table, "place"): ("USMALLINT", "UINTEGER") for table in ("document", "document_smoothed", "story_smoothed")},
    **{
        (f"{reading}_angle", column): ("SMALLINT", "INTEGER")
        for reading in ("filtered", "smoothed")
        for column in ("topic", "other")
    },
    ("sample", "source_offset"): ("INTEGER", "BIGINT"),
}

NARROW = _NARROW_DOCUMENTS | _NARROW_PLACES
"""Columns of whole numbers with their types, and with those that they get when a number is too large.

In the small blocks of a run file DuckDB packs whole numbers of two bytes, but none of four or eight.
"""

LARGEST = {"SMALLINT": 2**15 - 1, "USMALLINT": 2**16 - 1, "INTEGER": 2**31 - 1}
"""Largest numbers of the types."""


def narrow_documents(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep numbers of topics and stories of documents in fewer bytes where they are small enough; add later stories."""
    connection.execute("create table story_smoothed(slice integer not null, place uinteger not null, story integer)")
    _narrow(connection, _NARROW_DOCUMENTS)


def _narrow(connection: duckdb.DuckDBPyConnection, columns: Mapping[tuple[str, str], tuple[str, str]]) -> None:
    """Give columns their narrow types where all numbers fit."""
    for (table, column), (narrow, _) in columns.items():
        largest = connection.execute(f"select coalesce(max({column}), 0) from {table}").fetchall()[0][0]
        if largest <= LARGEST[narrow]:
            connection.execute(f"alter table {table} alter {column} set data type {narrow}")


def add_parts(connection: duckdb.DuckDBPyConnection) -> None:
    """Tell which topics are parts of one that was named beforehand."""
    connection.execute("alter table filtered add column part_of integer")


def narrow_words(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep ranks and weights of words in fewer bytes: two, which DuckDB packs, and four."""
    for table in ("word", "filtered_word", "smoothed_word", "topic_phrase", "story_word", "snapshot_word"):
        connection.execute(f"alter table {table} alter rank set data type smallint")
        connection.execute(f"alter table {table} alter weight set data type float")


def add_first_stories(connection: duckdb.DuckDBPyConnection) -> None:
    """Tell of which story a novel document is the first."""
    connection.execute("alter table novel add column story bigint default -1")


def narrow_places(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep places of documents, topics of angles, and offsets of the sample in fewer bytes where they are small."""
    _narrow(connection, _NARROW_PLACES)


def add_isotropy(connection: duckdb.DuckDBPyConnection) -> None:
    """Tell how evenly vectors spread around topics."""
    connection.execute("alter table filtered add column isotropy double")


def add_story_slices(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep what stories were at the ends of slices."""
    connection.execute("""
        create table story_slice(
            slice integer not null, story bigint not null, size bigint not null, topic integer not null,
            trend float not null, title varchar not null, words varchar not null)""")


def compress_sample(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep documents of the sample by Zstandard.

    Left to choose DuckDB takes 10 to 40 % more bytes, and a second instead of .3 whenever it writes all of 10,000
    documents of 100 words again.
    """
    find = "select data_type from duckdb_columns() where table_name = 'sample' and column_name = 'source_offset'"
    ((offset,),) = connection.execute(find).fetchall()
    connection.execute(f"""
        create table compressed(
            slice integer not null, key ubigint not null, part varchar not null, source_offset {offset} not null,
            packed blob not null using compression zstd)""")
    columns = "slice, key, part, source_offset, packed"
    connection.execute(f"insert into compressed select {columns} from sample order by rowid")
    connection.execute("drop table sample")
    connection.execute("alter table compressed rename to sample")


def allow_no_times(connection: duckdb.DuckDBPyConnection) -> None:
    """Let documents, and with them stories, have no times."""
    for table, column in (("document", "time"), ("story", "first"), ("story", "last")):
        connection.execute(f'alter table {table} alter "{column}" drop not null')


def widen(connection: duckdb.DuckDBPyConnection, table: str, frame: Mapping[str, NDArray[Any]]) -> None:
    """Give columns of a ``table`` a wider type if numbers of a ``frame`` ask for it.

    That is done over ``connection``, in the open transaction.
    """
    for name, column in frame.items():
        narrow, wide = NARROW.get((table, name), ("", ""))
        if narrow and column.size and column.max() > LARGEST[narrow]:
            connection.execute(f"alter table {table} alter {name} set data type {wide}")


MIGRATIONS: tuple[Callable[[duckdb.DuckDBPyConnection], None], ...] = (
    create_tables,
    add_lag,
    add_evidence,
    add_geometry,
    add_snapshots,
    add_sample,
    add_uncertainty,
    add_temper,
    use_standard_terms,
    add_stages,
    add_stories,
    add_story_lineage,
    add_documents,
    add_smoothed_documents,
    add_quality,
    add_names,
    add_outbox,
    add_decisions,
    narrow_documents,
    add_parts,
    narrow_words,
    add_first_stories,
    narrow_places,
    add_isotropy,
    add_story_slices,
    compress_sample,
    allow_no_times,
)
"""Every step that ever changed the tables, oldest first; a step is never edited, only followed by another."""

FINGERPRINT = "6c5a0944e722d56e"
"""That of the tables that all migrations make, with which `verify` compares a file: making them takes longer."""


def prepare(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Bring the file to the program's format, each missing step in one transaction with its record.

    An empty file gets the tables at once. A file of an older format is leased meanwhile, so that no run that writes it
    finds other tables than it knows.

    Raises
    ------
    InputError
        If the file holds tables but is no run file.
    FormatVersion
        If the run file was written by a newer program.
    StoreLocked
        If the run file has an older format and another process is writing it.
    """
    if not _tables(connection):
        if path.exists():
            _refuse_functions(connection, path)
        _create(connection)
        return
    stored = stored_format(connection, path)
    with lease(path) if 0 < stored < len(MIGRATIONS) else nullcontext():
        for number in range(stored, len(MIGRATIONS)):
            connection.begin()
            _migrate(connection, number)
            connection.commit()


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    """Make all tables in one transaction, with the record of every step."""
    connection.begin()
    connection.execute(files(__package__).joinpath("tables.sql").read_text("utf-8"))
    connection.execute("insert into meta values ('format', ?)", [str(len(MIGRATIONS))])
    names = [migrate.__name__ for migrate in MIGRATIONS]
    connection.execute("insert into migration select unnest(?::varchar[]), ?", [names, _now()])
    connection.commit()


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _migrate(connection: duckdb.DuckDBPyConnection, number: int) -> None:
    """Do one step, with its record, in the open transaction."""
    migrate = MIGRATIONS[number]
    migrate(connection)
    connection.execute("insert into migration values (?, ?)", [migrate.__name__, _now()])
    connection.execute("update meta set value = ? where key = 'format'", [str(number + 1)])


def check(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file that this program cannot read as it stands.

    Raises
    ------
    InputError
        If the file is no run file.
    FormatVersion
        If the run file was written by a newer program, or by an older one and was not brought up to date since.
    """
    if _named_format(connection, path) == len(MIGRATIONS):
        return  # listing the tables takes several times as long
    stored = stored_format(connection, path)
    if stored < len(MIGRATIONS):
        raise FormatVersion(
            f"the run file {path} has format {stored}, this program reads format {len(MIGRATIONS)}; "
            "open it anew to bring it up to date"
        )


def stored_format(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Return the format number of a run file, at most the program's own.

    Raises
    ------
    InputError
        If the file is no run file, or cannot be read.
    FormatVersion
        If the number is higher than the program knows.
    """
    _refuse_functions(connection, path)
    tables = _tables(connection)
    if not {"meta", "migration"} <= tables:
        found = f"holds the tables {', '.join(sorted(tables)[:5])}" if tables else "is empty"
        raise InputError(f"{path} is a DuckDB file but no vmfstream run file: it {found}")
    stored = _named_format(connection, path)
    if stored is None:
        raise InputError(f"{path} is a DuckDB file but no vmfstream run file: its table meta names no format")
    if stored > len(MIGRATIONS):
        raise FormatVersion(
            f"the run file {path} has format {stored}, this program knows formats up to {len(MIGRATIONS)}; "
            "update vmfstream to open it"
        )
    return stored


def _named_format(connection: duckdb.DuckDBPyConnection, path: Path) -> int | None:
    """Return the number that the table meta names, None if it names none."""
    try:
        row = connection.execute("select value from meta where key = 'format'").fetchone()
        return int(row[0]) if row else None
    except duckdb.IOException as error:  # of the disk: the file may be a run file
        raise InputError(f"cannot read the run file {path}: {explain(error)}") from error
    except (duckdb.Error, ValueError):
        return None


def verify(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file of the program's format whose tables are not those that the migrations make.

    A run file may come from somebody else: a view or a column of another kind in place of a table would be read as if a
    run had written it. Tables beside the expected ones are no matter.

    Raises
    ------
    InputError
        If a table is missing, is a view, or has other columns.
    """
    found = _columns(connection)
    if fingerprint(found) == FINGERPRINT:
        return
    with duckdb.connect() as fresh:
        for migrate in MIGRATIONS:
            migrate(fresh)
        expected = _columns(fresh)
    for table in sorted({name for name, _, _ in expected}):
        wanted, there = ([f"{column} {kind}" for name, column, kind in of if name == table] for of in (expected, found))
        if not there:
            raise InputError(f"{path} is no run file as vmfstream writes it: {table} is missing, or not a table")
        if set(wanted) != set(there):
            differing = ", ".join(sorted(set(wanted) ^ set(there)))
            raise InputError(f"{path} is no run file as vmfstream writes it: the table {table} differs in {differing}")


def fingerprint(columns: Sequence[tuple[str, str, str]]) -> str:
    """Return a short digest of (table, column, type) of all columns, in any order; those of `NARROW` may be wide."""
    same = {(*column, wide): (*column, narrow) for column, (narrow, wide) in NARROW.items()}
    return hashlib.sha256(repr(sorted(same.get(one, one) for one in columns)).encode()).hexdigest()[:16]


def _columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """Return (table, column, type) of all columns of tables, not of views."""
    return connection.execute("""
        select table_name, column_name, data_type
        from system.main.duckdb_columns() columns semi join system.main.duckdb_tables() tables using (table_oid)
        where not columns.internal and table_name not in ('meta', 'migration')""").fetchall()


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    rows = connection.execute("select table_name from system.main.duckdb_tables() where not internal").fetchall()
    return {name for (name,) in rows}


def _refuse_functions(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file with functions or types of its own, which DuckDB would take before those of the same name."""
    for kind in ("function", "type"):
        names = f"select {kind}_name from system.main.duckdb_{kind}s() where not internal limit 1"
        for (name,) in connection.execute(names).fetchall():
            raise InputError(f"{path} is no run file as vmfstream writes it: it has a {kind} of its own, {name!r}")
