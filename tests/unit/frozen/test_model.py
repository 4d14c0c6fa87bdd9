"""Labels of a frozen model, against what a run gives the same documents on arrival."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest

from tests.threads import Watched, at_once
from tests.unit.frozen.frozen_runs import followed, texts, tracker, vectors
from vmfstream import FrozenModel, TopicTracker
from vmfstream.errors import InputError
from vmfstream.frozen import model as frozen_model
from vmfstream.records import SliceReport

NEW = texts(40, seed=9)


def test_labels_are_those_on_arrival() -> None:
    kept = tracker(documents=True)
    labels = kept.label([*NEW, "...", "nothing that anybody ever heard of"])
    arrived = kept.learn([*NEW, "...", "nothing that anybody ever heard of"], 2003).documents()
    np.testing.assert_array_equal(labels["topic"], arrived["topic"][-42:])
    for name, digits in (("probability", 4), ("novelty", 2)):  # as many as are kept of documents
        np.testing.assert_allclose(labels[name], arrived[name][-42:], atol=0.51 * 10**-digits, err_msg=name)
    assert labels["topic"][:3].tolist() != [labels["topic"][0]] * 3
    assert labels["topic"][-2:].tolist() == [-1, -1]
    assert np.isnan(labels["probability"][-2:]).all()


def test_stories_are_those_on_arrival_of_the_next_document() -> None:
    made = tracker(documents=True)
    asked = [*texts(6, seed=8), " ".join(f"fresh{i}" for i in range(9))]
    stories = made.label(asked)["story"]
    for text, story in zip(asked, stories.tolist(), strict=True):
        next_one = TopicTracker.__new__(TopicTracker)
        next_one.__setstate__(made.__getstate__())
        known = set(next_one.documents()["story"].tolist())
        arrived = int(next_one.learn([text], 2003).story_labels[0])
        assert story == (arrived if arrived in known else -1)
    assert stories[-1] == -1
    assert (stories[:6] >= 0).any()


def test_labels_depend_on_nothing_that_was_labelled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    known = "harbour ship crane cargo"
    asked = [*NEW, known, f"{known} {' '.join(f'strange{i}' for i in range(24))}"]
    expected = tracker().label(asked)
    assert expected["story"][-2] >= 0 > expected["story"][-1]  # words that nobody knows make it another story
    monkeypatch.setattr(frozen_model, "_NEW_WORDS", 64)
    monkeypatch.setattr(frozen_model, "_BATCH", 7)
    made = tracker().freeze()
    for seed in range(20):
        made.label(texts(30, seed=100 + seed))
    found = made.label(asked[::-1])
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name][::-1], column, err_msg=name)


def test_threads_that_label_at_once_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tracker().freeze()
    parts = [[*NEW[i:], f"strange{i}"] for i in range(10)]
    wanted = [made.label(part) for part in parts]
    watched = Watched(made._encoder.count)
    monkeypatch.setattr(made._encoder, "count", watched)
    found = at_once([partial(made.label, part) for part in parts])
    assert watched.most == 1
    monkeypatch.undo()
    for one, other, again in zip(wanted, found, map(pickle.loads(pickle.dumps(made)).label, parts), strict=True):
        for name, column in one.items():
            np.testing.assert_array_equal(other[name], column, err_msg=name)
            np.testing.assert_array_equal(again[name], column, err_msg=name)


def test_nothing_is_learnt() -> None:
    one, other = tracker(documents=True), tracker(documents=True)
    one.label(NEW)
    one.label(NEW, at="2001")
    for made in (one, other):
        made.learn(texts(60, seed=5), 2004).finish()
    assert repr(one.topics(smoothed=True)) == repr(other.topics(smoothed=True))
    for name, column in one.documents().items():
        np.testing.assert_array_equal(column, other.documents()[name])


def test_a_tracker_labels_by_what_it_has_learnt_since() -> None:
    made = tracker()
    before = made.freeze()
    assert made.freeze() is before
    made.learn(texts(60, seed=5), 2003)
    assert made.freeze() is not before


def test_topics_of_an_earlier_slice_are_as_they_stood() -> None:
    made = tracker()
    made.learn(["lamp bulb socket wire fuse"] * 40, 2004).learn(["lamp bulb"] * 10, 2005)
    then, now = made.label(NEW, at="2002"), made.label(NEW)
    assert repr(made.label(NEW, at=2002)) == repr(then)
    assert then["topic"].tolist() == now["topic"].tolist()
    assert (then["story"] == -1).all()
    names = {topic["topic"]: topic["name"] for topic in made.freeze("2002").topics}
    assert names == {row["topic"]: row["name"] for row in made.topics() if row["slice"] == "2002"}
    assert made.label(["lamp bulb socket"])["topic"][0] >= 0
    assert made.label(["lamp bulb socket"], at="2002")["topic"][0] == -1  # words that nobody knew then


def test_concentrations_of_an_earlier_slice_are_those_of_its_time() -> None:
    """There are fewer than 60 words, so that the means of the newest slice are kept whole."""
    made = tracker()
    made.learn(["harbour ship"], 2004)
    past, report = made.freeze("2003").parts.arrays, closed_slices(made)[-1]
    assert report.topics is not None
    assert past["topics.f"].shape == (report.dimension, 3)
    np.testing.assert_allclose(past["topics.scalars"][0], report.topics.kappa[0], rtol=1e-6)
    np.testing.assert_allclose(past["topics.gamma"], report.topics.gamma, rtol=1e-5)


def closed_slices(made: TopicTracker) -> list[SliceReport]:
    return [report for commit in made._store.commits for report in commit.closed]


@pytest.mark.thorough
@pytest.mark.parametrize("stem", ["", "english"])
def test_a_run_file_is_only_read(tmp_path: Path, stem: str) -> None:
    path = followed(tmp_path / "run.duckdb", stem=stem)
    before = path.read_bytes()
    made = FrozenModel.load(path)
    labels = made.label([*NEW, "..."])
    assert path.read_bytes() == before
    assert made.title == "three subjects"
    assert made.slice == "2003"
    assert sorted(set(labels["topic"].tolist())) == [-1, 0, 1, 2]
    for at in ("2002", 2002):
        assert FrozenModel.load(path, at=at).label(NEW)["topic"].tolist() == labels["topic"][:-1].tolist()


def test_a_saved_tracker_is_a_run_file_too(tmp_path: Path) -> None:
    made = tracker()
    made.save(tmp_path / "saved.duckdb")
    for loaded in (FrozenModel.load(tmp_path / "saved.duckdb"), TopicTracker.load(tmp_path / "saved.duckdb")):
        for name, column in made.label(NEW).items():
            np.testing.assert_array_equal(loaded.label(NEW)[name], column)


@pytest.mark.thorough
@pytest.mark.parametrize("named", [False, True])
def test_vectors_are_labelled_by_their_direction(tmp_path: Path, named: bool) -> None:
    made = FrozenModel.load(followed(tmp_path / "run.duckdb", dimension=6, named=named))
    labels = made.label(NEW, vectors(40, seed=9))
    assert len({*labels["topic"].tolist()}) == 3
    assert all(labels["topic"][i] == labels["topic"][i % 3] for i in range(40))
    assert (labels["story"] >= 0).any() == named
    alone = made.label(vectors=vectors(40, seed=9))
    np.testing.assert_array_equal(alone["topic"], labels["topic"])
    np.testing.assert_array_equal(alone["probability"], labels["probability"])
    assert alone["story"].tolist() == [-1] * 40
    broken = vectors(40)
    broken[7, 2] = np.nan
    for wrong, says in (
        (None, "got texts only"),
        (vectors(39), "expected one for each of 40 texts, got 39"),
        (vectors(40)[:, :5], r"expected the shape \(N, 6\), got \(40, 5\)"),
        (vectors(1)[0], r"expected the shape \(N, 6\), got \(6,\)"),
        (broken, "expected finite numbers, got others in row 7"),
        (pandas.Series(list(vectors(40))), "got Series; numpy.stack makes one of a column of vectors"),
    ):
        with pytest.raises(InputError, match=f"vectors: .*{says}"):
            made.label(NEW, wrong)
    with pytest.raises(InputError, match="follows vectors"):
        FrozenModel.load(tmp_path / "run.duckdb", at="2002")
    copy = tmp_path / "model.zip"
    made.save(copy)
    again = FrozenModel.load(copy).label(NEW, vectors(40, seed=9))
    for name, column in labels.items():
        np.testing.assert_array_equal(again[name], column)


def test_wrong_input_is_told(tmp_path: Path) -> None:
    made = tracker()
    with pytest.raises(InputError, match="got one string"):
        made.label("harbour")
    with pytest.raises(InputError, match=r"texts\[1\]: expected a string, got float"):
        made.label(["harbour", float("nan")])  # type: ignore[list-item]
    with pytest.raises(InputError, match="no closed slice '1999' with topics; there are: from '2001' to '2002'"):
        made.label(NEW, at="1999")
    with pytest.raises(InputError, match="labels texts, got vectors"):
        made.freeze().label(NEW, vectors(40))
    with pytest.raises(InputError, match="there are no topics: the first ones are found when a slice ends"):
        TopicTracker().label(NEW)
    with pytest.raises(InputError, match="no run file"):
        FrozenModel.load(tmp_path / "nothing.duckdb")


def test_no_texts_have_no_labels() -> None:
    labels = tracker().label([])
    assert {name: len(column) for name, column in labels.items()} == dict.fromkeys(
        ("topic", "name", "probability", "story", "novelty"), 0
    )


def test_a_year_before_1000_names_a_slice_by_its_number(tmp_path: Path) -> None:
    one = TopicTracker(topics=2).learn(["cat fur paw", "ship sea harbour"] * 20, 995)
    one.finish()
    one.save(tmp_path / "run.duckdb")
    for model in (one.freeze(at=995), FrozenModel.load(tmp_path / "run.duckdb", at=995)):
        assert len(model.topics) == 2
    assert one.label(["a ship"], at=995)["topic"] == one.label(["a ship"])["topic"]
