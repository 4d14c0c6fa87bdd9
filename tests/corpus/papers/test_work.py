"""Finished tasks are kept under all that determines them; an interrupted run goes on where it stood."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.waiting import wait_for
from vmfstream.errors import InputError
from vmfstream.replay.papers import work
from vmfstream.replay.papers.work import Done, Result, Task, Workers

CALLS: list[int] = []


def square(n: int) -> Result:
    CALLS.append(n)
    if n < 0:
        raise KeyboardInterrupt
    return {"square": n * n, "process": os.getpid()}


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def tasks(*numbers: int, data: tuple[str, ...] = ()) -> list[Task]:
    return [Task(square, {"n": n}, data) for n in numbers]


def test_what_is_kept_is_not_computed_again(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with Workers(tmp_path / "new") as workers:
        first = workers.run(tasks(1, 2))
        again = workers.run(tasks(2, 3, 1), lambda done, total: seen.append((done, total)))
    assert CALLS == [1, 2, 3]
    assert first.values("square") == [1, 4]
    assert again.values("square") == [4, 9, 1]
    assert seen == [(2, 3), (3, 3)]


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Workers(tmp_path) as workers:
        workers.run(tasks(1, 2, -1, 3))
    assert CALLS == [1, 2, -1]
    CALLS.clear()
    with Workers(tmp_path) as workers:
        assert workers.run(tasks(1, 2, 3)).values("square") == [1, 4, 9]
    assert CALLS == [3]


def test_half_a_file_counts_for_nothing(tmp_path: Path) -> None:
    (task,) = tasks(4)
    (tmp_path / f"{task.key()}.json").write_text('{"squ')
    with Workers(tmp_path) as workers:
        assert workers.run([task]).values("square") == [16]


def test_processes_compute_the_same(tmp_path: Path) -> None:
    with Workers(tmp_path, jobs=2) as workers:
        found = workers.run(tasks(5, 6, 7))
    assert found.values("square") == [25, 36, 49]
    assert os.getpid() not in found.values("process")
    assert not CALLS


def test_ctrl_c_ends_the_processes_and_keeps_what_is_done(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from tests.corpus.papers.sleepers import nap\n"
        "from vmfstream.replay.papers.work import Task, Workers\n"
        "if __name__ == '__main__':\n"
        f"    with Workers(Path({str(tmp_path)!r}), jobs=2) as workers:\n"
        "        workers.run([Task(nap, {'seconds': s}) for s in (0, 0.1, 120, 121)])\n"
    )
    (tmp_path / "run.py").write_text(script)
    root = Path(__file__).resolve().parents[3]
    running = subprocess.Popen(
        [sys.executable, str(tmp_path / "run.py")],
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    wait_for(lambda: len(list(tmp_path.glob("*.json"))), lambda done: done >= 2, running)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate()  # the processes hold the pipe open as long as they live
    assert "KeyboardInterrupt" in said
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_the_key_changes_with_all_that_determines_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path))
    (tmp_path / "file").write_text("one")
    (task,) = tasks(1, data=("file",))
    keys = {task.key(), *(other.key() for other in tasks(1, 2))}
    monkeypatch.setattr(work, "_code", lambda: "other code")
    keys.add(task.key())
    monkeypatch.undo()
    monkeypatch.setenv("VMFSTREAM_DATA", str(tmp_path))
    work._content.cache_clear()
    assert task.key() in keys
    (tmp_path / "file").write_text("two")
    work._content.cache_clear()
    keys.add(task.key())
    assert len(keys) == 5


def test_the_code_is_that_of_all_folders_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vmfstream")
    module.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setattr(work, "vmfstream", module)
    deep = tmp_path / "bayes" / "flat" / "fit.py"
    deep.parent.mkdir(parents=True)
    digests = set()
    for path, text in (
        (deep, "one"),
        (deep, "two"),
        (tmp_path / "bayes" / "start.py", ""),
        (tmp_path / "metrics.py", ""),
        (tmp_path / "cli" / "main.py", ""),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        work._content.cache_clear()
        digests.add(work._code.__wrapped__())
    work._content.cache_clear()
    assert len(digests) == 4  # a command is no part of what results depend on


def test_missing_data_is_reported_before_anything_is_computed(tmp_path: Path) -> None:
    with Workers(tmp_path) as workers, pytest.raises(InputError, match=r"no such/file is not on this machine.*VMFS"):
        workers.run([*tasks(1), *tasks(2, data=("no such/file",))])
    assert not CALLS


def test_results_are_picked_by_what_was_given() -> None:
    given: list[tuple[dict[str, Any], Result]] = [
        ({"k": k, "seed": s}, {"v": 10 * k + s}) for k in (1, 2) for s in (3, 4)
    ]
    done = Done(given)
    assert done.values("v", k=2) == [23, 24]
    assert done.values("v", k=1, seed=4) == [14]
    with pytest.raises(LookupError, match="'k': 3"):
        done.where(k=3)
