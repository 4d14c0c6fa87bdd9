"""Hand decisions to a run that is writing its file: a folder beside the run file, with one small file for each.

DuckDB lets one process write a file, so other processes put decisions here; the run reads them at the end of a slice,
writes them into the run file in the commit that applies them, and only then removes them. A file is there as a whole or
not at all. A decision is known by its key: what is in the run file already is not applied again.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vmfstream.decisions import KINDS, decision
from vmfstream.errors import InputError
from vmfstream.folders import sync_folder, write_synced
from vmfstream.records import Decision, microseconds, moment_of

log = logging.getLogger(__name__)

_SUFFIX = ".json"

_MOST = 2**31
"""Ids of topics are below, as far as the run file has room for them."""


class Inbox:
    """Decisions that wait beside a run file, in the folder ``<run file>.decisions``.

    Parameters
    ----------
    run_file : Path
    """

    def __init__(self, run_file: Path) -> None:
        self.folder = run_file.with_name(run_file.name + ".decisions")
        self._told: set[str] = set()

    def put(self, one: Decision, run: str) -> Decision:
        """Leave a decision for the run that is called ``run``; return it with the time under which it stands.

        It comes after all that wait. When this returns it is on disk.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        try:
            return self._put(one, run)
        except OSError as error:
            raise InputError(f"cannot leave a decision in {self.folder}: {error.strerror}") from error

    def _put(self, one: Decision, run: str) -> Decision:
        waiting = self._names()
        last = max((int(name.partition("-")[0]) for name in waiting), default=0)
        now = max(microseconds(datetime.now(UTC)), last + 1)
        body = {"run": run, "made": now, "kind": one.kind, "topic": one.topic, "other": one.other, "text": one.text}
        while True:
            self.folder.mkdir(exist_ok=True)
            part = self.folder / f".{one.key}.part"
            try:
                write_synced(part, json.dumps(body).encode())
                part.replace(self.folder / f"{now:020d}-{one.key}{_SUFFIX}")
                break
            except FileNotFoundError:  # the run has just removed the empty folder
                time.sleep(0.001)
        sync_folder(self.folder)
        return Decision(one.key, moment_of(now), one.kind, one.topic, one.other, one.text)

    def keys(self) -> set[str]:
        """Return the keys of all decisions that wait, whether they can be read or not."""
        return {_key(name) for name in self._names()}

    def read(self, run: str) -> list[Decision]:
        """Return the decisions for a run, in the order in which they were made.

        Files that cannot be read, and those for another run, are told once and left alone.
        """
        found = []
        for name in self._names():
            try:
                body = json.loads((self.folder / name).read_text(encoding="utf-8"))
                kind, text = body["kind"], body["text"]
                if kind not in KINDS:
                    raise ValueError(f"there are no decisions of the kind {kind!r}")
                made, wanted = moment_of(int(body["made"])), str(body["run"])
                one = decision(kind, _id(body, "topic"), _id(body, "other"), text)
                one = replace(one, key=_key(name), made=made)
            except FileNotFoundError:  # removed by the run since
                continue
            except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, InputError) as error:
                self._tell(name, f"cannot be read: {error}")
                continue
            if wanted == run:
                found.append(one)
            else:
                self._tell(name, "was made for another run, whose file had the same name")
        return found

    def remove(self, keys: Collection[str]) -> None:
        """Forget decisions that are in the run file; the folder goes when it is empty.

        Those that cannot be removed stay: they are not applied again.
        """
        names = self._names()
        for name in names:
            if _key(name) in keys:
                try:
                    (self.folder / name).unlink(missing_ok=True)
                except OSError as error:
                    self._tell(name, f"is in the run file but cannot be removed: {error.strerror}")
        if names:
            try:
                self.folder.rmdir()
            except OSError:  # others wait
                return

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in names if name.endswith(_SUFFIX) and name.partition("-")[0].isdecimal())

    def _tell(self, name: str, why: str) -> None:
        if name not in self._told:
            self._told.add(name)
            log.warning("the decision in %s %s; it is left out", self.folder / name, why)


def _id(body: Mapping[str, Any], name: str) -> int:
    """Return the id of a topic in a file, -1 for none."""
    found = body[name]
    if type(found) is not int or not -1 <= found < _MOST:
        raise ValueError(f"{name}: expected a whole number below {_MOST}, got {found!r}")
    return found


def _key(name: str) -> str:
    return name.removesuffix(_SUFFIX).partition("-")[2]
