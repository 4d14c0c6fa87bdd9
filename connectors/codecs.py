"""Decode raw messages into documents, or say why a message is none."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.field_names import ID_NAMES, TEXT_NAMES, TIME_NAMES, TITLE_NAMES, alternatives, named
from vmfstream.field_texts import as_text, encodable
from vmfstream.html_references import plain_text
from vmfstream.records import (
    NO_TIME,
    Document,
    Documents,
    Message,
    Messages,
    Rejected,
    messages_of,
    microseconds,
    moment_of,
)
from vmfstream.times import SECONDS, from_number, from_text, from_value, utc

log = logging.getLogger(__name__)

MESSAGE_TIME = "@message"
"""Value of ``time`` that makes a codec use the time of the message instead of that of a field."""

SURPLUS = "surplus cells"
"""Key under which a source passes the cells of a row beyond its columns."""

KEY = "@key"
"""Field that stands for the key of a Kafka message; ``@key.name`` is a field of a key that is a record."""

HEADER = "@header."
"""What the field begins with that stands for the header of a Kafka message which is named after it."""


class Refusal(dict[str, str]):
    """What a source that has decoded a message itself passes in place of its fields if it is no document.

    ``reason`` says why, ``excerpt`` is the beginning of the message.
    """

    def __init__(self, reason: str, excerpt: str = "") -> None:
        super().__init__(reason=reason, excerpt=excerpt)


def refused(reason: str, value: bytes) -> Refusal:
    """Return why the bytes of a message are no document, with their beginning."""
    return Refusal(reason, _excerpt(value))


_EXCERPT = 200  # characters kept of a rejected message
_NAMED = 20  # keys named in a reason
_DEEPEST = 4  # levels of objects in objects whose fields have names
_NO_META: Mapping[str, Any] = {}
_SHAPES = 256  # sets of fields whose names are remembered, and fields of the largest
_LARGE = 2.0**63  # the quick reader makes a float of an integer that has more than 64 bits


class _NotADocument(ValueError):
    """The reason why a message is no document, caught in ``decode``."""


class _Names(NamedTuple):
    """The fields of a message that a codec reads, by what they hold, in order of preference.

    ``usual`` is true if there is a text, and at most an id, a time and a title are read besides.
    """

    time: list[str]
    text: list[str]
    id: list[str]
    title: list[str]
    meta: list[str]
    usual: bool


class FieldCodec:
    """Decode documents from the fields of JSON objects or table rows.

    For a name that is None the usual ones are tried (``TIME_NAMES`` and so on): the first field that exists and is not
    null is read, whatever its case, blanks, hyphens and underscores; ``meta.published`` is the field ``published`` of
    the object ``meta``.
    Times may be ISO dates and times (UTC without a zone), ``YYYY-MM``, quarters such as ``2021 Q2``, years,
    dates as the number YYYYMMDD, seconds, milliseconds, microseconds or nanoseconds since 1970 (by magnitude), and
    datetime objects. Character references of HTML in texts are read: ``&amp;`` is ``&``. ``@key``, ``@key.name`` and
    ``@header.NAME`` are the key of a Kafka message, a field of it, and a header; ``attached`` lists which of these a
    source has to pass with its messages.

    Parameters
    ----------
    id, time, text, title : str, optional
        Names of fields. Without an id the document is named ``part:offset``; without a time field it has the time of
        the message.
    vector : str, optional
        Field with a vector of numbers, followed instead of the text, which may then be missing.
    meta : sequence of str
        Further fields to keep in ``Document.meta``.
    dimension : int, optional
        Length of the vectors; by default that of the first one.
    max_characters : int
        Longer texts are rejected.
    unit : {"line", "offset"}
        How a reason names the place of a message: the line from 1 or the offset from 0.
    time_format : str, optional
        How times are written that are none of the above, as in `datetime.datetime.strptime`: ``%d/%m/%Y``. UTC without
        a zone.
    timed : bool
        Reject documents without a time; slices of a number of documents, and labels, need none.

    Raises
    ------
    InputError
        A ``time_format`` that cannot be read.
    """

    def __init__(
        self,
        *,
        id: str | None = None,
        time: str | None = None,
        text: str | None = None,
        title: str | None = None,
        vector: str | None = None,
        meta: Sequence[str] = (),
        dimension: int | None = None,
        max_characters: int = 5_000_000,
        unit: Literal["line", "offset"] = "line",
        time_format: str | None = None,
        timed: bool = True,
    ) -> None:
        self.timed = timed
        self.dimension = dimension
        self.time_format = None if time_format is None else _checked_format(time_format)
        self._id = ID_NAMES if id is None else (id,)
        self._time = TIME_NAMES if time is None else () if time == MESSAGE_TIME else (time,)
        self._text: tuple[str, ...] = TEXT_NAMES if text is None else (text,)
        self._title = TITLE_NAMES if title is None else (title,)
        asked = (id, title) if vector is None else (id, title, text)
        self._asked = tuple(name for name in asked if name is not None)
        self._vector = vector
        self._meta = tuple(meta)
        names = [name for name in (id, time, text, title, vector, *meta) if name]
        self._nested = any("." in name for name in names)
        self.attached = tuple(dict.fromkeys(one for name in names if (one := _attached(name)) is not None))
        self._max_characters = max_characters
        self._unit, self._first = unit, 1 if unit == "line" else 0
        self._shapes: dict[tuple[str, ...], _Names] = {}
        self._last_time: tuple[Any, int] = (None, 0)  # of which the next one is often the same

    def decode(self, message: Message) -> Document | Rejected:
        """Return the document, or the rejection with its reason; never raise, whatever the message holds."""
        fields = None if message.oversized is not None else self._quick(message.value, message.attached)
        usual = None if fields is None else self._usual(fields, message.part, message.offset, message.time)
        if usual is None:
            return self._unusual(fields, message)
        id, time, text, meta = usual
        moment = None if time == NO_TIME else moment_of(time)
        return Document(message.part, message.offset, id, moment, text, None, meta)

    def decode_all(self, messages: Sequence[Message]) -> Documents:
        """Decode messages as `decode` does, into columns."""
        if not isinstance(messages, Messages):
            messages = messages_of(messages)
        ids, texts = [], list[str | None]()
        metas: list[Mapping[str, Any]] = []
        times = np.zeros(len(messages), np.int64)
        vectors: dict[int, NDArray[np.float32]] = {}
        rejected: dict[int, Rejected] = {}
        none = [None] * len(messages)
        rows = zip(
            messages.value,
            messages.part,
            messages.offset,
            none if messages.time is None else messages.time,
            none if messages.attached is None else messages.attached,
            strict=True,
        )
        for at, (value, part, offset, time, attached) in enumerate(rows):
            fields = None if at in messages.oversized else self._quick(value, attached)
            usual = None if fields is None else self._usual(fields, part, offset, time)
            if usual is not None:
                id, times[at], text, meta = usual
                ids.append(id)
                texts.append(text)
                metas.append(meta)
                continue
            record = self._unusual(fields, messages[at])
            if isinstance(record, Rejected):
                rejected[at] = record
                ids.append("")
                texts.append(None)
                metas.append({})
                continue
            ids.append(record.id)
            texts.append(record.text)
            metas.append(record.meta)
            times[at] = microseconds(record.time)
            if record.vector is not None:
                vectors[at] = record.vector
        return Documents(
            messages.part,
            np.array(messages.offset, np.int64),
            ids,
            times,
            texts,
            metas if any(metas) else None,
            [vectors.get(at) for at in range(len(messages))] if vectors else None,
            rejected,
        )

    def missing_fields(self, messages: Sequence[Message]) -> list[str]:
        """Return which of the named fields none of the messages has, of those that documents do without.

        These are id and title, and the text where there is a vector.
        """
        there: set[str] = set()
        for message in messages:
            with suppress(ValueError):
                there.update(self._fields(message))
        return [name for name in self._asked if name not in there]

    def take_titles(self, messages: Sequence[Message]) -> None:
        """Take titles for texts from now on, if all messages have a title and none has anything that may be a text.

        That is a field for a text, or another one whose words are half as long as the titles.
        """
        if self._text != TEXT_NAMES or self._vector is not None:
            return
        characters, titles = Counter[str](), 0
        for message in messages:
            with suppress(ValueError):
                fields = self._fields(message)
                names = self._names(fields)
                title = _first(fields, names.title)[1]
                if names.text or not isinstance(title, str):
                    return
                titles += len(title)
                others = fields.keys() - {*names.title, *names.time, *names.id}
                words = {key: one for key in others if isinstance(one := fields[key], str) and " " in one.strip()}
                characters.update({key: len(one) for key, one in words.items()})
        if titles and all(2 * length < titles for length in characters.values()):
            self._text = self._title
            self._shapes.clear()
            log.warning("no field holds texts: titles are taken for texts; name another field by --text")

    def written_time(self, message: Message) -> Any:
        """Return the time of a message as it is written there; None where there is none to be found."""
        try:
            fields = self._fields(message)
        except ValueError:
            return None
        return _first(fields, self._names(fields).time)[1]

    def _quick(self, value: Any, attached: Mapping[str, Any] | None) -> dict[str, Any] | None:
        fields = _quick_fields(value)
        if fields is not None and attached:
            fields = {**fields, **_as_texts(attached)}
        return _flat(fields) if self._nested and fields is not None else fields

    def _fields(self, message: Message) -> Mapping[str, Any]:
        fields = _fields(message, f"{self._unit} {message.offset + self._first}")
        if message.attached:
            fields = {**fields, **_as_texts(message.attached)}
        return _flat(fields) if self._nested else fields

    def _usual(
        self, fields: dict[str, Any], part: str, offset: int, sent: datetime | None
    ) -> tuple[str, int, str, Mapping[str, Any]] | None:
        """Return id, time, text and title of the most frequent kinds of messages; None for others.

        That is a text, with or without an id, and a time of its own or of the message, ``sent``; it is returned in
        microseconds since 1970, `NO_TIME` for none. All texts among the fields can be encoded.
        """
        names = self._names(fields)
        if not names.usual:
            return None
        text = fields[names.text[0]]
        id = fields[names.id[0]] if names.id else f"{part}:{offset}"
        if type(text) is str and "&" in text:
            text = plain_text(text)
        if type(text) is not str or type(id) is not str or not id or text.isspace() or id.isspace():
            return None
        if not 0 < len(text) <= self._max_characters:
            return None
        meta = _NO_META
        if names.title:
            title = fields[names.title[0]]
            if type(title) is not str or (len(names.title) > 1 and not title.strip()):
                return None
            meta = {"title": title}
        if not names.time:
            if type(sent) is datetime:
                return id, microseconds(utc(sent)), text, meta
            return None if self.timed else (id, NO_TIME, text, meta)
        time = fields[names.time[0]]
        if type(time) is int and SECONDS[0] <= time < SECONDS[1]:
            return id, time * 1_000_000, text, meta
        if type(time) is not int and type(time) is not str:
            return None
        known, moment = self._last_time
        if time != known:
            try:
                moment = microseconds(self._text_time(time.strip()) if isinstance(time, str) else from_number(time))
            except (ValueError, OverflowError):
                return None
            self._last_time = time, moment
        return id, moment, text, meta

    def _unusual(self, fields: dict[str, Any] | None, message: Message) -> Document | Rejected:
        """Return what another kind of message holds, of which the quick reader has read these ``fields``, or none.

        Where it may have read them otherwise than the careful one, that one decides.
        """
        if fields is not None and type(message.value) is bytes:
            names = self._names(fields)
            keys = (key for some in (names.time, names.id, names.title, names.meta) for key in some)
            if all(_exact(fields[key]) for key in keys):
                try:
                    return self._document(fields, names, message)
                except (ValueError, OverflowError, RecursionError):
                    pass
        return self._decode_carefully(message)

    def _decode_carefully(self, message: Message) -> Document | Rejected:
        try:
            fields = self._fields(message)
            return self._document(fields, self._names(fields), message)
        except ValueError as reason:
            return Rejected(message.part, message.offset, str(reason), _excerpt(message.value))

    def _document(self, fields: Mapping[str, Any], names: _Names, message: Message) -> Document:
        time = self._decode_time(fields, names.time, message)
        vector = None if self._vector is None else self._decode_vector(fields, self._vector)
        text = self._decode_text(fields, names.text, needed=vector is None)
        id = _written(*_first(fields, names.id))
        title = _written(*_first(fields, names.title))
        meta: dict[str, Any] = {name: fields[name] for name in names.meta}
        if title is not None:
            meta["title"] = title
        if vector is not None:
            self.dimension = vector.shape[0]
        if id is None or not id.strip():
            id = f"{message.part}:{message.offset}"
        return Document(message.part, message.offset, id, time, text, vector, meta)

    def _names(self, fields: Mapping[str, Any]) -> _Names:
        """Return the fields to read; cached by the set of fields, since the messages of a stream are alike."""
        shape = tuple(fields)
        known = self._shapes.get(shape)
        if known is None:
            time, text, id = (named(shape, names) for names in (self._time, self._text, self._id))
            title, meta = named(shape, self._title), [name for name in self._meta if name in fields]
            usual = bool(text) and not meta and self._vector is None
            known = _Names(time, text, id, title, meta, usual)
            if len(shape) <= _SHAPES:
                if len(self._shapes) == _SHAPES:
                    self._shapes.clear()
                self._shapes[shape] = known
        return known

    def _decode_time(self, fields: Mapping[str, Any], keys: list[str], message: Message) -> datetime | None:
        name, value = _first(fields, keys)
        if not self.timed and isinstance(value, str) and not value.strip():
            return None
        if value is None:
            if message.time is not None and name is None:
                return utc(message.time)
            if not self.timed:
                return None
            raise _NotADocument(_missing("time", name, self._time or ("a time of the message itself",), fields))
        try:
            return self._text_time(value.strip()) if self.time_format and isinstance(value, str) else parse_time(value)
        except (ValueError, OverflowError) as error:
            raise _NotADocument(f"{name} is no time: {_no_time(value, self.time_format)}") from error

    def _text_time(self, text: str) -> datetime:
        """Read a time, by the given format if it is none of the usual ones."""
        try:
            return from_text(text)
        except (ValueError, OverflowError):
            if self.time_format is None:
                raise
            return utc(datetime.strptime(text, self.time_format))

    def _decode_text(self, fields: Mapping[str, Any], keys: list[str], *, needed: bool) -> str | None:
        name, value = _first(fields, keys)
        if value is None:
            if needed:
                raise _NotADocument(_missing("text", name, self._text, fields))
            return None
        if isinstance(value, bytes):
            value = _decoded(value, f"in {name}")
        if not isinstance(value, str):
            raise _NotADocument(f"{name} is no text: it is {_kind(value)}")
        value = plain_text(value)
        if len(value) > self._max_characters:
            raise _NotADocument(
                f"{name} is too long: {len(value):,} characters, at most {self._max_characters:,} are taken"
            )
        if not value or value.isspace():
            if needed:
                raise _NotADocument(f"{name} is empty")
            return None
        return encodable(value)

    def _decode_vector(self, fields: Mapping[str, Any], name: str) -> NDArray[np.float32]:
        value = fields.get(name)
        if value is None:
            raise _NotADocument(_missing("vector", name if name in fields else None, (name,), fields))
        numbers = _numbers(value, name)
        if self.dimension is not None and numbers.shape[0] != self.dimension:
            raise _NotADocument(f"{name} has the wrong dimension: {numbers.shape[0]}, expected {self.dimension}")
        with np.errstate(over="ignore", under="ignore"):
            vector = numbers.astype(np.float32)
        if not np.isfinite(vector).all():
            at = int(np.argmin(np.isfinite(vector)))
            raise _NotADocument(f"{name} is not finite: number {at + 1} of {vector.shape[0]}")
        if not vector.any():
            raise _NotADocument(f"{name} has no direction: all {vector.shape[0]} numbers are zero")
        return vector


def parse_time(value: object) -> datetime:
    """Return the time that a value stands for, in UTC.

    Parameters
    ----------
    value : str, int, float, datetime, date or numpy.datetime64
        See ``FieldCodec``.

    Returns
    -------
    datetime
        Aware, in UTC.

    Raises
    ------
    ValueError
        If the value is no time; the message shows it.
    """
    try:
        return from_value(value)
    except ValueError:
        raise ValueError(_no_time(value, None)) from None


def _no_time(value: object, time_format: str | None) -> str:
    given = f" nor {time_format}" if time_format else ""
    return f"{_shortened(value)} is neither a date like 2021-03-31 nor a year nor seconds since 1970{given}"


def _checked_format(time_format: str) -> str:
    """Return the format if what it writes can be read back, and names at least a year."""
    sample = datetime(2021, 3, 31, 13, 45, 6, tzinfo=UTC)
    try:
        read = datetime.strptime(sample.strftime(time_format), time_format)
    except ValueError as error:
        raise InputError(f"time_format: {time_format!r} cannot be read: {error}") from error
    if read.year != sample.year:
        raise InputError(f"time_format: expected one with a year, such as %d/%m/%Y, got {time_format!r}")
    return time_format


def _flat(fields: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Put the fields of objects beside the others, under names with dots."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat[f"{prefix}{name}"] = value
        if isinstance(value, dict) and depth < _DEEPEST:
            flat |= _flat(value, f"{prefix}{name}.", depth + 1)
    return flat


def _attached(name: str) -> str | None:
    """Return which part of a message besides its value a field stands for, None for a field of the value."""
    if name == KEY or name.startswith(f"{KEY}."):
        return KEY
    return name if name.startswith(HEADER) else None


def _as_texts(attached: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys and headers as texts; bytes that are not UTF-8, such as numbers, as hexadecimal digits."""
    return {name: _as_text(value) if isinstance(value, bytes) else value for name, value in attached.items()}


def _as_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _first(fields: Mapping[str, Any], keys: list[str]) -> tuple[str | None, Any]:
    """Return (name, value) of the first field that is not blank, else of the first that is not null.

    If all are null (first name, None), if there are none (None, None).
    """
    known = [(key, value) for key in keys if (value := fields[key]) is not None]
    filled = (one for one in known if (one[1].strip() if isinstance(one[1], str) else not _is_nan(one[1])))
    return next(filled, known[0] if known else (keys[0] if keys else None, None))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _exact(value: Any) -> bool:
    """Return whether the fast parser has read a value exactly as the careful one would."""
    kind = type(value)
    return kind is str or kind is int or value is None or kind is bool or (kind is float and abs(value) < _LARGE)


def _quick_fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of plain JSON or of a plain table row; None for what has to be read with more care.

    JSON is read by a parser that is three times as fast. It refuses NaN, lone surrogates and a byte order mark, and
    rounds large integers, see `_exact`.
    """
    try:
        if type(value) is bytes:
            fields = orjson.loads(value)
            return fields if type(fields) is dict else None
        if type(value) is not dict or SURPLUS in value:
            return None
        for cell in value.values():
            if type(cell) is str and not cell.isascii():
                cell.encode()  # fails for a cell that is not UTF-8
    except (ValueError, RecursionError):
        return None
    return value


def _fields(message: Message, where: str) -> Mapping[str, Any]:
    """Return the fields of a message; raise if a text is not UTF-8."""
    value = message.value
    if isinstance(value, Refusal):
        raise _NotADocument(value["reason"])
    if message.oversized is not None:
        raise _NotADocument(f"too long: {where} has {message.oversized:,} bytes")
    if value == b"":
        raise _NotADocument(f"empty: {where} holds nothing")
    if isinstance(value, bytes):
        return _object(value, where)
    if SURPLUS in value:
        columns = len(value) - 1
        cells = columns + len(value[SURPLUS])
        raise _NotADocument(f"too many cells: {cells} in a row of {columns} columns; quotation marks may be missing")
    for name, cell in value.items():
        if isinstance(cell, str) and not cell.isascii():
            _check_cell(name, cell)
    return value


def _check_cell(name: str, cell: str) -> None:
    try:
        cell.encode()
    except UnicodeEncodeError:
        _decoded(cell.encode("utf-8", "surrogateescape" if _escaped(cell) else "replace"), f"in {name}")


def _escaped(cell: str) -> bool:
    return all(not "\ud800" <= letter <= "\udfff" or "\udc80" <= letter <= "\udcff" for letter in cell)


def _object(line: bytes, where: str) -> Mapping[str, Any]:
    text = _decoded(line, f"{'on' if where.startswith('line') else 'at'} {where}").removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _NotADocument(f"not JSON: {where}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        # integers of thousands of digits, brackets in thousands of brackets
        raise _NotADocument(f"not JSON that can be read: {where}: {error}") from error
    if not isinstance(value, dict):
        raise _NotADocument(f"not a JSON object: {where} holds {_kind(value)}")
    return value


def _decoded(value: bytes, where: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise _NotADocument(f"not UTF-8: byte 0x{value[error.start]:02x} at position {error.start} {where}") from error


def _missing(what: str, name: str | None, names: Sequence[str], fields: Mapping[str, Any]) -> str:
    if name is not None:
        return f"{name} is null"
    flat = [key for key, value in _flat(fields).items() if not isinstance(value, dict)]
    found = [_shortened(key, quoted=False) for key in flat[:_NAMED]]
    listed = ", ".join(found) + (", ..." if len(flat) > _NAMED else "") if found else "nothing"
    return f"no {what}: expected {alternatives(names)}, found {listed}"


def _numbers(value: object, name: str) -> NDArray[np.float64]:
    if isinstance(value, str):  # a cell of CSV
        try:
            value = _list_in_cell(value)
        except (ValueError, RecursionError) as error:
            raise _NotADocument(f"{name} is no list of numbers: {_shortened(value)}") from error
    if not isinstance(value, list | tuple | np.ndarray):
        raise _NotADocument(f"{name} is no list of numbers: it is {_kind(value)}")
    try:
        vector = np.asarray(value)
        if vector.dtype.kind == "O" and vector.ndim == 1:  # decimal numbers of Parquet
            vector = vector.astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise _NotADocument(f"{name} is no list of numbers: its items differ in kind") from error
    if vector.ndim != 1 or vector.dtype.kind not in "iuf":
        raise _NotADocument(f"{name} is no list of numbers: {_shortened(value)}")
    return vector.astype(np.float64)


def _list_in_cell(cell: str) -> Any:
    """Read a list as JSON has it, or as NumPy writes an array: with blanks instead of commas."""
    try:
        return json.loads(cell)
    except ValueError:
        if not (cell.startswith("[") and cell.endswith("]")):
            raise
        return np.array(cell[1:-1].split(), np.float64)


def _written(name: str | None, value: object) -> str | None:
    """Return an id or a title as text, None for a missing one; bytes must be UTF-8."""
    return _decoded(value, f"in {name}") if isinstance(value, bytes) else as_text(value)


def _kind(value: object) -> str:
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
        str: "a text",
    }
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")


def _shortened(value: object, *, quoted: bool = True, limit: int = 80) -> str:
    if isinstance(value, str):
        text = encodable(value[:limit]) + ("..." if len(value) > limit else "")
        return repr(text) if quoted else text
    if isinstance(value, list | tuple | np.ndarray) and len(value) > 5:
        return f"a list of {len(value)} beginning with {_shortened(value[0])}"
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a number of more than 20 digits"
    return encodable(text[:limit])


def _excerpt(value: bytes | Mapping[str, Any]) -> str:
    if isinstance(value, bytes):
        return value[: 4 * _EXCERPT].decode("utf-8", "replace")[:_EXCERPT]
    if isinstance(value, Refusal):
        return value["excerpt"]
    cells = (f"{_shortened(name, quoted=False)}: {_shortened(cell)}" for name, cell in list(value.items())[:_NAMED])
    return ", ".join(cells)[:_EXCERPT]


def document_as_json(document: Document) -> bytes:
    """Return a document as a JSON object that the default codec reads: what it has of id, time, title, text, vector."""
    fields: dict[str, Any] = {"id": document.id}
    if document.time is not None:
        fields["time"] = document.time.isoformat()
    if document.meta.get("title"):
        fields["title"] = document.meta["title"]
    if document.text is not None:
        fields["text"] = document.text
    if document.vector is not None:
        fields["vector"] = [round(float(number), 6) for number in document.vector]
    return json.dumps(fields, ensure_ascii=False).encode()
