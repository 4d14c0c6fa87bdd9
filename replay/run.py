"""Open a stored corpus or file for a replay, and replay the planted stream with a score of the result."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.connectors.codecs import FieldCodec, document_as_json
from vmfstream.connectors.files import is_text
from vmfstream.engine.loop.settings import Observer
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.folders import title_of
from vmfstream.protocols import Codec, Source, Store
from vmfstream.records import Document
from vmfstream.replay.corpora import corpora, get
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.replay.planted.truth import recovery
from vmfstream.replay.sorted_source import VECTOR, CorpusSource, SortedFileSource
from vmfstream.slicing import Slicing

if TYPE_CHECKING:
    from vmfstream.engine.loop.engine import Engine

PLANTED = "planted"


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A source of documents in order of time, with its codec, title, licence and slice length.

    ``slices_by_times`` tells whether that length was chosen by the times of the documents.
    """

    source: Source
    codec: Codec
    title: str
    licence: str
    slices: str
    stop_words: Sequence[str] = ()
    slices_by_times: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """A finished run on the planted stream: how well the labels given on arrival agree with the truth."""

    engine: Engine
    documents: int
    nmi: float
    ari: float


def open_replay(
    name: str,
    *,
    slices: str | None = None,
    time: str | None = None,
    text: str | None = None,
    id: str | None = None,
    title: str | None = None,
    time_format: str | None = None,
    vector: str | None = None,
    dimension: int | None = None,
    **options: Any,
) -> Replay:
    """Open a corpus, or a file or folder of the user's.

    Parameters
    ----------
    name : of the corpus, or the path.
    slices : length of slices; by default that of the corpus, or of a file what suits its times.
    time, text, id, title : columns of a file that are not found by their usual names.
    time_format : how its times are written, see `vmfstream.connectors.codecs.FieldCodec`.
    vector, dimension : column of a file with vectors that are followed instead of texts, and their length.
    **options : of files: ``delimiter``, ``encoding``.

    Raises
    ------
    InputError
        If it is neither, or cannot be read; if fields or options are named for a corpus, which has its own.
    """
    if name in ("-", "stdin:"):
        raise InputError("standard input cannot be sorted by time: save it to a file, or use vmfstream run -")
    path = Path(name).expanduser()
    if path.is_file() or path.suffix or (path.is_dir() and name not in {one.name for one in corpora()}):
        timed = not (is_text(path) if slices is None else Slicing.parse(slices).documents)
        codec = FieldCodec(
            time=time,
            text=text,
            id=id,
            title=title,
            time_format=time_format,
            timed=timed,
            vector=vector,
            dimension=dimension,
        )
        source = SortedFileSource(path, codec=codec, **options)
        length = slices or source.usual_slices()
        sorted_codec = FieldCodec(timed=timed, vector=VECTOR if vector else None, dimension=dimension)
        return Replay(source, sorted_codec, title_of(path), "", length, slices_by_times=slices is None)
    fields = {"time": time, "text": text, "id": id, "title_column": title}
    fields |= {"time_format": time_format, "vector": vector}
    refused = [f"--{field.replace('_', '-')}" for field, value in (fields | options).items() if value is not None]
    if refused:
        raise InputError(f"{' and '.join(refused)}: expected a file with it, {name} is a corpus with known fields")
    if name == PLANTED:
        return Replay(PlantedSource(), FieldCodec(), "Planted newswire", "made by vmfstream", slices or "month")
    corpus = get(name)
    length = slices or corpus.slices
    return Replay(CorpusSource(corpus), FieldCodec(), corpus.title, corpus.licence, length, corpus.stop_words)


def compressed_size(replay: Replay) -> int:
    """Return the bytes of a replay's documents as gzipped JSON lines with id, time, title and text."""
    packer, size = zlib.compressobj(wbits=_GZIP), 0
    while not replay.source.exhausted:
        for message in replay.source.poll(_POLLED, 0.2):
            document = replay.codec.decode(message)
            if isinstance(document, Document):
                size += len(packer.compress(document_as_json(document) + b"\n"))
    return size + len(packer.flush())


_GZIP = 31  # window bits that stand for gzip
_POLLED = 2_000


def replay_planted(
    store: Store,
    *,
    topics: int = 16,
    seed: int = 0,
    stream: PlantedStream | None = None,
    observe: Observer | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Recovered:
    """Follow the built-in stream and compare the label that each document got on arrival with the known one.

    Parameters
    ----------
    store : where the run is kept.
    topics, seed : most topics, and the seed of the tracker.
    stream : the planted stream; by default the usual one.
    observe, stop : see `vmfstream.engine.run.follow`.
    """
    source = PlantedSource(stream)
    truth: list[NDArray[np.int64]] = []
    found: list[NDArray[np.int64]] = []

    def compare(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        truth.append(np.array([document.meta["truth"] for document in documents]))
        found.append(topics)

    settings = RunSettings(
        title="Planted newswire",
        source=PLANTED,
        licence="made by vmfstream",
        topics=topics,
        slices="month",
        seed=seed,
        documents="all",
    )
    engine = follow(source, FieldCodec(meta=("truth",)), store, settings, observe=observe, stop=stop, assigned=compare)
    labels = np.concatenate([np.zeros(0, np.int64), *found])
    scored = labels >= 0
    if not scored.any():
        return Recovered(engine, 0, float("nan"), float("nan"))
    score = recovery(np.concatenate(truth)[scored], labels[scored])
    return Recovered(engine, int(scored.sum()), score.nmi, score.ari)


def describe_corpora() -> list[dict[str, Any]]:
    """Return a row per corpus: name, documents, what it is, where it is."""
    total, about = PlantedStream().total, "A newswire with known topics."
    rows = [{"name": PLANTED, "documents": f"{total:,}", "what": about, "where": "built in"}]
    for corpus in corpora():
        found = corpus.find()
        where = str(found) if found else ("can be downloaded" if corpus.home else "not on this machine")
        what = f"{corpus.title}: {corpus.description}"
        rows.append({"name": corpus.name, "documents": f"{corpus.documents:,}", "what": what, "where": where})
    return rows


def fetch_corpus(name: str) -> Path:
    """Return a corpus's file, downloading it if it is not on this machine."""
    if name == PLANTED:
        raise InputError("the planted stream is built in, there is nothing to download")
    return get(name).path()
