"""Text in, topics over time out: the tracker without Kafka and without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.tempering import fitted_temper, tempered
from vmfstream.engine.loop.engine import Engine
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.mixtures.columns import directed
from vmfstream.online.births import new_topic_log_density
from vmfstream.online.reading import topic_log_densities
from vmfstream.online.state import Rows, TrackState
from vmfstream.records import Document, Rejected, SliceReport, TopicRows
from vmfstream.runfile.memory import MemoryLog
from vmfstream.topic_tracker.manual_source import PART, Feed, Ready, Time, moment
from vmfstream.topic_tracker.saved import flattened, read_log, unflattened, write_log


class TopicTracker:
    """Follow topics in texts that arrive in the order of time.

    Parameters
    ----------
    topics : int
        Most topics at one time, at least 1.
    slices : str
        ``year``, ``quarter``, ``month``, ``week``, ``day``, ``hour``, or a number of documents per slice.
    seed : int
        Of all random choices.
    stop_words : str or None
        Language of the words to leave out; None keeps all.
    capacity : int
        Most words of the vocabulary.
    living_topics : bool
        Let topics be born, split, merge and sleep at the ends of slices, as in all commands; ``topics`` then bounds the
        number of those awake. Without, the topics of the first fits stay for ever.

    Raises
    ------
    InputError
        If an argument is outside its domain; says what was expected.

    Notes
    -----
    A tracker can be pickled, and copied by ``sklearn.base.clone`` (which forgets what it has learnt).

    References
    ----------
    [GY14] section 4: the temporal mixture, followed by a filter in one pass.

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
        living_topics: bool = True,
    ) -> None:
        self._given: dict[str, Any] = {
            "topics": topics,
            "slices": slices,
            "seed": seed,
            "stop_words": stop_words,
            "capacity": capacity,
            "living_topics": living_topics,
        }
        self._run = RunSettings(
            title="texts",
            topics=topics,
            slices=str(slices),
            seed=seed,
            language=stop_words or "none",
            vocabulary=capacity,
            living_topics=living_topics,
            sample=0,
        )
        self._begin(MemoryLog())

    def _begin(self, log: MemoryLog) -> None:
        """Follow texts into a log, from where it stands, under the rules that it was begun with."""
        stored = RunSettings.from_text(log.settings(self._run.as_text()))
        self._run = replace(self._run, rules=stored.rules)
        self._track = self._run.tracker()
        self._log, checkpoint = log, log.resume()
        self._feed = Feed(0 if checkpoint is None else checkpoint.position.get(PART, 0))
        self._feed.closed = checkpoint is not None and checkpoint.finished
        parts = self._run.parts(self._feed, Ready(), log)
        self._encoder, self._reader = parts[2], self._run.encoder()
        self._engine = Engine(*parts)

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

        Raises
        ------
        InputError
            If the tracker was finished, or times or ids are not one per text.
        """
        if self._feed.closed:
            raise InputError("this tracker was finished; make a new one to read more")
        if isinstance(texts, str):
            raise InputError("texts: expected a sequence of texts, got one string")
        moments = [times] * len(texts) if isinstance(times, Time | np.number | str) else list(times)
        for name, given in (("times", moments), ("ids", texts if ids is None else ids)):
            if len(given) != len(texts):
                raise InputError(f"{name}: expected one per text ({len(texts)}), got {len(given)}")
        self._feed.add(texts, [moment(t) for t in moments], ids)
        self._engine.run(stop=lambda: self._feed.empty)
        return self

    def learn_many(self, documents: Iterable[Mapping[str, Any]] | Any) -> TopicTracker:
        """Read documents that are mappings, or rows of a pandas DataFrame, with ``text``, ``time`` and maybe ``id``.

        Raises
        ------
        InputError
            If a document lacks its text or its time, or some have an id and others none; names the place.
        """
        rows = documents.to_dict("records") if hasattr(documents, "to_dict") else list(documents)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or not {"text", "time"} <= set(row):
                found = ", ".join(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
                raise InputError(f"document {i}: expected a mapping with text and time, found {found or 'nothing'}")
        named = sum("id" in row for row in rows)
        if named not in (0, len(rows)):
            raise InputError(f"documents: expected an id for all of {len(rows)} or for none, got {named}")
        ids = [str(row["id"]) for row in rows] if named else None
        return self.learn([row["text"] for row in rows], [row["time"] for row in rows], ids)

    @property
    def topic_ids(self) -> NDArray[np.int64]:
        """Numbers of the living topics, in the order of the columns of `transform`; none before the first topics."""
        state = self._engine.state
        return np.zeros(0, np.int64) if state is None else state.ids.copy()

    def transform(self, texts: Sequence[str], *, temper: float | None = 1.0) -> NDArray[np.float64]:
        """Probabilities of the living topics for texts, (N, K), under what is known now; nothing is learnt.

        Parameters
        ----------
        texts : sequence of N str
        temper : float > 0, or None
            Inverse temperature, None for that of the stream (`temper`). The probabilities of a model in high dimension
            are nearly all 0 or 1, and right less often than they say; values below 1 spread them. `fit_temper` finds
            the one that fits known topics.

        Returns
        -------
        (N, K), columns as in `topic_ids`; rows sum to one, or to zero for texts without a known word.
        """
        state, x, held = self._encoded(texts)
        found = np.zeros((len(held), state.k))
        found[held] = tempered(
            topic_log_densities(state, x[held], self._track), self.temper if temper is None else temper
        )
        return found

    @property
    def temper(self) -> float:
        """Inverse temperature under which memberships on arrival best foretold the newest slice's topics, else 1."""
        known = [report.temper for report in self._reports() if np.isfinite(report.temper)]
        return known[-1] if known else 1.0

    def fit_temper(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Return the ``temper`` of `transform` under which these texts most likely have these topics (numbers).

        The texts should be others than those that were learnt.
        """
        state, x, held = self._encoded(texts)
        place = {int(topic): column for column, topic in enumerate(state.ids)}
        unknown = sorted({int(topic) for topic in topics} - set(place))
        if unknown:
            raise InputError(f"topics: expected numbers of living ones, got {', '.join(map(str, unknown))}")
        labels = np.array([place[int(topic)] for topic in topics], np.int64)
        if len(labels) != len(held):
            raise InputError(f"topics: expected one per text ({len(held)}), got {len(labels)}")
        return fitted_temper(topic_log_densities(state, x[held], self._track), labels[held])

    def novelty(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How much better a topic that nobody has seen yet explains texts than the known ones do, in nats, (N,).

        Above 0 the known topics are no help. Texts without a known word have 0.
        """
        state, x, held = self._encoded(texts)
        found = np.zeros(len(held))
        density = np.logaddexp.reduce(topic_log_densities(state, x[held], self._track), axis=1)
        found[held] = new_topic_log_density(x[held], state.anchor, state.kappa) - density
        return found

    def finish(self) -> None:
        """Close the last slice and look at all slices in hindsight."""
        self._feed.closed = True
        self._engine.run()

    def topics(self, *, hindsight: bool = False, words: int = 10) -> list[dict[str, Any]]:
        """One row per topic and closed slice: slice, topic, documents, share, turned (degrees), words.

        ``share_low`` and ``share_high`` bound the share, ``radius`` (degrees) the direction, at 95 %.

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

    def trajectory(self, topic: int, *, hindsight: bool = False, words: int = 10) -> list[dict[str, Any]]:
        """Rows of `topics` for one topic, oldest first.

        Raises
        ------
        InputError
            If there is no such topic; names those that there are.
        """
        rows = self.topics(hindsight=hindsight, words=words)
        found = [row for row in rows if row["topic"] == topic]
        if not found:
            known = ", ".join(map(str, sorted({row["topic"] for row in rows}))) or "none yet"
            raise InputError(f"there is no topic {topic}; topics: {known}")
        return found

    def events(self) -> list[dict[str, Any]]:
        """What happened to topics, in order: slice, kind, topic, other, value, evidence, chance.

        See `vmfstream.records.Event` for what they mean; None where a kind has none.
        """
        names = ("kind", "topic", "other", "value", "evidence", "chance")
        return [
            {"slice": report.slice.label} | {name: getattr(event, name) for name in names}
            for report in self._reports()
            for event in report.events
        ]

    def novel(self) -> list[dict[str, Any]]:
        """The documents of each closed slice that were most novel on arrival: slice, id, title, novelty, topic.

        ``novelty`` is what `TopicTracker.novelty` says, ``topic`` the one that it got nevertheless.
        """
        return [
            {"slice": report.slice.label, "id": id, "title": title, "novelty": float(novelty), "topic": int(topic)}
            for report in self._reports()
            if (most := report.novel) is not None
            for id, title, novelty, topic in zip(most.id, most.title, most.novelty, most.topic, strict=True)
        ]

    @property
    def rejected(self) -> list[Rejected]:
        """Documents that were left out, with their reasons."""
        return [r for commit in self._log.commits for r in commit.rejected]

    def save(self, path: str | Path) -> None:
        """Write everything that was learnt as a log, which commands, pages, `vmfstream.plot` and `load` read.

        Raises
        ------
        InputError
            If there is a file already, or the path cannot be written.
        """
        write_log(self._log, Path(path).expanduser())

    @classmethod
    def load(cls, path: str | Path) -> TopicTracker:
        """Read a tracker that `save` wrote; what it learns from then on is the same as if it had never stopped.

        Raises
        ------
        InputError
            If there is no such log, or no tracker wrote it.
        FormatVersion
            If it was written by a newer program.
        """
        return cls._going_on(read_log(Path(path).expanduser()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the tracker was made with."""
        return dict(self._given)

    def __sklearn_clone__(self) -> TopicTracker:
        return type(self)(**self._given)

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self._given, "past": flattened(self._log)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(type(self)(**state["given"]).__dict__)
        self._begin(unflattened(state["past"]))

    @classmethod
    def _going_on(cls, log: MemoryLog) -> TopicTracker:
        run = RunSettings.from_text(log.settings({}))
        made = cls(
            topics=run.topics,
            slices=run.slices,
            seed=run.seed,
            stop_words=None if run.language == "none" else run.language,
            capacity=run.vocabulary,
            living_topics=run.living_topics,
        )
        made._begin(log)
        return made

    def _encoded(self, texts: Sequence[str]) -> tuple[TrackState, Rows, NDArray[np.bool_]]:
        """Rows of texts in the columns in force, and which of them have a direction.

        A second encoder counts them, so that the stream's vocabulary does not notice.
        """
        if isinstance(texts, str):
            raise InputError("texts: expected a sequence of texts, got one string")
        state = self._engine.state
        if state is None:
            raise InputError("there are no topics yet; learn more documents first")
        if self._reader.digest != self._encoder.digest:
            self._reader.restore(self._encoder.blank_state())
        now = moment(1)
        documents = [Document(PART, i, "", now, text) for i, text in enumerate(texts)]
        x = self._reader.encode(self._reader.count(documents))
        return state, x, directed(x)

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
            **{name: _at(getattr(topics, name), i) for name in ("share_low", "share_high", "radius")},
            "words": list(topics.words[i][:words]),
        }
        for i in range(len(topics.topic))
    ]


def _at(column: NDArray[np.float64] | None, i: int) -> float:
    return float("nan") if column is None else float(column[i])
