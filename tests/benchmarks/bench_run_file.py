"""Time of a commit and of reading, one JSON line for each size of a log.

python tests/benchmarks/bench_run_file.py [--epochs N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from vmfstream.records import Arrays, Commit, EpochReport, Slice, SliceReport, TopicRows
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

_WORDS_PER_EPOCH, _WORDS_PER_SLICE = 20, 60


def topics(k: int, words: int) -> TopicRows:
    """Return ``k`` topics with ``words`` words each."""
    numbers = np.random.default_rng(0).random(k)
    names = [[(f"word{topic}_{rank}", 0.5) for rank in range(words)] for topic in range(k)]
    return TopicRows(np.arange(k), numbers, numbers, numbers, numbers, numbers, numbers, numbers, numbers, names)


def commits(k: int, d: int, epochs: int, slice_every: int) -> list[Commit]:
    """Return epochs of ``k`` topics over ``d`` words; the states are arrays of the size that a tracker keeps."""
    rng = np.random.default_rng(1)
    state: Arrays = {
        "mean": rng.random((d, k), dtype=np.float32),
        "vocabulary": rng.integers(0, 255, 80 * d, dtype=np.uint8),
    }
    beliefs: Arrays = {"psi": rng.random((d, k), dtype=np.float32)}
    now = datetime.now(UTC)
    short, long = topics(k, _WORDS_PER_EPOCH), topics(k, _WORDS_PER_SLICE)
    made = []
    for epoch in range(epochs):
        part = Slice(epoch // slice_every, str(epoch), now, now)
        report = EpochReport(epoch, part, 1000, 0, 0, 0, 0.0, 1.0, 0.1, short)
        ends = epoch % slice_every == slice_every - 1
        closed = (SliceReport(part, 1000, 1.0, 0.9, False, d, long, None),) if ends else ()
        made.append(Commit(report, closed, (), {"file": epoch}, state, beliefs if ends else None))
    return made


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    for k, d in [(10, 2_000), (30, 20_000), (50, 50_000)]:
        with tempfile.TemporaryDirectory() as folder:
            run_file = RunFile(Path(folder) / "run.duckdb")
            seconds: list[float] = []
            slice_seconds: list[float] = []
            for commit in commits(k, d, epochs, slice_every=5):
                begun = time.perf_counter()
                run_file.commit(commit)
                (slice_seconds if commit.closed else seconds).append(time.perf_counter() - begun)
            begun = time.perf_counter()
            checkpoint = run_file.resume()
            resumed = time.perf_counter() - begun
            reader = Reader(run_file.path)
            begun = time.perf_counter()
            reader.newest()
            newest = time.perf_counter() - begun
            begun = time.perf_counter()
            reader.words("filtered")
            words = time.perf_counter() - begun
            line = {
                "bench": "log",
                "topics": k,
                "dimension": d,
                "epochs": epochs,
                "state_mb": sum(a.nbytes for a in checkpoint.open_state.values()) / 1e6 if checkpoint else 0.0,
                "commit_ms": 1e3 * float(np.median(seconds)),
                "commit_worst_ms": 1e3 * max(seconds),
                "slice_commit_ms": 1e3 * float(np.median(slice_seconds)),
                "resume_ms": 1e3 * resumed,
                "newest_ms": 1e3 * newest,
                "words_ms": 1e3 * words,
                "file_mb": run_file.path.stat().st_size / 1e6,
            }
            print(
                json.dumps({name: round(x, 1) if isinstance(x, float) else x for name, x in line.items()}), flush=True
            )


if __name__ == "__main__":
    main()
