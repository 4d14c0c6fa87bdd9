"""What `vmfstream run` takes at its start and at the ends of slices, as a user gets it: with a run file, defaults.

Each figure is of a process of its own, compiled code loaded from its cache. Processor seconds are those of all threads,
user and system, of the whole command.

- ``start``: from the start of the command to the opening of its input, which is a named pipe; beside the seconds.
- ``slice of 100``: a stream of 10,000 documents of 30 words in 4 slices is read alone, and with slices of 100 after
  it; the difference divided by their number. Reading, scoring and stories of their documents are in it, refits (every
  second slice or so) and what is written.
- ``empty slice``: the same for slices without documents after the first four.
- ``few``: 600 documents of 12 words on 6 days a month apart, the first 16 days of each month between as slices of their
  own; the whole command.

The vocabulary has 10,000 words, the run 30 topics. Prints one JSON line per figure: median, least and most over rounds.

    python tests/benchmarks/bench_commands.py [--rounds 3] [--slices 60]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

TOPICS, WORDS, LENGTH = 30, 10_000, 30
FIRST = 4 * 2_500
EMPTY = 15
COMMAND = [sys.executable, "-c", "from vmfstream.cli import main; raise SystemExit(main())"]


def texts(n: int) -> Iterator[str]:
    """Yield planted documents: of each topic four fifths of the words are its own, by Zipf's law."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(5, WORDS + 5)
    share /= share.sum()
    of_topics = [np.cumsum(0.8 * share[rng.permutation(WORDS)] + 0.2 * share) for _ in range(TOPICS)]
    for topic in rng.integers(TOPICS, size=n).tolist():
        found = np.searchsorted(of_topics[topic], rng.random(LENGTH) * (1.0 - 1e-9))
        yield " ".join(f"w{word:05d}" for word in found.tolist())


def write(path: Path, documents: list[tuple[str, date]]) -> Path:
    """Write documents with their days as lines of JSON."""
    lines = (json.dumps({"id": str(i), "text": text, "time": str(day)}) for i, (text, day) in enumerate(documents))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run(path: Path, run_file: Path, *options: str) -> float:
    """Follow a file with the command; return the processor seconds."""
    run_file.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*COMMAND, "run", str(path), "--out", str(run_file), *options], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start(folder: Path) -> tuple[float, float]:
    """Return the processor seconds and seconds until the command opens its input."""
    pipe, run_file = folder / "pipe.jsonl", folder / "start.duckdb"
    run_file.unlink(missing_ok=True)
    os.mkfifo(pipe)
    began = time.perf_counter()
    with (
        subprocess.Popen(
            [*COMMAND, "run", str(pipe), "--out", str(run_file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process,
        pipe.open("w", encoding="utf-8") as opened,
    ):
        seconds = time.perf_counter() - began
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        opened.write('{"text": "red wine", "time": "2020-01-01"}\n')
    pipe.unlink()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), seconds


def tell(what: str, values: list[float], **more: float) -> None:
    """Print the median, least and most of processor seconds."""
    line = {"work": what, "processor": float(np.median(values)), "least": min(values), "most": max(values)} | more
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in line.items()}))


def main() -> None:
    """Measure in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slices", type=int, default=60)
    given = parser.parse_args()
    print("processor seconds of all threads of the command, with a run file", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder, day = Path(name), date(2020, 1, 1)
        found = list(texts(FIRST + 100 * given.slices))
        days = [day + timedelta(i // 2_500) for i in range(FIRST)]
        days += [day + timedelta(4 + i // 100) for i in range(100 * given.slices)]
        after, gap = (day + timedelta(4 + wait) for wait in (0, EMPTY))
        files = {
            "first": write(folder / "first.jsonl", list(zip(found, [*days[:FIRST], after], strict=False))),
            "small": write(folder / "small.jsonl", list(zip(found, days, strict=True))),
            "empty": write(folder / "empty.jsonl", list(zip(found, [*days[:FIRST], gap], strict=False))),
            "few": write(
                folder / "few.jsonl",
                [(" ".join(text.split()[:12]), date(2020, 1 + i // 100, 1)) for i, text in enumerate(found[:600])],
            ),
        }
        starts, runs = [], []
        for _ in range(given.rounds + 1):  # the first may compile
            starts.append(start(folder))
            runs.append({name: run(path, folder / "run.duckdb") for name, path in files.items()})
    tell("start", [used for used, _ in starts[1:]], seconds=float(np.median([wall for _, wall in starts[1:]])))
    tell("slice of 100", [(one["small"] - one["first"]) / given.slices for one in runs[1:]])
    tell("empty slice", [(one["empty"] - one["first"]) / EMPTY for one in runs[1:]])
    tell("few", [one["few"] for one in runs[1:]])


if __name__ == "__main__":
    main()
