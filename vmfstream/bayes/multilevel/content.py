"""Tokens of the multilevel sampler, words or unit vectors, and the prior of an empty topic."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.multilevel.contexts import VAGUE, prior_direction
from vmfstream.bayes.multilevel.slots import SLOTS
from vmfstream.directional.bessel import ell, inv_bessel_ratio

WORD, VECTOR = 0, 1

WORD_PRIOR = 0.1
"""Dirichlet parameter of every word of a topic."""


class Content(NamedTuple):
    """Tokens and their topics.

    ``indptr`` (J+1,); ``words`` (T,) or ``vectors`` (T, W) with ``own`` (T,) = x'b; ``law``: (b, V b) of words or
    (d, kappa, |b|); ``l`` (T,), -1 for none yet; ``tokens`` (mc,); ``sums`` (W, mc); ``norm`` (mc,): 1/(n + V b), or
    ell(|kappa S + b|); ``square``, ``cross`` (mc,) of vectors; ``share`` (mc,) of the topics, 0 in free slots.
    """

    kind: int
    indptr: Indices
    words: Indices
    vectors: Vector
    own: Vector
    law: Vector
    l: Indices  # noqa: E741
    tokens: Vector
    sums: Vector
    norm: Vector
    square: Vector
    cross: Vector
    share: Vector


def word_content(counts: csr_array, b: float = WORD_PRIOR) -> Content:
    """Words of every group from counts (J, V) of whole numbers; ``b`` is the Dirichlet parameter of every word."""
    rows = csr_array(counts)
    times = rows.data.astype(np.int64)
    words = np.repeat(rows.indices.astype(np.int64), times)
    indptr = np.concatenate([[0], np.cumsum(times)])[rows.indptr].astype(np.int64)
    law = np.array([b, b * rows.shape[1], 0.0])
    return _content(WORD, indptr, words, np.zeros((0, 0)), np.zeros(0), law, rows.shape[1])


def vector_content(
    vectors: Vector, indptr: NDArray[np.integer[Any]], *, kappa: float | None = None, c0: float = VAGUE
) -> Content:
    """Unit ``vectors`` (T, D) as tokens, those of group j from ``indptr[j]`` to ``indptr[j + 1]``.

    ``kappa`` starts at that of a mean resultant length of one half; ``c0`` > 0 is the length of the prior's natural
    vector.
    """
    x = np.ascontiguousarray(vectors, np.float64)
    b = prior_direction(x.sum(axis=0), c0)
    start = float(inv_bessel_ratio(x.shape[1], 0.5)) if kappa is None else kappa
    law = np.array([float(x.shape[1]), start, float(np.linalg.norm(b))])
    return _content(VECTOR, np.asarray(indptr, np.int64), np.zeros(0, np.int64), x, x @ b, law, x.shape[1])


def _content(
    kind: int, indptr: Indices, words: Indices, vectors: Vector, own: Vector, law: Vector, width: int
) -> Content:
    labels = np.full(int(indptr[-1]), -1, np.int64)
    return Content(kind, indptr, words, vectors, own, law, labels, *empty_topics(kind, law, width, SLOTS))


def empty_topics(kind: int, law: Vector, width: int, slots: int) -> tuple[Vector, ...]:
    """Sums of topics without tokens: the last six fields of a `Content`.

    ``kind``, ``law`` and ``width`` are those of its tokens, words or vectors; ``slots`` is the number of topics.
    """
    norm = np.full(slots, 1.0 / law[1] if kind == WORD else float(ell(law[0], law[2])))
    return np.zeros(slots), np.zeros((width, slots)), norm, np.zeros(slots), np.zeros(slots), np.zeros(slots)
