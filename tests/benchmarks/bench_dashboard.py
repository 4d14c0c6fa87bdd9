"""The page of a large log: queries and figures of each view, and drawing in Chromium; one JSON line each.

    python tests/benchmarks/bench_dashboard.py [--topics 100] [--slices 500]

Fails if a picture takes more than twice its budget.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from vmfstream.dashboards import PANELS, panel
from vmfstream.dashboards.app import Server
from vmfstream.dashboards.looks.escape import for_json
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.drawings import Drawings
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.records import Commit, EpochReport, Representative, Slice, SliceReport, SmoothedSlice, TopicRows
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

WORDS, OWN = 60, 120
BUDGET_MS = {"first picture": 2000, "river": 2500, "words": 500, "cursor": 16, "topic change": 500}


def main() -> int:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--slices", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder) / "run.duckdb"
        began = time.perf_counter()
        write(run_file, given.topics, given.slices)
        say(what="log", seconds=time.perf_counter() - began, mb=run_file.stat().st_size / 1e6)
        views(run_file)
        copy(run_file, Path(folder) / "copy.duckdb")
        slow = draws(run_file)
    for what in slow:
        print(f"over twice its budget: {what}", file=sys.stderr)
    return bool(slow)


def write(path: Path, topics: int, slices: int) -> None:
    """Write a log in which every topic passes through a hundred and twenty words of its own, one slice per update."""
    run_file, rng = RunFile(path), np.random.default_rng(0)
    run_file.settings({"title": "Benchmark", "source": "made up"})
    names = np.array([[f"word{topic}x{k}" for k in range(OWN)] for topic in range(topics)])
    centre = rng.uniform(-0.1, 1.1, (topics, OWN)) * slices
    width, height = rng.uniform(0.02, 0.3, (topics, OWN)) * slices, rng.uniform(0.1, 0.6, (topics, OWN))
    size = np.exp(rng.normal(3.0, 0.6, topics))
    angles = rng.uniform(60, 90, (topics, topics))
    sketches = rng.integers(-90, 90, (topics, 512))
    start = datetime(2000, 1, 1, tzinfo=UTC)
    before: TopicRows | None = None
    for s in range(slices):
        weight = height * np.exp(-0.5 * ((s - centre) / width) ** 2)
        best = np.argsort(-weight, axis=1)[:, :WORDS]
        wave = 1.2 + np.sin(s / slices * 9 + np.arange(topics))
        rows = topic_rows(
            size * wave, names, weight, best, angles, sketches + rng.integers(-30, 30, sketches.shape), rng
        )
        day = start + timedelta(days=s)
        part = Slice(s, f"{day:%Y-%m-%d}", day, day + timedelta(days=1))
        n = int(rows.n.sum())
        report = SliceReport(part, n, 1.0, 0.9, s < 3, 5000, rows, documents(topics, day))
        smoothed = [] if before is None else [SmoothedSlice(s - 1, before)]
        last = s == slices - 1
        if last:
            smoothed.append(SmoothedSlice(s, rows))
        epoch = EpochReport(s, part, n, 0, 0, 0, 0.01, 1.0, 0.1, None)
        run_file.commit(Commit(epoch, (report,), (), {"made up": s + 1}, {}, {}, tuple(smoothed), finished=last))
        before = rows


def topic_rows(
    n: np.ndarray[Any, Any],
    names: np.ndarray[Any, Any],
    weight: np.ndarray[Any, Any],
    best: np.ndarray[Any, Any],
    angles: np.ndarray[Any, Any],
    sketches: np.ndarray[Any, Any],
    rng: np.random.Generator,
) -> TopicRows:
    """Return topics with their strongest words."""
    k = len(n)
    words = [list(zip(names[t][best[t]].tolist(), weight[t][best[t]].tolist(), strict=True)) for t in range(k)]
    speed = rng.uniform(2, 12, k)
    return TopicRows(
        topic=np.arange(k),
        n=np.round(n),
        share=n / n.sum(),
        kappa=np.full(k, 900.0),
        gamma=np.full(k, 5000.0),
        tightness=np.full(k, 0.4),
        certainty=rng.uniform(0.5, 0.99, k),
        drift_angle=speed,
        drift_angle_error=0.2 * speed,
        words=words,
        angles=np.triu(angles, 1) + np.triu(angles, 1).T,
        sketches=np.clip(sketches, -127, 127).astype(np.int8),
    )


def documents(topics: int, day: datetime) -> Representative:
    """Return five documents of every topic."""
    topic = np.repeat(np.arange(topics), 5)
    rank = np.tile(np.arange(1, 6), topics)
    ids = [f"{day:%Y-%m-%d}/{t}/{r}" for t, r in zip(topic, rank, strict=True)]
    return Representative(
        topic, rank, ids, [f"A title of some length, {name}" for name in ids], [day] * len(ids), 1.0 / rank
    )


class Counted:
    """A reader that counts its queries and their time."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self.queries, self.seconds = reader, 0, 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._reader, name)

        def timed(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            found = method(*given, **named)
            self.queries, self.seconds = self.queries + 1, self.seconds + time.perf_counter() - began
            return found

        return timed


def views(run_file: Path) -> None:
    """Ask every view for its columns and its first figure, each from a fresh reading of the log."""
    for name in PANELS:
        counted = Counted(Reader(run_file))
        rows: Any = CachedRows(counted)
        history = history_of(rows, "smoothed")
        common, waited = counted.queries, counted.seconds
        one, table = panel(name), ArrayTable()
        began = time.perf_counter()
        columns = table.with_references(one.columns(rows, history)) if one.columns else None
        key = next(iter(one.keys(rows, [0])), None) if one.keys else None
        figure = table.with_references(Drawings(rows).figure(key)) if key else None
        took = time.perf_counter() - began
        sent = len(for_json([columns, figure, table.entries]))
        queries = counted.queries - common
        spent = counted.seconds - waited
        say(what=name, queries=queries, query_ms=1e3 * spent, python_ms=1e3 * (took - spent), json_kb=sent / 1e3)
    say(what="all views have in common", queries=common, query_ms=1e3 * waited)


def copy(run_file: Path, target: Path) -> None:
    """Time what a tracker may have to wait for: a look, and the copy that a page is drawn from."""
    reader = Reader(run_file)
    for what, act in (("look", reader.status), ("copy", lambda: reader.copy(target))):
        took = []
        for _ in range(5):
            began = time.perf_counter()
            act()
            took.append(time.perf_counter() - began)
        say(what=what, ms=1e3 * float(np.median(took)))


def draws(run_file: Path) -> list[str]:
    """Open the live page in Chromium and time what readers wait for."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    server = Server(run_file, port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    options = webdriver.ChromeOptions()
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    page = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    page.set_script_timeout(120)
    slow = []
    try:
        for what, ms in times(page, server.url):
            budget = BUDGET_MS.get(what)
            say(what=f"Chromium: {what}", ms=ms, budget_ms=budget)
            if budget is not None and ms > 2 * budget:
                slow.append(what)
        size = page.execute_script("return performance.getEntriesByType('navigation')[0].decodedBodySize")
        say(what="live page", mb=size / 1e6)
    finally:
        page.quit()
        server.stop()
        thread.join()
    return slow


def times(page: Any, url: str) -> Iterator[tuple[str, float]]:
    """Yield what was done and its milliseconds."""
    began = time.perf_counter()
    page.get(url)
    yield "load with the first reading of the log", 1e3 * (time.perf_counter() - began)
    page.get(url)
    script = "return performance.getEntriesByType('navigation')[0].domComplete"
    yield "first picture", float(page.execute_script(script))
    yield "river from the server", timed(page, "s", "#river .plot")
    timed(page, "s", "#river .plot")
    yield "river", timed(page, "s", "#river .plot")
    yield "topic change", timed(page, "ArrowDown", "#words .plot")
    timed(page, "ArrowUp", "#words .plot")
    yield "words", timed(page, "ArrowDown", "#words .plot")
    yield (
        "cursor",
        float(
            page.execute_script(
                "const t = performance.now(); for (let i = 0; i < 50; i++) document.body.dispatchEvent("
                "new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true})); return (performance.now() - t) / 50"
            )
        ),
    )


def timed(page: Any, key: str, plot: str) -> float:
    """Press a key and return the milliseconds until a chart is drawn anew."""
    return float(
        page.execute_async_script(
            f"const done = arguments[0], t = performance.now(), plot = document.querySelector({plot!r});"
            "const drawn = () => { plot.removeListener('plotly_afterplot', drawn); done(performance.now() - t); };"
            "plot.on('plotly_afterplot', drawn);"
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: {key!r}, bubbles: true}}));"
        )
    )


def say(**line: object) -> None:
    """Print one line."""
    rounded = {name: round(value, 1) if isinstance(value, float) else value for name, value in line.items()}
    print(json.dumps({"bench": "dashboard"} | rounded), flush=True)


if __name__ == "__main__":
    sys.exit(main())
