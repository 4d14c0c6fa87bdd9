"""The command that reproduces the tables and figures of papers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from vmfstream import __version__
from vmfstream.cli.console import INTERRUPTED, fits, table_console


def reproduce(
    paper: Annotated[
        str, typer.Argument(help="Paper to reproduce: banerjee, sra, gopal-yang, li or nguyen; or streams.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tables and figures of the paper, such as table1 figure2; by default all."),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=1, help="Number of random starts of every fit; the papers use 10 to 20.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first start and of simulated data.")] = 0,
    jobs: Annotated[int, typer.Option(min=0, help="Number of processes, of one thread each; 0: one per core.")] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for finished fits; by default in the user's cache folder.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="HTML file to write the tables and figures to.")] = None,
) -> None:
    """Compute the tables of a paper, beside the printed values.

    To check the models against the papers that they are from. Finished fits are cached under a key of all that
    determines them (data, code, libraries, settings), so that the same command continues after Ctrl-C. Figures are
    drawn on the page of --html; without it their numbers are printed. Where the data differ from those of the paper,
    the output says how.

    \b
    vmfstream reproduce banerjee table1
    vmfstream reproduce banerjee table5 figure2 --restarts 3 --html banerjee.html
    vmfstream reproduce sra --html sra.html
    """
    from vmfstream.folders import cache_folder
    from vmfstream.replay.papers.catalogue import Effort, find_paper, recompute
    from vmfstream.replay.papers.console import print_shown
    from vmfstream.replay.papers.page import write_page
    from vmfstream.replay.papers.work import Workers

    chosen = find_paper(paper)
    kept = cache or cache_folder() / "reproduce"
    console = table_console()
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
