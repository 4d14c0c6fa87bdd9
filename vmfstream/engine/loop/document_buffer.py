"""Documents that may be needed again: those of the open slice and of the window, as counts, bounded in number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.online.state import Rows, stack
from vmfstream.records import Arrays, Document
from vmfstream.text.encoders import Encoder

_TITLE = 160
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Kept(NamedTuple):
    """What is remembered of a document to name it later; its time are microseconds since 1970."""

    id: str
    title: str
    time: int

    @classmethod
    def of(cls, document: Document) -> Kept:
        """Take it from a document."""
        return cls(document.id, document.title[:_TITLE], (document.time - _EPOCH) // _MICROSECOND)


def times_of(kept: Sequence[Kept]) -> NDArray[np.datetime64]:
    """Return the times of documents, (N,) datetime64[us]."""
    return np.array([one.time for one in kept], np.int64).view("datetime64[us]")


def kept_again(ids: Sequence[str], titles: Sequence[str], times: NDArray[np.datetime64]) -> list[Kept]:
    """Rebuild what was stored column by column."""
    return [Kept(*row) for row in zip(ids, titles, times.astype(np.int64).tolist(), strict=True)]


@dataclass(slots=True)
class Held:
    """Counts of the window's slices (number, counts) and of the open slice, with the names of the latter.

    Counts and not encoded rows are kept, because the vocabulary and its weights change at the end of every slice.
    """

    slices: list[tuple[int, Any]] = field(default_factory=list)
    open: list[Any] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    def __len__(self) -> int:
        """Documents of the open slice."""
        return len(self.kept)

    @property
    def documents(self) -> int:
        """Documents of all slices."""
        return len(self) + sum(len(counts) for _, counts in self.slices)

    def add(self, kept: list[Kept], counts: Any) -> None:
        """Keep a batch of the open slice."""
        self.open.append(counts)
        self.kept += kept

    def close(self, index: int, *, whole: bool, encoder: Encoder) -> list[Kept]:
        """End the open slice, which joins the window if it was kept whole; return its documents."""
        if whole:
            self.slices.append((index, encoder.concat(self.open)))
        kept, self.open, self.kept = self.kept, [], []
        return kept

    def trim(self, window: int) -> None:
        """Forget slices that have left the tracker's window."""
        self.slices = self.slices[len(self.slices) - window :]

    def remap(self, terms: NDArray[np.int32] | None) -> None:
        """Follow a renumbering of the vocabulary's terms."""
        if terms is not None:
            self.slices = [(index, counts.remap(terms)) for index, counts in self.slices]
            self.open = [counts.remap(terms) for counts in self.open]

    def encode(self, encoder: Encoder) -> tuple[list[Rows], Rows]:
        """All rows in the vocabulary in force: those of the window's slices, and of the open slice."""
        parts = [encoder.encode(counts) for counts in self.open]
        return [encoder.encode(counts) for _, counts in self.slices], stack(parts, encoder.dim)

    def open_arrays(self, encoder: Encoder) -> Arrays:
        """What changes with every epoch."""
        arrays = {f"open.{name}": a for name, a in encoder.concat(self.open).arrays().items()}
        arrays["open.times"] = times_of(self.kept)
        arrays |= arrays_of_texts("open.ids", [d.id for d in self.kept])
        return arrays | arrays_of_texts("open.titles", [d.title for d in self.kept])

    def slice_arrays(self) -> Arrays:
        """What changes when a slice ends."""
        arrays = {"held.slices": np.array([index for index, _ in self.slices], np.int64)}
        for i, (_, counts) in enumerate(self.slices):
            arrays |= {f"held.{i}.{name}": a for name, a in counts.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, open_part: Arrays, slice_part: Arrays, encoder: Encoder) -> Held:
        """Rebuild from both parts."""
        held = cls()
        for i, index in enumerate(slice_part["held.slices"]):
            held.slices.append((int(index), encoder.counts_from(_named(slice_part, f"held.{i}."))))
        counts = encoder.counts_from(_named(open_part, "open."))
        held.open = [counts] if len(counts) else []
        ids, titles = (texts_of_arrays(open_part, f"open.{name}") for name in ("ids", "titles"))
        held.kept = kept_again(ids, titles, open_part["open.times"])
        return held


def _named(arrays: Arrays, prefix: str) -> Arrays:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def arrays_of_texts(name: str, texts: Sequence[str]) -> Arrays:
    """Flatten texts of any letters under ``name``."""
    encoded = [t.encode("utf-8", "surrogatepass") for t in texts]
    lengths = np.array([len(t) for t in encoded], np.int32)
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}.lengths": lengths}


def texts_of_arrays(arrays: Arrays, name: str) -> list[str]:
    """Rebuild what `arrays_of_texts` flattened."""
    body = arrays[name].tobytes()
    ends = np.cumsum(arrays[f"{name}.lengths"])
    return [
        body[e - n : e].decode("utf-8", "surrogatepass") for e, n in zip(ends, arrays[f"{name}.lengths"], strict=True)
    ]
