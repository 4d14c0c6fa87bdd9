"""The hierarchical Dirichlet process of tomotopy, where it is installed, judged as chains of MC2 are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream import metrics
from vmfstream.bayes.multilevel.content import WORD_PRIOR, word_content
from vmfstream.bayes.multilevel.prediction import Bags, averaged, further, log_probabilities, memberships
from vmfstream.bayes.multilevel.prediction import words_given_topics as likelihoods
from vmfstream.bayes.multilevel.sampler import Chain
from vmfstream.bayes.multilevel.sampler_state import Draw
from vmfstream.replay.papers.nguyen_data import halved
from vmfstream.replay.papers.nguyen_fits import REDRAWS, split
from vmfstream.replay.papers.topic_models import tokens
from vmfstream.replay.papers.work import Result

SWEEPS = (200, 20)
"""Before the first state that is kept, and from it to the second."""


class Hdp(NamedTuple):
    """A model of tomotopy after its last sweep, and the states that were kept of it."""

    model: Any
    draws: list[Draw]

    @classmethod
    def of(cls, counts: csr_array, topics: int, seed: int) -> Hdp:
        """Sample from ``counts`` (J, V), beginning with so many ``topics``.

        A state is one of the multilevel sampler in which every document is a cluster by itself. ``seed`` decides the
        chain.
        """
        import tomotopy

        model = tomotopy.HDPModel(eta=WORD_PRIOR, initial_k=topics, alpha=1.0, gamma=1.0, seed=seed)
        model.optim_interval = 0  # else alpha falls to .002 on pictures, of one topic each then: perplexity 621
        for words in tokens(counts):
            model.add_doc(words)
        draws = []
        for sweeps in SWEEPS:
            model.train(sweeps, workers=1)
            draws.append(_state(model, counts, seed))
        return cls(model, draws)

    @property
    def topics(self) -> int:
        """Number of topics of the last state."""
        return len(self.draws[-1].topics) - 1

    def unseen(self, counts: csr_array) -> float:
        """Perplexity of new documents (J, V)."""
        return unseen(self.draws, counts)

    def half(self, counts: csr_array, seed: int) -> float:
        """Perplexity of halves of new documents (J, V), cut by ``seed``, given the other halves."""
        seen, rest = (bags_of(part) for part in halved(counts, seed))
        rng, each = np.random.default_rng(0), []
        for draw in self.draws:
            like = likelihoods(draw)
            each.append(further(like, rest, memberships(draw, like, seen, _alone(draw, counts), rng)))
        return metrics.perplexity(averaged(each), np.diff(rest.indptr))

    def shares(self) -> NDArray[np.float64]:
        """Expected shares of the topics in every document given the topics of its tokens in the last state, (J, M)."""
        tokens = np.array([np.bincount(doc.topics, minlength=self.model.k) for doc in self.model.docs], np.float64)
        tokens = tokens[:, tokens.any(axis=0)]
        prior = self.model.alpha * tokens.sum(axis=0) / tokens.sum()
        return np.asarray((tokens + prior) / (tokens.sum(axis=1, keepdims=True) + self.model.alpha))


def hdp_once(words: int, seed: int, version: str) -> Result:
    """Predict the same papers by an HDP, nothing where it is not installed (``version`` is empty).

    ``words`` and ``seed`` as in `vmfstream.replay.papers.nguyen_fits.nips_once`.
    """
    if not version:
        return {"unseen": None, "half": None, "topics": None}
    counts, train, test = split(seed, words)
    found = Hdp.of(csr_array(counts[train]), 50 if words else 100, seed)
    return {"unseen": found.unseen(counts[test]), "half": found.half(counts[test], seed), "topics": found.topics}


def unseen(draws: Sequence[Draw], counts: csr_array) -> float:
    """Return the perplexity of new documents (J, V), each a cluster by itself, under states of a chain."""
    rng, bags = np.random.default_rng(0), bags_of(counts)
    each = [
        log_probabilities(draw, likelihoods(draw), bags, _alone(draw, counts), rng, steps=REDRAWS) for draw in draws
    ]
    return metrics.perplexity(averaged(each), counts.sum(axis=1))


def bags_of(counts: csr_array) -> Bags:
    """Return the tokens of counts (J, V)."""
    content = word_content(counts)
    return Bags(content.indptr, content.words)


def _alone(draw: Draw, counts: csr_array) -> NDArray[np.float64]:
    """Log odds that make a cluster by itself of every new document, (J, K + 1)."""
    odds = np.full((counts.shape[0], len(draw.members) + 1), -np.inf)
    odds[:, -1] = 0.0
    return odds


def _state(model: Any, counts: csr_array, seed: int) -> Draw:
    """Read the topics of all tokens of tomotopy's model, and draw the topics' shares given them."""
    content, place = word_content(counts), np.array([int(word) for word in model.used_vocabs])
    topics = [np.asarray(doc.topics)[np.argsort(place[np.asarray(doc.words)], kind="stable")] for doc in model.docs]
    labels = np.unique(np.concatenate(topics), return_inverse=True)[1].astype(np.int64)
    levels = 1.0, float(model.alpha), float(model.gamma)
    alone = np.arange(counts.shape[0])
    chain = Chain(content._replace(l=labels), (), alone, np.random.default_rng(seed), levels=levels)
    return chain.draw(0.0)
