"""A whole run in one call: open the log, continue or begin, follow the source to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

from vmfstream import __version__
from vmfstream.engine.loop.engine import Assigned, Engine, EngineSettings, Observer
from vmfstream.engine.loop.slices import Slicing
from vmfstream.engine.observers.evaluation import Comparison, Evaluator
from vmfstream.engine.runtime_tuning import UNHINDERED
from vmfstream.engine.scale.ranged import RangedEngine
from vmfstream.errors import InputError
from vmfstream.online.state import TrackerSettings
from vmfstream.protocols import Codec, Executor, Source, Store
from vmfstream.runfile.lease import lease
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.writer import RunFile
from vmfstream.text.encoders import Encoder, TextEncoder, VectorEncoder
from vmfstream.text.named import NamedVectorEncoder, SentenceEncoder


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run is made with; a log remembers it, and continuing with other settings is refused.

    Attributes
    ----------
    title : what the page calls the stream.
    source : where the documents come from.
    licence : what may be done with them.
    topics : most topics that are awake when one is born; the number of topics if they are fixed.
    slices : ``year``, ``quarter``, ``month``, ``week``, ``day``, ``hour`` or documents per slice.
    seed : of all random choices.
    threads : parts that a batch is split into.
    window : documents refitted together at the end of a slice, 0 for the default.
    epoch_documents : most documents of one transaction.
    vocabulary : most words.
    language : of the stop words; ``none`` keeps all words.
    stop_words : further words without meaning, separated by blanks.
    stem : language of the stemmer (extra ``stemming``), or empty.
    dimension : of document vectors; 0 for text.
    named : whether the vectors come with texts, whose words name the topics.
    embed : sentence-transformers model that makes vectors of texts, or empty (extra ``embeddings``).
    living_topics : whether topics may be born, split, merge and sleep; else those of the first fits stay for ever.
    sample : most documents that the log keeps for snapshots; 0 for none.
    """

    title: str = "documents"
    source: str = ""
    licence: str = ""
    topics: int = 30
    slices: str = "year"
    seed: int = 0
    threads: int = 2
    window: int = 0
    epoch_documents: int = 20_000
    vocabulary: int = 50_000
    language: str = "english"
    stop_words: str = ""
    stem: str = ""
    dimension: int = 0
    named: bool = False
    embed: str = ""
    living_topics: bool = True
    sample: int = 20_000

    def __post_init__(self) -> None:
        for name, least in (
            ("topics", 1),
            ("threads", 1),
            ("window", 0),
            ("epoch_documents", 1),
            ("vocabulary", 2),
            ("sample", 0),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        Slicing.parse(self.slices)

    def as_text(self) -> dict[str, str]:
        """Flatten for the log."""
        return {f.name: str(getattr(self, f.name)) for f in fields(self)} | {"version": __version__}

    @classmethod
    def from_text(cls, stored: Mapping[str, str]) -> RunSettings:
        """Read what a log remembers."""
        known: dict[str, Any] = {f.name: f.default for f in fields(cls) if f.name in stored}
        return cls(**{name: _read(stored[name], type(default)) for name, default in known.items()})

    def encoder(self) -> Encoder:
        """Build the encoder of these settings."""
        if self.dimension and not self.named:
            return VectorEncoder(self.dimension)
        text = TextEncoder(
            capacity=self.vocabulary,
            stop_words=None if self.language == "none" else self.language,
            extra_stop_words=self.stop_words.split(),
            stem=self.stem or None,
        )
        if self.embed:
            return SentenceEncoder(self.embed, text.vocabulary)
        return NamedVectorEncoder(self.dimension, text.vocabulary) if self.dimension else text

    def tracker(self) -> TrackerSettings:
        """Return what the tracker is told."""
        return TrackerSettings(
            topics=self.topics,
            window=self.window or None,
            threads=self.threads,
            seed=self.seed,
            living_topics=self.living_topics,
        )

    def parts(
        self, source: Source, codec: Codec, store: Store, linger: float | None = None, ahead: int = 0
    ) -> tuple[Source, Codec, Encoder, Store, TrackerSettings, EngineSettings]:
        """Build what an engine is made of."""
        cut = EngineSettings(
            Slicing.parse(self.slices),
            epoch_documents=self.epoch_documents,
            linger=linger,
            sample=self.sample,
            ahead=ahead,
        )
        return source, codec, self.encoder(), store, self.tracker(), cut


def _read(text: str, kind: type) -> Any:
    return text == "True" if kind is bool else kind(text)


AHEAD = 2**25
"""Bytes of messages that are read ahead of what is learnt."""

_MAY_DIFFER = {"title", "licence", "source"}


def agree(wanted: RunSettings, stored: Mapping[str, str]) -> RunSettings:
    """Return the settings of an existing log; InputError where the wanted ones would change its meaning."""
    old = RunSettings.from_text(stored)
    for f in fields(wanted):
        was, now = getattr(old, f.name), getattr(wanted, f.name)
        if f.name not in _MAY_DIFFER and was != now:
            raise InputError(
                f"this log was begun with {f.name} = {was!r} and cannot be continued with {now!r}; choose another --out"
            )
    return old


def follow(
    source: Source,
    codec: Codec,
    store: Store,
    settings: RunSettings,
    *,
    linger: float | None = None,
    observe: Observer | None = None,
    assigned: Assigned | None = None,
    stop: Callable[[], bool] = lambda: False,
    executor: Executor | None = None,
    ahead: int = AHEAD,
) -> Engine:
    """Follow a source into a store until the source is exhausted or ``stop()`` is true.

    Messages are read and decoded by a thread of their own, ``ahead`` bytes of them before they are learnt, and an epoch
    is written while the next one is learnt; with 0 all is done by the caller's thread, one thing after the other.

    A store that already has epochs is continued where it stands; documents are counted once whatever happened before.
    A log that another run is writing raises StoreLocked. With an ``executor`` its workers read the source in ranges
    (`vmfstream.engine.scale.ranged`), and ``assigned`` is told nothing.
    """
    with lease(store.path) if isinstance(store, RunFile) else nullcontext(), UNHINDERED:
        settings = agree(settings, store.settings(settings.as_text()))
        parts = settings.parts(source, codec, store, linger, ahead if executor is None else 0)
        engine = Engine(*parts, assigned) if executor is None else RangedEngine(*parts, settings.encoder, executor)
        engine.run(observe, stop)
    return engine


def evaluate(source: Source, codec: Codec, settings: RunSettings, observe: Observer | None = None) -> Comparison:
    """Follow a source and refit batch models on all past at every slice (`vmfstream.engine.observers.evaluation`)."""
    engine = Evaluator(*replace(settings, sample=0).parts(source, codec, MemoryStore()))
    engine.run(observe)
    return Comparison(engine.rows)
