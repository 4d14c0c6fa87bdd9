"""The command that fits batch models to the sample of documents in a run file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmfstream.cli.options import Kinds, NamedModel, NamedTokeniser
from vmfstream.errors import InputError

if TYPE_CHECKING:
    from vmfstream.engine.snapshots.batch import Kind


def snapshot(
    run_file: Annotated[
        Path, typer.Argument(metavar="RUN_FILE", help="Run file that replay or run has written, or is writing now.")
    ],
    kind: Kinds = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the random starts; by default that of the run.")
    ] = None,
    tokeniser: NamedTokeniser = None,
    embed: NamedModel = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing, and run at low priority.")] = False,
) -> None:
    """Compare the topics with batch models of a sample.

    To see whether following the stream has missed what a fit of everything at once finds: batch models are fitted to
    the documents that the run file keeps as a sample. The newest closed slice is held out, and both are scored by its
    predictive log-likelihood in nats per document. Each topic of a fit has the number of the tracked topic that it
    matches.

    \b
    vmfstream snapshot run.duckdb                  the Bayesian mixture, a tree over its topics, the temporal mixture
    vmfstream snapshot run.duckdb --kind tree
    """
    kinds = check_kinds(kind)
    from vmfstream.engine.snapshots.batch import take_snapshots

    if quiet:
        os.nice(10)
    for one in take_snapshots(run_file, kinds, seed=seed, tokeniser=tokeniser, embed=embed):
        if not quiet:
            matched = int((one.topic[one.level == one.level.max()] >= 0).sum())
            leaves = int((one.level == one.level.max()).sum())
            # the run has no topics from before its newest slice, or only one slice
            scored = "newest slice not scored, because there are no topics before it"
            if not math.isnan(one.predicted):
                scored = (
                    f"newest slice predicted with {one.predicted:.1f} nats a document, by the run with {one.live:.1f}"
                )
            typer.echo(
                f"{one.kind:<9}{one.documents:>7,} documents: {scored}; {matched} of {leaves} topics match the run's"
            )


def check_kinds(kinds: list[str] | None) -> list[Kind]:
    """Return the kinds of snapshots to take, all if none is named.

    Raises
    ------
    InputError
        If a kind does not exist.
    """
    from vmfstream.engine.snapshots.batch import KINDS

    wrong = [kind for kind in kinds or () if kind not in KINDS]
    if wrong:
        raise InputError(f"--kind must be one of {', '.join(KINDS)}, got {wrong[0]}")
    return [kind for kind in KINDS if not kinds or kind in kinds]


def background_kinds(kinds: list[str] | None, every: int, sample: int) -> list[Kind]:
    """Return the kinds of snapshots to take during a run, none if ``every`` is 0.

    Raises
    ------
    InputError
        If options contradict each other.
    """
    if kinds and not every:
        raise InputError("--kind says what --snapshot-every takes; give both, or take snapshots later")
    if every and not sample:
        raise InputError("--snapshot-every needs a sample of documents; leave --sample 0 out")
    return check_kinds(kinds) if every else []
