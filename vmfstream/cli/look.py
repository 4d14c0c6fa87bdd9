"""Commands that look at what is there: dashboard, export, show, corpora and doctor."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from vmfstream.cli.console import start_logging, write_page
from vmfstream.cli.options import Config, Host, IdField, Port, TextField, TimeField
from vmfstream.errors import InputError


def dashboard(
    log: Annotated[Path, typer.Argument(help="A log written by replay, run or demo; it need not exist yet.")],
    host: Host = "127.0.0.1",
    port: Port = 8050,
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the live page of a log, also of one that a running tracker is writing.

    It listens on this machine only unless --host says otherwise, reads only, and asks nothing of any other machine.

    \b
    vmfstream dashboard run.duckdb --open
    """
    from vmfstream.dashboards.app import serve

    start_logging(False)
    serve(log, host, port, show=open, tell=typer.echo)


def export(
    log: Annotated[Path, typer.Argument(help="A log written by replay, run or demo.")],
    page: Annotated[
        Path | None,
        typer.Argument(
            help="The HTML file to write, or with --still the picture; a picture is named after its view by default.",
            show_default=False,
        ),
    ] = None,
    max_mb: Annotated[float, typer.Option("--max-mb", min=3.0, help="Largest size of the page in megabytes.")] = 8.0,
    still: Annotated[
        str | None,
        typer.Option("--still", help="Write this view, such as river, words or lines, for print (extra: stills)."),
    ] = None,
    topic: Annotated[
        int | None, typer.Option("--topic", "-t", help="The topic of the picture; by default the one that turned most.")
    ] = None,
    word: Annotated[str | None, typer.Option("--word", help="The word of the picture of a search.")] = None,
    date: Annotated[
        str | None, typer.Option("--date", help="The date of the picture, such as 1999; by default the newest.")
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="The date to compare with; by default the topic's first.")
    ] = None,
    then: Annotated[bool, typer.Option("--then", help="As known then, instead of in hindsight.")] = False,
    format: Annotated[str | None, typer.Option("--format", help="svg, pdf or png; by default the file's.")] = None,
    width: Annotated[str, typer.Option("--width", help="Width in print.")] = "170mm",
) -> None:
    """Write one HTML file with everything to look at; it needs no server and no network. Or one picture for print.

    \b
    vmfstream export run.duckdb run.html
    vmfstream export run.duckdb --still river --format pdf --width 170mm
    vmfstream export run.duckdb drift.svg --still words --topic 3
    """
    if still is None:
        if page is None:
            raise InputError("expected the HTML file to write: vmfstream export LOG PAGE.html")
        return write_page(log, page, max_mb)
    from vmfstream.dashboards.stills import write_still

    target = page or Path(f"{still}.{format or 'svg'}")
    size = write_still(
        log, target, still, kind=format, width=width, topic=topic, word=word, date=date, other=other, then=then
    )
    typer.echo(f"{still}: {target.resolve()} ({size / 1e3:.0f} kB)")


def show(
    log: Annotated[Path, typer.Argument(help="A log written by replay, run or demo.")],
    topic: Annotated[int | None, typer.Option("--topic", "-t", help="Show one topic's words over time.")] = None,
    words: Annotated[int, typer.Option(min=1, max=60, help="Words per topic.")] = 8,
    hindsight: Annotated[
        bool, typer.Option("--hindsight", help="Use documents of later slices too, as far as they reach.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line instead of a table.")] = False,
) -> None:
    """Print the topics of the newest slice, or the words of one topic over time.

    \b
    vmfstream show run.duckdb --words 4
    vmfstream show run.duckdb --topic 8 --hindsight
    vmfstream show run.duckdb --json
    """
    from vmfstream.cli.topic_table import newest_topics, one_topic

    rows = one_topic(log, topic, words, hindsight) if topic is not None else newest_topics(log, words, hindsight)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in rows[0] if rows else ["nothing closed yet"]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    Console().print(table)


def corpora(
    get: Annotated[str | None, typer.Argument(help="Write 'get' to download a corpus into the cache.")] = None,
    name: Annotated[str | None, typer.Argument(help="The corpus to download.")] = None,
) -> None:
    """List the corpora that replay knows and where each was found, or download one.

    \b
    vmfstream corpora
    vmfstream corpora get newsgroups
    """
    from vmfstream.replay.run import describe_corpora, fetch_corpus

    if get is None:
        for line in describe_corpora():
            typer.echo(line)
        return
    if get != "get" or name is None:
        raise InputError("expected: vmfstream corpora, or: vmfstream corpora get NAME")
    typer.echo(f"{fetch_corpus(name)}")


def doctor(
    things: Annotated[
        list[str] | None, typer.Argument(help="A log to look into, kafka://host:9092/topic to look at, or both.")
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    config: Config = None,
) -> None:
    """Check the installation, and a log or topics if they are named: versions, kernels, last epoch, lag, a message.

    Ends with code 1 if something is not as it should be.

    \b
    vmfstream doctor
    vmfstream doctor run.duckdb kafka://localhost:9092/news
    """
    from vmfstream.cli.diagnosis import examine
    from vmfstream.cli.observers import examine_topics
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka.options import read_options

    start_logging(False)
    topics = [name for name in things or () if name.lower().startswith("kafka:")]
    logs = [Path(name) for name in things or () if name not in topics]
    if len(logs) > 1:
        raise InputError(f"expected one log, got {', '.join(map(str, logs))}")
    log = logs[0] if logs else None
    codec = FieldCodec(id=id, time=time, text=text, unit="offset")
    failed = False
    checks = [examine(log), *(examine_topics(url, read_options(config), codec, log) for url in topics)]
    for check in chain.from_iterable(checks):
        failed |= not check.good
        mark = typer.style("ok  ", fg=typer.colors.GREEN) if check.good else typer.style("FAIL", fg=typer.colors.RED)
        typer.echo(f"{mark} {check.what}: {check.found}")
    if failed:
        raise typer.Exit(1)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return " ".join(value) if isinstance(value, list) else str(value)
