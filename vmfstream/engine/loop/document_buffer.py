"""Documents that are looked at again: those of the open slice and of the window, and the newest of a large slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from vmfstream.online.state import Rows, stack
from vmfstream.protocols import Model
from vmfstream.records import Arrays, Document, Documents, SmoothedDocuments, microseconds
from vmfstream.text.encoders import CountStorage, DocumentEncoder, Encoder

_TITLE = 160
LATER_STEP = 1_000
"""Documents of a large slice whose smoothed topics are told at once, at least, but at the end of a slice."""


class KeptDocument(NamedTuple):
    """What is remembered of a document to name it in reports; ``time`` is in microseconds since 1970."""

    id: str
    title: str
    time: int

    @classmethod
    def of(cls, document: Document) -> KeptDocument:
        """Take it from a document."""
        return cls(document.id, document.title[:_TITLE], microseconds(document.time))


@dataclass(frozen=True, slots=True, eq=False)
class KeptDocuments(Sequence[KeptDocument]):
    """What is remembered of N documents, as columns."""

    ids: list[str]
    titles: list[str]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Documents) -> KeptDocuments:
        """Take it from documents."""
        return cls(list(documents.id), [title[:_TITLE] for title in documents.titles], documents.time)

    @classmethod
    def concat(cls, parts: Sequence[KeptDocuments]) -> KeptDocuments:
        """Return all of ``parts``, one behind the other; none for no parts."""
        ids = [id for part in parts for id in part.ids]
        titles = [title for part in parts for title in part.titles]
        return cls(ids, titles, np.concatenate([np.zeros(0, np.int64), *(part.times for part in parts)]))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> KeptDocument: ...

    @overload
    def __getitem__(self, at: slice) -> KeptDocuments: ...

    def __getitem__(self, at: int | slice) -> KeptDocument | KeptDocuments:
        if isinstance(at, slice):
            return KeptDocuments(self.ids[at], self.titles[at], self.times[at])
        return KeptDocument(self.ids[at], self.titles[at], int(self.times[at]))

    def __add__(self, later: KeptDocuments) -> KeptDocuments:
        return KeptDocuments.concat([self, later])


def times_of(kept: Sequence[KeptDocument]) -> NDArray[np.datetime64]:
    """Return the times of documents, (N,) datetime64[us]."""
    times = kept.times if isinstance(kept, KeptDocuments) else np.array([one.time for one in kept], np.int64)
    return times.view("datetime64[us]")


def kept_documents(ids: Sequence[str], titles: Sequence[str], times: NDArray[np.datetime64]) -> list[KeptDocument]:
    """Rebuild what was stored column by column: ``ids``, ``titles`` and ``times`` of the same length."""
    return [KeptDocument(*row) for row in zip(ids, titles, times.astype(np.int64).tolist(), strict=True)]


@dataclass(slots=True)
class DocumentBuffer:
    """Counts of the open slice and of the closed slices in the model's window, with the names of the former.

    The model keeps the same documents as rows of the vocabulary in force; rows of the next one can only be made from
    counts, since words without a column are not in the rows. Which slices are in the window is the model's to say.
    ``first`` has the places in their slices of the first kept documents, by slice; 0 where they are not there.
    """

    window: list[tuple[int, Any]] = field(default_factory=list)
    open: list[Any] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    _kept: list[KeptDocuments] = field(default_factory=list)

    def __len__(self) -> int:
        """Documents of the open slice."""
        return sum(map(len, self._kept))

    @property
    def kept(self) -> KeptDocuments:
        """What is remembered of the documents of the open slice."""
        if len(self._kept) != 1:
            self._kept = [KeptDocuments.concat(self._kept)]
        return self._kept[0]

    @property
    def documents(self) -> int:
        """Documents of all slices."""
        return len(self) + sum(len(counts) for _, counts in self.window)

    def add(self, kept: KeptDocuments, counts: Any) -> None:
        """Keep documents of the open slice."""
        if kept:
            self.open.append(counts)
            self._kept.append(kept)

    def end_slice(self, index: int, encoder: CountStorage, window: Sequence[int] | None) -> KeptDocuments:
        """Close the open slice, number ``index``, and return its documents.

        Of the closed slices only those in ``window`` are kept, all if it is None. ``encoder`` is the one that counted
        them.
        """
        if window is None or index in window:
            self.window.append((index, encoder.concat(self.open)))
        if window is not None:
            self.window = [one for one in self.window if one[0] in window]
        self.first = {index: self.first.get(index, 0) for index, _ in self.window}
        kept, self.open, self._kept = self.kept, [], []
        return kept

    def remap(self, terms: NDArray[np.int32] | None) -> None:
        """Follow a renumbering of the vocabulary's terms."""
        if terms is not None:
            self.window = [(index, counts.remap(terms)) for index, counts in self.window]
            self.open = [counts.remap(terms) for counts in self.open]

    def encode(self, encoder: DocumentEncoder) -> tuple[list[tuple[int, Rows]], Rows]:
        """Return the rows of the closed slices, by their numbers, and of the open one in the vocabulary in force."""
        parts = [encoder.encode(counts) for counts in self.open]
        return [(index, encoder.encode(counts)) for index, counts in self.window], stack(parts, encoder.dim)

    def open_arrays(self, encoder: CountStorage) -> Arrays:
        """Return what changes with every epoch."""
        arrays = {f"open.{name}": a for name, a in encoder.concat(self.open).arrays().items()}
        arrays["open.times"] = times_of(self.kept)
        arrays["open.first"] = np.array([*self.first.items()], np.int64)
        arrays |= arrays_of_texts("open.ids", self.kept.ids)
        return arrays | arrays_of_texts("open.titles", self.kept.titles)

    def slice_arrays(self) -> Arrays:
        """Return what changes when a slice ends."""
        arrays = {"held.slices": np.array([index for index, _ in self.window], np.int64)}
        for i, (_, counts) in enumerate(self.window):
            arrays |= {f"held.{i}.{name}": a for name, a in counts.arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, open_part: Arrays, slice_part: Arrays, encoder: CountStorage) -> DocumentBuffer:
        """Rebuild from ``open_part`` and ``slice_part``, what `open_arrays` and `slice_arrays` returned.

        ``encoder`` is one like that which counted the documents.
        """
        buffer = cls()
        for i, index in enumerate(slice_part["held.slices"]):
            buffer.window.append((int(index), encoder.counts_from(_named(slice_part, f"held.{i}."))))
        buffer.first = dict(open_part.get("open.first", np.zeros((0, 2), np.int64)).reshape(-1, 2).tolist())
        counts = encoder.counts_from(_named(open_part, "open."))
        buffer.open = [counts] if len(counts) else []
        ids, titles = (texts_of_arrays(open_part, f"open.{name}") for name in ("ids", "titles"))
        buffer._kept = [KeptDocuments(ids, titles, open_part["open.times"].astype(np.int64))]
        return buffer


class LaterTopics:
    """The newest documents of a slice too large for the window, each scored again when enough later ones are known.

    Memory does not grow with the slice. There are none in a slice whose documents all fit into the window.
    """

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._first = 0

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def begin(self, parts: Sequence[Any], first: int) -> None:
        """Take the counts of the documents so far, the first of which has the place ``first``."""
        self._parts, self._first = list(parts), first

    def add(self, counts: Any) -> None:
        """Take the counts of the next documents."""
        self._parts.append(counts)

    def told(self, encoder: Encoder, model: Model, index: int, *, wait: int) -> list[SmoothedDocuments]:
        """Return the topics that the documents have now which ``wait`` others followed; they are then forgotten.

        Parameters
        ----------
        encoder, model : the run's, in the slice of the documents.
        index : number of that slice.
        wait : later documents; with 0 all are told, else some at a time.
        """
        due = len(self) - wait
        if due < (LATER_STEP if wait else 1):
            return []
        whole, n = encoder.concat(self._parts), len(self)
        topics = model.topics_of(encoder.encode(whole.take(slice(0, due))))
        found = SmoothedDocuments(index, self._first, topics)
        self.begin([whole.take(slice(due, n))] if due < n else [], self._first + due)
        return [found]

    def arrays(self, encoder: CountStorage) -> Arrays:
        """Return all that `restore` needs, as flat arrays; nothing without documents."""
        if not self._parts:
            return {}
        arrays = {f"later.{name}": array for name, array in encoder.concat(self._parts).arrays().items()}
        return arrays | {"later.first": np.array([self._first], np.int64)}

    def restore(self, arrays: Arrays, encoder: CountStorage) -> None:
        """Continue from what `arrays` returned; ``encoder`` is one like that which counted the documents."""
        if "later.first" in arrays:
            self.begin([encoder.counts_from(_named(arrays, "later."))], int(arrays["later.first"][0]))


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
