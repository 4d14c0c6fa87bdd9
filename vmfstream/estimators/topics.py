"""Text in, topics over time out: the tracker without Kafka and without a file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from vmfstream.engine.engine import Engine, EngineSettings
from vmfstream.engine.slices import Slicing
from vmfstream.errors import InputError
from vmfstream.log.memory import MemoryLog
from vmfstream.log.writer import Log
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Document, Message, Position, Rejected, SliceReport, TopicRows
from vmfstream.text.encoders import TextEncoder

Time = datetime | date | np.datetime64 | int | float
"""A moment; an int or float is a year."""


class TopicTracker:
    """Follow topics in texts that arrive in the order of time.

    Parameters
    ----------
    topics : int
        Number of topics.
    slices : str
        ``year``, ``quarter``, ``month``, ``week``, ``day``, ``hour``, or a number of documents per slice.
    seed : int
        Of all random choices.
    stop_words : str or None
        Language of the words to leave out; None keeps all.
    capacity : int
        Most words of the vocabulary.

    Examples
    --------
    >>> from vmfstream import TopicTracker
    >>> tracker = TopicTracker(topics=2, slices="year")
    >>> cats, ships = "cat fur paw", "ship sea harbour"
    >>> tracker.learn([cats, ships] * 20, [2001] * 40).learn([cats, ships] * 20, [2002] * 40).finish()
    >>> [(row["slice"], round(row["documents"])) for row in tracker.topics()]
    [('2001', 20), ('2001', 20), ('2002', 20), ('2002', 20)]
    """

    def __init__(
        self,
        topics: int = 30,
        slices: str | int = "year",
        *,
        seed: int = 0,
        stop_words: str | None = "english",
        capacity: int = 50_000,
    ) -> None:
        self._feed = _Feed()
        self._log = MemoryLog()
        self._engine = Engine(
            self._feed,
            _Ready(),
            TextEncoder(stop_words=stop_words, capacity=capacity),
            self._log,
            TrackerSettings(topics=topics, seed=seed),
            EngineSettings(Slicing.parse(str(slices))),
        )

    def learn(
        self, texts: Sequence[str], times: Sequence[Time] | Time, ids: Sequence[str] | None = None
    ) -> TopicTracker:
        """Read documents; a slice closes when the first document of a later one comes.

        Parameters
        ----------
        texts : sequence of str
        times : one moment per text, or one for all; years may be plain numbers
        ids : sequence of str, optional
            A repeated id is left out; by default every text is a new document.
        """
        if self._feed.closed:
            raise InputError("this tracker was finished; make a new one to read more")
        if isinstance(texts, str):
            raise InputError("texts: expected a sequence of texts, got one string")
        moments = [times] * len(texts) if isinstance(times, Time | np.number | str) else list(times)
        for name, given in (("times", moments), ("ids", texts if ids is None else ids)):
            if len(given) != len(texts):
                raise InputError(f"{name}: expected one per text ({len(texts)}), got {len(given)}")
        self._feed.add(texts, [_moment(t) for t in moments], ids)
        self._engine.run(stop=lambda: self._feed.empty)
        return self

    def finish(self) -> None:
        """Close the last slice and look at all slices in hindsight."""
        self._feed.closed = True
        self._engine.run()

    def topics(self, *, hindsight: bool = False, words: int = 10) -> list[dict[str, Any]]:
        """One row per topic and closed slice: slice, topic, documents, share, turned (degrees), words with weights.

        Parameters
        ----------
        hindsight : bool
            Use documents of later slices too, instead of what was known when a slice closed.
        words : int
            Strongest words per row.
        """
        labels = {report.slice.index: report.slice.label for report in self._reports()}
        if hindsight:
            found = {s.slice: s.topics for commit in self._log.commits for s in commit.smoothed}
        else:
            found = {r.slice.index: r.topics for r in self._reports() if r.topics is not None}
        return [row for index in sorted(found) for row in _rows(labels[index], found[index], words)]

    def write_log(self, path: str | Path) -> None:
        """Write the rows of all slices as a log, which commands, pages and `vmfstream.plot` read.

        Raises
        ------
        InputError
            If there is a file already, or the path cannot be written.
        """
        target = Path(path).expanduser()
        if target.exists():
            raise InputError(f"{target} exists already; a tracker writes a new file")
        log, last = Log(target), self._log.resume()
        log.settings(self._log.settings({}))
        for commit in self._log.commits:
            if last is not None and commit.epoch.epoch == last.epoch:
                commit = replace(commit, open_state=last.open_state, slice_state=last.slice_state)
            log.commit(commit)
        log.close()

    @property
    def rejected(self) -> list[Rejected]:
        """Documents that were left out, with their reasons."""
        return [r for commit in self._log.commits for r in commit.rejected]

    def _reports(self) -> list[SliceReport]:
        return [report for commit in self._log.commits for report in commit.closed]


def _rows(label: str, topics: TopicRows, words: int) -> list[dict[str, Any]]:
    return [
        {
            "slice": label,
            "topic": int(topics.topic[i]),
            "documents": float(topics.n[i]),
            "share": float(topics.share[i]),
            "turned": float(topics.speed[i]),
            "words": list(topics.words[i][:words]),
        }
        for i in range(len(topics.topic))
    ]


def _moment(time: Time) -> datetime:
    if isinstance(time, datetime):
        if time != time:  # the missing time of pandas
            raise InputError("times: NaT is no time")
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day, tzinfo=UTC)
    if isinstance(time, np.datetime64):
        if np.isnat(time):
            raise InputError("times: NaT is no time")
        return _moment(time.astype("datetime64[us]").item())
    if isinstance(time, int | float | np.number) and 1 <= time <= 9999 and time == int(time):
        return datetime(int(time), 1, 1, tzinfo=UTC)
    raise InputError(f"times: expected a datetime, a date or a year, got {time!r}")


class _Feed:
    """A source that is filled by hand."""

    name = "texts"
    total = None

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()
        self._count = 0
        self.closed = False

    @property
    def empty(self) -> bool:
        return not self._waiting

    @property
    def exhausted(self) -> bool:
        return self.closed and self.empty

    def add(self, texts: Iterable[str], times: Sequence[datetime], ids: Sequence[str] | None) -> None:
        for i, (text, time) in enumerate(zip(texts, times, strict=True)):
            value = {"id": str(self._count) if ids is None else str(ids[i]), "text": text}
            self._waiting.append(Message("texts", self._count, value, time))
            self._count += 1

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def seek(self, position: Position) -> None:
        """Nothing to go back to: the texts are the caller's."""

    def close(self) -> None:
        """Nothing to release."""


class _Ready:
    """The codec of messages that are documents already."""

    def decode(self, message: Message) -> Document | Rejected:
        value = message.value
        if isinstance(value, bytes) or message.time is None or not isinstance(value["text"], str):
            kind = "bytes" if isinstance(value, bytes) else type(value["text"]).__name__
            return Rejected(message.part, message.offset, f"text: expected a string, got {kind}")
        return Document(message.part, message.offset, value["id"], message.time, value["text"])
