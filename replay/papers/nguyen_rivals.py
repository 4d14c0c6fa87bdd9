"""Topic models that know no contexts, on the letters that [MC2] draws: LDA, and HDP where tomotopy is installed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.bayes.multilevel.sampler_state import Draw
from vmfstream.replay.papers.nguyen_data import letters
from vmfstream.replay.papers.nguyen_fits import NEW_LETTERS, recovered
from vmfstream.replay.papers.nguyen_hdp import Hdp, unseen
from vmfstream.replay.papers.work import Result

LDA, HDP = "LDA", "HDP"

HDP_START = 50
"""Topics that the HDP begins with."""


def lda_letters_once(topics: int, seed: int) -> Result:
    """Fit so many ``topics`` by latent Dirichlet allocation to letters drawn with ``seed``, and predict new ones."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(topics, random_state=seed).fit(letters(seed).counts)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return recovered(found) | {"perplexity": unseen([_state(found, model.doc_topic_prior_)], _new(seed))}


def hdp_letters_once(seed: int, version: str) -> Result:
    """Do the same by an HDP, nothing where it is not installed (``version`` is empty)."""
    if not version:
        return dict.fromkeys(("topics", "different topics", "letters", "perplexity")) | {"pictures": []}
    model = Hdp.of(letters(seed).counts, HDP_START, seed)
    return recovered(model.draws[-1].topics[:-1]) | {"perplexity": model.unseen(_new(seed))}


def _new(seed: int) -> csr_array:
    return letters(seed + NEW_LETTERS).counts


def _state(topics: NDArray[np.float64], prior: float) -> Draw:
    """Return a state of no clusters, whose ``topics`` (M, V) have weights under a Dirichlet ``prior`` for each."""
    m, v = topics.shape
    return Draw(
        labels=np.empty(0, np.int64),
        members=np.empty(0),
        alpha=1.0,
        spread=prior * m,
        eta=0.0,
        tokens=np.empty((0, m)),
        mixing=np.append(np.full(m, 1 / m), 0.0)[None],
        topics=np.vstack([topics, np.full(v, 1 / v)]),
        kappa=0.0,
        contexts=(),
        log_joint=0.0,
    )
