"""Arguments and options that more than one command has, and the settings made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vmfstream.cli.grouped_help import INPUT, KAFKA, OUTPUT, PERFORMANCE, SLICES, STORIES, TEXT
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.engine.loop.namer import BackgroundNamer
    from vmfstream.engine.run import RunSettings

RunFileArgument = Annotated[
    Path, typer.Argument(metavar="RUN_FILE", help="Run file that demo, replay or run has written.")
]
CorpusArgument = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="Name of a corpus (see: vmfstream corpora), a .jsonl, .csv or .parquet file, or a folder of such files or "
        "of texts.",
    ),
]

ReadingOption = Annotated[
    Literal["filtered", "smoothed"] | None,
    typer.Option(
        "--reading",
        help="Topics as known when each slice closed (filtered), or using documents of later slices too (smoothed, the "
        "default as on the page).",
        show_default=False,
    ),
]

FORMER_NAMES = {"title-field": "title-column", "title": "page-title", "language": "stop-words"}
"""Options that were called otherwise, understood for one version."""

# --- input

TimeField = Annotated[
    str | None,
    typer.Option(
        "--time",
        help="Field or column that holds the document's time, such as date or meta.published; by default the first "
        "with a usual name. Of Kafka messages also @message, the time of the message, or @header.NAME.",
        rich_help_panel=INPUT,
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="Field or column that holds the document's text; by default the first with a usual name.",
        rich_help_panel=INPUT,
    ),
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Field or column that holds the document's id, by which repeated documents are recognised. Of Kafka "
        "messages also @key, @key.NAME or @header.NAME.",
        rich_help_panel=INPUT,
    ),
]
TitleColumn = Annotated[
    str | None,
    typer.Option(
        "--title-column",
        help="Field or column that holds the document's title, shown on the page.",
        rich_help_panel=INPUT,
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        "--time-format",
        help="How times are written if not as usual, such as %d/%m/%Y; by default detected from the first rows.",
        rich_help_panel=INPUT,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of a file, such as cp1252 or utf-16; by default detected from its first bytes.",
        rich_help_panel=INPUT,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Character between the cells of a CSV file; by default detected from its header.", rich_help_panel=INPUT
    ),
]
VectorField = Annotated[
    str | None,
    typer.Option(
        "--vector", help="Field that holds a dense vector, followed instead of the text.", rich_help_panel=INPUT
    ),
]
Dimension = Annotated[
    int, typer.Option(min=0, help="Length of the vectors, needed with --vector.", rich_help_panel=INPUT)
]

# --- slices and topics

SlicesOption = Annotated[
    str | None,
    typer.Option(
        "--slices",
        "-s",
        help="Length of a slice, the step in which topics move: year, quarter, month, week, day, hour, minute, decade "
        "or fortnight, a multiple such as 15min, 6h or '2 weeks', or a number of documents. By default that of the "
        "corpus, day for a source, and for a replayed file the longest, from year to minute, that makes 10 slices.",
        rich_help_panel=SLICES,
    ),
]
TopicsOption = Annotated[
    int, typer.Option("--topics", "-k", min=1, help="Maximum number of active topics.", rich_help_panel=SLICES)
]
TopicsFrom = Annotated[
    Path | None,
    typer.Option(
        "--topics-from",
        help="TOML file of topics to begin with: tables [[topic]] with name and words, or example documents. The "
        "others are found.",
        rich_help_panel=SLICES,
    ),
]
LivingTopics = Annotated[
    bool,
    typer.Option(
        "--living-topics/--fixed-topics",
        help="Let topics be born, split, merge and become dormant, or keep those of the first fit.",
        rich_help_panel=SLICES,
    ),
]
WindowOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Number of recent documents that are fitted again at the end of a slice, of 16 slices at most; a slice "
        "is smoothed when it leaves this window. 0: max(1500, 50 times --topics), more of short documents.",
        rich_help_panel=SLICES,
    ),
]
RefitBudget = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Maximum work of refits at the ends of slices, as a multiple of the work of scoring; those of the first "
        "16,000 documents do not count. By default there is no maximum, and refits pause while they gain little.",
        rich_help_panel=SLICES,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0, help="Seed of all random choices; the same seed gives the same topics.", rich_help_panel=SLICES
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="Kind of snapshot to take: flat, tree or smoothed; may be repeated. By default all.",
        rich_help_panel=SLICES,
    ),
]
StoriesOption = Annotated[
    bool,
    typer.Option("--stories/--no-stories", help="Find stories besides topics.", rich_help_panel=STORIES),
]
StoryDays = Annotated[
    float,
    typer.Option(
        min=0,
        help="Days without a document after which the weight of a story of one document is halved; a story ends after "
        "8 times as many. 0 counts 300 documents instead of days.",
        rich_help_panel=STORIES,
    ),
]
StoryGrain = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="How fine stories are, below 1: about the cosine of a document with the mean direction of its story. 0 "
        "follows the length of each document, from .15 for a dozen words on. For short texts .2 leaves fewer stories "
        "of one document, and lets large ones grow less.",
        rich_help_panel=STORIES,
    ),
]
StoryComponent = Annotated[
    Literal["vmf", "cauchy"],
    typer.Option(
        help="Distribution of stories: von Mises-Fisher, or spherical Cauchy, which has heavy tails.",
        rich_help_panel=STORIES,
    ),
]
PhrasesOption = Annotated[
    bool,
    typer.Option(
        "--phrases",
        help="Use frequent phrases of two words, such as climate change, as features besides their words.",
        rich_help_panel=TEXT,
    ),
]
SmoothedStoriesOption = Annotated[
    bool,
    typer.Option(
        "--smoothed-stories",
        help="Give each kept document a second story label when 300 later ones are known; this doubles the time that "
        "stories take.",
        rich_help_panel=STORIES,
    ),
]
SampleOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Maximum number of documents kept in the run file for snapshots; 0: none.",
        rich_help_panel=SLICES,
    ),
]
SnapshotEvery = Annotated[
    int,
    typer.Option(
        "--snapshot-every",
        min=0,
        help="Take snapshots in the background every so many slices, to compare the topics with batch fits; 0: never.",
        rich_help_panel=SLICES,
    ),
]

# --- text

VocabularySize = Annotated[
    int, typer.Option("--vocabulary", min=2, help="Maximum vocabulary size, in words.", rich_help_panel=TEXT)
]
StopWords = Annotated[
    str,
    typer.Option(
        "--stop-words",
        help="Words to leave out: those of a language, such as english, german or french, of a file of words, or of "
        "several with commas between them; auto: those of the language of each document (extra: languages); none "
        "keeps all words.",
        rich_help_panel=TEXT,
    ),
]
TokeniserOption = Annotated[
    str,
    typer.Option(
        "--tokeniser",
        help="Function that cuts a text into words instead of the built-in one, as module:name, or the name under "
        "which an installed package offers it (entry points vmfstream.tokenisers).",
        rich_help_panel=TEXT,
    ),
]
Stem = Annotated[
    str,
    typer.Option(
        help="Language whose words are reduced to stems, such as english (extra: stemming); empty: no stemming.",
        rich_help_panel=TEXT,
    ),
]
Namer = Annotated[
    str | None,
    typer.Option(
        "--namer",
        help="Program that names topics. It is started for each topic that has changed, while the run goes on, gets "
        "JSON (words, phrases, documents) on standard input, and prints a name on one line within 30 s.",
        rich_help_panel=TEXT,
    ),
]
EmbedOption = Annotated[
    str,
    typer.Option(
        "--embed",
        metavar="[MODEL]",
        help="Follow topics in vectors that a model makes of the texts: wordllama, meant by --embed without a value "
        "(extra: embeddings), onnx:FILE with tokenizer.json beside it, sentence-transformers:NAME, or "
        "package.module:function.",
        rich_help_panel=TEXT,
    ),
]
NamedTokeniser = Annotated[
    str | None,
    typer.Option(
        "--tokeniser",
        help="The function that the run was made with, as named then. It is loaded only if you name it here.",
    ),
]
NamedModel = Annotated[
    str | None,
    typer.Option(
        "--embed",
        metavar="[MODEL]",
        help="The model that the run was made with. It is loaded only if you name it here, unless it is wordllama.",
    ),
]

# --- Kafka

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file whose table [kafka] sets options of the Kafka client, such as those of TLS and SASL.",
        rich_help_panel=KAFKA,
    ),
]

REGISTRY_VARIABLE = "VMFSTREAM_SCHEMA_REGISTRY"
"""Environment variable with the URL of a schema registry, which may hold a password."""

SchemaRegistryOption = Annotated[
    str | None,
    typer.Option(
        "--schema-registry",
        metavar="URL",
        envvar=REGISTRY_VARIABLE,
        help="Schema registry with Confluent's API: messages are Avro, Protobuf or JSON, as their schemas say (extras: "
        "avro, protobuf). A URL with a password is better set in the environment.",
        rich_help_panel=KAFKA,
    ),
]

# --- output

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Run file: one DuckDB file with everything the views show. By default named after the input, such as "
        "papers.duckdb for papers.jsonl.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
KeptDocumentsOption = Annotated[
    str,
    typer.Option(
        "--documents",
        help="Documents whose topics, probabilities, story and novelty the run file keeps: all, none, or the newest "
        "N of each topic and slice.",
        rich_help_panel=OUTPUT,
    ),
]
KeepText = Annotated[
    bool,
    typer.Option(
        "--keep-text",
        help="Keep the first 2,000 characters of the text of each of these documents, for search and the page.",
        rich_help_panel=OUTPUT,
    ),
]
MaxRejected = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Share of rejected messages above which a finished run exits with code 3.",
        rich_help_panel=OUTPUT,
    ),
]
MaxLate = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Share of late documents, whose slice was already closed, above which a finished run exits with code 3.",
        rich_help_panel=OUTPUT,
    ),
]
Renamed = Annotated[
    bool,
    typer.Option(
        "--renamed",
        help="Continue the run file although the source has another name now.",
        rich_help_panel=OUTPUT,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", help="HTML file to write the page to when the run ends.", rich_help_panel=OUTPUT),
]
PageTitle = Annotated[
    str | None, typer.Option("--page-title", help="Title of the stream on the page.", rich_help_panel=OUTPUT)
]
Host = Annotated[
    str,
    typer.Option(help="Address to serve the dashboard at; 0.0.0.0 lets other machines see it.", rich_help_panel=OUTPUT),
]
Port = Annotated[
    int,
    typer.Option(min=0, max=65535, help="Port to serve the dashboard at; 0: any free one.", rich_help_panel=OUTPUT),
]
Dashboard = Annotated[
    bool,
    typer.Option(
        "--dashboard",
        help="Serve the live page during the run, and afterwards until Ctrl-C (extra: dash).",
        rich_help_panel=OUTPUT,
    ),
]
Exit = Annotated[
    bool,
    typer.Option("--exit", help="With --dashboard, end when the stream does, for scripts.", rich_help_panel=OUTPUT),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Log progress and connections to standard error.", rich_help_panel=OUTPUT),
]

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format",
        help="text, or json: one JSON object per line on standard error, with progress, warnings and errors, for log "
        "collectors.",
        rich_help_panel=OUTPUT,
    ),
]

# --- performance

EpochSize = Annotated[
    int,
    typer.Option(
        "--epoch-size",
        min=1,
        help="Maximum number of documents per epoch: larger epochs are faster, smaller ones appear sooner.",
        rich_help_panel=PERFORMANCE,
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=1,
        help="Number of threads that score a batch. The last digits of sums depend on it, so a continued run keeps its "
        "number.",
        rich_help_panel=PERFORMANCE,
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        "--workers",
        min=0,
        help="Number of processes on this machine that share the reading of a Kafka topic (extra: dask); "
        "0: read in this process.",
        rich_help_panel=PERFORMANCE,
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="Dask cluster whose workers share the reading of a Kafka topic: dask://host:8786 (extra: dask).",
        rich_help_panel=PERFORMANCE,
    ),
]


def run_file_of(out: Path | None, source: str) -> Path:
    """Return ``out``, or a file in this folder that is named after the source: run.duckdb for standard input.

    Raises
    ------
    InputError
        If DuckDB cannot open a file of the name ``out``.
    """
    from vmfstream.runfile.connection import check_name

    if out is not None:
        check_name(out.expanduser().resolve())
        return out
    from vmfstream.connectors.files import ENDINGS
    from vmfstream.folders import source_name

    name = source_name(source).removesuffix(".gz")
    if Path(name).suffix.lower() in ENDINGS:
        name = Path(name).stem
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-.")
    return Path(f"{name or 'run'}.duckdb")


def is_piped(source: str) -> bool:
    """Tell whether a source is standard input."""
    return source in ("-", "stdin:")


def forms_of_lines(option: str) -> str:
    """Say how standard input is read; ``option`` is that of the format."""
    return f"standard input is read as one JSON object a line, or with {option} text as one text"


def check_vectors(vector: str | None, dimension: int, embed: str) -> None:
    """Raise InputError unless a field of vectors comes with their length and without a model (``embed``)."""
    if (vector is None) != (dimension == 0):
        raise InputError("--vector and --dimension belong together: name the field and give the length of its vectors")
    if vector is not None and embed:
        raise InputError("--embed makes vectors from texts, --vector reads vectors that are there; give one of them")


def no_file_options(source: str, encoding: str | None, delimiter: str | None) -> None:
    """Raise InputError if an option of files is given for a source that is none."""
    if not (is_piped(source) or source.lower().startswith("kafka:")):
        return
    for name, value in (("encoding", encoding), ("delimiter", delimiter)):
        if value is not None:
            what = "standard input" if is_piped(source) else "a Kafka topic"
            raise InputError(f"--{name}: expected a file with it, {what} is read as JSON or text in UTF-8")


def only_kafka(source: str, given: Mapping[str, bool]) -> None:
    """Raise InputError if one of the options ``given`` of Kafka topics stands beside another source."""
    for option, value in given.items():
        if value:
            raise InputError(
                f"{option}: expected a Kafka topic, kafka://host:9092/topic, as source with it, got {source}"
            )


def stdin_options(format: str, option: str = "--format") -> dict[str, Any]:
    """Return options of standard input, whose lines are JSON or text; ``option`` names the format in errors."""
    kinds = {"json": "jsonl", "text": "txt"}
    if format not in kinds:
        raise InputError(f"{option}: expected json or text, got {format!r}")
    return {"format": kinds[format]}


def file_options(encoding: str | None, delimiter: str | None) -> dict[str, Any]:
    """Return options of a file."""
    given = {"encoding": encoding, "delimiter": delimiter}
    return {name: value for name, value in given.items() if value is not None}


def namer_of(command: str | None) -> BackgroundNamer | None:
    """Return what asks a program for names of topics, None without one.

    Raises
    ------
    InputError
        If the command names no program.
    """
    from vmfstream.engine.loop.namer import BackgroundNamer, command_namer

    return None if command is None else BackgroundNamer(command_namer(command))


def settings_of(**given: Any) -> RunSettings:
    """Make the settings of a run; the engine is imported only here, so that ``--help`` stays quick.

    Raises
    ------
    InputError
        If no encoder can be made of them: that is found before there is a run file.
    """
    from vmfstream.engine.run import RunSettings
    from vmfstream.seeds import read_seeds, seeds_as_text

    topics_from = given.pop("topics_from", None)
    if topics_from is not None:
        given["topics_from"] = seeds_as_text(read_seeds(topics_from))
    if "language" in given:
        from vmfstream.text.filters import chosen_stop_words

        given["language"], words = chosen_stop_words(given["language"])
        given["stop_words"] = " ".join(filter(None, [given.get("stop_words", ""), *words]))
    settings = RunSettings(**given)
    settings.check_encoder()
    return settings
