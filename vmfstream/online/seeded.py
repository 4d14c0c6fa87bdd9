"""First fits with seeds: directions that people gave, each of which begins a topic of its own.

A seed m is a prior on its topic's mean, as if ``given.seed_documents`` documents of exactly this direction had been
seen before all others. It is part of the topic's anchor and never fades. Documents most like a seed begin in its topic;
in the rest the other topics are found, and then all are fitted together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.starts import annealed_starts
from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.mixtures.concentration import shared_concentration
from vmfstream.mixtures.movmf import fit
from vmfstream.mixtures.seeding import one_hot
from vmfstream.online.state import Matrix, Rows, TrackerSettings, rows_of


class SeededFit(NamedTuple):
    """A static fit with the common part of its prior, and with ``own`` (D, kp), what the seeds added to it."""

    fit: variational.FlatFit
    prior: Prior
    own: Matrix


def seeded_fit(x: Rows, k: int, seeds: Matrix, settings: TrackerSettings, rng: np.random.Generator) -> SeededFit:
    """Fit ``k`` topics to rows of all times, of which the first stand where ``seeds`` do.

    Parameters
    ----------
    x : (N, D) unit rows.
    k : at least as many as there are seeds.
    seeds : (D, J) unit columns.
    settings : those of the run.
    rng : draws where the other topics begin.
    """
    j = seeds.shape[1]
    resp = _start(x, k, seeds, settings, rng)
    s, n = accumulate(x, resp, threads=settings.threads), resp.sum(axis=0, dtype=np.float64)[:k]
    kappa = float(shared_concentration(x.shape[1], column_norms(s)[:k], n, n.sum()))
    own = np.zeros((x.shape[1], padded(k)), np.float32)
    own[:, :j] = np.float32(settings.given.seed_documents * kappa) * seeds
    common = moment_prior(x, resp, k, alpha=settings.alpha)
    each = own + np.where(np.arange(own.shape[1]) < k, common.b[:, None], np.float32(0.0)).astype(np.float32)
    sweeps = settings.fitting.flat_sweeps
    prior = Prior(settings.alpha, each)
    found = variational.fit(x, resp, k, prior, kappa="point", max_iter=sweeps, threads=settings.threads)
    return SeededFit(found, common, own)


def _start(x: Rows, k: int, seeds: Matrix, settings: TrackerSettings, rng: np.random.Generator) -> Matrix:
    """Memberships (N, kp): documents like a seed in its topic, the rest in others, that are found among them.

    What is like a seed grows by what is like these documents, beside one topic of all others.
    """
    j, known = seeds.shape[1], directed(x)
    wide = np.zeros((x.shape[1], padded(j)), np.float32)
    wide[:, :j] = seeds
    cosine = dots(x, wide, threads=settings.threads)[:, :j]
    label = np.where(cosine.max(axis=1) >= settings.given.seed_cosine, cosine.argmax(axis=1), j)
    label[~known] = -1
    if k > j and (label == j).any():
        begun = one_hot(label, j + 1, np.float32)
        grown = fit(
            x, j + 1, rng=rng, init=begun, anneal=False, max_iter=settings.given.seed_sweeps, threads=settings.threads
        )
        label = grown.labels
    rest = np.flatnonzero(label == j)
    if k == j or len(rest) < k - j:
        label, rest = np.where(known, cosine.argmax(axis=1), -1), rest[:0]
    resp = np.zeros((rows_of(x), padded(k)), np.float32)
    rows = np.flatnonzero((label >= 0) & (label < j))
    resp[rows, label[rows]] = 1.0
    if len(rest):
        rules = settings.fitting
        most = max(rules.sampled_documents, rules.sampled_per_topic * (k - j))
        sample = np.sort(rng.permutation(rest)[:most])
        (found,) = annealed_starts(x[sample], k - j, rng, 1, threads=settings.threads)
        resp[sample, j : j + (k - j)] = found[:, : k - j]
    return resp
