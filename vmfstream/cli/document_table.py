"""The documents of a run file as rows for a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vmfstream.cli.dates import moment_of
from vmfstream.errors import InputError
from vmfstream.runfile.queries import DocumentChoice, DocumentFrame, Reader, Reading

COLUMNS = (
    "id",
    "time",
    "slice",
    "topic",
    "probability",
    "second",
    "second_probability",
    "story",
    "novelty",
    "smoothed_topic",
    "smoothed_story",
)
"""The keys of a row; where texts are kept ``text`` too."""


def chosen(
    run_file: Path,
    *,
    topic: int | None = None,
    parts: bool = False,
    story: int | None = None,
    slice: str | None = None,
    since: str | None = None,
    until: str | None = None,
    search: str = "",
    reading: Reading = "smoothed",
) -> tuple[Reader, DocumentChoice]:
    """Open a run file, and check what is wanted of its documents.

    Parameters
    ----------
    run_file : Path
    parts : with the documents of the parts of the topic.
    topic, story : ids that the documents got; documents of a story that was merged belong to the one that goes on.
    slice : label of the slice with which they were learnt.
    since, until : earliest and latest date, in ISO form, as short as a year; ``until`` counts with all of it.
    search : words that are in the id or the text.
    reading : of the topic.

    Raises
    ------
    InputError
        If the run file keeps no documents, none got the topic or the story, there is no such slice, a date is none, or
        the earliest is after the latest.
    """
    reader = Reader(run_file)
    if reader.meta().get("documents", "none") == "none":
        raise InputError(
            f"{run_file} does not keep its documents: it was begun without them, or by an earlier version; "
            "write a new run file with --documents all"
        )
    _check(reader, "topic", topic)
    _check(reader, "story", story)
    index = None if slice is None else _slice_of(slice, reader.slice_labels(), run_file)
    begins = None if since is None else moment_of("--since", since)
    ends = None if until is None else moment_of("--until", until, ends=True)
    if begins is not None and ends is not None and begins >= ends:
        raise InputError(f"--since: expected a date that is not after --until, got {since} and {until}")
    return reader, DocumentChoice(topic, story, index, begins, ends, search, reading, parts=parts)


def newest_rows(reader: Reader, choice: DocumentChoice, limit: int) -> list[dict[str, Any]]:
    """Return one row per document with its labels, for the newest ``limit`` ones, the last one first."""
    with reader.at_once():
        found, labels = reader.documents(choice, newest=True, limit=limit), reader.slice_labels()
        return _rows(found, labels, keeps_text(reader))


def all_rows(reader: Reader, choice: DocumentChoice, limit: int | None) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of documents in the order in which they were learnt, at most ``limit``, some at a time."""
    labels, texts = reader.slice_labels(), keeps_text(reader)
    for found in reader.documents_in_parts(choice, limit=limit):
        yield _rows(found, labels, texts)


def _rows(found: DocumentFrame, labels: dict[int, str], texts: bool) -> list[dict[str, Any]]:
    times = np.datetime_as_string(found.time, "s").tolist()
    rows = [
        {"id": id, "time": None if time == "NaT" else time, "slice": labels[slice]}
        for id, time, slice in zip(found.id.tolist(), times, found.slice.tolist(), strict=True)
    ]
    for name in COLUMNS[3:]:
        column = getattr(found, name)
        missing = np.isnan(column) if column.dtype.kind == "f" else column < 0
        values = np.round(column, 4).tolist()
        for row, value, none in zip(rows, values, missing.tolist(), strict=True):
            row[name] = None if none else value
    if texts:
        for row, text in zip(rows, found.text.tolist(), strict=True):
            row["text"] = text
    return rows


def keeps_text(reader: Reader) -> bool:
    """Tell whether a run file keeps texts."""
    return reader.meta().get("keep_text") == "True"


def _check(reader: Reader, kind: Literal["topic", "story"], wanted: int | None) -> None:
    if wanted is None or wanted in (known := reader.labels_of_documents(kind).tolist()):
        return
    some = ", ".join(map(str, known[:30])) + (", ..." if len(known) > 30 else "")
    raise InputError(f"{reader.path}: no document got the {kind} {wanted}; there are: {some or 'none'}")


def _slice_of(label: str, labels: dict[int, str], run_file: Path) -> int:
    named = [index for index, known in labels.items() if known == label]
    if not named:
        some = f"from {labels[min(labels)]!r} to {labels[max(labels)]!r}" if labels else "none"
        raise InputError(f"{run_file}: there is no slice {label!r}; there are: {some}")
    return named[0]
