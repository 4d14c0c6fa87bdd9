"""The only reading of the log: a question opens the file for a moment, the answer is a frame of numpy columns."""

from __future__ import annotations

from pathlib import Path

from vmfstream.runfile.queries.asking import Bools, Floats, Ints, Texts, Times, kept
from vmfstream.runfile.queries.closed import Closed, ClosedSlice
from vmfstream.runfile.queries.documents import Documents, NovelFrame, RejectedFrame, Rejections, RepresentativeFrame
from vmfstream.runfile.queries.progress import EpochFrame, Newest, OpenSlice, Progress, Pulse
from vmfstream.runfile.queries.snapshots import SnapshotFrame, Snapshots, SnapshotTopicFrame, SnapshotWordFrame
from vmfstream.runfile.queries.topics import (
    AngleFrame,
    EventFrame,
    Reading,
    SketchFrame,
    SliceFrame,
    TemperatureFrame,
    TopicFrame,
    Topics,
    UncertaintyFrame,
    WordCodes,
    WordFrame,
)
from vmfstream.runfile.upgrade import upgrade
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
    "RepresentativeFrame",
    "SketchFrame",
    "SliceFrame",
    "SnapshotFrame",
    "SnapshotTopicFrame",
    "SnapshotWordFrame",
    "TemperatureFrame",
    "Texts",
    "Times",
    "TopicFrame",
    "UncertaintyFrame",
    "WordCodes",
    "WordFrame",
    "kept",
]


class Reader(Progress, Topics, Documents, Snapshots, Closed):
    """Answer questions about a run file while another process may be writing it.

    A file of an older format is brought up to date first, if nobody writes it.

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
        If the file has a newer format than this program reads, or an older one and cannot be written.
    StoreLocked
        If the writer does not release the file in time (any method), or a file of an older format is being written.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        super().__init__(path, timeout)
        upgrade(self.path, timeout)
