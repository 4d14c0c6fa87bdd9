"""Queries of single documents: all as they were labelled, representative and novel ones, and rejected messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import ArrowStream, Vector
from vmfstream.errors import InputError
from vmfstream.runfile.connection import explain
from vmfstream.runfile.queries.base import Ints, RunFileQueries, Texts, Times, unmasked
from vmfstream.runfile.queries.stories import GOES_ON
from vmfstream.runfile.queries.topics import Reading


@dataclass(frozen=True, slots=True, eq=False)
class DocumentFrame:
    """Documents as they were labelled, see `vmfstream.records.DocumentRows`, with the numbers of slices.

    ``smoothed_topic`` is what documents of later slices made of the topic, -1 where it is not known; ``smoothed_story``
    what the next documents made of the story, -1 in a run file without; ``text`` is empty where texts are not kept.
    """

    id: Texts
    time: Times
    slice: Ints
    topic: Ints
    probability: Vector
    second: Ints
    second_probability: Vector
    story: Ints
    novelty: Vector
    smoothed_topic: Ints
    smoothed_story: Ints
    text: Texts


@dataclass(frozen=True, slots=True, eq=False)
class ListedFrame:
    """Documents as a page lists them: the topic by the latest label, the story that goes on where some were merged.

    ``text`` is the beginning of the text, empty where texts are not kept.
    """

    id: Texts
    time: Times
    slice: Ints
    topic: Ints
    probability: Vector
    story: Ints
    text: Texts


@dataclass(frozen=True, slots=True, eq=False)
class DocumentCountFrame:
    """How many documents a page could list of each topic and slice."""

    slice: Ints
    topic: Ints
    n: Ints


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """Which documents are wanted.

    Attributes
    ----------
    topic : that of the documents, by the ``reading``.
    parts : with the documents of topics that are parts of it, where it was named beforehand.
    story : theirs, or the one that theirs was merged into.
    slice : number of the slice with which they were learnt.
    since, until : earliest time of a document, and the time that all are before, without a time zone in UTC.
    search : words, separated by blanks, that all stand in the id or the text, whatever their case, and whether accents
        are signs of their own or not.
    reading : ``filtered`` for topics on arrival, ``smoothed`` for those that were told later where there are any.
    part : only those of the first to the second slice, with places from the third number to before the fourth.
    """

    topic: int | None = None
    story: int | None = None
    slice: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str = ""
    reading: Reading = "smoothed"
    part: tuple[int, int, int, int] | None = None
    parts: bool = False

    def clause(self) -> tuple[str, list[object]]:
        """Return what stands behind ``from`` in a query, with its parameters."""
        labels = "coalesce(nullif(later.topic, -1), document.topic)" if self.reading == "smoothed" else "document.topic"
        stories = "coalesce(moved.story, document.story)" if self.reading == "smoothed" else "document.story"
        conditions: list[tuple[str, object]] = [
            (f"{labels} in ({_PARTS})" if self.parts else f"{labels} = ?", self.topic),
            (f"{stories} in ({_MERGED})", self.story),
            ("slice = ?", self.slice),
            ("time >= ?", self.since),
            ("time < ?", self.until),
            *((_HAS_WORD, word) for word in self.search.split()),
        ]
        names = ("slice >= ?", "slice <= ?", "coalesce(place, 0) >= ?", "coalesce(place, 0) < ?")
        conditions += zip(names, self.part or (None,) * 4, strict=True)
        given = [(sql, value) for sql, value in conditions if value is not None]
        where = " and ".join(["true", *(sql for sql, _ in given)])
        return f"document {_LATER} where {where}", [v for _, v in given]


_HAS_WORD = "contains(lower(nfc_normalize(concat(id, ' ', text))), lower(nfc_normalize(?)))"
"""What a document is searched by: the same is done to it and to the word."""

_LATER = "left join document_smoothed later using (slice, place) left join story_smoothed moved using (slice, place)"
"""What documents got later."""

_PARTS = """
    with wanted(topic) as (select ?::integer)
    from wanted union
    select filtered.topic from filtered group by filtered.topic
        having arg_max(coalesce(part_of, -1), slice) = (select topic from wanted)"""

_MERGED = """
    with recursive part(story) as (
        select ?::bigint union
        select event.story from story_event event join part on event.other = part.story where event.kind = 'merged')
    select story from part"""

_NUMBERED = ("topic", "second", "story", "smoothed_topic", "smoothed_story")
"""Columns in which -1 stands for none."""

AT_ONCE = 20_000
"""Documents that are read at once for a file."""

LISTED_CHARACTERS = 240
"""Characters of a text in lists of a page."""

_LISTED = f"""
    with recursive {GOES_ON},
    listed as (
        select document.rowid as row, id, time, slice, probability,
            coalesce(nullif(later.topic, -1), document.topic) as topic,
            coalesce(goes_on.last, moved.story, document.story) as story,
            coalesce(left(text, {LISTED_CHARACTERS}), '') as text
        from document {_LATER}
            left join goes_on on goes_on.story = coalesce(moved.story, document.story))"""
"""The documents as columns of `ListedFrame`."""

_LABELS = {
    "topic": "document.topic::integer",
    "second": "document.second::integer",
    "story": "document.story::bigint",
    "smoothed_topic": "later.topic::integer",
    "smoothed_story": "case when exists (from meta where key = 'smoothed_stories' and value = 'True') "
    "then coalesce(moved.story, document.story)::bigint end",
    "text": "coalesce(text, '')",
}
"""Columns of `DocumentFrame` that have another name in the run file."""


@dataclass(frozen=True, slots=True, eq=False)
class OutboxFrame:
    """What documents got and was not known to be sent when the last epoch was written, in the order of learning."""

    epoch: Ints
    slice: Ints
    part: Texts
    offset: Ints
    topic: Ints
    probability: Vector
    story: Ints
    novelty: Vector
    words: Texts
    """The strongest words of the topic by then, joined by blanks; None without a topic."""


@dataclass(frozen=True, slots=True, eq=False)
class RepresentativeFrame:
    """Documents most representative of a topic, by slice, topic and rank (from 1)."""

    slice: Ints
    topic: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    score: Vector


@dataclass(frozen=True, slots=True, eq=False)
class NovelFrame:
    """First stories and most novel documents of each closed slice by rank (from 1), see `vmfstream.records.Novel`."""

    slice: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    novelty: Vector
    topic: Ints
    story: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RejectedFrame:
    """Rejected messages, the newest first."""

    part: Texts
    offset: Ints
    epoch: Ints
    reason: Texts
    excerpt: Texts


@dataclass(frozen=True, slots=True)
class Rejections:
    """Numbers of rejected messages, in total and by kind of reason (its text up to a colon), most frequent first.

    ``samples`` has of each kind the whole reason of its first message.
    """

    total: int
    reasons: dict[str, int]
    samples: dict[str, str]

    def most_frequent(self, kinds: int = 3) -> tuple[dict[str, int], int]:
        """Return the most frequent ``kinds`` of reasons with their numbers, and the number of all other messages."""
        first = dict(list(self.reasons.items())[:kinds])
        return first, self.total - sum(first.values())


class DocumentQueries(RunFileQueries):
    """Queries of single documents."""

    def documents(
        self, choice: DocumentChoice, *, newest: bool = False, limit: int | None = None, skip: int = 0
    ) -> DocumentFrame:
        """Return documents with their labels, in the order in which they were learnt.

        Parameters
        ----------
        choice : which ones.
        newest : the last ones first.
        limit : most documents.
        skip : so many of the first ones are left out.
        """
        names = [field.name for field in fields(DocumentFrame)]
        columns = ", ".join(f"{_LABELS.get(name, name)} as {name}" for name in names)
        source, given = choice.clause()
        order = f"order by document.rowid {'desc' if newest else ''} limit ? offset ?"
        found = self._columns(f"select {columns} from {source} {order}", [*given, limit, skip])
        return DocumentFrame(**{name: unmasked(column) for name, column in zip(names, found, strict=True)})

    def documents_in_parts(
        self, choice: DocumentChoice, *, limit: int | None = None, most: int = AT_ONCE
    ) -> Iterator[DocumentFrame]:
        """Yield what `documents` returns piece by piece, so that it needs little memory.

        The file is closed between two pieces. Documents that come meanwhile are left out.

        Parameters
        ----------
        choice : which ones.
        limit : most documents.
        most : documents that are looked at for a piece.
        """
        query = "select slice, count(*), max(coalesce(place, 0)) + 1 from document group by slice order by slice"
        for part in _parts(np.stack([column.astype(np.int64) for column in self._columns(query, ())], axis=1), most):
            found = self.documents(replace(choice, part=part), limit=limit)
            if len(found.id):
                yield found
            if limit is not None:
                limit -= len(found.id)
                if not limit:
                    return

    def write_documents(self, choice: DocumentChoice, path: Path, *, limit: int | None = None) -> int:
        """Write documents with their labels to a Parquet file; return how many.

        Parameters
        ----------
        choice : which ones.
        path : the file; an existing one is replaced.
        limit : most documents.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        columns = {field.name: _LABELS.get(field.name, f"document.{field.name}") for field in fields(DocumentFrame)}
        columns |= {name: f"nullif({columns[name]}, -1)" for name in _NUMBERED}
        columns |= {"slice": "named.label", "text": "text"}
        source, given = choice.clause()
        names = "(select slice as number_of_slice, max(label) as label from epoch group by slice) named"
        source = source.replace(" where ", f" left join {names} on slice = number_of_slice where ", 1)
        selected = ", ".join(f"{sql} as {name}" for name, sql in columns.items())
        target = str(path).replace("'", "''")
        query = f"select {selected} from {source} order by document.rowid limit ?"

        def write(connection: duckdb.DuckDBPyConnection) -> int:
            # the run file's own connection can reach no other file
            with duckdb.connect() as other:
                other.register("rows", ArrowStream(connection.cursor().sql(query, params=[*given, limit])))
                try:
                    done = other.execute(f"copy (select * from rows) to '{target}' (format parquet)")
                    return int(done.fetchall()[0][0])
                except duckdb.IOException as error:
                    raise InputError(f"cannot write {path}: {explain(error)}") from error

        return self._connected(write)

    def count_documents(self, choice: DocumentChoice) -> int:
        """Return how many documents were chosen."""
        source, given = choice.clause()
        return int(self._columns(f"select count(*) from {source}", given)[0][0])

    def listed(self, choice: DocumentChoice, *, limit: int, skip: int = 0) -> ListedFrame:
        """Return documents for a list on a page, the newest first.

        Parameters
        ----------
        choice : which ones.
        limit : most documents.
        skip : so many of the newest ones are left out.
        """
        source, given = choice.clause()
        page = f"select document.rowid from {source} order by document.rowid desc limit ? offset ?"
        rows = self._columns(page, [*given, limit, skip])[0].tolist()
        return self._listed("where row in (select unnest(?::bigint[])) order by row desc", [rows])

    def newest_listed(self, most: int, stories: Sequence[int]) -> ListedFrame:
        """Return the newest ``most`` documents of each topic and slice, and of some ``stories``, the newest first."""
        places = (
            "row_number() over (partition by topic, slice order by row desc) as of_topic, "
            "row_number() over (partition by story order by row desc) as of_story"
        )
        rows = (
            f"where row in (select row from (select row, topic, story, {places} from listed) "
            "where (topic >= 0 and of_topic <= $1) or (of_story <= $1 and story in (select unnest($2::bigint[])))) "
            "order by row desc"
        )
        return self._listed(rows, [most, list(stories)])

    def listed_counts(self) -> DocumentCountFrame:
        """Return how many documents there are of each topic and slice."""
        query = f"{_LISTED} select slice, topic, count(*) as n from listed where topic >= 0 group by all order by all"
        return DocumentCountFrame(*map(unmasked, self._columns(query, ())))

    def _listed(self, rows: str, given: Sequence[object]) -> ListedFrame:
        names = ", ".join(field.name for field in fields(ListedFrame))
        return ListedFrame(*map(unmasked, self._columns(f"{_LISTED} select {names} from listed {rows}", given)))

    def labels_of_documents(self, kind: Literal["topic", "story"]) -> Ints:
        """Return the different topics, or stories, that documents got, on arrival or later."""
        later = f"union select {kind} from {'document' if kind == 'topic' else 'story'}_smoothed"
        query = f"select distinct {kind} from (select {kind} from document {later}) where {kind} >= 0 order by 1"
        return unmasked(self._columns(query, ())[0])

    def outbox(self, after: int, upto: int) -> OutboxFrame:
        """Return what documents of epochs behind ``after``, and not behind ``upto``, got."""
        query = """
            select o.epoch, epoch.slice, part, source_offset, topic, probability, story, novelty, words
            from (select rowid as place, * from outbox where epoch > $1 and epoch <= $2) o
            join epoch using (epoch)
            left join (
                select epoch, topic, string_agg(word, ' ' order by rank) as words from word
                where epoch > $1 and epoch <= $2 group by epoch, topic
            ) using (epoch, topic)
            order by o.epoch, place"""
        return OutboxFrame(*map(unmasked, self._columns(query, [after, upto])))

    def representative(self, topic: int | None = None) -> RepresentativeFrame:
        """Return the most representative documents, of all topics or of one."""
        query = "from representative where $1 is null or topic = $1 order by slice, topic, rank"
        return self._frame(RepresentativeFrame, query, [topic])

    def novel(self) -> NovelFrame:
        """Return the most novel documents of each slice."""
        return self._frame(NovelFrame, "from novel order by slice, rank")

    def rejected(self, limit: int = 100) -> RejectedFrame:
        """Return the newest rejected messages, at most ``limit``."""
        query = "from rejected order by epoch desc, part, source_offset desc limit $1"
        return self._frame(RejectedFrame, query, [limit])

    def rejections(self) -> Rejections:
        """Return the numbers of rejected messages, in total and by kind of reason."""
        rows = self._rows("""
            select split_part(reason, ':', 1) as kind, count(*) as times, arg_min(reason, (epoch, part, source_offset))
            from rejected group by kind order by times desc, kind""")
        return Rejections(
            total=sum(count for _, count, _ in rows),
            reasons={kind: count for kind, count, _ in rows},
            samples={kind: sample for kind, _, sample in rows},
        )

    def rejected_after(self, epoch: int) -> RejectedFrame:
        """Return the messages that epochs after ``epoch`` rejected, in order."""
        return self._frame(RejectedFrame, "from rejected where epoch > $1 order by epoch, part, source_offset", [epoch])


def _parts(sizes: NDArray[np.int64], most: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut slices, rows of their number, documents and places, into parts of about ``most`` documents."""
    first, documents, places = None, 0, 0
    for index, n, end in sizes.tolist():
        if first is not None and documents + n > most:
            yield first[0], first[1], 0, places
            first, documents, places = None, 0, 0
        if n > most:
            step = max(most * end // n, 1)
            yield from ((index, index, low, min(low + step, end)) for low in range(0, end, step))
            continue
        first = (index if first is None else first[0], index)
        documents, places = documents + n, max(places, end)
    if first is not None:
        yield first[0], first[1], 0, places
