"""Commands that read documents: demo, replay, run and publish."""

from __future__ import annotations

import math
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmfstream.cli.console import check_outputs, conclude, counting, dashboard_if, progress
from vmfstream.cli.diagnosis import MOST_LATE, MOST_REJECTED
from vmfstream.cli.grouped_help import KAFKA, OUTPUT, PERFORMANCE
from vmfstream.cli.logs import start_logging, tell
from vmfstream.cli.options import (
    REGISTRY_VARIABLE,
    Config,
    CorpusArgument,
    Dashboard,
    Delimiter,
    Dimension,
    EmbedOption,
    Encoding,
    EpochSize,
    ExecutorOption,
    Exit,
    Html,
    IdField,
    KeepText,
    KeptDocumentsOption,
    Kinds,
    LivingTopics,
    LogFormat,
    MaxLate,
    MaxRejected,
    Namer,
    Out,
    PageTitle,
    PhrasesOption,
    Port,
    RefitBudget,
    Renamed,
    SampleOption,
    SchemaRegistryOption,
    SeedOption,
    SlicesOption,
    SmoothedStoriesOption,
    SnapshotEvery,
    Stem,
    StopWords,
    StoriesOption,
    StoryComponent,
    StoryDays,
    StoryGrain,
    TextField,
    Threads,
    TimeField,
    TimeFormat,
    TitleColumn,
    TokeniserOption,
    TopicsFrom,
    TopicsOption,
    VectorField,
    Verbose,
    VocabularySize,
    WindowOption,
    WorkersOption,
    check_vectors,
    file_options,
    is_piped,
    namer_of,
    no_file_options,
    only_kafka,
    run_file_of,
    settings_of,
    stdin_options,
)
from vmfstream.cli.snapshot import background_kinds
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.engine.observers.latency import Latency


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the page and the run file; made if missing.")
    ] = Path("demo"),
    topics: TopicsOption = 16,
    seed: SeedOption = 0,
    verbose: Verbose = False,
) -> None:
    """Follow the built-in newswire and measure what was found.

    The first thing to try after an installation. The 9,600 articles are made up, so their topics are known. A page and
    a run file are written.

    \b
    vmfstream demo --out demo
    vmfstream show demo/planted.duckdb
    """
    from vmfstream.replay.planted.stream import PlantedStream
    from vmfstream.replay.run import replay_planted
    from vmfstream.runfile.connection import check_name
    from vmfstream.runfile.writer import RunFile

    start_logging(verbose)
    run_file, page = out / "planted.duckdb", out / "planted.html"
    check_name(run_file.resolve())
    try:
        if out.is_file():
            raise InputError(f"{out} is a file; --out names a folder for the page and the run file")
        out.mkdir(parents=True, exist_ok=True)
        run_file.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"--out: cannot write into the folder {out}: {error.strerror}; choose another") from error
    for path in (run_file, page):
        check_outputs({"--out": path})
    with progress("planted newswire", PlantedStream().total) as (observe, stop):
        result = replay_planted(RunFile(run_file), topics=topics, seed=seed, observe=observe, stop=stop)
    found = f"NMI {result.nmi:.3f}, ARI {result.ari:.3f} (1 is perfect)"
    typer.echo(f"known truth recovered: {found}, {result.documents:,} documents labelled as they came")
    conclude(result.engine, run_file, page, stop, topics=topics)


def replay(
    corpus: CorpusArgument,
    out: Out = None,
    slices: SlicesOption = None,
    topics: TopicsOption = 30,
    topics_from: TopicsFrom = None,
    living_topics: LivingTopics = True,
    documents: KeptDocumentsOption = "all",
    keep_text: KeepText = False,
    html: Html = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            help="Compare the tracker with batch models that are fitted to all earlier documents at every slice; "
            "writes no run file.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    seed: SeedOption = 0,
    window: WindowOption = 0,
    refit_budget: RefitBudget = math.inf,
    threads: Threads = 2,
    epoch_size: EpochSize = 20_000,
    vocabulary: VocabularySize = 50_000,
    stop_words: StopWords = "english",
    tokeniser: TokeniserOption = "",
    stem: Stem = "",
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_column: TitleColumn = None,
    time_format: TimeFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    vector: VectorField = None,
    dimension: Dimension = 0,
    embed: EmbedOption = "",
    namer: Namer = None,
    page_title: PageTitle = None,
    stories: StoriesOption = True,
    story_days: StoryDays = 0.0,
    story_grain: StoryGrain = 0.0,
    story_component: StoryComponent = "vmf",
    smoothed_stories: SmoothedStoriesOption = False,
    phrases: PhrasesOption = False,
    sample: SampleOption = 20_000,
    max_rejected: MaxRejected = MOST_REJECTED,
    renamed: Renamed = False,
    snapshot_every: SnapshotEvery = 0,
    kind: Kinds = None,
    dashboard: Dashboard = False,
    dashboard_port: Port = 8050,
    exit: Exit = False,
    verbose: Verbose = False,
    log_format: LogFormat = "text",
) -> None:
    """Follow a file or corpus in the order of its documents' times.

    For documents that exist already, such as papers or mails: they are read as if they came now. The same command
    continues an interrupted run.

    \b
    vmfstream replay nips --html nips.html
    vmfstream replay nyt --slices quarter --topics 40 --html nyt.html
    vmfstream replay mine.csv --time published --text body --slices month --out mine.duckdb
    vmfstream replay vectors.parquet --vector embedding --dimension 384 --text body --html vectors.html
    vmfstream replay reuters --topics-from topics.toml --html reuters.html
    """
    from vmfstream.engine.run import evaluate as compare
    from vmfstream.engine.run import follow
    from vmfstream.engine.snapshots.background import background_snapshots
    from vmfstream.replay.run import open_replay
    from vmfstream.runfile.writer import RunFile

    start_logging(verbose, log_format)
    kinds, asked = background_kinds(kind, snapshot_every, sample), namer_of(namer)
    code = {"tokeniser": tokeniser, "embed": embed}
    check_vectors(vector, dimension, embed)
    run_file = run_file_of(out, corpus)
    if not evaluate:
        check_outputs({"--out": run_file, "--html": html})
    named: dict[str, Any] = {"time": time, "text": text, "id": id, "title": title_column, "time_format": time_format}
    named |= {"vector": vector, "dimension": dimension if vector else None}
    opened = open_replay(corpus, slices=slices, **named, **file_options(encoding, delimiter))
    with closing(opened.source):
        settings = settings_of(
            title=page_title or opened.title,
            source=corpus,
            licence=opened.licence,
            topics=topics,
            topics_from=topics_from,
            slices=opened.slices,
            slices_by_times=opened.slices_by_times,
            seed=seed,
            living_topics=living_topics,
            threads=threads,
            window=window,
            refit_budget=refit_budget,
            epoch_documents=epoch_size,
            vocabulary=vocabulary,
            language=stop_words,
            tokeniser=tokeniser,
            stop_words=" ".join(opened.stop_words),
            stem=stem,
            dimension=dimension,
            named=vector is not None and text is not None,
            embed=embed,
            stories=stories,
            story_days=story_days,
            story_grain=story_grain,
            story_component=story_component,
            smoothed_stories=smoothed_stories,
            phrases=phrases,
            documents=documents,
            keep_text=keep_text,
            sample=sample,
        )
        if settings.slices_by_times and not run_file.exists():
            counted = settings.slices.isdigit()
            how = " documents each, since lines have no times" if counted else ", by the times of the documents"
            tell(f"slices: {settings.slices}{how}; --slices chooses another length")
        with dashboard_if(dashboard, run_file, dashboard_port, exit) as stay:
            with (
                progress(opened.title, opened.source.total) as (observe, stop),
                background_snapshots(observe, run_file, 0 if evaluate else snapshot_every, kinds, code) as notify,
            ):
                if evaluate:
                    comparison = compare(opened.source, opened.codec, settings, observe)
                else:
                    engine = follow(
                        opened.source,
                        opened.codec,
                        RunFile(run_file),
                        settings,
                        observe=notify,
                        stop=stop,
                        renamed=renamed,
                        namer=asked,
                    )
            if evaluate:
                typer.echo(comparison.render())
            else:
                conclude(engine, run_file, html, stop, topics=topics, stay=stay, rejected=max_rejected)


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="kafka://host:9092/topic, a .jsonl, .csv, .parquet or .txt file, a folder of such files, or - for "
            "standard input.",
        ),
    ],
    out: Out = None,
    slices: SlicesOption = None,
    topics: TopicsOption = 30,
    topics_from: TopicsFrom = None,
    living_topics: LivingTopics = True,
    documents: KeptDocumentsOption = "none",
    keep_text: KeepText = False,
    html: Html = None,
    seed: SeedOption = 0,
    window: WindowOption = 0,
    refit_budget: RefitBudget = math.inf,
    threads: Threads = 2,
    epoch_size: EpochSize = 20_000,
    vocabulary: VocabularySize = 50_000,
    stop_words: StopWords = "english",
    tokeniser: TokeniserOption = "",
    stem: Stem = "",
    linger: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Seconds after which an epoch is written although more documents could come; by default 5 for Kafka, "
            "0.2 with --labels, never for other sources.",
            rich_help_panel=PERFORMANCE,
        ),
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_column: TitleColumn = None,
    time_format: TimeFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    vector: VectorField = None,
    dimension: Dimension = 0,
    embed: EmbedOption = "",
    namer: Namer = None,
    page_title: PageTitle = None,
    stories: StoriesOption = True,
    story_days: StoryDays = 0.0,
    story_grain: StoryGrain = 0.0,
    story_component: StoryComponent = "vmf",
    smoothed_stories: SmoothedStoriesOption = False,
    phrases: PhrasesOption = False,
    sample: SampleOption = 20_000,
    max_late: MaxLate = MOST_LATE,
    max_rejected: MaxRejected = MOST_REJECTED,
    renamed: Renamed = False,
    snapshot_every: SnapshotEvery = 0,
    kind: Kinds = None,
    config: Config = None,
    format: Annotated[
        str,
        typer.Option(
            help="Format of the messages of a Kafka topic, and of the lines of standard input: json or text.",
            rich_help_panel=KAFKA,
        ),
    ] = "json",
    schema_registry: SchemaRegistryOption = None,
    on_gap: Annotated[
        str,
        typer.Option(
            help="What to do if messages were deleted before they were read: fail, or go on with the earliest or the "
            "latest there is.",
            rich_help_panel=KAFKA,
        ),
    ] = "fail",
    group: Annotated[
        str | None,
        typer.Option(
            help="Consumer group under which offsets are committed to the broker, for monitoring only.",
            rich_help_panel=KAFKA,
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            help="kafka:// URL of a topic to send rejected messages to, with the reason in their headers.",
            rich_help_panel=KAFKA,
        ),
    ] = None,
    publish: Annotated[
        str | None,
        typer.Option(
            help="kafka:// URL of a topic to send closed slices, events and stories to, as JSON.", rich_help_panel=KAFKA
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="kafka:// URL of a topic to send every counted message to, with its topic, name, probability, story "
            "and novelty.",
            rich_help_panel=KAFKA,
        ),
    ] = None,
    label_format: Annotated[
        str,
        typer.Option(
            help="Where to put labels: headers, added to the original message, or json, an object that replaces its "
            "value.",
            rich_help_panel=KAFKA,
        ),
    ] = "headers",
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port to serve metrics for Prometheus at, and beside them /healthz and /readyz.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    metrics_address: Annotated[
        str, typer.Option(help="Address to serve metrics at.", rich_help_panel=OUTPUT)
    ] = "127.0.0.1",
    workers: WorkersOption = 0,
    executor: ExecutorOption = None,
    dashboard: Dashboard = False,
    dashboard_port: Port = 8050,
    exit: Exit = False,
    verbose: Verbose = False,
    log_format: LogFormat = "text",
) -> None:
    """Follow a source in the order in which it delivers documents.

    For documents that keep coming: a Kafka topic, a pipe, or an ordered file. Late documents are counted and go to the
    open slice. Messages that are no documents go to the table `rejected` of the run file with the reason, and the
    stream goes on. The same command continues an interrupted run.

    \b
    vmfstream run news.jsonl --slices day --out news.duckdb
    tail -n +1 -f news.jsonl | vmfstream run - --slices hour --linger 5
    vmfstream run kafka://localhost:9092/news --slices hour --dead-letters kafka://localhost:9092/news-dead
    vmfstream run kafka://localhost:9092/news --slices hour --workers 4
    vmfstream run vectors.parquet --vector embedding --dimension 384 --slices 1000
    """
    from vmfstream.cli.observers import LINGER, LINGER_OF_LABELS, observers
    from vmfstream.cli.sources import opened_with_codec
    from vmfstream.connectors.kafka.options import parse_address, read_options
    from vmfstream.connectors.kafka.recent import RecentRecords
    from vmfstream.engine.observers.latency import Latency
    from vmfstream.engine.run import follow
    from vmfstream.engine.scale.executor import executor_of
    from vmfstream.engine.snapshots.background import background_snapshots
    from vmfstream.folders import title_of
    from vmfstream.runfile.writer import RunFile
    from vmfstream.slicing import Slicing

    start_logging(verbose, log_format)
    kinds, asked = background_kinds(kind, snapshot_every, sample), namer_of(namer)
    code = {"tokeniser": tokeniser, "embed": embed}
    if metrics_port is None and metrics_address != "127.0.0.1":
        raise InputError("--metrics-address: expected --metrics-port with it; without, no metrics are served")
    if labels is None and label_format != "headers":
        raise InputError("--label-format: expected --labels with it; without, no labels are sent")
    check_vectors(vector, dimension, embed)
    topic = parse_address(source) if source.lower().startswith("kafka:") else None
    if topic is None and (workers or executor):
        raise InputError(
            f"--workers and --executor need a Kafka topic, kafka://host:9092/topic; {source} is read by one process"
        )
    run_file = run_file_of(out, source)
    check_outputs({"--out": run_file, "--html": html})
    options = read_options(config)
    reading: dict[str, Any] = {"options": options, "format": format, "on_gap": on_gap, "group": group}
    reading["schema_registry"] = schema_registry
    recent = RecentRecords() if labels and not (workers or executor) else None
    if recent is not None:
        reading["recent"] = recent
    no_file_options(source, encoding, delimiter)
    piped = topic is None and is_piped(source)
    if topic is None:
        of_topics = {"--on-gap": on_gap != "fail", "--group": group is not None}
        of_topics["--schema-registry"] = schema_registry not in (None, os.environ.get(REGISTRY_VARIABLE))
        only_kafka(source, of_topics | {"--format": format != "json" and not piped})
        reading = stdin_options(format) if piped else file_options(encoding, delimiter)
    opened, codec = opened_with_codec(
        source,
        reading,
        id=id,
        time=time,
        text=text,
        title=title_column,
        vector=vector,
        dimension=dimension if vector else None,
        time_format=time_format,
        timed=not Slicing.parse(slices or "day").documents,
    )
    with closing(opened):
        settings = settings_of(
            title=page_title or (opened.name if topic or piped else title_of(Path(source))),
            source=source,
            topics=topics,
            topics_from=topics_from,
            slices=slices or "day",
            seed=seed,
            living_topics=living_topics,
            threads=threads,
            window=window,
            refit_budget=refit_budget,
            epoch_documents=epoch_size,
            vocabulary=vocabulary,
            language=stop_words,
            tokeniser=tokeniser,
            stem=stem,
            dimension=dimension,
            named=vector is not None and text is not None,
            embed=embed,
            stories=stories,
            story_days=story_days,
            story_grain=story_grain,
            story_component=story_component,
            smoothed_stories=smoothed_stories,
            phrases=phrases,
            documents=documents,
            keep_text=keep_text,
            sample=sample,
        )
        wishes: dict[str, Any] = {"source": topic, "options": options, "publish": publish, "dead_letters": dead_letters}
        latency = Latency()
        wishes |= {"labels": labels, "label_format": label_format, "latency": latency, "recent": recent}
        wishes |= {"metrics_port": metrics_port, "metrics_address": metrics_address}
        if linger is None and topic:
            linger = LINGER_OF_LABELS if labels else LINGER
        with dashboard_if(dashboard, run_file, dashboard_port, exit) as stay:
            with (
                progress(opened.name, opened.total) as (observe, stop),
                background_snapshots(observe, run_file, snapshot_every, kinds, code) as noticed,
                observers(run_file, noticed, silence=stop.silence, **wishes) as notify,
                executor_of(executor, workers) as pool,
            ):
                engine = follow(
                    opened,
                    codec,
                    RunFile(run_file, sent=lambda: latency.epoch, writing=notify.writing),
                    settings,
                    linger=linger,
                    observe=notify,
                    stop=stop,
                    executor=pool,
                    renamed=renamed,
                    namer=asked,
                    labels=labels is not None,
                )
            if labels is not None:
                typer.echo(_labels_sent(latency))
            conclude(engine, run_file, html, stop, topics=topics, stay=stay, late=max_late, rejected=max_rejected)


def _labels_sent(latency: Latency) -> str:
    """Say how many labels were sent, and how long after their messages."""
    text = f"labels: {latency.sent:,} sent"
    if not latency.timed:
        return text
    half, nearly_all = latency.quantile(0.5), latency.quantile(0.99)
    return f"{text}; from a message to its label {half:.2g} s (median), {nearly_all:.2g} s (99 %)"


def publish(
    corpus: CorpusArgument,
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="kafka://host:9092/topic; the topic is made if it does not exist.")
    ],
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Documents per second; by default as fast as possible.", rich_help_panel=KAFKA),
    ] = None,
    partitions: Annotated[
        int, typer.Option(min=1, help="Number of partitions, if the topic is made.", rich_help_panel=KAFKA)
    ] = 4,
    compression: Annotated[
        str | None,
        typer.Option(
            help="Compression of messages: gzip, snappy, lz4 or zstd; by default none.", rich_help_panel=KAFKA
        ),
    ] = None,
    time: TimeField = None,
    text: TextField = None,
    id: IdField = None,
    title_column: TitleColumn = None,
    time_format: TimeFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    config: Config = None,
    verbose: Verbose = False,
    log_format: LogFormat = "text",
) -> None:
    """Send the documents of a file or corpus to a Kafka topic.

    To try a run on Kafka, or to fill a topic from files; they are sent in the order of their times. Each message is a
    JSON object with id, time, title and text; the id is its key and the time its timestamp. The broker recognises
    repeated messages, so that each document is written once however often the connection breaks.

    \b
    vmfstream publish planted kafka://localhost:9092/news
    vmfstream publish years.jsonl kafka://localhost:9092/news --rate 500
    """
    from vmfstream.connectors.kafka.options import parse_address, read_options
    from vmfstream.connectors.kafka.publisher import COMPRESSIONS, publish_documents
    from vmfstream.replay.run import open_replay

    start_logging(verbose, log_format)
    address, options = parse_address(topic), read_options(config)
    if len(address.topics) != 1:
        raise InputError(f"expected one topic to write to, got {topic}")
    if compression is not None and compression not in COMPRESSIONS:
        raise InputError(f"--compression must be one of {', '.join(COMPRESSIONS)}, got {compression}")
    named: dict[str, Any] = {"time": time, "text": text, "id": id, "title": title_column, "time_format": time_format}
    opened = open_replay(corpus, **named, **file_options(encoding, delimiter))
    how: dict[str, Any] = {"rate": rate, "partitions": partitions, "compression": compression}
    with closing(opened.source), counting(opened.title, opened.source.total) as (tell, stop):
        how["observe"] = tell
        sent, rejected = publish_documents(opened.source, opened.codec, address, options, stop=stop, **how)
    typer.echo(f"sent: {sent:,} documents to {address.url}, {rejected:,} rejected")
    if stop.code:
        raise typer.Exit(stop.code)
