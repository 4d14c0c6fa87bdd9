"""Chains of MC2 on letters and papers and what is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from vmfstream import metrics
from vmfstream.bayes.multilevel.content import word_content
from vmfstream.bayes.multilevel.contexts import ITEM, gaussian, log_marginals
from vmfstream.bayes.multilevel.prediction import averaged
from vmfstream.bayes.multilevel.sampler import Chain
from vmfstream.bayes.multilevel.sampler_state import SamplerState
from vmfstream.estimators.multilevel import MultilevelClustering
from vmfstream.estimators.multilevel_contexts import Named
from vmfstream.replay.papers.nguyen_data import (
    HELD_OUT,
    LETTERS,
    CountsInContext,
    drawn,
    halved,
    labelled_letters,
    letter_images,
    letters,
    papers,
)
from vmfstream.replay.papers.work import Result

WITHOUT, WITH, IMAGES = "without context", "with context", "with context, images"

TRUTH, RANDOM = "the truth", "chance"

WANDERING = 400
"""Sweeps of chains that start from the truth or from chance; the second half is reported."""

LETTER_CHAIN: dict[str, Any] = {"burn_in": 100, "draws": 10, "thin": 5}
IMAGE_CHAIN: dict[str, Any] = {"content": "vmf", "burn_in": 100, "draws": 5, "thin": 5}
PAPER_CHAIN: dict[str, Any] = {"start_clusters": None, "start_topics": 100, "settle": 50}
PAPER_CHAIN |= {"burn_in": 6, "draws": 2, "thin": 2}
PART_CHAIN: dict[str, Any] = {"start_clusters": None, "start_topics": 50, "settle": 50}
PART_CHAIN |= {"burn_in": 60, "draws": 5, "thin": 10}

REDRAWS, PART_REDRAWS = 30, 3
"""Tokens of a held-out paper, or of a part of one, whose topics are drawn anew after each."""

NEW_LETTERS = 10_000
"""What is added to the seed to draw the documents that are predicted."""

SHAPE = 7, 5
"""Rows and columns of a letter."""

ALIKE = 0.95
"""Cosine from which on a topic is a letter, and two topics are one."""

SHOWN_TOPICS = 4
"""Lines of the figure of topics over time."""


def letters_once(context: str, seed: int) -> Result:
    """Cluster letters drawn with ``seed``, and compare with what they were drawn from."""
    if context == IMAGES:
        return images_once(seed)
    data = letters(seed)
    model = MultilevelClustering(random_state=seed, **LETTER_CHAIN)
    model.fit(data.counts, data.contexts["number"] if context == WITH else None)
    return _compared(model, data.y) | {"perplexity": model.perplexity(letters(seed + NEW_LETTERS).counts)}


def images_once(seed: int) -> Result:
    """The same where every word is an image of its letter, not one pixel."""
    contents, numbers, y = letter_images(seed)
    model = MultilevelClustering(random_state=seed, **IMAGE_CHAIN).fit(contents, numbers)
    return _compared(model, y) | {"perplexity": None}


def wander_once(start: str, seed: int) -> Result:
    """Let a chain on letters go on from the true clusters and letters, or from random clusters and no topics."""
    counts, numbers, y, labels = labelled_letters(seed)
    content, rng = word_content(counts), np.random.default_rng(seed)
    if start == TRUTH:
        content = content._replace(l=labels)
    z = y if start == TRUTH else rng.integers(0, 20, len(y))
    chain = Chain(content, [gaussian((numbers - numbers.mean())[:, None])], z, rng)
    begun = chain.log_joint()
    trace = np.array([(chain.sweep(), chain.k, chain.m) for _ in range(WANDERING)])[WANDERING // 2 :]
    fewest, most = np.percentile(trace[:, 2], [5, 95]).tolist()
    return {
        "log joint density at first": begun,
        "in the end": float(trace[-1, 0]),
        "clusters": float(trace[:, 1].mean()),
        "fewest topics": fewest,
        "most topics": most,
    }


def _shapes() -> NDArray[np.float64]:
    return np.array([[float(pixel) for pixel in image.replace(" ", "")] for image in LETTERS.values()])


def _compared(model: MultilevelClustering, y: NDArray[np.int64]) -> Result:
    nmi = metrics.normalized_mutual_information(model.labels_, y)
    return {"clusters": model.n_clusters_, "nmi": nmi} | recovered(model.topics_)


def recovered(topics: NDArray[Any]) -> Result:
    """Compare ``topics`` (M, 35) with the letters: how many there are, and how many letters are among them."""
    images, found = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (_shapes(), topics))
    alike = found @ found.T > ALIKE
    return {
        "topics": len(topics),
        "different topics": int((~np.tril(alike, -1).any(axis=1)).sum()),
        "letters": int(((images @ found.T).max(axis=1) > ALIKE).sum()),
        "pictures": _pictures(found, images),
    }


def _pictures(found: NDArray[np.float64], images: NDArray[np.float64]) -> list[Any]:
    """Letters that topics are most like, in alphabetical order, each with the topic as rows of pixels, 0 to 1."""
    best = (found @ images.T).argmax(axis=1)
    shown = np.clip(found / found.max(axis=1, keepdims=True), 0.0, 1.0).reshape(-1, *SHAPE)
    return [[list(LETTERS)[best[m]], shown[m].tolist()] for m in np.argsort(best, kind="stable")]


def split(seed: int, words: int) -> tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of the papers, of all ``words`` if 0, and which papers are for training and which held out."""
    data = papers()
    order = np.random.default_rng(seed).permutation(len(data.titles))
    count = round(HELD_OUT * len(order))
    return (drawn(data.counts, words, seed) if words else data.counts), np.sort(order[count:]), order[:count]


def nips_once(context: str, words: int, seed: int) -> Result:
    """Fit nine tenths of the papers, all or ``words`` drawn from each, with one kind of ``context``; predict the rest.

    ``seed`` decides the split, the words and the chain.
    """
    data, (counts, train, test) = papers(), split(seed, words)
    given, own = ({} if context == WITHOUT else {context: data.contexts[context][rows]} for rows in (train, test))
    model = MultilevelClustering(random_state=seed, **(PART_CHAIN if words else PAPER_CHAIN))
    model.fit(counts[train], given)
    seen, rest = halved(counts[test], seed)
    total = counts[train].sum(axis=0) + model.word_prior
    unigram = counts[test] @ np.log(total / total.sum())
    redraws = PART_REDRAWS if words else REDRAWS
    unseen = model.perplexity(counts[test], redraws=redraws)
    return {
        "unseen": unseen,
        "own context": model.perplexity(counts[test], own, redraws=redraws) if own else unseen,
        "half": model.perplexity(rest, own, seen=seen),
        "mean": metrics.perplexity(_at_mean(model, counts[test]), counts[test].sum(axis=1)),
        "unigram": metrics.perplexity(unigram, counts[test].sum(axis=1)),
        "most": {} if own else _most_gained(model.labels_, data, train, test, float(counts[test].sum())),
        "clusters": model.n_clusters_,
        "topics": model.n_topics_,
        "largest": _largest(model, data, train, context),
        "curves": _curves(model, data, context),
    }


def _most_gained(
    labels: NDArray[np.int64], data: CountsInContext, train: NDArray[np.int64], test: NDArray[np.int64], words: float
) -> Result:
    """Per cent that the perplexity of the held-out words can fall by contexts of all papers, at most.

    log p(w | x) - log p(w) = log p(x | w) - log p(x) <= -log p(x), all given the words of the training papers, of which
    contexts depend on the clusters alone; held-out papers are clusters by themselves.
    """
    order = np.concatenate([train, test])
    z = np.concatenate([labels, labels.max() + 1 + np.arange(len(test))])
    found = {}
    for name, values in data.contexts.items():
        named = Named({name: values[order]}, len(order), "auto", {}, ITEM)
        state = SamplerState(word_content(csr_array(np.ones((len(order), 2)))), named.contexts, z, (1.0, 1.0, 1.0))
        surprise = -log_marginals(state.contexts[0]) - (_orders(values) if name in data.items else 0.0)
        found[name] = 100 * -np.expm1(-surprise / words)
    return found


def _orders(counts: csr_array) -> float:
    """Logarithm of the number of sequences that the items of bags could come in."""
    return float(gammaln(np.asarray(counts.sum(axis=1)) + 1.0).sum() - gammaln(counts.data + 1.0).sum())


def _at_mean(model: MultilevelClustering, counts: csr_array) -> NDArray[np.float64]:
    """log p(w_j) with the weights of topics in every cluster at their mean, not updated by the tokens."""
    each = []
    for draw in model.draws_:
        weights = np.append(draw.members, draw.alpha)
        scores = counts @ np.log(draw.mixing @ draw.topics.astype(np.float64)).T + np.log(weights / weights.sum())
        each.append(np.logaddexp.reduce(scores, axis=1))
    return averaged(each)


def _largest(model: MultilevelClustering, data: CountsInContext, train: NDArray[np.int64], context: str) -> Result:
    """The largest cluster: its strongest items, titles of papers, and topics."""
    items = {name: names for name, names in data.items.items() if name == context}
    row = model.table(data.words, items, top=8)[0]
    return {
        "papers": len(row["groups"]),
        "items": row["contexts"].get(context, []),
        "titles": [data.titles[train[j]] for j in row["groups"][:6]],
        "topics": row["topics"][:4],
    }


def _curves(model: MultilevelClustering, data: CountsInContext, context: str) -> list[Any]:
    """Words and density over the years of the topics that are most their own time's."""
    if context != "timestamp":
        return []
    years = np.arange(data.contexts[context].min(), data.contexts[context].max() + 1)
    density = model.topic_contexts(context, years)
    common = np.flatnonzero(model.weights_ @ model.mixing_ > 0.005)
    order = common[np.argsort(-density[common].max(axis=1), kind="stable")][:SHOWN_TOPICS]
    names = np.asarray(data.words, object)
    return [[names[np.argsort(-model.topics_[m])[:4]].tolist(), years.tolist(), density[m].tolist()] for m in order]
