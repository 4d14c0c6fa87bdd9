"""Sums of documents and their products: sparse rows, looked at where they are, give what dense ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.mixtures.columns import column_products, length_of, square_of
from vmfstream.online import document_sums
from vmfstream.online.document_sums import Pairs, products, sum_of, sums_of


def rows(*, seed: int = 0, lowest: float = -1.0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(lowest, 1.0, (40, 25)) * (rng.random((40, 25)) < 0.2)
    x[7] = 0.0
    return x.astype(np.float32)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("lowest", [0.0, -1.0])
@pytest.mark.parametrize("members", [[3], [0, 2, 9, 30], [7], list(range(40))])
def test_sparse_rows_are_as_dense_ones(members: list[int], lowest: float, index: Any) -> None:
    x, chosen = rows(lowest=lowest), np.array(members)
    sparse = csr_array(x)
    sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
    vectors = np.random.default_rng(1).standard_normal((25, 3))
    exact = x.astype(np.float64)
    assert sum_of(sparse, chosen) == pytest.approx(exact[chosen].sum(axis=0), abs=1e-6)
    for given in (sparse, x):
        several = sums_of(given, [chosen, np.array([1])])
        np.testing.assert_array_equal(several.T, [sum_of(given, chosen), sum_of(given, np.array([1]))])
    assert products(sparse, vectors) == pytest.approx(exact @ vectors, abs=1e-6)
    for one in (vectors[:, 0], vectors[:, :1]):
        alone = products(sparse, one)
        np.testing.assert_array_equal(alone, products(sparse, vectors)[:, 0].reshape(alone.shape))
    for found, expected in zip(Pairs(sparse).with_others(chosen), Pairs(x).with_others(chosen), strict=True):
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("vectors", [(25,), (25, 3)])
def test_dense_rows_are_converted_in_parts(vectors: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    x, given = rows(), np.random.default_rng(1).standard_normal(vectors)
    monkeypatch.setattr(document_sums, "_CONVERTED", 7)
    assert products(x, given) == pytest.approx(x.astype(np.float64) @ given, abs=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_is_left_out_of_its_own_products(*, sparse: bool) -> None:
    x, members = rows(lowest=0.0), np.array([1, 4, 5])
    total, largest = Pairs(csr_array(x) if sparse else x).with_others(members)
    dots = x.astype(np.float64) @ x[members].astype(np.float64).T
    assert total[4] == pytest.approx(dots[4, 0] + dots[4, 2], abs=1e-6)
    assert largest[4] == pytest.approx(max(dots[4, 0], dots[4, 2]), abs=1e-6)
    assert total[0] == pytest.approx(dots[0].sum(), abs=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most", [1, 4, 1000])
def test_products_that_are_kept_are_those_computed_anew(
    monkeypatch: pytest.MonkeyPatch, most: int, *, sparse: bool
) -> None:
    x = csr_array(rows()) if sparse else rows()
    groups = [np.array(members) for members in ([3, 8], [8, 1, 5], [0, 3, 30, 31, 32, 33], [1, 33], [3, 8])]
    anew = [Pairs(x).with_others(members) for members in groups]
    monkeypatch.setattr(document_sums, "MOST_KEPT", most)
    kept = Pairs(x)
    for members, expected in zip(groups, anew, strict=True):
        for found, one in zip(kept.with_others(members), expected, strict=True):
            np.testing.assert_allclose(found, one, rtol=0, atol=0 if sparse else 1e-6)  # BLAS looks at how many rows


def test_products_of_dense_rows_that_are_kept_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    def counting(a: NDArray[np.float32], b: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        computed.append(len(a))
        out[:] = a @ b

    monkeypatch.setattr(np, "matmul", counting)
    kept = Pairs(rows())
    for members in ([3, 8], [8, 1, 5], [5, 1, 3]):
        kept.with_others(np.array(members))
    assert computed == [2, 2, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_columns_are_those_of_matrices(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((300, 5)).astype(dtype), rng.standard_normal((300, 16)).astype(dtype)
    a[rng.random(a.shape) < 0.5] = 0.0
    exact = a.astype(np.float64).T @ b.astype(np.float64)
    assert column_products(a, b) == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert square_of(b[:, 0]) == pytest.approx(float(b[:, 0].astype(np.float64) @ b[:, 0].astype(np.float64)))
    assert length_of(b[:, 0]) ** 2 == pytest.approx(square_of(b[:, 0]))
