"""Commands. Everything heavy is imported inside the command that needs it, so that ``--help`` answers at once."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmfstream import __version__
from vmfstream.errors import InputError, VmfstreamError

if TYPE_CHECKING:
    from vmfstream.engine.engine import Engine, Observer
    from vmfstream.engine.follow import RunSettings

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

app = typer.Typer(
    name="vmfstream",
    help="Follow topics in a stream of documents and see how their words change.\n\n"
    "Begin with:  vmfstream demo\n\n"
    "Then your own documents:  vmfstream replay papers.jsonl --slices year --html papers.html",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option("--out", "-o", help="The log: one DuckDB file with everything the views show.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write the page here when the run is over.")]
Topics = Annotated[int, typer.Option("--topics", "-k", min=1, help="Most topics at one time.")]
LivingTopics = Annotated[bool, typer.Option("--living-topics", help="Let topics be born, split, merge and sleep.")]
SlicesOption = Annotated[
    str | None,
    typer.Option("--slices", "-s", help="year, quarter, month, week, day, hour, or a number of documents per slice."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
Window = Annotated[int, typer.Option(min=0, help="Documents refitted together at slice ends; 0: max(1500, 50 K).")]
Threads = Annotated[int, typer.Option(min=1, help="Parts each batch is split into; part of the result's identity.")]
Epoch = Annotated[int, typer.Option("--epoch-size", min=1, help="Most documents of one transaction.")]
Vocabulary = Annotated[int, typer.Option(min=2, help="Most words.")]
Language = Annotated[str, typer.Option(help="Language of the stop words: english or none.")]
Stem = Annotated[str, typer.Option(help="Stem words of this language (extra: stemming); empty for none.")]
TimeField = Annotated[str | None, typer.Option("--time", help="Field or column with the document's time.")]
TextField = Annotated[str | None, typer.Option("--text", help="Field or column with the document's text.")]
IdField = Annotated[str | None, typer.Option("--id", help="Field or column with the document's id.")]
TitleField = Annotated[str | None, typer.Option("--title-field", help="Field or column with the document's title.")]
VectorField = Annotated[str | None, typer.Option("--vector", help="Field with a dense vector, used instead of text.")]
Dimension = Annotated[int, typer.Option(min=0, help="Dimension of the vectors of --vector.")]
Title = Annotated[str | None, typer.Option(help="What the page calls the stream.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file whose table [kafka] holds client options, such as those of TLS and SASL."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more while running.")]


def main() -> None:
    """Run the command line; errors meant for the user become one sentence and exit code 1."""
    try:
        app()
    except VmfstreamError as error:
        typer.secho(f"vmfstream: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Hold the options of the program itself."""
    if version:
        typer.echo(f"vmfstream {__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the page and the log.")] = Path("demo"),
    topics: Topics = 16,
    seed: Seed = 0,
    verbose: Verbose = False,
) -> None:
    """Run the built-in newswire, whose truth is known: a page, a log, and how well the truth was recovered."""
    from vmfstream.log.writer import Log
    from vmfstream.replay.run import replay_planted

    _logging(verbose)
    if out.is_file():
        raise InputError(f"{out} is a file; --out names the folder for the page and the log")
    out.mkdir(parents=True, exist_ok=True)
    log, page = out / "planted.duckdb", out / "planted.html"
    log.unlink(missing_ok=True)
    with _progress("planted newswire") as (observe, stop):
        result = replay_planted(Log(log), topics=topics, seed=seed, observe=observe, stop=stop)
    found = f"NMI {result.nmi:.3f}, ARI {result.ari:.3f} (1 is perfect)"
    typer.echo(f"known truth recovered: {found}, {result.documents:,} documents labelled as they came")
    _conclude(result.engine, log, page, stop)


@app.command()
def replay(
    corpus: Annotated[str, typer.Argument(help="A corpus (see: vmfstream corpora) or a file: .jsonl, .csv, .parquet.")],
    out: Out = Path("run.duckdb"),
    slices: SlicesOption = None,
    topics: Topics = 30,
    living_topics: LivingTopics = False,
    html: Html = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Also refit batch models on all past at every slice and compare.")
    ] = False,
    seed: Seed = 0,
    window: Window = 0,
    threads: Threads = 2,
    epoch_size: Epoch = 20_000,
    vocabulary: Vocabulary = 50_000,
    language: Language = "english",
    stem: Stem = "",
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_field: TitleField = None,
    title: Title = None,
    verbose: Verbose = False,
) -> None:
    """Replay years of documents in the order of their time, as if they came now.

    A run that was interrupted goes on where it stood when the same command is given again.

    \b
    vmfstream replay nips --html nips.html
    vmfstream replay nyt --slices quarter --topics 40 --html nyt.html
    vmfstream replay mine.csv --time published --text body --slices month --out mine.duckdb
    """
    from vmfstream.engine.follow import evaluate as compare
    from vmfstream.engine.follow import follow
    from vmfstream.log.writer import Log
    from vmfstream.replay.run import open_replay

    _logging(verbose)
    opened = open_replay(corpus, time=time, text=text, id=id, title=title_field)
    settings = _settings(
        title=title or opened.title,
        source=corpus,
        licence=opened.licence,
        topics=topics,
        slices=slices or opened.slices,
        seed=seed,
        living_topics=living_topics,
        threads=threads,
        window=window,
        epoch_documents=epoch_size,
        vocabulary=vocabulary,
        language=language,
        stop_words=" ".join(opened.stop_words),
        stem=stem,
    )
    with closing(opened.source), _progress(opened.title, opened.source.total) as (observe, stop):
        if evaluate:
            comparison = compare(opened.source, opened.codec, settings, observe)
        else:
            engine = follow(opened.source, opened.codec, Log(out), settings, observe=observe, stop=stop)
    if evaluate:
        typer.echo(comparison.render())
        return
    _conclude(engine, out, html, stop)


@app.command()
def run(
    source: Annotated[
        str,
        typer.Argument(help="kafka://host:9092/topic, a file (.jsonl, .csv, .parquet, .txt) or - for standard input."),
    ],
    out: Out = Path("run.duckdb"),
    slices: SlicesOption = None,
    topics: Topics = 30,
    living_topics: LivingTopics = False,
    html: Html = None,
    seed: Seed = 0,
    window: Window = 0,
    threads: Threads = 2,
    epoch_size: Epoch = 20_000,
    vocabulary: Vocabulary = 50_000,
    language: Language = "english",
    stem: Stem = "",
    linger: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds after which a part-filled epoch is written; topics: 5, else it waits."),
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_field: TitleField = None,
    vector: VectorField = None,
    dimension: Dimension = 0,
    title: Title = None,
    config: Config = None,
    format: Annotated[str, typer.Option(help="What a topic's messages are: json or text.")] = "json",
    on_gap: Annotated[
        str, typer.Option(help="Where messages of a topic are gone: fail, or go on with the earliest or the latest.")
    ] = "fail",
    group: Annotated[
        str | None, typer.Option(help="Consumer group to tell the broker about offsets, for monitoring only.")
    ] = None,
    dead_letters: Annotated[
        str | None, typer.Option(help="kafka:// URL of a topic for messages that were no documents.")
    ] = None,
    publish: Annotated[
        str | None, typer.Option(help="kafka:// URL of a topic for closed slices and events, as JSON.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve figures for Prometheus at this port.")
    ] = None,
    metrics_address: Annotated[str, typer.Option(help="Address to serve them at.")] = "127.0.0.1",
    verbose: Verbose = False,
) -> None:
    """Follow a source in the order in which it delivers documents.

    Late documents are counted and go to the open slice; what cannot be a document goes to the log's table `rejected`
    with its reason, and the stream goes on. The same command continues an interrupted run.

    \b
    vmfstream run news.jsonl --slices day --out news.duckdb
    tail -f news.jsonl | vmfstream run - --slices hour --linger 5
    vmfstream run kafka://localhost:9092/news --slices hour --dead-letters kafka://localhost:9092/news-dead
    vmfstream run vectors.parquet --vector embedding --dimension 384 --slices 1000
    """
    from vmfstream.connectors import open_source
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka_options import parse_place, read_options
    from vmfstream.engine.follow import follow
    from vmfstream.live import LINGER, observers
    from vmfstream.log.writer import Log

    _logging(verbose)
    if (vector is None) != (dimension == 0):
        raise InputError("--vector and --dimension belong together: name the field and say how long its vectors are")
    topic = parse_place(source) if source.lower().startswith("kafka:") else None
    options = read_options(config)
    reading = {"options": options, "format": format, "on_gap": on_gap, "group": group} if topic else {}
    opened = open_source(source, **reading)
    codec = FieldCodec(
        id=id,
        time=time,
        text=text,
        title=title_field,
        vector=vector,
        dimension=dimension if vector else None,
        unit="offset" if topic else "line",
    )
    settings = _settings(
        title=title or opened.name,
        source=source,
        topics=topics,
        slices=slices or "day",
        seed=seed,
        living_topics=living_topics,
        threads=threads,
        window=window,
        epoch_documents=epoch_size,
        vocabulary=vocabulary,
        language=language,
        stem=stem,
        dimension=dimension,
    )
    wishes: dict[str, Any] = {"source": topic, "options": options, "publish": publish, "dead_letters": dead_letters}
    wishes |= {"metrics_port": metrics_port, "metrics_address": metrics_address}
    linger = LINGER if linger is None and topic else linger
    with (
        closing(opened),
        _progress(opened.name, opened.total) as (observe, stop),
        observers(out, observe, **wishes) as told,
    ):
        engine = follow(opened, codec, Log(out), settings, linger=linger, observe=told, stop=stop)
    _conclude(engine, out, html, stop)


@app.command()
def publish(
    corpus: Annotated[str, typer.Argument(help="A corpus (see: vmfstream corpora) or a file: .jsonl, .csv, .parquet.")],
    topic: Annotated[str, typer.Argument(help="kafka://host:9092/topic; the topic is made if it does not exist.")],
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Documents per second; without it as fast as possible.")
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a topic that is made.")] = 4,
    compression: Annotated[str | None, typer.Option(help="gzip, snappy, lz4 or zstd; none without.")] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_field: TitleField = None,
    config: Config = None,
    verbose: Verbose = False,
) -> None:
    """Send documents to a topic of Kafka in the order of their time, as if they were written now.

    Each is a JSON object with id, time, title and text; its id is the key and its time that of the message. What the
    broker has taken once it does not take twice, however often the connection breaks.

    
    vmfstream publish planted kafka://localhost:9092/news
    vmfstream publish years.jsonl kafka://localhost:9092/news --rate 500
    """
    from vmfstream.connectors.kafka_options import parse_place, read_options
    from vmfstream.connectors.kafka_publisher import COMPRESSIONS, publish_documents
    from vmfstream.replay.run import open_replay

    _logging(verbose)
    place, options = parse_place(topic), read_options(config)
    if len(place.topics) != 1:
        raise InputError(f"expected one topic to write to, got {topic}")
    if compression is not None and compression not in COMPRESSIONS:
        raise InputError(f"--compression must be one of {', '.join(COMPRESSIONS)}, got {compression}")
    opened = open_replay(corpus, time=time, text=text, id=id, title=title_field)
    how: dict[str, Any] = {"rate": rate, "partitions": partitions, "compression": compression}
    with closing(opened.source), _progress(opened.title) as (_, stop):
        sent, rejected = publish_documents(opened.source, opened.codec, place, options, stop=stop, **how)
    typer.echo(f"sent: {sent:,} documents to {place.url}, {rejected:,} rejected")
    if stop.code:
        raise typer.Exit(stop.code)


@app.command()
def export(
    log: Annotated[Path, typer.Argument(help="A log written by replay, run or demo.")],
    page: Annotated[Path, typer.Argument(help="The HTML file to write.")],
    max_mb: Annotated[float, typer.Option("--max-mb", min=5.0, help="Largest size of the page in megabytes.")] = 8.0,
) -> None:
    """Write one HTML file with everything to look at; it needs no server and no network."""
    _export(log, page, max_mb)


@app.command()
def show(
    log: Annotated[Path, typer.Argument(help="A log written by replay, run or demo.")],
    topic: Annotated[int | None, typer.Option("--topic", "-t", help="Show one topic's words over time.")] = None,
    words: Annotated[int, typer.Option(min=1, max=60, help="Words per topic.")] = 8,
    hindsight: Annotated[bool, typer.Option("--hindsight", help="Use documents of later slices too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line instead of a table.")] = False,
) -> None:
    """Print the topics of the newest slice, or the words of one topic over time."""
    from vmfstream.engine.show import newest_topics, one_topic

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


@app.command()
def corpora(
    get: Annotated[str | None, typer.Argument(help="Write 'get' to download a corpus into the cache.")] = None,
    name: Annotated[str | None, typer.Argument(help="The corpus to download.")] = None,
) -> None:
    """List the corpora that replay knows and where each was found; `vmfstream corpora get NAME` downloads one."""
    from vmfstream.replay.run import describe_corpora, fetch_corpus

    if get is None:
        for line in describe_corpora():
            typer.echo(line)
        return
    if get != "get" or name is None:
        raise InputError("expected: vmfstream corpora, or: vmfstream corpora get NAME")
    typer.echo(f"{fetch_corpus(name)}")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper: banerjee, sra, gopal-yang, li or nguyen.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Its tables and figures, such as table1 figure2; all if none is named.")
    ] = None,
    restarts: Annotated[int, typer.Option(min=1, help="Starts of every fit; the papers have 10 to 20.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first start and of drawn data.")] = 0,
    jobs: Annotated[int, typer.Option(min=0, help="Processes of one thread each; 0: one for each core.")] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps finished fits; by default in the user's cache folder.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write tables and figures here as one page.")] = None,
) -> None:
    """Compute the tables and figures of a paper again, the printed value beside ours.

    Every finished fit is kept, under a key of all that determines it (data, code, libraries, settings): the same
    command goes on after Ctrl-C, and a second time it only prints. Figures are drawn on the page of --html; without it
    their numbers are printed. Where our copy of the data differs from the paper's, the output says how.

    \b
    vmfstream reproduce banerjee table1
    vmfstream reproduce banerjee table5 figure2 --restarts 3 --html banerjee.html
    vmfstream reproduce sra --html sra.html
    """
    from rich.console import Console

    from vmfstream.folders import cache_folder
    from vmfstream.replay.papers.catalogue import Effort, find_paper, recompute
    from vmfstream.replay.papers.console import print_shown
    from vmfstream.replay.papers.page import write_page
    from vmfstream.replay.papers.work import Workers

    chosen = find_paper(paper)
    kept = cache or cache_folder() / "reproduce"
    console = Console()
    shown = []
    terminated = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Workers(kept, jobs or os.cpu_count() or 1) as workers, _fits(chosen.name) as observe:
            for one in recompute(chosen, names or (), Effort(restarts, seed), workers, observe):
                print_shown(one, console)
                shown.append(one)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: finished fits are kept in {kept}; the same command goes on from here", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, terminated)
        if html is not None and shown:
            write_page(html, chosen.title, f"Restarts: {restarts}, seed: {seed}, vmfstream {__version__}.", shown)
            typer.echo(f"page: {html.resolve()} ({html.stat().st_size / 1e6:.1f} MB)")


@app.command()
def doctor(
    things: Annotated[
        list[str] | None, typer.Argument(help="A log to look into, kafka://host:9092/topic to look at, or both.")
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    config: Config = None,
) -> None:
    """Check the installation, and a log or topics if they are named: versions, kernels, last epoch, lag, a message."""
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka_options import read_options
    from vmfstream.engine.doctor import examine
    from vmfstream.live import examine_topics

    _logging(False)
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


def _settings(**given: Any) -> RunSettings:
    from vmfstream.engine.follow import RunSettings

    return RunSettings(**given)


def _logging(verbose: bool) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(message)s")
    # the client of Kafka tells of every attempt to connect; what matters is passed on by our own source
    logging.getLogger("kafka").propagate = verbose
    logging.getLogger("kafka").addHandler(logging.NullHandler())


class Stop:
    """Asked by Ctrl-C or a SIGTERM, answers whether somebody did, and with which code to end then."""

    def __init__(self) -> None:
        self.code: int | None = None

    def __call__(self) -> bool:
        """Tell whether to stop."""
        return self.code is not None

    def ask(self, number: int, frame: object = None) -> None:
        """Ask once for a clean end; a second time insists."""
        if self():
            raise KeyboardInterrupt
        self.code = INTERRUPTED if number == signal.SIGINT else 0


def _conclude(engine: Engine, log: Path, page: Path | None, stop: Stop) -> None:
    """Say what happened and where it lies, write the page if one is wanted; a run ended by Ctrl-C has code 130."""
    how = "finished" if engine.finished else "interrupted; the same command goes on from here"
    typer.echo(f"{how}: {engine.documents:,} documents, {engine.rejected:,} rejected, {engine.epoch:,} epochs")
    typer.echo(f"log: {log.resolve()}")
    if engine.finished and engine.state is None:
        typer.echo("no topics: too few documents with words that occur in more than one of them")
    if page is not None and engine.epoch:
        _export(log, page)
    if not engine.finished and engine.epoch:
        raise typer.Exit(stop.code or 0)


def _export(log: Path, page: Path, max_mb: float = 8.0) -> None:
    from vmfstream.dashboards.export import export_page

    report = export_page(log, page, max_mb=max_mb)
    typer.echo(f"page: {page.resolve()} ({report.bytes / 1e6:.1f} MB)")
    for dropped in report.dropped:
        typer.echo(f"left out to stay under {max_mb:g} MB: {dropped}")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return " ".join(value) if isinstance(value, list) else str(value)


@contextmanager
def _fits(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar of finished fits on a terminal, silence elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title)

        def observe(name: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title} {name}", completed=done, total=total)

        yield observe


@contextmanager
def _progress(title: str, total: int | None = None) -> Iterator[tuple[Observer, Stop]]:
    """A progress bar on a terminal, silence elsewhere; the first Ctrl-C asks for a clean end, the second insists."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from vmfstream.engine import engine as loop

    stop = Stop()
    console = Console(stderr=True)
    previous = signal.signal(signal.SIGINT, stop.ask), signal.signal(signal.SIGTERM, stop.ask)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
            task = bar.add_task(title, total=total, note="")

            def observe(now: loop.Progress) -> None:
                note = f"slice {now.slice}" + (f", {now.rejected} rejected" if now.rejected else "")
                bar.update(task, completed=now.documents + now.rejected, note=note)

            yield observe, stop
    finally:
        signal.signal(signal.SIGINT, previous[0])
        signal.signal(signal.SIGTERM, previous[1])
