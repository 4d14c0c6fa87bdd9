"""What options of ``vmfstream run`` cost: processor time of the whole command with each, beside the command without.

The documents are made up: 100 words each, drawn by a steep law from 20,000, a quarter of them from 300 words of one of
30 topics. They lie in a file; the command starts, reads, follows 30 topics in slices of 10,000 with stories, and writes
its run file. Rounds are interleaved; prints one JSON line per option with the least seconds and the rate relative to
that without options.

    python tests/benchmarks/bench_options.py [--documents 60000] [--rounds 2]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

OPTIONS = {
    "none": [],
    "--documents all": ["--documents", "all"],
    "--documents all --keep-text": ["--documents", "all", "--keep-text"],
    "--documents all --smoothed-stories": ["--documents", "all", "--smoothed-stories"],
    "--phrases": ["--phrases"],
    "--stop-words auto": ["--stop-words", "auto"],
}
TOPICS, WORDS, OWN, LENGTH = 30, 20_000, 300, 100


def lines(documents: int, seed: int = 0) -> Iterator[str]:
    """Documents as lines of JSON."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnoprstuvwz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(4, 11, WORDS)])
    own = np.array([rng.permutation(WORDS)[:OWN] for _ in range(TOPICS)])
    for at in range(documents):
        drawn = (WORDS * rng.random(LENGTH) ** 6).astype(np.int64)
        drawn[: LENGTH // 4] = own[rng.integers(TOPICS), (OWN * rng.random(LENGTH // 4) ** 2).astype(np.int64)]
        yield json.dumps({"id": f"d{at}", "time": 2001, "text": " ".join(words[rng.permutation(drawn)])})


def seconds(file: Path, options: list[str]) -> float:
    """Return the processor time of a command from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "vmfstream", "run", str(file), "--slices", "10000", "--threads", "1"]
        command += ["--out", f"{folder}/run.duckdb", *options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure all options in turn, as often as there are rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in OPTIONS}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents.jsonl"
        file.write_text("".join(line + "\n" for line in lines(given.documents)))
        for _ in range(given.rounds):
            for name, options in OPTIONS.items():
                found[name].append(seconds(file, options))
    plain = min(found["none"])
    for name, some in found.items():
        least = min(some)
        print(json.dumps({"options": name, "documents": given.documents, "cpu_s": some, "rate": plain / least}))


if __name__ == "__main__":
    main()
