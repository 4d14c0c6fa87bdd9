"""The part of a `TopicTracker` by which people correct it: names, pins, mergers, splits and words left out."""

from __future__ import annotations

from collections.abc import Iterable

from vmfstream.decisions import check_topics, check_words, decision, unnamed
from vmfstream.errors import InputError
from vmfstream.text.encoders import Encoder, WordCounting
from vmfstream.topic_tracker.base import TrackerParts
from vmfstream.topic_tracker.rows import rows_of_decisions
from vmfstream.topic_tracker.tables import RowList


class Decisions(TrackerParts):
    """Take decisions about topics, and tell which were taken."""

    _encoder: Encoder

    def name(self, topic: int, text: str) -> None:
        """Give a topic a name, which is shown wherever the topic is; an empty ``text`` takes it away.

        Raises
        ------
        InputError
            If there was never such a topic, ``text`` has more than 100 characters, or it is empty and the topic has no
            name that was given to it.
        """
        self._decide("name", topic, text=text)

    def pin(self, topic: int) -> None:
        """Keep a topic, from the end of the open slice on.

        It never ends and is not merged into another. All that is known about its mean, times 9, becomes a prior that
        never fades, so that later documents turn it little.

        Raises
        ------
        InputError
            If there is no such topic now, or the tracker was finished.
        """
        self._decide("pin", topic)

    def unpin(self, topic: int) -> None:
        """Undo `pin`, at the end of the open slice; raises as `pin`."""
        self._decide("unpin", topic)

    def merge(self, topic: int, other: int) -> None:
        """Let ``topic`` become part of the ``other`` one, at the end of the open slice.

        The other one goes on with the documents of both, and is not split again unless documents of a new kind come.
        `split` undoes it.

        Raises
        ------
        InputError
            If one of them is no topic now, or the tracker was finished.

        Examples
        --------
        >>> tracker = TopicTracker(topics=3, slices="year")
        >>> texts = ["cat fur paw", "dog fur paw", "ship sea harbour"] * 20
        >>> _ = tracker.learn(texts, 2001).learn(texts, 2002)
        >>> cats, dogs = (max(tracker.topic_ids, key=lambda t: tracker.transform([one])[0, t]) for one in texts[:2])
        >>> tracker.merge(dogs, cats)
        >>> tracker.name(cats, "pets")
        >>> _ = tracker.learn(texts, 2003)
        >>> [row["name"] for row in tracker.topics() if row["slice"] == "2002" and row["topic"] == cats]
        ['pets']
        """
        self._decide("merge", topic, other)

    def split(self, topic: int) -> None:
        """Make two topics of one, at the end of the open slice: the smaller half of its newest documents gets a new id.

        The two are not merged again; `merge` undoes it. Raises as `pin`.
        """
        self._decide("split", topic)

    def end(self, topic: int) -> None:
        """End a topic at the end of the open slice; its newest documents go to the topic most like it.

        This cannot be undone. Raises as `pin`.
        """
        self._decide("end", topic)

    def forbid(self, words: str | Iterable[str]) -> None:
        """Leave ``words``, one or several, out of all topics from the end of the open slice on; stories keep them.

        Phrases that hold one of them are left out too.

        Raises
        ------
        InputError
            If one of them is not one word to the tokeniser, or the tracker was finished.
        """
        self._decide_words("forbid", words)

    def allow(self, words: str | Iterable[str]) -> None:
        """Undo `forbid` for ``words``, at the end of the open slice; raises as `forbid`."""
        self._decide_words("allow", words)

    def decisions(self) -> RowList:
        """Return one row per decision, in order; those that wait for the end of a slice come last, without a number.

        Returns
        -------
        RowList
            A list of dicts, and a table as of `topics`: ``number``, ``made`` (UTC), ``kind``, ``topic``, ``other``,
            ``text``, ``told`` (in words), ``slice`` (label of the one at whose end it was applied), ``refused`` (why it
            was not applied, else empty) and ``undone_by`` (number of a later decision).
        """
        label = self._run.engine().slices.slice
        with self._lock:
            made = self._store.decisions(), self._store.pending()
        return RowList(rows_of_decisions(*made, lambda index: label(index).label))

    def _decide(self, kind: str, topic: int, other: int = -1, text: str = "") -> None:
        made = decision(kind, topic, other, text)
        with self._lock:
            check_topics(made, self._model.ids.tolist(), range(self._model.next_id), "this tracker")
            if kind != "name":
                self._check_open()
            for why in unnamed([made], self.names()).values():
                raise InputError(f"this tracker: {why}")
            self._store.decide(made)

    def _decide_words(self, kind: str, words: str | Iterable[str]) -> None:
        if not isinstance(words, Iterable):
            raise InputError(f"{kind}: expected a word, or several, got {type(words).__name__}")
        made = [decision(kind, text=word) for word in ([words] if isinstance(words, str) else words)]
        with self._lock:
            self._check_open()
            if isinstance(self._encoder, WordCounting):
                check_words(made, self._encoder.vocabulary.tokeniser.tokens)
            self._store.decide(*made)

    def _check_open(self) -> None:
        if self._source.closed:
            raise InputError(
                "this tracker was finished; decisions are applied at the end of a slice, and none will come"
            )
