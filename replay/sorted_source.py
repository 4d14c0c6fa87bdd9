"""Sources of stored documents in order of time: a corpus by name, or a user's own file."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import duckdb

from vmfstream.connectors.codecs import ID_NAMES, TEXT_NAMES, TIME_NAMES, TITLE_NAMES
from vmfstream.errors import InputError
from vmfstream.records import Message, Position
from vmfstream.replay.corpora import get
from vmfstream.replay.corpus import Columns, Corpus, Progress
from vmfstream.replay.sql_table import column, literal, optional_column, quoted, reason, table_of

__all__ = ["CorpusSource", "SortedFileSource", "SortedSource"]

_AHEAD = 1_024  # documents read from the sorted table at once
_MEMORY = "1GB"  # beyond this, sorting spills into a temporary folder


class SortedSource:
    """Documents of one SQL table sorted by time, as a source of one part whose offsets are ranks in that order.

    Documents of equal time keep the order of ``columns.order`` and then of the file; those whose time cannot be read
    come last, with their time as it stands, so that the codec rejects and counts them. Sorting happens once, on disk
    if it does not fit into a gigabyte; after that any rank is reached at once.

    Parameters
    ----------
    name : str
        What the stream is called.
    part : str
        Name of its only part.
    table : str
        SQL table expression with the documents.
    columns : Columns
        How a document is made of it.
    rate : float or None, > 0
        Documents per second; None is as fast as they are asked for.

    Raises
    ------
    InputError
        If the table cannot be read or is empty, or the rate is not positive.
    """

    def __init__(self, name: str, part: str, table: str, columns: Columns, *, rate: float | None = None) -> None:
        if rate is not None and not rate > 0:
            raise InputError(f"{name}: rate must be a positive number of documents per second, got {rate}")
        self.part = part
        self._name = name
        self._rate = rate
        self._begun: float | None = None
        self._given = 0
        self._next = 0
        self._ahead: deque[tuple[Any, ...]] = deque()
        self._spill = tempfile.TemporaryDirectory(prefix="vmfstream-", ignore_cleanup_errors=True)
        self._connection = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": self._spill.name})
        try:
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute(_sorting(table, columns))
            row = self._connection.execute("SELECT count(*) FROM sorted").fetchone()
            self._total = int(row[0]) if row else 0
            if not self._total:
                raise InputError(f"{name}: expected documents, found none")
        except duckdb.Error as error:
            self.close()
            raise InputError(f"{name}: cannot be read: {reason(error)}") from error
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return self._name

    @property
    def total(self) -> int:
        """Number of documents, with those that will be rejected."""
        return self._total

    @property
    def exhausted(self) -> bool:
        """True once the last document was handed out."""
        return self._next >= self._total

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return the next documents, at most ``limit`` and no more than the rate allows by now."""
        wanted = min(limit, self._total - self._next, self._allowed(timeout))
        messages = []
        for _ in range(wanted):
            if not self._ahead:
                self._read()
            messages.append(self._message(self._ahead.popleft()))
        return messages

    def seek(self, position: Position) -> None:
        """Continue with the document of rank ``position[part]``, the first if not named."""
        self._next = min(max(position.get(self.part, 0), 0), self._total)
        self._ahead.clear()
        self._begun = None

    def close(self) -> None:
        """Release the sorted documents."""
        self._connection.close()
        self._spill.cleanup()

    def _allowed(self, timeout: float) -> int:
        """Return how many documents the rate allows by now, after waiting for the next one or the timeout."""
        if self._rate is None:
            return self._total
        now = time.monotonic()
        if self._begun is None:
            self._begun, self._given = now, 0
        wait = (self._given + 1) / self._rate - (now - self._begun)
        if wait > 0:
            time.sleep(min(wait, max(timeout, 0.0)))
        allowed = int((time.monotonic() - self._begun) * self._rate) - self._given
        return max(allowed, 0)

    def _read(self) -> None:
        self._ahead.extend(
            self._connection.execute(
                "SELECT moment, id, time, title, text, label FROM sorted WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
                [self._next, self._next + _AHEAD],
            ).fetchall()
        )

    def _message(self, row: tuple[Any, ...]) -> Message:
        at, id, written, title, text, label = row
        when = None if at is None else at.replace(tzinfo=UTC)
        value: Mapping[str, str | None] = {
            "id": id,
            "time": written if when is None else when.isoformat(),
            "title": title,
            "text": text,
            "label": label,
        }
        offset = self._next
        self._next += 1
        self._given += 1
        return Message(self.part, offset, {key: item for key, item in value.items() if item is not None}, when)


class CorpusSource(SortedSource):
    """A corpus by name or value, in order of time; fetched first if it has to be.

    Parameters
    ----------
    corpus : Corpus or str
        The corpus, or its name.
    rate : float or None, > 0
        Documents per second; None is as fast as they are asked for.
    progress : callable or None
        Told about the download, if there is one.

    Raises
    ------
    InputError
        If the corpus is unknown, missing or not what it should be.
    """

    def __init__(self, corpus: Corpus | str, *, rate: float | None = None, progress: Progress | None = None) -> None:
        self.corpus = get(corpus) if isinstance(corpus, str) else corpus
        file = self.corpus.path(progress=progress)
        table = self.corpus.table.format(file=f"read_parquet({quoted(file)})")
        super().__init__(self.corpus.title, self.corpus.name, table, self.corpus.columns, rate=rate)


class SortedFileSource(SortedSource):
    """A user's file of documents (JSON lines, JSON, CSV, TSV or Parquet) in order of time.

    Parameters
    ----------
    path : path
        The file; its ending tells the format, ``.gz`` may follow for text formats.
    time, text, title, id : str or None
        Columns to use; None takes the first usual name among the file's columns. Without a title or an id column
        there is no title, and the id is the file's name and the row.
    delimiter : str or None
        Between the cells of CSV; by default a comma, for TSV a tab.
    rate : float or None, > 0
        Documents per second; None is as fast as they are asked for.

    Raises
    ------
    InputError
        If the file is missing, empty, of another format, damaged, or lacks a column; the message lists what was found.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        time: str | None = None,
        text: str | None = None,
        title: str | None = None,
        id: str | None = None,
        delimiter: str | None = None,
        rate: float | None = None,
    ) -> None:
        file = Path(path)
        table, names = table_of(file, delimiter)
        when = column(file, names, "time", time, TIME_NAMES)
        columns = Columns(
            id=optional_column(file, names, "id", id, ID_NAMES)
            or f"{literal(file.stem + ':')} || row_number() OVER ()",
            time=when,
            text=column(file, names, "text", text, TEXT_NAMES),
            title=optional_column(file, names, "title", title, TITLE_NAMES) or "NULL",
        )
        super().__init__(file.name, file.name, table, columns, rate=rate)


def _sorting(table: str, columns: Columns) -> str:
    """Return the statement that sorts the documents into a table whose row ids are ranks."""
    keys = [f"key_{number}" for number in range(len(columns.order))]
    keyed = "".join(f", {order} AS {key}" for order, key in zip(columns.order, keys, strict=True))
    return f"""
        CREATE TEMP TABLE sorted AS
        SELECT if(year(parsed) BETWEEN 1 AND 9999, parsed, NULL) AS moment, id, time, title, text, label
        FROM (SELECT *, {_MOMENT} AS parsed FROM (
            SELECT row_number() OVER () AS row, ({columns.id})::VARCHAR AS id, trim(({columns.time})::VARCHAR) AS time,
                ({columns.title})::VARCHAR AS title, ({columns.text})::VARCHAR AS text,
                ({columns.label})::VARCHAR AS label{keyed}
            FROM {table} AS stored
        ))
        ORDER BY {", ".join(["moment NULLS LAST", *keys, "row"])}
    """


# The times that FieldCodec reads, and mail dates: numbers of up to four digits are years, of eight digits days, larger
# ones seconds, milliseconds, microseconds or nanoseconds since 1970 by their magnitude. Times without a zone are UTC.
_MOMENT = r"""
    CASE
        WHEN regexp_full_match(time, '\d{1,4}(\.0)?') THEN try_strptime(lpad(split_part(time, '.', 1), 4, '0'), '%Y')
        WHEN regexp_full_match(time, '\d{4}-\d{2}') THEN try_strptime(time, '%Y-%m')
        WHEN regexp_full_match(time, '\d{8}(\.0)?') THEN try_strptime(time[:8], '%Y%m%d')
        WHEN regexp_full_match(time, '[+-]?\d{9,20}(\.\d*)?') THEN make_timestamp((time::DOUBLE * CASE
            WHEN abs(time::DOUBLE) < 1e11 THEN 1e6
            WHEN abs(time::DOUBLE) < 1e14 THEN 1e3
            WHEN abs(time::DOUBLE) < 1e17 THEN 1
            ELSE 1e-3 END)::BIGINT)
        ELSE coalesce(try_cast(time AS TIMESTAMPTZ), try_strptime(time, '%a, %d %b %Y %H:%M:%S %z')) AT TIME ZONE 'UTC'
    END
"""
