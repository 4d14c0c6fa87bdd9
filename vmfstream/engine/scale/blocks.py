"""What a worker does with a block of ranges: read and decode it, then learn the documents that the driver admits.

Between the two the block stays where it was read; the driver gets 24 bytes per document: its offset, its slice and a
digest of its id. All functions are pure, except that they read from the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.chunked import tree_reduce
from vmfstream.engine.loop.admission import MessageColumns, message_columns, separated
from vmfstream.engine.loop.learning import BatchResult, ScoreDocuments, learn_batch
from vmfstream.engine.loop.reading import decoded
from vmfstream.engine.loop.sample import Sampling
from vmfstream.errors import InputError
from vmfstream.online.state import Rows
from vmfstream.protocols import Codec, Prediction, RangeReader, Scores, Sums
from vmfstream.records import Arrays, Documents, Range, Rejected
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import WorkerEncoder


@dataclass(frozen=True, slots=True)
class RangeReading:
    """How messages are read and decoded; ``limit`` are the bytes after which a range is read no further."""

    reader: RangeReader
    codec: Codec
    slicing: Slicing
    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class DecodedRange:
    """A range as far as it was read: its decoded messages, and the offset after them."""

    wanted: Range
    documents: Documents
    next: int


@dataclass(frozen=True, slots=True, eq=False)
class RangeSummary:
    """What the driver gets of a range: the offsets (N,) of its messages and their columns for admission.

    ``next`` is the offset after them, before the end of the range if it held too many bytes. ``lowest_cosine`` is -1 if
    a vector has a negative coordinate, else 0.
    """

    wanted: Range
    offset: NDArray[np.int64]
    columns: MessageColumns
    next: int
    lowest_cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class RangeDecision:
    """A `vmfstream.engine.loop.admission.Verdict` per message, (N,); the first ``keep`` learnt documents are kept."""

    decision: NDArray[np.int8]
    keep: int


@dataclass(frozen=True, slots=True, eq=False)
class SliceTask:
    """What stays the same for a worker during a slice.

    Attributes
    ----------
    slicing, slice : how the stream is cut, and the open slice.
    encoder : makes an encoder.
    encoder_state : what it restores, with which it has counted nothing of the open slice.
    prediction : scores documents; None before the model has begun, when documents are only counted.
    novel : most novel documents of a block to return.
    stories : whether the documents themselves are to be returned, for the stories, which the driver follows.
    rows : whether it is to be returned what every document got.
    text : characters of their texts that are returned too.
    places : whether it is to be returned too where their messages stand.
    """

    slicing: Slicing
    slice: int
    encoder: Callable[[], WorkerEncoder]
    encoder_state: Arrays
    prediction: Prediction | None
    novel: int
    stories: bool = False
    rows: bool = False
    text: int = 0
    places: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class EpochTask:
    """What stays the same for a worker during an epoch.

    ``so_far`` is what the slice has gathered before it, None before the model has begun; ``sampling`` tells which
    documents may join the sample, ``again`` whether all will be scored again.
    """

    so_far: Any
    sampling: Sampling
    again: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BlockResult:
    """What a block adds to the open slice.

    ``batch`` has the counts of the worker's encoder, which ``tally`` (new words and document frequencies) translates;
    ``rejected`` are the rejected messages.
    """

    batch: BatchResult
    tally: Arrays
    rejected: list[Rejected]


def read_block(reading: RangeReading, ranges: Sequence[Range]) -> list[DecodedRange]:
    """Read and decode ranges."""
    block = []
    for wanted in ranges:
        messages, end = reading.reader.read(wanted, reading.limit)
        block.append(DecodedRange(wanted, decoded(reading.codec, messages), end))
    return block


def summaries(reading: RangeReading, block: Sequence[DecodedRange]) -> list[RangeSummary]:
    """Return what the driver needs to admit documents."""
    return [_summary(reading.slicing, one) for one in block]


def _summary(slicing: Slicing, one: DecodedRange) -> RangeSummary:
    documents = one.documents
    negative = any(vector is not None and vector.min(initial=0.0) < 0.0 for vector in documents.vector or ())
    columns = message_columns(documents, slicing)
    return RangeSummary(one.wanted, documents.offset, columns, one.next, -1.0 if negative else 0.0)


def learn_block(
    block: Sequence[DecodedRange], decisions: Sequence[RangeDecision], task: SliceTask, epoch: EpochTask
) -> BlockResult:
    """Learn the admitted documents of a ``block`` range by range, and sum the results.

    ``decisions`` has one entry per range; ``task`` and ``epoch`` are what stays the same during the slice and the
    epoch.

    Raises
    ------
    InputError
        If a range has other messages than were decided about, since somebody deleted some.
    """
    encoder = task.encoder()
    encoder.restore(task.encoder_state)
    score = None if task.prediction is None else _scorer(task.prediction, epoch.so_far)
    results: list[BatchResult] = []
    rejected: list[Rejected] = []
    for one, decided in zip(block, decisions, strict=True):
        if len(decided.decision) != len(one.documents):
            raise InputError(
                f"{one.wanted.part}: of {len(decided.decision)} messages from offset {one.wanted.first} on "
                f"{len(one.documents)} are left; somebody deleted messages while they were read"
            )
        documents, refused = separated(one.documents, decided.decision, task.slicing, task.slice)
        rejected += refused
        wanted: dict[str, Any] = {"stories": task.stories, "rows": task.rows, "text": task.text, "places": task.places}
        wanted["again"] = epoch.again
        results.append(learn_batch(documents, encoder, score, decided.keep, epoch.sampling, task.novel, **wanted))
    whole = tree_reduce(lambda a, b: a.merged(b, encoder), results)
    packed = replace(whole, samples=[one.packed(encoder) for one in whole.samples])
    return BlockResult(packed, encoder.tally(task.encoder_state), rejected)


def _scorer(prediction: Prediction, so_far: Any) -> ScoreDocuments:
    def score(x: Rows, keep: int) -> tuple[Scores, Sums]:
        return prediction.score(x, so_far, keep)

    return score
