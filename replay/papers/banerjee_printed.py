"""Numbers printed in Banerjee, Dhillon, Ghosh and Sra 2005 ([BDGS05])."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Confusion: TypeAlias = tuple[tuple[int, ...], ...]
"""Documents by cluster (rows) and class (columns)."""

CLASSES = ("medline", "cisi", "cranfield")
"""The order of the classes in the confusion matrices."""

APPROXIMATIONS = (
    (10, 0.633668, 10, (12.2839, 9.36921, 10.1631)),
    (100, 0.46945, 60, (93.2999, 59.3643, 60.0833)),
    (500, 0.46859, 300, (469.506, 296.832, 300.084)),
    (1000, 0.554386, 800, (1120.92, 776.799, 800.13)),
)
"""Table 1: dimension, mean resultant length, concentration, and its estimates by (4.1), (4.2) and (4.4)."""

SMALL_MIX = (
    ((-0.251, -0.968), (-0.279, -0.960), 4.0, 3.78, 0.48, 0.46),
    ((0.399, 0.917), (0.370, 0.929), 4.0, 3.53, 0.52, 0.54),
)
"""Table 2: true and estimated mean direction, concentration and weight of both components."""

SMALL_MIX_MISPLACED = 1
"""Points in the wrong cluster, from the confusion matrix of section 6.3."""

BIG_MIX = {
    "min cosine": 0.994,
    "mean cosine": 0.998,
    "max κ error": 0.006,
    "mean κ error": 0.004,
    "max weight error": 0.002,
    "mean weight error": 0.001,
}
"""Table 3."""

CONCENTRATIONS = {"hard-moVMF": (732.13, 809.53, 1000.04), "soft-moVMF": (731.55, 808.21, 1002.95)}
"""Section 6.4: concentrations of three clusters of Classic3."""

CLASSIC3_WORDS = 4666
"""Section 6.1: the dimension of Classic3."""

CLASSIC3: Mapping[str, Confusion] = {
    "fskmeans": ((1019, 0, 0), (1, 6, 1386), (13, 1454, 12)),
    "spkmeans": ((1019, 0, 0), (1, 6, 1386), (13, 1454, 12)),
    "hard-moVMF": ((1018, 0, 0), (2, 6, 1387), (13, 1454, 11)),
    "soft-moVMF": ((1019, 0, 1), (1, 4, 1384), (13, 1456, 13)),
}
"""Table 4."""

CLASSIC300: Mapping[str, Confusion] = {
    "fskmeans": ((29, 38, 22), (31, 27, 38), (40, 35, 40)),
    "spkmeans": ((29, 38, 22), (31, 27, 38), (40, 35, 40)),
    "hard-moVMF": ((3, 72, 1), (62, 28, 17), (35, 0, 82)),
    "soft-moVMF": ((0, 98, 0), (99, 2, 0), (1, 0, 100)),
}
"""Table 5."""

CLASSIC400: Mapping[str, Confusion] = {
    "fskmeans": ((27, 16, 55), (51, 83, 12), (23, 1, 132)),
    "spkmeans": ((27, 17, 54), (51, 82, 12), (23, 1, 133)),
    "hard-moVMF": ((56, 28, 20), (44, 72, 14), (1, 0, 165)),
    "soft-moVMF": ((0, 0, 91), (82, 99, 2), (19, 1, 106)),
}
"""Table 6."""

CLASSIC3_FIVE: Mapping[str, Confusion] = {
    "fskmeans": ((2, 4, 312), (8, 520, 10), (5, 936, 6), (1018, 0, 1), (0, 0, 1069)),
    "spkmeans": ((2, 4, 323), (8, 512, 9), (5, 944, 6), (1018, 0, 1), (0, 0, 1059)),
    "hard-moVMF": ((3, 5, 292), (511, 1, 0), (514, 1, 0), (0, 2, 1093), (5, 1451, 13)),
    "soft-moVMF": ((0, 1, 1107), (5, 1455, 14), (526, 2, 1), (501, 0, 0), (1, 2, 276)),
}
"""Table 7."""

SECONDS: Mapping[str, Mapping[int, tuple[float, float]]] = {
    "Classic300": {3: (0.39, 11.56), 5: (0.54, 17.99)},
    "Classic3": {3: (3.03, 109.87), 5: (3.59, 163.09)},
    "News20": {3: (10.18, 619.68), 5: (14.05, 874.13), 10: (18.9, 1512.0), 20: (29.08, 3368.0)},
}
"""Table 8: hard-moVMF and soft-moVMF on an Athlon of 2005, by data set and number of clusters."""
