"""Labels have the names that people gave to topics."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tiers import first_of
from tests.unit.frozen.frozen_runs import followed, texts, tracker
from tests.unit.runfile.records import commit, documents, epoch_report, topic_rows
from vmfstream import FrozenModel
from vmfstream.cli.label_messages import LabelMessages
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.connectors.kafka.recent import RecentRecords
from vmfstream.decisions import decision
from vmfstream.engine.observers.latency import Latency
from vmfstream.runfile.decide import decide
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.queries.documents import OutboxFrame
from vmfstream.runfile.writer import RunFile


def given(names: Any, topics: Any) -> set[tuple[int, str]]:
    return {(int(topic), name) for topic, name in zip(topics, names, strict=True) if topic == 1}


def test_a_tracker_labels_with_names_that_were_given() -> None:
    one = tracker()
    assert "Brexit" not in one.label(texts(30))["name"]  # a model without the name is kept
    one.name(1, "Brexit")
    found = one.label(texts(30))
    assert given(found["name"], found["topic"]) == {(1, "Brexit")}
    assert {row["topic"]: row["name"] for row in one.freeze(at="2002").topics}[1] == "Brexit"


@pytest.mark.thorough
@pytest.mark.parametrize("at", first_of([None, "2002"]))
def test_a_frozen_run_has_names_that_were_given(tmp_path: Path, at: str | None) -> None:
    path = followed(tmp_path / "run.duckdb")
    before = FrozenModel.load(path, at=at).label(texts(30))
    decide(path, [decision("name", 1, text="Brexit")])
    found = FrozenModel.load(path, at=at).label(texts(30))
    assert given(found["name"], found["topic"]) == {(1, "Brexit")}
    assert before["name"][found["topic"] != 1].tolist() == found["name"][found["topic"] != 1].tolist()


def test_messages_have_names_that_were_given() -> None:
    columns: dict[str, list[Any]] = {"epoch": [3] * 3, "slice": [8] * 3, "part": ["t:0"] * 3, "offset": [0, 1, 2]}
    columns |= {"topic": [1, 2, 3], "probability": [0.9, 0.8, 0.7], "story": [4, -1, 5], "novelty": [0.1, 0.2, 0.3]}
    columns |= {"words": ["ship crane", "wheat barley", "comet moon"]}
    rows = OutboxFrame(**{name: np.array(column) for name, column in columns.items()})
    known = {7: {1: "ships", 3: "moon, comet"}}  # by the end of the slice before
    answers = {"outbox": lambda after, upto: rows, "topic_names": lambda: {1: "Brexit"}}
    reader: Any = SimpleNamespace(**answers, newest_names=known.__getitem__, at_once=nullcontext)
    recent = RecentRecords()
    recent.add("t:0", [SimpleNamespace(offset=n, key=None, value=b"v", headers=[], timestamp=0) for n in (0, 1, 2)])
    source = TopicAddress(("127.0.0.1:1",), ("t",))
    messages = LabelMessages(source, ClientOptions(), "labels", "headers", Latency(), recent)
    ((epoch, made),) = messages(reader, 2, 3)
    assert epoch == 3
    assert [dict(one.headers)["vmfstream.name"] for one in made] == [b"Brexit", b"wheat barley", b"moon, comet"]
    topics = replace(topic_rows([3, 7]), words=[[("sun", 2.0), ("star", 1.0)], [("oil", 1.0), ("gas", 0.5)]])
    report = epoch_report(4, topics)
    report = replace(report, slice=replace(report.slice, index=8))
    labels = replace(documents("a", "b", "c"), topic=np.array([3, 1, 7]), part=["t:0"] * 3, offset=np.arange(3, 6))
    next_one = replace(commit(4, small=True, labels=labels), epoch=report)
    recent.add("t:0", [SimpleNamespace(offset=n, key=None, value=b"v", headers=[], timestamp=0) for n in (3, 4, 5)])
    ahead = messages.ahead([next_one])
    assert ahead is not None
    assert [dict(one.headers)["vmfstream.name"] for one in ahead] == [b"moon, comet", b"Brexit", b"oil gas"]
    assert messages.ahead([replace(next_one, labels=None)]) is None
    of_next_slice = replace(report, slice=replace(report.slice, index=9))
    assert messages.ahead([next_one, replace(next_one, epoch=of_next_slice)]) is None  # its names are not read yet
    assert messages.ahead([replace(next_one, given_names=[(7, 3, "night sky")])]) is None
    assert messages.ahead([replace(next_one, epoch=replace(report, epoch=5))]) is None  # nor is the new name
    list(messages(reader, 4, 5))
    assert messages.ahead([next_one]) is not None


@pytest.mark.parametrize("at", [None, "2002"])
def test_a_topic_has_one_name_everywhere(tmp_path: Path, at: str | None) -> None:
    one = tracker()
    rows = [row for row in one.topics() if at is None or row["slice"] <= at]
    shown = {row["topic"]: row["name"] for row in rows}
    assert any(", " in name for name in shown.values())
    one.save(tmp_path / "run.duckdb")
    for model in (one.freeze(at=at), FrozenModel.load(tmp_path / "run.duckdb", at=at)):
        assert {row["topic"]: row["name"] for row in model.topics}.items() <= shown.items()
    found = one.label(texts(30), at=at)
    told = dict(zip(found["topic"].tolist(), found["name"].tolist(), strict=True))
    assert len(told) > 1
    assert {topic: name for topic, name in told.items() if topic >= 0}.items() <= shown.items()


def test_names_of_a_namer_are_in_labels(tmp_path: Path) -> None:
    path = followed(tmp_path / "run.duckdb")
    newest = max(Reader(path).names().slice.tolist())
    RunFile(path).name_topics([(newest, 1, "By the namer")])
    found = FrozenModel.load(path).label(texts(30))
    assert given(found["name"], found["topic"]) == {(1, "By the namer")}
