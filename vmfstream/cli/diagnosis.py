"""Check the installation and a run file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from vmfstream.errors import VmfstreamError, without_secrets

if TYPE_CHECKING:
    from datetime import timedelta

    from vmfstream.runfile.queries import Reader, Rejections, SliceFrame

MOST_LATE = MOST_EMPTY = MOST_REJECTED = 0.1
"""Share of late documents, of those without a known word, and of rejected messages, above which something is wrong."""

_SHOWN = 80  # characters of a setting

PACKAGES = ("numpy", "scipy", "numba", "duckdb", "plotly", "scikit-learn", "river", "kafka-python")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: what was checked, what was found, and whether that is good."""

    what: str
    found: str
    good: bool = True


def examine(
    run_file: Path | None = None, *, deep: bool = False, compressed: Callable[[], int] | None = None
) -> Iterator[Check]:
    """Check Python, the libraries, the compiled kernels, and a run file if one is named; ``deep`` reads all of it.

    ``compressed`` returns the bytes of the run's documents, compressed, to compare the size of the run file with.
    """
    yield Check("python", sys.version.split()[0], sys.version_info >= (3, 11))
    for name in PACKAGES:
        try:
            yield Check(name, version(name))
        except PackageNotFoundError:
            yield Check(name, "not installed", False)
    yield _kernels()
    if run_file is not None:
        yield from _run_file(run_file)
        if compressed is not None:
            yield from _compared(run_file, compressed())
        if deep:
            yield from _contents(run_file)


def _kernels() -> Check:
    import numpy as np

    from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio

    kappa = 4166.6
    back = float(inv_bessel_ratio(20_000, bessel_ratio(20_000, kappa)))
    return Check("compiled kernels", f"concentration {kappa} comes back as {back:.1f}", bool(np.isclose(kappa, back)))


def _run_file(path: Path) -> Iterator[Check]:
    from vmfstream.runfile.queries import Reader

    try:
        reader = Reader(path)
        with reader.at_once():
            meta, newest, rejections = reader.meta(), reader.newest(), reader.rejections()
            counts, labels, sizes, cut = reader.counts(), reader.slice_labels(), reader.sizes(), reader.cut_epochs()
    except VmfstreamError as error:
        yield Check(without_secrets(str(path)), str(error), False)
        return
    state = "finished" if newest.finished else "can be continued"
    begun = (
        f"{meta['title']}, written by version {meta.get('version', '?')}" if "title" in meta else "nothing was read yet"
    )
    yield Check(str(path), f"{begun}, {state}")
    yield Check("settings", _settings(meta))
    newest_slice = "none" if newest.slice is None else labels.get(newest.slice, str(newest.slice))
    yield Check("epochs", f"{max(newest.epoch, 0):,}, newest closed slice {newest_slice}")
    yield Check("rejected", _rejected(rejections, counts.rejected_share), counts.rejected_share <= MOST_REJECTED)
    late = counted(counts.late, "document") + (f", {counts.late_share:.1%} of all" if counts.late else "")
    yield Check("late", late, counts.late_share <= MOST_LATE)
    yield Check("repeatable", f"no: {cut_by_clock(cut)}" if cut else "yes: no epoch was cut by the clock or a stop")
    yield Check("size", _sized(sizes))
    yield from _isotropy(reader)


def _settings(meta: Mapping[str, str]) -> str:
    """Say which settings of a run are not the usual ones: it can be continued with the same only."""
    from vmfstream.engine.run import RunSettings

    usual = RunSettings().as_text()
    kept = [name for name in usual if name not in ("title", "licence", "begins", "version")]
    found = [f"{name} = {meta[name][:_SHOWN]}" for name in kept if name in meta and meta[name] != usual[name]]
    return ", ".join(found) or "the usual ones"


def _isotropy(reader: Reader) -> Iterator[Check]:
    """Say how evenly vectors spread around topics at the end of the newest slice; nothing where documents are words."""
    import numpy as np

    frame = reader.quality()
    known = np.flatnonzero(~np.isnan(frame.isotropy))
    if known.size:
        newest = known[frame.slice[known] == frame.slice[known].max()]
        found = frame.isotropy[newest]
        label, least = reader.slice_labels()[int(frame.slice[newest[0]])], int(found.argmin())
        told = f"{found.mean():.1%} on average in {label}, least in topic {frame.topic[newest[least]]}"
        yield Check("isotropy", f"{told}: {found[least]:.1%}")


def told_of_input(reader: Reader) -> Iterator[str]:
    """Say why messages were rejected, and how many documents were late.

    That many documents had no words is told too, and that the run cannot be repeated if so.
    """
    from vmfstream.cli.options import forms_of_lines, is_piped

    with reader.at_once():
        counts, rejections, cut = reader.counts(), reader.rejections(), reader.cut_epochs()
    first, others = rejections.most_frequent()
    if rejections.total:
        yield f"rejected: {counted(rejections.total, 'message')} ({counts.rejected_share:.1%})"
    for kind, number in first.items():
        yield f"rejected: {number:,} x {rejections.samples[kind]}"
    if others:
        yield f"rejected for other reasons: {others:,}"
    if counts.rejected_share == 1.0 and is_piped(reader.meta().get("source", "")):
        yield (
            f"{forms_of_lines('--format')}; let vmfstream run or replay read a table, an array or a packed file itself"
        )
    if cut:
        yield f"not repeatable: {cut_by_clock(cut)}"
    if counts.late:
        yield (
            f"late: {counted(counts.late, 'document')} ({counts.late_share:.1%}) came after their slice was closed and "
            f"{'was' if counts.late == 1 else 'were'} counted in the slice that was open then: they came out of "
            "order (vmfstream replay sorts by time), or after the end of a run, which closes its slice"
        )
    if counts.empty_share > MOST_EMPTY:
        yield (
            f"without a topic: {counted(counts.empty, 'document')} ({counts.empty_share:.1%}) held no word that the "
            "topics know; are the texts in another field (--text), or in need of another tokeniser (--tokeniser)?"
        )


def counted(number: int, noun: str) -> str:
    """Return a ``number`` with its ``noun``, which gets an s if there is not one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


FEW_SLICES, MANY_DOCUMENTS = 2, 200
"""Slices that show no change of topics, and documents that are enough for more slices."""

MANY_SLICES = 500
"""Slices of which each costs an end, rows and room on the page: too many of fewer documents than `ENOUGH`."""

LONG_GAP, FAR = 20, 10
"""Slices without documents that are told if they are also so many times as long as all others together."""

_SHORTER = {
    "decade": "year",
    "year": "month",
    "quarter": "month",
    "month": "week",
    "fortnight": "day",
    "week": "day",
    "day": "hour",
    "hour": "minute",
}


def told_of_slices(reader: Reader) -> Iterator[str]:
    """Say what to do if a run that ended has slices that are too long or too short, or some far from all others."""
    import numpy as np

    slices, length = reader.slices(), reader.meta().get("slices", "")
    yield from told_of_far_slices(slices)
    found, documents = int((slices.n > 0).sum()), int(slices.n.sum())
    if 0 < found <= FEW_SLICES and documents >= MANY_DOCUMENTS:
        shorter = f"--slices {_SHORTER[length]}, or " if length in _SHORTER else ""
        yield (
            f"{counted(found, 'slice')} ({length}): too few to see topics change; try {shorter}a number of documents, "
            "such as --slices 100, with another --out"
        )
    timed = slices.slice.size and not np.isnat(slices.ends[-1])
    span = (slices.ends[-1] - slices.begins[0]).astype("timedelta64[us]").item() if timed else None
    yield from told_of_short_slices(found, documents, length, span)


def told_of_short_slices(slices: int, documents: int, length: str, span: timedelta | None) -> Iterator[str]:
    """Say what to do if so many slices hold few documents each.

    Parameters
    ----------
    slices, documents : how many slices hold how many documents
    length : of the slices
    span : the time from the first to the last, None for slices of a number of documents
    """
    from vmfstream.slicing import ENOUGH, long_enough

    if slices >= MANY_SLICES and documents < ENOUGH * slices:
        longer = "" if span is None else long_enough(documents, span)
        yield (
            f"{counted(slices, 'slice')} ({length}) of {documents / slices:.1f} documents on average: each takes the "
            "time of a slice end, rows of the run file and room on the page; "
            f"try {f'--slices {longer}, or ' if longer else ''}a number of documents, such as --slices 100, with "
            "another --out"
        )


def told_of_far_slices(slices: SliceFrame) -> Iterator[str]:
    """Say which documents lie before or after an empty time that is far longer than that of all others."""
    import numpy as np

    held = np.flatnonzero(slices.n > 0)
    number, n, label = slices.slice[held], slices.n[held], slices.label[held]
    for _ in range(2):  # there may be some on either side
        if number.size < 2:
            return
        at = int(np.argmax(np.diff(number))) + 1
        gap = int(number[at] - number[at - 1])
        early = n[:at].sum() < n[at:].sum()
        few, rest = (slice(0, at), slice(at, None)) if early else (slice(at, None), slice(0, at))
        if gap <= max(LONG_GAP, FAR * (int(np.ptp(number[rest])) + 1)):
            return
        dates = label[few][0] if label[few].size == 1 else f"{label[few][0]} to {label[few][-1]}"
        yield (
            f"far away: {counted(int(n[few].sum()), 'document')} of {dates}, {counted(gap - 1, 'empty slice')} "
            f"{'before' if early else 'after'} all others; are the times right? See --time and --time-format"
        )
        number, n, label = number[rest], n[rest], label[rest]


def cut_by_clock(epochs: int) -> str:
    """Say that so many ``epochs`` ended before they were full, and what follows."""
    whole = "it was full" if epochs == 1 else "they were full"
    return (
        f"{counted(epochs, 'epoch')} ended before {whole} (--linger, a stop, or workers that "
        "waited for each other); the same documents give other last digits, or other topic ids, next time"
    )


def _contents(path: Path) -> Iterator[Check]:
    """Read every row and every state of a run file."""
    from vmfstream.engine.loop.state_agreement import state_problems
    from vmfstream.runfile.verification import problems

    try:
        found = list(problems(path)) or list(state_problems(path))
    except VmfstreamError as error:
        found = [str(error)]
    for one in found:
        yield Check("contents", one, False)
    if not found:
        yield Check("contents", "every row and the saved states were read, and agree")


def _compared(path: Path, compressed: int) -> Iterator[Check]:
    """Compare each table with the compressed documents."""
    from vmfstream.runfile.queries import Reader

    try:
        sizes = Reader(path).sizes()
    except VmfstreamError:  # told already
        return
    whole = sum(sizes.values())
    yield Check(
        "compared",
        f"{whole / 1e6:.2f} MB, {whole / max(compressed, 1):.1f} times the {compressed / 1e6:.2f} MB of its documents, "
        "gzipped",
    )
    for name, size in sizes.items():
        if size >= LEAST_TOLD * whole:
            told = f"{size / 1e6:.2f} MB, {size / max(compressed, 1):.2f} times"
            yield Check(f"compared, {name or 'free'}", told)


LEAST_TOLD = 0.01
"""Share of a run file from which on a table is listed."""


def _sized(sizes: dict[str, int]) -> str:
    """Say how large a run file is and which tables take most of it; ``sizes`` has free space under ``""``."""
    parts = [f"{name or 'free'} {size / 1e6:.1f}" for name, size in sizes.items() if size >= 100_000]
    return f"{sum(sizes.values()) / 1e6:.1f} MB" + (f" ({', '.join(parts)})" if parts else "")


def _rejected(rejections: Rejections, share: float) -> str:
    """Say how many messages were rejected, their ``share``, and samples of the three most frequent reasons."""
    first, others = rejections.most_frequent()
    reasons = [f"{count:,} x {rejections.samples[reason]}" for reason, count in first.items()]
    reasons += [f"{others:,} others"] if others else []
    told = counted(rejections.total, "message")
    return f"{told}, {share:.1%} ({'; '.join(reasons)})" if reasons else told


def profile_lines(run_file: Path) -> Iterator[str]:
    """Say where the time of a run went: a table of its stages with seconds and shares of the time that passed."""
    from vmfstream.runfile.queries import Reader
    from vmfstream.stages import ELAPSED, STAGES

    seconds = Reader(run_file).stages()
    if not seconds.get(ELAPSED):
        yield f"{run_file} holds no stage times: it was last written by a version that did not record them"
        return
    yield f"{'stage':<12}{'seconds':>10}{'share':>8}"
    for stage, what in (STAGES | {ELAPSED: "from the opening of the run file to its last epoch"}).items():
        if stage in seconds:
            yield f"{stage:<12}{seconds[stage]:>10,.2f}{seconds[stage] / seconds[ELAPSED]:>8.1%}  {what}"
    yield "Reading, stories and writing run in parallel with the other stages, so shares can add up to more than 100 %."
