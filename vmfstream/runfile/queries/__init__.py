"""`Reader`: query a run file; each query opens the file for a moment and returns a frame of numpy columns."""

from __future__ import annotations

from pathlib import Path

from vmfstream.records import SKETCH_SIZE
from vmfstream.runfile.queries.base import Bools, Ints, Texts, Times, kept
from vmfstream.runfile.queries.decisions import DecisionFrame, DecisionQueries
from vmfstream.runfile.queries.documents import (
    DocumentChoice,
    DocumentCountFrame,
    DocumentFrame,
    DocumentQueries,
    ListedFrame,
    NovelFrame,
    OutboxFrame,
    RejectedFrame,
    Rejections,
    RepresentativeFrame,
)
from vmfstream.runfile.queries.progress import (
    EpochFrame,
    MessageCounts,
    Newest,
    OpenSliceCounts,
    ProgressQueries,
    RunStatus,
)
from vmfstream.runfile.queries.snapshots import SnapshotFrame, SnapshotQueries, SnapshotTopicFrame, SnapshotWordFrame
from vmfstream.runfile.queries.stories import (
    StoryDocumentFrame,
    StoryEventFrame,
    StoryFrame,
    StoryQueries,
    StorySliceFrame,
    StoryWordFrame,
    trend_word,
)
from vmfstream.runfile.queries.topics import (
    OLD_READINGS,
    AngleFrame,
    ClosedSlice,
    EventFrame,
    NameFrame,
    PhraseFrame,
    QualityFrame,
    Reading,
    SketchFrame,
    SliceFrame,
    TemperatureFrame,
    TopicFrame,
    TopicQueries,
    UncertaintyFrame,
    WordCodes,
    WordFrame,
    label_of,
)
from vmfstream.runfile.upgrade import upgrade
from vmfstream.text.topic_names import alike, shortened

__all__ = [
    "OLD_READINGS",
    "SKETCH_SIZE",
    "AngleFrame",
    "Bools",
    "ClosedSlice",
    "DecisionFrame",
    "DocumentChoice",
    "DocumentCountFrame",
    "DocumentFrame",
    "EpochFrame",
    "EventFrame",
    "Ints",
    "ListedFrame",
    "MessageCounts",
    "NameFrame",
    "Newest",
    "NovelFrame",
    "OpenSliceCounts",
    "OutboxFrame",
    "PhraseFrame",
    "QualityFrame",
    "Reader",
    "Reading",
    "RejectedFrame",
    "Rejections",
    "RepresentativeFrame",
    "RunStatus",
    "SketchFrame",
    "SliceFrame",
    "SnapshotFrame",
    "SnapshotTopicFrame",
    "SnapshotWordFrame",
    "StoryDocumentFrame",
    "StoryEventFrame",
    "StoryFrame",
    "StorySliceFrame",
    "StoryWordFrame",
    "TemperatureFrame",
    "Texts",
    "Times",
    "TopicFrame",
    "UncertaintyFrame",
    "WordCodes",
    "WordFrame",
    "alike",
    "kept",
    "label_of",
    "shortened",
    "trend_word",
]


class Reader(ProgressQueries, TopicQueries, DecisionQueries, DocumentQueries, SnapshotQueries, StoryQueries):
    """Query a run file, also while another process is writing it.

    A file of an older format is brought up to date first, if nobody writes it.

    Parameters
    ----------
    path : str or Path
        A run file made by ``vmfstream.runfile.writer.RunFile``.
    timeout : float
        Seconds to wait for a file that another process holds; a commit takes about 0.1 s.

    Raises
    ------
    InputError
        If there is no file, or it is no run file; raised by every method if the file disappears later.
    FormatVersion
        If the file has a newer format than this program reads, or an older one and cannot be written.
    StoreLocked
        If the writer does not release the file in time (any method), or a file of an older format is being written.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        super().__init__(path, timeout)
        upgrade(self.path, timeout)
