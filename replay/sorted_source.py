"""Sources of stored documents in order of time: a corpus by name, or a user's own file."""

from __future__ import annotations

import glob
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.connectors import open_file
from vmfstream.connectors.codecs import FieldCodec, Refusal
from vmfstream.connectors.files import is_text
from vmfstream.connectors.first_rows import ROWS, look_at
from vmfstream.errors import InputError
from vmfstream.protocols import Source
from vmfstream.records import NO_TIME, Documents, Message, Position
from vmfstream.replay.corpora import get
from vmfstream.replay.corpus import ColumnExpressions, Corpus, ReadProgress
from vmfstream.slicing import ENOUGH, UNITS

__all__ = ["VECTOR", "CorpusSource", "SortedFileSource", "SortedSource"]

_AHEAD = 1_024  # documents read from the sorted table at once
_BATCH = 20_000  # rows of a file decoded at once
_UNITS = (*UNITS, "minute")
_SLICES = 10  # that there should be at least
_MEMORY = "1GB"  # beyond this, sorting spills into a temporary folder


class SortedSource:
    """Documents sorted by time, as a source of one part whose offsets are ranks in that order.

    Those that are no documents come last, so that the codec rejects and counts them. Sorting happens once, on disk if
    it does not fit into a gigabyte; after that any rank is reached at once.

    Parameters
    ----------
    name : str
        What the stream is called.
    part : str
        Name of its only part.
    fill : callable
        Makes the table ``sorted`` in the connection that it gets: rows in their order, with the columns ``moment`` (a
        timestamp in UTC, or null), ``id``, ``time`` as it is written, ``title``, ``text``, ``label``, ``vector`` (the
        bytes of its float32 numbers, or null), and where a row is no document the ``reason`` and an ``excerpt``.
    rate : float or None, > 0
        Documents per second; None is as fast as they are asked for.

    Raises
    ------
    InputError
        If the documents cannot be read or there are none, or the rate is not positive.
    """

    def __init__(
        self, name: str, part: str, fill: Callable[[duckdb.DuckDBPyConnection], None], *, rate: float | None = None
    ) -> None:
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
            fill(self._connection)
            row = self._connection.execute("SELECT count(*) FROM sorted").fetchone()
            self._total = int(row[0]) if row else 0
            if not self._total:
                raise InputError(f"{name}: expected documents, found none")
        except duckdb.Error as error:
            self.close()
            raise InputError(f"{name}: cannot be read: {_reason(error)}") from error
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

    def usual_slices(self) -> str:
        """Return a length of slices that suits the times of the documents, for users who name none.

        It is the longest, from year to minute, of which 10 or more hold documents. Slices that would hold fewer than 20
        documents on average are too short: then it is the one that makes the most slices and is not.
        """
        counts = ", ".join(f"count(DISTINCT date_trunc('{unit}', moment))" for unit in _UNITS)
        row = self._connection.execute(f"SELECT count(moment), {counts} FROM sorted").fetchone()
        assert row is not None  # an aggregate has one row
        documents, *slices = row
        unit, most = _UNITS[0], 0
        for shorter, held in zip(_UNITS, slices, strict=True):
            if most >= _SLICES or held * ENOUGH > documents:
                break
            if held > most:
                unit, most = shorter, held
        return unit

    def first(self, stop: Callable[[], bool]) -> Message | None:
        """Return the time and the text of the first document, and its vector if it has one."""
        query = "SELECT moment::VARCHAR, text, hex(vector) FROM sorted WHERE rowid = 0"
        row = self._connection.execute(query).fetchone()
        if row is None:
            return None
        time, text, vector = row
        return Message(self.part, 0, {"time": time, "text": text} | ({} if vector is None else {VECTOR: vector}))

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
        """Continue with the document of rank ``position[part]``, the first if not named.

        Raises
        ------
        InputError
            If there are fewer documents.
        """
        self._next = max(position.get(self.part, 0), 0)
        if self._next > self._total:
            raise InputError(
                f"{self._name}: {self._next:,} documents of it were read before, and it has {self._total:,}; choose "
                "another --out"
            )
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
                f"SELECT {', '.join(_COLUMNS)} FROM sorted WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
                [self._next, self._next + _AHEAD],
            ).fetchall()
        )

    def _message(self, row: tuple[Any, ...]) -> Message:
        at, *others = row
        when = None if at is None else at.replace(tzinfo=UTC)
        value: dict[str, Any] = dict(zip(_COLUMNS[1:], others, strict=True))
        if value["reason"] is not None:
            fields: dict[str, Any] = Refusal(value["reason"], value["excerpt"] or "")
        else:
            fields = {key: item for key, item in value.items() if item is not None}
            if VECTOR in fields:
                fields[VECTOR] = np.frombuffer(fields[VECTOR], np.float32)
            if when is not None:
                fields["time"] = when.isoformat()
        offset = self._next
        self._next += 1
        self._given += 1
        return Message(self.part, offset, fields, when)


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

    def __init__(
        self, corpus: Corpus | str, *, rate: float | None = None, progress: ReadProgress | None = None
    ) -> None:
        self.corpus = get(corpus) if isinstance(corpus, str) else corpus
        file = self.corpus.path(progress=progress)
        table = self.corpus.table.format(file=f"read_parquet({_quoted(file)})")

        def fill(connection: duckdb.DuckDBPyConnection) -> None:
            connection.execute(_sorting(table, self.corpus.columns))

        super().__init__(self.corpus.title, self.corpus.name, fill, rate=rate)


class SortedFileSource(SortedSource):
    """A user's file of documents, or a folder of files, in order of time.

    Rows become documents by the rules that `vmfstream.connectors.codecs.FieldCodec` has for all sources. Documents of
    equal time keep the order of the file; rows that are no documents come last, with the reason.

    Parameters
    ----------
    path : path
        A file or folder that `vmfstream.connectors.open_source` opens.
    codec : FieldCodec or None
        Which fields to read; None takes the first usual names. The first rows tell in which format times are written.
        Documents without a time, if it takes them, come last.
    rate : float or None, > 0
        Documents per second; None is as fast as they are asked for.
    **options
        Options of files: ``delimiter``, ``encoding``; see `vmfstream.connectors.files.FileSource`.

    Raises
    ------
    InputError
        If the file is missing, empty, of another format or damaged, or none of its first rows is a document; the
        message says why.
    """

    def __init__(
        self, path: str | Path, *, codec: FieldCodec | None = None, rate: float | None = None, **options: Any
    ) -> None:
        reader = FieldCodec(timed=not is_text(Path(path))) if codec is None else codec
        with closing(open_file(path, **options)) as rows:

            def fill(connection: duckdb.DuckDBPyConnection) -> None:
                _decode(rows, reader, connection)

            super().__init__(rows.name, rows.name, fill, rate=rate)
            self._timed = reader.timed

    def usual_slices(self) -> str:
        """Return it by the times; where none are needed slices are a tenth of the documents, 20 at least."""
        return super().usual_slices() if self._timed else str(max(ENOUGH, -(-self._total // _SLICES)))


def _decode(rows: Source, codec: FieldCodec, connection: duckdb.DuckDBPyConnection) -> None:
    """Put the rows of a source into the table ``sorted``."""
    connection.execute(
        "CREATE TEMP TABLE given (row BIGINT, micros BIGINT, id VARCHAR, title VARCHAR, text VARCHAR, "
        "vector BLOB, reason VARCHAR, excerpt VARCHAR)"
    )
    messages = rows.poll(ROWS, 0.0)
    look_at(codec, messages, rows.name)
    count = 0
    while messages:
        read = codec.decode_all(messages)
        connection.register("incoming", _frame(read, count))
        connection.execute("INSERT INTO given SELECT * FROM incoming")
        connection.unregister("incoming")
        count += len(read)
        messages = rows.poll(_BATCH, 0.0)
    connection.execute("""
        CREATE TEMP TABLE sorted AS
        SELECT if(reason IS NULL, make_timestamp(micros), NULL) AS moment, id, NULL::VARCHAR AS time, title, text,
            NULL::VARCHAR AS label, vector, reason, excerpt
        FROM given ORDER BY reason IS NOT NULL, moment NULLS LAST, row
    """)
    connection.execute("DROP TABLE given")


def _frame(read: Documents, first: int) -> dict[str, NDArray[Any]]:
    """Return the columns of the table ``given``; its rows are numbered from ``first`` on."""
    refused = [read.rejected.get(at) for at in range(len(read))]
    meta = [{}] * len(read) if read.meta is None else read.meta
    texts = {
        "id": read.id,
        "title": [one.get("title") for one in meta],
        "text": read.text,
        "vector": [None if one is None else one.tobytes() for one in read.vector or [None] * len(read)],
        "reason": [None if one is None else one.reason for one in refused],
        "excerpt": [None if one is None else one.excerpt for one in refused],
    }
    times = np.asarray(read.time, np.int64)
    numbers = {
        "row": np.arange(first, first + len(read)),
        "micros": np.ma.MaskedArray(times, times == NO_TIME),
    }
    return numbers | {name: np.array(column, dtype=object) for name, column in texts.items()}


VECTOR = "vector"
"""Field of messages with the vector of a document."""

_COLUMNS = ("moment", "id", "time", "title", "text", "label", VECTOR, "reason", "excerpt")


def _sorting(table: str, columns: ColumnExpressions) -> str:
    """Return the statement that sorts the documents of a corpus into a table whose row ids are ranks."""
    keys = [f"key_{number}" for number in range(len(columns.order))]
    keyed = "".join(f", {order} AS {key}" for order, key in zip(columns.order, keys, strict=True))
    return f"""
        CREATE TEMP TABLE sorted AS
        SELECT if(year(parsed) BETWEEN 1 AND 9999, parsed, NULL) AS moment, id, time, title, text, label,
            NULL::BLOB AS vector, NULL::VARCHAR AS reason, NULL::VARCHAR AS excerpt
        FROM (SELECT *, {_MOMENT} AS parsed FROM (
            SELECT row_number() OVER () AS row, ({columns.id})::VARCHAR AS id, trim(({columns.time})::VARCHAR) AS time,
                ({columns.title})::VARCHAR AS title, ({columns.text})::VARCHAR AS text,
                ({columns.label})::VARCHAR AS label{keyed}
            FROM {table} AS stored
        ))
        ORDER BY {", ".join(["moment NULLS LAST", *keys, "row"])}
    """


def _quoted(file: Path) -> str:
    """Return the name of a file as SQL, no sign of which stands for other files."""
    return "'" + glob.escape(str(file)).replace("'", "''") + "'"


def _reason(error: Exception) -> str:
    """Return what DuckDB says before it begins to give advice, on one line."""
    said, _, _ = str(error).partition("\n\n")
    return " ".join(said.partition("Possible")[0].split())[:300]


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
