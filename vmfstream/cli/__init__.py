"""The commands. Heavy imports are inside the command that needs them, so that ``--help`` answers at once."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from typing import Annotated

import typer

from vmfstream import __version__
from vmfstream.cli import decide, follow, labelling, look, papers, report, snapshot
from vmfstream.cli.grouped_help import GroupedHelp
from vmfstream.cli.logs import tell_error
from vmfstream.cli.options import FORMER_NAMES
from vmfstream.errors import VmfstreamError

app = typer.Typer(
    name="vmfstream",
    help="Follow topics in a stream of documents and see how their words change.\n\n"
    "Three things to begin with: the built-in newswire, a file of your own, and a stream as it comes.\n\n"
    "\b\n"
    "vmfstream demo\n"
    "vmfstream replay papers.jsonl --slices year --html papers.html\n"
    "vmfstream run kafka://localhost:9092/news --slices hour --dashboard",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: FORMER_NAMES.get(name, name),
    },
)


def _fill_standard_streams() -> None:
    """Let standard streams that are closed lead nowhere: the next file that is opened would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin, sys.stdout, sys.stderr = (
        stream or open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        for number, (stream, mode) in enumerate([(sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w")])
    )


def main() -> None:
    """Run the command line; print an error meant for the user as one sentence and exit with code 1."""
    _fill_standard_streams()
    atexit.register(gc.freeze)  # with much compiled code, a search for unused objects takes a third of a second then
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # letters that a terminal does not have
    try:
        app()
    except VmfstreamError as error:
        tell_error(str(error))
        sys.exit(1)
    except MemoryError as error:
        tell_error(f"not enough memory ({error}); a run takes less with fewer --topics or a smaller --vocabulary")
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except (OSError, ImportError) as error:
        cause = error.__context__ or error  # where a library says that another one cannot be loaded
        if "failed to map segment" in str(cause) or getattr(error, "errno", None) == errno.ENOMEM:
            tell_error(f"not enough memory ({cause}); is it limited, as by ulimit -v?")
            sys.exit(1)
        if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what waits to be printed would fail once more
        tell_error(f"cannot write: {error.strerror}")
        sys.exit(1)
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.OutOfMemoryException):
            raise
        tell_error(f"not enough memory ({str(error).partition(chr(10))[0]}); is it limited, as by ulimit -v?")
        sys.exit(1)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Hold the options of the program itself."""
    if version:
        typer.echo(f"vmfstream {__version__}")
        raise typer.Exit


# in the order in which --help lists them; commands of many options list these in groups
app.command()(follow.demo)
app.command(cls=GroupedHelp)(follow.replay)
app.command(cls=GroupedHelp)(follow.run)
app.command(cls=GroupedHelp)(follow.publish)
app.command()(look.dashboard)
app.command()(look.export)
app.command()(look.show)
app.command()(look.documents)
app.command(cls=GroupedHelp)(labelling.label)
app.command()(labelling.freeze)
app.add_typer(decide.app, name="topic")
app.command()(report.report)
app.command()(snapshot.snapshot)
app.command()(look.corpora)
app.command()(papers.reproduce)
app.command()(look.doctor)
