"""`TopicTracker`: learn texts in the order of their time, and ask for their topics, without Kafka or a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.engine import Engine
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.loop.namer import BackgroundNamer, NamingFunction
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.estimators.parameters import Choice, Domain, Flag, Number, Whole, check_parameters
from vmfstream.locks import CopyableLock
from vmfstream.records import Documents, Rejected
from vmfstream.runfile.memory import MemoryStore
from vmfstream.seeds import seeds_as_text, seeds_from_text, seeds_of
from vmfstream.stories.settings import COMPONENTS
from vmfstream.text.filters import is_language
from vmfstream.text.given_texts import as_list, check_texts
from vmfstream.text.own_tokeniser import Cut, name_of
from vmfstream.text.sentence_models import Embed
from vmfstream.topic_tracker.answers import Answers
from vmfstream.topic_tracker.base import deprecated
from vmfstream.topic_tracker.decisions import Decisions
from vmfstream.topic_tracker.labelling import Labelling
from vmfstream.topic_tracker.manual_source import PART, ManualSource, Time, given_ids, moments
from vmfstream.topic_tracker.rows import closed_slices
from vmfstream.topic_tracker.saved import read_saved, unflattened, write_saved
from vmfstream.topic_tracker.tables import documents_of

if TYPE_CHECKING:
    from sklearn.utils import Tags

_DOMAINS: dict[str, Domain] = {
    "topics": Whole(1),
    "seed": Whole(0),
    "vocabulary_size": Whole(2),
    "living_topics": Flag(),
    "refit_budget": Number(0.0, closed="both"),
    "stories": Flag(),
    "story_days": Number(0.0),
    "story_grain": Number(0.0, 1.0),
    "story_component": Choice(*COMPONENTS),
    "smoothed_stories": Flag(),
    "phrases": Flag(),
    "documents": Flag(),
}


class TopicTracker(Labelling, Answers, Decisions):
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
    story_grain : float
        How fine stories are: about the cosine expected between a document and the mean direction of its story, in
        [0, 1); larger is finer. 0 follows the length of each document, from .15 for a dozen words or fewer on.
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
    A tracker can be pickled, for the same version (later ones read what `save` wrote), and copied by
    ``sklearn.base.clone``, which forgets what it has learnt. Several threads may use it: one learns or asks at a time,
    the others wait.

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
        story_grain: float = 0.0,
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
            deprecated("TopicTracker(capacity=...)", "TopicTracker(vocabulary_size=...)")
            vocabulary_size = capacity
        self._lock = CopyableLock()
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
            "story_grain": story_grain,
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
            story_grain=story_grain,
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
        self._run = replace(self._run, rules=stored.rules, documents=stored.documents)
        self._track = self._run.tracker()
        self._encoder, self._reader = (self._run.encoder(self._cut, self._embed) for _ in range(2))
        self._seeding = self._run.seeding(self._cut)
        self._nothing_read = self._encoder.state()
        self._go_on(store)

    def _go_on(self, store: MemoryStore) -> None:
        """Follow texts from where a store stands, with the encoders that there are: this calls no user's function."""
        self._frozen = None
        self._store, checkpoint = store, store.resume()
        if checkpoint is None:
            self._encoder.restore(self._nothing_read)
        self._source = ManualSource(0 if checkpoint is None else checkpoint.position.get(PART, 0))
        self._source.closed = checkpoint is not None and checkpoint.finished
        cut = replace(self._run.engine(), patience=0.0)  # nothing is added while a call lasts
        self._model = TrackerModel(self._track)
        self._story_labels, self._order, self._first_offset = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
        codec = self._run.embedding(self._source, self._embed) or self._source
        batches = LocalBatches(self._source, codec, cut, in_stories=self._keep_labels)
        made = self._source, self._encoder, self._model, store, cut, batches
        self._engine = Engine(*made, seeding=self._seeding, namer=self._namer)

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
        earlier call has closed are counted in the open one, with a warning. What is known after each call is kept: give
        a stream in batches of some hundred documents, not one by one. A call that ends with an error, or by Ctrl-C, has
        learnt nothing, and can be made again.

        Parameters
        ----------
        documents : sequence of str, or a table
            Texts, also as a Series, an array or a generator, or a frame of pandas or polars, a table of Arrow or
            whatever has ``__arrow_c_stream__``, a data set of Hugging Face, a mapping of columns, or an iterable of
            mappings. What is no text, or an empty one, and what has no time that can be read, is left out, with a
            warning.
        times : one moment per text, or one for all: datetimes, dates, ISO texts, or plain numbers of years
            Of a table None: its column for the time counts. Slices of a number of documents need none.
        ids : sequence of str, optional
            A repeated id is left out, with a warning. By default the column for the id counts. A text without an id
            (None, NaN, an empty one) is a new document, called ``texts:`` and its number.
        text, time, id, title : str, optional
            Columns of a table. By default the first with a usual name, as in files: ``text``, ``body``, ``content``,
            ``abstract``, ``summary``, ``message``, ``description``; ``time``, ``timestamp``, ``date``, ``published``,
            ``created_at``, ``year``, ``datetime``, ``created_utc``; ``id``, ``_id``, ``doc_id``, ``key``, ``guid``,
            ``url``; ``title``, ``headline``, ``subject``, ``name``, or the like, such as ``publishedAt``.

        Raises
        ------
        InputError
            If the tracker was finished, no time can be read, times or ids are not one per text or have no order, a
            table has no column for the text or the time, or ``tokeniser`` or ``embed`` fails.

        Examples
        --------
        >>> tracker = TopicTracker(topics=2)
        >>> tracker.learn({"body": ["cat fur paw", "ship sea harbour"] * 9, "year": [2001] * 18})
        TopicTracker(topics=2, slices='year'): 18 documents, no closed slice yet; next: learn() more or finish()
        """
        names = {"text": text, "time": time, "id": id, "title": title}
        documents = as_list(documents)
        plain = times is None and self._counted and _are_texts(documents) and len(documents)
        if plain or times is not None:
            if named := [name for name, column in names.items() if column is not None]:
                raise InputError(f"{', '.join(named)}: columns are named for a table, which is given without times")
            return self._learn(documents, times, ids)
        found = documents_of(documents, names, timed=not self._counted)
        known = found.id if ids is None else ids
        return self._learn(
            found.text if isinstance(found.text, list) else list(found.text),
            found.time,
            known,
            found.title,
        )

    @property
    def _counted(self) -> bool:
        """Whether slices are cut by a number of documents."""
        return str(self._run.slices).isdecimal()

    def _learn(
        self,
        texts: Sequence[str],
        times: Sequence[Time] | Time | None,
        ids: Sequence[str] | None = None,
        titles: Sequence[Any] | None = None,
    ) -> TopicTracker:
        """Read texts with their times, None if they need none; ``ids`` and ``titles`` are one per text or None."""
        if self._source.closed:
            raise InputError(
                "this tracker was finished; make a new one to read more (the run of a command is continued by it)"
            )
        check_texts(texts)
        if not isinstance(texts, Sized) or isinstance(texts, set | frozenset):
            raise InputError(f"texts: expected a sequence of texts, got {type(texts).__name__}")
        times_of_texts, timeless = moments(times, len(texts), timed=not self._counted)
        known = None if ids is None else given_ids(ids, len(texts))
        with self._lock:
            late, refused = self._read(texts, times_of_texts, known, titles, timeless)
        if late:
            warnings.warn(
                f"{late:,} of {len(texts):,} documents belong to slices that were closed by earlier "
                "calls; they were counted in the slice that was open. Learn documents in the order of their times",
                stacklevel=3,
            )
        if refused:
            warnings.warn(
                f"{len(refused):,} of {len(texts):,} documents were not learnt, the first of them for this reason: "
                f"{refused[0].reason}; `rejected` has all reasons",
                stacklevel=3,
            )
        return self

    def _read(
        self,
        texts: Sequence[str],
        times: NDArray[np.int64],
        ids: Sequence[str] | None,
        titles: Sequence[Any] | None,
        timeless: Mapping[int, str],
    ) -> tuple[int, list[Rejected]]:
        """Read texts as `_learn` does; return how many were late, and those that were left out."""
        self._order = np.arange(len(texts)) if self._counted else np.argsort(times, kind="stable")
        self._story_labels, self._first_offset = np.full(len(texts), -1), self._source.added
        position, commits = self._engine.state.position, len(self._store.commits)
        late = position.late
        with self._all_or_nothing():
            self._source.add(texts, times, ids, self._order, titles, timeless)
            self._engine.run(stop=lambda: self._source.empty and self._engine.caught_up)
        refused = [one for commit in self._store.commits[commits:] for one in commit.rejected]
        return position.late - late, refused

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Go back to where the store stood before, if the body ends with an error or is interrupted."""
        before = self._store.copy()
        try:
            yield
        except BaseException:
            self._back(before)
            raise

    def _back(self, store: MemoryStore) -> None:
        while True:
            try:
                return self._go_on(store)
            except KeyboardInterrupt:  # another one, which changes nothing
                continue

    def __repr__(self) -> str:
        given, rejected = self._run, sum(len(commit.rejected) for commit in self._commits)
        learnt = f"{self._engine.documents:,} document{'' if self._engine.documents == 1 else 's'}"
        began = f"TopicTracker(topics={given.topics}, slices={given.slices!r}): {learnt}"
        if rejected:
            began += f", {rejected:,} rejected"
        closed = closed_slices(self._commits)
        if not closed:
            return f"{began}, no closed slice yet; next: {self._next(topics=False)}"
        many = f"{len(closed):,} closed slice{'s' if len(closed) > 1 else ''}"
        known = f"{many}, the newest {closed[-1].slice.label}, {len(self.topic_ids)} topics"
        return f"{began}, {known}; next: {self._next(topics=bool(len(self.topic_ids)))}"

    def _next(self, *, topics: bool) -> str:
        """Say what can be done, if there are ``topics`` or not."""
        if self._source.closed:
            if topics:
                return "topics(), stories(), save(path)"
            why = "all vectors are zeros" if self._run.embed else "too few texts share words for topics"
            return f"stories(); {why}"
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

        After an error, or Ctrl-C, nothing is forgotten.

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
        if times is None:
            documents = as_list(documents)
            if not self._counted and _are_texts(documents):
                raise InputError(
                    "times: expected one per text, or one for all, got none; slices of a number of documents need none"
                )
        before = self.__dict__.copy()
        try:
            self._begin(MemoryStore())
            self.learn(documents, times, ids, **columns).finish()
        except BaseException:
            self.__dict__.update(before)
            raise
        return self

    def learn_many(self, documents: Any) -> TopicTracker:
        """Read a table of documents: the former name of `learn` without times."""
        return self.learn(documents)

    def finish(self) -> None:
        """Close the last slice and smooth all slices. After an error, or Ctrl-C, the tracker is as it was before."""
        with self._lock, self._all_or_nothing():
            self._source.closed = True
            self._engine.run()
        if self._namer is not None:
            self._namer.finish(60.0)

    def save(self, path: str | Path) -> None:
        """Write everything that was learnt to a run file, which commands, pages, `vmfstream.plot` and `load` read.

        Raises
        ------
        InputError
            If there is a file already, the path cannot be written, or decisions wait and nothing was learnt yet.
        """
        self._take_names()
        with self._lock:
            write_saved(self._store, Path(path).expanduser())

    @classmethod
    def load(cls, path: str | Path, *, tokeniser: Cut | None = None, embed: str | Embed | None = None) -> TopicTracker:
        """Read a tracker that `save` wrote, which goes on as if it had never stopped, or what a command wrote.

        The run of a command can be asked everything, and is continued by that command: it learns nothing here. Its
        documents are there if it keeps all of them (``--documents all``). Names that are given here stay here: for the
        run they are given by ``vmfstream topic``. A run file of an older format is brought up to date first.

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
            If there is no such run file, it follows vectors instead of texts, or is damaged.
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

    def __sklearn_is_fitted__(self) -> bool:
        return self._source.added > 0

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags

        texts = InputTags(two_d_array=False, string=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=texts)

    def __getstate__(self) -> dict[str, Any]:
        self._take_names()
        with self._lock:
            return {"given": self._given, "store": self._store.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {"vocabulary_size" if name == "capacity" else name: value for name, value in state["given"].items()}
        self.__dict__.update(type(self)(**given).__dict__)
        self._begin(state["store"] if "store" in state else unflattened(state["past"]))  # earlier versions wrote this

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
            story_grain=run.story_grain,
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

    def _keep_labels(self, documents: Documents, stories: NDArray[np.int64]) -> None:
        self._story_labels[self._order[documents.offset - self._first_offset]] = stories


def _are_texts(documents: Any) -> bool:
    return (
        isinstance(documents, Sequence)
        and not isinstance(documents, str)
        and all(isinstance(text, str) for text in documents)
    )


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
