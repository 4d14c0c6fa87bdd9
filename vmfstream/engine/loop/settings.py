"""How a stream is cut, what an epoch gathers, and what observers receive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vmfstream.records import DocumentRows, Rejected
from vmfstream.slicing import Slicing
from vmfstream.stories.settings import StorySettings


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the stream is cut and what is written.

    Attributes
    ----------
    slices : calendar unit or number of documents per slice.
    epoch_documents : most documents of one epoch.
    batch_documents : documents that are scored under the same belief before they are added to it.
    batch_characters : characters of text after which a batch takes no more documents, which bounds memory.
    linger : seconds after which an epoch that has documents is closed although more could come; None waits.
    max_gap : slices that a document may lie ahead of the open one; beyond, its time is only believed if the next
        documents agree, see `vmfstream.engine.loop.admission.Doubt`.
    patience : seconds to wait for documents that tell whether a time is right; 0 where none can come meanwhile.
    empty_slices : slices without documents that are ended one after the other; of a longer silence the rest is skipped
        and has no rows.
    remembered_ids : documents after which a repeated id is no longer recognised.
    epoch_words, slice_words, representative_documents : rows per topic in the run file.
    novel_documents : most novel documents of a slice in the run file.
    sample : most documents of the sample that snapshots are made of; 0 keeps none.
    seed : of the sample.
    stories : those of the stories; None follows none. Streams of vectors without texts have none.
    phrases : whether phrases that were learnt from titles become terms of the vocabulary when a slice ends.
    story_window : documents after which a document gets a second story, 0 for none.
    documents : whether the run file keeps what every document got.
    documents_per_topic : most of them that it keeps of each topic and slice, the newest; 0 keeps all.
    text : characters of the texts that it keeps with them; 0 keeps no texts.
    labels : whether it keeps that, with the place of the document in the source, until it was sent to others.
    ahead : bytes of messages that are read and decoded while earlier ones are learnt, and an epoch is written while the
        next one is learnt; 0 does one thing after the other. The run file is the same.
    """

    slices: Slicing
    epoch_documents: int = 20_000
    batch_documents: int = 5000
    batch_characters: int = 50_000_000
    linger: float | None = None
    max_gap: int = 16
    patience: float = 1.0
    empty_slices: int = 16
    remembered_ids: int = 65_536
    epoch_words: int = 20
    slice_words: int = 60
    representative_documents: int = 5
    novel_documents: int = 20
    sample: int = 0
    seed: int = 0
    ahead: int = 0
    stories: StorySettings | None = None
    phrases: bool = False
    story_window: int = 0
    documents: bool = False
    documents_per_topic: int = 0
    text: int = 0
    labels: bool = False


@dataclass(slots=True)
class Epoch:
    """What one epoch consumes and shows, gathered batch by batch.

    ``over`` tells that it takes no more, because a document of a later slice came (``next_slice``), the source ended
    (``end``), the user stopped the run (``stopped``), or the linger time passed (``quiet``). ``begun`` tells that the
    model began in the middle of a slice. ``rows`` are what the documents got, batch by batch, where that is kept.
    """

    documents: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    late: int = 0
    scored: int = 0
    loglik: float = 0.0
    words: int = 0
    oov: int = 0
    empty: int = 0
    seconds: float = 0.0
    deadline: float | None = None
    batch_deadline: float = 0.0
    begun: bool = False
    next_slice: int | None = None
    end: bool = False
    stopped: bool = False
    quiet: bool = False
    over: bool = False
    rows: list[DocumentRows] = field(default_factory=list)

    @property
    def messages(self) -> int:
        """Messages consumed."""
        return self.documents + len(self.rejected)

    @property
    def prequential(self) -> float:
        """Mean log-density per document before learning, in nats relative to uniform; NaN if none was scored."""
        return self.loglik / self.scored if self.scored else float("nan")

    @property
    def oov_rate(self) -> float:
        """Share of words without a column, NaN if there were no words."""
        return self.oov / self.words if self.words else float("nan")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: reported at the start, after every batch and after every transaction.

    ``epoch`` is the last one in the run file and ``topics`` how many there are by then, 0 before the first fit.
    ``prequential`` (mean log-density per document before learning) and ``seconds`` are of the epoch so far; ``late``
    counts since the process began; ``lag`` is how many messages wait in the source, None if it cannot say.
    """

    epoch: int
    slice: str
    documents: int
    rejected: int
    prequential: float
    finished: bool
    late: int = 0
    seconds: float = 0.0
    lag: int | None = None
    topics: int = 0


Observer = Callable[[Progress], None]
