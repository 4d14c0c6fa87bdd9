"""Queries of the progress of a run: its epochs, its open slice, the process that writes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb
import numpy as np

from vmfstream.arrays import Vector
from vmfstream.folders import source_name
from vmfstream.runfile.lease import holder
from vmfstream.runfile.queries.base import Ints, RunFileQueries, SliceLabels, Texts
from vmfstream.runfile.stored_decisions import RUN_NAME


@dataclass(frozen=True, slots=True)
class Newest:
    """The last epoch (-1 before the first), the last closed slice, and whether the source is exhausted."""

    epoch: int
    slice: int | None
    finished: bool


@dataclass(frozen=True, slots=True)
class MessageCounts:
    """Documents learnt, and messages that were rejected.

    Of the documents ``late`` are those whose slice was closed when they came, ``empty`` those that had no direction.
    """

    documents: int
    late: int
    rejected: int
    empty: int

    @property
    def late_share(self) -> float:
        """Share of the documents that were late."""
        return self.late / max(self.documents, 1)

    @property
    def empty_share(self) -> float:
        """Share of the documents that had no direction."""
        return self.empty / max(self.documents, 1)

    @property
    def rejected_share(self) -> float:
        """Share of the messages that were rejected."""
        return self.rejected / max(self.documents + self.rejected, 1)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The progress of a run, for live pages.

    ``epoch`` is the newest epoch (-1 before the first), ``written`` when it was written (UTC), ``usual`` the median of
    the seconds between recent epochs (NaN before the third), ``slice`` the newest closed slice, ``closed`` the epoch
    that closed it, ``snapshot`` the newest snapshot (-1 without any), ``decisions`` how many people have made,
    ``closed_at`` when the epoch that closed the slice began, which no other run or copy shares (empty before).
    """

    epoch: int
    finished: bool
    written: datetime | None
    usual: float
    slice: int | None
    closed: int
    snapshot: int
    decisions: int = 0
    closed_at: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class OpenSliceCounts:
    """The slice that is not closed yet: its documents so far, in total and by topic."""

    slice: int
    label: str
    n: int
    topic: Ints
    documents: Vector


@dataclass(frozen=True, slots=True, eq=False)
class EpochFrame:
    """Epochs by number; ``oov_rate`` and ``prequential`` are NaN and ``lag`` is -1 where unknown.

    ``seconds`` are NaN where the stream ended: they would include what is done then.
    """

    epoch: Ints
    slice: Ints
    label: Texts
    n: Ints
    rejected: Ints
    late: Ints
    empty: Ints
    oov_rate: Vector
    prequential: Vector
    seconds: Vector
    lag: Ints


class ProgressQueries(RunFileQueries):
    """Queries of the progress of a run."""

    def meta(self) -> dict[str, str]:
        """Return the settings of the run, its source by name, and the ``format`` of the run file."""
        found = dict(self._rows("select key, value from meta order by key"))
        return found | {name: source_name(found[name]) for name in ("source",) if name in found}

    def newest(self) -> Newest:
        """Return the last epoch and slice; cheap enough for every second."""
        query = """
            select coalesce(max(epoch), -1), (select max(slice) from slice), coalesce(arg_max(finished, epoch), false)
            from epoch"""
        ((epoch, last, finished),) = self._rows(query)
        return Newest(epoch, last, finished)

    def status(self) -> RunStatus:
        """Return what a live page needs to decide whether to read again; as cheap as ``newest``."""
        query = """
            with late as (select epoch, finished, begun, seconds from epoch order by epoch desc limit 20),
            gaps as (select date_diff('millisecond', lag(begun) over (order by epoch), begun) / 1e3 as gap from late)
            select coalesce(max(epoch), -1), coalesce(arg_max(finished, epoch), false),
                arg_max(begun + to_milliseconds((1e3 * seconds)::bigint), epoch),
                coalesce((select median(gap) from gaps), 'nan'::double), (select max(slice) from slice),
                (select coalesce(max(epoch), -1) from slice), (select coalesce(max(snapshot), -1) from snapshot),
                (select count(*) from decision),
                (select coalesce(max(begun::varchar), '') from epoch where epoch = (select max(epoch) from slice))
            from late"""
        return RunStatus(*self._rows(query)[0])

    def open_slice(self) -> OpenSliceCounts | None:
        """Return the slice that the newest epoch left open, or None."""
        query = """
            with late as (select max(epoch) as epoch, arg_max(slice, epoch) as slice from epoch)
            select slice, label, (select sum(n) from epoch where epoch.slice = late.slice)::bigint as n,
                topic, topic.n as documents
            from late join epoch using (epoch, slice) left join topic using (epoch)
            where slice > coalesce((select max(slice) from slice), -1) order by topic"""
        rows = self._rows(query)
        if not rows:
            return None
        index, label, n, *_ = rows[0]
        known = [(topic, documents or 0.0) for *_, topic, documents in rows if topic is not None]
        topics, documents = zip(*known, strict=True) if known else ((), ())
        return OpenSliceCounts(index, label, n, np.array(topics, np.int64), np.array(documents, np.float64))

    def epochs(self) -> EpochFrame:
        """Return the epochs."""
        usual = "select * replace (case when finished then 'nan' else seconds end as seconds) from epoch"
        return self._frame(EpochFrame, f"from ({usual}) order by epoch")

    def counts(self) -> MessageCounts:
        """Return how many documents were learnt, late or without a direction, and how many messages were rejected."""
        sums = ", ".join(f"coalesce(sum({column}), 0)::bigint" for column in ("n", "late", "rejected", "empty"))
        return MessageCounts(*self._rows(f"select {sums} from epoch")[0])

    def cut_epochs(self) -> int:
        """Return how many epochs ended before they were full, though their slice went on: by the clock or by a stop.

        Where they ended depends on when documents came, and results on where they ended, in their last digits.
        """
        (found,) = self._rows("""
            select count(*) from (
                select slice, n + rejected as messages, finished, lead(slice) over (order by epoch) as next from epoch)
            where next = slice and not finished
            and messages < (select try_cast(value as bigint) from meta where key = 'epoch_documents')""")
        return int(found[0])

    def slice_labels(self) -> dict[int, str]:
        """Return the labels of the closed slices, empty ones among them, and of the open one, by their numbers."""
        return SliceLabels(
            self._rows("""
                select slice, label from slice
                union all select slice, arg_max(label, epoch) from epoch anti join slice using (slice) group by slice
                order by slice""")
        )

    def position(self) -> dict[str, int]:
        """Return the next offset to read, by part of the source."""
        return dict(self._rows("select part, next_offset from position order by part"))

    def stages(self) -> dict[str, float]:
        """Return the seconds that the run spent in each of `vmfstream.stages`; none for runs of earlier versions."""
        return dict(self._rows("select stage, seconds from stage"))

    def sizes(self) -> dict[str, int]:
        """Return the bytes of the run file by table, largest first; ``""`` has what no table holds: free blocks.

        A block that several tables share is counted in equal parts; the directory and the rest of the file are free.
        """

        def take(found: duckdb.DuckDBPyConnection) -> dict[str, int]:
            names = [name for (name,) in found.fetchall()]
            each = " union all ".join(
                f"select '{name}' as name, unnest(list_prepend(block_id, additional_block_ids)) as block "
                f"from pragma_storage_info('{name}')"
                for name in names
            )
            rows = found.execute(f"""
                with used as (select distinct name, block from ({each}) where block >= 0),
                part as (select name, 1 / count(*) over (partition by block) as part from used)
                select name, (sum(part) * (select any_value(block_size) from pragma_database_size()))::bigint
                from part group by name order by 2 desc, name""").fetchall()
            return dict(rows)

        tables = self._query("select table_name from duckdb_tables() where not internal", (), take)
        return tables | {"": self.path.stat().st_size - sum(tables.values())}

    def run_name(self) -> str:
        """Return a name that no other run has: when its first epoch began; empty before."""
        rows = self._rows(RUN_NAME)
        return str(rows[0][0]) if rows else ""

    def writer(self) -> int | None:
        """Return the process that is writing the run file, None if there is none; the run file is not opened."""
        return holder(self.path)
