"""Every estimator of rows takes every precision and layout, also other ones than it was fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from vmfstream import (
    BayesianVMFMixture,
    DiametricalKMeans,
    DirichletProcessVMFMixture,
    DirichletVMFAdmixture,
    FrequencySensitiveKMeans,
    HierarchicalVMFMixture,
    OnlineVMFMixture,
    SphericalCauchyMixture,
    SphericalKMeans,
    StoryMixture,
    TemporalVMFMixture,
    VMFHiddenMarkovModel,
    VMFMixture,
    WatsonMixture,
)

PER_CLUSTER = 30

ESTIMATORS: dict[str, Any] = {
    "BayesianVMFMixture": lambda: BayesianVMFMixture(3, random_state=0),
    "DiametricalKMeans": lambda: DiametricalKMeans(3, random_state=0),
    "DirichletProcessVMFMixture": lambda: DirichletProcessVMFMixture(3, random_state=0),
    "DirichletVMFAdmixture": lambda: DirichletVMFAdmixture(3, random_state=0),
    "FrequencySensitiveKMeans": lambda: FrequencySensitiveKMeans(3, random_state=0),
    "HierarchicalVMFMixture": lambda: HierarchicalVMFMixture(height=1, branching=3, random_state=0),
    "OnlineVMFMixture": lambda: OnlineVMFMixture(3, random_state=0),
    "SphericalCauchyMixture": lambda: SphericalCauchyMixture(3, random_state=0),
    "SphericalKMeans": lambda: SphericalKMeans(3, random_state=0),
    "StoryMixture": lambda: StoryMixture(),
    "TemporalVMFMixture": lambda: TemporalVMFMixture(3, random_state=0),
    "TemporalVMFMixture filter": lambda: TemporalVMFMixture(3, inference="filter", random_state=0),
    "TemporalVMFMixture meanfield": lambda: TemporalVMFMixture(
        3, inference="meanfield", proportions="logistic-normal", random_state=0
    ),
    "VMFHiddenMarkovModel": lambda: VMFHiddenMarkovModel(3, random_state=0),
    "VMFMixture": lambda: VMFMixture(3, random_state=0),
    "WatsonMixture": lambda: WatsonMixture(3, random_state=0),
}

QUICK = ("TemporalVMFMixture", "TemporalVMFMixture filter", "TemporalVMFMixture meanfield", "OnlineVMFMixture")


def rows() -> NDArray[np.float64]:
    """Rows of three well separated clusters, some values zero."""
    rng = np.random.default_rng(0)
    x = 0.2 * rng.random((3 * PER_CLUSTER, 8)) * (rng.random((3 * PER_CLUSTER, 8)) < 0.5)
    x[np.arange(len(x)), np.repeat([0, 3, 6], PER_CLUSTER)] += 1.0
    return x


def forms(folder: Path) -> Iterator[tuple[str, Any]]:
    """The same rows in every precision and layout."""
    for dtype in (np.float32, np.float64):
        x = rows().astype(dtype)
        name = x.dtype.name
        yield f"{name} C", x
        yield f"{name} F", np.asfortranarray(x)
        yield f"{name} strided", np.repeat(x, 2, axis=0)[::2]
        fixed = x.copy()
        fixed.setflags(write=False)
        yield f"{name} read-only", fixed
        np.save(folder / f"{name}.npy", x)
        yield f"{name} memory-mapped", np.load(folder / f"{name}.npy", mmap_mode="r")
        for kind in (csr_array, csr_matrix, csc_array, coo_array):
            yield f"{name} {kind.__name__}", kind(x)
        sparse = csr_array(x)
        for part in (sparse.data, sparse.indices, sparse.indptr):
            part.setflags(write=False)
        yield f"{name} read-only csr_array", sparse
        long = csr_array(x)
        long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
        yield f"{name} csr_array of long indices", long


@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.thorough) for one in ESTIMATORS]
)
def test_rows_of_every_form_get_the_answers_of_the_same_rows(name: str, tmp_path: Path) -> None:
    given = dict(forms(tmp_path))
    for fitted in ("float32 C", "float64 memory-mapped", "float32 csr_array", "float64 read-only csr_array"):
        model = ESTIMATORS[name]().fit(given[fitted])
        answers = {
            method: getattr(model, method)(given[fitted])
            for method in ("predict", "predict_proba", "score_samples", "score", "transform")
            if hasattr(model, method)
        }
        assert len(set(answers["predict"].tolist())) == 3
        for form, x in given.items():
            for method, expected in answers.items():
                answer = getattr(model, method)(x)
                if method == "predict":
                    assert answer.tolist() == expected.tolist(), (fitted, form)
                else:
                    assert_allclose(answer, expected, rtol=2e-4, atol=2e-4, err_msg=f"{fitted}, {form}, {method}")


@pytest.mark.thorough
@pytest.mark.parametrize("inference", ["smoother", "filter", "meanfield", "gibbs"])
def test_slices_of_another_precision_are_appended(inference: str, tmp_path: Path) -> None:
    given = dict(forms(tmp_path))
    for fitted in ("float32 C", "float64 csr_array"):
        model = TemporalVMFMixture(3, inference=inference, n_draws=3, burn_in=3, random_state=0)
        want = model.fit(given[fitted]).partial_fit(given[fitted])
        for form, x in given.items():
            model = TemporalVMFMixture(**want.get_params()).fit(given[fitted]).partial_fit(x)
            assert model.labels_.tolist() == want.labels_.tolist(), (fitted, form)
            assert_allclose(model.means_, want.means_, atol=1e-4, err_msg=f"{fitted}, {form}")


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "DirichletVMFAdmixture"])
def test_texts_are_no_rows(name: str) -> None:
    for texts in (["a ship", "a cat"], np.array(["a ship", "a cat"]), pd.Series(["a ship", "a cat"]), "a ship"):
        with pytest.raises(ValueError, match="X: expected rows of numbers, got texts; make rows of them"):
            ESTIMATORS[name]().fit(texts)


def test_dense_rows_may_follow_sparse_ones_but_not_the_reverse(tmp_path: Path) -> None:
    given = dict(forms(tmp_path))
    model = OnlineVMFMixture(3, random_state=0).fit(given["float32 csr_array"])
    labels = model.labels_
    for form, x in given.items():
        model.partial_fit(x)
        assert model.labels_.tolist() == labels.tolist(), form
    model.fit(given["float64 C"])
    with pytest.raises(ValueError, match="X: expected dense rows, as those before, got sparse ones"):
        model.partial_fit(given["float64 csr_array"])
