"""Documents per second from lines of JSON with raw text to a log, beside scikit-learn's hashing pipeline.

The same lines of 20 Newsgroups, repeated to the wanted number, go through

- ``vmfstream``: decode, tokenise, tf-idf over the growing vocabulary, tracker, DuckDB run file (epochs of 20,000
  documents); the whole run, and ``steady``: without the first slice, whose annealed fits take as long however long the
  stream is;
- ``vmfstream, no log``: the same into memory, as the other pipeline, which writes nothing either;
- ``vmfstream, no log, one thread``: the same without a thread that reads ahead;
- ``hashing``: json.loads, HashingVectorizer, TfidfTransformer fitted on the first batch, MiniBatchKMeans.partial_fit,
  which keeps no words, writes nothing and forgets nothing.

All learn in one thread; the first two read, decode and write in others. ``cpu_us`` is what a document costs of one
core, which others on the machine disturb less than the clock. Rounds are interleaved, every run has a process of its
own; prints one JSON line per method.

    python tests/benchmarks/bench_raw_text.py [--documents 20000] [--slice 5000] [--rounds 3]
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
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

BATCH = 5000
TOPICS = 30
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def lines(documents: int) -> list[bytes]:
    """Lines of JSON, each with an id of its own."""
    from vmfstream.replay.sorted_source import CorpusSource

    with closing(CorpusSource("newsgroups")) as source:
        texts = [m.value["text"] for m in source.poll(documents, 0.0) if isinstance(m.value, dict)]
        while not source.exhausted and len(texts) < documents:
            texts += [m.value["text"] for m in source.poll(documents, 0.0) if isinstance(m.value, dict)]
    return [
        json.dumps({"id": f"d{i}", "time": 1993, "text": text}).encode()
        for i, text in enumerate(islice(cycle(texts), documents))
    ]


def vmfstream(given: list[bytes], size: int, *, written: bool = True, ahead: bool = True) -> dict[str, float]:
    """Seconds of a whole run into a log (or memory), and of its part after the first slice."""
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.connectors.memory import MemorySource
    from vmfstream.engine.run import AHEAD, RunSettings, follow
    from vmfstream.runfile.memory import MemoryStore
    from vmfstream.runfile.writer import RunFile

    settings = RunSettings(topics=TOPICS, slices=str(size), threads=1)
    with tempfile.TemporaryDirectory() as folder:
        marks = [(0, time.perf_counter())]
        follow(
            MemorySource(given),
            FieldCodec(),
            RunFile(Path(folder) / "run.duckdb") if written else MemoryStore(),
            settings,
            observe=lambda now: marks.append((now.documents, time.perf_counter())),
            ahead=AHEAD if ahead else 0,
        )
    ready, end = [mark for mark in marks if mark[0] <= size][-1], marks[-1]
    steady = (end[0] - ready[0]) / (end[1] - ready[1]) if end[0] > ready[0] else float("nan")
    return {"seconds": end[1] - marks[0][1], "steady_per_second": steady}


def hashing(given: list[bytes], size: int) -> dict[str, float]:
    """Seconds of the hashing pipeline."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    began = time.perf_counter()
    hasher = HashingVectorizer(stop_words="english", alternate_sign=False, norm=None)
    weigher = TfidfTransformer(sublinear_tf=True)
    model = MiniBatchKMeans(TOPICS, random_state=0, n_init=1, batch_size=BATCH)
    for i in range(0, len(given), BATCH):
        counts = hasher.transform([json.loads(line)["text"] for line in given[i : i + BATCH]])
        if i == 0:
            weigher.fit(counts)
        model.partial_fit(weigher.transform(counts))
    return {"seconds": time.perf_counter() - began}


METHODS: dict[str, Callable[[list[bytes], int], dict[str, float]]] = {
    "vmfstream": vmfstream,
    "vmfstream, no log": partial(vmfstream, written=False),
    "vmfstream, no log, one thread": partial(vmfstream, written=False, ahead=False),
    "hashing": hashing,
}


def one(method: str, documents: int, size: int) -> None:
    """Warm up, measure once, print."""
    given = lines(documents)
    METHODS[method](given[: 2 * BATCH : 10], BATCH // 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    used = time.process_time()
    found = METHODS[method](given, size)
    found["cpu_us"] = 1e6 * (time.process_time() - used) / documents
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found | {"texts_mib": before, "peak_mib": peak}))


def main() -> None:
    """Run all methods in turn, as often as there are rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--slice", type=int, default=5000, help="documents per slice")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.documents, given.slice)
        return
    figures: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    for _ in range(given.rounds):
        for method in METHODS:
            command = [sys.executable, __file__, "--one", method]
            command += ["--documents", str(given.documents), "--slice", str(given.slice)]
            out = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | ONE_THREAD)
            figures[method].append(json.loads(out.stdout.splitlines()[-1]))
    for method, runs in figures.items():
        middle = {name: sorted(run[name] for run in runs)[len(runs) // 2] for name in runs[0]}
        report = {
            "method": method,
            "documents": given.documents,
            "topics": TOPICS,
            "slice": given.slice,
            "documents_per_second": round(given.documents / middle["seconds"]),
            "best": round(given.documents / min(run["seconds"] for run in runs)),
            "cpu_us": round(middle["cpu_us"], 1),
        }
        if "steady_per_second" in middle:
            report["steady_per_second"] = round(middle["steady_per_second"])
        print(json.dumps(report | {"texts_mib": middle["texts_mib"], "peak_mib": middle["peak_mib"]}), flush=True)


if __name__ == "__main__":
    main()
