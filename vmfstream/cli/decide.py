"""The commands by which people correct a run: `vmfstream topic RUN_FILE ACTION`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmfstream.cli.options import RunFileArgument
from vmfstream.cli.row_output import print_rows
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.records import Decision

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True, subcommand_metavar="[ACTION [ARGS]...]")

Topic = Annotated[int, typer.Argument(metavar="TOPIC", min=0, help="Number of the topic, see: vmfstream show.")]


@app.callback()
def topic(context: typer.Context, run_file: RunFileArgument) -> None:
    """Correct topics: name, pin, merge, split, end, forbid words.

    For what you know better than the program; without an action the decisions so far are listed. A decision is applied
    once, at the next end of a slice: by the run that is writing the file, else by the next run that continues it. Names
    are given at once where no run is writing. The opposite action, such as unpin, undoes one; end cannot be undone.

    \b
    vmfstream topic run.duckdb name 7 "Brexit"
    vmfstream topic run.duckdb merge 3 9
    vmfstream topic run.duckdb split 7
    vmfstream topic run.duckdb pin 7
    vmfstream topic run.duckdb end 12
    vmfstream topic run.duckdb words --forbid cramer
    vmfstream topic run.duckdb
    """
    context.obj = run_file
    if context.invoked_subcommand is None:
        print_rows(decision_rows(run_file), False, "no decisions")


@app.command()
def name(
    context: typer.Context,
    topic: Topic,
    text: Annotated[str, typer.Argument(metavar="NAME", help='The name; "" removes it.')],
) -> None:
    """Give a topic a name, which is shown wherever the topic is."""
    _decide(context.obj, "name", topic, text=text)


@app.command()
def unname(context: typer.Context, topic: Topic) -> None:
    """Remove the name of a topic."""
    _decide(context.obj, "name", topic)


@app.command()
def pin(context: typer.Context, topic: Topic) -> None:
    """Keep a topic: it never ends, and hardly changes.

    It is not merged into another topic, and later documents hardly change its words.
    """
    _decide(context.obj, "pin", topic)


@app.command()
def unpin(context: typer.Context, topic: Topic) -> None:
    """Treat a pinned topic like the others again."""
    _decide(context.obj, "unpin", topic)


@app.command()
def merge(
    context: typer.Context,
    topic: Topic,
    into: Annotated[int, typer.Argument(metavar="INTO", min=0, help="Number of the topic that goes on.")],
) -> None:
    """Merge a topic into another one, which goes on.

    The other topic keeps its number and gets the documents of both.
    """
    _decide(context.obj, "merge", topic, into)


@app.command()
def split(context: typer.Context, topic: Topic) -> None:
    """Split a topic in two.

    The smaller half of its newest documents becomes a topic of its own.
    """
    _decide(context.obj, "split", topic)


@app.command()
def end(context: typer.Context, topic: Topic) -> None:
    """End a topic for good.

    Its newest documents go to the topic most like it. This cannot be undone.
    """
    _decide(context.obj, "end", topic)


@app.command()
def words(
    context: typer.Context,
    forbid: Annotated[list[str] | None, typer.Option("--forbid", help="Word to leave out from now on.")] = None,
    allow: Annotated[list[str] | None, typer.Option("--allow", help="Forbidden word to allow again.")] = None,
) -> None:
    """Forbid words in all topics, or allow them again.

    Each option may be given several times.
    """
    from vmfstream.decisions import check_words, decision
    from vmfstream.runfile.queries import Reader
    from vmfstream.text.tokeniser import Tokeniser

    made = [decision(kind, text=word) for kind, given in (("forbid", forbid), ("allow", allow)) for word in given or ()]
    if not made:
        raise InputError("expected words: vmfstream topic RUN_FILE words --forbid WORD or --allow WORD")
    if not Reader(context.obj).meta().get("tokeniser"):  # one of the user's own is code, which is not loaded here
        check_words(made, Tokeniser().tokens)
    _leave(context.obj, made)


@app.command()
def decisions(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line instead of a table.")] = False,
) -> None:
    """List the decisions with their outcomes.

    They are listed in the order in which they were applied, waiting ones last.
    """
    print_rows(decision_rows(context.obj), as_json, "no decisions")


def _decide(run_file: Path, kind: str, topic: int, other: int = -1, text: str = "") -> None:
    from vmfstream.decisions import decision

    _leave(run_file, [decision(kind, topic, other, text)])


def _leave(run_file: Path, made: list[Decision]) -> None:
    from vmfstream.decisions import told
    from vmfstream.runfile.decide import decide
    from vmfstream.runfile.lease import holder
    from vmfstream.runfile.queries import Reader

    done = decide(run_file, made)
    run, finished = holder(run_file.expanduser().resolve()), False
    if done:
        when = "done"
    elif run is not None:
        when = f"is applied at the next end of a slice, by process {run}"
    elif finished := Reader(run_file).newest().finished:
        when = "waits: this run is finished, and applies it when a slice of later documents ends"
    else:
        when = "waits for the run that goes on with this file, to be applied at the end of its next slice"
    for one in made:
        typer.echo(f"{told(one)}: {when}")
    if finished:
        typer.echo(
            "add later documents to those that were read, and repeat the command of the run; or make a new run of the "
            "same documents, stop it with Ctrl-C where it shall be applied, decide, and repeat its command"
        )


def decision_rows(run_file: Path) -> list[dict[str, Any]]:
    """Return one row per decision of a run file, in order; those that wait come last, without a number."""
    from vmfstream.decisions import told
    from vmfstream.runfile.queries import Reader

    reader = Reader(run_file)
    labels = reader.slice_labels()
    return [
        {
            "number": one.number or None,
            "made": f"{one.made:%Y-%m-%d %H:%M}",
            "decision": told(one),
            "slice": labels.get(one.slice),
            "outcome": _outcome(one),
        }
        for one in [*reader.applied_decisions(), *reader.waiting_decisions()]
    ]


def _outcome(one: Decision) -> str:
    if not one.number:
        return "waits"
    if one.refused:
        return f"refused: {one.refused}"
    new = f", new topic {one.other}" if one.kind == "split" else ""
    undone = "" if one.undone_by is None else f", undone by {one.undone_by}"
    return f"applied{new}{undone}"
