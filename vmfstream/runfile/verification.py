"""Read a run file to its last byte in use, and check that its tables agree with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from vmfstream.errors import InputError, VmfstreamError
from vmfstream.records import SKETCH_SIZE, Arrays
from vmfstream.runfile.checkpoints import one_commit
from vmfstream.runfile.connection import explain
from vmfstream.runfile.writer import stored_state

_NO_NUMBERS = ("not isfinite(n)", "n < -1e-3", "not isfinite(share)", "share < -1e-3", "share > 1.001")

_NO_ANGLE = ("not (degrees between 0 and 180.01)",)

_ROUNDING = 1e-3
"""Of documents: their parts in topics are float32 and sum to one within 1e-4 for a thousand topics."""

_KEPT = """
    exists(select * from meta where key = 'documents' and value = 'all')
    and not exists(select * from migration where name = 'add_documents' and applied_at > (
        select min(begun) from epoch))"""
"""Whether all documents have rows; runs that began with a version before these have none."""

_COUNTED = "not exists(select * from position where regexp_full_match(part, '[A-Za-z0-9._-]+:[0-9]+'))"
"""Whether offsets never go back, as those of a Kafka topic do that was made again; it has parts ``topic:partition``."""


def _missing(table: str, whole: str, *names: str, where: str = "true") -> str:
    """Return the query whether a ``table`` has rows that the ``whole`` has not, by the columns of some ``names``.

    ``where`` tells which rows are meant.
    """
    return f"select count(*) > 0 from (from {table} where {where}) anti join {whole} using ({', '.join(names)})"


def _twice(table: str, *names: str) -> str:
    """Return the query whether several rows of a ``table`` have the same values in the columns of these ``names``."""
    return f"select count(*) > count(distinct ({', '.join(names)})) from {table}"


DISAGREEMENTS = {
    "epochs are missing": "select count(*) <> max(epoch) - min(epoch) + 1 from epoch",
    "epochs go back to slices before": """
        select bool_or(back) from (select slice < lag(slice) over (order by epoch) as back from epoch where n > 0)""",
    "epochs have numbers that are none": """
        select bool_or(least(n, rejected, late, empty) < 0 or greatest(late, empty) > n or not isfinite(seconds))
        from epoch""",
    "rejected messages are missing": """
        select count(*) > 0 from epoch full join (select epoch, count(*) as found from rejected group by epoch)
        using (epoch) where coalesce(rejected, 0) <> coalesce(found, 0)""",
    "documents are missing": f"""
        select count(*) > 0 from (select slice, sum(n) as n from epoch group by slice)
        full join (select slice, count(*) as found from document group by slice) using (slice)
        where coalesce(n, 0) <> coalesce(found, 0) and {_KEPT}""",
    "places of documents are missing": f"""
        select bool_or(n <> places) from (
            select count(*) as n, max(place) + 1 as places from document group by slice)
        where {_KEPT}""",
    "places of documents are there twice": _twice("document", "slice", "place"),
    "documents are of slices that no epoch has": _missing("document", "epoch", "slice"),
    **{
        f"{table} has documents that are not there": _missing(table, "document", "slice", "place")
        for table in ("document_smoothed", "story_smoothed")
    },
    **{
        f"{table} has documents twice": _twice(table, "slice", "place")
        for table in ("document_smoothed", "story_smoothed")
    },
    "closed slices name epochs that are missing": _missing("slice", "epoch", "epoch"),
    "closed slices have other numbers of documents than their epochs": """
        select count(*) > 0 from (select slice, sum(n) as learnt from epoch group by slice)
        right join slice using (slice) where coalesce(learnt, 0) <> n""",
    "slices before the newest are not closed": _missing(
        "epoch", "slice", "slice", where="n > 0 and slice < (select max(slice) from slice)"
    ),
    **{
        f"{table} has slices that are not closed": _missing(table, "slice", "slice")
        for table in (
            "filtered",
            "filtered_word",
            "smoothed",
            "smoothed_word",
            "representative",
            "event",
            "topic_name",
            "novel",
        )
    },
    **{
        f"{table} has slices that no epoch has": _missing(table, "epoch", "slice")
        for table in ("sample", "story_slice", "story_event")
    },
    **{
        f"{table} has epochs that are missing": _missing(table, "epoch", "epoch")
        for table in ("topic", "event", "story_event", "decision", "outbox")
    },
    **{
        f"{table} has topics that {whole} has not": _missing(table, whole, key, "topic")
        for table, whole, key in (
            ("word", "topic", "epoch"),
            ("filtered_word", "filtered", "slice"),
            ("topic_name", "filtered", "slice"),
            ("representative", "filtered", "slice"),
            ("topic_phrase", "topic_name", "slice"),
            ("given_name", "topic_name", "slice"),
            ("smoothed_word", "smoothed", "slice"),
            ("filtered_sketch", "filtered", "slice"),
            ("smoothed_sketch", "smoothed", "slice"),
        )
    },
    **{
        f"{table} has topics twice": _twice(table, key, "topic")
        for table, key in (
            ("topic", "epoch"),
            ("filtered", "slice"),
            ("smoothed", "slice"),
            ("topic_name", "slice"),
            ("filtered_sketch", "slice"),
            ("smoothed_sketch", "slice"),
        )
    },
    **{
        f"{table}_angle has not each pair of topics once": f"""
            select count(*) > 0 from (
                select slice, count(*) as found, count(distinct (topic, other)) as pairs,
                    bool_and(topic < other and (slice, topic) in (select (slice, topic) from {table})
                        and (slice, other) in (select (slice, topic) from {table})) as known
                from {table}_angle group by slice)
            left join (select slice, count(*) as k from {table} group by slice) using (slice)
            where not known or pairs <> found or found <> k * (k - 1) // 2"""
        for table in ("filtered", "smoothed")
    },
    **{
        f"{table} has other ranks than 1, 2, ...": f"""
            select count(*) > 0 from (
                select min(rank) as first, max(rank) as last, count(distinct rank) as different, count(*) as many
                from {table} group by {keys})
            where first <> 1 or last <> many or different <> many"""
        for table, keys in (
            ("word", "epoch, topic"),
            ("filtered_word", "slice, topic"),
            ("smoothed_word", "slice, topic"),
            ("topic_phrase", "slice, topic"),
            ("representative", "slice, topic"),
            ("novel", "slice"),
            ("story_word", "story"),
            ("story_document", "story"),
            ("snapshot_word", "snapshot, node"),
        )
    },
    **{
        f"{table} has numbers that are none": f"select bool_or({' or '.join(wrong)}) from {table}"
        for table, wrong in (
            ("topic", _NO_NUMBERS),
            ("filtered", _NO_NUMBERS),
            ("smoothed", _NO_NUMBERS),
            ("word", ("not isfinite(weight)",)),
            ("filtered_word", ("not isfinite(weight)",)),
            ("smoothed_word", ("not isfinite(weight)",)),
            ("topic_phrase", ("not isfinite(weight)",)),
            ("story_word", ("not isfinite(weight)",)),
            ("filtered_angle", _NO_ANGLE),
            ("smoothed_angle", _NO_ANGLE),
            ("filtered_sketch", (f"octet_length(numbers) <> {SKETCH_SIZE}",)),
            ("smoothed_sketch", (f"octet_length(numbers) <> {SKETCH_SIZE}",)),
            ("document", ("not (probability between 0 and 1.001)", "not isfinite(novelty)")),
            ("story", ("size < 1", "first_slice > last_slice", '"first" > "last"', "not isfinite(trend)")),
            ("novel", ("not isfinite(novelty)",)),
            ("stage", ("not (seconds >= 0 and isfinite(seconds))",)),
        )
    },
    **{
        f"topics in {table} have more documents than their slices": f"""
            select count(*) > 0 from (select slice, sum(n) as n from {table} group by slice) as topics
            join slice using (slice) where topics.n > {1 + _ROUNDING} * slice.n + {_ROUNDING}"""
        for table in ("filtered", "smoothed")
    },
    "events have other epochs than the ends of their slices": """
        select count(*) > 0 from event join slice using (slice) where event.epoch <> slice.epoch""",
    "events have numbers that are none": """
        select count(*) > 0 from event
        where not isfinite(value) or (value is null and kind not in ('started', 'ended'))""",
    "events name decisions that are missing": """
        select count(*) > 0 from event where decision is not null and decision not in (select number from decision)""",
    "decisions have slices that there are not": """
        select count(*) > 0 from decision
        where slice not in (select slice from slice union select slice from epoch)""",
    "decisions are missing": "select count(*) <> max(number) or count(distinct number) <> max(number) from decision",
    "decisions are undone by others that are missing": """
        select count(*) > 0 from decision where undone_by not in (select number from decision)""",
    "stories are there twice": _twice("story", "story"),
    **{
        f"{table} has stories that are missing": _missing(table, "story", "story", where=where)
        for table, where in (
            ("story_word", "true"),
            ("story_document", "true"),
            ("story_slice", "true"),
            ("story_event", "kind <> 'merged'"),
            ("novel", "story >= 0"),
        )
    },
    **{
        f"stories have {name} slices that no epoch has": f"""
            select count(*) > 0 from story where {name}_slice not in (select slice from epoch)"""
        for name in ("first", "last")
    },
    "stories have other numbers of documents than were given to them": f"""
        with recursive became(story, now) as (
            select distinct story, story from document where story >= 0
            union select became.story, event.other from became
                join story_event event on event.story = became.now and event.kind = 'merged'),
        counted as (
            select now as story, count(*) as n from document join became using (story)
            where now not in (select story from story_event where kind = 'merged') group by now)
        select count(*) > 0 from counted join story using (story) where n <> size and {_KEPT}""",
    **{
        f"{table} has snapshots, or topics of theirs, that are missing": query
        for table, query in (
            ("snapshot_topic", _missing("snapshot_topic", "snapshot", "snapshot")),
            ("snapshot_word", _missing("snapshot_word", "snapshot_topic", "snapshot", "node")),
        )
    },
    "topics of snapshots have parents that are missing": """
        select count(*) > 0 from snapshot_topic where parent >= 0
        and (snapshot, parent) not in (select (snapshot, node) from snapshot_topic)""",
    "sampled documents are there twice": f"{_twice('sample', 'slice', 'key')} where {_COUNTED}",
    "there are epochs, but no position in the source": """
        select count(*) > 0 and not exists(select * from position) from epoch where n > 0""",
    "the position in the source lies before messages that were counted": f"""
        select sum(n + rejected) > (select sum(next_offset) from position) and {_COUNTED} from epoch""",
    **{
        f"the position in the source lies before messages in {table}": f"""
            select count(*) > 0 and {_COUNTED} from {table} left join position using (part)
            where source_offset >= coalesce(next_offset, 0)"""
        for table in ("rejected", "sample", "outbox")
    },
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
        If there is no run file at ``path``, it cannot be opened, or has numbers that cannot be compared.
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
        for what, query in DISAGREEMENTS.items():
            try:
                wrong = connection.execute(query).fetchall() == [(True,)]
            except duckdb.Error as error:  # a sum of a stranger's numbers may be larger than any number
                raise InputError(f"the rows of the run file {path} cannot be compared: {explain(error)}") from error
            if wrong:
                yield what


def check_rows(path: Path, name: str = "") -> None:
    """Refuse a run file whose rows cannot be read or contradict each other.

    Parameters
    ----------
    path : Path
    name : str
        What the run file is called in the error, if not by its path.

    Raises
    ------
    InputError
        If so, with the first of its `problems`.
    """
    if (found := next(problems(path), None)) is not None:
        raise InputError(f"the run file {name or path} is damaged: {found} (vmfstream doctor --deep tells all)")


@contextmanager
def rows_checked_on_failure(path: Path, name: str = "") -> Iterator[None]:
    """Say what is wrong with a run file if the body, which reads it, fails for its rows.

    Rows of a stranger may contradict each other in more ways than each reader of them can foresee.

    Parameters
    ----------
    path, name
        As in `check_rows`, which raises the error.
    """
    try:
        yield
    except VmfstreamError:
        raise
    except (LookupError, ValueError, TypeError, ArithmeticError):
        check_rows(path, name)
        raise


@dataclass(frozen=True, slots=True)
class ToldByRows:
    """What the rows of a run file say that its saved states say too.

    Attributes
    ----------
    counts : documents and rejected messages of all epochs.
    before : the same of the epochs before the one that closed the newest slice, None without one.
    in_slice : documents of the epochs by slice.
    newest : the newest closed slice, None without one.
    closed : documents of closed slices by their numbers.
    topics : the topics of the newest slice that has some, in ascending order.
    largest : the largest number of a topic anywhere, -1 without topics.
    stories : sizes of the stories that have not ended, by their numbers.
    sample : the keys of the sampled documents by slice, in ascending order.
    """

    counts: tuple[int, int]
    before: tuple[int, int] | None
    in_slice: Mapping[int, int]
    newest: int | None
    closed: Mapping[int, int]
    topics: Sequence[int]
    largest: int
    stories: Mapping[int, int]
    sample: Mapping[int, Sequence[int]]


_LARGEST = " union all ".join(
    f"select max({column}) as number from {table}"
    for table, column in (
        ("topic", "topic"),
        ("filtered", "topic"),
        ("smoothed", "topic"),
        ("representative", "topic"),
        ("event", "topic"),
        ("event", "other"),
        ("novel", "topic"),
        ("story", "topic"),
        ("story_slice", "topic"),
        ("document", "topic"),
        ("document", "second"),
        ("document_smoothed", "topic"),
    )
)


def stored_states(path: Path) -> tuple[dict[str, Arrays], ToldByRows]:
    """Return the stored states by name, and what the rows say that they say too.

    Raises
    ------
    InputError
        If a state cannot be read.
    """
    path = path.expanduser().resolve()
    with one_commit(path) as connection:

        def pairs(query: str) -> dict[int, Any]:
            return dict(connection.execute(query).fetchall())

        def counted(epochs: str) -> tuple[int, int]:
            query = f"select coalesce(sum(n), 0)::bigint, coalesce(sum(rejected), 0)::bigint from epoch where {epochs}"
            documents, rejected = connection.execute(query).fetchall()[0]
            return documents, rejected

        try:
            states = {
                name: state
                for name in ("open", "slice", "open_before", "slice_before")
                if (state := stored_state(connection, name)) is not None
            }
            query = "select max(slice), arg_max(epoch, slice) from slice"
            newest, closing = connection.execute(query).fetchall()[0]
            query = "select topic from filtered where slice = (select max(slice) from filtered) order by topic"
            topics = [topic for (topic,) in connection.execute(query).fetchall()]
            largest = connection.execute(f"select coalesce(max(number), -1) from ({_LARGEST})").fetchall()[0][0]
            rows = ToldByRows(
                counted("true"),
                None if newest is None else counted(f"epoch < {closing}"),
                pairs("select slice, sum(n)::bigint from epoch group by slice"),
                newest,
                pairs("select slice, n from slice"),
                topics,
                largest,
                pairs("select story, size from story where not ended"),
                pairs("select slice, list_sort(list(key)) from sample group by slice"),
            )
        except (duckdb.Error, ValueError) as error:
            raise InputError(f"a state in the run file {path} cannot be read: {error}") from error
    return states, rows
