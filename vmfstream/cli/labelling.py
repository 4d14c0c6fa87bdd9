"""Commands that label documents without learning from them: label and freeze."""

from __future__ import annotations

import csv
import sys
import time as clock
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmfstream.cli.console import WRONG_INPUT, stopping
from vmfstream.cli.diagnosis import MOST_REJECTED, counted
from vmfstream.cli.grouped_help import KAFKA
from vmfstream.cli.logs import for_terminal, start_logging, tell, tell_error
from vmfstream.cli.options import (
    Config,
    Delimiter,
    Encoding,
    IdField,
    LogFormat,
    MaxRejected,
    NamedModel,
    NamedTokeniser,
    SchemaRegistryOption,
    TextField,
    TimeField,
    TimeFormat,
    VectorField,
    Verbose,
)
from vmfstream.cli.row_output import check_format, print_rows
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.frozen.model import FrozenModel
    from vmfstream.protocols import ColumnCodec, Source
    from vmfstream.records import Documents, Rejected

COLUMNS = ("id", "topic", "name", "probability", "story", "novelty")
"""The keys of a row."""

_AT_ONCE = 5_000  # messages
_TABLE = 30  # rows of a table
_QUIET = 5.0  # seconds without a message after which a topic of Kafka has no more, control records aside
_TOLD = 20  # rejected messages that are named one by one

At = Annotated[
    str | None,
    typer.Option(
        "--at",
        help="Label by the topics as they were at the end of this slice, such as 2003; without stories. "
        "By default the topics and stories of now.",
    ),
]


ZeroShot = Annotated[
    Path | None,
    typer.Option(
        "--topics-from",
        help="TOML file of topics to label by instead of those of the run: tables [[topic]] with name and words, or "
        "example documents. They need not be in the run, whose vocabulary is used.",
    ),
]


def label(
    model: Annotated[
        Path, typer.Argument(metavar="RUN_FILE", help="Run file, also while a run writes it, or a frozen model.")
    ],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="What to label: a .jsonl, .csv, .parquet or .txt file, a folder of such files, - for standard input, "
            "or kafka://host:9092/topic.",
        ),
    ],
    at: At = None,
    topics_from: ZeroShot = None,
    format: Annotated[str, typer.Option("--format", help="csv, jsonl, or table: the first ones only.")] = "csv",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of documents; by default 30 in a table.")
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    time_format: TimeFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    vector: VectorField = None,
    tokeniser: NamedTokeniser = None,
    embed: NamedModel = None,
    max_rejected: MaxRejected = MOST_REJECTED,
    config: Config = None,
    message_format: Annotated[
        str,
        typer.Option(
            help="Format of a Kafka topic's messages, or of lines on standard input: json or text.",
            rich_help_panel=KAFKA,
        ),
    ] = "json",
    schema_registry: SchemaRegistryOption = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Wait for further messages of a Kafka topic until Ctrl-C, instead of ending with the newest one.",
            rich_help_panel=KAFKA,
        ),
    ] = False,
    verbose: Verbose = False,
    log_format: LogFormat = "text",
) -> None:
    """Label new documents by a run, without learning from them.

    The run file is only read. Each document is labelled as if it came next: topic with its name, calibrated
    probability, story (none where a new one would open), novelty. What run would reject is rejected here too, with the
    reason on standard error. Documents need no time, and repeated ones are labelled again.

    \b
    vmfstream label news.duckdb new.jsonl > labels.csv
    tail -f new.jsonl | vmfstream label news.duckdb - --format jsonl
    vmfstream label news.duckdb new.csv --at 2003
    vmfstream label news.duckdb new.jsonl --topics-from topics.toml
    """
    from vmfstream.cli.options import file_options, forms_of_lines, is_piped, no_file_options, stdin_options
    from vmfstream.cli.sources import opened_with_codec
    from vmfstream.connectors.kafka.options import read_options

    start_logging(verbose, log_format)
    check_format(format)
    with stopping() as stop:  # the import takes a second
        from vmfstream.frozen.model import FrozenModel

        frozen = FrozenModel.load(model, at, tokeniser=tokeniser, embed=embed)
    if stop.code is not None:
        raise typer.Exit(stop.code)
    if topics_from is not None:
        frozen = frozen.with_topics(topics_from)
    if (vector is None) != (frozen.dimension == 0):
        wanted = f"vectors of {frozen.dimension} numbers: name their field by --vector" if frozen.dimension else "texts"
        raise InputError(f"{model} labels {wanted}")
    if not frozen.follows_stories:
        why = "they are known for now only" if at else "the run follows none, or was frozen at an earlier slice"
        tell(f"no stories: {why}")
    reading: dict[str, Any] = {}
    of_kafka = source.lower().startswith("kafka:")
    if of_kafka:
        reading = {"options": read_options(config), "format": message_format, "schema_registry": schema_registry}
    elif is_piped(source):
        reading = stdin_options(message_format, "--message-format")
    else:
        reading = file_options(encoding, delimiter)
    no_file_options(source, encoding, delimiter)
    fields: dict[str, Any] = {"id": id, "time": time, "text": text, "time_format": time_format, "vector": vector}
    opened, codec = opened_with_codec(source, reading, dimension=frozen.dimension or None, timed=False, **fields)
    most = _TABLE if format == "table" and limit is None else limit
    rejected = _Rejections(of_kafka)
    labelled = 0
    with closing(opened), stopping() as stop:
        write = _writer(format)
        for documents in _documents(opened, frozen.with_vectors(codec), rejected, stop, wait, most):
            write(rows_of(documents, frozen))
            labelled += len(documents)
        write(None)
    wrong = rejected.tell(labelled, max_rejected)
    if wrong and not labelled and is_piped(source):
        tell(forms_of_lines("--message-format"))
    if stop.code:
        raise typer.Exit(stop.code)
    if wrong:
        raise typer.Exit(WRONG_INPUT)


def freeze(
    run_file: Annotated[
        Path, typer.Argument(metavar="RUN_FILE", help="Run file of replay or run, also while a run writes it.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="What to write: a zip file if the name ends in .zip, else a folder.")
    ],
    at: At = None,
    tokeniser: NamedTokeniser = None,
    embed: NamedModel = None,
) -> None:
    """Write what a run knows as a small model, for labelling.

    For machines that have no run file: label reads the model, and so can other programs, for it is numpy arrays and
    JSON.

    \b
    vmfstream freeze news.duckdb --out model.zip
    vmfstream label model.zip new.jsonl
    """
    from vmfstream.frozen.model import FrozenModel
    from vmfstream.frozen.storage import is_model

    if is_model(run_file):
        raise InputError(f"{run_file} is no run file; a frozen model is copied like any file")
    model = FrozenModel.load(run_file, at, tokeniser=tokeniser, embed=embed)
    model.save(out)
    written = [out] if out.is_file() else list(out.iterdir())
    size = sum(one.stat().st_size for one in written)
    typer.echo(f"model: {out.resolve()} ({size / 1e3:,.0f} kB, {len(model.topic_ids)} topics, slice {model.slice})")


def rows_of(documents: Documents, model: FrozenModel) -> Iterator[tuple[Any, ...]]:
    """Return one row per document, with the values of `COLUMNS`; None for what it has not got."""
    found = model.label_documents(documents)
    topics = [topic if topic >= 0 else None for topic in found.topic.tolist()]
    stories = [story if story >= 0 else None for story in found.story.tolist()]
    numbers = ((found.probability.astype(float) * 1e4).round() / 1e4, (found.novelty.astype(float) * 1e4).round() / 1e4)
    probability, novelty = (
        [one if topic is not None else None for one, topic in zip(column.tolist(), topics, strict=True)]
        for column in numbers
    )
    return zip(documents.id, topics, found.name.tolist(), probability, stories, novelty, strict=True)


def _documents(
    source: Source, codec: ColumnCodec, rejected: _Rejections, stop: Callable[[], bool], wait: bool, most: int | None
) -> Iterator[Documents]:
    """Yield the documents of a source until it ends, or a topic of Kafka gives no more unless it is waited for.

    With ``most`` it ends behind so many documents, and no more messages are read.
    """
    from vmfstream.protocols import Live
    from vmfstream.records import Documents

    position: dict[str, int] = {}
    since = clock.monotonic()
    while not (source.exhausted or stop()):
        messages = source.poll(_AT_ONCE if most is None else min(most, _AT_ONCE), 0.2)
        if not messages:
            over = isinstance(source, Live) and (source.lag(position) == 0 or clock.monotonic() - since > _QUIET)
            if over and not wait:
                return
            continue
        since = clock.monotonic()
        found = codec.decode_all(messages)
        position.update(zip(found.part, (found.offset + 1).tolist(), strict=True))
        places = [at for at in range(len(found)) if at not in found.rejected]
        rejected.add(list(found.rejected.values()))
        if places:
            chosen = found if len(places) == len(found) else found.take(places)
            yield chosen if isinstance(chosen, Documents) else Documents.of(chosen)
        if most is not None:
            most -= len(places)
            if not most:
                return


class _Rejections:
    """What was rejected: named one by one at first, by offsets of Kafka or rows from 1, and counted by kind."""

    def __init__(self, of_kafka: bool) -> None:
        self._of_kafka = of_kafka
        self._kinds: Counter[str] = Counter()
        self._samples: dict[str, str] = {}

    def add(self, some: Sequence[Rejected]) -> None:
        for one in some:
            if self._kinds.total() < _TOLD:
                place = f"offset {one.offset}" if self._of_kafka else f"row {one.offset + 1}"
                tell(for_terminal(f"rejected: {one.part}, {place}: {one.reason}", lines=False))
            kind = one.reason.partition(":")[0]
            self._kinds[kind] += 1
            self._samples.setdefault(kind, one.reason)

    def tell(self, labelled: int, most: float) -> bool:
        """Print how many there were; tell whether they are more than a share of ``most``."""
        total = self._kinds.total()
        for kind, number in self._kinds.most_common(10) if total > _TOLD else ():
            tell(for_terminal(f"rejected: {number:,} x {self._samples[kind]}", lines=False))
        tell(f"labelled: {counted(labelled, 'document')}, {total:,} rejected")
        share = total / max(labelled + total, 1)
        if share > most:
            tell_error(f"{share:.1%} of the messages were rejected, more than --max-rejected {most:g}")
        return share > most


def _writer(format: str) -> Callable[[Iterator[tuple[Any, ...]] | None], None]:
    """Return what writes rows as they come; None ends them."""
    if format == "csv":
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(COLUMNS)

        def write_csv(rows: Iterator[tuple[Any, ...]] | None) -> None:
            table.writerows(rows or ())
            sys.stdout.flush()

        return write_csv
    if format == "jsonl":
        import orjson

        def write_json(rows: Iterator[tuple[Any, ...]] | None) -> None:
            lines = (orjson.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows or ())
            sys.stdout.write("".join(f"{line.decode()}\n" for line in lines))
            sys.stdout.flush()

        return write_json
    waiting: list[dict[str, Any]] = []

    def write_table(rows: Iterator[tuple[Any, ...]] | None) -> None:
        if rows is None:
            print_rows(waiting, False, "there is no document")
        waiting.extend(dict(zip(COLUMNS, row, strict=True)) for row in rows or ())

    return write_table
