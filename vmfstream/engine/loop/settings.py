"""How a stream is cut, what an epoch gathers, and what an observer is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vmfstream.engine.loop.slices import Slicing
from vmfstream.records import Rejected


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the stream is cut and what is written.

    Attributes
    ----------
    slices : calendar unit or number of documents per slice.
    epoch_documents : most documents of one epoch, which is one transaction.
    batch_documents : documents that are scored under the same belief before they are added to it.
    batch_characters : characters of text after which a batch takes no more documents, which bounds memory.
    linger : seconds after which an epoch that has documents is closed although more could come; None waits.
    max_gap : slices that a document may lie ahead of the open one; beyond, its time is taken for an error.
    remembered_ids : documents after which a repeated id is no longer recognised.
    epoch_words, slice_words, typical_documents : rows per topic in the log.
    novel_documents : most novel documents of a slice in the log.
    sample : most documents of the sample that snapshots are made of; 0 keeps none.
    ahead : bytes of messages after which no more are read and decoded while earlier ones are learnt, and an epoch is
        written while the next one is learnt; 0 does one thing after the other. The log is the same.
    """

    slices: Slicing
    epoch_documents: int = 20_000
    batch_documents: int = 5000
    batch_characters: int = 50_000_000
    linger: float | None = None
    max_gap: int = 1000
    remembered_ids: int = 65_536
    epoch_words: int = 20
    slice_words: int = 60
    typical_documents: int = 5
    novel_documents: int = 20
    sample: int = 0
    ahead: int = 0


@dataclass(slots=True)
class Epoch:
    """What one commit consumes and shows, gathered batch by batch.

    ``over`` tells why it takes no more: ``next_slice`` is set when a document of a later slice ended it, ``end`` when
    the source did, ``stopped`` when the user did, ``quiet`` when no more was waited for.
    """

    documents: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    late: int = 0
    scored: int = 0
    loglik: float = 0.0
    words: int = 0
    unknown: int = 0
    empty: int = 0
    seconds: float = 0.0
    deadline: float | None = None
    started: bool = False
    next_slice: int | None = None
    end: bool = False
    stopped: bool = False
    quiet: bool = False
    over: bool = False

    @property
    def messages(self) -> int:
        """Messages consumed."""
        return self.documents + len(self.rejected)

    @property
    def heldout(self) -> float:
        """Mean log-density per document before learning, NaN if none was scored."""
        return share(self.loglik, self.scored)


@dataclass(frozen=True, slots=True)
class Progress:
    """Told at the start, after every commit and every batch before it.

    ``epoch`` is the last one in the log and ``topics`` how many there are by then, 0 before the first fit. ``heldout``
    and ``seconds`` are of the epoch so far; ``late`` counts since the process began; ``lag`` is how many messages wait
    in the source, None if it cannot say.
    """

    epoch: int
    slice: str
    documents: int
    rejected: int
    heldout: float
    finished: bool
    late: int = 0
    seconds: float = 0.0
    lag: int | None = None
    topics: int = 0


Observer = Callable[[Progress], None]


def share(part: float, whole: int) -> float:
    """Return a part of a whole, NaN if that is nothing."""
    return part / whole if whole else float("nan")
