"""The part of a `TopicTracker` that tells what was found: topics, events, stories and documents."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from vmfstream.decisions import check_topic_id
from vmfstream.errors import InputError
from vmfstream.records import Rejected
from vmfstream.topic_tracker.base import TrackerParts
from vmfstream.topic_tracker.rows import (
    closed_slices,
    columns_of_documents,
    parts_of_topics,
    rows_of_events,
    rows_of_novel_documents,
    rows_of_stories,
    rows_of_topics,
)
from vmfstream.topic_tracker.tables import Columns, RowList


class Answers(TrackerParts):
    """Tell what was found."""

    _story_labels: NDArray[np.int64]

    def topics(self, *, smoothed: bool = False, words: int = 10, hindsight: bool | None = None) -> RowList:
        """Return one row per topic and closed slice.

        Parameters
        ----------
        smoothed : bool
            Use documents of later slices too, instead of what was known when a slice closed (filtered). A slice has
            rows once it has left the window of recent documents, which holds 16 slices at most; after `finish` all
            have. As long as none has, a warning says so.
        words : int
            Strongest words per row, at least 0.
        hindsight : bool
            Deprecated: the former name of ``smoothed``.

        Returns
        -------
        RowList
            A list of dicts, and a table: ``rows.to_pandas()``, ``rows.to_polars()``, ``rows.columns``.
            ``slice``, ``topic``, ``documents``, ``share``, ``drift_angle`` (degrees to the topic's mean in the slice
            before), ``words`` (pairs of word and weight), ``name`` (given, or its most telling phrases and words) and
            ``title`` (of its most representative document); ``share_low`` and ``share_high`` bound the share and
            ``radius`` (degrees) the direction, at 95 %. ``npmi`` and ``c_v`` are the coherence of the ten strongest
            words in the recent documents, ``diversity`` tells how few of them it shares with other topics, and
            ``isotropy`` how evenly recent vectors spread around it, NaN where documents are words (all four not for
            smoothed topics), see `vmfstream.metrics`. ``turned`` repeats ``drift_angle`` under its former name.

        Raises
        ------
        InputError
            If ``words`` is no whole number of at least 0.
        """
        return self._rows(smoothed=_smoothed(smoothed, hindsight), words=words)

    def _rows(self, *, smoothed: bool, words: int) -> RowList:
        """Return what `topics` does; warn the caller of the caller where no slice has been smoothed yet."""
        self._take_names()
        commits = self._commits
        known = any(report.topics is not None for report in closed_slices(commits))
        if smoothed and known and not any(commit.smoothed for commit in commits):
            warnings.warn(
                "no slice has been smoothed yet, so there are no rows: a slice is smoothed when it leaves the window "
                "of recent documents, after 16 later slices at most, and finish() smooths all",
                stacklevel=3,
            )
        return RowList(rows_of_topics(commits, self.names(), smoothed=smoothed, words=words))

    def parts(self) -> dict[int, int]:
        """Return which topics belong to one that was named beforehand: the topic named, by topic, as told last.

        A topic that was named is its own; one that was found belongs to it if its mean direction is near to the words
        that name it. Without ``topics_from`` there are none.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year", topics_from={"Pets": ["cat", "fur"]})
        >>> tracker.learn(["cat fur paw", "ship sea harbour"] * 9, 2001).learn(["sea"], 2002).parts()
        {0: 0}
        """
        return parts_of_topics(self._commits)

    def trajectory(
        self, topic: int, *, smoothed: bool = False, words: int = 10, hindsight: bool | None = None
    ) -> RowList:
        """Return the rows of one ``topic``, an id, oldest first; other arguments as in `topics`.

        Raises
        ------
        InputError
            If there is no such topic, and names those that there are; if ``topic`` is no whole number; or as `topics`.
        """
        check_topic_id(topic, "trajectory")
        rows = self._rows(smoothed=_smoothed(smoothed, hindsight), words=words)
        found = RowList(row for row in rows if row["topic"] == topic)
        if not found:
            known = ", ".join(map(str, sorted({row["topic"] for row in rows}))) or "none yet"
            raise InputError(f"there is no topic {topic}; topics: {known}")
        return found

    def events(self) -> RowList:
        """Return what happened to topics, in order: slice, kind, topic, other, value, evidence, chance, decision.

        A list of dicts, and a table as of `topics`. See `vmfstream.records.Event` for what they mean; None where a kind
        has none.
        """
        return RowList(rows_of_events(self._commits))

    @property
    def story_labels(self) -> NDArray[np.int64]:
        """Story that each of the texts given to `learn` last got on arrival, (N,); -1 for none.

        Texts without words, and those that were left out, have none.
        """
        return self._story_labels.copy()

    def stories(self, *, words: int = 10, documents: int = 3) -> RowList:
        """Return one row per story, those with the newest documents first; within a slice the largest first.

        Only stories of at least three documents have rows. Those that nobody joined for 2,400 documents, or
        for 8 times ``story_days``, have ended.

        Parameters
        ----------
        words : int
            Strongest words per row, from 0 to 10; more give 10.
        documents : int
            Representative documents per row, from 0 to 5; more give 5.

        Returns
        -------
        RowList
            A list of dicts, and a table as of `topics`:
            ``story``, ``title`` (of the most representative document), ``size`` (documents), ``words``, ``first`` and
            ``last`` (labels of the slices of its first and last document), ``trend`` (``rising``, ``steady``,
            ``falling`` or ``ended``), ``topic`` (the parent topic, None if there is none) and ``documents`` (id and
            title of each).

        Raises
        ------
        InputError
            If ``words`` or ``documents`` is no whole number of at least 0.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year")
        >>> tracker.learn(["cat fur paw", "ship sea harbour"] * 3, 2001).story_labels.tolist()
        [0, 1, 0, 1, 0, 1]
        >>> [(row["title"], row["size"]) for row in tracker.stories()]
        [('cat fur paw', 3), ('ship sea harbour', 3)]
        """
        label = self._run.engine().slices.slice
        return RowList(rows_of_stories(self._commits, lambda index: label(index).label, words, documents))

    def documents(self) -> Columns:
        """Return the labels of every document, as columns, in the order in which they were learnt.

        Returns
        -------
        Columns
            A dict of str to ndarray of shape (N,), and a table: ``pandas.DataFrame(columns)``,
            ``polars.DataFrame(columns)``, or whatever reads ``__arrow_c_stream__``.
            ``id``, ``time`` (UTC), ``slice`` (label of the slice with which it was learnt), ``topic`` (-1 for none, as
            before the first topics), ``probability`` (of the topic, calibrated by the temperature of the slice before),
            ``second`` and ``second_probability`` (the same of the second topic), ``story`` (-1 for none) and
            ``novelty`` (as of `novelty`), all as they were told on arrival; the numbers are NaN without a topic.
            ``smoothed_topic`` is the topic given the documents of later slices, -1 where it is not known: it is told
            when the slice has left the window of recent documents, at `finish`, and with the first topics for
            documents that came before them. ``smoothed_story``, with ``smoothed_stories=True``, is the story given the
            300 to 400 documents that came next, that on arrival until these are known.

        Raises
        ------
        InputError
            If the tracker was not made with ``documents=True``, nor the run that it reads with ``--documents all``, or
            it was saved by a version that kept none.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year", documents=True)
        >>> _ = tracker.learn(["cat fur paw", "ship sea harbour"] * 9, 2001)
        >>> columns = tracker.learn(["sea ship"], 2002, ["new"]).documents()
        >>> columns["id"][-1], columns["slice"][-1], columns["story"][[1, -1]].tolist()
        ('new', '2002', [1, 1])
        """
        if (kept := self._run.documents) != "all":
            what = "no documents" if kept == "none" else f"of its documents the newest {kept} of a topic and slice only"
            raise InputError(f"this tracker keeps {what}; make one with documents=True, or a run with --documents all")
        return Columns(columns_of_documents(self._commits, stories=self._run.smoothed_stories))

    def novel(self) -> RowList:
        """Return the first stories of each closed slice, then its most novel other documents, at most 20.

        A list of dicts, and a table as of `topics`. A first story is the first document of a story that got its third
        document in this slice. Keys: slice, id, title, ``novelty`` on arrival as of `TopicTracker.novelty` (0 while
        there were no topics), ``topic``, the topic that the document was assigned to (of a first story that of its
        story; None without one), and ``story``, the story that it is the first document of, None for the others.
        """
        return RowList(rows_of_novel_documents(self._commits))

    @property
    def rejected(self) -> list[Rejected]:
        """Documents that were left out, with their reasons."""
        return [r for commit in self._commits for r in commit.rejected]


def _smoothed(smoothed: bool, hindsight: bool | None) -> bool:
    if hindsight is None:
        return smoothed
    warnings.warn("hindsight=... is deprecated, use smoothed=...", DeprecationWarning, stacklevel=3)
    return hindsight
