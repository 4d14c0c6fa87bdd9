"""Queries of single documents: all as they were labelled, representative and novel ones, and rejected messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vmfstream.runfile.queries.base import Floats, Ints, RunFileQueries, Texts, Times, unmasked


@dataclass(frozen=True, slots=True, eq=False)
class DocumentFrame:
    """Documents as they were labelled on arrival, see `vmfstream.records.DocumentRows`, with the numbers of slices."""

    id: Texts
    time: Times
    slice: Ints
    topic: Ints
    probability: Floats
    story: Ints
    novelty: Floats


@dataclass(frozen=True, slots=True, eq=False)
class OutboxFrame:
    """What documents got and was not known to be sent when the last epoch was written, in the order of learning."""

    epoch: Ints
    part: Texts
    offset: Ints
    topic: Ints
    probability: Floats
    story: Ints
    novelty: Floats
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
    score: Floats


@dataclass(frozen=True, slots=True, eq=False)
class NovelFrame:
    """The most novel documents of each closed slice by rank (from 1), see `vmfstream.records.Novel`."""

    slice: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    novelty: Floats
    topic: Ints


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


class Documents(RunFileQueries):
    """Queries of single documents."""

    def documents(
        self,
        *,
        topic: int | None = None,
        story: int | None = None,
        slice: int | None = None,
        since: datetime | None = None,
        newest: bool = False,
        limit: int | None = None,
    ) -> DocumentFrame:
        """Return documents as they were labelled on arrival, in the order in which they were learnt.

        Parameters
        ----------
        topic : that of the documents.
        story : theirs, or the one that theirs was merged into.
        slice : number of the slice with which they were learnt.
        since : earliest time of a document, without a time zone in UTC.
        newest : the last ones first.
        limit : most documents.
        """
        merged = """
            with recursive part(story) as (
                select $2::bigint union
                select event.story from story_event event join part on event.other = part.story
                where event.kind = 'merged')
            select story from part"""
        query = f"""
            from document where ($1 is null or topic = $1) and ($2 is null or story in ({merged}))
                and ($3 is null or slice = $3) and ($4 is null or time >= $4)
            order by rowid {"desc" if newest else ""} limit $5"""
        return self._frame(DocumentFrame, query, [topic, story, slice, since, limit])

    def labels_of_documents(self, kind: Literal["topic", "story"]) -> Ints:
        """Return the different topics, or stories, that documents got on arrival."""
        return unmasked(self._columns(f"select distinct {kind} from document where {kind} >= 0 order by 1", ())[0])

    def outbox(self, after: int, upto: int) -> OutboxFrame:
        """Return what documents of epochs behind ``after``, and not behind ``upto``, got."""
        query = """
            select o.epoch, part, source_offset, topic, probability, story, novelty, words
            from (select rowid as place, * from outbox where epoch > $1 and epoch <= $2) o
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
