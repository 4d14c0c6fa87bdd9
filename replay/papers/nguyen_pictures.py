"""Pictures clustered by MC2 and by what [MC2] compares it with, and its clusters in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.special import xlogy
from sklearn.cluster import AffinityPropagation, KMeans
from sklearn.decomposition import NMF
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from vmfstream import metrics
from vmfstream.estimators.multilevel import MultilevelClustering
from vmfstream.replay.papers.nguyen_data import CountsInContext, pictures
from vmfstream.replay.papers.nguyen_fits import WITH, WITHOUT
from vmfstream.replay.papers.nguyen_hdp import Hdp
from vmfstream.replay.papers.work import Result

SCORES = ("Purity", "NMI", "RI", "F-score")

COREL_CHAIN: dict[str, Any] = {"burn_in": 100, "draws": 10, "thin": 5}

TAGS, K_MEANS, FACTORS, AFFINITY, HDP_AFFINITY = "contexts alone", "K-means", "NMF", "AP", "HDP + AP"

NUMBERS = tuple(range(10, 41, 5))
"""Clusters that K-means and NMF are told to find; the paper varies them from 10 to 40."""

HDP_TOPICS = 50
"""Topics that the HDP begins with."""

DAMPING = 0.9
"""Of affinity propagation; with .5, which scikit-learn takes, it did not converge on a tenth of the pictures."""

MAPPED = 7
"""Clusters that are shown in the plane, as many as in the paper."""


def _parts(seed: int) -> tuple[CountsInContext, NDArray[np.int64], NDArray[np.int64], np.random.Generator]:
    """Return the pictures, and which three fifths of them are clustered and which held out."""
    data, rng = pictures(), np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    cut = len(order) * 2 // 5
    return data, np.sort(order[cut:]), np.sort(order[:cut]), rng


def _scores(labels: NDArray[Any], y: NDArray[np.int64]) -> Result:
    values = (
        metrics.purity(labels, y),
        metrics.normalized_mutual_information(labels, y),
        metrics.rand_index(labels, y),
        metrics.pairwise_f(labels, y),
    )
    return {"clusters": len(np.unique(labels))} | dict(zip(SCORES, values, strict=True))


def _clustered(context: str, counts: csr_array, tags: Any, seed: int) -> MultilevelClustering:
    """Fit MC2 to pictures with or without their ``tags``, or to these alone: then all have one word, the same."""
    model = MultilevelClustering(kernels="multinomial", random_state=seed, **COREL_CHAIN)
    if context == WITHOUT:
        model.set_params(kernels="auto").fit(counts)
    else:
        model.fit(csr_array(np.tile([1.0, 0.0], (counts.shape[0], 1))) if context == TAGS else counts, tags)
    return model


def pictures_once(context: str, missing: int, seed: int) -> Result:
    """Cluster three fifths of the pictures, tags of ``missing`` per cent left out; score clusters and the others.

    ``context`` is the kind that is given; ``seed`` decides the split, the tags left out and the chain.
    """
    data, train, test, rng = _parts(seed)
    tags = data.contexts["tags"][train].toarray()
    tags[rng.permutation(len(train))[: round(missing / 100 * len(train))]] = 0.0
    model = _clustered(context, data.counts[train], tags, seed)
    perplexity = None if context == TAGS else model.perplexity(data.counts[test])
    return {"perplexity": perplexity, "topics": model.n_topics_} | _scores(model.labels_, data.y[train])


def rival_once(method: str, clusters: int, seed: int) -> Result:
    """Cluster the same pictures by the content alone, by a ``method`` of the paper told to find so many ``clusters``.

    ``seed`` decides the split and the starts; affinity propagation takes no number of ``clusters``. Rows have unit
    length.
    """
    data, train, _, _ = _parts(seed)
    x = normalize(data.counts[train])
    if method == K_MEANS:
        labels = KMeans(clusters, n_init=10, random_state=seed).fit_predict(x)
    elif method == FACTORS:
        labels = NMF(clusters, init="nndsvda", max_iter=500, random_state=seed).fit_transform(x).argmax(axis=1)
    else:
        labels = AffinityPropagation(damping=DAMPING, max_iter=1000, random_state=seed).fit_predict(x.toarray())
    return _scores(labels, data.y[train])


def hdp_pictures_once(seed: int, version: str) -> Result:
    """Cluster the same pictures by affinity propagation between their shares of an HDP's topics; predict the others.

    ``seed`` as in `rival_once`; nothing where tomotopy is not installed (``version`` is empty).
    """
    if not version:
        return dict.fromkeys(("perplexity", "topics", "clusters", *SCORES))
    data, train, test, _ = _parts(seed)
    found = Hdp.of(csr_array(data.counts[train]), HDP_TOPICS, seed)
    alike = -_symmetric_divergence(found.shares())
    labels = AffinityPropagation(affinity="precomputed", damping=DAMPING, max_iter=1000, random_state=seed).fit_predict(
        alike
    )
    perplexity = found.unseen(csr_array(data.counts[test]))
    return {"perplexity": perplexity, "topics": found.topics} | _scores(labels, data.y[train])


def _symmetric_divergence(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL(p_i || p_j) + KL(p_j || p_i) of rows (J, M) of positive shares, (J, J)."""
    entropy, crossed = xlogy(p, p).sum(axis=1), p @ np.log(p).T
    return np.asarray(entropy[:, None] + entropy - crossed - crossed.T)


def mapped_once(seed: int) -> Result:
    """Place pictures of the largest clusters of MC2 in the plane, by content and context, with t-SNE.

    ``seed`` decides the split, the chain and the places.
    """
    data, train, _, _ = _parts(seed)
    tags = data.contexts["tags"][train]
    labels = _clustered(WITH, data.counts[train], tags.toarray(), seed).labels_
    sizes = np.bincount(labels)
    largest = np.argsort(-sizes, kind="stable")[:MAPPED]
    rows = np.flatnonzero(np.isin(labels, largest))
    features = hstack([normalize(data.counts[train][rows]), normalize(tags[rows])]).toarray()
    places = TSNE(init="pca", random_state=seed).fit_transform(features)
    names = np.asarray(data.items["tags"], object)
    return {
        "clusters": len(sizes),
        "shown": [
            {
                "name": ", ".join(names[np.argsort(-tags[labels == k].sum(axis=0), kind="stable")[:3]]),
                "pictures": int(sizes[k]),
                "places": places[labels[rows] == k].astype(float).round(3).tolist(),
            }
            for k in largest
        ],
    }
