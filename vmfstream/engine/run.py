"""A whole run in one call: open the run file, begin or continue, follow the source to its end.

The modules of encoders and models are imported when these are built, while a thread already reads documents.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import zip_longest
from math import inf
from typing import TYPE_CHECKING, Any

from vmfstream import __version__
from vmfstream.engine.loop.reading import reader_of
from vmfstream.engine.loop.settings import EngineSettings, Observer
from vmfstream.errors import InputError, NotNamedAgain
from vmfstream.folders import source_name
from vmfstream.machine import memory_there
from vmfstream.online.settings import TrackerSettings
from vmfstream.protocols import Codec, ColumnCodec, Executor, Local, Model, Renewed, Source, Store
from vmfstream.records import Position
from vmfstream.runfile.lease import lease
from vmfstream.runfile.writer import RunFile
from vmfstream.runtime_tuning import tuned_runtime
from vmfstream.seeds import Seed, seeds_from_text
from vmfstream.slicing import Slicing
from vmfstream.stories.settings import COMPONENTS, StorySettings
from vmfstream.text.filters import AUTO

if TYPE_CHECKING:
    from vmfstream.engine.loop.embedding import EmbeddingCodec
    from vmfstream.engine.loop.engine import Batches, Engine
    from vmfstream.engine.loop.local_batches import Assigned
    from vmfstream.engine.loop.namer import BackgroundNamer
    from vmfstream.engine.loop.seeding import Seeding
    from vmfstream.engine.observers.evaluation import Comparison
    from vmfstream.text.encoders import Encoder, TextEncoder
    from vmfstream.text.own_tokeniser import Cut
    from vmfstream.text.sentence_models import Embed, SentenceModel
    from vmfstream.text.tokeniser import Tokeniser


TEXT_CHARACTERS = 2_000
"""Characters of a text that a run file keeps with its document, if it keeps texts."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a run; stored in the run file, which cannot be continued with other ones.

    Attributes
    ----------
    title : name of the stream on the page.
    source : where the documents come from.
    licence : what may be done with them.
    begins : digest of the first message of a source whose messages are counted from its beginning, or empty.
    topics : maximum number of active topics; the number of topics if they are fixed.
    slices : length of a slice, see `vmfstream.slicing.Slicing.parse`.
    seed : of all random choices.
    threads : parts that a batch is split into.
    window : documents refitted together at the end of a slice, 0 for the default.
    refit_budget : most work of refits of the window, as a multiple of that of scoring; those of the first documents
        are free.
    epoch_documents : most documents of one epoch.
    vocabulary : maximum vocabulary size.
    language : of the stop words, see `vmfstream.text.filters.languages`, several with commas between them; ``none``
        keeps all words, ``auto`` leaves out those of the language that each document is written in.
    stop_words : further stop words, separated by blanks.
    tokeniser : function that cuts texts into words, as ``module:name``; empty for the built-in one.
    phrases : whether phrases of two words that the stream has are features besides their words.
    stem : language of the stemmer (extra ``stemming``), or empty.
    dimension : of document vectors; 0 for text.
    named : whether the vectors come with texts, whose words name the topics.
    embed : model that makes vectors of texts, see `vmfstream.text.sentence_models`, or empty.
    living_topics : whether topics may be born, split, merge and become dormant; else those of the first fits stay.
    sample : most documents that the run file keeps for snapshots; 0 for none.
    stories : whether stories are followed beside the topics, where documents have texts.
    story_days : days after which the weight of a new story is halved, by the times of documents; 0 counts 300 documents
        instead.
    story_grain : cosine expected between a document and the mean direction of its story, below 1; 0 follows the length
        of each document.
    story_component : distribution of stories, one of `vmfstream.stories.settings.COMPONENTS`.
    smoothed_stories : whether documents get a second story when 300 later ones are known, in the table of documents.
    topics_from : seeds of the first topics, as `vmfstream.seeds.seeds_as_text` writes them; empty for none.
    documents : of which documents the run file keeps what they got: ``all``, ``none``, or a number: so many of each
        topic and slice, the newest.
    keep_text : whether it keeps the first 2,000 characters of their texts too.
    model : one of `vmfstream.engine.models.MODELS`.
    rules : settings of the tracker that have no name here, by default those of the program.
    slices_by_times : whether ``slices`` were chosen by the times of the documents; a run file that was begun before
        goes on with its own.
    from_file : whether these were read from a file, whose functions and models are not loaded unless they are named
        again.
    """

    title: str = "documents"
    source: str = ""
    licence: str = ""
    begins: str = ""
    topics: int = 30
    slices: str = "year"
    seed: int = 0
    threads: int = 2
    window: int = 0
    refit_budget: float = inf
    epoch_documents: int = 20_000
    vocabulary: int = 50_000
    language: str = "english"
    stop_words: str = ""
    tokeniser: str = ""
    phrases: bool = False
    stem: str = ""
    dimension: int = 0
    named: bool = False
    embed: str = ""
    living_topics: bool = True
    sample: int = 20_000
    stories: bool = True
    story_days: float = 0.0
    story_grain: float = 0.0
    story_component: str = "vmf"
    smoothed_stories: bool = False
    topics_from: str = ""
    documents: str = "none"
    keep_text: bool = False
    model: str = "topics"
    rules: TrackerSettings = field(default_factory=TrackerSettings)
    slices_by_times: bool = field(default=False, compare=False, repr=False)
    from_file: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (
            ("topics", 1),
            ("threads", 1),
            ("window", 0),
            ("refit_budget", 0),
            ("epoch_documents", 1),
            ("vocabulary", 2),
            ("sample", 0),
            ("story_days", 0),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        if self.documents not in ("all", "none") and not (self.documents.isdecimal() and int(self.documents)):
            raise InputError(f"documents: expected all, none or a number above 0, got {self.documents!r}")
        if not 0.0 <= self.story_grain < 1.0:
            raise InputError(f"story_grain: expected a number from 0 to below 1, got {self.story_grain}")
        if self.story_component not in COMPONENTS:
            raise InputError(f"story_component: expected {' or '.join(COMPONENTS)}, got {self.story_component!r}")
        if self.keep_text and self.documents == "none":
            raise InputError("keep_text: texts are kept with documents; expected documents all or a number, got none")
        if self.smoothed_stories and (self.documents == "none" or not self.stories):
            raise InputError("smoothed_stories: they belong to kept documents with stories; expected both")
        if self.phrases and (self.embed or self.dimension):
            raise InputError("phrases: they are features of texts; expected texts without --embed and --vector")
        object.__setattr__(self, "slices", str(Slicing.parse(self.slices)))  # one text for equal lengths
        object.__setattr__(self, "language", ",".join(name.strip().lower() for name in self.language.split(",")))
        if self.embed:
            from vmfstream.text.sentence_models import full_name

            object.__setattr__(self, "embed", full_name(self.embed))
        seeds = seeds_from_text(self.topics_from)
        if len(seeds) > self.topics:
            raise InputError(
                f"topics: expected at least {len(seeds)}, as many as there are topics to begin with, got {self.topics}"
            )
        if seeds and (self.embed or self.dimension):
            raise InputError("topics to begin with are given by words; they need texts without --embed and --vector")

    def as_text(self) -> dict[str, str]:
        """Flatten for the run file: the source by its name, rules under names that begin with ``rule.``."""
        own = {f.name: str(getattr(self, f.name)) for f in fields(self) if f.name not in _NOT_STORED}
        own["source"] = source_name(self.source)
        rules = {_RULE + name: value for name, value in self._rules().items()}
        return own | rules | {"version": __version__}

    @classmethod
    def from_text(cls, stored: Mapping[str, str]) -> RunSettings:
        """Read what a run file stores; settings and rules that it does not name are those of the program.

        `encoder` refuses to load functions and models that the file names, unless they are named again.

        Raises
        ------
        InputError
            If a rule cannot be read.
        """
        if "tokeniser" not in stored and stored.get("language") == "english":
            stored = {**stored, "language": "scikit-learn"}  # what English was until then
        known: dict[str, Any] = {
            f.name: f.default for f in fields(cls) if f.name in stored and f.name not in _NOT_STORED
        }
        rules = {name.removeprefix(_RULE): value for name, value in stored.items() if name.startswith(_RULE)}
        try:
            of_tracker = TrackerSettings().with_text(rules)
        except ValueError as error:
            raise InputError(f"the run file holds a rule that cannot be read: {error}") from error
        read = {name: _read(stored[name], type(default)) for name, default in known.items()}
        return cls(**read, rules=of_tracker, from_file=True)

    def _rules(self) -> dict[str, str]:
        """Flatten the rules, without the settings of the tracker that have a name here."""
        own = {f.name for f in fields(self)}
        return {name: value for name, value in self.rules.as_text().items() if name not in own}

    def encoder(self, cut: Cut | str | None = None, embed: Embed | str | None = None) -> Encoder:
        """Build the encoder of these settings.

        Parameters
        ----------
        cut, embed : callable or str, optional
            What ``tokeniser`` and ``embed`` name: the functions themselves, or their names once more. Settings that
            come from a file need them, since what a file names is code of whoever wrote it.

        Raises
        ------
        NotNamedAgain
            If the settings come from a file, name a function or model that is not part of vmfstream, and it is not
            given; or if another one is given than they name.
        InputError
            If it cannot be loaded.
        """
        from vmfstream.text.encoders import VectorEncoder

        self._check_named("embed", embed)
        if self.dimension and not self.named:
            return VectorEncoder(self.dimension)
        text = self.text_encoder(cut)
        if not (self.embed or self.dimension):
            return text
        from vmfstream.text.named_vectors import NamedVectorEncoder, SentenceEncoder

        if self.embed:
            return SentenceEncoder(self._sentence_model(embed), text.vocabulary)
        return NamedVectorEncoder(self.dimension, text.vocabulary)

    def embedding(self, codec: Codec | ColumnCodec, embed: Embed | str | None = None) -> EmbeddingCodec | None:
        """Return a codec that gives documents their vectors too, None where no model is named; ``embed`` as above.

        The model is loaded where the first message is decoded.
        """
        if not self.embed:
            return None
        from vmfstream.engine.loop.embedding import EmbeddingCodec

        return EmbeddingCodec(codec, partial(self._sentence_model, embed), self.embed)

    def _sentence_model(self, embed: Embed | str | None) -> SentenceModel:
        from vmfstream.text.sentence_models import FunctionModel, sentence_model

        return FunctionModel(embed, self.embed) if callable(embed) else sentence_model(self.embed)

    def check_named(self, tokeniser: Cut | str | None, embed: Embed | str | None) -> None:
        """Raise what `encoder` would for code that is not named, or named otherwise; ``tokeniser`` is its ``cut``."""
        self._check_named("tokeniser", tokeniser)
        self._check_named("embed", embed)

    def _check_named(self, option: str, given: Callable[..., Any] | str | None) -> None:
        """Raise where a file asks for code that its user has not named."""
        wanted = getattr(self, option)
        if given is None:
            if not (self.from_file and wanted):
                return
            from vmfstream.text.sentence_models import runs_code

            if runs_code(wanted):
                raise NotNamedAgain(
                    f"the file asks for the {_CODE[option]} {wanted!r}. Loading it runs code that is not part of "
                    f"vmfstream; if you trust it, name it again: --{option} {wanted}, or {option}= in Python"
                )
            return
        from vmfstream.text.own_tokeniser import name_of
        from vmfstream.text.sentence_models import full_name

        name = name_of(given) if callable(given) else full_name(given) if option == "embed" else given
        if name != wanted:
            raise NotNamedAgain(f"{option}: expected {wanted or 'none'!r}, which the run was made with, got {name!r}")

    def seeding(self, cut: Cut | str | None = None) -> Seeding | None:
        """Build what gives the first topics their directions, None without seeds; ``cut`` as for `encoder`.

        Raises
        ------
        InputError
            If a seed has no word that could ever count.
        """
        seeds = seeds_from_text(self.topics_from)
        if not seeds:
            return None
        from vmfstream.engine.loop.seeding import Seeding

        return Seeding(seeds, lambda: self.text_encoder(cut))

    def _tokeniser(self, cut: Cut | str | None) -> Tokeniser | None:
        found: Tokeniser | None = None
        if self.tokeniser:
            from vmfstream.text.own_tokeniser import OwnTokeniser, tokeniser_at

            found = OwnTokeniser(cut if callable(cut) else tokeniser_at(self.tokeniser))
        if self.language == AUTO:
            from vmfstream.text.languages import LanguageTokeniser
            from vmfstream.text.tokeniser import Tokeniser

            found = LanguageTokeniser(Tokeniser() if found is None else found)
        if not self.phrases:
            return found
        from vmfstream.text.phrase_tokeniser import PhraseTokeniser
        from vmfstream.text.tokeniser import Tokeniser

        return PhraseTokeniser(Tokeniser() if found is None else found)

    def check_encoder(self) -> None:
        """Raise what `encoder` would, but for words without making one, which takes longer than reading begins."""
        if self.embed or self.dimension or self.tokeniser or self.language == AUTO:
            self.encoder()
            return
        from vmfstream.text.filters import stemmer, stop_words_of

        stop_words_of(None if self.language == "none" else self.language)
        if self.stem:
            stemmer(self.stem)
        self.seeding()

    def text_encoder(self, cut: Cut | str | None = None) -> TextEncoder:
        """Build what counts the words of texts; ``cut`` and errors as for `encoder`."""
        from vmfstream.text.encoders import TextEncoder

        self._check_named("tokeniser", cut)
        return TextEncoder(
            capacity=self.vocabulary,
            stop_words=None if self.language == "none" else self.language,
            extra_stop_words=self.stop_words.split(),
            stem=self.stem or None,
            tokeniser=self._tokeniser(cut),
        )

    def most_bytes(self) -> int:
        """Return about how much memory topics may take, once the vocabulary is full; 0 for embedded texts."""
        return 0 if self.embed else 4 * _ARRAYS * self.topics * (self.dimension or self.vocabulary)

    def tracker(self) -> TrackerSettings:
        """Return the settings of the tracker."""
        return replace(
            self.rules,
            topics=self.topics,
            window=self.window or None,
            threads=self.threads,
            seed=self.seed,
            living_topics=self.living_topics,
            refit_budget=self.refit_budget,
        )

    def new_model(self) -> Model:
        """Build the model of these settings; InputError if there is none of that name."""
        from vmfstream.engine.models import MODELS

        if self.model not in MODELS:
            raise InputError(f"model: expected one of {', '.join(MODELS)}, got {self.model!r}")
        return MODELS[self.model](self)

    def _stories(self) -> StorySettings:
        found = StorySettings(cauchy=self.story_component == "cauchy")
        if self.story_grain:
            found = replace(found, grain=self.story_grain)
        if self.story_days:
            found = replace(found, half_life=self.story_days, days=True, max_stories=_MOST_STORIES)
        return found

    def engine(self, linger: float | None = None, ahead: int = 0) -> EngineSettings:
        """Return the settings of the engine."""
        return EngineSettings(
            Slicing.parse(self.slices),
            epoch_documents=self.epoch_documents,
            linger=linger,
            sample=self.sample,
            seed=self.seed,
            ahead=ahead,
            stories=self._stories() if self.stories else None,
            phrases=self.phrases,
            story_window=STORY_WINDOW if self.smoothed_stories else 0,
            documents=self.documents != "none",
            documents_per_topic=int(self.documents) if self.documents.isdecimal() else 0,
            text=TEXT_CHARACTERS if self.keep_text else 0,
        )


def _read(text: str, kind: type) -> Any:
    return text == "True" if kind is bool else kind(text)


AHEAD = 2**25
"""Bytes of messages that are read while earlier ones are learnt."""

STORY_WINDOW = 300
"""Documents after which a document gets its second story."""

_ARRAYS = 64
"""Arrays of words times topics in float32 that are held at once: 60 were measured with 500 topics of 32,000 words."""

_LAST_NAMES = 60.0
"""Seconds that a namer has for what it was not asked or has not answered when the stream ends."""

_MOST_STORIES = 10_000
"""Living stories where time is counted in days: how many documents come in 8 half-lives is not known."""

log = logging.getLogger(__name__)

_NOT_STORED = {"rules", "slices_by_times", "from_file"}
_MAY_DIFFER = {"title", "licence", "source", "begins", "language"} | _NOT_STORED  # languages go with stop words
_CODE = {"tokeniser": "tokeniser", "embed": "sentence model"}
_RULE = "rule."
_TOLD_WORDS = 5  # stop words that an error tells


def agree(wanted: RunSettings, stored: Mapping[str, str], *, renamed: bool = False) -> RunSettings:
    """Return the settings of an existing run file, with the rules that it was begun under.

    Parameters
    ----------
    wanted : those of the program
    stored : what the run file holds
    renamed : the source may have another name than the stored one.

    Raises
    ------
    InputError
        Where the wanted settings, or rules that are wanted other than the program's, would change its meaning.
    """
    old = RunSettings.from_text(stored)
    if "documents" not in stored and wanted.documents != "none":
        log.warning("this run file was begun by a version that kept no documents; it goes on without them")
        wanted = replace(wanted, documents=old.documents, keep_text=old.keep_text)
    if "tokeniser" not in stored and wanted.language == "english":
        wanted = replace(wanted, language=old.language)
    if wanted.slices_by_times:
        wanted = replace(wanted, slices=old.slices)
    if not renamed and wanted.source and old.source and source_name(wanted.source) != source_name(old.source):
        raise InputError(
            f"this run file follows {source_name(old.source)} and cannot go on with {source_name(wanted.source)}; "
            "choose another --out, or give --renamed if it is the same stream under another name"
        )
    begun_with, given = [], []
    for f in fields(wanted):
        was, now = getattr(old, f.name), getattr(wanted, f.name)
        if f.name == "stop_words":
            was, now = _stop_words_apart(old, wanted)
        if f.name not in _MAY_DIFFER and was != now:
            if f.name == "topics_from":
                was, now = _first_that_differ(seeds_from_text(was), seeds_from_text(now))
            begun_with.append(f"{f.name} = {was!r}")
            given.append(repr(now))
    if given:
        raise InputError(
            f"this run file was begun with {', '.join(begun_with)} and cannot be continued with {', '.join(given)}; "
            "give what it was begun with, or choose another --out"
        )
    usual, begun = RunSettings()._rules(), old._rules()
    for name, now_text in wanted._rules().items():
        if now_text not in (usual[name], begun[name]):
            raise InputError(
                f"this run file was begun with {_RULE}{name} = {begun[name]} and cannot be continued with {now_text}; "
                "choose another --out"
            )
    return replace(old, from_file=wanted.from_file)  # functions are named by both


def _first_that_differ(was: Sequence[Seed], now: Sequence[Seed]) -> Sequence[str]:
    """Return the first topics to begin with that are not the same, with the beginning of what each is made of."""
    both = next(pair for pair in zip_longest(was, now) if pair[0] != pair[1])
    return ["" if one is None else f"{one.name}: {', '.join((*one.words, *one.documents))}"[:80] for one in both]


def _stop_words_apart(old: RunSettings, wanted: RunSettings) -> Sequence[str]:
    """Return the languages of the stop words of both, with the first further words that only one of them has."""
    words = [set(one.stop_words.split()) for one in (old, wanted)]
    told = []
    for one, own in zip((old, wanted), words, strict=True):
        apart = sorted(own - (words[0] & words[1]))
        more = ["..."] if len(apart) > _TOLD_WORDS else []
        told.append(", ".join([*sorted(one.language.split(",")), *apart[:_TOLD_WORDS], *more]))
    return told


def follow(
    source: Source,
    codec: Codec,
    store: Store,
    settings: RunSettings,
    *,
    linger: float | None = None,
    observe: Observer | None = None,
    assigned: Assigned | None = None,
    in_stories: Assigned | None = None,
    stop: Callable[[], bool] = lambda: False,
    executor: Executor | None = None,
    ahead: int = AHEAD,
    renamed: bool = False,
    namer: BackgroundNamer | None = None,
    labels: bool = False,
) -> Engine:
    """Follow a source into a store until the source is exhausted or ``stop()`` is true.

    A store that already has epochs is continued after the last one; every document is counted once whatever happened
    before.

    Parameters
    ----------
    source, codec : what is read, and what makes documents of its messages.
    store : where epochs are committed.
    settings : those of a new store; one that has epochs must have been made with the same.
    linger : seconds after which an epoch is committed though it is not full; None waits for all its documents.
    observe : called with the progress after every commit.
    assigned : called with documents and the ids of their topics on arrival, not with an ``executor``.
    in_stories : called with documents and the ids of their stories on arrival, from the first one on, not with an
        ``executor``.
    stop : asked between batches.
    executor : its workers read the source in ranges (`vmfstream.engine.scale.ranged_batches`).
    ahead : bytes that a thread of its own reads and decodes before they are learnt, while epochs are written by
        another; with 0 all is done by the caller's thread, one thing after the other.
    renamed : the source may have another name than the one that the store was begun with.
    namer : asked for names of topics beside the run; when the stream has ended it has a minute for the last ones.
    labels : keep in the store what every document got until it was sent, see `vmfstream.engine.observers.delivery`.

    Raises
    ------
    StoreLocked
        If another run is writing the run file.
    InputError
        If the source cannot be read, or a store has other settings or another source.
    """
    with lease(store.path) if isinstance(store, RunFile) else nullcontext(), ExitStack() as stack:
        wanted = replace(settings, begins=_beginning(source, stop))
        given = wanted.as_text()
        # interrupted before the first line: the run file shall know the stream by the one that comes next time
        nothing = isinstance(source, Local) and not wanted.begins and stop()
        settings = agree(wanted, store.settings({} if nothing else given) or given, renamed=renamed)
        codec = settings.embedding(codec) or codec
        cut = replace(settings.engine(linger, ahead if executor is None else 0), labels=labels)
        checkpoint = store.resume()
        if checkpoint is not None:
            same = renamed or not wanted.begins or settings.begins in ("", wanted.begins)
            _continue(source, checkpoint.position, same=same)
        reading = stack.enter_context(reader_of(source, codec, cut)) if executor is None else None

        from vmfstream.engine.loop.engine import Engine

        batches: Batches
        if executor is None:
            from vmfstream.engine.loop.local_batches import LocalBatches

            batches = LocalBatches(source, codec, cut, assigned, in_stories, reading)
        else:
            from vmfstream.engine.scale.ranged_batches import RangedBatches

            batches = RangedBatches(source, codec, cut, settings.encoder, executor)
        _check_memory(settings)
        made = source, settings.encoder(), settings.new_model(), store, cut, batches
        fresh = checkpoint is None
        engine = Engine(*made, resumed=checkpoint, fresh=fresh, seeding=settings.seeding(), namer=namer)
        stack.enter_context(tuned_runtime())
        engine.run(observe, stop)
        if namer is not None:
            namer.finish(_LAST_NAMES if engine.finished else 0.0)
            store.name_topics(namer.take())
        if engine.finished and isinstance(store, RunFile):
            store.compact()
    return engine


def _beginning(source: Source, stop: Callable[[], bool]) -> str:
    """Return a digest of the first message of a source that a store knows it by; empty if it has none."""
    first = source.first(stop) if isinstance(source, Local) else None
    if first is None:
        return ""
    value = first.value
    body = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.blake2b(body, digest_size=8).hexdigest()


def _continue(source: Source, position: Position, *, same: bool) -> None:
    """Let a source go on from a position; ``same`` tells that it begins as it did when the store was begun.

    Raises
    ------
    InputError
        If it is another one, whose messages cannot be told from those that were read.
    """
    if same:
        source.seek(position)
    elif isinstance(source, Renewed):
        source.count_from(position)
    else:
        raise InputError(
            f"{source.name} does not begin as it did when this run file was begun, or was read then by the other one "
            "of run and replay, so which of its documents were read cannot be told; choose another --out, or, where "
            "all are new, give the file another name and --renamed"
        )


def _check_memory(settings: RunSettings) -> None:
    """Warn if the machine may have too little memory for as many topics and words as a run may have."""
    need, there = settings.most_bytes(), memory_there()
    if there is not None and need > there:
        log.warning(
            "%d topics of %d words may take %.0f GiB once there are so many, and there are %.0f GiB; --topics and "
            "--vocabulary bound both",
            settings.topics,
            settings.dimension or settings.vocabulary,
            need / 2**30,
            there / 2**30,
        )


def evaluate(source: Source, codec: Codec, settings: RunSettings, observe: Observer | None = None) -> Comparison:
    """Follow a source and refit batch models on all past at every slice (`vmfstream.engine.observers.evaluation`).

    ``source``, ``codec``, ``settings`` and ``observe`` as in `follow`; nothing is stored.

    Raises
    ------
    InputError
        If topics are named beforehand, which the batch models know nothing of.
    """
    if settings.topics_from:
        raise InputError("--evaluate compares with models that know no topics beforehand; leave --topics-from out")
    from vmfstream.engine.loop.engine import Engine
    from vmfstream.engine.loop.local_batches import LocalBatches
    from vmfstream.engine.models.tracker import TrackerModel
    from vmfstream.engine.observers.evaluation import Comparison, Evaluator
    from vmfstream.runfile.memory import MemoryStore

    codec = settings.embedding(codec) or codec
    cut = replace(settings, sample=0, stories=False, documents="none", keep_text=False).engine()
    encoder, model = settings.encoder(), TrackerModel(settings.tracker())
    evaluator = Evaluator(encoder, model, cut.slices)
    Engine(source, encoder, model, MemoryStore(), cut, LocalBatches(source, codec, cut), [evaluator]).run(observe)
    return Comparison(evaluator.rows)
