"""What a run does with decisions: at the end of a slice, once, in order; refused ones are told and the run goes on."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.engine.documents import SUBJECTS, committed, document
from tests.unit.engine.parts import Parts, news, spread
from tests.unit.engine.test_executor import Many
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.decisions import decision
from vmfstream.engine.loop.decision_book import DecisionBook
from vmfstream.engine.loop.engine import Engine
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.records import Commit, Decision
from vmfstream.runfile.memory import MemoryStore
from vmfstream.seeds import seeds_as_text, seeds_of
from vmfstream.text.vocabulary import Vocabulary


def texts(years: range, each: int = 60) -> list[dict[str, Any]]:
    return [document(i, year) | {"id": f"{year} {i}"} for year in years for i in range(each)]


def run(items: list[dict[str, Any]], store: MemoryStore, **settings: Any) -> Engine:
    given: dict[str, Any] = {"topics": 6, "slices": "year", "threads": 1, "stories": False, "sample": 0} | settings
    return follow(
        MemorySource(items), FieldCodec(vector="v" if "dimension" in settings else None), store, RunSettings(**given)
    )


def decided(*wanted: Decision, **settings: Any) -> tuple[MemoryStore, Engine]:
    store = MemoryStore()
    store.decide(*wanted)
    return store, run(texts(range(2001, 2006)), store, **settings)


def words(store: MemoryStore, year: int) -> set[str]:
    (report,) = [one for commit in store.commits for one in commit.closed if one.slice.label == str(year)]
    return set() if report.topics is None else {word for some in report.topics.words for word, _ in some}


def test_decisions_about_topics_wait_until_there_are_topics() -> None:
    store, engine = decided(decision("name", 0, text="none yet"), decision("merge", 0, 1), decision("end", 2))
    done = store.decisions()
    assert [(one.number, one.kind, one.refused) for one in done] == [(1, "name", ""), (2, "merge", ""), (3, "end", "")]
    assert len({one.slice for one in done}) == 1
    events = [event for commit in store.commits for one in commit.closed for event in one.events if event.decision]
    assert [(event.kind, event.topic, event.decision) for event in events] == [("merged", 0, 2), ("ended", 2, 3)]
    assert store.pending() == []
    assert not {0, 2} & set(engine.state.model.ids.tolist())


def test_a_forbidden_word_is_in_no_topic_until_it_is_allowed() -> None:
    store = MemoryStore()
    run(texts(range(2001, 2003)), store)
    (word, *_) = sorted(words(store, 2002))
    again = MemoryStore()
    again.decide(decision("forbid", text=word.upper()))
    run(texts(range(2001, 2003)), again)
    assert word not in words(again, 2002)
    assert len(words(again, 2002)) == len(words(store, 2002)) - 1
    third = MemoryStore()
    third.decide(decision("forbid", text=word), decision("allow", text=word), decision("forbid", text=word))
    run(texts(range(2001, 2003)), third)
    assert [one.undone_by for one in third.decisions()] == [2, 3, None]
    fourth = MemoryStore()
    fourth.decide(decision("forbid", text=word), decision("allow", text=word))
    run(texts(range(2001, 2003)), fourth)
    assert words(fourth, 2002) == words(store, 2002)


@pytest.mark.parametrize(("forbidden", "allowed", "stem"), [("SHIP", "ship", ""), ("ships", "ship", "english")])
def test_allowing_a_word_undoes_what_forbade_it_however_it_is_written(forbidden: str, allowed: str, stem: str) -> None:
    store, _ = decided(decision("forbid", text=forbidden), decision("allow", text=allowed), stem=stem)
    assert [(one.refused, one.undone_by) for one in store.decisions()] == [("", 2), ("", None)]


@pytest.mark.thorough
@pytest.mark.parametrize(("phrases", "stem"), [(False, ""), (True, ""), (True, "english")])
def test_a_forbidden_word_is_in_no_phrase_until_it_is_allowed(phrases: bool, stem: str) -> None:
    def told(*decisions: Decision) -> set[str]:
        """Words and names of the newest slice, in which the phrase is known for long."""
        store, rng = MemoryStore(), random.Random(1)
        settings = RunSettings(topics=3, slices="year", threads=1, phrases=phrases, stem=stem)
        rows = []
        for i in range(400):
            subject = SUBJECTS[i % 3]
            title = "Mad Cramers said" if i % 3 == 0 else " ".join(rng.sample(subject, 3))
            text = f"{title}. {' '.join(rng.sample(subject, 5))}"
            rows.append({"id": f"d{i}", "time": 2001 + i // 100, "title": title, "text": text})
        follow(MemorySource(rows[:200]), FieldCodec(), store, settings)
        for one in decisions:
            store.decide(one)
        follow(MemorySource(rows), FieldCodec(), store, settings)
        assert [one.refused for one in store.decisions()] == [""] * len(decisions)
        (*_, newest) = [one for commit in store.commits for one in commit.closed]
        assert newest.names is not None
        assert newest.topics is not None
        phrases_told = {phrase for some in newest.names.phrases for phrase, _ in some}
        names = {part for parts in newest.names.name for part in parts}
        return names | phrases_told | {word for some in newest.topics.words for word, _ in some}

    whole = told()
    assert any("cramers" in one and " " in one for one in whole)
    assert {one for one in told(decision("forbid", text="CRAMERS")) if "cramer" in one} == set()
    again = told(decision("forbid", text="cramers"), decision("allow", text="Cramers"))
    assert any("cramers" in one and " " in one for one in again)


@pytest.mark.parametrize("text", ["two words", "", "!!!"])
def test_only_single_words_are_forbidden(text: str) -> None:
    vocabulary = Vocabulary(min_df=1)
    vocabulary.count(["two words here", "words there"])
    vocabulary.close_slice()
    with pytest.raises(InputError, match=r"expected (one|a) word, got "):
        vocabulary.forbid(text)


def test_refused_decisions_are_told_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        store, engine = decided(
            decision("merge", 0, 55),
            decision("allow", text="ship"),
            decision("name", 55, text="x"),
            decision("pin", 0),
            decision("name", 1, text="one"),
            decision("name", 1),
            decision("name", 2),
        )
    assert engine.finished
    refused = {one.kind: one.refused for one in store.decisions() if one.number <= 4}
    assert refused == {
        "merge": "there is no topic 55: it was never there",
        "allow": "the word 'ship' is not forbidden",
        "name": "there was never a topic 55",
        "pin": "",
    }
    assert "decision 1, to allow the word 'ship', was refused: the word 'ship' is not forbidden" in caplog.text
    assert [one.refused for one in store.decisions()[4:]] == ["", "", "topic 2 has no name that was given to it"]
    assert len(caplog.records) == 4


def test_a_decision_that_still_waits_is_taken_once() -> None:
    """Decisions wait until the commit that has them is written, which may be after the next end of a slice."""
    wanted = [decision("pin", 0), decision("forbid", text="ship")]
    book = DecisionBook(lambda: wanted)
    taken = book.taken(3, topics=True)
    book.settle(taken, {}, [])
    assert [one.number for one in taken] == [1, 2]
    assert book.taken(4, topics=True) == []
    after_a_kill = DecisionBook(lambda: wanted)
    after_a_kill.restore(taken)
    assert after_a_kill.taken(4, topics=True) == []


def test_vectors_have_no_words_to_forbid() -> None:
    items = [{"id": str(i), "time": str(2001 + i // 20), "v": [1.0, float(i % 3), 0.1 * i]} for i in range(60)]
    store = MemoryStore()
    store.decide(decision("forbid", text="ship"))
    run(items, store, dimension=3, topics=2)
    (one,) = store.decisions()
    assert one.refused == "the documents of this run have no words"


def test_a_run_goes_on_with_its_decisions() -> None:
    """Numbers go on, and what was decided before holds."""
    store = MemoryStore()
    store.decide(decision("pin", 0), decision("name", 0, text="zero"))
    run(texts(range(2001, 2005)), store)
    store.decide(decision("end", 0), decision("unpin", 0), decision("name", 0))
    run(texts(range(2001, 2008)), store)
    done = store.decisions()
    assert [one.number for one in done] == [1, 2, 3, 4, 5]
    assert [one.undone_by for one in done] == [4, 5, None, None, None]
    assert "pinned" in done[2].refused


def with_workers(workers: int, wanted: list[Decision]) -> list[Commit]:
    """Follow news by so many workers, with decisions and two named topics."""
    store = MemoryStore()
    store.decide(*wanted)
    seeds = seeds_as_text(seeds_of({"Space": ["comet", "orbit"], "Farms": ["wheat"]}))
    settings = RunSettings(topics=5, slices="year", threads=1, epoch_documents=300, topics_from=seeds, documents="all")
    follow(Parts(spread(news(1200, 4), 3)), FieldCodec(), store, settings, executor=Many(workers))
    assert [one.refused for one in store.decisions()] == [""] * 8
    made = wanted[0].made
    return [replace(one, decisions=[replace(each, made=made) for each in one.decisions]) for one in store.commits]


def test_the_driver_applies_decisions_whatever_the_number_of_workers() -> None:
    wanted = [decision("merge", 2, 3), decision("split", 1), decision("forbid", text="ship"), decision("unpin", 0)]
    one, other = MemoryStore(), MemoryStore()
    one.commits, other.commits = (with_workers(workers, wanted) for workers in (1, 3))
    assert committed(one) == committed(other)
