"""The command that fits batch models to the sample of a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmfstream.cli.options import Kinds
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.engine.snapshots.batch import Kind


def snapshot(
    log: Annotated[Path, typer.Argument(help="A log written by replay or run; a run may go on meanwhile.")],
    kind: Kinds = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the starts; by default that of the run.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing, and leave the processor to others.")] = False,
) -> None:
    """Fit batch models to the log's sample of documents and compare them with the live topics.

    The newest closed slice is left out and judges both: nats per document that the batch fit and the tracker gave to it
    before it came. Topics of a fit have the numbers of the live ones they answer to.

    \b
    vmfstream snapshot run.duckdb                  the Bayesian mixture, a tree over its topics, the temporal mixture
    vmfstream snapshot run.duckdb --kind tree
    """
    kinds = check_kinds(kind)
    from vmfstream.engine.snapshots.batch import take_snapshots

    if quiet:
        os.nice(10)
    for one in take_snapshots(log, kinds, seed=seed):
        if not quiet:
            matched = int((one.topic[one.level == one.level.max()] >= 0).sum())
            leaves = int((one.level == one.level.max()).sum())
            typer.echo(
                f"{one.kind:<9}{one.documents:>7,} documents, bound {one.bound:.2f}, next slice {one.predicted:.2f} "
                f"(live {one.live:.2f}), {matched} of {leaves} topics are live ones"
            )


def check_kinds(kinds: list[str] | None) -> list[Kind]:
    """Return the kinds of snapshots that are wanted, all if none is named; InputError for others."""
    from vmfstream.engine.snapshots.batch import KINDS

    unknown = [kind for kind in kinds or () if kind not in KINDS]
    if unknown:
        raise InputError(f"--kind must be one of {', '.join(KINDS)}, got {unknown[0]}")
    return [kind for kind in KINDS if not kinds or kind in kinds]


def kinds_beside(kinds: list[str] | None, every: int, sample: int) -> list[Kind]:
    """Return the kinds of snapshots to take beside a run, or say what is missing for them."""
    if kinds and not every:
        raise InputError("--kind says what --snapshot-every takes; give both, or take snapshots later")
    if every and not sample:
        raise InputError("--snapshot-every needs a sample of documents; leave --sample 0 out")
    return check_kinds(kinds) if every else []
