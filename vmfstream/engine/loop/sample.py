"""Documents that a run keeps to show them: a bounded sample of the stream, and the most novel ones of each slice.

The sample has equally many documents of every slice as far as there are as many. Of each slice those documents are kept
whose keys are smallest; a document's key is a hash of its position in the source and of the seed. So the sample does
not depend on batches, epochs or crashes, and a slice is thinned by dropping its largest keys. When the sample is full
all slices are cut to one size, leaving room for the open slice. Most novel are the documents that a topic
without documents explains better than all known ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.document_buffer import (
    KeptDocument,
    arrays_of_texts,
    kept_documents,
    texts_of_arrays,
    times_of,
)
from vmfstream.records import Arrays, Document, Documents, Novel, Sampled
from vmfstream.text.encoders import Counted, CountStorage

Keys = NDArray[np.uint64]

_NONE = np.zeros(0, np.uint64)
_LARGEST = 2**64 - 1


class Sampling(NamedTuple):
    """Which documents may join the sample: the ``most`` smallest keys under ``seed``, none above ``largest``."""

    seed: int
    largest: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Documents that may join the sample: their keys, positions, and what the encoder packed them into."""

    key: Keys
    part: Sequence[str]
    offset: NDArray[np.int64]
    rows: list[bytes]

    def up_to(self, largest: int) -> Packed:
        """Return those with keys up to this one."""
        rows = np.flatnonzero(self.key <= np.uint64(largest))
        chosen = rows.tolist()
        parts, packed = [self.part[i] for i in chosen], [self.rows[i] for i in chosen]
        return Packed(self.key[rows], parts, self.offset[rows], packed)

    def packed(self, encoder: CountStorage) -> Packed:
        """Return them as they are."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Documents that may join the sample, with their counts."""

    key: Keys
    part: Sequence[str]
    offset: NDArray[np.int64]
    counts: Counted

    @classmethod
    def among(cls, documents: Documents, counts: Counted, wanted: Sampling) -> Candidates:
        """Return the ``documents`` that may join the sample as ``wanted``, with those of their ``counts``."""
        parts, offsets = documents.part, documents.offset
        keys = position_keys(parts, offsets, wanted.seed)
        largest = wanted.largest
        if len(keys) > wanted.most:
            largest = min(largest, int(np.partition(keys, wanted.most - 1)[wanted.most - 1]))
        return cls(keys, parts, offsets, counts).up_to(largest)

    def up_to(self, largest: int) -> Candidates:
        """Return those with keys up to this one."""
        rows = np.flatnonzero(self.key <= np.uint64(largest))
        if len(rows) == len(self.key):
            return self
        parts = [self.part[i] for i in rows.tolist()]
        return Candidates(self.key[rows], parts, self.offset[rows], self.counts.take(rows))

    def packed(self, encoder: CountStorage) -> Packed:
        """Pack them."""
        return Packed(self.key, self.part, self.offset, encoder.pack(self.counts) if len(self.key) else [])


class Sampler:
    """Chooses documents, and reports which ones the run file has to add and to drop.

    Parameters
    ----------
    limit : int
        Most documents; 0 keeps none.
    seed : int
    """

    def __init__(self, limit: int, seed: int) -> None:
        self._limit, self._seed = limit, seed
        self._slices: dict[int, Keys] = {}
        self._open = _NONE
        self._room = limit
        self._found: list[Candidates | Packed] = []
        self._cut: dict[int, int] = {}

    @property
    def wanted(self) -> Sampling:
        """Which documents of the open slice may still join."""
        return Sampling(self._seed, self._largest, self._room if self._limit else 0)

    @property
    def _largest(self) -> int:
        return int(self._open[-1]) if self._limit and len(self._open) == self._room else _LARGEST

    def add(self, found: Candidates | Packed) -> None:
        """Add documents of the open slice; they are packed once it is known which of them stay."""
        if self._limit:
            self._found.append(found)
            self._join(found.key)

    def pack(self, encoder: CountStorage) -> None:
        """Pack what was added, which has to be done before its words get other numbers."""
        self._found = [one.up_to(self._largest).packed(encoder) for one in self._found]

    def _join(self, keys: Keys) -> None:
        self._open = np.sort(np.concatenate([self._open, keys]))[: self._room]

    def close(self, index: int) -> None:
        """End the open slice, and make room for the next one."""
        if not self._limit:
            return
        if len(self._open):
            self._slices[index] = self._open
            if len(self._open) == self._room:
                self._cut[index] = int(self._open[-1])
        self._open = _NONE
        self._room = _level([len(keys) for keys in self._slices.values()], self._limit)
        for old in sorted(self._slices)[: max(0, len(self._slices) + 1 - self._limit)]:
            del self._slices[old]
            self._cut[old] = 0
        for old, keys in self._slices.items():
            if len(keys) > self._room:
                self._slices[old] = keys[: self._room]
                self._cut[old] = int(keys[self._room - 1])

    def take(self, index: int, encoder: CountStorage) -> Sampled | None:
        """Return what changed since the last call; all that was added belongs to slice ``index``."""
        if not self._found and not self._cut:
            return None
        most = self._cut.get(index, self._largest)
        rows = [one.up_to(most).packed(encoder) for one in self._found]
        sampled = Sampled(
            slice=index,
            key=np.concatenate([_NONE, *(one.key for one in rows)]),
            part=[part for one in rows for part in one.part],
            offset=np.concatenate([np.zeros(0, np.int64), *(one.offset for one in rows)]),
            packed=[packed for one in rows for packed in one.rows],
            cut=self._cut,
        )
        self._found, self._cut = [], {}
        return sampled

    def open_arrays(self) -> Arrays:
        """Return what changes with every epoch."""
        return {"sample.open": self._open} if self._limit else {}

    def slice_arrays(self) -> Arrays:
        """Return what changes when a slice ends."""
        if not self._limit:
            return {}
        return {
            "sample.slices": np.array([[index, len(keys)] for index, keys in self._slices.items()], np.int64),
            "sample.keys": np.concatenate([_NONE, *self._slices.values()]),
            "sample.room": np.array([self._room], np.int64),
        }

    def restore(self, open_part: Arrays, slice_part: Arrays) -> None:
        """Continue from stored arrays; a run file of before there were samples has none, and begins one now."""
        self._open = open_part.get("sample.open", _NONE)
        if "sample.room" in slice_part:
            slices, keys = slice_part["sample.slices"].reshape(-1, 2), slice_part["sample.keys"]
            if (slices[:, 1] < 0).any() or sum(slices[:, 1].tolist()) != len(keys):
                raise ValueError(f"sample.slices: expected numbers of {len(keys)} documents")
            parts = np.split(keys, np.cumsum(slices[:, 1]))
            self._slices = dict(zip(slices[:, 0].tolist(), parts, strict=False))
            self._room = int(slice_part["sample.room"][0])


def position_keys(parts: Sequence[str], offsets: NDArray[np.int64], seed: int) -> Keys:
    """Return hashes (N,) of documents' positions, uniform over 64 bits.

    A position is a part of ``parts`` and an offset of ``offsets``; another ``seed`` gives other hashes.
    """
    codes = {name: crc32(name.encode("utf-8", "surrogatepass")) for name in set(parts)}
    part = np.array([codes[name] for name in parts], np.uint64)
    mixed = mixed64(offsets.astype(np.uint64)) ^ (part << np.uint64(32))
    return mixed64(mixed ^ np.uint64(crc32(f"sample {seed}".encode())))


def mixed64(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64 bits: one step of splitmix64 [Steele, Lea, Flood 2014]. Keys are stored: the results must never change."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _level(sizes: Sequence[int], limit: int) -> int:
    """Return the most documents that each slice, a further one too, may have so that all have at most ``limit``."""
    left, slices = limit, len(sizes) + 1
    for size in sorted(sizes):
        if size * slices >= left:
            break
        left, slices = left - size, slices - 1
    return max(1, left // slices)


class MostNovel:
    """Keeps the documents of the open slice that were most novel on arrival; of equally novel ones the first.

    Parameters
    ----------
    most : int
        Documents per slice; 0 keeps none.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._clear()

    def _clear(self) -> None:
        self._novelty = np.zeros(0)
        self._topic = np.zeros(0, np.int64)
        self._kept: list[KeptDocument] = []

    def add(
        self,
        documents: Sequence[Document],
        novelty: NDArray[np.float64],
        topic: NDArray[np.int64],
        scored: NDArray[np.bool_],
    ) -> None:
        """Add ``documents`` with their ``novelty`` (N,) in nats and the ids of their topics, ``topic`` (N,).

        Only those that are ``scored`` (N,) count.
        """
        rows = np.flatnonzero(scored)
        rows = rows[np.argsort(-novelty[rows], kind="stable")[: self.most]]
        self._take(novelty[rows], topic[rows], [KeptDocument.of(documents[i]) for i in rows.tolist()])

    def join(self, later: MostNovel) -> None:
        """Add what another one has kept of later documents."""
        self._take(later._novelty, later._topic, later._kept)

    def _take(self, novelty: NDArray[np.float64], topic: NDArray[np.int64], documents: list[KeptDocument]) -> None:
        novelties = np.concatenate([self._novelty, novelty])
        topics = np.concatenate([self._topic, topic])
        kept = [*self._kept, *documents]
        best = np.argsort(-novelties, kind="stable")[: self.most]
        self._novelty, self._topic, self._kept = novelties[best], topics[best], [kept[i] for i in best.tolist()]

    def close(self, first: Sequence[tuple[KeptDocument, float, int, int]] = ()) -> Novel | None:
        """End the slice; return its first stories and then its most novel documents, or None if there are none.

        ``first`` has the first stories with their novelty, parent topics and stories.
        """
        own = zip(self._kept, self._novelty.tolist(), self._topic.tolist(), repeat(-1))
        known = {one.id for one, *_ in first}
        rows = [*first, *(row for row in own if row[0].id not in known)][: self.most]
        self._clear()
        if not rows:
            return None
        kept = [one for one, *_ in rows]
        return Novel(
            rank=np.arange(1, len(rows) + 1),
            id=[one.id for one in kept],
            title=[one.title for one in kept],
            time=times_of(kept).tolist(),
            novelty=np.array([value for _, value, _, _ in rows]),
            topic=np.array([topic for _, _, topic, _ in rows], np.int64),
            story=np.array([story for _, _, _, story in rows], np.int64),
        )

    def arrays(self) -> Arrays:
        """Return what changes with every epoch."""
        return {
            "novel.novelty": self._novelty,
            "novel.topic": self._topic,
            "novel.times": times_of(self._kept),
            **arrays_of_texts("novel.ids", [one.id for one in self._kept]),
            **arrays_of_texts("novel.titles", [one.title for one in self._kept]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from stored arrays; older run files have none."""
        self._clear()
        if "novel.topic" in arrays:
            self._novelty, self._topic = arrays["novel.novelty"], arrays["novel.topic"]
            ids, titles = (texts_of_arrays(arrays, f"novel.{name}") for name in ("ids", "titles"))
            self._kept = kept_documents(ids, titles, arrays["novel.times"])
