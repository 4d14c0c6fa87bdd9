"""A realistic log without an engine: an invented newspaper with thirty topics over thirty quarters."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmfstream.log.queries import (
    AngleFrame,
    EpochFrame,
    EventFrame,
    Reading,
    Rejections,
    SketchFrame,
    SliceFrame,
    SnapshotFrame,
    SnapshotTopicFrame,
    SnapshotWordFrame,
    TopicFrame,
    TypicalFrame,
    WordFrame,
)
from vmfstream.text.sketch import SIZE, projection, sketch

# words in the order of their time; those after the bar stay for the whole life
_STORIES = """
mainframe terminal floppy modem dial-up browser homepage portal dotcom napster broadband laptop blog |
  computer software internet ;
strike dockers pickets crane container dredging quay feeder terminal2 logistics robot shore-power wind-farm |
  harbour ships port ;
recession closures layoffs retraining upswing vacancies temps shortage hiring bubble downturn benefits | jobs
  unemployment workers ;
caucus mayor coalition referendum scandal recount runoff landslide debate billboard ballot turnout campaign |
  election vote party ;
smallpox clinic vaccine measles outbreak flu waiting-list nurses surgery sars quarantine masks hygiene |
  hospital patients doctors ;
chalk textbooks truancy uniforms league-tables lottery charter academies exams tutoring calculators lunches |
  school teachers pupils ;
terraces hooligans stadium kick-off relegation striker transfer penalty derby cup final trophy parade |
  football league club ;
wall checkpoint reunification embassy refugees convoy ceasefire blockade airstrike peacekeepers tribunal
  accord | war army border ;
drought reservoir hosepipe flood dyke sandbags insurance sirens evacuation cleanup dam embankment gauge |
  river water rain ;
heroin needles raids syndicate wiretap informer cartel trial jury appeal sentence parole prison | police court
  crime ;
stamp gilder mint devaluation interest-rate changeover euro coins rounding prices vending inflation mortgage |
  money bank prices ;
tram signal bus-lane roadworks ring-road toll congestion bicycle pedestrian zone parking scooter ferry |
  traffic road transport ;
herring quota trawler nets collapse seals salmon farm lice moratorium licences mussels restoration | fish
  fishing catch ;
opera ballet gallery premiere sponsor biennale curator installation video auction forgery restoration museum |
  theatre art audience ;
landfill recycling bottles incinerator dioxin composting methane emissions carbon offset turbines solar
  climate | waste energy environment ;
brewery barley malt pub closing-time smoking-ban craft cider tasting label export festival hops | beer
  restaurant kitchen ;
vinyl cassette guitar grunge rave dj festival download ringtone charts reunion tour tribute | music band
  concert ;
squatters tenants rent eviction renovation loft conversion bubble foreclosure cranes skyline towers penthouse
  | housing building flats ;
satellite shuttle orbit probe mars rover telescope comet launch module cosmonaut tourist eclipse | space moon
  science ;
mad-cow beef ban slaughter cull foot-and-mouth disinfectant compensation organic labels market box cheese |
  farm farmers cattle ;
millennium bug fireworks countdown hangover dome ferris-wheel queue tickets debts auctioned demolition arena |
  celebration city night ;
hijack towers anthrax rubble alert screening scanner liquids threat profiling camera watchlist passports |
  security airport terror ;
asylum camp deportation visa amnesty language course citizenship ceremony headscarf quota integration mosque |
  immigrants refugees passport ;
merger takeover shareholders bonus audit shredding bankruptcy indictment whistleblower settlement bailout
  pension | company shares profit ;
archive bones shipwreck divers amphora excavation carbon-dating hoard medieval wharf timber exhibition replica
  | archaeology museum history ;
genome sheep clone stem-cells embryo patent gene therapy ethics sequencing ancestry database privacy |
  research scientists cells ;
typhoon earthquake rescue tents aid donations reconstruction tsunami warning buoys orphans memorial
  anniversary | disaster victims relief ;
chess deep-blue grandmaster tournament simultaneous clock rating prodigy league school-club cheating online
  blitz | players game champion ;
bishop synod ordination schism pilgrimage cathedral scaffolding organ spire bells choir donation canon |
  church faith priest ;
heat-wave snow blizzard gale ice skating frozen thaw pollen thunder hail record forecast | weather storm
  temperature ;
"""

_TITLES = (
    "{a} and {b}: what the {c} year brought",
    "Why {a} is on everybody's mind",
    "{a} meets {b}",
    "A {c} look at {a}",
    "{b} after {a}",
)
_STARTS = {20: 9, 21: 19, 26: 14, 23: 8}
_ENDS = {7: 21, 20: 20, 27: 24}


@dataclass(frozen=True)
class FakeRows:
    """Frames as the reader would give them."""

    slice_frame: SliceFrame
    topic_frames: dict[Reading, TopicFrame]
    word_frames: dict[Reading, WordFrame]
    sketch_frames: dict[Reading, SketchFrame]
    typical_frame: TypicalFrame
    event_frame: EventFrame
    settings: dict[str, str]
    snapshot_frames: tuple[SnapshotFrame, SnapshotTopicFrame, SnapshotWordFrame] | None = None

    def meta(self) -> dict[str, str]:
        return dict(self.settings)

    def slices(self) -> SliceFrame:
        return self.slice_frame

    def topics(self, reading: Reading) -> TopicFrame:
        return self.topic_frames.get(reading, _no_topics())

    def words(self, reading: Reading, topic: int | None = None, top: int = 60) -> WordFrame:
        frame = self.word_frames.get(reading, _no_words())
        keep = (frame.rank <= top) & ((frame.topic == topic) if topic is not None else True)
        return WordFrame(frame.slice[keep], frame.topic[keep], frame.rank[keep], frame.word[keep], frame.weight[keep])

    def typical(self, topic: int | None = None) -> TypicalFrame:
        f = self.typical_frame
        keep = (f.topic == topic) if topic is not None else np.ones(f.topic.size, np.bool_)
        return TypicalFrame(
            f.slice[keep], f.topic[keep], f.rank[keep], f.id[keep], f.title[keep], f.time[keep], f.score[keep]
        )

    def events(self) -> EventFrame:
        return self.event_frame

    def sketches(self, reading: Reading, topic: int | None = None) -> SketchFrame:
        f = self.sketch_frames.get(reading, _no_sketches())
        keep = (f.topic == topic) if topic is not None else np.ones(f.topic.size, np.bool_)
        return SketchFrame(f.slice[keep], f.topic[keep], f.numbers[keep])

    def angles(self, reading: Reading, topic: int | None = None) -> AngleFrame:
        f = self.sketch_frames.get(reading, _no_sketches())
        unit = f.numbers / np.linalg.norm(f.numbers, axis=1, keepdims=True)
        parts = []
        for s in np.unique(f.slice):
            here = np.flatnonzero(f.slice == s)
            a, b = np.triu_indices(here.size, 1)
            if topic is not None:
                wanted = (f.topic[here[a]] == topic) | (f.topic[here[b]] == topic)
                a, b = a[wanted], b[wanted]
            degrees = np.degrees(np.arccos(np.clip((unit[here] @ unit[here].T)[a, b], -1, 1)))
            parts.append((np.full(a.size, s), f.topic[here[a]], f.topic[here[b]], degrees))
        if not parts:
            whole = np.empty(0, np.int64)
            return AngleFrame(whole, whole, whole, np.empty(0))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return AngleFrame(*columns)

    def epochs(self) -> EpochFrame:
        f = self.slice_frame
        none, zero = np.full(f.slice.size, np.nan), np.zeros(f.slice.size, np.int64)
        return EpochFrame(
            epoch=f.slice + 1,
            slice=f.slice,
            label=f.label,
            n=f.n,
            rejected=zero,
            late=zero,
            empty=zero,
            unknown=none,
            heldout=none,
            seconds=np.full(f.slice.size, 0.2),
            lag=zero - 1,
        )

    def rejections(self) -> Rejections:
        return Rejections(0, {})

    def snapshots(self) -> SnapshotFrame:
        return (self.snapshot_frames or _no_snapshots())[0]

    def snapshot_topics(self, snapshot: int | None = None) -> SnapshotTopicFrame:
        f = (self.snapshot_frames or _no_snapshots())[1]
        keep = (f.snapshot == snapshot) if snapshot is not None else np.ones(f.snapshot.size, np.bool_)
        return SnapshotTopicFrame(**{field.name: getattr(f, field.name)[keep] for field in fields(f)})

    def snapshot_words(self, snapshot: int | None = None, top: int = 60) -> SnapshotWordFrame:
        f = (self.snapshot_frames or _no_snapshots())[2]
        keep = (f.rank <= top) & ((f.snapshot == snapshot) if snapshot is not None else True)
        return SnapshotWordFrame(**{field.name: getattr(f, field.name)[keep] for field in fields(f)})

    def has_hindsight(self) -> bool:
        return "hindsight" in self.topic_frames

    def without_hindsight(self) -> FakeRows:
        return replace(
            self,
            topic_frames={"then": self.topic_frames["then"]},
            word_frames={"then": self.word_frames["then"]},
            sketch_frames={"then": self.sketch_frames["then"]},
        )


def gazette(
    slices: int = 30,
    topics: int = 30,
    seed: int = 7,
    stored: int = 60,
    settling: int = 2,
    empty: tuple[int, ...] = (),
    words: list[list[str]] | None = None,
) -> FakeRows:
    """Return the log of an invented newspaper.

    Parameters
    ----------
    slices, topics, seed, stored
        Size; ``stored`` words per topic and slice.
    settling : int
        So many first slices are still settling.
    empty : slice numbers without documents
    words : word lists to use instead of the built-in stories
    """
    rng = np.random.default_rng([seed, slices, topics])
    stories = (
        words
        if words is not None
        else [story.replace("|", " ").split() for story in _STORIES.split(";") if story.strip()]
    )
    labels = (
        [f"{1996 + s // 4} Q{s % 4 + 1}" for s in range(slices)] if slices != 13 else [str(1987 + s) for s in range(13)]
    )
    time = np.arange(slices)
    base = np.exp(rng.normal(0.0, 0.5, topics)) * 22
    size = np.zeros((slices, topics))
    for t in range(topics):
        curve = np.full(slices, 1.0)
        for _ in range(rng.integers(1, 4)):
            centre, width, height = rng.uniform(-2, slices + 2), rng.uniform(0.8, 5.0), rng.uniform(0.4, 2.6)
            curve += height * np.exp(-0.5 * ((time - centre) / width) ** 2)
        size[:, t] = base[t] * curve * np.exp(0.12 * rng.normal(size=slices))
    for t, start in _STARTS.items():
        if t < topics and slices >= 24:
            size[:start, t] = np.nan
    for t, end in _ENDS.items():
        if t < topics and slices >= 24:
            size[end + 1 :, t] = np.nan
    counts = np.round(size)
    counts[list(empty)] = np.where(np.isnan(counts[list(empty)]), np.nan, 0.0)
    n = np.nansum(counts, axis=1).astype(np.int64)

    tracks = [_track(stories[t % len(stories)], slices, stored, rng) for t in range(topics)]
    readings: dict[Reading, float] = {"then": 0.16, "hindsight": 0.0}
    topic_frames: dict[Reading, TopicFrame] = {}
    word_frames: dict[Reading, WordFrame] = {}
    sketch_frames: dict[Reading, SketchFrame] = {}
    alive = ~np.isnan(counts)
    s_all, t_all = np.nonzero(alive)
    for reading, noise in readings.items():
        rows: list[tuple[int, int, int, str, float]] = []
        speed = np.full(counts.shape, np.nan)
        sketches = np.zeros((*counts.shape, SIZE))
        for t in range(topics):
            vocabulary, weight = tracks[t]
            seen = weight if reading == "hindsight" else _lagged(weight, noise, rng)
            seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
            cosines = np.clip((seen[1:] * seen[:-1]).sum(axis=1), -1, 1)
            both = alive[1:, t] & alive[:-1, t]
            speed[1:, t] = np.where(both, np.degrees(np.arccos(cosines)), np.nan)
            project = projection(w.encode("utf-8", "replace") for w in vocabulary)
            sketches[:, t] = sketch(project, seen.T.astype(np.float32))
            for s in np.flatnonzero(alive[:, t]):
                order = np.argsort(-seen[s], kind="stable")[:stored]
                rows += [
                    (int(s), t, r + 1, vocabulary[w], float(seen[s, w]))
                    for r, w in enumerate(order)
                    if seen[s, w] > 1e-3
                ]
        certainty = np.clip(
            0.55 + 0.12 * np.log10(1 + np.nan_to_num(counts)) + (0.08 if reading == "hindsight" else 0.0), 0, 0.99
        )
        share = counts / np.maximum(n, 1)[:, None]
        topic_frames[reading] = TopicFrame(
            slice=s_all,
            topic=t_all,
            n=counts[alive],
            share=share[alive],
            kappa=np.full(s_all.size, 900.0),
            gamma=np.full(s_all.size, 5000.0),
            tightness=np.full(s_all.size, 0.4),
            certainty=certainty[alive],
            speed=speed[alive],
            speed_error=0.2 * speed[alive],
        )
        sketch_frames[reading] = SketchFrame(slice=s_all, topic=t_all, numbers=sketches[alive])
        columns = list(zip(*rows, strict=True)) if rows else [(), (), (), (), ()]
        word_frames[reading] = WordFrame(
            slice=np.array(columns[0], np.int64),
            topic=np.array(columns[1], np.int64),
            rank=np.array(columns[2], np.int64),
            word=_texts(columns[3]),
            weight=np.array(columns[4], np.float64),
        )

    typical = _typical(tracks, alive & (n > 0)[:, None], labels, rng)
    events = [(0, "started", t, -1, np.nan) for t in range(topics) if alive[0, t]]
    events += [(s, "born", t, -1, float(counts[s, t])) for t, s in _STARTS.items() if t < topics and slices >= 24]
    events += [(s + 1, "merged", t, 2, 41.0) for t, s in _ENDS.items() if t < topics and slices >= 24]
    events += [
        (int(s), "drift", int(t), -1, 30.0)
        for s, t in zip(rng.integers(3, max(slices, 4), 5), rng.integers(0, topics, 5), strict=True)
        if s < slices
    ]
    events.sort(key=lambda e: (e[0], e[1], e[2]))
    begins = np.array(
        [np.datetime64(f"{1996 + s // 4}-{3 * (s % 4) + 1:02d}-01", "us") for s in range(slices)], "datetime64[us]"
    )
    return FakeRows(
        slice_frame=SliceFrame(
            slice=time.astype(np.int64),
            label=_texts(labels),
            begins=begins,
            ends=begins,
            n=n,
            predicted=np.zeros(slices),
            settling=time < settling,
        ),
        topic_frames=topic_frames,
        word_frames=word_frames,
        sketch_frames=sketch_frames,
        typical_frame=typical,
        event_frame=EventFrame(
            slice=np.array([e[0] for e in events], np.int64),
            epoch=np.array([e[0] for e in events], np.int64),
            kind=_texts([e[1] for e in events]),
            topic=np.array([e[2] for e in events], np.int64),
            other=np.array([e[3] for e in events], np.int64),
            value=np.array([e[4] for e in events], np.float64),
            evidence=np.full(len(events), np.nan),
            chance=np.full(len(events), np.nan),
        ),
        settings={
            "title": "Harbour Gazette",
            "source": "invented",
            "topics": str(topics),
            "seed": str(seed),
            "version": "0.1.0",
            "licence": "invented headlines, free to use",
            "slices": "quarter",
        },
    )


def write_log(path: Path, rows: FakeRows) -> Path:
    """Write the rows into a log file with the project's own writer, one slice per update."""
    from vmfstream.log.writer import Log
    from vmfstream.records import Commit, EpochReport, Event, Slice, SliceReport, SmoothedSlice, TopicRows, Typical

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
            speed=t.speed[here],
            speed_error=t.speed_error[here],
            words=words,
            angles=_square(rows.angles(reading), s, t.topic[here]),
            sketches=rows.sketches(reading).numbers[here].astype(np.int8),
        )

    log = Log(path)
    log.settings(rows.meta())
    frame, events, typical = rows.slices(), rows.events(), rows.typical()
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
            settling=bool(frame.settling[k]),
            dimension=500,
            topics=topics("then", s),
            typical=Typical(
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
        if last and rows.has_hindsight():
            smoothed = [
                SmoothedSlice(int(i), got) for i in frame.slice if (got := topics("hindsight", int(i))) is not None
            ]
        log.commit(
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
    log.close()
    return path


def _track(
    story: list[str], slices: int, stored: int, rng: np.random.Generator
) -> tuple[list[str], NDArray[np.float64]]:
    """Return words and their weights over time: a procession, three stayers, and a tail of rare companions."""
    passing, staying = story[:-3], story[-3:]
    tail = [f"{w}{suffix}" for w in passing for suffix in ("s", "ing", "er")][: max(0, stored + 6 - len(story))]
    time = np.arange(slices)
    columns = []
    for k, _ in enumerate(passing):
        centre = (k + 0.5) / len(passing) * slices + rng.normal(0, 0.8)
        width = slices / len(passing) * rng.uniform(1.0, 2.6) + 0.3
        columns.append(rng.uniform(0.25, 0.6) * np.exp(-0.5 * ((time - centre) / width) ** 2))
    columns += [
        rng.uniform(0.18, 0.42) * (1 + 0.3 * np.sin(time / slices * rng.uniform(1, 6) + rng.uniform(0, 6)))
        for _ in staying
    ]
    columns += [
        rng.uniform(0.01, 0.06) * (1 + 0.4 * np.sin(time / max(slices, 1) * 5 + rng.uniform(0, 6))) for _ in tail
    ]
    return [*passing, *staying, *tail], np.column_stack(columns)


def _lagged(weight: NDArray[np.float64], noise: float, rng: np.random.Generator) -> NDArray[np.float64]:
    out = np.empty_like(weight)
    state = weight[0]
    for s in range(weight.shape[0]):
        state = 0.45 * state + 0.55 * weight[s]
        out[s] = state * np.exp(noise * rng.normal(size=state.shape))
    return out


def _typical(
    tracks: list[tuple[list[str], NDArray[np.float64]]],
    there: NDArray[np.bool_],
    labels: list[str],
    rng: np.random.Generator,
) -> TypicalFrame:
    rows = []
    moods = ("quiet", "difficult", "surprising", "long")
    for s, t in zip(*np.nonzero(there), strict=True):
        vocabulary, weight = tracks[t]
        best = [vocabulary[w] for w in np.argsort(-weight[s], kind="stable")[:6]]
        for r in range(5):
            a, b = best[r % len(best)], best[(r + 2) % len(best)]
            title = _TITLES[r].format(a=a, b=b, c=moods[int(rng.integers(4))])
            rows.append(
                (
                    int(s),
                    int(t),
                    r + 1,
                    f"{labels[s]}/{t}/{r}",
                    title[0].upper() + title[1:],
                    0.9 - 0.09 * r - 0.1 * rng.random(),
                )
            )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    stamps = [
        np.datetime64("1996-01-15", "us") + np.timedelta64(91 * int(s) + 3 * int(r), "D")
        for s, r in zip(columns[0], columns[2], strict=True)
    ]
    return TypicalFrame(
        slice=np.array(columns[0], np.int64),
        topic=np.array(columns[1], np.int64),
        rank=np.array(columns[2], np.int64),
        id=_texts(columns[3]),
        title=_texts(columns[4]),
        time=np.array(stamps, "datetime64[us]"),
        score=np.array(columns[5], np.float64),
    )


def _texts(values: list[str] | tuple[str, ...]) -> NDArray[np.object_]:
    out = np.empty(len(values), dtype=np.object_)
    out[:] = values
    return out


def _no_topics() -> TopicFrame:
    none, whole = np.empty(0), np.empty(0, np.int64)
    return TopicFrame(whole, whole, none, none, none, none, none, none, none, none)


def _square(angles: AngleFrame, s: int, topics: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.zeros((topics.size, topics.size))
    here = angles.slice == s
    a, b = np.searchsorted(topics, angles.topic[here]), np.searchsorted(topics, angles.other[here])
    out[a, b] = out[b, a] = angles.degrees[here]
    return out


def _no_sketches() -> SketchFrame:
    whole = np.empty(0, np.int64)
    return SketchFrame(whole, whole, np.empty((0, SIZE)))


def _no_snapshots() -> tuple[SnapshotFrame, SnapshotTopicFrame, SnapshotWordFrame]:
    none, whole, texts = np.empty(0), np.empty(0, np.int64), np.empty(0, np.object_)
    return (
        SnapshotFrame(whole, texts, whole, np.empty(0, "datetime64[us]"), whole, none, none, none),
        SnapshotTopicFrame(whole, whole, whole, whole, whole, none, none, none, none),
        SnapshotWordFrame(whole, whole, whole, texts, none),
    )


def _no_words() -> WordFrame:
    whole = np.empty(0, np.int64)
    return WordFrame(whole, whole, whole, np.empty(0, np.object_), np.empty(0))
