"""`TopicTracker`: learn texts in the order of their time, and ask for their topics, without Kafka or a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.tempering import fitted_inverse_temperature, tempered
from vmfstream.decisions import check_topics, decision, names_of
from vmfstream.engine.loop.engine import Engine
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.loop.namer import BackgroundNamer, NamingFunction
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.estimators.parameters import Choice, Domain, Flag, Number, Whole, check_parameters
from vmfstream.mixtures.columns import directed
from vmfstream.online.births import new_topic_log_density
from vmfstream.online.reading import topic_log_densities
from vmfstream.online.state import Rows, TrackState
from vmfstream.records import Documents, Rejected
from vmfstream.runfile.memory import MemoryStore
from vmfstream.seeds import seeds_as_text, seeds_from_text, seeds_of
from vmfstream.stories.settings import COMPONENTS
from vmfstream.text.filters import is_language
from vmfstream.text.own_tokeniser import Cut, name_of
from vmfstream.text.sentence_models import Embed
from vmfstream.topic_tracker.manual_source import PART, ManualSource, Time, moments
from vmfstream.topic_tracker.rows import (
    closed_slices,
    columns_of_documents,
    parts_of_topics,
    past_topics,
    rows_of_decisions,
    rows_of_events,
    rows_of_novel_documents,
    rows_of_stories,
    rows_of_topics,
)
from vmfstream.topic_tracker.saved import flattened, read_saved, unflattened, write_saved
from vmfstream.topic_tracker.tables import Columns, RowList, documents_of

if TYPE_CHECKING:
    from vmfstream.frozen.model import FrozenModel
    from vmfstream.frozen.parts import ModelParts

_NOT_GIVEN: Any = object()

_NO_TIME = "1970-01-01"
"""Time of documents that need none, in slices of a number of documents."""


_DOMAINS: dict[str, Domain] = {
    "topics": Whole(1),
    "seed": Whole(0),
    "vocabulary_size": Whole(2),
    "living_topics": Flag(),
    "refit_budget": Number(0.0, closed="both"),
    "stories": Flag(),
    "story_days": Number(0.0),
    "story_component": Choice(*COMPONENTS),
    "smoothed_stories": Flag(),
    "phrases": Flag(),
    "documents": Flag(),
}


class TopicTracker:
    """Follow topics in texts that arrive in the order of time.

    Parameters
    ----------
    topics : int
        Maximum number of active topics, at least 1.
    slices : str or int
        Length of a slice: ``year``, ``quarter``, ``month``, ``week``, ``day``, ``hour``, ``minute``, ``decade``,
        ``fortnight``, some of them such as ``15min``, ``6h`` or ``2 weeks``, or a number of documents. Slices of time
        are cut in UTC and begin with the calendar: at midnight, on Monday, with the month or the year.
    seed : int
        Seed of all random choices.
    stop_words : str, sequence of str, or None
        Words to leave out: those of a language such as ``english`` or ``german``, several with commas between them; or
        a list of words, in which the name of a language stands for its words. None keeps all.
    vocabulary_size : int
        Maximum vocabulary size, in words.
    living_topics : bool
        Let topics be born, split, merge and become dormant at the ends of slices, as in all commands. Without, the
        topics of the first fits stay for ever.
    refit_budget : float
        Most work of refits of recent documents, as a multiple of the work of scoring, >= 0. Those of the first 16,000
        documents are free. By default the window is refitted at the end of a slice when a tenth of it is new, for as
        long as that gains something.
    stories : bool
        Follow stories beside the topics: narrow clusters of documents that come and go, see `stories`.
    story_days : float
        Days after which the weight of a new story is halved, by the times of documents, >= 0; stories that nobody
        joined for 8 times as long end. 0 counts 300 documents instead.
    story_component : {"vmf", "cauchy"}
        Distribution of stories: von Mises-Fisher, or spherical Cauchy, which has heavy tails; `vmfstream.StoryMixture`.
    phrases : bool
        Count phrases of two words that the stream has, such as *climate change*, as features besides their words.
    smoothed_stories : bool
        Give documents that are kept a second story when 300 later ones are known, see `documents`. Stories take twice
        as long then.
    documents : bool
        Keep what every document got on arrival, see `documents`. That takes some 130 bytes of memory each, however many
        there are; without, memory does not grow with the stream.
    topics_from : str, Path, mapping or iterable of mappings, optional
        Topics to begin with, at most ``topics``: a TOML file of tables ``[[topic]]`` with ``name`` and ``words`` or
        example ``documents``, a mapping of names to words, or mappings with these keys. Each gets a topic with its
        name that never ends, and whose direction is a prior on its mean; the other topics are found.
    tokeniser : callable, optional
        Cuts a text into words, which are counted as it returns them; by default words are found as described in
        `vmfstream.text.tokeniser`. `load` wants it again.
    embed : str or callable, optional
        Follow topics in vectors of the texts by a model: ``"wordllama"`` (extra ``embeddings``), ``"onnx:FILE"``,
        ``"sentence-transformers:NAME"``, or a function that takes a list of texts and returns as many vectors, of a
        text always the same. Topics are named by the words of their texts. `load` wants it again, but for
        ``"wordllama"``.
    namer : callable, optional
        Gives topics their names, for instance by a language model: called with a dict of ``topic``, ``slice``,
        ``name`` (the automatic one), ``words``, ``phrases`` and ``documents`` (titles), it returns a name. It is called
        in a thread of its own and again only if a topic has changed; `learn` does not wait for it, `finish` up to a
        minute. While it has not answered, fails, or takes longer than 30 s, topics have their automatic names.
    capacity : int
        Deprecated: the former name of ``vocabulary_size``.

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
        stop_words: str | Sequence[str] | None = "english",
        vocabulary_size: int = 50_000,
        living_topics: bool = True,
        refit_budget: float = math.inf,
        stories: bool = True,
        story_days: float = 0.0,
        story_component: str = "vmf",
        smoothed_stories: bool = False,
        phrases: bool = False,
        documents: bool = False,
        topics_from: Any = None,
        tokeniser: Cut | None = None,
        embed: str | Embed | None = None,
        namer: NamingFunction | None = None,
        capacity: int | None = None,
    ) -> None:
        if capacity is not None:
            _deprecated("TopicTracker(capacity=...)", "TopicTracker(vocabulary_size=...)")
            vocabulary_size = capacity
        self._given: dict[str, Any] = {
            "topics": topics,
            "slices": slices,
            "seed": seed,
            "stop_words": stop_words,
            "vocabulary_size": vocabulary_size,
            "living_topics": living_topics,
            "refit_budget": refit_budget,
            "stories": stories,
            "story_days": story_days,
            "story_component": story_component,
            "smoothed_stories": smoothed_stories,
            "phrases": phrases,
            "documents": documents,
            "topics_from": topics_from,
            "tokeniser": tokeniser,
            "embed": embed,
            "namer": namer,
        }
        for name, function in (("tokeniser", tokeniser), ("namer", namer)):
            if function is not None and not callable(function):
                raise InputError(f"{name}: expected a function, got {type(function).__name__}")
        if not (embed is None or callable(embed) or (isinstance(embed, str) and embed)):
            raise InputError(f"embed: expected the name of a model or a function, got {embed!r}")
        self._namer = None if namer is None else BackgroundNamer(namer)
        _check({name: value for name, value in self._given.items() if name != "topics_from"})
        language, words = _stop_words(stop_words)
        self._cut, self._embed = tokeniser, None if isinstance(embed, str) else embed
        self._run = RunSettings(
            title="texts",
            topics=topics,
            slices=str(slices),
            seed=seed,
            language=language,
            stop_words=" ".join(words),
            tokeniser="" if tokeniser is None else name_of(tokeniser),
            embed="" if embed is None else embed if isinstance(embed, str) else name_of(embed),
            vocabulary=vocabulary_size,
            living_topics=living_topics,
            refit_budget=refit_budget,
            sample=0,
            stories=stories,
            story_days=story_days,
            story_component=story_component,
            smoothed_stories=smoothed_stories,
            phrases=phrases,
            documents="all" if documents else "none",
            topics_from="" if topics_from is None else seeds_as_text(seeds_of(topics_from)),
        )
        self._begin(MemoryStore())

    def _begin(self, store: MemoryStore) -> None:
        """Follow texts into a store, from where it stands, under the rules that it was begun with."""
        stored = RunSettings.from_text(store.settings(self._run.as_text()))
        self._frozen: tuple[tuple[Any, ...], FrozenModel] | None = None
        self._run = replace(self._run, rules=stored.rules, documents=stored.documents)
        self._track = self._run.tracker()
        self._store, checkpoint = store, store.resume()
        self._source = ManualSource(0 if checkpoint is None else checkpoint.position.get(PART, 0))
        self._source.closed = checkpoint is not None and checkpoint.finished
        cut = self._run.engine()
        self._model = TrackerModel(self._track)
        self._encoder, self._reader = (self._run.encoder(self._cut, self._embed) for _ in range(2))
        self._story_labels, self._order, self._first_offset = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
        codec = self._run.embedding(self._source, self._embed) or self._source
        batches = LocalBatches(self._source, codec, cut, in_stories=self._keep_labels)
        made = self._source, self._encoder, self._model, store, cut, batches
        self._engine = Engine(*made, seeding=self._run.seeding(self._cut), namer=self._namer)

    def learn(
        self,
        documents: Any,
        times: Sequence[Time] | Time | None = None,
        ids: Sequence[str] | None = None,
        *,
        text: str | None = None,
        time: str | None = None,
        id: str | None = None,
        title: str | None = None,
    ) -> TopicTracker:
        """Read documents in the order of their times; a slice closes when the first document of a later one comes.

        Slices of a number of documents take them in the order in which they are given. Documents of a slice that an
        earlier call has closed are counted in the open one, with a warning.

        Parameters
        ----------
        documents : sequence of str, or a table
            Texts, or a frame of pandas or polars, a table of Arrow or whatever has ``__arrow_c_stream__``, a data set
            of Hugging Face, a mapping of columns, or an iterable of mappings.
        times : one moment per text, or one for all: datetimes, dates, ISO texts, or plain numbers of years
            Of a table None: its column for the time counts. In slices of a number of documents none are needed there.
        ids : sequence of str, optional
            A repeated id is left out; by default every text is a new document, or the column for the id counts.
        text, time, id, title : str, optional
            Columns of a table. By default the first with a usual name, as in files: ``text``, ``body``, ``content``,
            ``abstract``, ``summary``, ``message``, ``description``; ``time``, ``timestamp``, ``date``, ``published``,
            ``created_at``, ``year``; ``id``, ``_id``, ``doc_id``, ``key``, ``guid``, ``url``; ``title``, ``headline``,
            ``subject``, ``name``.

        Raises
        ------
        InputError
            If the tracker was finished, a time is none, times or ids are not one per text, or a table has no column for
            the text or the time.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2)
        >>> tracker.learn({"body": ["cat fur paw", "ship sea harbour"] * 9, "year": [2001] * 18})
        TopicTracker(topics=2, slices='year'): 18 documents, no closed slice yet; next: learn() more or finish()
        """
        names = {"text": text, "time": time, "id": id, "title": title}
        if times is not None:
            if named := [name for name, column in names.items() if column is not None]:
                raise InputError(f"{', '.join(named)}: columns are named for a table, which is given without times")
            return self._learn(documents, times, ids)
        timed = not str(self._run.slices).isdecimal()
        found = documents_of(documents, names, timed=timed)
        known = found.id if ids is None else ids
        return self._learn(
            found.text if isinstance(found.text, list) else list(found.text),
            _NO_TIME if found.time is None else found.time,
            None if known is None else list(map(str, known)),
            found.title,
        )

    def _learn(
        self,
        texts: Sequence[str],
        times: Sequence[Time] | Time,
        ids: Sequence[str] | None = None,
        titles: Sequence[Any] | None = None,
    ) -> TopicTracker:
        """Read texts with their times; ``ids`` and ``titles`` are one per text or None."""
        if self._source.closed:
            raise InputError(
                "this tracker was finished; make a new one to read more (the run of a command is continued by it)"
            )
        if isinstance(texts, str):
            raise InputError("texts: expected a sequence of texts, got one string")
        times_of_texts = moments(times, len(texts))
        if ids is not None and len(ids) != len(texts):
            raise InputError(f"ids: expected one per text ({len(texts)}), got {len(ids)}")
        counted = str(self._run.slices).isdecimal()
        self._order = np.arange(len(texts)) if counted else np.argsort(times_of_texts, kind="stable")
        self._story_labels, self._first_offset = np.full(len(texts), -1), self._source.added
        self._source.add(texts, times_of_texts, ids, self._order, titles)
        position = self._engine.state.position
        late = position.late
        self._engine.run(stop=lambda: self._source.empty)
        if position.late > late:
            warnings.warn(
                f"{position.late - late:,} of {len(texts):,} documents belong to slices that were closed by earlier "
                "calls; they were counted in the slice that was open. Learn documents in the order of their times",
                stacklevel=2,
            )
        return self

    def __repr__(self) -> str:
        given, rejected = self._run, sum(len(commit.rejected) for commit in self._store.commits)
        began = f"TopicTracker(topics={given.topics}, slices={given.slices!r}): {self._engine.documents:,} documents"
        if rejected:
            began += f", {rejected:,} rejected"
        closed = closed_slices(self._store.commits)
        if not closed:
            return f"{began}, no closed slice yet; next: {self._next(topics=False)}"
        many = f"{len(closed):,} closed slice{'s' if len(closed) > 1 else ''}"
        known = f"{many}, the newest {closed[-1].slice.label}, {len(self.topic_ids)} topics"
        return f"{began}, {known}; next: {self._next(topics=bool(len(self.topic_ids)))}"

    def _next(self, *, topics: bool) -> str:
        """Say what can be done, if there are ``topics`` or not."""
        if self._source.closed:
            return "topics(), stories(), save(path)" if topics else "stories(); too few texts share words for topics"
        if topics:
            return "topics(), stories(), learn() more or finish()"
        return "learn() more or finish()" if self._engine.documents else "learn()"

    def __dir__(self) -> list[str]:
        """Return the names of what there is, without former names."""
        return sorted(set(super().__dir__()) - {"temper", "fit_temper"})

    def _repr_html_(self) -> str:
        """Return the newest topics as a table, for notebooks."""
        rows = self.topics(words=6)
        newest = sorted((row for row in rows if row["slice"] == rows[-1]["slice"]), key=lambda row: -row["share"])
        cells = "".join(
            f"<tr><td>{row['topic']}</td><td>{row['documents']:,.0f}</td><td>{row['share']:.1%}</td>"
            f"<td>{escape(', '.join(word for word, _ in row['words']))}</td></tr>"
            for row in newest
        )
        table = f"<table><tr><th>topic</th><th>documents</th><th>share</th><th>words</th></tr>{cells}</table>"
        if not newest:
            table = "<p>Learn documents of a later slice, or call finish(), to close the first one.</p>"
        return f"<p>{escape(repr(self))}</p>{table}"

    def fit(
        self,
        documents: Any,
        y: object = None,
        *,
        times: Sequence[Time] | Time | None = None,
        ids: Sequence[str] | None = None,
        **columns: str | None,
    ) -> TopicTracker:
        """Forget everything, `learn` documents and `finish`: what scikit-learn's tools call.

        Parameters
        ----------
        documents : sequence of str, or a table
            As of `learn`.
        y : ignored
            Classes are no times: these go to ``times``.
        times, ids : as of `learn`
            Texts of slices of a number of documents need no times.
        columns : ``text``, ``time``, ``id`` and ``title``, as of `learn`

        Raises
        ------
        InputError
            As `learn`, and if texts of slices of time have no times.

        Examples
        --------
        >>> texts = ["cat fur paw", "ship sea harbour"] * 20
        >>> tracker = TopicTracker(topics=2, slices=20).fit(texts)
        >>> tracker.predict(["a cat", "the ship"]).tolist() == tracker.predict(["fur paw", "sea"]).tolist()
        True
        """
        texts = isinstance(documents, Sequence) and all(isinstance(text, str) for text in documents)
        if texts and times is None:
            if not str(self._run.slices).isdecimal():
                raise InputError(
                    "times: expected one per text, or one for all, got none; slices of a number of documents need none"
                )
            times = _NO_TIME
        self._begin(MemoryStore())
        self.learn(documents, times, ids, **columns).finish()
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the id of the most probable active topic of texts, (N,), as `label` does; -1 without a known word.

        Raises
        ------
        InputError
            If there are no topics yet, or ``texts`` is one string.
        """
        probability = self.transform(texts)
        known = probability.any(axis=1)
        return np.where(known, self.topic_ids[probability.argmax(axis=1)], -1)

    def learn_many(self, documents: Any) -> TopicTracker:
        """Read a table of documents: the former name of `learn` without times."""
        return self.learn(documents)

    @property
    def topic_ids(self) -> NDArray[np.int64]:
        """Numbers of the active topics, in the order of the columns of `transform`; none before the first topics."""
        state = self._model.state
        return np.zeros(0, np.int64) if state is None else state.ids.copy()

    def transform(
        self, texts: Sequence[str], *, temperature: float | None = None, temper: float | None = _NOT_GIVEN
    ) -> NDArray[np.float64]:
        """Return the probabilities of the active topics for texts under what is known now; nothing is learnt.

        Parameters
        ----------
        texts : sequence of N str
        temperature : float > 0, or None
            Softmax temperature: the probabilities are softmax(scores / temperature). By default that of the stream,
            the property `temperature`, under which they are calibrated. With 1, in high dimension, they are nearly all
            0 or 1, and right less often than they say. `fit_temperature` finds the one that fits texts whose topics are
            known.
        temper : float > 0, or None
            Deprecated: the inverse of ``temperature``.

        Returns
        -------
        ndarray of shape (N, K)
            Columns as in `topic_ids`. Rows sum to one, or to zero for texts without a known word.

        Raises
        ------
        InputError
            If there are no topics yet, or ``texts`` is one string.
        ValueError
            If the temperature is not above 0.
        """
        if temper is not _NOT_GIVEN:
            _deprecated("transform(temper=...)", "transform(temperature=1 / temper)")
            if temper is not None and not temper > 0.0:
                raise ValueError(f"temper: expected a number above 0, got {temper}")
            temperature = None if temper is None else 1.0 / temper
        if temperature is None:
            temperature = self.temperature
        if not temperature > 0.0:
            raise ValueError(f"temperature: expected a number above 0, got {temperature}")
        state, x, known, _ = self._encoded(texts)
        found = np.zeros((len(known), state.k))
        found[known] = tempered(topic_log_densities(state, x[known], self._track), 1.0 / temperature)
        return found

    @property
    def temperature(self) -> float:
        """Softmax temperature that calibrates topic probabilities on arrival, fitted at the newest slice end, else 1.

        See `vmfstream.records.SliceReport`.
        """
        reports = closed_slices(self._store.commits)
        known = [report.temperature for report in reports if np.isfinite(report.temperature)]
        return known[-1] if known else 1.0

    @property
    def temper(self) -> float:
        """Deprecated: the inverse of `temperature`."""
        _deprecated("TopicTracker.temper", "1 / TopicTracker.temperature")
        return 1.0 / self.temperature

    def label(self, texts: Sequence[str], at: str | None = None) -> dict[str, NDArray[Any]]:
        """Return the labels of texts under what is known now, or under earlier topics, as columns; nothing is learnt.

        Parameters
        ----------
        texts : sequence of N str
        at : str, optional
            Label of an earlier slice, such as ``2003``: the topics are those of its end, as far as they are kept;
            see `freeze`. There are no stories.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            ``topic``, ``name``, ``probability``, ``story`` and ``novelty``, see `vmfstream.FrozenModel.label`.

        Raises
        ------
        InputError
            If there are no topics yet, no such slice, or ``texts`` is one string or holds anything but strings.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year")
        >>> texts = ["cat fur paw", "ship sea harbour"] * 20
        >>> _ = tracker.learn(texts, 2001).learn(texts, 2002)
        >>> tracker.label(["the ship left the harbour", "a cat"])["name"].tolist()
        ['ship sea harbour', 'cat fur paw']
        >>> tracker.label(["the ship left the harbour"], at="2001")["name"].tolist()
        ['ship sea harbour']
        """
        return self.freeze(at).label(texts)

    def freeze(self, at: str | None = None) -> FrozenModel:
        """Return what is known now as a model of its own, which labels texts, can be saved, and learns nothing.

        Parameters
        ----------
        at : str, optional
            Label of an earlier slice: the topics are those of its end, by their 60 strongest words; the rest of a mean
            direction is that of the corpus mean. There are no stories.

        Raises
        ------
        InputError
            If there are no topics yet, or no closed slice of this label has topics.
        """
        from vmfstream.frozen.model import FrozenModel

        given = self.names()
        known = (self._engine.epoch, self._engine.documents, at, tuple(given.items()))
        if self._frozen is None or self._frozen[0] != known:
            functions: Any = {"tokeniser": self._cut, "embed": self._given["embed"]}
            self._frozen = known, FrozenModel(self._parts(at).named(given), **functions)
        return self._frozen[1]

    def _parts(self, at: str | None) -> ModelParts:
        from vmfstream.frozen.parts import current_parts, past_parts

        made = self._run, self._model, self._encoder
        if at is not None:
            return past_parts(*made, past_topics(closed_slices(self._store.commits), at), self._engine.documents)
        state = self._engine.state
        stories = {} if state.stories is None else state.stories.arrays()
        return current_parts(*made, stories, state.newest.label, self._engine.documents)

    def fit_temperature(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Return the ``temperature`` of `transform` under which known topics of texts are most likely.

        Parameters
        ----------
        texts : sequence of N str
            Others than those that were learnt.
        topics : sequence of N int
            The topic of each text, by number as in `topic_ids`.

        Returns
        -------
        float
            Between 0.1 and 10,000.

        Raises
        ------
        InputError
            If a topic is not active, topics are not one per text, or there are no topics yet.
        """
        state, x, known, _ = self._encoded(texts)
        place = {int(topic): column for column, topic in enumerate(state.ids)}
        unknown = sorted({int(topic) for topic in topics} - set(place))
        if unknown:
            raise InputError(f"topics: expected numbers of active ones, got {', '.join(map(str, unknown))}")
        labels = np.array([place[int(topic)] for topic in topics], np.int64)
        if len(labels) != len(known):
            raise InputError(f"topics: expected one per text ({len(known)}), got {len(labels)}")
        return 1.0 / fitted_inverse_temperature(topic_log_densities(state, x[known], self._track), labels[known])

    def fit_temper(self, texts: Sequence[str], topics: Sequence[int]) -> float:
        """Deprecated: the inverse of `fit_temperature`."""
        _deprecated("TopicTracker.fit_temper", "1 / TopicTracker.fit_temperature")
        return 1.0 / self.fit_temperature(texts, topics)

    def novelty(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return by how many nats an unseen topic explains each text better than the known topics do, shape (N,).

        A text above 0 is novel: no known topic explains it as well. A text none of whose words is known is infinitely
        novel; one without words, stop words aside, has 0.
        """
        state, x, known, worded = self._encoded(texts)
        found = np.where(worded, np.inf, 0.0)
        density = np.logaddexp.reduce(topic_log_densities(state, x[known], self._track), axis=1)
        found[known] = new_topic_log_density(x[known], state.anchor, state.kappa) - density
        return found

    def finish(self) -> None:
        """Close the last slice and smooth all slices."""
        self._source.closed = True
        self._engine.run()
        if self._namer is not None:
            self._namer.finish(60.0)

    def topics(self, *, smoothed: bool = False, words: int = 10, hindsight: bool | None = None) -> RowList:
        """Return one row per topic and closed slice.

        Parameters
        ----------
        smoothed : bool
            Use documents of later slices too, instead of what was known when a slice closed (filtered).
        words : int
            Strongest words per row.
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
        """
        self._take_names()
        commits, names = self._store.commits, self.names()
        return RowList(rows_of_topics(commits, names, smoothed=_smoothed(smoothed, hindsight), words=words))

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
        return parts_of_topics(self._store.commits)

    def trajectory(
        self, topic: int, *, smoothed: bool = False, words: int = 10, hindsight: bool | None = None
    ) -> RowList:
        """Return the rows of one ``topic``, an id, oldest first; other arguments as in `topics`.

        Raises
        ------
        InputError
            If there is no such topic; names those that there are.
        """
        rows = self.topics(smoothed=_smoothed(smoothed, hindsight), words=words)
        found = RowList(row for row in rows if row["topic"] == topic)
        if not found:
            known = ", ".join(map(str, sorted({row["topic"] for row in rows}))) or "none yet"
            raise InputError(f"there is no topic {topic}; topics: {known}")
        return found

    def events(self) -> list[dict[str, Any]]:
        """Return what happened to topics, in order: slice, kind, topic, other, value, evidence, chance, decision.

        See `vmfstream.records.Event` for what they mean; None where a kind has none.
        """
        return rows_of_events(self._store.commits)

    def name(self, topic: int, text: str) -> None:
        """Give a topic a name, which is shown wherever the topic is; an empty ``text`` takes it away.

        Raises
        ------
        InputError
            If there was never such a topic, or ``text`` has more than 100 characters.
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

        Raises
        ------
        InputError
            If one is no word, or the tracker was finished.
        """
        self._decide_words("forbid", words)

    def allow(self, words: str | Iterable[str]) -> None:
        """Undo `forbid` for ``words``, at the end of the open slice; raises as `forbid`."""
        self._decide_words("allow", words)

    def names(self) -> dict[int, str]:
        """Return the names that were given to topics, by id."""
        return names_of([*self._store.decisions(), *self._store.pending()])

    def decisions(self) -> list[dict[str, Any]]:
        """Return one row per decision, in order; those that wait for the end of a slice come last, without a number.

        Returns
        -------
        list of dict
            ``number``, ``made`` (UTC), ``kind``, ``topic``, ``other``, ``text``, ``told`` (in words), ``slice`` (label
            of the one at whose end it was applied), ``refused`` (why it was not applied, else empty) and ``undone_by``
            (number of a later decision).
        """
        label = self._run.engine().slices.slice
        return rows_of_decisions(self._store.decisions(), self._store.pending(), lambda index: label(index).label)

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
            Strongest words per row, at most 10.
        documents : int
            Representative documents per row, at most 5.

        Returns
        -------
        RowList
            A list of dicts, and a table as of `topics`:
            ``story``, ``title`` (of the most representative document), ``size`` (documents), ``words``, ``first`` and
            ``last`` (labels of the slices of its first and last document), ``trend`` (``rising``, ``steady``,
            ``falling`` or ``ended``), ``topic`` (the parent topic, None if there is none) and ``documents`` (id and
            title of each).

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year")
        >>> tracker.learn(["cat fur paw", "ship sea harbour"] * 3, 2001).story_labels.tolist()
        [0, 1, 0, 1, 0, 1]
        >>> [(row["title"], row["size"]) for row in tracker.stories()]
        [('cat fur paw', 3), ('ship sea harbour', 3)]
        """
        label = self._run.engine().slices.slice
        return RowList(rows_of_stories(self._store.commits, lambda index: label(index).label, words, documents))

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
            If the tracker was not made with ``documents=True``, or saved by a version that kept none.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2, slices="year", documents=True)
        >>> _ = tracker.learn(["cat fur paw", "ship sea harbour"] * 9, 2001)
        >>> columns = tracker.learn(["sea ship"], 2002, ["new"]).documents()
        >>> columns["id"][-1], columns["slice"][-1], columns["story"][[1, -1]].tolist()
        ('new', '2002', [1, 1])
        """
        if self._run.documents != "all":
            raise InputError("this tracker keeps no documents; make one with documents=True")
        return Columns(columns_of_documents(self._store.commits, stories=self._run.smoothed_stories))

    def novel(self) -> list[dict[str, Any]]:
        """Return the first stories of each closed slice, then its most novel other documents, at most 20.

        A first story is the first document of a story that got its third document in this slice. Keys: slice, id,
        title, ``novelty`` on arrival as of `TopicTracker.novelty` (0 while there were no topics), ``topic``, the
        topic that the document was assigned to (of a first story that of its story; None without one), and ``story``,
        the story that it is the first document of, None for the others.
        """
        return rows_of_novel_documents(self._store.commits)

    @property
    def rejected(self) -> list[Rejected]:
        """Documents that were left out, with their reasons."""
        return [r for commit in self._store.commits for r in commit.rejected]

    def save(self, path: str | Path) -> None:
        """Write everything that was learnt to a run file, which commands, pages, `vmfstream.plot` and `load` read.

        Raises
        ------
        InputError
            If there is a file already, or the path cannot be written.
        """
        self._take_names()
        write_saved(self._store, Path(path).expanduser())

    @classmethod
    def load(cls, path: str | Path, *, tokeniser: Cut | None = None, embed: str | Embed | None = None) -> TopicTracker:
        """Read a tracker that `save` wrote, which goes on as if it had never stopped, or what a command wrote.

        The run of a command can be asked everything, and is continued by that command: it learns nothing here. Its
        documents are there if it keeps all of them. A run file of an older format is brought up to date first.

        Parameters
        ----------
        path : str or Path
            A run file.
        tokeniser, embed : optional
            What the tracker was made with. The file has only names of functions and models, and what it names is
            loaded only if it is given here, since it is code; ``"wordllama"`` needs no naming.

        Raises
        ------
        NotNamedAgain
            If the tracker was made with a function or model that is not given.
        InputError
            If there is no such run file, or it follows vectors instead of texts.
        FormatVersion
            If it was written by a newer version, or by an older one and cannot be brought up to date.
        """
        store, own = read_saved(Path(path).expanduser())
        return cls._continued(store, tokeniser, embed, own=own)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the tracker was made with."""
        return dict(self._given)

    def set_params(self, **params: Any) -> TopicTracker:
        """Change what the tracker was made with, as long as it has learnt nothing.

        Raises
        ------
        InputError
            If an argument is unknown or outside its domain, or the tracker has learnt documents.
        """
        if unknown := sorted(set(params) - set(self._given)):
            raise InputError(f"set_params: expected some of {', '.join(self._given)}, got {unknown[0]!r}")
        if params and self._source.added:
            raise InputError(
                "set_params: expected a tracker that has learnt nothing, got one with "
                f"{self._source.added:,} documents; sklearn.base.clone makes a new one"
            )
        if params:
            self.__dict__.update(type(self)(**{**self._given, **params}).__dict__)
            self._begin(MemoryStore())  # what was made calls the other tracker
        return self

    def __sklearn_clone__(self) -> TopicTracker:
        return type(self)(**self._given)

    def _take_names(self) -> None:
        """Keep the names that the namer gave after the last commit."""
        if self._namer is not None and self._store.commits:
            self._store.name_topics(self._namer.take())

    def __getstate__(self) -> dict[str, Any]:
        self._take_names()
        return {"given": self._given, "past": flattened(self._store)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {"vocabulary_size" if name == "capacity" else name: value for name, value in state["given"].items()}
        self.__dict__.update(type(self)(**given).__dict__)
        self._begin(unflattened(state["past"]))

    @classmethod
    def _continued(
        cls, store: MemoryStore, tokeniser: Cut | None = None, embed: str | Embed | None = None, *, own: bool = True
    ) -> TopicTracker:
        run = RunSettings.from_text(store.settings({}))
        if run.dimension:
            raise InputError("the run follows vectors; a TopicTracker follows texts")
        run.check_named(tokeniser, embed)
        made = cls(
            topics=run.topics,
            slices=run.slices,
            seed=run.seed,
            stop_words=_given_stop_words(run),
            tokeniser=tokeniser,
            embed=embed or run.embed or None,
            vocabulary_size=run.vocabulary,
            living_topics=run.living_topics,
            refit_budget=run.refit_budget,
            stories=run.stories,
            story_days=run.story_days,
            story_component=run.story_component,
            smoothed_stories=run.smoothed_stories,
            phrases=run.phrases,
            documents=run.documents == "all",
            topics_from=seeds_from_text(run.topics_from) or None,
        )
        if not own:  # commands have settings that a tracker has not
            others = (
                "title",
                "source",
                "licence",
                "threads",
                "window",
                "epoch_documents",
                "stem",
                "sample",
                "keep_text",
            )
            made._run = replace(made._run, documents=run.documents, **{name: getattr(run, name) for name in others})
        made._begin(store)
        made._source.closed |= not own
        return made

    def _decide(self, kind: str, topic: int, other: int = -1, text: str = "") -> None:
        made = decision(kind, topic, other, text)
        check_topics(made, self._model.ids.tolist(), range(self._model.next_id), "this tracker")
        if kind != "name":
            self._check_open()
        self._store.decide(made)

    def _decide_words(self, kind: str, words: str | Iterable[str]) -> None:
        self._check_open()
        self._store.decide(*(decision(kind, text=word) for word in ([words] if isinstance(words, str) else words)))

    def _check_open(self) -> None:
        if self._source.closed:
            raise InputError(
                "this tracker was finished; decisions are applied at the end of a slice, and none will come"
            )

    def _keep_labels(self, documents: Documents, stories: NDArray[np.int64]) -> None:
        self._story_labels[self._order[documents.offset - self._first_offset]] = stories

    def _encoded(self, texts: Sequence[str]) -> tuple[TrackState, Rows, NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows of texts in the columns in force, which of them have a direction, and which have words at all.

        A second encoder counts them, so that the stream's vocabulary does not notice.
        """
        if isinstance(texts, str):
            raise InputError("texts: expected a sequence of texts, got one string")
        state = self._model.state
        if state is None:
            raise InputError("there are no topics yet; learn more documents first")
        if self._reader.digest != self._encoder.digest:
            self._reader.restore(self._encoder.blank_state())
        n = len(texts)
        counts = self._reader.count(Documents([PART] * n, np.arange(n), [""] * n, np.zeros(n, np.int64), texts))
        x = self._reader.encode(counts)
        there = directed(x) if self._run.embed else np.diff(counts.indptr) > 0
        return state, x, directed(x), there


def _stop_words(wanted: str | Sequence[str] | None) -> tuple[str, list[str]]:
    """Return the languages of stop words as a run knows them, and the words that were given themselves."""
    if isinstance(wanted, str):
        return wanted or "none", []
    if wanted is not None and not (isinstance(wanted, Iterable) and all(isinstance(word, str) for word in wanted)):
        raise InputError(f"stop_words: expected a language, a list of words or None, got {wanted!r}")
    given = list(wanted or ())
    names = [word for word in given if is_language(word)]
    return ",".join(names) or "none", [part for word in given if word not in names for part in word.split()]


def _given_stop_words(run: RunSettings) -> str | list[str] | None:
    """Return the stop words of a run as an argument of a tracker."""
    if not run.stop_words:
        return None if run.language == "none" else run.language
    return [*([] if run.language == "none" else run.language.split(",")), *run.stop_words.split()]


def _check(given: Mapping[str, Any]) -> None:
    """Raise InputError for the first argument outside its domain; slices are checked where they are read."""
    try:
        check_parameters(given, _DOMAINS)
    except ValueError as error:
        raise InputError(str(error)) from None


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=3)


def _smoothed(smoothed: bool, hindsight: bool | None) -> bool:
    if hindsight is None:
        return smoothed
    warnings.warn("hindsight=... is deprecated, use smoothed=...", DeprecationWarning, stacklevel=3)
    return hindsight
