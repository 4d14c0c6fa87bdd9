"""Rows as a log file, written by the project's own writer."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.unit.dashboards.fakes import FakeRows
from vmfstream.records import Commit, EpochReport, Event, Representative, Slice, SliceReport, SmoothedSlice, TopicRows
from vmfstream.runfile.queries import AngleFrame, Reading
from vmfstream.runfile.writer import RunFile


def write_run_file(path: Path, rows: FakeRows) -> Path:
    """Write the rows into a log file with the project's own writer, one slice per update."""

    def topics(reading: Reading, s: int) -> TopicRows | None:
        t, w = rows.topics(reading), rows.words(reading)
        here, words_here = t.slice == s, w.slice == s
        if not here.any():
            return None
        words = [
            [(str(a), float(b)) for a, b in zip(w.word[k], w.weight[k], strict=True)]
            for k in (words_here & (w.topic == topic) for topic in t.topic[here])
        ]
        return TopicRows(
            topic=t.topic[here],
            n=t.n[here],
            share=t.share[here],
            kappa=t.kappa[here],
            gamma=t.gamma[here],
            tightness=t.tightness[here],
            certainty=t.certainty[here],
            drift_angle=t.drift_angle[here],
            drift_angle_error=t.drift_angle_error[here],
            words=words,
            angles=_square(rows.angles(reading), s, t.topic[here]),
            sketches=rows.sketches(reading).numbers[here].astype(np.int8),
        )

    run_file = RunFile(path)
    run_file.settings(rows.meta())
    frame, events, typical = rows.slices(), rows.events(), rows.representative()
    count = frame.slice.size
    for k in range(count):
        s = int(frame.slice[k])
        part = Slice(s, str(frame.label[k]))
        here = typical.slice == s
        report = SliceReport(
            slice=part,
            n=int(frame.n[k]),
            predicted=0.0,
            persistence=0.9,
            warm_up=bool(frame.warm_up[k]),
            dimension=500,
            topics=topics("filtered", s),
            representative=Representative(
                topic=typical.topic[here],
                rank=typical.rank[here],
                id=list(typical.id[here]),
                title=list(typical.title[here]),
                time=[t.astype("datetime64[us]").astype(datetime) for t in typical.time[here]],
                score=typical.score[here],
            ),
            events=[
                Event(
                    str(events.kind[e]),
                    int(events.topic[e]),
                    int(events.other[e]) if events.other[e] >= 0 else None,
                    None if np.isnan(events.value[e]) else float(events.value[e]),
                )
                for e in np.flatnonzero(events.slice == s)
            ],
        )
        last = k == count - 1
        smoothed = []
        if last and rows.has_smoothed():
            smoothed = [
                SmoothedSlice(int(i), got) for i in frame.slice if (got := topics("smoothed", int(i))) is not None
            ]
        run_file.commit(
            Commit(
                epoch=EpochReport(k, part, int(frame.n[k]), 0, 0, 0, 0.0, 0.0, 0.1, report.topics),
                closed=[report],
                rejected=[],
                position={"gazette": k + 1},
                open_state={},
                slice_state={},
                smoothed=smoothed,
                finished=last,
            )
        )
    run_file.close()
    return path


def _square(angles: AngleFrame, s: int, topics: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.zeros((topics.size, topics.size))
    here = angles.slice == s
    a, b = np.searchsorted(topics, angles.topic[here]), np.searchsorted(topics, angles.other[here])
    out[a, b] = out[b, a] = angles.degrees[here]
    return out
