"""What scikit-learn's and river's own checks are told and given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from river.checks import common

EXPECTS_CLASSIFIER = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "the check asks every estimator with predict_proba for the tags of a classifier, which a clusterer lacks",
)
RIVER_METHOD = {"check_estimator_tags_renamed": "river's estimators have a method that scikit-learn once had too"}
LEARNS_IN_ORDER = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "the check shuffles the rows, which are learnt in their order; weights equal repeated rows in the same order",
)
"""Checks of scikit-learn that must fail, and why: once they pass, the tests fail until the entry is removed."""

RIVER_CHECKS = [
    common.check_learn_one,
    common.check_pickling,
    common.check_shuffle_features_no_impact,
    common.check_emerging_features,
    common.check_disappearing_features,
    common.check_radically_disappearing_features,
    common.check_predict_one_before_any_learn,
    common.check_no_state_aliasing_with_input,
    common.check_clone_is_independent,
    common.check_seeding_is_idempotent,
    common.check_bounded_memory_growth,
]
"""Checks that river runs on its own data sets only, of which it has none for clusterers."""

SUBJECTS = ("cat fur paw tail purr", "ship sea port sail crew", "stock bank bond rate fund")


def texts(n: int, seed: int = 0) -> Iterator[tuple[str, int]]:
    """Short texts of three subjects, and their subjects."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        subject = int(rng.integers(3))
        yield " ".join(rng.choice(SUBJECTS[subject].split(), 6)) + f" word{rng.integers(40)}", subject


def bags(n: int, seed: int = 0) -> Iterator[tuple[dict[str, int], int]]:
    """The same as word counts."""
    for text, subject in texts(n, seed):
        yield {word: text.split().count(word) for word in text.split()}, subject
