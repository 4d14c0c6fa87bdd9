"""Progress, results and interruption of commands."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import typer

from vmfstream.cli.diagnosis import counted, told_of_slices
from vmfstream.cli.logs import ProgressLog, for_terminal, tell, tell_error
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from vmfstream.dashboards.printed import PaperSize
    from vmfstream.engine.loop import engine as loop
    from vmfstream.engine.loop.engine import Engine, Observer
    from vmfstream.engine.loop.state import EngineState

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class StopSignal:
    """Whether a signal asked the command to stop, and the exit code to end with then."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.step: Callable[[], None] = lambda: None  # called at every step of the loop
        self._asked_at = time.monotonic()

    def __call__(self) -> bool:
        """Tell whether to stop; a loop asks this at every step."""
        self._asked_at = time.monotonic()
        self.step()
        return self.code is not None

    def silence(self) -> float:
        """Return the seconds since the last step of the loop."""
        return time.monotonic() - self._asked_at

    def ask(self, number: int, frame: object = None) -> None:
        """Handle a signal: the first asks for a clean end, Ctrl-C after it interrupts at once.

        Others may come twice: ``timeout`` sends SIGTERM to its process and to the group of that.
        """
        if number == _HANGUP:
            _print_nowhere()
        if self.code is None:
            self.code = INTERRUPTED if number == signal.SIGINT else 0
        elif number == signal.SIGINT:
            raise KeyboardInterrupt


_HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none


def _print_nowhere() -> None:
    """Let what is printed go nowhere if the terminal is gone: each line would be an error."""
    for number in (1, 2):
        try:
            os.write(number, b"")
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


_UNWRAPPED = 100_000  # characters of a line that is never broken

_DRAFT = ".4194304.part"  # what is longest behind the name of a file while it is written

WRONG_INPUT = 3
"""Exit code of a finished run with more late or rejected documents than it was allowed."""


def check_outputs(outputs: Mapping[str, Path | None], read: Path | None = None) -> None:
    """Raise InputError for a place where nothing can be written, or where something is lost, before any work.

    Parameters
    ----------
    outputs : paths by option, which must differ, and hold no run file
    read : a run file that is read and must stay; without one, ``--out`` names a run file, which is gone on with
    """
    from vmfstream.runfile.connection import is_run_file

    taken = [] if read is None else [("the run file that is read", read)]
    for name, path in outputs.items():
        if path is None:
            continue
        try:
            _check_output(name, path)
            for what, other in taken:
                same = os.path.realpath(path) == os.path.realpath(other)
                if same or (path.exists() and other.exists() and path.samefile(other)):
                    raise InputError(f"{name}: {path} is {what}; choose another path")
            if is_run_file(path) and (read is not None or name != "--out"):
                raise InputError(f"{name}: {path} is a run file, which would be lost; choose another path")
        except OSError as error:
            raise InputError(f"{name}: cannot write {path}: {error.strerror}") from error
        taken.append((f"what {name} names", path))


def _check_output(name: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{name}: expected a file, {path} is a folder")
    if name == "--html" and path.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(f"{name}: expected a name that ends in .html, got {path.name}; vmfstream export writes a PDF")
    with suppress(FileNotFoundError, NotADirectoryError):
        path.with_name(path.name + _DRAFT).lstat()  # fails if the name is too long
    if not path.parent.is_dir():
        raise InputError(f"{name}: the folder {path.parent} does not exist; create it, or choose another path")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{name}: no permission to write {path}")


def conclude(
    engine: Engine,
    run_file: Path,
    page: Path | None,
    stop: StopSignal,
    *,
    topics: int,
    stay: Callable[[], None] | None = None,
    late: float = 1.0,
    rejected: float = 1.0,
) -> None:
    """Print the result of a run, write the page if asked for; exit with code 130 after Ctrl-C.

    Parameters
    ----------
    engine, run_file : the run that ended, and where it was written
    page : HTML file to write, None for none
    stop : whether a signal ended the run
    topics : most topics that were asked for
    stay : called at last if the run was not interrupted; waits as long as a page is served
    late, rejected : shares of late documents and rejected messages, above which a finished run exits with code 3
    """
    if not (engine.finished or engine.epoch) and stop.code is None:
        run_file.unlink(missing_ok=True)  # it holds nothing
        raise InputError("expected documents, found none")
    how = "finished" if engine.finished else "interrupted; the same command goes on from here"
    documents, epochs = counted(engine.documents, "document"), counted(engine.epoch, "epoch")
    typer.echo(f"{how}: {documents}, {engine.rejected:,} rejected, {epochs}")
    typer.echo(f"run file: {run_file.resolve()}")
    if engine.finished:
        typer.echo(_topics_found(engine.state, topics, engine.documents))
    wrong = _told_at_the_end(run_file, engine.finished, late, rejected) if engine.epoch else []
    if page is not None and engine.epoch:
        write_page(run_file, page)
    if not engine.finished:
        raise typer.Exit(stop.code or 0)
    if wrong:
        tell_error("; ".join(wrong))
    if stay is not None:
        stay()
    if wrong:
        raise typer.Exit(WRONG_INPUT)


def _told_at_the_end(run_file: Path, finished: bool, most_late: float, most_rejected: float) -> list[str]:
    """Give names that came after the last slice had ended; print which decisions wait and what is odd about the input.

    Returns what is above its limit.
    """
    from vmfstream.cli.diagnosis import told_of_input
    from vmfstream.runfile.decide import give_waiting_names
    from vmfstream.runfile.queries import Reader

    if finished and (waiting := give_waiting_names(run_file)):
        typer.echo(
            f"{counted(waiting, 'decision')} came after the last slice had ended; a slice of later documents has to "
            f"end for {'it' if waiting == 1 else 'them'} to be applied: vmfstream topic {run_file}"
        )
    reader = Reader(run_file)
    with reader.at_once():
        told = [*(told_of_slices(reader) if finished else ()), *told_of_input(reader)]
        counts = reader.counts()
    for line in told:
        typer.echo(for_terminal(line))
    wrong = []
    if counts.late_share > most_late:
        wrong.append(f"{counts.late_share:.1%} of the documents were late, more than --max-late {most_late:g}")
    if counts.rejected_share > most_rejected:
        wrong.append(
            f"{counts.rejected_share:.1%} of the messages were rejected, more than --max-rejected {most_rejected:g}"
        )
    return wrong


def _topics_found(state: EngineState, most: int, documents: int) -> str:
    """Say how many topics there are at the end of a run, and why if their number was bounded by the documents."""
    from vmfstream.text.encoders import VectorEncoder

    found, active = len(state.model.ids), state.model.active
    if not documents:
        return "no topics: no documents"
    if not found and isinstance(state.encoder, VectorEncoder):
        return "no topics: all numbers of all vectors are 0"
    if not found:
        return (
            "no topics: no word is in at least two documents (three, once there are 1,000) and in at most half of "
            "them; numbers, emoji and words of more than 40 characters do not count; are the texts in another field "
            "(--text), or too few?"
        )
    if documents < 2 * most:  # a first fit has at most half as many
        return f"topics: {found:,}; {documents:,} documents are too few for {most:,}, each of which needs at least two"
    if active > most:
        return f"topics: {found:,}, {active:,} of them active: new and returned ones may be more than {most:,}"
    if found > most:  # dormant ones keep their numbers
        return f"topics: {found:,}, {active:,} of them active"
    return f"topics: {found:,} of at most {most:,}"


P = ParamSpec("P")


def damage_told(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command, whose first argument is a run file, say what is wrong with that if it fails for its rows."""

    @wraps(command)
    def told(*args: P.args, **given: P.kwargs) -> None:
        from vmfstream.runfile.verification import rows_checked_on_failure

        with rows_checked_on_failure(Path(str(args[0] if args else given["run_file"]))):
            command(*args, **given)

    return told


def write_page(run_file: Path, page: Path, max_mb: float = 8.0, *, paper: PaperSize | None = None) -> None:
    """Write the page of a run file; print its path and size, and what was left out to keep the size.

    Parameters
    ----------
    run_file : Path
    page : Path
        File to write.
    max_mb : float
        Size of the HTML page.
    paper : {"a4", "letter"}, optional
        Print it as a PDF on this paper.
    """
    if paper is None:
        from vmfstream.dashboards.export import export_page

        report = export_page(run_file, page, max_mb=max_mb)
    else:
        from vmfstream.dashboards.printed import print_page

        report = print_page(run_file, page, paper=paper, max_mb=max_mb)
    typer.echo(f"page: {page.resolve()} ({report.bytes / 1e6:.1f} MB)")
    if report.per > 1:
        typer.echo(f"each date of the page stands for {report.per:,} slices, of which there are too many")
    large = paper is None and report.bytes > max_mb * 1e6
    for dropped in report.dropped:
        typer.echo(f"left out {'and still over' if large else 'to stay under'} {max_mb:g} MB: {dropped}")


@contextmanager
def dashboard_if(wanted: bool, run_file: Path, port: int, leave: bool) -> Iterator[Callable[[], None] | None]:
    """Serve the live page during the body and print its address; yield a function that waits for Ctrl-C, or None.

    Parameters
    ----------
    wanted : whether to serve at all
    run_file : what the page shows
    port : where it listens, 0 for any free port
    leave : do not wait
    """
    if not wanted:
        yield None
        return
    from vmfstream.dashboards.app import beside

    with beside(run_file, port=port) as url:
        tell(f"dashboard: {url}")

        def stay() -> None:
            asked = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: asked.set())
            tell(f"the page stays at {url} until Ctrl-C; afterwards: vmfstream dashboard {run_file}")
            asked.wait()

        yield None if leave else stay


@contextmanager
def fits(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar of finished fits on a terminal, nothing elsewhere."""
    with _bar(timed=True) as bar:
        task = bar.add_task(title, note="")

        def observe(name: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title} {name}", completed=done, total=total)

        yield observe


@contextmanager
def stopping() -> Iterator[StopSignal]:
    """Yield a `StopSignal` that handles signals; under nohup the end of the terminal is none."""
    stop = StopSignal()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if _HANGUP is not None and signal.getsignal(_HANGUP) != signal.SIG_IGN:
        numbers.append(_HANGUP)
    previous = {number: signal.signal(number, stop.ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[tuple[Observer, StopSignal]]:
    """Show a progress bar on a terminal, nothing elsewhere; yield an observer, and a `StopSignal` that handles signals.

    ``total`` are the documents to come, if that is known.
    """
    with counting(title, total) as (show, stop):
        logged = ProgressLog()
        stop.step = logged.catch_up

        def observe(now: loop.Progress) -> None:
            show(now.documents, now.rejected, f"slice {now.slice}")
            logged(now)

        try:
            yield observe, stop
        finally:
            logged.catch_up(at_once=True)


_AS_TERMINAL = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables by which rich takes something else for a terminal."""


@contextmanager
def counting(title: str, total: int | None = None) -> Iterator[tuple[Callable[..., None], StopSignal]]:
    """Show a progress bar on a terminal; yield what tells it of documents, rejects and a note, and a `StopSignal`."""
    with stopping() as stop:
        if not (sys.stderr.isatty() or _AS_TERMINAL & os.environ.keys()):  # rich need not be imported then
            yield lambda *_: None, stop
            return
        with _bar(timed=total is not None) as bar:
            task = bar.add_task(title, total=total, note="")

            def show(documents: int, rejected: int, note: str = "") -> None:
                parts = [note] * bool(note) + [f"{rejected} rejected"] * bool(rejected)
                bar.update(task, completed=documents + rejected, note=", ".join(parts))

            yield show, stop


def table_console() -> Console:
    """Return where to print tables: as wide as the terminal, or with lines of any length into a file or a pipe."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_UNWRAPPED)


def _bar(*, timed: bool) -> Progress:
    """Return a bar with room for a note, ``timed`` with an estimate of the time left; shown on terminals only."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    parts = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}")
    left = (TimeRemainingColumn(), TextColumn("left")) if timed else ()
    return Progress(
        SpinnerColumn(),
        *parts,
        TimeElapsedColumn(),
        *left,
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
