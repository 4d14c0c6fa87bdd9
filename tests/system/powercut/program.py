"""A program that writes a run file and makes a mark after each call that came back, and what the file held then.

It goes on where it stopped, prints each epoch that it was told is written, and ends with code 3 at an error.

python -m tests.system.powercut.program FOLDER DIGESTS [planted]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb

from tests.unit.runfile.records import commit
from vmfstream.errors import VmfstreamError
from vmfstream.records import Commit
from vmfstream.runfile.writer import RunFile

NAME = "run.duckdb"
COMMITS = 8
_CLOCK = {"migration": None, "stage": None, "epoch": "begun, seconds"}


def digest(path: Path) -> str:
    """Return what tells the rows of two run files apart, but for the times at which they were written."""
    with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
        return digest_over(connection)


def digest_over(connection: duckdb.DuckDBPyConnection) -> str:
    """Do as `digest`, over a connection."""
    queries = []
    for (table,) in connection.execute("select table_name from duckdb_tables() order by 1").fetchall():
        if table in _CLOCK and _CLOCK[table] is None:
            continue
        rows = f"select * exclude ({_CLOCK[table]}) from {table}" if table in _CLOCK else f"from {table}"
        queries.append(f"select '{table}', count(*), bit_xor(hash(row)), sum(hash(row)) from ({rows}) as row")
    return repr(sorted(connection.execute(" union all ".join(queries)).fetchall()))


class Marking(RunFile):
    """A run file that makes marks."""

    def __init__(self, path: Path, digests: Path | None) -> None:
        self._file, self._digests, self.found = path, digests, list[str]()
        super().__init__(path)
        self._mark()

    def settings(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Mark that settings were written."""
        found = super().settings(wanted)
        self._mark()
        return found

    def commit(self, *commits: Commit) -> None:
        """Mark each transaction."""
        super().commit(*commits)
        self._mark()

    def _mark(self) -> None:
        if self._digests is not None:
            self.found.append(digest(self._file))
            self._digests.write_text(json.dumps(self.found))
        self._file.with_name(f"mark-{len(self.found) - 1}").unlink(missing_ok=True)


def follow_planted(path: Path, digests: Path | None = None) -> None:
    """Follow a small planted stream; go on where it stopped."""
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.engine.run import RunSettings, follow
    from vmfstream.replay.planted import PlantedSource, PlantedStream

    settings = RunSettings(
        topics=6, slices="month", threads=1, window=400, epoch_documents=70, documents="all", keep_text=True
    )
    source = PlantedSource(PlantedStream(slices=12, documents_per_slice=90))
    follow(source, FieldCodec(), Marking(path, digests), settings, ahead=0)


def main(folder: str, digests: str, kind: str = "commits") -> None:
    """Write the run file."""
    path = Path(folder) / NAME
    if kind == "planted":
        return follow_planted(path, Path(digests))
    try:
        run_file = Marking(path, Path(digests))
        run_file.settings({"title": "title"})
        stored = run_file.resume()
        for epoch in range(1 if stored is None else stored.epoch + 1, COMMITS + 1):
            run_file.commit(commit(epoch))
            print(epoch, flush=True)
    except VmfstreamError as error:
        print(error, file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])
