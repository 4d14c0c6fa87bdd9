"""Arguments and options that more than one command has, and the settings made of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vmfstream.engine.run import RunSettings

Out = Annotated[Path, typer.Option("--out", "-o", help="The log: one DuckDB file with everything the views show.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write the page here when the run is over.")]
Topics = Annotated[int, typer.Option("--topics", "-k", min=1, help="Most topics at one time.")]
LivingTopics = Annotated[
    bool, typer.Option("--living-topics/--fixed-topics", help="Let topics be born, split, merge and sleep, or not.")
]
SlicesOption = Annotated[
    str | None,
    typer.Option(
        "--slices",
        "-s",
        help="year, quarter, month, week, day, hour, or a number of documents per slice; by default the corpus's own, "
        "for a file replayed year, for a source day.",
    ),
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
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Snapshots to take: flat, tree or smoothed, also several; all if none is named."),
]
Sample = Annotated[int, typer.Option(min=0, help="Most documents that the log keeps for snapshots; 0: none.")]
SnapshotEvery = Annotated[
    int, typer.Option("--snapshot-every", min=0, help="Take snapshots beside the run every so many slices; 0: never.")
]
Embed = Annotated[
    str,
    typer.Option("--embed", help="Follow vectors that this sentence-transformers model makes of texts (extra)."),
]
Title = Annotated[str | None, typer.Option(help="What the page calls the stream.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file whose table [kafka] holds client options, such as those of TLS and SASL."),
]
Host = Annotated[str, typer.Option(help="Address to serve the dashboard at.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to serve the dashboard at; 0: any free one.")]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Serve the live page while the run lasts (extra: dash).")]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="Share a topic among so many processes of this machine (extra: dask).")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", help="Share a topic among a Dask cluster's workers: dask://host:8786 (extra: dask)."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more while running.")]


def settings_of(**given: Any) -> RunSettings:
    """Make the settings of a run; the engine is imported only here."""
    from vmfstream.engine.run import RunSettings

    return RunSettings(**given)
