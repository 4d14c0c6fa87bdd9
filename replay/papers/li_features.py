"""Features of documents for a linear classifier, and the accuracy of that classifier ([Li]).

Features are made of the documents of the collection ``data`` by the word vectors ``source``; ``seed`` decides what is
drawn.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream import datasets
from vmfstream.arrays import Rows
from vmfstream.bayes.admixture.topics import Topics, joined
from vmfstream.bayes.admixture.variational import best_fit, directed_bags, log_proportions, visited
from vmfstream.bayes.factors.empirical_bayes import best_alpha
from vmfstream.directional.sphere import unit_rows
from vmfstream.folders import need_data
from vmfstream.replay.papers.li_printed import TOPICS
from vmfstream.replay.papers.work import Result
from vmfstream.text.embeddings import Coverage, WordVectors, read_word_vectors

VECTORS: Mapping[str, str] = {
    "Google News, 300 dimensions": "word_embeddings/word2vec_googlenews_300d_8k.npz",
    "GloVe, 50 dimensions": "word_embeddings/glove6b_50d_5k.npz",
    "GloVe Twitter, 25 dimensions": "word_embeddings/glove_twitter_25d_12k.npz",
    "Reuters, 20 dimensions": "word_embeddings/word2vec_reuters_20d_13k.npz",
}
"""Files of word vectors; the first is that of Table 1."""

FILES: Mapping[str, str] = {
    "20News": "twenty_newsgroups/docs.parquet",
    "Reuters": "reuters21578/docs.parquet",
}

LARGEST = 10
"""Number of topics of Reuters that are classified, those with most documents."""

LDA_TOPICS, LDA_PASSES = 100, 60
LDA_PRIORS = 0.1, 0.01
"""Of the topics of a document, and of the words of a topic."""

ALPHA, ALPHA_STEPS = 0.1, 5
"""Prior of the proportions in each class, and how often it is renewed for all topics together."""

PENALTIES = (0.1, 1.0, 10.0, 100.0)
"""Weights of the errors that the classifier is tried with on a fifth of the training documents."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCounts:
    """Documents to classify: word counts, the place of each class, and which are for training."""

    counts: csr_array
    terms: tuple[str, ...]
    y: NDArray[np.int64]
    train: NDArray[np.bool_]


@lru_cache(maxsize=1)
def collection(name: str) -> LabelledCounts:
    """Return 20News as its dates cut it, or the single-topic stories of Reuters as the ModApte split does."""
    import duckdb

    table = duckdb.read_parquet(str(need_data(FILES[name])))
    if name == "20News":
        data = datasets.twenty_newsgroups()
        split = table.project("split").fetchnumpy()["split"].astype(str)
        chosen = np.ones(len(split), np.bool_)
    else:
        data = datasets.reuters21578()
        columns = table.project("lewissplit, has_topics").fetchnumpy()
        split = np.char.lower(columns["lewissplit"].astype(str))
        chosen = (columns["has_topics"].astype(str) == "YES") & np.isin(split, ("train", "test")) & (data.y >= 0)
        largest = np.argsort(-np.bincount(data.y[chosen]))[:LARGEST]
        chosen &= np.isin(data.y, largest)
    if data.counts is None:
        raise ValueError(f"{name}: expected word counts, got none")
    rows = np.flatnonzero(chosen & (np.diff(data.counts.indptr) > 0))
    y = np.unique(data.y[rows], return_inverse=True)[1]
    return LabelledCounts(csr_array(data.counts[rows]), data.terms, y.astype(np.int64), split[rows] == "train")


@lru_cache(maxsize=1)
def vectors(name: str) -> WordVectors:
    """Return a set of word vectors."""
    return read_word_vectors(need_data(VECTORS[name]))


@lru_cache(maxsize=1)
def bags(data: str, source: str) -> tuple[csr_array, Coverage]:
    """Return the documents of a collection as counts of the words that have a vector, and how many words have."""
    data_set = collection(data)
    found = vectors(source).rebag(data_set.counts, data_set.terms)
    return found.counts, found.coverage


def word_weights(data: str, source: str, seed: int) -> Rows:
    """Unit rows of word counts."""
    return datasets.weigh(collection(data).counts, "tf")


def rare_word_weights(data: str, source: str, seed: int) -> Rows:
    """Unit rows of words weighted by (1 + log tf) idf."""
    return datasets.weigh(collection(data).counts, "ltc")


def covered_word_weights(data: str, source: str, seed: int) -> Rows:
    """Unit rows of counts of the words that have a vector, to show what the other words contribute."""
    counts, _ = bags(data, source)
    index = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # all that the classifier takes
    return datasets.weigh(csr_array((counts.data, *index), shape=counts.shape), "tf")


def lda_proportions(data: str, source: str, seed: int) -> Rows:
    """Proportions of topics by latent Dirichlet allocation of the training documents."""
    from sklearn.decomposition import LatentDirichletAllocation

    data_set = collection(data)
    of_topics, of_words = LDA_PRIORS
    model = LatentDirichletAllocation(
        LDA_TOPICS,
        doc_topic_prior=of_topics,
        topic_word_prior=of_words,
        learning_method="batch",
        max_iter=LDA_PASSES,
        random_state=seed,
    )
    model.fit(data_set.counts[data_set.train])
    proportions: Rows = model.transform(data_set.counts)
    return proportions


def mean_vectors(data: str, source: str, seed: int) -> Rows:
    """Means of the vectors of words; zero for a document that has none."""
    counts, _ = bags(data, source)
    total = np.maximum(np.asarray(counts.sum(axis=1)), 1.0)
    return np.asarray(counts @ vectors(source).vectors.astype(np.float64) / total[:, None])


def admixture_proportions(data: str, source: str, seed: int) -> Rows:
    """Proportions of the topics of all classes together, learnt from the training documents of each by itself."""
    data_set, (counts, _) = collection(data), bags(data, source)
    rows, _ = unit_rows(vectors(source).vectors)
    rng = np.random.default_rng(seed)
    words = directed_bags(rows, counts)
    parts = [
        best_fit(rows, csr_array(words[data_set.train & (data_set.y == label)]), TOPICS[data], rng, alpha=ALPHA).topics
        for label in range(data_set.y.max() + 1)
    ]
    return _proportions(rows, words, data_set.train, joined(parts))


def single_admixture_proportions(data: str, source: str, seed: int) -> Rows:
    """Proportions of as many topics, learnt from all training documents without their classes."""
    data_set, (counts, _) = collection(data), bags(data, source)
    rows, _ = unit_rows(vectors(source).vectors)
    words = directed_bags(rows, counts)
    k = TOPICS[data] * (int(data_set.y.max()) + 1)
    found = best_fit(rows, csr_array(words[data_set.train]), k, np.random.default_rng(seed), alpha=ALPHA)
    return _proportions(rows, words, data_set.train, found.topics)


def _proportions(rows: Rows, words: csr_array, train: NDArray[np.bool_], topics: Topics) -> NDArray[np.float64]:
    """Return the expected proportions of all documents, alpha being the best for the training documents."""
    known, alpha = csr_array(words[train]), ALPHA
    for _ in range(ALPHA_STEPS):
        found = visited(rows, known, topics, alpha)
        alpha = best_alpha(topics.k, float(log_proportions(found.phi[found.has_direction]).mean()), alpha)
    phi = visited(rows, words, topics, alpha).phi
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))


METHODS: Mapping[str, Callable[[str, str, int], Rows]] = {
    "BOW": word_weights,
    "BOW, words weighted by idf": rare_word_weights,
    "BOW, words with vectors": covered_word_weights,
    "LDA": lda_proportions,
    "MeanWV": mean_vectors,
    "VMFMix": admixture_proportions,
    "VMFMix without the classes": single_admixture_proportions,
}
"""Features by name: those of the paper that are computed here, and three more."""

OF_VECTORS = ("BOW, words with vectors", "MeanWV", "VMFMix", "VMFMix without the classes")
"""Those that need vectors of words."""


def classify_once(data: str, method: str, source: str, seed: int) -> Result:
    """Return macro-averaged scores of the test documents in percent, the seconds of the features, and the coverage.

    ``method`` is a name in `METHODS`.
    """
    data_set = collection(data)
    begun = time.perf_counter()
    features = METHODS[method](data, source, seed)
    seconds = time.perf_counter() - begun
    test = int((~data_set.train).sum())
    result = scores(features, data_set.y, data_set.train, seed) | {"seconds": seconds, "test": test}
    if method not in OF_VECTORS:
        return result
    _, coverage = bags(data, source)
    return result | {"share": coverage.share, "words": coverage.known_words, "of": coverage.words}


def scores(features: Rows, y: NDArray[np.int64], train: NDArray[np.bool_], seed: int) -> Result:
    """Fit a linear support vector machine to the training rows and score its labels of the others.

    ``features`` (N, F) have the classes ``y`` (N,); ``train`` (N,) tells the training rows.
    """
    from sklearn.metrics import f1_score, precision_recall_fscore_support

    known, labels = features[train], y[train]
    aside = np.random.default_rng(seed).permutation(len(labels)) < len(labels) // 5
    tried = [
        f1_score(
            labels[aside], _classifier(known[~aside], labels[~aside], penalty).predict(known[aside]), average="macro"
        )
        for penalty in PENALTIES
    ]
    penalty = PENALTIES[int(np.argmax(tried))]
    found = _classifier(known, labels, penalty).predict(features[~train])
    precision, recall, f1, _ = precision_recall_fscore_support(y[~train], found, average="macro", zero_division=0)
    return {"precision": 100 * precision, "recall": 100 * recall, "F1": 100 * f1, "penalty": penalty}


def _classifier(features: Rows, labels: NDArray[np.int64], penalty: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its last digits do not change labels
        return LinearSVC(C=penalty, random_state=0, max_iter=2000).fit(features, labels)
