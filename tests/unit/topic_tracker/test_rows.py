"""Rows of tables that a tracker hands out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.unit.runfile.records import stories
from vmfstream.records import StoryEvent
from vmfstream.topic_tracker.rows import rows_of_stories


def test_a_merged_story_names_the_one_that_goes_on() -> None:
    rows = stories((1, 4), (2, 3))
    other, gone = rows.story.tolist()
    events = [StoryEvent("opened", other, 3, 3), StoryEvent("merged", gone, 3, 4, other, 7.5)]
    commits: Any = [SimpleNamespace(stories=rows, story_events=events)]
    found = {row["story"]: row for row in rows_of_stories(commits, str, words=2, documents=1)}
    assert (found[gone]["trend"], found[gone]["merged_into"]) == ("merged", other)
    assert found[other]["merged_into"] is None
