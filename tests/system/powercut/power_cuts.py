"""Cut the power of a run at many moments, and flip bits of its file: does it go on, or say that it cannot?

python -m tests.system.powercut.power_cuts [--states N] [--commits]
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.system.powercut.program import NAME, digest, follow_planted
from tests.system.powercut.recording import KINDS, Event, State, cuts, environment, events, recorder
from vmfstream.errors import VmfstreamError
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.rollback import journal_of
from vmfstream.runfile.writer import RunFile

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a program wrote: its calls, and digests of its run file after each mark."""

    calls: Sequence[Event]
    digests: Sequence[str]
    files: Mapping[str, bytes]


def record(folder: Path, kind: str) -> Recorded:
    """Run ``tests.system.powercut.program`` and record it."""
    below, calls, digests = folder / "run", folder / "calls", folder / "digests.json"
    below.mkdir()
    subprocess.run(
        [sys.executable, "-m", "tests.system.powercut.program", below, digests, kind],
        env=environment(recorder(folder), below, calls),
        cwd=ROOT,
        check=True,
    )
    files = {file.name: file.read_bytes() for file in below.iterdir()}
    return Recorded(events(calls), json.loads(digests.read_text()), files)


def lay_out(folder: Path, files: Mapping[str, bytes | bytearray]) -> Path:
    """Write files into a folder, of which nothing else is left; return the run file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, body in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(body)
    return folder / NAME


def after_power_cut(state: State, recorded: Recorded, folder: Path) -> str:
    """Open the run file of a state; say "goes on", or what is wrong."""
    path = lay_out(folder, state.files)
    acknowledged = int(state.mark.rpartition("-")[2] or 0)
    try:
        RunFile(path)
    except VmfstreamError as error:
        return f"refused: {error}"
    found = digest(path)
    if found not in recorded.digests[acknowledged : acknowledged + 2]:
        at = recorded.digests.index(found) if found in recorded.digests else None
        return f"lost: {acknowledged} was acknowledged, {at} is there"
    if journal_of(path).exists() or {file.name for file in folder.iterdir()} - {NAME, NAME + ".lock"}:
        return f"left: {sorted(file.name for file in folder.iterdir())}"
    return "goes on"


def flipped(recorded: Recorded, folder: Path, rng: random.Random, *, locked: bool) -> str:
    """Flip a bit of the run file, read all that it holds and begin to go on; say what happened."""
    body = bytearray(recorded.files[NAME])
    at = rng.choice((rng.randrange(3 * 4096), rng.randrange(len(body))))
    body[at] ^= 1 << rng.randrange(8)
    path = lay_out(folder, {NAME: body} | ({NAME + ".lock": b"1\n"} if locked else {}))
    before = path.read_bytes()
    told = 0
    try:
        RunFile(path).resume()
        found = digest(path)
    except VmfstreamError:
        told = 1
    except Exception as error:
        if type(error).__module__ not in ("duckdb", "_duckdb"):
            return f"error: {error!r}"
        told = 1
    if told and path.read_bytes() != before:
        return "the damaged file was changed"
    if told:
        return "told"
    return "no matter" if found == recorded.digests[-1] else "WRONG"


def table(outcomes: Iterable[str]) -> str:
    """Count outcomes."""
    return ", ".join(f"{outcome}: {count}" for outcome, count in Counter(outcomes).most_common())


def main() -> None:
    """Print what happened in all states."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commits", action="store_true", help="Small transactions instead of a run.")
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorded = record(folder, "commits" if chosen.commits else "planted")
        print(f"{len(recorded.calls)} calls, {len(recorded.digests)} marks, {len(recorded.files[NAME]) / 1e6:.1f} MB")
        for kind in KINDS:
            found = []
            for number, state in enumerate(cuts(recorded.calls, kind, chosen.states, chosen.seed)):
                found.append(after_power_cut(state, recorded, folder / "state"))
                if number % 50 == 0 and not chosen.commits and found[-1] == "goes on":
                    follow_planted(folder / "state" / NAME)
                    if digest(folder / "state" / NAME) != recorded.digests[-1]:
                        found[-1] = "goes on to other results"
            print(f"power cuts, {kind}: {table(found)}", flush=True)
            bad += len(found) - found.count("goes on")
        for locked in (False, True):
            rng = random.Random(chosen.seed)
            found = [flipped(recorded, folder / "state", rng, locked=locked) for _ in range(chosen.states)]
            print(f"bit flips, {'stale' if locked else 'no'} lock: {table(found)}", flush=True)
            bad += len(found) - found.count("told") - found.count("no matter")
        Reader(folder / "run" / NAME)
    sys.exit(min(bad, 1))


if __name__ == "__main__":
    main()
