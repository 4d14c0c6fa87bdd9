"""Topics that are only named: labels by a few words, without a run that follows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.engine.documents import SUBJECTS
from tests.unit.frozen.frozen_runs import followed, texts, tracker
from vmfstream import FrozenModel
from vmfstream.errors import InputError

NAMED = {"Sea": ["ship", "harbour"], "Farm": ["wheat", "barley", "xylophone"]}
NEW = texts(300, seed=9)


def test_documents_get_the_named_topic_whose_words_they_hold_or_none() -> None:
    labels = tracker().freeze().with_topics(NAMED).label([*NEW, "..."])
    words = [set(text.split()) for text in NEW]
    for name, topic, own in (("Sea", 0, {"ship", "harbour"}), ("Farm", 1, {"wheat", "barley"})):
        other = {"wheat", "barley"} if topic == 0 else {"ship", "harbour"}
        alone = [i for i, some in enumerate(words) if len(some & own) == 2 and not some & other]
        assert len(alone) > 5
        assert set(labels["name"][alone]) == {name}
        assert set(labels["topic"][alone]) == {topic}
        assert ((labels["probability"][alone] > 0.5) & (labels["novelty"][alone] < 0.0)).all()
    nothing = [i for i, some in enumerate(words) if not some & {"ship", "harbour", "wheat", "barley"}]
    assert len(nothing) > 15
    assert set(labels["topic"][[*nothing, -1]]) == {-1}
    assert labels["name"][nothing].tolist() == [None] * len(nothing)
    assert np.isnan(labels["probability"][[*nothing, -1]]).all()
    np.testing.assert_array_equal(labels["story"], tracker().label([*NEW, "..."])["story"])


def test_example_documents_name_topics_too() -> None:
    named = [{"name": "Space", "documents": [" ".join(SUBJECTS[1])]}, {"name": "Sea", "words": ["ship"]}]
    labels = tracker().freeze().with_topics(named).label([" ".join(SUBJECTS[1][:4]), "ship ship", "wheat barley"])
    assert labels["name"].tolist() == ["Space", "Sea", None]


def test_such_a_model_is_saved_and_read(tmp_path: Path) -> None:
    made = FrozenModel.load(followed(tmp_path / "run.duckdb")).with_topics(NAMED)
    made.save(tmp_path / "named.zip")
    again = FrozenModel.load(tmp_path / "named.zip")
    assert [topic["name"] for topic in again.topics] == ["Sea", "Farm"]
    for name, column in made.label(NEW).items():
        np.testing.assert_array_equal(again.label(NEW)[name], column)


@pytest.mark.thorough
def test_what_cannot_be_labelled_by_is_told(tmp_path: Path) -> None:
    model = tracker().freeze()
    with pytest.raises(InputError, match="the model knows none of the words of these topics"):
        model.with_topics({"Music": ["xylophone"]})
    with pytest.raises(InputError, match="'Music' has no word that counts"):
        model.with_topics({"Music": ["the"]})
    with pytest.raises(InputError, match="this model labels vectors"):
        FrozenModel.load(followed(tmp_path / "run.duckdb", dimension=6)).with_topics(NAMED)
