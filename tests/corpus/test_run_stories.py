"""Stories of whole runs: labels on arrival against known classes, and what the run file tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.data import corpus_file
from vmfstream.clustering_metrics import b_cubed
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.engine.run import RunSettings, follow
from vmfstream.metrics import adjusted_rand_index, normalized_mutual_information
from vmfstream.records import Document
from vmfstream.replay.corpora import get
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

pytestmark = pytest.mark.corpus


class Labelled(NamedTuple):
    """A run's file, and of every document its id, its class ("" for none) and its story."""

    path: Path
    id: list[str]
    truth: NDArray[np.object_]
    story: NDArray[np.int64]

    def told(self, most: int, first: int) -> float:
        """Share of the classes with three documents of which one of the first few is among the most novel of a slice.

        Those of which one of the first hundred documents is are left out: they are there from the beginning.
        """
        novel = Reader(self.path).novel()
        listed = np.isin(self.id, novel.id[novel.rank <= most])
        places = {one: np.flatnonzero(self.truth == one) for one in np.unique(self.truth[self.truth != ""])}
        later = [place for place in places.values() if len(place) >= 3 and place[0] >= 100]
        assert len(later) >= 20
        return float(np.mean([listed[place[:first]].any() for place in later]))

    def scores(self) -> tuple[float, float, float]:
        """NMI, ARI and B-cubed F1 of the documents that have a class."""
        known = self.truth != ""
        classes = np.unique(self.truth[known], return_inverse=True)[1]
        found = self.story[known]
        agreement = normalized_mutual_information(classes, found), adjusted_rand_index(classes, found)
        return (*agreement, b_cubed(found, classes).f1)


def replayed(name: str, folder: Path, embed: str = "") -> Labelled:
    corpus = get(name)
    corpus_file(corpus.file)
    truth, ids = list[str](), list[str]()
    story: list[NDArray[np.int64]] = []

    def keep(documents: Sequence[Document], stories: NDArray[np.int64]) -> None:
        truth.extend(str(document.meta.get("label") or "") for document in documents)
        ids.extend(document.id for document in documents)
        story.append(stories)

    path = folder / "run.duckdb"
    settings = RunSettings(
        topics=2,
        slices=corpus.slices,
        threads=1,
        living_topics=False,
        stop_words=" ".join(corpus.stop_words),
        embed=embed,
    )
    with closing(CorpusSource(corpus)) as source:
        follow(source, FieldCodec(meta=("label",)), RunFile(path), settings, in_stories=keep)
    return Labelled(path, ids, np.array(truth, np.object_), np.concatenate(story))


@pytest.mark.parametrize(
    ("name", "documents", "least", "told"),
    [
        ("mstream-news-t", 11_109, (0.90, 0.75, 0.78), (10, 3, 0.65)),
        ("mstream-news", 11_109, (0.86, 0.66, 0.70), None),  # its stories are mixed from the beginning
        pytest.param("crisislex", 27_932, (0.83, 0.62, 0.64), (20, 10, 0.9), marks=pytest.mark.thorough),
    ],
)
def test_labels_on_arrival_agree_with_the_truth(
    name: str,
    documents: int,
    least: tuple[float, float, float],
    told: tuple[int, int, float] | None,
    tmp_path: Path,
) -> None:
    """Every document is labelled, the first ones too, before there are topics; first documents are told as novel."""
    found = replayed(name, tmp_path)
    assert len(found.story) == documents
    assert (found.story >= 0).mean() > 0.999
    assert found.story[0] == 0
    scores = found.scores()
    assert all(score >= bound for score, bound in zip(scores, least, strict=True)), scores
    if told is not None:
        most, first, share = told
        assert found.told(most, first) >= share
    reader = Reader(found.path)
    frame, events = reader.stories(), reader.story_events()
    sizes = np.bincount(found.story[found.story >= 0])
    np.testing.assert_array_equal(np.sort(frame.story), np.flatnonzero(sizes >= 3))
    merged = events.kind == "merged"
    np.add.at(sizes, events.other[merged], events.size[merged])
    np.testing.assert_array_equal(frame.size, sizes[frame.story])
    assert set(events.story[events.kind == "opened"]) == set(frame.story)
    assert set(events.story[merged | (events.kind == "ended")]) == set(frame.story[frame.ended])
    assert set(frame.story) == set(reader.story_words().story) == set(reader.story_documents().story)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("mstream-news-t", (0.92, 0.80, 0.81)),
        pytest.param("crisislex", (0.90, 0.77, 0.78), marks=pytest.mark.thorough),
    ],
)
def test_words_and_vectors_tell_more_than_either(name: str, least: tuple[float, float, float], tmp_path: Path) -> None:
    scores = replayed(name, tmp_path, "wordllama").scores()
    assert all(score >= bound for score, bound in zip(scores, least, strict=True)), scores
