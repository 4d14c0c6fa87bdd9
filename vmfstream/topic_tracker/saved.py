"""Save a tracker to a run file, which commands and pages can read, and load it again."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from vmfstream.errors import InputError
from vmfstream.folders import sync_folder
from vmfstream.records import Arrays, arrays_under
from vmfstream.runfile.checkpoints import read_run
from vmfstream.runfile.decide import decide
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.rollback import remove
from vmfstream.runfile.stored_commits import read_commits
from vmfstream.runfile.verification import check_rows
from vmfstream.runfile.writer import RunFile

_PREFIX = "tracker."


def write_saved(store: MemoryStore, path: Path) -> None:
    """Write all commits to a new run file, and with the last one everything that `read_saved` needs.

    Raises
    ------
    InputError
        If there is a file already, the path cannot be written, or decisions wait before the first document.
    """
    if path.exists():
        raise InputError(f"{path} exists already; a tracker is saved into a new file")
    if store.pending() and store.resume() is None:
        raise InputError("a tracker with decisions is saved once it has learnt a document; call learn() first")
    part = path.with_name(path.name + ".part")
    try:
        remove(part)
        _write(store, part)
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # the next one removes it
            remove(part)


def _write(store: MemoryStore, part: Path) -> None:
    run_file, last = RunFile(part), store.resume()
    run_file.settings(store.settings({}))
    commits = list(store.commits)
    if last is not None:
        past = {f"{_PREFIX}{name}": array for name, array in flattened(store).items()}
        commits[-1] = replace(commits[-1], open_state=last.open_state | past, slice_state=last.slice_state)
        run_file.commit(*commits)
    run_file.close()
    names = [one for one in store.pending() if one.kind == "name"]
    if names and last is not None:
        decide(part, names)


def read_saved(path: Path) -> tuple[MemoryStore, bool]:
    """Return what `write_saved` was given, or what a command wrote, from a file of this or an older format.

    Nothing is written, but that a file of an older format is brought up to date.

    The second value tells whether a tracker wrote it, which can go on then.

    Raises
    ------
    InputError
        If there is no such run file, it cannot be read, or the rows that a command wrote contradict each other.
    FormatVersion
        If it was written by a newer version, or by an older one and cannot be brought up to date.
    StoreLocked
        If another process does not release the file in time.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    path = path.resolve()
    run = read_run(path)
    if run.checkpoint is None:
        empty = MemoryStore()
        empty.settings({name: value for name, value in run.settings.items() if name != "format"})
        return empty, True
    past = arrays_under(run.checkpoint.open_state, _PREFIX)
    if not past:
        check_rows(path)
        return read_commits(path), False
    store = unflattened(past)
    known = {one.key for one in [*store.decisions(), *store.pending()]}
    reader = Reader(path)
    since = [one for one in [*reader.applied_decisions(), *reader.waiting_decisions()] if one.key not in known]
    store.decide(*(replace(one, undone_by=None) for one in since))  # what commands decided about the file
    return store, True


def flattened(store: MemoryStore) -> Arrays:
    """Return all that is kept as named arrays."""
    arrays: Arrays = {}
    tree = json.dumps(store.to_json(arrays))
    return arrays | {"tree": np.frombuffer(tree.encode(), np.uint8)}


def unflattened(arrays: Arrays) -> MemoryStore:
    """Return what `flattened` was given.

    Raises
    ------
    InputError
        If it is damaged.
    """
    try:
        return MemoryStore.from_json(json.loads(arrays["tree"].tobytes()), arrays)
    except KeyError as error:
        raise InputError(f"the saved tracker is damaged: {error} is missing") from error
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"the saved tracker is damaged: {error}") from error
