"""A bounded sample of the stream, equally many documents of every slice as far as there are as many.

Of each slice those documents are kept whose keys are smallest; a document's key is a hash of its position in the source
and of the seed. So the sample does not depend on batches, epochs or crashes, and thinning a slice is to drop its
largest keys. When the sample is full all slices are cut to one level, such that the open slice may reach it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import Arrays, Document, Sampled
from vmfstream.text.bits import mixed64
from vmfstream.text.encoders import Counted, Encoder

Keys = NDArray[np.uint64]

_NONE = np.zeros(0, np.uint64)
_LARGEST = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """Documents that may join the sample: their keys, where they stand, and what the encoder made of them."""

    key: Keys
    part: list[str]
    offset: NDArray[np.int64]
    packed: list[bytes]

    def take(self, rows: NDArray[np.integer]) -> Offer:
        """Choose documents by their numbers."""
        chosen = rows.tolist()
        parts, packed = [self.part[i] for i in chosen], [self.packed[i] for i in chosen]
        return Offer(self.key[rows], parts, self.offset[rows], packed)


def offered(
    documents: Sequence[Document], counts: Counted, encoder: Encoder, seed: int, largest: int, room: int
) -> Offer:
    """Return the documents whose keys are at most ``largest``, and of those at most the ``room`` smallest."""
    keys = position_keys(documents, seed)
    if len(keys) > room:
        largest = min(largest, int(np.partition(keys, room - 1)[room - 1]))
    rows = np.flatnonzero(keys <= np.uint64(largest))
    chosen = [documents[i] for i in rows.tolist()]
    offsets = np.array([document.offset for document in chosen], np.int64)
    packed = encoder.pack(counts.take(rows)) if len(rows) else []
    return Offer(keys[rows], [document.part for document in chosen], offsets, packed)


class Sampler:
    """Chooses documents, and tells what the log has to take in and to drop.

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
        self._offers: list[Offer] = []
        self._cut: dict[int, int] = {}

    @property
    def largest(self) -> int:
        """Largest key that a document of the open slice may have to be of use."""
        if not self._limit:
            return -1
        return int(self._open[-1]) if len(self._open) == self._room else _LARGEST

    def add(self, documents: Sequence[Document], counts: Counted, encoder: Encoder) -> None:
        """Look at documents of the open slice."""
        if self._limit and documents:
            self.receive(offered(documents, counts, encoder, self._seed, self.largest, self._room))

    def receive(self, offer: Offer) -> None:
        """Take in what is offered of the open slice, as far as there is room."""
        self._open = np.sort(np.concatenate([self._open, offer.key]))[: self._room]
        self._offers.append(offer)

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

    def take(self, index: int) -> Sampled | None:
        """Return what changed since the last call; what was received is of the slice ``index``."""
        if not self._offers and not self._cut:
            return None
        most = np.uint64(self._cut.get(index, self.largest))
        rows = [offer.take(np.flatnonzero(offer.key <= most)) for offer in self._offers]
        sampled = Sampled(
            slice=index,
            key=np.concatenate([_NONE, *(offer.key for offer in rows)]),
            part=[part for offer in rows for part in offer.part],
            offset=np.concatenate([np.zeros(0, np.int64), *(offer.offset for offer in rows)]),
            packed=[packed for offer in rows for packed in offer.packed],
            cut=self._cut,
        )
        self._offers, self._cut = [], {}
        return sampled

    def open_arrays(self) -> Arrays:
        """What changes with every epoch."""
        return {"sample.open": self._open} if self._limit else {}

    def slice_arrays(self) -> Arrays:
        """What changes when a slice ends."""
        if not self._limit:
            return {}
        return {
            "sample.slices": np.array([[index, len(keys)] for index, keys in self._slices.items()], np.int64),
            "sample.keys": np.concatenate([_NONE, *self._slices.values()]),
            "sample.room": np.array([self._room], np.int64),
        }

    def restore(self, open_part: Arrays, slice_part: Arrays) -> None:
        """Continue from stored arrays; a log from before there were samples has none, and begins one now."""
        self._open = open_part.get("sample.open", _NONE)
        if "sample.room" in slice_part:
            slices = slice_part["sample.slices"].reshape(-1, 2)
            parts = np.split(slice_part["sample.keys"], np.cumsum(slices[:, 1]))
            self._slices = dict(zip(slices[:, 0].tolist(), parts, strict=False))
            self._room = int(slice_part["sample.room"][0])


def position_keys(documents: Sequence[Document], seed: int) -> Keys:
    """Return hashes of the documents' positions, uniform over 64 bits."""
    names = [document.part for document in documents]
    codes = {name: crc32(name.encode("utf-8", "surrogatepass")) for name in set(names)}
    offsets = np.array([document.offset for document in documents], np.int64).astype(np.uint64)
    part = np.array([codes[name] for name in names], np.uint64)
    return mixed64(mixed64(offsets) ^ (part << np.uint64(32)) ^ np.uint64(crc32(f"sample {seed}".encode())))


def _level(sizes: Sequence[int], limit: int) -> int:
    """Return the most documents that each slice, a further one too, may have so that all have at most ``limit``."""
    left, slices = limit, len(sizes) + 1
    for size in sorted(sizes):
        if size * slices >= left:
            break
        left, slices = left - size, slices - 1
    return max(1, left // slices)
