"""Look at the first rows of a file: whether they are documents, and in which order day and month are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any

import orjson

from vmfstream.connectors.codecs import FieldCodec, parse_time
from vmfstream.errors import InputError
from vmfstream.records import Message, Rejected

ROWS = 1000
"""Rows that are looked at."""

_DATES = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
_NAMED = (
    *("%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y"),
    *("%b %Y", "%B %Y", "%A, %B %d, %Y", "%a, %d %b %Y"),
)
_OTHERS = ("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", *_NAMED)
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_MAIL = (
    "%a, %d %b %Y %H:%M:%S %z",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y-%m-%d %H:%M:%S UTC",
    "%a %b %d %H:%M:%S %z %Y",
    "%a %b %d %H:%M:%S %Y",
)


def look_at(codec: FieldCodec, rows: Sequence[Message], name: str) -> None:
    """Let ``codec`` read the times of a file as all of its first rows write them.

    Parameters
    ----------
    codec : its ``time_format`` is set if it has none, and nearly all times are written in one that is not usual. If no
        row has a text, but all have a title, it takes titles for texts.
    rows : the first messages of the file, see `ROWS`.
    name : of the file, for messages.

    Raises
    ------
    InputError
        If none of the rows is a document; tells the most frequent reason. If days and months cannot be told apart;
        names the formats that are possible. If no row has a field that was named for id or title, or for
        the text beside a vector.
    """
    if not rows:
        raise InputError(f"{name}: expected documents, found none")
    codec.take_titles(rows)
    times = [value for row in rows if (value := codec.written_time(row)) is not None]
    if codec.time_format is None:
        codec.time_format = _format_of(times, name)
    reasons = [one.reason for one in map(codec.decode, rows) if isinstance(one, Rejected)]
    if len(reasons) == len(rows):
        reason, count = Counter(reasons).most_common(1)[0]
        many = f"none of the first {len(rows):,} rows is a document" if len(rows) > 1 else "its row is no document"
        how = next((advice for what, advice in _ADVICE.items() if reason.startswith(what)), "")
        if how and (found := _document_in_names(rows[0].value)):
            how = f"; {found} is no name of a column: the first line must name them, such as date,text"
        if len(rows) == 1 and (found := _list_of_objects(rows[0].value)):
            how += f"; if its documents are in {found}, give a file of that array alone, or of one document a line"
        if " is no time: " in reason:
            how = "; name another field by --time, or say by --time-format how it is written, such as %d/%m/%Y"
        if codec.timed and not times and reason.endswith(" is null"):
            how = _ADVICE["no time"].replace("it", "the time", 1)
        raise InputError(f"{name}: {many}; {'' if count == len(rows) else 'most often: '}{reason}{how}")
    missing = codec.missing_fields(rows)
    if missing:
        raise InputError(f"{name}: none of the first {len(rows):,} rows has a field {' or '.join(map(repr, missing))}")


_ADVICE = {
    "no time": "; name it by --time, or let replay or run cut slices by a number of documents, such as --slices 100",
    "no text": "; name it by --text",
    "not JSON: ": "; expected one object a line, or in a .json file one array of them",
    "too many cells": ", or the first line is not that of the names of columns",
}
"""What to do about the most frequent reason."""


def _document_in_names(fields: object) -> str:
    """Return the time among the names of columns, with which a table without a line of names begins; else nothing."""
    names = [str(name) for name in fields] if isinstance(fields, Mapping) else []
    return next((name for name in names if len(name) >= _SHORTEST_DATE and _is_usual(name)), "")


def _list_of_objects(value: object) -> str:
    """Return the field of a JSON object that is an array of objects; nothing if there is none."""
    try:
        fields = orjson.loads(value) if isinstance(value, bytes) else value
    except orjson.JSONDecodeError:
        return ""
    lists = fields.items() if isinstance(fields, Mapping) else ()
    return next((name for name, one in lists if isinstance(one, list) and one and isinstance(one[0], dict)), "")


_SHORTEST_DATE = 8
"""Characters of a date; shorter names may be numbers or years."""


def _format_of(times: Sequence[Any], name: str) -> str | None:
    """Return the format in which nearly all times are written; None if there is none, or they are written as usual."""
    texts = [time.strip() for time in times if isinstance(time, str) and not _is_usual(time)]
    least = NEARLY_ALL * len(times)
    if not texts or len(texts) < least:
        return None
    read = {time_format: [_read(text, time_format) for text in texts] for time_format in _formats()}
    most = max(sum(time is not None for time in column) for column in read.values())
    best: dict[str, list[datetime | None]] = {}
    for time_format, column in read.items():
        if sum(time is not None for time in column) == most and column not in best.values():
            best[time_format] = column
    if most < least:
        return None
    if len(best) > 1:
        raise InputError(
            f"{name}: cannot tell day from month in times such as {texts[0]!r}: say --time-format "
            + " or ".join(repr(one) for one in best)
        )
    return next(iter(best))


NEARLY_ALL = 0.9
"""Share of the times that are written in one format if that is the format of the file."""


def _is_usual(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return not text.strip()
    return True


def _formats() -> Iterator[str]:
    dates = [date.format(between) for date, between in product(_DATES, "/-")]
    yield from (date + hour for date, hour in product([*dates, *_OTHERS], _HOURS))
    yield from _MAIL


def _read(text: str, time_format: str) -> datetime | None:
    try:
        return datetime.strptime(text, time_format)
    except ValueError:
        return None
