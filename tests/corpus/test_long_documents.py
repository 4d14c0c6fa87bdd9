"""Stories of long documents: speeches do not flow into one."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.data import corpus_file
from vmfstream import StoryMixture
from vmfstream.metrics import adjusted_mutual_information
from vmfstream.replay.corpora import get
from vmfstream.stories.weights import RunningTfidf
from vmfstream.text.filters import stop_words_of
from vmfstream.text.tokeniser import Tokeniser
from vmfstream.text.word_table import WordTable


@pytest.mark.corpus
def test_speeches_do_not_flow_into_one_story() -> None:
    """Of the first 24 sessions; one story had 65 % of the speeches while all their words counted."""
    path = corpus_file(get("un").file)
    query = f"SELECT text, country FROM '{path}' WHERE session <= 24 ORDER BY timestamp, id"
    texts, countries = zip(*duckdb.execute(query).fetchall(), strict=True)
    table, tokeniser = WordTable(1 << 20), Tokeniser()
    tokeniser.runs(list(stop_words_of("english")), table)
    stops = len(table)
    counts = tokeniser.count(texts, table, stops)
    shape = (len(texts), len(table))
    rows = RunningTfidf().weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape))
    labels = np.asarray(StoryMixture().fit(rows).labels_)
    assert np.bincount(labels).max() < 0.15 * len(labels)
    assert adjusted_mutual_information(labels, np.unique(countries, return_inverse=True)[1]) > 0.3
