"""The command that computes the tables and figures of papers again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from vmfstream import __version__
from vmfstream.cli.console import INTERRUPTED, fits


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
        with Workers(kept, jobs or os.cpu_count() or 1) as workers, fits(chosen.name) as observe:
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
