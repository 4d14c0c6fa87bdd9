"""The truth about a planted stream: its topics and their events; scores of how well a tracker found them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class TruthEvent:
    """What happens to a planted topic; the kinds are those of ``records.Event``, and ``burst``."""

    kind: Literal["started", "born", "dormant", "merged", "split", "drift", "burst"]
    slice: int
    topic: int
    other: int | None = None


@dataclass(frozen=True, slots=True)
class PhaseTruth:
    """Slices ``[begins, ends)`` in which one phase of a topic leads, and its words, most frequent first."""

    name: str
    begins: int
    ends: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TopicTruth:
    """A planted topic: it is active in slices ``[birth, death)``, ``death`` is None if it outlives the stream.

    ``expected`` (T,) is the expected number of documents per slice, zero outside of ``[birth, death)``.
    """

    topic: int
    name: str
    birth: int
    death: int | None
    phases: tuple[PhaseTruth, ...]
    expected: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Everything a tracker could find out about a planted stream."""

    labels: tuple[str, ...]
    topics: tuple[TopicTruth, ...]
    events: tuple[TruthEvent, ...]

    def alive(self, slice: int) -> tuple[int, ...]:
        """Return the numbers of the topics that have documents in a slice."""
        return tuple(topic.topic for topic in self.topics if topic.expected[slice] > 0)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Agreement of found with planted topics: one for equal partitions, near zero for unrelated ones."""

    nmi: float
    ari: float


def recovery(truth: ArrayLike, predicted: ArrayLike) -> Recovery:
    """Compare topics found with topics planted, whatever their numbers.

    Parameters
    ----------
    truth, predicted : array_like of int, shape (N,)
        One label per document, in the same order.

    Returns
    -------
    Recovery
        Normalised mutual information (arithmetic mean) and adjusted Rand index.

    Raises
    ------
    ValueError
        If the two differ in length or are empty.
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    planted, found = np.asarray(truth), np.asarray(predicted)
    if planted.ndim != 1 or planted.shape != found.shape or not planted.size:
        raise ValueError(f"expected two label vectors of one length, got shapes {planted.shape} and {found.shape}")
    return Recovery(
        nmi=float(normalized_mutual_info_score(planted, found)), ari=float(adjusted_rand_score(planted, found))
    )
