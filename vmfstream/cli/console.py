"""What commands say while and after they work, and how they are stopped."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from vmfstream.engine.loop import engine as loop
    from vmfstream.engine.loop.engine import Engine, Observer

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def start_logging(verbose: bool) -> None:
    """Write log messages to standard error: warnings, or with ``verbose`` also what goes well."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(message)s")
    # the client of Kafka tells of every attempt to connect, Dask of every worker; what matters we pass on ourselves
    for library in ("kafka", "distributed"):
        logging.getLogger(library).propagate = verbose
        logging.getLogger(library).addHandler(logging.NullHandler())


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


def conclude(engine: Engine, log: Path, page: Path | None, stop: Stop) -> None:
    """Say what happened and where it lies, write the page if one is wanted; a run ended by Ctrl-C has code 130."""
    how = "finished" if engine.finished else "interrupted; the same command goes on from here"
    typer.echo(f"{how}: {engine.documents:,} documents, {engine.rejected:,} rejected, {engine.epoch:,} epochs")
    typer.echo(f"log: {log.resolve()}")
    if engine.finished and not engine.state.model.begun:
        typer.echo("no topics: too few documents with words that occur in more than one of them")
    if page is not None and engine.epoch:
        write_page(log, page)
    if not engine.finished and engine.epoch:
        raise typer.Exit(stop.code or 0)


def write_page(log: Path, page: Path, max_mb: float = 8.0) -> None:
    """Write the page of a log and say where it lies and what did not fit."""
    from vmfstream.dashboards.export import export_page

    report = export_page(log, page, max_mb=max_mb)
    typer.echo(f"page: {page.resolve()} ({report.bytes / 1e6:.1f} MB)")
    large = report.bytes > max_mb * 1e6
    for dropped in report.dropped:
        typer.echo(f"left out {'and still over' if large else 'to stay under'} {max_mb:g} MB: {dropped}")


@contextmanager
def dashboard_if(wanted: bool, log: Path, port: int) -> Iterator[None]:
    """Serve the live page beside the body, if somebody wants to look, and say where."""
    if not wanted:
        yield
        return
    from vmfstream.dashboards.app import beside

    with beside(log, port=port) as url:
        typer.echo(f"dashboard: {url}", err=True)
        yield


@contextmanager
def fits(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar of finished fits on a terminal, silence elsewhere."""
    with _bar() as bar:
        task = bar.add_task(title, note="")

        def observe(name: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title} {name}", completed=done, total=total)

        yield observe


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[tuple[Observer, Stop]]:
    """A progress bar on a terminal, silence elsewhere; the first Ctrl-C asks for a clean end, the second insists."""
    stop = Stop()
    previous = signal.signal(signal.SIGINT, stop.ask), signal.signal(signal.SIGTERM, stop.ask)
    try:
        with _bar() as bar:
            task = bar.add_task(title, total=total, note="")

            def observe(now: loop.Progress) -> None:
                note = f"slice {now.slice}" + (f", {now.rejected} rejected" if now.rejected else "")
                bar.update(task, completed=now.documents + now.rejected, note=note)

            yield observe, stop
    finally:
        signal.signal(signal.SIGINT, previous[0])
        signal.signal(signal.SIGTERM, previous[1])


def _bar() -> Progress:
    """A bar with room for a note, shown where somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    told = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}")
    columns = SpinnerColumn(), *told, TimeElapsedColumn()
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
