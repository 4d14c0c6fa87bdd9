"""Turn the records that a tracker keeps into rows: topics of slices, events, and novel documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.decisions import told
from vmfstream.errors import InputError
from vmfstream.estimators.parameters import Whole
from vmfstream.frozen.parts import PastTopics, missing_slice
from vmfstream.records import Commit, Decision, DocumentRows, SliceReport, StoryRows, TopicRows
from vmfstream.runfile.queries import trend_word
from vmfstream.text.topic_names import JOINT

_EVENT_FIELDS = ("kind", "topic", "other", "value", "evidence", "chance", "decision")
_UNCERTAINTY_FIELDS = ("share_low", "share_high", "radius")
_QUALITY_FIELDS = ("npmi", "c_v", "diversity", "isotropy")


def closed_slices(commits: Sequence[Commit]) -> list[SliceReport]:
    """Return the reports of closed slices, oldest first."""
    return [report for commit in commits for report in commit.closed]


def rows_of_topics(
    commits: Sequence[Commit], names: Mapping[int, str], *, smoothed: bool, words: int
) -> list[dict[str, Any]]:
    """Return one row per topic and closed slice of ``commits``, filtered or ``smoothed``.

    ``names`` are those that people gave to topics. Each row has at most ``words`` words.
    """
    _check_many(words=words)
    reports = closed_slices(commits)
    labels = {report.slice.index: report.slice.label for report in reports}
    automatic = _automatic(commits)
    if smoothed:
        found = {view.slice: view.topics for commit in commits for view in commit.smoothed}
    else:
        found = {report.slice.index: report.topics for report in reports if report.topics is not None}
    rows = [
        row | automatic.get((index, row["topic"]), {"name": "", "title": ""})
        for index in sorted(found)
        for row in _rows_of_slice(labels[index], found[index], words)
    ]
    return [row | ({"name": names[row["topic"]]} if row["topic"] in names else {}) for row in rows]


def _automatic(commits: Sequence[Commit]) -> dict[tuple[int, int], dict[str, str]]:
    """Return name and title by slice and topic; names are those of phrases and words, or of the namer."""
    found = {
        (report.slice.index, topic): {"name": JOINT.join(parts), "title": title}
        for report in closed_slices(commits)
        if (named := report.names) is not None
        for topic, parts, title in zip(named.topic.tolist(), named.name, named.title, strict=True)
    }
    for commit in commits:
        for index, topic, name in commit.given_names:
            found[index, topic] |= {"name": name}
    return found


def newest_names(commits: Sequence[Commit], at: str | None = None) -> dict[int, str]:
    """Return the newest name of each topic, or the newest at the end of the closed slice labelled ``at``."""
    last = next((one.slice.index for one in closed_slices(commits) if one.slice.label == at), None)
    found = sorted(_automatic(commits).items())
    return {topic: own["name"] for (index, topic), own in found if own["name"] and (last is None or index <= last)}


def parts_of_topics(commits: Sequence[Commit]) -> dict[int, int]:
    """Return for topics the one named beforehand that they are parts of, as told last."""
    rows = [report.topics for report in closed_slices(commits) if report.topics is not None]
    told = [(one.topic, one.part_of) for one in rows if one.part_of is not None]
    found = {topic: part for ids, of in told for topic, part in zip(ids.tolist(), of.tolist(), strict=True)}
    return {topic: part for topic, part in sorted(found.items()) if part >= 0}


def rows_of_events(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """Return one row per event, in order."""
    return [
        {"slice": report.slice.label} | {name: getattr(event, name) for name in _EVENT_FIELDS}
        for report in closed_slices(commits)
        for event in report.events
    ]


def rows_of_decisions(
    decisions: Sequence[Decision], waiting: Sequence[Decision], label: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Return one row for each of the ``decisions`` and then of those ``waiting``; ``label`` names a slice."""
    return [
        {
            "number": one.number or None,
            "made": one.made,
            "kind": one.kind,
            "topic": one.topic if one.topic >= 0 else None,
            "other": one.other if one.other >= 0 else None,
            "text": one.text,
            "told": told(one),
            "slice": label(one.slice) if one.number else None,
            "refused": one.refused,
            "undone_by": one.undone_by,
        }
        for one in [*decisions, *waiting]
    ]


def rows_of_novel_documents(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """Return one row per novel document, by slice and rank."""
    return [
        {
            "slice": report.slice.label,
            "id": id,
            "title": title,
            "novelty": float(novelty),
            "topic": int(topic) if topic >= 0 else None,
            "story": int(story) if story >= 0 else None,
        }
        for report in closed_slices(commits)
        if (most := report.novel) is not None
        for id, title, novelty, topic, story in zip(
            most.id, most.title, most.novelty, most.topic, most.stories, strict=True
        )
    ]


def columns_of_documents(commits: Sequence[Commit], *, stories: bool = False) -> dict[str, NDArray[Any]]:
    """Return what documents got on arrival and later, in order, as columns; with ``stories`` later ones too."""
    parts = [(one.epoch.slice.label, one.documents) for one in commits if one.documents is not None]
    whole, real = np.zeros(0, np.int64), np.zeros(0, np.float32)
    nothing = DocumentRows([], whole, whole, real, whole, real, whole, real, whole)
    rows = DocumentRows.joined([nothing, *(part for _, part in parts)])
    smoothed = np.full(len(rows), -1)
    begins: dict[int, int] = {}
    total = 0
    for one in commits:
        begins.setdefault(one.epoch.slice.index, total)
        total += 0 if one.documents is None else len(one.documents)
    for later in (labels for one in commits for labels in one.relabelled):
        first = begins[later.slice] + later.first
        smoothed[first : first + len(later.topic)] = later.topic
    labels = np.array([label for label, _ in parts], np.object_)
    later_story = rows.story.copy()
    for others in (some for one in commits for some in one.in_other_stories):
        at = np.array([begins[index] for index in others.slice.tolist()], np.int64) + others.place
        later_story[at] = others.story
    return {
        "id": np.array(rows.id, np.object_),
        "time": rows.time.view("datetime64[us]"),
        "slice": np.repeat(labels, [len(part) for _, part in parts]),
        "topic": rows.topic,
        "probability": rows.probability,
        "second": rows.second,
        "second_probability": rows.second_probability,
        "story": rows.story,
        "novelty": rows.novelty,
        "smoothed_topic": smoothed,
    } | ({"smoothed_story": later_story} if stories else {})


def past_topics(reports: Sequence[SliceReport], at: str) -> PastTopics:
    """Return the topics of the closed slice of ``reports`` that is labelled ``at``; InputError if there is none."""
    found = {report.slice.label: (report, report.topics) for report in reports if report.topics is not None}
    if at not in found:
        raise InputError(missing_slice(at, list(found)))
    report, topics = found[at]
    return PastTopics(
        index=report.slice.index,
        label=at,
        ids=topics.topic,
        n=topics.n,
        tightness=float(topics.tightness[0]),
        certainty=topics.certainty,
        temperature=report.temperature,
        words=[dict(words) for words in topics.words],
    )


def rows_of_stories(
    commits: Sequence[Commit], label: Callable[[int], str], words: int, documents: int
) -> list[dict[str, Any]]:
    """Return one row per story of ``commits``, newest first and largest first, as it is known now.

    ``label`` names a slice; each row has at most ``words`` words and ``documents`` representative documents.
    """
    _check_many(words=words, documents=documents)
    newest: dict[int, tuple[StoryRows, int]] = {}
    for commit in commits:
        if commit.stories is not None:
            newest |= {story: (commit.stories, i) for i, story in enumerate(commit.stories.story.tolist())}
    order = sorted(newest, key=lambda s: (-newest[s][0].last_slice[newest[s][1]], -newest[s][0].size[newest[s][1]], s))
    merged = {one.story: one.other for commit in commits for one in commit.story_events if one.kind == "merged"}
    return [_row_of_story(*newest[story], merged.get(story), label, words, documents) for story in order]


def _row_of_story(
    rows: StoryRows, i: int, merged_into: int | None, label: Callable[[int], str], words: int, documents: int
) -> dict[str, Any]:
    return {
        "story": int(rows.story[i]),
        "title": rows.documents[i][0][1],
        "size": int(rows.size[i]),
        "words": list(rows.words[i][:words]),
        "first": label(int(rows.first_slice[i])),
        "last": label(int(rows.last_slice[i])),
        "trend": trend_word(float(rows.trend[i]), bool(rows.ended[i]), -1 if merged_into is None else merged_into),
        "merged_into": merged_into,
        "topic": int(rows.topic[i]) if rows.topic[i] >= 0 else None,
        "documents": [{"id": id, "title": title} for id, title, *_ in rows.documents[i][:documents]],
    }


def _rows_of_slice(label: str, topics: TopicRows, words: int) -> list[dict[str, Any]]:
    return [
        {
            "slice": label,
            "topic": int(topics.topic[i]),
            "documents": float(topics.n[i]),
            "share": float(topics.share[i]),
            "drift_angle": float(topics.drift_angle[i]),
            "turned": float(topics.drift_angle[i]),  # the key of earlier versions
            **{name: _at(getattr(topics, name), i) for name in (*_UNCERTAINTY_FIELDS, *_QUALITY_FIELDS)},
            "words": list(topics.words[i][:words]),
        }
        for i in range(len(topics.topic))
    ]


def _check_many(**given: object) -> None:
    """Raise InputError for the first number of words or documents that is none."""
    least = Whole(0)
    for name, value in given.items():
        if not least.holds(value):
            raise InputError(f"{name}: expected a whole number of at least {least.low}, got {value!r}")


def _at(column: NDArray[np.float64] | None, i: int) -> float:
    return float("nan") if column is None else float(column[i])
