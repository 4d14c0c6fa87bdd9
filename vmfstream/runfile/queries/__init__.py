"""The only reading of the log: a question opens the file for a moment, the answer is a frame of numpy columns."""

from __future__ import annotations

from pathlib import Path

from vmfstream.runfile.queries.asking import Bools, Floats, Ints, Texts, Times, kept
from vmfstream.runfile.queries.closed import Closed, ClosedSlice
from vmfstream.runfile.queries.documents import Documents, NovelFrame, RejectedFrame, Rejections, TypicalFrame
from vmfstream.runfile.queries.progress import EpochFrame, Newest, OpenSlice, Progress, Pulse
from vmfstream.runfile.queries.snapshots import SnapshotFrame, Snapshots, SnapshotTopicFrame, SnapshotWordFrame
from vmfstream.runfile.queries.topics import (
    AngleFrame,
    EventFrame,
    Reading,
    SketchFrame,
    SliceFrame,
    TemperFrame,
    TopicFrame,
    Topics,
    UncertaintyFrame,
    WordCodes,
    WordFrame,
)
from vmfstream.text.sketch import SIZE as SKETCH_SIZE

__all__ = [
    "SKETCH_SIZE",
    "AngleFrame",
    "Bools",
    "ClosedSlice",
    "EpochFrame",
    "EventFrame",
    "Floats",
    "Ints",
    "Newest",
    "NovelFrame",
    "OpenSlice",
    "Pulse",
    "Reader",
    "Reading",
    "RejectedFrame",
    "Rejections",
    "SketchFrame",
    "SliceFrame",
    "SnapshotFrame",
    "SnapshotTopicFrame",
    "SnapshotWordFrame",
    "TemperFrame",
    "Texts",
    "Times",
    "TopicFrame",
    "TypicalFrame",
    "UncertaintyFrame",
    "WordCodes",
    "WordFrame",
    "kept",
]


class Reader(Progress, Topics, Documents, Snapshots, Closed):
    """Answers questions about a log while another process may be writing it.

    Parameters
    ----------
    path : str or Path
        A log made by ``vmfstream.runfile.writer.Log``.
    timeout : float
        Seconds to wait for a file that is being written; a commit takes about a tenth of one.

    Raises
    ------
    InputError
        If there is no file, or it is no log. Every method raises it too if the file goes away later.
    FormatVersion
        If the log has a format that this program does not read.
    StoreLocked
        If the writer does not release the file in time; any method.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        super().__init__(path, timeout)
        self.newest()
