"""K-means on the sphere as scikit-learn estimators: its own checks, and what they promise beyond."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from vmfstream.estimators.kmeans import FrequencySensitiveKMeans, SphericalKMeans

DRAWN = "starts are drawn by row number: only after equal starts are weights and repeated rows the same"
INAPPLICABLE = {
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": DRAWN,
}


@parametrize_with_checks(
    [
        SphericalKMeans(3, random_state=0),
        FrequencySensitiveKMeans(3, random_state=0),
        FrequencySensitiveKMeans(3, mode="online", frequency="asymptotic", random_state=0),
    ],
    expected_failed_checks=lambda _: INAPPLICABLE,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)
