"""The documents of a run file as rows for a terminal or a file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader

COLUMNS = ("id", "time", "slice", "topic", "probability", "story", "novelty")
"""The keys of a row."""


def documents_of(
    run_file: Path,
    *,
    topic: int | None = None,
    story: int | None = None,
    slice: str | None = None,
    since: str | None = None,
    newest: bool = False,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Return one row per document as it was labelled on arrival, in the order in which they were learnt.

    Parameters
    ----------
    run_file : Path
    topic, story : ids that the documents got; documents of a story that was merged belong to the one that goes on.
    slice : label of the slice with which they were learnt.
    since : earliest time, a date in ISO form, as short as a year.
    newest : the last ones first.
    limit : most rows.

    Raises
    ------
    InputError
        If the run file keeps no documents, none got the topic or the story, there is no such slice, or ``since`` is no
        date.
    """
    reader = Reader(run_file)
    if reader.meta().get("documents") != "all":
        raise InputError(
            f"{run_file} does not keep its documents: it was begun without them, or by an earlier version; "
            "write a new run file with --documents all"
        )
    _check(reader, "topic", topic)
    _check(reader, "story", story)
    labels = reader.slice_labels()
    index = None if slice is None else _slice_of(slice, labels, run_file)
    moment = None if since is None else _moment(since)
    found = reader.documents(topic=topic, story=story, slice=index, since=moment, newest=newest, limit=limit)
    times = np.datetime_as_string(found.time, "s").tolist()
    probability, novelty = (np.round(column, 4).tolist() for column in (found.probability, found.novelty))
    return [
        {
            "id": found.id[i],
            "time": times[i],
            "slice": labels[int(found.slice[i])],
            "topic": int(found.topic[i]) if found.topic[i] >= 0 else None,
            "probability": probability[i] if found.topic[i] >= 0 else None,
            "story": int(found.story[i]) if found.story[i] >= 0 else None,
            "novelty": novelty[i] if found.topic[i] >= 0 else None,
        }
        for i in range(len(found.id))
    ]


def _check(reader: Reader, kind: Literal["topic", "story"], wanted: int | None) -> None:
    if wanted is None or wanted in (known := reader.labels_of_documents(kind).tolist()):
        return
    some = ", ".join(map(str, known[:30])) + (", ..." if len(known) > 30 else "")
    raise InputError(f"{reader.path}: no document got the {kind} {wanted} on arrival; there are: {some or 'none'}")


def _slice_of(label: str, labels: dict[int, str], run_file: Path) -> int:
    named = [index for index, known in labels.items() if known == label]
    if not named:
        some = f"from {labels[min(labels)]} to {labels[max(labels)]}" if labels else "none"
        raise InputError(f"{run_file}: there is no slice {label!r}; there are: {some}")
    return named[0]


def _moment(since: str) -> datetime:
    try:
        return datetime.fromisoformat(str(np.datetime64(since if since[:1].isdigit() else "no date", "us")))
    except ValueError as error:
        raise InputError(f"--since: expected a date, such as 2013-11-04, got {since!r}") from error
