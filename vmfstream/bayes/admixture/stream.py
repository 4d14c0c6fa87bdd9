"""Stepwise EM for the Dirichlet admixture: learn from batches of documents, each read once.

Sums over vectors are kept as averages per document. A batch that arrives is visited under the topics as they are, its
averages are mixed into the old ones with the weight e_t = (t + DELAY)^-DECAY, and the topics follow from the mixture.
An average of few documents makes concentrations too large by chance, so points are estimated without that bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from vmfstream.arrays import Rows
from vmfstream.bayes.admixture.topics import Law, Likelihood, Topics
from vmfstream.bayes.admixture.variational import SWEEPS, AdmixtureFit, Visit, log_proportions, visited
from vmfstream.bayes.factors.empirical_bayes import best_alpha
from vmfstream.mixtures.sums import WeightedSums

DELAY, DECAY = 10.0, 0.6
"""Of the step sizes: later batches weigh less, but their weights sum to infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Sums per document: ``sums`` over vectors, with q as the squares of their weights, and sum_k E[log theta_k]."""

    sums: WeightedSums
    log_theta: float


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """What is known after some batches: ``averages``, the ``topics`` and ``alpha`` that follow, by which ``law``.

    ``steps`` batches of ``documents`` with vectors were read.
    """

    averages: Averages
    topics: Topics
    alpha: float
    law: Law
    steps: int
    documents: int


def begun(fit: AdmixtureFit) -> Stream:
    """Go on from a fit to the first documents."""
    law = replace(fit.law, treatment="debiased") if isinstance(fit.law, Likelihood) else fit.law
    averages, documents = averaged(fit.visit)
    return Stream(averages, fit.topics, fit.alpha, law, 0, documents)


def learned(
    stream: Stream, x: Rows, bags: csr_array, *, learn_alpha: bool = True, sweeps: int = SWEEPS
) -> tuple[Stream, Visit]:
    """Learn one batch of documents; return it with the visit under what was known before.

    Parameters
    ----------
    stream : Stream
    x : (V, D) CSR or dense unit rows
    bags : (N, V) csr_array of `vmfstream.bayes.admixture.variational.directed_bags`; a batch without any vector changes
        nothing
    learn_alpha, sweeps : as in `vmfstream.bayes.admixture.variational.fit`

    References
    ----------
    Cappe & Moulines 2009 (stepwise EM); Hoffman, Blei & Bach 2010 (documents as units).
    """
    found = visited(x, bags, stream.topics, stream.alpha, sweeps=sweeps)
    if not bags.nnz:
        return stream, found
    steps = stream.steps + 1
    fresh, documents = averaged(found)
    averages = mixed(stream.averages, fresh, float((steps + DELAY) ** -DECAY))
    total = stream.documents + documents
    topics = stream.law.topics(scaled(averages.sums, total), stream.topics)
    alpha = best_alpha(topics.k, averages.log_theta, stream.alpha) if learn_alpha else stream.alpha
    return Stream(averages, topics, alpha, stream.law, steps, total), found


def batches(x: Rows, bags: csr_array, size: int) -> Iterator[tuple[Rows, csr_array]]:
    """Cut documents into batches of ``size``, each with the vectors that it holds.

    ``x`` are V unit rows and ``bags`` (N, V) say how often each document holds them.
    """
    for low in range(0, bags.shape[0], size):
        batch = bags[low : low + size]
        used, columns = np.unique(batch.indices, return_inverse=True)
        yield x[used], csr_array((batch.data, columns, batch.indptr), shape=(batch.shape[0], len(used)))


def averaged(visit: Visit) -> tuple[Averages, int]:
    """Return averages over the documents with vectors, and their number."""
    documents = int(visit.has_direction.sum())
    phi = visit.phi[visit.has_direction]
    return Averages(scaled(visit.sums, 1 / documents), float(log_proportions(phi).mean())), documents


def mixed(old: Averages, new: Averages, e: float) -> Averages:
    """Weigh averages ``old`` by 1 - e and ``new`` by e, and their squares accordingly."""
    a, b = scaled(old.sums, 1 - e), scaled(new.sums, e)
    sums = WeightedSums(a.s + b.s, a.nk + b.nk, a.qk + b.qk)
    return Averages(sums, (1 - e) * old.log_theta + e * new.log_theta)


def scaled(sums: WeightedSums, factor: float) -> WeightedSums:
    """Give every vector ``factor`` times its weight."""
    return WeightedSums(sums.s * sums.s.dtype.type(factor), sums.nk * factor, sums.qk * factor**2)
