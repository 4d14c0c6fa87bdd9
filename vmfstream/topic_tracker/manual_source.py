"""The source that a caller fills with texts, and the times of these texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.field_texts import as_text, encodable
from vmfstream.html_references import plain_text
from vmfstream.records import NO_TIME, Documents, Message, Messages, Position, Rejected, microseconds
from vmfstream.times import from_value

Time = datetime | date | np.datetime64 | int | float | str
"""A moment; texts and numbers are read as by `vmfstream.times`: ISO dates and times, years, seconds since 1970."""

PART = "texts"


class ManualSource:
    """A source that is filled by its owner, who added ``count`` texts in earlier runs. It is its own codec."""

    name = PART
    total = None

    def __init__(self, count: int = 0) -> None:
        self._waiting: deque[Documents] = deque()
        self._count = count
        self.closed = False

    @property
    def added(self) -> int:
        """Number of texts added, those of earlier runs included: the offset of the next one."""
        return self._count

    @property
    def empty(self) -> bool:
        """Whether no text waits to be read."""
        return not self._waiting

    @property
    def exhausted(self) -> bool:
        """Whether no text waits and none will be added."""
        return self.closed and self.empty

    def add(
        self,
        texts: Sequence[str],
        times: NDArray[np.int64],
        ids: Sequence[Any] | None,
        order: NDArray[np.int64],
        titles: Sequence[Any] | None = None,
        timeless: Mapping[int, str] | None = None,
    ) -> None:
        """Add documents to be read, one after the other.

        Parameters
        ----------
        texts : sequence of N str
        times, timeless : (N,) and reasons by places, as of `moments`.
        ids : sequence of N, or None for none. A text without an id (None, NaN, a blank one) is called ``texts:`` and
            its number among all, in the order in which they were given.
        order : (N,), the places of the texts in the order in which they are to be read.
        titles : sequence of N titles, or None: those of documents are the beginnings of their texts.
        """
        n = len(texts)
        if not n:
            return
        offset = np.arange(self._count, self._count + n)
        self._count += n
        known: list[str | None] = [encodable(plain_text(text)) if isinstance(text, str) else None for text in texts]
        reasons = dict(timeless or {})
        reasons |= {at: _why_none(texts[at]) for at, text in enumerate(known) if not text or text.isspace()}
        rejected = {at: Rejected(PART, int(offset[at]), reason) for at, reason in reasons.items()}
        given = [None] * n if ids is None else list(map(_written, ids))
        names = [id if id and not id.isspace() else f"{PART}:{at}" for id, at in zip(given, offset, strict=True)]
        for at in rejected:
            names[at] = ""
            known[at] = None
        places = order.tolist()
        refused = {read: rejected[at] for read, at in enumerate(places) if at in rejected} if rejected else {}
        texts_read, names_read = [known[at] for at in places], [names[at] for at in places]
        meta = None if titles is None else [{"title": _written(titles[at])} for at in places]
        self._waiting.append(
            Documents([PART] * n, offset, names_read, times[order], texts_read, meta, rejected=refused)
        )

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` of the texts that wait."""
        if not self._waiting:
            return []
        first = self._waiting.popleft()
        if len(first) > limit:
            self._waiting.appendleft(first[limit:])
            first = first[:limit]
        return Messages(first.part, first.offset.tolist(), first)

    def decode_all(self, messages: Sequence[Message]) -> Documents:
        """Return the documents of messages, which are their values."""
        given = messages.value if isinstance(messages, Messages) else None
        return given if isinstance(given, Documents) else Documents.of(())

    def seek(self, position: Position) -> None:
        """Do nothing: the owner adds only texts that were not read."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _why_none(text: object) -> str:
    return "text is empty" if isinstance(text, str) else f"text: expected a string, got {type(text).__name__}"


def _written(given: Any) -> str | None:
    """Return an id or a title as a text, None if it lacks."""
    return as_text(given.decode("utf-8", "replace") if isinstance(given, bytes) else given)


def given_ids(ids: Iterable[Any], n: int) -> list[Any]:
    """Return the ids of ``n`` texts as a list.

    Raises
    ------
    InputError
        If they cannot be gone through in the order of the texts, or there are not as many as texts.
    """
    try:
        found = in_order("ids", ids)
    except TypeError:
        raise InputError(f"ids: expected one per text, got {type(ids).__name__}") from None
    if len(found) != n:
        raise InputError(f"ids: expected one per text ({n}), got {len(found)}")
    return found


def moments(
    times: Sequence[Time] | Time | None, n: int, *, timed: bool = True
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return the times of ``n`` texts, one for all or one each, in microseconds since 1970.

    Parameters
    ----------
    times : of the texts, or None where they have none.
    n : number of texts.
    timed : whether a time is needed; without, a missing one is no fault.

    Returns
    -------
    times : (n,), `NO_TIME` for those without one.
    reasons : dict
        Why a time is missing (NaT, None) or none, by its place.

    Raises
    ------
    InputError
        If none of them is a time, they have no order, or there are not as many as texts.
    """
    if times is None and not timed:
        return np.full(n, NO_TIME), {}
    if isinstance(times, Time | np.number):
        return np.full(n, microseconds(_moment(times))), {}
    try:
        given = in_order("times", getattr(times, "to_pylist", lambda: cast(Any, times))())  # of a column of Arrow
    except TypeError:
        raise InputError(f"times: expected one per text, or one for all, got {type(times).__name__}") from None
    if len(given) != n:
        raise InputError(f"times: expected one per text ({n}), got {len(given)}")
    found, reasons = np.full(n, NO_TIME), dict[int, str]()
    for at, time in enumerate(given):
        if not timed and _is_missing(time):
            continue
        try:
            found[at] = microseconds(_moment(time, at))
        except InputError as error:
            reasons[at] = str(error)
            if len(reasons) == n:
                raise InputError(reasons[0]) from None
    return found, reasons


def in_order(name: str, given: Iterable[Any]) -> list[Any]:
    """Return the values of a column ``name`` as a list; InputError for a set or a mapping, which have another order."""
    if isinstance(given, set | frozenset | Mapping):
        raise InputError(f"{name}: expected a list in the order of the texts, got {type(given).__name__}")
    return list(given)


def _moment(time: Any, at: int | None = None) -> datetime:
    """Return a time as an aware datetime in UTC; InputError, which tells its place ``at``, if it is none."""
    named = "times" if at is None else f"times[{at}]"
    if time is not None and _is_missing(time):
        raise InputError(f"{named}: NaT is no time")
    try:
        return from_value(time)
    except ValueError:
        expected = "expected a datetime, a date, a year or a text such as 2021-03-31"
        raise InputError(f"{named}: {expected}, got {time!r}") from None


def _is_missing(time: Any) -> bool:
    """Tell whether a time is None, or the missing one of numpy and pandas."""
    return time is None or (isinstance(time, np.datetime64 | datetime) and bool(time != time))
