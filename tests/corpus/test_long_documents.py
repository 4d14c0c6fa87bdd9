"""Stories of long documents: speeches do not flow into one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.bench_stories import held_out
from tests.data import corpus_file
from vmfstream import StoryMixture
from vmfstream.metrics import adjusted_mutual_information
from vmfstream.replay.corpora import get


@pytest.mark.corpus
def test_speeches_do_not_flow_into_one_story() -> None:
    """Of the first 24 sessions; one story had 65 % of the speeches while all their words counted."""
    corpus_file(get("un").file)
    stream = held_out("speeches_1", "english")
    labels = np.asarray(StoryMixture().fit(stream.x).labels_)
    assert np.bincount(labels).max() < 0.15 * len(labels)
    assert adjusted_mutual_information(labels, stream.y) > 0.3
