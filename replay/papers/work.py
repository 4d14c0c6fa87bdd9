"""Run computations in parallel and store their results under a key of everything that determines them."""

from __future__ import annotations

import hashlib
import inspect
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import vmfstream
from vmfstream.folders import need_data, write_file

Result: TypeAlias = dict[str, Any]
"""Numbers, strings and lists of them by name, as JSON keeps them."""

_COMPUTES = ("directional", "mixtures", "bayes", "estimators", "stories", "text", "datasets.py", "metrics.py")
"""Parts of vmfstream that results depend on."""

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A function of a module, the keyword arguments it is called with, and the data files it reads.

    ``function`` returns a `Result`; ``given`` holds what JSON can hold; ``data`` are files below a data folder.
    """

    function: Callable[..., Result]
    given: Mapping[str, Any]
    data: tuple[str, ...] = ()

    def run(self) -> Result:
        """Compute the result."""
        return self.function(**self.given)

    def key(self) -> str:
        """Return the name under which the result is kept: it changes with anything that may change the result.

        Raises
        ------
        InputError
            If a data file is missing.
        """
        identity = {
            "function": f"{self.function.__module__}.{self.function.__qualname__}",
            "given": self.given,
            "data": [_content(need_data(name)) for name in self.data],
            "code": [_code(), *map(_content, sorted(Path(inspect.getfile(self.function)).parent.glob("*.py")))],
            "libraries": [version(name) for name in _LIBRARIES] + [sys.version],
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Done:
    """Finished tasks, to be picked by what they were given."""

    def __init__(self, pairs: Sequence[tuple[Mapping[str, Any], Result]]) -> None:
        self.pairs = pairs

    def where(self, **given: Any) -> list[Result]:
        """Return the results of the tasks that were given these arguments, in the order of the tasks.

        Raises
        ------
        LookupError
            If there are none.
        """
        found = [result for had, result in self.pairs if all(had.get(name) == value for name, value in given.items())]
        if not found:
            raise LookupError(f"no result for {given}")
        return found

    def values(self, name: str, **given: Any) -> list[float]:
        """Return one number of each of these results."""
        return [result[name] for result in self.where(**given)]


class Workers:
    """Runs tasks in ``jobs`` processes and keeps each result in ``cache`` as soon as it is there.

    Used as a context: leaving it by an exception ends the processes at once, and what is done stays kept.
    """

    def __init__(self, cache: Path, jobs: int = 1) -> None:
        self.cache, self.jobs = cache, jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._pool is None:
            return
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:
            for process in multiprocessing.active_children():
                process.terminate()

    def run(self, tasks: Sequence[Task], observe: Callable[[int, int], None] = lambda done, total: None) -> Done:
        """Return the results of ``tasks``, computing those that are not kept; ``observe(done, total)`` follows.

        Raises
        ------
        InputError
            If a data file is missing; nothing is computed then.
        """
        keys = [task.key() for task in tasks]
        results = {key: kept for key in keys if (kept := self._kept(key)) is not None}
        observe(len(results), len(tasks))
        missing = {key: task for key, task in zip(keys, tasks, strict=True) if key not in results}
        for done, (key, result) in enumerate(self._computed(missing), len(results) + 1):
            self._keep(key, result)
            results[key] = result
            observe(done, len(tasks))
        return Done([(task.given, results[key]) for key, task in zip(keys, tasks, strict=True)])

    def _computed(self, tasks: Mapping[str, Task]) -> Iterator[tuple[str, Result]]:
        if self.jobs == 1 or len(tasks) <= 1:
            yield from ((key, task.run()) for key, task in tasks.items())
            return
        if self._pool is None:
            self._pool = _processes(self.jobs)
        futures = {self._pool.submit(task.run): key for key, task in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _kept(self, key: str) -> Result | None:
        try:
            kept: Result = json.loads((self.cache / f"{key}.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return kept

    def _keep(self, key: str, result: Result) -> None:
        self.cache.mkdir(parents=True, exist_ok=True)
        write_file(self.cache / f"{key}.json", json.dumps(result))


def _processes(jobs: int) -> ProcessPoolExecutor:
    """Start processes of one thread each, which leave Ctrl-C to the one that started them."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # must be there before numpy is loaded
    try:
        pool = ProcessPoolExecutor(
            jobs, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
        )
        for _ in range(jobs):
            pool.submit(os.getpid)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
    return pool


@cache
def _code() -> str:
    """Return a digest of the source that results depend on."""
    home = Path(inspect.getfile(vmfstream)).parent
    parts = [home / name for name in _COMPUTES]
    files = sorted(file for part in parts for file in ([part] if part.is_file() else part.rglob("*.py")))
    return hashlib.sha256("".join(_content(file) for file in files).encode()).hexdigest()


@cache
def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
