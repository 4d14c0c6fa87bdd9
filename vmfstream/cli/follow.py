"""Commands through which documents flow: demo, replay, run and publish."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from vmfstream.cli.console import conclude, dashboard_if, progress, start_logging
from vmfstream.cli.options import (
    Config,
    Dashboard,
    Dimension,
    Embed,
    Epoch,
    ExecutorOption,
    Html,
    IdField,
    Kinds,
    Language,
    LivingTopics,
    Out,
    Port,
    Sample,
    Seed,
    SlicesOption,
    SnapshotEvery,
    Stem,
    TextField,
    Threads,
    TimeField,
    Title,
    TitleField,
    Topics,
    VectorField,
    Verbose,
    Vocabulary,
    Window,
    Workers,
    settings_of,
)
from vmfstream.cli.snapshot import kinds_beside
from vmfstream.errors import InputError


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the page and the log.")] = Path("demo"),
    topics: Topics = 16,
    seed: Seed = 0,
    verbose: Verbose = False,
) -> None:
    """Run the built-in newswire, whose truth is known: a page, a log, and how well the truth was recovered.

    \b
    vmfstream demo --out demo
    vmfstream show demo/planted.duckdb
    """
    from vmfstream.replay.run import replay_planted
    from vmfstream.runfile.writer import Log

    start_logging(verbose)
    if out.is_file():
        raise InputError(f"{out} is a file; --out names the folder for the page and the log")
    out.mkdir(parents=True, exist_ok=True)
    log, page = out / "planted.duckdb", out / "planted.html"
    log.unlink(missing_ok=True)
    with progress("planted newswire") as (observe, stop):
        result = replay_planted(Log(log), topics=topics, seed=seed, observe=observe, stop=stop)
    found = f"NMI {result.nmi:.3f}, ARI {result.ari:.3f} (1 is perfect)"
    typer.echo(f"known truth recovered: {found}, {result.documents:,} documents labelled as they came")
    conclude(result.engine, log, page, stop)


def replay(
    corpus: Annotated[str, typer.Argument(help="A corpus (see: vmfstream corpora) or a file: .jsonl, .csv, .parquet.")],
    out: Out = Path("run.duckdb"),
    slices: SlicesOption = None,
    topics: Topics = 30,
    living_topics: LivingTopics = True,
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
    embed: Embed = "",
    title: Title = None,
    sample: Sample = 20_000,
    snapshot_every: SnapshotEvery = 0,
    kind: Kinds = None,
    dashboard: Dashboard = False,
    dashboard_port: Port = 8050,
    verbose: Verbose = False,
) -> None:
    """Replay years of documents in the order of their time, as if they came now.

    A run that was interrupted goes on where it stood when the same command is given again.

    \b
    vmfstream replay nips --html nips.html
    vmfstream replay nyt --slices quarter --topics 40 --html nyt.html
    vmfstream replay mine.csv --time published --text body --slices month --out mine.duckdb
    """
    from vmfstream.engine.run import evaluate as compare
    from vmfstream.engine.run import follow
    from vmfstream.engine.snapshots.background import background_snapshots
    from vmfstream.replay.run import open_replay
    from vmfstream.runfile.writer import Log

    start_logging(verbose)
    kinds = kinds_beside(kind, snapshot_every, sample)
    opened = open_replay(corpus, time=time, text=text, id=id, title=title_field)
    settings = settings_of(
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
        embed=embed,
        sample=sample,
    )
    with (
        closing(opened.source),
        dashboard_if(dashboard, out, dashboard_port),
        progress(opened.title, opened.source.total) as (observe, stop),
        background_snapshots(observe, out, 0 if evaluate else snapshot_every, kinds) as told,
    ):
        if evaluate:
            comparison = compare(opened.source, opened.codec, settings, observe)
        else:
            engine = follow(opened.source, opened.codec, Log(out), settings, observe=told, stop=stop)
    if evaluate:
        typer.echo(comparison.render())
        return
    conclude(engine, out, html, stop)


def run(
    source: Annotated[
        str,
        typer.Argument(help="kafka://host:9092/topic, a file (.jsonl, .csv, .parquet, .txt) or - for standard input."),
    ],
    out: Out = Path("run.duckdb"),
    slices: SlicesOption = None,
    topics: Topics = 30,
    living_topics: LivingTopics = True,
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
        typer.Option(
            min=0.0, help="Seconds after which a part-filled epoch is written; by default 5 for Kafka, else it waits."
        ),
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_field: TitleField = None,
    vector: VectorField = None,
    dimension: Dimension = 0,
    embed: Embed = "",
    title: Title = None,
    sample: Sample = 20_000,
    snapshot_every: SnapshotEvery = 0,
    kind: Kinds = None,
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
    workers: Workers = 0,
    executor: ExecutorOption = None,
    dashboard: Dashboard = False,
    dashboard_port: Port = 8050,
    verbose: Verbose = False,
) -> None:
    """Follow a source in the order in which it delivers documents.

    Late documents are counted and go to the open slice; what cannot be a document goes to the log's table `rejected`
    with its reason, and the stream goes on. The same command continues an interrupted run.

    \b
    vmfstream run news.jsonl --slices day --out news.duckdb
    tail -f news.jsonl | vmfstream run - --slices hour --linger 5
    vmfstream run kafka://localhost:9092/news --slices hour --dead-letters kafka://localhost:9092/news-dead
    vmfstream run kafka://localhost:9092/news --slices hour --workers 4
    vmfstream run vectors.parquet --vector embedding --dimension 384 --slices 1000
    """
    from vmfstream.cli.observers import LINGER, observers
    from vmfstream.connectors import open_source
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.kafka.options import parse_place, read_options
    from vmfstream.engine.run import follow
    from vmfstream.engine.scale.executor import executor_of
    from vmfstream.engine.snapshots.background import background_snapshots
    from vmfstream.runfile.writer import Log

    start_logging(verbose)
    kinds = kinds_beside(kind, snapshot_every, sample)
    if (vector is None) != (dimension == 0):
        raise InputError("--vector and --dimension belong together: name the field and say how long its vectors are")
    if vector is not None and embed:
        raise InputError("--embed makes vectors of texts, --vector reads ready ones; give one of them")
    topic = parse_place(source) if source.lower().startswith("kafka:") else None
    if topic is None and (workers or executor):
        raise InputError(
            f"--workers and --executor share a topic, kafka://host:9092/topic; {source} is read in one piece"
        )
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
    settings = settings_of(
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
        named=vector is not None and text is not None,
        embed=embed,
        sample=sample,
    )
    wishes: dict[str, Any] = {"source": topic, "options": options, "publish": publish, "dead_letters": dead_letters}
    wishes |= {"metrics_port": metrics_port, "metrics_address": metrics_address}
    linger = LINGER if linger is None and topic else linger
    with (
        closing(opened),
        dashboard_if(dashboard, out, dashboard_port),
        progress(opened.name, opened.total) as (observe, stop),
        background_snapshots(observe, out, snapshot_every, kinds) as noticed,
        observers(out, noticed, **wishes) as told,
        executor_of(executor, workers) as pool,
    ):
        engine = follow(opened, codec, Log(out), settings, linger=linger, observe=told, stop=stop, executor=pool)
    conclude(engine, out, html, stop)


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

    \b
    vmfstream publish planted kafka://localhost:9092/news
    vmfstream publish years.jsonl kafka://localhost:9092/news --rate 500
    """
    from vmfstream.connectors.kafka.options import parse_place, read_options
    from vmfstream.connectors.kafka.publisher import COMPRESSIONS, publish_documents
    from vmfstream.replay.run import open_replay

    start_logging(verbose)
    place, options = parse_place(topic), read_options(config)
    if len(place.topics) != 1:
        raise InputError(f"expected one topic to write to, got {topic}")
    if compression is not None and compression not in COMPRESSIONS:
        raise InputError(f"--compression must be one of {', '.join(COMPRESSIONS)}, got {compression}")
    opened = open_replay(corpus, time=time, text=text, id=id, title=title_field)
    how: dict[str, Any] = {"rate": rate, "partitions": partitions, "compression": compression}
    with closing(opened.source), progress(opened.title) as (_, stop):
        sent, rejected = publish_documents(opened.source, opened.codec, place, options, stop=stop, **how)
    typer.echo(f"sent: {sent:,} documents to {place.url}, {rejected:,} rejected")
    if stop.code:
        raise typer.Exit(stop.code)
