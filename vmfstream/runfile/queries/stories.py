"""Queries of stories: sizes, words, representative documents, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vmfstream.arrays import Vector
from vmfstream.runfile.queries.base import Bools, Ints, RunFileQueries, Texts, Times
from vmfstream.text.topic_names import JOINT


@dataclass(frozen=True, slots=True, eq=False)
class StoryFrame:
    """Stories, see `vmfstream.records.StoryRows`; no parent topic is -1.

    ``merged_into`` is the story that goes on with the documents of one that proved to be the same; -1 for others.
    """

    story: Ints
    first_slice: Ints
    last_slice: Ints
    first: Times
    last: Times
    size: Ints
    topic: Ints
    trend: Vector
    ended: Bools
    title: Texts
    merged_into: Ints


@dataclass(frozen=True, slots=True, eq=False)
class StoryWordFrame:
    """Words of stories by story and rank (from 1)."""

    story: Ints
    rank: Ints
    word: Texts
    weight: Vector


@dataclass(frozen=True, slots=True, eq=False)
class StoryDocumentFrame:
    """Representative documents of stories by story and rank (from 1)."""

    story: Ints
    rank: Ints
    id: Texts
    title: Texts
    time: Times
    score: Vector


@dataclass(frozen=True, slots=True, eq=False)
class StorySliceFrame:
    """Stories as they were at the ends of slices, see `vmfstream.records.StorySlices`; ``words`` between commas."""

    slice: Ints
    story: Ints
    size: Ints
    topic: Ints
    trend: Vector
    title: Texts
    words: Texts

    def strongest(self) -> list[list[str]]:
        """Return the words of each row, the strongest first."""
        return [words.split(JOINT) if words else [] for words in self.words.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class StoryEventFrame:
    """What happened to stories, in order, see `vmfstream.records.StoryEvent`; no ``other`` is -1, no evidence NaN."""

    slice: Ints
    epoch: Ints
    kind: Texts
    story: Ints
    size: Ints
    other: Ints
    evidence: Vector


RISING = 2.0
"""A story whose trend is at least this is rising, at most minus this falling, see `vmfstream.records.StoryRows`."""


def trend_word(trend: float, ended: bool, merged_into: int = -1) -> str:
    """Return ``rising``, ``steady``, ``falling``, ``ended`` or ``merged`` for a story.

    Parameters
    ----------
    trend : see `vmfstream.records.StoryRows`.
    ended : whether it gets no more documents.
    merged_into : the story that it became part of, or -1.

    Examples
    --------
    >>> trend_word(2.5, False), trend_word(-2.5, False), trend_word(0.1, False), trend_word(9.0, True)
    ('rising', 'falling', 'steady', 'ended')
    >>> trend_word(9.0, True, merged_into=7)
    'merged'
    """
    if merged_into >= 0:
        return "merged"
    if ended:
        return "ended"
    return "rising" if trend >= RISING else "falling" if trend <= -RISING else "steady"


GOES_ON = """
    merger as (select rowid as row, story, other from story_event where kind = 'merged'),
    chain(story, last, row) as (
        select story, other, row from merger
        union all
        select chain.story, merger.other, merger.row from chain
            join merger on merger.story = chain.last and merger.row > chain.row),
    goes_on as (select story, arg_max(last, row) as last from chain group by story)"""
"""Part of a ``with recursive``: which story has the documents of one that became part of it, at once or by others."""

_STORIES = f"""
    with recursive {GOES_ON},
    merged as (select story, last(other order by row) as other from merger group by story),
    voted as (
        select coalesce(g.last, d.story) as story, coalesce(l.topic, d.topic) as topic, count(*) as votes
        from document d left join document_smoothed l using (slice, place) left join goes_on g on g.story = d.story
        where d.story >= 0 and exists (from meta where key = 'documents' and value = 'all') group by all),
    parent as (select story, arg_max(topic, votes * 65536 - topic) as topic from voted where topic >= 0 group by story)
    select s.* replace (coalesce(parent.topic, s.topic) as topic), coalesce(merged.other, -1) as merged_into
    from story s left join parent using (story) left join merged using (story)
"""
"""Stories with the topics of most of their documents, as known now; the smallest of several."""


class StoryQueries(RunFileQueries):
    """Queries of stories; runs without stories have none."""

    def stories(self, top: int | None = None) -> StoryFrame:
        """Return at most ``top`` stories: by the slice of their last document, newest first, and by size.

        Their parent topics are those of most of their documents, as far as the run file keeps these.
        """
        return self._frame(StoryFrame, f"from ({_STORIES}) order by last_slice desc, size desc, story limit $1", [top])

    def story_words(self, top: int = 10) -> StoryWordFrame:
        """Return at most ``top`` words of every story."""
        return self._frame(StoryWordFrame, "from story_word where rank <= $1 order by story, rank", [top])

    def story_documents(self, top: int = 5) -> StoryDocumentFrame:
        """Return at most ``top`` representative documents of every story."""
        return self._frame(StoryDocumentFrame, "from story_document where rank <= $1 order by story, rank", [top])

    def story_slices(self) -> StorySliceFrame:
        """Return what stories were at the ends of slices, by story and slice; run files of before have none."""
        return self._frame(StorySliceFrame, "from story_slice order by story, slice")

    def story_events(self) -> StoryEventFrame:
        """Return what happened to stories."""
        return self._frame(StoryEventFrame, "from story_event order by epoch, rowid")

    def story_events_after(self, epoch: int) -> list[dict[str, Any]]:
        """Return what happened to stories in epochs after ``epoch``, in order, with what is known of them now.

        Keys: ``epoch``, ``slice`` (label), ``index`` (its number), ``kind``, ``story``, ``size`` (then), ``documents``
        (now), ``other`` and ``evidence`` (of mergers, else None), ``title``, ``topic`` (None without one), ``words``.
        """
        return self._dicts(f"""
            with label as (select slice, arg_max(label, epoch) as label from epoch group by slice),
            named as (select story, list(word order by rank) as words from story_word group by story)
            select e.epoch, label.label as slice, e.slice as index, e.kind, e.story, e.size, story.size as documents,
                e.other, e.evidence, story.title, nullif(story.topic, -1) as topic, coalesce(named.words, []) as words
            from story_event e left join label using (slice) left join story using (story)
            left join named using (story) where e.epoch > {int(epoch)} order by e.epoch, e.rowid""")
