"""Commands that show what is there: dashboard, export, show, corpora and doctor."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Mapping
from contextlib import closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import typer

from vmfstream.cli.console import check_outputs, damage_told, write_page
from vmfstream.cli.logs import for_terminal, start_logging
from vmfstream.cli.options import (
    Config,
    Host,
    IdField,
    Port,
    ReadingOption,
    RunFileArgument,
    SchemaRegistryOption,
    TextField,
    TimeField,
)
from vmfstream.cli.row_output import print_rows
from vmfstream.errors import InputError
from vmfstream.folders import writing_text


def dashboard(
    run_file: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_FILE", help="Run file of demo, replay or run; it may not exist yet, or be written right now."
        ),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8050,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the live page of a run file, also during a run.

    To look at topics, stories and documents in a browser. The page is served to this machine only, unless --host says
    otherwise. It only reads, and loads nothing from the network.

    \b
    vmfstream dashboard run.duckdb --open
    """
    from vmfstream.dashboards.app import serve
    from vmfstream.runfile.connection import check_kind

    start_logging(False)
    if run_file.exists():
        check_kind(run_file)
    serve(run_file, host, port, show=open, tell=typer.echo)
    sys.stdout.flush()
    os._exit(0)  # nothing is left to write, and to take all modules apart lasts longer than to end the server


@damage_told
def export(
    run_file: RunFileArgument,
    page: Annotated[
        Path | None,
        typer.Argument(
            metavar="PAGE",
            help="File to write: .html, .pdf to print (extra: stills), or with --still the picture. By default named "
            "after the run file, a picture after its view.",
            show_default=False,
        ),
    ] = None,
    max_mb: Annotated[
        float,
        typer.Option(
            "--max-mb", min=3.0, help="Maximum size of the page in megabytes; what does not fit is left out and listed."
        ),
    ] = 8.0,
    still: Annotated[
        str | None,
        typer.Option(
            "--still", help="Write a picture of this view for print, such as river, words or lineage (extra: stills)."
        ),
    ] = None,
    topic: Annotated[
        int | None,
        typer.Option("--topic", "-t", help="Topic of the picture; by default the one with the largest drift angle."),
    ] = None,
    word: Annotated[str | None, typer.Option("--word", help="Word of the picture of a search.")] = None,
    date: Annotated[
        str | None, typer.Option("--date", help="Slice of the picture, such as 1999; by default the newest.")
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="Slice to compare with; by default the topic's first.")
    ] = None,
    reading: ReadingOption = None,
    filtered: Annotated[
        bool, typer.Option("--filtered", "--then", hidden=True, help="Former names of --reading filtered.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="Format: html or pdf; with --still svg, pdf or png. By default by the file's name."
        ),
    ] = None,
    paper: Annotated[Literal["a4", "letter"], typer.Option("--paper", help="Paper of the page as a PDF.")] = "a4",
    width: Annotated[str, typer.Option("--width", help="Width of the picture in print, 60 to 1200 mm.")] = "170mm",
) -> None:
    """Write the page as one HTML file or PDF, or one view of it.

    The HTML file can be sent and kept: it needs no server and no network. A PDF is for print. With --still it writes
    one view as a picture.

    \b
    vmfstream export run.duckdb
    vmfstream export run.duckdb print.pdf --paper letter
    vmfstream export run.duckdb --still river --format pdf --width 170mm
    vmfstream export run.duckdb drift.svg --still words --topic 3
    """
    if still is None:
        if format not in (None, "html", "pdf"):
            raise InputError(f"--format: expected html or pdf, or --still VIEW with {format!r}")
        page = page or Path(f"{run_file.stem}.{format or 'html'}")
        form = _format_of("PAGE", page, format, {"html": "html", "htm": "html", "pdf": "pdf"})
        if form is None:
            raise InputError(
                f"{page}: expected a name that ends in .html or .pdf, or --format; a picture of one view is written "
                "with --still, such as --still river"
            )
        of_pictures = {"--topic": topic, "--word": word, "--date": date, "--other": other}
        of_pictures |= {"--reading": reading or ("filtered" if filtered else None)}
        if alone := [name for name, value in of_pictures.items() if value is not None]:
            raise InputError(
                f"{alone[0]}: expected --still with it, for a picture; a page has all topics and both readings"
            )
        check_outputs({"PAGE": page}, run_file)
        return write_page(run_file, page, max_mb, paper=paper if form == "pdf" else None)
    from vmfstream.dashboards.stills import write_still

    target = page or Path(f"{still}.{format or 'svg'}")
    _format_of("PAGE", page, format, {"svg": "svg", "pdf": "pdf", "png": "png"})
    check_outputs({"PAGE": target}, run_file)
    size = write_still(
        run_file,
        target,
        still,
        kind=format,
        width=width,
        topic=topic,
        word=word,
        date=date,
        other=other,
        reading="filtered" if filtered else reading or "smoothed",
    )
    typer.echo(f"{still}: {target.resolve()} ({size / 1e3:.0f} kB)")


@damage_told
def show(
    run_file: RunFileArgument,
    topic: Annotated[int | None, typer.Option("--topic", "-t", help="Show the words of this topic over time.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Show the topics of this slice, such as 2003, instead of the newest.")
    ] = None,
    words: Annotated[int, typer.Option(min=1, max=60, help="Number of words per topic.")] = 8,
    reading: ReadingOption = None,
    smoothed: Annotated[
        bool, typer.Option("--smoothed", "--hindsight", hidden=True, help="Former names of --reading smoothed.")
    ] = False,
    stories: Annotated[
        bool, typer.Option("--stories", help="Show stories: those with documents in the newest slice first.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of stories.")] = 30,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line instead of a table.")] = False,
) -> None:
    """Print topics, one topic over time, or stories.

    By default the topics of the newest slice with their strongest words, with --at those of an earlier one; with
    --topic the words of one topic in every slice; with --stories the stories.

    \b
    vmfstream show run.duckdb --words 4
    vmfstream show run.duckdb --at 2003
    vmfstream show run.duckdb --stories --top 10
    vmfstream show run.duckdb --topic 8 --reading filtered
    vmfstream show run.duckdb --json
    """
    from vmfstream.cli.diagnosis import told_of_input
    from vmfstream.cli.topic_table import newest_stories, one_topic, smoothed_slices, topics_of_slice
    from vmfstream.runfile.queries import Reader

    if stories:
        if smoothed or reading is not None or topic is not None or at is not None:
            raise InputError("--stories shows all stories as they are known now; leave --topic, --at and --reading out")
        rows = newest_stories(Reader(run_file), words, top)
        return print_rows(rows, as_json, "there are no stories", ("first", "last", "topic"))
    if topic is not None and at is not None:
        raise InputError("--topic shows one topic in every slice, --at all topics of one slice; leave one of them out")
    reader = Reader(run_file)
    with reader.at_once():
        chosen = "smoothed" if smoothed else reading
        rows = topics_of_slice(reader, words, chosen, at) if topic is None else one_topic(reader, topic, words, chosen)
        late = smoothed_slices(reader) if chosen is None else []
        closed, told = bool(len(reader.slices().slice)), list(told_of_input(reader))
    if not as_json:  # what a terminal has no room for
        rows = [{name: value for name, value in row.items() if name not in ("title", "c_v")} for row in rows]
    nothing = "there are no topics" if closed else "no slice is closed yet"
    print_rows(rows, as_json, nothing, ("diversity", "npmi"))
    if not as_json and rows and late:
        if rows[-1]["slice"] in late:
            typer.echo("smoothed, as on the page; as known then: --reading filtered", err=True)
        else:
            told_of = "as known then: slices have been smoothed up to {} so far"
            if topic is not None:
                told_of = "smoothed up to {}, as known then from there on"
            typer.echo(for_terminal(told_of.format(late[-1])), err=True)
    for line in () if as_json else told:
        typer.echo(for_terminal(line), err=True)


@damage_told
def documents(
    run_file: RunFileArgument,
    topic: Annotated[int | None, typer.Option("--topic", "-t", help="Only documents that got this topic.")] = None,
    parts: Annotated[
        bool,
        typer.Option("--parts", help="With --topic of a topic that was named beforehand: those of its parts too."),
    ] = False,
    story: Annotated[
        int | None, typer.Option("--story", help="Only documents of this story and of those merged into it.")
    ] = None,
    slice: Annotated[str | None, typer.Option("--slice", help="Only documents of this slice, such as 2021-03.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only documents of this date, such as 2013-11-04, and later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Only documents of this date, such as 2013-11, and earlier.")
    ] = None,
    search: Annotated[
        str, typer.Option("--search", help="Only documents with all these words in the id, or in the text if kept.")
    ] = "",
    reading: ReadingOption = "smoothed",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="table: the newest first; csv, jsonl or parquet: all, in the order of arrival. By default by the name "
            "of --out, else table.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write csv, jsonl or parquet to; an existing one is replaced.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of documents; by default 30 in a table.")
    ] = None,
) -> None:
    """List documents with topic, probability, story and novelty.

    To read what a topic or a story is about, to search, or to hand labels to other programs.

    Columns hold what was known when the document came. Two use later documents too: smoothed_topic, those of the
    window, and smoothed_story, of runs with --smoothed-stories, the next 300. --topic and --story choose by the
    smoothed columns where they are filled; with --reading filtered they choose by the others.

    \b
    vmfstream documents run.duckdb --topic 7
    vmfstream documents run.duckdb --story 12 --since 2013-11-04
    vmfstream documents run.duckdb --search "harbour strike" --until 2013
    vmfstream documents run.duckdb --format csv > documents.csv
    vmfstream documents run.duckdb --out documents.parquet
    """
    from vmfstream.cli.document_table import COLUMNS, all_rows, chosen, keeps_text, newest_rows

    if format not in (None, "table", "csv", "jsonl", "parquet"):
        raise InputError(f"--format: expected table, csv, jsonl or parquet, got {format!r}")
    format = _format_of("--out", out, format, {"csv": "csv", "jsonl": "jsonl", "parquet": "parquet"}) or "table"
    if out is None and format == "parquet":
        raise InputError("--format parquet: expected the file to write: --out documents.parquet")
    if out is not None and format == "table":
        raise InputError(f"--out: expected a name that ends in .csv, .jsonl or .parquet, or --format, got {out}")
    check_outputs({"--out": out}, run_file)
    if reading not in ("filtered", "smoothed"):
        raise InputError(f"--reading: expected filtered or smoothed, got {reading!r}")
    if parts and topic is None:
        raise InputError("--parts: expected --topic with it")
    reader, choice = chosen(
        run_file,
        topic=topic,
        parts=parts,
        story=story,
        slice=slice,
        since=since,
        until=until,
        search=search,
        reading="filtered" if reading == "filtered" else "smoothed",
    )
    table = format == "table"
    if format == "parquet" and out is not None:
        return typer.echo(f"{out.resolve()}: {reader.write_documents(choice, out, limit=limit):,} documents")
    if table:
        rows = newest_rows(reader, choice, 30 if limit is None else limit)
        seen = [name for name in COLUMNS if name != "smoothed_story" or any(row[name] is not None for row in rows)]
        spare = ("second_probability", "second", "smoothed_story", "novelty", "slice", "time")
        shown = [{name: row[name] for name in seen} for row in rows]
        nothing = "there are no such documents"
        if search and not keeps_text(reader):
            nothing += "; --search looked in ids only: texts were not kept (--keep-text)"
        return print_rows(shown, False, nothing, spare)
    written = 0
    with nullcontext(sys.stdout) if out is None else writing_text(out) as target:
        writer = csv.DictWriter(target, [*COLUMNS, "text"] if keeps_text(reader) else COLUMNS, lineterminator="\n")
        if format == "csv":
            writer.writeheader()
        for some in all_rows(reader, choice, limit):
            written += len(some)
            if format == "csv":
                writer.writerows(some)
            else:
                target.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in some)
    if out is not None:
        typer.echo(f"{out.resolve()}: {written:,} documents")


def _format_of(name: str, path: Path | None, given: str | None, endings: Mapping[str, str]) -> str | None:
    """Return the format of an output called ``name``: the one that was given, else that of the ending of its path.

    ``endings`` has the formats by the endings of paths.

    Raises
    ------
    InputError
        If the two are different ones.
    """
    by_name = None if path is None else endings.get(path.suffix.lstrip(".").lower())
    if given is not None and by_name not in (None, given):
        raise InputError(f"{name}: {path} is named as a file of {by_name}, --format says {given}; change one of them")
    return given or by_name


def corpora(
    get: Annotated[str | None, typer.Argument(metavar="get", help="Download a corpus into the cache folder.")] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Corpus to download.")] = None,
) -> None:
    """List the corpora that replay knows by name, or download one.

    Each with where it was found on this machine.

    \b
    vmfstream corpora
    vmfstream corpora get newsgroups
    """
    from vmfstream.replay.run import describe_corpora, fetch_corpus

    if get is None:
        return print_rows(describe_corpora(), False, "there are no corpora", ("where",))
    if get != "get" or name is None:
        raise InputError("expected: vmfstream corpora, or: vmfstream corpora get NAME")
    typer.echo(f"{fetch_corpus(name)}")


def doctor(
    things: Annotated[
        list[str] | None, typer.Argument(metavar="THING", help="Run file or kafka://host:9092/topic to check, or both.")
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    config: Config = None,
    schema_registry: SchemaRegistryOption = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print only where the time of the run that wrote the run file went.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every row and the saved states of the run file, and compare them.")
    ] = False,
    input: Annotated[
        str | None,
        typer.Option(
            "--input",
            help="File or corpus that the run read: compare the run file, table by table, with its documents, gzipped.",
        ),
    ] = None,
) -> None:
    """Check the installation, a run file, and Kafka topics.

    The first thing to ask when something is wrong. For a run file it prints the last commit and the rejected messages;
    for a Kafka topic whether it can be reached, how far behind the run is, and what document one message becomes.

    The exit code is 1 if a check fails.

    \b
    vmfstream doctor
    vmfstream doctor run.duckdb kafka://localhost:9092/news
    vmfstream doctor --deep run.duckdb
    vmfstream doctor --profile run.duckdb
    vmfstream doctor run.duckdb --input news.jsonl
    """
    from vmfstream.cli.diagnosis import examine, profile_lines
    from vmfstream.cli.observers import examine_topics
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka.options import read_options

    start_logging(False)
    topics = [name for name in things or () if name.lower().startswith("kafka:")]
    run_files = [Path(name) for name in things or () if name not in topics]
    if len(run_files) > 1:
        raise InputError(f"expected one run file, got {', '.join(map(str, run_files))}")
    run_file = run_files[0] if run_files else None
    if profile:
        if run_file is None or topics:
            raise InputError("--profile needs a run file and nothing else: vmfstream doctor --profile run.duckdb")
        for line in profile_lines(run_file):
            typer.echo(line)
        return
    if deep and run_file is None:
        raise InputError("--deep needs a run file: vmfstream doctor --deep run.duckdb")
    if input is not None and run_file is None:
        raise InputError("--input needs a run file: vmfstream doctor run.duckdb --input news.jsonl")
    codec = FieldCodec(id=id, time=time, text=text, unit="offset")
    failed = False
    compressed = None if input is None else lambda: _compressed(input, time, text, id)
    checks = [
        examine(run_file, deep=deep, compressed=compressed),
        *(examine_topics(url, read_options(config), codec, run_file, schema_registry) for url in topics),
    ]
    for check in chain.from_iterable(checks):
        failed |= not check.good
        mark = typer.style("ok  ", fg=typer.colors.GREEN) if check.good else typer.style("FAIL", fg=typer.colors.RED)
        typer.echo(f"{mark} {for_terminal(f'{check.what}: {check.found}')}")
    if failed:
        raise typer.Exit(1)


def _compressed(corpus: str, time: str | None, text: str | None, id: str | None) -> int:
    """Return the bytes of the documents of a file or corpus, gzipped."""
    from vmfstream.replay.run import compressed_size, open_replay

    opened = open_replay(corpus, slices="1", time=time, text=text, id=id)
    with closing(opened.source):
        return compressed_size(opened)
