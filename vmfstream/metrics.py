"""Scores of clusters: agreement with known classes, cohesion and separation, predictive density.

Clusters and classes are given as one label per document; any integers or strings, whose values carry no meaning.
Logarithms are natural: information is in nats, so that a perfect clustering of K equal classes has the mutual
information log K.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Row
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, issparse
from scipy.special import entr, logsumexp
from sklearn import metrics as sk
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from vmfstream.arrays import Rows
from vmfstream.clustering_metrics import (
    BCubed,
    Detection,
    VMeasure,
    adjusted_mutual_information,
    b_cubed,
    checked_labels,
    detection,
    detection_cost,
    types_of,
    v_measure,
)
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.checks import check_sparse
from vmfstream.directional.isotropy import isotropies
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.directional.sphere import unit_rows
from vmfstream.estimators.parameters import Number, Whole, check_parameters
from vmfstream.mixtures.columns import column_norms
from vmfstream.mixtures.seeding import one_hot
from vmfstream.takeovers import taken_over
from vmfstream.text.coherence import coherence, cooccurrence
from vmfstream.text.coherence import diversity as topic_diversity
from vmfstream.text.counts import Counts

__all__ = [
    "BCubed",
    "Cohesion",
    "Detection",
    "HeldOutLikelihood",
    "Improvement",
    "Mapping",
    "VMeasure",
    "adjusted_mutual_information",
    "adjusted_rand_index",
    "b_cubed",
    "cohesion",
    "contingency",
    "detection",
    "detection_cost",
    "held_out",
    "macro_f1",
    "mutual_information",
    "next_slice_improvement",
    "normalized_mutual_information",
    "pairwise_f",
    "perplexity",
    "posterior_entropy",
    "purity",
    "rand_index",
    "takeover_rate",
    "topic_coherence",
    "topic_diversity",
    "v_measure",
]

Mapping: TypeAlias = Literal["majority", "hungarian"]
"""How clusters are given the names of classes: each its largest class, or one to one with most documents agreeing."""


def __dir__() -> list[str]:
    return sorted(__all__)


class Cohesion(NamedTuple):
    """Cosines inside clusters (higher is better) and between clusters (lower is better); NaN between fewer than two.

    ``within`` is the mean cosine of a document with the mean direction of its cluster, ``worst`` the smallest;
    ``between`` the mean cosine of two mean directions, weighted by the pairs of documents, ``nearest`` the largest.
    """

    within: float
    worst: float
    between: float
    nearest: float


class HeldOutLikelihood(NamedTuple):
    """Log-likelihood of held-out documents in nats: their sum, its mean, and the mean relative to the uniform density.

    Only the last can be compared between different dimensions.
    """

    total: float
    per_document: float
    relative: float


Held = HeldOutLikelihood
"""Former name, kept for one version."""


class Improvement(NamedTuple):
    """How much better one model predicts than another: as a share of the other's log-likelihood, and in nats each."""

    relative: float
    nats_per_document: float


def contingency(clusters: ArrayLike, classes: ArrayLike) -> NDArray[np.int64]:
    """Count the documents of each cluster and class.

    Parameters
    ----------
    clusters, classes : array_like, shape (N,)
        One label per document, in the same order.

    Returns
    -------
    ndarray of int64, shape (clusters, classes)
        Rows and columns in the order of sorted labels.

    Raises
    ------
    ValueError
        If the two differ in length or are empty.
    """
    found, truth = checked_labels(clusters, classes)
    table: NDArray[np.int64] = contingency_matrix(truth, found).T
    return table


def mutual_information(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the mutual information of clusters and classes in nats; see `contingency` for arguments and errors.

    References
    ----------
    [BDGS05] section 6.2.
    """
    found, truth = checked_labels(clusters, classes)
    return float(sk.mutual_info_score(truth, found))


def normalized_mutual_information(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the mutual information over the geometric mean of both entropies, in [0, 1]; see `contingency`.

    It is 1 if there is but one cluster and one class, 0 if one of them alone is trivial.

    References
    ----------
    [Sra] eq. (5.10), [GY14] section 5.
    """
    found, truth = checked_labels(clusters, classes)
    return float(sk.normalized_mutual_info_score(truth, found, average_method="geometric"))


def rand_index(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the share of pairs of documents that clusters and classes treat alike; see `contingency`."""
    found, truth = checked_labels(clusters, classes)
    return float(sk.rand_score(truth, found))


def adjusted_rand_index(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the Rand index corrected for chance: 1 is perfect, 0 is what chance gives; see `contingency`."""
    found, truth = checked_labels(clusters, classes)
    return float(sk.adjusted_rand_score(truth, found))


def pairwise_f(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return F1 over pairs of documents that are together: 2 TP / (P_r + P_s); see `contingency`.

    It is 1 if no two documents are together in either.
    """
    found, truth = checked_labels(clusters, classes)
    (_, alone), (parted, both) = pair_confusion_matrix(truth, found)
    return float(2 * both / (2 * both + alone + parted)) if both + alone + parted else 1.0


def purity(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the share of documents that belong to the largest class of their cluster; see `contingency`."""
    table = contingency(clusters, classes)
    return float(table.max(axis=1).sum() / table.sum())


def macro_f1(clusters: ArrayLike, classes: ArrayLike, mapping: Mapping = "majority") -> float:
    """Return the mean over classes of F1, after each cluster was given the name of a class.

    Parameters
    ----------
    clusters, classes : array_like, shape (N,)
        One label per document, in the same order.
    mapping : {"majority", "hungarian"}
        A cluster stands for its most frequent class (of equally frequent ones for the larger class), or clusters and
        classes are matched one to one so that most documents agree; clusters without a match then predict nothing.

    Raises
    ------
    ValueError
        If the labels differ in length or are empty, or the mapping is unknown.

    Notes
    -----
    A class that no cluster stands for has F1 = 0.
    """
    table = contingency(clusters, classes)
    if mapping == "majority":
        by_size = np.argsort(-table.sum(axis=0), kind="stable")
        rows, columns = np.arange(len(table)), by_size[table[:, by_size].argmax(axis=1)]
    elif mapping == "hungarian":
        rows, columns = linear_sum_assignment(table, maximize=True)
    else:
        raise ValueError(f"mapping: expected 'majority' or 'hungarian', got {mapping!r}")
    hits, named = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    np.add.at(hits, columns, table[rows, columns])
    np.add.at(named, columns, table[rows].sum(axis=1))
    return float((2 * hits / (named + table.sum(axis=0))).mean())


def cohesion(x: Rows, clusters: ArrayLike) -> Cohesion:
    """Return how close documents are to the mean direction of their cluster, and these directions to each other.

    H_avg = (1/N) sum_i x_i'mu_{z_i}, H_min its smallest term; S_avg = sum_{k != j} n_k n_j mu_k'mu_j / sum n_k n_j,
    S_max the largest mu_k'mu_j; mu_k the normalised sum of cluster k.

    Parameters
    ----------
    x : array_like or sparse, shape (N, D)
        Rows are scaled to unit length.
    clusters : array_like of int, shape (N,)
        Documents with a negative label are left out; empty clusters are left out.

    Raises
    ------
    ValueError
        If there is not one label per row, no document is left, a value is not finite, or a sparse ``x`` is damaged.

    References
    ----------
    [BDGS05] eqs. (6.1)-(6.4).
    """
    check_sparse("x", x)
    x, labels = _labelled(x, clusters)
    labelled = np.flatnonzero(labels >= 0)
    if not labelled.size:
        raise ValueError("clusters: expected a document with a label of at least 0, got none")
    _, z, nk = np.unique(labels[labelled], return_inverse=True, return_counts=True)
    rows, k = x[labelled], len(nk)
    s = accumulate(rows, one_hot(z, k, x.dtype))
    norms = column_norms(s)
    mu = s / np.where(norms > 0, norms, 1.0).astype(s.dtype)
    own = dots(rows, mu)[np.arange(len(z)), z].astype(np.float64)
    if k == 1:
        return Cohesion(float(own.mean()), float(own.min()), math.nan, math.nan)
    cosines = np.asarray(mu.T @ mu, np.float64)[:k, :k]
    pairs = np.outer(nk, nk).astype(np.float64)
    np.fill_diagonal(pairs, 0.0)
    between = float((pairs * cosines).sum() / pairs.sum())
    return Cohesion(float(own.mean()), float(own.min()), between, float(cosines[~np.eye(k, dtype=bool)].max()))


def isotropy(x: ArrayLike, clusters: ArrayLike) -> NDArray[np.float64]:
    """Return how well von Mises-Fisher distributions fit K clusters: whether residual directions point everywhere.

    It is 1 if the rows of a cluster spread around its mean evenly in all D dimensions, as the distribution says
    whatever its concentration, and about M / (D - 1) if they spread in M directions only.

    Parameters
    ----------
    x : array_like, shape (N, D)
        Rows such as embeddings, scaled to unit length; not words, which spread in few of their thousands of dimensions
        anyway.
    clusters : array_like of int, shape (N,)
        Documents with a negative label are left out.

    Returns
    -------
    ndarray of shape (K,)
        In ascending order of labels, each by the last 64 rows of the cluster; NaN for fewer than 10. The standard
        deviation is .03 with 64 rows and .25 with 10, where the fit is perfect.

    Raises
    ------
    ValueError
        If ``x`` is sparse, there is not one label per row, or a value is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((128, 256))
    >>> rows[:64, 0] += 20.0  # around one direction, evenly
    >>> rows[64:, 26:] = 0.0  # in 26 dimensions only
    >>> rows[64:, 1] += 20.0
    >>> isotropy(rows, np.repeat([0, 1], 64)).round(1)
    array([1. , 0.1])
    """
    if issparse(x):
        raise ValueError("x: expected dense rows, got a sparse matrix")
    rows, labels = _labelled(x, clusters)
    return isotropies([rows], labels, np.unique(labels[labels >= 0]))


def _labelled(x: Any, clusters: ArrayLike) -> tuple[Any, NDArray[Any]]:
    """Return unit rows and their labels as arrays, or raise ValueError."""
    rows, labels = unit_rows(x, copy=False)[0], np.asarray(clusters)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ValueError(f"clusters: expected one label for each row, got the shapes {rows.shape} and {labels.shape}")
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"clusters: expected integers, got {types_of(labels)}")
    return rows, labels


def held_out(scores: ArrayLike, d: int) -> HeldOutLikelihood:
    """Sum up the log-densities of documents that the model was not fitted to.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Log-densities relative to the uniform density, such as ``score_samples`` of the estimators returns.
    d : int
        Dimension of the space.

    Raises
    ------
    ValueError
        If there are no scores, or ``d`` is no integer of at least 2.
    """
    check_parameters({"d": d}, {"d": Whole(2)})
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"scores: expected one log-density per document, got the shape {values.shape}")
    relative = float(values.mean())
    absolute = relative + float(log_c_uniform(d))
    return HeldOutLikelihood(absolute * values.size, absolute, relative)


def next_slice_improvement(loglik: float, base: float, documents: int) -> Improvement:
    """Compare two models by the log-likelihood of the next slice: (LL - base) / |base|, and nats per document.

    Parameters
    ----------
    loglik, base : float
        Total log-likelihoods of the model and of the one it is compared with, both absolute or both relative.
    documents : int
        Documents of the slice, >= 1.

    Raises
    ------
    ValueError
        If ``base`` is zero, there are no documents, or something is no number.

    Notes
    -----
    With absolute likelihoods ``base`` is mostly the constant N log C_d(0); only the nats per document are free of it.

    References
    ----------
    [GY14] Figure 1.
    """
    if not (isinstance(loglik, Real) and isinstance(base, Real) and base != 0 and Number(1.0).holds(documents)):
        raise ValueError(
            "expected two numbers, the base other than 0, and at least one document, "
            f"got {loglik!r}, {base!r} and {documents!r}"
        )
    return Improvement((loglik - base) / abs(base), (loglik - base) / documents)


def perplexity(loglik: ArrayLike, words: ArrayLike) -> float:
    """Return exp(-sum_j log p(w_j) / sum_j N_j) over test documents.

    Parameters
    ----------
    loglik : array_like, shape (J,) or (samples, J)
        Log-probabilities of the words of each document in nats; those of several posterior samples are averaged as
        probabilities, inside the logarithm.
    words : array_like, shape (J,)
        Words of each document.

    Raises
    ------
    ValueError
        If the shapes do not fit, there are no words, or a document has a negative number of them.

    References
    ----------
    [MC2] section 5.
    """
    lengths, values = np.asarray(words, np.float64), np.atleast_2d(np.asarray(loglik, np.float64))
    if lengths.ndim != 1 or values.ndim != 2 or values.shape[1] != lengths.size:
        raise ValueError(f"expected (samples, J) log-probabilities and J lengths, got {values.shape}, {lengths.shape}")
    if not lengths.sum() > 0:
        raise ValueError(f"words: expected documents with words, got {lengths.size} without")
    if lengths.min() < 0:
        raise ValueError(f"words: expected numbers of at least 0, got {lengths.min():g} in row {lengths.argmin()}")
    averaged = logsumexp(values, axis=0) - math.log(values.shape[0])
    with np.errstate(over="ignore"):  # words that are hardly possible
        return float(np.exp(-averaged.sum() / lengths.sum()))


def posterior_entropy(resp: ArrayLike) -> float:
    """Return the mean entropy in nats of the rows of ``resp`` (N, K), responsibilities that sum to 1.

    Rows of zeros (documents without direction) are left out; near 0 the assignment is hard.

    Raises
    ------
    ValueError
        If rows neither sum to 1 nor to 0, none sums to 1, or one holds a number below 0.
    """
    rows = np.atleast_2d(np.asarray(resp, np.float64))
    sums = rows.sum(axis=1)
    bad = ~(np.isclose(sums, 1.0, atol=1e-3) | (sums == 0))
    if bad.any() or not sums.any():
        row = int(np.flatnonzero(bad)[0]) if bad.any() else 0
        raise ValueError(f"resp: expected rows that sum to 1, got {sums[row] if sums.size else 'none'} in row {row}")
    if rows.min() < 0:
        raise ValueError(f"resp: expected numbers of at least 0, got {rows.min():g} in row {rows.min(axis=1).argmin()}")
    return float(entr(rows[sums > 0]).sum(axis=1).mean())


def takeover_rate(topics: Sequence[Row[str, Any]], events: Sequence[Row[str, Any]], words: int = 10) -> float:
    """Return the share of topic-slices in which a topic stands for something else than two slices before, unannounced.

    It does if none of its strongest words is among those of two slices before, and no event of the two slices names the
    topic; alarms do not count as such.

    Parameters
    ----------
    topics : sequence of mappings
        Rows with ``slice``, ``topic`` and ``words`` (pairs of word and weight), oldest slice first, as
        `TopicTracker.topics` gives.
    events : sequence of mappings
        Rows with ``slice``, ``kind``, ``topic`` and ``other``, as `TopicTracker.events` gives.
    words : int
        How many of the strongest words are compared, >= 1.

    Returns
    -------
    float
        NaN without a topic in two slices that are two apart.

    Raises
    ------
    ValueError
        If ``words`` is no integer of at least 1, or a row is no mapping or lacks something.

    Examples
    --------
    >>> rows = [{"slice": s, "topic": 0, "words": [(w, 1.0)]} for s, w in enumerate(["ship", "sea", "moon"])]
    >>> takeover_rate(rows, [])
    1.0
    >>> takeover_rate(rows, [{"slice": 2, "kind": "split", "topic": 0, "other": 1}])
    0.0
    """
    check_parameters({"words": words}, {"words": Whole(1)})
    topics = _checked_rows("topics", topics, ("slice", "topic", "words"))
    taken, compared = taken_over(topics, _checked_rows("events", events, ("slice", "kind", "topic", "other")), words)
    return len(taken) / compared if compared else math.nan


def _checked_rows(name: str, rows: Sequence[Row[str, Any]], fields: Sequence[str]) -> list[Row[str, Any]]:
    """Return the rows that an argument called ``name`` gives, each of which must have the ``fields``."""
    wanted = f"{name}: expected rows with {', '.join(fields)}, as TopicTracker.{name}() gives"
    if not isinstance(rows, Iterable):
        raise ValueError(f"{wanted}, got {type(rows).__name__}")
    checked = list(rows)
    for place, row in enumerate(checked):
        if not isinstance(row, Row):
            raise ValueError(f"{wanted}, got {type(row).__name__} in place {place}")
        if missing := [field for field in fields if field not in row]:
            raise ValueError(f"{wanted}, got none of {', '.join(missing)} in place {place}")
    return checked


def topic_coherence(
    topics: Sequence[Sequence[str]],
    reference: Any,
    vocabulary: Sequence[str],
    *,
    measure: Literal["npmi", "c_v"] = "c_v",
) -> NDArray[np.float64]:
    """Coherence of the words of K topics in a reference corpus [Röder, Both, Hinneburg 2015].

    Parameters
    ----------
    topics : K sequences of str
        The strongest words of each topic; 10 are usual.
    reference : sparse array or matrix, or ndarray, shape (N, V)
        Counts of words in documents, of which only counts as such whether they are above zero. As published, C_v
        takes windows of 110 words for documents and NPMI windows of 10: rows may be these.
    vocabulary : sequence of V different str
        The words of the columns.
    measure : {"npmi", "c_v"}
        ``npmi`` is the mean normalised pointwise mutual information of pairs of words, from -1 to 1; ``c_v`` the
        mean cosine of each word's NPMI with all words and the sum of these vectors, from about 0 to 1.

    Returns
    -------
    ndarray of shape (K,)
        Words that are in no document are left out; NaN where fewer than two are left.

    Raises
    ------
    ValueError
        If columns and words are not equally many, a word has two columns or stands twice in a topic, a topic is made of
        something else than words, there is no such measure, or ``reference`` is no matrix of counts or a damaged one.

    Examples
    --------
    >>> import numpy as np
    >>> together = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
    >>> words = ["ship", "sea", "cat", "paw"]
    >>> topic_coherence([["ship", "sea"], ["cat", "paw"], ["sea", "cat"]], together, words, measure="npmi").round(2)
    array([ 1.  ,  0.5 , -0.95])
    """
    check_sparse("reference", reference)
    given = reference if issparse(reference) else np.asarray(reference)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        kinds = {"U": "texts", "O": type(reference).__name__}
        got = kinds.get(given.dtype.kind, f"the shape {given.shape}")
        raise ValueError(
            f"reference: expected counts of words in documents, (documents, words), got {got}; scikit-learn's "
            "CountVectorizer makes them of texts"
        )
    counts = csr_array(given)
    counts.eliminate_zeros()
    column = {word: at for at, word in enumerate(vocabulary)}
    if not len(column) == len(vocabulary) == counts.shape[1]:
        raise ValueError(
            f"vocabulary: expected {counts.shape[1]} different words, one per column of the reference, "
            f"got {len(vocabulary)}, {len(column)} of them different"
        )
    if measure not in ("npmi", "c_v"):
        raise ValueError(f"measure: expected 'npmi' or 'c_v', got {measure!r}")
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise ValueError(f"topics: expected a sequence of words for each topic, got {topics!r}")
    for k, topic in enumerate(topics):
        words_alone = isinstance(topic, Sequence | np.ndarray) and all(isinstance(word, str) for word in topic)
        if isinstance(topic, str) or not words_alone or len(set(topic)) != len(topic):
            raise ValueError(f"topics[{k}]: expected a sequence of different words, got {topic!r}")
    words = list(dict.fromkeys(word for topic in topics for word in topic))
    place = {word: at for at, word in enumerate(words)}
    n = counts.shape[0]
    terms = Counts(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        np.ones(counts.nnz, np.uint16),
        np.zeros(n, np.int32),
    )
    found = cooccurrence([terms], np.array([column.get(word, -1) for word in words], np.int64), counts.shape[1])
    npmi, c_v = coherence([np.array([place[word] for word in topic], np.int64) for topic in topics], found)
    return npmi if measure == "npmi" else c_v
