"""Sparse matrices whose parts do not fit together: a clear error before compiled code sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import bsr_array, csc_array, csr_array

import vmfstream
from vmfstream.directional.checks import check_sparse

DISTRIBUTIONS = [
    vmfstream.VonMisesFisher,
    vmfstream.Watson,
    vmfstream.SphericalCauchy,
    vmfstream.FisherBingham,
    vmfstream.AngularCentralGaussian,
]

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "VMFMixture": lambda: vmfstream.VMFMixture(3, n_init=1, random_state=0),
    "SphericalCauchyMixture": lambda: vmfstream.SphericalCauchyMixture(3),
    "SphericalKMeans": lambda: vmfstream.SphericalKMeans(3),
    "FrequencySensitiveKMeans": lambda: vmfstream.FrequencySensitiveKMeans(3),
    "BayesianVMFMixture": lambda: vmfstream.BayesianVMFMixture(3),
    "DirichletProcessVMFMixture": lambda: vmfstream.DirichletProcessVMFMixture(3),
    "HierarchicalVMFMixture": vmfstream.HierarchicalVMFMixture,
    "OnlineVMFMixture": lambda: vmfstream.OnlineVMFMixture(3),
    "StoryMixture": vmfstream.StoryMixture,
    "TemporalVMFMixture": lambda: vmfstream.TemporalVMFMixture(3),
    "VMFHiddenMarkovModel": lambda: vmfstream.VMFHiddenMarkovModel(3),
    "WatsonMixture": lambda: vmfstream.WatsonMixture(3),
    "DiametricalKMeans": lambda: vmfstream.DiametricalKMeans(3),
    "DirichletVMFAdmixture": lambda: vmfstream.DirichletVMFAdmixture(3),
    "MultilevelClustering": lambda: vmfstream.MultilevelClustering(),
}


def rows(n: int = 40, d: int = 20) -> csr_array:
    rng = np.random.default_rng(0)
    return csr_array(np.where(rng.random((n, d)) < 0.3, rng.integers(1, 5, (n, d)), 0).astype(np.float64))


def damaged(kind: str) -> csr_array:
    x = rows()
    match kind:
        case "high":
            x.indices[5] = 10**8
        case "negative":
            x.indices[5] = -3
        case "beyond":
            x.indptr[-1] = x.nnz + 1000
        case "falling":
            x.indptr[7] = x.indptr[6] - 3
        case "wrapping":  # differences of 64 bits are positive
            x.indptr = x.indptr.astype(np.int64)
            x.indptr[1:4] = 2**63 - 1, -(2**63), -1
        case "unsigned":
            x.indptr = x.indptr.astype(np.uint32)
            x.indptr[7] = 2**32 - 5
        case "fractions":
            x.indices = np.where(np.arange(x.nnz) == 5, np.nan, x.indices)
    return x


def damaged_in_format(kind: str) -> Any:
    if kind == "lil":
        x: Any = rows().tolil()
        x.rows[0] = [*x.rows[0][:-1], 10**8]
        return x
    if kind == "dok":
        x = rows().todok()
        dict.__setitem__(x._dict, (10**8, 3), 1.0)
        return x
    x = rows().tocoo()
    x.coords[0 if kind == "coo rows" else 1][5] = -(10**7)
    return x


MESSAGES = {
    "high": r"expected indices from 0 to 19, got 100000000 at entry 5",
    "negative": r"expected indices from 0 to 19, got -3 at entry 5",
    "beyond": r"expected 41 bounds of a sparse matrix, from 0 to at most \d+, got 41 from 0 to \d+",
    "falling": r"expected bounds of a sparse matrix that never fall, got \d+ after \d+ at place 7",
    "wrapping": r"never fall, got -9223372036854775808 after 9223372036854775807 at place 2",
    "unsigned": r"never fall, got \d+ after 4294967291 at place 8",
    "fractions": r"expected whole numbers as indices of a sparse matrix, got float64",
}

FORMATS = {
    "coo rows": "expected indices from 0 to 39, got -10000000 at entry 5",
    "coo columns": "expected indices from 0 to 19, got -10000000 at entry 5",
    "lil": r"expected indices from 0 to 19, got 100000000 at entry \d+",
    "dok": r"expected indices from 0 to 39, got 100000000 at entry \d+",
}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_refuses_them(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match=MESSAGES[kind]):
        ESTIMATORS[name]().fit(damaged(kind))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "fit", [vmfstream.VonMisesFisher.fit, vmfstream.SphericalKMeans(3).fit, vmfstream.OnlineVMFMixture(3).fit]
)
def test_other_formats_are_refused_too(fit: Callable[[Any], Any], kind: str) -> None:
    with pytest.raises(ValueError, match=FORMATS[kind]):
        fit(damaged_in_format(kind))


@pytest.mark.parametrize("kind", ["high", "negative", "beyond", "falling"])
def test_scores_refuse_them(kind: str) -> None:
    x, words = damaged(kind), [chr(97 + column) for column in range(20)]
    for score in (
        lambda: vmfstream.metrics.cohesion(x, np.arange(40) % 3),
        lambda: vmfstream.metrics.topic_coherence([["a", "b", "c"]], x, words),
    ):
        with pytest.raises(ValueError, match=MESSAGES[kind]):
            score()


def test_no_estimator_is_left_out() -> None:
    fitted = {name for name in vmfstream.__all__ if hasattr(getattr(vmfstream, name), "fit")}
    assert fitted - {one.__name__ for one in DISTRIBUTIONS} - {"TopicTracker"} == set(ESTIMATORS)


@pytest.mark.filterwarnings("ignore:.* are in one story")
@pytest.mark.parametrize("name", ["VMFMixture", "OnlineVMFMixture", "StoryMixture", "TemporalVMFMixture"])
def test_predict_and_partial_fit_refuse_them(name: str) -> None:
    model = ESTIMATORS[name]().fit(rows(300))
    for method in ("predict", "partial_fit"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=MESSAGES["high"]):
                getattr(model, method)(damaged("high"))
    assert (model.predict(rows(300)) >= -1).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_distributions_refuse_them(distribution: Any) -> None:
    with pytest.raises(ValueError, match=MESSAGES["high"]):
        distribution.fit(damaged("high"))


@pytest.mark.parametrize("make", [csr_array, csc_array, lambda x: bsr_array(x, blocksize=(2, 4))])
def test_what_is_whole_passes_in_every_format(make: Callable[[csr_array], Any]) -> None:
    whole = make(rows())
    check_sparse("X", whole)
    whole.indices[0] = 10**6
    with pytest.raises(ValueError, match="got 1000000 at entry 0"):
        check_sparse("X", whole)


def test_room_behind_the_values_is_no_damage() -> None:
    x = rows()
    roomy = csr_array((np.append(x.data, 0.0), np.append(x.indices, -1), x.indptr), shape=x.shape)
    check_sparse("X", roomy)
