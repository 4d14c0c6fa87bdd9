"""The writer of the run file: each call opens the file, writes one or more epochs in a transaction, and closes it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np

from vmfstream.errors import InputError, StoreLocked
from vmfstream.records import Arrays, Checkpoint, Commit, Decision
from vmfstream.runfile.arrays import pack, unpack
from vmfstream.runfile.coalescing import CoalescedWrite, coalesce
from vmfstream.runfile.compaction import compact
from vmfstream.runfile.connection import connected, created, explain, remedy, unfinished
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.rollback import remove
from vmfstream.runfile.rows import Frame, check_order, given_names
from vmfstream.runfile.schema import CREATE_CHECKPOINT, check, prepare, verify, widen
from vmfstream.runfile.stored_decisions import run_name, stored_decisions
from vmfstream.stages import ELAPSED, WRITING

_logger = logging.getLogger(__name__)

_RESERVED = "format"


class RunFile:
    """A DuckDB file that stores what the engine reports and what it needs to continue.

    The file is open only during a call, so that other processes can read it between two epochs.

    Parameters
    ----------
    path : str or Path
        The file; made if missing, in a folder that exists.
    timeout : float
        Seconds to wait for a file that another process holds.
    sent : callable, optional
        Returns the last epoch whose labels were sent: these are deleted with the next commit.
    writing : callable, optional
        Returns a context in which commits are written, so that their labels can be sent meanwhile.

    Raises
    ------
    InputError
        If the path cannot be a run file (no folder, no permission, another kind of file).
    FormatVersion
        If the run file was written by a newer version.
    StoreLocked
        If another process did not release the file in time, or is writing a file of an older format.
    """

    def __init__(
        self,
        path: str | Path,
        timeout: float = 30.0,
        sent: Callable[[], int] | None = None,
        writing: Callable[[Sequence[Commit]], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.path = Path(path).expanduser().resolve()
        self.timeout = timeout
        self._sent, self._writing, self._dropped = sent, writing, 0
        self._closed = False
        self._stored = time.perf_counter()  # when seconds were stored last
        self._unstored = 0.0  # what the last commit took after that
        self._inbox, self._run = Inbox(self.path), ""
        if created(self.path, lambda connection: prepare(connection, self.path)):
            return
        with connected(self.path, read_only=False, timeout=timeout) as connection:
            try:
                with suppress(OSError):  # the copy whose end was a kill or a power cut
                    remove(unfinished(self.path))
                prepare(connection, self.path)
                verify(connection, self.path)
            except duckdb.Error as error:
                raise InputError(f"cannot write the run file {self.path}: {explain(error)}") from error

    def resume(self) -> Checkpoint | None:
        """Return the last commit's epoch, position and states, or None for a new run file.

        Raises
        ------
        InputError, StoreLocked
            As the constructor; also if the stored states cannot be read.
        """
        with connected(self.path, read_only=True, timeout=self.timeout) as connection:
            try:
                check(connection, self.path)
                checkpoint = stored_checkpoint(connection)
                if checkpoint is None:
                    return None
                decisions = stored_decisions(connection)
                self._inbox.remove({one.key for one in decisions})  # a run was killed before it could
                return replace(checkpoint, decisions=decisions)
            except (duckdb.Error, ValueError) as error:
                raise InputError(f"cannot read the last state in the run file {self.path}: {error}") from error

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings of a run in a new run file; return the recorded ones of an existing one.

        Parameters
        ----------
        wanted : mapping of str to str
            Any keys but ``format``, which is reserved for the format of the file.

        Returns
        -------
        mapping of str to str
            The settings that the run file holds now.

        Raises
        ------
        ValueError
            If ``wanted`` holds the key ``format``.
        """
        if _RESERVED in wanted:
            raise ValueError(f"settings must not hold the key {_RESERVED!r}, which is reserved for the file's format")
        with connected(self.path, read_only=False, timeout=self.timeout) as connection:
            try:
                query = connection.execute("select key, value from meta where key <> ? order by key", [_RESERVED])
                stored = dict(query.fetchall())
                if stored or not wanted:
                    return stored
                columns = [list(wanted), [str(value) for value in wanted.values()]]
                connection.execute("insert into meta select unnest(?::varchar[]), unnest(?::varchar[])", columns)
            except duckdb.Error as error:
                raise InputError(f"cannot write settings to the run file {self.path}: {explain(error)}") from error
        return {key: str(value) for key, value in wanted.items()}

    def commit(self, *commits: Commit) -> None:
        """Write epochs in one transaction: rows, position and states, all or nothing.

        The rows are the same as if the epochs were written one by one.

        Parameters
        ----------
        *commits : Commit
            One or more, in order; the first must follow the last stored epoch (or be 0 or 1 in a new run file).

        Raises
        ------
        InputError
            If an epoch does not follow, the run file is closed or gone, or the disk is full; it is unchanged then.
        StoreLocked
            If another process did not release the file in time; the commit may be tried again.
        ValueError
            If a state is not made of plain arrays.
        """
        if self._closed:
            raise InputError(f"the run file {self.path} is closed")
        if not self.path.exists():
            raise InputError(f"the run file {self.path} is gone: somebody moved or deleted it during the run")
        with self._writing(commits):
            self._write(commits)

    def _write(self, commits: Sequence[Commit]) -> None:
        began = time.perf_counter()
        # all work that needs no file comes first, since others cannot open it meanwhile
        combined = coalesce(commits)
        states = _packed_states(commits)
        epochs = [one.epoch.epoch for one in commits]
        with connected(self.path, read_only=False, timeout=self.timeout) as connection:
            try:
                connection.begin()
                last = connection.execute("select max(epoch) from epoch").fetchall()[0][0]
                for epoch in epochs:
                    check_order(epoch, last, f"the run file {self.path}")
                    last = epoch
                _delete_smoothed(connection, combined.renewed)
                _drop_sampled(connection, combined.cut)
                _delete_stories(connection, combined.stories)
                _delete_labels(connection, combined.documents)
                sent = self._dropped if self._sent is None else self._sent()
                if sent > self._dropped:
                    connection.execute("delete from outbox where epoch <= ?", [sent])
                for table, frame in combined.tables.items():
                    insert(connection, table, frame)
                for number, later in combined.undone.items():
                    mark_undone(connection, number, later)
                _drop_documents(connection, combined)
                for part, offset in combined.position.items():
                    connection.execute("insert or replace into position values (?, ?)", [part, offset])
                for kind, body in states:
                    _write_state(connection, kind, body)
                now = time.perf_counter()
                writing = self._unstored + now - began
                _add_seconds(connection, combined.seconds, {WRITING: writing, ELAPSED: now - self._stored})
                connection.commit()
            except duckdb.Error as error:
                raise InputError(
                    f"nothing of epoch {epochs[0]} could be written into the run file {self.path}: {explain(error)}; "
                    f"{remedy(error)}"
                ) from error
        self._dropped = sent
        keys = {decision.key for one in commits for decision in one.decisions}
        if keys:
            self._inbox.remove(keys)
        self._stored, self._unstored = now, time.perf_counter() - now
        _logger.debug("epochs %s written, %d bytes of states", epochs, sum(len(body or b"") for _, body in states))

    def pending(self) -> list[Decision]:
        """Return the decisions that wait beside the run file, in order; none before its first epoch.

        The run file is opened for the first one only; if another process holds it they wait for the next slice.
        """
        if not self._inbox.folder.exists():
            return []
        if not self._run:
            try:
                with connected(self.path, read_only=True, timeout=self.timeout) as connection:
                    self._run = run_name(connection)
            except StoreLocked as error:
                _logger.warning("%s; decisions wait", error)
        return self._inbox.read(self._run) if self._run else []

    def name_topics(self, names: Sequence[tuple[int, int, str]]) -> None:
        """Add ``names`` that a namer gave after the last epoch: slice, topic and name.

        Raises
        ------
        InputError, StoreLocked
            As `commit`.
        """
        if not names:
            return
        with connected(self.path, read_only=False, timeout=self.timeout) as connection:
            try:
                insert(connection, "given_name", given_names(names))
            except duckdb.Error as error:
                raise InputError(f"cannot write names to the run file {self.path}: {explain(error)}") from error

    def compact(self) -> None:
        """Write the file anew without free blocks if they are a fifth of it or more; rows and states stay the same."""
        compact(self.path, self.timeout)

    def close(self) -> None:
        """Refuse further commits. The file is not open between calls, so there is nothing to release."""
        self._closed = True


Log = RunFile
"""The former name, importable for one version."""


def _packed_states(commits: Sequence[Commit]) -> list[tuple[str, bytes | None]]:
    """Return the states to write, by their tables in the order of writing; None sets the stored one aside.

    The states from before the newest slice ended are kept too: batch fits are scored on that slice.
    """
    ends = [at for at, one in enumerate(commits) if one.closed and one.slice_state is not None]
    newest = ends[-1] if ends else 0
    before, after = _newest_states(commits[:newest]), _newest_states(commits[newest:])
    aside: list[tuple[str, bytes | None]] = [("open", None), ("slice", None)] if ends else []
    return [*before, *aside, *after]


def _newest_states(commits: Sequence[Commit]) -> list[tuple[str, bytes | None]]:
    opened = [("open", one.open_state) for one in commits][-1:]
    closed = [("slice", one.slice_state) for one in commits if one.slice_state is not None][-1:]
    return [(kind, pack(state)) for kind, state in opened + closed]


def _delete_smoothed(connection: duckdb.DuckDBPyConnection, slices: Sequence[int]) -> None:
    if slices:
        for table in ("smoothed", "smoothed_word", "smoothed_angle", "smoothed_sketch"):
            connection.execute(f"delete from {table} where slice in (select unnest(?::integer[]))", [slices])


def _delete_stories(connection: duckdb.DuckDBPyConnection, stories: Sequence[int]) -> None:
    if stories:
        for table in ("story", "story_word", "story_document"):
            connection.execute(f"delete from {table} where story in (select unnest(?::bigint[]))", [stories])


def _delete_labels(connection: duckdb.DuckDBPyConnection, documents: Sequence[tuple[int, int, int]]) -> None:
    """Delete the later labels of documents, which get others: slice, first place, place after the last."""
    if documents:
        connection.execute(
            "delete from document_smoothed labels using (select unnest(?::integer[]) as slice, "
            "unnest(?::bigint[]) as low, unnest(?::bigint[]) as high) gone "
            "where labels.slice = gone.slice and place >= low and place < high",
            [list(column) for column in zip(*documents, strict=True)],
        )


def _drop_documents(connection: duckdb.DuckDBPyConnection, combined: CoalescedWrite) -> None:
    """Delete what a run does not keep of documents, if it keeps only the newest of each topic and slice."""
    most = combined.documents_per_topic
    if not most:
        return
    slices = {index for index, _, _ in combined.documents}
    for frame in (combined.tables.get(name) for name in ("document", "story_smoothed")):
        slices |= set() if frame is None else set(np.unique(frame["slice"]).tolist())
    changed = [sorted(slices)]
    connection.execute(
        "delete from document where (slice, place) in (select (slice, place) from document "
        "where slice in (select unnest($1::integer[])) "
        "qualify row_number() over (partition by slice, topic order by place desc) > $2)",
        [*changed, most],
    )
    for table in ("document_smoothed", "story_smoothed"):
        connection.execute(
            f"delete from {table} where slice in (select unnest($1::integer[])) and (slice, place) not in "
            "(select (slice, place) from document where slice in (select unnest($1::integer[])))",
            changed,
        )


def _drop_sampled(connection: duckdb.DuckDBPyConnection, cut: Mapping[int, int]) -> None:
    if cut:
        connection.execute(
            "delete from sample using (select unnest(?::integer[]) as cut, unnest(?::ubigint[]) as largest) "
            "where slice = cut and key > largest",
            [list(cut), list(cut.values())],
        )


def insert(connection: duckdb.DuckDBPyConnection, table: str, frame: Frame) -> None:
    """Add the rows of ``frame`` to a ``table`` over ``connection``, in the open transaction."""
    widen(connection, table, frame)
    connection.register("incoming", frame)
    names = ", ".join(frame)
    connection.execute(f"insert into {table} ({names}) select {names} from incoming")
    connection.unregister("incoming")


def mark_undone(connection: duckdb.DuckDBPyConnection, number: int, later: int) -> None:
    """Note over ``connection`` that a decision, by its ``number``, was undone by a ``later`` one."""
    connection.execute("update decision set undone_by = ? where number = ?", [later, number])


def _add_seconds(connection: duckdb.DuckDBPyConnection, *parts: Mapping[str, float]) -> None:
    """Add to the seconds of each stage."""
    for seconds in parts:
        connection.execute(
            "insert into stage select unnest(?::varchar[]), unnest(?::double[]) "
            "on conflict do update set seconds = seconds + excluded.seconds",
            [list(seconds), list(seconds.values())],
        )


def _write_state(connection: duckdb.DuckDBPyConnection, kind: str, body: bytes | None) -> None:
    """Replace a stored state, or set it aside as the one from before a slice ended, by renaming its table.

    A replaced table costs the same at every commit and keeps the file at a few times the size of the state; a growing
    table would be written again at every checkpoint of DuckDB. As a column of numbers a state is written directly to
    the file instead of through DuckDB's log.
    """
    if body is None:
        connection.execute(f"drop table checkpoint_{kind}_before")
        connection.execute(f"alter table checkpoint_{kind} rename to checkpoint_{kind}_before")
        return
    connection.execute(CREATE_CHECKPOINT.format(kind=kind))
    insert(connection, f"checkpoint_{kind}", {"body": np.frombuffer(body, np.uint64)})


def stored_checkpoint(connection: duckdb.DuckDBPyConnection) -> Checkpoint | None:
    """Return the last commit's epoch, position and states, None if there is none."""
    row = connection.execute("select epoch, finished from epoch order by epoch desc limit 1").fetchone()
    if row is None:
        return None
    position = connection.execute("select part, next_offset from position order by part").fetchall()
    return Checkpoint(
        epoch=row[0],
        position=dict(position),
        open_state=stored_state(connection, "open") or {},
        slice_state=stored_state(connection, "slice"),
        finished=row[1],
    )


def stored_state(connection: duckdb.DuckDBPyConnection, kind: str) -> Arrays | None:
    """Return a stored state, or None if nothing was stored."""
    body = connection.execute(f"select body from checkpoint_{kind}").fetchnumpy()["body"]
    return unpack(body.tobytes()) if len(body) else None
