"""What a worker does with a block of ranges: read and decode it, then learn the documents that the driver takes.

Between the two the block stays where it was read; the driver sees of a document 24 bytes: where it stands, which slice
it belongs to and a digest of its id. All functions are pure but for the broker that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.chunked import along_the_tree
from vmfstream.engine.loop.admission import beyond, read_before
from vmfstream.engine.loop.document_buffer import Kept
from vmfstream.engine.loop.duplicates import digests
from vmfstream.engine.loop.novel import MostNovel, topics_of
from vmfstream.engine.loop.sample import Candidates, Offer
from vmfstream.engine.loop.slices import Slicing
from vmfstream.errors import InputError
from vmfstream.online.partial_sums import PartialSums, SliceProgress, added, partial_sums
from vmfstream.online.reading import novelty_of
from vmfstream.online.state import Matrix
from vmfstream.protocols import Codec, RangeReader
from vmfstream.records import Arrays, Document, Range, Rejected
from vmfstream.text.encoders import Counted, Encoder

NO_DOCUMENT = -(2**63)
"""Stands for the slice of a message that is no document."""


class Fate(IntEnum):
    """What the driver decides about a message."""

    LEFT = 0
    LEARNT = 1
    BEYOND = 2
    REPEATED = 3
    REFUSED = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """How messages are read and decoded; ``limit`` are the bytes after which a range is read no further."""

    reader: RangeReader
    codec: Codec
    slicing: Slicing
    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A range as far as it was read: its messages, decoded, and the offset after them."""

    wanted: Range
    records: Sequence[Document | Rejected]
    next: int


@dataclass(frozen=True, slots=True, eq=False)
class Gist:
    """What the driver sees of a range: per message offset, slice (`NO_DOCUMENT` of none) and digest of the id.

    ``next`` is the offset after them, before the range's end if it held too many bytes. ``lowest_cosine`` is -1 if a
    vector has a negative coordinate, else 0.
    """

    wanted: Range
    offset: NDArray[np.int64]
    slice: NDArray[np.int64]
    digest: NDArray[np.uint64]
    next: int
    lowest_cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What is to be done with the messages of a range: a `Fate` each; the first ``keep`` documents are sent back."""

    fate: NDArray[np.int8]
    keep: int


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """What is known of the topics during a slice: the prediction (D, kp), the anchor (D,), and their ids (K,)."""

    base: Matrix
    anchor: Matrix
    ids: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What stays the same during a slice.

    The open slice; how the encoder is made and how it began; what is known of the topics, None before the first fit;
    the most documents that may be offered to the sample of the log, and that are told as novel.
    """

    slicing: Slicing
    slice: int
    encoder: Callable[[], Encoder]
    begun: Arrays
    topics: Topics | None
    threads: int
    seed: int
    sample: int
    novel: int


@dataclass(frozen=True, slots=True, eq=False)
class Errand:
    """What stays the same during an epoch: what the slice has gathered, None before the first fit, which only counts.

    ``largest`` is the largest key with which a document may join the sample.
    """

    so_far: SliceProgress | None
    largest: int


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What a block has taught.

    Statistics (None before the first fit); the documents to keep with their counts and memberships; words and document
    frequencies for the vocabulary; documents for the sample, and the most novel ones; rejected messages; words counted
    and those without a column.
    """

    share: PartialSums | None
    kept: list[Kept]
    counts: Counted
    resp: Matrix
    tally: Arrays
    offers: list[Offer]
    novel: MostNovel
    rejected: list[Rejected]
    unknown: int
    words: int


def read_block(reading: Reading, ranges: Sequence[Range]) -> list[Piece]:
    """Read and decode ranges."""
    pieces = []
    for wanted in ranges:
        messages, end = reading.reader.read(wanted, reading.limit)
        pieces.append(Piece(wanted, [reading.codec.decode(message) for message in messages], end))
    return pieces


def gists(reading: Reading, pieces: Sequence[Piece]) -> list[Gist]:
    """Return what the driver has to see."""
    return [_gist(reading.slicing, piece) for piece in pieces]


def learn_block(pieces: Sequence[Piece], choices: Sequence[Choice], lesson: Lesson, errand: Errand) -> Learnt:
    """Count, encode and score the chosen documents of a block, and sum them."""
    encoder = lesson.encoder()
    encoder.restore(lesson.begun)
    nothing = np.zeros((0, 0), np.float32)
    out = Learnt(None, [], encoder.concat([]), nothing, {}, [], MostNovel(lesson.novel), [], 0, 0)
    shares: list[PartialSums] = []
    counts: list[Counted] = []
    resps: list[Matrix] = []
    unknown = words = 0
    for piece, choice in zip(pieces, choices, strict=True):
        documents, refused = _chosen(piece, choice, lesson)
        counted = encoder.count(documents)
        counts.append(counted.take(slice(0, choice.keep)))
        out.kept.extend(Kept.of(document) for document in documents[: choice.keep])
        out.rejected.extend(refused)
        if lesson.sample and documents:
            found = Candidates.among(documents, counted, lesson.seed, errand.largest, lesson.sample)
            out.offers.append(found.packed(encoder))
        if errand.so_far is not None and lesson.topics is not None:
            x = encoder.encode(counted)
            share, scored = partial_sums(x, lesson.topics.base, errand.so_far, choice.keep, lesson.threads)
            shares.append(share)
            resps.append(scored.resp)
            novelty = novelty_of(x, lesson.topics.anchor, errand.so_far.kappa, scored.info)
            out.novel.add(documents, novelty, topics_of(scored.info, lesson.topics.ids), scored.info.label >= 0)
            some, all_words = encoder.unknown(counted)
            unknown, words = unknown + some, words + all_words
    return replace(
        out,
        share=along_the_tree(added, shares) if shares else None,
        counts=encoder.concat(counts),
        resp=np.concatenate(resps) if resps else out.resp,
        tally=encoder.tally(lesson.begun),
        unknown=unknown,
        words=words,
    )


def _gist(slicing: Slicing, piece: Piece) -> Gist:
    records = piece.records
    documents = [record for record in records if isinstance(record, Document)]
    held = np.array([isinstance(record, Document) for record in records], np.bool_)
    slices = np.full(len(records), NO_DOCUMENT, np.int64)
    known = np.zeros(len(records), np.uint64)
    slices[held] = [0 if slicing.documents else slicing.index(document.time) for document in documents]
    known[held] = digests(document.id for document in documents)
    offsets = np.array([record.offset for record in records], np.int64)
    negative = any(d.vector is not None and d.vector.min(initial=0.0) < 0.0 for d in documents)
    return Gist(piece.wanted, offsets, slices, known, piece.next, -1.0 if negative else 0.0)


def _chosen(piece: Piece, choice: Choice, lesson: Lesson) -> tuple[list[Document], list[Rejected]]:
    """Documents to learn and messages to reject, in their order."""
    if len(choice.fate) != len(piece.records):
        raise InputError(
            f"{piece.wanted.part}: of {len(choice.fate)} messages from offset {piece.wanted.first} on "
            f"{len(piece.records)} are left; somebody deleted messages while they were read"
        )
    documents: list[Document] = []
    rejected: list[Rejected] = []
    for record, fate in zip(piece.records, choice.fate.tolist(), strict=True):
        if isinstance(record, Rejected):
            rejected += [record] if fate == Fate.REFUSED else []
        elif fate == Fate.LEARNT:
            documents.append(record)
        elif fate == Fate.BEYOND:
            rejected.append(beyond(record, lesson.slicing.index(record.time) - lesson.slice))
        elif fate == Fate.REPEATED:
            rejected.append(read_before(record))
    return documents, rejected
