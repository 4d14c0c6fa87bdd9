"""Topics that people name beforehand: read, told, and followed from the first fit on."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.tiers import first_of
from tests.unit.engine.documents import SUBJECTS, OneByOne, document
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop import seeding
from vmfstream.engine.run import RunSettings, agree, evaluate, follow
from vmfstream.errors import InputError
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.seeds import Seed, read_seeds, seeds_as_text, seeds_from_text, seeds_of

GIVEN = {"Space": ["comet", "ORBIT"], "Farms": ["wheat", "barley", "unheard"]}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "topics.toml"
    path.write_text(text, encoding="utf-8")
    return path


def texts(first: int = 0) -> list[str]:
    return [document(i, 0)["text"] for i in range(first, first + 60)]


def handed(source: OneByOne, most: int) -> bool:
    return source.handed >= most


def learnt(**settings: Any) -> TopicTracker:
    given: dict[str, Any] = {"topics": 4, "topics_from": GIVEN, "documents": True}
    tracker = TopicTracker(**given | settings)
    for year in range(2001, 2006):
        tracker.learn(texts(), year)
    return tracker


def test_seeds_are_tables_of_names_with_words_or_documents(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[[topic]]\nname = " Oil\\n& gas "\nwords = ["crude", "opec"]\n\n'
        '[[topic]]\nname = "Ships"\nwords = ["port"]\ndocuments = ["A ship left."]\n',
    )
    seeds = read_seeds(path)
    assert seeds == (Seed("Oil & gas", ("crude", "opec")), Seed("Ships", ("port",), ("A ship left.",)))
    assert seeds[1].texts == ["port", "A ship left."]
    assert seeds_from_text(seeds_as_text(seeds)) == seeds == seeds_of(path) == seeds_of(seeds)
    assert seeds_of({"Oil & gas": ["crude", "opec"]}) == seeds[:1]
    assert seeds_as_text(()) == ""
    assert seeds_from_text("") == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[topic", "expected a table"),
        ("", "found nothing"),
        ("[topic]\nname = 'x'", "found topic"),
        ("[[topics]]\nname = 'x'", "found topics"),
        ("topic = []", "at least one topic"),
        ("topic = [3]", "topic 1: expected a table.*found int"),
        ("[[topic]]\nwords = ['a']", "topic 1: expected a name.*found None"),
        ("[[topic]]\nname = ' '\nwords = ['a']", "expected a name"),
        (f"[[topic]]\nname = '{'x' * 101}'\nwords = ['a']", "expected a name of 1 to 100"),
        ("[[topic]]\nname = 'x'", "'x'.*expected words or documents, found neither"),
        ("[[topic]]\nname = 'x'\nwords = 'oil gas'", "words: expected a list of texts, found 'oil gas'"),
        ("[[topic]]\nname = 'x'\nwords = [3]", "words: expected a list of texts"),
        ("[[topic]]\nname = 'x'\nword = ['a']", "expected documents, name, words, found 'word'"),
        ("[[topic]]\nname = 'x'\nwords = ['a']\n" * 2, "the name 'x' is there twice"),
    ],
)
def test_what_is_no_seed_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=told) as error:
        read_seeds(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("given", [5, object()])
def test_what_are_no_topics_is_told(given: Any) -> None:
    expected = f"topics_from: expected a file, a mapping of names to words, .* got {type(given).__name__}"
    with pytest.raises(InputError, match=expected):
        TopicTracker(topics_from=given)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the topics from .*none\.toml: No such file"):
        read_seeds(tmp_path / "none.toml")


def test_named_topics_begin_at_their_words_and_the_rest_is_found(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tracker = learnt()
    assert "'Farms' begins without words that few documents have so far: 'unheard'" in caplog.text
    assert len(caplog.records) == 1
    assert tracker.names() == {0: "Space", 1: "Farms"}
    found = tracker.documents()["topic"].reshape(-1, 60)[2:]
    subject = np.arange(60) % 3
    assert (found[:, subject == 1] == 0).mean() > 0.95
    assert (found[:, subject == 2] == 1).mean() > 0.95
    assert not np.isin(found[:, subject == 0], (0, 1)).any()
    assert [(row["kind"], row["topic"], row["text"]) for row in tracker.decisions()] == [
        ("name", 0, "Space"),
        ("name", 1, "Farms"),
        ("pin", 0, ""),
        ("pin", 1, ""),
    ]


def test_documents_may_stand_for_words() -> None:
    given = [{"name": "Space", "documents": texts()[1::3][:2]}, {"name": "Ships", "words": ["ship"]}]
    tracker = learnt(topics_from=given, topics=3)
    found = tracker.documents()["topic"].reshape(-1, 60)[2:]
    assert (found[:, np.arange(60) % 3 == 1] == 0).mean() > 0.95
    assert (found[:, np.arange(60) % 3 == 0] == 1).mean() > 0.95


def test_a_name_may_be_changed_and_a_seed_given_up() -> None:
    tracker = learnt()
    tracker.name(0, "Astronomy")
    tracker.unpin(1)
    tracker.end(1)
    tracker.learn(texts(), 2006).learn(texts(), 2007).finish()
    assert tracker.names()[0] == "Astronomy"
    assert 1 not in tracker.topic_ids
    assert [row["undone_by"] for row in tracker.decisions()] == [5, None, None, 6, None, None, None]


def test_words_that_come_later_join_the_seed() -> None:
    """At the first fit one of three words is known; later documents have only the other two."""
    tracker = TopicTracker(topics=3, topics_from={"Space": ["comet", "saturn", "pluto"]}, seed=1)
    tracker.learn(texts(), 2001).learn(texts(), 2002)
    later = [*texts(), *("saturn pluto ring ice", "pluto saturn moonlet ice") * 10]
    for year in range(2003, 2007):
        tracker.learn(later, year)
    assert tracker.topic_ids[tracker.transform(["saturn pluto ring ice"]).argmax()] == 0


def test_a_tracker_with_seeds_goes_on_as_it_was(tmp_path: Path) -> None:
    tracker = learnt()
    tracker.save(tmp_path / "t.duckdb")
    again = TopicTracker.load(tmp_path / "t.duckdb")
    for one in (tracker, again):
        one.learn([*texts(), "wheat unheard barley", "unheard farmer wheat"], 2006).learn(texts(), 2007).finish()
    assert again.names() == tracker.names()
    assert repr(again.topics()) == repr(tracker.topics())
    assert again.decisions() == tracker.decisions()


@pytest.mark.thorough
@pytest.mark.parametrize("stops", first_of([(10, 60, 61, 90), (70,)]))
def test_an_interrupted_run_with_seeds_goes_on_as_it_was(tmp_path: Path, stops: tuple[int, ...]) -> None:
    """Before the first fit, behind it, and twice within one slice."""
    items = [document(i, 2001 + i // 60) | {"id": f"s{i}"} for i in range(300)]
    settings = RunSettings(topics=4, topics_from=seeds_as_text(seeds_of(GIVEN)), epoch_documents=20, threads=1)
    whole, halves = tmp_path / "whole.duckdb", tmp_path / "halves.duckdb"
    follow(MemorySource(items), FieldCodec(), RunFile(whole), settings)
    for most in stops:
        source = OneByOne(items)
        follow(source, FieldCodec(), RunFile(halves), settings, stop=partial(handed, source, most))
    follow(MemorySource(items), FieldCodec(), RunFile(halves), settings)
    for table in ("filtered", "filtered_word", "smoothed", "decision"):
        rows = []
        for path in (whole, halves):
            with duckdb.connect(path, read_only=True) as connection:
                named = "* exclude (key, made, epoch)" if table == "decision" else "*"
                rows.append(connection.execute(f"select {named} from {table} order by all").fetchall())
        assert repr(rows[0]) == repr(rows[1])
        assert rows[0]


def test_a_seed_none_of_whose_words_is_there_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tracker = learnt(topics_from={"Music": ["violin"], "Space": ["comet"]})
    assert "the topic 'Music' is left out: the documents so far have none of its words" in caplog.text
    assert tracker.names() == {0: "Space"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"topics_from": {"Stop": ["the", "of"]}}, "'Stop' has no word that counts"),
        ({"topics_from": {"None": ["!"]}}, "'None' has no word that counts"),
        ({"topics": 1}, "topics: expected at least 2, as many as there are topics to begin with, got 1"),
        ({"topics_from": {"Oil": "crude oil"}}, "expected a list of texts"),
    ],
)
def test_seeds_that_cannot_be_followed_are_told_at_once(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        learnt(**settings)


def test_all_subjects_may_be_given() -> None:
    given = {name: words[:2] for name, words in zip(("Ships", "Space", "Farms"), SUBJECTS, strict=True)}
    tracker = learnt(topics_from=given, topics=3)
    found = tracker.documents()["topic"].reshape(-1, 60)[2:]
    assert (found == np.arange(60) % 3).mean() > 0.98


def test_a_run_that_goes_on_with_other_seeds_is_told_the_first_that_differs() -> None:
    begun, other = (seeds_as_text(seeds_of(given)) for given in (GIVEN, {**GIVEN, "More": ["a" * 200]}))
    with pytest.raises(InputError, match=r"topics_from = '' and cannot be continued with 'More: a{74}'; give what"):
        agree(RunSettings(topics_from=other), RunSettings(topics_from=begun).as_text())


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    """Editors of Windows write one."""
    path = tmp_path / "topics.toml"
    path.write_text('[[topic]]\nname = "Oil"\nwords = ["crude"]\n', encoding="utf-8-sig")
    assert [one.name for one in seeds_of(path)] == ["Oil"]


def test_models_that_know_no_seeds_are_not_compared() -> None:
    settings = RunSettings(topics_from=seeds_as_text(seeds_of(GIVEN)))
    with pytest.raises(InputError, match="leave --topics-from out"):
        evaluate(MemorySource([]), FieldCodec(), settings)


@pytest.mark.thorough
def test_topics_that_were_found_near_a_seed_are_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the documents that a class is about have other words, and a word of the seed now and then."""
    monkeypatch.setattr(seeding, "PART_COSINE", 0.04)
    planes = ["pilot", "runway", "airline", "wings", "jet", "airport"]
    groups = [SUBJECTS[0], planes, SUBJECTS[1], SUBJECTS[2]]
    path = tmp_path / "run.duckdb"
    items = [
        {"id": f"p{year}-{i}", "time": year, "text": document(i, 0, groups)["text"] + " cargo" * (i % 16 == 1)}
        for year in range(2001, 2006)
        for i in range(80)
    ]
    settings = RunSettings(
        topics=4, documents="all", topics_from=seeds_as_text(seeds_of({"Freight": ["cargo", "ship"]}))
    )
    follow(MemorySource(items), FieldCodec(), RunFile(path), settings)
    found = Reader(path).documents(DocumentChoice())
    ships, planes_topic, space = (int(np.bincount(found.smoothed_topic[at::4]).argmax()) for at in range(3))
    assert (ships, len({ships, planes_topic, space})) == (0, 3)
    own = Reader(path).documents(DocumentChoice(topic=0)).id.tolist()
    whole = Reader(path).documents(DocumentChoice(topic=0, parts=True)).id.tolist()
    with duckdb.connect(path, read_only=True) as connection:
        told = connection.execute("select topic, part_of from filtered where slice = 2005 order by topic").fetchall()
    assert dict(told) == {0: 0, planes_topic: 0} | {topic: None for topic, _ in told if topic not in (0, planes_topic)}
    assert set(whole) == {*own, *found.id[found.smoothed_topic == planes_topic].tolist()} > set(own)
    tracker = TopicTracker(4, topics_from={"Freight": ["cargo", "ship"]})
    tracker.learn([one["text"] for one in items], [one["time"] for one in items])
    tracker.finish()
    assert tracker.parts() == {0: 0, planes_topic: 0}
    tracker.save(tmp_path / "tracker.duckdb")
    assert TopicTracker.load(tmp_path / "tracker.duckdb").parts() == {0: 0, planes_topic: 0}
    assert TopicTracker(4).learn(["ship cargo"] * 9, 2001).parts() == {}
