"""How well clusters of a stream agree with known classes: scores of clusters of very different sizes, and of detection.

Clusters and classes are given as one label per document; any integers or strings, whose values carry no meaning. So
-1 is a cluster like any other: leave such documents out, or give each a label of its own, where it means none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from sklearn import metrics as sk
from sklearn.metrics.cluster import contingency_matrix

from vmfstream.estimators.parameters import Number, check_parameters

__all__ = [
    "BCubed",
    "Detection",
    "VMeasure",
    "adjusted_mutual_information",
    "b_cubed",
    "detection",
    "detection_cost",
    "v_measure",
]


class BCubed(NamedTuple):
    """Means over documents: how much of its cluster is of its class, how much of its class in its cluster; and F1."""

    precision: float
    recall: float
    f1: float


class VMeasure(NamedTuple):
    """Whether clusters hold one class only, whether classes lie in one cluster, and the harmonic mean of both."""

    homogeneity: float
    completeness: float
    v: float


class Detection(NamedTuple):
    """How soon, and how steadily, each class had a cluster of its own; classes in the order of sorted labels."""

    delay: NDArray[np.float64]
    """Documents of the class, or time, from its first document to the first in its main cluster; infinite if documents
    of other classes are the majority there."""
    share: NDArray[np.float64]
    """Share of the documents of the class that are in its main cluster."""


def adjusted_mutual_information(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return the mutual information corrected for chance, over the arithmetic mean of both entropies.

    1 is perfect, 0 is what chance gives. Arguments and errors as in `b_cubed`.
    """
    found, truth = checked_labels(clusters, classes)
    return float(sk.adjusted_mutual_info_score(truth, found))


def v_measure(clusters: ArrayLike, classes: ArrayLike) -> VMeasure:
    """Return homogeneity, completeness and their harmonic mean, the arithmetic NMI, each in [0, 1].

    Arguments and errors as in `b_cubed`.
    """
    found, truth = checked_labels(clusters, classes)
    return VMeasure(*map(float, sk.homogeneity_completeness_v_measure(truth, found)))


def b_cubed(clusters: ArrayLike, classes: ArrayLike) -> BCubed:
    """Return B-cubed precision, recall and F1, each in (0, 1].

    Parameters
    ----------
    clusters, classes : array_like, shape (N,)
        One label per document, in the same order.

    Raises
    ------
    ValueError
        If the two differ in length or are empty.

    References
    ----------
    Bagga, Baldwin: Entity-based cross-document coreferencing using the vector space model. COLING 1998.

    Examples
    --------
    >>> score = b_cubed([0, 0, 0, 1], ["a", "a", "b", "b"])
    >>> round(score.precision, 3), round(score.recall, 3), round(score.f1, 3)
    (0.667, 0.75, 0.706)
    """
    found, truth = checked_labels(clusters, classes)
    table = contingency_matrix(truth, found, sparse=True, dtype=np.float64).tocoo()
    squares = table.data**2
    n = len(found)
    precision = float((squares / np.bincount(found)[table.col]).sum() / n)
    recall = float((squares / np.bincount(truth)[table.row]).sum() / n)
    return BCubed(precision, recall, 2.0 * precision * recall / (precision + recall))


def detection_cost(
    clusters: ArrayLike, classes: ArrayLike, *, miss: float = 1.0, false_alarm: float = 0.1, prior: float = 0.02
) -> float:
    """Return the normalised detection cost C_det of topic detection and tracking; 0 is perfect.

    For each class the cluster of the least cost miss P_miss prior + false_alarm P_fa (1 - prior) is taken: P_miss is
    the share of the class outside of it, P_fa the share of all other documents inside. The mean over classes is divided
    by the cost of the better of two systems that never look: all in, or none.

    Parameters
    ----------
    clusters, classes : array_like, shape (N,)
        One label per document, in the same order.
    miss, false_alarm : float
        Costs, > 0.
    prior : float
        Probability that a document is of a class, in (0, 1).

    Raises
    ------
    ValueError
        If the labels differ in length or are empty, or a cost or the prior is outside its domain.

    References
    ----------
    Fiscus, Doddington: Topic detection and tracking evaluation overview. In Topic Detection and Tracking, Kluwer 2002.
    """
    cost, share = Number(0.0, closed="neither"), Number(0.0, 1.0, closed="neither")
    given = {"miss": miss, "false_alarm": false_alarm, "prior": prior}
    check_parameters(given, {"miss": cost, "false_alarm": cost, "prior": share})
    found, truth = checked_labels(clusters, classes)
    table = contingency_matrix(truth, found, sparse=True, dtype=np.float64).tocoo()
    inside, size, n = np.bincount(found), np.bincount(truth), len(found)
    others = np.maximum(n - size, 1)
    missed = 1.0 - table.data / size[table.row]
    alarms = (inside[table.col] - table.data) / others[table.row]
    best = miss * prior + false_alarm * (1.0 - prior) * _smallest_without(table, inside) / others
    np.minimum.at(best, table.row, miss * prior * missed + false_alarm * (1.0 - prior) * alarms)
    return float(best.mean() / min(miss * prior, false_alarm * (1.0 - prior)))


def _smallest_without(table: coo_array, inside: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the size of the smallest cluster without a document of each class, infinite where there is none.

    ``table`` counts the documents of classes (rows) in clusters (columns), ``inside`` those of the clusters.
    """
    rank = np.empty(len(inside), np.int64)
    rank[np.argsort(inside, kind="stable")] = np.arange(len(inside))
    order = np.lexsort((rank[table.col], table.row))
    row, ranks = table.row[order], rank[table.col[order]]
    clusters = np.bincount(row)
    place = np.arange(len(row)) - np.repeat(np.cumsum(clusters) - clusters, clusters)
    first_free = np.bincount(row[ranks == place], minlength=len(clusters))
    return np.append(np.sort(inside), np.inf)[first_free]


def detection(clusters: ArrayLike, classes: ArrayLike, times: ArrayLike | None = None) -> Detection:
    """Return the delay until each class had its main cluster, and the share of the class that is in it.

    Parameters
    ----------
    clusters, classes : array_like, shape (N,)
        One label per document, in order of arrival. The main cluster of a class holds most of its documents; of equals
        the one that got its first document first.
    times : array_like, shape (N,), optional
        Times of arrival; delays are in their unit, else in documents of the class.

    Raises
    ------
    ValueError
        If labels or times differ in length or are empty.
    """
    found, truth = checked_labels(clusters, classes)
    when = None if times is None else np.asarray(times, np.float64)
    if when is not None and when.shape != found.shape:
        raise ValueError(f"times: expected one for each of {len(found)} documents, got the shape {when.shape}")
    sizes = np.bincount(found)
    delay, share = np.zeros(truth.max() + 1), np.zeros(truth.max() + 1)
    for label in range(len(delay)):
        own = np.flatnonzero(truth == label)
        names, first, counts = np.unique(found[own], return_index=True, return_counts=True)
        main = np.lexsort((first, -counts))[0]
        share[label] = counts[main] / len(own)
        if 2 * counts[main] < sizes[names[main]]:
            delay[label] = np.inf
        else:
            delay[label] = first[main] if when is None else when[own[first[main]]] - when[own[0]]
    return Detection(delay, share)


def checked_labels(clusters: ArrayLike, classes: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return clusters and classes as numbers 0, 1, 2, ... in the order of sorted labels.

    Raises
    ------
    ValueError
        If the two differ in length or are empty, or hold anything but integers or strings.
    """
    found, truth = np.asarray(clusters), np.asarray(classes)
    if found.ndim != 1 or found.shape != truth.shape or not found.size:
        raise ValueError(f"expected two label vectors of one length, got the shapes {found.shape} and {truth.shape}")
    return _numbered("clusters", found), _numbered("classes", truth)


def _numbered(name: str, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind == "f" and (missing := np.isnan(labels)).any():
        raise ValueError(f"{name}: expected integers or strings, got nan in row {missing.argmax()}")
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise ValueError(f"{name}: expected integers or strings, got {types_of(labels)}") from None


def types_of(labels: NDArray[Any]) -> str:
    """Return the names of the types of what an array holds."""
    return ", ".join(sorted({type(one).__name__ for one in labels.tolist()}))
