"""Numbers printed in Gopal and Yang 2014 ([GY14])."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

PrintedScore: TypeAlias = tuple[float, str]
"""A score and the mark of its difference from B-vMFmix: * at the 5 % level, † at the 1 % level."""

Measure: TypeAlias = Literal["NMI", "ARI"]

CLUSTERS = 30

SETS = ("TDT4", "TDT5", "CNAE", "K9", "NEWS20")
"""The columns of Table 2."""


def _row(*scores: str) -> dict[str, dict[Measure, PrintedScore]]:
    """Read NMI and ARI of each set, a score with its mark behind it."""
    read = [(float(score.rstrip("*†")), score.lstrip(".0123456789")) for score in scores]
    return {name: {"NMI": read[2 * i], "ARI": read[2 * i + 1]} for i, name in enumerate(SETS)}


AGREEMENT: Mapping[str, Mapping[str, Mapping[Measure, PrintedScore]]] = {
    "B-vMFmix": _row(".900", ".799", ".860", ".710", ".748", ".669", ".551", ".352", ".567", ".397"),
    "vMFmix": _row(".880†", ".729†", ".851*", ".676†", ".650†", ".426†", ".543*", ".350", ".565", ".386†"),
    "K-means": _row(".842†", ".675†", ".827†", ".591†", ".605†", ".311†", ".487†", ".264†", ".492†", ".217†"),
    "Gaussian mixture": _row(".857†", ".693†", ".833†", ".617†", ".620†", ".357†", ".482†", ".293†", ".518†", ".267†"),
    "multinomial mixture": _row(
        ".720†", ".467†", ".796†", ".580†", ".726†", ".528†", ".487†", ".321†", ".454†", ".200†"
    ),
    "LDA": _row(".841†", ".692†", ".776†", ".501†", ".320†", ".169†", ".269†", ".110†", ".190†", ".091†"),
}
"""Table 2: agreement with the classes, by method and data set."""

SIZES: Mapping[str, Mapping[str, int]] = {
    "TDT4": {"documents": 622, "fitted": 311, "held out": 311, "classes": 34, "words": 8_895},
    "TDT5": {"documents": 6_366, "fitted": 3_183, "held out": 3_183, "classes": 126, "words": 20_733},
    "CNAE": {"documents": 1_079, "fitted": 539, "held out": 540, "classes": 9, "words": 1_079},
    "K9": {"documents": 2_340, "fitted": 1_170, "held out": 1_170, "classes": 20, "words": 21_839},
    "NEWS20": {"documents": 18_744, "fitted": 11_269, "held out": 7_505, "classes": 20, "words": 53_975},
    "NIPS": {"documents": 2_483, "fitted": 1_241, "held out": 1_242, "words": 14_036},
}
"""Table 1: the data sets. The parts of NEWS20 add up to 18,774."""

TEST_DOCUMENTS = {name: sizes["held out"] for name, sizes in SIZES.items()}


def _totals(*values: float) -> dict[str, float]:
    return dict(zip(TEST_DOCUMENTS, values, strict=True))


HELD_OUT: Mapping[int, Mapping[str, Mapping[str, float]]] = {
    20: {
        "B-vMFmix": _totals(8628821.5, 235115133.1, 942719.5, 91683824.8, 1637772501.4, 58811701.0),
        "vMFmix": _totals(8387289.5, 232542058.5, 936675.9, 91476580.9, 1637630340.0, 58671832.3),
    },
    30: {
        "B-vMFmix": _totals(8638797.7, 235145615.9, 944888.3, 91694902.0, 1638015418.8, 58825835.7),
        "vMFmix": _totals(8300513.7, 231946214.7, 939730.9, 91376189.0, 1637866392.5, 58600285.2),
    },
}
"""Table 3: log-likelihood of all documents held out, by number of clusters, method and data set."""

REPRESENTATIONS: Mapping[str, Mapping[str, Mapping[str, tuple[float, float]]]] = {
    "vMFmix": {
        "tf-idf": {"NEWS20": (0.565, 0.386), "TDT5": (0.851, 0.676)},
        "tf": {"NEWS20": (0.084, 0.027), "TDT5": (0.827, 0.657)},
    },
    "K-means": {
        "tf-idf": {"NEWS20": (0.492, 0.213), "TDT5": (0.827, 0.591)},
        "tf": {"NEWS20": (0.089, 0.0284), "TDT5": (0.7993, 0.551)},
    },
}
"""Table 4: NMI and ARI, by method, weights of the words and data set."""

WORDS: Mapping[int, tuple[str, ...]] = {
    1987: ("excitatory", "inhibitor", "activity", "synaptic", "firing", "cells"),
    1991: ("activity", "synaptic", "firing", "inhibitory", "excitatory", "neuron"),
    1994: ("activity", "cortical", "cortex", "stimulus", "neuronal", "response"),
    1997: ("cortical", "visual", "neuronal", "orientation", "spatial", "tuning"),
    2000: ("scene", "spikes", "spike", "quantitative", "visual", "stimuli"),
    2003: ("scene", "accessible", "quantitative", "dissimilarity", "fold", "distinguish"),
}
"""Figure 3: the words of largest weight of one topic of NIPS."""
