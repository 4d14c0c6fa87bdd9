"""Numbers printed in Li's note on the Dirichlet-vMF mixture model ([Li])."""

from __future__ import annotations

from collections.abc import Mapping

SETS = ("20News", "Reuters")

MEASURES = ("precision", "recall", "F1")
"""Averaged over classes, in percent."""

TOPICS: Mapping[str, int] = {"20News": 15, "Reuters": 12}
"""Topics that are learnt from the documents of each class."""


def _row(*scores: float) -> dict[str, dict[str, float]]:
    return {name: dict(zip(MEASURES, scores[3 * i : 3 * i + 3], strict=True)) for i, name in enumerate(SETS)}


CLASSIFICATION: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "BOW": _row(69.1, 68.5, 68.6, 92.5, 90.3, 91.1),
    "LDA": _row(61.9, 61.4, 60.3, 76.1, 74.3, 74.8),
    "sLDA": _row(61.4, 60.9, 60.9, 88.3, 83.3, 85.1),
    "LFTM": _row(63.5, 64.8, 63.7, 84.6, 86.3, 84.9),
    "MeanWV": _row(70.4, 70.3, 70.1, 92.0, 89.6, 90.5),
    "Doc2Vec": _row(56.3, 56.6, 55.4, 84.4, 50.0, 58.5),
    "TWE": _row(69.5, 69.3, 68.8, 91.0, 89.1, 89.9),
    "TopicVec": _row(71.3, 71.3, 71.2, 92.5, 92.1, 92.2),
    "VMFMix": _row(63.8, 63.9, 63.7, 87.9, 88.7, 88.0),
}
"""Table 1, by method and collection."""
