"""The mixtures as scikit-learn estimators: its own checks, and what they promise beyond."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from vmfstream.estimators.mixtures import VMFMixture

NOT_FOR_CLUSTERERS = "takes whatever has predict_proba and reads sparse matrices for a classifier"
DRAWN = "starts are drawn by row number: only from equal starts are weights and repeated rows the same"
INAPPLICABLE = {
    "check_estimator_sparse_array": NOT_FOR_CLUSTERERS,
    "check_estimator_sparse_matrix": NOT_FOR_CLUSTERERS,
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": DRAWN,
}


@parametrize_with_checks(
    [
        VMFMixture(n_components=3, max_iter=300, random_state=0),
        VMFMixture(3, assignment="hybrid", concentration="own", estimator="debiased", max_iter=300, random_state=0),
    ],
    expected_failed_checks=lambda _: INAPPLICABLE,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)
