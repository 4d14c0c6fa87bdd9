"""A whole run: settings that a log remembers, continuing, and the comparison with batch models."""

from __future__ import annotations

import gc
import json
import operator
import os
import sys
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.engine.documents import closed, committed, document, years
from vmfstream import __version__
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import ABORT, Aborted, Item, MemorySource
from vmfstream.connectors.stdin import StdinSource
from vmfstream.decisions import decision
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.observers.evaluation import METHODS, WARM_UP, Compared, Comparison
from vmfstream.engine.run import RunSettings, agree, evaluate, follow
from vmfstream.errors import InputError
from vmfstream.machine import memory_there
from vmfstream.online.settings import BirthSettings, TrackerSettings, WindowSettings
from vmfstream.records import Commit
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.writer import RunFile
from vmfstream.runtime_tuning import tuned_runtime
from vmfstream.seeds import Seed, seeds_as_text
from vmfstream.text.encoders import TextEncoder, VectorEncoder

SETTINGS = RunSettings(topics=3, threads=1, window=60, epoch_documents=25)
FOUR_YEARS = years({2001: 40, 2002: 40, 2003: 40, 2004: 40})


def test_settings_survive_a_run_file() -> None:
    settings = replace(SETTINGS, title="é", stop_words="foo bar", stem="english", slices="250", dimension=7, seed=3)
    text = settings.as_text()
    assert RunSettings.from_text(text) == settings
    assert text["version"] == __version__
    assert all(isinstance(value, str) for value in text.values())


def test_a_run_file_without_a_setting_means_its_default() -> None:
    assert RunSettings.from_text({"topics": "7", "format": "1", "new in 9.0": "x"}) == RunSettings(topics=7)


@pytest.mark.parametrize(
    "name", [f.name for f in fields(RunSettings) if f.name not in ("rules", "slices_by_times", "from_file")]
)
def test_only_names_may_differ_when_a_run_file_is_continued(name: str) -> None:
    begun = replace(SETTINGS, documents="all") if name in ("keep_text", "smoothed_stories") else SETTINGS
    was = getattr(begun, name)
    others: dict[str, Any] = {"story_grain": 0.3, "slices": "month", "documents": "all", "story_component": "cauchy"}
    others["topics_from"] = seeds_as_text([Seed("Ships", ("ship",))])
    changed = others.get(name, 1 if was == inf else was + 1 if isinstance(was, int | float) else "other")
    other = replace(begun, **{name: changed})
    if name in ("title", "source", "licence", "begins"):
        assert agree(other, begun.as_text()) == begun
        return
    told = "stop_words" if name == "language" else name
    with pytest.raises(InputError, match=f"begun with {told} = "):
        agree(other, begun.as_text())


def test_all_settings_that_differ_are_named_at_once() -> None:
    begun = RunSettings(topics=12, slices="month").as_text()
    says = "begun with topics = 12, slices = 'month' and cannot be continued with 30, 'week'; give what it was"
    with pytest.raises(InputError, match=says):
        agree(RunSettings(slices="week"), begun)


def test_slices_that_were_chosen_by_times_give_way_to_those_of_a_run_file() -> None:
    assert agree(replace(SETTINGS, slices="week", slices_by_times=True), SETTINGS.as_text()) == SETTINGS
    with pytest.raises(InputError, match="begun with slices = "):
        agree(replace(SETTINGS, slices="week"), SETTINGS.as_text())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("topics", 0),
        ("threads", 0),
        ("window", -1),
        ("refit_budget", -0.1),
        ("epoch_documents", 0),
        ("vocabulary", 1),
        ("slices", "century"),
    ],
)
def test_settings_have_a_domain(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        RunSettings(**{name: value})  # type: ignore[arg-type]


def test_parts_follow_the_settings() -> None:
    settings = RunSettings(topics=4, window=0, seed=5, threads=1, slices="day", epoch_documents=9, vocabulary=99)
    encoder, track, cut = settings.encoder(), settings.tracker(), settings.engine(linger=2.0)
    assert isinstance(encoder, TextEncoder)
    assert encoder.vocabulary.capacity == 99
    assert (track.topics, track.window, track.seed, track.threads) == (4, None, 5, 1)
    assert (str(cut.slices), cut.epoch_documents, cut.linger, cut.seed) == ("day", 9, 2.0, 5)
    model = settings.new_model()
    assert isinstance(model, TrackerModel)
    assert model.settings == track
    assert isinstance(replace(settings, dimension=8).encoder(), VectorEncoder)


@pytest.mark.parametrize(
    ("language", "further", "kept"),
    [("english", "", {"ship"}), ("english", "moon ship", set()), ("none", "", {"ship", "the"})],
)
def test_stop_words_are_left_out(language: str, further: str, kept: set[str]) -> None:
    items: list[Any] = years({2001: 30})
    for item in items[::4]:
        item["text"] += " the"
    store = MemoryStore()
    follow(MemorySource(items), FieldCodec(), store, replace(SETTINGS, language=language, stop_words=further))
    topics = closed(store)[0].topics
    assert topics is not None
    words = {word for of_topic in topics.words for word, _ in of_topic}
    assert words & {"the", "ship"} == kept


def test_an_interrupted_run_is_continued_in_its_run_file(tmp_path: Path) -> None:
    broken: list[Item] = [*FOUR_YEARS[:70], ABORT]
    with pytest.raises(Aborted):
        follow(MemorySource(broken), FieldCodec(), RunFile(tmp_path / "a.duckdb"), SETTINGS)
    first = follow(MemorySource(FOUR_YEARS), FieldCodec(), RunFile(tmp_path / "a.duckdb"), SETTINGS)
    assert (first.documents, first.finished) == (160, True)
    again = follow(
        MemorySource(FOUR_YEARS), FieldCodec(), RunFile(tmp_path / "a.duckdb"), replace(SETTINGS, title="new")
    )
    assert (again.documents, again.epoch) == (160, first.epoch)
    with pytest.raises(InputError, match="topics"):
        follow(MemorySource(FOUR_YEARS), FieldCodec(), RunFile(tmp_path / "a.duckdb"), replace(SETTINGS, topics=4))


def test_a_pipe_that_was_interrupted_before_its_first_line_is_known_by_it_later(tmp_path: Path) -> None:
    """Lines of another pipe are new ones; which it is, is known by the first line."""
    run_file = RunFile(tmp_path / "run.duckdb")
    lines = [json.dumps(document(i, 2001)).encode() + b"\n" for i in range(60)]
    for piped, learnt in (([], 0), (lines[:30], 30), (lines[30:], 60)):
        reading, writing = os.pipe()
        with open(writing, "wb") as pipe, closing(StdinSource(descriptor=reading)) as source:
            pipe.write(b"".join(piped))
            if piped:
                pipe.close()
            engine = follow(source, FieldCodec(), run_file, SETTINGS, stop=partial(operator.not_, piped))
        os.close(reading)
        assert engine.documents == learnt


def test_days_of_before_1970_are_slices_like_others() -> None:
    """Their numbers are negative, and what draws at random took none such."""

    def run(year: int) -> MemoryStore:
        items = [document(i, f"{year}-12-{1 + i // 20:02d}") for i in range(160)]
        store = MemoryStore()
        follow(MemorySource(items), FieldCodec(), store, replace(SETTINGS, slices="day"))
        store.decide(decision("split", 0))
        more = [*items, *(document(i, f"{year}-12-20") for i in range(160, 180))]
        follow(MemorySource(more), FieldCodec(), store, replace(SETTINGS, slices="day"))
        return store

    early, late = run(1950), run(2001)
    assert [one.n for one in closed(early)] == [one.n for one in closed(late)]
    assert all(one.topics is not None for one in closed(early))


OTHER_RULES = TrackerSettings(births=BirthSettings(least_gain=5.0), fitting=WindowSettings(cooling=1.7), alpha=0.5)


def test_a_run_file_says_under_which_rules_it_was_made(tmp_path: Path) -> None:
    store = RunFile(tmp_path / "a.duckdb")
    follow(MemorySource(FOUR_YEARS), FieldCodec(), store, replace(SETTINGS, rules=OTHER_RULES))
    stored = store.settings({})
    assert stored["rule.births.least_gain"] == "5.0"
    assert stored["rule.fitting.cooling"] == "1.7"
    assert stored["rule.drift.history"] == "5000"
    assert not {"rule.topics", "rule.threads", "rules"} & set(stored)
    assert RunSettings.from_text(stored).tracker().births.least_gain == 5.0


@pytest.mark.thorough
def test_a_run_goes_on_under_the_rules_that_it_was_begun_with(tmp_path: Path) -> None:
    begun = replace(SETTINGS, rules=OTHER_RULES)
    whole = MemoryStore()
    follow(MemorySource(FOUR_YEARS), FieldCodec(), whole, begun)
    store, parts = RunFile(tmp_path / "a.duckdb"), MemoryStore()
    for each in (store, parts):
        with pytest.raises(Aborted):
            follow(MemorySource([*FOUR_YEARS[:70], ABORT]), FieldCodec(), each, begun)
        follow(MemorySource(FOUR_YEARS), FieldCodec(), each, SETTINGS)
    assert committed(parts) == committed(whole)
    usual = MemoryStore()
    follow(MemorySource(FOUR_YEARS), FieldCodec(), usual, SETTINGS)
    assert committed(usual) != committed(whole)
    assert agree(SETTINGS, store.settings({})).rules == OTHER_RULES


def test_other_rules_than_those_of_a_run_file_are_refused() -> None:
    stored = SETTINGS.as_text()
    with pytest.raises(InputError, match=r"begun with rule\.births\.least_gain = 10\.0 and .* continued with 5\.0"):
        agree(replace(SETTINGS, rules=TrackerSettings(births=BirthSettings(least_gain=5.0))), stored)
    with pytest.raises(InputError, match=r"a rule that cannot be read: births\.least_gain: .* got 'much'"):
        agree(SETTINGS, stored | {"rule.births.least_gain": "much"})


def test_a_run_file_from_before_there_were_rules_is_continued() -> None:
    old = {name: value for name, value in SETTINGS.as_text().items() if not name.startswith("rule.")}
    store = MemoryStore()
    store.settings(old)
    with pytest.raises(Aborted):
        follow(MemorySource([*FOUR_YEARS[:70], ABORT]), FieldCodec(), store, SETTINGS)
    assert follow(MemorySource(FOUR_YEARS), FieldCodec(), store, SETTINGS).documents == 160
    whole = MemoryStore()
    follow(MemorySource(FOUR_YEARS), FieldCodec(), whole, SETTINGS)
    assert committed(store) == committed(whole)


def test_the_garbage_collector_and_the_turns_of_threads_are_left_as_they_were() -> None:
    seen: list[tuple[int, int, float]] = []
    before = gc.get_threshold(), sys.getswitchinterval()
    follow(
        MemorySource(FOUR_YEARS),
        FieldCodec(),
        MemoryStore(),
        SETTINGS,
        observe=lambda _: seen.append((gc.get_freeze_count(), gc.get_threshold()[0], sys.getswitchinterval())),
    )
    frozen, allocations, turns = zip(*seen, strict=True)
    assert min(frozen) > 1000
    assert min(allocations) > before[0][0]
    assert max(turns) < before[1]
    assert gc.get_freeze_count() == 0
    assert (gc.get_threshold(), sys.getswitchinterval()) == before


def test_of_runs_beside_each_other_the_last_one_leaves_the_interpreter_as_it_was() -> None:
    before = gc.get_threshold(), sys.getswitchinterval()
    with ExitStack() as second:
        with tuned_runtime():
            during = gc.get_threshold(), sys.getswitchinterval()
            second.enter_context(tuned_runtime())
        assert (gc.get_threshold(), sys.getswitchinterval()) == during != before
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    assert gc.get_freeze_count() == 0


def test_a_store_in_memory_and_a_file_receive_the_same(tmp_path: Path) -> None:
    class Both(RunFile):
        copy = MemoryStore()

        def commit(self, *commits: Commit) -> None:
            super().commit(*commits)
            self.copy.commit(*commits)

    memory = MemoryStore()
    follow(MemorySource(FOUR_YEARS), FieldCodec(), memory, SETTINGS)
    follow(MemorySource(FOUR_YEARS), FieldCodec(), Both(tmp_path / "a.duckdb"), SETTINGS)
    assert committed(Both.copy) == committed(memory)


def test_every_method_is_scored_at_every_slice_after_the_first() -> None:
    comparison = evaluate(MemorySource(years(dict.fromkeys(range(2001, 2008), 40))), FieldCodec(), SETTINGS)
    assert [row.label for row in comparison.rows] == [str(year) for year in range(2002, 2008)]
    assert all(row.documents == 40 for row in comparison.rows)
    for row in comparison.rows:
        assert set(row.scores) == set(METHODS)
        assert all(np.isfinite(score) and score > 0.0 for score in row.scores.values())
    counted = comparison.rows[WARM_UP - 1 :]
    assert comparison.mean("static") == pytest.approx(np.mean([row.scores["static"] for row in counted]))
    lines = comparison.render().splitlines()
    assert len(lines) == 2 + 6 + 1 + len(METHODS)
    assert lines[-1 - len(METHODS)].startswith("mean, 2006 on")


def test_the_tracker_is_scored_as_in_an_ordinary_run() -> None:
    store = MemoryStore()
    follow(MemorySource(FOUR_YEARS), FieldCodec(), store, SETTINGS)
    comparison = evaluate(MemorySource(FOUR_YEARS), FieldCodec(), SETTINGS)
    assert [row.scores["tracker"] for row in comparison.rows] == [r.predicted for r in closed(store)[1:]]


def test_a_short_comparison_counts_all_its_slices() -> None:
    rows = [Compared(str(i), 10, dict.fromkeys(METHODS, float(i))) for i in range(3)]
    assert Comparison(rows).mean("tracker") == 1.0


def test_a_stream_of_one_slice_has_nothing_to_compare() -> None:
    comparison = evaluate(MemorySource(years({2001: 40})), FieldCodec(), SETTINGS)
    assert not comparison.rows
    assert np.isnan(comparison.mean("tracker"))
    assert "nothing to compare" in comparison.render()


def test_forgotten_words_change_no_comparison() -> None:
    """Words of a single document are pruned from a small vocabulary, which renumbers the others."""
    letters = str.maketrans("0123456789", "abcdefghij")
    items: list[Any] = years({2001: 40, 2002: 40, 2003: 40, 2004: 40})
    for i, item in enumerate(items):
        rare = f"{i:03d}".translate(letters)
        item["text"] = f"once{rare} single{rare} {item['text']}"
    small, large = (evaluate(MemorySource(items), FieldCodec(), replace(SETTINGS, vocabulary=v)) for v in (24, 50_000))
    for few, all_ in zip(small.rows, large.rows, strict=True):
        assert few.scores == pytest.approx(all_.scores)


MUCH = RunSettings(topics=500, vocabulary=500_000)
GIB = 2**30


@pytest.mark.parametrize(
    ("settings", "there", "told"),
    [
        (RunSettings(), GIB, ""),
        (MUCH, 16 * GIB, "500 topics of 500000 words may take 60 GiB once there are so many, and there are 16 GiB"),
        (MUCH, 64 * GIB, ""),
        (MUCH, None, ""),  # the system does not say
        (replace(MUCH, topics=100), 16 * GIB, ""),
        (replace(MUCH, embed="wordllama"), GIB, ""),
        (replace(MUCH, topics=1024, dimension=4096), GIB, ""),
        (
            replace(MUCH, topics=1024, dimension=4096),
            GIB - 1,
            "1024 topics of 4096 words may take 1 GiB once there are so many, and there are 1 GiB",
        ),
    ],
)
def test_too_little_memory_is_told_beforehand(
    settings: RunSettings,
    there: int | None,
    told: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vmfstream.engine.run.memory_there", lambda: there)
    with closing(MemorySource([])) as source:
        follow(source, FieldCodec(), MemoryStore(), settings)
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert said == [f"{told}; --topics and --vocabulary bound both"] * bool(told)


PAGE, PAGES = 4096, 1000
MACHINE = PAGE * PAGES


@pytest.mark.parametrize(
    ("machine", "limit", "there"),
    [
        (MACHINE, None, MACHINE),  # no container
        (MACHINE, "max\n", MACHINE),
        (MACHINE, "5000\n", 5000),
        (MACHINE, f"{MACHINE + 1}\n", MACHINE),
        (AttributeError(), "5000\n", 5000),  # Windows
        (ValueError(), "5000\n", 5000),
        (OSError(), "5000\n", 5000),
        (OSError(), None, None),
    ],
)
def test_memory_is_that_of_the_machine_or_of_its_container(
    machine: int | Exception, limit: str | None, there: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sysconf(name: str) -> int:
        if isinstance(machine, Exception):
            raise machine
        return {"SC_PAGE_SIZE": PAGE, "SC_PHYS_PAGES": PAGES, "SC_AVPHYS_PAGES": PAGES // 2}[name]

    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr("vmfstream.machine.os.sysconf", sysconf)
    monkeypatch.setattr("vmfstream.machine.LIMIT", file)
    assert memory_there() == there
